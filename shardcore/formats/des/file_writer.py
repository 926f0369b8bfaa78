"""Writing one shard: payloads as they arrive, then index and footer (des_core.shard_io, ShardWriter)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shardcore.formats.des.entries import Entries
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import (
    BIGFILE_FLAG,
    BIGFILE_HEAD,
    BIGFILE_TAIL,
    CODECS,
    FOOTER,
    HEADER,
    INDEX_HEAD,
    INLINE,
    PLACE_V1,
    UID_HEAD,
    section_claims,
)
from shardcore.formats.des.objects import DesObjects
from shardcore.model.section import tile
from shardcore.sources.memory import BytesSource
from shardcore.writing.plan import PlannedFile
from shardcore.writing.temporary import Draining

_uid_head = UID_HEAD.packer.pack
_inline = INLINE.packer.pack
_place_v1 = PLACE_V1.packer.pack


@dataclass(frozen=True, slots=True)
class NewEntry:
    """Entry of an object without its offset; `digest` is the sha256 of a BigFile in hex."""

    uid: bytes
    meta: bytes
    size: int
    codec: str = "none"
    digest: str = ""


class NewShard:
    def __init__(self, file: Draining, name: str, version: int) -> None:
        self.file = file
        self.name = name
        self.plain = 0
        self.count = 0
        self._version = version
        self._index = bytearray()
        file.write(HEADER.pack(version=version))

    def add_inline(self, entry: NewEntry, start: int) -> None:
        length = self.file.at - start
        code = CODECS.index(entry.codec)
        head = _uid_head(len(entry.uid)) + entry.uid
        if self._version == 1:
            self._index += head + _place_v1(start, length, code, length, entry.size)
        else:
            place = _inline(0, start, length, code, length, entry.size, len(entry.meta))
            self._index += head + place + entry.meta
        self.count += 1
        self.plain += entry.size

    def add_bigfile(self, entry: NewEntry) -> None:
        digest = entry.digest.encode()
        self._index += b"".join(
            (
                UID_HEAD.pack(uid_length=len(entry.uid)),
                entry.uid,
                BIGFILE_HEAD.pack(flags=BIGFILE_FLAG, hash_length=len(digest)),
                digest,
                BIGFILE_TAIL.pack(size=entry.size, meta_length=len(entry.meta)),
                entry.meta,
            )
        )
        self.count += 1
        self.plain += entry.size

    def add_plain(self, uids: Sequence[bytes], contents: Sequence[bytes], sizes: np.ndarray) -> None:
        """Add many uncompressed objects without metadata at once; version 2 only."""
        # Between two uids: the fixed part of one entry and the uid length of the next.
        between = np.zeros(len(uids), [("place", INLINE.dtype), ("next", UID_HEAD.dtype)])
        places = between["place"]
        places["length"] = places["compressed_size"] = places["uncompressed_size"] = sizes
        places["offset"] = np.cumsum(sizes) - sizes + self.file.at
        lengths = between["next"]["uid_length"]
        lengths[:] = np.roll(np.fromiter(map(len, uids), lengths.dtype, len(uids)), -1)
        parts: list[bytes] = [b""] * (2 * len(uids))
        parts[::2] = uids
        parts[1::2] = between.view(f"V{between.itemsize}").tolist()
        self._index += _uid_head(len(uids[0])) + b"".join(parts)
        del self._index[-UID_HEAD.size :]
        self.file.write(b"".join(contents))
        self.count += len(uids)
        self.plain += int(sizes.sum())

    @property
    def index(self) -> bytes:
        return INDEX_HEAD.pack(entry_count=self.count) + bytes(self._index)

    @property
    def size(self) -> int:
        return self.file.at + INDEX_HEAD.size + len(self._index) + FOOTER.size

    def entries(self) -> Entries:
        return Entries(self.index, self._version, self.file.at)

    def planned(self) -> PlannedFile:
        entries = self.entries()
        claims = section_claims(self.file.at, self.size - FOOTER.size, self.size)
        header: dict[str, Any] = {"version": self._version}
        objects = DesObjects(DesFile(BytesSource(b"", self.name), entries, header, {}))
        return PlannedFile(self.name, self.size, tile(claims, self.size)[0], objects)

    def complete(self) -> None:
        index = self.index
        self.file.write(index)
        self.file.write(FOOTER.pack(index_size=len(index)))
        self.file.complete(self.count)
