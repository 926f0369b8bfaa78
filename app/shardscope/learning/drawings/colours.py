"""Colours and fonts of drawings in the window."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from PySide6.QtGui import QColor, QFont, QFontMetricsF
from PySide6.QtWidgets import QApplication

from shardcore import FieldRole, SectionRole
from shardcore.model.drawing import Tone
from shardcore.teaching.drawing.picture import Face, Ink
from shardcore.teaching.drawing.svg import Colours
from shardscope.widgets import fonts as type_
from shardscope.widgets.theme import colour, palette

Name = TypeVar("Name", Ink, Tone)


@cache
def colours_of(name: str) -> Colours:
    wears = palette(name)
    inks = {
        Ink.TEXT: wears.text,
        Ink.MUTED: wears.muted,
        Ink.FAINT: wears.muted,
        Ink.LINE: wears.border,
        Ink.EDGE: wears.edge(SectionRole.UNKNOWN),
        Ink.ACCENT: wears.accent,
        Ink.ERROR: wears.error,
    }
    tints = {tone: wears.section(role, 0) for tone, role in _ROLES.items()}
    tints |= {tone: wears.field(role) for tone, role in _FIELDS.items()}
    tints[Tone.PLAIN] = wears.raised
    tints[Tone.HIT] = colour(0.42, 0.11, 262) if wears.dark else colour(0.865, 0.075, 262)
    tints[Tone.MISS] = colour(0.38, 0.09, 25) if wears.dark else colour(0.90, 0.05, 25)
    return Colours(name, wears.base.name(), _names(inks), _names(tints))


def _names(colours: dict[Name, QColor]) -> dict[Name, str]:
    return {key: one.name() for key, one in colours.items()}


_ROLES = {
    Tone.HEADER: SectionRole.HEADER,
    Tone.INDEX: SectionRole.INDEX,
    Tone.LOOKUP: SectionRole.LOOKUP,
    Tone.DATA: SectionRole.DATA,
    Tone.METADATA: SectionRole.METADATA,
    Tone.DEAD: SectionRole.UNKNOWN,
    Tone.ONE: SectionRole.HEADER,
    Tone.TWO: SectionRole.INDEX,
    Tone.THREE: SectionRole.DATA,
    Tone.FOUR: SectionRole.LOOKUP,
}
_FIELDS = {Tone.KEY: FieldRole.KEY, Tone.POINTER: FieldRole.OFFSET, Tone.SIZE: FieldRole.SIZE}


class Fonts:
    def __init__(self) -> None:
        self._fonts: dict[tuple[int, Face], tuple[QFont, QFontMetricsF]] = {}

    def __call__(self, size: int, face: Face) -> QFont:
        return self._made(size, face)[0]

    def measure(self, text: str, size: int, face: Face) -> float:
        return self._made(size, face)[1].horizontalAdvance(text)

    def baseline(self, size: int, face: Face) -> float:
        metrics = self._made(size, face)[1]
        return (metrics.ascent() - metrics.descent()) / 2

    def _made(self, size: int, face: Face) -> tuple[QFont, QFontMetricsF]:
        if (size, face) not in self._fonts:
            # The whole drawing is scaled by the zoom.
            plain = type_.sized(QApplication.font(), size, zoomed=False)
            font = type_.mono(size, zoomed=False) if face is Face.MONO else plain
            if face is Face.BOLD:
                font.setWeight(QFont.Weight.DemiBold)
            self._fonts[size, face] = font, QFontMetricsF(font)
        return self._fonts[size, face]
