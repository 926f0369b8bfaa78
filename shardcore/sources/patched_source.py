"""A source with changes in memory: overwritten and removed bytes. The underlying file does not change."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from shardcore.dataclasses import dataclass, replace
from shardcore.errors import LimitExceeded, SourceChanged, UsageError
from shardcore.model.span import union
from shardcore.model.text import ends_text, plural
from shardcore.sources.base import RANGE, PurposeAt, Source
from shardcore.sources.wrapper_sources import WrapperSource

MOST_CHANGES = 1000
"""Maximum number of changes in one source."""

MOST_NEW = 16 << 20
"""Maximum number of new bytes in all changes together; they are kept in memory."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change. Offsets count in the bytes after all earlier changes. If `data` is None, the bytes are removed.

    A `joined` change is undone together with the previous change.
    """

    start: int
    stop: int
    data: bytes | None
    what: str = ""
    joined: bool = False

    @staticmethod
    def overwrite(start: int, data: bytes) -> Change:
        return Change(start, start + len(data), data, f"{plural(len(data), 'byte')} overwritten at {start}")

    @staticmethod
    def flip(offset: int, bit: int, old: int) -> Change:
        """Flip a bit of a byte; bit 0 is the lowest. `old` is the current byte."""
        if not 0 <= bit < 8:
            raise UsageError(f"the bit must be a number from 0 to 7, not {bit}")
        return Change(offset, offset + 1, bytes([old ^ 1 << bit]), f"bit {bit} of byte {offset:#x} flipped")

    @staticmethod
    def cut(start: int, stop: int) -> Change:
        return Change(start, stop, None, f"{plural(stop - start, 'byte')} cut at {start}")


@dataclass(frozen=True, slots=True)
class _Piece:
    """Consecutive bytes: bytes of the base source from offset `at`, or new `data` that replaces them."""

    at: int
    size: int
    data: bytes | None = None

    def part(self, start: int, stop: int) -> _Piece:
        data = None if self.data is None else self.data[start:stop]
        return _Piece(self.at + start, stop - start, data)


class PatchedSource(WrapperSource):
    """A source with changes applied; `base` is only read.

    Name, address and folder are those of `base`, so that files beside it are found. The identity changes with every
    change, so that caches distinguish the versions. If `base` is empty, bytes may be written past the end.

    Raises:
        UsageError: A change is outside the bytes.
        LimitExceeded: There are too many changes or new bytes.
        SourceChanged: `expects` is given, and is not the identity of `base`.
    """

    def __init__(self, base: Source, changes: Sequence[Change] = (), *, expects: str = "") -> None:
        super().__init__(base)
        if expects and base.identity != expects:
            raise SourceChanged(f"{base.name} was changed by another program: start over")
        self.near = base.near
        self.changes = tuple(changes)
        check_room(self.changes)
        pieces = [_Piece(0, base.size)] if base.size else []
        for change in self.changes:
            pieces = _applied(pieces, change)
        self._pieces = pieces
        self._starts = [0, *accumulate(piece.size for piece in pieces)]
        self._identity = ""

    @property
    def size(self) -> int:
        return self._starts[-1]

    @property
    def identity(self) -> str:
        if not self.changes:
            return self.base.identity
        if not self._identity:
            digest = hashlib.blake2b(digest_size=16)
            for change in self.changes:
                digest.update(f"{change.start}-{change.stop}-{change.data is None};".encode())
                digest.update(change.data or b"")
            self._identity = f"{self.base.identity}+{digest.hexdigest()}"
        return self._identity

    @property
    def new_ranges(self) -> tuple[tuple[int, int], ...]:
        placed = zip(self._starts, self._pieces, strict=False)
        return tuple(union((start, start + piece.size) for start, piece in placed if piece.data is not None))

    @property
    def cuts(self) -> tuple[tuple[int, int], ...]:
        """Removed ranges, sorted: each as its offset in the changed bytes, and the number of removed bytes."""
        return tuple((at, last - first) for at, first, last in self._removed())

    def place_of(self, offset: int) -> int | None:
        """Return the offset in this source of a byte of `base`; None if the byte was removed."""
        number = bisect_right(self._pieces, offset, key=lambda piece: piece.at) - 1
        if number < 0 or offset >= self._pieces[number].at + self._pieces[number].size:
            return None
        return self._starts[number] + offset - self._pieces[number].at

    def now(self, start: int, stop: int) -> tuple[int, int]:
        """Return the range of this source that has the bytes `[start, stop)` of `base`; empty if they were removed."""
        gone = list(self._removed())
        before, until = (sum(min(b, at) - a for _, a, b in gone if a < at) for at in (start, stop))
        return start - before, stop - until

    def _removed(self) -> Iterator[tuple[int, int, int]]:
        """Yield `(offset in this source, first, last)` for each removed range `[first, last)` of `base`, sorted."""
        expected = 0
        ends = [*((piece.at, piece.size) for piece in self._pieces), (self.base.size, 0)]
        for start, (at, size) in zip(self._starts, ends, strict=True):
            if at > expected:
                yield start, expected, at
            expected = at + size

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        found: list[tuple[int, int]] = []
        for at, piece in self._inside(start, stop):
            if piece.data is not None:
                found.append((at, at + piece.size))
            else:
                moved = at - piece.at
                found += ((a + moved, b + moved) for a, b in self.base.loaded(piece.at, piece.at + piece.size))
        return tuple(union(found))

    def prefetch(self, start: int, stop: int, most: int = RANGE) -> None:
        for _, piece in self._inside(max(start, 0), min(stop, self.size)):
            if piece.data is None:
                self.base.prefetch(piece.at, piece.at + piece.size, most)

    def learn_purposes(self, at: PurposeAt) -> None:
        self.base.learn_purposes(lambda offset: None if (here := self.place_of(offset)) is None else at(here))

    def _read(self, start: int, stop: int) -> bytes:
        return self._read_many([(start, stop)])[0]

    # Not the methods of `base`: the first and last bytes may have changed.
    _read_first, _read_last = Source._read_first, Source._read_last

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        # One call, so that `base` can merge ranges.
        parts = [[piece for _, piece in self._inside(start, stop)] for start, stop in ranges]
        wanted = [(piece.at, piece.at + piece.size) for pieces in parts for piece in pieces if piece.data is None]
        stored = iter(self.base.read_many(wanted) if wanted else [])
        return [b"".join(next(stored) if one.data is None else one.data for one in pieces) for pieces in parts]

    def _inside(self, start: int, stop: int) -> Iterator[tuple[int, _Piece]]:
        number = max(bisect_right(self._starts, start) - 1, 0)
        while number < len(self._pieces) and self._starts[number] < stop:
            first, piece = self._starts[number], self._pieces[number]
            low, high = max(start, first), min(stop, first + piece.size)
            if low < high:
                yield low, piece.part(low - first, high - first)
            number += 1


def overwriting(
    changes: tuple[Change, ...], pieces: Sequence[tuple[int, bytes]], what: str = "", *, second: bool = False
) -> tuple[Change, ...]:
    """Return the changes, and one more per piece (offset and new bytes). The new ones are undone together.

    With `second`, a second hex digit was typed for the same byte, so the new change replaces the last one.
    """
    last = changes[-1] if changes and second else None
    if last is not None and last.data is not None and (last.start, last.stop) == (pieces[0][0], pieces[0][0] + 1):
        changes = changes[:-1]
    new = [Change.overwrite(start, data) for start, data in pieces if data]
    return *changes, *(replace(one, what=what or one.what, joined=number > 0) for number, one in enumerate(new))


def undo_step(changes: tuple[Change, ...], undone: tuple[Change, ...]) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """Undo the last change and those joined to it; return the remaining changes, and the undone ones in redo order."""
    left = list(changes)
    taken: list[Change] = []
    while left and (not taken or taken[-1].joined):
        taken.append(left.pop())
    return tuple(left), (*undone, *taken)


def redo_step(changes: tuple[Change, ...], undone: tuple[Change, ...]) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    left, done = list(undone), list(changes)
    while left and (len(done) == len(changes) or left[-1].joined):
        done.append(left.pop())
    return tuple(done), tuple(left)


def steps_of(changes: Sequence[Change]) -> int:
    return sum(not change.joined for change in changes)


def check_room(changes: Sequence[Change]) -> None:
    if len(changes) > MOST_CHANGES:
        raise LimitExceeded(
            f"{len(changes):,} changes; at most {MOST_CHANGES:,} are kept: save a copy and continue with the copy"
        )
    size = sum(len(change.data or b"") for change in changes)
    if size > MOST_NEW:
        raise LimitExceeded(f"{size:,} new bytes; at most {MOST_NEW:,} are kept in memory")


def _applied(pieces: list[_Piece], change: Change) -> list[_Piece]:
    size = sum(piece.size for piece in pieces)
    if not 0 <= change.start < change.stop <= size:
        raise UsageError(f"bytes {ends_text(change.start, change.stop)} cannot be changed: the file ends at {size:#x}")
    if change.data is not None and len(change.data) != change.stop - change.start:
        raise UsageError(f"{len(change.data)} new bytes do not fit into bytes {ends_text(change.start, change.stop)}")
    found: list[_Piece] = []
    at = 0
    for piece in pieces:
        low, high = max(change.start - at, 0), min(change.stop - at, piece.size)
        if low > 0:
            found.append(piece.part(0, min(low, piece.size)))
        if low < high and change.data is not None:
            # Overwritten bytes keep their original offset, from which cuts are derived.
            new = change.data[at + low - change.start : at + high - change.start]
            found.append(_Piece(piece.at + low, high - low, new))
        if high < piece.size:
            found.append(piece.part(max(high, 0), piece.size))
        at += piece.size
    return [piece for piece in found if piece.size]
