"""Command `draw`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import USUAL, Opening, Uri, only, opens
from shardcore.cli.output import print_line, write_text_to
from shardcore.errors import UsageError
from shardcore.model.drawing import sketch_label, sketch_named
from shardcore.model.safe_text import short

if TYPE_CHECKING:
    from shardcore.model.drawing import Drawing, Sketch

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
                raise UsageError(f"--set and --svg require --name: {_names(sketches)}")
            _list(sketches)
            return 0
        sketch = sketch_named(sketches, name)
        if sketch is None:
            hint = "" if key else "; drawings of a lookup need a KEY"
            raise UsageError(f"unknown drawing {short(name)}; drawings of this file: {_names(sketches)}{hint}")
        if values:
            sketch.draw({})  # where a value has to be read, its control is there from the first drawing on
        drawing = sketch.draw(_values(sketch, values or []))
    if svg:
        _write(drawing, svg, width=width, dark=dark)
    if text or not svg:
        from shardcore.teaching.drawing.text_output import as_text

        for line in as_text(drawing):
            print_line(line)
    return 0


def _names(sketches: tuple[Sketch, ...]) -> str:
    return ", ".join(map(sketch_label, sketches)) or "none"


def _list(sketches: tuple[Sketch, ...]) -> None:
    from shardcore.model.drawing import values_of

    for sketch in sketches:
        print_line(sketch_label(sketch))
        for control in sketch.controls:
            print_line(f"    --set {control.name}={control.value}  {control.label}: {values_of(control)}")
    if not sketches:
        print_line("this file has no drawings without a KEY")


def _values(sketch: Sketch, texts: list[str]) -> dict[str, Any]:
    from shardcore.model.drawing import value_from

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


def _write(drawing: Drawing, target: str, *, width: int, dark: bool) -> None:
    from shardcore.teaching.drawing.svg import picture_of

    write_text_to(target, str(picture_of(drawing, width, dark=dark)))
