"""Verification of a Read Shard; `docs/formats/swh.md` lists the checks of each depth."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError
from shardcore.formats.swh.chd import find_duplicates
from shardcore.formats.swh.file import WINDOW, SwhFile, order_by_offset
from shardcore.formats.swh.hash_section import directory_of
from shardcore.formats.swh.layout import DATA_START, DIRECTORY_ENTRY, HEADER, OBJECT, WHOLE_MAGIC
from shardcore.formats.swh.lookup import FEW_KEYS, is_certain
from shardcore.model.finding import Depth, Findings, Report
from shardcore.model.objects import State
from shardcore.model.parallel import in_order
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural
from shardcore.progress import Progress
from shardcore.writing.temporary_names import has_journal

CONTENT_WINDOW = 1 << 22
"""Maximum number of bytes of the objects section per read."""

HASHERS = min(os.cpu_count() or 1, 4)
"""Number of threads for sha256; hashlib releases the interpreter lock only for contents above 2 KB."""

COPIED = 2048
"""Average object size in bytes up to which one thread hashes copies of the contents, faster than memory views."""

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]


MOST_ENTRIES = 100
"""Maximum number of findings about wrong entries of the select directory."""


def verify(file: SwhFile, depth: Depth, progress: Progress) -> Report:
    with file.enough_memory():
        return _verify(file, depth, progress)


def _verify(file: SwhFile, depth: Depth, progress: Progress) -> Report:
    findings = Findings()
    progress(0, 1)
    if file.damage is not None:
        findings.error("swh.hash-function", file.damage.span, file.damage.message)
    if has_journal(file.source):
        from shardcore.writing.undo import note_interrupted

        note_interrupted(findings, file.source, "swh")
    _check_structure(file, findings)
    objects = checked = without = 0
    if depth.reaches(Depth.INDEX):
        slots, offsets, keys, damaged = _live_slots(file, findings, progress)
        objects = len(slots)
        _check_counts(file, objects, damaged, findings)
        for first, second in find_duplicates(keys)[:1] if objects else ():
            span = file.layout.slot_span(int(slots[second]), "key")
            message = f"slots {int(slots[first])} and {int(slots[second])} have the same key"
            findings.error("swh.duplicate-key", span, message, key=keys[second].tobytes().hex())
        _check_function(file, slots, keys, findings)
        if depth.reaches(Depth.CONTENT):
            order = order_by_offset(offsets)
            # `take` copies rows several times as fast as indexing.
            contents = ContentCheck(file, slots[order], offsets[order], keys.take(order, axis=0), damaged, findings)
            contents.check(progress)
            checked, without = contents.checked, contents.without_checksum
    progress(1, 1)
    return Report(depth, objects, findings.all(), checked, without)


def _check_structure(file: SwhFile, findings: Findings) -> None:
    magic, known = file.header["magic"], len(WHOLE_MAGIC)
    if magic[known:].strip(b"\0"):
        message = f"bytes {known} to {len(magic) - 1} of the magic are not all zero; readers ignore them"
        findings.note("swh.magic-rest", Span("", known, len(magic)), message)
    padding, trailing = file.section("padding"), file.section("trailing")
    if padding is not None and padding.size <= WINDOW and file.source.read(padding.start, padding.stop).strip(b"\0"):
        message = "the padding is not all zero: the shard may be on a reused device"
        findings.note("swh.padding", Span("", padding.start, padding.stop), message)
    if trailing is not None:
        message = plural(trailing.size, "byte follows the end of the shard", "bytes follow the end of the shard")
        findings.note("swh.trailing", Span("", trailing.start, trailing.stop), message)
    if (position := file.header["objects_position"]) != DATA_START:
        message = f"objects_position is {position:#x}; every known writer stores {DATA_START:#x}"
        findings.note("swh.objects-position", HEADER.span("objects_position"), message)


def _live_slots(file: SwhFile, findings: Findings, progress: Progress) -> tuple[I64, I64, NDArray[np.uint8], int]:
    """Return numbers, offsets and keys of the live slots, and the number of damaged slots; report faults of slots."""
    slots: list[I64] = []
    offsets: list[I64] = []
    keys: list[NDArray[np.uint8]] = []
    zeros = oldest = damaged = 0
    for first, rows in file.slot_windows():
        progress(first, file.layout.slots)
        states = file.layout.states(rows["offset"])
        live = np.flatnonzero(states == State.LIVE)
        slots.append(live + first)
        offsets.append(rows["offset"][live].astype(np.int64))
        keys.append(rows["key"].take(live, axis=0))
        if len(old := np.flatnonzero(rows["offset"] == 0)):
            oldest = oldest if zeros else first + int(old[0])
            zeros += len(old)
        damaged += _check_others(file, first, rows, states, findings)
    if zeros:
        count = plural(zeros, "slot without an object has", "slots without an object have")
        message = f"{count} offset 0 instead of 2^64 - 1, as older writers store"
        findings.note("swh.legacy-unused", file.layout.slot_span(oldest, "offset"), message)
    return np.concatenate(slots), np.concatenate(offsets), np.concatenate(keys), damaged


def _check_others(file: SwhFile, first: int, rows: Any, states: NDArray[np.uint8], findings: Findings) -> int:
    """Report damaged slots, and slots without an object whose key is not zero; return the number of damaged slots."""
    layout, damaged = file.layout, np.flatnonzero(states == State.DAMAGED)
    for at in damaged.tolist():
        wrong = layout.outside(first + at, int(rows["offset"][at]))
        findings.error("swh.slot-offset", wrong.span, wrong.message, key=rows["key"][at].tobytes().hex())
    for at in np.flatnonzero((states == State.UNUSED) & rows["key"].any(axis=1)).tolist():
        message = f"slot {first + at} has no object, but its key is not all zero"
        findings.warning("swh.empty-slot-key", layout.slot_span(first + at, "key"), message)
    return len(damaged)


def _check_counts(file: SwhFile, live: int, damaged: int, findings: Findings) -> None:
    declared, place = file.layout.declared, HEADER.span("objects_count")
    if live > declared:
        slots = plural(live, "slot holds an object", "slots hold objects")
        findings.error("swh.objects-count", place, f"{slots}; objects_count is {grouped_digits(declared)}")
    elif (deleted := file.layout.deleted(live, damaged)) > 0:
        of = plural(declared, "object was", "objects were")
        findings.note("swh.deleted", place, f"{grouped_digits(deleted)} of {of} deleted")


def _check_function(file: SwhFile, slots: I64, keys: NDArray[np.uint8], findings: Findings) -> None:
    if file.hash_layout is None:
        return
    try:
        encoded, decoded = file.function()
    except FormatError as error:
        findings.error("swh.hash-function", error.span, error.message)
        return
    counted, start = directory_of(decoded.positions), file.hash_layout.parts["select directory"].start
    for entry in np.flatnonzero(encoded.directory != counted)[:MOST_ENTRIES].tolist():
        message = (
            f"entry {entry} of the select directory refers to unary bit {int(encoded.directory[entry])}; "
            f"counting the one-bits gives bit {int(counted[entry])}"
        )
        place = DIRECTORY_ENTRY.span("", start + DIRECTORY_ENTRY.size * entry)
        findings.error("swh.select-directory", place, message)
    if len(slots):
        _check_slots(file, slots, keys, findings)


def _check_slots(file: SwhFile, slots: I64, keys: NDArray[np.uint8], findings: Findings) -> None:
    """Report each key that does not hash to its slot; if these are most keys, report the hash function instead."""
    missed = np.flatnonzero(file.slots_of(keys) != slots)
    if len(missed) > max(FEW_KEYS, len(slots) // 2):
        signed = np.flatnonzero(file.slots_of(keys, signed=True) != slots)
        agree = len(slots) - len(signed)
        file.misfit = file.misfit_of(len(missed), len(slots))
        if not (10 * len(signed) <= agree and is_certain(agree, file.layout.slots)):
            findings.error("swh.hash-misfit", file.misfit.span, file.misfit.message)
            return
        message = "keys are hashed with signed bytes, as in an old version of the library; readers do not find them"
        findings.error("swh.signed-dialect", file.misfit.span, message)
        missed = signed
    for at in missed.tolist():
        slot = int(slots[at])
        message = f"the key in slot {slot} does not hash to this slot, so readers do not find it"
        span = file.layout.slot_span(slot, "key")
        findings.error("swh.slot-mismatch", span, message, key=keys[at].tobytes().hex())


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    data: bytes
    starts: I64
    stops: I64
    keys: NDArray[np.uint8]
    numbers: I64

    def mismatches(self) -> tuple[list[int], list[int]]:
        sha256 = hashlib.sha256
        small = len(self.data) <= COPIED * len(self.starts)
        data = self.data if small else memoryview(self.data)
        places = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        digests = b"".join([sha256(data[start:stop]).digest() for start, stop in places])
        wrong = (np.frombuffer(digests, np.uint8).reshape(-1, 32) != self.keys).any(axis=1)
        return self.numbers[wrong].tolist(), (self.stops - self.starts)[wrong].tolist()


class ContentCheck:
    """Check of the objects section against the index: live objects do not overlap, and gaps are zero (§1)."""

    def __init__(
        self, file: SwhFile, slots: I64, offsets: I64, keys: NDArray[np.uint8], damaged: int, findings: Findings
    ) -> None:
        self.source = file.source
        self.layout = file.layout
        self.start = file.layout.objects_start
        self.stop = file.layout.index_start
        self.slots = slots
        self.offsets = offsets
        self.keys = keys
        self.findings = findings
        self.damaged = damaged
        self.deleted = file.layout.deleted(len(slots), damaged) > 0
        self.mismatches: list[tuple[int, int]] = []
        self.checked = len(slots)
        self.without_checksum = 0
        self.reach = self.start
        # Limits the work for overlapping objects: in a hostile file each may declare all bytes that follow.
        self._overlap_left = self.stop - self.start

    def check(self, progress: Progress) -> None:
        """Read all objects in windows and compare their sha256 with the keys, several windows in parallel."""
        small = self.stop - self.start <= COPIED * len(self.offsets)
        hashers = 1 if small else HASHERS
        with closing(in_order(_Window.mismatches, self._windows(progress), hashers)) as windows:
            for numbers, sizes in windows:
                self.mismatches += zip(numbers, sizes, strict=True)
        self._check_gap(self.reach, self.stop, progress)
        self._report_mismatches()

    def _windows(self, progress: Progress) -> Iterator[_Window]:
        """Yield the objects in windows, in order of offset. Checks that need no hash are done before the yield."""
        at = 0
        while at < len(self.offsets):
            self.findings.verified = at
            first = int(self.offsets[at])
            progress(first - self.start, max(self.stop - self.start, 1))
            data = self.source.read(first, min(first + CONTENT_WINDOW, self.stop))
            last = int(np.searchsorted(self.offsets, first + len(data) - OBJECT.size, "right"))
            offsets, sizes = self.offsets[at:last], self._lengths(data, first, at, last)
            fits = sizes <= (self.stop - OBJECT.size - offsets).view(np.uint64)
            stops = np.where(fits, offsets + OBJECT.size + sizes.view(np.int64), 0)
            hashed = self._check_places(at, offsets, sizes, stops, progress)
            ends_inside = stops[hashed] <= first + len(data)
            inside = hashed[ends_inside]
            places = offsets[inside] - first + OBJECT.size
            ends, numbers = places + sizes[inside].view(np.int64), at + inside
            yield _Window(data, places, ends, self.keys.take(numbers, axis=0), numbers)
            for number in hashed[~ends_inside].tolist():
                self._check_cut(at + number, int(stops[number]), progress)
            at = last

    def _lengths(self, window: bytes, first: int, at: int, last: int) -> U64:
        # A view with a length field at each byte, of which only those at the offsets are read.
        everywhere = np.ndarray(len(window) - OBJECT.size + 1, OBJECT.dtype, window, strides=(1,))["size"]
        return everywhere[self.offsets[at:last] - first].astype(np.uint64)

    def _check_cut(self, number: int, stop: int, progress: Progress) -> None:
        start = int(self.offsets[number]) + OBJECT.size
        digest = hashlib.sha256()
        for piece in self._pieces(start, stop, progress):
            digest.update(piece)
        if digest.digest() != self.keys[number].tobytes():
            self.mismatches.append((number, stop - start))

    def _check_places(self, at: int, offsets: I64, sizes: U64, stops: I64, progress: Progress) -> I64:
        """Report impossible lengths, overlaps and gaps of the objects of a window; return the indices of those to hash.

        `at` is the number of the first object; `stops` are the ends of the objects, 0 for an impossible length.
        """
        reached = np.maximum.accumulate(np.append(self.reach, stops))
        self.reach, reached = int(reached[-1]), reached[:-1]
        hashed = stops > 0
        for number in np.flatnonzero(~hashed | (offsets != reached)).tolist():
            offset, size = int(offsets[number]), int(sizes[number])
            if (wrong := self.layout.too_long(offset, size)) is not None:
                self.findings.error("swh.object-length", wrong.span, wrong.message, key=self._key(at + number))
                continue
            reach, slot = int(reached[number]), int(self.slots[at + number])
            if offset > reach:
                self._check_gap(reach, offset, progress)
            else:
                message = f"the object of slot {slot} overlaps the object before it"
                self.findings.error("swh.overlap", Span("", offset, reach), message, key=self._key(at + number))
            if offset < reach:
                self._overlap_left -= size
                if self._overlap_left < 0:
                    hashed[number] = False
                    self.checked -= 1
        return np.flatnonzero(hashed)

    def _pieces(self, start: int, stop: int, progress: Progress) -> Iterator[bytes]:
        for at in range(start, stop, CONTENT_WINDOW):
            progress(at - self.start, max(self.stop - self.start, 1))
            yield self.source.read(at, min(at + CONTENT_WINDOW, stop))

    def _check_gap(self, start: int, stop: int, progress: Progress) -> None:
        if start >= stop or self.damaged:
            return  # The bytes may be the object of a damaged slot, which is reported.
        span, size = Span("", start, stop), plural(stop - start, "byte")
        if not self.deleted:
            what = plural(stop - start, "byte belongs", "bytes belong")
            message = f"{what} to no object, but objects_count shows no deletions"
            self.findings.error("swh.gap", span, message)
            return
        if stop - start < OBJECT.size:
            self.findings.error("swh.gap", span, f"a gap of {size} is too small for a deleted object")
        if any(piece.strip(b"\0") for piece in self._pieces(start, stop, progress)):
            message = "the bytes of deleted objects are not all zero: content remains"
            self.findings.warning("swh.gap-not-zero", span, message)

    def _report_mismatches(self) -> None:
        """Report keys that are not the sha256 of the content; if most are not, one note, because it is not required."""
        if not self.mismatches:
            return
        if len(self.mismatches) > len(self.offsets) // 2:
            count = grouped_digits(len(self.mismatches))
            message = f"{count} of {plural(len(self.offsets), 'key')} are not the sha256 of their content"
            self.findings.note("swh.keys-not-sha256", None, message)
            self.without_checksum = len(self.mismatches)
            self.checked -= self.without_checksum
            return
        for number, size in sorted(self.mismatches):
            start = int(self.offsets[number]) + OBJECT.size
            span = Span("", start, start + size)
            slot = int(self.slots[number])
            message = f"the sha256 of the content of slot {slot} is not its key: content or key changed"
            self.findings.error("swh.content-hash", span, message, key=self._key(number))

    def _key(self, number: int) -> str:
        return bytes(self.keys[number]).hex()
