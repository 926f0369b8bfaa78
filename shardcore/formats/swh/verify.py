"""Verification of a Read Shard; `docs/formats/swh.md` lists the checks of each depth."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError
from shardcore.formats.swh import chd_code
from shardcore.formats.swh.chd_build import find_duplicate
from shardcore.formats.swh.file import FEW_KEYS, SwhFile, is_certain
from shardcore.formats.swh.layout import OBJECT, SLOT, field_span
from shardcore.formats.swh.slots import WINDOW, order_by_offset, read_slots
from shardcore.model.finding import Depth, Findings, Report
from shardcore.model.number_words import grouped_digits, plural
from shardcore.model.objects import State
from shardcore.model.parallel import in_order
from shardcore.model.span import Span
from shardcore.progress import Progress
from shardcore.sources.base import Source
from shardcore.writing.undo import note_interrupted

CONTENT_WINDOW = 1 << 22
"""Bytes of the objects per read."""

HASHERS = min(os.cpu_count() or 1, 4)
"""Threads for hashing; hashlib releases the interpreter lock above 2 KB."""

COPIED = 2048
"""Objects of up to this average size are hashed by one thread and from copies, which is faster than from views."""

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]


def verify(file: SwhFile, depth: Depth, progress: Progress) -> Report:
    with file.enough_memory():
        return _verify(file, depth, progress)


def _verify(file: SwhFile, depth: Depth, progress: Progress) -> Report:
    findings = Findings()
    progress(0, 1)
    if file.damage is not None:
        span = file.damage.span
        findings.error("swh.hash-function", span, file.damage.message)
    note_interrupted(findings, file.source, "swh")
    _check_structure(file, findings)
    objects = checked = without = 0
    if depth.reaches(Depth.INDEX):
        slots, offsets, keys = _live_slots(file, findings, progress)
        objects = len(slots)
        _check_counts(file, objects, findings)
        _check_duplicates(file, slots, keys, findings)
        _check_function(file, slots, keys, findings)
        if depth.reaches(Depth.CONTENT):
            order = order_by_offset(offsets)
            # `take` copies rows several times as fast as indexing.
            contents = ContentCheck(file, slots[order], offsets[order], keys.take(order, axis=0), findings)
            contents.check(progress)
            checked, without = contents.checked, contents.without_checksum
    progress(1, 1)
    return Report(depth, objects, findings.all(), checked, without)


def _check_structure(file: SwhFile, findings: Findings) -> None:
    magic = file.header["magic"]
    if magic[9:].strip(b"\0"):
        findings.note(
            "swh.magic-rest",
            Span("", 9, 32),
            "bytes 9 to 31 of the magic are not all zero; readers ignore them",
        )
    padding = next((s for s in file.sections if s.name == "padding"), None)
    if padding is not None and padding.size <= WINDOW and file.source.read(padding.start, padding.stop).strip(b"\0"):
        span = Span("", padding.start, padding.stop)
        findings.note("swh.padding", span, "the padding is not all zero: the shard may be on a reused device")
    trailing = next((s for s in file.sections if s.name == "trailing"), None)
    if trailing is not None:
        span = Span("", trailing.start, trailing.stop)
        findings.note(
            "swh.trailing",
            span,
            plural(trailing.size, "byte follows the end of the shard", "bytes follow the end of the shard"),
        )
    if file.header["objects_position"] != 512:
        place = field_span("objects_position")
        findings.note(
            "swh.objects-position",
            place,
            f"objects_position is {file.header['objects_position']:#x}; every known writer stores 0x200",
        )


def _live_slots(file: SwhFile, findings: Findings, progress: Progress) -> tuple[I64, I64, NDArray[np.uint8]]:
    geometry = file.geometry
    at_once = WINDOW // SLOT.size
    slots: list[I64] = []
    offsets: list[I64] = []
    keys: list[NDArray[np.uint8]] = []
    for first in range(0, geometry.slots, at_once):
        progress(first, geometry.slots)
        rows = read_slots(file.source, geometry, first, min(first + at_once, geometry.slots))
        states = geometry.states(rows["offset"])
        live = np.flatnonzero(states == State.LIVE)
        slots.append(live + first)
        offsets.append(rows["offset"][live].astype(np.int64))
        keys.append(rows["key"].take(live, axis=0))
        _check_empty(file, first, rows, states, findings)
    return np.concatenate(slots), np.concatenate(offsets), np.concatenate(keys)


def _check_empty(file: SwhFile, first: int, rows: Any, states: NDArray[np.uint8], findings: Findings) -> None:
    geometry = file.geometry
    for at in np.flatnonzero(states == State.DAMAGED).tolist():
        wrong = geometry.outside(first + at, int(rows["offset"][at]))
        findings.error("swh.slot-offset", wrong.span, wrong.message, key=rows["key"][at].tobytes().hex())
    empty = states == State.UNUSED
    for at in np.flatnonzero(empty & rows["key"].any(axis=1)).tolist():
        place = geometry.key_span(first + at)
        findings.warning("swh.empty-slot-key", place, f"slot {first + at} has no object, but its key is not all zero")
    zeros = np.flatnonzero(rows["offset"] == 0)
    if len(zeros):
        at = int(zeros[0])
        place = geometry.offset_span(first + at)
        count = plural(len(zeros), "slot without an object has", "slots without an object have")
        message = f"{count} offset 0 instead of 2^64 - 1, as older writers store"
        findings.note("swh.legacy-unused", place, message)


def _check_counts(file: SwhFile, live: int, findings: Findings) -> None:
    declared = file.geometry.declared
    place = field_span("objects_count")
    if live > declared:
        slots = plural(live, "slot holds an object", "slots hold objects")
        findings.error("swh.objects-count", place, f"{slots}; objects_count is {grouped_digits(declared)}")
    elif live < declared:
        findings.note(
            "swh.deleted",
            place,
            f"{grouped_digits(declared - live)} of {plural(declared, 'object was', 'objects were')} deleted",
        )


def _check_duplicates(file: SwhFile, slots: I64, keys: NDArray[np.uint8], findings: Findings) -> None:
    twins = find_duplicate(keys) if len(keys) else None
    if twins is not None:
        first, second = (int(slots[at]) for at in twins)
        message = f"slots {first} and {second} have the same key"
        findings.error("swh.duplicate-key", file.geometry.key_span(second), message, key=keys[twins[1]].tobytes().hex())


def _check_function(file: SwhFile, slots: I64, keys: NDArray[np.uint8], findings: Findings) -> None:
    if file.parts is None:
        return
    try:
        function = file.function()
    except FormatError as error:
        findings.error("swh.hash-function", error.span, error.message)
        return
    wrong = chd_code.wrong_directory_entries(function.encoded.directory, function.decoded.positions)
    counted = chd_code.directory_of(function.decoded.positions)
    directory = file.parts.part("select directory")
    for entry in wrong[:100].tolist():
        place = Span("", directory.start + 4 * entry, directory.start + 4 * entry + 4)
        message = (
            f"entry {entry} of the select directory has bit {int(function.encoded.directory[entry])}; "
            f"counting the one-bits gives {int(counted[entry])}"
        )
        findings.error("swh.select-directory", place, message)
    if not len(slots):
        return
    missed = np.flatnonzero(file.slots_of(keys) != slots)
    if len(missed) > max(FEW_KEYS, len(slots) // 2):
        mismatches = np.flatnonzero(file.slots_of(keys, signed=True) != slots)
        agree = len(slots) - len(mismatches)
        # One finding for the function instead of one per key.
        file.misfit = file.misfit_of(len(missed), len(slots))
        if not (10 * len(mismatches) <= agree and is_certain(agree, file.parts.slots)):
            findings.error("swh.hash-misfit", file.misfit.span, file.misfit.message)
            return
        message = "keys are hashed with signed bytes, as in an old version of the library; readers do not find them"
        findings.error("swh.signed-dialect", Span("", file.parts.start, file.parts.stop), message)
        missed = mismatches
    for at in missed.tolist():
        slot = int(slots[at])
        key = keys[at].tobytes().hex()
        message = f"the key in slot {slot} does not hash to this slot, so readers do not find it"
        findings.error("swh.slot-mismatch", file.geometry.key_span(slot), message, key=key)


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """Objects that are read together."""

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

    def __init__(self, file: SwhFile, slots: I64, offsets: I64, keys: NDArray[np.uint8], findings: Findings) -> None:
        self.source: Source = file.source
        self.geometry = file.geometry
        self.start = file.geometry.objects_start
        self.stop = file.geometry.index_start
        self.slots = slots
        self.offsets = offsets
        self.keys = keys
        self.findings = findings
        self.deleted = file.geometry.declared > len(slots)
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
        """Yield windows of objects by offset; checks that need no hash are done here."""
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
        if self._digest_long(start, stop, progress) != self.keys[number].tobytes():
            self.mismatches.append((number, stop - start))

    def _check_places(self, at: int, offsets: I64, sizes: U64, stops: I64, progress: Progress) -> I64:
        """Compare offsets with the ends of the objects before; return the indices of the objects to hash.

        Args:
            at: Number of the first object.
            offsets: Offsets of their length fields, ascending.
            sizes: Their length fields.
            stops: Their ends; 0 for an impossible length.
            progress: Receives the progress.
        """
        reached = np.maximum.accumulate(np.append(self.reach, stops))
        self.reach, reached = int(reached[-1]), reached[:-1]
        hashed = stops > 0
        for number in np.flatnonzero(~hashed | (offsets != reached)).tolist():
            offset, size = int(offsets[number]), int(sizes[number])
            if (wrong := self.geometry.too_long(offset, size)) is not None:
                self.findings.error("swh.object-length", wrong.span, wrong.message, key=self._key(at + number))
                continue
            self._check_edge(int(reached[number]), offset, at + number, progress)
            if offset < reached[number] and not self._is_worth(size):
                hashed[number] = False
                self.checked -= 1
        return np.flatnonzero(hashed)

    def _is_worth(self, size: int) -> bool:
        """Return False once the checked objects have more bytes in total than the section: some must overlap."""
        self._overlap_left -= size
        return self._overlap_left >= 0

    def _digest_long(self, start: int, stop: int, progress: Progress) -> bytes:
        digest = hashlib.sha256()
        for piece in range(start, stop, CONTENT_WINDOW):
            progress(piece - self.start, max(self.stop - self.start, 1))
            digest.update(self.source.read(piece, min(piece + CONTENT_WINDOW, stop)))
        return digest.digest()

    def _check_edge(self, reach: int, offset: int, number: int, progress: Progress) -> None:
        if offset > reach:
            self._check_gap(reach, offset, progress)
            return
        message = f"the object of slot {int(self.slots[number])} overlaps the object before it"
        self.findings.error("swh.overlap", Span("", offset, reach), message, key=self._key(number))

    def _check_gap(self, start: int, stop: int, progress: Progress) -> None:
        if start >= stop:
            return
        span = Span("", start, stop)
        if not self.deleted:
            what = plural(stop - start, "byte belongs", "bytes belong")
            message = f"{what} to no object, but objects_count shows no deletions"
            self.findings.error("swh.gap", span, message)
            return
        if stop - start < OBJECT.size:
            self.findings.error(
                "swh.gap", span, f"a gap of {plural(stop - start, 'byte')} is too small for a deleted object"
            )
        for piece in range(start, stop, CONTENT_WINDOW):
            progress(piece - self.start, max(self.stop - self.start, 1))
            if self.source.read(piece, min(piece + CONTENT_WINDOW, stop)).strip(b"\0"):
                self.findings.warning(
                    "swh.gap-not-zero", span, "the bytes of deleted objects are not all zero: content remains"
                )
                return

    def _report_mismatches(self) -> None:
        """Report keys that are not the sha256 of the content; one note if most are not, because no rule requires it."""
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
