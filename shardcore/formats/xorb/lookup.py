"""Lookup of chunks by number or hash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import from_text, text_of_key, to_text
from shardcore.codecs.xet.xorb_layout import CHUNK_HEADER, HEADER_SIZE, INFO_LENGTH
from shardcore.errors import FormatError, KeyAbsent, UsageError
from shardcore.formats.xorb.objects import CODECS, XorbObjects
from shardcore.model.keys import KeyForm, number_or_text
from shardcore.model.number_words import plural
from shardcore.model.objects import ObjectRef, ObjectSlice
from shardcore.model.span import Span
from shardcore.model.text import short
from shardcore.shards.format import lazily
from shardcore.shards.trace import LookupRecorder

if TYPE_CHECKING:
    from shardcore.formats.xorb.file import XorbFile
    from shardcore.sources.base import Source

sums_figure = lazily("shardcore.formats.xorb.sketches:sums_figure")

ALL = "all"
"""Key of all chunks, concatenated."""

_HEADER_FIELDS = {"stored_size": "compressed_size", "codec": "compression_type", "size": "uncompressed_size"}
"""Header field per step value."""

_MOST_DIGITS = 9
_COUNT_BYTES = 4


@dataclass(frozen=True, slots=True)
class XorbKey:
    """Parsed key: a chunk number, a chunk hash (32 bytes), or all chunks if both are None."""

    number: int | None = None
    raw: bytes | None = None

    def __str__(self) -> str:
        if self.raw is not None:
            return to_text(self.raw)
        return ALL if self.number is None else str(self.number)


def _raw(text: str) -> bytes | int | str:
    return from_text(text) if len(text) > _MOST_DIGITS else number_or_text(text)


KEY_FORM = KeyForm(of_bytes=text_of_key, numbers=True, to_raw=_raw)


class XorbLookup:
    def __init__(self, file: XorbFile, objects: XorbObjects) -> None:
        self.file = file
        self.objects = objects

    @staticmethod
    def parse(text: str) -> XorbKey:
        """Parse a chunk number, a hash of 64 hex digits, or `all`; raise UsageError for anything else."""
        if text == ALL:
            return XorbKey()
        if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:
            return XorbKey(number=int(text))
        try:
            return XorbKey(raw=from_text(text))
        except UsageError as error:
            forms = f"the number of a chunk, its hash (64 hex digits), or `{ALL}`"
            raise UsageError(f"a key of a xorb is {forms}; not {short(text)}") from error

    def find(self, key: XorbKey, recorder: LookupRecorder) -> ObjectRef:
        """Return the chunk, recording the steps; the first one if several have the hash.

        Raises:
            KeyAbsent: There is no such chunk.
            FormatError: The chunk may be in a damaged record.
        """
        if key == XorbKey():
            return self._all(recorder)
        self._describe_info_block(recorder)
        number = key.number
        if key.raw is not None:
            number = next(iter(self._with_hash(key.raw, recorder)), None)
        if number is None or number >= self.file.records.count:
            if key.number is not None:
                count = self.file.records.count
                text = f"The xorb has {plural(count, 'chunk')}, numbered from 0: number {key.number} is not among them."
                why = "Chunks are numbered without gaps, so their count proves that this one does not exist."
                recorder.step("Count the chunks", text, self._count_span, why=why, chunks=count)
                self._check_end()
                raise KeyAbsent(str(key), f"there is no chunk {key}: the xorb has {plural(count, 'chunk')}")
            raise KeyAbsent(str(key))
        return self._chunk(number, recorder)

    def find_all(self, key: XorbKey) -> Sequence[ObjectRef]:
        if key.raw is not None:
            return ObjectSlice(self.objects, np.array(self._with_hash(key.raw, LookupRecorder()), np.int64))
        try:
            return (self.find(key, LookupRecorder()),)
        except KeyAbsent:
            return ()

    def find_many(self, keys: list[XorbKey]) -> NDArray[np.int64]:
        count = self.file.records.count
        rows = np.full(len(keys), -1, np.int64)
        for place, key in enumerate(keys):
            if key.raw is not None:
                rows[place] = next(iter(self._with_hash(key.raw, LookupRecorder())), -1)
            elif key.number is not None and key.number < count:
                rows[place] = key.number
        return rows

    @property
    def _walked(self) -> Span:
        return Span("", 0, self.file.records.stop)

    @property
    def _count_span(self) -> Span:
        """Bytes that prove the chunk count: the count in the info block, or without one all records."""
        part = self.file.info_part("hashes") or self.file.info_part("count")
        if part is None:
            return self._walked
        stop = part[1].stop
        return Span("", stop - _COUNT_BYTES, stop)

    def _listed(self, name: str, number: int) -> Span:
        part = self.file.info_part(name)
        if part is None:  # nothing lists it
            return self._walked
        start = part[1].start + number * part[0].record.size
        return Span("", start, start + part[0].record.size)

    def _describe_info_block(self, recorder: LookupRecorder) -> None:
        block = self.file.info_span
        if not block.size:
            return
        length = block.size - INFO_LENGTH.size
        recorder.step(
            "Find the info block",
            f"The last {INFO_LENGTH.size} bytes give its size, {plural(length, 'byte')}: the info block starts at "
            f"byte {block.start:#x}, where the chunk records end.",
            Span("", block.stop - INFO_LENGTH.size, block.stop),
            Span("", block.start, block.stop - INFO_LENGTH.size),
            why="Hashes and ends are known only when all chunks are written, so they are stored at the end.",
            info_length=length,
            at={"info_length": Span("", block.stop - INFO_LENGTH.size, block.stop)},
            info_start=block.start,
        )

    def _all(self, recorder: LookupRecorder) -> ObjectRef:
        records = self.file.records
        span = Span("", 0, records.stop)
        recorder.step(
            "Read all chunks",
            f"{plural(records.count, 'chunk')}, one after the other.",
            span,
            why="The whole xorb needs no search: its records are read one after the other.",
            chunks=records.count,
        )
        size = -1 if records.unpacked_ends is None else int(records.unpacked_ends[-1]) if records.count else 0
        return ObjectRef(ALL, -1, (span,), size, span.size, codec=CODECS[-1], kind="chunk")

    def _with_hash(self, raw: bytes, recorder: LookupRecorder) -> list[int]:
        """Return the numbers of the chunks with a hash, ascending."""
        listed = self.file.records.hashes is not None
        hashes = self.file.hashes(recorder.meter(self.file.source))
        same = np.flatnonzero((hashes == np.frombuffer(raw, np.uint8)).all(axis=1)).tolist()
        found = f"chunk {same[0]} has this hash" if same else "no chunk has this hash"
        why = "The hash of a chunk is not stored elsewhere, so each has to be decompressed and hashed."
        if listed:
            why = "With the hashes in a list no chunk has to be decompressed to be found."
            text = f"The info block lists the hashes of {plural(len(hashes), 'chunk')}; {found}."
        else:
            text = f"No info block lists hashes, so all were computed: {plural(len(hashes), 'chunk')}; {found}."
        title = "Search the chunk hashes" if listed else "Compute the chunk hashes"
        part = self.file.info_part("chunk hashes")
        spans = [part[1] if part is not None and listed else self._walked]
        if same and listed:
            spans.append(self._listed("chunk hashes", same[0]))
        recorder.step(title, text, *spans, why=why, hashes=len(hashes), same=len(same))
        if not listed and not same:
            self._check_absence(hashes, recorder.meter(self.file.source))
        return same

    def _check_absence(self, hashes: NDArray[np.uint8], source: Source) -> None:
        """Raise the error of a chunk that could not be hashed, or of an invalid record: the key may be in either."""
        for number in np.flatnonzero(~hashes.any(axis=1)).tolist():
            self.file.check_chunk(source, number)
        self._check_end()

    def _check_end(self) -> None:
        fault = self.file.fault
        if fault is not None:
            raise FormatError(fault.message, span=fault.span)

    def _chunk(self, number: int, recorder: LookupRecorder) -> ObjectRef:
        span = self.file.records.span(number)
        begin = f"at byte {span.start:#x}, where the one before it ends" if number else "at byte 0x0, as the first"
        walked = "" if self.file.info is not None else "No list of record ends: the headers are followed from byte 0. "
        # Its own end comes first: the first span decides which object is shown.
        ends = [self._listed("stored ends", one) for one in ((number, number - 1) if number else (number,))]
        recorder.step(
            "Locate the record",
            f"{walked}Chunk {number}: its record ends at byte {span.stop:#x}, and begins {begin}.",
            *([Span("", 0, span.stop)] if walked else ends),
            why="Records differ in length and follow each other: where one ends, the next begins.",
            chunk=number,
            start=span.start,
            stop=span.stop,
            at={} if walked else dict(zip(("stop", "start"), ends, strict=False)),
            shown=(sums_figure(self.file.records, number),) if recorder.recording else (),
        )
        ref = self.objects.ref_at(number, recorder.meter(self.file.source).read)
        recorder.step(
            "Read the record's header",
            f"The record begins with a header of {HEADER_SIZE} bytes: {plural(ref.size, 'uncompressed byte')} are "
            "stored in "
            f"{ref.stored_size:,}, codec {ref.codec}.",
            Span("", span.start, min(span.start + HEADER_SIZE, span.stop)),
            ref.spans[0],
            why="Eight bytes give the scheme and both sizes, so each chunk can be decompressed alone.",
            codec=ref.codec,
            stored_size=ref.stored_size,
            size=ref.size,
            at={value: self._field_span(span.start, name) for value, name in _HEADER_FIELDS.items()},
        )
        if recorder.recording:
            self._describe_content(number, ref, recorder)
        return ref

    @staticmethod
    def _field_span(start: int, name: str) -> Span:
        at = start + CHUNK_HEADER.offsets[name]
        return Span("", at, at + CHUNK_HEADER.sizes[name])

    def _describe_content(self, number: int, ref: ObjectRef, recorder: LookupRecorder) -> None:
        size = plural(len(self.file.check_chunk(recorder.meter(self.file.source), number)), "byte")
        content = (
            f"{size}, stored uncompressed" if ref.codec == CODECS[0] else f"{size} when decompressed ({ref.codec})"
        )
        checked = "no hash of it is stored"
        why = "Without a stored hash, only the codec detects a corrupt chunk."
        hashes: list[Span] = []
        if self.file.records.hashes is not None:
            checked = "the computed hash equals the stored one"
            why = "The hash detects a corrupt chunk."
            hashes.append(self._listed("chunk hashes", number))
        recorder.step(
            "Read and check the chunk", f"The chunk has {content}; {checked}.", ref.spans[0], *hashes, why=why
        )
