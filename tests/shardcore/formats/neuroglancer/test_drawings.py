"""The ruler of bits: which bits of a key choose its file and minishard, and what other numbers of bits would do."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import shardcore
from shardcore.errors import ShardError, UsageError
from shardcore.formats.neuroglancer import bits_sketch
from shardcore.formats.neuroglancer.bits_figures import cell_figure
from shardcore.formats.neuroglancer.shard import NeuroglancerShard
from shardcore.formats.neuroglancer.sharding import MURMUR, ShardingSpec
from shardcore.model.drawing import Bits, Cells, Drawing, Sketch, Table, Tone
from shardcore.model.span import Span
from shardcore.shards.shard import Shard
from shardcore.sources.memory import BytesSource
from shardcore.teaching.drawing.layout import placed
from shardcore.testing.drawing_contract import DrawingContract
from shardcore.testing.sources import CountingSource
from tests.shardcore.formats.neuroglancer.made import build

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"
TINY = DATA / "tiny_worked_example"


class TestDrawings(DrawingContract):
    """Every rectangle stands for bytes of the tree, or is computed; every control can be set."""

    samples: ClassVar = [
        TINY / "0.shard",
        DATA / "volume" / "4_4_40" / "2.shard",
        DATA / "mesh" / "0.shard",
        DATA / "skeletons_murmur_gzip" / "0.shard",
        DATA / "preshift_sparse" / "0.shard",
        DATA / "legacy_pair",
        TINY,
    ]
    quick_samples: ClassVar[int] = 1
    names: ClassVar = ["bits"]
    absent: ClassVar = ["18446744073709551615"]
    most_keys: ClassVar[int] = 1


def bits_of(shard: Shard, key: str = "") -> Sketch:
    """The ruler of bits for a lookup, or for no lookup."""
    trace = shard.trace(key) if key else None
    return next(sketch for sketch in shard.sketches(trace) if sketch.name == "bits")


def figures(drawing: Drawing, kind: type[Any]) -> list[Any]:
    """The figures of a kind."""
    return [figure for figure in drawing.figures if isinstance(figure, kind)]


def fields(figure: Bits) -> dict[str, tuple[float, float]]:
    """The fields of a row of bits: lowest bit and number of bits."""
    return {item.text: (item.at, item.size) for item in figure.items}


def loads(figure: Cells) -> dict[int, str]:
    """What stands in cells."""
    return {int(item.at): item.text for item in figure.items}


@pytest.mark.parametrize(
    ("key", "hashed", "minishard", "shard"), [("1", 0, 0, 0), ("3", 1, 1, 0), ("9", 4, 0, 0), ("12", 6, 0, 1)]
)
def test_the_worked_example(key: str, hashed: int, minishard: int, shard: int) -> None:
    """Keys 1, 3, 9 and 12 of the format notes: bits, file and minishard."""
    with shardcore.open(TINY) as folder:
        drawing = bits_of(folder, key).draw({})
        ruler, after = figures(drawing, Bits)
        assert (ruler.width, ruler.value, fields(ruler)) == (
            64,
            int(key),
            {"dropped": (0, 1), "minishard": (1, 1), "shard": (2, 1)},
        )
        assert (after.value, fields(after)) == (hashed, {"minishard": (0, 1), "shard": (1, 1)})
        assert {item.text: item.handle for item in ruler.items} == {
            "dropped": "preshift_bits",
            "minishard": "minishard_bits",
            "shard": "shard_bits",
        }
        files, minishards = figures(drawing, Cells)
        assert [item.at for item in files.items if item.here] == [shard]
        assert [item.at for item in minishards.items if item.here] == [minishard]
        assert drawing.title == f"Key {key} belongs in minishard {minishard} of {shard}.shard"


def test_running_sums_grow_in_the_three_rows() -> None:
    """Key 9: differences 1 and 8, gaps 0 and 0, sizes 3 and 4; the sums are 1, 9 and 32, 35, each with its bytes."""
    with shardcore.open(TINY / "0.shard") as shard:
        (table,) = figures(bits_of(shard, "9").draw({}), Table)
        assert [[item.text for item in row] for row in table.rows] == [
            ["chunk_ids", "+1", "+8"],
            ["key = sum", "1", "9"],
            ["offsets", "+0", "+0"],
            ["first byte = sum", "32", "35"],
            ["sizes", "3", "4"],
        ]
        assert [row[2].spans for row in table.rows] == [
            (Span("", 47, 55),),
            (),
            (Span("", 63, 71),),
            (),
            (Span("", 79, 87),),
        ]
        assert [row[2].here for row in table.rows] == [False, True, False, True, True]


def test_dragging_moves_the_real_keys() -> None:
    """With three minishard bits the keys of 0.shard go to minishards 0, 1 and 4 of a data set that would be."""
    with shardcore.open(TINY / "0.shard") as shard:
        shard.load_index()
        sketch = bits_of(shard, "9")
        drawing = sketch.draw({"minishard_bits": 3})
        assert drawing.what_if
        files, minishards = figures(drawing, Cells)
        assert loads(files) == {0: "3 keys", 1: "0 keys"}
        assert loads(minishards) == {0: "1", 1: "1", 2: "0", 3: "0", 4: "1", 5: "0", 6: "0", 7: "0"}
        assert "3 keys would be in 3 minishards of 1 file" in drawing.caption
        assert not sketch.draw({"minishard_bits": 1}).what_if
        assert sketch.draw({}) == sketch.draw({control.name: control.value for control in sketch.controls})


def test_keys_go_where_the_specification_places_them() -> None:
    """For any numbers the loads drawn are those of `place_many`, and so is the place of the key."""
    rows = [(key, b"x") for key in range(0, 4000, 3)]
    (name, data), *_ = build(ShardingSpec(0, MURMUR, 4, 0), rows).items()
    said = ShardingSpec(0, MURMUR, 4, 0).to_json()
    keys = np.array([key for key, _ in rows], np.uint64)
    with shardcore.open(BytesSource(data, name), format="neuroglancer", spec=said) as shard:
        shard.load_index()
        sketch = bits_of(shard, "300")
        for preshift, minishard, files, hashing in ((0, 3, 2, MURMUR), (5, 4, 3, "identity"), (2, 0, 1, MURMUR)):
            numbers = {"preshift_bits": preshift, "minishard_bits": minishard, "shard_bits": files, "hash": hashing}
            spec = ShardingSpec(preshift, hashing, minishard, files)
            minishards, shards = spec.place_many(keys)
            place = spec.place(300)
            drawn_files, drawn = figures(sketch.draw(numbers), Cells)
            assert [item.at for item in drawn.items if item.here] == [place.minishard]
            for number, text in loads(drawn).items():
                count = int(np.count_nonzero((minishards == number) & (shards == place.shard)))
                assert text == f"{count:,}"
            for number, text in loads(drawn_files).items():
                assert text.split()[0].replace(",", "") == str(np.count_nonzero(shards == number))


def test_morton_bits_are_lettered() -> None:
    """Key 51 of a grid of 7 x 5 x 2 cells: x, y, z, x, y, x, y from the lowest bit; it is cell 5, 3, 0."""
    with shardcore.open(DATA / "volume" / "4_4_40" / "2.shard") as shard:
        trace = shard.trace("51")
        _, morton, _ = figures(shard.sketches(trace)[0].draw({}), Bits)
        assert "".join(morton.letters[bit][0] for bit in range(morton.width)) == "xyzxyxy"
        meaning = trace.steps[-1].drawing
        assert meaning is not None
        cell, _ = figures(meaning, Table)
        assert [[item.text for item in row[:3]] for row in cell.rows] == [
            ["x", "101", "5"],
            ["y", "011", "3"],
            ["z", "0", "0"],
        ]


def test_a_data_set_draws_the_way_to_its_files() -> None:
    """A key whose file is missing is drawn as far as that: which files are there, and which one it would be in."""
    with shardcore.open(DATA / "volume" / "4_4_40") as folder:
        there = {int(member.name[0]) for member in folder.members}  # type: ignore[attr-defined]
        bits, files = folder.sketches(folder.trace("51"))
        (cells,) = figures(files.draw({}), Cells)
        assert {int(item.at) for item in cells.items} == there
        assert all(span.source.startswith(("2.shard", "info")) for item in bits.draw({}).items for span in item.spans)
        (bare,) = folder.sketches()
        assert bare.draw({}).figures


def test_it_draws_from_what_a_lookup_read() -> None:
    """After a lookup neither the drawing nor another number of bits reads anything."""
    source = CountingSource((TINY / "0.shard").read_bytes(), "0.shard", folder=shardcore.LocalFolder(TINY))
    with shardcore.open(source) as shard:
        sketch = bits_of(shard, "9")
        source.ranges.clear()
        sketch.draw({})
        drawing = sketch.draw({"shard_bits": 2})
        assert source.ranges == []
        assert "load the index to count all" in drawing.caption


def test_more_keys_than_the_bound_are_not_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drawing says how many it counted."""
    monkeypatch.setattr(bits_sketch, "MOVED_KEYS", 2)
    with shardcore.open(TINY / "0.shard") as shard:
        shard.load_index()
        caption = bits_of(shard, "9").draw({"shard_bits": 2}).caption
        assert "2 keys would be" in caption
        assert "the first 2 of 3 keys" in caption


def test_numbers_that_cannot_be_name_the_range() -> None:
    """Each number has its range; both together have the bits of a hash."""
    with shardcore.open(TINY / "0.shard") as shard:
        sketch = bits_of(shard)
        for values, told in (
            ({"preshift_bits": 64}, "from 0 to 63"),
            ({"minishard_bits": -1}, "from 0 to 32"),
            ({"shard_bits": 33}, "from 0 to 32"),
            ({"hash": "crc32"}, "murmurhash3_x86_128"),
        ):
            with pytest.raises(UsageError, match=told):
                sketch.draw(values)


@pytest.mark.parametrize("path", sorted((DATA / "hostile").iterdir()), ids=lambda path: path.name)
def test_damaged_indices_are_drawn_or_told(path: Path) -> None:
    """Whatever a file says, a drawing is made, or an error of ours says why not."""
    try:
        shard = shardcore.open(path / "0.shard" if (path / "0.shard").exists() else path)
    except ShardError:
        return
    with shard:
        for key in ("1", "2", "7", "1000"):
            trace = shard.trace(key)
            for sketch in shard.sketches(trace):
                try:
                    drawing = sketch.draw({})
                except ShardError:
                    continue
                damaged = [item for item in drawing.items if item.tone is Tone.MISS]
                assert trace.outcome != "found" or not damaged
        if isinstance(shard, NeuroglancerShard):
            shard.load_index()
            assert bits_of(shard).draw({"shard_bits": 3}).figures


def test_a_grid_of_many_axes_is_drawn_in_part() -> None:
    """An info may state 64 axes; a drawing shows some."""
    assert len(cell_figure((1, 1, *([0] * 58)), [2] * 60).rows) == 10


def test_the_keys_of_all_open_files_are_moved() -> None:
    """Of a data set whose index is loaded, all four keys of the worked example go to the files that would be."""
    with shardcore.open(TINY) as folder:
        sketch = bits_of(folder, "12")
        assert "load the index to count all" in sketch.draw({"shard_bits": 2}).caption
        folder.load_index()
        files, _ = figures(sketch.draw({}), Cells)
        assert loads(files) == {0: "3 keys", 1: "1 key"}
        drawing = sketch.draw({"minishard_bits": 0, "shard_bits": 2})
        files, _ = figures(drawing, Cells)
        assert loads(files) == {0: "2 keys", 1: "1 key", 2: "1 key", 3: "0 keys"}
        assert (
            drawing.caption == "With these numbers 4 keys would be in 3 minishards of 3 files, 2 keys in the fullest."
        )


def test_a_field_without_bits_can_be_given_some() -> None:
    """Its handle stays: what was dragged to nothing is dragged back."""
    with shardcore.open(TINY / "0.shard") as shard:
        drawing = bits_of(shard, "9").draw({"preshift_bits": 0, "minishard_bits": 0, "shard_bits": 0})
        assert {grip.control for grip in placed(drawing, 640).grips} == {
            "preshift_bits",
            "minishard_bits",
            "shard_bits",
        }
        assert drawing.links == ()
