from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from shardcore.testing import ShardContract

DATA = Path(__file__).parents[3] / "data" / "bloscpack"


def samples(*names: str) -> tuple[Path, ...]:
    """Samples by name."""
    return tuple(DATA / f"{name}.blp" for name in names)


class TestEveryCut(ShardContract):
    """What every shard promises, on files that are small enough to be cut at every byte."""

    samples = samples("empty", "sum_1_adler32", "tiny", "old_blosc")
    absent = ("5", "99999999999999999999", "@12001", "@18446744073709551616")
    open_ranges = 1
    find_ranges = 0
    mutations = 100


class TestSomeCuts(ShardContract):
    """The same on samples of every kind; they are cut at seeded places."""

    samples = samples(
        "append_grow",
        "append_shrink",
        "array",
        "bitshuffle_tail",
        "codec_blosclz_1",
        "codec_lz4_2",
        "codec_zlib_1",
        "meta_1",
        "meta_2",
        "no_offsets",
        "noise_level0",
        "offsets_minus1",
        "stream",
        "sum_8_sha512",
        "v1",
        "v2_offsets",
    )
    absent = ("8", "@12001")
    open_ranges = 1
    find_ranges = 0
    mutations = 30
    cuts: ClassVar[int] = 60

    def test_cut_files_give_errors_or_a_partial_tree(self, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Cutting the file gives a `ShardError`, or a shard that can still be looked at."""

        def some(shard: object, size: int) -> Sequence[int]:
            return random.Random(size).sample(range(size), self.cuts)

        monkeypatch.setattr("shardcore.testing.shard_contract.places", some)
        super().test_cut_files_give_errors_or_a_partial_tree(sample)
