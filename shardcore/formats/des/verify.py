"""Verification of a DES shard; `docs/formats/des.md` lists the checks of each depth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.content_hash import sha256_of
from shardcore.errors import ExternalMissing, FormatError, LimitExceeded
from shardcore.formats.des.content import stream_bigfile, stream_inline
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import BIGFILE_FLAG, CODECS, HEADER
from shardcore.formats.des.routing import MAX_BITS, MIN_BITS, ShardName, infer_n_bits
from shardcore.model.finding import MAX_PER_CODE, ContentBudget, Depth, Finding, Findings, Report, Severity
from shardcore.model.number_text import plural
from shardcore.model.safe_text import short
from shardcore.model.span import Span
from shardcore.progress import Progress
from shardcore.shards.shard import DEFAULT_LIMIT
from shardcore.sources.base import MERGE_GAP, read_pieces

RATIO = 1 << 16
"""Largest plausible compression ratio; zstd reaches 32,768 on runs of one byte."""


def verify(file: DesFile, depth: Depth, progress: Progress) -> Report:
    findings = Findings()
    progress(0, 1)
    _check_structure(file, findings)
    objects = checked = without = 0
    if depth.reaches(Depth.INDEX):
        objects = len(file.entries)
        _check_entries(file, findings, progress)
        _check_duplicates(file, findings)
        _check_places(file, findings)
        _check_name(file, findings)
        _check_sidecar(file, findings)
    if depth.reaches(Depth.CONTENT):
        checked, without = _check_contents(file, findings, progress)
    progress(1, 1)
    return Report(depth, objects, findings.all(), checked, without)


def _check_structure(file: DesFile, findings: Findings) -> None:
    if file.entries.walk.error:
        findings.error("des.index-cut", file.entries.lost_span, file.entries.walk.error)
    elif file.entries.trailing:
        message = (
            f"{plural(file.entries.trailing, 'byte')} of the index after the last entry: the reference ignores them"
        )
        findings.warning("des.index-trailing", file.entries.lost_span, message)
    version = file.entries.shape.name
    if version == "1":
        findings.note("des.version-1", Span("", 4, 5), "version 1: entries have no flags and no metadata")
    elif version != "2":
        message = "first layout of version 1, written on a single day; current readers cannot read it"
        findings.error("des.version-1-first", Span("", 4, 5), message)


def _check_entries(file: DesFile, findings: Findings, progress: Progress) -> None:
    entries = file.entries
    c = entries.columns
    rows = np.arange(len(entries), dtype=np.int64)
    _add_per_row(file, findings, Severity.ERROR, "des.entry", np.flatnonzero(entries.unreadable(rows)), entries.problem)
    bad = entries.bad_text_rows(progress)
    _add_per_row(file, findings, Severity.ERROR, "des.entry-text", bad, entries.bad_text)
    differing = np.flatnonzero(~c.big & (c.compressed != c.length))
    _add_per_row(
        file,
        findings,
        Severity.ERROR,
        "des.two-lengths",
        differing,
        lambda row: (
            f"length is {int(c.length[row]):,}, compressed_size {int(c.compressed[row]):,}: "
            "readers use either one, so they return different bytes"
        ),
    )
    flagged = np.flatnonzero(c.flags & np.uint8(255 - BIGFILE_FLAG))
    _add_per_row(
        file,
        findings,
        Severity.NOTE,
        "des.flags",
        flagged,
        lambda row: f"flags are {int(c.flags[row])}; only bit 0 is defined",
    )


def _add_per_row(
    file: DesFile,
    findings: Findings,
    severity: Severity,
    code: str,
    rows: NDArray[np.int64],
    describe: Callable[[int], str],
) -> None:
    """Add one finding per row; messages are built only for the findings that are listed."""
    for row in rows[:MAX_PER_CODE].tolist():
        message = f"entry {row}: {describe(row)}"
        findings.add(Finding(severity, code, file.entries.span(row), message, file.uid(row)))
    findings.more(severity, code, len(rows) - MAX_PER_CODE)


def _check_duplicates(file: DesFile, findings: Findings) -> None:
    for rows in file.entries.duplicates():
        last = int(rows[-1])
        before = ", ".join(map(str, rows[:-1][:10].tolist()))
        message = f"entry {last} has the same uid as entry {before}: readers return only the last one"
        findings.warning("des.duplicate-uid", file.entries.span(last), message, key=file.uid(last))


def _check_places(file: DesFile, findings: Findings) -> None:
    c = file.entries.columns
    rows = np.arange(len(file.entries), dtype=np.int64)
    low = ~c.big & (c.length > 0) & (c.offset < HEADER.size) & ~file.entries.unreadable(rows)
    text = "its payload begins inside the header, which no known writer does; it is read as declared"
    _add_per_row(file, findings, Severity.WARNING, "des.offset-in-header", np.flatnonzero(low), lambda row: text)
    data = file.data_map
    for first, second in data.overlaps[:2000].tolist():
        span = Span("", int(c.offset[second]), int(c.offset[second]) + int(c.length[second]))
        message = f"the payloads of entries {first} and {second} overlap"
        findings.warning("des.overlap", span, message, key=file.uid(second))
    for start, stop in data.gaps:
        findings.note(
            "des.gap",
            Span("", start, stop),
            f"{plural(stop - start, 'byte of the data belongs', 'bytes of the data belong')} to no entry",
        )


def _check_name(file: DesFile, findings: Findings) -> None:
    name = ShardName.parse(file.source.name)
    if name is None:
        return
    rows = np.arange(len(file.entries), dtype=np.int64)
    uids = [uid for uid in file.entries.uids(rows) if uid is not None]
    if not uids or infer_n_bits({name.hex: uids}) is not None:
        return
    message = (
        f"no n_bits from {MIN_BITS} to {MAX_BITS} routes all uids to {name.hex}, the number in the file name: "
        "routed lookups search other files"
    )
    findings.warning("des.routing", None, message)


def _check_sidecar(file: DesFile, findings: Findings) -> None:
    if file.sidecar_error is not None:
        findings.error("des.sidecar", file.sidecar_error.span, file.sidecar_error.message)
    sidecar = file.sidecar
    if sidecar is None:
        return
    place = sidecar.span
    for field, value in (("shard_size", file.source.size), ("shard_file", file.source.name)):
        stated = sidecar.fields.get(field, value)
        if stated != value:
            findings.error(
                "des.sidecar-shard", place, f"{field} is {stated!r} in the sidecar and {value!r} in the shard"
            )
    if len(file.tombstoned):
        findings.note(
            "des.tombstones",
            place,
            f"{plural(len(file.tombstoned), 'object is', 'objects are')} tombstoned; the bytes are still in the file",
        )
    untimed = [stone for stones in sidecar.tombstones.values() for stone in stones if not stone.timed]
    if untimed:
        findings.warning(
            "des.tombstone-key",
            place,
            f"{plural(len(untimed), 'tombstone is', 'tombstones are')} without a key uid:timestamp, such as "
            f"{short(untimed[0].key)}: DES' own readers still return the deleted content; add them again with --date",
        )
    known = set()
    for row, uid in enumerate(file.entries.uids(np.arange(len(file.entries), dtype=np.int64))):
        if uid is None:
            continue
        key = sidecar.key_of(uid, file.entries.created_at(row))
        if key is None:
            findings.warning(
                "des.sidecar-missing", file.entries.span(row), f"the sidecar has no entry for {uid!r}", key=uid
            )
            continue
        known.add(key)
        said = sidecar.index[key]
        wrong = [field for field, value in _facts(file, row).items() if field in said and said[field] != value]
        if wrong:
            message = f"sidecar and index differ for {uid!r} in: {', '.join(wrong)}"
            findings.error("des.sidecar-entry", file.entries.span(row), message, key=uid)
    for key in sidecar.index.keys() - known:
        findings.warning("des.sidecar-extra", place, f"the sidecar lists {key!r}, but the shard does not contain it")


def _facts(file: DesFile, row: int) -> dict[str, Any]:
    c = file.entries.columns
    if c.big[row]:
        digest = file.entries.hash(row).decode("ascii", "replace")
        return {"is_bigfile": True, "bigfile_hash": digest, "bigfile_size": int(c.size[row])}
    code = int(c.codec[row])
    return {
        "is_bigfile": False,
        "offset": int(c.offset[row]),
        "length": int(c.length[row]),
        "codec": CODECS[code] if code < len(CODECS) else str(code),
        "compressed_size": int(c.compressed[row]),
        "uncompressed_size": int(c.size[row]),
    }


def _check_contents(file: DesFile, findings: Findings, progress: Progress) -> tuple[int, int]:
    """Decompress each payload once; return the number of contents with a sha256, and the number without."""
    rows = np.arange(len(file.entries), dtype=np.int64)
    c, work = file.entries.columns, ContentBudget(file.source.size)
    readable = ~file.entries.unreadable(rows)
    absurd = readable & (c.codec > 0) & (c.size > DEFAULT_LIMIT) & (c.size // np.uint64(RATIO) >= c.length)
    _add_per_row(
        file,
        findings,
        Severity.ERROR,
        "des.over-limit",
        np.flatnonzero(absurd),
        lambda row: (
            f"not decompressed: {plural(c.size[row], 'byte')} declared, for {plural(c.length[row], 'stored byte')}"
        ),
    )
    bare = readable & ~absurd & ~c.big & (c.codec == 0) if file.sidecar is None else np.zeros(len(rows), np.bool_)
    _read_bare(file, np.flatnonzero(bare), progress)
    entries = _by_payload(file, np.flatnonzero(readable & ~absurd & ~bare))
    compared: Counter[bool] = Counter({True: len(rows) - len(entries) - int(bare.sum()), False: int(bare.sum())})
    payload: _Payload | None = None
    for number, (row, begins, largest) in enumerate(entries):
        progress(number, len(rows))
        findings.verified = number
        if begins or payload is None:
            payload = _check_payload(file, row, largest) if work.takes(_cost(file, row, largest)) else None
        if payload is not None:
            compared[_compare(file, row, payload, findings)] += 1
    work.report(findings, "des.unchecked")
    return compared[True], compared[False]


def _read_bare(file: DesFile, rows: NDArray[np.int64], progress: Progress) -> None:
    """Read the payloads that have neither codec nor checksum; only read errors (SourceError) can be detected."""
    c = file.entries.columns
    rows = rows[c.length[rows] > 0]
    if not len(rows):
        return
    rows = rows[np.argsort(c.offset[rows], kind="stable")]
    starts, stops = c.offset[rows], np.maximum.accumulate(c.offset[rows] + c.length[rows])
    apart = np.flatnonzero(np.append(True, starts[1:] > stops[:-1] + np.uint64(MERGE_GAP)))
    for first, last in zip(apart.tolist(), np.append(apart[1:], len(rows)).tolist(), strict=True):
        at = int(starts[first])
        for piece in read_pieces(file.source, at, int(stops[last - 1])):
            at += len(piece)
            progress(int(np.searchsorted(stops, at, "right")), len(file.entries))


def _by_payload(file: DesFile, rows: NDArray[np.int64]) -> list[tuple[int, bool, int]]:
    c = file.entries.columns
    named = np.zeros(len(rows), np.uint64)
    numbers: dict[bytes, int] = {}
    for at in np.flatnonzero(c.big[rows]).tolist():
        named[at] = numbers.setdefault(file.entries.hash(int(rows[at])).lower(), len(numbers) + 1)
    place = np.stack([named, c.offset[rows], c.length[rows], c.codec[rows].astype(np.uint64)])
    order = np.lexsort(place[::-1])
    place, rows = place[:, order], rows[order]
    begins = np.append(True, (place[:, 1:] != place[:, :-1]).any(axis=0))[: len(rows)]
    largest = np.maximum.reduceat(c.size[rows], np.flatnonzero(begins)) if len(rows) else c.size[:0]
    return list(zip(rows.tolist(), begins.tolist(), largest[np.cumsum(begins) - 1].tolist(), strict=True))


def _cost(file: DesFile, row: int, largest: int) -> int:
    """Return the number of bytes that are read or produced to check a payload; 0 for BigFiles."""
    c = file.entries.columns
    return 0 if c.big[row] else max(int(c.length[row]), largest if c.codec[row] else 0)


@dataclass(frozen=True, slots=True)
class _Payload:
    """Result of checking a payload or BigFile that several entries may share."""

    digest: str = ""
    size: int | None = None
    code: str = ""
    message: str = ""
    span: Span | None = None


def _check_payload(file: DesFile, row: int, largest: int) -> _Payload:
    big = file.entries.columns.big[row]
    try:
        pieces = (
            stream_bigfile(file.source.folder, file.entries, row, largest)
            if big
            else stream_inline(file.source, file.entries, row, largest)
        )
        return _Payload(*sha256_of(pieces))
    except LimitExceeded:
        return _Payload()
    except ExternalMissing as error:
        return _Payload(code="des.bigfile-missing", message=error.message)
    except FormatError as error:
        return _Payload(code="des.bigfile" if big else "des.content", message=error.message, span=error.span)


def _compare(file: DesFile, row: int, payload: _Payload, findings: Findings) -> bool:
    c = file.entries.columns
    code, message, span = payload.code, payload.message, payload.span
    if not code and payload.size != c.size[row] and (c.big[row] or c.codec[row]):
        code, declared = "des.bigfile" if c.big[row] else "des.content", f"{int(c.size[row]):,}"
        size = f"more than the {declared}" if payload.size is None else f"{plural(payload.size, 'byte')}; {declared}"
        message = f"the content has {size} declared"
    said = "" if code else _checksum(file, row)
    if said and said != payload.digest:
        code = "des.checksum"
        message = f"sha256 of the content: computed {payload.digest}, in the sidecar {said}"
    if code:
        findings.error(code, span or file.entries.span(row), f"entry {row}: {message}", key=file.uid(row))
    # A BigFile is compared with the hash in its name.
    return bool(code or said or c.big[row])


def _checksum(file: DesFile, row: int) -> str:
    if file.sidecar is None or (key := file.uid(row)) is None:
        return ""
    said = file.sidecar.entry(key, file.entries.created_at(row)) or {}
    checksum = said.get("checksum")
    return checksum.lower() if isinstance(checksum, str) and said.get("checksum_algo", "sha256") == "sha256" else ""
