"""Command-line program `shardcore`."""

from __future__ import annotations

from shardcore.cli.program import main

__all__ = ["main"]
