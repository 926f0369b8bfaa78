"""Drawing *Rulers*: chunk and block of an element or byte, with uncompressed bytes above and stored bytes below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from shardcore.errors import LimitExceeded
from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, ChunkHeader, ChunkMap
from shardcore.formats.bloscpack.content import Stored
from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.layout import BLOCK_START, CHUNK_HEADER
from shardcore.model.drawing import Band, Bits, Cells, Drawing, Figure, Item, Link, Ribbon, Ruler, Table, Tone, window
from shardcore.model.section import SectionRole
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural, range_text
from shardcore.shards.trace import FOUND
from shardcore.teaching import item_of
from shardcore.teaching.bloscpack.scene import ChunkSketch, PlacedChunk
from shardcore.teaching.step_drawing import SECTION_TONES

CHUNKS = 4
"""Maximum number of chunks drawn."""
SPARE = 4
"""Maximum number of spare slots drawn."""
BLOCKS = 5
"""Maximum number of blocks drawn."""
WALKED = 5
"""Maximum number of chunks of a walk that are drawn; those before are only counted."""

_FLAGS = (
    ("shuffle", "Bytes grouped by their position in the element."),
    ("copy", "Not compressed."),
    ("bits", "Bits grouped by their position in the element."),
    ("0", "Always 0."),
    ("whole", "Each block is one stream; if clear, it may be one stream per byte of the element."),
)
_HEAD = (SectionRole.HEADER, SectionRole.METADATA, SectionRole.INDEX)


def chunks_figure(file: BloscpackFile, chunks: Sequence[PlacedChunk], number: int, byte: int | None) -> Ribbon:
    """Return a figure of the uncompressed content above, the file below, and a band per chunk."""
    first, last = chunks[0], chunks[-1]
    above, bands, below = list[Item](), list[Band](), list[Item]()
    if first.number == 0:
        for part in file.sections:
            if part.role in _HEAD and part.stop <= file.offsets.area.first and part.size:
                below.append(item_of(part.name, Span("", part.start, part.stop), SECTION_TONES[part.role], part.doc))
    start = 0 if below else first.place
    for chunk in chunks:
        here, plain, size = chunk.number == number, chunk.header.nbytes, chunk.stop - chunk.place
        at, wide, spans, tone = chunk.plain, max(plain, 1), (chunk.span,), Tone.HIT if here else Tone.DATA
        doc = f"Chunk {chunk.number}: uncompressed bytes {at} to {at + plain - 1}."
        name = f"chunk {chunk.number}"
        above.append(Item(name, (), at, wide, tone, doc, name, here=here))
        doc = f"Chunk {chunk.number}: {plural(plain, 'uncompressed byte')} are {grouped_digits(size)} in the file."
        text = f"{grouped_digits(plain)} to {grouped_digits(size)}"
        bands.append(Band(Item(text, spans, at, wide, tone, doc, here=here), (chunk.place, chunk.stop)))
        doc = f"Chunk {chunk.number}, stored at {range_text(chunk.place, chunk.stop)}, its checksum included."
        name = f"stored {chunk.number}"
        below.append(Item(str(chunk.number), spans, chunk.place, max(size, 1), tone, doc, name, here=here))
    if byte is not None:
        above.append(Item(f"byte {byte}", (), byte, 0, Tone.KEY, f"Uncompressed byte {byte}.", "byte", here=True))
    start_of = next(chunk.place for chunk in chunks if chunk.number == number)
    doc = f"Chunk {number} begins at byte {start_of:#x}."
    below.append(Item("", (), start_of, 0, Tone.POINTER, doc, f"start {number}"))
    stop = last.plain + last.header.nbytes
    plain_ruler = Ruler("Uncompressed bytes", first.plain, max(stop, first.plain + 1), tuple(above), "bytes")
    stored = Ruler("The file", start, max(last.stop, start + 1), tuple(below), "bytes")
    return Ribbon("Each chunk is compressed separately", plain_ruler, stored, tuple(bands))


# --- offsets and walk ------------------------------------------------------------------------------------------------


def slots_figure(file: BloscpackFile, chunks: Sequence[PlacedChunk], number: int) -> tuple[Cells, bool] | None:
    """Return the offset slots of `chunks`, and True if the slot of chunk `number` is right; None without offsets."""
    slots = file.offsets
    shown = [chunk for chunk in chunks if chunk.number < slots.used]
    if not shown:
        return None
    first, last = shown[0].number, shown[-1].number
    values = slots.read(file.source, first, last + 1).tolist()
    items, good = [], False
    for chunk, value in zip(shown, values, strict=True):
        right, here = value == chunk.place, chunk.number == number
        good = good or (right and here)
        tone = Tone.MISS if not right else Tone.HIT if here else Tone.POINTER
        doc = f"Slot {chunk.number}: {'chunk begins at byte' if right else 'it has'} {value}"
        doc += "." if right else f", but the chunk is found at byte {chunk.place:#x}."
        spans = (slots.slot(chunk.number),)
        items.append(Item(str(value), spans, chunk.number, tone=tone, doc=doc, name=f"slot {chunk.number}", here=here))
    count = last - first + 1
    spare = slots.count - slots.used if last == slots.used - 1 else 0
    if spare > 0:
        doc = "-1: a spare slot, so that a chunk can be appended in place."
        for one in range(slots.used, slots.used + min(spare, SPARE)):
            items.append(Item("spare", (slots.slot(one),), one, tone=Tone.EMPTY, doc=doc, name=f"spare {one}"))
        count += min(spare, SPARE)
    title = f"Offsets of the chunks, {plural(slots.used, 'slot')}"
    if spare > 0:
        title += f" and {grouped_digits(spare)} spare"
    return Cells(title, count, tuple(items), first=first), good


def walk_figure(file: BloscpackFile, chunks: Sequence[PlacedChunk], number: int) -> tuple[Ruler, list[Link]]:
    """Return the chunks that a reader walks over to reach chunk `number`, with an arc per chunk."""
    way = [chunk for chunk in chunks if chunk.number <= number]
    items, steps = [], list[str]()
    if before := way[0].number:
        doc = f"The walk also passed {plural(before, 'chunk')} before this one."
        items.append(Item(f"{grouped_digits(before)} before", (), way[0].place, 0, Tone.FAINT, doc, "walked before"))
        steps.append("")
    for chunk in way:
        name, here = f"walked {chunk.number}", chunk.number == number
        head = Span("", chunk.place, min(chunk.place + HEADER_SIZE, chunk.stop))
        doc = f"Chunk {chunk.number}: ctbytes in its header is {chunk.header.ctbytes}; the next chunk follows."
        tone = Tone.HIT if here else Tone.DATA
        size = max(chunk.stop - chunk.place, 1)
        items.append(Item(f"chunk {chunk.number}", (head, chunk.span), chunk.place, size, tone, doc, name, here=here))
        steps.append(f"+ {grouped_digits(size)}")
    links = [Link(a.name, b.name, step, Tone.POINTER) for (a, b), step in zip(pairwise(items), steps, strict=False)]
    title = "Walk: the length of each chunk gives the start of the next"
    return Ruler(title, way[0].place, max(way[-1].stop, way[0].place + 1), tuple(items), "bytes"), links


# --- blocks and flags ------------------------------------------------------------------------------------------------


def blocks_figure(stored: Stored, found: ChunkMap, block: int, within: int | None) -> tuple[Ribbon, int]:
    """Return the blocks of a chunk, uncompressed above and stored below, and the number of blocks left out."""
    header, start = stored.header, stored.span.start
    shown = window(len(found.starts), block, BLOCKS)
    above, bands = list[Item](), list[Band]()
    head = Span("", start, start + HEADER_SIZE)
    below = [item_of("Blosc header", head, Tone.HEADER, "Flags and sizes of the chunk.", "head")]
    if len(found.starts):
        table = Span("", head.stop, head.stop + BLOCK_START.size * len(found.starts))
        doc = "Offset of each block, counted from the Blosc header."
        below.append(item_of("starts", table, Tone.INDEX, doc, "starts"))
    for number in shown:
        here, plain = number == block, found.block_plain(number)
        at = number * header.blocksize
        span = found.block_span(number, start)
        tone = Tone.HIT if here else Tone.DATA
        doc = f"Block {number}: {plural(plain, 'uncompressed byte')}, {grouped_digits(span.size)} stored."
        above.append(Item(f"block {number}", (), at, plain, tone, doc, here=here))
        below.append(item_of(str(number), span, tone, doc, f"block {number}", here=here))
        text = f"{grouped_digits(plain)} to {grouped_digits(span.size)}"
        bands.append(Band(Item(text, (span,), at, plain, tone, doc, here=here), (span.start, span.stop)))
    if not len(found.starts) and header.nbytes:
        body = Span("", head.stop, stored.span.stop)
        doc = "A memcpy: compression saved nothing, so the bytes are stored uncompressed."
        above.append(Item("uncompressed bytes", (), 0, header.nbytes, Tone.HIT, doc, here=True))
        below.append(item_of("same bytes", body, Tone.HIT, doc, here=True))
        bands.append(Band(Item("copied", (body,), 0, header.nbytes, Tone.HIT, doc, here=True), (body.start, body.stop)))
    if within is not None:
        above.append(Item(f"byte {within}", (), within, 0, Tone.KEY, f"Byte {within} of the chunk.", here=True))
    if stored.digest:
        place = stored.digest_span
        doc = "The checksum of the stored chunk; damage is detected before decompression."
        below.append(item_of("checksum", place, Tone.SIZE, doc))
    low = shown.start * header.blocksize if len(found.starts) else 0
    high = min(shown.stop * header.blocksize, header.nbytes) if len(found.starts) else header.nbytes
    plain_ruler = Ruler(f"Uncompressed bytes of chunk {stored.number}", low, max(high, low + 1), tuple(above), "bytes")
    end = stored.digest_span.stop
    file_ruler = Ruler(f"Chunk {stored.number} in the file", start, end, tuple(below), "bytes")
    filtered = {"shuffle": "bytes shuffled", "bitshuffle": "bits shuffled"}.get(header.filter_name, "not shuffled")
    how = f"{plural(header.nblocks, 'block')}, {header.codec_name}, {filtered}"
    title = f"In the chunk: {how if len(found.starts) else 'a memcpy' if header.nbytes else 'nothing'}"
    return Ribbon(title, plain_ruler, file_ruler, tuple(bands)), len(found.starts) - len(shown)


def way_figure(rows: Sequence[tuple[str, str, str, Tone]]) -> Table:
    headings = tuple(heading for heading, _, _, _ in rows)
    results = tuple(Item(text, tone=tone, doc=f"{how}.") for _, text, how, tone in rows)
    hows = tuple(Item(how, tone=Tone.FAINT) for _, _, how, _ in rows)
    return Table("From the key to its byte", headings, (results, hows))


def flags_figure(header: ChunkHeader, start: int) -> Bits:
    place = (CHUNK_HEADER.span("flags", start),)
    fields = [
        Item(text, place, bit, 1, Tone.KEY if header.flags >> bit & 1 else Tone.FAINT, doc)
        for bit, (text, doc) in enumerate(_FLAGS)
    ]
    fields.append(Item(header.codec_name, place, len(_FLAGS), 3, Tone.KEY, "Codec of the streams."))
    return Bits("Flags: filter and codec", 8, header.flags, tuple(fields))


class RulersSketch(ChunkSketch):
    name = "rulers"
    title = "Rulers"

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        scene = self._scene
        (number, block), file = scene.at(self.chosen(values)), scene.file
        if scene.empty:
            return Drawing("No chunks", (), (), "The file has no chunks.")
        chunks = scene.around(number, CHUNKS)
        chunk = next(one for one in chunks if one.number == number)
        within = scene.within if number == scene.chunk else None
        rows = self._way(chunk) if within is not None else []
        figures: list[Figure] = [way_figure(rows)] if rows else []
        figures.append(chunks_figure(file, chunks, number, None if within is None else chunk.plain + within))
        links, good = list[Link](), False
        if (slots := slots_figure(file, chunks, number)) is not None:
            cells, good = slots
            figures.append(cells)
        if good:
            links.append(Link(f"slot {number}", f"start {number}", tone=Tone.POINTER))
        elif number:
            ruler, arcs = walk_figure(file, scene.around(number, WALKED), number)
            figures.append(ruler)
            links += arcs
        more = len(file.table) - len(chunks) if self.controls else 0
        caption = self._caption(chunk, good=good, offsets=slots is not None)
        try:
            found, stored = scene.mapped(number), scene.stored(number)
        except LimitExceeded as error:
            caption += f" {error.message[:1].upper()}{error.message[1:]}."
        else:
            ribbon, left = blocks_figure(stored, found, min(block, max(len(found.starts) - 1, 0)), within)
            figures.append(ribbon)
            more += left
        what = scene.trace.key if scene.trace is not None and within is not None else f"chunk {number}"
        return Drawing(f"Location of {what}", tuple(figures), tuple(links), caption, max(more, 0))

    def _way(self, chunk: PlacedChunk) -> list[tuple[str, str, str, Tone]]:
        scene = self._scene
        arrived, within = scene.arrived, scene.within
        if arrived is None or within is None or scene.trace is None:
            return []
        number, inside = int(arrived.values["chunk"]), int(arrived.values["within"])
        if (element := scene.element) is not None:
            at, size, byte = (int(element.values[name]) for name in ("element", "itemsize", "byte"))
            rows = [("element", scene.trace.key, f"number {at}", Tone.KEY)]
            rows.append(("uncompressed byte", str(byte), f"{at} × {size}", Tone.ONE))
        else:
            byte = int(scene.trace.key.removeprefix("@"))
            rows = [("uncompressed byte", str(byte), "requested", Tone.KEY)]
        size = (byte - inside) // number if number else 0
        how = (f"// {size}", f"mod {size}") if size else ("first chunk", "unchanged")
        rows.append(("chunk", str(number), how[0], Tone.TWO))
        rows.append(("byte of it", str(inside), how[1], Tone.TWO))
        if chunk.header.nblocks:
            block, rest = divmod(within, chunk.header.blocksize)
            rows.append(("block", str(block), f"// {chunk.header.blocksize}", Tone.THREE))
            rows.append(("byte of it", str(rest), f"mod {chunk.header.blocksize}", Tone.THREE))
        return rows

    def _caption(self, chunk: PlacedChunk, *, good: bool, offsets: bool) -> str:
        trace, missing = self._scene.trace, ""
        if trace is not None and trace.outcome != FOUND and trace.error:
            missing = f"Not found: {trace.error}. "
        stored = chunk.stop - chunk.place
        size = plural(chunk.header.nbytes, "uncompressed byte")
        gain = f"{size} of chunk {chunk.number} take {grouped_digits(stored)} in the file"
        if chunk.header.nbytes < stored:
            gain += ", more because of header and checksum"
        place = "the offset gives its start" if good else "a reader walks from chunk to chunk"
        if not good and offsets:
            place = "its offset is not valid, so a reader walks from chunk to chunk"
        if not good and not chunk.number:
            place = "the first chunk begins right after the header and metadata"
        return f"{missing}{gain}. Stored chunks differ in length; {place}."
