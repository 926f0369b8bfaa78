"""The bytes, stated once: both ways, and against bytes written out by hand."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.errors import FormatError, ShardError
from shardcore.formats.neuroglancer.layout import (
    MeshManifest,
    RangeFault,
    manifest_arrays,
    range_fault,
    range_faults,
    read_manifest,
    write_manifest,
)

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
    assert manifest.chunk_shape == (1, 2, 3)
    assert manifest.grid_origin == (4, 5, 6)
    assert manifest.lod_scales.tolist() == [1, 2]
    assert manifest.vertex_offsets.tolist() == [[0, 0, 0], [7, 8, 9]]
    assert [level.tolist() for level in manifest.positions] == [[[0, 1], [2, 3], [4, 5]], [[], [], []]]
    assert [level.tolist() for level in manifest.sizes] == [[100, 11], []]
    assert (manifest.fragments, manifest.fragments_size) == (2, 111)
    assert write_manifest(manifest) == MANIFEST


@pytest.mark.parametrize("change", [-1, 1, 4, -4])
def test_wrong_lengths(change: int) -> None:
    data = MANIFEST[:change] if change < 0 else MANIFEST + bytes(change)
    with pytest.raises(FormatError):
        read_manifest(data)


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
    positions = np.zeros((3, 3), np.uint32)
    one, origin = np.ones(1, np.float32), np.zeros((1, 3), np.float32)
    manifest = MeshManifest((1, 1, 1), (0, 0, 0), one, origin, (positions,), (sizes,))
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
    assert range_faults(np.array([[start, end]], np.uint64), 32, 116).tolist() == [fault]
    assert bool(range_fault(3, start, end, 32, 116)) == (fault != RangeFault.NONE)


def test_levels_of_detail_are_bounded() -> None:
    many = struct.pack("<6fI", 1, 1, 1, 0, 0, 0, 100_000) + bytes(20 * 100_000)
    with pytest.raises(FormatError, match="levels of detail"):
        manifest_arrays(many)
