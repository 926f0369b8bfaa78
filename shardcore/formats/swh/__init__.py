"""Software Heritage Read Shard."""
