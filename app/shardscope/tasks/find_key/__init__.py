"""Search for a key in the shards of a folder."""
