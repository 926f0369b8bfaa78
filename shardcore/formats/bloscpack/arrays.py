"""NumPy arrays in Bloscpack files; the metadata contains their type, shape and order."""

from __future__ import annotations

import ast
import io
from typing import Any

import numpy as np

from shardcore.errors import FormatError, Unsupported
from shardcore.model.array_layout import ArrayLayout, is_length
from shardcore.model.number_text import plural
from shardcore.model.safe_text import SHOWN, short

ARRAY_MEMBERS = ("dtype", "shape", "order", "container")
"""Members of the metadata that describe an array."""
NPY = ".npy"
MAX_DTYPE_TEXT = 65536
MAX_TYPE_LETTERS = 128
"""Longest type string, in letters; NumPy parses some longer ones in quadratic time."""
MAX_FIELDS = 4096
"""Maximum number of fields of a structured type, nested ones included."""
MAX_DIMENSIONS = 64


def dtype_text(dtype: np.dtype[Any]) -> str:
    return str(np.lib.format.dtype_to_descr(dtype))


def names_array(name: str) -> bool:
    return name.lower().endswith(NPY)


def npy_head(array: ArrayLayout) -> bytes:
    header = {
        "descr": np.lib.format.dtype_to_descr(array.dtype),
        "fortran_order": array.order == "F",
        "shape": array.shape,
    }
    file = io.BytesIO()
    try:
        np.lib.format.write_array_header_1_0(file, header)
    except ValueError:
        # Too long for version 1.0, or field names outside Latin-1.
        text = f"{header}\n".encode()
        return np.lib.format.magic(3, 0) + len(text).to_bytes(4, "little") + text
    return file.getvalue()


def array_info(metadata: Any) -> ArrayLayout | None:
    """Return the array that the metadata describes with `container` ("numpy"), `dtype`, `shape` and `order`."""
    if not isinstance(metadata, dict) or metadata.get("container") != "numpy":
        return None
    shape, order = metadata.get("shape"), metadata.get("order", "C")
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS or not all(is_length(n) for n in shape):
        raise FormatError(f"metadata: {_short(shape)} is not the shape of an array")
    if order not in ("C", "F"):
        raise FormatError(f"metadata: order must be C or F, not {_short(order)}")
    return ArrayLayout(parse_dtype(metadata.get("dtype")), tuple(shape), order)


def parse_dtype(text: Any, *, objects: bool = False) -> np.dtype[Any]:
    """Return the element type in the metadata; the text is parsed as a literal, never evaluated.

    Args:
        text: The repr of a type string (`"'<f8'"`) or of a list of fields. Before bloscpack 0.7.2: a type string
            (`<f8`), or the fields as nested lists.
        objects: Accept Python objects as elements.
    """
    descr = text
    try:
        if isinstance(text, str):
            if len(text) > MAX_DTYPE_TEXT:
                raise FormatError(f"metadata: dtype has {plural(len(text), 'letter')}; the limit is {MAX_DTYPE_TEXT:,}")
            # Old versions write a type string that is not a literal: `<f8`, `int64`.
            descr = ast.literal_eval(text) if text[:1] in "'\"[(" else text
        if not isinstance(descr, (str, list)):
            raise FormatError(f"metadata: {_short(text)} is not an element type")
        dtype = np.dtype(_fields(descr, [MAX_FIELDS]) if isinstance(descr, list) else _type_string(descr))
    except (TypeError, ValueError, SyntaxError, KeyError, MemoryError, RecursionError, OverflowError) as error:
        raise FormatError(f"metadata: {_short(text)} is not an element type ({_short(error)})") from error
    if dtype.hasobject and not (objects and dtype == np.object_):
        raise Unsupported(f"metadata: elements of {_short(text)} are Python objects, which are not supported")
    return dtype


def _type_string(text: str) -> str:
    if len(text) > MAX_TYPE_LETTERS:
        raise ValueError(f"the type has {len(text)} letters")
    return text


def _fields(descr: list[Any], room: list[int]) -> list[Any]:
    """Return the fields as tuples of name, type and shape, as NumPy requires; `room[0]` limits their number."""
    room[0] -= len(descr)
    if room[0] < 0:
        raise ValueError(f"more than {MAX_FIELDS} fields")
    fields: list[Any] = []
    for field in descr:
        if not isinstance(field, (list, tuple)) or not 2 <= len(field) <= 3:
            raise ValueError("a field must be a name, a type and an optional shape")
        name, kind, *shape = field
        kind = _fields(kind, room) if isinstance(kind, list) else _type_string(kind) if isinstance(kind, str) else kind
        fields.append((name, kind, *(tuple(s) if isinstance(s, list) else s for s in shape)))
    return fields


def _short(value: Any) -> str:
    value = str(value) if isinstance(value, Exception) else value
    text = value[: SHOWN + 1] if isinstance(value, str) else short(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
