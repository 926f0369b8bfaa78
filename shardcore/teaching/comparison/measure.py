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

import numpy as np

from shardcore.errors import ShardError, UsageError
from shardcore.model.finding import Depth
from shardcore.model.number_words import plural
from shardcore.model.section import SectionRole
from shardcore.operations.extraction.default_objects import all_rows, outer_kinds, taken_rows
from shardcore.operations.extraction.options import ExtractOptions
from shardcore.progress import check_stopped
from shardcore.shards.format import Format
from shardcore.shards.opening import create_in, head_bytes
from shardcore.shards.opening import open as open_shard
from shardcore.shards.registry import format_of, writes_of
from shardcore.shards.shard import Shard
from shardcore.sources.base import Source
from shardcore.sources.cold import Bill, ColdFolder, ColdSource
from shardcore.sources.local import FileSource
from shardcore.sources.memory import BytesFolder
from shardcore.sources.read_purpose import ReadPurpose, reading_for
from shardcore.teaching.comparison.contents import ComparedObject
from shardcore.writing.declaration import Instead, KeyRule, Writes
from shardcore.writing.edit_options import APPEND, VERBS, EditSubject, Verb, made
from shardcore.writing.in_place import Edit, Rewrite
from shardcore.writing.memory import MemoryOutput
from shardcore.writing.plan import Plan, PlannedFile

Options = Mapping[str, Any]

ACTIONS = ("append", "delete", "verify")

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
    """A section of the packed files; sections of one name are one piece where there are many files.

    Attributes:
        name: Name in the specification.
        role: Its role.
        size: Bytes.
        count: Number of sections.
        doc: One sentence.
    """

    name: str
    role: SectionRole
    size: int
    count: int = 1
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Cold cost of one lookup.

    Attributes:
        requests: Ranges that are fetched to open the file, to find the key and to read the object.
        opening: Requests that opening took.
        bytes: Bytes in all of them.
        rounds: Round trips: ranges that are fetched at once are one.
        size: Bytes of the object.
        kind: Kind of the object, such as `chunk`.
    """

    requests: int
    opening: int
    bytes: int
    rounds: int
    size: int
    kind: str


class How(Enum):
    """Way in which a change is made."""

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
    """Cost of one action.

    Attributes:
        how: Way in which it is done.
        written: Bytes written.
        read: Bytes read, where that was counted.
        what: One sentence: what is done, or why it is not possible.
        exact: Whether the numbers were counted; else they are estimates.
    """

    how: How
    written: int = 0
    read: int | None = None
    what: str = ""
    exact: bool = True


@dataclass(frozen=True, slots=True)
class FormatRow:
    """One format.

    Attributes:
        format: Its name.
        title: Its title.
        cannot: One sentence about its limits.
        purpose: One sentence about its purpose.
        dial: Name of its main parameter; empty where it has none.
        value: Value of that parameter.
        content: Bytes of the contents that were packed.
        objects: Number of objects.
        files: Number of files.
        pieces: Sections of the files, in the order of the bytes.
        lookup: One cold lookup; None where nothing was packed.
        costs: Costs of append, delete and verify, by these names.
        notes: Notes of the writer, a sentence each.
        error: Why there is nothing; empty where there is.
    """

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

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(piece.size for piece in self.pieces)

    @property
    def overhead(self) -> int:
        """Bytes over those of the contents; negative where they are compressed."""
        return self.size - self.content

    @property
    def share(self) -> float:
        """The overhead as a part of the contents."""
        return self.overhead / self.content if self.content else 0.0

    @property
    def structure(self) -> int:
        """Bytes of all sections but those of data."""
        return sum(piece.size for piece in self.pieces if piece.role is not SectionRole.DATA)


@dataclass(frozen=True, slots=True)
class PackedFormat:
    """Objects packed into a format.

    Attributes:
        format: The format.
        name: The file, or empty where each object is a file of its own.
        files: The bytes of all files, by name.
        plan: Their sections.
        keys: The key of each packed object; empty where the format gives none.
        objects: The packed objects.
        opening: Options for opening the result.
        notes: Notes of the writer.
    """

    format: Format
    name: str
    files: Mapping[str, bytes]
    plan: Plan
    keys: tuple[str, ...]
    objects: tuple[ComparedObject, ...]
    opening: Options
    notes: tuple[str, ...]

    def file_of(self, number: int) -> str:
        """Return the file in which an object is looked up."""
        return self.name or list(self.files)[number]

    def open_cold(self, bill: Bill, name: str) -> Shard:
        """Open one of the files as from a cold start; `bill` counts what is fetched.

        Raises:
            ShardError: It cannot be opened.
        """
        files = BytesFolder(self.files)
        base = files.open(name)
        first = head_bytes(base.name, self.format.name)
        return self.open(ColdSource(base, bill, ColdFolder(files, bill), first=first, owned=False))

    def open(self, source: Source) -> Shard:
        """Open a source as one of the files.

        Raises:
            ShardError: It cannot be opened.
        """
        return open_shard(source, format=self.format.name, jobs=1, **self.opening)


def blank(format: str, options: Options) -> FormatRow:
    """Return what a format declares, before anything is packed.

    Args:
        format: Its name.
        options: A value of its main parameter by that name, and options for writing.
    """
    found = format_of(format)
    writes = writes_of(found)
    row = FormatRow(format, found.title, cannot=writes.cannot, purpose=writes.purpose)
    if (dial := writes.dial) is None:
        return row
    return replace(row, dial=dial.name, value=str(options.get(dial.name, dial.usual)))


def uncompressed(format: str, options: Options) -> dict[str, Any]:
    """Return options with which a format stores contents uncompressed, as far as the given ones do not choose a codec.

    Args:
        format: Its name.
        options: As in `blank`.
    """
    writes = writes_of(format_of(format))
    dial, added = writes.dial, dict(writes.uncompressed)
    for name, value in added.items():
        if isinstance(value, Mapping) and dial is not None:
            added[name] = {**dial.options_for(str(options.get(dial.name, dial.usual)))[name], **value}
    return {**added, **options}


def written_with(found: Format, options: Options) -> dict[str, Any]:
    """Return the options for writing that the main parameter and other options stand for."""
    dial, given = writes_of(found).dial, dict(options)
    return given if dial is None else dial.options_for(str(given.pop(dial.name, dial.usual))) | given


def measured(format: str, objects: Sequence[ComparedObject], options: Options) -> FormatRow:
    """Pack objects into a format; look one up, add, delete and verify, and count.

    Args:
        format: Its name.
        objects: The objects, under names that are all different.
        options: As in `blank`.

    Returns:
        The row; where the objects or the options do not fit the format, its `error` says why.

    Raises:
        Cancelled: The caller stopped it.
    """
    row, found = blank(format, options), format_of(format)
    try:
        written = written_with(found, options)
        packed = pack_in_memory(found, objects, written)
        return replace(
            row,
            content=sum(len(one.data) for one in objects),
            objects=len(objects),
            files=len(packed.files),
            pieces=pieces_of_plan(packed.plan),
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
    """Pack objects into a format.

    Args:
        found: The format.
        objects: The objects, under names that are all different.
        options: Options for writing.

    Raises:
        ShardError: They do not fit the format, or an option does not.
    """
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
    return PackedFormat(found, name, output.files, plan, tuple(keys), tuple(taken), dict(writer.opening), tuple(notes))


def _key_of(writes: Writes, name: str, number: int) -> str | None:
    """Return the key of an object: by the rule of the format, or where its name says none, its number."""
    try:
        return writes.key_of(name)
    except UsageError:
        if writes.converted != "number":
            raise
        return str(number)


def pieces_of_plan(plan: Plan) -> tuple[SectionShare, ...]:
    """Return the sections of all files, one after the other; where they are many, those of one name together."""
    every = [piece for file in plan.files for piece in _pieces_of_file(file)]
    if len(every) <= MOST_PIECES:
        return tuple(every)
    joined: dict[tuple[str, SectionRole], SectionShare] = {}
    for one in every:
        before = joined.get((one.name, one.role), replace(one, size=0, count=0))
        joined[one.name, one.role] = replace(before, size=before.size + one.size, count=before.count + 1)
    return tuple(joined.values())


def _pieces_of_file(file: PlannedFile) -> list[SectionShare]:
    """Return the sections of a file; what lies between stored contents, such as minishard indices, is one more."""
    pieces = [SectionShare(one.name, one.role, one.size, 1, one.doc) for one in file.sections if one.size]
    data = [number for number, piece in enumerate(pieces) if piece.role is SectionRole.DATA]
    columns = file.objects.columns(np.arange(len(file.objects)))
    stored = int(columns.stored_size[columns.start >= 0].sum())
    if len(data) == 1 and 0 < stored < pieces[data[0]].size:
        whole = pieces[data[0]]
        doc = "Lengths, headers, checksums and indices that are stored between the contents."
        between = SectionShare("between contents", SectionRole.INDEX, whole.size - stored, 1, doc)
        pieces[data[0] : data[0] + 1] = [replace(whole, size=stored), between]
    return pieces


# --- costs ---


def cold_lookup(packed: PackedFormat) -> Lookup:
    """Open the result, find an object and read it; of some objects, return the one in the middle of their costs.

    Raises:
        ShardError: It cannot be read.
    """
    lookups = [one_lookup(packed, number) for number in spread(len(packed.objects))]
    return sorted(lookups, key=lambda one: (one.requests, one.bytes))[len(lookups) // 2]


def spread(count: int) -> list[int]:
    """Return the numbers of the objects that are looked up: spread evenly, at most `LOOKED_UP`."""
    return sorted({count * (2 * n + 1) // (2 * LOOKED_UP) for n in range(LOOKED_UP)})


def one_lookup(packed: PackedFormat, number: int) -> Lookup:
    """Return the cold cost of looking up and reading one object."""
    check_stopped()
    # The key of a number, where the format gives none, is read through another opening, which is not counted.
    key = (packed.keys[number] if packed.name else "") or _key_at(packed, number)
    bill = Bill(fetch=True)
    with packed.open_cold(bill, packed.file_of(number)) as shard, reading_for(ReadPurpose.LOOKUP):
        opening = bill.cost.requests
        ref = shard.find(key)
        size = sum(len(piece) for piece in shard.stream(ref))
        paid = bill.cost
        return Lookup(paid.requests, opening, paid.bytes, paid.rounds, size, ref.kind)


def _key_at(packed: PackedFormat, number: int) -> str:
    with packed.open_cold(Bill(fetch=True), packed.file_of(number)) as shard:
        rows = next(taken_rows(shard.objects, all_rows(shard.objects), ExtractOptions(), outer_kinds(shard.objects)))
        at = len(rows) * number // len(packed.objects) if packed.name else 0
        return str(shard.objects.keys[int(rows[at])])


def _edited(packed: PackedFormat, options: Options, *verbs: Verb) -> ActionCost:
    """Return the cost of the first of some edits that the format has, or of what replaces it.

    The edit is prepared for a private copy, and not carried out.
    """
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
        edit = made(verb, make, shard, keys=keys, paths=[more], values={"date": _THEN}, now=_THEN)
        if isinstance(edit, Edit):
            return ActionCost(How.IN_PLACE, sum(change.size for change in edit.changes), source.taken, verb.help)
        beside = sum(len(one.new) for one in edit if isinstance(one, Rewrite))
        return ActionCost(How.BESIDE, beside, source.taken, verb.help)


def _without(packed: PackedFormat, options: Options, action: str) -> ActionCost:
    """Return the cost of what is done where the format does not have the edit."""
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
    """A local file that counts what is read of it."""

    taken = 0

    def _read(self, start: int, stop: int) -> bytes:
        self.taken += stop - start
        return super()._read(start, stop)


@contextmanager
def _copied(packed: PackedFormat, name: str) -> Iterator[_Watched]:
    """One of the files in a temporary folder: edits are prepared for files that exist."""
    with tempfile.TemporaryDirectory(prefix="shardcore-") as folder:
        path = Path(folder) / name.rpartition("/")[2]
        path.write_bytes(packed.files[name])
        yield _Watched(path)


def _verified(packed: PackedFormat) -> ActionCost:
    """Return the cost of verifying all contents, from a cold start."""
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
