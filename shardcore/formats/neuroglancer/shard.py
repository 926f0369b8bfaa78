"""Opened shards, base classes of folders with shards, and detection and opening of shards."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decompress import decompress
from shardcore.errors import (
    FormatError,
    LimitExceeded,
    NotAShard,
    ShardError,
    SourceError,
    Truncated,
    UsageError,
    raise_if_lost,
    raise_unless_absent,
)
from shardcore.formats.neuroglancer.file import SHARD_INDEX, NeuroglancerFile
from shardcore.formats.neuroglancer.index import KEPT_WHOLE, MinishardDamage
from shardcore.formats.neuroglancer.info import BESIDE, SpaceKind, parse_info
from shardcore.formats.neuroglancer.layout import SHARD_INDEX_ENTRY, fragments_span, pair_span
from shardcore.formats.neuroglancer.lookup import NeuroglancerLookup
from shardcore.formats.neuroglancer.objects import FRAGMENTS, NeuroglancerObjects
from shardcore.formats.neuroglancer.origin import (
    Origin,
    find_info,
    inference_of,
    info_in,
    info_of,
    origin_from,
    origin_of,
)
from shardcore.formats.neuroglancer.sharding import KEY_LIMIT, ShardingSpec, parse_key, shard_number
from shardcore.formats.neuroglancer.tree import NeuroglancerTree
from shardcore.model.content_layout import RAW, ArrayLayout, ContentPart
from shardcore.model.finding import Depth, Report
from shardcore.model.keys import NUMBERS
from shardcore.model.objects import ObjectColumns, ObjectRef, State
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span
from shardcore.model.text import plural, short
from shardcore.progress import Progress
from shardcore.shards.cache import OnceEach
from shardcore.shards.dataset import DataSet, Members
from shardcore.shards.detect import other_file
from shardcore.shards.file_shard import FileShard
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import Draft, OpenContext
from shardcore.shards.shard import DEFAULT_LIMIT, Arrays, Shard, read_content_range
from shardcore.sources.base import Folder, Source
from shardcore.sources.prefetched_source import PrefetchedSource
from shardcore.sources.wrapper_sources import ConcatSource

if TYPE_CHECKING:
    from shardcore.codecs.decoder_process import TaskRunner
    from shardcore.model.chunk_grid import ChunkGrid
    from shardcore.model.geometry import Geometry
    from shardcore.model.record import Value

VERSION = "1"

MOST_FIRST = 1 << 20
"""Maximum size in bytes of a minishard index that is requested before the size of its `.data` file is known."""

OTHER_PART = {"index": "data", "data": "index"}


Opener = Callable[[Folder, Origin, Folder | None], DataSet]


class OriginDetails(Shard):
    origin: Origin

    @property
    def sharding(self) -> Origin:
        return self.origin


class SpaceShard(FileShard, Arrays):
    """Base class of shards and of files with one object: decodes their contents."""

    format = "neuroglancer"
    version = VERSION
    decodes_to_verify = True

    def geometry(self, ref: ObjectRef, data: bytes) -> Geometry | None:
        from shardcore.formats.neuroglancer.geometry import geometry_of

        return geometry_of(self.file.origin, self.file.base, next(iter(ref.spans), None), ref.key, data)

    def decode_array(
        self, ref: ObjectRef, layout: ArrayLayout, data: bytes, decoder: TaskRunner
    ) -> tuple[ArrayLayout, bytes]:
        from shardcore.formats.neuroglancer.chunks import decode_chunk

        return decode_chunk(layout, data, decoder=decoder, place=next(iter(ref.spans), None))

    def file_names(self, ref: ObjectRef) -> dict[str, str]:
        """Return the file names of an unsharded mesh: `<id>.index` for the manifest and `<id>` for the fragments."""
        if FRAGMENTS not in ref.parts:
            return super().file_names(ref)
        return {"": f"{ref.key}.index", FRAGMENTS: f"{ref.key}"}


class NeuroglancerShard(OriginDetails, SpaceShard):
    """An opened shard: one file, or both files of the split form (`.index` and `.data`)."""

    file: NeuroglancerFile
    _lookup: NeuroglancerLookup
    key_form = NUMBERS

    def __init__(self, file: NeuroglancerFile) -> None:
        objects = NeuroglancerObjects(file)
        super().__init__(file, objects, NeuroglancerTree(file), NeuroglancerLookup(file, objects))
        self.title = f"Neuroglancer shard v{VERSION}, {file.space.content}"
        self.origin, self.spec, self.why = file.origin, file.spec, file.origin.why

    def array_layout(self, ref: ObjectRef) -> ArrayLayout | None:
        space = self.file.space
        if space.scale is None or ref.key is None:
            return None
        from shardcore.formats.neuroglancer.chunks import chunk_layout

        return chunk_layout(space, int(ref.key))

    def chunk_grid(self, scale: str = "") -> ChunkGrid | None:
        space = self.file.space
        if space.scale is None:
            return None
        if scale not in ("", space.name):
            raise UsageError(f"{self.file.source.name} has only chunks of {space.name}; open the folder")
        from shardcore.formats.neuroglancer.chunks import ShardedGrid

        number, here = self.file.number, ("", self.file, self._objects)
        grid = ShardedGrid(self, space, b"", lambda one, _: here if number in (None, one) else None, one_file=True)
        grid.whole = number is None or not self.spec.shard_bits
        return grid

    def content_parts(self, ref: ObjectRef) -> Sequence[ContentPart]:
        parts = super().content_parts(ref)
        layout = self.array_layout(ref)
        if layout is None or layout.encoding == RAW or not parts:
            return parts
        from shardcore.formats.neuroglancer.chunks import chunk_parts

        return chunk_parts(layout, parts[0], lambda: self.read(ref))

    @property
    def fields(self) -> dict[str, Value]:
        file = self.file
        found = self.origin.fields
        found |= {"shard_index.minishards": self.spec.minishards, "shard_index.size": file.base}
        pairs = file.levels.known_pairs
        if pairs is not None:
            found["shard_index.used"] = int((pairs[:, 0] != pairs[:, 1]).sum())
        if file.number is not None:
            found["shard.number"] = file.number
        found["shard.split"] = file.split
        return found

    @property
    def declared_objects(self) -> int | None:
        table = self.file.levels.known_table
        return None if table is None else len(table.entries)

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        from shardcore.formats.neuroglancer.verify import verify

        # Raw values that the info does not describe cannot be checked, so they are not read.
        reads = self.spec.data_encoding == "gzip" or self.file.decodes
        with self.verifying(depth if reads else Depth.INDEX):
            return verify(self.file, depth, progress, self.decoder)

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        return self.lookup_many(np.array([parse_key(key) for key in keys], np.uint64))

    def lookup_many(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        return self._lookup.find_many(keys)

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        return self.file.stream(_content(ref))

    def bare(self, columns: ObjectColumns) -> NDArray[np.bool_]:
        return np.asarray((columns.state == State.LIVE) & (not self.file.is_mesh))

    def _stored(self, columns: ObjectColumns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return columns.places(columns.state == State.LIVE)

    def _decode_row(self, row: int, start: int, stored: bytes) -> bytes:
        return decompress(self.file.codec, stored, span=Span("", start, start + len(stored)))

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        if ref.codec != "none":
            return super()._read_range(ref, start, stop, limit)
        return read_content_range(self.file.source, ref, _content(ref), start, stop, limit)

    def read_part(self, ref: ObjectRef, part: str, *, limit: int = DEFAULT_LIMIT) -> bytes:
        if part != FRAGMENTS or part not in ref.parts:
            return super().read_part(ref, part, limit=limit)
        manifest = _content(ref)
        span = fragments_span(self.file.manifest(manifest), manifest.start, self.file.base)
        if span.size > limit:
            raise LimitExceeded(f"the fragments of {ref.key} have {plural(span.size, 'byte')}; the limit is {limit:,}")
        return self.file.source.read(span.start, span.stop)


# --- folders ----------------------------------------------------------------------------------------------------


def folder_of_key(root: Folder, key: str) -> Folder:
    """Return the folder named by a key of an info, below the info's folder or next to it."""
    if not key.startswith(BESIDE):
        return root.folder(key)
    around = root.parent()
    if around is None:
        raise SourceError(f"cannot open {key!r}: {root.uri} has no parent folder")
    return around.folder(key.removeprefix(BESIDE))


def root_of(folder: Folder, below: str) -> Folder | None:
    """Return the folder above `folder` from which the path `below` leads to it; None if there is no such folder."""
    found: Folder | None = folder
    for _ in range(below.count("/") + 1 if below else 0):
        found = found.parent() if found is not None else None
    return found


def mesh_of_segment(folder: Folder, segment: int) -> tuple[str, str] | None:
    """Return the address of the mesh key space, and the key of a segment's mesh, which may not exist.

    Reads only the info of the volume and of its meshes. None for the background (0), without an info, or if the info
    has no multi-resolution meshes.
    """
    found = find_info(folder, any_space=True) if 0 < segment < KEY_LIMIT else None
    root = root_of(folder, found.folder) if found is not None else None
    if found is None or root is None:
        return None
    for name in found.info.folders:
        below = root.folder(name)
        with suppress(FormatError):
            beside = info_in(below)
            if beside is not None and any(space.kind is SpaceKind.MESH for space in beside.info.key_spaces):
                return below.uri, str(segment)
    return None


class VolumeFolder(DataSet):
    """Base class of folders with one or more key spaces. It can open the other scales of a volume, and find its meshes.

    `opener` opens another scale; `root` is the folder of the info if the user agreed to open folders next to it.
    """

    version = VERSION

    def __init__(self, folder: Folder, members: Members, opener: Opener, root: Folder | None = None) -> None:
        super().__init__("neuroglancer", folder, members)
        self._opener, self._root = opener, root
        self._scales: OnceEach[str, DataSet] = OnceEach()

    def scale_grid(self, name: str, root: Folder | None, text: bytes) -> ChunkGrid:
        """Return the chunk grid of a scale; `root` is the folder of the info `text` if it is above the open scale."""
        info = parse_info(text) if text else None
        space = next((one for one in info.scales if one.name == name), None) if info is not None else None
        above = self._root or root
        if info is None or space is None or above is None:
            raise UsageError(f"the volume has no {short(name)}")
        place = folder_of_key(above, space.folder) if above is self._root else above.folder(space.folder)
        origin = origin_from(space, info, text, space.name)
        found = self._scales.get(name, lambda: self._opener(place, origin, self._root))
        found.jobs = self.jobs
        if self.isolated is not None:
            found.isolate(self.isolated)
        grid = found.chunk_grid()
        assert grid is not None
        return grid

    def mesh_of(self, segment: int) -> tuple[str, str] | None:
        return mesh_of_segment(self.folder, segment)

    def _close(self) -> None:
        for opened in self._scales.clear():
            opened.close()
        super()._close()


class KeySpaceFolder(VolumeFolder):
    """Base class of folders with one key space, sharded or with one file per object."""

    decodes_to_verify = True

    def __init__(self, folder: Folder, origin: Origin, members: Members, opener: Opener, root: Folder | None) -> None:
        super().__init__(folder, members, opener, root)
        self.origin, self.space, self.why = origin, origin.space, origin.why
        self.title = f"Neuroglancer {origin.space.content}"

    @abstractmethod
    def own_grid(self) -> ChunkGrid:
        """Return the chunk grid of the scale in this folder."""

    def chunk_grid(self, scale: str = "") -> ChunkGrid | None:
        if self.space.scale is None:
            return None
        if scale in ("", self.space.name):
            return self.own_grid()
        return self.scale_grid(scale, root_of(self.folder, self.space.folder), self.origin.text)


# --- detection and opening --------------------------------------------------------------------------------------


def open_parts(probe: PrefetchedSource, wanted: int | None = None) -> tuple[Source, Source, int | None]:
    """Return the source for opening, the source for later reads, and the size of the `.index` file (else None).

    `wanted` is the minishard that is read next: the first request to the `.data` file reads its index.
    """
    stem, _, suffix = probe.name.rpartition(".")
    other = OTHER_PART.get(suffix)
    if other is None or shard_number(probe.name) is None or probe.folder is None:
        return probe, probe.base, None
    try:
        place = _place_of(probe, wanted) if suffix == "index" and wanted is not None else None
        name = f"{stem}.{other}"
        second = probe.folder.open_on_demand(name) if place is None else probe.folder.open_at(name, *place)
    except SourceError as error:
        raise_unless_absent(error)
        raise SourceError(f"{probe.name} is half of a shard; the other file is missing: {error.message}") from error
    if suffix == "index":
        return ConcatSource([probe, second], probe.name), ConcatSource([probe.base, second], probe.name), probe.size
    return ConcatSource([second, probe], probe.name), ConcatSource([second, probe.base], probe.name), second.size


def _place_of(index: PrefetchedSource, minishard: int) -> tuple[int, int] | None:
    place = pair_span(minishard)
    head = index.head(place.stop)
    if len(head) < place.stop:
        return None
    first, last = SHARD_INDEX_ENTRY.read_one(head, place.start).values()
    return (first, last) if 0 < last - first <= MOST_FIRST else None


def detect(probe: PrefetchedSource) -> Verdict | None:
    if shard_number(probe.name) is None:
        return None
    found = info_of(probe)
    space = found.info.space_of(found.folder) if found is not None else None
    if found is None or space is None:
        return None
    return Verdict(Certainty.BESIDE, f"{found.where}, {space.name}")


def infer(probe: PrefetchedSource) -> Verdict | None:
    """Recognise a shard from its bytes alone; the certainty is `PARTLY` if some checks fail."""
    try:
        whole, _, index_size = open_parts(probe)
    except ShardError as error:
        raise_if_lost(error)
        return None
    inference = inference_of(probe, whole, index_size)
    if inference.best is None:
        return None
    return Verdict(Certainty.INFERRED if inference.certain else Certainty.PARTLY, inference.why)


def open_shard(probe: PrefetchedSource, context: OpenContext) -> NeuroglancerShard:
    """Open a shard; `probe` is its file, or one of the two files of the split form.

    Raises:
        NotAShard: There is no info, and no specification fits.
        FormatError: The file is shorter than its shard index.
    """
    whole, kept, index_size = open_parts(probe)
    if not context.forced:
        _refuse_other(probe, index_size)
    origin = origin_of(probe, whole, context.values.get("spec"), forced=context.forced, index_size=index_size)
    head = _head(whole, origin.spec, index_size, context.draft)
    # The number is unknown for a name not used in the data set, or with an inferred specification.
    number = origin.spec.shard_of(probe.name) if origin.inference is None else None
    shard = NeuroglancerShard(NeuroglancerFile(kept, origin, head, number, split=index_size is not None))
    if context.partial and (pairs := shard.file.levels.known_pairs) is not None:
        damage = MinishardDamage(pairs, shard.file.base, kept.size)
        # Without `partial` the shard opens too: lookups in intact minishards work.
        shard.damage = damage[int(damage.numbers[0])] if len(damage) else None
    return shard


def _refuse_other(probe: PrefetchedSource, index_size: int | None) -> None:
    """Raise NotAShard if the first index range is invalid and the file is of another kind (a Git LFS pointer, …)."""
    pair = probe.head(16)
    start, end = (int.from_bytes(pair[at : at + 8], "little") for at in (0, 8))
    if index_size is None and not start <= end <= probe.size and (what := other_file(probe, by_beginning=True)):
        raise NotAShard(f"{probe.name} is {what}", span=Span("", 0, probe.size), is_other=True)


def open_member(name: str, source: Source, origin: Origin, wanted: int | None = None) -> NeuroglancerShard:
    """Open a shard of a data set; `wanted` is the minishard that is read next, or None if unknown."""
    probe = PrefetchedSource(source)
    whole, kept, index_size = open_parts(probe, wanted)
    _refuse_other(probe, index_size)
    head = _head(whole, origin.spec, index_size, Draft())
    named = shard_number(name)
    number = named[0] if named is not None else None
    return NeuroglancerShard(NeuroglancerFile(kept, origin, head, number, split=index_size is not None))


def _head(whole: Source, spec: ShardingSpec, index_size: int | None, draft: Draft) -> bytes:
    """Return the shard index; empty if it is too large to read at once."""
    base = spec.index_size
    size = whole.size if index_size is None else index_size
    if size < base or index_size not in (None, base):
        place = Span("", 0, min(size, whole.size))
        draft.version = VERSION
        doc = "For each minishard, the range of its minishard index."
        draft.add(Section(SHARD_INDEX, SectionRole.INDEX, place.start, place.stop, doc))
        message = f"the file has {plural(size, 'byte')}; {plural(spec.minishards, 'index entry')} take {base:,}"
        raise Truncated(message, span=place)
    return whole.read(0, base) if base <= KEPT_WHOLE else b""


def _content(ref: ObjectRef) -> Span:
    if ref.state is State.DAMAGED or not ref.spans:
        raise FormatError(ref.error or f"{ref.key} has no bytes in this shard")
    return ref.spans[0]
