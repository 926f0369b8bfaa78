"""Request to show a drawing, and the minimum size of the area for drawings. Imports no Qt: loaded at the start."""

from __future__ import annotations

from shardcore.dataclasses import dataclass, field

LEAST_WIDTH, LEAST_HEIGHT = 560, 260
"""Minimum size in pixels of the area for drawings in the window."""


@dataclass(frozen=True, slots=True)
class DrawingRequest:
    name: str = ""
    values: dict[str, str] = field(default_factory=dict)
    item: str = ""
