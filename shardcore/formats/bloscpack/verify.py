"""Verification of a Bloscpack file: structure, offsets and headers, content."""

from __future__ import annotations

import numpy as np

from shardcore.errors import BadChecksum, FormatError, LimitExceeded, ShardError, Unsupported
from shardcore.formats.bloscpack.arrays import array_info
from shardcore.formats.bloscpack.blosc1 import check_chunk
from shardcore.formats.bloscpack.content import TRIED_WHOLE
from shardcore.formats.bloscpack.decode import decompress
from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.header import read_header
from shardcore.formats.bloscpack.layout import OFFSET, UNKNOWN, blosc_header_span
from shardcore.formats.bloscpack.metadata import MetadataSection
from shardcore.formats.bloscpack.objects import BloscpackObjects
from shardcore.model.finding import MAX_PER_CODE, ContentBudget, Depth, Findings, Report, Severity
from shardcore.model.number_text import grouped_digits, plural
from shardcore.model.span import Span
from shardcore.progress import Progress
from shardcore.writing.undo import note_interrupted

SLOTS_AT_ONCE = 2**16


def verify(file: BloscpackFile, objects: BloscpackObjects, depth: Depth, progress: Progress) -> Report:
    return Verification(file, objects).run(depth, progress)


def intact_report(data: bytes, depth: Depth) -> Report | None:
    """Return the report of an intact file with one chunk and no metadata; None for any other file."""
    try:
        header = read_header(data)
        table, first = header.size, header.size + header.slots * OFFSET.size
        stop = len(data) - header.checksum.size
        unused = any(map(any, (header.values.get("unused", b""), header.values.get("reserved", b""))))
        if header.nchunks != 1 or header.has_metadata or unused or header.max_app_chunks > header.slots or first > stop:
            return None
        slots = first.to_bytes(OFFSET.size, "little").ljust(first - table, b"\xff") if header.has_offsets else b""
        chunk = memoryview(data)[first:stop]
        if data[table:first] != slots or check_chunk(chunk, limit=TRIED_WHOLE).nbytes != header.last_chunk:
            return None
        if depth.reaches(Depth.CONTENT):
            header.checksum.check(chunk, data[stop:], Span("", stop, len(data)), "chunk 0")
            decompress(chunk, limit=TRIED_WHOLE)
    except ShardError:
        return None
    hashed = bool(header.checksum.size)
    return Report(depth, 1, (), hashed, not hashed) if depth.reaches(Depth.CONTENT) else Report(depth, 1, ())


class Verification:
    def __init__(self, file: BloscpackFile, objects: BloscpackObjects) -> None:
        self._file = file
        self._header = file.header
        self._table = file.table
        self._objects = objects
        self._findings = Findings()

    def run(self, depth: Depth, progress: Progress) -> Report:
        progress(0, 1)
        note_interrupted(self._findings, self._file.source, "bloscpack")
        self._structure()
        if depth.reaches(Depth.INDEX):
            self._table.load(progress)
            self._offsets()
            self._spare_slots()
            self._gaps()
            self._headers()
            self._end()
        checked = without = 0
        if depth.reaches(Depth.CONTENT):
            done = self._chunks(progress)
            checked, without = (done, 0) if self._header.checksum.size else (0, done)
        return Report(depth, len(self._objects), self._findings.all(), checked, without)

    def _structure(self) -> None:
        header = self._header
        if self._file.offsets.problem:
            self._findings.error("bloscpack.slots", self._file.offsets.span, self._file.offsets.problem)
        for name in ("unused", "reserved"):
            if any(header.values.get(name, b"")):
                span = header.field_span(name)
                self._findings.warning("bloscpack.reserved", span, f"the bytes `{name}` of the header are not all zero")
        if header.nchunks == UNKNOWN:
            span = header.field_span("nchunks")
            message = "nchunks is -1 (unknown): for such a file the reference returns no content and no error"
            self._findings.warning("bloscpack.nchunks", span, message)
        if header.max_app_chunks and not header.has_offsets:
            span = header.field_span("max_app_chunks")
            self._findings.warning(
                "bloscpack.spare-slots", span, "max_app_chunks declares spare slots, but the file has no offsets"
            )
        if self._file.metadata is not None:
            self._metadata_section(self._file.metadata)

    def _metadata_section(self, metadata: MetadataSection) -> None:
        for name, message in metadata.problems():
            self._findings.error(f"bloscpack.{name.replace('_', '-')}", metadata.header, message)
        digest = self._file.metadata_problem()
        if digest:
            self._findings.error("bloscpack.metadata-digest", metadata.digest, digest)
        padding = metadata.padding
        if any(self._file.source.read(padding.start, padding.stop)):
            self._findings.warning(
                "bloscpack.metadata-room", padding, "the bytes reserved after the metadata are not all zero"
            )
        try:
            value = self._file.metadata_value()
        except (FormatError, LimitExceeded) as error:
            self._findings.error("bloscpack.metadata", error.span or metadata.stored, error.message)
            return
        try:
            info = array_info(value)
        except FormatError as error:
            self._findings.warning("bloscpack.array", metadata.stored, error.message)
            return
        size = self._header.plain_size
        if info is not None and size not in (UNKNOWN, info.nbytes):
            described = plural(info.nbytes, "byte")
            message = f"the metadata describes an array of {described}, but the content has {grouped_digits(size)}"
            self._findings.error("bloscpack.array", metadata.stored, message)

    def _offsets(self) -> None:
        slots = self._table.slots
        if slots is None:
            return
        if not slots.used:
            span = Span("", slots.span(0).start, slots.span(slots.count).start)
            self._findings.note(
                "bloscpack.offsets-unused",
                span,
                "the offsets were not filled in; readers walk from chunk to chunk",
            )
            return
        for first in range(0, min(slots.count, len(self._table)), SLOTS_AT_ONCE):
            last = min(first + SLOTS_AT_ONCE, slots.count, len(self._table))
            got = slots.read(self._file.source, first, last)
            places = self._table.places[first:last]
            for row in np.flatnonzero(got != places).tolist():
                number, slot, place = first + row, int(got[row]), int(places[row])
                where = f"the chunk begins at byte {place:#x}" if place != UNKNOWN else "the chunk cannot be found"
                message = f"the offset of chunk {number} is {slot}, but {where}"
                add = self._findings.warning if slot == UNKNOWN else self._findings.error
                add("bloscpack.offset", slots.span(number), message, key=str(number))

    def _spare_slots(self) -> None:
        slots, source = self._table.slots, self._file.source
        if slots is None:
            return
        start, stop = slots.span(slots.count).start, self._table.area.first
        step = SLOTS_AT_ONCE * OFFSET.size
        for at in range(start, stop - stop % OFFSET.size, step):
            data = source.read(at, min(at + step, stop, source.size))
            rows = OFFSET.read(data, count=len(data) // OFFSET.size)["offset"]
            if (rows != UNKNOWN).any():
                place = at + int((rows != UNKNOWN).argmax()) * OFFSET.size
                span = Span("", place, place + OFFSET.size)
                self._findings.warning("bloscpack.spare-slots", span, "a spare offset slot is not -1")
                return

    def _gaps(self) -> None:
        """Report bytes between chunks, at which readers that walk from chunk to chunk fail."""
        area, table = self._table.area, self._table
        damaged = self._objects.damaged(np.arange(len(table), dtype=np.int64))
        ends = area.stops(table.places, table.headers) + area.digest
        before = np.concatenate([[area.first], ends[:-1]])[: len(ends)]
        sound = ~damaged & ~np.concatenate([[False], damaged[:-1]])[: len(ends)]
        wrong = np.flatnonzero(sound & (table.places > before))
        self._findings.more(Severity.ERROR, "bloscpack.gap", len(wrong) - MAX_PER_CODE)
        for row in wrong[:MAX_PER_CODE].tolist():
            place, end = int(table.places[row]), int(before[row])
            after = f"chunk {row - 1} ends" if row else "the offsets end"
            message = f"chunk {row} begins at {place:#x}; {after} at {end:#x}: readers that walk the chunks fail"
            self._findings.error("bloscpack.gap", Span("", end, place), message, key=str(row))

    def _headers(self) -> None:
        table, rows = self._table, np.arange(len(self._table), dtype=np.int64)
        damaged = self._objects.damaged(rows)
        wrong = np.flatnonzero(damaged)
        self._findings.more(Severity.ERROR, "bloscpack.chunk", len(wrong) - MAX_PER_CODE)
        for row in wrong[:MAX_PER_CODE].tolist():
            ref = self._objects.ref(row)
            span = ref.spans[0] if ref.spans else None
            self._findings.error("bloscpack.chunk", span, _of_chunk(row, ref.error), key=str(row))
        sizes = table.headers["nbytes"].astype(np.int64)
        wished = np.full(len(rows), self._header.chunk_size, np.int64)
        if self._header.nchunks == len(rows) > 0:
            wished[-1] = self._header.last_chunk
        if self._header.nchunks == UNKNOWN and len(rows):
            wished[-1] = UNKNOWN
        wrong = np.flatnonzero(~damaged & (wished != UNKNOWN) & (sizes != wished))
        self._findings.more(Severity.ERROR, "bloscpack.chunk-size", len(wrong) - MAX_PER_CODE)
        for row in wrong[:MAX_PER_CODE].tolist():
            span = blosc_header_span(int(table.places[row]))
            found = plural(sizes[row], "uncompressed byte")
            message = f"chunk {row} has {found}, but the file's header declares {grouped_digits(wished[row])}"
            self._findings.error("bloscpack.chunk-size", span, message, key=str(row))

    def _end(self) -> None:
        if self._header.nchunks != UNKNOWN and len(self._table) < self._header.nchunks:
            fit = plural(len(self._table), "chunk")
            message = f"nchunks is {grouped_digits(self._header.nchunks)}, but at most {fit} fit in the file"
            self._findings.error("bloscpack.chunk-count", Span("", 0, self._header.size), message)
        places, end = self._table.places, self._file.chunks_end
        if len(places) and (places != UNKNOWN).all() and end < self._file.source.size:
            span = Span("", end, self._file.source.size)
            what = plural(span.size, "byte follows", "bytes follow")
            message = f"{what} the last chunk: appending can leave some, and readers ignore them"
            self._findings.note("bloscpack.trailing", span, message)

    def _chunks(self, progress: Progress) -> int:
        count = len(self._table)
        work = ContentBudget(self._file.source.size)
        tried = self._tried(work.left)
        done = len(tried)
        work.unchecked = count - done
        work.report(self._findings, "bloscpack.unchecked")
        for number, error in enumerate(self._file.content.problems(tried)):
            progress(number + 1, count)
            self._findings.verified = number + 1
            self._findings.left_out += not tried[number]
            if error is None:
                continue
            code = "bloscpack.digest" if isinstance(error, BadChecksum) else "bloscpack.content"
            message = _of_chunk(number, error.message)
            if isinstance(error, Unsupported) or not isinstance(error, FormatError):
                self._findings.warning("bloscpack.unchecked", error.span, message, key=str(number))
                done -= 1
            else:
                self._findings.error(code, error.span, message, key=str(number))
        return done

    def _tried(self, left: int) -> list[bool]:
        """Return a flag per chunk, True if it is decompressed; ends at the first chunk for which `left` is too small.

        A chunk costs its stored size and, if decompressed, its uncompressed size; a damaged chunk costs nothing.
        """
        headers, tried = self._table.headers, list[bool]()
        damaged = self._objects.damaged(np.arange(len(headers)))
        sizes, stored = (np.where(damaged, 0, headers[name]).astype(np.int64) for name in ("nbytes", "ctbytes"))
        for size, fixed in zip(sizes.tolist(), stored.tolist(), strict=True):
            if fixed > left:
                break
            tried.append(size + fixed <= left)
            left -= fixed + size * tried[-1]
        return tried


def _of_chunk(number: int, message: str) -> str:
    return f"chunk {number}: " + message.removeprefix(f"chunk {number}: ").removeprefix(f"chunk {number} ")
