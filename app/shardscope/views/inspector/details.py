"""Details of nodes, objects and bytes for the inspector, as rows of names and values."""

from __future__ import annotations

import hashlib
import struct
from codecs import getincrementaldecoder
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from string import Formatter
from types import MappingProxyType
from typing import Any
from zlib import crc32

import numpy as np

from shardcore import FieldRole, Node, ObjectRef, Source, Span, State
from shardcore.dataclasses import dataclass
from shardcore.model.objects import MEMBER_ROW
from shardcore.model.text import bits_text, iso_text, number_text, plural, said, without_marks
from shardcore.progress import Progress
from shardcore.shards.format import Detail
from shardscope.session.byte_pages import pieces_of
from shardscope.session.display_text import cut_end, cut_middle, grouped, known_size, numbers, span_words
from shardscope.widgets.details_page import Command, DetailRow

RAW = 48
"""Maximum number of raw bytes shown."""

LONGEST = 400
"""Maximum number of characters of a value that are shown; copying takes the whole value."""

MOST_LARGE = 200
"""Maximum number of characters shown in large type."""

MOST_COPIED = 1 << 16

PENDING = "…"


def range_row(name: str, span: Span, *, link: bool) -> DetailRow:
    text = span_words(span)
    return DetailRow(name, f"→ {text}" if link else text, f"{span.start}..{span.stop}", link=span if link else None)


def _cut_row(name: str, text: str, *, mono: bool = False) -> DetailRow:
    return DetailRow(name, cut_end(text, LONGEST), text, mono=mono)


# --- nodes ---


def node_rows(node: Node, headline: str, raw: bytes | None) -> list[DetailRow]:
    """Return the details of a node below its headline; `raw` are its first `RAW` bytes, or None until loaded."""
    page, size = Command.FORMAT_PAGE, node.span.size
    rows = [DetailRow("role", node.role.name.lower(), link=page)] if node.role is not FieldRole.GROUP else []
    if node.type:
        rows.append(DetailRow("type", node.type, strong=True))
    rows.append(range_row("bytes", node.span, link=False))
    if node.bits is not None:
        rows.append(DetailRow("bits", bits_text(*node.bits)))
    if size and raw is None:
        rows.append(DetailRow("raw", PENDING, mono=True, tone="muted"))
    elif size and raw is not None:
        shown, more = raw[:RAW].hex(" "), size - min(len(raw), RAW)
        text = f"{shown} … and {more:,} more" if more > 0 else shown
        rows.append(DetailRow("raw", text, raw.hex(" "), mono=True))
    value = node.value
    # The headline shows byte strings, and whether a bit is set.
    if isinstance(value, int) and not isinstance(value, bool):
        in_hex = f"{value & ((1 << 8 * size) - 1) if value < 0 else value:#x}"
        rows += [DetailRow("value", str(value), mono=True), DetailRow("hex", in_hex, mono=True)]
    elif value is not None and not isinstance(value, (bool, bytes)) and str(value) != headline:
        rows.append(DetailRow("value", str(value), mono=True))
    if len(headline) > MOST_LARGE:
        rows.append(_cut_row("text", headline))
    if node.target is not None:
        rows.append(range_row("points to", node.target, link=True))
    if node.elsewhere is not None:
        rows.append(DetailRow("stored in", f"→ {node.elsewhere.text}", link=node.elsewhere))
    if node.decoded:
        rows.append(DetailRow("decoded", "→ decoded bytes", link=Span(node.decoded, 0, 1)))
    if node.differs is not None:
        rows.append(DetailRow("specification", f"{without_marks(node.differs.page)}.", link=page))
        rows.append(DetailRow("in practice", f"{without_marks(node.differs.practice)}.", strong=True))
    if node.error:
        rows.append(DetailRow("error", grouped(node.error), tone="error"))
    return rows


# --- checksums ---

SUMMED_AT_ONCE = 16 << 20
"""Maximum size in bytes of a selection whose checksums are computed without a click, once the user requested any."""


def checksums(source: Source, span: Span, progress: Progress) -> dict[str, str]:
    """Return crc32, sha1 and sha256 of the bytes of a span, by name, in hex."""
    hashes = [hashlib.new(name, usedforsecurity=False) for name in ("sha1", "sha256")]
    crc = 0
    for piece in pieces_of(source, span, progress):
        crc = crc32(piece, crc)
        for one in hashes:
            one.update(piece)
    return {"crc32": f"{crc:08x}", **{one.name.lower(): one.hexdigest() for one in hashes}}


# --- objects ---

MOST_EXTRAS = 24

MOST_SEGMENTS = 5

_TONES = {State.DELETED: "warning", State.TOMBSTONED: "warning", State.DAMAGED: "error", State.UNUSED: "muted"}

_NO_CODEC = {"none": "not compressed", "unread": "", "unknown": "unknown codec"}

_DIGEST = 32
"""Minimum length of a value that is not shown if the key ends with it."""

_IN_OTHER_ROWS = frozenset({MEMBER_ROW, "record", "stop"})


def object_rows(ref: ObjectRef, details: Mapping[str, Detail] = MappingProxyType({})) -> list[DetailRow]:
    rows = [_cut_row("key", ref.key, mono=True)] if ref.key is not None else [DetailRow("key", "none", tone="muted")]
    if ref.kind != "object":
        rows.append(DetailRow("kind", ref.kind))
    rows.append(DetailRow("state", ref.state.name.lower(), tone=_TONES.get(ref.state, "text")))
    if ref.state not in (State.UNUSED, State.DELETED) or ref.size >= 0:
        rows.append(DetailRow("size", known_size(ref.size)))
        codec = details["codec"].form.format(ref.codec) if "codec" in details else ref.codec
        codec, stored = _NO_CODEC.get(ref.codec, codec), known_size(ref.stored_size)
        rows.append(DetailRow("stored", f"{stored} · {codec}" if codec else stored))
    if ref.shard:
        rows.append(DetailRow("shard", ref.shard))
    for number, span in enumerate(ref.spans):
        rows.append(range_row("entry" if span == ref.record else "also" if number else "content", span, link=True))
    if ref.parts:
        rows.append(DetailRow("parts", ", ".join(ref.parts)))
    rows += _extra_rows(ref, details)
    if ref.error:
        rows.append(DetailRow("error", grouped(ref.error), tone="error"))
    return rows


def _extra_rows(ref: ObjectRef, details: Mapping[str, Detail]) -> list[DetailRow]:
    facts = {name: value for name, value in ref.extras.items() if name not in _IN_OTHER_ROWS and _is_known(value)}
    rows = []
    for name, value in facts.items():
        detail = details.get(name, Detail(name.replace("_", " ")))
        in_key = isinstance(value, str) and ref.key is not None and len(value) >= _DIGEST and ref.key.endswith(value)
        if detail.label and not in_key:
            text = detail_text(detail, value, facts)
            text = numbers(text) if "#x" in detail.form else text
            raw = isinstance(value, (str, bytes, int)) and not isinstance(value, bool)
            rows.append(_cut_row(detail.label, text, mono=raw))
    return rows[:MOST_EXTRAS]


def _is_known(value: object) -> bool:
    return value is not None and not (isinstance(value, (str, Mapping, Sequence)) and not len(value))


def detail_text(detail: Detail, value: Any, facts: Mapping[str, Any]) -> str:
    """Return a value as text in the form declared by its format; the form may use other values, from `facts`."""
    if detail.yes:
        return detail.yes if value else detail.no or _plain(value)
    if detail.unit and isinstance(value, int):
        return plural(value, detail.unit)
    if detail.by and isinstance(value, (list, tuple)):
        return detail.by.join(map(str, value))
    if detail.until in facts:
        return " × ".join(f"{first}..{last}" for first, last in zip(value, facts[detail.until], strict=False))
    if not detail.form:
        return _plain(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        lines = [detail.form.format_map(_cut_values(one)) for one in value[:MOST_SEGMENTS]]
        return "\n".join(lines + [f"and {len(value) - MOST_SEGMENTS:,} more"] * (len(value) > MOST_SEGMENTS))
    return Formatter().vformat(detail.form, (value,), defaultdict(str, facts)).strip()


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        # One line per entry.
        return "\n".join(f"{name}: {said(one, MOST_COPIED)}" for name, one in value.items())
    return said(value, MOST_COPIED)


def _cut_values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: cut_middle(value, 16) if isinstance(value, str) else value for name, value in values.items()}


# --- bytes as numbers, times and text ---

MOST = 32
"""Maximum number of bytes at the caret that are interpreted."""

TOO_FEW = "—"
"""Text shown if the number continues past the end of the source."""

_NUMBERS = "BbHhIiQqfd"
"""Number types as codes of the `struct` module; upper-case letters are unsigned integers."""

_TIMES = (("u64", 8, 1000), ("u64", 8, 1), ("u32", 4, 1000))
"""Types of a time, the most plausible first: name, size in bytes, milliseconds per unit."""

_EARLIEST = int(datetime(1990, 1, 1, tzinfo=UTC).timestamp()) * 1000
_LATEST = int(datetime(2050, 1, 1, tzinfo=UTC).timestamp()) * 1000


@dataclass(frozen=True, slots=True)
class Reading:
    """One interpretation of bytes, in little-endian and big-endian order; `big` is None if both are the same."""

    name: str
    little: str
    big: str | None = None


def readings(data: bytes) -> tuple[Reading, ...]:
    """Return all interpretations of the bytes; `data` has at least `MOST` bytes, except at the end of the source."""
    from uuid import UUID

    found = []
    for code in _NUMBERS:
        size, texts = struct.calcsize(f"<{code}"), [TOO_FEW, TOO_FEW]
        name = f"{'f' if code in 'fd' else 'u' if code.isupper() else 'i'}{8 * size}"
        if len(data) >= size:
            values = struct.unpack_from(f"<{code}", data) + struct.unpack_from(f">{code}", data)
            if code in "fd":
                values = tuple(map(number_text, map(np.float32, values) if size == 4 else values))
            texts = list(map(str, values))
        found.append(Reading(name, texts[0], texts[1] if size > 1 else None))
    return (
        *found,
        Reading("time", next(_times(data), TOO_FEW)),
        Reading("GUID", str(UUID(bytes_le=data[:16])) if len(data) >= 16 else TOO_FEW),
        Reading("text", text_of(data) or TOO_FEW),
        Reading("binary", f"{data[0] >> 4:04b} {data[0] & 15:04b}" if data else TOO_FEW),
    )


def text_of(data: bytes) -> str:
    # The last character may be cut.
    text = getincrementaldecoder("utf-8")("replace").decode(data[:MOST])
    if text.isprintable() and "\ufffd" not in text:
        return text
    return text[: next(at for at, letter in enumerate(text) if not letter.isprintable() or letter == "\ufffd")]


def _times(data: bytes) -> Iterator[str]:
    """Yield the times between 1990 and 2050 that the bytes give as seconds or milliseconds since 1970."""
    for name, size, milliseconds in _TIMES:
        for order in ("little", "big"):
            count = int.from_bytes(data[:size], "little" if order == "little" else "big") * milliseconds
            if len(data) < size or not _EARLIEST <= count < _LATEST:
                continue
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=count)
            unit, digits = ("s", "seconds") if milliseconds == 1000 else ("ms", "milliseconds")
            yield f"{iso_text(moment, digits)} · {name} {unit}, {order}"
