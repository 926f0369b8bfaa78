"""Hashes, chunks and xorb writing, shared by MDB shards and xorbs."""
