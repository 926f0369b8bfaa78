"""Sources of bytes: local files, memory, remote files, and wrappers of sources."""
