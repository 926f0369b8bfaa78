"""The tints behind bytes are told apart: by every eye in the safe palettes, and at a glance in all of them."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from PySide6.QtGui import QColor

from shardcore import FieldRole, SectionRole
from shardscope.widgets import theme
from shardscope.widgets.oklch import Rgb
from shardscope.widgets.tints import OWN_HUES
from tests.app.widgets.colour_vision import DEFICIENCIES, cie76, seen_with

SOLID = [role for role in SectionRole if role not in (SectionRole.PADDING, SectionRole.TRAILING, SectionRole.UNKNOWN)]


def rgb(colour: QColor) -> Rgb:
    """A colour as three numbers."""
    return colour.redF(), colour.greenF(), colour.blueF()


def section_tints(name: str, section: SectionRole) -> list[Rgb]:
    """Both strengths of a section."""
    return [rgb(theme.palette(name).field(section, FieldRole.NUMBER, parity)) for parity in (0, 1)]


def own_tints(name: str, role: FieldRole) -> list[Rgb]:
    """Both strengths of a role with a hue of its own."""
    return [rgb(theme.palette(name).field(SectionRole.INDEX, role, parity)) for parity in (0, 1)]


@pytest.mark.parametrize("name", theme.NAMES)
def test_keys_pointers_and_sizes_are_seen_at_a_glance(name: str) -> None:
    """In both strengths they are 10 apart from each other and from every section in which they may stand."""
    for one, other in combinations(OWN_HUES, 2):
        for a, b in product(own_tints(name, one), own_tints(name, other)):
            assert cie76(a, b) >= 10, (one, other)
    for role, section in product(OWN_HUES, SectionRole):
        for a, b in product(own_tints(name, role), section_tints(name, section)):
            assert cie76(a, b) >= 10, (role, section)


@pytest.mark.parametrize("name", theme.NAMES)
def test_sections_are_seen_at_a_glance(name: str) -> None:
    """The tints of two sections are 10 apart in any strength, and the two strengths of one can be seen side by side."""
    for one, other in combinations(SOLID, 2):
        for a, b in product(section_tints(name, one), section_tints(name, other)):
            assert cie76(a, b) >= 10, (one, other)
    for section in SectionRole:
        assert 2.3 <= cie76(*section_tints(name, section)) < 10


@pytest.mark.parametrize("name", theme.NAMES)
def test_a_section_has_one_tint(name: str) -> None:
    """Whatever a field is, it has the tint of its section, unless it is a key, a pointer or a size."""
    colours = theme.palette(name)
    for section, parity in product(SectionRole, (0, 1)):
        plain = {colours.field(section, role, parity).rgb() for role in FieldRole if role not in OWN_HUES}
        assert len(plain) == 1


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("name", [name for name in theme.NAMES if name.endswith("-safe")])
def test_colour_blind_eyes_tell_tints_apart(name: str, deficiency: str) -> None:
    """In the safe palettes sections, keys, pointers and sizes differ also where a kind of cone is missing."""
    groups = [section_tints(name, section) for section in SOLID] + [own_tints(name, role) for role in OWN_HUES]
    for one, other in combinations(groups, 2):
        for a, b in product(one, other):
            assert cie76(seen_with(a, deficiency), seen_with(b, deficiency)) >= 5
