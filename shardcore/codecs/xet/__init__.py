"""Xet hashes, chunking and xorb writing, shared by MDB shards and xorbs."""
