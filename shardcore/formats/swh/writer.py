"""Writing a Read Shard, deleting its objects, and truncating the bytes after it."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import Remedy, UsageError
from shardcore.formats.swh import layout
from shardcore.formats.swh.chd import FIRST_SEED, build, find_duplicates
from shardcore.formats.swh.file import KEY_FORM, HexKeys, key_bytes, key_rows, live_ref, many_key_bytes
from shardcore.formats.swh.hash_section import encode, write_hash_section
from shardcore.model.objects import ColumnObjects, ObjectColumns, ObjectRef
from shardcore.model.section import tile
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.progress import Progress, no_progress
from shardcore.sources.base import on_failure, read_pieces
from shardcore.writing.output import Output
from shardcore.writing.plan import Plan, PlannedFile
from shardcore.writing.writer import Data, Labels, More, Sized, Writer, pieces_of, twins_error

if TYPE_CHECKING:
    from shardcore.formats.swh.shard import SwhShard
    from shardcore.writing.in_place import Edit, FileChange


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    header: dict[str, Any]
    section: bytes
    slots: NDArray[np.int64]


SMALL_OBJECT = 65536
"""Maximum size in bytes of an object that is copied, so that length and content are written in one call."""

MANY_OBJECTS = 1 << 15
"""Maximum number of small objects joined into one write."""

CONTENT_HASH = "swh.content-hash"
"""Finding code for a key that is not the sha256 of the content."""

_sha256 = hashlib.sha256
_length = layout.OBJECT.packer.pack


class SwhWriter(Writer):
    """Writes each object when it is added, and index and hash function at the end, when all keys are known.

    Args:
        output: File to write.
        seed: First seed for the hash function; equal objects and seed give equal bytes.
        dedupe: Drop objects that equal an earlier one in key and content.
        progress: Called while the hash function is built.
    """

    key_form = KEY_FORM

    def __init__(
        self, output: Output, *, seed: int = FIRST_SEED, dedupe: bool = False, progress: Progress = no_progress
    ) -> None:
        super().__init__(output)
        given: object = seed
        if not isinstance(given, int) or not 0 <= given < 2**32:
            raise UsageError(f"a seed is a whole number from 0 to 2^32 - 1, not {seed!r}")
        self._seed = seed
        self._progress = progress
        self._file = output.open()
        self._file.write(bytes(layout.DATA_START))
        self._keys = bytearray()
        self._offsets = array("Q")
        self._labels = Labels()
        self._end: Ending | None = None
        self._seen: dict[bytes, bytes] | None = {} if dedupe else None
        self._left_out = 0
        self._mismatches = 0

    def _add(self, key: str | None, data: Data, more: More) -> str:
        raw = self._raw(key, more.label)
        if raw is not None:
            # A given key need not be the sha256 of the content.
            self.expected.add(CONTENT_HASH)
        offset = self._file.at
        if isinstance(data, bytes) and len(data) <= SMALL_OBJECT:
            # Length and content are written in one call, because calls dominate the time for small objects.
            content = _sha256(data).digest()
            if self._seen is not None and self._is_known(raw or content, content):
                return (raw or content).hex()
            self._file.write(_length(len(data)) + data)
        elif isinstance(data, Sized) and self.output.planning:
            self._file.skip(layout.OBJECT.size + data.size)
            content = raw or self._made_up_key()
        else:
            content = self._add_pieces(offset, data, more.label)
            if self._is_known(raw or content, content):
                self._file.rewind(offset)
                return (raw or content).hex()
        digest = raw or content
        self._mismatches += digest != content
        self._labels.note(len(self._offsets), more.label)
        self._keys += digest
        self._offsets.append(offset)
        self._end = None
        return digest.hex()

    def _is_known(self, key: bytes, content: bytes) -> bool:
        """Return True for a duplicate to drop; otherwise record key and content."""
        if self._seen is None:
            return False
        known = self._seen.get(key) == content
        self._seen.setdefault(key, content)
        self._left_out += known
        return known

    def _add_many(self, keys: Sequence[str] | None, contents: Sequence[bytes]) -> Sequence[str]:
        if self._seen is not None:
            return super()._add_many(keys, contents)
        given, begin = b"", len(self._keys)
        if keys is not None:
            given = many_key_bytes(keys)
            self.expected.add(CONTENT_HASH)
        for first in range(0, len(contents), MANY_OBJECTS):
            few = contents[first : first + MANY_OBJECTS]
            digests = b"".join([_sha256(data).digest() for data in few])
            raw = given[32 * first : 32 * (first + MANY_OBJECTS)] or digests
            if raw != digests:
                apart = np.frombuffer(raw, "V32") != np.frombuffer(digests, "V32")
                self._mismatches += int(np.count_nonzero(apart))
            sizes = np.fromiter(map(len, few), np.int64, len(few)) + layout.OBJECT.size
            self._offsets.frombytes((np.cumsum(sizes) - sizes + self._file.at).astype(np.uint64).tobytes())
            self._file.write(_records(sizes - layout.OBJECT.size, few))
            self._keys += raw
        self._end = None
        return HexKeys(self._keys, begin, len(self._keys))

    def _raw(self, key: str | None, label: str) -> bytes | None:
        try:
            return key_bytes(key) if key is not None else None
        except UsageError as error:
            raise UsageError(f"{label}: {error.message}" if label else error.message) from None

    def _made_up_key(self) -> bytes:
        """Return a placeholder key for unknown content; the size of the hash function is then an estimate."""
        self.exact = False
        return hashlib.sha256(b"%d" % len(self._offsets)).digest()

    def plan(self) -> Plan:
        end = self._ending()
        size = end.header["hash_position"] + len(end.section)
        sections, _ = tile(layout.sections_of(end.header, size, size), size)
        name = self.output.target.name if self.output.target else ""
        content = end.header["objects_size"] - layout.OBJECT.size * len(self._offsets)
        return Plan((PlannedFile(name, size, sections, self._planned(end)),), self.exact, content)

    def _planned(self, end: Ending) -> ColumnObjects:
        offsets, keys = self._starts(), self._key_rows().copy()
        sizes = np.append(offsets[1:], end.header["index_position"])[: len(offsets)] - offsets - layout.OBJECT.size
        starts = offsets + layout.OBJECT.size

        def key_texts(rows: NDArray[np.int64]) -> list[str | None]:
            return [*key_rows(keys[rows].tobytes())]

        def ref(row: int) -> ObjectRef:
            return live_ref(keys[row].tobytes().hex(), int(end.slots[row]), int(offsets[row]), int(sizes[row]))

        return ColumnObjects(ObjectColumns.of(np.arange(len(offsets)), starts, starts + sizes, sizes), key_texts, ref)

    def _complete(self) -> None:
        end = self._ending()
        keys, offsets = self._key_rows(), self._starts()
        # Number of the object of each slot; for a slot without one, the number of objects. Far smaller than the slots.
        objects = np.full(end.header["index_size"] // layout.SLOT.size, len(keys), np.int64)
        objects[end.slots] = np.arange(len(keys))
        for first in range(0, len(objects), MANY_OBJECTS):
            few = objects[first : first + MANY_OBJECTS]
            used = few < len(keys)
            rows = np.zeros(len(few), layout.SLOT.dtype)
            rows["offset"] = layout.NO_OBJECT
            rows["key"][used], rows["offset"][used] = keys.take(few[used], axis=0), offsets[few[used]]
            self._file.write(layout.SLOT.write(rows))
        self._file.write(end.section)
        self._file.write_at(0, layout.HEADER.pack(**end.header))
        self._file.complete(len(self._offsets))

    def _add_pieces(self, offset: int, data: Data, label: str) -> bytes:
        digest, size = hashlib.sha256(), 0
        self._file.write(_length(0))
        # The caller may continue after a failed input.
        with on_failure(self._file.rewind, offset):
            for piece in pieces_of(data, label):
                self._file.write(piece)
                digest.update(piece)
                size += len(piece)
        self._file.write_at(offset, _length(size))
        return digest.digest()

    def _notes_of_objects(self) -> Iterator[str]:
        if self._left_out:
            yield f"{plural(self._left_out, 'duplicate object')} left out"
        # If most keys differ, they are not meant to be sha256; verification does the same.
        if 0 < self._mismatches <= len(self._offsets) // 2:
            yield f"{plural(self._mismatches, 'object')} whose sha256 is not the key: key or content changed"

    def _ending(self) -> Ending:
        self.notes = tuple(self._notes_of_objects())
        if self._end is not None:
            return self._end
        keys = self._key_rows()
        twins = find_duplicates(keys) if len(keys) else []
        if twins:
            pairs = ((*map(self._labels.of, pair), keys[pair[0]].tobytes().hex()) for pair in twins)
            raise twins_error(pairs, len(twins), remedy=Remedy.DEDUPE)
        function = build(keys, self._seed, progress=self._progress)
        encoded = encode(function.displacements)
        section = write_hash_section(function.seed, function.slots, function.buckets, encoded)
        index_start, index_size = self._file.at, function.slots * layout.SLOT.size
        header = {
            "objects_count": len(self._offsets),
            "objects_position": layout.DATA_START,
            "objects_size": index_start - layout.DATA_START,
            "index_position": index_start,
            "index_size": index_size,
            "hash_position": index_start + index_size,
        }
        self._end = Ending(header, section, function.slots_of(keys))
        return self._end

    def _key_rows(self) -> NDArray[np.uint8]:
        """Return the keys without copying them; no key can be added while the array exists."""
        return np.frombuffer(self._keys, np.uint8).reshape(-1, 32)

    def _starts(self) -> NDArray[np.int64]:
        return np.array(self._offsets, np.int64)


def _records(sizes: NDArray[np.int64], contents: Sequence[bytes]) -> bytes:
    parts = [b""] * (2 * len(contents))
    parts[0::2], parts[1::2] = sizes.astype(">u8").view("V8").tolist(), contents
    return b"".join(parts)


# --- edits of a written shard -------------------------------------------------------------------------------------

MANY = 100
"""Number of keys to delete above which they are looked up together, which reads the whole index."""


def delete(shard: SwhShard, keys: Sequence[str]) -> Edit:
    """Return the edit that deletes objects: it overwrites contents, then lengths, with zeros, and empties the slots.

    Lengths and slots are written last, so that an interrupted deletion still shows what to delete. All keys are looked
    up before anything is planned.
    """
    from shardcore.writing.in_place import FileChange, Zeros, edit_of

    if not keys:
        raise UsageError("no keys given: name the objects to delete")
    rows: dict[int, str] = {}
    contents: list[FileChange] = []
    lengths: list[FileChange] = []
    slots: list[FileChange] = []
    found = shard.find_many(keys).tolist() if len(keys) > MANY else [-1] * len(keys)
    for key, row in zip(keys, found, strict=True):
        # A key that was not found is looked up again alone, which raises an error with the reason.
        ref = shard.objects.ref(row) if row >= 0 else shard.find(key)
        if ref.row in rows:
            raise UsageError(f"the key {key} is given twice")
        rows[ref.row] = key
        content = _extent(shard, ref)
        if content.size:
            contents.append(FileChange(content.start, Zeros(content.size), f"content of {ref.key}"))
        start = content.start - layout.OBJECT.size
        lengths.append(FileChange(start, Zeros(layout.OBJECT.size), f"length of {ref.key}"))
        slot = shard.file.layout.slot_span(ref.row)
        slots.append(FileChange(slot.start, _EMPTY_SLOT, f"slot {ref.row}"))
    changes = (*contents, *lengths, *slots)
    return edit_of(
        shard.source, f"delete {plural(len(rows), 'object')}", changes, verb="delete", keys=tuple(rows.values())
    )


def _extent(shard: SwhShard, ref: ObjectRef) -> Span:
    """Return the span of an object's content; for length 0, all non-zero bytes up to the next object.

    An interrupted deletion may have left a zero length and the content.
    """
    content = ref.spans[0]
    if content.size:
        return content
    shard.load_index()
    offsets = shard.file.load(no_progress).offsets
    after = offsets[np.searchsorted(offsets, content.start) :]
    stop = int(after[0]) if len(after) else shard.file.layout.index_start
    source = shard.file.source
    has_content = any(map(any, read_pieces(source, content.start, stop)))
    return Span("", content.start, stop) if has_content else content


def truncate(shard: SwhShard) -> Edit:
    """Return the edit that cuts off the bytes after the hash function, such as the rest of a block device."""
    from shardcore.writing.in_place import edit_of

    trailing = shard.file.section("trailing")
    if trailing is None:
        return edit_of(shard.source, "no bytes follow the shard", ())
    return edit_of(shard.source, f"cut off {plural(trailing.size, 'byte')}", (), trailing.start, verb="truncate")


_EMPTY_SLOT = layout.SLOT.pack(offset=layout.NO_OBJECT)
