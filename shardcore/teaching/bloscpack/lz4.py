"""The sketch `lz4`: a sequence of a compressed stream, and what it decodes to."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from shardcore.formats.bloscpack.layout import STREAM_LENGTH
from shardcore.model.drawing import Cells, Control, ControlKind, Drawing, Figure, Item, Link, Table, Tone, chosen
from shardcore.model.span import Span
from shardcore.teaching.bloscpack.scene import ChunkScene

_HIGH = MappingProxyType({"stream": 15, "sequence": 63})
_SHORTEST, _LONG, _MORE = 4, 15, 255
_STORED, _BEFORE, _AFTER, _SOURCE = 16, 12, 8, 6  # most bytes drawn: stored, before and of a match, of a far source
_TONES = MappingProxyType({"literals": Tone.KEY, "offset": Tone.POINTER, "next": Tone.FAINT})
_LEGEND = MappingProxyType({Tone.KEY: "literals", Tone.POINTER: "offset", Tone.HIT: "match", Tone.SIZE: "lengths"})
_PARTS_DOC = "The token gives two lengths; the parts follow it."
_NOTHING = Drawing("No sequence is here", (Table("LZ4", ("sequences",), ((Item("none: nothing here is LZ4"),),)),))
_COPY_DOC = "The match is copied byte by byte from earlier output, and may overlap the bytes that it writes."


_Sequence = tuple[dict[str, int], int, bytes, int, int]
"""Offsets of the parts, literals, output, and length and distance of the match."""


def _more(raw: bytes, at: int, digit: int) -> tuple[int, int]:
    """Return a length, and the offset after the bytes that continue it."""
    more = digit == _LONG
    while more:
        digit, more, at = digit + raw[at], raw[at] == _MORE, at + 1
    return digit, at


def _sequence(raw: bytes, number: int, most: int) -> _Sequence:
    """Return a sequence, or the last one.

    Raises IndexError for a truncated stream, more than `most` bytes of output, or a match that begins before it.
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


class Lz4Sketch:
    name = "lz4"
    title = "LZ4"

    def __init__(self, scene: ChunkScene) -> None:
        self._scene = scene

    @property
    def controls(self) -> tuple[Control, ...]:
        doc = "Number of the {0}; the last {0} if there are fewer."
        mine = [Control(k, k.title(), ControlKind.SLIDER, 0, 0, high, doc=doc.format(k)) for k, high in _HIGH.items()]
        return *self._scene.controls(), *mine

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        now, scene = chosen(self.controls, values), self._scene
        number, block = scene.chosen(scene.controls(), {k: v for k, v in values.items() if k not in _HIGH})
        if not scene.file.header.nchunks or (scene.file.table.loaded and not len(scene.file.table)):
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
            return _drawing(raw, _sequence(raw, now["sequence"], plain), stored.span.start + start)
        except IndexError:
            return _NOTHING


def _drawing(raw: bytes, sequence: _Sequence, start: int) -> Drawing:
    parts, count, out, size, distance = sequence
    first, names = parts["token"], {at: name for name, at in parts.items()}
    drawn = range(first, min(parts.get("next", len(raw)) + 2, first + _STORED, len(raw)))
    cells, below = [], []
    for cell, at in enumerate(drawn):
        cells.append(Item(f"{raw[at]:02x}", (Span("", start + at, start + at + 1),), cell, name=f"byte {cell}"))
        if name := names.get(at):
            tone = _TONES.get(name, Tone.SIZE)
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
    return Drawing("An LZ4 sequence", tuple(figures), links, caption, legend=_LEGEND)
