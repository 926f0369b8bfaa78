"""Bytes as text for the clipboard: as seen, hex, C, Python, base64."""

from __future__ import annotations

import base64
from enum import Enum

MAX_BYTES = 16 * 1024 * 1024

GROUP = 8
"""Bytes per group of the hex view; groups are two spaces apart."""

_PER_LINE = 16

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
    rows = [data[at : at + _PER_LINE] for at in range(0, len(data), _PER_LINE)]
    match form:
        case CopyAs.SEEN:
            return as_seen(data, start=start, width=width, lead=lead, digits=digits)
        case CopyAs.HEX:
            return data.hex(" ")
        case CopyAs.C:
            body = ",\n    ".join(", ".join(f"0x{byte:02x}" for byte in row) for row in rows)
            return f"static const unsigned char data[{max(len(data), 1)}] = {{\n    {body or '0'}\n}};\n"
        case CopyAs.PYTHON:
            literals = ['b"' + "".join(f"\\x{byte:02x}" for byte in row) + '"' for row in rows or [b""]]
            return f"data = {literals[0]}\n" if len(rows) < 2 else "data = (\n    " + "\n    ".join(literals) + "\n)\n"
        case CopyAs.BASE64:
            return base64.encodebytes(data).decode("ascii").rstrip()


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
