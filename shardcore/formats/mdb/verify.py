"""Verification of a shard; `docs/formats/mdb.md` lists the checks of each depth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import HashArray, as_rows, chunk_hash, from_text, to_text, tree_roots
from shardcore.errors import ExternalMissing, FormatError
from shardcore.formats.mdb.content import stream_file, stream_segment
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.hashes import file_hashes, protect_many, range_hashes, shard_name
from shardcore.formats.mdb.index import MISNAMED, MdbIndex, block_sums
from shardcore.formats.mdb.layout import (
    BOOKEND,
    CAS_HEADER,
    CHUNK,
    FILE,
    FILE_HEADER,
    FILE_METADATA,
    FILE_VERIFICATION,
    FOOTER,
    FOOTER_SIZE,
    HEADER,
    KINDS,
    NO_EXPIRY,
    RECORD_SIZE,
    XORB,
    FileFlag,
    descents,
)
from shardcore.formats.mdb.objects import FileBlock, MdbObjects, block_of
from shardcore.formats.mdb.tree import date_text
from shardcore.formats.mdb.walk_sections import RecordKind, WalkedSection
from shardcore.formats.mdb.xorbs import Xorb
from shardcore.model.finding import MAX_PER_CODE, ContentBudget, Depth, Finding, Findings, Report, Severity
from shardcore.model.number_text import plural
from shardcore.model.section import SectionRole
from shardcore.model.span import Span
from shardcore.progress import Progress

REFERENCE_COST = 256
"""Time cost of a chunk reference, as the number of bytes that can be decompressed in the same time."""

SEGMENT_COST = 16 << 10
"""Cost of finding and opening the xorb of a segment, in the same unit."""

LOOKED_FOR = 1000
"""Number of missing xorbs after which the search stops."""


def most_references(size: int) -> int:
    """Return the maximum number of chunks of a file that is checked, because all their hashes are in memory."""
    return 200_000 + size // 16


def check_content(file: MdbFile, objects: MdbObjects, index: MdbIndex, findings: Findings, progress: Progress) -> int:
    """Read every file, then the chunks that no file uses; missing xorbs become notes.

    Returns the number of files, xorbs and chunks whose bytes were hashed or that have none.
    """
    used = np.zeros(len(index.chunks), bool)
    lost_segments, lost_xorbs = _out_of_reach(file, index, findings)
    files, xorbs, _ = index.counts
    lost = np.concatenate([[0], np.cumsum(lost_segments)])[index.files.bounds]
    checked = ~index.damaged_files & (index.files.counts > 0) & (np.diff(lost) == 0)
    references = np.diff(np.concatenate([[0], np.cumsum(index.segment_lengths)])[index.files.bounds])
    most, work = most_references(index.layout.size), ContentBudget(index.layout.size)
    done = int(np.count_nonzero(index.damaged_files | (index.files.counts == 0)))
    for number in np.flatnonzero(checked).tolist():
        progress(number, files + xorbs)
        cost = int(index.file_sizes[number]) + REFERENCE_COST * int(references[number])
        cost += SEGMENT_COST * int(index.files.counts[number])
        if references[number] > most or not work.takes(cost):
            work.unchecked += references[number] > most
            continue
        _check_file(file, index, number, block_of(file, objects.ref(number)), used, findings)
        done += 1
        findings.verified = done
    for number in np.flatnonzero(~lost_xorbs).tolist():
        progress(files + number, files + xorbs)
        first, last = index.xorbs.bounds[number : number + 2].tolist()
        size = int(index.chunks["unpacked_segment_bytes"][first:last][~used[first:last]].sum(dtype=np.int64))
        if work.takes(size + REFERENCE_COST * (last - first)):
            _check_xorb(file, index, number, used, findings)
            done += 1 + last - first
            findings.verified = done
    work.report(findings, "mdb.unchecked")
    return done


def _out_of_reach(file: MdbFile, index: MdbIndex, findings: Findings) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return masks of the segments and of the xorbs that are unavailable because their xorb is missing.

    Each xorb is searched once; after `LOOKED_FOR` misses with hardly any hit, the others count as missing.
    """
    named = np.concatenate([index.segments["cas_hash"], index.xorb_headers["cas_hash"]])
    _, first, inverse = np.unique(named.view("S32").ravel(), return_index=True, return_inverse=True)
    missing = np.zeros(len(first), np.bool_)
    found = 0
    order = np.argsort(first)
    for at, place in enumerate(order.tolist()):
        text = to_text(named[first[place]].tobytes())
        if at - found >= LOOKED_FOR and LOOKED_FOR * found <= at:
            missing[order[at:]] = True
            more = plural(len(order) - at, "more xorb is", "more xorbs are")
            findings.note(
                "mdb.xorb-missing", None, f"{more} listed but not searched, because nearly all others are missing"
            )
            break
        try:
            file.xorbs.get(text, file.fetch_xorb)
            found += 1
        except ExternalMissing:
            missing[place] = True
            findings.note("mdb.xorb-missing", None, f"xorb {text} not found: its bytes are not checked")
        except FormatError:
            found += 1
    lost = missing[inverse.ravel()]
    return lost[: len(index.segments)], lost[len(index.segments) :]


def _check_file(
    file: MdbFile,
    index: MdbIndex,
    number: int,
    block: FileBlock,
    used: NDArray[np.bool_],
    findings: Findings,
) -> None:
    try:
        for _ in stream_file(file, block):
            pass
    except FormatError as error:
        span = error.span or Span("", block.start, block.stop)
        findings.error("mdb.file", span, error.message, key=block.key)
        return
    for at in range(*index.files.bounds[number : number + 2].tolist()):
        xorb = int(index.segment_xorbs[at])
        if xorb >= 0:
            start = int(index.xorbs.bounds[xorb])
            row = index.segments[at]
            used[start + int(row["chunk_index_start"]) : start + int(row["chunk_index_end"])] = True


def _check_xorb(file: MdbFile, index: MdbIndex, number: int, used: NDArray[np.bool_], findings: Findings) -> None:
    """Compare the records of a xorb with the xorb; chunks not yet `used` are decompressed."""
    text = to_text(index.xorb_headers["cas_hash"][number].tobytes())
    first, last = index.xorbs.bounds[number : number + 2].tolist()
    at = index.xorbs.byte_of(int(index.xorbs.headers[number]))
    place = Span("", at, at + RECORD_SIZE)
    try:
        xorb = file.xorbs.get(text)
        if xorb.chunk_count != last - first:
            message = f"the shard lists {plural(last - first, 'chunk')}, but the xorb itself has {xorb.chunk_count:,}"
            findings.error("mdb.xorb-chunks", place, message, key=f"xorb:{text}")
            return
        hashes = _hashes(file, xorb, text, used[first:last], place)
    except ExternalMissing:  # removed since it was found
        findings.note("mdb.xorb-missing", None, f"xorb {text} not found: its bytes are not checked")
        return
    except FormatError as error:
        findings.error("mdb.xorb", error.span or place, error.message, key=f"xorb:{text}")
        return
    section = index.xorbs
    records = section.entries[first:last]
    stored = protect_many(index.layout.key, hashes)
    wrong = (stored != section.hashes[records]).any(axis=1)
    wrong |= xorb.chunk_sizes != index.chunks["unpacked_segment_bytes"][first:last]
    for record in records[wrong].tolist():
        start = section.byte_of(record)
        message = f"hash or size differ from those of chunk {record - records[0]} in the xorb itself"
        findings.error("mdb.chunk", Span("", start, start + RECORD_SIZE), message, key=f"xorb:{text}")


def _hashes(file: MdbFile, xorb: Xorb, text: str, used: NDArray[np.bool_], place: Span) -> HashArray:
    listed = xorb.chunk_hashes
    if listed is None:
        return as_rows([chunk_hash(c) for c in stream_segment(file, text, 0, xorb.chunk_count, place)])
    edges = np.flatnonzero(np.diff(np.concatenate([[True], used, [True]])))
    for low, high in edges.reshape(-1, 2).tolist():
        for _ in stream_segment(file, text, low, high, place):
            pass
    return listed


CHUNKS_AT_ONCE = 1 << 17
"""Number of chunk hashes checked per batch, because files may repeat chunks many times."""

LISTED = MAX_PER_CODE - 1
"""Number of findings listed per code; one more finding gives the number of the others."""

_NAME = re.compile(r"[0-9a-f]{64}\.mdb")


def verify(file: MdbFile, objects: MdbObjects, depth: Depth, progress: Progress) -> Report:
    findings = Findings()
    progress(0, 4)
    index = file.load()
    if file.footer_damage is not None:
        findings.error("mdb.footer", file.footer_damage.span, file.footer_damage.message)
    _check_sections(file, index, findings)
    _check_tables(index, findings)
    _check_files(index, findings)
    _check_xorbs(index, findings)
    _check_footer(file, index, findings)
    progress(1, 4)
    if depth.reaches(Depth.INDEX):
        _check_name(file, index, findings)
        if not index.keyed:
            _check_roots(index, findings)
            progress(2, 4)
            _check_ranges_and_files(index, findings, progress)
    checked = 0
    if depth.reaches(Depth.CONTENT):
        checked = check_content(file, objects, index, findings, progress)
    progress(4, 4)
    return Report(depth, sum(index.counts), findings.all(), checked)


def _check_sections(file: MdbFile, index: MdbIndex, findings: Findings) -> None:
    stops = {True: index.layout.file_info[1], False: index.layout.cas_info[1]}
    for section in (index.files, index.xorbs):
        stop = stops[section.files]
        if section.problem:
            findings.error("mdb.walk", Span("", min(section.stop_byte, stop), stop), section.problem)
            continue
        if section.stop_byte != stop:
            what = f"the section's end mark ends at {section.stop_byte:#x}, but the footer gives {stop:#x} as the end"
            findings.error("mdb.section-end", Span("", section.stop_byte, stop), what)
        tail = section.rows(BOOKEND)[section.stop - 1]["_zero"]
        if tail.any():
            at = section.byte_of(section.stop - 1)
            findings.warning(
                "mdb.end-mark", Span("", at + 32, at + RECORD_SIZE), "the last 16 bytes of the end mark are not zero"
            )
        _check_reserved(section, findings)
    for gap in file.sections:
        if gap.role is SectionRole.UNKNOWN and file.footer_damage is None:
            findings.warning("mdb.gap", Span("", gap.start, gap.stop), "bytes that are not part of any known structure")


def _listed(numbers: NDArray[np.int64], findings: Findings, severity: Severity, code: str) -> Iterator[int]:
    """Yield the first `LISTED` numbers, then add one finding with the number of the others."""
    yield from numbers[:LISTED].tolist()
    if len(numbers) > LISTED:
        findings.add(
            Finding(
                severity,
                code,
                None,
                f"{plural(len(numbers) - LISTED, 'more of these is', 'more of these are')} not listed",
            )
        )


_RESERVED = {
    RecordKind.FILE_HEADER: 40,
    RecordKind.FILE_VERIFICATION: 32,
    RecordKind.FILE_METADATA: 32,
    RecordKind.CAS_ENTRY: 44,
}


def _check_reserved(section: WalkedSection, findings: Findings) -> None:
    raw = np.frombuffer(section.data, np.uint8).reshape(-1, RECORD_SIZE)
    for kind, start in _RESERVED.items():
        records = np.flatnonzero(section.kinds == kind)
        for record in _listed(records[raw[records, start:].any(axis=1)], findings, Severity.WARNING, "mdb.reserved"):
            at = section.byte_of(record)
            findings.warning("mdb.reserved", Span("", at + start, at + RECORD_SIZE), "reserved bytes are not zero")


def _check_tables(index: MdbIndex, findings: Findings) -> None:
    counts = dict(zip(KINDS, index.counts, strict=True))
    for kind, table in index.layout.tables.items():
        for at in _listed(descents(index.table_rows(kind)), findings, Severity.ERROR, "mdb.table-order"):
            message = (
                f"entry {at} of the {kind} lookup table has a lower table key than the one before it: searches miss it"
            )
            findings.error("mdb.table-order", table.span(at, at + 1), message)
        for at in _listed(index.tables[kind][1], findings, Severity.ERROR, "mdb.table-row"):
            what = "chunk" if kind == CHUNK else f"{kind} header"
            message = f"entry {at} of the {kind} lookup table does not refer to a {what} with its table key"
            findings.error("mdb.table-row", table.span(at, at + 1), message)
        if table.count != counts[kind]:
            span = Span("", table.start, table.stop)
            message = (
                f"the {kind} lookup table has {plural(table.count, 'entry')}, the shard {plural(counts[kind], kind)}"
            )
            findings.error("mdb.table-count", span, message)
            continue
        known, wrong = index.tables[kind]
        lost = table.count - len(wrong) - _distinct(known.places)
        if lost:
            missing = plural(lost, f"{kind} is", f"{kind}s are")
            message = f"{missing} not in the {kind} lookup table, which has duplicate entries instead"
            findings.error("mdb.table-repeats", Span("", table.start, table.stop), message)


def _distinct(places: NDArray[np.int64]) -> int:
    marks = np.zeros(int(places.max(initial=-1)) + 1, np.bool_)
    marks[places] = True
    return int(np.count_nonzero(marks))


def _check_files(index: MdbIndex, findings: Findings) -> None:
    section = index.files
    for number in _listed(np.flatnonzero(index.wrong_segments), findings, Severity.ERROR, "mdb.segment"):
        at = section.byte_of(int(section.entries[number]))
        file = int(np.searchsorted(section.bounds, number, "right")) - 1
        key = to_text(section.hashes[section.headers[file]].tobytes())
        message = f"segment {number - int(section.bounds[file])}: {index.segment_fault(number)}"
        findings.error("mdb.segment", Span("", at, at + RECORD_SIZE), message, key=key)
    rows = section.rows(FILE_HEADER)[section.headers]
    verified = (rows["file_flags"] & np.uint32(FileFlag.WITH_VERIFICATION)) != 0
    if verified.any() and not verified.all():
        place = section.byte_of(int(section.headers[np.flatnonzero(~verified)[0]]))
        message = "only some files have verification entries; servers reject such shards"
        findings.warning("mdb.mixed-verification", Span("", place, place + RECORD_SIZE), message)
    for number in _listed(np.flatnonzero(index.misnamed_files), findings, Severity.ERROR, "mdb.empty-file"):
        place = section.byte_of(int(section.headers[number]))
        key = to_text(section.hashes[section.headers[number]].tobytes())
        findings.error("mdb.empty-file", Span("", place, place + RECORD_SIZE), MISNAMED, key=key)
    _check_empty_digests(section, findings)
    _check_twice(section, FILE, findings)


def _check_empty_digests(section: WalkedSection, findings: Findings) -> None:
    """Check the SHA-256 of files without segments, whose content is never read."""
    flags = section.rows(FILE_HEADER)["file_flags"][section.headers]
    empty = (section.counts == 0) & ((flags & np.uint32(FileFlag.WITH_METADATA_EXT)) != 0)
    records = section.ends[empty] - 1
    stored = section.rows(FILE_METADATA)["sha256"][records]
    wrong = stored.any(axis=1) & (stored != np.frombuffer(from_text(sha256().hexdigest()), np.uint8)).any(axis=1)
    for record in _listed(records[wrong], findings, Severity.ERROR, "mdb.empty-digest"):
        place = section.byte_of(record)
        message = "the SHA-256 of an empty file must be zero or that of an empty content"
        findings.error("mdb.empty-digest", Span("", place, place + RECORD_SIZE), message)


def _check_twice(section: WalkedSection, kind: str, findings: Findings) -> None:
    whole = np.ascontiguousarray(section.hashes[section.headers]).view("S32").ravel()
    order = np.argsort(whole, kind="stable")
    for at in _listed(
        np.flatnonzero(whole[order][1:] == whole[order][:-1]), findings, Severity.WARNING, f"mdb.{kind}-twice"
    ):
        place = section.byte_of(int(section.headers[order[at + 1]]))
        message = f"the same {kind} is listed before; streaming readers use the first one"
        findings.warning(f"mdb.{kind}-twice", Span("", place, place + RECORD_SIZE), message)


def _check_xorbs(index: MdbIndex, findings: Findings) -> None:
    section, rows = index.xorbs, index.chunks
    headers = section.rows(CAS_HEADER)[section.headers]
    for number in _listed(
        np.flatnonzero(headers["num_bytes_in_cas"] != index.xorb_sums), findings, Severity.ERROR, "mdb.xorb-size"
    ):
        at = section.byte_of(int(section.headers[number]))
        declared = headers["num_bytes_in_cas"][number]
        message = f"num_bytes_in_cas is {declared:,}, but the chunks have {plural(index.xorb_sums[number], 'byte')}"
        findings.error("mdb.xorb-size", Span("", at, at + RECORD_SIZE), message)
    totals = np.concatenate([[0], np.cumsum(rows["unpacked_segment_bytes"], dtype=np.int64)])
    wanted = totals[:-1] - np.repeat(totals[section.bounds[:-1]], section.counts)
    for number in _listed(
        np.flatnonzero(rows["chunk_byte_range_start"] != wanted), findings, Severity.ERROR, "mdb.chunk-start"
    ):
        at = section.byte_of(int(section.entries[number]))
        declared = rows["chunk_byte_range_start"][number]
        message = f"chunk_byte_range_start is {declared:#x}, but the chunks before it end at {wanted[number]:#x}"
        findings.error("mdb.chunk-start", Span("", at + 32, at + 36), message)
    _check_twice(section, XORB, findings)


def _check_footer(file: MdbFile, index: MdbIndex, findings: Findings) -> None:
    footer = index.layout.footer
    if footer is None:
        if index.layout.header["footer_size"] and file.footer_damage is None:
            at = HEADER.offsets["footer_size"]
            message = "footer_size is 200, but there is no footer, as in uploads until late 2025"
            findings.note("mdb.footer-size", Span("", at, HEADER.size), message)
        return
    start = index.layout.size - FOOTER_SIZE
    sums = {
        "stored_bytes_on_disk": int(index.xorb_headers["num_bytes_on_disk"].sum(dtype=np.int64)),
        "materialized_bytes": int(index.file_sizes.sum()),
        "stored_bytes": int(index.xorb_headers["num_bytes_in_cas"].sum(dtype=np.int64)),
    }
    for name, total in sums.items():
        if footer[name] != total:
            at = start + FOOTER.offsets[name]
            message = f"{name} is {footer[name]:,}, but the records add up to {total:,}"
            findings.warning("mdb.footer-sum", Span("", at, at + 8), message)
    if footer["_buffer"].strip(b"\0"):
        at = start + FOOTER.offsets["_buffer"]
        findings.warning("mdb.reserved", Span("", at, at + 48), "reserved bytes are not zero")
    expiry = footer["shard_key_expiry"]
    if 0 < expiry < NO_EXPIRY and expiry < datetime.now(UTC).timestamp():
        at = start + FOOTER.offsets["shard_key_expiry"]
        message = f"expired since {date_text(expiry)}: clients no longer use this shard, but it can be read"
        findings.note("mdb.expired", Span("", at, at + 8), message)


def _check_name(file: MdbFile, index: MdbIndex, findings: Findings) -> None:
    name = file.source.name
    if _NAME.fullmatch(name) and (real := shard_name([index.data])) != name:
        findings.warning("mdb.name", None, f"the file is not named by its hash: computed {real}, named {name}")


def _batches(totals: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield block ranges `[first, last)` of about `CHUNKS_AT_ONCE` chunks; `totals` has the chunks before each."""
    first, count = 0, len(totals) - 1
    while first < count:
        last = int(np.searchsorted(totals, totals[first] + CHUNKS_AT_ONCE, "right")) - 1
        last = min(max(last, first + 1), count)
        yield first, last
        first = last


def _computed(found: NDArray[np.uint8], stored: NDArray[np.uint8]) -> str:
    return f"computed {to_text(found.tobytes())}, stored {to_text(stored.tobytes())}"


def _check_roots(index: MdbIndex, findings: Findings) -> None:
    section = index.xorbs
    sizes = index.chunks["unpacked_segment_bytes"].astype(np.uint64)
    roots = []
    for first, last in _batches(section.bounds):
        low, high = int(section.bounds[first]), int(section.bounds[last])
        hashes = section.hashes[section.entries[low:high]]
        roots.append(tree_roots(hashes, sizes[low:high], section.bounds[first : last + 1] - low))
    found = np.concatenate([section.hashes[:0], *roots])
    wrong = np.flatnonzero((found != section.hashes[section.headers]).any(axis=1))
    for number in _listed(wrong, findings, Severity.ERROR, "mdb.xorb-hash"):
        at = section.byte_of(int(section.headers[number]))
        stored = section.hashes[section.headers[number]]
        message = f"hash of the xorb, from its chunk hashes: {_computed(found[number], stored)}"
        findings.error("mdb.xorb-hash", Span("", at, at + 32), message)


def _check_ranges_and_files(index: MdbIndex, findings: Findings, progress: Progress) -> None:
    """Check range and file hashes of files whose xorbs are all described in this shard, within the work limit."""
    section = index.files
    known = (index.segment_xorbs >= 0) & ~index.wrong_segments
    spans = np.where(known, index.segment_lengths, 0)
    # Even a small shard may refer to the same chunks a million times.
    large = block_sums(spans, section.bounds) > most_references(index.layout.size)
    known &= ~np.repeat(large, section.counts)
    per_file = np.concatenate([[0], np.cumsum(np.where(known, spans, 0))])[section.bounds]
    work = ContentBudget(index.layout.size)
    for first, last in _batches(per_file):
        if not work.takes(REFERENCE_COST * int(per_file[last] - per_file[first])):
            work.unchecked = len(section.headers) - first
            break
        _check_batch(index, first, last, known, findings)
        progress(2 * len(section.headers) + first, 4 * len(section.headers))
    work.unchecked += int(np.count_nonzero(large))
    work.report(findings, "mdb.unchecked")


def _check_batch(index: MdbIndex, first: int, last: int, known: NDArray[np.bool_], findings: Findings) -> None:
    """Check the files `[first, last)`; `known` masks the segments with known chunk hashes."""
    section = index.files
    low, high = int(section.bounds[first]), int(section.bounds[last])
    segments = low + np.flatnonzero(known[low:high])
    rows = index.segments[segments]
    starts = index.xorbs.bounds[index.segment_xorbs[segments]] + rows["chunk_index_start"]
    lengths = index.segment_lengths[segments]
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(starts - bounds[:-1], lengths) + np.arange(bounds[-1])
    hashes = index.xorbs.hashes[index.xorbs.entries[places]]
    _check_ranges(index, segments, range_hashes(hashes, bounds), findings)
    unknown = np.concatenate([[0], np.cumsum(~known[low:high])])
    edges = section.bounds[first : last + 1] - low
    whole = (np.diff(unknown[edges]) == 0) & (section.counts[first:last] > 0)
    belongs = np.repeat(np.arange(last - first), section.counts[first:last])[segments - low]
    kept = np.repeat(whole[belongs], lengths)
    counts = np.bincount(belongs[whole[belongs]], lengths[whole[belongs]], last - first).astype(np.int64)[whole]
    sizes = index.chunks["unpacked_segment_bytes"][places[kept]].astype(np.uint64)
    found = file_hashes(hashes if whole.all() else hashes[kept], sizes, np.concatenate([[0], np.cumsum(counts)]))
    headers = section.headers[first:last][whole]
    for number in _listed(
        np.flatnonzero((found != section.hashes[headers]).any(axis=1)), findings, Severity.ERROR, "mdb.file-hash"
    ):
        at = section.byte_of(int(headers[number]))
        stored = section.hashes[headers[number]]
        message = f"hash of the file from its chunk hashes: {_computed(found[number], stored)}"
        key = to_text(stored.tobytes())
        findings.error("mdb.file-hash", Span("", at, at + 32), message, key=key)


def _check_ranges(index: MdbIndex, segments: NDArray[np.int64], found: NDArray[Any], findings: Findings) -> None:
    section = index.files
    file = np.searchsorted(section.bounds, segments, "right") - 1
    flags = section.rows(FILE_HEADER)["file_flags"][section.headers[file]]
    has = (flags & np.uint32(FileFlag.WITH_VERIFICATION)) != 0
    records = section.entries[segments[has]] + section.counts[file[has]]
    stored = section.rows(FILE_VERIFICATION)["range_hash"][records]
    for number in _listed(
        np.flatnonzero((stored != found[has]).any(axis=1)), findings, Severity.ERROR, "mdb.range-hash"
    ):
        at = section.byte_of(int(records[number]))
        message = f"range hash of the segment from its chunk hashes: {_computed(found[has][number], stored[number])}"
        key = to_text(section.hashes[section.headers[file[has][number]]].tobytes())
        findings.error("mdb.range-hash", Span("", at, at + 32), message, key=key)
