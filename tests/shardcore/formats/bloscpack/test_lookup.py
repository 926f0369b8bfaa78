from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.errors import BadChecksum, KeyAbsent, UsageError
from shardcore.formats.bloscpack.elements import element_at
from shardcore.formats.bloscpack.keys import KeyKind, parse_key
from shardcore.model.array_layout import ArrayLayout
from shardcore.model.span import Span
from shardcore.testing import CountingSource
from tests.shardcore.formats.bloscpack.chunks import BYTE, make_chunk, sample
from tests.shardcore.formats.bloscpack.files import File

DATA = Path(__file__).parents[3] / "data" / "bloscpack"


def titles(trace: shardcore.Trace) -> list[str]:
    """The titles of the steps."""
    return [step.title for step in trace.steps]


@pytest.mark.parametrize(
    "key", ["", "x", "-1", "1.0", "@", "@x", "@-1", " 1", "ALL", "٣", "1" * 21, "[]", "[1,]", "[1", "[a]", "[1;2]"]
)
def test_other_keys_are_a_mistake(key: str) -> None:
    """Keys are a chunk number, `@` and a plain byte, `[i,j]`, or `all`; anything else is the caller's mistake."""
    with pytest.raises(UsageError):
        parse_key(key)


def test_forms_of_keys() -> None:
    """The four forms mean what the documentation says."""
    keys = [parse_key(key) for key in ("12", "@0", "all", "[3, -4]")]
    asked = [(KeyKind.CHUNK, 12), (KeyKind.BYTE, 0), (KeyKind.ALL, 0), (KeyKind.ELEMENT, 0)]
    assert [(key.kind, key.number) for key in keys] == asked
    assert [str(key) for key in keys] == ["12", "@0", "all", "[3,-4]"]
    assert keys[3].index == (3, -4)


def test_trace_of_an_element() -> None:
    """An element of an array becomes a plain byte by its shape and item size, and then that byte is looked up."""
    with shardcore.open(DATA / "array.blp") as shard:
        trace = shard.trace("[3,-1]")
        steps = {step.title: step for step in trace.steps}
        assert steps["Which byte"].values == {"element": 119, "itemsize": 8, "byte": 952}
        assert "3 × 30 + 29 = 119, in C order" in steps["Which byte"].text
        assert steps["Which byte"].spans == (shard.file.metadata.stored,)
        assert steps["Which chunk"].values == {"chunk": 0, "within": 952}
        assert trace.outcome == "found"
        assert shard.find_many(["[3,-1]", "[19,29]", "[20,0]", "0"]).tolist() == [0, len(shard.objects) - 1, -1, 0]
        absent = shard.trace("[20,0]")
        assert absent.outcome == "absent"
        assert absent.steps[-1].title == "Which byte"
        with pytest.raises(UsageError, match="2 axes, 20 × 30"):
            shard.find("[3]")


def test_elements_without_an_array() -> None:
    """Where no array is described, elements have the header's typesize; version 1 does not say one."""
    with shardcore.open(DATA / "codec_zstd_0.blp") as shard:
        size = shard.file.header.typesize
        steps = {step.title: step for step in shard.trace("[5]").steps}
        assert steps["Which byte"].values == {"element": 5, "itemsize": size, "byte": 5 * size}
        with pytest.raises(KeyAbsent, match="there is no element"):
            shard.find(f"[{shard.file.header.plain_size}]")
        for key in ("[1,2]", "[-1]"):
            with pytest.raises(UsageError, match="one number each"):
                shard.find(key)
    with shardcore.open(DATA / "v1.blp") as shard, pytest.raises(UsageError, match="version 1"):
        shard.find("[0]")


def test_elements_in_fortran_order() -> None:
    """Every element of a small array leads to its own bytes, in either order."""
    for order in ("C", "F"):
        array = np.arange(24, dtype="<u2").reshape((2, 3, 4), order="C")
        info = ArrayLayout(array.dtype, array.shape, order)
        flat = array.tobytes(order=order)
        for place in np.ndindex(*array.shape):
            byte = element_at(place, info).byte
            assert flat[byte : byte + 2] == array[place].tobytes()


def test_trace_of_a_plain_byte() -> None:
    """The lookup of a plain byte tells header, chunk, slot, Blosc header, digest and byte, with their places."""
    with shardcore.open(DATA / "tiny.blp") as shard:
        trace = shard.trace("@6")
        assert trace.outcome == "found"
        assert titles(trace) == [
            "Magic and version",
            "Header fields",
            "Which chunk",
            "Offset slot",
            "Blosc header",
            "Checksum",
            "Decode",
            "Found",
        ]
        steps = {step.title: step for step in trace.steps}
        assert steps["Magic and version"].spans == (Span("", 0, 5),)
        assert steps["Which chunk"].values == {"chunk": 1, "within": 2}
        assert steps["Offset slot"].spans == (Span("", 0x28, 0x30),)
        assert steps["Offset slot"].values == {"offset": 0x58}
        assert steps["Blosc header"].spans == (Span("", 0x58, 0x68),)
        assert steps["Checksum"].values == {"stored": "93b5893f", "computed": "93b5893f"}
        assert steps["Decode"].values == {"byte": ord("s"), "element": 2}
        assert trace.ref is not None
        assert trace.ref.key == "1"


def test_trace_names_the_block() -> None:
    """Where a chunk has blocks, the block of the byte is told, with the slot of its start and its streams."""
    plain = sample(4000)
    chunk = make_chunk(plain, how=BYTE, typesize=4, blocksize=1024, split=True)
    with shardcore.open(File([chunk], [4000]).write()) as shard:
        step = next(step for step in shard.trace("@1500").steps if step.title == "Block")
        assert step.values["block"] == 1
        assert "4 streams" in step.text
        assert step.spans[0] == Span("", 40 + 16 + 4, 40 + 16 + 8)
        assert shard.trace("@1500").steps[-2].values["byte"] == plain[1500]


def test_trace_skips_the_metadata() -> None:
    """The step over the metadata adds header, room and digest."""
    with shardcore.open(DATA / "meta_1.blp") as shard:
        step = next(step for step in shard.trace("0").steps if step.title == "Skip the metadata")
        assert step.values == {"next": 32 + 32 + 100}
        assert step.spans == (Span("", 32, 64),)


def test_steps_say_units_and_reasons() -> None:
    """Sentences group digits, agree in number, and say what follows from what they show."""
    with shardcore.open(DATA / "no_offsets.blp") as shard:
        texts = {step.title: step.text for step in shard.trace("@5000").steps}
    assert "byte 5000 is byte 904 of chunk 1: 5000 // 4096 = 1, 5000 mod 4096 = 904." in texts["Which chunk"]
    assert texts["Walk past chunk 0"].endswith("0x20 + 407 stored bytes + 4 of checksum = 0x1bb, where chunk 1 begins.")
    assert texts["Blosc header"].startswith("4,096 uncompressed bytes stored in 407, this header included")
    with shardcore.open(DATA / "tiny.blp") as shard:
        steps = {step.title: step for step in shard.trace("@9").steps}
        chunk = next(node for node in shard.tree.children if node.name == "chunks").children[0]
    assert "crc32, 4 bytes" in steps["Header fields"].text
    assert steps["Checksum"].text.endswith("computed e48d8445, stored e48d8445: they are equal.")
    assert "(1 byte each)" in steps["Decode"].text
    assert chunk.text == "4 uncompressed bytes stored in 20, a memcpy"


@pytest.mark.parametrize(("count", "plain", "ranges"), [(11_700, 100, 22), (100, 9000, 100)])
def test_walking_costs_at_most_one_range_per_chunk(count: int, plain: int, ranges: int) -> None:
    """Without offsets a chunk costs the headers before it: one range for each, or for many of up to 8 KiB together."""
    chunk = struct.pack("<4B3I", 2, 1, 0x02, 1, plain, plain, plain + 16) + bytes(plain)
    header = b"blpk" + struct.pack("<4B2i2q", 3, 0, 0, 1, plain, plain, count, 0)
    source = CountingSource(header + count * chunk)
    with shardcore.open(source) as shard:
        source.ranges.clear()
        shard.find(str(count - 1))
        assert len(source.ranges) == ranges


def test_trace_of_a_walk() -> None:
    """Without offsets the walk is told, one step for each chunk that is passed."""
    with shardcore.open(DATA / "no_offsets.blp") as shard:
        trace = shard.trace("2")
        assert [title for title in titles(trace) if "Walk" in title] == ["Walk past chunk 0", "Walk past chunk 1"]
        first = next(step for step in trace.steps if step.title == "Walk past chunk 0")
        assert first.spans == (Span("", 32, 48),)
        assert first.values == {"next": 32 + 407 + 4}


def test_trace_of_an_unused_slot_walks() -> None:
    """A slot of -1 is shown, and that it leads to the walk."""
    with shardcore.open(DATA / "offsets_minus1.blp") as shard:
        trace = shard.trace("1")
        slot = next(step for step in trace.steps if step.title == "Offset slot")
        assert slot.values == {"offset": -1}
        assert "not filled in: follow the chunks from the first" in slot.text
        assert "Walk past chunk 0" in titles(trace)


def test_long_walks_are_told_in_part() -> None:
    """Of a long walk the first and last steps are told."""
    chunks = [make_chunk(sample(50, n)) for n in range(100)]
    with shardcore.open(File(chunks, [50] * 100, offsets=False).write()) as shard:
        walked = [title for title in titles(shard.trace("99")) if "Walk" in title]
        assert len(walked) == 20
        assert (walked[0], walked[-1]) == ("Walk past chunk 0", "Walk past chunk 98")


@pytest.mark.parametrize("key", ["3", "@11", "99999999999999999999", "@99999999999999999999"])
def test_absent_keys_end_at_the_proof(key: str) -> None:
    """The trace of a key after the end ends absent, with the count that proves it."""
    with shardcore.open(DATA / "tiny.blp") as shard:
        trace = shard.trace(key)
        assert trace.outcome == "absent"
        assert trace.steps[-1].title in ("No such chunk", "Which chunk")
        with pytest.raises(KeyAbsent):
            shard.find(key)


def test_a_wrong_digest_ends_damaged() -> None:
    """The trace of a damaged chunk shows both digests and ends damaged; reading it raises."""
    with shardcore.open(DATA / "hostile" / "flipped.blp") as shard:
        trace = shard.trace("0")
        assert trace.outcome == "damaged"
        digest = next(step for step in trace.steps if step.title == "Checksum")
        assert digest.values["stored"] != digest.values["computed"]
        with pytest.raises(BadChecksum):
            shard.read(shard.find("0"))


def test_the_whole_content() -> None:
    """`all` is a view: one object of its own, which is no row."""
    with shardcore.open(DATA / "tiny.blp") as shard:
        ref = shard.find("all")
        assert (ref.key, ref.row, ref.size, ref.kind) == ("all", -1, 11, "content")
        assert shard.views == ("all",)
        assert shard.read(ref) == b"hello shard"
        assert shard.find_many(["all", "1", "@10", "7", "@11"]).tolist() == [-1, 1, 2, -1, -1]


def test_costs_are_told() -> None:
    """A trace says how many ranges it read and how many bytes: one range for a chunk of a large file."""
    source = CountingSource((DATA / "made" / "large.blp").read_bytes())
    with shardcore.open(source) as shard:
        source.ranges.clear()
        trace = shard.trace("7")
        assert sum(step.requests for step in trace.steps) == len(source.ranges) == 1
        assert sum(step.bytes for step in trace.steps) == 4000 + 16 + 4
