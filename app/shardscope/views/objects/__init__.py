"""Table of objects, extraction and dragging."""
