"""A NumPy array in a Bloscpack file: its type, shape and order are stored in the metadata."""

from __future__ import annotations

import ast
import io
from typing import Any

import numpy as np

from shardcore.errors import FormatError, Unsupported
from shardcore.model.array_layout import ArrayLayout, is_length
from shardcore.model.number_words import plural
from shardcore.model.text import SHOWN, short

ARRAY_MEMBERS = ("dtype", "shape", "order", "container")
"""Members of the metadata that describe an array."""
NPY = ".npy"
MAX_DTYPE_TEXT = 65536
MAX_TYPE_LETTERS = 128
"""Letters of one type string: NumPy takes the square of them in time for what looks like repeated shapes."""
MAX_FIELDS = 4096
"""Fields of a structured type, those of inner ones included."""
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
        # Too long for 1.0, or names of fields beyond Latin-1.
        text = f"{header}\n".encode()
        return np.lib.format.magic(3, 0) + len(text).to_bytes(4, "little") + text
    return file.getvalue()


def array_info(metadata: Any) -> ArrayLayout | None:
    if not isinstance(metadata, dict) or metadata.get("container") != "numpy":
        return None
    shape, order = metadata.get("shape"), metadata.get("order", "C")
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS or not all(is_length(n) for n in shape):
        raise FormatError(f"metadata: {_short(shape)} is not the shape of an array")
    if order not in ("C", "F"):
        raise FormatError(f"metadata: the order of an array is C or F, not {_short(order)}")
    return ArrayLayout(parse_dtype(metadata.get("dtype")), tuple(shape), order)


def parse_dtype(text: Any, *, objects: bool = False) -> np.dtype[Any]:
    descr = text
    try:
        if isinstance(text, str):
            if len(text) > MAX_DTYPE_TEXT:
                raise FormatError(f"metadata: a dtype of {plural(len(text), 'letter')}; {MAX_DTYPE_TEXT:,} are allowed")
            # A plain type string of old versions is no literal: `<f8`, `int64`.
            descr = ast.literal_eval(text) if text[:1] in "'\"[(" else text
        if not isinstance(descr, (str, list)):
            raise FormatError(f"metadata: {_short(text)} is not an element type")
        dtype = np.dtype(_fields(descr, [MAX_FIELDS]) if isinstance(descr, list) else _type_string(descr))
    except (TypeError, ValueError, SyntaxError, KeyError, MemoryError, RecursionError, OverflowError) as error:
        raise FormatError(f"metadata: {_short(text)} is not an element type ({_short(error)})") from error
    if dtype.hasobject and not (objects and dtype == np.object_):
        raise Unsupported(f"metadata: elements of {_short(text)} are Python objects, which are not read")
    return dtype


def _type_string(text: str) -> str:
    if len(text) > MAX_TYPE_LETTERS:
        raise ValueError(f"a type of {len(text)} letters")
    return text


def _fields(descr: list[Any], room: list[int]) -> list[Any]:
    room[0] -= len(descr)
    if room[0] < 0:
        raise ValueError(f"more than {MAX_FIELDS} fields")
    fields: list[Any] = []
    for field in descr:
        if not isinstance(field, (list, tuple)) or not 2 <= len(field) <= 3:
            raise ValueError("a field is a name, a type and perhaps a shape")
        name, kind, *shape = field
        kind = _fields(kind, room) if isinstance(kind, list) else _type_string(kind) if isinstance(kind, str) else kind
        fields.append((name, kind, *(tuple(s) if isinstance(s, list) else s for s in shape)))
    return fields


def _short(value: Any) -> str:
    value = str(value) if isinstance(value, Exception) else value
    text = value[: SHOWN + 1] if isinstance(value, str) else short(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
