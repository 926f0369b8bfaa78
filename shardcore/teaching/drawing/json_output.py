"""Drawings as JSON values, as in `trace --json`; positions are in the units of the figures, not in pixels."""

from __future__ import annotations

from typing import Any

from shardcore.model.drawing import Bits, Cells, Drawing, Figure, Item, Ribbon, Ruler, Table


def drawing_json(drawing: Drawing) -> dict[str, Any]:
    return {
        "title": drawing.title,
        "what_if": drawing.what_if,
        "figures": [_figure(figure) for figure in drawing.figures],
        "links": [
            {"start": link.start, "stop": link.stop, "text": link.text, "tone": link.tone.value}
            for link in drawing.links
        ],
        "caption": drawing.caption,
        "more": drawing.more,
        "legend": {tone.value: text for tone, text in drawing.legend.items()},
    }


def _figure(figure: Figure) -> dict[str, Any]:
    if isinstance(figure, Bits):
        letters = {str(bit): letter for bit, (letter, _) in sorted(figure.letters.items())}
        own: dict[str, Any] = {"width": figure.width, "value": figure.value, "letters": letters}
    elif isinstance(figure, Ruler):
        return _ruler(figure)
    elif isinstance(figure, Cells):
        own = {"count": figure.count, "columns": figure.columns, "first": figure.first, "ring": figure.ring}
    elif isinstance(figure, Table):
        rows = [[_item(item) for item in row] for row in figure.rows]
        return {"kind": "table", "title": figure.title, "headings": list(figure.headings), "rows": rows}
    else:
        return _ribbon(figure)
    kind = type(figure).__name__.lower()
    return {"kind": kind, "title": figure.title, **own, "items": [_item(item) for item in figure.items]}


def _ruler(figure: Ruler) -> dict[str, Any]:
    ends = {"start": figure.start, "stop": figure.stop, "unit": figure.unit, "ring": figure.ring}
    return {"kind": "ruler", "title": figure.title, **ends, "items": [_item(item) for item in figure.items]}


def _ribbon(figure: Ribbon) -> dict[str, Any]:
    bands = [{**_item(band.item), "below": list(band.below)} for band in figure.bands]
    above, below = _ruler(figure.above), _ruler(figure.below)
    return {"kind": "ribbon", "title": figure.title, "above": above, "below": below, "bands": bands}


def _item(item: Item) -> dict[str, Any]:
    return {
        "text": item.text,
        "spans": [span.to_json() for span in item.spans],
        "at": item.at,
        "size": item.size,
        "tone": item.tone.value,
        "doc": item.doc,
        "name": item.name,
        "here": item.here,
    }
