"""Writing of shards: planning, and files that get their final names when they are complete."""
