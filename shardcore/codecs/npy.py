"""Header of a `.npy` file: type, shape and order of its array."""

from __future__ import annotations

import io
import tokenize

import numpy as np

from shardcore.errors import FormatError, Unsupported
from shardcore.model.array_layout import ArrayLayout
from shardcore.model.text import short

MAGIC = b"\x93NUMPY"

_INVALID = (
    ValueError, TypeError, SyntaxError, MemoryError, RecursionError, OverflowError, LookupError, tokenize.TokenError,
)  # fmt: skip
"""Exceptions that NumPy raises for an invalid header."""

_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def npy_layout(head: bytes) -> ArrayLayout:
    """Return the layout of the array in a `.npy` file; its elements start after the header.

    Args:
        head: The beginning of the file, with the header.

    Raises:
        FormatError: The header is invalid.
        Unsupported: The elements are Python objects.
    """
    stream = io.BytesIO(head)
    try:
        version = np.lib.format.read_magic(stream)
        if version not in _READERS:
            raise ValueError(f"version {version[0]}.{version[1]} of .npy is not read; 1.0 and 2.0 are")
        shape, fortran, dtype = _READERS[version](stream)
    except _INVALID as error:
        raise FormatError(f"the .npy header is invalid: {short(str(error))}") from error
    if dtype.hasobject:
        raise Unsupported("elements that are Python objects are not read")
    # NumPy takes an array of one axis, or of nothing, for C order whatever its header states.
    transposed = fortran and sum(length != 1 for length in shape) > 1 and all(shape)
    return ArrayLayout(dtype, tuple(shape), "F" if transposed else "C", start=stream.tell())
