"""A plain client for the tests of the servers themselves: what went over the wire, without anybody's cleverness."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager


def open_sockets() -> set[str]:
    """The TCP sockets that this process holds, by what the system calls them."""
    found = set()
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208 - before and after many tests
        try:
            name = os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115
            if name.startswith("socket:") and _is_tcp(int(number)):
                found.add(name)
        except OSError:
            continue
    return found


def _is_tcp(number: int) -> bool:
    with socket.socket(fileno=os.dup(number)) as one:
        return one.family in (socket.AF_INET, socket.AF_INET6)


@contextmanager
def nothing_left(grace: float = 60.0) -> Iterator[None]:
    """Fails when a TCP socket that was opened inside is still open after it."""
    before = open_sockets()
    yield
    deadline = time.monotonic() + grace
    while left := open_sockets() - before:
        assert time.monotonic() < deadline, f"{len(left)} sockets are still open: {sorted(left)}"
        time.sleep(0.01)
