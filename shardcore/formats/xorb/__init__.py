"""Xet xorbs: the containers of chunks that MDB shards point at."""
