"""An opened shard: its sections, tree, objects and lookups; which bytes stand behind which name."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, KeyAbsent, LimitExceeded, ShardError, UsageError
from shardcore.finding import Depth, Report
from shardcore.formats.neuroglancer.info import SpaceKind
from shardcore.formats.neuroglancer.layout import MINISHARD_INDEX, read_manifest
from shardcore.formats.neuroglancer.lookup import decoded_range, find_all, look_up, route
from shardcore.formats.neuroglancer.meshes import Meshes, decode_manifest, fragments_span, read_meshes
from shardcore.formats.neuroglancer.minishard import Entries, entry_count
from shardcore.formats.neuroglancer.objects import CODECS, FRAGMENTS, NeuroglancerObjects, RefMaker, parse_key
from shardcore.formats.neuroglancer.origin import INFO_NAME, Origin
from shardcore.formats.neuroglancer.sharding import Place, ShardingSpec
from shardcore.formats.neuroglancer.table import Index
from shardcore.formats.neuroglancer.things import sections_of
from shardcore.formats.neuroglancer.tree import Tree, column_nodes, manifest_nodes, spec_node
from shardcore.formats.neuroglancer.verify import verify
from shardcore.nodes.node import Node
from shardcore.nodes.sections import Section, SectionRole, tile
from shardcore.objects import ObjectRef, State
from shardcore.payload import decompress, decompress_many, decompress_stream
from shardcore.progress import Progress, no_progress
from shardcore.record import FieldRole, Value
from shardcore.shard import DEFAULT_LIMIT, PIECE, Shard
from shardcore.sources.base import MERGE_GAP, Source
from shardcore.sources.memory import BytesSource
from shardcore.span import Span
from shardcore.trace import Look

VERSION = "1"
BLOCK = 16 << 20
DECODED_KEPT = 16
DECODED_BYTES_KEPT = 64 << 20


class NeuroglancerShard(Shard):
    """One shard file, or both parts of the split form as one.

    Attributes:
        origin: The key space and how it became known.
        index: Shard index and minishard indices.
        number: The number in the file's name; None where the name is another, or the specification a guess.

    Args:
        source: The shard.
        origin: Its key space.
        head: The shard index, as far as it was read.
        number: See above.
        split: Whether the shard is two files.
        routed: Whether a data set tells the first four steps of every lookup.
    """

    format = "neuroglancer"
    version = VERSION

    def __init__(
        self, source: Source, origin: Origin, head: bytes, number: int | None, *, split: bool, routed: bool
    ) -> None:
        self.source: Source = source
        self.origin = origin
        self.index = Index(source, origin.spec, head)
        self.number = number
        self.split = split
        self._routed = routed
        self._meshes: Meshes | None = None
        self._lock = threading.RLock()
        self._decoded: OrderedDict[str, bytes] = OrderedDict()
        self._refs = RefMaker(origin.space, source.size)
        self._objects = NeuroglancerObjects(source, self._refs, self.index.table, lambda: self._meshes)
        self.sections, self.overlaps = tile(sections_of(self.index, source.size), source.size)
        self._root: tuple[tuple[bool, Meshes | None], Node] | None = None
        self._nodes = Tree(source.name, source, self.index, origin)

    @property
    def spec(self) -> ShardingSpec:
        """How keys are sharded."""
        return self.origin.spec

    @property
    def parameters(self) -> str:
        """The specification in use, as JSON text."""
        return self.origin.parameters

    @property
    def evidence(self) -> tuple[str, ...]:
        """What the specification rests on when it is a guess."""
        return self.origin.evidence

    @property
    def ambiguity(self) -> tuple[str, ...]:
        """What a guessed specification leaves open."""
        return self.origin.ambiguity

    @property
    def objects(self) -> NeuroglancerObjects:
        """All values; the first use reads all minishard indices, if `load_index` has not."""
        return self._objects

    @property
    def tree(self) -> Node:
        """The specification, the shard index, and after `load_index` every value and every index."""
        known = (self.index.loaded, self._meshes)
        with self._lock:
            if self._root is None or self._root[0] != known:
                table = self.index.table() if self.index.loaded else None
                self._root = known, self._nodes.root(self.sections, table, self._meshes)
            return self._root[1]

    @property
    def fields(self) -> dict[str, Value]:
        """The specification, where it comes from, and the size of the shard index."""
        found = self.origin.fields
        found |= {"shard_index.minishards": self.spec.minishards, "shard_index.size": self.index.base}
        pairs = self.index.known_pairs()
        if pairs is not None:
            found["shard_index.used"] = int((pairs[:, 0] != pairs[:, 1]).sum())
        if self.number is not None:
            found["shard.number"] = self.number
        found["shard.split"] = self.split
        return found

    @property
    def declared_objects(self) -> int:
        """How many keys the minishard indices list; reads them, if `load_index` has not."""
        return len(self.index.table().entries)

    @property
    def loaded(self) -> bool:
        """Whether all minishard indices are read, and of meshes all manifests."""
        return self.index.loaded and (self._meshes is not None or self.origin.space.kind is not SpaceKind.MESH)

    @property
    def index_bytes(self) -> int:
        """The sizes of all minishard indices, as far as they are known."""
        pairs = self.index.known_pairs()
        if pairs is None:
            return self.index.base
        sizes = pairs[:, 1] - np.minimum(pairs[:, 0], pairs[:, 1])
        return min(int(sum(sizes.tolist())), self.source.size)

    def load_index(self, progress: Progress = no_progress) -> None:
        """Reads all minishard indices, and of mesh shards all manifests; damage is kept, not raised."""
        self.index.table(progress)
        if self.origin.space.kind is SpaceKind.MESH:
            self.meshes(progress)

    def meshes(self, progress: Progress = no_progress) -> Meshes:
        """What the manifests say about the unlisted fragments of a mesh shard, read once.

        Raises:
            SourceError: The bytes cannot be had.
        """
        with self._lock:
            if self._meshes is None:
                self._meshes = read_meshes(self.source, self.spec, self.index.table(), progress)
            return self._meshes

    def lookup(self, key: str, look: Look) -> ObjectRef:
        """See `Shard.lookup`; a key that belongs in another shard is absent without a look at this one."""
        place = self.spec.place(parse_key(key)) if self._routed else route(key, self.origin, look)
        self._check_shard(place)
        return look_up(self, place, look)

    def find_all(self, key: str) -> tuple[ObjectRef, ...]:
        """All entries of the key in its minishard, the one that `find` gives first."""
        place = self.spec.place(parse_key(key))
        try:
            self._check_shard(place)
            return tuple(find_all(self, place))
        except KeyAbsent:
            return ()

    def find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """The rows of many keys, `(len(keys),)`; -1 where a key is absent. Reads all minishard indices."""
        wanted = np.array([parse_key(key) for key in keys], np.uint64)
        entries = self.index.table().entries
        minishards, shards = self.spec.place_many(entries.ids)
        rows = np.flatnonzero(minishards == entries.minishards.astype(np.uint64))
        if self.number is not None:
            rows = rows[shards[rows] == np.uint64(self.number)]
        # Stable: of equal ids the first listed comes first, as `find` has it.
        rows = rows[np.argsort(entries.ids[rows], kind="stable")]
        ids = entries.ids[rows]
        at = np.searchsorted(ids, wanted)
        found = at < len(ids)
        found[found] = ids[at[found]] == wanted[found]
        out = np.full(len(wanted), -1, np.int64)
        out[found] = rows[at[found]]
        return out

    def reference(self, entries: Entries, at: int) -> ObjectRef:
        """Entry `at` of one minishard as an object; its row is known once all minishards are read."""
        row, fragments = -1, -1
        if self.index.loaded:
            first = self.index.table().rows_of(int(entries.minishards[at])).start
            row = first + int(entries.slots[at])
            fragments = int(self._meshes.fragments[row]) if self._meshes is not None else -1
        return self._refs.make(entries, at, row, fragments)

    def stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """The value, without its encoding, in pieces."""
        span = _content(ref)
        pieces = (self.source.read(at, min(at + PIECE, span.stop)) for at in range(span.start, span.stop, PIECE))
        return decompress_stream(ref.codec, pieces, limit=1 << 62, span=span)

    def contents(self, rows: NDArray[np.int64] | None = None) -> Iterator[tuple[int, bytes | ShardError]]:
        """The values of many rows, or all, in the order of the file: neighbours are read together.

        Yields:
            A row and its decoded value, or why there is none.

        Raises:
            SourceError: The bytes cannot be had.
        """
        entries = self.index.table().entries
        wanted = np.arange(len(entries)) if rows is None else rows
        wanted = wanted[entries.inside[wanted]]
        wanted = wanted[np.argsort(entries.starts[wanted], kind="stable")]
        codec = CODECS[self._refs.codec]
        starts = entries.starts[wanted].astype(np.int64)
        stops = starts + entries.sizes[wanted].astype(np.int64)
        for first, last in _blocks(starts, stops):
            at = int(starts[first])
            block = self.source.read(at, int(stops[first:last].max()))
            froms, tos = (starts[first:last] - at).tolist(), (stops[first:last] - at).tolist()
            stored = map(block.__getitem__, map(slice, froms, tos))
            values = decompress_many(codec, stored, partial(_place, starts[first:last], stops[first:last]))
            yield from zip(wanted[first:last].tolist(), values, strict=True)

    def read_range(self, ref: ObjectRef, start: int, stop: int, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """A range of the value; of plain values nothing else is read."""
        if ref.codec != "none":
            return super().read_range(ref, start, stop, limit=limit)
        if not 0 <= start <= stop:
            raise UsageError(f"not a half-open range: {start}..{stop}")
        span = _content(ref)
        first, last = (min(span.start + at, span.stop) for at in (start, stop))
        if last - first > limit:
            raise LimitExceeded(f"the range of {ref.key} has {last - first} bytes; the limit is {limit}")
        return self.source.read(first, last)

    def read_part(self, ref: ObjectRef, part: str, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """The fragments of a mesh: the bytes in front of its manifest, level of detail 0 first."""
        if part != FRAGMENTS or part not in ref.parts:
            return super().read_part(ref, part, limit=limit)
        span = self.fragments_of(ref)
        if span.size > limit:
            raise LimitExceeded(f"the fragments of {ref.key} have {span.size} bytes; the limit is {limit}")
        return self.source.read(span.start, span.stop)

    def file_names(self, ref: ObjectRef) -> dict[str, str]:
        """A mesh becomes two files, as in the unsharded form: `<id>.index`, the manifest, and `<id>`, its fragments."""
        names = super().file_names(ref)
        return {"": f"{ref.key}.index", FRAGMENTS: f"{ref.key}"} if FRAGMENTS in ref.parts else names

    def fragments_of(self, ref: ObjectRef) -> Span:
        """Where the fragments of a mesh lie; reads its manifest.

        Raises:
            FormatError: The manifest is damaged.
        """
        span = _content(ref)
        data = decode_manifest(self.spec, self.source.read(span.start, span.stop), span)
        return fragments_span(read_manifest(data, span), span.start, self.index.base)

    def verify(self, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        """Checks the shard to a depth."""
        return verify(self, Depth(depth), progress)

    def bytes_of(self, name: str) -> Source:
        """The file, the info, or what the bytes of a minishard index or value decode to."""
        if name == INFO_NAME and self.origin.text:
            return BytesSource(self.origin.text, INFO_NAME)
        place = decoded_range(name)
        if place is None:
            return super().bytes_of(name)
        with self._lock:
            if name in self._decoded:
                self._decoded.move_to_end(name)
                return BytesSource(self._decoded[name], name)
        data = self._decode(name, *place)
        with self._lock:
            self._decoded[name] = data
            kept = sum(map(len, self._decoded.values()))
            while len(self._decoded) > DECODED_KEPT or (kept > DECODED_BYTES_KEPT and len(self._decoded) > 1):
                kept -= len(self._decoded.popitem(last=False)[1])
        return BytesSource(data, name)

    def sections_of(self, name: str) -> tuple[Section, ...]:
        """The three columns of a minishard index, or the value or info as one section."""
        if name == "":
            return self.sections
        size = self.bytes_of(name).size
        if name == INFO_NAME:
            return (Section(INFO_NAME, SectionRole.METADATA, 0, size, "Describes the data set."),)
        if not self._is_index(name):
            return (Section("value", SectionRole.DATA, 0, size, "The content of a key."),)
        count = entry_count(size)
        starts = [*MINISHARD_INDEX.starts(count).values(), size]
        return tuple(
            Section(field.name, SectionRole.INDEX, first, last, field.doc)
            for field, first, last in zip(MINISHARD_INDEX.fields, starts, starts[1:], strict=False)
        )

    def tree_of(self, name: str) -> Node:
        """The tree of the file, of the info, or of a decoded minishard index or value."""
        if name == "":
            return self.tree
        source = self.bytes_of(name)
        span = Span(name, 0, source.size)
        if name == INFO_NAME:
            kids = [spec_node(self.origin)]
        elif self._is_index(name):
            base = self.index.base
            kids = list(column_nodes(lambda: source.read(0, source.size), name, 0, entry_count(source.size), base))
        elif self.origin.space.kind is SpaceKind.MESH:
            kids = manifest_nodes(source.read(0, source.size), name, 0)
        else:
            kids = [Node("value", span, text=f"{source.size} bytes", role=FieldRole.DATA)]
        role = FieldRole.TEXT if name == INFO_NAME else FieldRole.GROUP
        return Node(name, span, role=role, children=tuple(kids))

    def _is_index(self, name: str) -> bool:
        place = decoded_range(name)
        return place is not None and self.index.lists(*place)

    def _decode(self, name: str, start: int, stop: int) -> bytes:
        if not self.index.base <= start <= stop <= self.source.size:
            raise UsageError(f"no bytes are called {name!r} here")
        if self.index.lists(start, stop):
            return self.index.decoded(start, stop)
        codec = "gzip" if self.spec.data_encoding == "gzip" else "none"
        return decompress(codec, self.source.read(start, stop), span=Span("", start, stop))

    def _check_shard(self, place: Place) -> None:
        if self.number is not None and place.shard != self.number:
            name = self.spec.shard_name(place.shard)
            raise KeyAbsent(str(place.key), f"key {place.key} belongs in {name}, not in {self.source.name}")


def _blocks(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Stretches `[first, last)` of sorted ranges that are read at once: neighbours, up to 16 MiB of them."""
    if not len(starts):
        return
    reach = np.maximum.accumulate(stops)
    apart = np.flatnonzero(starts[1:] > reach[:-1] + MERGE_GAP) + 1
    for first, last in zip([0, *apart.tolist()], [*apart.tolist(), len(starts)], strict=True):
        while first < last:
            upto = int(np.searchsorted(reach[first:last], starts[first] + BLOCK, "right"))
            yield first, first + max(upto, 1)
            first += max(upto, 1)


def _place(starts: NDArray[np.int64], stops: NDArray[np.int64], number: int) -> Span:
    return Span("", int(starts[number]), int(stops[number]))


def _content(ref: ObjectRef) -> Span:
    """The stored bytes of a value.

    Raises:
        FormatError: It has none here.
    """
    if ref.state is State.DAMAGED or not ref.spans:
        raise FormatError(ref.error or f"{ref.key} has no bytes here")
    return ref.spans[0]
