"""Tints of sections behind bytes, and colours of keys, pointers and sizes.

They were optimised so that any two sections are easy to distinguish, in safe palettes also for colour-blind users.
`tests/app/widgets/test_section_tints.py` checks this.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from shardcore import FieldRole, SectionRole

Tint = tuple[float, float, float]
"""Lightness, chroma, and hue in degrees, in OKLCH."""

UNDERLINED: Mapping[FieldRole, tuple[float, ...]] = MappingProxyType(
    {FieldRole.KEY: (), FieldRole.OFFSET: (2, 1), FieldRole.SIZE: (1, 1)}
)
"""Underlined field roles, with their dash pattern: solid, dashed or dotted."""

_STRONGER = 1.22

_TINTS: Mapping[str, Mapping[SectionRole | FieldRole, Tint]] = MappingProxyType(
    {
        "light": {
            SectionRole.HEADER: (0.8062, 0.06, 237.7),
            SectionRole.INDEX: (0.865, 0.07, 69.6),
            SectionRole.LOOKUP: (0.8923, 0.074, 315.4),
            SectionRole.DATA: (0.9714, 0.022, 182),
            SectionRole.METADATA: (0.959, 0.1235, 104.1),
            SectionRole.FOOTER: (0.8, 0.1067, 3.4),
            SectionRole.PADDING: (0.905, 0.005, 260),
            SectionRole.TRAILING: (0.88, 0.04, 28),
            SectionRole.UNKNOWN: (0.83, 0.005, 260),
            FieldRole.KEY: (0.78, 0.12, 292),
            FieldRole.OFFSET: (0.83, 0.16, 100),
            FieldRole.SIZE: (0.87, 0.13, 184),
        },
        "light-safe": {
            SectionRole.HEADER: (0.7492, 0.0746, 259.4),
            SectionRole.INDEX: (0.8586, 0.0672, 63),
            SectionRole.LOOKUP: (0.8726, 0.065, 290.9),
            SectionRole.DATA: (0.9595, 0.0435, 183.9),
            SectionRole.METADATA: (0.9583, 0.1237, 105.8),
            SectionRole.FOOTER: (0.76, 0.0895, 10.7),
            SectionRole.PADDING: (0.91, 0.005, 260),
            SectionRole.TRAILING: (0.87, 0.04, 20),
            SectionRole.UNKNOWN: (0.83, 0.005, 260),
            FieldRole.KEY: (0.78, 0.13, 300),
            FieldRole.OFFSET: (0.83, 0.16, 96),
            FieldRole.SIZE: (0.8, 0.14, 184),
        },
        "dark": {
            SectionRole.HEADER: (0.3409, 0.103, 258.1),
            SectionRole.INDEX: (0.45, 0.0967, 48),
            SectionRole.LOOKUP: (0.4234, 0.07, 315.6),
            SectionRole.DATA: (0.282, 0.02, 163),
            SectionRole.METADATA: (0.3942, 0.079, 122),
            SectionRole.FOOTER: (0.3325, 0.0912, 13.2),
            SectionRole.PADDING: (0.35, 0.005, 260),
            SectionRole.TRAILING: (0.35, 0.04, 68),
            SectionRole.UNKNOWN: (0.43, 0.005, 260),
            FieldRole.KEY: (0.46, 0.15, 280),
            FieldRole.OFFSET: (0.45, 0.095, 90),
            FieldRole.SIZE: (0.46, 0.08, 200),
        },
        "dark-safe": {
            SectionRole.HEADER: (0.2537, 0.0834, 259.2),
            SectionRole.INDEX: (0.3338, 0.0737, 54.5),
            SectionRole.LOOKUP: (0.3861, 0.1106, 303),
            SectionRole.DATA: (0.3961, 0.0612, 185),
            SectionRole.METADATA: (0.47, 0.0815, 101),
            SectionRole.FOOTER: (0.2318, 0.0747, 357.5),
            SectionRole.PADDING: (0.33, 0.005, 260),
            SectionRole.TRAILING: (0.35, 0.04, 84),
            SectionRole.UNKNOWN: (0.43, 0.005, 260),
            FieldRole.KEY: (0.46, 0.14, 292),
            FieldRole.OFFSET: (0.42, 0.09, 80),
            FieldRole.SIZE: (0.47, 0.085, 205),
        },
    }
)


@cache
def tint(palette: str, role: SectionRole | FieldRole, parity: int) -> Tint:
    """Return the tint of a section, or of a role in `UNDERLINED`; parity 1 is the stronger of the two tints."""
    lightness, chroma, hue = _TINTS["dark" if palette == "dark-room" else palette][role]
    if not parity:
        return lightness, chroma, hue
    return lightness + (0.032 if palette.startswith("dark") else -0.03), chroma * _STRONGER, hue
