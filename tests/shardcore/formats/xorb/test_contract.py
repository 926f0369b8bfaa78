"""Xorbs under the contract of all formats."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest

import shardcore
from shardcore.codecs.xet import xorb_layout as layout
from shardcore.errors import FormatError, UsageError
from shardcore.model.drawing import Tone
from shardcore.model.record import Record
from shardcore.testing import PageContract, ShardContract
from shardcore.testing.drawing_contract import DrawingContract

DATA = Path(__file__).parents[3] / "data"


class TestXorb(ShardContract):
    samples = (*sorted((DATA / "mdb" / "cas" / "xorbs").iterdir()), *sorted((DATA / "xorb").glob("*.xorb")))
    absent = ("9000", "0970425b7defb12b691e8e3b705620733deaaddd33a760e17a4e9ba333445533")
    open_ranges = 2
    find_ranges = 1


class TestXorbPage(PageContract):
    page: ClassVar = Path(__file__).parents[4] / "docs" / "formats" / "xorb.md"
    layouts: ClassVar = {found.name: found for found in vars(layout).values() if isinstance(found, Record)}


SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "xorb"


class TestDrawings(DrawingContract):
    samples: ClassVar = [SAMPLES / "chunks.xorb", SAMPLES / "odd.xorb", DATA / "xorb" / "lz4.xorb"]
    quick_samples: ClassVar[int] = 1
    names: ClassVar = ["records", "lanes"]
    absent: ClassVar = ["99"]


def test_bytes_are_sorted_into_lanes() -> None:
    """Row 1 of the byte planes has bytes 1, 5, 9 … of the chunk; a byte equal to its neighbour is highlighted."""
    with shardcore.open(SAMPLES / "chunks.xorb") as shard:
        data = shard.read(shard.find("1"))
        drawing = next(one for one in shard.sketches() if one.name == "lanes").draw({"chunk": 1, "first": 10})
        plain, lanes = drawing.figures
        assert [item.text for item in plain.items] == [f"{byte:02x}" for byte in data[40:68]]
        second = [item for item in lanes.items if 7 <= item.at < 14]
        assert [item.text for item in second] == [f"{byte:02x}" for byte in data[41:68:4]]
        for left, right in pairwise(second):
            if left.text == right.text:
                assert (left.tone, right.tone) == (Tone.HIT, Tone.HIT)
        assert second[0].spans[0].start == 41


def test_a_chunk_that_cannot_be_unpacked_is_an_error_of_the_file() -> None:
    data = bytearray((SAMPLES / "chunks.xorb").read_bytes())
    data[100] ^= 0xFF
    with shardcore.open(bytes(data), format="xorb") as shard:
        records, lanes = shard.sketches()
        assert records.draw({}).figures
        with pytest.raises(FormatError):
            lanes.draw({"chunk": 0})
        with pytest.raises(UsageError, match="0 to 5"):
            records.draw({"chunk": 6})
