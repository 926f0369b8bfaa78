"""Colours can be read and told apart, and are never alone."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtGui import QColor, QFontInfo, QFontMetricsF
from pytestqt.qtbot import QtBot

from shardcore import FieldRole, SectionRole
from shardscope.widgets import theme
from shardscope.widgets.fonts import MONO
from shardscope.widgets.theme import UNDERLINED, Rgb, contrast, decoded, encoded

_SURFACES = ("window", "base", "raised")
_SIGNALS = ("muted", "accent", "error", "warning", "note", "ok")

CONTRASTS = (
    {("text", ground): 7.0 for ground in _SURFACES}
    | dict.fromkeys(product(_SIGNALS, _SURFACES), 4.5)
    | {("faint", ground): 3.0 for ground in _SURFACES}
    | {("base", "accent"): 4.5}
    | {("text", "tint"): 4.5, ("text", "selected"): 4.5, ("zero", "tint"): 4.5, ("underline", "tint"): 3.0}
)
"""Minimum contrast of pairs of colours of `Palette`; `tint` is any background of bytes, `selected` of selected ones."""

OKLAB_TO_LMS = np.array(
    [[1.0, 0.3963377774, 0.2158037573], [1.0, -0.1055613458, -0.0638541728], [1.0, -0.0894841775, -1.2914855480]]
)
LMS_TO_LINEAR = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


def distance(one: Rgb, other: Rgb) -> float:
    """The Euclidean distance in OKLab; 0.02 is just noticeable."""
    return float(np.linalg.norm(oklab(one) - oklab(other)))


def oklab(colour: Rgb) -> NDArray[np.float64]:
    lms = np.cbrt(np.linalg.solve(LMS_TO_LINEAR, np.array([decoded(part) for part in colour])))
    lab: NDArray[np.float64] = np.linalg.solve(OKLAB_TO_LMS, lms)
    return lab


def rgb(colour: QColor) -> Rgb:
    """A colour without its alpha."""
    return colour.redF(), colour.greenF(), colour.blueF()


def over(front: QColor, back: QColor) -> Rgb:
    """A translucent colour on another one."""
    alpha = front.alphaF()
    red, green, blue = (f * alpha + b * (1 - alpha) for f, b in zip(rgb(front), rgb(back), strict=True))
    return red, green, blue


def colours_of(colours: theme.Palette, name: str) -> list[Rgb]:
    """The colours of a name of `CONTRASTS`."""
    tints = [colours.section(role, parity) for role in SectionRole for parity in (0, 1)]
    if name == "selected":
        return [over(colours.selection, tint) for tint in [*tints, *map(colours.field, UNDERLINED)]]
    lines = [colours.underline(role).color() for role in UNDERLINED]
    return [rgb(one) for one in {"tint": tints, "underline": lines}.get(name) or [getattr(colours, name)]]


@pytest.mark.parametrize("name", theme.NAMES)
def test_everything_can_be_read(name: str) -> None:
    """Every ink has its contrast on every ground, also between the lines of a hatch."""
    colours = theme.palette(name)
    for tint in (colours.section(role, parity) for role in SectionRole for parity in (0, 1)):
        assert 100 * distance(over(colours.selection, tint), rgb(tint)) > 4, "a selection looks different"
    for (ink, ground), least in CONTRASTS.items():
        for one, other in product(colours_of(colours, ink), colours_of(colours, ground)):
            assert contrast(one, other) >= least, (ink, ground)
    for role in theme.HATCHED:
        assert contrast(rgb(colours.zero), over(colours.hatch(role).color(), colours.section(role))) >= 4.5
    for ground in (colours.accent, *map(colours.section, SectionRole)):
        assert contrast(rgb(colours.ink_on(ground)), rgb(ground)) >= 4.5


def test_colour_is_never_alone() -> None:
    assert set(theme.SECTION_LETTERS) == set(theme.HATCHES) == set(SectionRole)
    assert set(theme.FIELD_LETTERS) == set(FieldRole)
    for letters in (theme.SECTION_LETTERS, theme.FIELD_LETTERS):
        assert len(set(letters.values())) == len(letters)
        assert all(len(letter) == 1 for letter in letters.values())
    assert len(set(theme.HATCHES.values())) == len(theme.HATCHES)


# Machado, Oliveira and Fernandes 2009, full severity, on linear RGB.
DEFICIENCIES = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
D65 = np.array([0.95047, 1.0, 1.08883])
SOLID = [role for role in SectionRole if role not in theme.HATCHED]


def seen_with(colour: Rgb, deficiency: str) -> Rgb:
    """The colour as eyes with a deficiency, one of `DEFICIENCIES`, see it."""
    seen = np.array(DEFICIENCIES[deficiency]) @ [decoded(part) for part in colour]
    red, green, blue = (encoded(float(part)) for part in np.clip(seen, 0, 1))
    return red, green, blue


def cielab(colour: Rgb) -> NDArray[np.float64]:
    """The colour in CIELAB: distances of 2.3 are just noticeable, of 10 are seen at a glance."""
    xyz = TO_XYZ @ np.array([decoded(part) for part in colour]) / D65
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def tints(name: str, section: SectionRole) -> list[Rgb]:
    """Both strengths of a section."""
    return [rgb(theme.palette(name).section(section, parity)) for parity in (0, 1)]


@pytest.mark.parametrize("name", theme.NAMES)
def test_sections_are_seen_at_a_glance(name: str) -> None:
    """Solid ones are 12 apart in the same strength, and 10 in any; hatched ones are quiet but distinct: 4."""
    for one, other in combinations(SectionRole, 2):
        for (a, first), (b, second) in product(enumerate(tints(name, one)), enumerate(tints(name, other))):
            least = 4 if {one, other} & set(theme.HATCHED) else 12 if a == b else 10
            assert 100 * distance(first, second) >= least, (one, other)


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("name", [name for name in theme.NAMES if name.endswith("-safe")])
def test_colour_blind_eyes_tell_tints_apart(name: str, deficiency: str) -> None:
    seen = {role: [seen_with(tint, deficiency) for tint in tints(name, role)] for role in SOLID}
    for one, other in combinations(SOLID, 2):
        assert distance(seen[one][1], seen[other][1]) > 0.1
        for a, b in product(seen[one], seen[other]):
            assert np.linalg.norm(cielab(a) - cielab(b)) >= 5


def test_the_monospaced_face_comes_along(qtbot: QtBot) -> None:
    font = theme.fixed_font()
    metrics = QFontMetricsF(font)
    assert QFontInfo(font).family() == MONO
    assert metrics.horizontalAdvance("iiii") == metrics.horizontalAdvance("W0W0")
