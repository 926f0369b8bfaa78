"""Detection and opening of a Read Shard file, and `SwhShard`, which reads its objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, ShardError, Truncated
from shardcore.formats.swh import hash_section, layout
from shardcore.formats.swh.file import KEY_FORM, SwhFile, SwhObjects, check_length
from shardcore.formats.swh.lookup import SwhLookup
from shardcore.formats.swh.tree import SwhTree, cut_nodes, header_node
from shardcore.model.objects import ObjectColumns, ObjectRef, State
from shardcore.model.record import Value
from shardcore.model.section import laid_out
from shardcore.model.span import Span
from shardcore.shards.file_shard import FileShard
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import Draft, OpenContext
from shardcore.shards.shard import read_content_range
from shardcore.sources.prefetched_source import PrefetchedSource

LAST_SLOTS = 200
"""Number of index slots read together with the hash function; their keys are used to check the function."""

SECTION_GUESS = (60 << 10) - LAST_SLOTS * layout.SLOT.size
"""Bytes of the hash function read at opening; sufficient for about 170,000 objects."""

_LENGTH, _CONTENT = itemgetter(slice(layout.OBJECT.size)), itemgetter(slice(layout.OBJECT.size, None))


class SwhShard(FileShard):
    file: SwhFile
    format = "swh"
    version = "1"
    key_form = KEY_FORM

    def __init__(self, file: SwhFile) -> None:
        super().__init__(file, SwhObjects(file), SwhTree(file), SwhLookup(file))
        self.damage = file.damage

    @property
    def fields(self) -> dict[str, Value]:
        fields = {f"header.{name}": value for name, value in self.file.header.items()}
        if (hashing := self.file.hash_layout) is not None:
            fields.update({f"hash_function.{name}": value for name, value in hashing.values.items()})
            fields["hash_function.end"] = hashing.stop
        return fields

    @property
    def write_options(self) -> dict[str, Any]:
        """Options to write a similar shard: its writer tries the seed of this shard first."""
        return {"seed": self.file.hash_layout.seed} if self.file.hash_layout is not None else {}

    @property
    def declared_objects(self) -> int:
        return self.file.layout.declared

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self._lookup.find_many(keys)
        return found

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        return self.file.pieces(self._objects.content_of(ref))

    def _read_plain(self, ref: ObjectRef, limit: int) -> bytes | None:
        content = self._objects.content_of(ref)
        if content.size > limit:
            return None
        start = content.start - layout.OBJECT.size
        return self._decode_row(ref.row, start, self.file.source.read(start, content.stop))

    def bare(self, columns: ObjectColumns) -> NDArray[np.bool_]:
        return np.asarray(columns.state == State.LIVE)

    def _stored(self, columns: ObjectColumns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        live = columns.state == State.LIVE
        if (columns.size[live] < 0).any():
            columns = self._objects.with_sizes(columns)
        return np.where(live, columns.start - layout.OBJECT.size, -1), np.where(live, columns.stop, -1)

    def _decode_rows(
        self, columns: ObjectColumns, starts: NDArray[np.int64], stored: list[bytes]
    ) -> Iterable[bytes | ShardError]:
        lead = layout.OBJECT.size
        fields = np.frombuffer(b"".join(map(_LENGTH, stored)), layout.OBJECT.dtype)["size"]
        right = np.array_equal(fields.astype(np.int64) + lead, np.fromiter(map(len, stored), np.int64, len(stored)))
        return list(map(_CONTENT, stored)) if right else super()._decode_rows(columns, starts, stored)

    def _decode_row(self, row: int, start: int, stored: bytes) -> bytes:
        lead = layout.OBJECT.size
        if layout.OBJECT.packer.unpack_from(stored)[0] != len(stored) - lead:
            check_length(stored, Span("", start + lead, start + len(stored)))
        return stored[lead:]

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        return read_content_range(self.file.source, ref, self._objects.content_of(ref), start, stop, limit)


def detect(source: PrefetchedSource) -> Verdict | None:
    head = source.head(layout.HEADER.size)
    if head.startswith(layout.WHOLE_MAGIC):
        return Verdict(Certainty.MAGIC, "magic SWHShard")
    if head.startswith(layout.MAGIC):
        return Verdict(Certainty.PARTLY, "magic SWHShard without the zero after it")
    return None


def open_shard(source: PrefetchedSource, context: OpenContext) -> SwhShard:
    """Open a Read Shard with two reads: the start of the file, and the start of the hash function."""
    draft = context.draft
    head = source.head(layout.HEADER.size)
    if draft.kept and (context.forced or head.startswith(layout.WHOLE_MAGIC)):
        _note_header(head, draft)
    header = layout.read_header(head)
    draft.declared = header["objects_count"]
    try:
        layout.check_reach(header, source.size)
    except Truncated:
        for section, node in cut_nodes(header, source.size):
            draft.add(section, node)
        raise
    start, slots = header["hash_position"], header["index_size"] // layout.SLOT.size
    lead = layout.SLOT.size * min(slots, LAST_SLOTS)
    window = source.read(start - lead, min(start + SECTION_GUESS, source.size))
    last_slots, window = window[:lead], window[lead:]
    hashing: hash_section.HashLayout | None = None
    damage: FormatError | None = None
    try:
        hashing = hash_section.read_hash_layout(window, start, slots, source.size)
        if (size := hashing.stop - start) <= len(window):
            hash_section.read_hash_tail(window[size - layout.HASH_TAIL.size : size], hashing)
    except FormatError as error:
        # Index and objects may be intact, so a partial shard is usable without the hash function.
        if not context.partial:
            raise
        hashing, damage = None, error
    return SwhShard(SwhFile(source.base, header, window, hashing, damage, last_slots))


def _note_header(head: bytes, draft: Draft) -> None:
    whole = layout.HEADER.read_one(head.ljust(layout.HEADER.size, b"\0"))
    values = {name: value for name, value in whole.items() if layout.HEADER.span(name).stop <= len(head)}
    if values:
        draft.version = str(values.get("version", ""))
        section = laid_out(layout.PARTS[:1], (0, len(head)))[0]
        draft.add(section, header_node(values, size=len(head)), values)
