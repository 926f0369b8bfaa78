"""Listing of the shards of a data set, and the objects of all shards as one sequence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, replace
from shardcore.model.byte_strings import ByteStrings
from shardcore.model.node import Children, Node
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, located

MEMBER_COST = 1 << 14
"""Number of bytes that a member counts at least in `DataSet.index_cost`, since opening it has a cost."""


@dataclass(frozen=True, slots=True)
class Member:
    """Shard of a data set: file name relative to its folder, and size in bytes."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class MemberListing:
    """Shards of a data set, in order and by name; `cost` is the total size, with at least `MEMBER_COST` per shard."""

    members: tuple[Member, ...]
    by_name: dict[str, Member]
    size: int
    cost: int

    @classmethod
    def of(cls, members: Iterable[Member]) -> MemberListing:
        found = tuple(members)
        size = sum(member.size for member in found)
        cost = sum(max(member.size, MEMBER_COST) for member in found)
        return cls(found, {member.name: member for member in found}, size, cost)


class MemberNodes(Children):
    def __init__(self, members: Sequence[Member], node: Callable[[Member], Node]) -> None:
        self._members, self._node = members, node

    def __len__(self) -> int:
        return len(self._members)

    def make(self, start: int, stop: int) -> list[Node]:
        return [self._node(member) for member in self._members[start:stop]]

    def overlap(self, start: int, stop: int) -> range:
        """Return all nodes: they are in different sources, so offsets do not select any."""
        return range(len(self._members))


class JoinedObjects(Objects):
    """Objects of several shards as one sequence; each of the `parts` is name, number and objects of a shard."""

    kinds: tuple[str, ...] = ()
    inner_kinds: frozenset[str] = frozenset()
    codecs: tuple[str, ...] = ()

    def __init__(self, parts: Sequence[tuple[str, int, Objects]]) -> None:
        self._parts = tuple(parts)
        self._firsts = [0, *accumulate(len(objects) for _, _, objects in self._parts)]
        self._starts = np.array(self._firsts, np.int64)
        self._counts = {name: len(objects) for name, _, objects in self._parts}
        self._first_rows = {name: first for (name, _, _), first in zip(self._parts, self._firsts, strict=False)}
        self.kinds = tuple(dict.fromkeys(k for _, _, o in self._parts for k in o.kinds)) or ("object",)
        self.inner_kinds = frozenset().union(*(o.inner_kinds for _, _, o in self._parts))
        self.codecs = tuple(dict.fromkeys(c for _, _, o in self._parts for c in o.codecs)) or ("none",)
        forms = {objects.key_encoding for _, _, objects in self._parts}
        self.key_encoding = forms.pop() if len(forms) == 1 else "text"

    def __len__(self) -> int:
        return self._firsts[-1]

    @property
    def shards(self) -> Sequence[str]:
        names = [""] * (1 + max((number for _, number, _ in self._parts), default=0))
        for name, number, _ in self._parts:
            names[number] = name
        return names

    def first_row(self, name: str) -> int:
        return self._first_rows.get(name, 0)

    def count_of(self, name: str) -> int | None:
        """Return the number of objects of a shard; None if the shard is not included."""
        return self._counts.get(name)

    def has(self, name: str) -> bool:
        return name in self._first_rows

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        if not len(rows):
            return ObjectColumns.of([], [], [], [])
        pieces, places = [], []
        for number, inside, where in self._by_part(rows):
            got = self._join_columns(number, self._parts[number][2].columns(inside, sizes=sizes), 0)
            pieces.append(replace(got, row=rows[where]))
            places.append(where)
        order = np.argsort(np.concatenate(places), kind="stable")
        return ObjectColumns.join(pieces).take(order)

    def known(self, first: int, last: int) -> ObjectColumns:
        pieces = []
        for number in range(max(bisect_right(self._firsts, first) - 1, 0), len(self._parts)):
            begin, end = self._firsts[number], self._firsts[number + 1]
            if begin >= last:
                break
            low, high = max(first, begin), min(last, end)
            if low < high:
                pieces.append(self._join_columns(number, self._parts[number][2].known(low - begin, high - begin), low))
        return ObjectColumns.join(pieces) if pieces else ObjectColumns.of([], [], [], [])

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        texts: list[str | None] = [None] * len(rows)
        for number, inside, where in self._by_part(rows):
            for place, text in zip(where.tolist(), self._parts[number][2].key_texts(inside), strict=True):
                texts[place] = text
        return texts

    def key_bytes(self, rows: NDArray[np.int64]) -> ByteStrings:
        if self.key_encoding == "text":
            return self.text_bytes(rows)
        parts = [self._parts[number][2].key_bytes(inside) for number, inside in self._runs(rows)]
        return ByteStrings(
            np.concatenate([np.zeros(0, np.uint8), *(part.data for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)]),
        )

    def _ref(self, row: int) -> ObjectRef:
        number = bisect_right(self._firsts, row) - 1
        name, _, objects = self._parts[number]
        return located(objects.ref(row - self._firsts[number]), name, self._firsts[number])

    def refs(self, rows: NDArray[np.int64]) -> Iterator[ObjectRef]:
        for number, inside in self._runs(rows):
            name, _, objects = self._parts[number]
            for ref in objects.refs(inside):
                yield located(ref, name, self._firsts[number])

    def _runs(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        numbers = np.searchsorted(self._starts, rows, "right") - 1
        for run in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(numbers)) + 1) if len(rows) else ():
            number = int(numbers[run[0]])
            yield number, rows[run] - self._firsts[number]

    def _join_columns(self, number: int, got: ObjectColumns, first: int) -> ObjectColumns:
        """Convert columns of a part: rows count from `first`; codecs and kinds are indices into those of all parts."""
        _, shard, objects = self._parts[number]
        return replace(
            got,
            row=np.arange(first, first + len(got), dtype=np.int64),
            codec=self._renumbered(got.codec, objects.codecs, self.codecs),
            kind=self._renumbered(got.kind, objects.kinds, self.kinds),
            shard=np.full(len(got), shard, np.int32),
        )

    def _by_part(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        numbers = np.searchsorted(self._starts, rows, "right") - 1
        for number in np.unique(numbers).tolist():
            where = np.flatnonzero(numbers == number)
            yield number, rows[where] - self._firsts[number], where

    @staticmethod
    def _renumbered(codes: NDArray[np.uint8], names: tuple[str, ...], into: tuple[str, ...]) -> NDArray[np.uint8]:
        return np.array([into.index(name) for name in names], np.uint8)[codes]
