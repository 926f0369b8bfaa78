"""A made-up sketch that can be played with: every kind of control, and a handle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shardcore.errors import FormatError
from shardcore.model.drawing import Bits, Control, ControlKind, Drawing, Item, Ruler, Tone, chosen
from shardcore.model.span import Span


@dataclass(frozen=True)
class Played:
    """Bits whose bracket can be dragged; `order` damaged cannot be drawn."""

    name: str = "played"
    title: str = "Bits of a key"
    controls: tuple[Control, ...] = (
        Control("n_bits", "Low bits", ControlKind.SLIDER, 8, 1, 16, doc="How many bits of the key name its part."),
        Control("shuffled", "Shuffled", ControlKind.SWITCH, False),
        Control("order", "Order", ControlKind.CHOICE, "file", choices=("file", "size", "damaged")),
        Control("uid", "Uid", ControlKind.TEXT, "12"),
    )

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        """The bracket as wide as `n_bits` says."""
        now = chosen(self.controls, values)
        if now["order"] == "damaged":
            raise FormatError("the index ends too early", span=Span("", 0, 8))
        low = Item("n_bits", (), 0, now["n_bits"], Tone.KEY, here=True, handle="n_bits", doc="The low bits.")
        head = Item("head", (Span("", 0, 8),), 0, 8, Tone.HEADER, doc="The magic.", name="head")
        tail = Item("tail", (Span("", 8, 16),), 8, 8, Tone.DATA, name="tail")
        figures = (Bits(f"Key {now['uid']}", 16, 0xBEEF, (low,)), Ruler("File", 0, 16, (head, tail), "bytes"))
        usual = {one.name: one.value for one in self.controls}
        return Drawing("Bits of a key", figures, what_if=now != usual)
