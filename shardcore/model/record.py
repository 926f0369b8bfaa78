"""Byte layouts: declarations of the fields of headers and table rows, with reading and writing.

A `Record` declares name, NumPy type, role and meaning of each field. Colours, tree rows and documentation come from the
same declaration. Structures of variable length are not declared: the `layout` module of their format has functions
`read_x` and `write_x` for them.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Mapping
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import Truncated
from shardcore.model.span import Span
from shardcore.model.text import plural

_CODES = {"u1": "B", "i1": "b", "u2": "H", "i2": "h", "u4": "I", "i4": "i", "u8": "Q", "i8": "q", "f4": "f", "f8": "d"}

Value = int | float | str | bytes | bool | None


class FieldRole(IntEnum):
    """Role of a field. Determines its colour, and a letter and hatch for displays without colour."""

    GROUP = 0
    MAGIC = 1
    VERSION = 2
    COUNT = 3
    OFFSET = 4
    SIZE = 5
    KEY = 6
    HASH = 7
    FLAGS = 8
    CODEC = 9
    TIME = 10
    NUMBER = 11
    TEXT = 12
    BITS = 13
    DATA = 14
    PADDING = 15
    UNUSED = 16
    UNKNOWN = 17


@dataclass(frozen=True, slots=True)
class Differs:
    """Difference between specification (`page`) and implementations (`practice`); both texts begin in lower case."""

    page: str
    practice: str

    @property
    def sentence(self) -> str:
        """Two sentences: the specification, then the practice."""
        return f"Specification: {self.page}. In practice: {self.practice}."


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a layout.

    Attributes:
        name: Name in the specification.
        dtype: NumPy type with explicit byte order (`"<u4"`), or `("u1", n)` for n raw bytes.
        role: Role of the field.
        doc: One sentence; may mention other names of the field.
        default: Value that is written by default.
        differs: Difference between specification and practice, if any.
    """

    name: str
    dtype: str | tuple[str, int]
    role: FieldRole
    doc: str
    default: int | bytes = 0
    differs: Differs | None = None

    @property
    def raw_size(self) -> int | None:
        """Size of a field of raw bytes; None for a number."""
        return self.dtype[1] if isinstance(self.dtype, tuple) else None

    @property
    def type_text(self) -> str:
        """Type as displayed: `u64 BE`, `bytes[32]`."""
        if isinstance(self.dtype, tuple):
            return f"bytes[{self.dtype[1]}]"
        order = {"<": " LE", ">": " BE"}.get(self.dtype[0], "")
        kind = np.dtype(self.dtype)
        return f"{kind.kind}{8 * kind.itemsize}{order}"


class Record:
    """A fixed layout of consecutive fields without padding.

    Args:
        name: Name in the specification.
        source: Section of the specification.
        fields: Fields in the order of their bytes.
    """

    def __init__(self, name: str, *, source: str, fields: tuple[Field, ...]) -> None:
        self.name = name
        self.source = source
        self.fields = fields
        for field in fields:
            _check_byte_order(field)
        self.dtype = np.dtype([(f.name, f.dtype) for f in fields])
        self.size = self.dtype.itemsize
        """Size of one record in bytes."""

    @cached_property
    def offsets(self) -> dict[str, int]:
        return {name: int(place[1]) for name, place in (self.dtype.fields or {}).items()}

    @cached_property
    def sizes(self) -> dict[str, int]:
        return {name: place[0].itemsize for name, place in (self.dtype.fields or {}).items()}

    def span(self, name: str, at: int = 0, source: str = "") -> Span:
        """Return the span of a field in a record that begins at offset `at`; for an empty name, of the whole record."""
        start = at + (self.offsets[name] if name else 0)
        return Span(source, start, start + (self.sizes[name] if name else self.size))

    @cached_property
    def packer(self) -> struct.Struct:
        """The layout as a `struct.Struct`, which is faster for single records.

        Raises:
            ValueError: The fields differ in byte order.
        """
        orders = {str(f.dtype)[0] for f in self.fields if f.raw_size is None and str(f.dtype)[0] in "<>"}
        if len(orders) > 1:
            raise ValueError(f"the fields of {self.name} differ in byte order")
        codes = (f"{f.raw_size}s" if f.raw_size is not None else _CODES[str(f.dtype)[-2:]] for f in self.fields)
        return struct.Struct((orders.pop() if orders else "<") + "".join(codes))

    @cached_property
    def _single(self) -> struct.Struct | None:
        try:
            return self.packer
        except ValueError:
            return None

    @cached_property
    def _raw(self) -> tuple[int | None, ...]:
        return tuple(field.raw_size for field in self.fields)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def read(self, data: bytes | memoryview, at: int = 0, count: int = 1, *, place: Span | None = None) -> NDArray[Any]:
        """Read consecutive records without copying.

        Args:
            data: The bytes.
            at: Offset of the first record in `data`.
            count: Number of records.
            place: Span of `data`, for errors.

        Returns:
            A read-only array of shape `(count,)` with the dtype of the record.

        Raises:
            Truncated: `data` ends before the last record does.
        """
        at, count = int(at), int(count)  # sums of NumPy numbers wrap
        if at < 0 or count < 0 or at + count * self.size > len(data):
            raise Truncated(
                f"{self.name} needs {plural(count * self.size, 'byte')}; {max(len(data) - at, 0):,} are there",
                span=_error_span(place, at, len(data)),
            )
        rows = np.frombuffer(data, self.dtype, count, at)
        rows.flags.writeable = False
        return rows

    def read_one(self, data: bytes | memoryview, at: int = 0, *, place: Span | None = None) -> dict[str, Any]:
        """Read one record as a mapping of field name to `int` or `bytes`.

        Raises:
            Truncated: `data` ends before the record does.
        """
        if self._single is None or not 0 <= at <= len(data) - self.size:
            return self.values(self.read(data, at, place=place)[0])
        return dict(zip(self._names, self._single.unpack_from(data, at), strict=True))

    def values(self, row: Any) -> dict[str, Any]:
        """Return the values of a row of `read` as Python numbers and bytes."""
        if self._single is not None:
            return dict(zip(self._names, self._single.unpack(row.tobytes()), strict=True))
        return {f.name: row[f.name].tobytes() if f.raw_size is not None else row[f.name].item() for f in self.fields}

    def write(self, rows: NDArray[Any]) -> bytes:
        """Return the bytes of rows; the inverse of `read`."""
        return np.ascontiguousarray(rows, self.dtype).tobytes()

    def pack(self, **values: int | bytes) -> bytes:
        """Return the bytes of one record; a field without a value in `values` has its default.

        Raises:
            ValueError: A name is no field, or a value does not fit its field.
        """
        unknown = values.keys() - set(self._names)
        if unknown:
            raise ValueError(f"{self.name} has no field {sorted(unknown)}")
        if self._single is not None:
            cells = [values.get(field.name, field.default) for field in self.fields]
            cells = [b"" if raw is not None and cell == 0 else cell for raw, cell in zip(self._raw, cells, strict=True)]
            fits = (
                type(cell) is int if raw is None else type(cell) is bytes and len(cell) <= raw
                for raw, cell in zip(self._raw, cells, strict=True)
            )
            if all(fits):
                # For a number that does not fit, the code below raises an error with the field name.
                with contextlib.suppress(struct.error):
                    return self._single.pack(*cells)
        row = np.zeros(1, self.dtype)
        for field in self.fields:
            row[field.name] = _to_cell(field, values.get(field.name, field.default))
        return row.tobytes()


class Columns:
    """Table stored column by column (all values of the first field, then of the second), as in a minishard index.

    Args:
        name: Name of the table.
        source: Section of the specification.
        fields: One number field per column, in the order of their bytes.
    """

    def __init__(self, name: str, *, source: str, fields: tuple[Field, ...]) -> None:
        self.name = name
        self.source = source
        self.fields = fields
        for field in fields:
            _check_byte_order(field)
            if field.raw_size is not None:
                raise ValueError(f"column {field.name} must be a number")
        self.row_size = sum(np.dtype(f.dtype).itemsize for f in fields)
        """Bytes per row: sum over all columns."""

    def starts(self, count: int) -> dict[str, int]:
        """Return the offset of each column in the table, for `count` rows."""
        at, starts = 0, {}
        for field in self.fields:
            starts[field.name] = at
            at += count * np.dtype(field.dtype).itemsize
        return starts

    def read(
        self, data: bytes | memoryview, count: int, at: int = 0, *, place: Span | None = None
    ) -> dict[str, NDArray[Any]]:
        """Read all columns without copying: field name to a read-only array of shape `(count,)`.

        Raises:
            Truncated: `data` ends before the last column does.
        """
        at, count = int(at), int(count)  # sums of NumPy numbers wrap
        if at < 0 or count < 0 or at + count * self.row_size > len(data):
            raise Truncated(
                f"{self.name} needs {plural(count * self.row_size, 'byte')}; {max(len(data) - at, 0):,} are there",
                span=_error_span(place, at, len(data)),
            )
        columns = {}
        for field, start in zip(self.fields, self.starts(count).values(), strict=True):
            column = np.frombuffer(data, field.dtype, count, at + start)
            column.flags.writeable = False
            columns[field.name] = column
        return columns

    def write(self, columns: Mapping[str, NDArray[Any]]) -> bytes:
        """Return the bytes of columns; the inverse of `read`."""
        parts = [np.ascontiguousarray(columns[f.name], f.dtype) for f in self.fields]
        if len({part.shape for part in parts}) > 1:
            raise ValueError(f"the columns of {self.name} differ in length")
        return b"".join(part.tobytes() for part in parts)


def layout_table(layout: Record | Columns) -> str:
    lines = ["| offset | size | field | type | meaning |", "|---|---|---|---|---|"]
    at = 0
    for number, field in enumerate(layout.fields):
        size = np.dtype(field.dtype).itemsize
        if isinstance(layout, Columns):
            where = "0" if number == 0 else f"{at}·n"
            lines.append(f"| {where} | {size}·n | {_marked(field)} | {field.type_text} | {field.doc} |")
        else:
            lines.append(f"| {at} | {size} | {_marked(field)} | {field.type_text} | {field.doc} |")
        at += size
    return "\n".join(lines)


def differences_table(layouts: Mapping[str, Record | Columns]) -> str:
    lines = ["| field | specification | in practice |", "|---|---|---|"]
    listed: set[int] = set()
    for name, layout in layouts.items():
        for field in layout.fields:
            # A field that two layouts share is listed once.
            if field.differs is not None and id(field) not in listed:
                listed.add(id(field))
                lines.append(f"| `{field.name}` of *{name}* | {field.differs.page} | {field.differs.practice} |")
    return "\n".join(lines)


def _marked(field: Field) -> str:
    return f"`{field.name}`" if field.differs is None else f"`{field.name}` ≠"


def _check_byte_order(field: Field) -> None:
    base = field.dtype[0] if isinstance(field.dtype, tuple) else field.dtype
    if np.dtype(base).itemsize > 1 and base[0] not in "<>":
        raise ValueError(f"{field.name}: declare the byte order of {base}: < or >")


def _error_span(place: Span | None, at: int, available: int) -> Span | None:
    if place is None:
        return None
    start = min(place.start + max(at, 0), place.start + available)
    return Span(place.source, start, place.start + available)


def _to_cell(field: Field, value: int | bytes) -> Any:
    if field.raw_size is None:
        kind = np.dtype(field.dtype)
        # Older NumPy wraps such numbers silently, newer NumPy raises something else.
        if kind.kind in "ui" and not np.iinfo(kind).min <= int(value) <= np.iinfo(kind).max:
            raise ValueError(f"{field.name} is {kind.itemsize} bytes wide, too few for {value!r}")
        return value
    raw = b"" if value == 0 else bytes(value) if isinstance(value, bytes) else None
    if raw is None or len(raw) > field.raw_size:
        raise ValueError(f"{field.name} must be at most {field.raw_size} bytes, not {value!r}")
    return np.frombuffer(raw.ljust(field.raw_size, b"\0"), np.uint8)
