"""Charts as text for other programs: rows of values separated by commas, and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from math import isnan
from typing import Any

from shardcore.model.byte_shares import Share
from shardcore.teaching.charts.charts import Chart


def shares_json(shares: Sequence[Share]) -> list[dict[str, Any]]:
    return [
        {
            "use": share.use.value,
            "name": share.name,
            "bytes": share.size,
            "stretches": share.stretches,
            "first": None if share.span is None else share.span.to_json(),
        }
        for share in shares
    ]


def shares_csv(shares: Sequence[Share]) -> str:
    total = sum(share.size for share in shares)
    rows = [
        (
            share.use.value,
            share.name,
            share.size,
            f"{share.size / total:.6f}" if total else "0",
            share.stretches,
            share.span.start if share.span is not None else "",
            share.span.stop if share.span is not None else "",
        )
        for share in shares
    ]
    return csv_text(("use", "name", "bytes", "share", "stretches", "first_start", "first_stop"), rows)


def chart_json(chart: Chart) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": chart.name,
        "title": chart.title,
        "note": chart.note,
        "x": chart.x,
        "y": chart.y,
        "edges": [_number(edge) for edge in chart.edges.tolist()],
        "values": [_number(value) for value in chart.values.tolist()],
    }
    if chart.ideal is not None:
        found |= {"ideal": [_number(value) for value in chart.ideal.tolist()], "ideal_name": chart.ideal_name}
    return found


def chart_csv(chart: Chart) -> str:
    names = [f"{chart.x} from", f"{chart.x} to", chart.y]
    columns: list[list[Any]] = [chart.edges[:-1].tolist(), chart.edges[1:].tolist(), chart.values.tolist()]
    if chart.ideal is not None:
        names.append(chart.ideal_name)
        columns.append(chart.ideal.tolist())
    rows = [["" if (value := _number(cell)) is None else value for cell in row] for row in zip(*columns, strict=True)]
    return csv_text(names, rows)


def _number(value: float) -> float | int | None:
    if isnan(value):
        return None
    return int(value) if value == int(value) else round(value, 6)


def csv_text(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([[_quiet(cell) for cell in row] for row in rows])
    return text.getvalue()


def _quiet(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
