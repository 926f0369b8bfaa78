"""The colour and the letter of what a request was for: those of the section that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shardcore import SectionRole
from shardcore.sources.read_purpose import Purpose

SECTIONS: Mapping[Purpose, SectionRole] = MappingProxyType(
    {
        Purpose.HEAD: SectionRole.HEADER,
        Purpose.FOOTER: SectionRole.FOOTER,
        Purpose.INDEX: SectionRole.INDEX,
        Purpose.LOOKUP: SectionRole.LOOKUP,
        Purpose.PAYLOAD: SectionRole.DATA,
        Purpose.LISTING: SectionRole.METADATA,
        Purpose.PROBE: SectionRole.UNKNOWN,
    }
)
"""The section whose colour a purpose has; listings and probes read none, and have those that are left."""
