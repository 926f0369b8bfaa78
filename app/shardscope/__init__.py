"""The window: a desktop explorer for shard files."""
