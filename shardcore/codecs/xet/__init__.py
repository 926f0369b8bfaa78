"""Xet hashes, chunking and xorb writing, shared by MDB shards and xorbs."""

from importlib import import_module
from typing import Any

native: Any
try:
    native = import_module("shardcore.codecs.xet.native")
except ImportError:  # built only where there is a C compiler
    native = None
