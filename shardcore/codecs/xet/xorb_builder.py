"""Writing a xorb: chunk records, then the info block."""

from __future__ import annotations

from array import array
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import HashArray, tree_root
from shardcore.codecs.xet.xorb_layout import (
    CHUNKS,
    FIXED,
    HEADER_SIZE,
    INFO_BLOCK,
    INFO_LENGTH,
    MAX_CHUNKS,
    MAX_XORB_SIZE,
    PER_CHUNK,
    SENTENCES,
    Scheme,
    XorbInfo,
    chunk_headers,
    write_chunk,
    write_info,
)
from shardcore.dataclasses import dataclass
from shardcore.model.section import Section, SectionRole
from shardcore.system import keep_freed_memory

COMPRESSIONS: dict[str, tuple[Scheme, ...]] = {
    "auto": (Scheme.LZ4, Scheme.BG4_LZ4),
    "none": (Scheme.NONE,),
    "lz4": (Scheme.LZ4,),
    "bg4": (Scheme.BG4_LZ4,),
}
"""Schemes tried for each value of the option `compression`; the smallest result is used."""

BATCH = 1 << 20
"""Minimum uncompressed bytes of a batch of chunks, which is compressed in one call of a worker thread and one write."""

MOST_WAITING = 8
"""Maximum number of batches compressed ahead of writing."""

Stored = tuple[list[Scheme], list[int], bytes]
"""Compressed batch of chunks: scheme of each, size of each record in bytes, and the records, concatenated."""

USUAL_CHUNK = 64 * 1024
"""Expected bytes per chunk, for estimates."""


class XorbSink(Protocol):
    """Protocol of the output to which a xorb is written: a file, or a plan that only counts bytes."""

    def write(self, data: bytes) -> None:
        """Append the bytes of a record or of the info block."""

    def skip(self, size: int) -> None:
        """Count `size` bytes without writing them: this sink only plans."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedXorb:
    """Result of packing a xorb: hash, info block, chunk schemes (uint8) and file size in bytes."""

    hash: bytes
    info: XorbInfo
    schemes: NDArray[np.uint8]
    size: int

    @property
    def sizes(self) -> NDArray[np.int64]:
        ends = self.info.unpacked_ends
        return np.zeros(0, np.int64) if ends is None else np.diff(ends, prepend=0)

    @property
    def sections(self) -> tuple[Section, ...]:
        end = int(self.info.ends[-1]) if self.info.count else 0
        chunks = Section(CHUNKS, SectionRole.DATA, 0, end, SENTENCES[CHUNKS])
        info = Section(INFO_BLOCK, SectionRole.FOOTER, end, self.size, SENTENCES[INFO_BLOCK])
        return (chunks, info) if end else (info,)


class XorbPacker:
    """Packs chunks into one xorb; without `workers`, chunks are compressed in the caller's thread."""

    def __init__(self, file: XorbSink, compression: str, workers: ThreadPoolExecutor | None = None) -> None:
        keep_freed_memory()
        self._file = file
        self._workers = workers
        self._batch: list[bytes | memoryview] = []
        self._left = BATCH
        self._waiting: deque[Future[Stored] | Stored] = deque()
        self._schemes = COMPRESSIONS[compression]
        self._hashes = bytearray()
        self._sizes = array("Q")
        self._unpacked_ends = array("Q")
        self._used = bytearray()

    def __len__(self) -> int:
        return len(self._unpacked_ends)

    @property
    def unpacked(self) -> int:
        return self._unpacked_ends[-1] if self._unpacked_ends else 0

    def fault_of(self, size: int, count: int = 1) -> str:
        """Return an error text if `count` more chunks of `size` bytes do not fit, else "".

        As in the reference, uncompressed sizes and headers are added up, so that no record exceeds the limit.
        """
        if len(self) + count > MAX_CHUNKS:
            return f"{len(self) + count:,} chunks; the limit is {MAX_CHUNKS:,}"
        whole = self.unpacked + size + (len(self) + count) * HEADER_SIZE
        return f"{whole:,} bytes; the limit is {MAX_XORB_SIZE:,}" if whole > MAX_XORB_SIZE else ""

    def add(self, chunk: bytes | memoryview, digest: bytes) -> int:
        self._hashes += digest
        self._unpacked_ends.append(self.unpacked + len(chunk))
        self._batch.append(chunk)
        self._left -= len(chunk)
        if self._left <= 0:
            self._compress()
            self._write(MOST_WAITING)
        return len(self) - 1

    def skip(self, size: int, digest: bytes) -> int:
        self.settle()
        self._hashes += digest
        self._unpacked_ends.append(self.unpacked + size)
        self._file.skip(HEADER_SIZE + size)
        self._note([Scheme.NONE], [HEADER_SIZE + size])
        return len(self) - 1

    def settle(self) -> None:
        """Compress and write all chunks added so far."""
        self._compress()
        self._write(0)

    def _compress(self) -> None:
        batch, self._batch, self._left = self._batch, [], BATCH
        if self._workers is None:
            self._waiting.append(stored_chunks(self._schemes, batch))
        elif batch:
            self._waiting.append(self._workers.submit(stored_chunks, self._schemes, batch))

    def _write(self, most: int) -> None:
        """Write compressed batches until at most `most` of them are waiting to be written."""
        while len(self._waiting) > most:
            first = self._waiting.popleft()
            schemes, sizes, records = first.result() if isinstance(first, Future) else first
            self._file.write(records)
            self._note(schemes, sizes)

    def plan(self) -> PackedXorb:
        self.settle()
        hashes: HashArray = np.frombuffer(bytes(self._hashes), np.uint8).reshape(-1, 32)
        unpacked = np.array(self._unpacked_ends, np.int64)
        root = tree_root(hashes, np.diff(unpacked, prepend=0).astype(np.uint64))
        info = XorbInfo(1, root, hashes, np.cumsum(self._sizes, dtype=np.int64), unpacked)
        size = (int(info.ends[-1]) if info.count else 0) + FIXED[1] + PER_CHUNK[1] * info.count + INFO_LENGTH.size
        return PackedXorb(info.cas_hash, info, np.frombuffer(bytes(self._used), np.uint8), size)

    def finish(self) -> PackedXorb:
        packed = self.plan()
        self._file.write(write_info(packed.info))
        return packed

    def forget(self, count: int) -> None:
        """Drop all chunks after the first `count`. The caller truncates the file."""
        self.settle()
        del self._hashes[32 * count :], self._sizes[count:], self._unpacked_ends[count:], self._used[count:]

    def _note(self, schemes: list[Scheme], sizes: list[int]) -> None:
        self._used += bytes(schemes)
        self._sizes.extend(sizes)


def stored_chunks(schemes: tuple[Scheme, ...], chunks: list[bytes | memoryview]) -> Stored:
    # Of results of equal size, the first is used: the uncompressed chunk, then the first scheme.
    tried = ([(Scheme.NONE, chunk), *(write_chunk(scheme, chunk) for scheme in schemes)] for chunk in chunks)
    stored = [min(ways, key=lambda one: len(one[1])) for ways in tried]
    used, contents = [scheme for scheme, _ in stored], [content for _, content in stored]
    sizes = [*map(len, contents)]
    headers = chunk_headers(used, sizes, [*map(len, chunks)]).view(f"V{HEADER_SIZE}").tolist()
    return (
        used,
        [HEADER_SIZE + size for size in sizes],
        b"".join(chain.from_iterable(zip(headers, contents, strict=True))),
    )


def usual_chunks(size: int) -> list[int]:
    """Return estimated chunk sizes of content of known size."""
    whole, rest = divmod(size, USUAL_CHUNK)
    return [USUAL_CHUNK] * whole + [rest] * bool(rest)
