from __future__ import annotations

import pytest

from shardcore.errors import BadChecksum, FormatError
from shardcore.formats.bloscpack.checksums import CHECKSUMS, checksum
from shardcore.model.span import Span


def test_names_and_sizes_are_the_formats() -> None:
    """The nine ids have the names and sizes of the specification."""
    names = ["None", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"]
    assert [kind.name for kind in CHECKSUMS] == names
    assert [kind.size for kind in CHECKSUMS] == [0, 4, 4, 16, 20, 28, 32, 48, 64]
    assert [kind.number for kind in CHECKSUMS] == list(range(9))
    assert [len(kind.compute(b"x")) for kind in CHECKSUMS] == [kind.size for kind in CHECKSUMS]


def test_the_worked_example() -> None:
    """The crc32 of the first chunk of `tiny.blp` is 0x1e380886, stored little-endian."""
    chunk = bytes.fromhex("02013301 04000000 04000000 14000000 68656c6c")
    assert checksum(2).compute(chunk) == bytes.fromhex("8608381e")


def test_a_difference_names_the_place() -> None:
    """A wrong digest is a BadChecksum at the digest, with both values."""
    checksum(1).check(b"abc", bytes.fromhex("27014d02"), Span("", 5, 9), "chunk 0")
    with pytest.raises(BadChecksum, match="chunk 0: adler32 checksum: computed 27014d02, stored 00000000") as caught:
        checksum(1).check(b"abc", bytes(4), Span("", 5, 9), "chunk 0")
    assert caught.value.span == Span("", 5, 9)


@pytest.mark.parametrize("number", [-1, 9, 255])
def test_an_unknown_id_is_refused(number: int) -> None:
    """Ids above 8 mean nothing."""
    with pytest.raises(FormatError, match=f"checksum number {number} is unknown"):
        checksum(number, Span("", 6, 7))
