"""Layout of safetensors: a length, a JSON header, then the tensors."""

from __future__ import annotations

from typing import Any

from shardcore.errors import FormatError
from shardcore.model.array_layout import is_length
from shardcore.model.safe_text import short

LENGTH = 8
"""Size of the length field, in bytes."""

MOST_HEADER = 16 << 20
"""Maximum size of a header that is read, in bytes."""

_MOST_STATED = 100_000_000
"""Maximum size of a header in the reference implementation, in bytes."""

METADATA = "__metadata__"
"""Header entry with free text metadata of the writer."""

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
"""Element types, as NumPy dtypes."""


def header_stop(head: bytes) -> int | None:
    """Return the end offset of the header; None if the bytes are not the start of a safetensors file."""
    length = int.from_bytes(head[:LENGTH], "little")
    return LENGTH + length if head[LENGTH : LENGTH + 1] == b"{" and 2 <= length <= _MOST_STATED else None


def tensor_entry(name: str, entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    """Return type, shape, start and stop of a tensor; offsets are relative to the end of the header."""
    found: dict[str, Any] = entry if isinstance(entry, dict) else {}
    offsets: Any = found.get("data_offsets")
    shape: Any = found.get("shape")
    lists = isinstance(offsets, list) and len(offsets) == 2 and isinstance(shape, list)
    if not lists or not all(map(is_length, offsets + shape)) or offsets[0] > offsets[1]:
        raise FormatError(f"shape or data_offsets of {short(name)} are invalid")
    return str(found.get("dtype")), tuple(shape), offsets[0], offsets[1]
