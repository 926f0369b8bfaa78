"""Interpretation of bytes as integers, floats, time, GUID, text and bits. No Qt."""

from __future__ import annotations

import struct
from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np

from shardcore.model.text import number_text

MOST = 32
"""Maximum number of bytes read."""

TOO_FEW = "—"
"""Text shown if the number continues past the end of the source."""

_NUMBERS = (
    ("u8", "B"),
    ("i8", "b"),
    ("u16", "H"),
    ("i16", "h"),
    ("u32", "I"),
    ("i32", "i"),
    ("u64", "Q"),
    ("i64", "q"),
    ("f32", "f"),
    ("f64", "d"),
)
_TIMES = (("u64", 8, 1000), ("u64", 8, 1), ("u32", 4, 1000))
"""Time types with size in bytes and milliseconds per unit, the most plausible first."""

_EARLIEST = int(datetime(1990, 1, 1, tzinfo=UTC).timestamp()) * 1000
_LATEST = int(datetime(2050, 1, 1, tzinfo=UTC).timestamp()) * 1000


@dataclass(frozen=True, slots=True)
class Reading:
    """One interpretation; `big` is None where the byte order makes no difference."""

    name: str
    little: str
    big: str | None = None


def readings(data: bytes) -> tuple[Reading, ...]:
    """Return all interpretations of the bytes; `data` has at least `MOST` bytes, except at the end of the source."""
    return (
        *(_number(name, code, data) for name, code in _NUMBERS),
        Reading("time", next(_times(data), TOO_FEW)),
        Reading("GUID", str(UUID(bytes_le=data[:16])) if len(data) >= 16 else TOO_FEW),
        Reading("text", text_of(data) or TOO_FEW),
        Reading("binary", f"{data[0] >> 4:04b} {data[0] & 15:04b}" if data else TOO_FEW),
    )


def text_of(data: bytes) -> str:
    # The last character may be cut.
    text = getincrementaldecoder("utf-8")("replace").decode(data[:MOST])
    end = next((at for at, c in enumerate(text) if not c.isprintable() or c == "\ufffd"), len(text))
    return text[:end]


def _number(name: str, code: str, data: bytes) -> Reading:
    size = struct.calcsize("<" + code)
    if len(data) < size:
        return Reading(name, TOO_FEW, None if size == 1 else TOO_FEW)
    little, big = (struct.unpack_from(order + code, data)[0] for order in "<>")
    if isinstance(little, float):
        return Reading(name, *(number_text(np.float32(one) if size == 4 else one) for one in (little, big)))
    return Reading(name, str(little), None if size == 1 else str(big))


def _times(data: bytes) -> Iterator[str]:
    """Yield the plausible times (1990 to 2050) of counts since 1970."""
    for name, size, milliseconds in _TIMES:
        for order in ("little", "big"):
            count = int.from_bytes(data[:size], "little" if order == "little" else "big") * milliseconds
            if len(data) < size or not _EARLIEST <= count < _LATEST:
                continue
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=count)
            unit, digits = ("s", "seconds") if milliseconds == 1000 else ("ms", "milliseconds")
            shown = moment.replace(tzinfo=None).isoformat(" ", digits)
            yield f"{shown} UTC · {name} {unit}, {order}"
