"""Processing budget of one operation: bytes read, bytes decompressed, bytes checked, items. Time is not limited.

An operation opens a budget with `budgeted`. The budget belongs to the context (`contextvars`), so that every read,
decompression and table charges it without a parameter. The limits grow with the bytes that the files really store:
a large file is never refused for its size, and a hole in a sparse file allows nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, Protocol, TypeVar

from shardcore.errors import FormatError, KeyAbsent, LimitExceeded, Remedy, ShardError
from shardcore.model.number_words import plural
from shardcore.model.text import short

P = ParamSpec("P")
R = TypeVar("R")

WORK_FLOOR = 1 << 30
"""Bytes that any operation may read, decompress and check, each, however little its files store."""
WORK_RATIO = 256
"""Bytes that it may besides, per stored byte: LZ4 and Blosc never compress better."""
UNLIMITED = 1 << 62
"""Bytes to allow for no limit."""
ITEM_FLOOR = 1_000_000
"""Rows, nodes and records that any operation may create."""
ITEM_RATIO = 8
"""Items that it may create besides, per stored byte."""
MEMORY_FLOOR = 64 << 20
"""Bytes that one allocation may have whose size follows from what a file declares."""
MEMORY_RATIO = 8
"""Bytes that it may have besides, per stored byte."""
SMALLEST = 4096
"""Bytes that a file counts at least, as it takes a block of the disk."""

UNFORESEEN = (ArithmeticError, EOFError, LookupError, MemoryError, RecursionError, ValueError, struct.error)
"""Exceptions of Python and of the parsers for bytes of an unforeseen form."""


class Charged(Protocol):
    """Members of a source that a budget uses."""

    name: str
    uri: str

    @property
    def stored(self) -> int:
        """Bytes that it really stores."""


class OverBudget(BaseException):
    """A budget is exceeded. Handlers of damaged objects do not catch it; it becomes a `LimitExceeded` in `budgeted`."""

    def __init__(self, budget: Budget, what: str) -> None:
        super().__init__(what)
        self.budget = budget
        self.what = what

    @property
    def message(self) -> str:
        """Sentence about the limit that was exceeded."""
        name = f"{short(self.budget.name)}: " if self.budget.name else ""
        return f"{name}stopped {self.what}: more than the {plural(self.budget.stored, 'stored byte')} allow"


class BudgetExceeded(LimitExceeded):
    """An operation costs far more than its files store."""

    remedy = Remedy.WORK


class Budget:
    """Counters and limits of one operation.

    Args:
        taking: Whether the operation writes or returns contents, so that its work is in the size of its output: then
            only single allocations are limited.
        allowed: Bytes that the caller allows to be read, decompressed and checked, each, where that is more than the
            floor; as many rows, too.

    Attributes:
        stored: Bytes that the files read so far really store.
        name: The name of the first of them.
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
        """Bytes that may be read, decompressed and checked, each."""
        return max(WORK_FLOOR, self.allowed) + WORK_RATIO * self.stored

    def add(self, source: Charged) -> None:
        """Raise the limits by what a source stores; each source counts once."""
        if source.uri not in self._sources:
            self._sources.add(source.uri)
            self.name = self.name or source.name
            self.stored += max(source.stored, SMALLEST)

    def add_files(self, count: int) -> None:
        """Raise the limits by files that a store listed; they count as the smallest files do."""
        self.stored += count * SMALLEST

    def charge_read(self, source: Charged, count: int) -> None:
        """Count bytes that are about to be read from a source.

        Raises:
            OverBudget: They are too many, in all or at once.
        """
        self.add(source)
        self.read += count
        if count > MEMORY_FLOOR:
            self.charge_memory(count)
        if self.read > self.most:
            self._end(f"after reading {plural(self.read, 'byte')}")

    def charge_expanded(self, count: int) -> None:
        """Count bytes that were decompressed.

        Raises:
            OverBudget: They are too many.
        """
        self.expanded += count
        if self.expanded > self.most:
            self._end(f"after decompressing {plural(self.expanded, 'byte')}")

    def charge_items(self, count: int) -> None:
        """Count rows, nodes or records that are about to be created.

        Raises:
            OverBudget: They are too many.
        """
        self.items += count
        if self.items > max(ITEM_FLOOR, self.allowed) + ITEM_RATIO * self.stored:
            self._end(f"at {plural(self.items, 'item')}")

    def charge_memory(self, count: int) -> None:
        """Refuse one allocation that is far larger than what is stored; nothing is added up.

        Raises:
            OverBudget: It is too large.
        """
        if count > max(MEMORY_FLOOR, self.allowed) + MEMORY_RATIO * self.stored:
            raise OverBudget(self, f"before an allocation of {plural(count, 'byte')}")

    @property
    def left(self) -> int:
        """Bytes that verification or salvage may still check; negative when there are none."""
        return self.most - self.checked

    def _end(self, what: str) -> None:
        if not self.taking:
            raise OverBudget(self, what)


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)
_allowed: ContextVar[int] = ContextVar("allowed", default=0)


def budget() -> Budget | None:
    """Return the budget of the operation under way, or None."""
    return _current.get()


@contextmanager
def budgeted(*, taking: bool = False, allowed: int = 0, unread: bool = True) -> Iterator[Budget]:
    """Run an operation within a budget; what Python raises for unforeseen bytes becomes a `ShardError` here.

    An operation inside another shares its budget. Only one that returns no contents, inside one that does, has a budget
    of its own.

    Args:
        taking: As of `Budget`.
        allowed: As of `Budget`.
        unread: Whether errors that no reader foresees are converted even where nothing was read.

    Raises:
        LimitExceeded: The budget is exceeded.
        ShardError: The bytes have a form that no reader foresees, or there is not enough memory.
    """
    outer = _current.get()
    if outer is not None and (taking or not outer.taking):
        outer.allowed = max(outer.allowed, allowed)
        try:
            yield outer
        except KeyAbsent:
            raise  # a `KeyError` too
        except UNFORESEEN as error:
            raise unforeseen(error, outer.name) from error
        return
    own = Budget(taking=taking, allowed=max(allowed, _allowed.get()))
    if outer is not None:
        own.name = outer.name
    token = _current.set(own)
    try:
        yield own
    except OverBudget as over:
        if over.budget is not own:
            raise
        raise BudgetExceeded(over.message) from over
    except KeyAbsent:
        raise  # a `KeyError` too
    except UNFORESEEN as error:
        if not (unread or own.name or isinstance(error, MemoryError)):
            raise
        raise unforeseen(error, own.name) from error
    finally:
        _current.reset(token)


@contextmanager
def allowing(limit: int | None) -> Iterator[None]:
    """Let the operations inside read, decompress and check up to so many bytes each; 0 for no limit, None as usual."""
    token = _allowed.set(_allowed.get() if limit is None else limit or UNLIMITED)
    if (current := _current.get()) is not None:
        current.allowed = max(current.allowed, _allowed.get())
    try:
        yield
    finally:
        _allowed.reset(token)


def raised(limit: int) -> int:
    """Return a limit, or what the caller of the operation under way allows where that is more."""
    return max(limit, current.allowed) if (current := _current.get()) is not None else limit


def unforeseen(error: Exception, name: str) -> ShardError:
    """Return the error of the library for one of `UNFORESEEN`."""
    lead = f"{short(name)}: " if name else ""
    if isinstance(error, MemoryError):
        return ShardError(f"{lead}not enough memory for what the file declares")
    return FormatError(f"{lead}the file is damaged in a way that the reader does not foresee ({_text(error)})")


def _text(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {short(text)}" if text else type(error).__name__


def operation(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function be an operation with a budget; see `budgeted`."""

    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        with budgeted():
            return function(*arguments, **named)

    return call


def taking_operation(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function that writes contents be an operation with a budget; see `budgeted`."""

    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        with budgeted(taking=True, unread=False):
            return function(*arguments, **named)

    return call


def charge_expanded(count: int) -> None:
    """Count decompressed bytes in the budget of the context; see `Budget.charge_expanded`."""
    if (current := _current.get()) is not None:
        current.charge_expanded(count)


def charge_items(count: int, source: Charged | None = None) -> None:
    """Count rows, nodes or records in the budget of the context, of a source; see `Budget.charge_items`."""
    if (current := _current.get()) is not None:
        count_source(source)
        current.charge_items(count)


def charge_memory(count: int, source: Charged | None = None) -> None:
    """Refuse an allocation that the budget of the context does not allow; see `Budget.charge_memory`."""
    if (current := _current.get()) is not None:
        count_source(source)
        current.charge_memory(count)


def count_source(source: Charged | None) -> None:
    """Raise the limits of the context by what a source stores, though its bytes may have been read before."""
    if source is not None and (current := _current.get()) is not None:
        current.add(source)
