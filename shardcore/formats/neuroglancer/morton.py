"""Compressed Morton codes: keys of volume chunks and of cells in a spatial index ("Compressed morton code").

For each bit i from 0 on, each axis in turn adds its bit i to the code while `2**i < grid[axis]`. Any number of axes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shardcore.errors import FormatError, UsageError

CODE_BITS = 64

Codes = npt.NDArray[np.uint64]


def grid_of(size: Sequence[int], chunk: Sequence[int]) -> tuple[int, ...]:
    if len(size) != len(chunk) or any(n < 0 for n in size) or any(n <= 0 for n in chunk):
        raise FormatError(f"a volume of {list(size)} voxels cannot be cut in chunks of {list(chunk)}")
    return tuple(-(-length // step) for length, step in zip(size, chunk, strict=True))


def check_grid(grid: Sequence[int]) -> list[int]:
    """Return the number of bits per axis; raise FormatError if the sum exceeds 64 or a length is not positive."""
    if any(length <= 0 for length in grid):
        raise FormatError(f"grid {list(grid)}: every axis must have at least one cell")
    widths = [(length - 1).bit_length() for length in grid]
    if sum(widths) > CODE_BITS:
        raise FormatError(f"grid {list(grid)} needs codes of {sum(widths)} bits; a key has {CODE_BITS}")
    return widths


def bit_owners(grid: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return, for each bit of a code from the lowest, its axis and its bit number in the coordinate of that axis."""
    widths = check_grid(grid)
    levels = range(max(widths, default=0))
    return tuple((axis, level) for level in levels for axis, width in enumerate(widths) if level < width)


def encode(cell: Sequence[int], grid: Sequence[int]) -> int:
    """Return the Morton code of a grid cell; raise UsageError if the cell is outside the grid."""
    owners = bit_owners(grid)
    if len(cell) != len(grid) or any(not 0 <= at < length for at, length in zip(cell, grid, strict=True)):
        raise UsageError(f"cell {list(cell)} is outside the grid {list(grid)}")
    return sum((cell[axis] >> level & 1) << bit for bit, (axis, level) in enumerate(owners))


def decode(code: int, grid: Sequence[int]) -> tuple[int, ...]:
    """Return the grid cell of a Morton code; FormatError if it has too many bits or the cell is outside the grid."""
    owners = bit_owners(grid)
    cell = [0] * len(grid)
    for bit, (axis, level) in enumerate(owners):
        cell[axis] |= (code >> bit & 1) << level
    if code < 0 or code >> len(owners):
        raise FormatError(f"code {code} has bits beyond the {len(owners)} of the grid {list(grid)}")
    if any(at >= length for at, length in zip(cell, grid, strict=True)):
        raise FormatError(f"code {code} is cell {cell}, outside the grid {list(grid)}")
    return tuple(cell)


def encode_many(cells: Codes, grid: Sequence[int]) -> Codes:
    """Return the codes of cells, uint64 of shape `(n, rank)`; raise UsageError if one is outside the grid."""
    cells = np.asarray(cells, dtype=np.uint64)
    owners = bit_owners(grid)
    if cells.ndim != 2 or cells.shape[1] != len(grid) or (cells > _last_cell(grid)).any():
        raise UsageError(f"some of the cells (an array of shape {cells.shape}) are outside the grid {list(grid)}")
    codes = np.zeros(len(cells), dtype=np.uint64)
    for bit, (axis, level) in enumerate(owners):
        codes |= (cells[:, axis] >> np.uint64(level) & np.uint64(1)) << np.uint64(bit)
    return codes


def decode_many(codes: Codes, grid: Sequence[int]) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """Return the cells of codes, shape `(n, rank)`, and a mask of the valid codes."""
    codes = np.asarray(codes, dtype=np.uint64)
    owners = bit_owners(grid)
    cells = np.zeros((len(codes), len(grid)), dtype=np.uint64)
    for bit, (axis, level) in enumerate(owners):
        cells[:, axis] |= (codes >> np.uint64(bit) & np.uint64(1)) << np.uint64(level)
    valid: npt.NDArray[np.bool_] = np.all(cells <= _last_cell(grid), axis=1)
    if len(owners) < CODE_BITS:
        valid = valid & (codes >> np.uint64(len(owners)) == 0)
    return cells, valid


def _last_cell(grid: Sequence[int]) -> Codes:
    """Return the largest coordinates, which always fit in 64 bits, unlike lengths."""
    return np.array([length - 1 for length in grid], dtype=np.uint64)
