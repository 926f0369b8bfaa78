"""Where everything of a drawing lies: nothing overlaps, nothing is cut off, everything can be pointed at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from math import ceil, hypot

import pytest

from shardcore.model.drawing import Bits, Cells, Drawing, Item, Link, Ruler, Table, Tone
from shardcore.teaching.drawing.layout import placed
from shardcore.teaching.drawing.picture import Box, Face, Path, Picture, Rect, Text
from shardcore.teaching.drawing.text_output import as_text
from shardcore.testing.drawing_contract import WIDTHS, check_picture
from tests.shardcore.teaching.drawing.gallery import ALL, bits, parking, tape

drawings = pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)


def texts_of(picture: Picture) -> list[Text]:
    """The texts of a picture."""
    return [shape for shape in picture.shapes if isinstance(shape, Text)]


def arrows_of(picture: Picture) -> list[Path]:
    """The arrows of a picture: one for each link, and one for each ring."""
    arrows = [shape for shape in picture.shapes if isinstance(shape, Path) and shape.arrow]
    rings = sum(getattr(figure, "ring", False) for figure in picture.drawing.figures)
    assert len(arrows) == len(picture.drawing.links) + rings
    return arrows


@drawings
@pytest.mark.parametrize("width", WIDTHS)
def test_texts_apart(make: Callable[[], Drawing], width: int) -> None:
    """At every width no text overlaps another, nothing leaves the page, every item has a place, every link an arrow."""
    picture = placed(make(), width)
    assert picture.width == width
    check_picture(picture)
    assert all(area.bounds.w > 0 and area.bounds.h > 0 for area in picture.areas)
    arrows_of(picture)


@pytest.mark.parametrize("make", [parking, bits, tape], ids=lambda make: make.__name__)
@pytest.mark.parametrize("width", WIDTHS)
def test_arrows_pass_texts(make: Callable[[], Drawing], width: int) -> None:
    """No arrow runs through a text."""
    picture = placed(make(), width)
    for arrow in arrows_of(picture):
        for (x0, y0), (x1, y1) in pairwise(arrow.points()):
            steps = ceil(hypot(x1 - x0, y1 - y0) / 2) + 1
            for step in range(steps):
                dot = Rect(x0 + (x1 - x0) * step / steps, y0 + (y1 - y0) * step / steps, 0, 0)
                assert not [text.text for text in texts_of(picture) if text.rect.meets(dot)], arrow


@drawings
def test_two_columns(make: Callable[[], Drawing]) -> None:
    """Beside each other nothing overlaps, no arrow is lost, and the page is not higher than with all in one column."""
    drawing = make()
    for width in WIDTHS[2:]:
        picture = placed(drawing, width, columns=2)
        check_picture(picture)
        arrows_of(picture)
    apart = Drawing("", tuple(Table(f"{n}", ("name",), ((Item("a"),), (Item("b"),))) for n in range(4)))
    assert placed(apart, 900, columns=2).height < 0.7 * placed(apart, 900).height


def test_computed_and_states_seen_without_colour() -> None:
    """Computed items are dashed, and a legend tells hatches and frames in words."""
    picture = placed(parking())
    boxes = [shape for shape in picture.shapes if isinstance(shape, Box) and shape.item >= 0]
    assert all(box.dashed is picture.items[box.item].computed for box in boxes)
    words = {text.text for text in texts_of(picture)}
    assert {"result of the lookup", "mismatch", "deleted", "computed (not stored)"} <= words
    assert {"… 1,010,117 more", "What if"} <= words


def test_legend_of_its_own() -> None:
    """A drawing in which a tone means something else says so, on the page and in lines of text."""
    drawing = replace(parking(), legend={Tone.HIT: "equal bytes", Tone.KEY: "a key of the bucket"})
    words = {text.text for text in texts_of(placed(drawing))}
    assert {"equal bytes", "a key of the bucket", "mismatch"} <= words
    assert "result of the lookup" not in words
    assert "* equal bytes   ! mismatch   x deleted   ~ computed (not stored)" in as_text(drawing)


def test_what_if_is_framed() -> None:
    """What would be has a frame of its own; what the file says has none."""
    real, thought = placed(replace(parking(), what_if=False)), placed(parking())
    framed = [shape for shape in thought.shapes if shape not in real.shapes and isinstance(shape, Path)]
    assert any(frame.dashed and len(frame.moves) == 4 for frame in framed)


def test_a_ring_is_gone_around() -> None:
    """On a ring an arrow to the left leaves the page at the right and comes in at the left; a dashed one does not."""
    items = tuple(Item(text, (), at, name=text) for at, text in enumerate("abc"))
    for figure in (Cells("", 3, items, ring=True), Ruler("", 0, 3, items, ring=True)):
        picture = placed(Drawing("", (figure,), (Link("c", "a"), Link("c", "b", tone=Tone.FAINT))))
        lines = [shape for shape in picture.shapes if isinstance(shape, Path)]
        assert any(not line.arrow and line.moves[-1].to[0] > picture.width - 5 for line in lines)
        assert any(line.arrow and line.start[0] < 5 for line in lines)
        assert sum(line.dashed and line.arrow for line in lines) == 1


def test_handles() -> None:
    """A handle stands at the upper end of its item and counts in units of the figure: bits grow to the left."""
    picture = placed(bits(), 900)
    grips = {grip.control: grip for grip in picture.grips}
    assert set(grips) == {"preshift", "minishard", "shard"}
    grip = grips["preshift"]
    area = picture.area_of(grip.item)
    assert abs(grip.rect.middle[0] - area.x) < 1
    assert grip.end == 4
    assert grip.moved(-2 * abs(grip.step)) == 2
    assert grip.moved(0.4 * abs(grip.step)) == 0


def test_narrow_pages_break_bits() -> None:
    """Where 64 cells would be too narrow to read, bits stand in two rows, and all digits are there."""
    picture = placed(Drawing("", (Bits("Key", 64, 5, (Item("low", (), 0, 40),)),)), 320)
    digits = [text for text in texts_of(picture) if text.face is Face.MONO]
    assert len(digits) == 64
    wide = placed(Drawing("", (Bits("Key", 64, 5, ()),)), 560)
    assert len([text for text in texts_of(wide) if text.face is Face.MONO]) == 64
    assert len({text.rect.y for text in digits}) == 2
    assert len([area for area in picture.areas if area.item == 0]) == 2
