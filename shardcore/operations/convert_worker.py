"""Reading the objects of one shard for conversion, in a thread or in a worker process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, field, replace
from shardcore.errors import LimitExceeded, UsageError
from shardcore.model.objects import ObjectRef, State, in_states
from shardcore.operations.extraction import ExtractOptions
from shardcore.operations.extraction.selection import outer_kinds, rows_in_file_order
from shardcore.progress import Progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.prefetch import fetched_ahead
from shardcore.shards.registry import format_of, writes_of
from shardcore.shards.shard import Shard

MOST_HELD = 2 << 20
"""Maximum bytes of contents that are read from one shard in advance; other contents are read during conversion."""

MOST_OBJECTS = 1 << 14
"""Maximum number of objects that are read from one shard in advance."""

KEYS_AT_ONCE = 1 << 14

NPY = ".npy"


@dataclass(frozen=True, slots=True)
class ObjectsRequest:
    """Request for the objects of one shard. With `unread`, no content is read whose size is known."""

    deleted: bool = False
    unread: bool = False
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """Object of the source shard, with its metadata.

    Attributes:
        names: File name per part; the part `""` is the content itself.
        checksum: Name of the checksum or digest of its content; see `Shard.checksum`.
        head: Header that turns the content of an array into a `.npy` file, or empty; see `Shard.file_head`.
        held: Bytes that were read in advance, per part, in pieces; a part that was not read is missing.
    """

    ref: ObjectRef
    names: dict[str, str]
    facts: dict[str, Any]
    checksum: str = ""
    head: bytes = b""
    held: dict[str, tuple[bytes, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HeldObjects:
    """Objects of a shard: number to convert, number left out per reason, and the first objects with their contents."""

    count: int
    left: Counter[str]
    first: list[ObjectRecord]


def rows_to_convert(shard: Shard, *, deleted: bool) -> tuple[NDArray[np.int64], Counter[str]]:
    shard.load_index()
    objects, options = shard.objects, ExtractOptions(deleted=deleted)
    outer, left, unused, taken = outer_kinds(objects), Counter[str](), 0, [np.empty(0, np.int64)]

    def count(what: str, mask: NDArray[np.bool_]) -> None:
        if found := int(np.count_nonzero(mask)):
            left[what] += found

    for rows in rows_in_file_order(objects):
        columns = objects.columns(rows)
        inside = np.isin(columns.kind, outer)
        for code, kind in enumerate(objects.kinds):
            if code not in outer:
                count(f"inner {kind}", columns.kind == code)
        for state in (State.TOMBSTONED, State.DELETED):
            if state not in options.states:
                count(f"{state.name.lower()} object", (columns.state == state) & inside)
        unused += int(np.count_nonzero(columns.state == State.UNUSED))
        taken.append(rows[in_states(columns.state, options.states) & inside])
    if unused and not isinstance(shard, DataSet):
        # Slots of deleted objects may look unused; the header still counts the objects.
        gone = (shard.declared_objects or 0) - (len(objects) - unused)
        if gone > 0:
            left["deleted object"] = gone
    return np.concatenate(taken), left


def check_keys(
    shard: DataSet, name: str, progress: Progress, format: str, deleted: bool, keep: bool
) -> tuple[int, str]:
    """Return the number of objects to convert, and why a key is invalid in the target format (empty if none is)."""
    with shard.borrowed(name, keep=keep) as member:
        rows, _ = rows_to_convert(member, deleted=deleted)
        return len(rows), first_unfit_key(member, rows, format)


def first_unfit_key(shard: Shard, rows: NDArray[np.int64], format: str) -> str:
    if shard.objects.key_encoding == "hash" and len(rows):
        # All hash keys have the same form: checking the first and the shortest one is enough.
        rows = rows[[0, int(np.argmin(shard.objects.key_bytes(rows).lengths))]]
    steps = (rows[first : first + KEYS_AT_ONCE] for first in range(0, len(rows), KEYS_AT_ONCE))
    return next(filter(None, (unfit_key_of(shard.objects.key_texts(step), format) for step in steps)), "")


def unfit_key_of(keys: Iterable[str | None], format: str) -> str:
    check = writes_of(format_of(format)).check_key
    for key in keys:
        if key is None:
            return "the key of an object is not text"
        try:
            if check is not None:
                check(key)
        except UsageError as error:
            return error.message
    return ""


def held_objects(shard: DataSet, name: str, progress: Progress, request: ObjectsRequest, keep: bool) -> HeldObjects:
    """Read the first objects of a shard with their contents, up to `MOST_HELD` bytes and `MOST_OBJECTS`."""
    with shard.borrowed(name, keep=keep) as member:
        return _first_held(member, request)


def _first_held(member: Shard, request: ObjectsRequest) -> HeldObjects:
    rows, left = rows_to_convert(member, deleted=request.deleted)
    objects, found, room = member.objects, list[ObjectRecord](), MOST_HELD
    some = rows[:MOST_OBJECTS]
    if not request.unread:
        # Unknown sizes are counted when the bytes are read.
        some = some[np.cumsum(np.maximum(objects.columns(some).size, 0)) <= MOST_HELD]
    refs = map(objects.ref, some.tolist())
    for ref in refs if request.unread else fetched_ahead(member, refs, lambda ref: ref, among=request.jobs):
        held = _contents(member, ref, member.file_names(ref), room, unread=request.unread)
        if held is None:
            break
        room -= sum(len(piece) for pieces in held.values() for piece in pieces)
        found.append(replace(record_of(member, ref), held=held))
    return HeldObjects(len(rows), left, found)


def held_file(shard: DataSet, name: str, progress: Progress, request: ObjectsRequest, keep: bool) -> HeldObjects:
    """Read a file that is one object of its data set; its content is kept if it has at most `MOST_HELD` bytes."""
    row = shard.row_of_member(name)
    key = shard.objects.keys[row] if row is not None else None
    with shard.borrowed(name, keep=keep) as member:
        ref = whole_of(member)
        held = _contents(member, ref, member.file_names(ref), MOST_HELD, unread=request.unread)
        return HeldObjects(1, Counter(), [] if held is None else [replace(whole_record(member, key), held=held)])


def whole_of(member: Shard) -> ObjectRef:
    return member.find(member.views[0]) if member.views else member.objects.ref(0)


def whole_record(member: Shard, key: str | None) -> ObjectRecord:
    record = record_of(member, whole_of(member))
    named = replace(record.ref, key=key)
    return replace(record, ref=named, names=member.file_names(named))


def record_of(shard: Shard, ref: ObjectRef) -> ObjectRecord:
    return ObjectRecord(ref, shard.file_names(ref), shard.facts(ref), shard.checksum, shard.file_head(ref, NPY))


def _contents(
    member: Shard, ref: ObjectRef, names: dict[str, str], room: int, *, unread: bool
) -> dict[str, tuple[bytes, ...]] | None:
    """Return the bytes of each part, in pieces as they are decoded; None if they exceed `room` bytes in total."""
    held: dict[str, tuple[bytes, ...]] = {}
    for part in names:
        if not part and unread and ref.size >= 0:
            continue
        pieces: list[bytes] = []
        try:
            for piece in [member.read_part(ref, part, limit=room)] if part else member.stream(ref):
                room -= len(piece)
                if room < 0:
                    return None
                pieces.append(bytes(piece))
        except LimitExceeded:
            return None
        held[part] = tuple(pieces)
    return held
