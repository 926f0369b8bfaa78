"""Looking up uids, with the steps of the trace (des-architecture, Read path)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.content_hash import sha256_of
from shardcore.errors import ExternalMissing, FormatError, KeyAbsent, UsageError
from shardcore.formats.des.content import open_bigfile, stream_bigfile, stream_inline
from shardcore.formats.des.layout import (
    BIGFILE_HEAD,
    BIGFILE_TAIL,
    CODECS,
    FOOTER,
    HEADER,
    INDEX_HEAD,
    INLINE,
    PLACE_V1,
    PLACE_V1_SHORT,
    UID_HEAD,
)
from shardcore.formats.des.routing import DEFAULT_BITS, Uid, shard_date
from shardcore.formats.des.tombstone_span import tombstone_span
from shardcore.formats.des.walk import ShapeV1Short, ShapeV2
from shardcore.formats.des.zones import MAX_TEXT, Zones
from shardcore.model.number_words import plural
from shardcore.model.objects import ObjectSlice
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span
from shardcore.model.text import sentence
from shardcore.shards.step_content import Fields
from shardcore.sources.local import read_side_file

if TYPE_CHECKING:
    from shardcore.formats.des.file import DesFile
    from shardcore.formats.des.objects import DesObjects
    from shardcore.model.drawing import Bits, Drawing
    from shardcore.model.objects import ObjectRef
    from shardcore.shards.trace import LookupRecorder

MAX_TRACED = 1 << 24
"""Largest content that a trace reads, 16 MiB."""


SIDECAR_WHY = "A shard is never changed after it is written: later deletions are recorded in a separate file."
PAYLOAD_WHY = "One read at the offset returns the content, and the codec gives its decompression."


class DesLookup:
    def __init__(self, file: DesFile, objects: DesObjects) -> None:
        self._file = file
        self._objects = objects

    def parse(self, text: str) -> Uid:
        return Uid.parse(text)

    def find(self, key: Uid, recorder: LookupRecorder) -> ObjectRef:
        """Find a uid by walking the index; if it has several entries, the last one counts, as in the reference."""
        file, entries = self._file, self._file.entries
        rows = self._rows(key)
        _report_ends(file, recorder)
        if not len(rows):
            index = Span("", entries.data_stop, file.index_stop)
            text = f"No entry has this uid; {plural(len(entries), 'entry was', 'entries were')} walked."
            recorder.step(
                "Walk",
                text,
                index,
                draw=lambda: _walk_drawing(file, None),
                why="Entries are unordered, so only a walk over all of them shows that a uid is missing.",
                entries=len(entries),
                uid_bytes=len(key.raw),
            )
            if entries.walk.error:
                message = f"not found in the readable entries; the index is damaged: {entries.walk.error}"
                raise FormatError(message, span=entries.lost_span)
            raise KeyAbsent(key.text, span=index)
        if recorder.recording:
            _report_entry(file, rows, recorder)
        # Reads the sidecar, which has the checksum and the tombstone.
        ref = self._objects.ref(int(rows[-1]))
        if recorder.recording:
            _report_sidecar(file, ref, recorder)
            _report_content(file, ref, recorder)
        return ref

    def find_all(self, key: Uid) -> ObjectSlice:
        return ObjectSlice(self._objects, self._rows(key))

    def find_many(self, keys: Sequence[Uid]) -> NDArray[np.int64]:
        found = self._file.entries.rows_of([key.raw for key in keys])
        return np.array([rows[-1] if len(rows) else -1 for rows in found], np.int64)

    def _rows(self, key: Uid) -> NDArray[np.int64]:
        return self._file.entries.rows_of([key.raw])[0]


def _report_ends(file: DesFile, recorder: LookupRecorder) -> None:
    size, start = file.source.size, file.entries.data_stop
    declared = file.footer["index_size"]
    recorder.step(
        "Footer",
        f"The last {FOOTER.size} bytes give the index size, {plural(declared, 'byte')}: it begins at {start:#x}.",
        Span("", size - FOOTER.size, size),
        shown=(Fields(FOOTER, size - FOOTER.size, file.footer),),
        why="The index is written last, so a reader finds it from the end of the file.",
        index_size=declared,
        index_start=start,
    )
    version = file.header["version"]
    recorder.step(
        "Header",
        f"The first {HEADER.size} bytes are DES2, version {version}.",
        Span("", 0, HEADER.size),
        shown=(Fields(HEADER, 0, file.header),),
        why="Magic and version identify the format and the layout of the entries.",
        version=version,
    )
    count = file.entries.declared
    recorder.step(
        "Count",
        f"The index has {plural(count, 'entry')}.",
        Span("", start, start + INDEX_HEAD.size),
        at={"entry_count": Span("", start, start + INDEX_HEAD.size)},
        why="The count shows when the walk ends, and whether entries are missing.",
        entry_count=count,
    )


def _walk_drawing(file: DesFile, row: int | None) -> Drawing:
    from shardcore.formats.des.entry_figures import walk_strip
    from shardcore.model.drawing import Drawing

    walked = walk_strip(file, row)
    caption = "Entries differ in length, so they are walked: the end of each is the start of the next."
    if row is None:
        caption = "Entries are unordered, so only a walk over all of them shows that a uid is missing."
    return Drawing("The walk", (walked.figure,), walked.links, caption, walked.more)


def _flags_figure(flags: int, at: int) -> Bits:
    from shardcore.model.drawing import Bits, Item, Tone

    spans = (Span("", at, at + 1),)
    low = Item("BigFile" if flags & 1 else "inline", spans, 0, 1, Tone.KEY, "Bit 0: BigFile or inline.", here=True)
    return Bits("One byte", 8, flags, (low, Item("not used", spans, 1, 7, Tone.FAINT, "Readers ignore these bits.")))


def _report_entry(file: DesFile, rows: NDArray[np.int64], recorder: LookupRecorder) -> None:
    row = int(rows[-1])
    c, entry = file.entries.columns, file.entries.span(row)
    text = f"Entries differ in length, so they are walked one by one up to entry {row}, which has this uid."
    if len(rows) > 1:
        text += f" {plural(len(rows), 'entry has', 'entries have')} it, and the last one counts."
    uid = Span("", entry.start + UID_HEAD.size, entry.start + UID_HEAD.size + int(c.uid_length[row]))
    recorder.step(
        "Walk",
        text,
        entry,
        uid,
        draw=lambda: _walk_drawing(file, row),
        why="Entries differ in length, so they are walked: the end of each is the start of the next.",
        entry=row,
        start=entry.start,
        stop=entry.stop,
    )
    at = uid.stop
    big = bool(c.big[row])
    if isinstance(file.entries.shape, ShapeV2):
        kind = "bit 0 is set: the content is a BigFile" if big else "bit 0 is not set: the content is in this file"
        recorder.step(
            "Flags",
            f"The flags are {int(c.flags[row])}: {kind}.",
            Span("", at, at + 1),
            shown=(_flags_figure(int(c.flags[row]), at),),
            why="Bit 0 gives the layout of the rest of the entry: offset and sizes, or the hash of an external file.",
            flags=int(c.flags[row]),
        )
    meta = Span("", file.entries.data_stop + int(c.meta_start[row]), entry.stop)
    if big:
        raw, head = file.entries.hash(row), at + BIGFILE_HEAD.size
        digest, tail = raw.decode("ascii", "backslashreplace"), head + len(raw)
        text = f"The content is the external file {digest}, {plural(c.size[row], 'byte')}."
        recorder.step(
            "Place",
            text,
            Span("", at + 1, meta.start),
            at={"hash": Span("", head, tail), "size": Span("", tail, tail + BIGFILE_TAIL.sizes["size"])},
            why="Very large contents are separate files, named by their hash, so that shards stay small.",
            hash=digest,
            size=int(c.size[row]),
        )
    else:
        _report_place(file, row, recorder, at)
    if meta.size:
        facts: dict[str, Any] = {}
        with suppress(FormatError):
            facts = file.entries.meta(row)
        recorder.step(
            "Metadata",
            "The entry ends with metadata, a JSON object.",
            meta,
            at={"meta": meta},
            why="The metadata of an object is in the index, so it can be read without the content.",
            meta=facts,
        )


def _report_place(file: DesFile, row: int, recorder: LookupRecorder, at: int) -> None:
    c = file.entries.columns
    skip, record = (1, INLINE) if isinstance(file.entries.shape, ShapeV2) else (0, PLACE_V1)
    stop = min(at + record.offsets["uncompressed_size"] + 8, file.entries.span(row).stop)
    offset, length, size = int(c.offset[row]), int(c.length[row]), int(c.size[row])
    code = int(c.codec[row])
    codec = CODECS[code] if code < len(CODECS) else f"number {code}"
    text = f"{plural(size, 'uncompressed byte')} stored in {length:,} from byte {offset:#x} on, codec {codec}."
    values: dict[str, Any] = {
        "offset": offset,
        "length": length,
        "codec": codec,
        "compressed_size": int(c.compressed[row]),
    }
    shown = PLACE_V1_SHORT if isinstance(file.entries.shape, ShapeV1Short) else record
    recorder.step(
        "Place",
        text,
        Span("", at + skip, stop),
        shown=(Fields(shown, at, values | {"uncompressed_size": size}),),
        why="With offset and length, one range request returns the content, however large the shard is.",
        **values,
        uncompressed_size=size,
    )


def _report_sidecar(file: DesFile, ref: ObjectRef, recorder: LookupRecorder) -> None:
    if file.sidecar_error is not None:
        place = Span(str(SourceName(file.sidecar_name)), 0, 0)
        recorder.step(
            "Sidecar",
            f"The sidecar cannot be read, so deletions are unknown: {file.sidecar_error.message}.",
            place,
            why=SIDECAR_WHY,
        )
    elif file.sidecar is None:
        recorder.step(
            "Sidecar",
            "The shard has no sidecar, so no object is deleted.",
            why=SIDECAR_WHY,
            inputs=(file.entries.span(ref.row),),
            sidecar=False,
        )
    else:
        tombstone = file.tombstone(ref.row)
        checksum = ref.extras.get("checksum", "")
        status = (
            f"A tombstone marks the object as deleted: {tombstone}."
            if tombstone
            else "The sidecar has no tombstone for the object."
        )
        place = tombstone_span(file, file.sidecar, tombstone) if tombstone else file.sidecar.span
        recorder.step(
            "Sidecar",
            status,
            place,
            at={"tombstone": place} if tombstone else {},
            why=SIDECAR_WHY,
            tombstone=tombstone is not None,
            checksum=checksum,
        )


def _report_content(file: DesFile, ref: ObjectRef, recorder: LookupRecorder) -> None:
    if file.sidecar_error is not None or (not file.deleted and ref.row in file.tombstoned):
        recorder.step(
            "Payload",
            "The content is not read, because the object is or may be deleted.",
            *ref.spans[:1],
            why="A deleted object must not be returned, although its bytes are still stored.",
        )
        return
    if max(ref.size, ref.stored_size) > MAX_TRACED:
        text = f"{plural(ref.size, 'byte')}: too large to be read for a trace."
        recorder.step("Payload", text, *ref.spans[:1], why=PAYLOAD_WHY)
        return
    entries, row, why = file.entries, ref.row, PAYLOAD_WHY
    if entries.columns.big[row]:
        try:
            open_bigfile(file.source.folder, entries, row).close()
        except ExternalMissing as error:
            recorder.step(
                "Payload",
                sentence(error.message),
                *ref.spans[:1],
                why="The entry has only the hash; without the external file the content is not available.",
            )
            recorder.elsewhere("entry")
            return
        pieces = stream_bigfile(file.source.folder, entries, row)
        text = "The external file has the size and the sha256 of the entry."
        why = "The content is a separate file, and the sha256 in its name proves that it is intact."
    else:
        pieces = stream_inline(recorder.meter(file.source), entries, row)
        text = "It is stored uncompressed." if ref.codec == "none" else f"The {ref.codec} frame is decompressed."
    digest, size = sha256_of(pieces)
    recorder.step(
        "Payload",
        text,
        *ref.spans[:1],
        why=why,
        size=size,
        sha256=digest,
    )


def locate(key: str, *, date: str = "", n_bits: int | None = None, zones: Any = None) -> dict[str, Any]:
    """Compute the shard of a uid by the routing rule; no shard is opened.

    Args:
        key: The uid.
        date: `created_at` in ISO 8601; required. Only the date is used, in its own time zone.
        n_bits: Bits of the shard number; default: those of the zones file, else 8.
        zones: A zones file: its text, or its path.

    Returns:
        `uid`, `date`, `n_bits`, `rule`, `number`, `hex` and `names` (a pattern with `*` for the part); with zones also
        `zone` and `uri` (None if no zone has the number).

    Raises:
        UsageError: The date is invalid, or `n_bits` is not 4 to 16, or differs from the zones file.
        FormatError: The zones file is invalid.
        SourceError: The zones file cannot be read.
    """
    if not date:
        raise UsageError("no date: a uid is also routed by its date; pass -O date=CREATED_AT")
    day = shard_date(str(date))
    found = read_zones(zones) if zones is not None else None
    if found is not None and n_bits not in (None, found.n_bits):
        raise UsageError(f"n_bits is {n_bits}, but the zones file declares {found.n_bits}")
    route = Uid.parse(key).route(found.n_bits if found else DEFAULT_BITS if n_bits is None else n_bits)
    place: dict[str, Any] = {
        "uid": key,
        "date": day,
        "n_bits": route.n_bits,
        "rule": route.rule,
        "number": route.number,
        "hex": route.hex,
        "names": f"{day}_{route.hex}_*.des",
    }
    if found is not None:
        zone = found.zone_of(route.number)
        place |= {"zone": zone.name if zone else None, "uri": zone.uri if zone else None}
    return place


def read_zones(zones: Any) -> Zones:
    text = str(zones)
    if isinstance(zones, str) and ("{" in text or "\n" in text):
        return Zones.parse(text)
    return Zones.parse(read_side_file(text, MAX_TEXT + 1, named=True))
