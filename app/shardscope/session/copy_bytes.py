"""Bytes as text for the clipboard: as seen, hex, C, Python, base64."""

from __future__ import annotations

import base64
from collections.abc import Callable
from enum import Enum
from types import MappingProxyType

MAX_BYTES = 16 * 1024 * 1024

GROUP = 8
"""Bytes per group of the hex view; groups are two spaces apart."""

_PER_LINE = 16
_BASE64_LINE = 76

PRINTABLE = bytes(b if 0x20 <= b < 0x7F else 0x2E for b in range(256))
"""Translation table for the text column: bytes that are not printable ASCII become dots."""


class CopyAs(Enum):
    SEEN = "as seen"
    HEX = "hex"
    C = "C array"
    PYTHON = "Python bytes"
    BASE64 = "base64"


class TooMuchToCopy(Exception):
    """Selection of more than `MAX_BYTES`."""


def check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise TooMuchToCopy(
            f"{size:,} bytes are selected; at most {MAX_BYTES // 2**20} MiB can be copied; extract them instead."
        )


def copied(data: bytes, form: CopyAs, *, start: int = 0, width: int = 16, lead: int = 0, digits: int = 8) -> str:
    """Return bytes as text; a row of `CopyAs.SEEN` begins where `(offset + lead) % width` is 0.

    Raises:
        TooMuchToCopy: More than `MAX_BYTES`.
    """
    check_size(len(data))
    if form is CopyAs.SEEN:
        return as_seen(data, start=start, width=width, lead=lead, digits=digits)
    return _FORMS[form](data)


def as_seen(data: bytes, *, start: int = 0, width: int = 16, lead: int = 0, digits: int = 8) -> str:
    lines = []
    at = 0
    hex_width = len(hex_cells(bytes(width)))
    while at < len(data):
        skip = (start + at + lead) % width
        row = data[at : at + width - skip]
        offset = max(start + at - skip, 0)
        cells = hex_cells(row, skip)
        text = " " * skip + row.translate(PRINTABLE).decode("ascii")
        lines.append(f"{offset:0{digits}x}  {cells:<{hex_width}}  {text}".rstrip())
        at += len(row)
    return "\n".join(lines)


def hex_cells(row: bytes, skip: int = 0) -> str:
    pairs = ["  "] * skip + [f"{byte:02x}" for byte in row]
    return "  ".join(" ".join(pairs[at : at + GROUP]) for at in range(0, len(pairs), GROUP))


def _hex(data: bytes) -> str:
    return data.hex(" ")


def _c(data: bytes) -> str:
    rows = (", ".join(f"0x{byte:02x}" for byte in part) for part in _lines(data))
    body = ",\n    ".join(rows)
    return f"static const unsigned char data[{max(len(data), 1)}] = {{\n    {body or '0'}\n}};\n"


def _python(data: bytes) -> str:
    if len(data) <= _PER_LINE:
        return f"data = {_literal(data)}\n"
    body = "\n    ".join(_literal(part) for part in _lines(data))
    return f"data = (\n    {body}\n)\n"


def _literal(data: bytes) -> str:
    return 'b"' + "".join(f"\\x{byte:02x}" for byte in data) + '"'


def _base64(data: bytes) -> str:
    text = base64.b64encode(data).decode("ascii")
    return "\n".join(text[at : at + _BASE64_LINE] for at in range(0, len(text), _BASE64_LINE))


def _lines(data: bytes) -> list[bytes]:
    return [data[at : at + _PER_LINE] for at in range(0, len(data), _PER_LINE)]


_FORMS = MappingProxyType[CopyAs, Callable[[bytes], str]](
    {CopyAs.HEX: _hex, CopyAs.C: _c, CopyAs.PYTHON: _python, CopyAs.BASE64: _base64}
)
