"""Contents as JSON and as lines for people, and slices of arrays as PNG."""

from __future__ import annotations

import struct
import sys
import zlib
from typing import TYPE_CHECKING, Any

from shardcore.cli.geometry_output import geometry_json, print_geometry
from shardcore.cli.output import print_line
from shardcore.errors import UsageError
from shardcore.model.number_words import plural
from shardcore.operations.content.geometry import GeometryContent
from shardcore.operations.content.results import (
    ArchiveContent,
    ArrayContent,
    BytesContent,
    Content,
    PictureContent,
    ShardContent,
    TableContent,
    TensorsContent,
    TextContent,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

LINES = 40
"""Lines, rows and members that are printed for people."""

CORNER = 6
"""Elements of each axis of an array that are printed."""


def content_json(found: Content) -> dict[str, Any]:
    """Return a content as values of JSON: what it is, without its bytes."""
    told: dict[str, Any] = {
        "kind": found.kind, "title": found.title, "size": found.size if found.size >= 0 else None,
        "read": len(found.data), "note": found.note,
    }  # fmt: skip
    if isinstance(found, TextContent):
        told |= {"encoding": found.encoding, "language": found.language, "lines": len(found.line_starts)}
    if isinstance(found, TableContent):
        told |= {"delimiter": found.delimiter, "rows": len(found.rows), "columns": list(found.rows[0])}
    if isinstance(found, PictureContent):
        told |= {"format": found.format, "width": found.width or None, "height": found.height or None}
    if isinstance(found, ArrayContent):
        layout = found.layout
        told |= {
            "dtype": layout.dtype.str, "shape": list(layout.shape), "order": layout.order, "axes": list(layout.axes),
            "begin": list(layout.begin), "statistics": statistics(found.array) if found.complete else None,
        }  # fmt: skip
    if isinstance(found, TensorsContent):
        told |= {
            "tensors": [
                {"name": one.name, "dtype": one.dtype, "shape": list(one.shape), "start": one.start, "stop": one.stop}
                for one in found.tensors
            ],
            "metadata": found.metadata,
        }
    if isinstance(found, ArchiveContent):
        told |= {
            "format": found.format,
            "members": [
                {"name": one.name, "size": one.size, "start": one.start, "stop": one.stop} for one in found.members
            ],
        }
    if isinstance(found, GeometryContent):
        told |= geometry_json(found)
    if isinstance(found, ShardContent):
        told |= {"format": found.format}
    return told


def statistics(array: NDArray[Any]) -> dict[str, Any]:
    """Return minimum, maximum and mean of an array of numbers; for other types, the number of elements only."""
    told: dict[str, Any] = {"elements": int(array.size)}
    if array.size and array.dtype.kind in "iufb":
        values = array.astype(float) if array.dtype.kind == "b" else array
        told |= {"min": values.min().item(), "max": values.max().item(), "mean": float(values.mean(dtype=float))}
    return told


def print_content(found: Content) -> None:
    """Print a content for people: its kind and size, then its beginning."""
    size = plural(found.size, "byte") if found.size >= 0 else "unknown size"
    print_line(f"{found.title}, {size}")
    if found.note:
        print_line(f"note: {found.note}")
    if isinstance(found, TableContent):
        _print_rows([*found.rows[:LINES]])
        _print_rest(len(found.rows), "row")
    elif isinstance(found, TextContent):
        _print_text(found)
    elif isinstance(found, PictureContent) and found.width:
        print_line(f"{found.width} × {found.height} pixels")
    elif isinstance(found, ArrayContent):
        _print_array(found)
    elif isinstance(found, TensorsContent):
        _print_rows(
            [
                ("name", "dtype", "shape", "start", "stop"),
                *((t.name, t.dtype, str(list(t.shape)), f"{t.start:,}", f"{t.stop:,}") for t in found.tensors[:LINES]),
            ]
        )
        _print_rest(len(found.tensors), "tensor")
    elif isinstance(found, ArchiveContent):
        _print_rows(
            [("name", "size", "start"), *((m.name, f"{m.size:,}", f"{m.start:,}") for m in found.members[:LINES])]
        )
        _print_rest(len(found.members), "member")
    elif isinstance(found, GeometryContent):
        print_geometry(found)
    elif isinstance(found, BytesContent):
        for offset, text in found.strings[:LINES]:
            print_line(f"{offset:>10,}  {text[:100]}")
        _print_rest(len(found.strings), "string")


def _print_text(found: TextContent) -> None:
    """Print the first lines, with colours on a terminal."""
    text = "\n".join(found.text.splitlines()[:LINES])
    if sys.stdout.isatty() and found.language:
        from pygments import highlight
        from pygments.formatters import TerminalFormatter
        from pygments.lexers import find_lexer_class

        lexer = find_lexer_class(found.language)
        if lexer is not None and "\x1b" not in text:
            sys.stdout.write(highlight(text, lexer(), TerminalFormatter()))
            _print_rest(len(found.line_starts), "line")
            return
    for line in text.split("\n"):
        print_line(line)
    _print_rest(len(found.line_starts), "line")


def _print_rest(count: int, noun: str) -> None:
    if count > LINES:
        print_line(f"… and {plural(count - LINES, noun)} more")


def _print_rows(rows: list[tuple[str, ...]]) -> None:
    """Print cells in columns."""
    widths: dict[int, int] = {}
    for row in rows:
        for column, cell in enumerate(row):
            widths[column] = min(max(widths.get(column, 0), len(cell)), 40)
    for row in rows:
        print_line("  ".join(cell[:40].ljust(widths[column]) for column, cell in enumerate(row)).rstrip())


def _print_array(found: ArrayContent) -> None:
    layout = found.layout
    axes = f" ({', '.join(layout.axes)})" if layout.axes else ""
    print_line(f"type {layout.dtype}, shape {' × '.join(map(str, layout.shape))}{axes}, order {layout.order}")
    if any(layout.begin):
        print_line(f"begins at {', '.join(map(str, layout.begin))}")
    if not found.complete:
        print_line(f"{plural(len(found.data), 'byte')} were read: statistics need all of them")
        return
    array = found.array
    told = statistics(array)
    if "min" in told:
        print_line(f"minimum {told['min']}, maximum {told['max']}, mean {told['mean']:.6g}")
    corner = array[tuple(slice(CORNER) for _ in array.shape[:2]) + (0,) * (array.ndim - 2)]
    for line in str(corner).split("\n"):
        print_line(line)


def slice_of(array: NDArray[Any], index: str | None, *, across: bool = False) -> NDArray[Any]:
    """Return the first two axes of an array as rows and columns; further axes at an index.

    Args:
        array: The array.
        index: Indices of the axes after the second, separated by commas; default: zeros.
        across: Whether the first axis runs across: x of a volume.

    Raises:
        UsageError: An index is outside, or the array has fewer than two axes.
    """
    if array.ndim < 2:
        raise UsageError(f"a picture needs two axes; the array has {array.ndim}")
    rest = array.ndim - 2
    texts = index.split(",") if index else ["0"] * rest
    if len(texts) != rest or not all(text.strip().isdecimal() for text in texts):
        raise UsageError(f"--index {index}: {plural(rest, 'whole number')} needed, one for each axis after the second")
    places = tuple(int(text) for text in texts)
    for place, length in zip(places, array.shape[2:], strict=True):
        if place >= length:
            raise UsageError(f"--index {index}: {place} is outside an axis of {length}")
    index_of_plane: Any = (slice(None), slice(None), *places)
    plane: NDArray[Any] = array[index_of_plane]
    return plane.T if across else plane


def png_of(plane: NDArray[Any]) -> bytes:
    """Return a plane of numbers as a grey PNG of 8 bits, from its minimum to its maximum.

    Args:
        plane: Shape `(rows, columns)`.
    """
    import numpy as np

    values = plane.astype(np.float64)
    low, high = (float(np.nanmin(values)), float(np.nanmax(values))) if values.size else (0.0, 0.0)
    scaled = np.nan_to_num((values - low) * (255 / (high - low) if high > low else 0)).clip(0, 255).astype(np.uint8)
    rows, columns = scaled.shape
    # Each row has a filter byte before it: 0, no filter.
    body = np.hstack([np.zeros((rows, 1), np.uint8), scaled]).tobytes()

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")
