"""The colours, letters and hatches of what bytes are for: those of the sections that hold such bytes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from PySide6.QtGui import QColor

from shardcore import SectionRole
from shardcore.model.byte_shares import Use
from shardscope.widgets.theme import Palette

ROLES: Mapping[Use, SectionRole] = MappingProxyType(
    {
        Use.PAYLOAD: SectionRole.DATA,
        Use.INDEX: SectionRole.INDEX,
        Use.LOOKUP: SectionRole.LOOKUP,
        Use.HEAD: SectionRole.HEADER,
        Use.PADDING: SectionRole.PADDING,
        Use.SLACK: SectionRole.METADATA,
        Use.DEAD: SectionRole.FOOTER,
        Use.UNKNOWN: SectionRole.UNKNOWN,
    }
)
"""Whose colour and hatch the bars of a use have."""

LETTERS: Mapping[Use, str] = MappingProxyType(
    {
        Use.PAYLOAD: "D",
        Use.INDEX: "I",
        Use.LOOKUP: "L",
        Use.HEAD: "H",
        Use.PADDING: "P",
        Use.SLACK: "S",
        Use.DEAD: "X",
        Use.UNKNOWN: "?",
    }
)
"""Letter on the bars of each use."""


def use_colour(colours: Palette, use: Use) -> QColor:
    """The colour of a use."""
    return colours.section(ROLES[use])
