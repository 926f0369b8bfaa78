"""The contract of every shard, on containers."""

from pathlib import Path
from typing import ClassVar

from shardcore.testing import ShardContract

DATA = Path(__file__).parents[2] / "data" / "containers"


class TestNpyContract(ShardContract):
    samples: ClassVar = sorted(DATA.glob("*.npy"))
    absent: ClassVar = ["nobody", "0"]
    open_ranges = 1
    find_ranges = 0


class TestSafetensorsContract(ShardContract):
    samples: ClassVar = sorted(DATA.glob("*.safetensors"))
    absent: ClassVar = ["nobody", "__metadata__"]
    open_ranges = 1
    find_ranges = 0


class TestZipContract(ShardContract):
    samples: ClassVar = sorted(path for path in DATA.glob("*.zip") if path.name != "prefixed.zip")
    absent: ClassVar = ["nobody", "folder/"]
    open_ranges = 3
    find_ranges = 1


class TestGzipContract(ShardContract):
    samples: ClassVar = sorted(DATA.glob("*.gz"))
    absent: ClassVar = ["nobody", "9"]
    open_ranges = 1
    find_ranges = 20


class TestZstdContract(ShardContract):
    samples: ClassVar = sorted(DATA.glob("*.zst"))
    absent: ClassVar = ["nobody", "9"]
    open_ranges = 2
    find_ranges = 20
