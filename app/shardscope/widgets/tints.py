"""The tints behind bytes: one for each section, in two strengths, and hues of their own for keys, pointers and sizes.

The numbers were searched for: in every palette the tints of two sections are reported apart, and a key, a pointer and a
size are told from each other and from every section; in the palettes for colour-blind eyes also where a kind of cone
is missing. `tests/app/widgets/test_tints.py` measures it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shardcore import FieldRole, SectionRole

Tint = tuple[float, float, float]
"""OKLCH: lightness, chroma, hue in degrees."""

OWN_HUES = (FieldRole.KEY, FieldRole.OFFSET, FieldRole.SIZE)
"""The roles that are coloured alike in every section; all others have the tint of theirs."""

_STEP = 0.03
_STRONGER = 1.15

_TINTS: Mapping[str, Mapping[SectionRole | FieldRole, Tint]] = MappingProxyType(
    {
        "light": {
            SectionRole.HEADER: (0.909, 0.06, 243),
            SectionRole.INDEX: (0.925, 0.042, 60),
            SectionRole.LOOKUP: (0.916, 0.03, 310),
            SectionRole.DATA: (0.905, 0.042, 165),
            SectionRole.METADATA: (0.954, 0.06, 115),
            SectionRole.FOOTER: (0.903, 0.046, 19),
            SectionRole.PADDING: (0.935, 0.004, 256),
            SectionRole.TRAILING: (0.965, 0.021, 40),
            SectionRole.UNKNOWN: (0.87, 0.0, 0),
            FieldRole.KEY: (0.866, 0.085, 293),
            FieldRole.OFFSET: (0.925, 0.095, 91),
            FieldRole.SIZE: (0.9, 0.085, 190),
        },
        "light-safe": {
            SectionRole.HEADER: (0.789, 0.063, 244),
            SectionRole.INDEX: (0.937, 0.042, 60),
            SectionRole.LOOKUP: (0.959, 0.054, 310),
            SectionRole.DATA: (0.97, 0.03, 179),
            SectionRole.METADATA: (0.953, 0.071, 111),
            SectionRole.FOOTER: (0.802, 0.03, 21),
            SectionRole.PADDING: (0.81, 0.0085, 249),
            SectionRole.TRAILING: (0.898, 0.0185, 31),
            SectionRole.UNKNOWN: (0.906, 0.0, 358),
            FieldRole.KEY: (0.85, 0.079, 278),
            FieldRole.OFFSET: (0.835, 0.094, 62),
            FieldRole.SIZE: (0.87, 0.09, 200),
        },
        "dark": {
            SectionRole.HEADER: (0.325, 0.051, 247),
            SectionRole.INDEX: (0.33, 0.05, 60),
            SectionRole.LOOKUP: (0.33, 0.05, 315),
            SectionRole.DATA: (0.33, 0.05, 165),
            SectionRole.METADATA: (0.359, 0.06, 115),
            SectionRole.FOOTER: (0.33, 0.05, 15),
            SectionRole.PADDING: (0.27, 0.006, 260),
            SectionRole.TRAILING: (0.347, 0.021, 38),
            SectionRole.UNKNOWN: (0.35, 0.0, 7),
            FieldRole.KEY: (0.41, 0.097, 304),
            FieldRole.OFFSET: (0.41, 0.092, 79),
            FieldRole.SIZE: (0.41, 0.093, 205),
        },
        "dark-safe": {
            SectionRole.HEADER: (0.25, 0.066, 252),
            SectionRole.INDEX: (0.333, 0.041, 61),
            SectionRole.LOOKUP: (0.314, 0.05, 315),
            SectionRole.DATA: (0.42, 0.058, 151),
            SectionRole.METADATA: (0.42, 0.064, 121),
            SectionRole.FOOTER: (0.26, 0.045, 16),
            SectionRole.PADDING: (0.257, 0.0064, 254),
            SectionRole.TRAILING: (0.322, 0.0196, 36),
            SectionRole.UNKNOWN: (0.35, 0.0, 7),
            FieldRole.KEY: (0.4, 0.09, 285),
            FieldRole.OFFSET: (0.42, 0.11, 90),
            FieldRole.SIZE: (0.411, 0.093, 205),
        },
    }
)


def tint(palette: str, section: SectionRole, role: FieldRole, parity: int) -> Tint:
    """Return the tint behind a field.

    Args:
        palette: Its name.
        section: The section that the field lies in.
        role: What the field is.
        parity: 0 or 1: the weaker or the stronger of the two, alternating between neighbours.
    """
    own = "dark" if palette == "dark-room" else palette
    lightness, chroma, hue = _TINTS[own][role if role in OWN_HUES else section]
    if not parity:
        return lightness, chroma, hue
    step = _STEP if palette.startswith("dark") else -_STEP
    return lightness + step, chroma * _STRONGER, hue
