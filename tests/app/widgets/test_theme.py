"""Colours can be read and told apart, and are never alone."""

from __future__ import annotations

from itertools import combinations

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from shardcore import FieldRole, SectionRole
from shardscope.widgets import theme
from shardscope.widgets.oklch import Rgb, contrast, distance, from_oklch
from tests.app.widgets.colour_vision import DEFICIENCIES, seen_with

SOLID = [role for role in SectionRole if role not in (SectionRole.PADDING, SectionRole.TRAILING, SectionRole.UNKNOWN)]


def rgb(colour: QColor) -> Rgb:
    """A colour without its alpha."""
    return colour.redF(), colour.greenF(), colour.blueF()


def over(front: QColor, back: QColor) -> Rgb:
    """A translucent colour on another one."""
    alpha = front.alphaF()
    red, green, blue = (f * alpha + b * (1 - alpha) for f, b in zip(rgb(front), rgb(back), strict=True))
    return red, green, blue


@pytest.mark.parametrize("name", theme.NAMES)
def test_bytes_can_be_read_on_every_shade(name: str) -> None:
    """On every field of every section text has the contrast that WCAG asks for, selected or not."""
    colours = theme.palette(name)
    for section in SectionRole:
        for role in FieldRole:
            for parity in (0, 1):
                shade = colours.field(section, role, parity)
                assert contrast(rgb(colours.text), rgb(shade)) >= 6
                assert contrast(rgb(colours.text), over(colours.selection, shade)) >= 4.5
                assert contrast(rgb(colours.zero), rgb(shade)) >= 4.5


@pytest.mark.parametrize("name", theme.NAMES)
def test_words_can_be_read(name: str) -> None:
    """Text, muted text, accents and the colours of findings stand out from the backgrounds."""
    colours = theme.palette(name)
    for back in (colours.window, colours.base):
        assert contrast(rgb(colours.text), rgb(back)) >= 7
        assert contrast(rgb(colours.muted), rgb(back)) >= 4.5
        for mark in (colours.error, colours.accent):
            assert contrast(rgb(mark), rgb(back)) >= 4
        for mark in (colours.warning, colours.note, colours.ok):
            assert contrast(rgb(mark), rgb(back)) >= 3


@pytest.mark.parametrize("name", theme.NAMES)
def test_main_buttons_can_be_read(name: str) -> None:
    """The main button of a dialog is filled with the accent, and its words have the contrast that WCAG asks for."""
    colours = theme.palette(name)
    assert contrast(rgb(colours.base), rgb(colours.accent)) >= 4.5


@pytest.mark.parametrize("name", theme.NAMES)
def test_sections_look_different(name: str) -> None:
    """The strong colours of sections are all far apart, for eyes that see all colours."""
    colours = theme.palette(name)
    for one, other in combinations(SOLID, 2):
        assert distance(rgb(colours.section(one)), rgb(colours.section(other))) > 0.08, (one, other)


@pytest.mark.parametrize("name", [name for name in theme.NAMES if name.endswith("-safe")])
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_safe_palettes_are_safe(name: str, deficiency: str) -> None:
    """In the palettes for colour-blind eyes, sections stay apart when one kind of cone is missing."""
    colours = theme.palette(name)
    seen = {role: seen_with(rgb(colours.section(role)), deficiency) for role in SOLID}
    for one, other in combinations(SOLID, 2):
        assert distance(seen[one], seen[other]) > 0.1, (one, other)


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
