"""Contracts of Read Shards and their page."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import ClassVar

import pytest

import shardcore
from shardcore.formats.swh import layout
from shardcore.model.drawing import Cells, Drawing, Ruler, Sketch, Table, Tone
from shardcore.shards.shard import Shard
from shardcore.testing import DataSetContract, PageContract, ShardContract
from shardcore.testing.drawing_contract import DrawingContract
from shardcore.testing.sources import CountingSource
from tests.shardcore.formats.swh.sections import DIGIT_ROWS, DIGITS

DATA = Path(__file__).parents[3] / "data" / "swh"


class TestSwhContract(ShardContract):
    samples: ClassVar = [DATA / f"{name}.shard" for name in ("one", "small", "deleted", "legacy", "medium")]
    absent: ClassVar = ["00" * 32, "ff" * 32, "0123456789abcdef" * 4]
    alone: ClassVar = ("The key as eight numbers",)
    open_ranges = 2
    find_ranges = 2


class TestSwhDataSet(DataSetContract):
    samples: ClassVar = [DATA]
    absent: ClassVar = TestSwhContract.absent
    alone: ClassVar = ("The key as eight numbers", "Which shard")


class TestSwhPage(PageContract):
    page: ClassVar = Path(__file__).parents[4] / "docs" / "formats" / "swh.md"
    records = (layout.HEADER, layout.OBJECT, layout.SLOT, layout.HASH_HEAD, layout.HASH_TAIL, layout.DIRECTORY_ENTRY)
    layouts: ClassVar = {record.name: record for record in records}


class TestDrawings(DrawingContract):
    samples: ClassVar = [DATA / f"{name}.shard" for name in ("small", "deleted", "medium", "one")]
    quick_samples: ClassVar[int] = 1
    names: ClassVar = ["parking", "displacement"]
    absent: ClassVar = ["ab" * 32]
    most_keys: ClassVar[int] = 1


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("ten") / "ten.shard"
    with shardcore.create(path, format="swh", seed=6) as writer:
        writer.add_many(None, [text.encode() for text, *_ in DIGIT_ROWS])
    assert path.read_bytes().endswith(DIGITS)
    return path.read_bytes()


def parking_of(shard: Shard, text: str) -> Sketch:
    sketches = shard.sketches(shard.trace(hashlib.sha256(text.encode()).hexdigest()))
    return next(sketch for sketch in sketches if sketch.name == "parking")


def parts(drawing: Drawing) -> tuple[list[Table], list[Cells]]:
    """The tables, and the cells, of which the last are the ring of slots."""
    cells = [figure for figure in drawing.figures if isinstance(figure, Cells)]
    return [figure for figure in drawing.figures if isinstance(figure, Table)], sorted(cells, key=lambda one: one.ring)


@pytest.mark.parametrize(("text", "g", "f", "h", "d", "slot"), [(row[0], *row[4:]) for row in DIGIT_ROWS])
def test_the_worked_example_parks(ten: bytes, text: str, g: int, f: int, h: int, d: int, slot: int) -> None:
    with shardcore.open(ten) as shard:
        parking = parking_of(shard, text)
        drawing = parking.draw({})
        (mixed, keys), cells = parts(drawing)
        assert [re.findall(r"\d+", item.text) for item in mixed.rows[0][2:]] == [[str(g)], [str(f)], [str(h)]]
        assert [(item.at, item.text) for item in cells[0].items if item.here] == [(g, f"d = {d}")]
        assert (parking.controls[0].value, int(keys.rows[0][2].text)) == (d, slot)
        assert [item.at for item in cells[-1].items if item.here] == [slot]
        assert not drawing.what_if


def test_the_slider_moves_all_keys_of_the_bucket_until_they_fit(ten: bytes) -> None:
    with shardcore.open(ten) as shard:
        parking = parking_of(shard, "1")
        for tried in range(5):
            drawing = parking.draw({"displacement": tried})
            (_, keys), cells = parts(drawing)
            assert (len(keys.rows), drawing.what_if) == (3, tried != 4)
            red = {int(row[2].text) for row in keys.rows if row[3].text != "fits"}
            assert bool(red) == (tried != 4)
            assert {item.at for item in cells[-1].items if item.tone is Tone.MISS} == red


def test_a_large_shard_draws_the_key_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shardcore.teaching.swh import displacement as hashing

    monkeypatch.setattr(hashing, "HASHED_KEYS", 100)
    source = CountingSource((DATA / "medium.shard").read_bytes())
    with shardcore.open(source) as shard:
        key = shard.objects.keys[7]

        parking = shard.sketches(shard.trace(key))[0]
        source.ranges.clear()
        drawing = parking.draw({})
        assert len(parts(drawing)[0][1].rows) == 1
        assert "The other keys of the bucket are drawn only for" in drawing.caption
        assert sum(stop - start for start, stop in source.ranges) <= 400
        (ring,) = (figure for figure in drawing.figures if isinstance(figure, Ruler))
        assert (ring.start, ring.stop) == (0, 2027)
        assert drawing.more == 2027 - 9


def test_a_folder_draws_its_first_shard() -> None:
    with shardcore.open(DATA, format="swh") as shard:
        drawing = shard.sketches()[0].draw({})
        assert len({span.source for item in drawing.items for span in item.spans}) == 1
