"""The colours, letters and hatches of what bytes are for: those of the sections that hold such bytes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from PySide6.QtGui import QColor

from shardcore import SectionRole
from shardcore.model.byte_shares import Use
from shardcore.teaching.charts.svg import Inks
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


def use_colour(colours: Palette, use: Use) -> QColor:
    """The colour of a use."""
    return colours.section(ROLES[use])


def inks(colours: Palette) -> Inks:
    """The colours of a theme for a picture."""
    return Inks(
        colours.base.name(),
        colours.text.name(),
        colours.muted.name(),
        colours.border.name(),
        colours.section(SectionRole.DATA).name(),
        colours.accent.name(),
        {use: use_colour(colours, use).name() for use in Use},
    )
