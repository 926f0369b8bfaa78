"""A data set: many shards in one folder that share a key space."""

from __future__ import annotations

import copy
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, KeyAbsent, NotAShard, ShardError, SourceError, UsageError
from shardcore.finding import Depth, Findings, Report
from shardcore.nodes.node import Node
from shardcore.nodes.runs import Runs
from shardcore.nodes.sections import Section
from shardcore.objects import ObjectColumns, ObjectRef, Objects, inside_member, located, relocated
from shardcore.progress import Progress, no_progress
from shardcore.record import Value
from shardcore.shard import DEFAULT_LIMIT, Shard
from shardcore.sources.base import Source
from shardcore.span import Span
from shardcore.trace import Look

_PARTS = 1000
"""Steps of progress that one member of a data set makes."""


@dataclass(frozen=True, slots=True)
class Member:
    """One shard of a data set.

    Attributes:
        name: The file name, relative to the data set's folder.
        size: Bytes.
        open: Opens it.
    """

    name: str
    size: int
    open: Callable[[], Shard]


class DataSet(Shard):
    """A shard over a folder: its members' objects, looked up from the routing step on.

    Members are opened when they are needed, once. Formats say by `route` where a key may lie. Spans of objects, steps,
    findings and errors are those of the data set: their source begins with the name of the member. Trees and explained
    paths are those of the member.

    Args:
        name: The format.
        uri: Where the folder is.
        members: The shards, sorted by name.
    """

    def __init__(self, name: str, uri: str, members: Sequence[Member]) -> None:
        self.format = name
        self.uri = uri
        self.source = None
        self.sections: tuple[Section, ...] = ()
        self.members = tuple(members)
        self._by_name = {member.name: (member, threading.RLock()) for member in self.members}
        self._opened: dict[str, Shard] = {}
        self._closed = False
        self._joined: JoinedObjects | None = None
        self._unreadable: dict[str, ShardError] = {}

    @abstractmethod
    def route(self, key: str, look: Look) -> Sequence[str]:
        """The names of the members in which a key may lie, most likely first; tells its step.

        Raises:
            UsageError: The key is not of the format's form.
        """

    def member(self, name: str) -> Shard:
        """The opened member of that name.

        Raises:
            UsageError: There is no such member.
            ShardError: It cannot be opened.
        """
        if name not in self._by_name:
            raise UsageError(f"no member is called {name!r}")
        member, lock = self._by_name[name]
        with lock:
            if self._closed:
                raise SourceError(f"{self.uri} is closed")
            if name not in self._opened:
                self._opened[name] = member.open()
            return self._opened[name]

    @property
    def unreadable(self) -> dict[str, ShardError]:
        """The members that `load_index` had to leave out, and why."""
        return dict(self._unreadable)

    def objects_in(self, name: str) -> int | None:
        """How many objects a member has; None while `load_index` has not read it."""
        return self._joined.count(name) if self._joined is not None else None

    @property
    def objects(self) -> Objects:
        """The objects of all members; none before `load_index`."""
        return self._joined if self._joined is not None else JoinedObjects(())

    @property
    def tree(self) -> Node:
        """One node for each member; the members have trees of their own."""
        kids = tuple(Node(m.name, Span(m.name, 0, m.size), text=f"{m.size} bytes") for m in self.members)
        return Node(self.uri, Span("", 0, 0), children=kids)

    @property
    def fields(self) -> dict[str, Value]:
        """How many members there are."""
        return {"dataset.members": len(self.members)}

    @property
    def declared_objects(self) -> int:
        """The sum over the members that are open; over all after `load_index`."""
        return sum(shard.declared_objects for shard in list(self._opened.values()))

    @property
    def loaded(self) -> bool:
        """Whether all members are open and their objects joined."""
        return self._joined is not None

    @property
    def index_bytes(self) -> int:
        """The size of all members: an upper bound."""
        return sum(member.size for member in self.members)

    def load_index(self, progress: Progress = no_progress) -> None:
        """Opens all members and joins their objects; what cannot be opened is left out, and stands in `unreadable`.

        Calling it again tries again what could not be opened.

        Raises:
            SourceError: The data set is closed.
        """
        if self._joined is not None and not self._unreadable:
            progress(len(self.members) * _PARTS, len(self.members) * _PARTS)
            return
        parts: list[tuple[str, int, Objects]] = []
        unreadable: dict[str, ShardError] = {}
        for number, member in enumerate(self.members):
            if self._closed:
                raise SourceError(f"{self.uri} is closed")
            try:
                shard = self.member(member.name)
                shard.load_index(self._share(progress, number))
            except ShardError as error:
                unreadable[member.name] = error
                continue
            parts.append((member.name, number, shard.objects))
        self._joined, self._unreadable = JoinedObjects(parts), unreadable
        progress(len(self.members) * _PARTS, len(self.members) * _PARTS)

    def lookup(self, key: str, look: Look) -> ObjectRef:
        """Routes the key, then looks in the members named; a damaged one does not hide what lies in the others."""
        absent: ShardError | None = None
        damage: ShardError | None = None
        for name in self.route(key, look):
            before = len(look.steps)
            try:
                ref = self.member(name).lookup(key, look)
            except KeyAbsent as error:
                absent = _placed(error, name)
                continue
            except (FormatError, NotAShard) as error:
                look.step("Damaged", f"{name}: {error.message}", *([error.span] if error.span else []))
                damage = damage or _placed(error, name)
                continue
            except ShardError as error:
                raise _placed(error, name) from error
            finally:
                look.steps[before:] = [
                    replace(step, spans=tuple(relocated(s, name) for s in step.spans)) for step in look.steps[before:]
                ]
            return located(ref, name, self._first_row(name))
        raise damage or absent or KeyAbsent(key)

    def find_all(self, key: str) -> tuple[ObjectRef, ...]:
        """All objects with this key, in all members that may hold it."""
        found: list[ObjectRef] = []
        damage: ShardError | None = None
        for name in self.route(key, Look()):
            try:
                refs = self.member(name).find_all(key)
            except (FormatError, NotAShard) as error:
                damage = damage or _placed(error, name)
                continue
            except ShardError as error:
                raise _placed(error, name) from error
            found += [located(ref, name, self._first_row(name)) for ref in refs]
        if damage is not None and not found:
            raise damage
        return tuple(found)

    def find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """The rows of many keys; loads the index, because there are no rows before."""
        self.load_index()
        return super().find_many(keys)

    def stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """The decoded content, from the member it lies in."""
        with _relocating(ref.shard):
            yield from self.member(ref.shard).stream(inside_member(ref))

    def read_range(self, ref: ObjectRef, start: int, stop: int, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """A range of the decoded content, from the member it lies in."""
        with _relocating(ref.shard):
            return self.member(ref.shard).read_range(inside_member(ref), start, stop, limit=limit)

    def read_part(self, ref: ObjectRef, part: str, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """A further content, from the member it lies in."""
        with _relocating(ref.shard):
            return self.member(ref.shard).read_part(inside_member(ref), part, limit=limit)

    def file_names(self, ref: ObjectRef) -> dict[str, str]:
        """The files that an object becomes, as the member it lies in has it."""
        with _relocating(ref.shard):
            return self.member(ref.shard).file_names(inside_member(ref))

    def verify(self, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        """Verifies every member; those that cannot be opened are findings."""
        findings = Findings()
        objects = 0
        depth = Depth(depth)
        for number, member in enumerate(self.members):
            try:
                report = self.member(member.name).verify(depth, self._share(progress, number))
            except ShardError as error:
                span = relocated(error.span, member.name) if error.span else Span(member.name, 0, 0)
                findings.error(f"{self.format}.unreadable", span, f"{member.name}: {error.message}")
                continue
            objects += report.objects
            for finding in report.findings:
                findings.add(replace(finding, span=relocated(finding.span, member.name) if finding.span else None))
        progress(len(self.members) * _PARTS, len(self.members) * _PARTS)
        return Report(depth, objects, findings.all())

    def bytes_of(self, name: str) -> Source:
        """A member's bytes by its name, or a source of a member by `member@…`."""
        member, rest = self._split(name)
        return self.member(member).bytes_of(rest)

    def sections_of(self, name: str) -> tuple[Section, ...]:
        """The sections of a member, or of a decoded source of one."""
        if name == "":
            return ()
        member, rest = self._split(name)
        return self.member(member).sections_of(rest)

    def tree_of(self, name: str) -> Node:
        """The tree of the data set, or the tree of a member as the member itself has it."""
        if name == "":
            return self.tree
        member, rest = self._split(name)
        return self.member(member).tree_of(rest)

    def explain(self, offset: int, source: str = "") -> tuple[Node, ...]:
        """The path to a byte of a member; `source` names the member."""
        member, rest = self._split(source)
        return self.member(member).explain(offset, rest)

    def runs(self, start: int, stop: int, source: str = "") -> Runs:
        """What owns bytes of a member; `source` names the member."""
        if source == "":
            return Runs.of([], [], [], [])
        member, rest = self._split(source)
        return self.member(member).runs(start, stop, rest)

    def close(self) -> None:
        """Closes all members."""
        self._closed = True
        for name, (_, lock) in self._by_name.items():
            with lock:
                shard = self._opened.pop(name, None)
            if shard is not None:
                shard.close()

    def _split(self, name: str) -> tuple[str, str]:
        """The member that a source belongs to, and the source's name there."""
        member, at, rest = (name, "", "") if name in self._by_name else name.rpartition("@")
        if member in self._by_name:
            return member, at + rest
        raise UsageError(f"no bytes are called {name!r} here")

    def _first_row(self, name: str) -> int | None:
        return self._joined.first_row(name) if self._joined is not None and self._joined.has(name) else None

    def _share(self, progress: Progress, number: int) -> Progress:
        """The progress of one member as a part of the whole."""
        total = len(self.members) * _PARTS
        progress(number * _PARTS, total)
        return lambda done, of: progress(number * _PARTS + min(done, of) * _PARTS // max(of, 1), total)


@contextmanager
def _relocating(member: str) -> Iterator[None]:
    """Gives errors of a member their place in the data set."""
    try:
        yield
    except ShardError as error:
        raise _placed(error, member) from error


def _placed(error: ShardError, member: str) -> ShardError:
    """An error of a member with its place in the data set; a copy, because a shard may raise one error often."""
    placed = copy.copy(error)
    placed.span = relocated(error.span, member) if error.span else None
    return placed


class JoinedObjects(Objects):
    """The objects of several shards, one after the other.

    Args:
        parts: Member name, member number and objects of each.
    """

    def __init__(self, parts: Sequence[tuple[str, int, Objects]]) -> None:
        self._parts = tuple(parts)
        self._firsts = [0, *accumulate(len(objects) for _, _, objects in self._parts)]
        self._counts = {name: len(objects) for name, _, objects in self._parts}
        self._first_rows = {name: first for (name, _, _), first in zip(self._parts, self._firsts, strict=False)}
        self.kinds = tuple(dict.fromkeys(k for _, _, o in self._parts for k in o.kinds)) or ("object",)
        self.inner_kinds = frozenset().union(*(o.inner_kinds for _, _, o in self._parts))
        self.codecs = tuple(dict.fromkeys(c for _, _, o in self._parts for c in o.codecs)) or ("none",)

    def __len__(self) -> int:
        return self._firsts[-1]

    def first_row(self, name: str) -> int:
        """The row at which a member's objects begin; 0 for one that is not joined."""
        return self._first_rows.get(name, 0)

    def count(self, name: str) -> int | None:
        """How many objects a member has; None for one that is not joined."""
        return self._counts.get(name)

    def has(self, name: str) -> bool:
        """Whether the objects of a member are among them."""
        return name in self._first_rows

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        """The columns of some rows; see `Objects.columns`."""
        if not len(rows):
            return ObjectColumns.of([], [], [], [])
        pieces, places = [], []
        for number, inside, where in self._by_part(rows):
            _, shard, objects = self._parts[number]
            got = objects.columns(inside, sizes=sizes)
            pieces.append(
                replace(
                    got,
                    row=rows[where],
                    codec=self._renumbered(got.codec, objects.codecs, self.codecs),
                    kind=self._renumbered(got.kind, objects.kinds, self.kinds),
                    shard=np.full(len(inside), shard, np.int32),
                )
            )
            places.append(where)
        order = np.argsort(np.concatenate(places), kind="stable")
        joined = ObjectColumns.join(pieces)
        return ObjectColumns(*(getattr(joined, name)[order] for name in ObjectColumns.__slots__))

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        """The keys of some rows; see `Objects.key_texts`."""
        texts: list[str | None] = [None] * len(rows)
        for number, inside, where in self._by_part(rows):
            for place, text in zip(where.tolist(), self._parts[number][2].key_texts(inside), strict=True):
                texts[place] = text
        return texts

    def ref(self, row: int) -> ObjectRef:
        """One row as an object of the data set."""
        if not 0 <= row < len(self):
            raise IndexError(row)
        number = int(np.searchsorted(self._firsts, row, "right")) - 1
        name, _, objects = self._parts[number]
        return located(objects.ref(row - self._firsts[number]), name, self._firsts[number])

    def _by_part(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        numbers = np.searchsorted(self._firsts, rows, "right") - 1
        for number in np.unique(numbers).tolist():
            where = np.flatnonzero(numbers == number)
            yield number, rows[where] - self._firsts[number], where

    @staticmethod
    def _renumbered(codes: NDArray[np.uint8], names: tuple[str, ...], into: tuple[str, ...]) -> NDArray[np.uint8]:
        return np.array([into.index(name) for name in names], np.uint8)[codes]
