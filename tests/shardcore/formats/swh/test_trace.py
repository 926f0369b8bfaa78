"""Explanations of lookups in a Read Shard that end without the object."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.errors import FormatError

SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "swh"
LOST = "94d9c5e753e28ad33301c9ddfec0f337b0e9fd64bd9d5126e3a30dc78b10bd92"
KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
ABSENT = "00" * 32


def test_a_key_that_another_slot_holds_is_not_called_absent() -> None:
    with shardcore.open(SAMPLES / "damaged.shard") as shard:
        trace = shard.trace(LOST)
        assert trace.outcome == "damaged"
        with pytest.raises(FormatError, match="slot 0 has this key"):
            shard.find(LOST)
        assert shard.trace(ABSENT).outcome == "absent"


def test_a_damaged_key_in_the_slot_proves_no_absence() -> None:
    """A slot whose key hashes elsewhere may have held the key that was looked up."""
    content = bytearray((SAMPLES / "small.shard").read_bytes())
    with shardcore.open(bytes(content)) as shard:
        row = shard.find(KEY).row
        index = shard.fields["header.index_position"]
    content[index + 40 * row] ^= 0x80
    with shardcore.open(bytes(content)) as shard:
        assert shard.trace(KEY).outcome == "damaged"
