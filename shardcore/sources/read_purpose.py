"""Purpose and priority of a read: set by the caller that starts the work, known to the source that does it.

Reads happen deep inside lookups, trees and streams, so both belong to the context (`contextvars`), as
`shardcore.progress.stopped_by` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum, IntEnum


class ReadPriority(IntEnum):
    """Priority of a read; the lower comes first."""

    SCREEN = 0
    """The user looks at the place where they will stand."""
    SELECTED = 1
    """They belong to what is selected or requested."""
    PREFETCH = 2
    """They will probably be needed."""
    SCAN = 3
    """A long operation reads everything."""


class ReadPurpose(Enum):
    """Purpose of a request."""

    HEAD = "head"
    FOOTER = "footer"
    INDEX = "index"
    LOOKUP = "lookup"
    PAYLOAD = "payload"
    LISTING = "listing"
    PROBE = "probe"


_priority: ContextVar[ReadPriority] = ContextVar("priority", default=ReadPriority.SELECTED)
_purpose: ContextVar[ReadPurpose | None] = ContextVar("purpose", default=None)
_all: ContextVar[bool] = ContextVar("all", default=False)
_most: ContextVar[int | None] = ContextVar("most", default=None)


@contextmanager
def wanted(priority: ReadPriority) -> Iterator[None]:
    """Read in this context are needed that soon."""
    token = _priority.set(priority)
    try:
        yield
    finally:
        _priority.reset(token)


@contextmanager
def reading_for(purpose: ReadPurpose) -> Iterator[None]:
    """Read in this context are for that; the outermost one holds."""
    if _purpose.get() is not None:
        yield
        return
    token = _purpose.set(purpose)
    try:
        yield
    finally:
        _purpose.reset(token)


@contextmanager
def opening_whole(needed: bool = True) -> Iterator[None]:
    """Open remote files in this context with a range that has all bytes of most files: all of them are needed."""
    token = _all.set(needed)
    try:
        yield
    finally:
        _all.reset(token)


def opens_whole() -> bool:
    """Return whether all bytes of a file that is opened are needed."""
    return _all.get()


@contextmanager
def at_most(size: int | None) -> Iterator[None]:
    """Read in this context that would fetch more than `size` bytes from another machine are refused (`LargeRead`).

    So that you can be asked first; None refuses nothing, 0 refuses every request.
    """
    token = _most.set(size)
    try:
        yield
    finally:
        _most.reset(token)


def most() -> int | None:
    """Return how many bytes one read of this context may fetch; None for any number."""
    return _most.get()


def priority() -> ReadPriority:
    """Return how soon reads of this context are needed."""
    return _priority.get()


def purpose() -> ReadPurpose | None:
    """Return what reads of this context are for, where the user said so."""
    return _purpose.get()
