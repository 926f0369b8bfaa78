"""Commands `draw` and `chart`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import USUAL, Json, Opening, Uri, only, opens
from shardcore.cli.output import print_json, print_line, progress_bar, write_text_to
from shardcore.errors import UsageError
from shardcore.model.drawing import Sketch, sketch_label, sketch_named, value_from, values_of
from shardcore.model.text import short

if TYPE_CHECKING:
    from shardcore.model.usage import Share
    from shardcore.shards.shard import Shard
    from shardcore.teaching.charts import Chart


WIDTH = 760
"""Default width of an SVG, in pixels."""


@opens
def draw(
    uri: Uri,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key whose lookup is drawn.", show_default=False)] = "",
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the drawing; default: list all.")] = "",
    values: Annotated[
        list[str] | None, typer.Option("--set", metavar="CONTROL=VALUE", help="Set a control of the drawing.")
    ] = None,
    svg: Annotated[str, typer.Option("--svg", metavar="FILE", help="Write an SVG file; - for standard output.")] = "",
    width: Annotated[
        int, typer.Option("--width", metavar="PIXELS", min=320, max=4096, help="Width of the SVG.")
    ] = WIDTH,
    dark: Annotated[bool, typer.Option("--dark", help="Dark colours in the SVG.")] = False,
    text: Annotated[bool, typer.Option("--text", help="Print the drawing as text; default without --svg.")] = False,
    how: Opening = USUAL,
) -> int:
    """Draw the file, or the lookup of a key, as text or SVG.

    Examples:
        shardcore draw archive 2090
        shardcore draw archive 2090 --name address --svg address.svg
    """
    only("with --svg", svg, dark=dark, width=width != WIDTH)
    with how.open(uri) as shard:
        sketches = shard.sketches(shard.trace(key) if key else None)
        if not name:
            if values or svg:
                raise UsageError(f"--set and --svg require --name (available: {_names(sketches)})")
            for one in sketches:
                print_line(sketch_label(one))
                for control in one.controls:
                    print_line(f"    --set {control.name}={control.value}  {control.label}: {values_of(control)}")
            return 0
        sketch = sketch_named(sketches, name)
        if sketch is None:
            hint = "" if key else "; drawings of a lookup need a KEY"
            raise UsageError(f"unknown drawing {short(name)}; drawings of this file: {_names(sketches)}{hint}")
        if values:
            sketch.draw({})  # controls whose values must be read exist only after the first drawing
        drawing = sketch.draw(_values(sketch, values or []))
    if svg:
        from shardcore.teaching.drawing.svg import picture_of

        write_text_to(svg, str(picture_of(drawing, width, dark=dark)))
    if text or not svg:
        from shardcore.teaching.drawing.text_output import as_text

        for line in as_text(drawing):
            print_line(line)
    return 0


def _names(sketches: tuple[Sketch, ...]) -> str:
    return ", ".join(map(sketch_label, sketches)) or "none"


def _values(sketch: Sketch, texts: list[str]) -> dict[str, Any]:
    controls = {control.name: control for control in sketch.controls}
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set takes CONTROL=VALUE, not {short(text)}")
        if name not in controls:
            raise UsageError(
                f"{sketch_label(sketch)} has no control {short(name)}; it has: {', '.join(controls) or 'none'}"
            )
        found[name] = value_from(controls[name], value)
    return found


BAR = 40
"""Characters of the longest bar."""

MOST_LINES = 60
"""Maximum number of bins printed as text; with more bins, neighbours are merged."""


class What(StrEnum):
    BUDGET = "budget"
    SIZES = "sizes"
    LOAD = "load"


@opens
def chart(
    uri: Uri,
    what: Annotated[What, typer.Argument(metavar="WHAT", help="budget, sizes or load.")] = What.BUDGET,
    of: Annotated[str, typer.Option("--of", metavar="NAME", help="Name of the load, or kind of the objects.")] = "",
    spread: Annotated[bool, typer.Option("--spread", help="With load: how many slots have 0, 1, 2 … objects.")] = False,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Chart the bytes per purpose, the object sizes, or the load of slots.

    Examples:
        shardcore chart small.shard load
        shardcore chart array.blp sizes --json
    """
    only("with sizes and load", what in (What.SIZES, What.LOAD), of=of)
    only("with load", what is What.LOAD, spread=spread)
    from shardcore.cli.object_rows import warn_unreadable

    with how.open(uri) as shard:
        if not shard.loaded:
            with progress_bar("Reading the index") as progress:
                shard.load_index(progress)
        if what is What.BUDGET:
            shares = _shares(shard)
            if json:
                print_json([_share_json(share) for share in shares])
            else:
                _print_bars([(f"{one.name} ({one.use.value})", float(one.size), f"{one.size:,}") for one in shares])
        else:
            found = _counted(shard, what, of, spread=spread)
            if json:
                print_json(found.to_json())
            else:
                _print_chart(found)
        return 1 if warn_unreadable(shard) else 0


def _share_json(share: Share) -> dict[str, Any]:
    return {
        "use": share.use.value,
        "name": share.name,
        "bytes": share.size,
        "stretches": share.stretches,
        "first": None if share.span is None else share.span.to_json(),
    }


def _shares(shard: Shard) -> tuple[Share, ...]:
    from shardcore.shards.dataset import DataSet

    if not isinstance(shard, DataSet):
        return shard.byte_shares
    with progress_bar("counting") as progress:
        return shard.count_shares(progress)


def _counted(shard: Shard, what: What, of: str, *, spread: bool) -> Chart:
    from shardcore.operations.extraction.selection import kind_code
    from shardcore.teaching.charts import load_chart, object_sizes, spread_chart

    with progress_bar("Counting") as progress:
        if what is What.SIZES:
            kind_code(shard, of or None)
            return object_sizes(shard.objects, of, progress).chart()
        names = [load.name for load in shard.loads]
        if not names:
            raise UsageError(shard.no_loads)
        if of and of not in names:
            raise UsageError(f"unknown load {short(of)} (available: {', '.join(names)})")
        load = shard.loads[names.index(of or names[0])].make(progress)
        if not spread:
            return load_chart(load)
        turned = spread_chart(load)
        if turned is None:
            raise UsageError(f"{load.title}: not spread by a hash function, so --spread has nothing to compare with")
        return turned


def _print_chart(found: Chart) -> None:
    print_line(found.title)
    print_line(found.note)
    print_line()
    each = -(-len(found) // MOST_LINES) or 1
    lines = []
    for first in range(0, len(found), each):
        last = min(first + each, len(found))
        value = float(found.values[first:last].mean())
        text = f"{value:,.2f}".rstrip("0").rstrip(".")
        low, high = int(found.edges[first]), int(found.edges[last])
        name = f"{low:,}" if high == low + 1 else f"{low:,}..{high:,}"
        lines.append((name, value, text))
    print_line(f"{found.x}: {found.y}" + (f", mean of {each:,}" if each > 1 else ""))
    _print_bars(lines)


def _print_bars(lines: list[tuple[str, float, str]]) -> None:
    names = max((len(name) for name, _, _ in lines), default=0)
    largest = max((value for _, value, _ in lines), default=0.0) or 1.0
    for name, value, text in lines:
        bar = "#" * (max(round(BAR * value / largest), 1) if value > 0 else 0)
        print_line(f"  {name:>{names}}  {bar:<{BAR}}  {text}")
