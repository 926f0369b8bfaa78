"""The nine checksums of Bloscpack, by number ("Description of the header entries"); for chunks and metadata."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shardcore.errors import BadChecksum, FormatError
from shardcore.model.span import Span


def _adler32(data: bytes | memoryview) -> bytes:
    return zlib.adler32(data).to_bytes(4, "little")


def _crc32(data: bytes | memoryview) -> bytes:
    return zlib.crc32(data).to_bytes(4, "little")


def _hash(name: str) -> Callable[[bytes | memoryview], bytes]:
    # Not for security: md5 and sha1 must work even if a policy such as FIPS disables them.
    return lambda data: hashlib.new(name, data, usedforsecurity=False).digest()


@dataclass(frozen=True, slots=True)
class Checksum:
    """Checksum with its number and its name in the reference; adler32 and crc32 are stored as little-endian u32."""

    number: int
    name: str
    size: int
    compute: Callable[[bytes | memoryview], bytes]

    def check(self, data: bytes | memoryview, stored: bytes, place: Span, what: str) -> None:
        """Compare a stored checksum with the data it covers; raise BadChecksum if they differ."""
        computed = self.compute(data)
        if computed != stored:
            raise BadChecksum(
                f"{what}: {self.name} checksum: computed {computed.hex()}, stored {stored.hex()}", span=place
            )


CHECKSUMS = (
    Checksum(0, "None", 0, lambda data: b""),
    Checksum(1, "adler32", 4, _adler32),
    Checksum(2, "crc32", 4, _crc32),
    Checksum(3, "md5", 16, _hash("md5")),
    Checksum(4, "sha1", 20, _hash("sha1")),
    Checksum(5, "sha224", 28, _hash("sha224")),
    Checksum(6, "sha256", 32, _hash("sha256")),
    Checksum(7, "sha384", 48, _hash("sha384")),
    Checksum(8, "sha512", 64, _hash("sha512")),
)


def checksum(number: int, place: Span | None = None) -> Checksum:
    if not 0 <= number < len(CHECKSUMS):
        raise FormatError(f"checksum {number} is not supported (supported: 0 to {len(CHECKSUMS) - 1})", span=place)
    return CHECKSUMS[number]


def name_of(options: Mapping[str, Any]) -> str:
    """Return the checksum name that writing options select (default: adler32); "" for none."""
    return str(options.get("checksum") or "adler32").removeprefix("None")
