"""Colours can be read and told apart, and are never alone."""

from __future__ import annotations

from itertools import product

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from shardcore import FieldRole, SectionRole
from shardscope.widgets import theme
from shardscope.widgets.oklch import Rgb, contrast, distance, from_oklch
from shardscope.widgets.tints import UNDERLINED


def rgb(colour: QColor) -> Rgb:
    """A colour without its alpha."""
    return colour.redF(), colour.greenF(), colour.blueF()


def over(front: QColor, back: QColor) -> Rgb:
    """A translucent colour on another one."""
    alpha = front.alphaF()
    red, green, blue = (f * alpha + b * (1 - alpha) for f, b in zip(rgb(front), rgb(back), strict=True))
    return red, green, blue


def colours_of(colours: theme.Palette, name: str) -> list[Rgb]:
    """The colours of a name of `theme.CONTRASTS`."""
    tints = [colours.section(role, parity) for role in SectionRole for parity in (0, 1)]
    if name == "selected":
        return [over(colours.selection, tint) for tint in [*tints, *map(colours.field, UNDERLINED)]]
    lines = [colours.underline(role).color() for role in UNDERLINED]
    return [rgb(one) for one in {"tint": tints, "underline": lines}.get(name) or [getattr(colours, name)]]


@pytest.mark.parametrize("name", theme.NAMES)
def test_everything_can_be_read(name: str) -> None:
    """Every ink has its contrast on every ground that it is seen on, also between the lines of a hatch."""
    colours = theme.palette(name)
    for (ink, ground), least in theme.CONTRASTS.items():
        for one, other in product(colours_of(colours, ink), colours_of(colours, ground)):
            assert contrast(one, other) >= least, (ink, ground)
    for role in theme.HATCHED:
        assert contrast(rgb(colours.zero), over(colours.hatch(role).color(), colours.section(role))) >= 4.5
    for ground in (colours.accent, *map(colours.section, SectionRole)):
        assert contrast(rgb(colours.ink_on(ground)), rgb(ground)) >= 4.5


@pytest.mark.parametrize("name", theme.NAMES)
def test_a_selection_looks_different(name: str) -> None:
    """Selected bytes are told from the same bytes that are not."""
    colours = theme.palette(name)
    for tint in (colours.section(role, parity) for role in SectionRole for parity in (0, 1)):
        assert 100 * distance(over(colours.selection, tint), rgb(tint)) > 4


def test_colour_is_never_alone() -> None:
    """Every role of sections and fields has a letter of its own, every section role a hatch."""
    assert set(theme.SECTION_LETTERS) == set(theme.HATCHES) == set(SectionRole)
    assert set(theme.FIELD_LETTERS) == set(FieldRole)
    for letters in (theme.SECTION_LETTERS, theme.FIELD_LETTERS):
        assert len(set(letters.values())) == len(letters)
        assert all(len(letter) == 1 for letter in letters.values())
    assert len(set(theme.HATCHES.values())) == len(theme.HATCHES)


def test_unknown_names_give_the_light_palette() -> None:
    """A name from old settings is no reason to fail."""
    assert theme.palette("no such theme").name == "light"


def test_oklch_gives_known_colours() -> None:
    """White, black and a grey come out exactly; colours that do not exist come out less saturated, not clipped."""
    assert from_oklch(1, 0, 0) == pytest.approx((1, 1, 1), abs=1e-3)
    assert from_oklch(0, 0, 0) == pytest.approx((0, 0, 0), abs=1e-3)
    red, green, blue = from_oklch(0.6, 0, 0)
    assert red == pytest.approx(green, abs=1e-3) == pytest.approx(blue, abs=1e-3)
    assert from_oklch(0.628, 0.2577, 29.23) == pytest.approx((1, 0, 0), abs=0.08)
    assert distance(from_oklch(0.7, 0.4, 150), from_oklch(0.7, 0.1, 150)) < 0.15
    assert contrast((1, 1, 1), (0, 0, 0)) == pytest.approx(21)


@pytest.mark.thorough
def test_another_theme_restyles_each_widget_twice(qapp: QApplication, qtbot: QtBot) -> None:
    """Every pass over all widgets takes long in a full window: there are two, for the style sheet alone."""
    theme.apply(qapp, "light")
    passes: list[QEvent.Type] = []

    class Counting(QWidget):
        def changeEvent(self, event: QEvent) -> None:
            if event.type() is QEvent.Type.StyleChange:
                passes.append(event.type())
            super().changeEvent(event)

    widget = Counting()
    qtbot.addWidget(widget)
    widget.show()
    passes.clear()
    theme.apply(qapp, "dark")
    theme.apply(qapp, "light")
    # Each takes a style sheet away and gives another, which costs less than to change it.
    assert len(passes) == 4
