"""Figures of the sketch `rulers`: uncompressed bytes above, stored bytes below, and bands that connect them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, ChunkHeader, ChunkMap
from shardcore.formats.bloscpack.content import Stored
from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.layout import BLOCK_START, CHUNK_HEADER
from shardcore.model.drawing import Band, Bits, Cells, Item, Link, Ribbon, Ruler, Table, Tone, window
from shardcore.model.number_text import grouped_digits, plural, range_text
from shardcore.model.section import SectionRole
from shardcore.model.span import Span
from shardcore.teaching.bloscpack.scene import PlacedChunk

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
_TONES = {
    SectionRole.HEADER: Tone.HEADER,
    SectionRole.METADATA: Tone.METADATA,
    SectionRole.INDEX: Tone.INDEX,
}


def chunks_figure(file: BloscpackFile, chunks: Sequence[PlacedChunk], number: int, byte: int | None) -> Ribbon:
    """Return the uncompressed content above, the file below, and a band per chunk."""
    first, last = chunks[0], chunks[-1]
    above = [_plain_item(chunk, here=chunk.number == number) for chunk in chunks]
    if byte is not None:
        above.append(Item(f"byte {byte}", (), byte, 0, Tone.KEY, f"Uncompressed byte {byte}.", "byte", here=True))
    fronts = _front_items(file) if first.number == 0 else []
    below = [*fronts, *(_stored_item(chunk, here=chunk.number == number) for chunk in chunks)]
    start_of = next(chunk.place for chunk in chunks if chunk.number == number)
    doc = f"Chunk {number} begins at byte {start_of:#x}."
    below.append(Item("", (), start_of, 0, Tone.POINTER, doc, f"start {number}"))
    bands = tuple(_chunk_band(chunk, here=chunk.number == number) for chunk in chunks)
    stop = last.plain + last.header.nbytes
    plain = Ruler("Uncompressed bytes", first.plain, max(stop, first.plain + 1), tuple(above), "bytes")
    start = 0 if fronts else first.place
    stored = Ruler("The file", start, max(last.stop, start + 1), tuple(below), "bytes")
    return Ribbon("Each chunk is compressed separately", plain, stored, bands)


def _plain_item(chunk: PlacedChunk, *, here: bool) -> Item:
    size = chunk.header.nbytes
    doc = f"Chunk {chunk.number}: uncompressed bytes {chunk.plain} to {chunk.plain + size - 1}."
    tone = Tone.HIT if here else Tone.DATA
    return Item(f"chunk {chunk.number}", (), chunk.plain, max(size, 1), tone, doc, here=here)


def _stored_item(chunk: PlacedChunk, *, here: bool) -> Item:
    size = chunk.stop - chunk.place
    doc = f"Chunk {chunk.number}, stored at {range_text(chunk.place, chunk.stop)}, its checksum included."
    tone = Tone.HIT if here else Tone.DATA
    name = f"stored {chunk.number}"
    return Item(f"{chunk.number}", (chunk.span,), chunk.place, max(size, 1), tone, doc, name, here=here)


def _chunk_band(chunk: PlacedChunk, *, here: bool) -> Band:
    plain, stored = chunk.header.nbytes, chunk.stop - chunk.place
    text = f"{grouped_digits(plain)} to {grouped_digits(stored)}"
    doc = f"Chunk {chunk.number}: {plural(plain, 'uncompressed byte')} are {grouped_digits(stored)} in the file."
    item = Item(text, (chunk.span,), chunk.plain, max(plain, 1), Tone.HIT if here else Tone.DATA, doc, here=here)
    return Band(item, (chunk.place, chunk.stop))


def _front_items(file: BloscpackFile) -> list[Item]:
    return [
        Item(part.name, (Span("", part.start, part.stop),), part.start, part.size, _TONES[part.role], part.doc)
        for part in file.sections
        if part.role in _TONES and part.stop <= file.offsets.area.first and part.size
    ]


# --- offsets and walk ------------------------------------------------------------------------------------------------


def slots_figure(file: BloscpackFile, chunks: Sequence[PlacedChunk], number: int) -> tuple[Cells, bool] | None:
    """Return the drawn offset slots, and True if the slot of chunk `number` is right; None without offsets."""
    slots = file.offsets
    shown = [chunk for chunk in chunks if chunk.number < slots.used]
    if not shown:
        return None
    first, last = shown[0].number, shown[-1].number
    values = slots.read(file.source, first, last + 1).tolist()
    items = []
    for chunk, value in zip(shown, values, strict=True):
        right, here = value == chunk.place, chunk.number == number
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
    good = any(chunk.number == number and value == chunk.place for chunk, value in zip(shown, values, strict=True))
    return Cells(title, count, tuple(items), first=first), good


def walk_figure(file: BloscpackFile, chunks: Sequence[PlacedChunk], number: int) -> tuple[Ruler, list[Link]]:
    """Return the chunks that a reader walks over to reach chunk `number`, with an arc per chunk."""
    way = [chunk for chunk in chunks if chunk.number <= number]
    items, ends = [], []
    if before := way[0].number:
        doc = f"The walk also passed {plural(before, 'chunk')} before this one."
        items.append(Item(f"{grouped_digits(before)} before", (), way[0].place, 0, Tone.FAINT, doc, "walked before"))
        ends.append("walked before")
    for chunk in way:
        name, here = f"walked {chunk.number}", chunk.number == number
        head = Span("", chunk.place, min(chunk.place + HEADER_SIZE, chunk.stop))
        doc = f"Chunk {chunk.number}: ctbytes in its header is {chunk.header.ctbytes}; the next chunk follows."
        tone = Tone.HIT if here else Tone.DATA
        size = max(chunk.stop - chunk.place, 1)
        items.append(Item(f"chunk {chunk.number}", (head, chunk.span), chunk.place, size, tone, doc, name, here=here))
        ends.append(name)
    sizes = {f"walked {chunk.number}": f"+ {grouped_digits(chunk.stop - chunk.place)}" for chunk in way}
    links = [Link(a, b, sizes.get(a, ""), Tone.POINTER) for a, b in pairwise(ends)]
    title = "Walk: the length of each chunk gives the start of the next"
    return Ruler(title, way[0].place, max(way[-1].stop, way[0].place + 1), tuple(items), "bytes"), links


# --- blocks and flags ------------------------------------------------------------------------------------------------


def blocks_figure(stored: Stored, found: ChunkMap, block: int, within: int | None) -> tuple[Ribbon, int]:
    """Return the blocks of a chunk, uncompressed above and stored below, and the number of blocks left out."""
    header, start = stored.header, stored.span.start
    shown = window(len(found.starts), block, BLOCKS)
    above, bands = list[Item](), list[Band]()
    head = Span("", start, start + HEADER_SIZE)
    below = [Item("Blosc header", (head,), start, head.size, Tone.HEADER, "Flags and sizes of the chunk.", "head")]
    if len(found.starts):
        table = Span("", head.stop, head.stop + BLOCK_START.size * len(found.starts))
        doc = "Offset of each block, counted from the Blosc header."
        below.append(Item("starts", (table,), table.start, table.size, Tone.INDEX, doc, "starts"))
    for number in shown:
        here, plain = number == block, found.block_plain(number)
        at = number * header.blocksize
        span = found.block_span(number, start)
        tone = Tone.HIT if here else Tone.DATA
        doc = f"Block {number}: {plural(plain, 'uncompressed byte')}, {grouped_digits(span.size)} stored."
        above.append(Item(f"block {number}", (), at, plain, tone, doc, here=here))
        name = f"block {number}"
        below.append(Item(str(number), (span,), span.start, span.size, tone, doc, name, here=here))
        text = f"{grouped_digits(plain)} to {grouped_digits(span.size)}"
        bands.append(Band(Item(text, (span,), at, plain, tone, doc, here=here), (span.start, span.stop)))
    if not len(found.starts) and header.nbytes:
        body = Span("", head.stop, stored.span.stop)
        doc = "A memcpy: compression saved nothing, so the bytes are stored uncompressed."
        above.append(Item("uncompressed bytes", (), 0, header.nbytes, Tone.HIT, doc, here=True))
        below.append(Item("same bytes", (body,), body.start, body.size, Tone.HIT, doc, here=True))
        bands.append(Band(Item("copied", (body,), 0, header.nbytes, Tone.HIT, doc, here=True), (body.start, body.stop)))
    if within is not None:
        above.append(Item(f"byte {within}", (), within, 0, Tone.KEY, f"Byte {within} of the chunk.", here=True))
    if stored.digest:
        place = stored.digest_span
        doc = "The checksum of the stored chunk; damage is detected before decompression."
        below.append(Item("checksum", (place,), place.start, place.size, Tone.SIZE, doc))
    low = shown.start * header.blocksize if len(found.starts) else 0
    high = min(shown.stop * header.blocksize, header.nbytes) if len(found.starts) else header.nbytes
    plain_ruler = Ruler(f"Uncompressed bytes of chunk {stored.number}", low, max(high, low + 1), tuple(above), "bytes")
    end = stored.digest_span.stop
    file_ruler = Ruler(f"Chunk {stored.number} in the file", start, end, tuple(below), "bytes")
    how = f"{plural(header.nblocks, 'block')}, {header.codec_name}, {_filter_text(header.filter_name)}"
    title = f"In the chunk: {how if len(found.starts) else 'a memcpy' if header.nbytes else 'nothing'}"
    return Ribbon(title, plain_ruler, file_ruler, tuple(bands)), len(found.starts) - len(shown)


def _filter_text(name: str) -> str:
    return {"shuffle": "bytes shuffled", "bitshuffle": "bits shuffled"}.get(name, "not shuffled")


def way_figure(rows: Sequence[tuple[str, str, str, Tone]]) -> Table:
    headings = tuple(heading for heading, _, _, _ in rows)
    results = tuple(Item(text, tone=tone, doc=f"{how}.") for _, text, how, tone in rows)
    hows = tuple(Item(how, tone=Tone.FAINT) for _, _, how, _ in rows)
    return Table("From the key to its byte", headings, (results, hows))


def flags_figure(header: ChunkHeader, start: int) -> Bits:
    at = start + CHUNK_HEADER.offsets["flags"]
    place = (Span("", at, at + CHUNK_HEADER.sizes["flags"]),)
    fields = [
        Item(text, place, bit, 1, Tone.KEY if header.flags >> bit & 1 else Tone.FAINT, doc)
        for bit, (text, doc) in enumerate(_FLAGS)
    ]
    fields.append(Item(header.codec_name, place, len(_FLAGS), 3, Tone.KEY, "Codec of the streams."))
    return Bits("Flags: filter and codec", 8, header.flags, tuple(fields))
