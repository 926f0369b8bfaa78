"""Reading of uncompressed content: one chunk, all chunks, or a byte range; checksums are compared first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from io import BytesIO
from itertools import chain, islice, pairwise, takewhile
from itertools import count as counting
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, KeyAbsent, LimitExceeded, ShardError, SourceError, Unsupported, detached
from shardcore.formats.bloscpack.blosc1 import (
    DEFAULT_LIMIT,
    HEADER_SIZE,
    ChunkHeader,
    can_expand,
    check_chunk_header,
    decompress,
    read_chunk_header,
    split_chunk,
    stream_chunk,
)
from shardcore.formats.bloscpack.chunks import ChunkTable
from shardcore.formats.bloscpack.layout import UNKNOWN, Header, blosc_header_span
from shardcore.model.parallel import in_order
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural
from shardcore.sources.base import Source
from shardcore.sources.wrapper_sources import KeptSource

T = TypeVar("T")

GUESS = 65536
"""Bytes that are read first for a chunk whose length is unknown."""
THREADS = min(os.cpu_count() or 1, 8)
SMALL_FILE = 2**18
"""Largest file, in bytes, that is read without threads."""
BATCH = 2**20
"""Uncompressed bytes of the chunks that a thread handles together; few enough for the processor's cache."""
SMALL_CHUNK = 2**18
"""If chunk_size is below this number of bytes, a single thread decompresses the chunks."""
MOST_AT_ONCE = 4096
HELD = 2**24
"""Uncompressed bytes after which a batch stops: its other chunks, which may exceed chunk_size, are read later."""
TRIED_WHOLE = 2**26
"""Largest uncompressed size, in bytes, of a chunk that verification decompresses in one call."""
TRIED_RATIO = 8
STREAMED = ("zlib", "zstd")
FAST = ("blosclz", "lz4")
"""Codecs that decompress faster than a local file is written; threads would only take more processor time."""
LARGE_CHUNK = 2**25
"""Chunks above this uncompressed size are decompressed one at a time, by several threads each."""
LARGE_PART = 2**24
"""Uncompressed bytes per part in which a large chunk is decompressed."""


Decoder = Callable[..., bytes]
"""Function that decompresses a chunk: `blosc1.decompress`, or the same in a separate process."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Chunk as stored at `span` of the file: its bytes with the Blosc header, and its checksum (`digest`)."""

    number: int
    span: Span
    header: ChunkHeader
    chunk: memoryview
    digest: bytes

    @property
    def digest_span(self) -> Span:
        return Span("", self.span.stop, self.span.stop + len(self.digest))


class ChunkReader:
    """Reads chunks, compares their checksums and decompresses them."""

    def __init__(self, source: Source, header: Header, table: ChunkTable) -> None:
        self.source = source
        self.header = header
        self.table = table
        self.decoder: Decoder | None = None
        self._starts: NDArray[np.int64] | None = None
        # True if the codec of the chunk that was read last is in `FAST`.
        self._fast = False

    def stored(self, number: int, source: Source | None = None) -> Stored:
        """Read a chunk with its checksum, with one request if its length is known or can be estimated."""
        through = source or self.source
        place = self.table.place(number, through)
        try:
            return self._stored_at(number, place, through)
        except FormatError:
            if self.table.loaded or not self.table.offsets.used:
                raise
            walked = place
            with suppress(FormatError, KeyAbsent):
                walked = self.table.walked(number, through)
            if walked == place:
                raise
            return self._stored_at(number, walked, through)

    def plain(self, number: int, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """Return the uncompressed bytes of a chunk after comparing its checksum."""
        return self.decoded(self.stored(number), limit=limit)

    def decoded(self, stored: Stored, *, limit: int = DEFAULT_LIMIT) -> bytes:
        self.check(stored)
        if self.decoder is not None and stored.header.nbytes and not stored.header.memcpyed:
            return self.decoder(stored.chunk, limit=limit, place=stored.span)
        threads = THREADS if stored.header.nbytes > LARGE_CHUNK else 1
        return decompress(stored.chunk, limit=limit, place=stored.span, threads=threads)

    def check(self, stored: Stored) -> None:
        self.header.checksum.check(stored.chunk, stored.digest, stored.digest_span, f"chunk {stored.number}")

    def plains(self, first: int, last: int | None, *, limit: int = DEFAULT_LIMIT) -> Iterator[bytes]:
        """Yield the uncompressed bytes of chunks `[first, last)` (None: to the end) in order, large chunks in pieces.

        Threads, which end with the iterator, read and decompress a few chunks ahead if that is slower than writing.
        """
        for one in self._in_order(lambda numbers: self._some(numbers, limit), first, last, streamed=True):
            if isinstance(one, ShardError):
                raise one
            if isinstance(one, int):
                yield from self._pieces(self.stored(one), limit)
            else:
                yield one

    def around(self, stored: Stored, within: int, *, limit: int = DEFAULT_LIMIT) -> tuple[bytes, int]:
        """Return uncompressed bytes of a chunk that include byte `within`, and the offset of the first of these bytes.

        For a chunk that is not large, all bytes are returned; none if the chunk ends before `within`.
        """
        first = 0
        for piece in self._pieces(stored, limit):
            if within < first + len(piece):
                return piece, first
            first += len(piece)
        return b"", first

    def _pieces(self, stored: Stored, limit: int) -> Iterator[bytes]:
        header = stored.header
        if header.memcpyed or header.nbytes <= LARGE_CHUNK:
            yield self.decoded(stored, limit=limit)
            return
        if header.nbytes > limit:
            check_chunk_header(header, limit=limit, place=stored.span)
        if header.blocksize > max(TRIED_WHOLE, TRIED_RATIO * header.ctbytes):
            text = f"{header.ctbytes:,} stored bytes declare blocks of {header.blocksize:,} bytes"
            most = f"the limit is {TRIED_WHOLE >> 20} MiB or {TRIED_RATIO} times the stored bytes"
            raise Unsupported(f"{text}; {most}", span=stored.span)
        self.check(stored)
        decode = self.decoder or partial(decompress, threads=THREADS)
        for part in split_chunk(stored.chunk, LARGE_PART, place=stored.span):
            yield decode(part, limit=limit, place=stored.span)

    def problems(self, tried: Sequence[bool]) -> Iterator[ShardError | None]:
        """Yield the error of each chunk, or None: compare its checksum, and decompress it if `tried` is True for it."""
        return self._in_order(partial(self._problems, tried), 0, len(tried))

    def whole(self, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """Return the uncompressed bytes of all chunks.

        If the declared sizes are possible, threads decompress each chunk directly into the result.
        """
        starts = self.starts()
        total = int(starts[-1])
        if total > limit:
            raise LimitExceeded(f"the content has {plural(total, 'byte')}; the limit is {grouped_digits(limit)}")
        credible = can_expand(self.table.headers, self.source.size)
        if self.decoder is not None or not credible or self.source.size <= SMALL_FILE or len(starts) < 3:
            return b"".join(self.plains(0, None, limit=limit))
        # Filled in place and returned by `getvalue` without a copy.
        buffer, places = BytesIO(bytes(total)), list(pairwise(starts.tolist()))
        with buffer.getbuffer() as out:

            def fill(numbers: Sequence[int]) -> None:
                source = self._block(numbers)
                for number in numbers:
                    with out[slice(*places[number])] as part:
                        stored = self.stored(number, source)
                        self.check(stored)
                        decompress(stored.chunk, limit=limit, place=stored.span, out=part)

            fast = self.table.header(0).codec_name in FAST
            for _ in in_order(fill, self._batches(0, None), 1 if fast else self._threads):
                pass
        return buffer.getvalue()

    def plain_range(self, start: int, stop: int, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """Return uncompressed bytes `[start, stop)`, cut at the end of the content; reads only chunks with them."""
        try:
            first, skip = self.locate(start)
        except KeyAbsent:
            return b""
        if stop <= start:
            return b""
        try:
            last = self.locate(stop - 1)[0] + 1
        except KeyAbsent:
            last = None
        wanted, parts = stop - start, []
        for plain in self.plains(first, last, limit=DEFAULT_LIMIT):
            parts.append(plain[skip : skip + wanted])
            wanted -= len(parts[-1])
            skip = max(skip - len(plain), 0)
            if stop - start - wanted > limit:
                raise LimitExceeded(f"the range exceeds the limit of {plural(limit, 'byte')}")
        return b"".join(parts)

    def locate(self, offset: int) -> tuple[int, int]:
        """Return the number of the chunk that contains an uncompressed byte, and the offset of the byte in it."""
        size, total, starts = self.header.chunk_size, self.header.plain_size, None
        if self.table.loaded or size <= 0 or total == UNKNOWN:
            starts = self.starts()
            total = int(starts[-1])
        if offset >= total:
            text = f"there is no uncompressed byte {offset}; the content has {plural(total, 'byte')}"
            raise KeyAbsent(f"@{offset}", text)
        if starts is None:
            return divmod(offset, size)
        number = int(np.searchsorted(starts, offset, "right")) - 1
        return number, offset - int(starts[number])

    def starts(self) -> NDArray[np.int64]:
        """Return the uncompressed offset of each chunk, then the total size: `chunks + 1` int64; loads all headers."""
        if self._starts is None:
            self.table.load()
            self._starts = np.append(0, np.cumsum(self.table.headers["nbytes"], dtype=np.int64))
        return self._starts

    @property
    def _threads(self) -> int:
        return THREADS if self.header.chunk_size >= SMALL_CHUNK else 1

    def _in_order(
        self, work: Callable[[Sequence[int]], list[T]], first: int, last: int | None, *, streamed: bool = False
    ) -> Iterator[T]:
        """Apply `work` to batches of chunks `[first, last)`; yield the results in order, while threads work ahead."""
        batches = self._batches(first, last)
        large = not 0 <= self.header.chunk_size <= LARGE_CHUNK
        few = self.source.size <= SMALL_FILE or (last is not None and last - first < 2)
        alone = large or few or self.decoder is not None
        if streamed and self.source.near and not alone:
            yield from chain.from_iterable(map(work, islice(batches, 1)))
            alone = self._fast
        with closing(in_order(work, batches, 1 if alone else self._threads)) as done:
            yield from chain.from_iterable(done)

    def _problems(self, tried: Sequence[bool], numbers: Sequence[int]) -> list[ShardError | None]:
        source = self._block(numbers)
        found: list[ShardError | None] = []
        for number in numbers:
            try:
                self._try(self.stored(number, source), tried[number])
            except SourceError:
                raise
            except ShardError as error:
                found.append(detached(error))
            else:
                found.append(None)
        return found

    def _try(self, stored: Stored, tried: bool) -> None:
        header = stored.header
        large = header.nbytes > TRIED_WHOLE and not header.memcpyed
        if tried and (not large or header.nbytes <= TRIED_RATIO * header.ctbytes):
            self.decoded(stored)
            return
        self.check(stored)
        if tried and header.codec_name in STREAMED:
            stream_chunk(stored.chunk, header.codec_name, place=stored.span)
        else:
            text = f"not decompressed: {header.ctbytes:,} stored bytes declare {header.nbytes:,} uncompressed bytes"
            raise LimitExceeded(text, span=stored.span)

    def _some(self, numbers: Sequence[int], limit: int) -> list[bytes | ShardError | int]:
        """Return the uncompressed bytes of neighbouring chunks, read in one request; an error is the last item.

        For a large chunk, and for those after `HELD` bytes, the list has only the chunk number.
        """
        given: list[bytes | ShardError | int] = []
        held = 0
        try:
            source = self._block(numbers)
            for number in numbers:
                # Chunks may be larger than the header says.
                stored = self.stored(number, source) if held <= HELD else None
                if stored is None or stored.header.nbytes > LARGE_CHUNK:
                    given.append(number)
                else:
                    given.append(self.decoded(stored, limit=limit))
                held += stored.header.nbytes if stored is not None else 0
        except (FormatError, LimitExceeded) as error:
            given.append(error)
        return given

    def _block(self, numbers: Sequence[int]) -> Source:
        """Read the range of several chunks and return it as a source; return the file for one chunk or over 2 MiB."""
        first, last = numbers[0], numbers[-1]
        if first == last:
            return self.source
        try:
            start, end = self.table.place(first), self.table.place(last)
        except (FormatError, KeyAbsent):
            return self.source
        stop = min(end + self._likely_size(last, end), self.table.area.size)
        if not start < stop <= start + 2 * BATCH:
            return self.source
        return KeptSource(self.source, start, self.source.read(start, stop))

    def _batches(self, first: int, last: int | None) -> Iterator[Sequence[int]]:
        size = self.header.chunk_size
        if size <= 0 and (rows := len(self.table)) > 0:
            # Unknown or zero chunk_size: estimate it by the average stored size.
            size = max(self.table.area.size // rows, 1)
        together = min(max(BATCH // size, 1), MOST_AT_ONCE) if size > 0 else 1
        if last is None and (self.table.loaded or self.header.nchunks != UNKNOWN):
            last = len(self.table)
        numbers = takewhile(self._exists, counting(first)) if last is None else iter(range(first, last))
        while batch := list(islice(numbers, together)):
            yield batch

    def _exists(self, number: int) -> bool:
        try:
            self.table.place(number)
        except KeyAbsent:
            return False
        return True

    def _stored_at(self, number: int, place: int, source: Source) -> Stored:
        size = self.table.area.size
        data = source.read(place, min(place + self._likely_size(number, place), size))
        header, strange = read_chunk_header(data, place=Span("", place, max(place, size))), None
        try:
            check_chunk_header(header, limit=2**32, place=blosc_header_span(place))
        except Unsupported as error:
            strange = error
        self._fast = header.codec_name in FAST
        need = header.ctbytes + self.header.checksum.size
        if (cut := self.table.area.truncated(number, place, header.ctbytes)) is not None:
            raise strange or cut
        if need > len(data):
            data += source.read(place + len(data), place + need)
        span = Span("", place, place + header.ctbytes)
        stored = Stored(number, span, header, memoryview(data)[: header.ctbytes], data[header.ctbytes : need])
        if strange is not None:
            self.check(stored)
            raise strange
        return stored

    def _likely_size(self, number: int, place: int) -> int:
        """Return the stored size of a chunk with its checksum, or an upper bound; `GUESS` if neither is known."""
        digest = self.header.checksum.size
        if self.table.known_at(number) == place:
            return max(int(self.table.headers["ctbytes"][number]), HEADER_SIZE) + digest
        plain, following = self.header.plain_size_of(number), self.table.slot_place(number + 1)
        likely = [plain + HEADER_SIZE + digest] if plain != UNKNOWN else []
        likely += [following - place] if following > place else []
        return max(min(likely, default=GUESS), HEADER_SIZE + digest)
