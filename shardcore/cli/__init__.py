"""The `shardcore` command: everything the library does with shards, without a window."""

from __future__ import annotations

from shardcore.cli.program import main

__all__ = ["main"]
