"""Object table, its actions, and dragging of objects."""
