"""Comparison of the same objects in every format that can be written: rows, a table for spreadsheets, JSON, words."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from io import StringIO
from typing import Any

from shardcore.errors import UsageError
from shardcore.model.displayed import Displayed
from shardcore.model.number_words import plural, size_text
from shardcore.model.options import OptionPurpose, read_options
from shardcore.progress import Progress, no_progress
from shardcore.shards.registry import all_formats, format_of, writes_of
from shardcore.teaching.comparison.contents import ComparedContents
from shardcore.teaching.comparison.measure import ACTIONS, CODECS, ActionCost, FormatRow, How, Lookup, measured

CODEC_TEXTS = {
    "none": "uncompressed in all formats",
    "zstd": "zstd where the format has it",
    "usual": "default codec of each format",
}


@dataclass(frozen=True, slots=True)
class Comparison(Displayed):
    title: str
    rows: tuple[FormatRow, ...]
    count: int
    content: int
    notes: tuple[str, ...] = ()
    codec: str = "none"

    @property
    def about(self) -> str:
        objects = f"{plural(self.count, 'object')}, {plural(self.content, 'byte')}"
        return f"{self.title} · {objects} · {CODEC_TEXTS[self.codec]}"


def compared_formats() -> tuple[str, ...]:
    return tuple(one.name for one in all_formats() if one.writes is not None)


def compare(
    contents: ComparedContents,
    *,
    count: int | None = None,
    size: int | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    codec: str = "none",
    progress: Progress = no_progress,
) -> Comparison:
    if codec not in CODECS:
        raise UsageError(f"codec must be one of {', '.join(CODECS)}, not {codec}")
    names, given = compared_formats(), dict(options or {})
    for name, values in given.items():
        check_options(name, values)
    objects = contents.objects(count, size)
    rows = []
    for number, name in enumerate(names):
        progress(number, len(names))
        rows.append(measured(name, objects, given.get(name, {}), codec))
    content = sum(len(one.data) for one in objects)
    notes = left_out(contents, count, size)
    return Comparison(contents.title, tuple(rows), len(objects), content, notes, codec)


def left_out(contents: ComparedContents, count: int | None, size: int | None) -> tuple[str, ...]:
    most = contents.most(size)
    if count is None or count <= most:
        return contents.notes
    each = f" of {plural(size, 'byte')}" if size is not None else ""
    return (*contents.notes, f"{plural(most, 'object')}{each} are compared instead of {count:,}: that is the most")


def check_options(name: str, values: Mapping[str, Any]) -> None:
    found = format_of(name)
    dial, rest = writes_of(found).dial, dict(values)
    if dial is not None and dial.options is not None and dial.name in rest:
        value = str(rest.pop(dial.name))
        if value not in dial.values:
            raise UsageError(f"{dial.name} must be one of {', '.join(dial.values)}, not {value}")
    read_options(found.options, rest, OptionPurpose.WRITE, name)


# --- for programs ---

COLUMNS = (
    *("format", "parameter", "value", "objects", "content", "files", "size", "overhead", "overhead_percent"),
    *("structure", "exact", "lookup_requests", "lookup_opening", "lookup_bytes", "lookup_rounds", "lookup_kind"),
    *("append_how", "append_written", "append_read", "append_exact"),
    *("delete_how", "delete_written", "delete_read", "delete_exact"),
    *("verify_read", "verify_exact", "cannot", "error", "codec", "stored", "padding", "lookup_milliseconds"),
)
"""The columns of the CSV; they stay, and new ones come last."""


def to_csv(comparison: Comparison) -> str:
    out = StringIO()
    writer = csv.DictWriter(out, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in comparison.rows:
        told = row_json(row)
        cells = {name: told[name] for name in ("format", "parameter", "value", "cannot", "error", "codec")}
        if not row.error:
            parts = {"lookup": told["lookup"] or {}, **told["costs"]}
            cells = told | {f"{part}_{name}": value for part, found in parts.items() for name, value in found.items()}
            cells["overhead_percent"] = f"{row.share * 100:.2f}"
        said = {True: "yes", False: "no"}
        writer.writerow({name: said[one] if isinstance(one, bool) else one for name, one in cells.items()})
    return out.getvalue()


def to_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "title": comparison.title,
        "codec": comparison.codec,
        "objects": comparison.count,
        "content": comparison.content,
        "notes": list(comparison.notes),
        "formats": [row_json(row) for row in comparison.rows],
    }


def row_json(row: FormatRow) -> dict[str, Any]:
    costs = {}
    for name, cost in row.costs.items():
        told = asdict(cost) | {"how": cost.how.value}
        costs[name] = {key: told[key] for key in ("how", "written", "read", "exact", "what")}
    return {
        "format": row.format,
        "parameter": row.dial or None,
        "value": row.value or None,
        "codec": row.codec,
        **{name: getattr(row, name) for name in _SIZES},
        "exact": True,
        "sections": [
            {"name": one.name, "role": one.role.value, "size": one.size, "count": one.count} for one in row.pieces
        ],
        "lookup": lookup_json(row.lookup) if row.lookup is not None else None,
        "costs": {
            name: {key: cost[key] for key in ("how", "written", "read", "exact", "what")}
            for name, cost in costs.items()
        },
        "cannot": row.cannot,
        "notes": list(row.notes),
        "error": row.error or None,
    }


_SIZES = ("objects", "content", "files", "size", "overhead", "structure", "stored", "padding")


def lookup_json(lookup: Lookup) -> dict[str, Any]:
    trips = [
        {
            "opening": trip.opening,
            "bytes": trip.bytes,
            "milliseconds": round(trip.milliseconds, 1),
            "ranges": [span.to_json() for span in trip.ranges],
        }
        for trip in lookup.trips
    ]
    return asdict(replace(lookup, trips=())) | {"milliseconds": round(lookup.milliseconds, 1), "trips": trips}


# --- for people ---

HEADINGS = (
    *("format", "codec", "size", "overhead", "structure", "one cold lookup"),
    *("add one", "delete one", "verify all"),
    "what it cannot",
)
"""The columns that people see."""


def cells(row: FormatRow) -> tuple[str, ...]:
    lookup = row.lookup
    if row.error or lookup is None:
        return (row.codec, *("—" if row.error else "…" for _ in HEADINGS[2:-1]), row.error or row.cannot)
    return (
        row.codec,
        size_text(row.size) + (f" in {plural(row.files, 'file')}" if row.files > 1 else ""),
        overhead_text(row),
        size_text(row.structure),
        f"{plural(lookup.requests, 'request')}, {size_text(lookup.bytes)}, {plural(lookup.rounds, 'round trip')}",
        *(cost_text(row.costs[action]) for action in ACTIONS),
        row.cannot,
    )


def overhead_text(row: FormatRow) -> str:
    sign = "+" if row.overhead > 0 else ""
    return f"{sign}{size_text(row.overhead)}, {sign}{row.share * 100:.1f} %".replace("-", "−")


def cost_text(cost: ActionCost) -> str:
    about = "" if cost.exact else "≈ "
    written = f"{about}{size_text(cost.written)}"
    return {
        How.IN_PLACE: f"{written} in place",
        How.BESIDE: f"{written} beside it",
        How.REWRITE: f"rewrites {written}",
        How.REMOVE: "removes its file",
        How.READ: f"reads {about}{size_text(cost.read or 0)}",
        How.NEVER: "not possible",
    }[cost.how]
