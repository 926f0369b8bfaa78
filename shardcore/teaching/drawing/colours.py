"""The colours of a drawing outside the window: one light and one dark set, those of the window's palettes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shardcore.model.drawing import Tone
from shardcore.teaching.drawing.picture import Ink

UNFILLED = (Tone.EMPTY, Tone.FAINT)
"""Tones without a tint: only their outline is seen."""


@dataclass(frozen=True, slots=True)
class Colours:
    """Colours of a picture, as `#rrggbb`.

    Attributes:
        name: `light`, `dark`, or the name of a palette.
        base: Behind everything.
        inks: Of lines and texts.
        tints: Of boxes; those of `UNFILLED` have none.
    """

    name: str
    base: str
    inks: Mapping[Ink, str]
    tints: Mapping[Tone, str]


LIGHT = Colours(
    "light",
    "#fdfdfe",
    MappingProxyType(
        {
            Ink.TEXT: "#1c1f27",
            Ink.MUTED: "#5f636c",
            Ink.FAINT: "#86898f",
            Ink.LINE: "#d3d6da",
            Ink.EDGE: "#989898",
            Ink.ACCENT: "#3065cc",
            Ink.ERROR: "#cc2827",
        }
    ),
    MappingProxyType(
        {
            Tone.PLAIN: "#f9fafb",
            Tone.KEY: "#d4cbfe",
            Tone.POINTER: "#fee59c",
            Tone.SIZE: "#99f1ea",
            Tone.HEADER: "#c8e5fd",
            Tone.INDEX: "#fce0cb",
            Tone.LOOKUP: "#e9def3",
            Tone.DATA: "#c7e9d9",
            Tone.METADATA: "#eef5c8",
            Tone.HIT: "#bcd4fe",
            Tone.MISS: "#fed2cd",
            Tone.DEAD: "#d4d4d4",
            Tone.ONE: "#c8e5fd",
            Tone.TWO: "#fce0cb",
            Tone.THREE: "#c7e9d9",
            Tone.FOUR: "#e9def3",
        }
    ),
)

DARK = Colours(
    "dark",
    "#15171b",
    MappingProxyType(
        {
            Ink.TEXT: "#edeef1",
            Ink.MUTED: "#a0a3a9",
            Ink.FAINT: "#80838b",
            Ink.LINE: "#37393f",
            Ink.EDGE: "#696969",
            Ink.ACCENT: "#6ca4f6",
            Ink.ERROR: "#f66d67",
        }
    ),
    MappingProxyType(
        {
            Tone.PLAIN: "#292b30",
            Tone.KEY: "#563b75",
            Tone.POINTER: "#624406",
            Tone.SIZE: "#06555c",
            Tone.HEADER: "#1d364d",
            Tone.INDEX: "#482f1a",
            Tone.LOOKUP: "#3f2d47",
            Tone.DATA: "#193d2f",
            Tone.METADATA: "#3c4019",
            Tone.HIT: "#2a4a88",
            Tone.MISS: "#6a2c29",
            Tone.DEAD: "#3a3a3a",
            Tone.ONE: "#1d364d",
            Tone.TWO: "#482f1a",
            Tone.THREE: "#193d2f",
            Tone.FOUR: "#3f2d47",
        }
    ),
)
