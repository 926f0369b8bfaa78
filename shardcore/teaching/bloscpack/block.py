"""The sketch `block`: the bytes of one block, in memory order and shuffled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, ChunkMap
from shardcore.formats.bloscpack.content import Stored
from shardcore.formats.bloscpack.layout import STREAM_LENGTH
from shardcore.model.drawing import Cells, Control, ControlKind, Drawing, Item, Table, Tone, chosen
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural
from shardcore.teaching.bloscpack.scene import ChunkScene

CELLS = 56
"""Maximum number of bytes drawn."""
MOST_ELEMENTS = 14
WIDEST = 16
"""Maximum number of bytes drawn per element."""
RUN = 3
"""Minimum number of consecutive equal bytes that are marked as a run."""
GAIN = 32
"""Shuffling counts as useful if it makes more than one in `GAIN` bytes equal to the byte before."""
COUNTED = 1 << 22
"""Maximum number of bytes of a block that are compared with the byte before."""

_SHUFFLE_DOC = "Byte order of a shuffled block, which is what the codec compresses."

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class _Block:
    stored: Stored
    found: ChunkMap
    number: int
    start: int
    plain: Bytes

    @property
    def typesize(self) -> int:
        return self.stored.header.typesize

    @property
    def elements(self) -> int:
        return len(self.plain) // self.typesize

    def span(self, at: int) -> tuple[Span, ...]:
        """Return the span in the file of byte `at` of the block; for a compressed byte, the span of its stream."""
        base, header = self.stored.span.start, self.stored.header
        if not len(self.found.starts):
            place = base + HEADER_SIZE + self.start + at
            return (Span("", place, place + 1),)
        filtered = at
        if header.filter_name == "bitshuffle":
            return (self.found.block_span(self.number, base),)
        if header.filter_name == "shuffle" and at < self.elements * self.typesize:
            filtered = at % self.typesize * self.elements + at // self.typesize
        places, sizes = self.found.stream_at[self.number], self.found.stream_size[self.number]
        part = max(len(self.plain) // int((places >= 0).sum()), 1)
        stream, rest = divmod(filtered, part)
        first, size = base + int(places[stream]) + STREAM_LENGTH.size, int(sizes[stream])
        if size == part:
            return (Span("", first + rest, first + rest + 1),)
        return (Span("", first, first + size),)


class BlockSketch:
    name = "block"
    title = "Block"

    def __init__(self, scene: ChunkScene) -> None:
        self._scene = scene

    @property
    def controls(self) -> tuple[Control, ...]:
        shuffled = Control("shuffle", "Shuffle", ControlKind.SWITCH, self._scene.shuffled, doc=_SHUFFLE_DOC)
        return (*self._scene.controls(), shuffled)

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        scene, controls = self._scene, self.controls
        shuffled = chosen(controls, values)["shuffle"]
        sliders = tuple(control for control in controls if control.name != "shuffle")
        number, block = scene.chosen(sliders, {k: v for k, v in values.items() if k != "shuffle"})
        one = self._opened(number, block)
        if one is None:
            return Drawing(f"Chunk {number} is empty", (), (), "It has no bytes to shuffle.")
        within = scene.within if number == scene.chunk else None
        requested = within - one.start if within is not None else None
        if requested is not None and not 0 <= requested < len(one.plain):
            requested = None
        first = requested // one.typesize if requested is not None else 0
        matrix, drawn = _matrix(one, first, requested, shuffled=shuffled)
        counts = _repeats(one)
        title = (
            f"Block {one.number} of chunk {number}: {plural(one.elements, 'element')} of {plural(one.typesize, 'byte')}"
        )
        thought = shuffled and one.stored.header.filter_name != "shuffle"
        figures = (matrix, _counts_figure(counts))
        caption = _caption(one, counts, shuffled=shuffled)
        runs = {Tone.HIT: "run of equal bytes"}
        return Drawing(title, figures, (), caption, len(one.plain) - drawn, what_if=thought, legend=runs)

    def _opened(self, number: int, block: int) -> _Block | None:
        scene = self._scene
        if scene.file.header.nchunks == 0 or (scene.file.table.loaded and not len(scene.file.table)):
            return None
        found, stored = scene.mapped(number), scene.stored(number)
        plain = np.frombuffer(scene.plain(number), np.uint8)
        if not len(plain):
            return None
        block = min(block, max(len(found.starts) - 1, 0))
        size = found.header.blocksize if len(found.starts) else len(plain)
        start = block * size
        return _Block(stored, found, block, start, plain[start : start + size])


def _matrix(one: _Block, first: int, requested: int | None, *, shuffled: bool) -> tuple[Cells, int]:
    wide = min(one.typesize, WIDEST, len(one.plain))
    tall = max(min(CELLS // wide, MOST_ELEMENTS, one.elements), 1)
    first = max(min(first, one.elements - tall), 0)
    elements = range(first, first + tall)
    places = [[element * one.typesize + byte for byte in range(wide)] for element in elements]
    if shuffled:
        places = [list(column) for column in zip(*places, strict=True)]
    # Runs continue from row to row only if the rows are adjacent bytes.
    whole = not shuffled and wide == one.typesize
    order = [at for row in places for at in row]
    width = len(places[0])
    glowing = _runs([int(one.plain[at]) for at in order], len(order) if whole else width)
    items = tuple(
        _cell(one, at, cell, hit=hit, here=at == requested)
        for cell, (at, hit) in enumerate(zip(order, glowing, strict=True))
    )
    bytes_, names = tuple(f"byte {byte}" for byte in range(wide)), tuple(f"element {number}" for number in elements)
    title = "Shuffled: first all bytes 0, then all bytes 1, …" if shuffled else "In memory: element after element"
    columns, rows = (tuple(map(str, elements)), bytes_) if shuffled else (tuple(map(str, range(wide))), names)
    return Cells(title, len(order), items, columns=width, column_names=columns, row_names=rows), len(order)


def _cell(one: _Block, at: int, cell: int, *, hit: bool, here: bool) -> Item:
    element, byte = divmod(at, one.typesize)
    value = int(one.plain[at])
    doc = f"Byte {byte} of element {element} of the block: {value}."
    if hit:
        doc += f" It is in a run of at least {RUN} equal bytes."
    return Item(f"{value:02x}", one.span(at), cell, tone=Tone.HIT if hit else Tone.PLAIN, doc=doc, here=here)


def _runs(values: Sequence[int], width: int) -> list[bool]:
    found: list[bool] = []
    for row in range(0, len(values), width):
        for _, run in groupby(values[row : row + width]):
            size = len(list(run))
            found += [size >= RUN] * size
    return found


def _repeats(one: _Block) -> tuple[int, int, int]:
    """Return the number of bytes equal to the byte before, in memory order and shuffled, and the number compared."""
    plain = one.plain[: COUNTED // one.typesize * one.typesize]
    count = len(plain) // one.typesize
    whole = plain[: count * one.typesize]
    planes = np.concatenate([whole.reshape(count, one.typesize).T.ravel(), plain[len(whole) :]])
    return _same(plain), _same(planes), len(plain)


def _same(values: Bytes) -> int:
    return int(np.count_nonzero(values[1:] == values[:-1]))


def _counts_figure(counts: tuple[int, int, int]) -> Table:
    memory, shuffled, size = counts
    best = Tone.HIT if (shuffled - memory) * GAIN > size else Tone.PLAIN
    size_text = grouped_digits(size)
    rows = (
        (Item("element by element"), Item(f"{grouped_digits(memory)} of {size_text}")),
        (Item("shuffled"), Item(f"{grouped_digits(shuffled)} of {size_text}", tone=best)),
    )
    return Table("Equal neighbours in the block", ("order", "bytes equal to the one before"), rows)


def _caption(one: _Block, counts: tuple[int, int, int], *, shuffled: bool) -> str:
    header = one.stored.header
    if one.typesize == 1:
        why = "Elements of one byte cannot be shuffled: both orders are the same."
    elif (counts[1] - counts[0]) * GAIN > counts[2]:
        why = (
            "Neighbouring numbers often have equal bytes at the same position; shuffled, these form long runs, "
            "which compress well."
        )
    else:
        why = "Shuffling hardly creates more equal neighbours here, so it gains almost nothing."
    if not len(one.found.starts):
        return f"{why} The chunk is a memcpy (stored uncompressed), because the codec saved nothing."
    span = one.found.block_span(one.number).size
    kept = {"shuffle": "shuffled", "bitshuffle": "with its bits shuffled"}.get(header.filter_name, "not shuffled")
    size_text = f"In the file this block is {kept}: {plural(len(one.plain), 'byte')} in {grouped_digits(span)}."
    return f"{why} {size_text}"
