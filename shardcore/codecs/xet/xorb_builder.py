"""Writing a xorb: chunk records, then the info block."""

from __future__ import annotations

from array import array
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import HashArray, tree_root
from shardcore.codecs.xet.xorb_layout import (
    CHUNK_HEADER,
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
    write_chunk,
    write_info,
    write_u24,
)
from shardcore.dataclasses import dataclass
from shardcore.model.section import Section, SectionRole

COMPRESSIONS: dict[str, tuple[Scheme, ...]] = {
    "auto": (Scheme.LZ4, Scheme.BG4_LZ4),
    "none": (Scheme.NONE,),
    "lz4": (Scheme.LZ4,),
    "bg4": (Scheme.BG4_LZ4,),
}
"""Schemes tried for each option value; the smallest result is used."""

WORTH_A_THREAD = 16 * 1024
"""Minimum size of a chunk that is compressed in a worker thread, in bytes."""

MOST_WAITING = 64
"""Maximum number of chunks compressed ahead of writing."""

Stored = tuple[Scheme, bytes]
"""Scheme of a chunk, and its record."""

USUAL_CHUNK = 64 * 1024
"""Expected bytes per chunk, for estimates."""


class XorbSink(Protocol):
    """Protocol of the target of a xorb: a file, or a plan that only counts bytes."""

    def write(self, data: bytes) -> None:
        """Append the bytes of a record or of the info block."""

    def skip(self, size: int) -> None:
        """Count bytes without content, for a plan."""


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
        self._file = file
        self._workers = workers
        self._waiting: deque[Future[Stored] | Stored] = deque()
        self._schemes = COMPRESSIONS[compression]
        self._hashes = bytearray()
        self._ends = array("Q")
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

    def add(self, chunk: bytes, digest: bytes) -> int:
        self._hashes += digest
        self._unpacked_ends.append(self.unpacked + len(chunk))
        if self._workers is None or len(chunk) < WORTH_A_THREAD:
            self._waiting.append(stored_chunk(self._schemes, chunk))
        else:
            self._waiting.append(self._workers.submit(stored_chunk, self._schemes, chunk))
        self.settle(MOST_WAITING)
        return len(self) - 1

    def skip(self, size: int, digest: bytes) -> int:
        self.settle()
        self._hashes += digest
        self._unpacked_ends.append(self.unpacked + size)
        self._file.skip(HEADER_SIZE + size)
        self._note(HEADER_SIZE + size, Scheme.NONE)
        return len(self) - 1

    def settle(self, most: int = 0) -> None:
        """Write added chunks until at most `most` are still being compressed."""
        while len(self._waiting) > most:
            first = self._waiting.popleft()
            scheme, record = first.result() if isinstance(first, Future) else first
            self._file.write(record)
            self._note(len(record), scheme)

    def plan(self) -> PackedXorb:
        self.settle()
        hashes: HashArray = np.frombuffer(bytes(self._hashes), np.uint8).reshape(-1, 32)
        unpacked = np.array(self._unpacked_ends, np.int64)
        root = tree_root(hashes, np.diff(unpacked, prepend=0).astype(np.uint64))
        info = XorbInfo(1, root, hashes, np.array(self._ends, np.int64), unpacked)
        size = (int(info.ends[-1]) if info.count else 0) + FIXED[1] + PER_CHUNK[1] * info.count + INFO_LENGTH.size
        return PackedXorb(info.cas_hash, info, np.frombuffer(bytes(self._used), np.uint8), size)

    def finish(self) -> PackedXorb:
        packed = self.plan()
        self._file.write(write_info(packed.info))
        return packed

    def forget(self, count: int) -> None:
        """Drop all chunks after the first `count`. The caller truncates the file."""
        self.settle()
        del self._hashes[32 * count :], self._ends[count:], self._unpacked_ends[count:], self._used[count:]

    def _note(self, stored: int, scheme: Scheme) -> None:
        self._ends.append((self._ends[-1] if self._ends else 0) + stored)
        self._used.append(scheme)


def stored_chunk(schemes: tuple[Scheme, ...], chunk: bytes) -> Stored:
    # If equal, the chunk is stored uncompressed, or with the first scheme.
    tried = ((Scheme.NONE, chunk), *(write_chunk(scheme, chunk) for scheme in schemes))
    scheme, stored = min(tried, key=lambda one: len(one[1]))
    header = CHUNK_HEADER.pack(
        compressed_size=write_u24(len(stored)), compression_type=int(scheme), uncompressed_size=write_u24(len(chunk))
    )
    return scheme, header + stored


def usual_chunks(size: int) -> list[int]:
    """Return estimated chunk sizes of content of known size."""
    whole, rest = divmod(size, USUAL_CHUNK)
    return [USUAL_CHUNK] * whole + [rest] * bool(rest)
