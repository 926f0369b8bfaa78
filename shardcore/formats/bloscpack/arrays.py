"""NumPy arrays in Bloscpack files; the metadata contains their type, shape and order."""

from __future__ import annotations

import ast
import io
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from shardcore.errors import FormatError, KeyAbsent, Unsupported, UsageError
from shardcore.model.array_layout import ArrayLayout, is_length
from shardcore.model.number_text import plural
from shardcore.model.safe_text import SHOWN, short

_INDEX = re.compile(r"\[ ?-?[0-9]{1,19}(?: ?, ?-?[0-9]{1,19})* ?\]", re.ASCII)


def parse_index(text: str) -> tuple[int, ...] | None:
    if not _INDEX.fullmatch(text):
        return None
    return tuple(int(number) for number in text[1:-1].split(","))


def index_text(index: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, index))}]"


@dataclass(frozen=True, slots=True)
class Element:
    """Element with its number in the uncompressed content.

    Attributes:
        number: Number of the element in storage order.
        itemsize: Bytes of an element.
        how: Sentence that shows the computation of the number, without a full stop.
    """

    number: int
    itemsize: int
    how: str

    @property
    def byte(self) -> int:
        return self.number * self.itemsize

    @property
    def sentence(self) -> str:
        sizes = plural(self.itemsize, "byte")
        return (
            f"{self.how}; {sizes} each: its first uncompressed byte is {self.number} × {self.itemsize} = {self.byte}."
        )


def element_at(index: tuple[int, ...], array: ArrayLayout) -> Element:
    """Return an element of an array; negative numbers count from the end, as in NumPy."""
    shape = array.shape
    key = index_text(index)
    if len(index) != len(shape):
        axes = plural(len(shape), "axis", "axes")
        raise UsageError(f"the array has {axes}, {_times(shape)}, but {key} has {len(index)}: give one number per axis")
    places = [at + length if at < 0 else at for at, length in zip(index, shape, strict=True)]
    if any(not 0 <= at < length for at, length in zip(places, shape, strict=True)):
        raise KeyAbsent(key, f"there is no element {key}; the array is {_times(shape)}")
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    if array.order != "C":
        strides = [math.prod(shape[:axis]) for axis in range(len(shape))]
    number = sum(at * stride for at, stride in zip(places, strides, strict=True))
    # The factor of the fastest axis is 1, so it is not shown.
    terms = " + ".join(f"{at} × {step}" if step != 1 else f"{at}" for at, step in zip(places, strides, strict=True))
    how = f"{terms} = {number}" if len(shape) > 1 else f"{number}"
    where = f"Element {key} of {_times(shape)} is number {how}, in {array.order} order"
    return Element(number, array.dtype.itemsize, where)


def element_of(index: tuple[int, ...], typesize: int, size: int) -> Element:
    """Return an element of content without array metadata; pass `typesize` 0 for version 1, `size` -1 if unknown."""
    key = index_text(index)
    if not typesize:
        raise UsageError(f"{key}: version 1 does not store the size of an element; look up a byte instead, such as @8")
    if len(index) != 1 or index[0] < 0:
        raise UsageError(f"{key}: the file describes no array, so use a single number from 0, such as [7]")
    number = index[0]
    if size >= 0 and (number + 1) * typesize > size:
        count = plural(size // typesize, "element")
        raise KeyAbsent(key, f"there is no element {key}; the content has {count} of {plural(typesize, 'byte')}")
    return Element(number, typesize, f"Element {number} of the content, by the header's typesize")


def _times(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "a single number"


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
