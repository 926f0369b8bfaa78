"""Contract tests for drawings and for the format reference: tests that those of every format must pass."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

import pytest

import shardcore
from shardcore.errors import UsageError
from shardcore.model.drawing import MOST_ITEMS, Control, ControlKind, Drawing, Sketch, Tone
from shardcore.model.record import Columns, Record, differences_table, layout_table
from shardcore.model.span import Span
from shardcore.shards.shard import Shard
from shardcore.shards.trace import Trace
from shardcore.teaching.drawing import picture as shapes
from shardcore.teaching.drawing.layout import placed
from shardcore.teaching.drawing.picture import Box, Picture, Rect, Text
from shardcore.teaching.drawing.svg import svg
from shardcore.teaching.drawing.text_output import COLUMNS, as_text
from shardcore.testing.checks import indexed, live_keys
from shardcore.testing.shard_contract import SampleContract
from shardcore.testing.sources import CountingSource

_DIFFERENCES = re.compile(r"(<!-- differences -->\n).*?(<!-- end of differences -->)", re.DOTALL)
_TABLE = re.compile(r"(<!-- layout: (?P<name>[^>]+?) -->\n).*?(<!-- end of layout -->)", re.DOTALL)


def filled(page: str, layouts: Mapping[str, Record | Columns]) -> str:
    """Fill a page: insert the table of a layout between `<!-- layout: NAME -->` and `<!-- end of layout -->`.

    Between `<!-- differences -->` and `<!-- end of differences -->`, a table of the fields is inserted in which
    specification and real files differ.

    Raises:
        KeyError: The page names a layout that does not exist.
    """
    page = _DIFFERENCES.sub(lambda found: f"{found[1]}{differences_table(layouts)}\n{found[2]}", page)
    return _TABLE.sub(lambda found: f"{found[1]}{layout_table(layouts[found['name']])}\n{found[3]}", page)


class PageContract:
    """Contract tests for the Markdown page of the format reference. Subclasses define `page` and `layouts`.

    With `UPDATE_PAGES=1` in the environment, the tables of the page are rewritten instead of compared.

    Attributes:
        page: Path of the page.
        layouts: Layouts of the format, by the names on the page.
    """

    page: ClassVar[Path]
    layouts: ClassVar[Mapping[str, Record | Columns]]

    def test_tables_are_those_of_the_layouts(self) -> None:
        text = self.page.read_text(encoding="utf-8")
        wanted = filled(text, self.layouts)
        if os.environ.get("UPDATE_PAGES") == "1":
            self.page.write_text(wanted, encoding="utf-8")
        else:
            assert text == wanted, "run the tests once with UPDATE_PAGES=1, and read the difference"

    def test_differences_are_listed(self) -> None:
        some = any(field.differs is not None for layout in self.layouts.values() for field in layout.fields)
        assert bool(_DIFFERENCES.search(self.page.read_text(encoding="utf-8"))) == some

    def test_every_layout_has_its_table(self) -> None:
        named = {found["name"] for found in _TABLE.finditer(self.page.read_text(encoding="utf-8"))}
        assert named == set(self.layouts)


WIDTHS = (320, 560, 900, 1600)
"""Widths in pixels at which drawings are tested."""

WIDE = 48.0
"""Width in pixels from which on an item must have a text."""

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
    within = first[-1].span.holds(span)
    assert within or any(node.span.start == span.start for node in first), f"{what}: {span} begins within {first[-1]}"
    assert within or any(node.span.stop == span.stop for node in last), f"{what}: {span} ends within {last[-1]}"


def check_picture(picture: Picture) -> None:
    """Assert that texts do not overlap, nothing is outside the page, and every item can be clicked."""
    overlapping = [(a.text, b.text) for a, b in _neighbours(picture) if a.rect.meets(b.rect)]
    assert overlapping == [], f"{picture.drawing.title} at {picture.width}"
    page = Rect(0, 0, picture.width, picture.height)
    for shape in picture.shapes:
        points = shape.points() if isinstance(shape, shapes.Path) else shape.rect.corners
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


def _neighbours(picture: Picture) -> Iterator[tuple[Text, Text]]:
    texts = sorted((shape for shape in picture.shapes if isinstance(shape, Text)), key=lambda text: text.rect.y)
    for n, a in enumerate(texts):
        for b in texts[n + 1 :]:
            if b.rect.y > a.rect.y + _NEAR:
                break
            yield a, b


class DrawingContract(SampleContract):
    """Contract tests for the drawings of a format; derive from it, and define the samples.

    Attributes:
        names: Names of the drawings of every successful lookup.
    """

    names: ClassVar[Sequence[str]] = ()
    most_keys: ClassVar[int] = 2

    def keys(self, shard: Shard) -> list[str]:
        """Return keys whose lookups are drawn: some of objects, and absent ones."""
        return [*live_keys(shard)[: self.most_keys], *self.absent]

    def with_drawings(self, sample: Path) -> Iterator[tuple[Shard, Trace | None, tuple[Sketch, ...]]]:
        """Yield shard, trace and drawings: first of the file (without trace), then of some lookups."""
        with indexed(self.opened(sample)) as shard:
            yield shard, None, shard.sketches()
            for key in self.keys(shard):
                trace = shard.trace(key)
                yield shard, trace, shard.sketches(trace)

    def test_every_rectangle_is_in_the_tree(self, sample: Path) -> None:
        """Each item of each drawing begins and ends at edges of nodes, or is inside a single node."""
        for shard, trace, sketches in self.with_drawings(sample):
            steps = trace.steps if trace is not None else ()
            drawn = [step.drawing for step in steps if step.drawing is not None]
            assert len(drawn) == len(steps), "a step without a drawing"
            for number, drawing in enumerate(drawn):
                check_drawing(shard, drawing, WIDTHS[number % 2 :: 2])
            for sketch in sketches:
                check_drawing(shard, sketch.draw({}))

    def test_controls_can_be_set(self, sample: Path) -> None:
        """Drawing works for the default and both extremes of every control, and is deterministic."""
        widths = cycle(WIDTHS)
        for shard, _, sketches in self.with_drawings(sample):
            for sketch in sketches:
                usual: Drawing = sketch.draw({})
                assert usual == sketch.draw({one.name: one.value for one in sketch.controls})
                for control in sketch.controls:
                    for value in values_at_ends(control):
                        check_drawing(shard, sketch.draw({control.name: value}), [next(widths)])

    def test_wrong_values_are_refused(self, sample: Path) -> None:
        """An invalid value of a control raises a `UsageError` that lists the valid ones."""
        for _, _, sketches in self.with_drawings(sample):
            for sketch in sketches:
                wrong = [(control.name, value) for control in sketch.controls for value in wrong_values(control)]
                for name, value in wrong:
                    with pytest.raises(UsageError):
                        sketch.draw({name: value})

    def test_sketches_are_named(self, sample: Path) -> None:
        """Names of drawings are short, stable and unique; each successful lookup has the drawings of the format."""
        for _, trace, sketches in self.with_drawings(sample):
            names = [sketch.name for sketch in sketches]
            assert len(set(names)) == len(names)
            assert all(name.isidentifier() and sketch.title for name, sketch in zip(names, sketches, strict=True))
            if trace is not None and trace.outcome == "found":
                assert set(self.names) <= set(names)

    def test_listing_drawings_reads_nothing(self, sample: Path) -> None:
        if sample.is_dir():
            pytest.skip("a folder has no bytes that could be counted")
        source = CountingSource(sample.read_bytes(), sample.name, folder=shardcore.LocalFolder(sample.parent))
        with self.opened(source) as shard:
            traces = [None, *(shard.trace(key) for key in self.absent)]
            for trace in traces:
                source.ranges.clear()
                shard.sketches(trace)
                assert source.ranges == []
