"""An opened MDB file: its source, its sections, and the index of its records once it is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shardcore.errors import FormatError, LimitExceeded
from shardcore.formats.mdb.index import MdbIndex, load
from shardcore.formats.mdb.layout import UNKNOWN, MdbLayout
from shardcore.formats.mdb.xorbs import XorbFetch, Xorbs
from shardcore.model.budget import charge_memory
from shardcore.model.pointer_table import Links
from shardcore.model.section import tile
from shardcore.model.text import grouped_digits
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import Once
from shardcore.sources.base import Source

MAX_INDEX_SIZE = 256 * 1024 * 1024
"""Maximum size in bytes of a shard that is read completely; writers create at most 64 MiB."""

RECORDS_COST = 4
"""Estimated memory of a loaded index, in bytes per byte of the shard file."""

READ_AT_ONCE = 16 * 1024 * 1024


class MdbFile:
    """Source, sections, index and xorbs of a shard.

    `footer_fields` is empty if there is no footer; `footer_damage` is the error in the footer, or None. `sections`
    cover the file without gaps. While all files are read, `fetch_xorb` fetches complete xorbs; otherwise it is None.
    """

    def __init__(
        self,
        source: Source,
        layout: MdbLayout,
        footer_fields: dict[str, Any],
        xorbs: Xorbs,
        *,
        index: MdbIndex | None = None,
        footer_damage: FormatError | None = None,
    ) -> None:
        self.source = source
        self.layout = layout
        self.header = layout.header
        self.footer_fields = footer_fields
        self.footer_damage = footer_damage
        self.xorbs = xorbs
        self.fetch_xorb: XorbFetch | None = None
        self.sections, _ = tile(layout.claims(with_footer=bool(footer_fields)), source.size)
        self._index: Once[MdbIndex] = Once()
        if index is not None:
            self._index.put(index)

    @property
    def index(self) -> MdbIndex | None:
        """Index, or None before `load`; this property reads nothing from the file."""
        return self._index.value

    @property
    def loaded(self) -> bool:
        return self.index is not None

    @property
    def index_bytes(self) -> int:
        return self.source.size

    @property
    def flavour(self) -> str:
        return UNKNOWN if self.footer_damage is not None else self.layout.flavour

    @property
    def damage(self) -> FormatError | None:
        """Error in the footer or, once the index is loaded, in a section; None if neither has one."""
        return self.footer_damage or (None if self.index is None else self.index.damage)

    def links(self) -> Iterator[Links]:
        """Yield the references from segments and lookup tables to records; nothing before the index is loaded."""
        if (index := self.index) is not None:
            yield index.segment_links
            for table in self.layout.tables.values():
                yield index.entry_links(table)

    def load(self, source: Source | None = None, progress: Progress = no_progress) -> MdbIndex:
        """Return the index. The first call reads the whole file (from `source` if given) and finds all records.

        An incomplete section raises no exception; `damage` has its error.

        Raises:
            LimitExceeded: The file is over 256 MiB.
        """
        return self._index.get(lambda: load(read_whole(source or self.source, progress), self.layout))

    def read(self, start: int, stop: int, source: Source | None = None) -> bytes:
        """Return the bytes `[start, stop)`; once the index is loaded, they are taken from memory."""
        index = self.index
        return (source or self.source).read(start, stop) if index is None else index.data[start:stop]

    def close(self) -> None:
        """Close the file, but not the xorbs, which the shards of a data set share."""
        self.source.close()


def read_whole(source: Source, progress: Progress) -> bytes:
    """Return the whole file; raise LimitExceeded above 256 MiB."""
    size = source.size
    if size > MAX_INDEX_SIZE:
        raise LimitExceeded(
            f"the shard has {grouped_digits(size)} bytes; the limit is {grouped_digits(MAX_INDEX_SIZE)}"
        )
    # Charged before reading: a sparse file takes no disk space, but it would fill the memory.
    charge_memory(RECORDS_COST * size, source)
    pieces = []
    for start in range(0, size, READ_AT_ONCE):
        progress(start, size)
        pieces.append(source.read(start, min(start + READ_AT_ONCE, size)))
    progress(size, max(size, 1))
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
