"""Command-line program `shardcore`."""

from __future__ import annotations

import sys

import shardcore

__all__ = ["main"]


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        try:
            sys.stdout.write(f"shardcore {shardcore.__version__}\n")
            sys.stdout.flush()
            return
        except (AttributeError, OSError):
            pass  # no standard output, or it is full: the program reports it
    from shardcore.cli.program import main as run

    run()
