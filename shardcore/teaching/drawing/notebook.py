"""Drawings as SVG for notebooks and files."""

from __future__ import annotations

from dataclasses import dataclass

from shardcore.model.drawing import Drawing
from shardcore.teaching.drawing.colours import DARK, LIGHT, Colours
from shardcore.teaching.drawing.layout import USUAL_WIDTH, placed
from shardcore.teaching.drawing.picture import Picture
from shardcore.teaching.drawing.svg import svg


@dataclass(frozen=True, slots=True)
class RenderedDrawing:
    picture: Picture
    colours: Colours = LIGHT

    def __str__(self) -> str:
        return svg(self.picture, self.colours)

    def _repr_svg_(self) -> str:
        return str(self)


def picture_of(drawing: Drawing, width: float = USUAL_WIDTH, *, dark: bool = False) -> RenderedDrawing:
    """Return a drawing as an image that notebooks display; `str()` of it is the text of an SVG file.

    Args:
        drawing: The drawing: `step.drawing`, or the result of `draw` of a sketch in `shard.sketches()`.
        width: Width in pixels.
        dark: Use light colours on a dark background.
    """
    return RenderedDrawing(placed(drawing, width), DARK if dark else LIGHT)
