"""Costs of lookup, append, delete and verify: done in memory or on a private copy, and counted."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shardcore.errors import UsageError
from shardcore.model.finding import Depth
from shardcore.operations.extraction.default_objects import all_rows, outer_kinds, taken_rows
from shardcore.operations.extraction.options import ExtractOptions
from shardcore.progress import check_stopped
from shardcore.shards.registry import writes_of
from shardcore.sources.base import Folder, Source
from shardcore.sources.cold import Bill
from shardcore.sources.local import FileSource
from shardcore.sources.memory import BytesFolder, BytesSource
from shardcore.sources.read_purpose import ReadPurpose, reading_for
from shardcore.teaching.comparison.contents import ComparedObject
from shardcore.teaching.comparison.packed import PackedFormat, pack_in_memory
from shardcore.teaching.comparison.row import ActionCost, How, Lookup
from shardcore.writing.declaration import Instead
from shardcore.writing.edit_options import APPEND, VERBS, EditSubject, Verb, made
from shardcore.writing.in_place import Edit, Rewrite

Ranges = dict[str, list[tuple[int, int]]]


class NotedFolder(BytesFolder):
    """Files in memory.

    Args:
        files: Their bytes, by names with `/`.
        inside: As in `BytesFolder`.
        ranges: Where reads are noted, by the names of the files.
    """

    def __init__(self, files: Mapping[str, bytes], inside: str = "", ranges: Ranges | None = None) -> None:
        super().__init__(files, inside)
        self._ranges: Ranges = {} if ranges is None else ranges

    def open(self, name: str) -> Source:
        """Opens a file.

        Raises:
            SourceError: There is none of that name.
        """
        source = super().open(name)
        path = self._inside + name
        return _Noted(self._files[path], source.name, self, self._ranges.setdefault(path, []))

    def folder(self, name: str) -> Folder:
        """A folder in it."""
        inner = super().folder(name)
        return NotedFolder(self._files, inner.uri.removeprefix("memory/"), self._ranges)

    @property
    def read_bytes(self) -> int:
        """Bytes that were read, of all files."""
        return sum(map(_covered, self._ranges.values()))


class _Noted(BytesSource):
    """One of the files."""

    def __init__(self, data: bytes, name: str, folder: Folder, ranges: list[tuple[int, int]]) -> None:
        super().__init__(data, name, folder=folder)
        self._ranges = ranges

    def _read(self, start: int, stop: int) -> bytes:
        self._ranges.append((start, stop))
        return super()._read(start, stop)

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        self._ranges += ranges
        return [self.data[start:stop] for start, stop in ranges]


def _covered(ranges: list[tuple[int, int]]) -> int:
    """Bytes in ranges that may overlap."""
    found = at = 0
    for start, stop in sorted(ranges):
        found += max(stop - max(start, at), 0)
        at = max(at, stop)
    return found


ACTIONS = ("append", "delete", "verify")

LOOKED_UP = 3
"""Objects that are looked up, each from a cold start; the one in the middle of their costs is told."""

PACKED_AGAIN = 100
"""Up to so many objects are packed once more where adding or deleting one means to write them anew."""

FILES_VERIFIED = 40
"""Of more files than these some are verified, and the cost of all follows from theirs."""

_HOW = {
    Instead.REWRITE: How.REWRITE,
    Instead.BESIDE: How.BESIDE,
    Instead.REMOVE: How.REMOVE,
    Instead.NEVER: How.NEVER,
}
_THEN = datetime(2026, 1, 1, tzinfo=UTC).isoformat()
"""When deletions are noted: no time of a clock, so that the same is counted each time."""


def cold_lookup(packed: PackedFormat) -> Lookup:
    """Opens what was packed, finds an object and reads it; of some objects, the one in the middle of their costs.

    Raises:
        ShardError: It cannot be read.
    """
    found = sorted(
        (_looked_up(packed, n) for n in spread(len(packed.objects))), key=lambda one: (one.requests, one.bytes)
    )
    return found[len(found) // 2]


def spread(count: int) -> list[int]:
    """The numbers of the objects that are looked up: spread evenly, at most `LOOKED_UP`."""
    return sorted({count * (2 * n + 1) // (2 * LOOKED_UP) for n in range(LOOKED_UP)})


def _looked_up(packed: PackedFormat, number: int) -> Lookup:
    check_stopped()
    # Which key a number means, where the format gives none, is asked of a reader of its own: that is not counted.
    key = (packed.keys[number] if packed.name else "") or _key_at(packed, number)
    bill = Bill(fetch=True)
    with packed.open_cold(bill, packed.file_of(number)) as shard, reading_for(ReadPurpose.LOOKUP):
        opening = bill.cost.requests
        ref = shard.find(key)
        size = sum(len(piece) for piece in shard.stream(ref))
        paid = bill.cost
        return Lookup(paid.requests, opening, paid.bytes, paid.rounds, size, ref.kind)


def _key_at(packed: PackedFormat, number: int) -> str:
    """The key in the place of an object, where objects have none that the writer tells."""
    with packed.open_cold(Bill(fetch=True), packed.file_of(number)) as shard:
        rows = next(taken_rows(shard.objects, all_rows(shard.objects), ExtractOptions(), outer_kinds(shard.objects)))
        at = len(rows) * number // len(packed.objects) if packed.name else 0
        return str(shard.objects.keys[int(rows[at])])


def action_costs(packed: PackedFormat, options: Mapping[str, Any]) -> dict[str, ActionCost]:
    """Return what it costs to add one more object, to delete one, and to verify all.

    Args:
        packed: What was packed.
        options: How.

    Raises:
        ShardError: What was packed cannot be read.
    """
    deleting = next(
        (verb for verb in VERBS if verb.takes is EditSubject.KEYS and verb.name in packed.format.edits), None
    )
    adding = APPEND if APPEND.name in packed.format.edits else None
    return {
        "append": _edited(packed, adding) if adding else _without(packed, "append", options),
        "delete": _edited(packed, deleting) if deleting else _without(packed, "delete", options),
        "verify": _verified(packed),
    }


def _without(packed: PackedFormat, action: str, options: Mapping[str, Any]) -> ActionCost:
    """The cost of what has to be done where the format has no edit."""
    declared = writes_of(packed.format).without.get(action)
    if declared is None:
        return ActionCost(How.REWRITE, packed.plan.size, what="The file is rewritten.", exact=False)
    how, written = _HOW[declared.instead], 0
    one = packed.objects[len(packed.objects) // 2]
    if how is How.BESIDE:
        written = pack_in_memory(packed.format, [one], options).plan.size
    elif how is How.REWRITE:
        written, exact = _rewritten(packed, options, more=action == "append")
        return ActionCost(how, written, what=declared.why, exact=exact)
    return ActionCost(how, written, what=declared.why)


def _rewritten(packed: PackedFormat, options: Mapping[str, Any], *, more: bool) -> tuple[int, bool]:
    """Bytes of what is written anew with one object more, or less; and whether that was counted."""
    objects, middle = list(packed.objects), len(packed.objects) // 2
    if len(objects) <= PACKED_AGAIN:
        one = objects.pop(middle)
        if more:
            objects += [one, ComparedObject(f"one-more-{one.name}", one.data[::-1] + b"+")]
        with suppress(UsageError):  # there may be no shard without objects
            return pack_in_memory(packed.format, objects, options).plan.size, True
    each = packed.plan.size // len(packed.objects)
    return max(packed.plan.size + (each if more else -each), 0), False


def _edited(packed: PackedFormat, verb: Verb) -> ActionCost:
    """The cost of an edit, which is made for a private copy and not carried out."""
    number = len(packed.objects) // 2
    name = packed.file_of(number)
    with _copied(packed, name) as (path, source), packed.open(source) as shard:
        more = path.parent / "more"
        more.write_bytes(packed.objects[number].data)
        source.taken = 0
        keys = [] if verb.takes is EditSubject.FILES else [packed.keys[number]]
        edit = made(
            verb, packed.format.edits[verb.name], shard, keys=keys, paths=[more], values={"date": _THEN}, now=_THEN
        )
        if isinstance(edit, Edit):
            written = sum(change.size for change in edit.changes)
            return ActionCost(How.IN_PLACE, written, source.taken, verb.help)
        beside = sum(len(one.new) for one in edit if isinstance(one, Rewrite))
        return ActionCost(How.BESIDE, beside, source.taken, verb.help)


class _Watched(FileSource):
    """A local file that counts what is read of it."""

    taken = 0

    def _read(self, start: int, stop: int) -> bytes:
        self.taken += stop - start
        return super()._read(start, stop)


@contextmanager
def _copied(packed: PackedFormat, name: str) -> Iterator[tuple[Path, _Watched]]:
    """One of the files in a private folder, which goes afterwards: edits are made for files that are there."""
    with tempfile.TemporaryDirectory(prefix="shardcore-") as folder:
        path = Path(folder) / (name.rpartition("/")[2])
        path.write_bytes(packed.files[name])
        yield path, _Watched(path)


def _verified(packed: PackedFormat) -> ActionCost:
    """The cost of verifying all contents, from a cold start."""
    names = [packed.name] if packed.name else list(packed.files)
    some = names[:: max(len(names) // FILES_VERIFIED, 1)]
    folder = NotedFolder(packed.files)
    for name in some:
        check_stopped()
        with packed.open(folder.open(name)) as shard:
            shard.verify(Depth.CONTENT)
    whole = len(some) == len(names)
    scale = packed.plan.size / max(sum(len(packed.files[name]) for name in some), 1)
    what = "All contents are read, and compared with what the format keeps to compare them with."
    return ActionCost(
        How.READ, read=folder.read_bytes if whole else round(folder.read_bytes * scale), what=what, exact=whole
    )
