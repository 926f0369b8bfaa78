"""Charts of a shard: byte shares, object sizes, load. Data only; callers draw it."""
