"""Compared contents: ten built-in objects, or the files of a folder; more or fewer of them, larger or smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from shardcore.errors import SourceError, UsageError, reason_of
from shardcore.model.number_words import plural
from shardcore.progress import check_stopped
from shardcore.teaching.comparison import sample_bytes as made
from shardcore.writing.inputs import LeftOut, input_files

MOST_BYTES = 8 << 20
"""Bytes of contents that are compared at once: all of it is held in memory, once for each format."""

MOST_OBJECTS = 10_000
"""Objects that are compared at once."""

_STAMP = 8
"""Bytes by which copies of an object differ."""


class Thing(Protocol):
    """One object to begin with.

    Attributes:
        name: A relative name, with `/`.
        size: Bytes.
    """

    @property
    def name(self) -> str:
        """A relative name, with `/`."""

    @property
    def size(self) -> int:
        """Bytes."""

    def cut(self, turn: int, size: int) -> bytes:
        """So many bytes of its kind; another turn gives other bytes."""


@dataclass(frozen=True, slots=True)
class MadeThing:
    """An object that is made: of its kind there are as many bytes as somebody wants.

    Attributes:
        name: A relative name.
        size: Bytes that it has by itself.
        make: Makes the first so many bytes of its kind, the same at any time.
    """

    name: str
    size: int
    make: Callable[[int], bytes]

    def cut(self, turn: int, size: int) -> bytes:
        """The bytes of a turn: each is a stretch of its own."""
        start = turn * size
        return self.make(start + size)[start : start + size]


@dataclass(frozen=True, slots=True)
class HeldThing:
    """The content of a file.

    Attributes:
        name: Its relative name.
        data: Its bytes.
    """

    name: str
    data: bytes

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data)

    def cut(self, turn: int, size: int) -> bytes:
        """Its bytes, cut off or repeated."""
        data = self.data or b"\0"
        return (data * -(-size // len(data)))[:size]


@dataclass(frozen=True, slots=True)
class ComparedObject:
    """One object that is packed.

    Attributes:
        name: A relative name, with `/`.
        data: Its bytes.
    """

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ComparedContents:
    """Contents to choose from.

    Attributes:
        title: What it is, in few words.
        things: The objects to begin with, at least one.
        notes: What was left out, a sentence each.
    """

    title: str
    things: tuple[Thing, ...]
    notes: tuple[str, ...] = ()

    def most(self, size: int | None = None) -> int:
        """Return how many objects of a size there can be; of None, of their own sizes."""
        if size is not None:
            return max(min(MOST_OBJECTS, MOST_BYTES // max(size, 1)), 1)
        whole = sum(thing.size for thing in self.things)
        rounds = min(MOST_BYTES // max(whole, 1), MOST_OBJECTS)
        return min(max(rounds, 1) * len(self.things), MOST_OBJECTS)

    def amount(self, count: int | None = None, size: int | None = None) -> tuple[int, int]:
        """Return how many objects `objects` makes, and how many bytes they have together."""
        wanted = min(len(self.things) if count is None else count, self.most(size))
        if size is not None:
            return wanted, wanted * size
        turns, rest = divmod(wanted, len(self.things))
        sizes = [thing.size for thing in self.things]
        return wanted, turns * sum(sizes) + sum(sizes[:rest])

    def objects(self, count: int | None = None, size: int | None = None) -> list[ComparedObject]:
        """The objects: the first so many, and where there are fewer, numbered variants of them.

        Args:
            count: How many; None for those that are there. More than `most` are not made.
            size: Bytes of each; None for as many as each has by itself.

        Raises:
            UsageError: A number makes no sense.
        """
        if (count is not None and count < 1) or (size is not None and size < 1):
            raise UsageError("give at least one object, of at least one byte")
        wanted, _ = self.amount(count, size)
        found: list[ComparedObject] = []
        names: set[str] = set()
        for number in range(wanted):
            check_stopped()
            turn, at = divmod(number, len(self.things))
            thing = self.things[at]
            data = thing.cut(turn, thing.size if size is None else size)
            name, copy = numbered(thing.name, turn), turn
            while name in names:
                copy += 1
                name = numbered(thing.name, copy)
            names.add(name)
            found.append(ComparedObject(name, _stamped(data, turn) if turn else data))
        return found


def numbered(name: str, turn: int) -> str:
    """The name of a variant: `notes.txt`, `notes-2.txt`."""
    if not turn:
        return name
    folder, slash, last = name.rpartition("/")
    stem, dot, ending = last.rpartition(".")
    return f"{folder}{slash}{stem or last}-{turn + 1}{dot if stem else ''}{ending if stem else ''}"


def _stamped(data: bytes, turn: int) -> bytes:
    """Bytes with their number in front: no two variants are the same."""
    stamp = (b"%08d" % turn)[-min(_STAMP, len(data)) :] if data else b""
    return stamp + data[len(stamp) :]


def files_of(inputs: Sequence[str | Path]) -> ComparedContents:
    """The files that are named, and those in folders that are named, as far as they are compared.

    Raises:
        SourceError: One is not there, or cannot be read.
        UsageError: There is no file.
    """
    left_out, total, large = LeftOut(), 0, 0
    taken: list[HeldThing] = []
    notes: list[str] = []
    for path, name in input_files(inputs, left_out):
        check_stopped()
        data = _beginning(path, MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            large += 1
            continue
        if total + len(data) > MOST_BYTES or len(taken) == MOST_OBJECTS:
            files = plural(len(taken), "file is", "files are")
            most = f"at most {MOST_OBJECTS:,} files, of {MOST_BYTES >> 20} MiB together"
            notes.append(f"the first {files} compared: {most}")
            break
        taken.append(HeldThing(name, data))
        total += len(data)
    if large:
        notes.append(f"left out: {plural(large, 'file')} of more than {MOST_BYTES >> 20} MiB")
    if not taken:
        raise UsageError(f"there is no file to compare{f'; {notes[0]}' if notes else ''}")
    names = ", ".join(str(one) for one in inputs[:2]) + (" …" if len(inputs) > 2 else "")
    return ComparedContents(names, _distinct(taken), (*notes, *left_out.notes()))


def _beginning(path: Path, size: int) -> bytes:
    """The first bytes of a file, so many at most.

    Raises:
        SourceError: It cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return stream.read(size)
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot read {path}: {reason_of(error)}") from error


def _distinct(things: Iterable[HeldThing]) -> tuple[Thing, ...]:
    """The files under names that are all different: of two inputs, both may have a `notes.txt`."""
    seen: dict[str, int] = {}
    found: list[Thing] = []
    for thing in things:
        turn = seen.get(thing.name, 0)
        seen[thing.name] = turn + 1
        found.append(HeldThing(numbered(thing.name, turn), thing.data))
    return tuple(found)


BUILT_IN = ComparedContents(
    "Built-in contents of ten kinds",
    tuple(
        MadeThing(name, size, make)
        for name, size, make in (
            ("letter.txt", 1_800, made.text),
            ("people.json", 2_600, made.records),
            ("prices.csv", 3_100, made.table),
            ("server.log", 4_200, made.log),
            ("program.py", 2_300, made.program),
            ("counts.i64", 4_096, made.counts),
            ("waves.f64", 4_096, made.waves),
            ("slope.gray", 6_400, made.picture),
            ("photo.jpg", 5_700, made.noise),
            ("labels.u32", 8_192, made.labels),
        )
    ),
)
"""Objects of ten kinds: texts, tables, arrays, a picture, and bytes that nothing makes smaller."""
