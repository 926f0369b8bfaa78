"""The ruler of bits: which bits of a key choose its file and minishard, and what other numbers of bits would do."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

import shardcore
from shardcore.model.drawing import Bits, Cells, Drawing, Sketch
from shardcore.shards.shard import Shard
from shardcore.testing.drawing_contract import DrawingContract

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"
TINY = DATA / "tiny_worked_example"


class TestDrawings(DrawingContract):
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
    trace = shard.trace(key) if key else None
    return next(sketch for sketch in shard.sketches(trace) if sketch.name == "bits")


def figures(drawing: Drawing, kind: type[Any]) -> list[Any]:
    return [figure for figure in drawing.figures if isinstance(figure, kind)]


def fields(figure: Bits) -> dict[str, tuple[float, float]]:
    return {item.text: (item.at, item.size) for item in figure.items}


@pytest.mark.parametrize(
    ("key", "hashed", "minishard", "shard"), [("1", 0, 0, 0), ("3", 1, 1, 0), ("9", 4, 0, 0), ("12", 6, 0, 1)]
)
def test_the_worked_example(key: str, hashed: int, minishard: int, shard: int) -> None:
    with shardcore.open(TINY) as folder:
        drawing = bits_of(folder, key).draw({})
        ruler, after = figures(drawing, Bits)
        assert (ruler.width, ruler.value, fields(ruler)) == (
            64,
            int(key),
            {"dropped": (0, 1), "minishard": (1, 1), "shard": (2, 1)},
        )
        assert (after.value, fields(after)) == (hashed, {"minishard": (0, 1), "shard": (1, 1)})
        files, minishards = figures(drawing, Cells)
        assert [item.at for item in files.items if item.here] == [shard]
        assert [item.at for item in minishards.items if item.here] == [minishard]


def test_a_data_set_is_drawn_with_and_without_a_lookup() -> None:
    with shardcore.open(DATA / "volume" / "4_4_40") as folder:
        for trace in (None, folder.trace("51")):
            assert all(sketch.draw({}).figures for sketch in folder.sketches(trace))
