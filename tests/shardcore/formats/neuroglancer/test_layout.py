"""The bytes, stated once: both ways, and against bytes written out by hand."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.errors import FormatError, ShardError
from shardcore.formats.neuroglancer.layout import (
    MINISHARD_INDEX,
    SHARD_INDEX_ENTRY,
    MeshManifest,
    RangeFault,
    entry_count,
    fragments_span,
    is_whole,
    manifest_arrays,
    range_fault,
    range_faults,
    read_manifest,
    values_inside,
    write_manifest,
)

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"

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


def test_shard_index_of_the_worked_example() -> None:
    """The first 32 bytes of the worked example are (7, 55) and (60, 84)."""
    data = bytes.fromhex("0700000000000000 3700000000000000 3c00000000000000 5400000000000000")
    assert (DATA / "tiny_worked_example" / "0.shard").read_bytes()[:32] == data
    rows = SHARD_INDEX_ENTRY.read(data, count=2)
    assert rows.tolist() == [(7, 55), (60, 84)]
    assert SHARD_INDEX_ENTRY.write(rows) == data


def test_minishard_index_of_the_worked_example() -> None:
    """Bytes 39..87 are three rows of two: ids 1 and +8, gaps 0 and 0, sizes 3 and 4."""
    data = (DATA / "tiny_worked_example" / "0.shard").read_bytes()[39:87]
    columns = MINISHARD_INDEX.read(data, 2)
    assert {name: column.tolist() for name, column in columns.items()} == {
        "chunk_ids": [1, 8],
        "offsets": [0, 0],
        "sizes": [3, 4],
    }
    assert MINISHARD_INDEX.write(columns) == data


def test_manifest_by_hand() -> None:
    """Bytes written out by hand are read as meant and written back equal."""
    manifest = read_manifest(MANIFEST)
    assert manifest.chunk_shape == (1, 2, 3)
    assert manifest.grid_origin == (4, 5, 6)
    assert manifest.lod_scales.tolist() == [1, 2]
    assert manifest.vertex_offsets.tolist() == [[0, 0, 0], [7, 8, 9]]
    assert [level.tolist() for level in manifest.positions] == [[[0, 1], [2, 3], [4, 5]], [[], [], []]]
    assert [level.tolist() for level in manifest.sizes] == [[100, 11], []]
    assert (manifest.fragments, manifest.fragments_size) == (2, 111)
    assert write_manifest(manifest) == MANIFEST


def test_arrays_tile_the_manifest() -> None:
    """The arrays follow the head without a gap and end with the manifest."""
    arrays = manifest_arrays(MANIFEST)
    assert arrays[0].start == 28
    assert [a.stop for a in arrays[:-1]] == [a.start for a in arrays[1:]]
    assert arrays[-1].stop == len(MANIFEST)


@pytest.mark.parametrize("change", [-1, 1, 4, -4])
def test_wrong_lengths(change: int) -> None:
    """A manifest that is longer or shorter than its counts say is refused."""
    data = MANIFEST[:change] if change < 0 else MANIFEST + bytes(change)
    with pytest.raises(FormatError):
        read_manifest(data)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_absurd_counts_are_not_believed(lods: int, count: int) -> None:
    """Counts beyond the bytes that are there give an error, not an allocation."""
    data = bytearray(MANIFEST)
    data[24:28] = struct.pack("<I", lods)
    data[60:64] = struct.pack("<I", count)
    try:
        manifest = read_manifest(bytes(data))
    except ShardError:
        return
    assert 28 + 20 * len(manifest.lod_scales) + 16 * manifest.fragments == len(data)


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    """Any bytes are a manifest that is written back equal, or give a ShardError."""
    try:
        manifest = read_manifest(data)
    except ShardError:
        return
    assert write_manifest(manifest) == data


def test_the_manifest_behind_fragments_is_found() -> None:
    """At any offset, whatever Draco data lies before it; values of Draco data within Draco data have none."""
    for size in range(100, 108):
        manifest = replace(read_manifest(MANIFEST), sizes=(np.array([size, 7], "<u4"), np.zeros(0, "<u4")))
        value = b"DRACO".ljust(size + 7, b"\1") + write_manifest(manifest)
        with pytest.raises(FormatError, match=f"begins {size + 7} bytes later"):
            read_manifest(value)
    nested = bytearray(1 << 17)
    for at in range(0, len(nested) - 200, 64):
        nested[at : at + 28] = b"DRACO".ljust(24, b"\0") + struct.pack("<I", 1)
        nested[at + 44 : at + 48] = struct.pack("<I", (len(nested) - at - 48) // 16)
    with pytest.raises(FormatError, match="no manifest"):
        read_manifest(bytes(nested))


def test_sizes_are_summed_beyond_32_bits() -> None:
    """Fragments of more than 4 GiB in all do not wrap."""
    sizes = np.full(3, 2**32 - 1, np.uint32)
    positions = np.zeros((3, 3), np.uint32)
    one, origin = np.ones(1, np.float32), np.zeros((1, 3), np.float32)
    manifest = MeshManifest((1, 1, 1), (0, 0, 0), one, origin, (positions,), (sizes,))
    assert read_manifest(write_manifest(manifest)).fragments_size == 3 * (2**32 - 1)


@pytest.mark.parametrize(
    ("start", "end", "fault", "text"),
    [
        (0, 0, RangeFault.NONE, ""),
        (7, 55, RangeFault.NONE, ""),
        (0, 84, RangeFault.NONE, ""),
        (0, 85, RangeFault.OUTSIDE, "minishard 3: its index ends at byte 0x75; the file ends at 0x74"),
        (
            2**64 - 2,
            2**64 - 1,
            RangeFault.OUTSIDE,
            f"minishard 3: its index ends at byte {2**64 + 31:#x}; the file ends at 0x74",
        ),
        (55, 7, RangeFault.BACKWARD, "minishard 3: end_offset 7 is before start_offset 55"),
        (2**64 - 1, 0, RangeFault.BACKWARD, f"minishard 3: end_offset 0 is before start_offset {2**64 - 1}"),
        (2**64 - 1, 2**64 - 1, RangeFault.NONE, ""),
    ],
)
def test_ranges_of_the_shard_index(start: int, end: int, fault: RangeFault, text: str) -> None:
    """A minishard's index ends where it starts or later, and in the file; an empty one may say what it likes."""
    assert range_faults(np.array([[start, end]], np.uint64), 32, 116).tolist() == [fault]
    assert range_fault(3, start, end, 32, 116) == text


def test_sizes_of_minishard_indices() -> None:
    """A decoded index is whole entries of 24 bytes."""
    assert [entry_count(size) for size in (0, 24, 2400)] == [0, 1, 100]
    assert is_whole(np.array([0, 24, 25, 47, 48])).tolist() == [True, True, False, False, True]
    with pytest.raises(FormatError, match="25 bytes, not a multiple of 24"):
        entry_count(25)


def test_places_of_values() -> None:
    """A value lies after the shard index and ends in the file; sums of 64-bit numbers do not wrap."""
    places = [(32, 0), (32, 84), (31, 1), (32, 85), (116, 0), (117, 0)]
    places += [(2**64 - 1, 1), (40, 2**64 - 1), (40, 2**64 - 40)]
    starts, sizes = (np.array(column, np.uint64) for column in zip(*places, strict=True))
    inside = [True, True, False, False, True, False, False, False, False]
    assert values_inside(starts, sizes, 32, 116).tolist() == inside


def test_places_of_fragments() -> None:
    """The fragments of a segment lie in front of its manifest, after the shard index."""
    manifest = read_manifest(MANIFEST)
    assert fragments_span(manifest, 143, 32).start == 32
    with pytest.raises(FormatError, match="111 bytes of fragments do not fit"):
        fragments_span(manifest, 142, 32)


def test_levels_of_detail_are_bounded() -> None:
    """A manifest of more levels of detail than any mesh has is refused before an array is created for each."""
    many = struct.pack("<6fI", 1, 1, 1, 0, 0, 0, 100_000) + bytes(20 * 100_000)
    with pytest.raises(FormatError, match="levels of detail"):
        manifest_arrays(many)
