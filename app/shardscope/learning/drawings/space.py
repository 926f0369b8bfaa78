"""Request for a drawing, before there is one. No Qt widgets here: it is loaded at start."""

from __future__ import annotations

from dataclasses import dataclass, field

LEAST_WIDTH, LEAST_HEIGHT = 560, 260
"""The room that a drawing has where the window gives it, in pixels."""


@dataclass(frozen=True, slots=True)
class DrawingRequest:
    """A drawing that the user wants to see; it may be there only when a lookup has ended.

    Attributes:
        name: The sketch; empty for the one that was looked at last.
        values: Values of its controls, as texts.
        item: The name of an item to point out; or empty.
    """

    name: str = ""
    values: dict[str, str] = field(default_factory=dict)
    item: str = ""
