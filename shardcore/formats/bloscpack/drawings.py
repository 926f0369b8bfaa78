"""The steps of a lookup, each as a small drawing; none of them reads."""

from __future__ import annotations

from typing import Any

from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, ChunkHeader, ChunkMap
from shardcore.formats.bloscpack.content import Stored
from shardcore.formats.bloscpack.header import Header
from shardcore.formats.bloscpack.layout import CHUNK_HEADER, METADATA_HEADER, UNKNOWN
from shardcore.formats.bloscpack.metadata import MetadataSection
from shardcore.formats.bloscpack.offsets import Slots
from shardcore.formats.bloscpack.ruler_figures import blocks_figure
from shardcore.model.drawing import Bits, Cells, Drawing, Item, Link, Ruler, Table, Tone, window
from shardcore.model.number_words import grouped_digits, plural
from shardcore.model.span import Span
from shardcore.model.text import letters_of

CHUNKS = 8
"""Chunks around one that are drawn."""
ARRIVED = 16
"""Bytes around one that are drawn."""

_FLAGS = (
    ("shuffle", 0, 1, "Bytes sorted by their place in the element."),
    ("copy", 1, 1, "Nothing is compressed."),
    ("bits", 2, 1, "Bits sorted by their place in the element."),
    ("0", 3, 1, "Always 0."),
    ("whole", 4, 1, "Each block is one stream; when clear, it may be a stream for each byte of the element."),
)


def header_drawing(header: Header) -> Drawing:
    """The fields of the header."""
    rows = []
    for field in header.record.fields:
        start = header.record.offsets[field.name]
        value = header.values[field.name]
        text = letters_of(bytes(value)) or bytes(value).hex() if isinstance(value, (bytes, bytearray)) else str(value)
        span = (Span("", start, start + header.record.sizes[field.name]),)
        asked = field.name in ("chunk_size", "last_chunk", "nchunks")
        tone = Tone.HIT if asked else Tone.HEADER
        rows.append((Item(str(start)), Item(field.name, doc=field.doc), Item(text, span, tone=tone, doc=field.doc)))
    caption = "Chunk size and number of chunks place every plain byte, before any chunk was looked at."
    if header.nchunks == UNKNOWN or "chunk_size" not in header.values or header.chunk_size == UNKNOWN:
        caption = "This header does not say how long chunks are: each chunk says so itself."
    table = Table(f"{plural(header.size, 'byte')} at the start of the file", ("byte", "field", "says"), tuple(rows))
    return Drawing("The header", (table,), (), caption, legend={Tone.HIT: "what places a plain byte"})


def metadata_drawing(metadata: MetadataSection) -> Drawing:
    """The metadata section, with the room that it keeps."""
    start, stored = metadata.start, metadata.stored
    room = start + METADATA_HEADER.size + int(metadata.values["max_meta_size"])
    items = [
        Item("header", (metadata.header,), start, metadata.header.size, Tone.HEADER, "Sizes and codec of the text."),
        Item("text", (stored,), stored.start, stored.size, Tone.METADATA, "The metadata, as it is stored."),
    ]
    if room > stored.stop:
        gap = Span("", stored.stop, room)
        doc = "Kept free, so that the text can grow in place."
        items.append(Item("room", (gap,), gap.start, gap.size, Tone.EMPTY, doc))
    if metadata.digest.size:
        place = metadata.digest
        items.append(Item("digest", (place,), place.start, place.size, Tone.SIZE, "The digest of the stored text."))
    items.append(Item(f"next: {metadata.stop}", (), metadata.stop, 0, Tone.HIT, "Where the reader goes on.", here=True))
    ruler = Ruler("The metadata section", start, max(metadata.stop, start + 1), tuple(items), "bytes")
    caption = "A reader who wants a chunk jumps over the whole section, room and all."
    return Drawing("Past the metadata", (ruler,), (), caption)


def element_drawing(number: int, itemsize: int, how: str) -> Drawing:
    """From the number of an element to its first plain byte.

    Args:
        number: Its number in the order in which elements are stored.
        itemsize: Bytes of an element.
        how: How the number is computed, as a sentence without its point.
    """
    row = (
        Item(f"element {number}", tone=Tone.KEY, doc=f"{how}."),
        Item(f"× {itemsize}", doc=f"{plural(itemsize, 'byte')} each."),
        Item(f"byte {number * itemsize}", tone=Tone.HIT, doc="Its first plain byte.", here=True),
    )
    table = Table("From the element to its first byte", ("number", "bytes each", "uncompressed byte"), (row,))
    return Drawing("Which byte", (table,), (), f"{how}. Chunks know nothing of elements: they hold uncompressed bytes.")


def chunks_drawing(header: Header, number: int, within: int) -> Drawing | None:
    """The plain content, cut into chunks; None where only the chunks say how long they are."""
    size, total = header.chunk_size, header.plain_size
    if size <= 0 or total == UNKNOWN:
        return None
    shown = window(max(header.nchunks, number + 1), number, CHUNKS)
    items = [
        Item(
            f"chunk {n}",
            (),
            n * size,
            max(min(size, total - n * size), 1),
            Tone.HIT if n == number else Tone.DATA,
            f"Chunk {n}: uncompressed bytes from {n * size} on.",
            here=n == number,
        )
        for n in shown
    ]
    byte = number * size + within
    items.append(Item(f"byte {byte}", (), byte, 0, Tone.KEY, "The byte that is looked for.", here=True))
    stop = max(min(shown.stop * size, total), shown.start * size + 1)
    ruler = Ruler("Uncompressed bytes", shown.start * size, stop, tuple(items), "bytes")
    sums = Table(
        "A division",
        (f"{byte} // {size}", f"{byte} mod {size}"),
        ((Item(f"chunk {number}", tone=Tone.HIT), Item(f"byte {within} of it", tone=Tone.KEY)),),
    )
    caption = "All chunks but the last are equally long when plain: a division tells which one, and where in it."
    return Drawing("Which chunk", (ruler, sums), (), caption, more=max(header.nchunks, 0) - len(shown))


def slot_drawing(slots: Slots, number: int, value: int, size: int, *, good: bool) -> Drawing:
    """One slot of the offsets, and the byte of the file that it names."""
    tone = Tone.HIT if good else Tone.MISS
    shown = window(slots.count, number, CHUNKS)
    items = [
        Item("", (slots.span(n),), n, tone=Tone.EMPTY, doc=f"The slot of chunk {n}.") for n in shown if n != number
    ]
    here = Item(str(value), (slots.span(number),), number, tone=tone, doc=f"Slot {number}.", name="slot", here=True)
    cells = Cells(f"{plural(slots.count, 'offset slot')}, 8 bytes each", len(shown), (*items, here), first=shown.start)
    if not 0 <= value < size:
        caption = "The slot does not name a byte of the file: the chunks are walked from the first."
        return Drawing("The offset slot", (cells,), (), caption)
    mark = Item("", (), value, 0, tone, f"Byte {value}, which the slot names.", "place", here=True)
    ruler = Ruler(f"The file, and its byte {value}", 0, max(size, 1), (mark,), "bytes")
    caption = "One slot for each chunk: whichever is wanted, one more read brings its place."
    if not good:
        caption = "No chunk begins there, so the slot is not used: the chunks are walked from the first."
    return Drawing("The offset slot", (cells, ruler), (Link("slot", "place", tone=Tone.POINTER),), caption)


def walk_drawing(chunk: int, place: int, after: int, digest: int) -> Drawing:
    """From a chunk to the next one."""
    head = Span("", place, place + HEADER_SIZE)
    body = max(after - digest - head.stop, 0)
    items = [Item("Blosc header", (head,), place, head.size, Tone.HEADER, "It says ctbytes.", "head")]
    if body:
        items.append(Item("blocks", (), head.stop, body, Tone.DATA, "Walked past, not read."))
    if digest:
        items.append(Item("digest", (), after - digest, digest, Tone.SIZE, plural(digest, "byte") + "."))
    items.append(Item(f"chunk {chunk + 1}", (), after, 0, Tone.HIT, f"It begins at byte {after}.", "next", here=True))
    ruler = Ruler(f"Chunk {chunk}", place, max(after, place + 1), tuple(items), "bytes")
    sizes = f"+ {grouped_digits(after - place)}"
    caption = "Each chunk says how long it is: what an offset would tell at once costs one read for each chunk before."
    return Drawing(f"Past chunk {chunk}", (ruler,), (Link("head", "next", sizes, Tone.POINTER),), caption)


def blosc_header_drawing(header: ChunkHeader, start: int) -> Drawing:
    """The 16 bytes at the start of a chunk, and the bits of its flags."""
    place = _field(start, "flags")
    fields = [
        Item(text, (place,), bit, size, Tone.HIT if header.flags >> bit & 1 else Tone.FAINT, doc)
        for text, bit, size, doc in _FLAGS
    ]
    fields.append(Item(header.codec_name, (place,), 5, 3, Tone.KEY, "What compressed the streams."))
    bits = Bits("Its flags: what was done to the bytes", 8, header.flags, tuple(fields))
    tones = {"nbytes": Tone.SIZE, "blocksize": Tone.SIZE, "ctbytes": Tone.POINTER}
    names = [field.name for field in CHUNK_HEADER.fields]
    docs = {field.name: field.doc for field in CHUNK_HEADER.fields}
    row = tuple(
        Item(
            f"{header.flags:#04x}" if name == "flags" else str(getattr(header, name)),
            (_field(start, name),),
            tone=tones.get(name, Tone.HEADER),
            doc=docs[name],
        )
        for name in names
    )
    table = Table(f"{HEADER_SIZE} bytes at the start of the chunk", tuple(names), (row,))
    caption = (
        f"{plural(header.nbytes, 'uncompressed byte')} in blocks of {grouped_digits(header.blocksize)}, "
        f"{grouped_digits(header.ctbytes)} stored, this header included: enough to read the chunk without any other."
    )
    return Drawing("The Blosc header", (table, bits), (), caption, legend={Tone.HIT: "set"})


def _field(start: int, name: str) -> Span:
    at = start + CHUNK_HEADER.offsets[name]
    return Span("", at, at + CHUNK_HEADER.sizes[name])


def digest_drawing(stored: Stored, computed: bytes, name: str) -> Drawing:
    """Return what the digest covers, and whether it is the one that was stored."""
    same = computed == stored.digest
    place = stored.digest_span
    covered = Item("covered", (stored.span,), stored.span.start, stored.span.size, Tone.DATA, "The stored chunk.")
    digest = Item("digest", (place,), place.start, place.size, Tone.SIZE, f"{name}.", "digest", here=True)
    ruler = Ruler("The chunk and its digest", stored.span.start, place.stop, (covered, digest), "bytes")
    rows = (
        (Item("stored"), Item(_short(stored.digest), (place,), tone=Tone.SIZE)),
        (Item("computed"), Item(_short(computed), tone=Tone.HIT if same else Tone.MISS)),
    )
    caption = (
        "Equal: not one stored byte was changed since."
        if same
        else "They differ, so the chunk is damaged and is not decompressed."
    )
    verdicts = {Tone.HIT: "equal", Tone.MISS: "different"}
    return Drawing("The digest", (ruler, Table(name, ("", "digest"), rows)), (), caption, legend=verdicts)


def _short(digest: bytes) -> str:
    return digest[:16].hex() + ("…" if len(digest) > 16 else "")


def block_drawing(stored: Stored, found: ChunkMap, block: int, within: int) -> Drawing:
    """The blocks of a chunk, and where the one with the byte lies."""
    ribbon, left = blocks_figure(stored, found, block, within)
    caption = "The starts say where each block begins; to have one byte, one block is decompressed."
    return Drawing(f"Block {block}", (ribbon,), (), caption, left)


def byte_drawing(plain: bytes, within: int, header: ChunkHeader, spans: tuple[Span, ...]) -> Drawing:
    """The byte among its neighbours in the decompressed chunk."""
    shown = window(len(plain), within, ARRIVED)
    first, last = shown.start, shown.stop
    size = header.typesize
    items: list[Item] = []
    for at in range(first, last):
        same = at // size == within // size
        tone = Tone.HIT if at == within else Tone.KEY if same else Tone.FAINT
        doc = f"Byte {at} of the chunk: byte {at % size} of element {at // size}."
        items.append(Item(f"{plain[at]:02x}", spans, at, tone=tone, doc=doc, here=at == within))
    cells = Cells(f"Uncompressed bytes {first} to {last - 1} of the chunk", len(items), tuple(items), first=first)
    told: dict[str, Any] = {"none": "", "shuffle": " and its bytes put back in order"}
    undone = told.get(header.filter_name, " and its bits put back in order")
    how = (
        "Nothing was compressed" if header.plain_copy else f"The block is decompressed with {header.codec_name}{undone}"
    )
    caption = f"{how}: byte {within} is {plain[within]:#04x}, of element {within // size} of the chunk."
    return Drawing("The byte", (cells,), (), caption, more=len(plain) - len(items))
