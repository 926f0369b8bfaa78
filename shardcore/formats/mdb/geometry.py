"""Parts of a shard and their offsets, with the rules for records, tables and sections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import ZERO
from shardcore.errors import BadMagic, FormatError, Truncated, Unsupported
from shardcore.formats.mdb.layout import (
    CHUNK_LOOKUP,
    FILE_LOOKUP,
    FOOTER,
    FOOTER_SIZE,
    FOOTER_VERSION,
    HEADER,
    HEADER_VERSION,
    NO_EXPIRY,
    RECORD_SIZE,
    SECTIONS_START,
    TAG,
    XORB_LOOKUP,
)
from shardcore.model.number_words import plural
from shardcore.model.record import Record
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span

FILE, XORB, CHUNK = "file", "xorb", "chunk"
KINDS = (FILE, XORB, CHUNK)
"""Kinds of objects; each may have a lookup table."""

LOOKUPS: dict[str, Record] = {FILE: FILE_LOOKUP, XORB: XORB_LOOKUP, CHUNK: CHUNK_LOOKUP}

FULL, SESSION, MINIMAL, ANSWER, UPLOAD = "full", "session", "minimal", "global dedup answer", "upload form"
UNKNOWN = "unknown"

FILE_INFO, XORB_INFO = "file info", "xorb info (CAS info)"
"""Names of the two sections of records."""

SENTENCES = {
    "header": "Identifies a shard, and shows whether it has a footer.",
    FILE_INFO: "For every file, the segments that it is rebuilt from: ranges of chunks in xorbs.",
    XORB_INFO: "For every xorb, its chunks: hash, offset and size of each.",
    "file lookup": "Table keys of all files (16 digits of their hashes), sorted, with the positions of their records.",
    "xorb lookup": "Table keys of all xorbs (16 digits of their hashes), sorted, with the positions of their records.",
    "chunk lookup": "Table keys of all chunks (16 digits of their hashes), sorted, with xorb and number of each.",
    "footer": "Has the offsets of the sections, the HMAC key of the chunk hashes, and the expiry of the shard.",
}
"""Purpose of each part of a shard."""


@dataclass(frozen=True, slots=True)
class LookupTable:
    kind: str
    start: int
    count: int

    @property
    def record(self) -> Record:
        return LOOKUPS[self.kind]

    @property
    def stop(self) -> int:
        return self.start + self.count * self.record.size

    def span(self, first: int, last: int) -> Span:
        return Span("", self.start + first * self.record.size, self.start + last * self.record.size)


@dataclass(frozen=True, slots=True)
class MdbGeometry:
    """Header, footer (None in the upload form) and parts of a shard.

    `file_info` and `cas_info` are byte ranges, half-open; `tables` has the lookup tables that are not empty.
    """

    size: int
    header: dict[str, Any]
    footer: dict[str, Any] | None
    file_info: tuple[int, int]
    cas_info: tuple[int, int]
    tables: dict[str, LookupTable]

    @property
    def key(self) -> bytes:
        """HMAC key of the chunk hashes ("HMAC Key Protection"); all zero means no key."""
        return ZERO if self.footer is None else bytes(self.footer["chunk_hash_hmac_key"])

    @property
    def key_span(self) -> Span:
        at = self.size - FOOTER_SIZE + FOOTER.offsets["chunk_hash_hmac_key"]
        return Span("", at, at + FOOTER.sizes["chunk_hash_hmac_key"])

    @property
    def flavour(self) -> str:
        """Use of the shard, derived from its parts: full, session, minimal, global dedup answer or upload form."""
        footer = self.footer
        if footer is None:
            return UPLOAD
        empty = self.file_info[1] - self.file_info[0] <= SECTIONS_START
        answer = empty and (self.key != ZERO or (not self.tables and footer["shard_creation_timestamp"] != 0))
        if answer:
            return ANSWER
        if not self.tables and footer["file_lookup_offset"] == footer["footer_offset"]:
            return MINIMAL
        forever = footer["shard_key_expiry"] == NO_EXPIRY or footer["shard_creation_timestamp"] == 0
        return SESSION if forever else FULL

    def section(self, kind: str) -> tuple[int, int]:
        return self.file_info if kind == FILE else self.cas_info

    def entry_places(self, kind: str, index: int, chunk: int = -1) -> tuple[Span, Span] | None:
        """Return the header record and the record with the full hash; None if they are outside the section.

        `index` counts 48-byte records from the section's start; `chunk` is -1 in the tables of files and xorbs.
        """
        start, stop = self.section(kind)
        header, place = start + index * RECORD_SIZE, start + (index + 1 + chunk) * RECORD_SIZE
        if place + RECORD_SIZE > stop:
            return None
        return Span("", header, header + RECORD_SIZE), Span("", place, place + RECORD_SIZE)


def claims(geometry: MdbGeometry, *, with_footer: bool) -> list[Section]:
    """Return the non-empty parts of the shard as sections; they may overlap in a damaged file."""
    parts = [
        Section("header", SectionRole.HEADER, 0, HEADER.size, SENTENCES["header"]),
        Section(FILE_INFO, SectionRole.INDEX, *geometry.file_info, SENTENCES[FILE_INFO]),
        Section(XORB_INFO, SectionRole.INDEX, *geometry.cas_info, SENTENCES[XORB_INFO]),
    ]
    for kind, table in geometry.tables.items():
        name = f"{kind} lookup"
        parts.append(Section(name, SectionRole.LOOKUP, table.start, table.stop, SENTENCES[name]))
    if with_footer:
        start = max(geometry.size - FOOTER_SIZE, 0)
        parts.append(Section("footer", SectionRole.FOOTER, start, geometry.size, SENTENCES["footer"]))
    return [part for part in parts if part.size]


def read_header(data: bytes) -> dict[str, Any]:
    """Return the fields of the header ("1. Header").

    Raises:
        BadMagic: The tag differs.
        Unsupported: The version is not 2.
        FormatError: The header is truncated, or `footer_size` is neither 0 nor 200.
    """
    if data[: len(TAG)] != TAG[: len(data)]:
        raise BadMagic(
            "not an MDB shard: it does not begin with the tag HFRepoMetaData", span=Span("", 0, min(len(data), 32))
        )
    header = HEADER.read_one(data, place=Span("", 0, len(data)))
    if header["version"] != HEADER_VERSION:
        raise Unsupported(f"header version {header['version']}; only {HEADER_VERSION} is known", span=Span("", 32, 40))
    if header["footer_size"] not in (0, FOOTER_SIZE):
        raise FormatError(
            f"footer_size is {header['footer_size']}; it has to be {FOOTER_SIZE}, or 0 for no footer",
            span=Span("", 40, 48),
        )
    return header


def read_footer(data: bytes, size: int) -> dict[str, Any]:
    """Return the unchecked footer fields; raise Truncated if the file is too short for a footer."""
    if size < SECTIONS_START + FOOTER_SIZE:
        raise Truncated(
            f"header and footer take {SECTIONS_START + FOOTER_SIZE} bytes; the file has {size}",
            span=Span("", min(SECTIONS_START, size), size),
        )
    return FOOTER.read_one(data, len(data) - FOOTER_SIZE, place=Span("", size - len(data), size))


def locate(size: int, header: dict[str, Any], footer: dict[str, Any]) -> MdbGeometry:
    """Check the footer and return the parts that it declares.

    Raises:
        Unsupported: The footer version is not 1.
        FormatError: `footer_offset` is wrong, offsets decrease, or a table does not fit.
    """
    where = size - FOOTER_SIZE

    def place(name: str) -> Span:
        at = where + FOOTER.offsets[name]
        return Span("", at, at + FOOTER.sizes[name])

    if footer["version"] != FOOTER_VERSION:
        raise Unsupported(f"footer version {footer['version']}; only {FOOTER_VERSION} is known", span=place("version"))
    if footer["footer_offset"] != where:
        raise FormatError(
            f"the footer is at {where:#x}; footer_offset is {footer['footer_offset']:#x}", span=place("footer_offset")
        )
    names = ("file_info_offset", "cas_info_offset", *(f"{kind}_lookup_offset" for kind in KINDS), "footer_offset")
    last = SECTIONS_START
    for name in names:
        if not last <= footer[name] <= where:
            raise FormatError(f"{name} is {footer[name]:#x}; it must be from {last:#x} to {where:#x}", span=place(name))
        last = footer[name]
    tables = {}
    for kind, following in zip(KINDS, names[3:], strict=True):
        table = LookupTable(kind, footer[f"{kind}_lookup_offset"], footer[f"{kind}_lookup_num_entry"])
        if table.stop > footer[following]:
            raise FormatError(
                f"the {kind} lookup table has {plural(table.count, 'entry')} and would end at byte {table.stop:#x}, "
                f"after {following}, {footer[following]}",
                span=place(f"{kind}_lookup_num_entry"),
            )
        if table.count:
            tables[kind] = table
    sections = footer["file_info_offset"], footer["cas_info_offset"], footer["file_lookup_offset"]
    return MdbGeometry(size, header, footer, sections[:2], sections[1:], tables)


def block_fault(what: str, records: int, left: int) -> str:
    """Return an error text if a block of `records` exceeds the `left` records of its section, else ""."""
    if records <= left:
        return ""
    return f"a {what} of {plural(records, 'record')} does not fit: {plural(left, 'is', 'are')} left in its section"


def range_fault(first: int, last: int, count: int) -> str:
    """Return an error text for an invalid chunk range `[first, last)`, else ""; `count` is -1 if unknown."""
    if first >= last:
        return f"its chunk range is empty or reversed: first chunk {first}, end {last}"
    return f"it names chunks {first} to {last - 1}; the xorb has {plural(count, 'chunk')}" if 0 <= count < last else ""


def size_fault(size: int, total: int) -> str:
    return f"its size is given as {plural(size, 'byte')}; its chunks have {total:,}" if size != total else ""


def descents(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the entries whose key is below the previous one: tables must be sorted."""
    return np.flatnonzero(rows["key"][1:] < rows["key"][:-1]) + 1
