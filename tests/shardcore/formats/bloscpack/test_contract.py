from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from shardcore.testing import DataSetContract, ShardContract
from tests.data.bloscpack.make import made

DATA = Path(__file__).parents[3] / "data" / "bloscpack"


def samples(*names: str) -> tuple[Path, ...]:
    return tuple(DATA / f"{name}.blp" for name in names)


SMALL = ("append_grow", "append_shrink", "array", "bitshuffle_tail", "codec_blosclz_1", "codec_lz4_2", "meta_1")
SMALL += ("no_offsets", "offsets_minus1", "old_blosc", "stream", "sum_8_sha512", "v1", "v2_offsets")


class TestEveryCut(ShardContract):
    samples = samples("empty", "tiny", "made/split", "made/plain_meta")
    cuts = 150
    absent = ("5", "99999999999999999999", "@12001", "@18446744073709551616")
    open_ranges = 1
    find_ranges = 0
    mutations = 40


class SomeCuts(ShardContract):
    cuts: ClassVar[int] = 10


class TestSmallFiles(SomeCuts):
    samples = samples(*SMALL)
    absent = ("8", "@12001")
    open_ranges = 1
    find_ranges = 0
    mutations = 8


class TestLargeFileWithOffsets(SomeCuts):
    samples = samples("made/large")
    absent = ("20", "@77234")
    open_ranges = 1
    find_ranges = 0
    mutations = 8


class TestLargeFileWithoutOffsets(SomeCuts):
    samples = samples("made/large_walk", "made/large_stream")
    absent = ("20", "@77234")
    open_ranges = 1
    find_ranges = 3
    mutations = 8


def test_made_samples_are_what_the_script_makes() -> None:
    assert {path.name: path.read_bytes() for path in (DATA / "made").iterdir()} == made()


class TestColumns(DataSetContract):
    listed = True
    samples = (DATA / "bcolz" / "samples", DATA / "bcolz" / "prices" / "close")
    absent = ("13", "@12000", "99999999999999999999")


class TestTables(DataSetContract):
    listed = True
    samples = (DATA / "bcolz" / "prices",)
    absent = ("volume", "", "all", "0", "close/data/__0.blp")


class TestFiles(DataSetContract):
    listed = True
    samples = (DATA / "files",)
    absent = ("hello", "", "all", "0", "inner", "hello.txt.blp")
    alone: ClassVar = ("Which file",)
