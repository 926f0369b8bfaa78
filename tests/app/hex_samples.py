"""A small made-up format for the tests of hex views: a header, an index of 40-byte slots, objects, a tail."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from shardcore import BytesSource, Field, FieldRole, Node, Record, Runs, Section, SectionRole, Source, Span
from shardcore.model.computed_children import RecordTable, field_nodes
from shardcore.model.node import fields_of, path_to, runs_of
from shardscope.session.session import Session

HEADER = Record(
    "header",
    source="made up",
    fields=(
        Field("magic", ("u1", 8), FieldRole.MAGIC, "Names the format."),
        Field("slots", ">u8", FieldRole.COUNT, "How many slots."),
    ),
)
SLOT = Record(
    "slot",
    source="made up",
    fields=(
        Field("key", ("u1", 32), FieldRole.KEY, "The key."),
        Field("offset", ">u8", FieldRole.OFFSET, "Where the object is."),
    ),
)
SLOTS = 30
INDEX = HEADER.size
OBJECTS = INDEX + SLOTS * SLOT.size
TAIL = OBJECTS + 40_000
SIZE = TAIL + 10

_slots = np.frombuffer(np.random.default_rng(7).bytes(SLOTS * SLOT.size), SLOT.dtype)
DATA = (
    HEADER.pack(magic=b"SAMPLE", slots=SLOTS)
    + _slots.tobytes()
    + (b"Objects, one after the other; <b>not</b> markup.\0" * 1000)[: TAIL - OBJECTS]
    + b"the tail\0\xff"
)
SECTIONS = (
    Section("header", SectionRole.HEADER, 0, INDEX, "Says what it is."),
    Section("index", SectionRole.INDEX, INDEX, OBJECTS, "Finds objects."),
    Section("objects", SectionRole.DATA, OBJECTS, TAIL, "Contents."),
    Section("tail", SectionRole.FOOTER, TAIL, SIZE, "Ends it."),
)


def sample_tree() -> Node:
    """The nodes of the sample."""
    table = RecordTable(SLOT, INDEX, SLOTS, lambda first, last: _slots[first:last])
    kids = {"header": field_nodes(HEADER, HEADER.read(DATA)[0], 0), "index": table}
    return Node(
        "sample",
        Span("", 0, SIZE),
        children=tuple(
            Node(
                s.name,
                Span("", s.start, s.stop),
                children=kids.get(s.name, ()),
                doc=s.doc,
                role=FieldRole.DATA if s.role is SectionRole.DATA else FieldRole.GROUP,
            )
            for s in SECTIONS
        ),
    )


class SampleReader:
    """The sample as a page cache reads it; can be held, can fail, and counts.

    Attributes:
        source: The bytes; any source can stand here.
        held: While clear, reads wait.
        failure: Called with a range before it is read; may raise.
    """

    def __init__(self, source: Source | None = None) -> None:
        self.source = source or BytesSource(DATA, "sample")
        self.tree = sample_tree() if source is None else Node("file", Span("", 0, self.source.size))
        self.held = threading.Event()
        self.held.set()
        self.failure: Callable[[int, int], None] = lambda start, stop: None
        self.reads: list[tuple[int, int]] = []

    def bytes_of(self, name: str) -> Source:
        """A source that notes what is read."""
        return _Watched(self)

    def runs(self, start: int, stop: int, source: str = "") -> Runs:
        """The runs of the sample's tree."""
        return runs_of(self.tree, start, stop)

    def sections_of(self, name: str) -> tuple[Section, ...]:
        """The sections of the sample."""
        return SECTIONS

    def explain(self, offset: int, source: str = "") -> tuple[Node, ...]:
        """The path in the sample's tree."""
        return path_to(self.tree, offset)

    def fields_in(self, start: int, stop: int, source: str = "", *, limit: int = 4096) -> list[tuple[Node, ...]]:
        """The fields in the sample's tree."""
        return fields_of(self.tree, start, stop, limit)


class _Watched(Source):
    def __init__(self, reader: SampleReader) -> None:
        self._reader = reader
        self.name = self.uri = reader.source.name
        self.near = reader.source.near

    @property
    def size(self) -> int:
        """As the source."""
        return self._reader.source.size

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        if self.near:
            return ((start, stop),)
        end = 0
        while (longer := max((b for a, b in self._reader.reads if a <= end), default=0)) > end:
            end = longer
        return ((start, min(stop, end)),) if start < end else ()

    def _read(self, start: int, stop: int) -> bytes:
        """As the source, once it is let go."""
        self._reader.held.wait(30)
        self._reader.reads.append((start, stop))
        self._reader.failure(start, stop)
        return self._reader.source.read(start, stop)


def section(session: Session, role: SectionRole) -> Span:
    """The span of the first section of a role."""
    found = next(s for s in session.shard.sections if s.role is role)
    return Span("", found.start, found.stop)
