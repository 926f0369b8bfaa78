"""Verification with the xorbs at hand: every chunk, range, file and SHA-256 from the bytes themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import ExternalMissing, FormatError
from shardcore.finding import Findings
from shardcore.formats.mdb.content import stream_file, stream_segment
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.hashes import protect_many
from shardcore.formats.mdb.index import MdbIndex
from shardcore.formats.mdb.layout import RECORD_SIZE
from shardcore.formats.mdb.objects import FileBlock, MdbObjects, block_of
from shardcore.formats.mdb.xorbs import Xorb
from shardcore.progress import Progress
from shardcore.span import Span
from shardcore.words import plural
from shardcore.xet_hashes import HashArray, as_rows, chunk_hash, to_text


def check_content(file: MdbFile, objects: MdbObjects, index: MdbIndex, findings: Findings, progress: Progress) -> None:
    """Puts every file together, then unpacks the chunks that no file used; xorbs out of reach are noted."""
    missing: dict[str, None] = {}
    used = np.zeros(len(index.chunks), bool)
    files, xorbs, _ = index.counts
    for number in range(files):
        progress(number, files + xorbs)
        if index.damaged_files[number] or not index.files.counts[number]:
            continue
        _check_file(file, index, number, block_of(file, objects.ref(number)), used, missing, findings)
    for number in range(xorbs):
        progress(files + number, files + xorbs)
        _check_xorb(file, index, number, used, missing, findings)
    for text in missing:
        findings.note("mdb.xorb-missing", None, f"xorb {text} was not found: its bytes are not checked")


def _check_file(
    file: MdbFile,
    index: MdbIndex,
    number: int,
    block: FileBlock,
    used: NDArray[np.bool_],
    missing: dict[str, None],
    findings: Findings,
) -> None:
    """Puts one file together, and marks the chunks that it used."""
    if _out_of_reach(file, block, missing):
        return
    try:
        for _ in stream_file(file.xorbs, block):
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


def _out_of_reach(file: MdbFile, block: FileBlock, missing: dict[str, None]) -> bool:
    """Whether xorbs of a file are missing; each is looked for once, because that takes many requests."""
    texts = dict.fromkeys(segment["xorb"] for segment in block.segment_list)
    for text in (t for t in texts if t not in missing):
        try:
            file.xorbs.get(text)
        except ExternalMissing:
            missing[text] = None
        except FormatError:
            continue
    return not missing.keys().isdisjoint(texts)


def _check_xorb(
    file: MdbFile, index: MdbIndex, number: int, used: NDArray[np.bool_], missing: dict[str, None], findings: Findings
) -> None:
    """The records of a xorb against the xorb itself; chunks that were not used by a file are unpacked."""
    text = to_text(index.xorb_values(number)["cas_hash"])
    if text in missing:
        return
    first, last = index.xorbs.bounds[number : number + 2].tolist()
    at = index.xorbs.byte_of(int(index.xorbs.headers[number]))
    place = Span("", at, at + RECORD_SIZE)
    try:
        xorb = file.xorbs.get(text)
        if xorb.chunk_count != last - first:
            message = f"the shard lists {plural(last - first, 'chunk')}; the xorb itself has {xorb.chunk_count:,}"
            findings.error("mdb.xorb-chunks", place, message, key=f"xorb:{text}")
            return
        hashes = _hashes(file, xorb, text, used[first:last], place)
    except ExternalMissing:
        missing[text] = None
        return
    except FormatError as error:
        findings.error("mdb.xorb", error.span or place, error.message, key=f"xorb:{text}")
        return
    section = index.xorbs
    records = section.entries[first:last]
    stored = protect_many(index.geometry.key, hashes)
    wrong = (stored != section.hashes[records]).any(axis=1)
    wrong |= xorb.chunk_sizes != index.chunks["unpacked_segment_bytes"][first:last]
    for record in records[wrong].tolist():
        start = section.byte_of(record)
        message = f"hash or size differ from those of chunk {record - records[0]} in the xorb itself"
        findings.error("mdb.chunk", Span("", start, start + RECORD_SIZE), message, key=f"xorb:{text}")


def _hashes(file: MdbFile, xorb: Xorb, text: str, used: NDArray[np.bool_], place: Span) -> HashArray:
    """The hashes of all chunks: as the xorb lists them, where its chunks have been or are now compared with them."""
    listed = xorb.chunk_hashes
    if listed is None:
        return as_rows([chunk_hash(c) for c in stream_segment(file.xorbs, text, 0, xorb.chunk_count, place)])
    edges = np.flatnonzero(np.diff(np.concatenate([[True], used, [True]])))
    for low, high in edges.reshape(-1, 2).tolist():
        for _ in stream_segment(file.xorbs, text, low, high, place):
            pass
    return listed
