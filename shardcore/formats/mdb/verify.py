"""Verification of a shard; `docs/formats/mdb.md` lists the checks of each depth."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from shardcore.codecs.xet.hashes import ZERO, HashArray, as_rows, chunk_hash, from_text, to_text, tree_roots
from shardcore.errors import ExternalMissing, FormatError
from shardcore.formats.mdb.content import ChunkRange, stream_chunks, stream_file
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.index import I64, MISNAMED, Mask, MdbIndex, WalkedSection, block_sums, running, texts_of
from shardcore.formats.mdb.layout import (
    BOOKEND,
    CAS_ENTRY,
    CHUNK,
    FILE,
    FILE_METADATA,
    FOOTER,
    FOOTER_SIZE,
    HEADER,
    KINDS,
    NO_EXPIRY,
    RECORD,
    RECORDS,
    XORB,
    FileFlag,
    descents,
    file_hashes,
    protect_many,
    range_hashes,
    shard_name,
)
from shardcore.formats.mdb.objects import indexed_block
from shardcore.formats.mdb.tree import date_text
from shardcore.model.finding import MAX_PER_CODE, ContentBudget, Depth, Findings, Report
from shardcore.model.objects import steps_by_sum
from shardcore.model.section import SectionRole
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.progress import Progress

REFERENCE_COST = 256
"""Time cost of a chunk reference, as the number of bytes that can be decompressed in the same time."""

SEGMENT_COST = 16 << 10
"""Time cost of finding and opening the xorb of a segment, in the same unit as `REFERENCE_COST`."""

LOOKED_FOR = 1000
"""Number of missing xorbs after which the search stops if nearly none was found."""

MOST_DIGESTS = 1 << 14
"""Maximum number of files whose SHA-256 is computed at the same time, xorb by xorb; others are read one by one."""

MOST_FAULTS = 16
"""Number of corrupt chunks of a xorb after which the other files that use it are read one by one."""

CHUNKS_AT_ONCE = 1 << 17
"""Number of chunk hashes in memory per batch; in total there can be many, because files may repeat chunks."""

LISTED = MAX_PER_CODE - 1
"""Number of findings listed per code; one more finding gives the number of the others."""

_NAME = re.compile(r"[0-9a-f]{64}\.mdb")

Add = Callable[..., None]
"""Function that adds a finding: `Findings.error` or `Findings.warning`, with its code already passed."""


def most_references(size: int) -> int:
    """Return the maximum number of chunks of a checked file in a shard of `size` bytes, which limits the memory."""
    return 200_000 + size // 16


def verify(file: MdbFile, depth: Depth, progress: Progress) -> Report:
    findings = Findings()
    progress(0, 4)
    index = file.load()
    if file.footer_damage is not None:
        findings.error("mdb.footer", file.footer_damage.span, file.footer_damage.message)
    checks = _Checks(file, index, findings)
    checks.check_structure()
    progress(1, 4)
    if depth.reaches(Depth.INDEX):
        checks.check_name()
        if not index.keyed:
            checks.check_xorb_hashes()
            progress(2, 4)
            checks.check_file_hashes(progress)
    if depth.reaches(Depth.CONTENT):
        checks.check_content(progress)
    progress(4, 4)
    return Report(depth, sum(index.counts), findings.all(), findings.verified)


class _Checks:
    """Checks of a shard; `sound` is the mask of files whose file hash and range hashes were computed and are right."""

    def __init__(self, file: MdbFile, index: MdbIndex, findings: Findings) -> None:
        self.file = file
        self.index = index
        self.findings = findings
        self.sound = np.zeros(index.counts[0], np.bool_)
        self._digests: dict[int, tuple[hashlib._Hash, int]] = {}  # by file: SHA-256 so far, number of chunks left

    def _each(self, code: str, numbers: I64, *, warn: bool = False) -> Iterator[tuple[int, Add]]:
        """Yield the first `LISTED` numbers, each with a function that adds a finding; then add one for the others."""
        add = partial(self.findings.warning if warn else self.findings.error, code)
        for number in numbers[:LISTED].tolist():
            yield number, add
        if len(numbers) > LISTED:
            add(None, f"{plural(len(numbers) - LISTED, 'more of these is', 'more of these are')} not listed")

    # --- structure

    def check_structure(self) -> None:
        layout = self.index.layout
        self._check_section(self.index.files, layout.file_info[1])
        self._check_section(self.index.xorbs, layout.cas_info[1])
        for gap in self.file.sections:
            if gap.role is SectionRole.UNKNOWN and self.file.footer_damage is None:
                message = "bytes that are not part of any known structure"
                self.findings.warning("mdb.gap", Span("", gap.start, gap.stop), message)
        for kind, count in zip(KINDS, self.index.counts, strict=True):
            if kind in layout.tables:
                self._check_table(kind, count)
        self._check_files()
        self._check_xorbs()
        self._check_footer()

    def check_name(self) -> None:
        name = self.file.source.name
        if _NAME.fullmatch(name) and (real := shard_name(self.index.data)) != name:
            self.findings.warning("mdb.name", None, f"the file is not named by its hash: computed {real}, named {name}")

    def _check_section(self, section: WalkedSection, stop: int) -> None:
        end = section.stop_byte
        if section.problem:
            self.findings.error("mdb.walk", Span("", min(end, stop), stop), section.problem)
            return
        if end != stop:
            message = f"the section's end mark ends at {end:#x}, but the footer gives {stop:#x} as the end"
            self.findings.error("mdb.section-end", Span("", end, stop), message)
        mark = section.stop - 1
        if section.rows(BOOKEND)[mark]["_zero"].any():
            span = BOOKEND.span("_zero", section.byte_of(mark))
            self.findings.warning("mdb.end-mark", span, "the last 16 bytes of the end mark are not zero")
        for kind, record in RECORDS.items():
            if "_unused" in record.offsets:
                records = np.flatnonzero(section.kinds == kind)
                used = records[section.rows(record)["_unused"][records].any(axis=1)]
                for number, warn in self._each("mdb.reserved", used, warn=True):
                    warn(record.span("_unused", section.byte_of(number)), "reserved bytes are not zero")

    def _check_table(self, kind: str, count: int) -> None:
        index, table = self.index, self.index.layout.tables[kind]
        known, wrong = index.table(kind)
        name, whole = f"the {kind} lookup table", table.span(0, table.count)
        for at, error in self._each("mdb.table-order", descents(index.table_rows(kind))):
            message = f"entry {at} of {name} has a lower table key than the one before it: searches miss it"
            error(table.span(at, at + 1), message)
        what = "chunk" if kind == CHUNK else f"{kind} header"
        for at, error in self._each("mdb.table-row", wrong):
            message = f"entry {at} of {name} does not refer to a {what} with its table key"
            error(table.span(at, at + 1), message)
        if table.count != count:
            message = f"{name} has {plural(table.count, 'entry')}, the shard {plural(count, kind)}"
            self.findings.error("mdb.table-count", whole, message)
            return
        marks = np.zeros(index.section(kind).size, np.bool_)
        marks[known.places] = True
        if lost := table.count - len(wrong) - int(np.count_nonzero(marks)):
            missing = plural(lost, f"{kind} is", f"{kind}s are")
            message = f"{missing} not in {name}, which has duplicate entries instead"
            self.findings.error("mdb.table-repeats", whole, message)

    def _check_files(self) -> None:
        index, section = self.index, self.index.files
        for number, error in self._each("mdb.segment", np.flatnonzero(index.wrong_segments)):
            file = section.block_with(number)
            message = f"segment {number - int(section.bounds[file])}: {index.segment_fault(number)}"
            error(section.span(section.entries[number]), message, key=section.hash_text(file))
        verified = section.has(FileFlag.WITH_VERIFICATION)
        if verified.any() and not verified.all():
            message = "only some files have verification entries; servers reject such shards"
            span = section.span(section.headers[np.argmin(verified)])
            self.findings.warning("mdb.mixed-verification", span, message)
        for number, error in self._each("mdb.empty-file", np.flatnonzero(index.misnamed_files)):
            error(section.span(section.headers[number]), MISNAMED, key=section.hash_text(number))
        # The content of files without segments is never read, so their SHA-256 is checked here.
        empty = (section.counts == 0) & section.has(FileFlag.WITH_METADATA_EXT)
        records = section.ends[empty] - 1
        stored = section.rows(FILE_METADATA)["sha256"][records]
        wrong = stored.any(axis=1) & (stored != np.frombuffer(from_text(hashlib.sha256().hexdigest()), np.uint8)).any(
            axis=1
        )
        for record, error in self._each("mdb.empty-digest", records[wrong]):
            error(section.span(record), "the SHA-256 of an empty file must be zero or that of an empty content")
        self._check_twice(section)

    def _check_twice(self, section: WalkedSection) -> None:
        whole = texts_of(section.hashes[section.headers])
        order = np.argsort(whole, kind="stable")
        again = order[1:][whole[order][1:] == whole[order][:-1]]
        for record, warn in self._each(f"mdb.{section.kind}-twice", section.headers[again], warn=True):
            warn(section.span(record), f"the same {section.kind} is listed before; streaming readers use the first one")

    def _check_xorbs(self) -> None:
        index, section = self.index, self.index.xorbs
        declared, sums = index.sizes(XORB), block_sums(index.chunk_sizes, section.bounds)
        for number, error in self._each("mdb.xorb-size", np.flatnonzero(declared != sums)):
            total = plural(sums[number], "byte")
            message = f"num_bytes_in_cas is {declared[number]:,}, but the chunks have {total}"
            error(section.span(section.headers[number]), message)
        name = "chunk_byte_range_start"
        starts, ends = index.chunks[name], index.chunk_starts[:-1]
        ends = ends - np.repeat(index.chunk_starts[section.bounds[:-1]], section.counts)
        for number, error in self._each("mdb.chunk-start", np.flatnonzero(starts != ends)):
            message = f"{name} is {starts[number]:#x}, but the chunks before it end at {ends[number]:#x}"
            error(CAS_ENTRY.span(name, section.byte_of(int(section.entries[number]))), message)
        self._check_twice(section)

    def _check_footer(self) -> None:
        index, findings, footer = self.index, self.findings, self.index.layout.footer
        if footer is None:
            if index.layout.header["footer_size"] and self.file.footer_damage is None:
                message = "footer_size is 200, but there is no footer, as in uploads until late 2025"
                findings.note("mdb.footer-size", HEADER.span("footer_size"), message)
            return
        span = partial(FOOTER.span, at=index.layout.size - FOOTER_SIZE)
        sums = {
            "stored_bytes_on_disk": index.xorb_headers["num_bytes_on_disk"],
            "materialized_bytes": index.sizes(FILE),
            "stored_bytes": index.sizes(XORB),
        }
        for name, sizes in sums.items():
            if footer[name] != (total := int(sizes.sum(dtype=np.int64))):
                message = f"{name} is {footer[name]:,}, but the records add up to {total:,}"
                findings.warning("mdb.footer-sum", span(name), message)
        if footer["_buffer"].strip(b"\0"):
            findings.warning("mdb.reserved", span("_buffer"), "reserved bytes are not zero")
        expiry = footer["shard_key_expiry"]
        if 0 < expiry < NO_EXPIRY and expiry < datetime.now(UTC).timestamp():
            message = f"expired since {date_text(expiry)}: clients no longer use this shard, but it can be read"
            findings.note("mdb.expired", span("shard_key_expiry"), message)

    # --- hashes that follow from the chunk hashes in the shard, which must not be keyed

    def check_xorb_hashes(self) -> None:
        section, sizes = self.index.xorbs, self.index.chunk_sizes.astype(np.uint64)
        roots = [section.hashes[:0]]
        for some in steps_by_sum(section.counts, CHUNKS_AT_ONCE):
            bounds = section.bounds[some.start : some.stop + 1]
            inside = slice(int(bounds[0]), int(bounds[-1]))
            roots.append(tree_roots(section.hashes[section.entries[inside]], sizes[inside], bounds - bounds[0]))
        what = "hash of the xorb, from its chunk hashes"
        self._compare("mdb.xorb-hash", what, section, section.headers, np.concatenate(roots))

    def check_file_hashes(self, progress: Progress) -> None:
        """Check range and file hashes of files whose xorbs are all described in this shard, within the work limit."""
        index, section = self.index, self.index.files
        known = (index.segment_xorbs >= 0) & ~index.wrong_segments
        lengths = np.where(known, index.segment_lengths, 0)
        # Even a small shard may refer to the same chunks a million times.
        large = block_sums(lengths, section.bounds) > most_references(index.layout.size)
        known &= ~np.repeat(large, section.counts)
        per_file = block_sums(np.where(known, lengths, 0), section.bounds)
        work = ContentBudget(index.layout.size)
        for some in steps_by_sum(per_file, CHUNKS_AT_ONCE):
            if not work.takes(REFERENCE_COST * int(per_file[some].sum())):
                work.unchecked = len(section.headers) - some.start
                break
            self._check_batch(some.start, some.stop, known)
            progress(2 * len(section.headers) + some.start, 4 * len(section.headers))
        work.unchecked += int(np.count_nonzero(large))
        work.report(self.findings, "mdb.unchecked")

    def _check_batch(self, first: int, last: int, known: Mask) -> None:
        """Check the files `[first, last)`; `known` is the mask of segments whose chunk hashes are in this shard."""
        index, section = self.index, self.index.files
        bounds = section.bounds[first : last + 1]
        segments = bounds[0] + np.flatnonzero(known[bounds[0] : bounds[-1]])
        belongs = np.repeat(np.arange(first, last), section.counts[first:last])[segments - bounds[0]]
        lengths = index.segment_lengths[segments]
        begins = running(lengths)
        starts = index.xorbs.bounds[index.segment_xorbs[segments]] + index.segment_edges[0][segments]
        chunks = np.repeat(starts - begins[:-1], lengths) + np.arange(begins[-1])
        hashes = index.xorbs.hashes[index.xorbs.entries[chunks]]
        has = section.has(FileFlag.WITH_VERIFICATION)[belongs]
        records = section.entries[segments[has]] + section.counts[belongs[has]]
        what = "range hash of the segment from its chunk hashes"
        ranges = range_hashes(hashes, begins)[has]
        wrong = belongs[has][self._compare("mdb.range-hash", what, section, records, ranges, belongs[has])]
        missing = block_sums(~known[bounds[0] : bounds[-1]], bounds - bounds[0])
        whole = (missing == 0) & (section.counts[first:last] > 0)
        files, kept = first + np.flatnonzero(whole), np.repeat(whole[belongs - first], lengths)
        counts = np.bincount(belongs - first, lengths, last - first).astype(np.int64)[whole]
        found = file_hashes(hashes[kept], index.chunk_sizes[chunks[kept]].astype(np.uint64), running(counts))
        what = "hash of the file from its chunk hashes"
        self.sound[files] = ~self._compare("mdb.file-hash", what, section, section.headers[files], found, files)
        self.sound[wrong] = False

    def _compare(
        self, code: str, what: str, section: WalkedSection, records: I64, found: HashArray, files: I64 | None = None
    ) -> Mask:
        """Report the records whose hash differs from the computed one in `found`, and return a mask of them.

        `files` are the numbers of the files to which the records belong; None for records of xorbs.
        """
        stored = section.hashes[records]
        wrong: Mask = (found != stored).any(axis=1)
        for at, error in self._each(code, np.flatnonzero(wrong)):
            message = f"{what}: computed {to_text(found[at].tobytes())}, stored {to_text(stored[at].tobytes())}"
            key = None if files is None else section.hash_text(int(files[at]))
            error(RECORD.span("hash", section.byte_of(int(records[at]))), message, key=key)
        return wrong

    # --- content in the xorbs

    @cached_property
    def references(self) -> I64:
        """Number of chunks per file; a chunk in several segments counts each time."""
        return block_sums(self.index.segment_lengths, self.index.files.bounds)

    def check_content(self, progress: Progress) -> None:
        """Read every file, then the chunks that no file uses; missing xorbs become notes."""
        index, section, findings = self.index, self.index.files, self.findings
        lost_segments, lost_xorbs = self._out_of_reach()
        files, xorbs, _ = index.counts
        settled = index.damaged_files | (section.counts == 0)
        most, work = most_references(index.layout.size), ContentBudget(index.layout.size)
        findings.verified = int(np.count_nonzero(settled))
        chosen = list[int]()
        costs = REFERENCE_COST * self.references + SEGMENT_COST * section.counts + index.file_sizes
        for number in np.flatnonzero(~settled & (block_sums(lost_segments, section.bounds) == 0)).tolist():
            if self.references[number] > most or not work.takes(int(costs[number])):
                work.unchecked += self.references[number] > most
            else:
                chosen.append(number)

        def report_progress() -> None:
            progress(findings.verified, files + xorbs)

        intact = self._read_by_xorb(np.array(chosen, np.int64), report_progress)
        for number in (number for number in chosen if not intact[number]):
            report_progress()
            intact[number] = self._check_file(number)
            findings.verified += 1
        used = self._used_by(intact)
        for number in np.flatnonzero(~lost_xorbs).tolist():
            progress(files + number, files + xorbs)
            inside = slice(*index.xorbs.bounds[number : number + 2].tolist())
            count = inside.stop - inside.start
            size = int(index.chunk_sizes[inside][~used[inside]].sum(dtype=np.int64))
            if work.takes(size + REFERENCE_COST * count):
                self._check_xorb(number, inside, used[inside])
                findings.verified += 1 + count
        work.report(findings, "mdb.unchecked")

    def _out_of_reach(self) -> tuple[Mask, Mask]:
        """Return two masks: of the segments whose xorb is missing, and of the listed xorbs that are missing.

        Each xorb is searched once. After `LOOKED_FOR` misses and nearly no hit, all others count as missing.
        """
        index, findings = self.index, self.findings
        named = np.concatenate([index.segments["cas_hash"], index.xorb_headers["cas_hash"]])
        _, first, inverse = np.unique(texts_of(named), return_index=True, return_inverse=True)
        missing = np.zeros(len(first), np.bool_)
        found = 0
        order = np.argsort(first)
        for at, place in enumerate(order.tolist()):
            text = to_text(named[first[place]].tobytes())
            if at - found >= LOOKED_FOR and LOOKED_FOR * found <= at:
                missing[order[at:]] = True
                more = plural(len(order) - at, "more xorb is", "more xorbs are")
                message = f"{more} listed but not searched, because nearly all others are missing"
                findings.note("mdb.xorb-missing", None, message)
                break
            try:
                self.file.xorbs.get(text, self.file.fetch_xorb)
                found += 1
            except ExternalMissing:
                missing[place] = True
                self._note_missing(text)
            except FormatError:
                found += 1
        lost = missing[inverse.ravel()]
        return lost[: len(index.segments)], lost[len(index.segments) :]

    def _note_missing(self, text: str) -> None:
        self.findings.note("mdb.xorb-missing", None, f"xorb {text} not found: its bytes are not checked")

    def _read_by_xorb(self, chosen: I64, report_progress: Callable[[], None]) -> Mask:
        """Read the chunks of the `chosen` files xorb by xorb, each chunk once, and return a mask of the intact files.

        `_check_file` must read the others: damaged files, to find the error, and files that use chunks in a different
        order, because a SHA-256 is computed in the order of the file.
        """
        index, section = self.index, self.index.files
        intact = np.zeros(index.counts[0], np.bool_)
        chosen = chosen[self.sound[chosen]]
        owners, counts = np.repeat(chosen, section.counts[chosen]), section.counts[chosen]
        segments = np.repeat(section.bounds[chosen] - running(counts)[:-1], counts) + np.arange(len(owners))
        (first, last), xorbs = (edge[segments] for edge in index.segment_edges), index.segment_xorbs[segments]
        # Files use xorbs in the order in which these were written, which is not that of their hashes.
        listed, at, inverse = np.unique(xorbs, return_index=True, return_inverse=True)
        order = np.argsort(at)
        ranks = np.argsort(order)[inverse.ravel()]
        left_out = ~np.array([self._is_as_listed(xorb) for xorb in listed.tolist()], np.bool_)[inverse.ravel()]
        back = (np.diff(ranks) < 0) | (np.diff(ranks) == 0) & (first[1:] < last[:-1])
        left_out[1:] |= back & (np.diff(owners) == 0)
        kept = ~np.isin(owners, owners[left_out])
        rows = np.stack([ranks, first, last, owners], axis=1)[kept]
        rows = rows[np.lexsort(rows[:, 1::-1].T)]
        wanted = self._used_by(np.isin(np.arange(len(intact)), owners[kept]))
        bounds = np.searchsorted(rows[:, 0], np.arange(len(order) + 1)).tolist()
        for xorb, edges in zip(listed[order].tolist(), pairwise(bounds), strict=True):
            for done in self._read_xorb(xorb, wanted, rows[slice(*edges), 1:]):
                intact[done] = True
                self.findings.verified += len(done)
                report_progress()
        return intact

    def _read_xorb(self, xorb: int, wanted: Mask, rows: I64) -> Iterator[list[int]]:
        """Read the chunks of a xorb in the mask `wanted`; after each, yield the files that it completes and are intact.

        `rows` has first chunk, last chunk plus one, and file number of each segment, in the order of the first chunks.
        """
        index, waiting, active, faults = self.index, deque(rows.tolist()), list[list[int]](), 0
        text, inside = index.xorbs.hash_text(xorb), slice(*index.xorbs.bounds[xorb : xorb + 2].tolist())
        for number, stop in _runs(wanted[inside]):
            while number < stop and faults < MOST_FAULTS:
                with suppress(FormatError):
                    for chunk in stream_chunks(self.file, ChunkRange(text, number, stop, 0, Span("", 0, 0))):
                        while waiting and waiting[0][0] <= number:
                            active.append(waiting.popleft())
                        yield [file for _, _, file in active if self._completes(file, chunk)]
                        number += 1
                        active = [row for row in active if row[1] > number]
                if number < stop:
                    # Files that use this chunk never become complete. Each new start reads some neighbours again.
                    faults, number = faults + 1, number + 1
                    active = [row for row in active if row[1] > number]

    def _completes(self, file: int, chunk: bytes) -> bool:
        """Add the next chunk of a file; return True if it was the last one and the SHA-256 is right."""
        section = self.index.files
        has_digest = section.flags[file] & FileFlag.WITH_METADATA_EXT
        digest, left = (
            self._digests.pop(file) if file in self._digests else (hashlib.sha256(), int(self.references[file]))
        )
        if has_digest:
            digest.update(chunk)
        if left > 1:
            if len(self._digests) < MOST_DIGESTS:
                self._digests[file] = digest, left - 1
            return False
        stored = section.hashes[section.ends[file] - 1].tobytes()
        return not has_digest or stored in (ZERO, from_text(digest.hexdigest()))

    def _is_as_listed(self, number: int) -> bool:
        """Return True if a xorb itself lists the chunks that this shard lists; the hashes must not be keyed."""
        index, section = self.index, self.index.xorbs
        inside = slice(*section.bounds[number : number + 2].tolist())
        try:
            xorb = self.file.xorbs.get(section.hash_text(number), self.file.fetch_xorb)
            hashes, sizes = xorb.chunk_hashes, xorb.chunk_sizes
        except (ExternalMissing, FormatError):
            return False
        same = hashes is not None and np.array_equal(hashes, section.hashes[section.entries[inside]])
        return same and np.array_equal(sizes, index.chunk_sizes[inside])

    def _used_by(self, files: Mask) -> Mask:
        """Return a mask of the chunks in this shard that the files use."""
        index, section = self.index, self.index.files
        segments = np.flatnonzero(np.repeat(files, section.counts) & (index.segment_xorbs >= 0))
        starts = index.xorbs.bounds[index.segment_xorbs[segments]]
        changes = np.zeros(len(index.chunks) + 1, np.int64)
        for edge, step in zip(index.segment_edges, (1, -1), strict=True):
            np.add.at(changes, starts + edge[segments], step)
        used: Mask = np.cumsum(changes[:-1]) > 0
        return used

    def _check_file(self, number: int) -> bool:
        """Read one file and report its first error; return True if it is intact."""
        block = indexed_block(self.index, number)
        try:
            for _ in stream_file(self.file, block):
                pass
        except FormatError as error:
            span = error.span or Span("", block.start, block.stop)
            self.findings.error("mdb.file", span, error.message, key=block.key)
            return False
        return True

    def _check_xorb(self, number: int, inside: slice, used: Mask) -> None:
        """Compare the records that describe a xorb with the xorb; chunks outside the mask `used` are decompressed."""
        index, section, findings = self.index, self.index.xorbs, self.findings
        text, place = section.hash_text(number), section.span(section.headers[number])
        key, listed = f"xorb:{text}", inside.stop - inside.start
        try:
            xorb = self.file.xorbs.get(text)
            if xorb.chunk_count != listed:
                message = f"the shard lists {plural(listed, 'chunk')}, but the xorb itself has {xorb.chunk_count:,}"
                findings.error("mdb.xorb-chunks", place, message, key=key)
                return
            hashes = self._hashes(text, xorb.chunk_hashes, used, place)
        except ExternalMissing:  # removed since it was found
            self._note_missing(text)
            return
        except FormatError as error:
            findings.error("mdb.xorb", error.span or place, error.message, key=key)
            return
        records = section.entries[inside]
        wrong = (protect_many(index.layout.key, hashes) != section.hashes[records]).any(axis=1)
        wrong |= xorb.chunk_sizes != index.chunk_sizes[inside]
        for record in records[wrong].tolist():
            message = f"hash or size differ from those of chunk {record - records[0]} in the xorb itself"
            findings.error("mdb.chunk", section.span(record), message, key=key)

    def _hashes(self, text: str, listed: HashArray | None, used: Mask, place: Span) -> HashArray:
        """Return the `listed` hashes after checking the chunks outside the mask `used`; if None, compute all hashes."""

        def read(first: int, last: int) -> Iterator[bytes]:
            return stream_chunks(self.file, ChunkRange(text, first, last, 0, place))

        if listed is None:
            return as_rows([chunk_hash(chunk) for chunk in read(0, len(used))])
        for edges in _runs(~used):
            for _ in read(*edges):
                pass
        return listed


def _runs(mask: Mask) -> list[list[int]]:
    """Return start and stop of each run of True values in a mask."""
    runs: list[list[int]] = np.flatnonzero(np.diff(mask, prepend=False, append=False)).reshape(-1, 2).tolist()
    return runs
