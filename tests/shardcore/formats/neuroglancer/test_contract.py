"""What every opened shard promises, for shards of all kinds and both writers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import shardcore.formats.neuroglancer
from shardcore import Severity
from shardcore.formats.neuroglancer.layout import MANIFEST_HEAD, MINISHARD_INDEX, SHARD_INDEX_ENTRY
from shardcore.formats.neuroglancer.morton import encode
from shardcore.formats.neuroglancer.sharding import murmur_low64
from shardcore.testing import DataSetContract, PageContract, ShardContract, exercise, rounds, sampled

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
    open_ranges = 1
    find_ranges = 1

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
    samples = tuple(
        DATA / name
        for name in (
            "tiny_worked_example",
            "tiny_worked_example_cv",
            "skeletons_murmur_gzip",
            "identity_raw",
            "preshift_sparse",
            "mesh",
            "legacy_pair",
        )
    )
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
    layouts: ClassVar = {
        "shard index entry": SHARD_INDEX_ENTRY,
        "minishard index": MINISHARD_INDEX,
        "manifest": MANIFEST_HEAD,
    }


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
