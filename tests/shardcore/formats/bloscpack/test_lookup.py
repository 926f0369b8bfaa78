from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.errors import KeyAbsent, UsageError
from shardcore.formats.bloscpack.lookup import element_at, parse_key
from shardcore.model.content_layout import ArrayLayout
from shardcore.model.span import Span
from shardcore.testing import CountingSource
from tests.shardcore.formats.bloscpack.chunks import BYTE, make_chunk, sample
from tests.shardcore.formats.bloscpack.files import File

DATA = Path(__file__).parents[3] / "data" / "bloscpack"


@pytest.mark.parametrize(
    "key", ["", "x", "-1", "1.0", "@", "@x", "@-1", " 1", "ALL", "٣", "1" * 21, "[]", "[1,]", "[1", "[a]", "[1;2]"]
)
def test_other_keys_are_a_mistake(key: str) -> None:
    with pytest.raises(UsageError):
        parse_key(key)


def test_trace_of_an_element() -> None:
    with shardcore.open(DATA / "array.blp") as shard:
        trace = shard.trace("[3,-1]")
        steps = {step.title: step for step in trace.steps}
        assert steps["Which byte"].values == {"element": 119, "itemsize": 8, "byte": 952}
        assert steps["Which byte"].spans == (shard.file.metadata.stored,)
        assert (steps["Which chunk"].values, trace.outcome) == ({"chunk": 0, "within": 952}, "found")
        assert shard.find_many(["[3,-1]", "[19,29]", "[20,0]", "0"]).tolist() == [0, len(shard.objects) - 1, -1, 0]
        assert shard.trace("[20,0]").outcome == "absent"
        with pytest.raises(UsageError, match="2 axes, 20 × 30"):
            shard.find("[3]")


def test_elements_without_an_array() -> None:
    with shardcore.open(DATA / "codec_zstd_0.blp") as shard:
        size = shard.file.header.typesize
        steps = {step.title: step for step in shard.trace("[5]").steps}
        assert steps["Which byte"].values == {"element": 5, "itemsize": size, "byte": 5 * size}
        with pytest.raises(KeyAbsent, match="there is no element"):
            shard.find(f"[{shard.file.header.plain_size}]")
        for key in ("[1,2]", "[-1]"):
            with pytest.raises(UsageError, match="single number from 0"):
                shard.find(key)
    with shardcore.open(DATA / "v1.blp") as shard, pytest.raises(UsageError, match="version 1"):
        shard.find("[0]")


def test_elements_in_fortran_order() -> None:
    for order in ("C", "F"):
        array = np.arange(24, dtype="<u2").reshape((2, 3, 4), order="C")
        info = ArrayLayout(array.dtype, array.shape, order)
        flat = array.tobytes(order=order)
        for place in np.ndindex(*array.shape):
            byte = element_at(place, info).byte
            assert flat[byte : byte + 2] == array[place].tobytes()


def test_trace_of_a_plain_byte() -> None:
    with shardcore.open(DATA / "tiny.blp") as shard:
        trace = shard.trace("@6")
        steps = {step.title: step for step in trace.steps}
        assert steps["Offset slot"].spans == (Span("", 0x28, 0x30),)
        assert steps["Offset slot"].values == {"offset": 0x58}
        assert steps["Blosc header"].spans == (Span("", 0x58, 0x68),)
        assert steps["Checksum"].values == {"stored": "93b5893f", "computed": "93b5893f"}
        assert (steps["Decode"].values, trace.ref.key) == ({"byte": ord("s"), "element": 2}, "1")
        assert shard.find_many(["all", "1", "@10", "7", "@11"]).tolist() == [-1, 1, 2, -1, -1]
    with shardcore.open(DATA / "hostile" / "flipped.blp") as shard:
        trace = shard.trace("0")
        values = next(step.values for step in trace.steps if step.title == "Checksum")
        assert (trace.outcome, values["stored"] == values["computed"]) == ("damaged", False)


def test_trace_names_the_block() -> None:
    plain = sample(4000)
    chunk = make_chunk(plain, how=BYTE, typesize=4, blocksize=1024, split=True)
    with shardcore.open(File([chunk], [4000]).write()) as shard:
        step = next(step for step in shard.trace("@1500").steps if step.title == "Block")
        assert (step.values["block"], step.spans[0]) == (1, Span("", 40 + 16 + 4, 40 + 16 + 8))
        assert shard.trace("@1500").steps[-2].values["byte"] == plain[1500]


@pytest.mark.parametrize(("count", "plain", "ranges"), [(11_700, 100, 22), (100, 9000, 100)])
def test_walking_costs_at_most_one_range_per_chunk(count: int, plain: int, ranges: int) -> None:
    chunk = struct.pack("<4B3I", 2, 1, 0x02, 1, plain, plain, plain + 16) + bytes(plain)
    header = b"blpk" + struct.pack("<4B2i2q", 3, 0, 0, 1, plain, plain, count, 0)
    source = CountingSource(header + count * chunk)
    with shardcore.open(source) as shard:
        source.ranges.clear()
        shard.find(str(count - 1))
        assert len(source.ranges) == ranges
