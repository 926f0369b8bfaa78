"""The table of objects, extraction and dragging."""
