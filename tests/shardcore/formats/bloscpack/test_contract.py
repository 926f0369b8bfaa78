from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from shardcore.sources.local import LocalFolder
from shardcore.testing import DataSetContract, ShardContract, rounds
from shardcore.testing.sources import CountingFolder
from tests.data.bloscpack.make import made

DATA = Path(__file__).parents[3] / "data" / "bloscpack"


def samples(*names: str) -> tuple[Path, ...]:
    """Samples by name."""
    return tuple(DATA / f"{name}.blp" for name in names)


class TestEveryCut(ShardContract):
    """What every shard promises, on files that are small enough to be cut at every byte."""

    samples = samples("empty", "tiny", "made/split", "made/plain_meta")
    absent = ("5", "99999999999999999999", "@12001", "@18446744073709551616")
    open_ranges = 1
    find_ranges = 0
    mutations = 100


class SomeCuts(ShardContract):
    """Cuts at seeded places."""

    cuts: ClassVar[int] = 50

    def test_cut_files_give_errors_or_a_partial_tree(self, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Cutting the file gives a `ShardError`, or a shard that can still be looked at."""

        def some(shard: object, size: int) -> Sequence[int]:
            return random.Random(size).sample(range(size), rounds(self.cuts, self.quick_cuts))

        monkeypatch.setattr("shardcore.testing.shard_contract.places", some)
        super().test_cut_files_give_errors_or_a_partial_tree(sample)


class TestSmallFiles(SomeCuts):
    """The same on samples of every kind, which are known as a whole when they are open."""

    samples = samples(
        "append_grow",
        "append_shrink",
        "array",
        "bitshuffle_tail",
        "codec_blosclz_1",
        "codec_lz4_2",
        "meta_1",
        "no_offsets",
        "offsets_minus1",
        "old_blosc",
        "stream",
        "sum_8_sha512",
        "v1",
        "v2_offsets",
    )
    absent = ("8", "@12001")
    open_ranges = 1
    find_ranges = 0
    mutations = 30


class TestLargeFileWithOffsets(SomeCuts):
    """The same on a file that the first read does not bring: a chunk is found without a further read."""

    samples = samples("made/large")
    absent = ("20", "@77234")
    open_ranges = 1
    find_ranges = 0
    mutations = 30


class TestLargeFileWithoutOffsets(SomeCuts):
    """The same where chunks must be walked to: one read for each chunk before, and one for the header."""

    samples = samples("made/large_walk", "made/large_stream")
    absent = ("20", "@77234")
    open_ranges = 1
    find_ranges = 3
    mutations = 30


def test_made_samples_are_what_the_script_makes() -> None:
    """The samples under `made/` come from the script beside them, byte by byte."""
    assert {path.name: path.read_bytes() for path in (DATA / "made").iterdir()} == made()


class KnownFromTheStart(DataSetContract):
    """Folders whose objects are told by their names: they are listed before anything is loaded."""

    def test_plain_words_are_true_at_once(self, sample: Path) -> None:
        """Length, keys and order are those after `load_index`, also when nobody called it; sizes come with it."""
        with self.opened(sample) as late, self.opened(sample) as early:
            late.load_index()
            assert early.objects.keys[:] == late.objects.keys[:]
            assert early.declared_objects == late.declared_objects == len(late.objects) == len(early.objects)
            told, known = early.objects[:].size, late.objects[:].size
            assert told[:-1].tolist() == known[:-1].tolist()
            assert told[-1] in (-1, known[-1])

    def test_what_is_cheap_reads_nothing(self, sample: Path) -> None:
        """What the window asks on its own thread is answered from memory, before and after `load_index`."""
        folder = CountingFolder(LocalFolder(sample))
        with self.opened(folder) as found:
            for _ in range(2):
                before = len(folder.ranges), folder.listed
                assert found.listing is not None
                assert found.declared_objects == len(found.listing) == len(found.objects)
                _ = found.members, found.fields, found.index_bytes, found.parameters, found.listing.keys[:]
                assert [node.name for node in found.tree.children]
                assert (len(folder.ranges), folder.listed) == before
                found.load_index()


class TestColumns(KnownFromTheStart):
    """Columns of bcolz."""

    samples = (DATA / "bcolz" / "samples", DATA / "bcolz" / "prices" / "close")
    absent = ("13", "@12000", "99999999999999999999")


class TestTables(KnownFromTheStart):
    """Tables of bcolz."""

    samples = (DATA / "bcolz" / "prices",)
    absent = ("volume", "", "all", "0", "close/data/__0.blp")
