"""Bloscpack files put together by the rules of the format alone."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

DIGESTS: dict[int, Any] = {
    0: lambda data: b"",
    1: lambda data: zlib.adler32(data).to_bytes(4, "little"),
    2: lambda data: zlib.crc32(data).to_bytes(4, "little"),
    **{
        number: (lambda data, name=name: hashlib.new(name, data).digest())
        for number, name in enumerate(("md5", "sha1", "sha224", "sha256", "sha384", "sha512"), start=3)
    },
}


@dataclass
class File:
    chunks: Sequence[bytes]
    sizes: Sequence[int]
    version: int = 3
    checksum: int = 1
    typesize: int = 8
    offsets: bool = True
    spare: int = 0
    metadata: Any = None
    meta_codec: int = 1
    meta_checksum: int = 1
    room: int | None = None
    trailing: bytes = b""
    header: dict[str, int] = field(default_factory=dict)

    def header_bytes(self) -> bytes:
        first, last = (self.sizes[0], self.sizes[-1]) if self.sizes else (0, 0)
        sizes = {"chunk_size": first, "last_chunk": last, "nchunks": len(self.chunks), "max_app_chunks": self.spare}
        sizes |= self.header
        if self.version == 1:
            return b"blpk\x01\0\0\0" + struct.pack("<q", sizes["nchunks"])
        options = sizes.pop("options", (1 if self.offsets else 0) | (2 if self.metadata is not None else 0))
        return struct.pack("<4s4Biiqq", b"blpk", self.version, options, self.checksum, self.typesize, *sizes.values())

    def metadata_bytes(self) -> bytes:
        if self.metadata is None:
            return b""
        text = self.metadata if isinstance(self.metadata, bytes) else json.dumps(self.metadata).encode()
        stored = zlib.compress(text) if self.meta_codec else text
        room = 2 * len(stored) if self.room is None else self.room
        head = b"JSON\0\0\0\0" + bytes([0, self.meta_checksum, self.meta_codec, 6])
        head += struct.pack("<III8s", len(text), room, len(stored), b"")
        return head + stored.ljust(room, b"\0") + DIGESTS[self.meta_checksum](stored)

    def places(self) -> list[int]:
        slots = len(self.chunks) + self.spare if self.offsets else 0
        at = [len(self.header_bytes()) + len(self.metadata_bytes()) + 8 * slots]
        for chunk in self.chunks:
            at.append(at[-1] + len(chunk) + len(self.digest(chunk)))
        return at

    def digest(self, chunk: bytes) -> bytes:
        return b"" if self.version == 1 else DIGESTS[self.checksum](chunk)

    def write(self) -> bytes:
        slots = [*self.places()[:-1], *[-1] * self.spare] if self.offsets else []
        body = b"".join(chunk + self.digest(chunk) for chunk in self.chunks)
        table = struct.pack(f"<{len(slots)}q", *slots)
        return self.header_bytes() + self.metadata_bytes() + table + body + self.trailing
