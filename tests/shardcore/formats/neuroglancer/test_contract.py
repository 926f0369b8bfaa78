"""Contracts of shards and data sets of both reference writers, the page, and the drawings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import pytest

import shardcore
import shardcore.formats.neuroglancer
from shardcore import Severity
from shardcore.formats.neuroglancer.layout import MANIFEST_HEAD, MINISHARD_INDEX, SHARD_INDEX_ENTRY
from shardcore.formats.neuroglancer.morton import encode
from shardcore.formats.neuroglancer.sharding import murmur_low64
from shardcore.model.drawing import Bits, Cells, Drawing, Sketch
from shardcore.shards.shard import Shard
from shardcore.testing import DataSetContract, PageContract, ShardContract, exercise, rounds, sampled
from shardcore.testing.drawing_contract import DrawingContract

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"
EVERY_LENGTH = 500
SAMPLES = sorted(
    path
    for pattern in ("*/0.shard", "*/1.shard", "volume/*/*.shard", "legacy_pair/0.index")
    for path in DATA.glob(pattern)
    if "hostile" not in path.parts
)


class TestSmallShards(ShardContract):
    samples = tuple(path for path in SAMPLES if path.stat().st_size < EVERY_LENGTH)
    absent = ("18446744073709551613", "4611686018427387905")
    open_ranges = find_ranges = 1

    def test_well_formed_samples_verify(self, sample: Path) -> None:
        """Many samples have other bytes where their info states skeletons or Draco."""
        with self.opened(sample) as shard:
            assert shard.verify("index").ok
            errors = {one.code for one in shard.verify().findings if one.severity is Severity.ERROR}
            assert errors <= {"neuroglancer.content"}


class TestShards(TestSmallShards):
    samples = tuple(path for path in SAMPLES if path.stat().st_size >= EVERY_LENGTH)
    alone = ("Specification", "Drop low bits", "Hash", "Split")  # where the specification is inferred from the bytes

    def test_cut_files_give_errors_or_a_partial_tree(self, sample: Path) -> None:
        data = sample.read_bytes()
        for cut in sampled(range(0, len(data), 31), rounds(self.cuts, self.quick_cuts), full=False):
            exercise(lambda **o: self.opened(self.damaged(data[:cut], sample), **o), thorough=False)  # noqa: B023


class TestDataSets(DataSetContract):
    names = ("tiny_worked_example", "tiny_worked_example_cv", "skeletons_murmur_gzip", "identity_raw")
    samples = tuple(map(DATA.joinpath, (*names, "preshift_sparse", "mesh", "legacy_pair")))
    absent = TestSmallShards.absent


class TestScales(DataSetContract):
    samples = (DATA / "volume" / "4_4_40", DATA / "volume" / "8_8_80")
    absent = TestSmallShards.absent

    def test_no_member_keeps_a_descriptor(self, sample: Path, tmp_path: Path) -> None:
        text = (DATA / "volume" / "info").read_text()
        (tmp_path / "info").write_text(text.replace(sample.name, "copy"))
        super().test_no_member_keeps_a_descriptor(sample, tmp_path)


PAGE = Path(__file__).parents[4] / "docs" / "formats" / "neuroglancer.md"


class TestNeuroglancerPage(PageContract):
    page: ClassVar = PAGE
    layouts: ClassVar = {"shard index entry": SHARD_INDEX_ENTRY, "minishard index": MINISHARD_INDEX}
    layouts |= {"manifest": MANIFEST_HEAD}


def test_hashes_on_the_page_are_right() -> None:
    pairs = re.findall(r"^\| (\d+) \| `0x([0-9a-f]{16})` \|$", PAGE.read_text(), re.MULTILINE)
    assert len(pairs) >= 4
    for key, hashed in pairs:
        assert murmur_low64(int(key)) == int(hashed, 16)


def test_every_finding_is_in_the_table() -> None:
    sources = Path(shardcore.formats.neuroglancer.__file__).parent.glob("*.py")
    used = {code for path in sources for code in re.findall(r'"(neuroglancer\.[a-z-]+)"', path.read_text())}
    told = re.findall(r"^\|[^|]*\| `(neuroglancer\.[a-z-]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert sorted(told) == sorted(used | {"neuroglancer.unreadable"})


def test_codes_on_the_page_are_right() -> None:
    rows = re.findall(r"^\| (\d+), (\d+), (\d+) \| (\d+), (\d+), (\d+) \| (\d+) \|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) >= 3
    for row in rows:
        numbers = [int(number) for number in row]
        assert encode(numbers[3:6], numbers[:3]) == numbers[6]


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
