"""Layouts: manifests, index ranges, minishard indices, compressed Morton codes."""

from __future__ import annotations

import itertools
import math
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.errors import FormatError, ShardError, UsageError
from shardcore.formats.neuroglancer import layout
from shardcore.formats.neuroglancer.layout import (
    MeshManifest,
    RangeFault,
    entries_of,
    index_of,
    read_manifest,
)
from shardcore.formats.neuroglancer.morton import bit_owners, decode, decode_many, encode, encode_many, grid_of
from tests.samples.shapes import write_manifest

# One level with two fragments, a coarser one with none.
MANIFEST = b"".join(
    [
        struct.pack("<3f", 1, 2, 3),  # chunk_shape
        struct.pack("<3f", 4, 5, 6),  # grid_origin
        struct.pack("<I", 2),  # num_lods
        struct.pack("<2f", 1, 2),  # lod_scales
        struct.pack("<6f", 0, 0, 0, 7, 8, 9),  # vertex_offsets
        struct.pack("<2I", 2, 0),  # num_fragments_per_lod
        struct.pack("<6I", 0, 1, 2, 3, 4, 5),  # positions of level 0: x, x, y, y, z, z
        struct.pack("<2I", 100, 11),  # sizes of level 0
    ]
)


def test_manifest_by_hand() -> None:
    manifest = read_manifest(MANIFEST)
    assert (manifest.chunk_shape, manifest.grid_origin) == ((1, 2, 3), (4, 5, 6))
    assert manifest.lod_scales.tolist() == [1, 2]
    assert manifest.vertex_offsets.tolist() == [[0, 0, 0], [7, 8, 9]]
    assert [level.tolist() for level in manifest.positions] == [[[0, 1], [2, 3], [4, 5]], [[], [], []]]
    assert [level.tolist() for level in manifest.sizes] == [[100, 11], []]
    assert (manifest.fragments, manifest.fragments_size) == (2, 111)
    assert write_manifest(manifest) == MANIFEST
    for data in (MANIFEST[:-1], MANIFEST[:-4], MANIFEST + b"\0", MANIFEST + bytes(4)):
        with pytest.raises(FormatError):
            read_manifest(data)
    many = struct.pack("<6fI", 1, 1, 1, 0, 0, 0, 100_000) + bytes(20 * 100_000)
    with pytest.raises(FormatError, match="levels of detail"):
        layout.manifest_arrays(many)


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    try:
        manifest = read_manifest(data)
    except ShardError:
        return
    assert write_manifest(manifest) == data


def test_the_manifest_behind_fragments_is_found() -> None:
    for size in range(100, 108):
        manifest = replace(read_manifest(MANIFEST), sizes=(np.array([size, 7], "<u4"), np.zeros(0, "<u4")))
        value = b"DRACO".ljust(size + 7, b"\1") + write_manifest(manifest)
        with pytest.raises(FormatError, match=f"begins after {size + 7} bytes"):
            read_manifest(value)
    nested = bytearray(1 << 17)
    for at in range(0, len(nested) - 200, 64):
        nested[at : at + 28] = b"DRACO".ljust(24, b"\0") + struct.pack("<I", 1)
        nested[at + 44 : at + 48] = struct.pack("<I", (len(nested) - at - 48) // 16)
    with pytest.raises(FormatError, match="no manifest"):
        read_manifest(bytes(nested))


def test_sizes_are_summed_beyond_32_bits() -> None:
    sizes = np.full(3, 2**32 - 1, np.uint32)
    one, origin = np.ones(1, np.float32), np.zeros((1, 3), np.float32)
    manifest = MeshManifest((1, 1, 1), (0, 0, 0), one, origin, (np.zeros((3, 3), np.uint32),), (sizes,))
    assert read_manifest(write_manifest(manifest)).fragments_size == 3 * (2**32 - 1)


@pytest.mark.parametrize(
    ("start", "end", "fault"),
    [
        (0, 0, RangeFault.NONE),
        (0, 84, RangeFault.NONE),
        (0, 85, RangeFault.OUTSIDE),
        (2**64 - 2, 2**64 - 1, RangeFault.OUTSIDE),
        (55, 7, RangeFault.BACKWARD),
        (2**64 - 1, 0, RangeFault.BACKWARD),
        (2**64 - 1, 2**64 - 1, RangeFault.NONE),
    ],
)
def test_ranges_of_the_shard_index(start: int, end: int, fault: RangeFault) -> None:
    assert layout.range_faults(np.array([[start, end]], np.uint64), 32, 116).tolist() == [fault]
    assert bool(layout.range_fault(3, start, end, 32, 116)) == (fault != RangeFault.NONE)


def test_the_worked_example() -> None:
    index = struct.pack("<6Q", 1, 8, 0, 0, 3, 4)
    entries = entries_of([index], [0], 32, 116)
    columns = entries.ids, entries.starts, entries.sizes, entries.inside, entries.wrapped
    assert [column.tolist() for column in columns] == [[1, 9], [32, 35], [3, 4], [True] * 2, [False] * 2]
    assert index_of(entries.ids, entries.starts, entries.sizes, 32) == index


@pytest.mark.parametrize(
    ("gap", "size", "inside"),
    [(0, 84, True), (84, 0, True), (0, 85, False), (85, 0, False), (2**64 - 16, 4, False), (0, 2**64 - 1, False)],
)
def test_values_outside_the_file(gap: int, size: int, inside: bool) -> None:
    entries = entries_of([struct.pack("<3Q", 5, gap, size)], [0], 16, 100)
    assert entries.inside.tolist() == [inside]


@pytest.mark.parametrize(
    ("grid", "cell", "code"),
    [
        ((4, 2, 1), (2, 1, 0), 6),
        ((4, 2, 1), (3, 1, 0), 7),
        ((7, 5, 2), (5, 3, 0), 51),
        ((7, 5, 2), (6, 4, 1), 108),
        ((43, 9, 300), (42, 8, 299), 314924),
        ((43, 9, 300), (5, 7, 130), 131315),
        ((1, 1, 1), (0, 0, 0), 0),
        ((2**64,), (2**64 - 1,), 2**64 - 1),
        ((2**32, 2**32), (2**32 - 1,) * 2, 2**64 - 1),
        ((2**22, 2**21, 2**21), (2**22 - 1, 2**21 - 1, 2**21 - 1), 2**64 - 1),
    ],
)
def test_vectors(grid: tuple[int, ...], cell: tuple[int, ...], code: int) -> None:
    assert (encode(cell, grid), decode(code, grid)) == (code, cell)
    assert encode_many(np.array([cell], dtype=np.uint64), grid).tolist() == [code]
    cells, valid = decode_many(np.array([code], dtype=np.uint64), grid)
    assert (cells.tolist(), valid.tolist()) == ([list(cell)], [True])


@pytest.mark.parametrize("grid", [(7, 5, 2), (1, 1, 1), (3,), (2, 1, 5, 3), (16, 4)])
def test_every_cell_of_small_grids(grid: tuple[int, ...]) -> None:
    cells = list(itertools.product(*(range(length) for length in grid)))
    codes = [encode(cell, grid) for cell in cells]
    assert len(set(codes)) == math.prod(grid)
    assert [decode(code, grid) for code in codes] == cells
    every = np.arange(1 << (len(bit_owners(grid)) + 1), dtype=np.uint64)
    decoded, valid = decode_many(every, grid)
    assert every[valid].tolist() == encode_many(decoded[valid], grid).tolist() == sorted(codes)


def test_grid_of_a_volume() -> None:
    assert grid_of((50, 34, 9), (8, 8, 8)) == (7, 5, 2)
    assert grid_of((8, 8, 8), (8, 8, 8)) == (1, 1, 1)
    for sizes in (((8, 8), (8, 8, 8)), ((8, 8, 8), (8, 0, 8))):
        with pytest.raises(FormatError):
            grid_of(*sizes)


def test_what_is_outside_is_refused() -> None:
    grid = (7, 5, 2)
    for cell in ((7, 0, 0), (0, 0, 2), (-1, 0, 0), (0, 0), (0, 0, 0, 0)):
        with pytest.raises(UsageError):
            encode(cell, grid)
    for cells in ([[0, 0, 0], [0, 5, 0]], [[0, 0], [0, 0]]):
        with pytest.raises(UsageError):
            encode_many(np.array(cells, dtype=np.uint64), grid)
    for code in (10, 16, 2**63, 2**64 - 1, -1):
        with pytest.raises(FormatError):
            decode(code, (4, 3, 1))
    for wrong in ((2**22, 2**22, 2**21), (0, 1, 1), (-4, 1, 1)):
        with pytest.raises(FormatError):
            bit_owners(wrong)
