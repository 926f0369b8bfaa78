"""The file of a shard: its bytes, where its parts lie, and its index once that is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shardcore.errors import FormatError, LimitExceeded
from shardcore.formats.mdb.geometry import KINDS, UNKNOWN, MdbGeometry, claims
from shardcore.formats.mdb.index import MdbIndex, load
from shardcore.formats.mdb.xorbs import XorbFetch, Xorbs
from shardcore.model.budget import charge_memory
from shardcore.model.number_words import grouped_digits
from shardcore.model.section import tile
from shardcore.model.table import Links
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import Once
from shardcore.shards.trace import Look
from shardcore.sources.base import Source

MAX_INDEX_SIZE = 256 * 1024 * 1024
"""Bytes of the largest shard that is read whole; writers make none over 64 MiB."""

RECORDS_COST = 4
"""Bytes of memory that the records of a shard take, per byte."""

READ_AT_ONCE = 16 * 1024 * 1024
"""Bytes read between two calls of `progress` while the index is loaded."""


class MdbFile:
    """The file of a shard, and the xorbs within its reach.

    Args:
        source: The file.
        geometry: Where its parts lie.
        footer_fields: The fields of the footer as they are stored; empty without one.
        xorbs: The xorbs within reach.
        index: Its index, when it was read to open it.
        footer_damage: Reason why the footer is not trusted, or None.

    Attributes:
        sections: The parts; they tile the file.
        fetch_xorb: Fetches xorbs ahead; does nothing once all files were read. None before.
    """

    def __init__(
        self,
        source: Source,
        geometry: MdbGeometry,
        footer_fields: dict[str, Any],
        xorbs: Xorbs,
        *,
        index: MdbIndex | None = None,
        footer_damage: FormatError | None = None,
    ) -> None:
        self.source = source
        self.geometry = geometry
        self.footer_fields = footer_fields
        self.footer_damage = footer_damage
        self.xorbs = xorbs
        self.fetch_xorb: XorbFetch | None = None
        self.sections, _ = tile(claims(geometry, with_footer=bool(footer_fields)), source.size)
        self._index: Once[MdbIndex] = Once()
        if index is not None:
            self._index.put(index)

    @property
    def index(self) -> MdbIndex | None:
        """The index, when it was read; never reads."""
        return self._index.value

    @property
    def loaded(self) -> bool:
        """Return whether the shard is wholly in memory."""
        return self.index is not None

    @property
    def index_bytes(self) -> int:
        """The size of the file: shards are small."""
        return self.source.size

    @property
    def flavour(self) -> str:
        """As of `MdbGeometry`; `unknown` when the footer cannot be trusted."""
        return UNKNOWN if self.footer_damage is not None else self.geometry.flavour

    @property
    def damage(self) -> FormatError | None:
        """Return why not all objects are in sight: the footer, or (once the index is read) the walk of a section."""
        index = self.index
        return self.footer_damage or (index.damage if index is not None else None)

    @property
    def declared_objects(self) -> int | None:
        """The sum of the entries of the lookup tables, or what the index has; None when neither is there."""
        index = self.index
        if index is not None:
            return sum(index.counts)
        tables = self.geometry.tables
        return sum(table.count for table in tables.values()) if len(tables) == len(KINDS) else None

    def links(self) -> Iterator[Links]:
        """Yield the references to records: from segments and lookup tables, once the index is read."""
        if (index := self.index) is not None:
            yield index.segment_links
            for table in self.geometry.tables.values():
                yield index.entry_links(table)

    def load(self, look: Look | None = None, progress: Progress = no_progress) -> MdbIndex:
        """Return the index; when it was not read yet, the file is read whole and its sections are walked.

        What breaks off is no error here, `damage` reports it.

        Args:
            look: The lookup that needs it, which counts what is read.
            progress: Called while the file is read.

        Raises:
            LimitExceeded: The file is over 256 MiB.
            SourceError: The bytes cannot be read.
        """
        source = self.source if look is None else look.meter(self.source)
        return self._index.get(lambda: load(read_whole(source, progress), self.geometry))

    def read(self, start: int, stop: int, look: Look | None = None) -> bytes:
        """Return the bytes `[start, stop)` of the file; free when the index is there. `look` counts what is read."""
        index = self.index
        if index is not None:
            return index.data[start:stop]
        return (self.source if look is None else look.meter(self.source)).read(start, stop)

    def close(self) -> None:
        """Close the file; the xorbs may be shared."""
        self.source.close()


def read_whole(source: Source, progress: Progress) -> bytes:
    """Return all bytes of a shard.

    Raises:
        LimitExceeded: It is over 256 MiB.
        SourceError: The bytes cannot be read.
    """
    size = source.size
    if size > MAX_INDEX_SIZE:
        raise LimitExceeded(
            f"the shard has {grouped_digits(size)} bytes; at most {grouped_digits(MAX_INDEX_SIZE)} are read"
        )
    # Its records are columns in memory: those of a hole would be, too.
    charge_memory(RECORDS_COST * size, source)
    pieces = []
    for start in range(0, size, READ_AT_ONCE):
        progress(start, size)
        pieces.append(source.read(start, min(start + READ_AT_ONCE, size)))
    progress(size, max(size, 1))
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
