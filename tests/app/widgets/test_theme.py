"""Colours can be read and told apart, and are never alone."""

from __future__ import annotations

from itertools import product

import pytest
from PySide6.QtGui import QColor

from shardcore import FieldRole, SectionRole
from shardscope.widgets import theme
from shardscope.widgets.oklch import Rgb, contrast, distance
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
    """Every ink has its contrast on every ground, also between the lines of a hatch."""
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
    colours = theme.palette(name)
    for tint in (colours.section(role, parity) for role in SectionRole for parity in (0, 1)):
        assert 100 * distance(over(colours.selection, tint), rgb(tint)) > 4


def test_colour_is_never_alone() -> None:
    assert set(theme.SECTION_LETTERS) == set(theme.HATCHES) == set(SectionRole)
    assert set(theme.FIELD_LETTERS) == set(FieldRole)
    for letters in (theme.SECTION_LETTERS, theme.FIELD_LETTERS):
        assert len(set(letters.values())) == len(letters)
        assert all(len(letter) == 1 for letter in letters.values())
    assert len(set(theme.HATCHES.values())) == len(theme.HATCHES)
