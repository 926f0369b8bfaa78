"""Threads that read ranges: what is wanted soonest comes first."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from itertools import count


class Workers:
    """Runs jobs on a few threads, in the order of their priority.

    A thread lives while there is work, so there is nothing to stop.

    Args:
        most: How many threads there may be.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._busy = 0

    def submit(self, priority: int, job: Callable[[], None]) -> None:
        """Runs a job, which lets no exception out, when a thread is free; of equal priority the first comes first."""
        with self._lock:
            heapq.heappush(self._waiting, (priority, next(self._order), job))
            more = self._busy < self._most
            self._busy += more
        if more:
            threading.Thread(target=self._work, name="shardcore-range", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._busy -= 1
                    return
                _, _, job = heapq.heappop(self._waiting)
            job()
