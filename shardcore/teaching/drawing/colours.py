"""Light and dark colours for drawings outside the window, equal to the palettes of the window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shardcore.model.drawing import Tone
from shardcore.teaching.drawing.picture import Ink

UNFILLED = (Tone.EMPTY, Tone.FAINT)


@dataclass(frozen=True, slots=True)
class Colours:
    name: str
    base: str
    inks: Mapping[Ink, str]
    tints: Mapping[Tone, str]


LIGHT = Colours(
    "light",
    "#fdfdfe",
    MappingProxyType(
        {
            Ink.TEXT: "#171b22",
            Ink.MUTED: "#5f636c",
            Ink.FAINT: "#5f636c",
            Ink.LINE: "#d3d6da",
            Ink.EDGE: "#7e8084",
            Ink.ACCENT: "#3065cc",
            Ink.ERROR: "#cc2827",
        }
    ),
    MappingProxyType(
        {
            Tone.PLAIN: "#f9fafb",
            Tone.KEY: "#b9a9fe",
            Tone.POINTER: "#e0c931",
            Tone.SIZE: "#58f0de",
            Tone.HEADER: "#9cc6e2",
            Tone.INDEX: "#f1cba1",
            Tone.LOOKUP: "#efcdfe",
            Tone.DATA: "#e6fbf7",
            Tone.METADATA: "#fff691",
            Tone.HIT: "#bcd4fe",
            Tone.MISS: "#fed2cd",
            Tone.DEAD: "#c5c7cb",
            Tone.ONE: "#9cc6e2",
            Tone.TWO: "#f1cba1",
            Tone.THREE: "#e6fbf7",
            Tone.FOUR: "#efcdfe",
        }
    ),
)

DARK = Colours(
    "dark",
    "#15171b",
    MappingProxyType(
        {
            Ink.TEXT: "#f4f5f8",
            Ink.MUTED: "#a0a3a9",
            Ink.FAINT: "#a0a3a9",
            Ink.LINE: "#37393f",
            Ink.EDGE: "#84868a",
            Ink.ACCENT: "#6ca4f6",
            Ink.ERROR: "#f66d67",
        }
    ),
    MappingProxyType(
        {
            Tone.PLAIN: "#292b30",
            Tone.KEY: "#4b48a8",
            Tone.POINTER: "#695205",
            Tone.SIZE: "#0c6468",
            Tone.HEADER: "#11366c",
            Tone.INDEX: "#7f4220",
            Tone.LOOKUP: "#5d4268",
            Tone.DATA: "#202d26",
            Tone.METADATA: "#3f4d16",
            Tone.HIT: "#2a4a88",
            Tone.MISS: "#6a2c29",
            Tone.DEAD: "#4e5053",
            Tone.ONE: "#11366c",
            Tone.TWO: "#7f4220",
            Tone.THREE: "#202d26",
            Tone.FOUR: "#5d4268",
        }
    ),
)
