"""Drawings of xorbs: the file, the steps of a lookup, and charts of its bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shardcore.codecs.xet.xorb_layout import CHUNK_HEADER, CHUNKS, GROUPS, HEADER_SIZE, Scheme
from shardcore.formats.xorb.file import Records, XorbFile, unpack
from shardcore.formats.xorb.lookup import CODECS, RecordLocated
from shardcore.model.drawing import Band, Cells, Control, Drawing, Item, Ribbon, Ruler, Table, Tone, chosen, window
from shardcore.model.span import Span, decoded_name
from shardcore.model.text import plural
from shardcore.model.usage import Load, LoadSource, Share, Use, budget, share_of
from shardcore.progress import Progress
from shardcore.teaching import slider
from shardcore.teaching.charts import stored_load

if TYPE_CHECKING:
    from shardcore.formats.xorb.shard import XorbShard
    from shardcore.model.drawing import Sketch
    from shardcore.shards.trace import Shown, Trace

SHOWN = 18
"""Number of chunks drawn."""

_SCHEMES: Mapping[int, Tone] = {Scheme.NONE: Tone.ONE, Scheme.LZ4: Tone.TWO, Scheme.BG4_LZ4: Tone.THREE}
_PLANE_TONES = (Tone.ONE, Tone.TWO, Tone.THREE, Tone.FOUR)
SUMS = 6
"""Number of records in the table of sums."""

_COLUMNS = 7
"""Number of four-byte numbers drawn."""


def sums_figure(records: Records, number: int) -> Table:
    """Return a table of the running sum of the record sizes, up to record `number`."""
    shown = range(max(number - SUMS + 1, 0), number + 1)
    sizes, sums = [Item("record size", doc="Header and stored bytes.")], [Item("ends at = sum", doc="Running sum.")]
    for stage, one in enumerate(shown, 1):
        span, here = records.span(one), one == number
        sizes.append(Item(f"+{span.size}", (span,), tone=Tone.SIZE, doc=f"Record {one}: {span}."))
        doc, tone = f"{span.start} + {span.size} = {span.stop}: record {one} ends.", Tone.HIT if here else Tone.PLAIN
        sums.append(Item(str(span.stop), tone=tone, doc=doc, here=here, stage=stage))
    return Table("Records follow each other: sizes summed up", ("chunk", *map(str, shown)), (tuple(sizes), tuple(sums)))


class _ChunkSketch:
    """Drawing of one chunk; `absent` is the first sentence of the caption if the key was not found, else empty."""

    more: tuple[Control, ...] = ()

    def __init__(self, file: XorbFile, number: int = 0, absent: str = "") -> None:
        self._file = file
        self._absent = absent
        last = max(file.records.count - 1, 0)
        self.controls = (slider("chunk", "Chunk", min(number, last), last, "Chunk to draw.", follows="row"), *self.more)


class RecordsSketch(_ChunkSketch):
    """Uncompressed chunks above their records, on two rulers of the same scale."""

    name = "records"
    title = "Records"

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        number = chosen(self.controls, values)["chunk"]
        file, records = self._file, self._file.records
        if not records.count:
            return Drawing(self.title, (), caption="This xorb has no chunks.")
        shown = window(records.count, number, SHOWN)
        schemes = file.load()["compression_type"][shown.start : shown.stop].tolist()
        plain = [0, *np.cumsum(file.chunk_sizes()).tolist()][shown.start : shown.stop + 1]
        upper, bands, lower = [], [], []
        for one, scheme, start, stop in zip(shown, schemes, plain, plain[1:], strict=False):
            tone, span, here = _SCHEMES.get(scheme, Tone.MISS), records.span(one), one == number and not self._absent
            codec = CODECS[scheme] if scheme < len(CODECS) else f"scheme {scheme}"
            stored = span.size - HEADER_SIZE
            doc = f"Chunk {one}: {plural(stop - start, 'uncompressed byte')} stored in {stored:,}, {codec}."
            upper.append(Item(str(one), (), start, stop - start, tone, doc, f"chunk {one}", here))
            bands.append(Band(Item("", (span,), start, stop - start, tone, doc), (span.start, span.stop)))
            lower.append(Item(codec, (span,), span.start, span.size, tone, doc, f"stored {one}", here))
        first = lower[0].at
        # The same scale, so that widths can be compared.
        wide = max(plain[-1] - plain[0], lower[-1].at + lower[-1].size - first, 1)
        figure = Ribbon(
            "Chunks and their records at the same scale",
            Ruler("Uncompressed bytes", plain[0], plain[0] + wide, tuple(upper), "bytes"),
            Ruler("Stored bytes", first, first + wide, tuple(lower), "bytes"),
            tuple(bands),
        )
        caption = (
            f"{self._absent}Each chunk is stored uncompressed (none), as LZ4, or as LZ4 of its four byte planes "
            "(bg4). Both rulers have the same scale: a record that is narrower than its chunk was compressed."
        )
        return Drawing(self.title, (figure,), (), caption, more=records.count - len(shown))


class BytePlanesSketch(_ChunkSketch):
    """Four-byte numbers of a chunk, in order and in byte planes (BG4, *Byte Grouping*)."""

    name = "lanes"
    title = "Byte planes"
    more = (slider("first", "First number", 0, 1000, "First number of four bytes drawn."),)

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        wanted = chosen(self.controls, values)
        number = wanted["chunk"]
        if not self._file.records.count:
            return Drawing(self.title, (), caption="This xorb has no chunks.")
        records, source = self._file.records, self._file.source
        whole, stored = records.span(number), records.stored_span(number)
        record = source.read(whole.start, whole.stop)
        data, scheme = unpack(record, records, number), CHUNK_HEADER.read_one(record, place=whole)["compression_type"]
        first = min(wanted["first"], max(len(data) // GROUPS - _COLUMNS, 0)) * GROUPS
        part = data[first : first + _COLUMNS * GROUPS]
        name, begin = (decoded_name(stored.start, stored.stop), first) if scheme else ("", stored.start + first)
        spans = [(Span(name, begin + at, begin + at + 1),) for at in range(len(part))]
        figures = (_in_order(part, spans), _in_planes(part, spans)) if part else ()
        used = "It is stored in this form." if scheme == Scheme.BG4_LZ4 else "It is stored in another form."
        caption = (
            f"{self._absent}Bytes at the same offset of neighbouring numbers are often equal (sign and exponent of "
            f"floats), so a byte plane has long runs, which LZ4 compresses well. {used}"
        )
        more = max(len(data) - len(part), 0)
        runs = {Tone.HIT: "equal neighbours"}
        return Drawing(f"Chunk {number} in four byte planes", figures, (), caption, more=more, legend=runs)


def _in_order(data: bytes, spans: Sequence[tuple[Span, ...]]) -> Cells:
    items = []
    for at, byte in enumerate(data):
        number, plane = divmod(at, GROUPS)
        doc = f"Byte {plane} of number {number}."
        items.append(Item(f"{byte:02x}", spans[at], at, 1, _PLANE_TONES[plane], doc, f"byte {at}"))
    title = "In file order: numbers of four bytes"
    return Cells(title, len(data), tuple(items), columns=4 * GROUPS, numbered=False)


def _in_planes(data: bytes, spans: Sequence[tuple[Span, ...]]) -> Cells:
    columns = -(-len(data) // GROUPS)
    items = []
    for plane in range(GROUPS):
        run = data[plane::GROUPS]
        for column, byte in enumerate(run):
            alike = byte in (*run[max(column - 1, 0) : column], *run[column + 1 : column + 2])
            doc = f"Byte {plane} of number {column}{': like its neighbour' if alike else ''}."
            at, tone = plane * columns + column, Tone.HIT if alike else _PLANE_TONES[plane]
            of = column * GROUPS + plane
            items.append(Item(f"{byte:02x}", spans[of], at, 1, tone, doc, f"plane byte {of}"))
    names = tuple(f"plane {plane}" for plane in range(GROUPS))
    title = "In byte planes: all first bytes, then all second bytes …"
    return Cells(title, GROUPS * columns, tuple(items), columns=columns, numbered=False, row_names=names)


def shares(file: XorbFile) -> tuple[Share, ...]:
    starts, stops = file.records.starts, file.records.ends
    inner = np.minimum(starts + HEADER_SIZE, stops)
    inside = [
        share_of(Use.DATA, "chunks", inner, stops, "The stored bytes of the chunks."),
        share_of(Use.INDEX, "headers of chunks", starts, inner, "8 bytes before each chunk: sizes and scheme."),
    ]
    return tuple(
        Share(Use.LOOKUP, share.name, share.size, share.span, 1, share.doc)
        if file.info is not None and share.span == file.info_span
        else share
        for share in budget(file.sections, {CHUNKS: inside})
    )


def loads(file: XorbFile) -> tuple[LoadSource, ...]:
    """Return the chart of chunk sizes; without an info block it reads every record header."""
    known = file.records.unpacked_ends is not None or file.headers is not None
    reads = 0 if known else file.records.count * HEADER_SIZE
    return (LoadSource("chunks", "Stored bytes of the chunks", reads, partial(_stored, file)),)


def _stored(file: XorbFile, progress: Progress) -> Load:
    if file.records.unpacked_ends is None:
        file.load(progress)
    starts, stops = file.records.starts, file.records.ends
    inner = np.minimum(starts + HEADER_SIZE, stops)
    doc = "Chunks are cut by content, at 8 KiB to 128 KiB. "
    return stored_load(doc, stops - inner, file.chunk_sizes(), starts, stops)


def sketches(shard: XorbShard, trace: Trace | None) -> tuple[Sketch, ...]:
    number = max(trace.ref.row, 0) if trace is not None and trace.ref is not None else 0
    absent = "Key not found. " if trace is not None and trace.ref is None else ""
    return RecordsSketch(shard.file, number, absent), BytePlanesSketch(shard.file, number, absent)


def step_figures(fact: Any, title: str) -> tuple[Shown, ...]:
    return (sums_figure(fact.file.records, fact.number),) if isinstance(fact, RecordLocated) else ()
