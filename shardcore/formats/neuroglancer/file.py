"""The file of a shard (or both files of the split form): source, indices, caches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain, pairwise, repeat

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decompress import DEFLATE_RATIO, SMALL, decompress_many, decompress_shown, decompress_stream
from shardcore.errors import FormatError, LimitExceeded, ShardError, UsageError
from shardcore.formats.neuroglancer.byte_regions import WORD, sections_of
from shardcore.formats.neuroglancer.find_spec import Origin
from shardcore.formats.neuroglancer.index_levels import IndexLevels, MinishardTable
from shardcore.formats.neuroglancer.info import SpaceKind
from shardcore.formats.neuroglancer.layout import fragments_span, read_manifest
from shardcore.formats.neuroglancer.meshes import Meshes, decode_manifest, read_meshes
from shardcore.formats.neuroglancer.sharding import ShardingSpec
from shardcore.model.array_layout import RAW
from shardcore.model.finding import ContentBudget
from shardcore.model.number_text import plural, range_text
from shardcore.model.pointer_table import Links
from shardcore.model.section import tile
from shardcore.model.source_name import decoded_name
from shardcore.model.span import Span
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import LruCache, Once
from shardcore.sources.base import Source, read_pieces

CODECS = ("none", "gzip")
BLOCK = 16 << 20
PIECE = 1 << 20
SIZES_BLOCK = 1 << 22
KEPT_DECODED = 32 << 20
"""Cache size of decoded minishard indices and values, in bytes."""


class NeuroglancerFile:
    """Source, key space and indices of one shard.

    `head` is the shard index, or empty if it is too large to cache. `number` is that of the file name; None if the name
    or an inferred specification does not give it. Files of the split form are concatenated. `sections` cover the file.
    """

    def __init__(self, source: Source, origin: Origin, head: bytes, number: int | None, *, split: bool) -> None:
        self.source = source
        self.origin = origin
        self.levels = IndexLevels(source, origin.spec, head)
        self.sections, _ = tile(sections_of(self.levels, source.size), source.size)
        self.number = number
        self.split = split
        self._meshes: Once[Meshes] = Once()
        self._decoded: LruCache[tuple[int, int], bytes] = LruCache(KEPT_DECODED)

    @property
    def spec(self) -> ShardingSpec:
        return self.origin.spec

    @property
    def base(self) -> int:
        """Size of the shard index in bytes; all offsets count from its end."""
        return self.spec.index_size

    @property
    def is_mesh(self) -> bool:
        return self.origin.space.kind is SpaceKind.MESH

    @property
    def decodes(self) -> bool:
        """True if the info describes the values: an encoding, or the layout of meshes, skeletons or annotations."""
        scale = self.origin.space.scale
        return scale.encoding != RAW if scale is not None else self.origin.space.kind is not SpaceKind.UNKNOWN

    @property
    def codec(self) -> str:
        return CODECS[self.spec.data_encoding == "gzip"]

    @property
    def loaded(self) -> bool:
        return self.levels.loaded and (self._meshes.value is not None or not self.is_mesh)

    @property
    def index_bytes(self) -> int:
        """Size of all minishard indices in bytes; before the shard index is read, its size."""
        pairs = self.levels.known_pairs()
        if pairs is None:
            return self.base
        sizes = pairs[:, 1] - np.minimum(pairs[:, 0], pairs[:, 1])
        return min(int(sum(sizes.tolist())), self.source.size)

    def load(self, progress: Progress = no_progress) -> None:
        """Read all minishard indices, and all manifests of a mesh shard; damage is recorded, not raised."""
        self.levels.table(progress)
        if self.is_mesh:
            self.meshes(progress)

    @property
    def known_meshes(self) -> Meshes | None:
        return self._meshes.value

    def meshes(self, progress: Progress = no_progress) -> Meshes:
        table = self.levels.table()
        return self._meshes.get(lambda: read_meshes(self.source, self.spec, table, progress))

    def links(self) -> Iterator[Links]:
        levels, table = self.levels, self.levels.known_table
        if (pairs := levels.known_pairs()) is not None:
            yield levels.shard_index.links_of(pairs)
        if table is None:
            return
        entries = table.entries
        rows = np.flatnonzero(entries.inside)
        starts = entries.starts[rows].astype(np.int64)
        yield Links(
            starts, starts + entries.sizes[rows].astype(np.int64), lambda at: self._gap_field(table, int(rows[at]))
        )
        if (meshes := self.known_meshes) is not None:
            owners = rows[meshes.fragments[rows] >= 0]
            manifests = entries.starts[owners].astype(np.int64)

            def manifest(at: int) -> tuple[Span, str]:
                start = int(manifests[at])
                why = "The manifest has the sizes of its fragments, which end where the manifest begins."
                return Span("", start, start + int(entries.sizes[owners[at]])), why

            yield Links(meshes.fragments[owners], manifests, manifest)

    def _gap_field(self, table: MinishardTable, row: int) -> tuple[Span, str]:
        minishard = int(table.entries.minishards[row])
        listed = table.rows_of(minishard)
        first, last = (self.base + edge for edge in table.pairs[minishard].tolist())
        gzipped = self.spec.minishard_index_encoding == "gzip"
        at = (0 if gzipped else first) + WORD * (len(listed) + row - listed.start)
        why = f"Entry {row - listed.start} of minishard {minishard}: gaps and sizes add up to the offset of this value."
        return Span(decoded_name(first, last) if gzipped else "", at, at + WORD), why

    def stream(self, span: Span) -> Iterator[bytes]:
        pieces = read_pieces(self.source, span.start, span.stop)
        return pieces if self.codec == "none" else decompress_stream(self.codec, pieces, limit=1 << 62, span=span)

    def read_range(self, span: Span, start: int, stop: int, limit: int) -> bytes:
        """Return a range of a raw value; raise LimitExceeded above `limit` bytes."""
        first, last = (min(span.start + at, span.stop) for at in (start, stop))
        if last - first > limit:
            raise LimitExceeded(f"the range has {plural(last - first, 'byte')}; the limit is {limit:,}", span=span)
        return self.source.read(first, last)

    def fragments_of(self, manifest: Span) -> Span:
        data = decode_manifest(self.spec, self.source.read(manifest.start, manifest.stop), manifest)
        return fragments_span(read_manifest(data, manifest), manifest.start, self.base)

    def contents(self, rows: NDArray[np.int64] | None = None) -> Iterator[tuple[int, bytes | ShardError]]:
        """Yield row and decoded value (or error) of many rows, in file order; one request per `BLOCK` bytes."""
        entries = self.levels.table().entries
        wanted = np.arange(len(entries)) if rows is None else rows
        wanted = wanted[entries.inside[wanted]]
        wanted = wanted[np.argsort(entries.starts[wanted], kind="stable")]
        starts = entries.starts[wanted].astype(np.int64)
        stops = starts + entries.sizes[wanted].astype(np.int64)
        for first, last in _blocks(starts, stops, self.source.merge_gap):
            at = int(starts[first])
            block = self.source.read(at, int(stops[first:last].max()))
            for a, b in _batches(stops[first:last] - starts[first:last], first):
                places = zip((starts[a:b] - at).tolist(), (stops[a:b] - at).tolist(), strict=True)
                stored = [block[start:stop] for start, stop in places]
                values = decompress_many(self.codec, stored, partial(_place, starts[a:b], stops[a:b]))
                yield from zip(wanted[a:b].tolist(), values, strict=True)

    def content_sizes(self, work: ContentBudget) -> Iterator[tuple[int, int | ShardError | None]]:
        """Yield row and decoded size (or its error) of every value, in file order; None once `work` is used up.

        Values are decompressed in pieces and dropped; a value shared by several keys is decompressed once.
        """
        entries = self.levels.table().entries
        rows = np.flatnonzero(entries.inside)
        rows = rows[np.lexsort((entries.sizes[rows], entries.starts[rows]))]
        starts = entries.starts[rows].astype(np.int64)
        stops = starts + entries.sizes[rows].astype(np.int64)
        fresh = np.append(True, np.diff(starts).astype(bool) | np.diff(stops).astype(bool))[: len(rows)]
        firsts = np.append(np.flatnonzero(fresh), len(rows))
        starts, stops = starts[fresh], stops[fresh]
        block, at = b"", 0
        for a, b in _batches(stops - starts):
            first, last = int(starts[a]), int(stops[a:b].max())
            if last - first <= SIZES_BLOCK and not at <= first <= last <= at + len(block):
                block, at = self.source.read(first, min(first + SIZES_BLOCK, self.source.size)), first
            held = block if last <= at + len(block) else None
            found = list(self._sizes_of(starts[a:b], stops[a:b], held, at, work))
            shared = np.diff(firsts[a : b + 1]).tolist()
            work.unchecked += sum(count - 1 for size, count in zip(found, shared, strict=True) if size is None)
            of_rows = chain.from_iterable(map(repeat, found, shared))
            yield from zip(rows[firsts[a] : firsts[b]].tolist(), of_rows, strict=True)

    def _sizes_of(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64], block: bytes | None, at: int, work: ContentBudget
    ) -> Iterator[int | ShardError | None]:
        """Yield the decoded sizes of some values; `block` has their bytes from offset `at`; None reads each value."""
        total = int((stops - starts).sum())
        if block is not None and total <= 2 * SMALL and work.left > total * (1 + DEFLATE_RATIO) and work.takes(total):
            stored = list(map(block.__getitem__, map(slice, (starts - at).tolist(), (stops - at).tolist())))
            for value in decompress_many(self.codec, stored, partial(_place, starts, stops)):
                size = 0 if isinstance(value, ShardError) else len(value)
                work.spend(size)
                yield value if isinstance(value, ShardError) else size
            return
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            part = memoryview(block)[start - at : stop - at] if block is not None else None
            yield self._content_size(part, Span("", start, stop), work) if work.takes(stop - start) else None

    def _content_size(self, stored: memoryview | None, place: Span, work: ContentBudget) -> int | ShardError | None:
        size, room, step = 0, max(work.left, 0), SIZES_BLOCK if stored is None else PIECE
        parts = ((at, min(at + step, place.stop)) for at in range(place.start, place.stop, step))
        pieces = (
            self.source.read(a, b) if stored is None else stored[a - place.start : b - place.start] for a, b in parts
        )
        try:
            for piece in decompress_stream(self.codec, pieces, limit=room, span=place):
                size += len(piece)
        except LimitExceeded:
            work.spend(size)
            work.takes(work.left)
            return None
        except FormatError as error:
            work.spend(size)
            return error
        work.spend(size)
        return size

    def row_at(self, start: int, stop: int) -> int | None:
        """Return the row of the value stored at `[start, stop)`; None before all indices are loaded."""
        table = self.levels.known_table
        if table is None or not 0 <= start <= stop <= self.source.size:
            return None
        same = (table.entries.starts == np.uint64(start)) & (table.entries.sizes == np.uint64(stop - start))
        rows = np.flatnonzero(same)
        return int(rows[0]) if len(rows) else None

    def decoded(self, start: int, stop: int) -> bytes:
        """Return the decoded minishard index or value at `[start, stop)`; raise LimitExceeded above 32 MiB."""
        if not self.base <= start <= stop <= self.source.size:
            raise UsageError(f"there is no index or value at {range_text(start, stop)}")
        kept = self._decoded.get((start, stop))
        if kept is not None:
            return kept
        if self.levels.lists(start, stop):
            data = self.levels.decoded(start, stop)
        else:
            data = decompress_shown(self.codec, self.source.read(start, stop), span=Span("", start, stop))
        return self._decoded.put((start, stop), data, len(data))


def _blocks(starts: NDArray[np.int64], stops: NDArray[np.int64], gap: int) -> Iterator[tuple[int, int]]:
    """Group sorted byte ranges into reads of up to `BLOCK` bytes; yield half-open index ranges."""
    if not len(starts):
        return
    reach = np.maximum.accumulate(stops)
    apart = np.flatnonzero(starts[1:] > reach[:-1] + gap) + 1
    for first, last in zip([0, *apart.tolist()], [*apart.tolist(), len(starts)], strict=True):
        while first < last:
            upto = int(np.searchsorted(reach[first:last], starts[first] + BLOCK, "right"))
            yield first, first + max(upto, 1)
            first += max(upto, 1)


def _batches(sizes: NDArray[np.int64], first: int = 0) -> Iterator[tuple[int, int]]:
    """Group values into batches of about `SMALL` bytes, or one larger value; yield half-open index ranges."""
    if len(sizes):
        large = sizes > SMALL
        cuts = np.flatnonzero(np.diff(np.cumsum(sizes) // SMALL).astype(bool) | large[1:] | large[:-1]) + 1
        yield from pairwise([first, *(cuts + first).tolist(), first + len(sizes)])


def _place(starts: NDArray[np.int64], stops: NDArray[np.int64], number: int) -> Span:
    return Span("", int(starts[number]), int(stops[number]))
