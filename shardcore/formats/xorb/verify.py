"""Verification of a xorb; `docs/formats/xorb.md` lists the checks of each depth."""

from __future__ import annotations

import numpy as np

from shardcore.codecs.xet.hashes import ZERO, HashArray, as_rows, chunk_hash, to_text, tree_root
from shardcore.codecs.xet.xorb_layout import CHUNK_HEADER, MAX_CHUNKS, MAX_XORB_SIZE
from shardcore.errors import FormatError
from shardcore.formats.xorb.file import TAIL_FAULT, XorbFile, stored_records, unpack
from shardcore.model.finding import MAX_PER_CODE, ContentBudget, Depth, Findings, Report, Severity
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.progress import Progress


def verify(file: XorbFile, depth: Depth, progress: Progress) -> Report:
    findings = Findings()
    progress(0, 1)
    _check_structure(file, findings)
    if depth.reaches(Depth.INDEX):
        _check_headers(file, findings)
        if file.records.hashes is not None:
            _check_root(file, file.records.hashes, findings)
    checked = without = 0
    if depth.reaches(Depth.CONTENT):
        hashed = _check_chunks(file, findings, progress)
        # Without a list of hashes, the hash of the xorb (info block or file name) covers all chunks.
        root = (file.info is not None or bool(file.expected_hash)) and hashed == file.records.count
        known = file.records.hashes is not None or (root and file.fault is None)
        checked, without = (hashed, 0) if known else (0, hashed)
    progress(1, 1)
    return Report(depth, file.records.count, findings.all(), checked, without)


def _check_structure(file: XorbFile, findings: Findings) -> None:
    whole, count = Span("", 0, file.source.size), file.records.count
    if file.info_damage is not None:
        findings.error("xorb.info-block", file.info_damage.span, file.info_damage.message)
    if file.fault is not None:
        findings.error("xorb.walk", Span("", file.records.stop, whole.stop), file.fault.message)
    if file.tail is not None:
        findings.error("xorb.tail", file.tail, TAIL_FAULT)
    if count > MAX_CHUNKS:
        message = f"the xorb has {plural(count, 'chunk')}; the limit is {MAX_CHUNKS:,}"
        findings.warning("xorb.many-chunks", whole, message)
    if whole.size > MAX_XORB_SIZE + (1 << 20):
        message = f"the xorb has {plural(whole.size, 'byte')}; the limit is {MAX_XORB_SIZE:,}"
        findings.warning("xorb.large", whole, message)
    if file.info is None and file.info_damage is None:
        # Uploads have no info block; a file named `default.<hash>` is in a store, where hf-xet needs it.
        add = findings.error if file.source.name.startswith("default.") else findings.warning
        message = "no info block: hf-xet cannot read the file from a store, and there are no hashes to compare"
        add("xorb.no-info-block", None, message)


def _check_headers(file: XorbFile, findings: Findings) -> None:
    headers, records = file.load(), file.records
    wrong = np.flatnonzero(records.faults(headers))
    for number in wrong[:MAX_PER_CODE].tolist():
        fault = records.fault(CHUNK_HEADER.values(headers[number]), number)
        place = Span("", records.span(number).start, records.stored_span(number).start)
        findings.error("xorb.record", place, f"chunk {number}: {fault}", key=str(number))
    findings.more(Severity.ERROR, "xorb.record", len(wrong) - MAX_PER_CODE)


def _check_root(file: XorbFile, hashes: HashArray, findings: Findings) -> None:
    """Compare the hash computed from all chunk hashes with the info block and the file name."""
    root = to_text(tree_root(hashes, file.chunk_sizes().astype(np.uint64)))
    place = file.info_span if file.info is not None else None
    if file.info is not None and root != (stored := to_text(file.info.cas_hash)):
        message = f"hash of the xorb: computed from its chunk hashes {root}, stored {stored}"
        findings.error("xorb.hash", place, message)
    if file.expected_hash not in ("", root):
        message = f"the file is not named by its hash: computed {root}, named {file.expected_hash}"
        findings.error("xorb.name", place, message)


def _check_chunks(file: XorbFile, findings: Findings, progress: Progress) -> int:
    """Decompress and hash every chunk; return the number of chunks checked within the work limit."""
    records = file.records
    found: list[bytes] = []
    work = ContentBudget(file.source.size)
    for number, data in stored_records(file.source.read, records, 0, records.count):
        findings.verified = number
        if not work.takes(len(data)):
            work.unchecked = records.count - number
            work.report(findings, "xorb.unchecked")
            return number
        try:
            chunk = unpack(data, records, number)
        except FormatError as error:
            findings.error("xorb.chunk", error.span or records.span(number), error.message, key=str(number))
            found.append(ZERO)
            continue
        work.spend(len(chunk))
        found.append(chunk_hash(chunk))
        if records.hashes is not None and found[-1] != records.hashes[number].tobytes():
            computed, stored = to_text(found[-1]), to_text(records.hashes[number].tobytes())
            message = f"hash of chunk {number}: computed {computed}, stored {stored}"
            findings.error("xorb.chunk-hash", records.span(number), message, key=str(number))
        progress(int(records.ends[number]), max(records.stop, 1))
    # If the walk over the records ended early, the hash differs anyway, and the reason is reported already.
    if records.hashes is None and records.count and file.fault is None:
        _check_root(file, as_rows(found), findings)
    return records.count
