"""Request for a drawing, before there is one. No Qt widgets here: it is loaded at start."""

from __future__ import annotations

from dataclasses import dataclass, field

LEAST_WIDTH, LEAST_HEIGHT = 560, 260
"""The room that a drawing has where the window gives it, in pixels."""


@dataclass(frozen=True, slots=True)
class DrawingRequest:
    name: str = ""
    values: dict[str, str] = field(default_factory=dict)
    item: str = ""
