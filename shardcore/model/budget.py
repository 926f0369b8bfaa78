"""Limits on one operation: bytes it reads, decompresses and checks, and rows and nodes it creates. Time is unlimited.

A context variable contains the counters of the current operation (`Budget`). The limits grow with the bytes that the
files occupy on disk. Thus no file is refused for its size, and holes of a sparse file do not raise the limits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import TracebackType
from typing import ParamSpec, Protocol, TypeVar

from shardcore.errors import FormatError, KeyAbsent, LimitExceeded, Remedy, ShardError
from shardcore.model.text import plural, short
from shardcore.progress import context_value

P = ParamSpec("P")
R = TypeVar("R")

WORK_FLOOR = 1 << 30
"""Base of three limits of an operation: bytes that it reads, decompresses, and checks. `WORK_RATIO` is added."""
WORK_RATIO = 256
"""Bytes added to each of these limits per stored byte. LZ4 and Blosc never reach a higher compression ratio."""
UNLIMITED = 1 << 62
ITEM_FLOOR = 1_000_000
"""Base of the limit on rows, nodes and records that an operation creates. `ITEM_RATIO` is added."""
ITEM_RATIO = 8
"""Rows, nodes and records added to this limit per stored byte."""
MEMORY_FLOOR = 64 << 20
"""Base of the limit on the bytes of one allocation whose size a file declares. `MEMORY_RATIO` is added."""
MEMORY_RATIO = 8
"""Bytes added to this limit per stored byte."""
SMALLEST = 4096
"""Stored bytes counted for a file that has fewer: one block of the disk."""

UNFORESEEN = (ArithmeticError, EOFError, LookupError, MemoryError, RecursionError, ValueError, struct.error)
"""Exceptions of Python and parsers that damaged bytes may cause anywhere; `budgeted` converts them to `ShardError`."""


class Charged(Protocol):
    name: str
    uri: str

    @property
    def stored(self) -> int:
        """Bytes on disk, without the holes of a sparse file."""


class OverBudget(BaseException):
    """Raised if a limit is exceeded. Not an `Exception`, so that handlers of damaged objects do not catch it."""

    def __init__(self, budget: Budget, what: str) -> None:
        super().__init__(what)
        self.budget = budget
        self.what = what

    @property
    def message(self) -> str:
        name = f"{short(self.budget.name)}: " if self.budget.name else ""
        return f"{name}stopped {self.what}: over the limit for {plural(self.budget.stored, 'stored byte')}"


class BudgetExceeded(LimitExceeded):
    remedy = Remedy.WORK


class Budget:
    """Counters and limits of one operation.

    Args:
        taking: Whether the operation writes or returns contents; then only the size of each allocation is limited.
        allowed: Limit set by the caller (see `allowing`), in bytes or rows. It replaces each base that is lower.

    Attributes:
        stored: Bytes on disk of the files read so far.
        name: Name of the first file that was read, for messages.
    """

    def __init__(self, *, taking: bool = False, allowed: int = 0) -> None:
        self.taking = taking
        self.allowed = allowed
        self.name = ""
        self.stored = 0
        self.read = self.expanded = self.checked = self.items = 0
        self._sources: set[str] = set()

    @property
    def most(self) -> int:
        return max(WORK_FLOOR, self.allowed) + WORK_RATIO * self.stored

    def add(self, source: Charged) -> None:
        """Raise the limits by the stored bytes of a source, unless this source has already been added."""
        if source.uri not in self._sources:
            self._sources.add(source.uri)
            self.name = self.name or source.name
            self.stored += max(source.stored, SMALLEST)

    def add_files(self, count: int) -> None:
        self.stored += count * SMALLEST

    def charge_read(self, source: Charged, count: int) -> None:
        if source.uri not in self._sources:
            self.add(source)
        self.read += count
        if count > MEMORY_FLOOR:
            self.charge_memory(count)
        if self.read > WORK_FLOOR and self.read > self.most:
            self._end(f"after reading {plural(self.read, 'byte')}")

    def charge_expanded(self, count: int) -> None:
        self.expanded += count
        if self.expanded > self.most:
            self._end(f"after decompressing {plural(self.expanded, 'byte')}")

    def charge_items(self, count: int) -> None:
        self.items += count
        if self.items > max(ITEM_FLOOR, self.allowed) + ITEM_RATIO * self.stored:
            self._end(f"at {plural(self.items, 'item')}")

    def charge_memory(self, count: int) -> None:
        """Raise `OverBudget` if an allocation of `count` bytes exceeds the limit; allocations are not added up."""
        if count > max(MEMORY_FLOOR, self.allowed) + MEMORY_RATIO * self.stored:
            raise OverBudget(self, f"before an allocation of {plural(count, 'byte')}")

    @property
    def left(self) -> int:
        """Number of bytes that `verify` or `salvage` may still check; negative if the limit is exceeded."""
        return self.most - self.checked

    def _end(self, what: str) -> None:
        if not self.taking:
            raise OverBudget(self, what)


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)
_allowed: ContextVar[int] = ContextVar("allowed", default=0)


budget: Callable[[], Budget | None] = _current.get


class budgeted:  # noqa: N801 - used like a function; a class is entered twice as fast as a generator
    """Context manager of an operation: raises `LimitExceeded` above a limit, `ShardError` for errors in `UNFORESEEN`.

    An operation inside another shares its counters, unless only the outer one writes or returns contents (`taking`).
    With `unread=False`, errors in `UNFORESEEN` are raised unchanged if no file was read: then no file caused them.
    The stored bytes of `source` raise the limits, even if they were read before the operation.
    """

    __slots__ = ("_allowed", "_budget", "_source", "_taking", "_token", "_unread")

    def __init__(
        self, *, taking: bool = False, allowed: int = 0, unread: bool = True, source: Charged | None = None
    ) -> None:
        self._taking, self._allowed, self._unread, self._source = taking, allowed, unread, source

    def __enter__(self) -> Budget:
        outer, self._token = _current.get(), None
        if outer is not None and (self._taking or not outer.taking):
            outer.allowed = max(outer.allowed, self._allowed)
            self._budget = outer
        else:
            self._budget = Budget(taking=self._taking, allowed=max(self._allowed, _allowed.get()))
            if outer is not None:
                self._budget.name = outer.name
        if self._source is not None:
            self._budget.add(self._source)
        if self._budget is not outer:
            self._token = _current.set(self._budget)
        return self._budget

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        own = self._budget
        if self._token is not None:
            _current.reset(self._token)
            if isinstance(error, OverBudget) and error.budget is own:
                raise BudgetExceeded(error.message) from error
        # KeyAbsent is a `KeyError` too.
        if not isinstance(error, UNFORESEEN) or isinstance(error, KeyAbsent):
            return
        if self._token is None or self._unread or own.name or isinstance(error, MemoryError):
            raise unforeseen(error, own.name) from error


@contextmanager
def allowing(limit: int | None) -> Iterator[None]:
    """Let each operation in this context read, decompress and check up to `limit` bytes, if this raises its limits.

    Args:
        limit: Number of bytes; 0: no limit; None: the limits do not change.
    """
    with context_value(_allowed, _allowed.get() if limit is None else limit or UNLIMITED):
        if (current := _current.get()) is not None:
            current.allowed = max(current.allowed, _allowed.get())
        yield


def raised(limit: int) -> int:
    """Return `limit`, or the limit set by the caller of the current operation (`allowing`) if that is higher."""
    return max(limit, current.allowed) if (current := _current.get()) is not None else limit


def unforeseen(error: Exception, name: str) -> ShardError:
    lead = f"{short(name)}: " if name else ""
    if isinstance(error, MemoryError):
        return ShardError(f"{lead}not enough memory for the sizes that the file declares")
    return FormatError(f"{lead}the file is damaged in an unexpected way ({_text(error)})")


def _text(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {short(text)}" if text else type(error).__name__


def operation(function: Callable[P, R]) -> Callable[P, R]:
    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        with budgeted():
            return function(*arguments, **named)

    return call


def taking_operation(function: Callable[P, R]) -> Callable[P, R]:
    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        with budgeted(taking=True, unread=False):
            return function(*arguments, **named)

    return call


def charge_expanded(count: int) -> None:
    if (current := _current.get()) is not None:
        current.charge_expanded(count)


def charge_items(count: int, source: Charged | None = None) -> None:
    if (current := _current.get()) is not None:
        count_source(source)
        current.charge_items(count)


def charge_memory(count: int, source: Charged | None = None) -> None:
    if (current := _current.get()) is not None:
        count_source(source)
        current.charge_memory(count)


def count_source(source: Charged | None) -> None:
    """Raise the limits by the stored bytes of a source, even if its bytes were read before the operation."""
    if source is not None and (current := _current.get()) is not None:
        current.add(source)
