"""Verification of a xorb: what each depth checks stands in `docs/formats/xorb.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shardcore.errors import FormatError
from shardcore.finding import Depth, Findings, Report
from shardcore.formats.xorb.layout import CHUNK_HEADER, MAX_CHUNKS, MAX_XORB_SIZE
from shardcore.formats.xorb.records import HEADER_SIZE, chunks, header_fault, header_faults
from shardcore.progress import Progress
from shardcore.span import Span
from shardcore.xet_hashes import HashArray, as_rows, chunk_hash, to_text, tree_root

if TYPE_CHECKING:
    from shardcore.formats.xorb.reader import XorbShard


def verify(xorb: XorbShard, depth: Depth, progress: Progress) -> Report:
    """Checks a xorb to a depth."""
    findings = Findings()
    progress(0, 1)
    if xorb.damage is not None:
        findings.error("xorb.info-block", xorb.damage.span, xorb.damage.message)
    _check_structure(xorb, findings)
    if depth.reaches(Depth.INDEX):
        xorb.load_index()
        _check_headers(xorb, findings)
        if xorb.records.hashes is not None:
            _check_root(xorb, xorb.records.hashes, findings)
    if depth.reaches(Depth.CONTENT):
        _check_chunks(xorb, findings, progress)
    progress(1, 1)
    return Report(depth, xorb.records.count, findings.all())


def _check_structure(xorb: XorbShard, findings: Findings) -> None:
    whole = Span("", 0, xorb.source.size)
    if xorb.records.count > MAX_CHUNKS:
        findings.warning("xorb.many-chunks", whole, f"{xorb.records.count} chunks; writers make at most {MAX_CHUNKS}")
    if xorb.source.size > MAX_XORB_SIZE + (1 << 20):
        findings.warning("xorb.large", whole, f"{xorb.source.size} bytes; writers make at most {MAX_XORB_SIZE}")
    if xorb.info is None and xorb.damage is None:
        findings.note("xorb.no-info-block", None, "bare chunk records: what the chunks should be is not known")


def _check_headers(xorb: XorbShard, findings: Findings) -> None:
    """Every record's header against the info block."""
    headers, records = xorb.objects.headers, xorb.records
    if headers is None:
        return
    for number in np.flatnonzero(header_faults(headers, records)).tolist():
        header, stored = CHUNK_HEADER.values(headers[number]), records.stored_span(number)
        fault = header_fault(header, stored.size, records.size(number))
        place = Span("", stored.start - HEADER_SIZE, stored.start)
        findings.error("xorb.record", place, f"chunk {number}: {fault}", key=str(number))


def _check_root(xorb: XorbShard, hashes: HashArray, findings: Findings) -> None:
    """The root over the chunk hashes against the hash in the info block and in the file's name."""
    root = to_text(tree_root(hashes, xorb.chunk_sizes.astype(np.uint64)))
    place = next((Span("", s.start, s.stop) for s in xorb.sections if s.name == "info block"), None)
    if xorb.info is not None and root != to_text(xorb.info.cas_hash):
        findings.error("xorb.hash", place, f"the chunk hashes make the xorb {root}, not {to_text(xorb.info.cas_hash)}")
    if xorb.expected_hash not in ("", root):
        findings.error("xorb.name", place, f"the file is named {xorb.expected_hash}, its chunks make {root}")


def _check_chunks(xorb: XorbShard, findings: Findings, progress: Progress) -> None:
    """Every chunk is unpacked and hashed."""
    records = xorb.records
    found: list[bytes] = []
    total = int(records.ends[-1]) if records.count else 0
    for number in range(records.count):
        try:
            chunk = b"".join(chunks(xorb.source.read, records, number, number + 1, check=False))
        except FormatError as error:
            findings.error("xorb.chunk", error.span or records.span(number), error.message, key=str(number))
            found.append(bytes(32))
            continue
        found.append(chunk_hash(chunk))
        if records.hashes is not None and found[-1] != records.hashes[number].tobytes():
            text = f"chunk {number} has the hash {to_text(found[-1])}, not {to_text(records.hashes[number].tobytes())}"
            findings.error("xorb.chunk-hash", records.span(number), text, key=str(number))
        progress(int(records.ends[number]), max(total, 1))
    if records.hashes is None and records.count:
        _check_root(xorb, as_rows(found), findings)
