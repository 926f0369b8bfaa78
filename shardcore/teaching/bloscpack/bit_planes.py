"""The sketch `bitshuffle`: bits of eight elements, and the bytes that a bit shuffle makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from shardcore.model.drawing import Cells, Control, ControlKind, Drawing, Item, Table, Tone, chosen
from shardcore.teaching.bloscpack.block import BlockSketch

_ELEMENTS, _PLANES = 8, 6
_LAST_BIT = 8 * 16 - _PLANES
_TONES = (Tone.EMPTY, Tone.HEADER)
_LEGEND = MappingProxyType({Tone.HEADER: "1", Tone.EMPTY: "0", Tone.HIT: "a byte of a plane"})
_PLANE_DOC = "Each column becomes a byte, with the bit of element 0 at the right end."
_DOC = "Lowest of the bits that are drawn."


class BitShuffleSketch(BlockSketch):
    name = "bitshuffle"
    title = "Bit shuffle"

    @property
    def controls(self) -> tuple[Control, ...]:
        return (*self._scene.controls(), Control("bit", "Bit", ControlKind.SLIDER, 0, 0, _LAST_BIT, doc=_DOC))

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        now, scene = chosen(self.controls, values), self._scene
        number, block = scene.chosen(scene.controls(), {k: v for k, v in values.items() if k != "bit"})
        one = self._opened(number, block)
        if one is None or one.elements < _ELEMENTS:
            why = f"Chunk {number} has fewer than {_ELEMENTS} elements"
            return Drawing(why, (Table("No bits are drawn", ("why",), ((Item(why),),)),))
        size = one.typesize
        low = min(now["bit"], 8 * size - _PLANES)
        whole = [one.plain[at * size : (at + 1) * size].tobytes() for at in range(_ELEMENTS)]
        numbers = [int.from_bytes(data, "little") for data in whole]
        bits = range(low + _PLANES - 1, low - 1, -1)
        items, planes = [], []
        for element, number_ in enumerate(numbers):
            for column, bit in enumerate(bits):
                digit, name = number_ >> bit & 1, f"element {element} bit {bit}"
                span = one.span(element * size + bit // 8)
                items.append(Item(str(digit), span, element * _PLANES + column, tone=_TONES[digit], name=name))
        for row, bit in enumerate(reversed(bits)):
            byte = sum((number_ >> bit & 1) << at for at, number_ in enumerate(numbers))
            planes.append(Item(f"{byte:08b}", (), row, tone=Tone.HIT, name=f"plane {bit}", stage=1, doc=_PLANE_DOC))
        names = tuple(f"element {at}" for at in range(_ELEMENTS))
        figures = (
            Cells("Before", len(items), tuple(items), _PLANES, column_names=tuple(map(str, bits)), row_names=names),
            Cells("After", _PLANES, tuple(planes), 1, row_names=tuple(f"plane {bit}" for bit in reversed(bits))),
        )
        caption = "A plane has a bit of every element, that of element 0 as the lowest bit of its first byte."
        title, thought = "Bits of the first 8 elements", one.stored.header.filter_name != "bitshuffle"
        return Drawing(title, figures, (), caption, what_if=thought, legend=_LEGEND)
