"""What every opened shard promises, for shards of all kinds and both writers."""

from __future__ import annotations

from pathlib import Path

from shardcore.testing import ShardContract, exercise, sampled

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"
EVERY_LENGTH = 500
SAMPLES = sorted(
    path
    for pattern in ("*/0.shard", "*/1.shard", "volume/*/*.shard", "legacy_pair/0.index")
    for path in DATA.glob(pattern)
    if "hostile" not in path.parts
)


class TestSmallShards(ShardContract):
    """The contract over the smaller samples, which are cut at every length."""

    samples = tuple(path for path in SAMPLES if path.stat().st_size < EVERY_LENGTH)
    absent = ("18446744073709551613", "4611686018427387905")
    open_ranges = 1
    find_ranges = 1


class TestShards(ShardContract):
    """The contract over the other samples."""

    samples = tuple(path for path in SAMPLES if path.stat().st_size >= EVERY_LENGTH)
    absent = TestSmallShards.absent
    open_ranges = 1
    find_ranges = 1

    def test_cut_files_give_errors_or_a_partial_tree(self, sample: Path) -> None:
        """Cutting the file at every 31st length gives a `ShardError`, or a shard that can still be looked at."""
        data = sample.read_bytes()
        for cut in sampled(range(0, len(data), 31), self.quick_cuts):
            exercise(lambda **o: self.opened(self.damaged(data[:cut], sample), **o), thorough=False)  # noqa: B023
