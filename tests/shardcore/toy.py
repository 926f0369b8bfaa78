"""A shard of the simplest kind, and data sets of such: objects are lines `key=content`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, KeyAbsent
from shardcore.model.finding import Depth, Findings, Report
from shardcore.model.node import Node
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects
from shardcore.model.record import FieldRole, Value
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span
from shardcore.progress import Progress
from shardcore.shards.dataset import DataSet, Member
from shardcore.shards.shard import Shard
from shardcore.shards.trace import LookupRecorder
from shardcore.sources.base import Source
from shardcore.sources.memory import BytesSource
from shardcore.testing import MemoryFolder


class Lines(Objects):
    """One row for each line."""

    def __init__(self, data: bytes, kinds: tuple[str, ...]) -> None:
        self.kinds = kinds
        self.places: list[tuple[bytes, int, int]] = []
        at = 0
        for line in data.splitlines(keepends=True):
            key, _, _ = line.rstrip(b"\n").partition(b"=")
            self.places.append((key, at + len(key) + 1, at + len(line.rstrip(b"\n"))))
            at += len(line)

    def __len__(self) -> int:
        return len(self.places)

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        """The columns of some lines."""
        refs = [self.ref(row) for row in rows.tolist()]
        starts, stops = [r.spans[0].start for r in refs], [r.spans[0].stop for r in refs]
        return ObjectColumns.of(rows, starts, stops, [r.size for r in refs])

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        """The keys of some lines; one that is no UTF-8 has no text."""
        return [self.ref(row).key for row in rows.tolist()]

    def ref(self, row: int) -> ObjectRef:
        """One line."""
        if not 0 <= row < len(self):
            raise IndexError(row)
        key, start, stop = self.places[row]
        spans = (Span("", start, stop), Span("@0-1", 0, 1), Span("info", 0, 1))
        if key.startswith(b"\xff"):
            more = {"key_hex": key.hex()}
            return ObjectRef(None, row, spans, stop - start, stop - start, kind=self.kinds[0], extras=more)
        return ObjectRef(key.decode(), row, spans, stop - start, stop - start, kind=self.kinds[0])


class LineShard(Shard):
    """Lines in memory. A content `!` is damaged; the row of a reference is needed to read it."""

    format = "lines"

    def __init__(self, data: bytes, name: str = "lines", kinds: tuple[str, ...] = ("object",)) -> None:
        self.source: Source | None = BytesSource(data, name)
        self.data = data
        self.sections = (Section("lines", SectionRole.DATA, 0, len(data)),)
        self.lines = Lines(data, kinds)
        self.closed = False
        self.damage_of_row = FormatError("this line is damaged", span=Span("", 0, 1))

    @property
    def objects(self) -> Objects:
        """The lines."""
        return self.lines

    def _tree(self) -> Node:
        """One node for each line."""
        kids = tuple(Node(k.decode("latin-1"), Span("", a, b), role=FieldRole.DATA) for k, a, b in self.lines.places)
        return Node("lines", Span("", 0, len(self.data)), children=kids)

    @property
    def fields(self) -> dict[str, Value]:
        """None."""
        return {}

    @property
    def declared_objects(self) -> int:
        """The number of lines."""
        return len(self.lines)

    @property
    def loaded(self) -> bool:
        """Always."""
        return True

    def _load_index(self, progress: Progress) -> None:
        """Nothing is left to load."""
        progress(1, 1)

    def lookup(self, key: str, recorder: LookupRecorder) -> ObjectRef:
        """Reads the lines from the first one."""
        assert self.source is not None
        recorder.meter(self.source).read(0, len(self.data))
        recorder.step("Read", "All lines are compared.", Span("", 0, len(self.data)), Span("@0-1", 0, 1))
        for row, (found, start, _) in enumerate(self.lines.places):
            if found == b"broken" and key == "broken":
                raise FormatError("a broken line", span=Span("", start, start))
            if found.decode("latin-1") == key:
                return self.lines.ref(row)
        raise KeyAbsent(key)

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """Byte by byte, found by the row."""
        assert ref.shard == ""
        _, start, stop = self.lines.places[ref.row]
        for at in range(start, stop):
            if self.data[at : at + 1] == b"!":
                raise self.damage_of_row
            yield self.data[at : at + 1]

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        """A damaged line is a finding."""
        findings = Findings()
        for row, (_, start, stop) in enumerate(self.lines.places):
            progress(row, len(self.lines))
            if b"!" in self.data[start:stop]:
                findings.error("lines.damaged", Span("", start, stop), "damaged")
        progress(len(self.lines), len(self.lines))
        return Report(Depth(depth), len(self.lines), findings.all())

    def _close(self) -> None:
        """Notes it."""
        self.closed = True


class LineSet(DataSet):
    """Shards of lines; keys are looked for in all of them.

    Args:
        openers: Opens each member, by name.
        sizes: How many bytes each has; 0 by default.
    """

    def __init__(self, openers: Mapping[str, Callable[[], Shard]], sizes: Mapping[str, int] | None = None) -> None:
        folder = MemoryFolder(dict.fromkeys(openers, b""), "somewhere")
        super().__init__("lines", folder, [Member(name, (sizes or {}).get(name, 0)) for name in sorted(openers)])
        self._openers = openers

    def open_member(self, name: str, source: Source) -> Shard:
        """As the opener says."""
        return self._openers[name]()

    def route(self, key: str, recorder: LookupRecorder) -> Sequence[str]:
        """All members."""
        recorder.step("Route", "Any member may hold the key.")
        return [member.name for member in self.members]


def line_set(**contents: bytes | Exception) -> LineSet:
    """A data set of members with these lines; an error is what opening raises."""

    def opener(name: str, content: bytes | Exception) -> Callable[[], Shard]:
        def opened() -> Shard:
            if isinstance(content, Exception):
                raise content
            return LineShard(content, name)

        return opened

    sizes = {name: len(c) if isinstance(c, bytes) else 5 for name, c in contents.items()}
    return LineSet({name: opener(name, content) for name, content in contents.items()}, sizes)
