"""Sparse files of a few KB, of every format: samples with a hole in the middle, at the end, or in front of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.hostile.making import ALL, Hostile

DATA = Path(__file__).parents[1] / "data"
SAMPLES = {
    "bloscpack": ("bloscpack/codec_zstd_1.blp", "0"),
    "des": ("des/zstd.des", "0"),
    "mdb": ("mdb/derived/plain_no_tables.mdb", "file:" + "01" * 32),
    "neuroglancer": ("neuroglancer/mesh/0.shard", "1"),
    "swh": ("swh/small.shard", "00" * 32),
    "xorb": ("xorb/lz4.xorb", "0"),
}
"""A sample of each format, and a key."""

HOLES = {"gigabytes": 3 << 30, "terabytes": 2**42}
"""Sizes of the holes."""


def _with_hole(path: Path, sample: bytes, at: int, hole: int) -> None:
    """A copy of a sample with a hole at an offset."""
    with path.open("wb") as file:
        file.write(sample[:at])
        file.seek(at + hole)
        file.write(sample[at:])
        file.truncate(at + hole + len(sample) - at)


def _maker(sample: str, share: float, hole: int) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        source = DATA / sample
        beside = source.parent / "info"
        if beside.is_file():
            (folder / "info").write_bytes(beside.read_bytes())
        data = source.read_bytes()
        _with_hole(folder / source.name, data, int(share * len(data)), hole)
        return folder / source.name

    return make


for _format, (_sample, _key) in SAMPLES.items():
    for _size, _hole in HOLES.items():
        for _place, _share in (("in-the-middle", 0.5), ("at-the-end", 1.0), ("after-the-head", 0.05)):
            _name, _why = f"sparse-{_size}-{_place}", f"A sample with a hole of {_size} {_place.replace('-', ' ')}."
            ALL.append(Hostile(_format, _name, _maker(_sample, _share, _hole), (_key,), _why, sparse=True))
