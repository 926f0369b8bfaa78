"""Parsing of `.npy` headers."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from typing import Any

import numpy as np

from shardcore.errors import FormatError, Unsupported
from shardcore.model.array_layout import ArrayLayout, is_length
from shardcore.model.safe_text import said

MAGIC = b"\x93NUMPY"

MOST_LETTERS = 1 << 16
"""Maximum length of a header in characters; NumPy reads up to 10,000."""

_LENGTHS = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
_KEYS = {"descr", "fortran_order", "shape"}
_PYTHON_2 = re.compile(r"(\d)L\b")


def npy_layout(head: bytes) -> ArrayLayout:
    """Return the layout of the array in a `.npy` file; `start` is the end of the header."""
    try:
        header, start = _header(head)
        dtype = np.lib.format.descr_to_dtype(header["descr"])
        shape, fortran = header["shape"], header["fortran_order"]
        if not isinstance(shape, tuple) or not all(map(is_length, shape)) or not isinstance(fortran, bool):
            raise ValueError("shape or order is invalid")
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, OverflowError, LookupError) as error:
        raise FormatError(f"the .npy header is invalid: {said(str(error))}") from error
    if dtype.hasobject:
        raise Unsupported("Python objects as elements are not supported")
    # As in NumPy, arrays with one axis or without elements have C order, even if the header differs.
    transposed = fortran and sum(length != 1 for length in shape) > 1 and all(shape)
    return ArrayLayout(dtype, shape, "F" if transposed else "C", start=start)


def _header(head: bytes) -> tuple[dict[str, Any], int]:
    if not head.startswith(MAGIC) or len(head) < len(MAGIC) + 4:
        raise ValueError("it does not begin with the magic of .npy")
    version = (head[6], head[7])
    if version not in _LENGTHS:
        raise ValueError(f"version {version[0]}.{version[1]} of .npy is not supported (supported: 1.0, 2.0, 3.0)")
    begin = 8 + _LENGTHS[version]
    start = begin + int.from_bytes(head[8:begin], "little")
    if start > len(head) or start > begin + MOST_LETTERS:
        raise ValueError(f"it has {start - begin:,} bytes, but only {max(len(head) - begin, 0):,} are available")
    found = None
    # Integers of Python 2 may end with L.
    text = _PYTHON_2.sub(r"\1", head[begin:start].decode("utf-8" if version == (3, 0) else "latin-1"))
    with suppress(SyntaxError, ValueError):
        found = ast.literal_eval(text.strip())
    if not isinstance(found, dict) or set(found) != _KEYS:
        raise ValueError("it is not a dictionary of descr, fortran_order and shape")
    return found, start
