"""Drawings as SVG: sound XML, the same bytes each time, told to those who do not see."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from shardcore.model.drawing import Drawing, Item, Table, Tone
from shardcore.model.span import Span
from shardcore.teaching.drawing.layout import placed
from shardcore.teaching.drawing.picture import Ink
from shardcore.teaching.drawing.svg import DARK, LIGHT, svg
from tests.shardcore.teaching.drawing.gallery import ALL, parking

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
def test_xml(make: Callable[[], Drawing]) -> None:
    """Every drawing is sound XML in both sets of colours, and equal drawings give equal bytes."""
    text = svg(placed(make()))
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert text == svg(placed(make()))
    assert "nan" not in text
    assert "inf" not in text
    ElementTree.fromstring(svg(placed(make()), DARK))


def test_told() -> None:
    """A screen reader hears the title and the caption; each item tells its sentence and its bytes."""
    root = ElementTree.fromstring(svg(placed(parking())))
    assert root.get("role") == "img"
    assert root.get("aria-label") == "Where the key parks"
    assert "perfect hash" in (root.findtext(f"{SVG}desc") or "")
    tips = {title.text for title in root.iter(f"{SVG}title")}
    assert "4. A bucket. 0x67 · 1 byte" in tips
    assert "77ab. computed (not stored)" in tips


def test_hatches_are_there() -> None:
    """What is hatched names a pattern of its own file, and files on one page keep theirs apart."""
    for colours in (LIGHT, DARK):
        text = svg(placed(parking()), colours)
        for tone in ("miss", "dead"):
            assert text.count(f'id="{tone}-{colours.name}"') == 1
            assert f"url(#{tone}-{colours.name})" in text


def test_hostile_texts() -> None:
    """Texts out of files stay texts: marks of XML are escaped, what cannot be written is shown as an escape."""
    item = Item('<script>&"\x00\u202e\ud800', (Span("a<b", 0, 1),))
    text = svg(placed(Drawing("<x>\x1b", (Table("]]>", ("h",), ((item,),)),))))
    text.encode()
    root = ElementTree.fromstring(text)
    assert not list(root.iter(f"{SVG}script"))
    assert "\u202e" not in text


def test_colours_complete() -> None:
    """Both sets have every ink, and a tint for every tone that is filled."""
    for colours in (LIGHT, DARK):
        assert set(colours.inks) == set(Ink)
        assert set(colours.tints) == set(Tone) - {Tone.EMPTY, Tone.FAINT}
