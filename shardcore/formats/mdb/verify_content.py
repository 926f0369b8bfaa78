"""Verification of the content: chunks, ranges, files and SHA-256 from the bytes in the xorbs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import HashArray, as_rows, chunk_hash, to_text
from shardcore.errors import ExternalMissing, FormatError
from shardcore.formats.mdb.content import stream_file, stream_segment
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.hashes import protect_many
from shardcore.formats.mdb.index import MdbIndex
from shardcore.formats.mdb.layout import RECORD_SIZE
from shardcore.formats.mdb.objects import FileBlock, MdbObjects, block_of
from shardcore.formats.mdb.xorbs import Xorb
from shardcore.model.finding import ContentBudget, Findings
from shardcore.model.number_text import plural
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
