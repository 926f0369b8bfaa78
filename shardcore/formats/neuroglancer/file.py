"""An opened shard (one file, or both files of the split form): its indices, sections, byte regions and contents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from itertools import chain, islice, pairwise, repeat

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decompress import SMALL, decompress, decompress_many, decompress_shown, decompress_stream
from shardcore.codecs.gzip import DEFLATE_RATIO, intact_content
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, LimitExceeded, ShardError, UsageError, detached
from shardcore.formats.neuroglancer.index import PROGRESS_EVERY, IndexLevels, MinishardTable
from shardcore.formats.neuroglancer.info import SpaceKind
from shardcore.formats.neuroglancer.layout import (
    MANIFEST_LIMIT,
    WORDS,
    Marks,
    MeshManifest,
    MinishardEntries,
    Numbers,
    fragments_span,
    range_faults,
    read_manifest,
)
from shardcore.formats.neuroglancer.origin import Origin
from shardcore.model.budget import charge_expanded
from shardcore.model.computed_children import gaps
from shardcore.model.content_layout import RAW
from shardcore.model.finding import ContentBudget
from shardcore.model.pointer_table import Links
from shardcore.model.section import Section, SectionRole, tile
from shardcore.model.span import Span, decoded_name
from shardcore.model.text import range_text
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import LruCache, Once
from shardcore.shards.file_shard import ranges_of
from shardcore.sources.base import Source, read_pieces

I64 = NDArray[np.int64]

CODECS = ("none", "gzip")
SIZES_BLOCK = 1 << 22
KEPT_DECODED = 32 << 20
"""Cache size of decoded minishard indices and values, in bytes."""
MANIFESTS_FLOOR = 64 << 20
MANIFESTS_RATIO = 16
MANIFEST_COST = 1024
"""Number of bytes counted per manifest, besides its size, towards the limit on manifests read from one shard."""

SHARD_INDEX = "shard index"
CHUNK_DATA = "chunk data"
MINISHARD_INDICES = "minishard indices"
MIXED = "chunks and indices"
REGION_SECTIONS = (CHUNK_DATA, MINISHARD_INDICES, MIXED)


# --- sections and regions ---------------------------------------------------------------------------------------


def sections_of(base: int, pairs: Numbers | None, size: int) -> tuple[Section, ...]:
    """Return the sections of a shard. `pairs` is its shard index, of `base` bytes, or None if it is not in memory.

    Contiguous minishard indices (cloud-volume) are a section; if they alternate with values (tensorstore), both share
    one section.
    """
    claims = [Section(SHARD_INDEX, SectionRole.INDEX, 0, base, "For each minishard, the range of its minishard index.")]
    used = pairs[pairs[:, 0] < pairs[:, 1]] if pairs is not None else np.zeros((0, 2), np.uint64)
    used = used[np.argsort(used[:, 0], kind="stable")]
    if len(used) and (used[1:, 0] == used[:-1, 1]).all() and not range_faults(used, base, size).any():
        first, last = base + int(used[0, 0]), base + int(used[-1, 1])
        values, listed = (
            "The stored values of the keys.",
            "For each minishard, the keys, offsets and sizes of its values.",
        )
        claims += [
            Section(CHUNK_DATA, SectionRole.DATA, base, first, values),
            Section(MINISHARD_INDICES, SectionRole.INDEX, first, last, listed),
            Section(CHUNK_DATA, SectionRole.DATA, last, size, values),
        ]
    elif len(used) or pairs is None:
        text = "Chunk data and minishard indices in any order; the shard index has the range of each minishard index."
        claims.append(Section(MIXED, SectionRole.DATA, base, size, text))
    return tile([claim for claim in claims if claim.size], size)[0]


class RegionKind(IntEnum):
    """Kind of a region; if two regions start at the same byte, the one with the higher kind is shown."""

    GAP = 0
    FRAGMENTS = 1
    VALUE = 2
    INDEX = 3


@dataclass(frozen=True, slots=True)
class Regions:
    """Non-empty byte ranges after the shard index, sorted by start, with the kind of each; arrays of equal length.

    `numbers` has the row of a value (for mesh fragments, of their manifest) or the number of the minishard of an index.
    """

    starts: I64
    stops: I64
    kinds: NDArray[np.uint8]
    numbers: I64

    @classmethod
    def of(cls, parts: list[tuple[I64, I64, RegionKind, I64]]) -> Regions:
        starts, stops, numbers = (np.concatenate([part[at] for part in parts]) for at in (0, 1, 3))
        kinds = np.repeat(np.array([part[2] for part in parts], np.uint8), [len(part[0]) for part in parts])
        order = np.lexsort((kinds, starts))
        order = order[(stops > starts)[order]]
        return cls(starts[order], stops[order], kinds[order], numbers[order])

    def between(self, start: int, stop: int) -> Regions:
        part = slice(*np.searchsorted(self.starts, [start, stop]).tolist())
        return Regions(self.starts[part], self.stops[part], self.kinds[part], self.numbers[part])


@dataclass(frozen=True, slots=True, eq=False)
class Meshes:
    """Result of reading the manifests of a shard: per row the start of the fragments (-1: unknown); errors by row."""

    fragments: I64
    damage: dict[int, ShardError]


# --- the file ---------------------------------------------------------------------------------------------------


class NeuroglancerFile:
    """Source, key space and indices of one shard.

    `head` is the shard index, or empty if it is too large to cache. `number` is the shard number in the file name; None
    if the data set has no such name, or the specification is inferred. Files of the split form are concatenated.
    `sections` cover the file. Offsets in the indices count from `base`, the end of the shard index.
    """

    def __init__(self, source: Source, origin: Origin, head: bytes, number: int | None, *, split: bool) -> None:
        self.source, self.origin, self.spec, self.space = source, origin, origin.spec, origin.space
        self.levels = IndexLevels(source, origin.spec, head)
        self.base = self.levels.base
        self.sections = sections_of(self.base, self.levels.known_pairs, source.size)
        self.number = number
        self.split = split
        self.is_mesh = origin.space.kind is SpaceKind.MESH
        self.codec = CODECS[origin.spec.data_encoding == "gzip"]
        self._meshes: Once[Meshes] = Once()
        self._decoded: LruCache[tuple[int, int], bytes] = LruCache(KEPT_DECODED)

    @property
    def decodes(self) -> bool:
        """True if the info describes the values: an encoding, or the layout of meshes, skeletons or annotations."""
        scale = self.space.scale
        return scale.encoding != RAW if scale is not None else self.space.kind is not SpaceKind.UNKNOWN

    @property
    def loaded(self) -> bool:
        return self.levels.known_table is not None and (self.known_meshes is not None or not self.is_mesh)

    @property
    def index_bytes(self) -> int:
        """Size of all minishard indices in bytes; before the shard index is read, the size of the shard index."""
        pairs = self.levels.known_pairs
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
        entries = self.levels.table().entries
        return self._meshes.get(lambda: self._read_meshes(entries, progress))

    def regions(self, *, fragments: bool = True, unlisted: bool = True) -> Regions:
        """Return the regions known so far: minishard indices, values and, with `fragments`, the fragments of meshes.

        With `unlisted`, the gaps between regions are added, but only if all indices are loaded.
        """
        table, pairs = self.levels.known_table, self.levels.known_pairs
        parts: list[tuple[I64, I64, RegionKind, I64]] = []
        if pairs is not None:
            used, starts, stops = self.levels.shard_index.indices(pairs)
            parts.append((starts, stops, RegionKind.INDEX, used))
        if table is not None:
            rows = np.flatnonzero(table.entries.inside & (table.entries.sizes > 0))
            starts, stops = _places(table.entries, rows)
            parts.append((starts, stops, RegionKind.VALUE, rows))
            if fragments and (meshes := self.known_meshes) is not None:
                owners = np.flatnonzero((meshes.fragments >= 0) & table.entries.inside)
                manifests = table.entries.starts[owners].astype(np.int64)
                parts.append((meshes.fragments[owners], manifests, RegionKind.FRAGMENTS, owners))
        none = np.zeros(0, np.int64)
        found = Regions.of(parts or [(none, none, RegionKind.GAP, none)])
        if table is None or not unlisted:
            return found
        holes = gaps(found.starts, found.stops, self.base, self.source.size)
        parts.append((holes[:, 0], holes[:, 1], RegionKind.GAP, np.arange(len(holes))))
        return Regions.of(parts) if len(holes) else found

    def links(self) -> Iterator[Links]:
        levels, table = self.levels, self.levels.known_table
        if (pairs := levels.known_pairs) is not None:
            yield levels.shard_index.links(*levels.shard_index.indices(pairs))
        if table is None:
            return
        entries = table.entries
        rows = np.flatnonzero(entries.inside)
        yield Links(*_places(entries, rows), lambda at: self._gap_field(table, int(rows[at])))
        if (meshes := self.known_meshes) is not None:
            owners = rows[meshes.fragments[rows] >= 0]
            starts, stops = _places(entries, owners)
            why = "The manifest has the sizes of its fragments, which end where the manifest begins."
            yield Links(meshes.fragments[owners], starts, lambda at: (Span("", int(starts[at]), int(stops[at])), why))

    def _gap_field(self, table: MinishardTable, row: int) -> tuple[Span, str]:
        minishard = int(table.entries.minishards[row])
        listed = table.rows_of(minishard)
        first, last = (self.base + edge for edge in table.pairs[minishard].tolist())
        gzipped = self.spec.minishard_index_encoding == "gzip"
        at = (0 if gzipped else first) + WORDS.itemsize * (len(listed) + row - listed.start)
        why = f"Entry {row - listed.start} of minishard {minishard}: gaps and sizes add up to the offset of this value."
        return Span(decoded_name(first, last) if gzipped else "", at, at + WORDS.itemsize), why

    # --- contents --------------------------------------------------------------------------------------------------

    def stream(self, span: Span) -> Iterator[bytes]:
        pieces = read_pieces(self.source, span.start, span.stop)
        return pieces if self.codec == "none" else decompress_stream(self.codec, pieces, limit=1 << 62, span=span)

    def manifest(self, place: Span) -> MeshManifest:
        stored = self.source.read(place.start, place.stop)
        return read_manifest(decompress(self.codec, stored, limit=MANIFEST_LIMIT, span=place), place)

    def contents(self, rows: I64) -> Iterator[tuple[int, bytes | ShardError]]:
        """Yield row and decoded value, or error, for values inside the file, in file order; neighbours share a read."""
        entries = self.levels.table().entries
        wanted = rows[entries.inside[rows]]
        wanted = wanted[np.argsort(entries.starts[wanted], kind="stable")]
        starts, stops = _places(entries, wanted)
        stored = ranges_of(self.source, starts, stops)
        for a, b in _batches(stops - starts):
            yield from zip(
                wanted[a:b].tolist(), self._decompressed(islice(stored, b - a), starts[a:b], stops[a:b]), strict=True
            )

    def checked_contents(self, work: ContentBudget) -> Iterator[tuple[int, bytes | int | ShardError | None]]:
        """Yield the row and the content of every gzip value, in file order.

        Instead of the content, a corrupt value has its error, and a large one its size. Once the work limit is reached,
        the content is None. A value shared by several keys is decompressed once.
        """
        entries = self.levels.table().entries
        rows, fresh = _by_place(entries, np.flatnonzero(entries.inside))
        firsts = np.append(np.flatnonzero(fresh), len(rows))
        starts, stops = _places(entries, rows[fresh])
        held = stops - starts <= SIZES_BLOCK
        stored = self._stored(starts[held], stops[held])
        for a, b in _batches(stops - starts):
            found = list(self._checked(stored, starts[a:b], stops[a:b], work))
            shared = np.diff(firsts[a : b + 1]).tolist()
            work.unchecked += sum(count - 1 for value, count in zip(found, shared, strict=True) if value is None)
            of_rows = chain.from_iterable(map(repeat, found, shared))
            yield from zip(rows[firsts[a] : firsts[b]].tolist(), of_rows, strict=True)

    def _stored(self, starts: I64, stops: I64) -> Iterator[bytes]:
        """Yield the bytes of ranges, which are sorted by start; overlapping ones are read together, in blocks."""
        fresh = np.ones(len(starts), np.bool_)
        fresh[1:] = (starts[1:] >= np.maximum.accumulate(stops)[:-1]) | (np.diff(starts // SIZES_BLOCK) > 0)
        heads = np.flatnonzero(fresh)
        blocks = ranges_of(self.source, starts[heads], np.maximum.reduceat(stops, heads))
        block, base = b"", 0
        for start, stop, first in zip(starts.tolist(), stops.tolist(), fresh.tolist(), strict=True):
            if first:
                block, base = next(blocks), start
            yield block[start - base : stop - base]

    def _decompressed(self, stored: Iterable[bytes], starts: I64, stops: I64) -> list[bytes | ShardError]:
        return decompress_many(self.codec, list(stored), lambda at: Span("", int(starts[at]), int(stops[at])))

    def _checked(
        self, stored: Iterator[bytes], starts: I64, stops: I64, work: ContentBudget
    ) -> Iterator[bytes | int | ShardError | None]:
        """Yield the contents of values; `stored` yields the stored bytes of those of up to `SIZES_BLOCK` bytes."""
        total = int((stops - starts).sum())
        if not work.unchecked and total <= 2 * SMALL and work.left > total * (1 + DEFLATE_RATIO) and work.takes(total):
            for value in self._decompressed(islice(stored, len(starts)), starts, stops):
                work.spend(0 if isinstance(value, ShardError) else len(value))
                yield value
            return
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            taken = work.takes(stop - start)
            data = next(stored) if taken and stop - start <= SIZES_BLOCK else None
            yield self._content(data, Span("", start, stop), work) if taken else None

    def _content(self, stored: bytes | None, place: Span, work: ContentBudget) -> bytes | int | ShardError | None:
        size, room = 0, max(work.left, 0)
        if stored is not None and (content := intact_content(stored, room)) is not None:
            charge_expanded(len(content))
            work.spend(len(content))
            return bytes(content)
        steps = range(place.start, place.stop, SIZES_BLOCK)
        read = (self.source.read(at, min(at + SIZES_BLOCK, place.stop)) for at in steps)
        try:
            for piece in decompress_stream(self.codec, read if stored is None else [stored], limit=room, span=place):
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

    def _read_meshes(self, entries: MinishardEntries, progress: Progress) -> Meshes:
        """Read all manifests in batches, each distinct range once.

        No index lists the fragments of a segment: they are directly before its manifest, in the order of the manifest
        ("Sharded storage of multi-resolution mesh manifest").
        """
        fragments = np.full(len(entries), -1, np.int64)
        damage: dict[int, ShardError] = {}
        rows, fresh = _by_place(entries, np.flatnonzero(entries.inside & (entries.sizes <= np.uint64(MANIFEST_LIMIT))))
        first = rows[np.maximum.accumulate(np.where(fresh, np.arange(len(rows)), 0))]
        distinct = rows[fresh]
        starts, stops = _places(entries, distinct)
        # Overlapping manifests are read, but in total not more than a multiple of the file size.
        left = MANIFESTS_FLOOR + MANIFESTS_RATIO * self.source.size
        for at, stored in enumerate(self._stored(starts, stops)):
            row, span = int(distinct[at]), Span("", int(starts[at]), int(stops[at]))
            if at % PROGRESS_EVERY == 0:
                progress(at, len(distinct))
            if left <= 0:
                damage[row] = FormatError("its manifest overlaps many other manifests", span=span)
                continue
            left -= len(stored) + MANIFEST_COST
            try:
                data = decompress(self.codec, stored, limit=MANIFEST_LIMIT, span=span)
                left -= len(data)
                fragments[row] = fragments_span(read_manifest(data, span), span.start, self.base).start
            except (FormatError, LimitExceeded) as error:
                damage[row] = detached(error)
        fragments[rows] = fragments[first]
        if damage:
            for row, of in zip(rows.tolist(), first.tolist(), strict=True):
                if of in damage:
                    damage[row] = damage[of]
        return Meshes(fragments, damage)

    # --- decoded bytes ---------------------------------------------------------------------------------------------

    def row_at(self, start: int, stop: int) -> int | None:
        """Return the row of the value stored at `[start, stop)`; None if there is none or indices are not loaded."""
        table = self.levels.known_table
        if table is None:
            return None
        same = (table.entries.starts == np.uint64(start)) & (table.entries.sizes == np.uint64(stop - start))
        return int(np.argmax(same)) if same.any() else None

    def decoded(self, start: int, stop: int) -> bytes:
        """Return the decoded minishard index or value at `[start, stop)`; raise LimitExceeded above 32 MiB."""
        if not self.base <= start <= stop <= self.source.size:
            raise UsageError(f"there is no index or value at {range_text(start, stop)}")
        if (kept := self._decoded.get((start, stop))) is not None:
            return kept
        stored, place, number = self.source.read(start, stop), Span("", start, stop), self.levels.lister(start, stop)
        if number is not None:
            data = self.levels.decode(number, stored, place)
        else:
            data = decompress_shown(self.codec, stored, span=place)
        return self._decoded.put((start, stop), data, len(data))


def _places(entries: MinishardEntries, rows: I64) -> tuple[I64, I64]:
    """Return the start and end offsets of the values in `rows`, all of which must be inside the file."""
    starts = entries.starts[rows].astype(np.int64)
    return starts, starts + entries.sizes[rows].astype(np.int64)


def _by_place(entries: MinishardEntries, rows: I64) -> tuple[I64, Marks]:
    """Return rows in file order, and a mask that is False for each row with the same byte range as the one before."""
    rows = rows[np.lexsort((entries.sizes[rows], entries.starts[rows]))]
    starts, stops = _places(entries, rows)
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = (starts[1:] != starts[:-1]) | (stops[1:] != stops[:-1])
    return rows, fresh


def _batches(sizes: I64) -> Iterator[tuple[int, int]]:
    """Group values into batches of about `SMALL` bytes, larger values alone; yield start and stop of each batch."""
    if len(sizes):
        large = sizes > SMALL
        cuts = np.flatnonzero(np.diff(np.cumsum(sizes) // SMALL).astype(bool) | large[1:] | large[:-1]) + 1
        yield from pairwise([0, *cuts.tolist(), len(sizes)])
