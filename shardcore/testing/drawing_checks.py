"""Assertions about drawings: their bytes exist in the file, and their layout fits the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from shardcore.model.drawing import MOST_ITEMS, Control, ControlKind, Drawing, Tone
from shardcore.model.node import Node
from shardcore.model.span import Span
from shardcore.shards.shard import Shard
from shardcore.teaching.drawing.layout import placed
from shardcore.teaching.drawing.picture import Box, Path, Picture, Rect, Text
from shardcore.teaching.drawing.svg import svg
from shardcore.teaching.drawing.text_output import COLUMNS, as_text

WIDTHS = (320, 560, 900, 1600)
"""Widths in pixels at which drawings are tested."""

WIDE = 48.0
"""Minimum width in pixels of an item that must have a text."""

SILENT = (Tone.EMPTY, Tone.DEAD, Tone.FAINT)
"""Tones of items that need no text."""

_NEAR = 40.0


def check_drawing(shard: Shard, drawing: Drawing, widths: Sequence[int] = WIDTHS) -> None:
    """Assert that every item represents bytes of nodes in the tree, and that the drawing can be displayed."""
    assert drawing.title
    assert len(drawing.items) <= MOST_ITEMS
    assert drawing.more >= 0
    for item in drawing.items:
        for span in item.spans:
            check_span(shard, span, item.text)
    for width in widths:
        check_picture(placed(drawing, width))
    picture = placed(drawing, 900)
    for shape in picture.shapes:
        if isinstance(shape, Box) and shape.item >= 0 and shape.rect.w >= WIDE and shape.tone not in SILENT:
            assert picture.items[shape.item].text, f"{drawing.title}: a wide box is empty: {shape}"
    ElementTree.fromstring(svg(picture))
    assert max(map(len, as_text(drawing))) <= COLUMNS


def check_span(shard: Shard, span: Span, what: str) -> None:
    """Assert that a span begins and ends where nodes do, or is inside a single node."""
    root = shard.tree_of(span.source).span
    assert root.start <= span.start <= span.stop <= root.stop, f"{what}: {span} is not within {root}"
    if not span.size:
        return
    first, last = shard.explain(span.start, span.source), shard.explain(span.stop - 1, span.source)
    within = _holds(first[-1], span)
    assert within or any(node.span.start == span.start for node in first), f"{what}: {span} begins within {first[-1]}"
    assert within or any(node.span.stop == span.stop for node in last), f"{what}: {span} ends within {last[-1]}"


def check_picture(picture: Picture) -> None:
    """Assert that texts do not overlap, nothing is outside the page, and every item can be clicked."""
    overlapping = [(a.text, b.text) for a, b in _neighbours(picture) if a.rect.meets(b.rect)]
    assert overlapping == [], f"{picture.drawing.title} at {picture.width}"
    page = Rect(0, 0, picture.width, picture.height)
    for shape in picture.shapes:
        points = shape.points() if isinstance(shape, Path) else shape.rect.corners
        for x, y in points:
            assert page.x <= x <= page.right, f"{picture.drawing.title} at {picture.width}: {shape}"
            assert page.y <= y <= page.bottom, f"{picture.drawing.title} at {picture.width}: {shape}"
    assert {area.item for area in picture.areas} == set(range(len(picture.items)))


def values_at_ends(control: Control) -> tuple[object, ...]:
    """Return the values of a control to test: minimum and maximum of a slider, all choices, both states of a switch."""
    if control.kind is ControlKind.SLIDER:
        return control.low, control.high
    if control.kind is ControlKind.SWITCH:
        return False, True
    return control.choices if control.kind is ControlKind.CHOICE else (control.value,)


def wrong_values(control: Control) -> tuple[object, ...]:
    """Return invalid values of a control; none for a text, which only the format can check."""
    if control.kind is ControlKind.SLIDER:
        return control.high + 1, control.low - 1, "many"
    if control.kind is ControlKind.SWITCH:
        return ("perhaps",)
    return ("no such choice",) if control.kind is ControlKind.CHOICE else ()


def _holds(node: Node, span: Span) -> bool:
    return node.span.start <= span.start and span.stop <= node.span.stop


def _neighbours(picture: Picture) -> Iterator[tuple[Text, Text]]:
    texts = sorted((shape for shape in picture.shapes if isinstance(shape, Text)), key=lambda text: text.rect.y)
    for n, a in enumerate(texts):
        for b in texts[n + 1 :]:
            if b.rect.y > a.rect.y + _NEAR:
                break
            yield a, b
