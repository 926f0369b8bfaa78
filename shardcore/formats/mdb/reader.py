"""An MDB shard, opened: sections, objects, and the files that its recipes and the xorbs beside it make."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, LimitExceeded
from shardcore.finding import Depth, Report
from shardcore.format import Certainty, OpenContext, Verdict
from shardcore.formats.mdb import tree, verify
from shardcore.formats.mdb.beside import placed
from shardcore.formats.mdb.geometry import CHUNK, FILE, KINDS, XORB, Geometry, locate, read_footer, read_header
from shardcore.formats.mdb.hashes import protect_many
from shardcore.formats.mdb.layout import FOOTER_SIZE, FOOTER_VERSION, HEADER, TAG, TAG_TEXT
from shardcore.formats.mdb.loaded import Index, discover, load
from shardcore.formats.mdb.lookup import look_up, look_up_all
from shardcore.formats.mdb.objects import RECIPE, FileBlock, MdbObjects, parse_key, read_file_block
from shardcore.formats.mdb.recipe import recipe_of, tell_content
from shardcore.formats.mdb.xorbs import SPAN_PREFIX, Xorb, Xorbs, read_file_range, stream_file, stream_segment
from shardcore.nodes.node import Node
from shardcore.nodes.sections import Section, SectionRole, tile
from shardcore.objects import ObjectRef
from shardcore.progress import Progress, no_progress
from shardcore.record import Value
from shardcore.shard import DEFAULT_LIMIT, Shard
from shardcore.sources.base import Source
from shardcore.sources.opening import PrefetchedSource
from shardcore.trace import Look
from shardcore.xet_hashes import HashArray, as_rows, from_text, to_text

MAX_INDEX_SIZE = 256 * 1024 * 1024
"""Bytes of the largest shard that is read whole; writers make none over 64 MiB."""

SMALL = 65536
"""Shards of up to this many bytes are whole in what was fetched to recognise them."""

READ_AT_ONCE = 16 * 1024 * 1024
"""Bytes read between two calls of `progress` while the index is loaded."""

_WHY = "tag HFRepoMetaData"


class MdbShard(Shard):
    """An opened MDB shard.

    Attributes:
        geometry: Where its parts lie.
        footer_fields: The fields of the footer as they stand there; empty without one.
        footer_damage: Why the footer is not believed, or None.
        xorbs: The xorbs within reach.
    """

    format = "mdb"
    source: Source

    def __init__(
        self,
        source: Source,
        geometry: Geometry,
        footer_fields: dict[str, Any],
        xorbs: Xorbs,
        index: Index | None = None,
    ) -> None:
        self.source = source
        self.geometry = geometry
        self.footer_fields = footer_fields
        self.footer_damage: FormatError | None = None
        self.xorbs = xorbs
        self.version = str(geometry.header["version"])
        self.why = f"{_WHY}, {geometry.flavour}"
        self.sections, self.overlaps = tile(tree.sections_of(geometry, with_footer=bool(footer_fields)), source.size)
        self._index = index
        self.damage = index.damage if index is not None else None
        self._lock = threading.RLock()
        tables = geometry.tables
        declared = sum(table.count for table in tables.values()) if len(tables) == len(KINDS) else None
        self._objects = MdbObjects(lambda: self.index_for(Look()), lambda: self.loaded, declared)

    @property
    def flavour(self) -> str:
        """What the shard is for: `full`, `session`, `minimal`, `global dedup answer` or `upload form`."""
        return self.geometry.flavour

    @property
    def objects(self) -> MdbObjects:
        """All files, then all xorbs, then all chunks."""
        return self._objects

    @property
    def tree(self) -> Node:
        """The root of the node tree."""
        return tree.tree(self)

    @property
    def fields(self) -> dict[str, Value]:
        """The fields of header and footer."""
        fields: dict[str, Value] = {f"header.{name}": value for name, value in self.geometry.header.items()}
        fields.update({f"footer.{name}": value for name, value in self.footer_fields.items()})
        return fields

    @property
    def declared_objects(self) -> int:
        """The sum of the entries of the lookup tables; without them the records are counted."""
        return len(self._objects)

    @property
    def index(self) -> Index | None:
        """The walked sections, when they were read."""
        return self._index

    @property
    def loaded(self) -> bool:
        """Whether the shard is wholly in memory."""
        return self._index is not None

    @property
    def index_bytes(self) -> int:
        """The size of the file: shards are small."""
        return self.source.size

    def load_index(self, progress: Progress = no_progress) -> None:
        """Reads the shard whole and walks its sections.

        What breaks off is shown in the tree and by `verify`; it is no error here, `damage` tells it.

        Raises:
            LimitExceeded: The shard is over 256 MiB.
            SourceError: The bytes cannot be had.
        """
        self._load(self.source, progress)

    def index_for(self, look: Look) -> Index:
        """The index, read through `look` when it was not read yet."""
        return self._load(look.meter(self.source), no_progress)

    def read_bytes(self, start: int, stop: int, look: Look) -> bytes:
        """The bytes `[start, stop)` of the file; free when the index is loaded."""
        index = self._index
        return index.data[start:stop] if index is not None else look.meter(self.source).read(start, stop)

    def read_quietly(self, start: int, stop: int) -> bytes:
        """As `read_bytes`, for nobody who counts."""
        return self.read_bytes(start, stop, Look())

    def lookup(self, key: str, look: Look) -> ObjectRef:
        """Finds a key; see `Shard.lookup`. A told lookup goes on into the xorbs, as far as they are within reach."""
        ref = look_up(self, key, look)
        if look.telling:
            tell_content(self, ref, look)
        return ref

    def find_all(self, key: str) -> tuple[ObjectRef, ...]:
        """All objects with this key: a chunk may occur in several xorbs, and several times in one."""
        return tuple(look_up_all(self, key, Look()))

    def find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """The rows of many keys, vectorised; -1 where a key is absent. Loads the index."""
        rows = np.full(len(keys), -1, np.int64)
        index = self.index_for(Look())
        parsed = [parse_key(key) for key in keys]
        for kind in KINDS:
            places = np.array([n for n, (k, _) in enumerate(parsed) if k == kind], np.int64)
            if not len(places):
                continue
            plain = as_rows([from_text(parsed[n][1]) for n in places.tolist()])
            found = self._rows_of(index, kind, protect_many(self.geometry.key, plain) if kind == CHUNK else plain)
            if kind == CHUNK and index.keyed:
                found = np.where(found < 0, self._rows_of(index, kind, plain), found)
            rows[places] = found
        return rows

    def block_of(self, ref: ObjectRef) -> FileBlock:
        """The records of a file.

        Raises:
            FormatError: They are damaged.
        """
        return read_file_block(self.read_quietly, ref.spans[0].start, self.geometry.file_info[1])

    def stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """The content, from the xorbs; every hash is compared that shard and xorb have. See `Shard.stream`."""
        if ref.kind == FILE:
            return stream_file(self.xorbs, self.block_of(ref))
        place = ref.spans[0]
        if ref.kind == XORB:
            return stream_segment(self.xorbs, ref.extras["xorb"], 0, ref.extras["chunks"], place)
        number = ref.extras["chunk"]
        return stream_segment(self.xorbs, ref.extras["xorb"], number, number + 1, place)

    def read_range(self, ref: ObjectRef, start: int, stop: int, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """A range of a file, from the chunks that it touches alone."""
        if ref.kind != FILE or not 0 <= start <= stop:
            return super().read_range(ref, start, stop, limit=limit)
        if min(stop, ref.size) - start > limit:
            raise LimitExceeded(f"the range of {ref.key} has over {limit} bytes")
        return b"".join(read_file_range(self.xorbs, self.block_of(ref), start, min(stop, ref.size)))

    def read_part(self, ref: ObjectRef, part: str, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """The recipe of a file or xorb, as JSON; it needs no xorbs."""
        if part != RECIPE or part not in ref.parts:
            return super().read_part(ref, part, limit=limit)
        return json.dumps(recipe_of(self, ref), indent=1).encode() + b"\n"

    def bytes_of(self, name: str) -> Source:
        """The file, by `xorb:<hash>` a xorb within reach, by `xorb:<hash>@start-stop` a chunk of it unpacked."""
        xorb, inside = self._beside(name)
        return super().bytes_of(name) if xorb is None else xorb.bytes_of(inside)

    def sections_of(self, name: str) -> tuple[Section, ...]:
        """The sections of the file, of a xorb, or of an unpacked chunk."""
        xorb, inside = self._beside(name)
        return super().sections_of(name) if xorb is None else xorb.sections_of(inside)

    def tree_of(self, name: str) -> Node:
        """The tree of the file, of a xorb, or of an unpacked chunk."""
        xorb, inside = self._beside(name)
        return super().tree_of(name) if xorb is None else placed(xorb.tree_of(inside), name.partition("@")[0])

    def verify(self, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        """Checks the shard; see `docs/formats/mdb.md` for what each depth does."""
        return verify.verify(self, Depth(depth), progress)

    def close(self) -> None:
        """Closes the file and the xorbs."""
        self.xorbs.close()
        super().close()

    def _beside(self, name: str) -> tuple[Xorb | None, str]:
        """The xorb that a source name speaks of, and the name inside it."""
        if not name.startswith(SPAN_PREFIX):
            return None, name
        text, at, rest = name.removeprefix(SPAN_PREFIX).partition("@")
        return self.xorbs.get(to_text(from_text(text))), at + rest

    def _rows_of(self, index: Index, kind: str, wanted: HashArray) -> NDArray[np.int64]:
        known = index.maps[kind]
        at = known.find(index.section(kind), wanted)
        if not len(known.records):
            return at
        section = index.section(kind)
        block = np.searchsorted(section.headers, known.records[at])
        rows = block if kind != CHUNK else section.bounds[block] + known.chunks[at]
        return np.where(at >= 0, index.first_row(kind) + rows, -1)

    def _load(self, source: Source, progress: Progress) -> Index:
        with self._lock:
            if self._index is None:
                self._index = load(read_whole(source, progress), self.geometry)
                self.damage = self.damage or self._index.damage
            return self._index


def read_whole(source: Source, progress: Progress) -> bytes:
    """All bytes of a shard.

    Raises:
        LimitExceeded: It is over 256 MiB.
    """
    size = source.size
    if size > MAX_INDEX_SIZE:
        raise LimitExceeded(f"{size} bytes; shards of up to {MAX_INDEX_SIZE} are read whole")
    pieces = []
    for start in range(0, size, READ_AT_ONCE):
        progress(start, size)
        pieces.append(source.read(start, min(start + READ_AT_ONCE, size)))
    progress(size, max(size, 1))
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def detect(source: PrefetchedSource) -> Verdict | None:
    """Recognises a shard by its tag."""
    head = source.head(HEADER.size)
    if head[: len(TAG)] == TAG:
        return Verdict(Certainty.MAGIC, _WHY)
    if head.startswith(TAG_TEXT):
        return Verdict(Certainty.PARTLY, f"{_WHY}, but not the bytes after it")
    return None


def open_shard(source: PrefetchedSource, context: OpenContext) -> MdbShard:
    """Opens a shard with two reads, the head and the end of the file; one without a footer is read whole.

    Raises:
        FormatError: Header or footer are damaged.
        SourceError: The bytes cannot be had.
    """
    size = source.size
    head = source.head(HEADER.size)
    if len(head) == HEADER.size and head.startswith(TAG):
        raw = HEADER.read_one(head)
        section = Section("header", SectionRole.HEADER, 0, HEADER.size, tree.SENTENCES["header"])
        context.draft.add(section, tree.header_node(raw), raw)
        context.draft.version = str(raw["version"])
    header = read_header(head)
    xorbs = Xorbs(context.options.xorbs, source.folder, context.opener)
    if not header["footer_size"]:
        index = discover(read_whole(source, context.progress), header, size)
        return MdbShard(source.base, index.geometry, {}, xorbs, index)
    try:
        footer = read_footer(source.read_last(min(FOOTER_SIZE, size)), size)
        geometry = locate(size, header, footer)
    except FormatError as error:
        if not context.partial:
            raise
        return _without_footer(source, header, xorbs, error, context.progress)
    # The head that was fetched to recognise the shard is all of a small one.
    index_now = load(source.read(0, size), geometry) if size <= SMALL else None
    return MdbShard(source.base, geometry, footer, xorbs, index_now)


def _without_footer(
    source: PrefetchedSource, header: dict[str, Any], xorbs: Xorbs, damage: FormatError, progress: Progress
) -> MdbShard:
    """A shard whose footer cannot be believed: the sections say themselves where they end.

    The last bytes are shown as a footer only where something in them speaks for it; a file that was cut has none.
    """
    data = read_whole(source, progress)
    try:
        footer = read_footer(data, len(data))
    except FormatError:
        footer = {}
    if footer and footer["version"] != FOOTER_VERSION and footer["footer_offset"] != len(data) - FOOTER_SIZE:
        footer = {}
    index = discover(data, header, len(data) - (FOOTER_SIZE if footer else 0))
    shard = MdbShard(source.base, index.geometry, footer, xorbs, index)
    shard.footer_damage = shard.damage = damage
    return shard
