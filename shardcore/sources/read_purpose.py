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
    SCREEN = 0
    """The user looks at the place where they will stand."""
    SELECTED = 1
    """They belong to what is selected or requested."""
    PREFETCH = 2
    """They will probably be needed."""
    SCAN = 3
    """A long operation reads everything."""


class ReadPurpose(Enum):
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
    token = _priority.set(priority)
    try:
        yield
    finally:
        _priority.reset(token)


@contextmanager
def reading_for(purpose: ReadPurpose) -> Iterator[None]:
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
    token = _all.set(needed)
    try:
        yield
    finally:
        _all.reset(token)


def opens_whole() -> bool:
    return _all.get()


@contextmanager
def at_most(size: int | None) -> Iterator[None]:
    token = _most.set(size)
    try:
        yield
    finally:
        _most.reset(token)


def most() -> int | None:
    return _most.get()


def priority() -> ReadPriority:
    return _priority.get()


def purpose() -> ReadPurpose | None:
    return _purpose.get()
