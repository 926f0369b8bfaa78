"""Xet hashes, chunking and xorb writing, shared by MDB shards and xorbs."""

try:
    from shardcore.codecs.xet import native
except ImportError:  # built only where there is a C compiler
    native = None  # type: ignore[assignment]
