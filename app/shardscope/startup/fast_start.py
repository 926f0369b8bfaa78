"""The first second of the program: what is done in another order, or left out, so that the window is seen sooner."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick_start() -> Iterator[None]:
    """Qt is to be imported inside, and the window made.

    The collector does not look through what is being made: all of it stays. What knows no Qt is imported first: once
    PySide is there it reads the source of every module that is imported.
    """
    gc.disable()
    import shardcore.shards.registry  # noqa: F401 - imported for those that come later

    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
