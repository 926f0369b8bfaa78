"""Sources of bytes: local files, memory, and sources made of other sources."""
