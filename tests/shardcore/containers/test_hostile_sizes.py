"""Sizes that no file has: the part is damaged, the others and the structure are shown."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import shardcore
from shardcore.model.objects import State

ONES = 0xFFFFFFFF
HUGE = (1 << 64) - 1


def npy(shape: str) -> bytes:
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + b"abc"


ZSTD = b"\x28\xb5\x2f\xfd\xe0" + HUGE.to_bytes(8, "little") + b"\x01\x00\x00"


def zip64(size: int, stored: int) -> bytes:
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 45, 0, 0, 0, 0, 0, ONES, ONES, 1, 0) + b"a" + b"hello"
    extra = struct.pack("<HHQQ", 1, 16, size, stored)
    entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 45, 45, 0, 0, 0, 0, 0, ONES, ONES, 1, len(extra), 0, 0, 0, 0, 0)
    entry += b"a" + extra
    return local + entry + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(entry), len(local), 0)


FILES = {"npy": npy(f"({1 << 62}, 8)"), "zstd": ZSTD, "size.zip": zip64(HUGE, 5), "stored.zip": zip64(5, HUGE)}


@pytest.mark.parametrize("name", list(FILES))
def test_a_size_beyond_all_files_damages_its_part_alone(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])
    with shardcore.open(path) as shard:
        shard.load_index()
        assert (shard.objects.ref(0).state, bool(shard.objects.ref(0).error)) == (State.DAMAGED, True)
        assert shard.sections[-1].stop == path.stat().st_size
        assert not shard.verify().ok


def test_sums_of_sizes_do_not_wrap(tmp_path: Path) -> None:
    size = (1 << 62) - 1
    path = tmp_path / "x.zip"
    one = zip64(size, 5)
    start = one.index(b"PK\1\2")
    local, entry = one[:start], one[start:-22]
    count = 3
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, count * len(entry), len(local), 0)
    path.write_bytes(local + count * entry + end)
    with shardcore.open(path) as first, shardcore.open(path) as second:
        found = shardcore.diff(first, second, contents=False)
    assert sum(found.sizes.values()) == count * size
