"""Details of an object for the inspector. No Qt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from string import Formatter
from types import MappingProxyType
from typing import Any

from shardcore import ObjectRef, State
from shardcore.model.objects import MEMBER_ROW
from shardcore.model.text import plural, said
from shardcore.shards.format import Detail
from shardscope.session.display_text import cut_middle, grouped, known_size, numbers
from shardscope.views.inspector.node_details import MOST_LETTERS, DetailRow, cut_row, place_row

MOST_EXTRAS = 24

MOST_SEGMENTS = 5
"""Maximum number of segments listed."""

_TONES = MappingProxyType(
    {State.DELETED: "warning", State.TOMBSTONED: "warning", State.DAMAGED: "error", State.UNUSED: "muted"}
)

_NO_CODEC = MappingProxyType({"none": "not compressed", "unread": "", "unknown": "unknown codec"})

_DIGEST = 32
"""Length from which a value that ends the key is not shown again."""

_SAID_ALREADY = frozenset({MEMBER_ROW, "record", "stop"})
"""Names of details that other rows already show."""


def object_rows(ref: ObjectRef, details: Mapping[str, Detail] = MappingProxyType({})) -> list[DetailRow]:
    rows = [cut_row("key", ref.key, mono=True)] if ref.key is not None else [DetailRow("key", "none", tone="muted")]
    if ref.kind != "object":
        rows.append(DetailRow("kind", ref.kind))
    rows.append(DetailRow("state", ref.state.name.lower(), tone=_TONES.get(ref.state, "text")))
    if ref.state not in (State.UNUSED, State.DELETED) or ref.size >= 0:
        rows.append(DetailRow("size", known_size(ref.size)))
        codec = details["codec"].form.format(ref.codec) if "codec" in details else ref.codec
        stored = (known_size(ref.stored_size), _NO_CODEC.get(ref.codec, codec))
        rows.append(DetailRow("stored", " · ".join(part for part in stored if part)))
    if ref.shard:
        rows.append(DetailRow("shard", ref.shard))
    for number, span in enumerate(ref.spans):
        name = "entry" if span == ref.record else "also" if number else "content"
        rows.append(place_row(name, span, link=True))
    if ref.parts:
        rows.append(DetailRow("parts", ", ".join(ref.parts)))
    rows += _extra_rows(ref, details)
    if ref.error:
        rows.append(DetailRow("error", grouped(ref.error), tone="error"))
    return rows


def _extra_rows(ref: ObjectRef, details: Mapping[str, Detail]) -> list[DetailRow]:
    facts = {name: value for name, value in ref.extras.items() if name not in _SAID_ALREADY and not _is_nothing(value)}
    rows = []
    for name, value in facts.items():
        detail = details.get(name, Detail(name.replace("_", " ")))
        in_key = isinstance(value, str) and ref.key is not None and len(value) >= _DIGEST and ref.key.endswith(value)
        if detail.label and not in_key:
            text = detail_text(detail, value, facts)
            text = numbers(text) if "#x" in detail.form else text
            rows.append(cut_row(detail.label, text, mono=_is_raw(value)))
    return rows[:MOST_EXTRAS]


def _is_nothing(value: object) -> bool:
    return value is None or (isinstance(value, (str, Mapping, Sequence)) and not len(value))


def _is_raw(value: object) -> bool:
    return isinstance(value, (str, bytes, int)) and not isinstance(value, bool)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        # One line per entry.
        return "\n".join(f"{name}: {said(one, MOST_LETTERS)}" for name, one in value.items())
    return said(value, MOST_LETTERS)


def detail_text(detail: Detail, value: Any, facts: Mapping[str, Any]) -> str:
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
        lines = [detail.form.format_map(_cut(one)) for one in value[:MOST_SEGMENTS]]
        return "\n".join(lines + [f"and {len(value) - MOST_SEGMENTS:,} more"] * (len(value) > MOST_SEGMENTS))
    return Formatter().vformat(detail.form, (value,), defaultdict(str, facts)).strip()


def _cut(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: cut_middle(value, 16) if isinstance(value, str) else value for name, value in values.items()}
