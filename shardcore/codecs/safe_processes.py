"""Starts `multiprocessing` processes that import no modules from the current folder, which may be hostile."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess

from shardcore.system import WINDOWS

_starting = threading.RLock()


@contextmanager
def _own_modules() -> Iterator[None]:
    """Context in which processes start with `PYTHONSAFEPATH`, because modules in the current folder may be hostile."""
    with _starting:
        before = os.environ.get("PYTHONSAFEPATH")
        os.environ["PYTHONSAFEPATH"] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ["PYTHONSAFEPATH"]
            else:
                os.environ["PYTHONSAFEPATH"] = before


class _SafeProcess(SpawnProcess):
    def start(self) -> None:
        with _own_modules():
            super().start()


class SafeContext(SpawnContext):
    Process = _SafeProcess

    def __init__(self) -> None:
        super().__init__()
        if not WINDOWS:
            from multiprocessing import resource_tracker

            # The resource tracker is also a process. A lock would start it later, without PYTHONSAFEPATH.
            with _own_modules():
                resource_tracker.ensure_running()
