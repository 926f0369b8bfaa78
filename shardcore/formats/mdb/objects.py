"""The objects of a shard: files, xorbs and chunks, in record order.

The shard contains only recipes; the bytes are in xorbs, so all objects except empty files are external.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import HashArray, to_text, to_texts
from shardcore.dataclasses import dataclass
from shardcore.errors import Truncated
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.index import MdbIndex
from shardcore.formats.mdb.layout import (
    CAS_ENTRY,
    CAS_HEADER,
    CHUNK,
    FILE,
    FILE_ENTRY,
    FILE_HEADER,
    FILE_METADATA,
    FILE_VERIFICATION,
    KINDS,
    RECORD,
    RECORD_SIZE,
    XORB,
    ChunkFlag,
    FileFlag,
    block_fault,
    file_records,
    key_text,
)
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, State
from shardcore.model.span import Span

RECIPE = "recipe"

CODEC = "xorb"
"""Value shown as codec, because each chunk of a xorb has its own codec."""

BLOCK_GUESS = 65536
"""Number of bytes in the first read for the records of a file, which usually has all of them."""

AT_ONCE = 4096
"""Number of segments or recipe entries that are created per batch."""

# Integers, because operators of an enumeration cost microseconds per file.
_VERIFIED, _METADATA = int(FileFlag.WITH_VERIFICATION), int(FileFlag.WITH_METADATA_EXT)

Read = Callable[[int, int], bytes]
"""Function that reads the bytes `[start, stop)` of the shard."""


class FileSegments(Sequence[dict[str, Any]]):
    """Segments of a file as mappings that are created on access, because a file can have hundreds of thousands.

    `rows` are rows of `FILE_ENTRY`; each item has `xorb`, `start`, `end` (chunks, half-open) and `bytes`.
    """

    def __init__(self, rows: NDArray[Any]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: Any) -> Any:
        if not isinstance(number, slice):
            at = range(len(self))[number]
            return self[at : at + 1][0]
        rows = self._rows[number]
        # Most segments are in few xorbs, so equal texts are shared.
        known: dict[str, str] = {}
        xorbs = [known.setdefault(text, text) for text in to_texts(rows["cas_hash"])]
        rest = (rows[name].tolist() for name in ("chunk_index_start", "chunk_index_end", "unpacked_segment_bytes"))
        return [{"xorb": x, "start": a, "end": b, "bytes": n} for x, a, b, n in zip(xorbs, *rest, strict=True)]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for first in range(0, len(self), AT_ONCE):
            yield from self[first : first + AT_ONCE]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(dict.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} segments>"


@dataclass(frozen=True)
class FileBlock:
    """The records of one file, which are at the byte offsets `[start, stop)`.

    `segments` are rows of `FILE_ENTRY`; `ranges` has a range hash per segment, shape `(n, 32)`. `ranges` and `sha256`
    are None without verification entries or metadata.
    """

    start: int
    stop: int
    header: dict[str, Any]
    segments: NDArray[Any]
    ranges: HashArray | None
    sha256: bytes | None

    @property
    def size(self) -> int:
        return int(self.segments["unpacked_segment_bytes"].sum(dtype=np.int64))

    @property
    def references(self) -> int:
        """Number of chunks in all segments; a repeated chunk counts each time."""
        ends, starts = (self.segments[name].astype(np.int64) for name in ("chunk_index_end", "chunk_index_start"))
        return int(np.maximum(ends - starts, 0).sum())

    @property
    def key(self) -> str:
        return to_text(self.header["file_hash"])

    def entry_span(self, number: int) -> Span:
        return RECORD.span("", self.start + (1 + number) * RECORD_SIZE)

    @property
    def segment_list(self) -> FileSegments:
        return FileSegments(self.segments)


def read_file_block(read: Read, start: int, limit: int) -> FileBlock:
    """Read the records of one file, with one request for up to about 1,300 records, otherwise two.

    Raises Truncated if they exceed `limit`, the end of the File Info Section.
    """
    data = read(start, max(min(start + BLOCK_GUESS, limit), start))
    header = FILE_HEADER.read_one(data, place=Span("", start, start + len(data)))
    count, flags = header["num_entries"], header["file_flags"]
    records = file_records(flags, count)
    if fault := block_fault(FILE, records, (limit - start) // RECORD_SIZE):
        raise Truncated(fault, span=Span("", start, limit))
    stop = start + records * RECORD_SIZE
    if stop > start + len(data):
        data += read(start + len(data), stop)
    segments, ranges, sha256 = FILE_ENTRY.read(data, RECORD_SIZE, count), None, None
    if flags & _VERIFIED:
        ranges = FILE_VERIFICATION.read(data, RECORD_SIZE * (1 + count), count)["range_hash"]
    if flags & _METADATA:
        sha256 = FILE_METADATA.read_one(data, stop - start - RECORD_SIZE)["sha256"]
    return FileBlock(start, stop, header, segments, ranges, sha256)


def indexed_block(index: MdbIndex, number: int) -> FileBlock:
    start, stop = (index.files.byte_of(int(edges[number])) for edges in (index.files.headers, index.files.ends))
    return read_file_block(lambda a, b: index.data[a:b], start, stop)


def block_of(file: MdbFile, ref: ObjectRef) -> FileBlock:
    return read_file_block(file.read, ref.spans[0].start, file.layout.file_info[1])


def file_ref(row: int, block: FileBlock, fault: str = "") -> ObjectRef:
    state = State.DAMAGED if fault else State.EXTERNAL if len(block.segments) else State.LIVE
    extras = {
        # The digest is stored like a hash, so its text form is the usual one.
        "sha256": None if block.sha256 is None else to_text(block.sha256),
        "verified": block.ranges is not None,
        "segments": block.segment_list,
    }
    span, more = Span("", block.start, block.stop), {"state": state, "parts": (RECIPE,), "error": fault}
    return _ref(FILE, block.key, row, span, block.size, extras, **more)


def xorb_ref(row: int, start: int, header: dict[str, Any]) -> ObjectRef:
    text, count = to_text(header["cas_hash"]), header["num_entries"]
    span = Span("", start, start + (1 + count) * RECORD_SIZE)
    more = {"stored_size": header["num_bytes_on_disk"] or -1, "parts": (RECIPE,)}
    return _ref(XORB, text, row, span, header["num_bytes_in_cas"], {"xorb": text, "chunks": count}, **more)


def chunk_ref(row: int, start: int, entry: dict[str, Any], xorb: bytes, number: int, *, keyed: bool) -> ObjectRef:
    extras = {
        "xorb": to_text(xorb),
        "chunk": number,
        "start": entry["chunk_byte_range_start"],
        "eligible": bool(entry["flags"] & ChunkFlag.GLOBAL_DEDUP_ELIGIBLE),
        "keyed": keyed,
    }
    text, span = to_text(entry["chunk_hash"]), RECORD.span("", start)
    return _ref(CHUNK, text, row, span, entry["unpacked_segment_bytes"], extras)


def _ref(kind: str, text: str, row: int, span: Span, size: int, extras: dict[str, Any], **more: Any) -> ObjectRef:
    more = {"state": State.EXTERNAL} | more
    return ObjectRef(key_text(kind, text), row, (span,), size, codec=CODEC, kind=kind, extras=extras, **more)


class MdbObjects(Objects):
    """All files, then all xorbs, then all chunks, in record order. Every access loads the index."""

    kinds = KINDS
    inner_kinds = frozenset({XORB, CHUNK})
    codecs = (CODEC,)

    def __init__(self, file: MdbFile) -> None:
        self.file = file

    def __len__(self) -> int:
        return sum(self.file.load().counts)

    @property
    def counted(self) -> bool:
        return self.file.index is not None

    def _by_kind(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """Yield per kind: its number, the positions of its objects in `rows`, and their numbers within the kind."""
        index, rows = self.file.load(), np.asarray(rows, np.int64)
        kinds = np.searchsorted(np.cumsum(index.counts), rows, "right")
        for number, kind in enumerate(KINDS):
            here = np.flatnonzero(kinds == number)
            yield number, here, rows[here] - index.first_rows[kind]

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        """Return the columns of rows; `start` and `stop` belong to the records, because the content is in xorbs."""
        index = self.file.load()
        start, stop, size, stored, kind = (np.full(len(rows), -1, np.int64) for _ in range(5))
        state = np.full(len(rows), State.EXTERNAL, np.uint8)
        for number, here, at in self._by_kind(rows):
            name = KINDS[number]
            section, first = index.section(name), index.records(name)[at]
            start[here] = section.byte_of(first)
            stop[here] = section.byte_of(first + 1 if name == CHUNK else section.ends[at])
            size[here], kind[here] = index.sizes(name)[at], number
            if name == FILE:
                whole = np.where(section.counts[at], State.EXTERNAL, State.LIVE)
                state[here] = np.where(index.damaged_files[at], State.DAMAGED, whole)
            elif name == XORB:
                disk = index.xorb_headers["num_bytes_on_disk"][at].astype(np.int64)
                stored[here] = np.where(disk, disk, -1)
        return ObjectColumns.of(np.asarray(rows), start, stop, size, stored_size=stored, state=state, kind=kind)

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        index = self.file.load()
        texts: list[str | None] = [None] * len(rows)
        for number, here, at in self._by_kind(rows):
            name = KINDS[number]
            hashes = index.section(name).hashes[index.records(name)[at]]
            for place, text in zip(here.tolist(), to_texts(hashes), strict=True):
                texts[place] = key_text(name, text)
        return texts

    def _ref(self, row: int) -> ObjectRef:
        index = self.file.load()
        kind = next(kind for kind in reversed(KINDS) if row >= index.first_rows[kind])
        section, number = index.section(kind), row - index.first_rows[kind]
        start = section.byte_of(int(index.records(kind)[number]))
        if kind == FILE:
            fault = index.file_fault(number) if index.damaged_files[number] else ""
            return file_ref(row, indexed_block(index, number), fault)
        if kind == XORB:
            return xorb_ref(row, start, CAS_HEADER.values(index.xorb_headers[number]))
        xorb = section.block_with(number)
        return chunk_ref(
            row,
            start,
            CAS_ENTRY.values(index.chunks[number]),
            index.xorb_headers["cas_hash"][xorb].tobytes(),
            number - int(section.bounds[xorb]),
            keyed=index.keyed,
        )

    @property
    def orders(self) -> tuple[str, ...]:
        return ("slot", "offset", "size") if self.file.index is not None else ("slot",)

    def order(self, name: str) -> NDArray[np.int64] | None:
        if name in ("offset", "size") and name in self.orders:
            columns = self[:]
            return np.argsort(columns.start if name == "offset" else columns.size, kind="stable")
        return super().order(name)
