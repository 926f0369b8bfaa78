"""Output of meshes, skeletons and annotations as JSON and text."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from shardcore.cli.output import print_line, print_rest
from shardcore.model.geometry import POLYLINE
from shardcore.model.number_text import number_text, plural, range_text
from shardcore.operations.content.geometry import (
    AnnotationsContent,
    GeometryContent,
    MeshContent,
    SkeletonContent,
)

ROWS = 20
"""Maximum fragments, vertices and annotations printed as text."""

MOST_JSON = 10_000
"""Maximum fragments and annotations in JSON."""


def geometry_json(found: GeometryContent) -> dict[str, Any]:
    bounds = found.bounds()
    result: dict[str, Any] = {
        "unit": found.geometry().unit,
        "bounds": None if bounds is None else {"low": list(bounds[0]), "high": list(bounds[1])},
    }
    if isinstance(found, MeshContent):
        result |= {
            "level": found.level if found.level >= 0 else None,
            "vertices": len(found.vertices),
            "triangles": len(found.triangles),
            "levels": [_level_json(found, number) for number in range(len(found.layout.levels))],
        }
    elif isinstance(found, SkeletonContent):
        one = found.skeleton
        attributes = [
            {"id": name, "dtype": column.dtype.str, "components": column.shape[1] if column.ndim > 1 else 1}
            for name, column in one.attributes.items()
        ]
        result |= {"vertices": len(one.vertices), "edges": len(one.edges), "attributes": attributes}
    elif isinstance(found, AnnotationsContent):
        result |= _annotations_json(found)
    return result


def _level_json(found: MeshContent, number: int) -> dict[str, Any]:
    level, boxes = found.layout.levels[number], found.layout.boxes(number)[:MOST_JSON]
    fragments = [
        {
            "position": level.positions[at].tolist(),
            "start": int(level.starts[at]),
            "stop": int(level.starts[at + 1]),
            "box": json_numbers(boxes[at]),
        }
        for at in range(len(boxes))
    ]
    return {"scale": json_numbers(np.array(level.scale)), "bytes": level.nbytes, "fragments": fragments}


def json_numbers(values: Any) -> Any:
    """Return numbers as JSON values; NaN and infinity become None."""
    if values.ndim:
        return [json_numbers(one) for one in values]
    if values.dtype.kind in "iu":
        return values.item()
    return float(number_text(values[()])) if np.isfinite(values) else None


def _annotations_json(found: AnnotationsContent) -> dict[str, Any]:
    one = found.annotations
    rows = []
    for at in range(min(len(one.rows), MOST_JSON)):
        start, stop = one.row_bytes(at)
        row: dict[str, Any] = {"id": str(one.ids[at]), "start": start, "stop": stop}
        if one.shape == POLYLINE:
            row["points"] = json_numbers(one.line(at))
        rows.append(row | {name: json_numbers(np.asarray(one.rows[name][at])) for name in one.rows.dtype.names or ()})
    return {
        "annotation_type": one.shape,
        "axes": [{"name": name, "scale": scale} for name, scale in zip(one.axes, one.scales, strict=True)],
        "count": len(one.rows),
        "rows": rows,
        "related": {name: list(map(str, keys.tolist())) for name, keys in one.related.items()},
    }


def print_geometry(found: GeometryContent) -> None:
    bounds, unit = found.bounds(), found.geometry().unit
    if bounds is not None:
        low, high = (", ".join(map(number_text, corner)) for corner in bounds)
        print_line(f"box {low} to {high} {unit}".rstrip())
    if isinstance(found, MeshContent):
        _print_mesh(found)
    elif isinstance(found, SkeletonContent):
        _print_skeleton(found)
    elif isinstance(found, AnnotationsContent):
        print_line("  ".join(("bytes", *found.titles())))
        for row in range(min(len(found.annotations.rows), ROWS)):
            start, stop = found.annotations.row_bytes(row)
            print_line("  ".join((range_text(start, stop), *found.cells(row))))
        print_rest(len(found.annotations.rows), ROWS, "annotation")


def _print_mesh(found: MeshContent) -> None:
    for number, level in enumerate(found.layout.levels):
        counts = ""
        if number == found.level:
            vertices = plural(len(found.vertices), "vertex", "vertices")
            counts = f", {plural(len(found.triangles), 'triangle')}, {vertices}"
        fragments = f"{plural(len(level), 'fragment')}, {plural(level.nbytes, 'byte')}"
        print_line(f"level {number}: scale {number_text(level.scale)}, {fragments}{counts}")
        for at, cell in enumerate(islice(level.positions.tolist(), ROWS)):
            place = f"cell {', '.join(map(str, cell))}, {range_text(level.starts[at], level.starts[at + 1])}"
            print_line(f"  fragment {at}: {place}")
        print_rest(len(level), ROWS, "fragment")


def _print_skeleton(found: SkeletonContent) -> None:
    one = found.skeleton
    print_line("  ".join(("vertex", "x, y, z", *one.attributes)))
    for at in range(min(len(one.vertices), ROWS)):
        cells = (np.atleast_1d(column[at]) for column in (one.vertices, *one.attributes.values()))
        print_line("  ".join((f"{at:>6}", *(", ".join(map(number_text, cell)) for cell in cells))))
    print_rest(len(one.vertices), ROWS, "vertex", "vertices")
