"""Processing budget of one operation: bytes read, bytes decompressed, items, seconds of the processor.

An operation opens a budget with `budgeted`. The budget belongs to the context (`contextvars`), so that every read,
decompression and table charges it without a parameter. The limits grow with the bytes that the files really store:
a large file is never refused for its size, and a hole in a sparse file allows nothing.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, Protocol, TypeVar

from shardcore.errors import FormatError, KeyAbsent, LimitExceeded, ShardError
from shardcore.model.number_words import plural
from shardcore.model.text import short

P = ParamSpec("P")
R = TypeVar("R")

READ_FLOOR = 1 << 29
"""Bytes that any operation may read, however little its files store."""
READ_RATIO = 256
"""Bytes that it may read besides, per stored byte: lookups read the same places again."""
EXPANDED_FLOOR = 1 << 30
"""Bytes that any operation may decompress."""
EXPANDED_RATIO = 128
"""Bytes that it may decompress besides, per stored byte."""
CHECKED_FLOOR = 512 << 20
"""Bytes that verification and salvage check in any file; each object counts some bytes besides its own."""
CHECKED_RATIO = 64
"""Bytes that they check besides, per stored byte: intact files of ordinary data never compress better than that."""
ITEM_FLOOR = 1_000_000
"""Rows, nodes and records that any operation may create."""
ITEM_RATIO = 8
"""Items that it may create besides, per stored byte."""
MEMORY_FLOOR = 64 << 20
"""Bytes that one allocation may have whose size follows from what a file declares."""
MEMORY_RATIO = 8
"""Bytes that it may have besides, per stored byte."""
SECONDS_FLOOR = 6.0
"""Seconds of the processor that any operation may take."""
SECONDS_PER_STORED = 0.4e-6
"""Seconds that it may take besides, per stored byte."""
SECONDS_PER_READ = 4e-9
"""Seconds that it may take besides, per byte read."""
SECONDS_PER_CHECKED = 10e-9
"""Seconds that it may take besides, per byte that verification or salvage checked: slow codecs are no damage."""
ORDINARY_SECONDS = 0.08
"""Seconds that `ROUNDS` additions take on an ordinary machine; the limits of time are in seconds of such a one."""
ROUNDS = 1_000_000
SLOWEST = 8.0
"""Largest factor by which a machine counts as slower than an ordinary one."""
SMALLEST = 4096
"""Bytes that a file counts at least, as it takes a block of the disk."""
_SAMPLED = 0.05
"""Seconds between two looks at the clock of the processor."""

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
    """An operation costs far more than its files store; no option allows that."""

    remedy = None


class Budget:
    """Counters and limits of one operation.

    Args:
        taking: Whether the operation writes or returns contents, so that its work is in the size of its output: then
            only single allocations are limited.
        allowed: Bytes that the caller allows to be read and decompressed, where that is more than the floors.

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
        self.seconds = 0.0
        self._sources: set[str] = set()
        self._clocks: dict[int, float] = {}
        self._pace = 1.0
        self._sampled = time.monotonic()
        self._sample(self._sampled)

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
        if self.read > max(READ_FLOOR, self.allowed) + READ_RATIO * self.stored:
            self._end(f"after reading {plural(self.read, 'byte')}")
        self.tick()

    def charge_expanded(self, count: int) -> None:
        """Count bytes that were decompressed.

        Raises:
            OverBudget: They are too many.
        """
        self.expanded += count
        if self.expanded > max(EXPANDED_FLOOR, self.allowed) + EXPANDED_RATIO * self.stored:
            self._end(f"after decompressing {plural(self.expanded, 'byte')}")
        self.tick()

    def charge_items(self, count: int) -> None:
        """Count rows, nodes or records that are about to be created.

        Raises:
            OverBudget: They are too many.
        """
        self.items += count
        if self.items > ITEM_FLOOR + ITEM_RATIO * self.stored:
            self._end(f"at {plural(self.items, 'item')}")
        self.tick()

    def charge_memory(self, count: int) -> None:
        """Refuse one allocation that is far larger than what is stored; nothing is added up.

        Raises:
            OverBudget: It is too large.
        """
        if count > MEMORY_FLOOR + MEMORY_RATIO * self.stored:
            raise OverBudget(self, f"before an allocation of {plural(count, 'byte')}")

    @property
    def left(self) -> int:
        """Bytes that verification or salvage may still check; negative when there are none."""
        return max(CHECKED_FLOOR, self.allowed) + CHECKED_RATIO * self.stored - self.checked

    def tick(self) -> None:
        """Look at the clock of the processor, now and then; a slow or busy machine has more time.

        Raises:
            OverBudget: The operation takes too long.
        """
        now = time.monotonic()
        if now - self._sampled > _SAMPLED:
            self._sample(now)
            if self.seconds > self.most_seconds and not self.taking:
                self._pace = max(self._pace, min(pace(), SLOWEST))
                if self.seconds > self.most_seconds:
                    self._end(f"after {self.seconds:.0f} seconds of the processor")

    @property
    def most_seconds(self) -> float:
        """Seconds of the processor that are allowed for what was done so far, on this machine."""
        stored = SECONDS_FLOOR + SECONDS_PER_STORED * self.stored
        return self._pace * (stored + SECONDS_PER_READ * self.read + SECONDS_PER_CHECKED * self.checked)

    def _sample(self, now: float) -> None:
        self._sampled = now
        thread, used = threading.get_ident(), time.thread_time()
        self.seconds += used - self._clocks.get(thread, used)
        self._clocks[thread] = used

    def _end(self, what: str) -> None:
        if not self.taking:
            raise OverBudget(self, what)


def pace() -> float:
    """Return how many times slower than an ordinary machine this one is at present, at least 1.

    Seconds of the processor are no constant measure: where other programs share its caches, or other machines the
    whole of it, the same work takes several times as many.
    """
    began, total = time.thread_time(), 0
    for number in range(ROUNDS):
        total += number
    return max((time.thread_time() - began) / ORDINARY_SECONDS, 1.0)


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


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
    own = Budget(taking=taking, allowed=allowed)
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
