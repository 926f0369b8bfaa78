"""Xet MDB shards: an index of files, xorbs and chunks."""
