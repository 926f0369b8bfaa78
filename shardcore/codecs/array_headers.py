"""Headers of arrays in files: `.npy`, and safetensors (a length, a JSON header, then the tensors)."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from typing import Any

import numpy as np

from shardcore.errors import FormatError, Unsupported
from shardcore.model.content_layout import ArrayLayout, is_length
from shardcore.model.text import said, short

NPY_MAGIC = b"\x93NUMPY"

MOST_LETTERS = 1 << 16
"""Maximum size of a `.npy` header in bytes; NumPy reads up to 10,000."""

_LENGTHS = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
_KEYS = {"descr", "fortran_order", "shape"}
_PYTHON_2 = re.compile(r"(\d)L\b")


def npy_layout(head: bytes) -> ArrayLayout:
    """Return the layout of the array in a `.npy` file that begins with `head`; the elements start after the header."""
    try:
        header, start = _header(head)
        dtype = np.lib.format.descr_to_dtype(header["descr"])
        shape, fortran = header["shape"], header["fortran_order"]
        if not isinstance(shape, tuple) or not all(map(is_length, shape)) or not isinstance(fortran, bool):
            raise ValueError("shape must be a tuple of lengths, and fortran_order True or False")
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, OverflowError, LookupError) as error:
        raise FormatError(f"the .npy header is invalid: {said(str(error))}") from error
    if dtype.hasobject:
        raise Unsupported("Python objects as elements are not supported")
    # As in NumPy, arrays with one axis or without elements have C order, even if the header differs.
    transposed = fortran and sum(length != 1 for length in shape) > 1 and all(shape)
    return ArrayLayout(dtype, shape, "F" if transposed else "C", start=start)


def _header(head: bytes) -> tuple[dict[str, Any], int]:
    if not head.startswith(NPY_MAGIC) or len(head) < len(NPY_MAGIC) + 4:
        raise ValueError("it does not begin with the magic of .npy")
    version = (head[6], head[7])
    if version not in _LENGTHS:
        raise ValueError(f"version {version[0]}.{version[1]} of .npy is not supported (supported: 1.0, 2.0, 3.0)")
    begin = 8 + _LENGTHS[version]
    start = begin + int.from_bytes(head[8:begin], "little")
    if start > len(head) or start > begin + MOST_LETTERS:
        raise ValueError(f"it ends at byte {start:,}; {len(head):,} bytes are available, {MOST_LETTERS:,} are allowed")
    found = None
    # Integers of Python 2 may end with L.
    text = _PYTHON_2.sub(r"\1", head[begin:start].decode("utf-8" if version == (3, 0) else "latin-1"))
    with suppress(SyntaxError, ValueError):
        found = ast.literal_eval(text.strip())
    if not isinstance(found, dict) or set(found) != _KEYS:
        raise ValueError("it must be a Python dictionary with exactly the keys descr, fortran_order and shape")
    return found, start


# --- safetensors -------------------------------------------------------------------------------------------

LENGTH = 8
"""Size of the length field of a safetensors file, in bytes."""

MOST_HEADER = 16 << 20
"""Maximum size of a safetensors header that is read, in bytes."""

_MOST_STATED = 100_000_000
"""Maximum size of a safetensors header in the reference implementation, in bytes."""

METADATA = "__metadata__"
"""Name of the safetensors header entry with metadata of the writer, as free text."""

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
"""NumPy dtype of each safetensors element type."""


def header_stop(head: bytes) -> int | None:
    """Return the end offset of the header; None if the bytes are not the start of a safetensors file."""
    length = int.from_bytes(head[:LENGTH], "little")
    return LENGTH + length if head[LENGTH : LENGTH + 1] == b"{" and 2 <= length <= _MOST_STATED else None


def tensor_entry(name: str, entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    """Return type, shape, start and stop of a tensor from its header entry; start 0 is the end of the header."""
    found: dict[str, Any] = entry if isinstance(entry, dict) else {}
    offsets: Any = found.get("data_offsets")
    shape: Any = found.get("shape")
    lists = isinstance(offsets, list) and len(offsets) == 2 and isinstance(shape, list)
    if not lists or not all(map(is_length, offsets + shape)) or offsets[0] > offsets[1]:
        raise FormatError(f"shape or data_offsets of {short(name)} are invalid")
    return str(found.get("dtype")), tuple(shape), offsets[0], offsets[1]
