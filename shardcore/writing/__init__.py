"""Writing: a plan first, then files that appear under their final names only when they are complete."""
