"""One format in a comparison: objects packed in memory by its writer, looked up, changed and verified, and counted."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from shardcore.errors import ShardError, UsageError
from shardcore.model.byte_shares import Use
from shardcore.model.finding import Depth
from shardcore.model.number_words import plural
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span
from shardcore.operations.cold_cost import cold_trace
from shardcore.operations.extraction.default_objects import all_rows, outer_kinds, taken_rows
from shardcore.operations.extraction.options import ExtractOptions
from shardcore.progress import check_stopped
from shardcore.shards.format import Format
from shardcore.shards.opening import create_in
from shardcore.shards.opening import open as open_shard
from shardcore.shards.registry import format_of, writes_of
from shardcore.shards.shard import Shard
from shardcore.sources.base import Source
from shardcore.sources.local import FileSource
from shardcore.sources.memory import BytesFolder
from shardcore.teaching.comparison.contents import ComparedObject
from shardcore.writing.declaration import Instead, KeyRule, Writes
from shardcore.writing.edit_options import APPEND, VERBS, EditSubject, Verb, compute_edit
from shardcore.writing.in_place import Edit, Rewrite
from shardcore.writing.memory import MemoryOutput
from shardcore.writing.plan import Plan, PlannedFile

Options = Mapping[str, Any]

ACTIONS = ("append", "delete", "verify")

USUAL = "usual"
CODECS = ("none", "zstd", USUAL)
"""Codecs by which all formats store contents, as far as they have them; `usual` is the default codec of each."""

ROUND_TRIP_MS, BYTES_PER_MS = 50.0, 12_500
"""Time of a round trip in the timeline: milliseconds of waiting, then so many bytes a millisecond (100 Mbit/s)."""

MOST_PIECES = 14
"""Sections that are reported apart; where there are more, those of one name are one."""

LOOKED_UP = 3
"""Objects that are looked up, each from a cold start; the one in the middle of their costs counts."""

PACKED_AGAIN = 100
"""Up to so many objects are packed again where adding or deleting one rewrites the file."""

FILES_VERIFIED = 40
"""Of more files than these some are verified, and the cost of all follows from theirs."""

_THEN = datetime(2026, 1, 1, tzinfo=UTC).isoformat()
"""Time of deletions: not that of a clock, so that the same is counted each time."""


@dataclass(frozen=True, slots=True)
class SectionShare:
    name: str
    role: SectionRole
    size: int
    count: int = 1
    doc: str = ""


@dataclass(frozen=True, slots=True)
class LookupTrip:
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


class How(Enum):
    IN_PLACE = "in place"
    """Bytes of the file change."""
    BESIDE = "beside"
    """The file stays; a small one beside it changes, or a new one is written."""
    REWRITE = "rewrite"
    """The whole file is rewritten."""
    REMOVE = "remove"
    """A file is removed."""
    READ = "read"
    """Nothing changes."""
    NEVER = "never"
    """It is not possible."""


@dataclass(frozen=True, slots=True)
class ActionCost:
    how: How
    written: int = 0
    read: int | None = None
    what: str = ""
    exact: bool = True


@dataclass(frozen=True, slots=True)
class FormatRow:
    format: str
    title: str
    cannot: str = ""
    purpose: str = ""
    dial: str = ""
    value: str = ""
    content: int = 0
    objects: int = 0
    files: int = 0
    pieces: tuple[SectionShare, ...] = ()
    lookup: Lookup | None = None
    costs: Mapping[str, ActionCost] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    error: str = ""
    codec: str = ""

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces)

    @property
    def overhead(self) -> int:
        return self.size - self.content

    @property
    def share(self) -> float:
        return self.overhead / self.content if self.content else 0.0

    @property
    def stored(self) -> int:
        return self._bytes_of(SectionRole.DATA)

    @property
    def padding(self) -> int:
        return self._bytes_of(SectionRole.PADDING)

    @property
    def structure(self) -> int:
        return self.size - self.stored - self.padding

    def _bytes_of(self, role: SectionRole) -> int:
        return sum(piece.size for piece in self.pieces if piece.role is role)


@dataclass(frozen=True, slots=True)
class PackedFormat:
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


def blank(format: str, options: Options, codec: str = USUAL) -> FormatRow:
    found = format_of(format)
    writes = writes_of(found)
    row = FormatRow(format, found.title, writes.cannot, writes.purpose, codec=codec_text(format, codec, options))
    if (dial := writes.dial) is None:
        return row
    value = with_codec(format, codec, options).get(dial.name, dial.usual)
    return replace(row, dial=dial.name, value=str(value))


def with_codec(format: str, codec: str, options: Options) -> dict[str, Any]:
    writes = writes_of(format_of(format))
    dial, added = writes.dial, dict(_codec_options(writes, codec))
    for name, value in added.items():
        if isinstance(value, Mapping) and dial is not None:
            added[name] = {**dial.options_for(str(options.get(dial.name, dial.usual)))[name], **value}
    return {**added, **options}


def _codec_options(writes: Writes, codec: str) -> Options:
    return {} if codec == USUAL else writes.codecs.get(codec, writes.codecs.get("none", {}))


def codec_text(format: str, codec: str, options: Options) -> str:
    writes = writes_of(format_of(format))
    if not writes.codecs:
        return "not compressed by the format"
    chosen = {name for one in writes.codecs.values() for name in one} & options.keys()
    if chosen:
        return ", ".join(str(options[name]) if name in ("codec", "compression") else f"{name} given" for name in chosen)
    if codec == USUAL:
        return writes.usual_codec
    return codec if codec in writes.codecs else f"none: the format has no {codec}"


def written_with(found: Format, options: Options) -> dict[str, Any]:
    dial, given = writes_of(found).dial, dict(options)
    return given if dial is None else dial.options_for(str(given.pop(dial.name, dial.usual))) | given


def measured(
    format: str, objects: Sequence[ComparedObject], options: Options, codec: str = USUAL
) -> FormatRow:
    row, found = blank(format, options, codec), format_of(format)
    try:
        written = written_with(found, with_codec(format, codec, options))
        packed = pack_in_memory(found, objects, written)
        return replace(
            row,
            content=sum(len(one.data) for one in objects),
            objects=len(objects),
            files=len(packed.files),
            pieces=pieces_of(packed),
            notes=packed.notes,
            lookup=cold_lookup(packed),
            costs={
                "append": _edited(packed, written, APPEND),
                "delete": _edited(packed, written, *(verb for verb in VERBS if verb.takes is EditSubject.KEYS)),
                "verify": _verified(packed),
            },
        )
    except ShardError as error:
        return replace(row, error=error.message)


# --- packing ---


def pack_in_memory(found: Format, objects: Sequence[ComparedObject], options: Options) -> PackedFormat:
    writes = writes_of(found)
    taken, notes = list(objects), []
    if writes.keys is KeyRule.CONTENT:
        known = {one.data: one for one in reversed(objects)}
        taken = [one for one in objects if known[one.data] is one]
        if more := len(objects) - len(taken):
            notes.append(f"{plural(more, 'object')} with a content that is there already: stored once")
    # Formats whose files are recognised by a number in the name are read with a larger first range.
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
        notes.append(f"looked up with its {', '.join(writer.opening)} given; to read that first is one request more")
    return PackedFormat(found, name, output.files, plan, tuple(keys), tuple(taken), dict(writer.opening), tuple(notes))


def _key_of(writes: Writes, name: str, number: int) -> str | None:
    try:
        return writes.key_of(name)
    except UsageError:
        if writes.converted != "number":
            raise
        return str(number)


def pieces_of(packed: PackedFormat) -> tuple[SectionShare, ...]:
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
        return section.size  # a content that is a file of its own
    source = BytesFolder(packed.files).open(file.name or packed.name)
    with open_shard(source, **packed.opening) as shard:
        shard.load_index()
        spans = [(one.span, one.size) for one in shard.byte_shares if one.use is Use.DATA]
    return sum(size for span, size in spans if span is not None and section.start <= span.start < section.stop)


# --- costs ---


def cold_lookup(packed: PackedFormat) -> Lookup:
    lookups = [one_lookup(packed, number) for number in spread(len(packed.objects))]
    return sorted(lookups, key=lambda one: (one.requests, one.bytes))[len(lookups) // 2]


def spread(count: int) -> list[int]:
    return sorted({count * (2 * n + 1) // (2 * LOOKED_UP) for n in range(LOOKED_UP)})


def one_lookup(packed: PackedFormat, number: int) -> Lookup:
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


def _edited(packed: PackedFormat, options: Options, *verbs: Verb) -> ActionCost:
    verb = next((verb for verb in verbs if verb.name in packed.format.edits), None)
    if verb is None:
        return _without(packed, options, "append" if APPEND in verbs else "delete")
    number = len(packed.objects) // 2
    with _copied(packed, packed.file_of(number)) as source, packed.open(source) as shard:
        more = Path(source.uri).parent / "more"
        more.write_bytes(packed.objects[number].data)
        source.taken = 0
        keys = [] if verb.takes is EditSubject.FILES else [packed.keys[number]]
        make = packed.format.edits[verb.name]
        edit = compute_edit(verb, make, shard, keys=keys, paths=[more], values={"date": _THEN}, now=_THEN)
        if isinstance(edit, Edit):
            return ActionCost(How.IN_PLACE, sum(change.size for change in edit.changes), source.taken, verb.help)
        beside = sum(len(one.new) for one in edit if isinstance(one, Rewrite))
        return ActionCost(How.BESIDE, beside, source.taken, verb.help)


def _without(packed: PackedFormat, options: Options, action: str) -> ActionCost:
    declared = writes_of(packed.format).without.get(action)
    if declared is None:
        return ActionCost(How.REWRITE, packed.plan.size, what="The file is rewritten.", exact=False)
    objects, middle = list(packed.objects), len(packed.objects) // 2
    size, exact = packed.plan.size, True
    match declared.instead:
        case Instead.BESIDE:
            size = pack_in_memory(packed.format, [objects[middle]], options).plan.size
            return ActionCost(How.BESIDE, size, what=declared.why)
        case Instead.REWRITE:
            each = size // len(objects)
            size, exact = max(size + (each if action == "append" else -each), 0), False
            if len(objects) <= PACKED_AGAIN:
                one = objects.pop(middle)
                if action == "append":
                    objects += [one, ComparedObject(f"one-more-{one.name}", one.data[::-1] + b"+")]
                with suppress(UsageError):  # there may be no shard without objects
                    size, exact = pack_in_memory(packed.format, objects, options).plan.size, True
            return ActionCost(How.REWRITE, size, what=declared.why, exact=exact)
        case _:
            return ActionCost(How(declared.instead.value), what=declared.why)


class _Watched(FileSource):
    taken = 0

    def _read(self, start: int, stop: int) -> bytes:
        self.taken += stop - start
        return super()._read(start, stop)


@contextmanager
def _copied(packed: PackedFormat, name: str) -> Iterator[_Watched]:
    with tempfile.TemporaryDirectory(prefix="shardcore-") as folder:
        path = Path(folder) / name.rpartition("/")[2]
        path.write_bytes(packed.files[name])
        yield _Watched(path)


def _verified(packed: PackedFormat) -> ActionCost:
    names = [packed.name] if packed.name else list(packed.files)
    some = names[:: max(len(names) // FILES_VERIFIED, 1)]
    ranges: list[tuple[str, int, int]] = []
    folder = BytesFolder(packed.files, noted=lambda *read: ranges.append(read))
    for name in some:
        check_stopped()
        with packed.open(folder.open(name)) as shard:
            shard.verify(Depth.CONTENT)
    read = 0
    reached = ("", 0)
    for name, start, stop in sorted(ranges):
        reached = max(reached, (name, start))
        read += max(stop - reached[1], 0)
        reached = max(reached, (name, stop))
    whole = len(some) == len(names)
    if not whole:
        read = round(read * packed.plan.size / max(sum(len(packed.files[name]) for name in some), 1))
    what = "All contents are read, and compared with what the format keeps to compare them with."
    return ActionCost(How.READ, read=read, what=what, exact=whole)
