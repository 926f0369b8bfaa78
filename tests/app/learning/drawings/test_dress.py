"""Drawings wear the palette and the fonts of the window; outside the window they look the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from shardcore.model.drawing import Drawing
from shardcore.teaching.drawing.colours import DARK, LIGHT
from shardcore.teaching.drawing.layout import placed
from shardcore.testing.drawing_checks import WIDTHS, check_picture
from shardscope.learning.drawings.colours import Fonts, colours_of
from shardscope.learning.drawings.panel import image_of
from shardscope.widgets import theme
from tests.shardcore.teaching.drawing.gallery import ALL


def test_colours_are_those_of_the_window(qtbot: QtBot) -> None:
    """What SVG and notebooks show in light and dark is what the window shows; all palettes have the same tones."""
    for fixed in (LIGHT, DARK):
        worn = colours_of(fixed.name)
        assert (worn.base, dict(worn.inks), dict(worn.tints)) == (fixed.base, dict(fixed.inks), dict(fixed.tints))
    for name in theme.NAMES:
        assert set(colours_of(name).tints) == set(LIGHT.tints)


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
def test_painted(qtbot: QtBot, make: Callable[[], Drawing]) -> None:
    """In the fonts of the window nothing overlaps either, and everything is painted in every palette."""
    fonts = Fonts()
    for width in WIDTHS:
        check_picture(placed(make(), width, fonts.measure))
    picture = placed(make(), 560, fonts.measure)
    images = [image_of(picture, name, fonts) for name in ("light", "dark")]
    assert images[0] != images[1]
    assert images[0].width() == 1120
