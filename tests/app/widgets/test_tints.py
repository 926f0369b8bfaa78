"""The tints behind bytes are told apart: by every eye in the safe palettes, and at a glance in all of them."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from shardcore import SectionRole
from shardscope.widgets import theme
from shardscope.widgets.oklch import Rgb, distance
from tests.app.widgets.colour_vision import DEFICIENCIES, cie76, seen_with

SOLID = [role for role in SectionRole if role not in theme.HATCHED]


def tints(name: str, section: SectionRole) -> list[Rgb]:
    """Both strengths of a section."""
    return [theme.palette(name).section(section, parity).getRgbF()[:3] for parity in (0, 1)]


@pytest.mark.parametrize("name", theme.NAMES)
def test_sections_are_seen_at_a_glance(name: str) -> None:
    """Their CIELAB distance is at least 12 in the same strength, and 10 in any."""
    for one, other in combinations(SOLID, 2):
        for (a, first), (b, second) in product(enumerate(tints(name, one)), enumerate(tints(name, other))):
            assert 100 * distance(first, second) >= (12 if a == b else 10), (one, other)


@pytest.mark.parametrize("name", theme.NAMES)
def test_hatched_sections_are_quiet_but_distinct(name: str) -> None:
    """Their CIELAB distance to every other section is at least 4."""
    for one, other in product(theme.HATCHED, SectionRole):
        if one is not other:
            for first, second in product(tints(name, one), tints(name, other)):
                assert 100 * distance(first, second) >= 4, (one, other)


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("name", [name for name in theme.NAMES if name.endswith("-safe")])
def test_colour_blind_eyes_tell_tints_apart(name: str, deficiency: str) -> None:
    seen = {role: [seen_with(tint, deficiency) for tint in tints(name, role)] for role in SOLID}
    for one, other in combinations(SOLID, 2):
        assert distance(seen[one][1], seen[other][1]) > 0.1
        for a, b in product(seen[one], seen[other]):
            assert cie76(a, b) >= 5
