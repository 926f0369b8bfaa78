"""Drawings of the content of a Bloscpack block: byte shuffle, bit shuffle, and one sequence of an LZ4 stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, ChunkMap
from shardcore.formats.bloscpack.content import Stored
from shardcore.formats.bloscpack.layout import STREAM_LENGTH
from shardcore.model.drawing import Cells, Control, Drawing, Figure, Item, Link, Table, Tone
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural
from shardcore.teaching import slider, switch
from shardcore.teaching.bloscpack.scene import ChunkScene, ChunkSketch

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


class BlockSketch(ChunkSketch):
    name = "block"
    title = "Block"

    @property
    def controls(self) -> tuple[Control, ...]:
        return (*super().controls, switch("shuffle", "Shuffle", self._scene.shuffled, _SHUFFLE_DOC))

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        scene, now = self._scene, self.chosen(values)
        shuffled, (number, block) = now["shuffle"], scene.at(now)
        one = _opened(scene, number, block)
        if one is None:
            return Drawing(f"Chunk {number} is empty", (), (), "It has no bytes to shuffle.")
        within = scene.within if number == scene.chunk else None
        requested = within - one.start if within is not None else None
        if requested is not None and not 0 <= requested < len(one.plain):
            requested = None
        first = requested // one.typesize if requested is not None else 0
        matrix, drawn = _matrix(one, first, requested, shuffled=shuffled)
        counts = _repeats(one)
        elements = f"{plural(one.elements, 'element')} of {plural(one.typesize, 'byte')}"
        thought = shuffled and one.stored.header.filter_name != "shuffle"
        figures = (matrix, _counts_figure(counts))
        caption, title = _caption(one, counts, shuffled=shuffled), f"Block {one.number} of chunk {number}: {elements}"
        runs = {Tone.HIT: "run of equal bytes"}
        return Drawing(title, figures, (), caption, len(one.plain) - drawn, what_if=thought, legend=runs)


def _opened(scene: ChunkScene, number: int, block: int) -> _Block | None:
    if scene.empty:
        return None
    found, plain = scene.mapped(number), np.frombuffer(scene.plain(number), np.uint8)
    if not len(plain):
        return None
    block = min(block, max(len(found.starts) - 1, 0))
    size = found.header.blocksize if len(found.starts) else len(plain)
    start = block * size
    return _Block(scene.stored(number), found, block, start, plain[start : start + size])


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
    items = []
    for cell, (at, hit) in enumerate(zip(order, glowing, strict=True)):
        (element, byte), value, tone = divmod(at, one.typesize), int(one.plain[at]), Tone.HIT if hit else Tone.PLAIN
        doc = f"Byte {byte} of element {element} of the block: {value}."
        doc += f" It is in a run of at least {RUN} equal bytes." if hit else ""
        items.append(Item(f"{value:02x}", one.span(at), cell, tone=tone, doc=doc, here=at == requested))
    bytes_, names = tuple(f"byte {byte}" for byte in range(wide)), tuple(f"element {number}" for number in elements)
    title = "Shuffled: first all bytes 0, then all bytes 1, …" if shuffled else "In memory: element after element"
    columns, rows = (tuple(map(str, elements)), bytes_) if shuffled else (tuple(map(str, range(wide))), names)
    return Cells(title, len(order), tuple(items), columns=width, column_names=columns, row_names=rows), len(order)


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


# --- bit shuffle ---

_ELEMENTS, _PLANES = 8, 6
_LAST_BIT = 8 * 16 - _PLANES
_BIT_TONES = (Tone.EMPTY, Tone.HEADER)
_BIT_LEGEND = MappingProxyType({Tone.HEADER: "1", Tone.EMPTY: "0", Tone.HIT: "a byte of a plane"})
_PLANE_DOC = "Each column becomes a byte, with the bit of element 0 at the right end."


class BitShuffleSketch(ChunkSketch):
    name = "bitshuffle"
    title = "Bit shuffle"
    more = (slider("bit", "Bit", 0, _LAST_BIT, "Lowest of the bits that are drawn."),)

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        now, scene = self.chosen(values), self._scene
        number, block = scene.at(now)
        one = _opened(scene, number, block)
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
                items.append(Item(str(digit), span, element * _PLANES + column, tone=_BIT_TONES[digit], name=name))
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
        return Drawing(title, figures, (), caption, what_if=thought, legend=_BIT_LEGEND)


# --- LZ4 ---

_SHORTEST, _LONG, _MORE = 4, 15, 255
_STORED, _BEFORE, _AFTER, _SOURCE = 16, 12, 8, 6  # maximum bytes drawn: stored, before a match, of it, of its source
_LZ4_TONES = MappingProxyType({"literals": Tone.KEY, "offset": Tone.POINTER, "next": Tone.FAINT})
_LZ4_LEGEND = MappingProxyType({Tone.KEY: "literals", Tone.POINTER: "offset", Tone.HIT: "match", Tone.SIZE: "lengths"})
_PARTS_DOC = "The token gives two lengths; the parts follow it."
_NOTHING = Drawing("No sequence is here", (Table("LZ4", ("sequences",), ((Item("none: nothing here is LZ4"),),)),))
_COPY_DOC = "The match is copied byte by byte from earlier output, and may overlap the bytes that it writes."


_Sequence = tuple[dict[str, int], int, bytes, int, int]
"""Offsets of the parts, number of literals, output so far, and length and distance of the match."""


def _more(raw: bytes, at: int, digit: int) -> tuple[int, int]:
    """Return an LZ4 length, `digit` plus the bytes from `at` on if it is 15, and the offset after these bytes."""
    more = digit == _LONG
    while more:
        digit, more, at = digit + raw[at], raw[at] == _MORE, at + 1
    return digit, at


def _sequence(raw: bytes, number: int, most: int) -> _Sequence:
    """Decode an LZ4 stream up to sequence `number`, or to the last if it has fewer; return that sequence.

    Raises IndexError for a truncated stream, more than `most` bytes of output, or a match before the output begins.
    """
    out, at = bytearray(), 0
    while True:
        count, literals = _more(raw, at + 1, raw[at] >> 4)
        back = literals + count
        parts = {"token": at, "more": at + 1, "literals": literals, "offset": back}
        out += raw[literals:back]
        distance = size = 0
        if back < len(raw):
            distance = raw[back] + 256 * raw[back + 1]
            size, stop = _more(raw, back + 2, raw[at] & _LONG)
            parts |= {"more of the match": back + 2, "next": stop}
            if not 0 < distance <= len(out):
                raise IndexError
            size += _SHORTEST
            if len(out) + size > most:
                raise IndexError
            out += (out[-distance:] * (size // distance + 1))[:size]
        if not number or not size:
            return parts, count, bytes(out), size, distance
        number, at = number - 1, parts["next"]


class Lz4Sketch(ChunkSketch):
    name = "lz4"
    title = "LZ4"
    more = tuple(
        slider(name, name.title(), 0, high, f"Number of the {name}; the last {name} if there are fewer.")
        for name, high in (("stream", 15), ("sequence", 63))
    )

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        now, scene = self.chosen(values), self._scene
        number, block = scene.at(now)
        if scene.empty:
            return _NOTHING
        stored, found = scene.stored(number), scene.mapped(number)
        if not len(found.starts) or found.header.codec_name != "lz4":
            return _NOTHING
        block = min(block, len(found.starts) - 1)
        streams = int((found.stream_at[block] >= 0).sum())
        stream = min(now["stream"], streams - 1)
        start, size = int(found.stream_at[block][stream]) + STREAM_LENGTH.size, int(found.stream_size[block][stream])
        plain = found.block_plain(block) // streams
        if size >= plain:
            return _NOTHING
        try:
            raw = bytes(stored.chunk[start : start + size])
            return _lz4_drawing(raw, _sequence(raw, now["sequence"], plain), stored.span.start + start)
        except IndexError:
            return _NOTHING


def _lz4_drawing(raw: bytes, sequence: _Sequence, start: int) -> Drawing:
    parts, count, out, size, distance = sequence
    first, names = parts["token"], {at: name for name, at in parts.items()}
    drawn = range(first, min(parts.get("next", len(raw)) + 2, first + _STORED, len(raw)))
    cells, below = [], []
    for cell, at in enumerate(drawn):
        cells.append(Item(f"{raw[at]:02x}", (Span("", start + at, start + at + 1),), cell, name=f"byte {cell}"))
        if name := names.get(at):
            tone = _LZ4_TONES.get(name, Tone.SIZE)
            below.append(Item(name.split()[0], (), cell, 1, tone, _PARTS_DOC, name, stage=1))
    wide, end = len(drawn), len(out) - size
    low, source = max(end - _BEFORE, 0), end - distance
    far, how = raw[parts["offset"] : parts["offset"] + 2], f"second digit {raw[first] & _LONG:x}, + {_SHORTEST}"
    rows = [("literals", f"first digit {raw[first] >> 4:x}", count)]
    rows += [("offset", far.hex(" "), distance), ("match", how, size)] if size else []
    lines = tuple((Item(name), Item(how), Item(f"{is_:,}", stage=1, doc=_PARTS_DOC)) for name, how, is_ in rows)
    ranges = [("Earlier output", range(source, min(source + _SOURCE, low)))] if size and source < low else []
    ranges.append(("Output", range(low, min(end + _AFTER, len(out)))))
    heads = tuple(map(str, range(wide)))
    figures: list[Figure] = [Cells("In the file", wide, tuple(cells), wide, numbered=False, column_names=heads)]
    figures.append(Cells("Its parts", wide, tuple(below), wide, numbered=False))
    for name, shown in ranges:
        items = []
        for at in shown:
            tone = Tone.HIT if at >= end else Tone.PLAIN
            items.append(Item(f"{out[at]:02x}", (), at, 1, tone, _COPY_DOC, f"out {at}", stage=2 * (at >= end)))
        figures.append(Cells(name, len(shown), tuple(items), first=shown.start))
    figures.append(Table("Its numbers", ("number", "from", "is"), lines))
    links = (Link(f"out {source}", f"out {end}", "copy", Tone.POINTER, 2, _COPY_DOC),) if size else ()
    caption = "" if size else "The last sequence has no match."
    return Drawing("An LZ4 sequence", tuple(figures), links, caption, legend=_LZ4_LEGEND)
