"""Purpose and priority of reads. They are context variables, since reads happen deep inside lookups and streams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum, IntEnum


class ReadPriority(IntEnum):
    """Priority of a read; reads with lower values come first."""

    SCREEN = 0
    """Visible on the screen."""
    SELECTED = 1
    """Selected or requested by the user."""
    PREFETCH = 2
    """Probably needed soon."""
    SCAN = 3
    """Long operations that read everything."""


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
    """Set the priority of reads in this context."""
    token = _priority.set(priority)
    try:
        yield
    finally:
        _priority.reset(token)


@contextmanager
def reading_for(purpose: ReadPurpose) -> Iterator[None]:
    """Set the purpose of reads in this context; an outer setting takes precedence."""
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
    """Open remote files in this context with a first request that is large enough to fetch most files completely."""
    token = _all.set(needed)
    try:
        yield
    finally:
        _all.reset(token)


def opens_whole() -> bool:
    return _all.get()


@contextmanager
def at_most(size: int | None) -> Iterator[None]:
    """Raise `LargeRead` for reads in this context that would fetch more than `size` bytes from another machine.

    Callers can then ask the user. None: no limit; 0: no request is allowed.
    """
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
