from __future__ import annotations

import pytest

from shardcore.errors import BadChecksum
from shardcore.formats.bloscpack.checksums import checksum
from shardcore.model.span import Span


def test_a_difference_names_the_place() -> None:
    checksum(1).check(b"abc", bytes.fromhex("27014d02"), Span("", 5, 9), "chunk 0")
    with pytest.raises(BadChecksum, match="chunk 0: adler32 checksum: computed 27014d02, stored 00000000") as caught:
        checksum(1).check(b"abc", bytes(4), Span("", 5, 9), "chunk 0")
    assert caught.value.span == Span("", 5, 9)
