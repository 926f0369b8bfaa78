"""The objects of a shard: files, xorbs and chunks, in record order.

The shard contains only recipes; the bytes are in xorbs, so all objects except empty files are external.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import HashArray, to_text, to_texts
from shardcore.errors import Truncated
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.hashes import sha256_digest
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
    RECORD_SIZE,
    XORB,
    ChunkFlag,
    FileFlag,
    block_fault,
)
from shardcore.formats.mdb.segments import FileSegments
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, State
from shardcore.model.span import Span

RECIPE = "recipe"
"""Part name of the recipe of a file or xorb, as JSON."""

CODEC = "xorb"
"""Value shown as codec, because each chunk of a xorb has its own codec."""

BLOCK_GUESS = 65536
"""Bytes read at once for the records of a file."""

# Integers, because operators of an enumeration cost microseconds per file.
_VERIFIED, _METADATA = int(FileFlag.WITH_VERIFICATION), int(FileFlag.WITH_METADATA_EXT)

Read = Callable[[int, int], bytes]
"""Function that reads the bytes `[start, stop)` of the shard."""


@dataclass(frozen=True)
class FileBlock:
    """The records of one file, from offset `start` on.

    `segments` are rows of `FILE_ENTRY`; `ranges` has a range hash per segment, shape `(n, 32)`. `ranges` and `sha256`
    are None without verification entries or metadata.
    """

    start: int
    header: dict[str, Any]
    segments: NDArray[Any]
    ranges: HashArray | None
    sha256: bytes | None

    @property
    def stop(self) -> int:
        count = len(self.segments) * (1 if self.ranges is None else 2)
        return self.start + (1 + count + (self.sha256 is not None)) * RECORD_SIZE

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
        at = self.start + (1 + number) * RECORD_SIZE
        return Span("", at, at + RECORD_SIZE)

    def range_span(self, number: int) -> Span:
        return self.entry_span(len(self.segments) + number)

    @property
    def metadata_span(self) -> Span:
        return Span("", self.stop - RECORD_SIZE, self.stop)

    @property
    def segment_list(self) -> FileSegments:
        return FileSegments(self.segments)


def read_file_block(read: Read, start: int, limit: int) -> FileBlock:
    """Read the records of one file, with one request for up to about 1,300 records, otherwise two.

    Raises Truncated if they exceed `limit`, the end of the File Info Section.
    """
    data = read(start, max(min(start + BLOCK_GUESS, limit), start))
    rows = FILE_HEADER.read(data, place=Span("", start, start + len(data)))
    header = FILE_HEADER.values(rows[0])
    count, flags = header["num_entries"], header["file_flags"]
    verified, metadata = bool(flags & _VERIFIED), bool(flags & _METADATA)
    records = 1 + count * (1 + verified) + metadata
    if fault := block_fault(FILE, records, (limit - start) // RECORD_SIZE):
        raise Truncated(fault, span=Span("", start, limit))
    stop = start + records * RECORD_SIZE
    if stop > start + len(data):
        data += read(start + len(data), stop)
    at = RECORD_SIZE * (1 + count)
    ranges = None
    if verified:
        ranges = FILE_VERIFICATION.read(data, at, count)["range_hash"]
    last = stop - start - RECORD_SIZE
    sha256 = FILE_METADATA.read_one(data, last)["sha256"] if metadata else None
    return FileBlock(start, header, FILE_ENTRY.read(data, RECORD_SIZE, count), ranges, sha256)


def block_of(file: MdbFile, ref: ObjectRef) -> FileBlock:
    return read_file_block(file.read, ref.spans[0].start, file.layout.file_info[1])


def file_ref(row: int, block: FileBlock, fault: str = "") -> ObjectRef:
    state = State.DAMAGED if fault else State.EXTERNAL if len(block.segments) else State.LIVE
    return ObjectRef(
        key=block.key,
        row=row,
        spans=(Span("", block.start, block.stop),),
        size=block.size,
        codec=CODEC,
        state=state,
        kind=FILE,
        parts=(RECIPE,),
        error=fault,
        extras={
            "sha256": None if block.sha256 is None else sha256_digest(block.sha256),
            "verified": block.ranges is not None,
            "segments": block.segment_list,
        },
    )


def xorb_ref(row: int, start: int, header: dict[str, Any]) -> ObjectRef:
    count = header["num_entries"]
    return ObjectRef(
        key=f"{XORB}:{to_text(header['cas_hash'])}",
        row=row,
        spans=(Span("", start, start + (1 + count) * RECORD_SIZE),),
        size=header["num_bytes_in_cas"],
        stored_size=header["num_bytes_on_disk"] or -1,
        codec=CODEC,
        state=State.EXTERNAL,
        kind=XORB,
        parts=(RECIPE,),
        extras={"xorb": to_text(header["cas_hash"]), "chunks": count},
    )


def chunk_ref(row: int, start: int, entry: dict[str, Any], xorb: bytes, number: int, *, keyed: bool) -> ObjectRef:
    return ObjectRef(
        key=f"{CHUNK}:{to_text(entry['chunk_hash'])}",
        row=row,
        spans=(Span("", start, start + RECORD_SIZE),),
        size=entry["unpacked_segment_bytes"],
        codec=CODEC,
        state=State.EXTERNAL,
        kind=CHUNK,
        extras={
            "xorb": to_text(xorb),
            "chunk": number,
            "start": entry["chunk_byte_range_start"],
            "eligible": bool(entry["flags"] & ChunkFlag.GLOBAL_DEDUP_ELIGIBLE),
            "keyed": keyed,
        },
    )


class MdbObjects(Objects):
    """All files, then all xorbs, then all chunks, in record order. Every access loads the index."""

    kinds = KINDS
    inner_kinds = frozenset({"xorb", "chunk"})
    codecs = (CODEC,)

    def __init__(self, file: MdbFile) -> None:
        self.file = file

    def __len__(self) -> int:
        return sum(self.file.load().counts)

    @property
    def counted(self) -> bool:
        return self.file.index is not None

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        """Return the columns of rows; `start` and `stop` are those of the records, because the content is in xorbs."""
        index = self.file.load()
        rows = np.asarray(rows, np.int64)
        ends = np.cumsum(index.counts)
        kind = np.searchsorted(ends, rows, "right")
        inside = rows - np.concatenate([[0], ends])[kind]
        start, stop = np.full(len(rows), -1, np.int64), np.full(len(rows), -1, np.int64)
        stored, size = np.full(len(rows), -1, np.int64), np.full(len(rows), -1, np.int64)
        state = np.full(len(rows), State.EXTERNAL, np.uint8)
        for number, name in enumerate(KINDS):
            here = np.flatnonzero(kind == number)
            at = inside[here]
            if not len(here):
                continue
            section = index.section(name)
            if name == CHUNK:
                first = section.entries[at]
                last = first + 1
                size[here] = index.chunks["unpacked_segment_bytes"][at]
            else:
                first, last = section.headers[at], section.ends[at]
            start[here], stop[here] = section.start + first * RECORD_SIZE, section.start + last * RECORD_SIZE
            if name == FILE:
                size[here] = index.file_sizes[at]
                state[here] = np.where(
                    index.damaged_files[at], State.DAMAGED, np.where(section.counts[at], State.EXTERNAL, State.LIVE)
                )
            elif name == XORB:
                size[here] = index.xorb_headers["num_bytes_in_cas"][at]
                disk = index.xorb_headers["num_bytes_on_disk"][at].astype(np.int64)
                stored[here] = np.where(disk, disk, -1)
        return ObjectColumns.of(rows, start, stop, size, stored_size=stored, state=state, kind=kind)

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        index = self.file.load()
        rows = np.asarray(rows, np.int64)
        ends = np.cumsum(index.counts)
        kind = np.searchsorted(ends, rows, "right")
        texts: list[str | None] = [None] * len(rows)
        for number, name in enumerate(KINDS):
            here = np.flatnonzero(kind == number)
            section = index.section(name)
            records = section.entries if name == CHUNK else section.headers
            hashes = section.hashes[records[rows[here] - index.first_row(name)]]
            prefix = "" if name == FILE else f"{name}:"
            for place, text in zip(here.tolist(), to_texts(hashes), strict=True):
                texts[place] = prefix + text
        return texts

    def ref(self, row: int) -> ObjectRef:
        index = self.file.load()
        if not 0 <= row < len(self):
            raise IndexError(row)
        files, xorbs, _ = index.counts
        if row < files:
            section = index.files
            block = read_file_block(
                lambda a, b: index.data[a:b],
                section.byte_of(int(section.headers[row])),
                section.byte_of(int(section.ends[row])),
            )
            return file_ref(row, block, index.file_fault(row) if index.damaged_files[row] else "")
        if row < files + xorbs:
            number = row - files
            start = index.xorbs.byte_of(int(index.xorbs.headers[number]))
            return xorb_ref(row, start, CAS_HEADER.values(index.xorb_headers[number]))
        number = row - files - xorbs
        xorb = int(np.searchsorted(index.xorbs.bounds, number, "right")) - 1
        return chunk_ref(
            row,
            index.xorbs.byte_of(int(index.xorbs.entries[number])),
            CAS_ENTRY.values(index.chunks[number]),
            index.xorb_headers["cas_hash"][xorb].tobytes(),
            number - int(index.xorbs.bounds[xorb]),
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
