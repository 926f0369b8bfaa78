"""Charts of a shard: byte budget, object sizes, entropy, load. Data only; callers draw it."""
