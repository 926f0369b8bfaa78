"""Detection and opening of MDB shards, and `MdbShard`, an opened shard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import ZERO
from shardcore.errors import FormatError, LimitExceeded, ShardError
from shardcore.formats.mdb.content import fetch_chunks, read_range, recipe_pieces, stream
from shardcore.formats.mdb.file import MdbFile, read_whole
from shardcore.formats.mdb.index import discover, load
from shardcore.formats.mdb.layout import (
    FOOTER_SIZE,
    FOOTER_VERSION,
    HEADER,
    HEADER_SECTION,
    KINDS,
    NO_EXPIRY,
    TAG,
    TAG_TEXT,
    locate,
    read_footer,
    read_header,
)
from shardcore.formats.mdb.lookup import KEY_FORM, MdbLookup
from shardcore.formats.mdb.objects import RECIPE, MdbObjects
from shardcore.formats.mdb.tree import MdbTree, header_node
from shardcore.formats.mdb.xorbs import XorbFetch, Xorbs
from shardcore.model.text import plural
from shardcore.progress import Progress
from shardcore.shards.file_shard import FileShard
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import DEFAULT_LIMIT, SourcePart

if TYPE_CHECKING:
    from shardcore.model.objects import ObjectRef
    from shardcore.model.record import Value
    from shardcore.model.span import SourceName
    from shardcore.sources.base import Source
    from shardcore.sources.prefetched_source import PrefetchedSource

SMALL = 65536
"""Maximum size in bytes of a shard that detection reads completely; its index is loaded as soon as it is opened."""

_WHY = "tag HFRepoMetaData"


class MdbShard(FileShard):
    """An opened MDB shard. `shares_xorbs` is True if its xorbs belong to a data set, which closes them."""

    key_form = KEY_FORM
    checksum = "blake3"
    format = "mdb"
    file: MdbFile
    _lookup: MdbLookup
    source: Source
    shares_xorbs: bool = False

    def __init__(self, file: MdbFile) -> None:
        super().__init__(file, MdbObjects(file), MdbTree(file), MdbLookup(file))
        self.version = str(file.layout.header["version"])
        self.flavour = file.flavour
        self.why = f"{_WHY}, {self.flavour}"

    @property
    def damage(self) -> ShardError | None:  # type: ignore[override]
        """Error in the footer or, once the index is loaded, in a section; None if neither has one."""
        return self.file.damage

    @property
    def fields(self) -> dict[str, Value]:
        return super().fields | {f"footer.{name}": value for name, value in self.file.footer_fields.items()}

    @property
    def declared_objects(self) -> int | None:
        """Number of objects according to the index or the lookup tables; None if neither is available."""
        tables, index = self.file.layout.tables, self.file.index
        if index is not None:
            return sum(index.counts)
        return sum(table.count for table in tables.values()) if len(tables) == len(KINDS) else None

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        return self._lookup.find_many([self.parse_key(key) for key in keys])

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        return stream(self.file, ref)

    def fetch_soon(self, refs: Iterable[ObjectRef]) -> None:
        with suppress(ShardError):
            fetch_chunks(self.file, refs)

    def reads_ranges(self, ref: ObjectRef) -> bool:
        return True

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        """Read a range of the content; only the chunks that overlap it are read and decompressed."""
        if min(stop, ref.size) - start > limit:
            raise LimitExceeded(f"the range of {ref.key} exceeds the limit of {plural(limit, 'byte')}")
        return b"".join(read_range(self.file, ref, start, min(stop, ref.size)))

    def read_part(self, ref: ObjectRef, part: str, *, limit: int = DEFAULT_LIMIT) -> bytes:
        if part != RECIPE or part not in ref.parts:
            return super().read_part(ref, part, limit=limit)
        return b"".join(recipe_pieces(self.file, ref))

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that a rewrite would lose: the expiry in Unix seconds, and the presence of an HMAC key."""
        settings: dict[str, Any] = {}
        if (expiry := (self.file.layout.footer or {}).get("shard_key_expiry", 0)) not in (0, NO_EXPIRY):
            settings["expiry"] = str(expiry)
        if self.file.layout.key != ZERO:
            # The key itself is not written into a manifest.
            settings["footer"] = {"chunk_hash_hmac_key": True}
        return settings

    def reading_all(self) -> XorbFetch:
        """Return a context for reading all files: a xorb is fetched completely if files use at least half of it."""
        fetch = self.file.fetch_xorb = XorbFetch(self.file.source, self.file.load)
        return fetch

    def _close(self) -> None:
        self.file.close()
        if not self.shares_xorbs:
            self.file.xorbs.close()

    def _part(self, name: SourceName) -> SourcePart:
        """Return a part by name: `xorb:<hash>` is a xorb, `xorb:<hash>@start-stop` one of its chunks, decompressed."""
        return self.file.xorbs.part(name) or super()._part(name)


def detect(source: PrefetchedSource) -> Verdict | None:
    head = source.head(HEADER.size)
    if head[: len(TAG)] == TAG:
        return Verdict(Certainty.MAGIC, _WHY)
    if head.startswith(TAG_TEXT):
        return Verdict(Certainty.PARTLY, f"{_WHY}, but other bytes after it")
    return None


def open_shard(source: PrefetchedSource, context: OpenContext, xorbs: Xorbs | None = None) -> MdbShard:
    """Open a shard with two reads, of the header and of the footer; without a valid footer, read it completely.

    Raises:
        FormatError: The header is invalid, or the footer is invalid and `context.partial` is not set.
    """
    size = source.size
    head = source.head(HEADER.size)
    if len(head) == HEADER.size and head.startswith(TAG):
        raw = HEADER.read_one(head)
        if context.draft.kept:
            context.draft.add(HEADER_SECTION, header_node(raw), raw)
        context.draft.version = str(raw["version"])
    header = read_header(head)
    xorbs = xorbs or Xorbs(context.values.get("xorbs"), source.folder, context.opener)
    if not header["footer_size"]:
        index = discover(read_whole(source, context.progress), header, size)
        return MdbShard(MdbFile(source.base, index.layout, {}, xorbs, index=index))
    try:
        footer = read_footer(source.read_last(min(FOOTER_SIZE, size)), size)
        layout = locate(size, header, footer)
    except FormatError as error:
        file = _without_footer(source, header, xorbs, error, context.progress)
        if file.footer_damage is not None and not context.partial:
            raise
        return MdbShard(file)
    # Detection has read a small shard already.
    index_now = load(source.read(0, size), layout) if size <= SMALL else None
    return MdbShard(MdbFile(source.base, layout, footer, xorbs, index=index_now))


def _without_footer(
    source: PrefetchedSource, header: dict[str, Any], xorbs: Xorbs, damage: FormatError, progress: Progress
) -> MdbFile:
    """Open a shard whose footer is missing or invalid: its sections are found by their end marks.

    The last 200 bytes are treated as a damaged footer only if its version or its `footer_offset` is right.
    """
    data = read_whole(source, progress)
    index = discover(data, header, len(data))
    if index.damage is None and index.xorbs.stop_byte == len(data):
        # Until late 2025, clients uploaded shards whose header declares a footer that does not exist.
        return MdbFile(source.base, index.layout, {}, xorbs, index=index)
    try:
        footer = read_footer(data, len(data))
    except FormatError:
        footer = {}
    if footer and footer["version"] != FOOTER_VERSION and footer["footer_offset"] != len(data) - FOOTER_SIZE:
        footer = {}
    index = discover(data, header, len(data) - (FOOTER_SIZE if footer else 0))
    return MdbFile(source.base, index.layout, footer, xorbs, index=index, footer_damage=damage)
