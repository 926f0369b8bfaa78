"""Verification of a DES shard; `docs/formats/des.md` lists the checks of each depth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.content_hash import sha256_of
from shardcore.dataclasses import dataclass
from shardcore.errors import ExternalMissing, FormatError, LimitExceeded
from shardcore.formats.des.entries import Rows
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import BIGFILE_FLAG, HEADER
from shardcore.formats.des.routing import MAX_BITS, MIN_BITS, ShardName, infer_n_bits
from shardcore.formats.des.sidecar import Sidecar, entry_fields
from shardcore.model.finding import MAX_PER_CODE, ContentBudget, Depth, Finding, Findings, Report, Severity
from shardcore.model.span import Span
from shardcore.model.text import plural, short
from shardcore.progress import Progress
from shardcore.shards.shard import DEFAULT_LIMIT
from shardcore.sources.base import MERGE_GAP, read_pieces

RATIO = 1 << 16
"""Largest plausible compression ratio; zstd reaches 32,768 on runs of one byte."""

MOST_OVERLAPS = 2000


def verify(file: DesFile, depth: Depth, progress: Progress) -> Report:
    checks = _Checks(file, progress)
    progress(0, 1)
    checks.structure()
    objects = checked = without = 0
    if depth.reaches(Depth.INDEX):
        objects = len(file.entries)
        checks.entries()
        checks.places()
        checks.name()
        checks.sidecar()
    if depth.reaches(Depth.CONTENT):
        checked, without = checks.contents()
    progress(1, 1)
    return Report(depth, objects, checks.findings.all(), checked, without)


@dataclass(frozen=True, slots=True)
class _Payload:
    """Result of checking a payload or BigFile that several entries may share; `size` is None if not read to its end."""

    digest: str = ""
    size: int | None = None
    code: str = ""
    message: str = ""
    span: Span | None = None


class _Checks:
    def __init__(self, file: DesFile, progress: Progress) -> None:
        self._file, self._progress = file, progress
        self._entries = file.entries
        self.findings = Findings()

    def _per_row(self, severity: Severity, code: str, rows: Rows, describe: Callable[[int], str]) -> None:
        """Add one finding per row; messages are built only for the findings that are listed."""
        for row in rows[:MAX_PER_CODE].tolist():
            message = f"entry {row}: {describe(row)}"
            self.findings.add(Finding(severity, code, self._entries.span(row), message, self._file.uid(row)))
        self.findings.more(severity, code, len(rows) - MAX_PER_CODE)

    def structure(self) -> None:
        lost, error = self._entries.lost_span, self._entries.walk.error
        if error:
            self.findings.error("des.index-cut", lost, error)
        elif lost.size:
            text = f"{plural(lost.size, 'byte')} after the last entry of the index: the reference ignores them"
            self.findings.warning("des.index-trailing", lost, text)
        version, place = self._entries.shape.name, HEADER.span("version")
        if version == "1":
            self.findings.note("des.version-1", place, "version 1: entries have no flags and no metadata")
        elif version != "2":
            text = "first layout of version 1, written on a single day; current readers cannot read it"
            self.findings.error("des.version-1-first", place, text)

    def entries(self) -> None:
        entries, c = self._entries, self._entries.columns
        self._unreadable = entries.unreadable(entries.columns)
        self._per_row(Severity.ERROR, "des.entry", np.flatnonzero(self._unreadable), entries.problem)
        self._per_row(Severity.ERROR, "des.entry-text", entries.bad_text_rows(self._progress), entries.bad_text)
        self._per_row(
            Severity.ERROR,
            "des.two-lengths",
            np.flatnonzero(~c.big & (c.compressed != c.length)),
            lambda row: (
                f"length is {int(c.length[row]):,}, compressed_size {int(c.compressed[row]):,}: "
                "readers use either one, so they return different bytes"
            ),
        )
        self._per_row(
            Severity.NOTE,
            "des.flags",
            np.flatnonzero(c.flags & np.uint8(255 - BIGFILE_FLAG)),
            lambda row: f"flags are {int(c.flags[row])}; only bit 0 is defined",
        )
        for rows in entries.duplicates():
            last = int(rows[-1])
            before = ", ".join(map(str, rows[:-1][:10].tolist()))
            message = f"entry {last} has the same uid as entry {before}: readers return only the last one"
            self.findings.warning("des.duplicate-uid", entries.span(last), message, key=self._file.uid(last))

    def places(self) -> None:
        entries, c, data = self._entries, self._entries.columns, self._file.data_map
        low = ~c.big & (c.length > 0) & (c.offset < HEADER.size) & ~self._unreadable
        text = "its payload begins inside the header, which no known writer does; it is read as declared"
        self._per_row(Severity.WARNING, "des.offset-in-header", np.flatnonzero(low), lambda row: text)
        for first, second in data.overlaps[:MOST_OVERLAPS].tolist():
            message = f"the payloads of entries {first} and {second} overlap"
            self.findings.warning("des.overlap", entries.payload(second), message, key=self._file.uid(second))
        for start, stop in data.gaps:
            many = plural(stop - start, "byte of the data belongs", "bytes of the data belong")
            self.findings.note("des.gap", Span("", start, stop), f"{many} to no entry")

    def name(self) -> None:
        name = ShardName.parse(self._file.source.name)
        if name is None:
            return
        uids = [uid for uid in self._entries.uids(self._entries.all_rows) if uid is not None]
        if uids and infer_n_bits({name.hex: uids}) is None:
            message = (
                f"no n_bits from {MIN_BITS} to {MAX_BITS} routes all uids to {name.hex}, the number in the file name: "
                "routed lookups search other files"
            )
            self.findings.warning("des.routing", None, message)

    # --- the sidecar ----------------------------------------------------------------------------------------------

    def sidecar(self) -> None:
        file, findings = self._file, self.findings
        if file.sidecar_error is not None:
            findings.error("des.sidecar", file.sidecar_error.span, file.sidecar_error.message)
        sidecar = file.sidecar
        if sidecar is None:
            return
        place = sidecar.span
        for field, value in (("shard_size", file.source.size), ("shard_file", file.source.name)):
            stated = sidecar.fields.get(field, value)
            if stated != value:
                text = f"{field} is {stated!r} in the sidecar and {value!r} in the shard"
                findings.error("des.sidecar-shard", place, text)
        if len(file.tombstoned):
            gone = plural(len(file.tombstoned), "object is", "objects are")
            findings.note("des.tombstones", place, f"{gone} tombstoned; the bytes are still in the file")
        untimed = [stone for stones in sidecar.tombstones.values() for stone in stones if not stone.timed]
        if untimed:
            findings.warning(
                "des.tombstone-key",
                place,
                f"{plural(len(untimed), 'tombstone is', 'tombstones are')} without a key uid:timestamp, such as "
                f"{short(untimed[0].key)}: DES' own readers still return the deleted content; add them again with "
                "--date",
            )
        self._sidecar_entries(sidecar)

    def _sidecar_entries(self, sidecar: Sidecar) -> None:
        entries, known = self._entries, set()
        for row, uid in enumerate(entries.uids(entries.all_rows)):
            if uid is None:
                continue
            key = sidecar.key_of(uid, entries.created_at(row))
            if key is None:
                text = f"the sidecar has no entry for {uid!r}"
                self.findings.warning("des.sidecar-missing", entries.span(row), text, key=uid)
                continue
            known.add(key)
            said = sidecar.index[key]
            fields = {name: value for name, value in entry_fields(entries, row).items() if value is not None}
            names = dict.fromkeys(("is_bigfile", *fields))
            wrong = [name for name in names if name in said and said[name] != fields[name]]
            if wrong:
                message = f"sidecar and index differ for {uid!r} in: {', '.join(wrong)}"
                self.findings.error("des.sidecar-entry", entries.span(row), message, key=uid)
        for key in sidecar.index.keys() - known:
            text = f"the sidecar lists {key!r}, but the shard does not contain it"
            self.findings.warning("des.sidecar-extra", sidecar.span, text)

    # --- contents -------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[int, int]:
        """Decompress each payload once; return the numbers of checked contents with a sha256 and without."""
        entries, c, work = self._entries, self._entries.columns, ContentBudget(self._file.source.size)
        absurd = ~self._unreadable & (c.codec > 0) & (c.size > DEFAULT_LIMIT)
        absurd &= c.size // np.uint64(RATIO) >= c.length
        self._per_row(
            Severity.ERROR,
            "des.over-limit",
            np.flatnonzero(absurd),
            lambda row: (
                f"not decompressed: {plural(c.size[row], 'byte')} declared, for {plural(c.length[row], 'stored byte')}"
            ),
        )
        usable = ~self._unreadable & ~absurd
        bare = usable & ~c.big & (c.codec == 0) & np.bool_(self._file.sidecar is None)
        self._read_bare(np.flatnonzero(bare))
        rows, begins, largest = self._by_payload(np.flatnonzero(usable & ~bare))
        without = int(bare.sum())
        compared: Counter[bool] = Counter({True: len(entries) - len(rows) - without, False: without})
        # Bytes that are read or produced to check each payload; 0 for BigFiles.
        costs = np.where(c.big[rows], 0, np.maximum(c.length[rows], np.where(c.codec[rows] > 0, largest, 0)))
        payload: _Payload | None = None
        every = zip(rows.tolist(), begins.tolist(), largest.tolist(), costs.tolist(), strict=True)
        for number, (row, first, most, cost) in enumerate(every):
            self._progress(number, len(entries))
            self.findings.verified = number
            # Entries of a payload that is not checked are counted one by one.
            if first or payload is None:
                payload = self._payload(row, most) if work.takes(cost) else None
            if payload is not None:
                compared[self._compare(row, payload)] += 1
        work.report(self.findings, "des.unchecked")
        return compared[True], compared[False]

    def _read_bare(self, rows: Rows) -> None:
        """Read the payloads that have neither codec nor checksum; only read errors (SourceError) can be detected."""
        c = self._entries.columns
        rows = rows[c.length[rows] > 0]
        if not len(rows):
            return
        rows = rows[np.argsort(c.offset[rows], kind="stable")]
        starts, stops = c.offset[rows], np.maximum.accumulate(c.offset[rows] + c.length[rows])
        apart = np.flatnonzero(np.append(True, starts[1:] > stops[:-1] + np.uint64(MERGE_GAP)))
        for first, last in zip(apart.tolist(), np.append(apart[1:], len(rows)).tolist(), strict=True):
            at = int(starts[first])
            for piece in read_pieces(self._file.source, at, int(stops[last - 1])):
                at += len(piece)
                self._progress(int(np.searchsorted(stops, at, "right")), len(self._entries))

    def _by_payload(self, rows: Rows) -> tuple[Rows, NDArray[np.bool_], NDArray[np.uint64]]:
        """Return rows sorted by payload, a mask of the first row per payload, and the largest size declared for it."""
        c = self._entries.columns
        named = np.zeros(len(rows), np.uint64)
        numbers: dict[bytes, int] = {}
        for at in np.flatnonzero(c.big[rows]).tolist():
            named[at] = numbers.setdefault(self._entries.hash(int(rows[at])).lower(), len(numbers) + 1)
        place = np.stack([named, c.offset[rows], c.length[rows], c.codec[rows].astype(np.uint64)])
        order = np.lexsort(place[::-1])
        place, rows = place[:, order], rows[order]
        begins = np.append(True, (place[:, 1:] != place[:, :-1]).any(axis=0))[: len(rows)]
        largest = np.maximum.reduceat(c.size[rows], np.flatnonzero(begins)) if len(rows) else c.size[:0]
        return rows, begins, largest[np.cumsum(begins) - 1]

    def _payload(self, row: int, largest: int) -> _Payload:
        big = self._entries.columns.big[row]
        try:
            return _Payload(*sha256_of(self._file.pieces(row, limit=largest)))
        except LimitExceeded:
            return _Payload()
        except ExternalMissing as error:
            return _Payload(code="des.bigfile-missing", message=error.message)
        except FormatError as error:
            return _Payload(code="des.bigfile" if big else "des.content", message=error.message, span=error.span)

    def _compare(self, row: int, payload: _Payload) -> bool:
        c = self._entries.columns
        code, message, declared = payload.code, payload.message, int(c.size[row])
        if not code and payload.size != declared and (c.big[row] or c.codec[row]):
            code = "des.bigfile" if c.big[row] else "des.content"
            size = "more bytes" if payload.size is None else plural(payload.size, "byte")
            message = f"the content has {size}; the entry declares {declared:,}"
        said = "" if code else self._checksum(row)
        if said and said != payload.digest:
            code = "des.checksum"
            message = f"sha256 of the content: computed {payload.digest}, in the sidecar {said}"
        if code:
            place = payload.span or self._entries.span(row)
            self.findings.error(code, place, f"entry {row}: {message}", key=self._file.uid(row))
        # A BigFile is compared with the hash in its name.
        return bool(code or said or c.big[row])

    def _checksum(self, row: int) -> str:
        sidecar, uid = self._file.sidecar, self._file.uid(row)
        if sidecar is None or uid is None:
            return ""
        said = sidecar.entry(uid, self._entries.created_at(row)) or {}
        checksum = said.get("checksum")
        return checksum.lower() if isinstance(checksum, str) and said.get("checksum_algo", "sha256") == "sha256" else ""
