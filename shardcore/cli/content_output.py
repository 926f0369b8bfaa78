"""Output of contents as JSON and text: values, meshes, skeletons and annotations."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from shardcore.cli.output import json_safe, print_line, print_rest
from shardcore.model.content_layout import RAW
from shardcore.model.geometry import POLYLINE
from shardcore.model.text import number_text, plural, range_text, visible
from shardcore.operations.content.content_types import (
    ArchiveContent,
    ArrayContent,
    BytesContent,
    Content,
    PictureContent,
    ShardContent,
    TableContent,
    Tensor,
    TensorsContent,
    TextContent,
)
from shardcore.operations.content.geometry import (
    AnnotationsContent,
    GeometryContent,
    MeshContent,
    SkeletonContent,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


LINES = 40
"""Maximum lines, rows and members printed as text."""

CORNER = 6
"""Elements printed per axis of an array."""


def content_json(found: Content) -> dict[str, Any]:
    """Return the JSON form of a content, without its bytes."""
    result: dict[str, Any] = {
        "kind": found.kind, "title": found.title, "size": found.size if found.size >= 0 else None,
        "read": len(found.data), "note": found.note,
    }  # fmt: skip
    if isinstance(found, TextContent):
        result |= {"encoding": found.encoding, "language": found.language, "lines": len(found.line_starts)}
    if isinstance(found, TableContent):
        result |= {"delimiter": found.delimiter, "rows": len(found.rows), "columns": list(found.rows[0])}
    if isinstance(found, PictureContent):
        result |= {
            "format": found.format, "width": found.width or None, "height": found.height or None,
            "frames": found.frames, "mode": found.mode,
        }  # fmt: skip
    if isinstance(found, ArrayContent):
        layout = found.layout
        result |= {
            "dtype": layout.dtype.str, "shape": list(layout.shape), "order": layout.order, "axes": list(layout.axes),
            "units": list(layout.units), "resolution": list(layout.resolution), "begin": list(layout.begin),
            "encoding": found.encoding, "stored_size": found.stored_size if found.stored_size >= 0 else None,
            "statistics": statistics(found.array) if found.complete else None,
        }  # fmt: skip
    if isinstance(found, TensorsContent):
        result |= {
            "tensors": [
                {"name": one.name, "dtype": one.dtype, "shape": list(one.shape), "start": one.start, "stop": one.stop}
                for one in found.tensors
            ],
            "metadata": json_safe(found.metadata),
        }
    if isinstance(found, ArchiveContent):
        result |= {
            "format": found.format,
            "members": [
                {
                    "name": one.name, "size": one.size if one.size >= 0 else None, "start": one.start,
                    "stop": one.stop, "data": one.data, "codec": one.codec,
                }
                for one in found.members
            ],
            "inner": content_json(found.inner) if found.inner is not None else None,
        }  # fmt: skip
    if isinstance(found, GeometryContent):
        result |= geometry_json(found)
    if isinstance(found, ShardContent):
        result |= {"format": found.format}
    return result


def statistics(array: NDArray[Any]) -> dict[str, Any]:
    """Return minimum, maximum and mean of the finite numbers of an array; for other types only the count."""
    result: dict[str, Any] = {"elements": int(array.size)}
    if array.size and array.dtype.kind in "iufb":
        values = array.astype(float) if array.dtype.kind == "b" else array
        if array.dtype.kind == "f":
            values = values[np.isfinite(values)]
            result["not_finite"] = int(array.size - values.size)
        if values.size:
            with np.errstate(over="ignore"):
                mean = float(values.mean(dtype=float))
            result |= {"min": json_numbers(values.min()), "max": json_numbers(values.max())}
            result["mean"] = mean if np.isfinite(mean) else None
    return result


def print_content(found: Content) -> None:
    size = plural(found.size, "byte") if found.size >= 0 else "unknown size"
    print_line(f"{found.title}, {size}")
    if found.note:
        print_line(f"note: {found.note}")
    if isinstance(found, TableContent):
        _print_rows([*found.rows[:LINES]])
        print_rest(len(found.rows), LINES, "row")
    elif isinstance(found, TextContent):
        _print_text(found)
    elif isinstance(found, PictureContent) and found.width:
        frames = f", {plural(found.frames, 'frame')}" if found.frames > 1 else ""
        print_line(f"{found.width} × {found.height} pixels, {found.mode}{frames}")
    elif isinstance(found, ArrayContent):
        _print_array(found)
    elif isinstance(found, TensorsContent):
        _print_rows(
            [
                ("name", "dtype", "shape", "bytes"),
                *((t.name, t.dtype, str(list(t.shape)), _bytes(t)) for t in found.tensors[:LINES]),
            ]
        )
        print_rest(len(found.tensors), LINES, "tensor")
    elif isinstance(found, ArchiveContent):
        _print_rows(
            [
                ("name", "size", "start", "codec"),
                *(
                    (m.name, f"{m.size:,}" if m.size >= 0 else "unknown", f"{m.start:#x}", m.codec)
                    for m in found.members[:LINES]
                ),
            ]
        )
        print_rest(len(found.members), LINES, "member")
        if found.inner is not None:
            print_content(found.inner)
    elif isinstance(found, GeometryContent):
        print_geometry(found)
    elif isinstance(found, BytesContent):
        for offset, text in found.strings[:LINES]:
            print_line(f"{offset:>#10x}  {text[:100]}")
        print_rest(len(found.strings), LINES, "string")


def _bytes(tensor: Tensor) -> str:
    return range_text(tensor.start, tensor.stop) if tensor.stop >= 0 else f"{tensor.start:#x}, size unknown"


def _print_text(found: TextContent) -> None:
    lines = found.text.split("\n")[:LINES]
    lines = [line.removesuffix("\r") for line in lines]
    text = "\n".join(lines)
    if sys.stdout.isatty() and found.language:
        from pygments import highlight
        from pygments.formatters import TerminalFormatter
        from pygments.lexers import find_lexer_class

        lexer = find_lexer_class(found.language)
        # Text with control characters is escaped and printed without colours.
        if lexer is not None and visible(text, keep="\n\t") == text:
            sys.stdout.write(highlight(text, lexer(), TerminalFormatter()))
            print_rest(len(found.line_starts), LINES, "line")
            return
    for line in text.split("\n"):
        print_line(line)
    print_rest(len(found.line_starts), LINES, "line")


def _print_rows(rows: list[tuple[str, ...]]) -> None:
    widths: dict[int, int] = {}
    for row in rows:
        for column, cell in enumerate(row):
            widths[column] = min(max(widths.get(column, 0), len(cell)), 40)
    for row in rows:
        print_line("  ".join(cell[:40].ljust(widths[column]) for column, cell in enumerate(row)).rstrip())


def _print_array(found: ArrayContent) -> None:
    layout = found.layout
    axes = f" ({', '.join(layout.axes)})" if layout.axes else ""
    if found.encoding != RAW:
        print_line(f"encoded as {found.encoding}, {plural(found.stored_size, 'byte')}")
    print_line(f"type {layout.dtype}, shape {' × '.join(map(str, layout.shape))}{axes}, order {layout.order}")
    if layout.resolution:
        steps = zip(layout.resolution, layout.units, layout.axes, strict=True)
        told_steps = (f"{axis} {number_text(step)} {unit}" for step, unit, axis in steps if unit)
        print_line(f"resolution {', '.join(told_steps)}")
    if any(layout.begin):
        print_line(f"begins at {', '.join(map(str, layout.begin))}")
    if not found.complete:
        print_line(f"{plural(len(found.data), 'byte')} were read; statistics need the whole content")
    array = found.array
    if not array.size:
        return
    result = statistics(array)
    if found.complete and "min" in result:
        mean = f", mean {result['mean']:.9g}" if result["mean"] is not None else ""
        print_line(f"minimum {result['min']}, maximum {result['max']}{mean}")
    corner = array[tuple(slice(CORNER) for _ in array.shape[:2]) + (0,) * (array.ndim - 2)]
    for line in np.array2string(corner, floatmode="unique").split("\n"):
        print_line(line)
