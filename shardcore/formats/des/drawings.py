"""The steps of a lookup, each as a small drawing; none of them reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shardcore.formats.des.address_figures import (
    ANY,
    Pieces,
    bits_figure,
    candidates_figure,
    name_figure,
    uid_figure,
)
from shardcore.formats.des.entry_figures import stamp, tape
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import (
    BIGFILE_HEAD,
    BIGFILE_TAIL,
    BIGFILES,
    FOOTER,
    HEADER,
    INDEX_HEAD,
    INLINE,
    PLACE_V1,
    PLACE_V1_SHORT,
    codec_name,
)
from shardcore.formats.des.routing import Route
from shardcore.formats.des.walk import ShapeV1Short, ShapeV2
from shardcore.model.drawing import Band, Bits, Drawing, Figure, Item, Link, Ribbon, Ruler, Table, Tone
from shardcore.model.number_words import grouped_digits, plural
from shardcore.model.record import FieldRole, Record
from shardcore.model.span import Span
from shardcore.model.text import said, visible

FILES = 8
"""Files that are drawn."""
FACTS = 12
"""Members of the metadata that are drawn."""
_LETTERS = 48

_TONES = {
    FieldRole.OFFSET: Tone.POINTER,
    FieldRole.SIZE: Tone.SIZE,
    FieldRole.FLAGS: Tone.LOOKUP,
    FieldRole.CODEC: Tone.INDEX,
}


def route_drawing(uid: str, route: Route, date: str, names: Sequence[str]) -> Drawing:
    """From a uid to the files that may hold it.

    Args:
        uid: The uid.
        route: Where it leads.
        date: The date that was chosen; empty for all.
        names: The files of that number.
    """
    figures: list[Figure] = [
        uid_figure(uid, route),
        bits_figure(uid, route),
        name_figure(Pieces(date or ANY, route.hex, ANY)),
    ]
    shown = list(names[:FILES])
    if shown:
        what = [("may hold it", Tone.INDEX)] * len(shown)
        figures.append(candidates_figure(shown, what, "Files of that number, in the order in which they are searched"))
    caption = "No directory is needed: the shard number is computed from the uid, and the number is in the file name."
    if not date:
        caption += " The uid does not tell the date, so the files of all dates may hold it."
    links = (Link("low", "hex", tone=Tone.KEY),)
    return Drawing("Which file", tuple(figures), links, caption, len(names) - len(shown))


def footer_drawing(file: DesFile) -> Drawing:
    """The footer, and how it leads to the index."""
    size, start = file.source.size, file.entries.data_stop
    at = size - FOOTER.size
    length = at + FOOTER.offsets["index_size"]
    fields = (
        Item("DESI", (Span("", at, length),), at, length - at, Tone.HEADER, "The magic of the footer."),
        Item(
            str(file.footer["index_size"]),
            (Span("", length, size),),
            length,
            size - length,
            Tone.SIZE,
            "Bytes of the index.",
            "size",
            here=True,
        ),
    )
    index = Span("", start, at)
    parts = [
        Item("header", (Span("", 0, HEADER.size),), 0, HEADER.size, Tone.HEADER, "The first 8 bytes."),
        Item("index", (index,), start, index.size, Tone.INDEX, f"It begins at byte {start}.", "index", here=True),
        Item("footer", (Span("", at, size),), at, FOOTER.size, Tone.FAINT, "The last 12 bytes."),
    ]
    if start > HEADER.size:
        data = Span("", HEADER.size, start)
        parts.insert(1, Item("data", (data,), data.start, data.size, Tone.DATA, "The payloads."))
    figures = (
        Ruler(f"The footer: the last {FOOTER.size} bytes", at, size, fields, "bytes"),
        Ruler("The file", 0, size, tuple(parts), "bytes"),
    )
    caption = (
        f"A reader begins at the end: {size} - {FOOTER.size} - {file.footer['index_size']} = {start}, where the index "
        "begins."
    )
    return Drawing("The footer refers to the index", figures, (Link("size", "index", tone=Tone.POINTER),), caption)


def header_drawing(header: Mapping[str, Any]) -> Drawing:
    """The header's fields."""
    texts = {"magic": "DES2", "version": str(header["version"]), "reserved": "zero"}
    items = [
        Item(
            texts[field.name],
            (Span("", start, start + HEADER.sizes[field.name]),),
            start,
            HEADER.sizes[field.name],
            Tone.HIT if field.name == "version" else Tone.HEADER,
            field.doc,
            here=field.name == "version",
        )
        for field in HEADER.fields
        for start in (HEADER.offsets[field.name],)
    ]
    caption = "The version decides how entries are laid out; files of version 1 say DES2 as well."
    return Drawing("The header", (Ruler("The first 8 bytes", 0, HEADER.size, tuple(items), "bytes"),), (), caption)


def count_drawing(file: DesFile) -> Drawing:
    """The count, and the entries after it."""
    entries, start = file.entries, file.entries.data_stop
    head = Span("", start, start + INDEX_HEAD.size)
    doc = f"{grouped_digits(entries.declared)} entries follow."
    items = [Item(str(entries.declared), (head,), start, head.size, Tone.SIZE, doc, here=True)]
    if entries.walk.end > INDEX_HEAD.size:
        body = Span("", head.stop, start + entries.walk.end)
        items.append(Item("entries", (body,), body.start, body.size, Tone.INDEX, "One for each object.", "entries"))
    ruler = Ruler("The index", start, max(file.index_stop, start + 1), tuple(items), "bytes")
    caption = "The count comes first, then the entries, one after the other and each as long as it has to be."
    return Drawing("How many entries", (ruler,), (), caption)


def walk_drawing(file: DesFile, row: int | None) -> Drawing:
    """The walk from entry to entry."""
    walked = tape(file, row)
    caption = "Each entry says how long it is and so where the next begins; none can be jumped to."
    if row is None:
        caption = "Entries are in no order, so only a walk past all of them proves that a uid is not here."
    return Drawing("The walk", (walked.figure,), walked.links, caption, walked.more)


def flags_drawing(flags: int, at: int) -> Drawing:
    """The flags of an entry."""
    spans = (Span("", at, at + 1),)
    big = flags & 1
    low = Item("BigFile" if big else "inline", spans, 0, 1, Tone.HIT, "Bit 0: where the content is.", here=True)
    rest = Item("not used", spans, 1, 7, Tone.FAINT, "Readers ignore these bits.")
    caption = (
        "Bit 0 is set: the content is a file of its own, and the entry goes on with its hash."
        if big
        else "Bit 0 is clear: the content lies in this file, and the entry goes on with its place."
    )
    return Drawing("The flags", (Bits("One byte", 8, flags, (low, rest)),), (), caption)


def place_drawing(file: DesFile, row: int, at: int) -> Drawing:
    """The fields of an entry that say where its content is.

    Args:
        file: The shard.
        row: The entry.
        at: Where they begin in the file: after the uid.
    """
    columns = file.entries.columns
    if columns.big[row]:
        return _bigfile_drawing(file, row, at)
    shape = file.entries.shape
    record = INLINE if isinstance(shape, ShapeV2) else PLACE_V1_SHORT if isinstance(shape, ShapeV1Short) else PLACE_V1
    names = [name for name in record.sizes if name not in ("flags", "meta_length")]
    items = _fields(file, record, names, at)
    size = sum(record.sizes[name] for name in names)
    fields = Table(f"In entry {row}: {plural(size, 'byte')}", tuple(_words(name) for name in names), (items,))
    offset, length, stop = int(columns.offset[row]), int(columns.length[row]), file.entries.data_stop
    if offset + length > stop or not length:
        why = "it is empty, so there is nothing to read" if not length else "that is outside the data: it is damaged"
        return Drawing("Where the content is", (fields,), (), f"The place of the content; {why}.")
    span = Span("", offset, offset + length)
    data = Item(plural(length, "byte"), (span,), offset, length, Tone.HIT, "The stored content.", "payload", here=True)
    ruler = Ruler("Header and data", 0, stop, (data,), "bytes")
    caption = "With offset and length one request brings the content, however large the shard is."
    links = (Link("offset", "payload", tone=Tone.POINTER),)
    return Drawing("Where the content is", (fields, ruler), links, caption)


def _fields(file: DesFile, record: Record, names: Sequence[str], at: int) -> tuple[Item, ...]:
    """Some fields of a record that begins at `at`."""
    values = record.read_one(file.entries.index, at - file.entries.data_stop)
    roles = {field.name: (field.role, field.doc) for field in record.fields}
    items = []
    for name in names:
        start = at + record.offsets[name]
        role, doc = roles[name]
        text = codec_name(int(values[name])) if name == "codec" else str(values[name])
        told = f"{name}: {text}. {doc}"
        span = Span("", start, start + record.sizes[name])
        items.append(Item(text, (span,), tone=_TONES.get(role, Tone.PLAIN), doc=told, name=name))
    return tuple(items)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _bigfile_drawing(file: DesFile, row: int, at: int) -> Drawing:
    """The hash of a BigFile, which is the name of its file."""
    digest = file.entries.hash(row)
    start = at + BIGFILE_HEAD.size
    place = (Span("", start, start + len(digest)),) if digest else ()
    text = visible(digest.decode("utf-8", "replace"))
    items = (
        *_fields(file, BIGFILE_HEAD, ("hash_length",), at),
        Item(text, place, tone=Tone.POINTER, doc="The sha256 of the content, in hex.", name="hash"),
        *_fields(file, BIGFILE_TAIL, ("size",), start + len(digest)),
    )
    fields = Table(f"In entry {row}", ("hash length", "hash", "size"), (items,))
    name = visible(digest[:16].decode("utf-8", "replace"))
    size = plural(int(file.entries.columns.size[row]), "byte")
    row_items = (Item(f"{BIGFILES}/{name}…", tone=Tone.HIT, name="file"), Item(size, tone=Tone.SIZE))
    table = Table("A file of its own, beside the shard", ("name", "size"), (row_items,))
    caption = "What is very large is stored beside the shard, once, and is named by what is in it: its sha256."
    links = (Link("hash", "file", tone=Tone.POINTER),)
    return Drawing("Where the content is", (fields, table), links, caption)


def metadata_drawing(meta: Mapping[str, Any], span: Span) -> Drawing:
    """Return what the metadata says."""
    shown = list(meta.items())[:FACTS]
    rows = tuple(
        (
            Item(visible(name[:_LETTERS]), (span,), tone=Tone.METADATA),
            Item(visible(said(value, _LETTERS)), (span,), tone=Tone.METADATA),
        )
        for name, value in shown
    )
    caption = "Facts stand in the index, so that documents can be listed and chosen without reading any."
    title = f"The metadata: {plural(span.size, 'byte')} of JSON"
    return Drawing("The metadata", (Table(title, ("name", "value"), rows),), (), caption, len(meta) - len(shown))


def sidecar_drawing(file: DesFile, row: int, place: Span) -> Drawing | None:
    """The stamp of the sidecar on an entry, which stands in some place; None where it has none."""
    mark = stamp(file, row, place)
    if mark is None:
        return None
    entry = file.entries.span(row)
    item = Item(f"entry {row}", (entry,), entry.start, entry.size, Tone.DEAD, "Unchanged by its deletion.", "entry")
    ruler = Ruler("The index", file.entries.data_stop, file.index_stop, (item,), "bytes")
    caption = "The shard is never changed: a reader that ignores the sidecar returns deleted objects."
    links = (Link("stamp", "entry", tone=Tone.DEAD),)
    return Drawing("Deleted", (ruler, mark), links, caption)


def payload_drawing(span: Span, codec: str, plain: int) -> Drawing:
    """The stored bytes, and what they become."""
    if codec == "none":
        item = Item("content", (span,), span.start, span.size, Tone.HIT, "Stored as it is.", here=True)
        ruler = Ruler(
            f"{plural(span.size, 'byte')}, as they were given",
            span.start,
            max(span.stop, span.start + 1),
            (item,),
            "bytes",
        )
        return Drawing("The content", (ruler,), (), "Nothing is compressed: these bytes are the content.")
    most = max(plain, span.size, 1)
    above = Ruler("Plain", 0, most, (Item(plural(plain, "byte"), (), 0, max(plain, 1), Tone.DATA),), "bytes")
    stored = Item(plural(span.size, "byte"), (span,), 0, span.size, Tone.HIT, here=True)
    band = Band(Item(codec, (span,), 0, max(plain, 1), Tone.DATA, f"One {codec} frame."), (0, span.size))
    ribbon = Ribbon(f"One {codec} frame", above, Ruler("Stored", 0, most, (stored,), "bytes"), (band,))
    caption = "Each content is compressed by itself, so that one can be had without the others."
    if span.size > plain:
        caption += " Very short ones become longer by it: writers do not mind."
    return Drawing("The content", (ribbon,), (), caption)
