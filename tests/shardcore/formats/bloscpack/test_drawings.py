"""Two rulers and a block, drawn: chunks and blocks on both, the walk, the matrix; worked by hand."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import ClassVar

import numpy as np

import shardcore
from shardcore.errors import ShardError
from shardcore.model.drawing import Cells, Drawing, Tone
from shardcore.shards.shard import Shard
from shardcore.testing.drawing_contract import DrawingContract

DATA = Path(__file__).parents[3] / "data" / "bloscpack"
SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "bloscpack"


class TestDrawings(DrawingContract):
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
    sketches = shard.sketches(shard.trace(key) if key else None)
    return next(one for one in sketches if one.name == name).draw(values)


def matrix(drawing: Drawing) -> Cells:
    return next(figure for figure in drawing.figures if isinstance(figure, Cells))


def test_shuffling_transposes_the_matrix() -> None:
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


def test_columns_draw_the_file_of_a_chunk() -> None:
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
    for path in sorted((DATA / "hostile").glob("*.blp")):
        try:
            with shardcore.open(path) as shard:
                for trace in (None, shard.trace("0")):
                    for sketch in shard.sketches(trace):
                        with contextlib.suppress(ShardError):
                            assert sketch.draw({}).title
        except ShardError:
            continue
