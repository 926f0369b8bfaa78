"""Sources inside a shard: the content of an object, or decoded bytes, opened like a file."""

from __future__ import annotations

import io
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from shardcore.errors import (
    DEFAULT_LIMIT,
    FormatError,
    LimitExceeded,
    ShardError,
    SourceError,
    reported_as,
)
from shardcore.model.inside_path import InsideStep, inside_link, inside_text, last_name, shown_inside
from shardcore.model.objects import ObjectRef, State
from shardcore.model.span import SourceName, Span
from shardcore.model.text import plural, short
from shardcore.shards.cache import Once
from shardcore.shards.shard import Shard, bounded
from shardcore.sources.base import RANGE, Source, on_failure

if TYPE_CHECKING:
    from shardcore.model.keys import Key
    from shardcore.sources.remote.request_log import RequestLog

IN_MEMORY = 64 << 20
"""Maximum number of decoded bytes of a content in memory; a larger content is decoded to a temporary file."""

CHEAP = 16 << 20
"""Maximum size in bytes of a content that is decoded only to detect its format."""

BLOCK = 1 << 20
"""Number of bytes decoded at once if the format can decode ranges."""


class InnerSource(Source):
    """Bytes inside the shard `outer`, stored in the source `base`. With `owned`, closing them closes the shard, too."""

    charged = False

    def __init__(self, outer: Shard, step: InsideStep, base: Source, *, owned: bool) -> None:
        self.outer, self.base, self._owned = outer, base, owned
        self.name = last_name(step)
        root = outer.source.uri if outer.source is not None else getattr(outer, "folder", base).uri
        self.uri = inside_link(root, (step,))
        self.near, self.merge_gap, self.head_size = base.near, base.merge_gap, base.head_size
        self.watchable = base.watchable
        self._step = step

    @property
    def title(self) -> str:
        """Path for display: `archive.des › 2090 › model.safetensors`."""
        outer = self.outer.source
        if outer is None:
            return shown_inside(getattr(self.outer, "folder", self.base).name, (self._step,))
        return shown_inside(outer.title if isinstance(outer, InnerSource) else outer.name, (self._step,))

    @property
    def cheap(self) -> bool:
        """True if the first bytes can be decoded at low cost, to detect their format."""
        return True

    @property
    def root(self) -> Source:
        return self.base.root if isinstance(self.base, InnerSource) else self.base

    @property
    def identity(self) -> str:
        return f"{self.base.identity}{inside_text((self._step,))}#{self.size}"

    @property
    def tape(self) -> RequestLog | None:
        return self.outer.tape

    def check_unchanged(self) -> None:
        self.base.check_unchanged()

    def release(self) -> None:
        """Discard the decoded bytes."""

    def close(self) -> None:
        self.release()
        if self._owned:
            self.outer.close()


class WindowSource(InnerSource):
    def __init__(self, outer: Shard, step: InsideStep, base: Source, start: int, stop: int, *, owned: bool) -> None:
        super().__init__(outer, step, base, owned=owned)
        self._start, self._size = start, stop - start
        self.base.check_range(start, stop)

    @property
    def size(self) -> int:
        return self._size

    @property
    def stored(self) -> int:
        """Number of stored bytes; in a sparse file, at most the number that the file occupies on the disk."""
        return min(self._size, self.base.stored)

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        found = self.base.loaded(start + self._start, stop + self._start)
        return tuple((first - self._start, last - self._start) for first, last in found)

    def prefetch(self, start: int, stop: int, most: int = RANGE) -> None:
        self.base.prefetch(max(start, 0) + self._start, min(stop, self._size) + self._start, most)

    def _read(self, start: int, stop: int) -> bytes:
        return self.base.read(start + self._start, stop + self._start)

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return self.base.read_many([(start + self._start, stop + self._start) for start, stop in ranges])


class DecodedSource(InnerSource):
    """Decoded content of an object.

    It is decoded once, on first read, into memory or an unnamed temporary file. If the format can decode ranges, only
    the blocks that are read are decoded.
    """

    def __init__(self, outer: Shard, step: InsideStep, ref: ObjectRef, base: Source, *, owned: bool) -> None:
        super().__init__(outer, step, base, owned=owned)
        self._ref = ref
        self._whole: Once[_Kept] = Once()
        self._ranged = ref.size > 0 and outer.reads_ranges(ref)
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Number of decoded bytes; decodes the content if the size is not stored."""
        return self._ref.size if self._ref.size >= 0 else self._kept().size

    @property
    def cheap(self) -> bool:
        return self._ranged or 0 <= self._ref.size <= CHEAP

    @property
    def stored(self) -> int:
        return self._ref.stored_size if self._ref.stored_size >= 0 else min(self.size, self.base.stored)

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        if self.near or self._whole.value is not None:
            return ((start, stop),)
        if not self._ranged:
            return ()
        with self._lock:
            blocks = sorted(self._blocks)
        found = [(max(at * BLOCK, start), min((at + 1) * BLOCK, stop)) for at in blocks]
        return tuple((first, last) for first, last in found if first < last)

    def release(self) -> None:
        if (kept := self._whole.value) is not None:
            kept.close()
        with self._lock:
            self._blocks.clear()

    def _read(self, start: int, stop: int) -> bytes:
        if not self._ranged:
            return self._kept().read(start, stop)
        parts = []
        for number in range(start // BLOCK, -(-stop // BLOCK)):
            at = number * BLOCK
            parts.append(self._block(number)[max(start - at, 0) : stop - at])
        return b"".join(parts)

    def _block(self, number: int) -> bytes:
        with self._lock:
            if (found := self._blocks.get(number)) is not None:
                self._blocks.move_to_end(number)
                return found
        first, last = number * BLOCK, min((number + 1) * BLOCK, self.size)
        data = self.outer.read_range(self._ref, first, last)
        if len(data) != last - first:
            ends = f"{short(self.name)} is truncated: it has no byte {first + len(data):#x}"
            raise FormatError(ends, span=_first(self._ref))
        with self._lock:
            self._blocks[number] = data
            while len(self._blocks) * BLOCK > IN_MEMORY:
                self._blocks.popitem(last=False)
        return data

    def _kept(self) -> _Kept:
        return self._whole.get(lambda: _Kept.of(bounded(self.outer, self._ref, DEFAULT_LIMIT), self._ref))


class _Kept:
    def __init__(self, data: bytes, file: IO[bytes] | None, size: int) -> None:
        self.size = size
        self._data, self._file = data, file
        self._lock = threading.Lock()

    @classmethod
    def of(cls, pieces: Iterator[bytes], ref: ObjectRef) -> _Kept:
        held, size = bytearray(), 0
        file: IO[bytes] | None = None
        with on_failure(lambda: _close(file)), reported_as("cannot store decoded bytes"):
            for piece in pieces:
                size += len(piece)
                if file is None and size > IN_MEMORY:
                    file = tempfile.TemporaryFile(prefix="shardcore-")  # noqa: SIM115 - closed with the source
                    file.write(held)
                    held = bytearray()
                if file is None:
                    held += piece
                else:
                    file.write(piece)
            if ref.size not in (-1, size):
                found = f"{short(ref.key)} has {plural(size, 'byte')}; {ref.size:,} declared"
                raise FormatError(found, span=_first(ref))
        return cls(bytes(held), file, size)

    def read(self, start: int, stop: int) -> bytes:
        if self._file is None:
            return self._data[start:stop]
        with self._lock:
            try:
                self._file.seek(start)
                return self._file.read(stop - start)
            except (OSError, ValueError) as error:
                raise SourceError("the decoded bytes are no longer available") from error

    def close(self) -> None:
        _close(self._file)


def _close(file: IO[bytes] | None) -> None:
    if file is not None:
        file.close()


def source_inside(shard: Shard, step: InsideStep, *, owned: bool = False) -> InnerSource:
    """Return an object, or named decoded bytes, as a source; nothing is decoded before the first read.

    Raises:
        KeyAbsent: The key was not found.
        UsageError: The key is malformed, or there are no bytes of that name.
        FormatError: The object is damaged.
        LimitExceeded: The content is larger than 1 GiB and must be decoded as a whole.
        SourceError: The bytes cannot be read.
    """
    if isinstance(step, SourceName):
        part = shard.bytes_of(str(step))
        return WindowSource(shard, step, part, 0, part.size, owned=owned)
    return object_source(shard, shard.find(step), step, owned=owned)


def object_source(shard: Shard, ref: ObjectRef, step: InsideStep, *, owned: bool = False) -> InnerSource:
    if ref.error:
        raise FormatError(ref.error, span=ref.record or _first(ref))
    if ref.state not in (State.LIVE, State.EXTERNAL):
        # The format decides whether deleted objects can be read; if not, this raises its error.
        next(shard.stream(ref), b"")
    stored = _stored_span(shard, ref)
    if stored is not None:
        return WindowSource(shard, step, shard.bytes_of(stored.source), stored.start, stored.stop, owned=owned)
    if ref.size > DEFAULT_LIMIT and not shard.reads_ranges(ref):
        limit = plural(DEFAULT_LIMIT, "byte")
        raise LimitExceeded(f"{short(step)} has {plural(ref.size, 'byte')}; the limit for decoding it is {limit}")
    name = str(SourceName(ref.shard)) if ref.shard or not ref.spans else ref.spans[0].source
    base = shard.source if shard.source is not None else shard.bytes_of(name)
    return DecodedSource(shard, step, ref, base, owned=owned)


class _ObjectFile(io.RawIOBase):
    def __init__(self, source: InnerSource) -> None:
        self.name = source.title
        self._source, self._at = source, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_CUR: self._at, io.SEEK_END: self._source.size}.get(whence, 0) if whence else 0
        if base + offset < 0:
            # An `OSError`, as for any file: programs that try the end of a short file expect it.
            raise SourceError(f"offset {base + offset} is before the beginning of {self.name}")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        start = min(self._at, self._source.size)
        data = self._source.read(start, min(start + len(buffer), self._source.size))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._source.release()
        super().close()


def open_object(shard: Shard, wanted: ObjectRef | Key) -> BinaryIO:
    ref = shard.ref_of(wanted)
    source = object_source(shard, ref, ref.key or f"row {ref.row}")
    return cast("BinaryIO", io.BufferedReader(_ObjectFile(source)))


def _stored_span(shard: Shard, ref: ObjectRef) -> Span | None:
    if ref.codec != "none" or not ref.spans or ref.spans[0].size != ref.size or ref.size <= 0:
        return None
    try:
        parts = shard.content_parts(ref)
    except ShardError:
        return None
    return parts[0].stored if len(parts) == 1 and parts[0].exact else None


def _first(ref: ObjectRef) -> Span | None:
    return ref.spans[0] if ref.spans else ref.record
