"""A plain client for the tests of the servers themselves: what went over the wire, without anybody's cleverness."""

from __future__ import annotations

import http.client
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Got:
    """An answer.

    Attributes:
        status: The status code.
        headers: By name in small letters.
        body: What came of the body.
        whole: Whether it ended as it should.
    """

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool = True


@contextmanager
def connected(host: str, timeout: float = 5.0) -> Iterator[http.client.HTTPConnection]:
    """A connection."""
    connection = http.client.HTTPConnection(host, timeout=timeout)
    try:
        yield connection
    finally:
        connection.close()


def ask(connection: http.client.HTTPConnection, path: str, method: str = "GET", **headers: str) -> Got:
    """One request; `if_match="x"` gives the header `If-Match: x`."""
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    told = {name.lower(): value for name, value in response.getheaders()}
    try:
        return Got(response.status, told, response.read())
    except http.client.IncompleteRead as error:
        return Got(response.status, told, error.partial, whole=False)


def ask_once(host: str, path: str, method: str = "GET", *, timeout: float = 5.0, **headers: str) -> Got:
    """One request on a connection of its own."""
    with connected(host, timeout) as connection:
        return ask(connection, path, method, **headers)


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
def nothing_left(grace: float = 5.0) -> Iterator[None]:
    """Fails when a TCP socket that was opened inside is still open after it."""
    before = open_sockets()
    yield
    deadline = time.monotonic() + grace
    while left := open_sockets() - before:
        assert time.monotonic() < deadline, f"{len(left)} sockets are still open: {sorted(left)}"
        time.sleep(0.01)


def error_code(body: bytes) -> str:
    """The code in an error of S3."""
    found = re.search(rb"<Code>(\w+)</Code>", body)
    return found[1].decode() if found else ""
