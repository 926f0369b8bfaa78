"""Drawings as SVG with tooltips and texts for screen readers, in the light and dark colours of the window."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from html import escape
from types import MappingProxyType

from shardcore.dataclasses import dataclass
from shardcore.model.drawing import Drawing, Tone
from shardcore.model.text import visible
from shardcore.shards.trace import COMPUTED
from shardcore.teaching.drawing.layout import USUAL_WIDTH, placed
from shardcore.teaching.drawing.picture import NO_ITEM, Anchor, Box, Face, Ink, Path, Picture, Point, Shape, Text

UNFILLED = (Tone.EMPTY, Tone.FAINT)


@dataclass(frozen=True, slots=True)
class Colours:
    name: str
    base: str
    inks: Mapping[Ink, str]
    tints: Mapping[Tone, str]


_INKS = {
    Ink.TEXT: ("#171b22", "#f4f5f8"),
    Ink.MUTED: ("#5f636c", "#a0a3a9"),
    Ink.FAINT: ("#5f636c", "#a0a3a9"),
    Ink.LINE: ("#d3d6da", "#37393f"),
    Ink.EDGE: ("#7e8084", "#84868a"),
    Ink.ACCENT: ("#3065cc", "#6ca4f6"),
    Ink.ERROR: ("#cc2827", "#f66d67"),
}
_TINTS = {
    Tone.PLAIN: ("#f9fafb", "#292b30"),
    Tone.KEY: ("#b9a9fe", "#4b48a8"),
    Tone.POINTER: ("#e0c931", "#695205"),
    Tone.SIZE: ("#58f0de", "#0c6468"),
    Tone.HEADER: ("#9cc6e2", "#11366c"),
    Tone.INDEX: ("#f1cba1", "#7f4220"),
    Tone.LOOKUP: ("#efcdfe", "#5d4268"),
    Tone.DATA: ("#e6fbf7", "#202d26"),
    Tone.METADATA: ("#fff691", "#3f4d16"),
    Tone.FOOTER: ("#f8a0b6", "#5c1d28"),
    Tone.HIT: ("#bcd4fe", "#2a4a88"),
    Tone.MISS: ("#fed2cd", "#6a2c29"),
    Tone.DEAD: ("#c5c7cb", "#4e5053"),
    Tone.ONE: ("#9cc6e2", "#11366c"),
    Tone.TWO: ("#f1cba1", "#7f4220"),
    Tone.THREE: ("#e6fbf7", "#202d26"),
    Tone.FOUR: ("#efcdfe", "#5d4268"),
}

LIGHT, DARK = (
    Colours(
        name,
        base,
        MappingProxyType({ink: pair[number] for ink, pair in _INKS.items()}),
        MappingProxyType({tone: pair[number] for tone, pair in _TINTS.items()}),
    )
    for number, (name, base) in enumerate((("light", "#fdfdfe"), ("dark", "#15171b")))
)
"""Colours for drawings outside the window."""


_SANS = "'DejaVu Sans', Verdana, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
_MONO = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
_DASHES = "4 3"
_BAND = "0.72"
HATCHED = (Tone.MISS, Tone.DEAD)
HEAD = 7.0


def svg(picture: Picture, colours: Colours = LIGHT) -> str:
    width, height = _n(picture.width), _n(picture.height)
    drawing = picture.drawing
    box = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="{_SANS}"'
    label = quoted(visible(drawing.title))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label={label}>',
        f"<title>{escaped(visible(drawing.title))}</title>",
        f"<desc>{escaped(visible(drawing.caption))}</desc>",
        _hatches(colours),
        f'<rect width="{width}" height="{height}" fill="{colours.base}"/>',
    ]
    for shape in picture.shapes:
        lines.append(_shape(picture, shape, colours))
    lines += [_grip(grip.rect.x, grip.rect.y, grip.rect.w, grip.rect.h, colours) for grip in picture.grips]
    return "\n".join([*lines, "</svg>", ""])


def with_ids(text: str, prefix: str) -> str:
    return re.sub(r'(id="|url\(#)', rf"\g<1>{prefix}", text)


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _hatches(colours: Colours) -> str:
    name, error, muted = colours.name, colours.inks[Ink.ERROR], colours.inks[Ink.MUTED]
    return (
        f'<defs><pattern id="miss-{name}" width="6" height="6" patternUnits="userSpaceOnUse">'
        f'<path d="M-1 1L1 -1M0 6L6 0M5 7L7 5" stroke="{error}" stroke-width="0.9" opacity="0.55"/></pattern>'
        f'<pattern id="dead-{name}" width="6" height="6" patternUnits="userSpaceOnUse">'
        f'<path d="M0 0L6 6M0 6L6 0" stroke="{muted}" stroke-width="0.8" opacity="0.5"/></pattern></defs>'
    )


def _shape(picture: Picture, shape: Shape, colours: Colours) -> str:
    if isinstance(shape, Text):
        drawn = _text(shape, colours)
    elif isinstance(shape, Box):
        drawn = _box(shape, colours)
    else:
        drawn = _path(shape, colours)
    told = tip_of(picture, shape.item)
    return f"<g><title>{escaped(told)}</title>{drawn}</g>" if told else drawn


def tip_of(picture: Picture, item: int) -> str:
    if item == NO_ITEM:
        return ""
    one = picture.items[item]
    places = ", ".join(str(span) for span in one.spans) or COMPUTED
    return visible(". ".join(part.rstrip(".") for part in (one.text, one.doc, places) if part))


def _text(text: Text, colours: Colours) -> str:
    x, y = text.baseline
    anchor = "" if text.anchor is Anchor.START else f' text-anchor="{text.anchor.value}"'
    family = f' font-family="{_MONO}"' if text.face is Face.MONO else ""
    weight = ' font-weight="600"' if text.face is Face.BOLD else ""
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" font-size="{text.size}"{family}{weight}{anchor}'
        f' fill="{colours.inks[text.ink]}">{escaped(visible(text.text))}</text>'
    )


def outline_of(box: Box) -> tuple[Ink, float]:
    if box.here or box.tone is Tone.HIT:
        return Ink.ACCENT, 2.0
    if box.tone is Tone.MISS:
        return Ink.ERROR, 1.25
    return (Ink.LINE if box.tone in UNFILLED else Ink.EDGE), 1.0


def _box(box: Box, colours: Colours) -> str:
    ink, width = outline_of(box)
    rect = box.rect
    place = f'x="{_n(rect.x)}" y="{_n(rect.y)}" width="{_n(rect.w)}" height="{_n(rect.h)}" rx="{_n(box.round)}"'
    fill = colours.tints.get(box.tone, "none")
    dashes = f' stroke-dasharray="{_DASHES}"' if box.dashed else ""
    outline = f'stroke="{colours.inks[ink]}"{_wide(width)}{dashes}'
    if box.tone not in HATCHED:
        return f'<rect {place} fill="{fill}" {outline}/>'
    return f'<rect {place} fill="{fill}"/><rect {place} fill="url(#{box.tone.value}-{colours.name})" {outline}/>'


def _path(path: Path, colours: Colours) -> str:
    pieces = [f"M{_at(path.start)}"]
    for move in path.moves:
        pieces.append(f"L{_at(move.to)}" if move.by is None else f"C{_at(move.by[0])} {_at(move.by[1])} {_at(move.to)}")
    ink = colours.inks[path.ink]
    dashes = f' stroke-dasharray="{_DASHES}"' if path.dashed else ""
    tint = colours.tints.get(path.fill) if path.fill is not None else None
    fill = f'"{tint}" fill-opacity="{_BAND}"' if tint else '"none"'
    drawn = f'<path d="{"".join(pieces)}" fill={fill} stroke="{ink}"{_wide(path.width)}{dashes}/>'
    if path.fill in HATCHED and path.fill is not None:
        drawn += f'<path d="{"".join(pieces)}" fill="url(#{path.fill.value}-{colours.name})"/>'
    if path.arrow:
        corners = " ".join(_at(point) for point in head_of(path))
        drawn += f'<polygon points="{corners}" fill="{ink}"/>'
    return drawn


def _wide(width: float) -> str:
    return f' stroke-width="{_n(width)}"' if width != 1 else ""


def head_of(path: Path) -> tuple[Point, Point, Point]:
    last = path.moves[-1]
    before = path.moves[-2].to if len(path.moves) > 1 else path.start
    x0, y0 = last.by[1] if last.by is not None else before
    x, y = last.to
    far = max(math.hypot(x - x0, y - y0), 1e-6)
    dx, dy = (x - x0) / far * HEAD, (y - y0) / far * HEAD
    return (x, y), (x - dx - dy * 0.42, y - dy + dx * 0.42), (x - dx + dy * 0.42, y - dy - dx * 0.42)


def _at(point: Point) -> str:
    return f"{_n(point[0])} {_n(point[1])}"


def _grip(x: float, y: float, w: float, h: float, colours: Colours) -> str:
    accent = colours.inks[Ink.ACCENT]
    return (
        f'<rect x="{_n(x + w / 2 - 1)}" y="{_n(y)}" width="2" height="{_n(h)}" fill="{accent}"/>'
        f'<circle cx="{_n(x + w / 2)}" cy="{_n(y + w / 2)}" r="{_n(w / 2)}" fill="{accent}"/>'
    )


# Both are in xml.sax of the standard library, but importing that takes a tenth of a second.


def escaped(text: str) -> str:
    return escape(text, quote=False)


def quoted(text: str) -> str:
    return '"' + escaped(text).replace('"', "&quot;") + '"'


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
