"""Two rulers and a block, drawn: chunks and blocks on both, the walk, the matrix; worked by hand."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import shardcore
from shardcore.errors import ShardError, UsageError
from shardcore.model.drawing import Cells, Drawing, Ribbon, Ruler, Table, Tone
from shardcore.model.span import Span
from shardcore.shards.shard import Shard
from shardcore.testing.drawing_contract import DrawingContract
from shardcore.testing.sources import CountingSource

DATA = Path(__file__).parents[3] / "data" / "bloscpack"
SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "bloscpack"


class TestDrawings(DrawingContract):
    """Every rectangle stands for bytes of the tree, or is computed; every control can be set."""

    samples: ClassVar = [
        SAMPLES / "array.blp",
        DATA / "tiny.blp",
        SAMPLES / "damaged.blp",
        SAMPLES / "odd.blp",
        DATA / "empty.blp",
        DATA / "stream.blp",
        DATA / "offsets_minus1.blp",
        DATA / "codec_zstd_2.blp",
        DATA / "bitshuffle_tail.blp",
        DATA / "old_blosc.blp",
        DATA / "made" / "split.blp",
    ]
    quick_samples: ClassVar[int] = 1
    names: ClassVar = ["rulers", "block"]
    absent: ClassVar = ["99999"]
    most_keys: ClassVar[int] = 1


def drawn(shard: Shard, name: str, key: str = "", **values: object) -> Drawing:
    """A drawing of an open file."""
    sketches = shard.sketches(shard.trace(key) if key else None)
    return next(one for one in sketches if one.name == name).draw(values)


def ribbons(drawing: Drawing) -> list[Ribbon]:
    """The pairs of rulers."""
    return [figure for figure in drawing.figures if isinstance(figure, Ribbon)]


def matrix(drawing: Drawing) -> Cells:
    """The bytes of a block."""
    return next(figure for figure in drawing.figures if isinstance(figure, Cells))


def test_chunks_of_the_worked_example() -> None:
    """`hello shard` in chunks of 4: plain 0, 4, 8 above, and stored from 64, 88 and 112 below, digests included."""
    with shardcore.open(DATA / "tiny.blp") as shard:
        drawing = drawn(shard, "rulers", "@5")
    chunks, blocks = ribbons(drawing)
    assert [(band.item.at, band.item.size, band.below) for band in chunks.bands] == [
        (0, 4, (64, 88)),
        (4, 4, (88, 112)),
        (8, 3, (112, 135)),
    ]
    assert [band.item.here for band in chunks.bands] == [False, True, False]
    assert [(item.text, item.at) for item in chunks.above.items if item.size == 0] == [("byte 5", 5)]
    slots = matrix(drawing)
    assert [(item.text, item.spans) for item in slots.items] == [
        ("64", (Span("", 0x20, 0x28),)),
        ("88", (Span("", 0x28, 0x30),)),
        ("112", (Span("", 0x30, 0x38),)),
        ("spare", (Span("", 0x38, 0x40),)),
    ]
    assert [(link.start, link.stop) for link in drawing.links] == [("slot 1", "start 1")]
    assert [(band.item.text, band.below) for band in blocks.bands] == [("copied", (104, 108))]


def test_from_an_element_to_its_block() -> None:
    """[24,40] of 58 × 64 is element 1576, byte 12608, in chunk 1 byte 2368, and of its block 0 byte 2368."""
    with shardcore.open(SAMPLES / "array.blp") as shard:
        drawing = drawn(shard, "rulers", "[24,40]")
        block = drawn(shard, "block", "[24,40]")
        trace = shard.trace("[24,40]")
    way = drawing.figures[0]
    assert isinstance(way, Table)
    assert list(zip(way.headings, (item.text for item in way.rows[0]), strict=True)) == [
        ("element", "[24,40]"),
        ("uncompressed byte", "12608"),
        ("chunk", "1"),
        ("byte of it", "2368"),
        ("block", "0"),
        ("byte of it", "2368"),
    ]
    assert [item.text for item in way.rows[1]][2:4] == ["// 10240", "mod 10240"]
    here = next(item for item in matrix(block).items if item.here)
    assert here.doc.startswith("Byte 0 of element 296 of the block")
    told = {step.title: step.drawing for step in trace.steps}
    assert all(told.values())
    blosc = told["Blosc header"]
    assert blosc is not None
    fields, flags, _ = blosc.figures
    assert [item.text for item in fields.items[2::3]] == ["2", "1", "33", "8", "10240", "4096", "2330"]
    assert [item.text for item in flags.items if item.tone is Tone.KEY] == ["shuffle", "lz4"]


@pytest.mark.parametrize("name", ["offsets_minus1.blp", "no_offsets.blp", "stream.blp", "v1.blp"])
def test_without_offsets_there_is_a_walk(name: str) -> None:
    """Where no offset tells the place, one arc leads past each chunk before; -1 is said to fit nothing."""
    with shardcore.open(DATA / name) as shard:
        places = [int(shard.objects.ref(row).spans[0].start) for row in range(3)]
        drawing = drawn(shard, "rulers", "2")
    walk = next(figure for figure in drawing.figures if isinstance(figure, Ruler))
    assert [item.at for item in walk.items] == places
    arcs = [(link.start, link.stop, link.text) for link in drawing.links]
    assert arcs == [
        ("walked 0", "walked 1", f"+ {places[1] - places[0]:,}"),
        ("walked 1", "walked 2", f"+ {places[2] - places[1]:,}"),
    ]
    wrong = [item.text for figure in drawing.figures if isinstance(figure, Cells) for item in figure.items]
    assert wrong[:4] == (["-1"] * 4 if name == "offsets_minus1.blp" else [])


def test_an_offset_that_leads_elsewhere() -> None:
    """The damaged sample: slot 1 is 16 bytes off; the step and the drawing say so, and the walk finds the chunk."""
    with shardcore.open(SAMPLES / "damaged.blp") as shard:
        drawing = drawn(shard, "rulers", "1")
        steps = shard.trace("1").steps
    slot = next(item for item in matrix(drawing).items if item.here)
    assert (slot.text, slot.tone) == ("3228", Tone.MISS)
    assert [link.start for link in drawing.links] == ["walked 0"]
    told = next(step for step in steps if step.title == "Offset slot")
    assert "not where the chunk is" in told.text
    assert told.drawing is not None
    assert told.drawing.caption == told.text


def test_shuffling_transposes_the_matrix() -> None:
    """Element by element and byte by byte are the same bytes, rows and columns exchanged; runs of equal ones glow."""
    with shardcore.open(SAMPLES / "array.blp") as shard:
        plain = np.frombuffer(shard.read(shard.find("1")), np.uint8)
        memory, shuffled = (drawn(shard, "block", "1", shuffle=switch) for switch in (False, True))
    a, b = matrix(memory), matrix(shuffled)
    assert (a.columns, b.columns, len(a.items), len(b.items)) == (8, 7, 56, 56)
    values = np.array([int(item.text, 16) for item in a.items], np.uint8)
    assert np.array_equal(values, plain[:56])
    assert [item.text for item in b.items] == [f"{value:02x}" for value in values.reshape(7, 8).T.ravel()]
    for row in range(8):
        cells = b.items[7 * row : 7 * row + 7]
        if len({item.text for item in cells}) == 1:
            assert all(item.tone is Tone.HIT for item in cells)
    assert not memory.what_if
    assert not shuffled.what_if
    table = next(figure for figure in shuffled.figures if isinstance(figure, Table))
    block = plain[:4096]
    planes = block.reshape(-1, 8).T.ravel()
    counted = [int((each[1:] == each[:-1]).sum()) for each in (block, planes)]
    assert [row[1].text for row in table.rows] == [f"{count:,} of 4,096" for count in counted]
    assert counted[1] > counted[0]


def test_cells_stand_for_the_bytes_of_the_file() -> None:
    """A byte that is stored as it is stands for itself; a compressed one for its stream."""
    with shardcore.open(SAMPLES / "odd.blp") as shard:
        raw = (SAMPLES / "odd.blp").read_bytes()
        for item in matrix(drawn(shard, "block", "1")).items:
            (span,) = item.spans
            assert raw[span.start : span.stop] == bytes.fromhex(item.text)
    with shardcore.open(SAMPLES / "array.blp") as shard:
        cells = matrix(drawn(shard, "block", "@4096"))
        assert [len({item.spans for item in cells.items[7 * row : 7 * row + 7]}) for row in range(8)] == [1] * 8
        assert len({item.spans for item in cells.items}) == 8


def test_a_shuffle_that_the_file_has_not_is_a_what_if() -> None:
    """A memcpy is drawn as it is; shuffled, it is what would be."""
    with shardcore.open(SAMPLES / "odd.blp") as shard:
        assert not drawn(shard, "block", "1").what_if
        assert drawn(shard, "block", "1", shuffle=True).what_if


def test_controls() -> None:
    """Chunk and block are chosen within what there is; a chunk with fewer blocks shows its last."""
    with shardcore.open(SAMPLES / "array.blp") as shard:
        rulers = shard.sketches(shard.trace("[24,40]"))[0]
        assert [(one.name, one.value, one.low, one.high) for one in rulers.controls] == [
            ("chunk", 1, 0, 2),
            ("block", 0, 0, 2),
        ]
        assert rulers.draw({"chunk": 2, "block": 2}).title == "Location of chunk 2"
        for values in ({"chunk": 3}, {"block": 3}, {"chunk": -1}):
            with pytest.raises(UsageError, match="from 0 to 2"):
                rulers.draw(values)
        with pytest.raises(UsageError, match="yes or no"):
            shard.sketches()[1].draw({"shuffle": 2})


def test_an_absent_key_says_so() -> None:
    """Where the lookup came to no chunk the first one is drawn, and the caption says why."""
    with shardcore.open(SAMPLES / "array.blp") as shard:
        drawing = drawn(shard, "rulers", "@29696")
    assert drawing.title == "Location of chunk 0"
    assert drawing.caption.startswith("Not found: there is no uncompressed byte 29696")


def test_columns_draw_the_file_of_a_chunk() -> None:
    """A bcolz column and a table draw the file that they come to, in the words of the folder."""
    with shardcore.open(DATA / "bcolz" / "samples") as column:
        drawing = drawn(column, "rulers", "[3,1]")
        assert {span.source for item in drawing.items for span in item.spans} == {"data/__0.blp"}
        assert {sketch.name for sketch in column.sketches()} == {"rulers", "block"}
        assert drawn(column, "block").items
    with shardcore.open(DATA / "bcolz" / "prices") as table:
        name = str(table.objects.keys[0])
        drawing = drawn(table, "block", name)
        assert {span.source for item in drawing.items for span in item.spans} == {f"{name}/data/__0.blp"}


def test_damaged_files_are_drawn_or_refused() -> None:
    """A damaged file gives a drawing or a `ShardError`, and nothing else."""
    for path in sorted((DATA / "hostile").glob("*.blp")):
        try:
            with shardcore.open(path) as shard:
                for trace in (None, shard.trace("0")):
                    for sketch in shard.sketches(trace):
                        with contextlib.suppress(ShardError):
                            assert sketch.draw({}).title
        except ShardError:
            continue


def test_blocks_are_read_once() -> None:
    """What a drawing read it keeps: the next one of the same chunk reads nothing."""
    source = CountingSource((SAMPLES / "array.blp").read_bytes(), "array.blp")
    with shardcore.open(source) as shard:
        for sketch in shard.sketches(shard.trace("@4096")):
            sketch.draw({})
            source.ranges.clear()
            sketch.draw({"block": 2})
            assert source.ranges == []


def test_the_arrow_ends_where_the_chunk_begins_and_all_spare_slots_are_drawn() -> None:
    """Offset 758 points to byte 758, not into the middle of the chunk; of two spare slots two are drawn."""
    with shardcore.open("resources/samples/bloscpack/array.blp") as shard:
        drawing = shard.sketches()[0].draw({"chunk": 0})
    link = drawing.links[0]
    end = next(item for item in drawing.items if item.name == link.stop)
    assert (link.start, end.at, end.size) == ("slot 0", 758, 0)
    assert [item.name for item in drawing.items if item.text == "spare"] == ["spare 3", "spare 4"]
