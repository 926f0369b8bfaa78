"""Desktop explorer for shard files."""
