"""Looking up a chunk by number, uncompressed byte or element, with the steps of the trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import KeyAbsent
from shardcore.formats.bloscpack.arrays import array_info
from shardcore.formats.bloscpack.blosc1 import ChunkMap, map_chunk
from shardcore.formats.bloscpack.elements import Element, element_at, element_of, report_none
from shardcore.formats.bloscpack.keys import ALL, BloscpackKey, KeyKind, parse_key
from shardcore.formats.bloscpack.layout import (
    BLOCK_START,
    CHUNK_HEADER,
    METADATA_HEADER,
    UNKNOWN,
    blosc_header_span,
)
from shardcore.model.number_text import grouped_digits, plural
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.shards.step_content import Compared, Fields

if TYPE_CHECKING:
    from shardcore.formats.bloscpack.content import Stored
    from shardcore.formats.bloscpack.file import BloscpackFile
    from shardcore.formats.bloscpack.header import Header
    from shardcore.formats.bloscpack.objects import BloscpackObjects
    from shardcore.model.drawing import Drawing
    from shardcore.shards.trace import LookupRecorder
    from shardcore.sources.base import Source

WALK_STEPS = 20
"""Maximum number of chunks of a walk that a trace shows as steps."""


ALL_WHY = "The whole content needs no search: its chunks are read one after the other."
WHICH_WHY = "All chunks but the last have the same uncompressed size, so a division gives the chunk."
PAST_WHY = "The header gives the uncompressed size, so a byte after it is in no chunk."
COUNT_WHY = "Chunks are numbered without gaps, so the count shows that this one does not exist."


def _header_values(header: Header) -> dict[str, Any]:
    if header.version == 1:
        return {"nchunks": header.nchunks}
    return {
        "options": header.options,
        "checksum": header.checksum.name,
        "chunk_size": header.chunk_size,
        "last_chunk": header.last_chunk,
        "nchunks": header.nchunks,
        "max_app_chunks": header.max_app_chunks,
    }


class BloscpackLookup:
    def __init__(self, file: BloscpackFile, objects: BloscpackObjects) -> None:
        self._file = file
        self._header = file.header
        self._content = file.content
        self._objects = objects

    def parse(self, text: str) -> BloscpackKey:
        return parse_key(text)

    def find(self, key: BloscpackKey, recorder: LookupRecorder) -> ObjectRef:
        through = recorder.meter(self._file.source)
        self._report_headers(recorder)
        if key.kind is KeyKind.ALL:
            return self._whole(recorder)
        number, within = key.number, None
        if key.kind is KeyKind.ELEMENT:
            number = self._which_byte(key, recorder)
        if key.kind is not KeyKind.CHUNK:
            number, within = self._which_chunk(number, recorder)
        place = self._place(number, recorder, through)
        if recorder.recording:
            self._report_chunk(self._content.stored(number, through), within, recorder)
        elif within is None and number >= 2**63:
            raise KeyAbsent(str(key))
        ref = self._objects.chunk(number)
        recorder.step(
            "Found",
            f"Chunk {number} begins at byte {place:#x}.",
            *ref.spans,
            why="A chunk can be decompressed alone, so only these bytes must be read.",
            chunk=number,
            offset=place,
        )
        return ref

    def find_many(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the rows of many keys; -1 for a key that is not found, and for `all`, which is not a row."""
        rows = np.full(len(texts), -1, np.int64)
        if self._header.nchunks == UNKNOWN:
            self._file.load()
        count = len(self._file.table)
        for number, key in enumerate(map(self.parse, texts)):
            if key.kind is KeyKind.CHUNK:
                rows[number] = key.number if key.number < count else -1
            elif key.kind is not KeyKind.ALL:
                try:
                    byte = self._element(key).byte if key.kind is KeyKind.ELEMENT else key.number
                    rows[number] = self._content.locate(byte)[0]
                except KeyAbsent:
                    continue
        return rows

    def _report_headers(self, recorder: LookupRecorder) -> None:
        header = self._header
        recorder.step(
            "Magic and version",
            f"The file begins with `blpk` and has version {header.version}.",
            Span("", 0, 5),
            at={"version": Span("", 4, 5)},
            why="The magic identifies the format, and the version gives the layout of the header.",
            version=header.version,
        )
        recorder.step(
            "Header fields",
            f"{self._chunk_sizes()} {self._digests()}",
            Span("", 5, header.size),
            why="All chunks but the last have the same uncompressed size, so these numbers give the chunk of any byte."
            if header.version > 1
            else "Version 1 stores only the number of chunks; each chunk's length is in its own header.",
            **_header_values(header),
            shown=(Fields(header.record, 0, header.values),),
        )
        if (metadata := self._file.metadata) is not None:
            room, digest = metadata.values["max_meta_size"], metadata.checksum.size
            recorder.step(
                "Skip the metadata",
                f"Its section has {METADATA_HEADER.size} bytes of header, {grouped_digits(room)} for the text and "
                f"{digest} of checksum: it ends at byte {metadata.stop:#x}.",
                metadata.header,
                shown=(Fields(METADATA_HEADER, metadata.start, metadata.values),),
                why="Space is reserved for the metadata to grow in place, so the next section begins after that space.",
                next=metadata.stop,
            )

    def _chunk_sizes(self) -> str:
        header = self._header
        if header.nchunks == UNKNOWN:
            return "The header does not have the number of chunks: they continue to the end of the file."
        count = plural(header.nchunks, "chunk")
        if header.plain_size == UNKNOWN:
            return f"{count}; their sizes are only in the chunks."
        if header.nchunks < 2:
            return f"{count} of {plural(header.plain_size, 'uncompressed byte')}."
        return f"{count} of {plural(header.chunk_size, 'uncompressed byte')} each, the last of {header.last_chunk:,}."

    def _digests(self) -> str:
        checksum = self._header.checksum
        if not checksum.size:
            return "Chunks have no checksum."
        return f"Each chunk is followed by its checksum ({checksum.name}, {plural(checksum.size, 'byte')})."

    def _whole(self, recorder: LookupRecorder) -> ObjectRef:
        area = self._file.table.area
        size = int(self._content.starts()[-1]) if self._file.table.loaded else self._header.plain_size
        span = Span("", min(area.first, area.size), area.size)
        recorder.step("All chunks", "The uncompressed bytes of all chunks, in order.", span, why=ALL_WHY, size=size)
        return ObjectRef(ALL, -1, (span,), size, span.size, codec="blosc", kind="content")

    def _element(self, key: BloscpackKey) -> Element:
        array = array_info(self._file.metadata_value())
        if array is not None:
            return element_at(key.index, array)
        return element_of(key.index, self._header.typesize, self._header.plain_size)

    def _which_byte(self, key: BloscpackKey, recorder: LookupRecorder) -> int:
        metadata = self._file.metadata
        places = [metadata.stored] if metadata is not None else []
        if metadata is None and self._header.typesize:
            places = [self._header.field_span("typesize")]
        try:
            element = self._element(key)
        except KeyAbsent as error:
            report_none(error, recorder, *places)
            raise
        element.report(recorder, *places)
        return element.byte

    def _which_chunk(self, offset: int, recorder: LookupRecorder) -> tuple[int, int]:
        size = self._header.chunk_size
        try:
            number, within = self._content.locate(offset)
        except KeyAbsent as error:
            recorder.step(
                "Which chunk",
                f"Not found: {error.message}.",
                *self._sizes_read,
                why=PAST_WHY,
                inputs=self._sizes_at(),
                size=self._header.plain_size,
            )
            raise
        how = f"{offset} // {size} = {number}, {offset} mod {size} = {within}"
        why = WHICH_WHY
        if size <= 0:
            how = "found by adding up the uncompressed sizes in the Blosc headers"
            why = "The file's header does not have the chunk size, so the sizes in the chunk headers are added up."
        text = f"Uncompressed byte {offset} is byte {within} of chunk {number}: {how}."
        spans = self._sizes_read if size <= 0 else ()
        recorder.step(
            "Which chunk",
            text,
            *spans,
            why=why,
            inputs=self._sizes_at(),
            chunk=number,
            within=within,
        )
        return number, within

    def _sizes_at(self, *names: str) -> tuple[Span, ...]:
        """Return the spans of the header fields `names`; by default those with the sizes and number of chunks."""
        record = self._header.record
        wanted = [name for name in names or ("chunk_size", "last_chunk", "nchunks") if name in record.offsets]
        return tuple(self._header.field_span(name) for name in wanted)

    @property
    def _sizes_read(self) -> tuple[Span, ...]:
        places = self._file.table.places[:WALK_STEPS].tolist() if self._header.plain_size == UNKNOWN else ()
        return tuple(blosc_header_span(place) for place in places if place != UNKNOWN)

    def _place(self, number: int, recorder: LookupRecorder, through: Source) -> int:
        table, slots = self._file.table, self._file.table.slots
        if number >= max(len(table), self._header.nchunks) and (table.loaded or self._header.nchunks != UNKNOWN):
            count = plural(len(table), "chunk")
            recorder.step(
                "No such chunk",
                f"The file has {count}, numbered from 0.",
                why=COUNT_WHY,
                inputs=self._sizes_at("nchunks"),
                chunks=len(table),
            )
            raise KeyAbsent(str(number), f"there is no chunk {number}; the file has {count}")
        if slots is not None and number < slots.count:
            slot = int(slots.read(through, number, number + 1)[0])
            good = slots.is_valid(slot) and table.known_at(number) in (slot, UNKNOWN)
            why = "the first byte of the chunk"
            if not good:
                reason = "not filled in" if slot == UNKNOWN else "which is not the offset of the chunk"
                why = f"{reason}, so a reader walks from the first chunk"
            text = f"Slot {number} of the offsets is {slot}, {why}."
            recorder.step(
                "Offset slot",
                text,
                slots.span(number),
                at={"offset": slots.span(number)},
                why="Stored chunks differ in length; with offsets a reader finds one without reading those before it.",
                offset=slot,
            )
            if good and table.place(number, through) == slot:
                return slot
        place = table.place(number, through)
        self._report_walk(number, recorder)
        return place

    def _report_walk(self, number: int, recorder: LookupRecorder) -> None:
        walk = self._file.table.walk
        steps = list(range(min(number, len(walk.places) - 1)))
        if not recorder.recording or not steps:
            return
        if len(steps) > WALK_STEPS:
            steps = [*steps[: WALK_STEPS // 2], *steps[-(WALK_STEPS // 2) :]]
        digest = self._header.checksum.size
        for chunk in steps:
            place, after = walk.places[chunk], walk.places[chunk + 1]
            recorder.step(
                f"Walk past chunk {chunk}",
                f"It begins at {place:#x}: {place:#x} + {after - place - digest} stored bytes + {digest} of checksum = "
                f"{after:#x}, where chunk {chunk + 1} begins.",
                blosc_header_span(place),
                shown=(Fields(CHUNK_HEADER, place, {"ctbytes": after - place - digest}),),
                why="Each chunk stores its length, so without offsets a reader can go from one to the next.",
                next=after,
            )

    def _report_chunk(self, stored: Stored, within: int | None, recorder: LookupRecorder) -> None:
        from shardcore.formats.bloscpack.ruler_figures import flags_figure

        header, start = stored.header, stored.span.start
        recorder.step(
            "Blosc header",
            f"{plural(header.nbytes, 'uncompressed byte')} stored in {grouped_digits(header.ctbytes)}, this header "
            "included; "
            f"flags: {', '.join(header.flag_names())}.",
            blosc_header_span(start),
            shown=(
                Fields(
                    CHUNK_HEADER, start, {name: getattr(header, name) for name in CHUNK_HEADER.sizes}, relative=True
                ),
                flags_figure(header, start),
            ),
            why="The header has codec, filter and sizes, so the chunk can be decompressed without the others.",
            flags=f"{header.flags:#010b}",
            nbytes=header.nbytes,
            blocksize=header.blocksize,
            ctbytes=header.ctbytes,
            typesize=header.typesize,
        )
        if stored.digest:
            digest = self._header.checksum.compute(stored.chunk)
            computed = digest.hex()
            verdict = "they are equal" if computed == stored.digest.hex() else "they differ, so the chunk is damaged"
            recorder.step(
                "Checksum",
                f"The checksum ({self._header.checksum.name}) covers the stored bytes: computed {computed}, stored "
                f"{stored.digest.hex()}: {verdict}.",
                stored.digest_span,
                shown=(Compared("Stored", digest, stored.digest, stored.digest_span, "Computed"),),
                why="Damage is detected before decompression, so wrong content is never returned.",
                stored=stored.digest.hex(),
                computed=computed,
            )
            self._content.check(stored)
        if within is not None:
            self._report_byte(stored, within, recorder)

    def _report_byte(self, stored: Stored, within: int, recorder: LookupRecorder) -> None:
        header, start = stored.header, stored.span.start
        found = map_chunk(stored.chunk, place=stored.span)
        spans = [stored.span]
        if len(found.starts) and within < header.nbytes:
            block = within // header.blocksize
            slot = start + CHUNK_HEADER.size + block * BLOCK_START.size
            spans = [Span("", start + int(found.starts[block]), start + found.block_stop(block))]
            streams = int((found.stream_at[block] >= 0).sum())
            recorder.step(
                "Block",
                f"{within} // {header.blocksize} (blocksize) = {block}: block {block} begins at byte "
                f"{int(found.starts[block]):#x} of the chunk and has {plural(streams, 'stream')}.",
                Span("", slot, slot + BLOCK_START.size),
                *spans,
                draw=lambda: _block_drawing(stored, found, block, within),
                why="Blocks are small enough for a processor's cache; to read one byte, one block is decompressed.",
                block=block,
                start=int(found.starts[block]),
            )
        plain, first = self._content.around(stored, within)
        if within - first >= len(plain):
            return
        value = plain[within - first]
        element, part = divmod(within, header.typesize)
        how = "The chunk is stored uncompressed (memcpy)"
        if not header.memcpyed:
            undo = "" if header.filter_name == "none" else f", then undo the filter ({header.filter_name})"
            how = f"Decompress with {header.codec_name}{undo}"
        recorder.step(
            "Decode",
            f"{how}: byte {within} of the chunk is {value:#04x}, byte {part} of element {element} "
            f"({plural(header.typesize, 'byte')} each).",
            *spans,
            why="The Blosc header names the codec and the filter that must be undone.",
            byte=value,
            element=element,
        )


def _block_drawing(stored: Stored, found: ChunkMap, block: int, within: int) -> Drawing:
    from shardcore.formats.bloscpack.ruler_figures import blocks_figure
    from shardcore.model.drawing import Drawing

    ribbon, left = blocks_figure(stored, found, block, within)
    caption = "The block starts give the location of each block; to read one byte, one block is decompressed."
    return Drawing(f"Block {block}", (ribbon,), (), caption, left)
