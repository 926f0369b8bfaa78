"""A comparison as a table: for spreadsheets, and for programs."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from io import StringIO
from typing import Any

from shardcore.teaching.comparison.comparison import Comparison
from shardcore.teaching.comparison.costs import ACTIONS
from shardcore.teaching.comparison.row import ActionCost, FormatRow, Lookup

COLUMNS = (
    "format",
    "parameter",
    "value",
    "objects",
    "content",
    "files",
    "size",
    "overhead",
    "overhead_percent",
    "structure",
    "exact",
    "lookup_requests",
    "lookup_opening",
    "lookup_bytes",
    "lookup_rounds",
    "lookup_kind",
    "append_how",
    "append_written",
    "append_read",
    "append_exact",
    "delete_how",
    "delete_written",
    "delete_read",
    "delete_exact",
    "verify_read",
    "verify_exact",
    "cannot",
    "error",
)
"""The columns of the CSV; they stay, and new ones come last."""


def to_csv(comparison: Comparison) -> str:
    """A table with a line for each format; numbers as they are, empty where there is none."""
    out = StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in comparison.rows:
        writer.writerow(_cells(row))
    return out.getvalue()


def _cells(row: FormatRow) -> dict[str, Any]:
    costs = {name: _cost_cells(name, row.costs[name]) for name in ACTIONS if name in row.costs}
    found: dict[str, Any] = {
        "format": row.format,
        "parameter": row.dial,
        "value": row.value,
        "objects": row.objects,
        "content": row.content,
        "files": row.files,
        "size": row.size,
        "overhead": row.overhead,
        "overhead_percent": f"{row.share * 100:.2f}",
        "structure": row.structure,
        "exact": _yes(True),
        "cannot": row.cannot,
        "error": row.error,
    }
    if row.lookup is not None:
        found |= {f"lookup_{name}": value for name, value in lookup_json(row.lookup).items() if name != "size"}
    for cells in costs.values():
        found |= {name: value for name, value in cells.items() if name in COLUMNS}
    return (
        found if not row.error else {name: found[name] for name in ("format", "parameter", "value", "cannot", "error")}
    )


def _cost_cells(action: str, cost: ActionCost) -> dict[str, Any]:
    return {
        f"{action}_how": cost.how.value,
        f"{action}_written": cost.written,
        f"{action}_read": "" if cost.read is None else cost.read,
        f"{action}_exact": _yes(cost.exact),
    }


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def to_json(comparison: Comparison) -> dict[str, Any]:
    """All of it, as JSON."""
    return {
        "title": comparison.title,
        "objects": comparison.count,
        "content": comparison.content,
        "notes": list(comparison.notes),
        "formats": [row_json(row) for row in comparison.rows],
    }


def row_json(row: FormatRow) -> dict[str, Any]:
    """One format, as JSON."""
    sections = [{"name": one.name, "role": one.role.value, "size": one.size, "count": one.count} for one in row.pieces]
    return {
        "format": row.format,
        "parameter": row.dial or None,
        "value": row.value or None,
        "objects": row.objects,
        "content": row.content,
        "files": row.files,
        "size": row.size,
        "overhead": row.overhead,
        "structure": row.structure,
        "exact": True,
        "sections": sections,
        "lookup": lookup_json(row.lookup) if row.lookup is not None else None,
        "costs": {name: cost_json(cost) for name, cost in row.costs.items()},
        "cannot": row.cannot,
        "notes": list(row.notes),
        "error": row.error or None,
    }


def lookup_json(lookup: Lookup) -> Mapping[str, Any]:
    """A lookup, as JSON."""
    return {
        "requests": lookup.requests,
        "opening": lookup.opening,
        "bytes": lookup.bytes,
        "rounds": lookup.rounds,
        "size": lookup.size,
        "kind": lookup.kind,
    }


def cost_json(cost: ActionCost) -> Mapping[str, Any]:
    """The cost of an action, as JSON."""
    return {
        "how": cost.how.value,
        "written": cost.written,
        "read": cost.read,
        "exact": cost.exact,
        "what": cost.what,
    }
