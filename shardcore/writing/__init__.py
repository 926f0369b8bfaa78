"""Writing of shards: planning, and files that get their final names only when they are complete."""
