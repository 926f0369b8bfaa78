"""Verification of a Bloscpack file to three depths: its structure, its offsets and chunk headers, its content."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import BadChecksum, FormatError, LimitExceeded, ShardError, Unsupported
from shardcore.formats.bloscpack.blosc1 import check_chunk, decompress
from shardcore.formats.bloscpack.content import TRIED_WHOLE
from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.layout import OFFSET, UNKNOWN, blosc_header_span, read_header
from shardcore.formats.bloscpack.metadata import MetadataSection, array_info
from shardcore.formats.bloscpack.objects import BloscpackObjects
from shardcore.model.finding import MAX_PER_CODE, ContentBudget, Depth, Findings, Report, Severity
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural
from shardcore.progress import Progress
from shardcore.writing.temporary_names import has_journal

SLOTS_AT_ONCE = 2**16


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
        if has_journal(self._file.source):
            from shardcore.writing.undo import note_interrupted

            note_interrupted(self._findings, self._file.source, "bloscpack")
        self._structure()
        if self._file.metadata is not None:
            self._metadata(self._file.metadata)
        if depth.reaches(Depth.INDEX):
            self._table.load(progress)
            if self._file.offsets.used:
                self._offsets()
                self._spare_slots()
            damaged = self._objects.damaged(np.arange(len(self._table)))
            self._gaps(damaged)
            self._headers(damaged)
            self._end()
        checked = without = 0
        if depth.reaches(Depth.CONTENT):
            done = self._chunks(progress)
            checked, without = (done, 0) if self._header.checksum.size else (0, done)
        return Report(depth, len(self._objects), self._findings.all(), checked, without)

    def _structure(self) -> None:
        header, offsets, warn = self._header, self._file.offsets, self._findings.warning
        if offsets.problem:
            self._findings.error("bloscpack.slots", offsets.span(0, offsets.count), offsets.problem)
        for name in ("unused", "reserved"):
            if any(header.values.get(name, b"")):
                message = f"the bytes `{name}` of the header are not all zero"
                warn("bloscpack.reserved", header.record.span(name), message)
        if header.nchunks == UNKNOWN:
            message = "nchunks is -1 (unknown): for such a file the reference returns no content and no error"
            warn("bloscpack.nchunks", header.record.span("nchunks"), message)
        if header.max_app_chunks and not header.has_offsets:
            message = "max_app_chunks declares spare slots, but the file has no offsets"
            warn("bloscpack.spare-slots", header.record.span("max_app_chunks"), message)

    def _metadata(self, metadata: MetadataSection) -> None:
        findings, stored, padding = self._findings, metadata.stored, metadata.padding
        for name, message in metadata.problems.items():
            findings.error(f"bloscpack.{name.replace('_', '-')}", metadata.header, message)
        if problem := self._file.metadata_problem():
            findings.error("bloscpack.metadata-digest", metadata.digest, problem)
        if any(self._file.source.read(padding.start, padding.stop)):
            message = "the bytes reserved after the metadata are not all zero"
            findings.warning("bloscpack.metadata-room", padding, message)
        try:
            value = self._file.metadata_value()
        except (FormatError, LimitExceeded) as error:
            findings.error("bloscpack.metadata", error.span or stored, error.message)
            return
        try:
            info = array_info(value)
        except FormatError as error:
            findings.warning("bloscpack.array", stored, error.message)
            return
        size = self._header.plain_size
        if info is not None and size not in (UNKNOWN, info.nbytes):
            described = plural(info.nbytes, "byte")
            message = f"the metadata describes an array of {described}, but the content has {grouped_digits(size)}"
            findings.error("bloscpack.array", stored, message)

    def _offsets(self) -> None:
        offsets = self._file.offsets
        if not offsets.filled:
            message = "the offsets were not filled in; readers walk from chunk to chunk"
            self._findings.note("bloscpack.offsets-unused", offsets.span(0, offsets.used), message)
            return
        count = min(offsets.used, len(self._table))
        for first in range(0, count, SLOTS_AT_ONCE):
            last = min(first + SLOTS_AT_ONCE, count)
            got = offsets.read(self._file.source, first, last)
            places = self._table.places[first:last]
            for row in np.flatnonzero(got != places).tolist():
                number, slot, place = first + row, int(got[row]), int(places[row])
                where = f"the chunk begins at byte {place:#x}" if place != UNKNOWN else "the chunk cannot be found"
                message = f"the offset of chunk {number} is {slot}, but {where}"
                add = self._findings.warning if slot == UNKNOWN else self._findings.error
                add("bloscpack.offset", offsets.slot(number), message, key=str(number))

    def _spare_slots(self) -> None:
        offsets = self._file.offsets
        for first in range(offsets.used, offsets.count, SLOTS_AT_ONCE):
            filled = offsets.read(self._file.source, first, min(first + SLOTS_AT_ONCE, offsets.count)) != UNKNOWN
            if filled.any():
                slot = offsets.slot(first + int(filled.argmax()))
                self._findings.warning("bloscpack.spare-slots", slot, "a spare offset slot is not -1")
                return

    def _gaps(self, damaged: NDArray[np.bool_]) -> None:
        """Report bytes between chunks, at which readers that walk from chunk to chunk fail."""
        area, table, count = self._table.area, self._table, len(damaged)
        ends = area.stops(table.places, table.headers) + area.digest
        before = np.concatenate([[area.first], ends])[:count]
        sound = ~damaged & ~np.concatenate([[False], damaged])[:count]
        for row in self._some("bloscpack.gap", sound & (table.places > before)):
            place, end = int(table.places[row]), int(before[row])
            after = f"chunk {row - 1} ends" if row else "the offsets end"
            message = f"chunk {row} begins at {place:#x}; {after} at {end:#x}: readers that walk the chunks fail"
            self._findings.error("bloscpack.gap", Span("", end, place), message, key=str(row))

    def _headers(self, damaged: NDArray[np.bool_]) -> None:
        for row in self._some("bloscpack.chunk", damaged):
            ref = self._objects.ref(row)
            span = ref.spans[0] if ref.spans else None
            self._findings.error("bloscpack.chunk", span, _of_chunk(row, ref.error), key=str(row))
        header, sizes = self._header, self._table.headers["nbytes"].astype(np.int64)
        wanted = np.full(len(sizes), header.chunk_size, np.int64)
        if header.nchunks in (UNKNOWN, len(sizes)):
            wanted[-1:] = UNKNOWN if header.nchunks == UNKNOWN else header.last_chunk
        for row in self._some("bloscpack.chunk-size", ~damaged & (wanted != UNKNOWN) & (sizes != wanted)):
            span = blosc_header_span(int(self._table.places[row]))
            found = plural(sizes[row], "uncompressed byte")
            message = f"chunk {row} has {found}, but the file's header declares {grouped_digits(wanted[row])}"
            self._findings.error("bloscpack.chunk-size", span, message, key=str(row))

    def _some(self, code: str, wrong: NDArray[np.bool_]) -> list[int]:
        """Return the first `MAX_PER_CODE` rows of a mask; the others are only counted."""
        rows = np.flatnonzero(wrong)
        self._findings.more(Severity.ERROR, code, len(rows) - MAX_PER_CODE)
        found: list[int] = rows[:MAX_PER_CODE].tolist()
        return found

    def _end(self) -> None:
        nchunks, count = self._header.nchunks, len(self._table)
        if nchunks != UNKNOWN and count < nchunks:
            message = f"nchunks is {grouped_digits(nchunks)}, but at most {plural(count, 'chunk')} fit in the file"
            self._findings.error("bloscpack.chunk-count", self._header.record.span(""), message)
        end, complete = self._file.chunks_end
        if count and complete and end < self._file.source.size:
            span = Span("", end, self._file.source.size)
            what = plural(span.size, "byte follows", "bytes follow")
            message = f"{what} the last chunk: appending can leave such bytes, and readers ignore them"
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
        """Return a flag per chunk, True if it is decompressed, up to the first chunk that costs more than `left` bytes.

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
