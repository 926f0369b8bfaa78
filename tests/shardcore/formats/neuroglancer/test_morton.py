"""Compressed Morton codes, both ways, singly and in arrays."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from shardcore.errors import FormatError, UsageError
from shardcore.formats.neuroglancer.morton import bit_owners, decode, decode_many, encode, encode_many, grid_of


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
    assert every[valid].tolist() == sorted(codes)
    assert encode_many(decoded[valid], grid).tolist() == sorted(codes)


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
