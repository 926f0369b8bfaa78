"""Objects packed in memory, by the writer of a format, with nothing but what the format declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shardcore.errors import UsageError
from shardcore.model.number_words import plural
from shardcore.model.section import SectionRole
from shardcore.progress import check_stopped
from shardcore.shards.format import Format
from shardcore.shards.opening import create_in, head_bytes
from shardcore.shards.opening import open as open_shard
from shardcore.shards.registry import writes_of
from shardcore.shards.shard import Shard
from shardcore.sources.base import Source
from shardcore.sources.cold import Bill, ColdFolder, ColdSource
from shardcore.sources.memory import BytesFolder
from shardcore.teaching.comparison.contents import ComparedObject
from shardcore.teaching.comparison.row import SectionShare
from shardcore.writing.declaration import KeyRule, Writes
from shardcore.writing.memory import MemoryOutput
from shardcore.writing.plan import Plan, PlannedFile

MOST_PIECES = 14
"""Sections that are told apart; where there are more, those of one name are one."""

BETWEEN = "between contents"
_BETWEEN_DOC = "Lengths, headers, checksums and indices that are stored between the contents."

STEM, NUMBERED = "objects", "0"
"""Names of the file: formats whose files are recognised by a number in the name are read with a larger first range."""


@dataclass(frozen=True, slots=True)
class PackedFormat:
    """Objects packed into a format.

    Attributes:
        format: The format.
        name: The file, or empty where each object is a file of its own.
        files: The bytes of all files, by name.
        plan: Their sections.
        keys: The key of each object that was packed; empty where the format gives none.
        objects: The objects that were packed.
        content: Bytes of all contents, those included that are the same and were packed once.
        opening: Options with which it is opened.
        notes: What was left out or suggested.
    """

    format: Format
    name: str
    files: Mapping[str, bytes]
    plan: Plan
    keys: tuple[str, ...]
    objects: tuple[ComparedObject, ...]
    content: int
    opening: Mapping[str, Any]
    notes: tuple[str, ...]

    def file_of(self, number: int) -> str:
        """The file in which an object is looked up."""
        return self.name or list(self.files)[number]

    def open_cold(self, bill: Bill, name: str) -> Shard:
        """Opens one of the files as somebody does who knows nothing of it yet.

        Args:
            bill: Counts what is fetched.
            name: The file.

        Raises:
            ShardError: It cannot be opened.
        """
        files = BytesFolder(self.files)
        base = files.open(name)
        first = head_bytes(base.name, self.format.name)
        return self.open(ColdSource(base, bill, ColdFolder(files, bill), first=first, owned=False))

    def open(self, source: Source) -> Shard:
        """Opens a source as one of the files.

        Raises:
            ShardError: It cannot be opened.
        """
        return open_shard(source, format=self.format.name, jobs=1, **self.opening)


def pack_in_memory(found: Format, objects: Sequence[ComparedObject], options: Mapping[str, Any]) -> PackedFormat:
    """Packs objects into a format.

    Args:
        found: The format.
        objects: The objects, under names that are all different.
        options: Options for writing.

    Raises:
        ShardError: They do not fit the format, or an option does not.
    """
    writes = writes_of(found)
    taken, notes = _once_each(objects, writes)
    name = (
        ""
        if writes.single or not writes.file
        else f"{NUMBERED if found.head_names else STEM}{''.join(found.suffixes[:1])}"
    )
    output = MemoryOutput(name, folder=not name)
    keys = []
    with create_in(lambda: output, format=found.name, **options) as writer:
        for number, one in enumerate(taken):
            check_stopped()
            key = _key_of(writes, one.name, number)
            keys.append(writer.add(key, one.data, label=one.name, name=one.name))
        plan = writer.plan()
    content = sum(len(one.data) for one in objects)
    notes += writer.notes
    return PackedFormat(
        found, name, output.files, plan, tuple(keys), tuple(taken), content, dict(writer.opening), tuple(notes)
    )


def _key_of(writes: Writes, name: str, number: int) -> str | None:
    """The key of an object: by the rule of the format, or where its name says none, its number."""
    try:
        return writes.key_of(name)
    except UsageError:
        if writes.converted != "number":
            raise
        return str(number)


def _once_each(objects: Sequence[ComparedObject], writes: Writes) -> tuple[list[ComparedObject], list[str]]:
    """The objects without those that are the same to a format whose keys come from the content."""
    if writes.keys is not KeyRule.CONTENT:
        return list(objects), []
    known = {one.data: one for one in reversed(objects)}
    taken = [one for one in objects if known[one.data] is one]
    more = len(objects) - len(taken)
    return taken, [f"{plural(more, 'object')} with a content that is there already: stored once"] if more else []


def pieces_of_plan(plan: Plan) -> tuple[SectionShare, ...]:
    """The sections of all files, one after the other; where they are many, those of one name together."""
    every = [piece for file in plan.files for piece in _pieces_of_file(file)]
    if len(every) <= MOST_PIECES:
        return tuple(every)
    joined: dict[tuple[str, SectionRole], SectionShare] = {}
    for one in every:
        key = one.name, one.role
        before = joined.get(key, SectionShare(one.name, one.role, 0, 0, one.doc))
        joined[key] = SectionShare(one.name, one.role, before.size + one.size, before.count + 1, one.doc)
    return tuple(joined.values())


def _pieces_of_file(file: PlannedFile) -> list[SectionShare]:
    """The sections of a file; what lies between stored contents, such as minishard indices, is one of its own."""
    pieces = [SectionShare(one.name, one.role, one.size, 1, one.doc) for one in file.sections if one.size]
    data = [number for number, piece in enumerate(pieces) if piece.role is SectionRole.DATA]
    columns = file.objects.columns(np.arange(len(file.objects)))
    stored = int(columns.stored_size[columns.start >= 0].sum())
    if len(data) == 1 and 0 < stored < pieces[data[0]].size:
        whole = pieces[data[0]]
        between = SectionShare(BETWEEN, SectionRole.INDEX, whole.size - stored, 1, _BETWEEN_DOC)
        pieces[data[0] : data[0] + 1] = [replace(whole, size=stored), between]
    return pieces
