"""Measures a format for *Compare formats*: packs objects in memory, uncompressed, and looks some up without cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shardcore.dataclasses import dataclass, replace
from shardcore.errors import ShardError, UsageError
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span
from shardcore.model.text import plural, size_text
from shardcore.model.usage import Use
from shardcore.operations.cold_cost import cold_trace
from shardcore.operations.description import ExtractOptions
from shardcore.operations.extraction.selection import all_rows, outer_kinds, taken_rows
from shardcore.progress import check_stopped
from shardcore.shards.format import Format
from shardcore.shards.opening import create_in
from shardcore.shards.opening import open as open_shard
from shardcore.shards.registry import all_formats, format_of, writes_of
from shardcore.shards.shard import Shard
from shardcore.sources.base import Source
from shardcore.sources.memory import BytesFolder
from shardcore.writing.declaration import KeyRule, Writes
from shardcore.writing.output import MemoryOutput
from shardcore.writing.plan import Plan, PlannedFile


class ComparedObject(NamedTuple):
    name: str
    data: bytes


_SIZES = {
    "letter.txt": 1_800,
    "people.json": 2_600,
    "prices.csv": 3_100,
    "server.log": 4_200,
    "program.py": 2_300,
    "counts.i64": 4_096,
    "waves.f64": 4_096,
    "slope.gray": 6_400,
    "photo.jpg": 5_700,
    "labels.u32": 8_192,
}


def built_in() -> tuple[ComparedObject, ...]:
    """Return ten objects of random bytes, always the same. They are packed uncompressed, so only their sizes matter."""
    # NumPy guarantees that the numbers of this generator never change.
    return tuple(
        ComparedObject(name, np.random.RandomState(seed).bytes(size))
        for seed, (name, size) in enumerate(_SIZES.items())
    )


Options = Mapping[str, Any]

ROUND_TRIP_MS, BYTES_PER_MS = 50.0, 12_500
"""Assumed latency of a round trip in milliseconds, and bytes per millisecond (100 Mbit/s)."""

MOST_PIECES = 14
"""Maximum number of sections shown separately; if there are more, sections with the same name are merged."""

LOOKED_UP = 3


@dataclass(frozen=True, slots=True)
class SectionShare:
    name: str
    role: SectionRole
    size: int
    count: int = 1
    doc: str = ""


@dataclass(frozen=True, slots=True)
class LookupTrip:
    """Round trip of a lookup: byte ranges requested at the same time; `opening` is True if they open the file."""

    opening: bool
    ranges: tuple[Span, ...]

    @property
    def bytes(self) -> int:
        return sum(span.size for span in self.ranges)

    @property
    def milliseconds(self) -> float:
        return ROUND_TRIP_MS + self.bytes / BYTES_PER_MS


@dataclass(frozen=True, slots=True)
class Lookup:
    requests: int
    opening: int
    bytes: int
    rounds: int
    size: int
    kind: str
    trips: tuple[LookupTrip, ...] = ()

    @property
    def milliseconds(self) -> float:
        return sum(trip.milliseconds for trip in self.trips)


@dataclass(frozen=True, slots=True)
class FormatRow:
    format: str
    title: str
    cannot: str = ""
    purpose: str = ""
    content: int = 0
    files: int = 0
    pieces: tuple[SectionShare, ...] = ()
    lookup: Lookup | None = None
    notes: tuple[str, ...] = ()
    error: str = ""

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces)

    @property
    def overhead(self) -> int:
        return self.size - self.content

    @property
    def share(self) -> float:
        return self.overhead / self.content if self.content else 0.0


@dataclass(frozen=True, slots=True)
class PackedFormat:
    """Objects packed in memory by the writer of a format; `name` is empty if every object is a separate file."""

    format: Format
    name: str
    files: Mapping[str, bytes]
    plan: Plan
    keys: tuple[str, ...]
    objects: tuple[ComparedObject, ...]
    opening: Options
    notes: tuple[str, ...]

    def file_of(self, number: int) -> str:
        return self.name or list(self.files)[number]

    def open(self, source: Source) -> Shard:
        return open_shard(source, format=self.format.name, jobs=1, **self.opening)


def compared_formats() -> tuple[str, ...]:
    return tuple(one.name for one in all_formats() if one.writes is not None)


def blank(format: str) -> FormatRow:
    found = format_of(format)
    writes = writes_of(found)
    return FormatRow(format, found.title, writes.cannot, writes.purpose)


def measured(format: str, objects: Sequence[ComparedObject]) -> FormatRow:
    """Pack and look up the objects; an error becomes `FormatRow.error`."""
    row, found = blank(format), format_of(format)
    try:
        packed = pack_in_memory(found, objects, writes_of(found).uncompressed)
        return replace(
            row,
            content=sum(len(one.data) for one in objects),
            files=len(packed.files),
            pieces=pieces_of(packed),
            notes=packed.notes,
            lookup=cold_lookup(packed),
        )
    except ShardError as error:
        return replace(row, error=error.message)


# --- for people ---

HEADINGS = ("format", "size", "overhead", "one cold lookup", "limits")


def cells(row: FormatRow) -> tuple[str, ...]:
    """Return the table cells of a format, in the order of `HEADINGS`."""
    lookup = row.lookup
    if row.error or lookup is None:
        return (row.format, *("—" if row.error else "…" for _ in HEADINGS[1:-1]), row.error or row.cannot)
    return (
        row.format,
        size_text(row.size) + (f" in {plural(row.files, 'file')}" if row.files > 1 else ""),
        overhead_text(row),
        f"{plural(lookup.requests, 'request')}, {size_text(lookup.bytes)}, {plural(lookup.rounds, 'round trip')}",
        row.cannot,
    )


def overhead_text(row: FormatRow) -> str:
    sign = "+" if row.overhead > 0 else ""
    return f"{sign}{size_text(row.overhead)}, {sign}{row.share * 100:.1f} %".replace("-", "−")


# --- packing ---


def pack_in_memory(found: Format, objects: Sequence[ComparedObject], options: Options) -> PackedFormat:
    """Pack objects with the writer of a format; if keys are computed from contents, equal ones are stored once."""
    writes = writes_of(found)
    taken, notes = list(objects), []
    if writes.keys is KeyRule.CONTENT:
        known = {one.data: one for one in reversed(objects)}
        taken = [one for one in objects if known[one.data] is one]
        if more := len(objects) - len(taken):
            notes.append(f"{plural(more, 'object')} with equal content: stored once")
    # The first read of a file is larger if its name matches `head_names`; the name 0 with the suffix does.
    stem = "0" if found.head_names else "objects"
    name = "" if writes.single or not writes.file else f"{stem}{''.join(found.suffixes[:1])}"
    output = MemoryOutput(name, folder=not name)
    keys = []
    with create_in(lambda: output, format=found.name, **options) as writer:
        for number, one in enumerate(taken):
            check_stopped()
            keys.append(writer.add(_key_of(writes, one.name, number), one.data, label=one.name, name=one.name))
        plan = writer.plan()
    notes += writer.notes
    if writer.opening:
        notes.append(f"looked up with known {', '.join(writer.opening)}; otherwise, a lookup takes one more request")
    return PackedFormat(found, name, output.files, plan, tuple(keys), tuple(taken), dict(writer.opening), tuple(notes))


def _key_of(writes: Writes, name: str, number: int) -> str | None:
    try:
        return writes.key_of(name)
    except UsageError:
        if writes.converted != "number":
            raise
        return str(number)


def pieces_of(packed: PackedFormat) -> tuple[SectionShare, ...]:
    """Return the bytes per section; if there are more than `MOST_PIECES`, sections with the same name are merged."""
    every = [piece for file in packed.plan.files for piece in _pieces_of_file(packed, file)]
    if len(every) <= MOST_PIECES:
        return tuple(every)
    joined: dict[tuple[str, SectionRole], SectionShare] = {}
    for one in every:
        before = joined.get((one.name, one.role), replace(one, size=0, count=0))
        joined[one.name, one.role] = replace(before, size=before.size + one.size, count=before.count + 1)
    return tuple(joined.values())


def _pieces_of_file(packed: PackedFormat, file: PlannedFile) -> list[SectionShare]:
    check_stopped()
    found: list[SectionShare] = []
    for one in file.sections:
        stored = _stored_bytes(packed, file, one) if one.role is SectionRole.DATA else one.size
        found.append(SectionShare(one.name, one.role, stored, 1, one.doc))
        doc = "Lengths, headers, offsets, checksums and indices that are stored between the contents."
        found.append(SectionShare("between contents", SectionRole.INDEX, one.size - stored, 1, doc))
    return [piece for piece in found if piece.size]


def _stored_bytes(packed: PackedFormat, file: PlannedFile, section: Section) -> int:
    if len(file.sections) == 1:
        return section.size  # content in a separate file
    source = BytesFolder(packed.files).open(file.name or packed.name)
    with open_shard(source, **packed.opening) as shard:
        shard.load_index()
        spans = [(one.span, one.size) for one in shard.byte_shares if one.use is Use.DATA]
    return sum(size for span, size in spans if span is not None and section.start <= span.start < section.stop)


# --- costs ---


def cold_lookup(packed: PackedFormat) -> Lookup:
    """Return the median of `LOOKED_UP` lookups, sorted by requests and bytes."""
    lookups = [one_lookup(packed, number) for number in spread(len(packed.objects))]
    return sorted(lookups, key=lambda one: (one.requests, one.bytes))[len(lookups) // 2]


def spread(count: int) -> list[int]:
    return sorted({count * (2 * n + 1) // (2 * LOOKED_UP) for n in range(LOOKED_UP)})


def one_lookup(packed: PackedFormat, number: int) -> Lookup:
    """Measure opening, finding and reading one object with an empty cache."""
    check_stopped()
    with packed.open(BytesFolder(packed.files).open(packed.file_of(number))) as shard:
        key = (packed.keys[number] if packed.name else "") or _key_at(packed, shard, number)
        ref = shard.find(key)
        size = sum(len(piece) for piece in shard.stream(ref))
        cold = cold_trace(shard, key, fetch=True)
    trips = tuple(LookupTrip(at < cold.opening.rounds, ranges) for at, ranges in enumerate(cold.trips))
    paid = cold.total
    return Lookup(paid.requests, cold.opening.requests, paid.bytes, paid.rounds, size, ref.kind, trips)


def _key_at(packed: PackedFormat, shard: Shard, number: int) -> str:
    rows = next(taken_rows(shard.objects, all_rows(shard.objects), ExtractOptions(), outer_kinds(shard.objects)))
    at = len(rows) * number // len(packed.objects) if packed.name else 0
    return str(shard.objects.keys[int(rows[at])])
