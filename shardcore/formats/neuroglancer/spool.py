"""Temporary storage of values until they are written: in memory, then in a temporary file."""

from __future__ import annotations

import errno
import mmap
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from shardcore.errors import SourceError, reason_of
from shardcore.system import read_at
from shardcore.writing.output import Output
from shardcore.writing.temporary import Draining, TemporaryFile

KEPT = 32 << 20
"""Maximum number of bytes kept in memory."""
PIECE = 4 << 20
"""Approximate size of the pieces read back, in bytes."""
RELEASED = 32 << 20
"""Bytes read after which mapped pages are released."""

Numbers = npt.NDArray[np.int64]


class Spool:
    """Store for bytes that are later read in any order; above `room` bytes they are in a temporary file."""

    def __init__(self, output: Output, room: int = KEPT) -> None:
        self.at = 0
        self._output = output
        self.room = room
        self._kept = bytearray()
        self._file: Draining | None = None
        self._map: mmap.mmap | None = None
        self._touched = 0

    @property
    def spilled(self) -> bool:
        return self._file is not None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.at += len(data)
        if self._output.planning:
            return
        if self._file is None and self.at > self.room:
            # If the process is killed, the file remains; later runs recognise it by its name and remove it.
            target = self._output.target
            self._file = self._output.spool("values" if self._output.folder or target is None else target.name)
            self._file.write(self._kept)
            self._kept = bytearray()
        if self._file is not None:
            self._file.write(data)
        else:
            self._kept += data

    def skip(self, size: int) -> None:
        """Advance by `size` bytes without data; only used for plans."""
        self.at += size

    def rewind(self, at: int) -> None:
        """Drop all bytes from offset `at` on."""
        self.at = at
        if self._file is not None:
            self._file.rewind(at)
        elif not self._output.planning:
            del self._kept[at:]

    def pieces(self, starts: Numbers, stops: Numbers) -> Iterator[bytes]:
        """Yield the bytes of ranges, concatenated, in pieces of about `PIECE` bytes."""
        if not len(starts):
            return
        # Adjacent ranges are merged.
        cuts = np.flatnonzero(starts[1:] != stops[:-1]) + 1
        starts, stops = starts[np.append(0, cuts)], stops[np.append(cuts - 1, len(stops) - 1)]
        read = self._source()
        ends = np.cumsum(stops - starts)
        first = 0
        while first < len(starts):
            done = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, done + PIECE, "right")))
            if last == first + 1:
                start, stop = int(starts[first]), int(stops[first])
                for at in range(start, stop, PIECE):
                    yield self._handed(bytes(read[at : min(at + PIECE, stop)]))
            else:
                parts = map(slice, starts[first:last].tolist(), stops[first:last].tolist())
                yield self._handed(b"".join(map(read.__getitem__, parts)))
            first = last

    def _handed(self, piece: bytes) -> bytes:
        self._touched += len(piece)
        if self._touched > RELEASED and self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)
            self._touched = 0
        return piece

    def drop(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None
        if self._file is not None:
            self._output.drop(self._file)
            self._file = None
        self._kept = bytearray()

    def _source(self) -> memoryview | mmap.mmap | _Ranges:
        if not isinstance(self._file, TemporaryFile):
            return memoryview(self._kept)
        if self._map is None:
            try:
                self._file.file.flush()
                self._map = _mapped(self._file.file.fileno())
            except (OSError, ValueError) as error:
                raise SourceError(f"cannot write {self._file.final}: {reason_of(error)}") from error
        return self._map if self._map is not None else _Ranges(self._file)


class _Ranges:
    def __init__(self, file: TemporaryFile) -> None:
        self._file = file

    def __getitem__(self, part: slice) -> bytes:
        try:
            found = read_at(self._file.file.fileno(), part.stop - part.start, part.start)
        except OSError as error:
            raise SourceError(f"cannot write {self._file.final}: {reason_of(error)}") from error
        if len(found) != part.stop - part.start:
            raise SourceError(f"cannot write {self._file.final}: its temporary file was truncated")
        return found


def _mapped(descriptor: int) -> mmap.mmap | None:
    """Map the file into memory; return None if the address space is limited (`ulimit -v`)."""
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        return None
