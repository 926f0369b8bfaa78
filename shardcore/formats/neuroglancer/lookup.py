"""Lookup of a key by its hash and its minishard index; `trace_steps.py` has the texts of the steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decompress import decompress_stream
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, KeyAbsent, ShardError, UsageError, raise_if_lost
from shardcore.formats.neuroglancer.info import KeySpace, SpaceKind
from shardcore.formats.neuroglancer.layout import MINISHARD_INDEX, fragments_span, pair_span, read_manifest
from shardcore.formats.neuroglancer.origin import Origin, given_origin
from shardcore.formats.neuroglancer.sharding import KeyLocation, ShardingSpec, parse_key
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span, decoded_name

if TYPE_CHECKING:
    from shardcore.formats.neuroglancer.file import NeuroglancerFile
    from shardcore.formats.neuroglancer.layout import MeshManifest, MinishardEntries
    from shardcore.formats.neuroglancer.objects import NeuroglancerObjects
    from shardcore.sources.base import Source

TRACED_LIMIT = 16 << 20
"""Maximum stored and uncompressed size in bytes of values that a trace reads and hashes."""

I64 = NDArray[np.int64]


# --- facts ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeyRouted:
    """The minishard and shard that are computed from a key."""

    place: KeyLocation
    origin: Origin

    @property
    def spec(self) -> ShardingSpec:
        return self.origin.spec


@dataclass(frozen=True, slots=True)
class ShardMissing:
    """A shard file that does not exist; `there` are the numbers of the existing ones, ascending, empty if unknown."""

    place: KeyLocation
    origin: Origin
    there: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MinishardLocated:
    """The shard index entry of a minishard: its index is at the bytes `[start, stop)`. Without keys, both are equal.

    `base` is the end of the shard index. `hint` is not empty if another minishard lists the key.
    """

    place: KeyLocation
    base: int
    start: int
    stop: int
    hint: str = ""

    @property
    def entry(self) -> Span:
        return pair_span(self.place.minishard)

    @property
    def index(self) -> Span:
        return Span("", self.start, self.stop)


@dataclass(frozen=True, slots=True, eq=False)
class MinishardRead:
    """The entries of a minishard; `size` is the size of its decoded index in bytes."""

    located: MinishardLocated
    entries: MinishardEntries
    size: int
    encoding: str

    @property
    def columns(self) -> tuple[Span, Span, Span]:
        """Spans of the three columns of the index (keys, offsets, sizes); for gzip, in the decoded index."""
        index, gzipped = self.located.index, self.encoding == "gzip"
        source, first = (decoded_name(index.start, index.stop), 0) if gzipped else ("", index.start)
        ids, offsets, sizes = (first + at for at in MINISHARD_INDEX.starts(len(self.entries)).values())
        return Span(source, ids, offsets), Span(source, offsets, sizes), Span(source, sizes, 2 * sizes - offsets)


@dataclass(frozen=True, slots=True, eq=False)
class KeySearched:
    """Search result: `found` has the positions of entries with the key; `hint` is set if another minishard has it."""

    read: MinishardRead
    found: I64
    hint: str = ""

    @property
    def place(self) -> KeyLocation:
        return self.read.located.place

    @property
    def at(self) -> int:
        """Position of the first entry with the key; without one, the position that it would have in ascending order."""
        entries = self.read.entries
        return int(self.found[0]) if len(self.found) else int(np.searchsorted(entries.ids, np.uint64(self.place.key)))


@dataclass(frozen=True, slots=True)
class ValueSkipped:
    """A value too large for a trace; `more` is True if only its uncompressed size is above `TRACED_LIMIT`."""

    ref: ObjectRef
    more: bool


@dataclass(frozen=True, slots=True)
class ValueRead:
    """Result of decompressing a value: its uncompressed size and SHA-256, or `error` if it is corrupt."""

    ref: ObjectRef
    size: int = 0
    sha256: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ManifestRead:
    """A mesh manifest, and the span of the fragments that it describes."""

    manifest: MeshManifest
    fragments: Span


@dataclass(frozen=True, slots=True)
class MeaningFound:
    """The grid cell of a key (None if keys are not Morton codes), or `error` if the value or its key is invalid."""

    ref: ObjectRef
    space: KeySpace
    cell: tuple[int, ...] | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class FileNamed:
    """The file of an object in an unsharded key space; `name` is None if there is no such file."""

    origin: Origin
    key: str
    name: str | None


@dataclass(frozen=True, slots=True)
class FileRead:
    kind: str
    span: Span


Fact = (
    KeyRouted
    | MinishardLocated
    | MinishardRead
    | KeySearched
    | ObjectRef
    | ValueSkipped
    | ValueRead
    | ManifestRead
    | MeaningFound
)


# --- the lookup -------------------------------------------------------------------------------------------------


class NeuroglancerLookup:
    def __init__(self, file: NeuroglancerFile, objects: NeuroglancerObjects) -> None:
        self._file = file
        self._objects = objects

    def parse(self, text: str) -> KeyLocation:
        return self._file.spec.place(parse_key(text))

    def walk(self, key: KeyLocation, source: Source) -> Iterator[Fact]:
        """Look up the first entry of a key and yield each intermediate result, the object, its value and its meaning.

        Raises:
            KeyAbsent: The key belongs in another shard, or its minishard does not list it.
            FormatError: The minishard is damaged, or the value is outside the file.
        """
        file, levels = self._file, self._file.levels
        if not key.routed:
            yield KeyRouted(key, file.origin)
        self._check_shard(key)
        start, stop = levels.pair(key.minishard, source)
        located = MinishardLocated(key, file.base, start, stop, self._elsewhere(key) if start == stop else "")
        yield located
        if start == stop:
            message = f"minishard {key.minishard} is empty: no key {key}{located.hint}"
            raise KeyAbsent(str(key), message, span=located.entry)
        entries, size = levels.minishard(key.minishard, source, (start, stop))
        read = MinishardRead(located, entries, size, file.spec.minishard_index_encoding)
        yield read
        found = (entries.ids == np.uint64(key.key)).nonzero()[0]
        searched = KeySearched(read, found, "" if len(found) else self._elsewhere(key))
        yield searched
        if not len(found):
            message = f"minishard {key.minishard} does not list the key {key}{searched.hint}"
            raise KeyAbsent(str(key), message, span=read.columns[0])
        ref = self._objects.of_entry(entries, int(found[0]))
        if ref.error:
            raise FormatError(f"key {ref.key}: {ref.error}", span=located.index)
        yield ref
        yield from self._value(ref, source)

    def in_memory(self, key: KeyLocation) -> ObjectRef | None:
        """Return the object of a key from the loaded indices; None if `walk` is needed to report why there is none."""
        if (table := self._file.levels.known_table) is None:
            return None
        self._check_shard(key)
        rows = table.rows_of(key.minishard)
        found = (table.entries.ids[rows.start : rows.stop] == np.uint64(key.key)).nonzero()[0]
        ref = self._objects.of_entry(table.entries, rows[int(found[0])]) if len(found) else None
        return ref if ref is not None and not ref.error else None

    def find_all(self, key: KeyLocation) -> tuple[ObjectRef, ...]:
        """Return all entries of a key, in index order; values outside the file are omitted."""
        try:
            self._check_shard(key)
        except KeyAbsent:
            return ()
        entries, _ = self._file.levels.minishard(key.minishard, self._file.source)
        found = np.flatnonzero(entries.ids == np.uint64(key.key)).tolist()
        refs = (self._objects.of_entry(entries, at) for at in found)
        return tuple(ref for ref in refs if not ref.error)

    def find_many(self, keys: NDArray[np.uint64]) -> I64:
        """Return the row per key, -1 if not found; reads all minishard indices."""
        entries = self._file.levels.table().entries
        minishards, shards = self._file.spec.place_many(entries.ids)
        rows = np.flatnonzero(minishards == entries.minishards.astype(np.uint64))
        if self._file.number is not None:
            rows = rows[shards[rows] == np.uint64(self._file.number)]
        # Stable, so that the first of several equal ids stays first, as in `walk`.
        rows = rows[np.argsort(entries.ids[rows], kind="stable")]
        ids = entries.ids[rows]
        at = np.searchsorted(ids, keys)
        found = at < len(ids)
        found[found] = ids[at[found]] == keys[found]
        out = np.full(len(keys), -1, np.int64)
        out[found] = rows[at[found]]
        return out

    def _check_shard(self, key: KeyLocation) -> None:
        if self._file.number is not None and key.shard != self._file.number:
            name = self._file.spec.shard_name(key.shard)
            raise KeyAbsent(str(key), f"key {key} belongs in {name}, not in {self._file.source.name}")

    def _elsewhere(self, key: KeyLocation) -> str:
        """Return a hint if another minishard lists a key, else ""; searches only if all indices are loaded."""
        if (table := self._file.levels.known_table) is None:
            return ""
        listed = table.entries.minishards[table.entries.ids == np.uint64(key.key)].tolist()
        return f", but minishard {listed[0]} lists it: hash or preshift_bits are wrong" if listed else ""

    def _value(self, ref: ObjectRef, source: Source) -> Iterator[Fact]:
        import hashlib

        span = ref.spans[0]
        if span.size > TRACED_LIMIT:
            yield ValueSkipped(ref, more=False)
            return
        stored = source.read(span.start, span.stop)
        digest, data = hashlib.sha256(), bytearray()
        try:
            for piece in decompress_stream(ref.codec, [stored], span=span):
                digest.update(piece)
                data += piece
                if len(data) > TRACED_LIMIT:
                    yield ValueSkipped(ref, more=True)
                    return
        except ShardError as error:
            raise_if_lost(error)
            yield ValueRead(ref, error=error.message)
            return
        yield ValueRead(ref, len(data), digest.hexdigest())
        yield self._meaning(ref, bytes(data))

    def _meaning(self, ref: ObjectRef, data: bytes) -> Fact:
        space, span = self._file.space, ref.spans[0]
        try:
            if space.kind is SpaceKind.MESH:
                manifest = read_manifest(data, span)
                return ManifestRead(manifest, fragments_span(manifest, span.start, self._file.base))
            return MeaningFound(ref, space, space.cell_of(int(ref.key or 0)))
        except FormatError as error:
            return MeaningFound(ref, space, error=error.message)


def locate(key: str, *, info: Any = None, spec: Any = None, folder: object = "") -> dict[str, Any]:
    """Return the shard file and minishard of a key.

    Args:
        key: The key in decimal.
        info: The info of a data set: JSON text, a mapping, or the path of the file or its folder.
        spec: The sharding specification, in the same forms; give either `info` or `spec`.
        folder: Folder of the key space, if the info has several.
    """
    if (info is None) == (spec is None):
        raise UsageError("to locate a neuroglancer key, pass either info or spec")
    origin = given_origin(spec if info is None else info, str(folder))
    place = origin.spec.place(parse_key(key))
    name, inside = origin.spec.shard_name(place.shard), origin.space.folder
    return {
        "key": str(place.key),
        "space": origin.space.name,
        "shard": f"{inside}/{name}" if inside else name,
        "shard_number": place.shard,
        "minishard": place.minishard,
        "shifted": str(place.shifted),
        "hash": f"{place.hashed:#018x}",
    }
