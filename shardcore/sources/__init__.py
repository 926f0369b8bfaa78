"""Where bytes come from: local files, memory, and sources made of other sources."""
