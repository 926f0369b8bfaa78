"""Runs `shardscope` with a peephole. Workers of the program import this file again: it is as light as the command."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from tests.app.display.peephole import watched

    sys.exit(watched(sys.argv[1:]))
