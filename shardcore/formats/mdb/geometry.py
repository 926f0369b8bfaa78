"""Locations of the parts of a shard, and the rules of its records, tables and sections, stated once."""

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
"""The kinds of objects of a shard; each may have a lookup table."""

LOOKUPS: dict[str, Record] = {FILE: FILE_LOOKUP, XORB: XORB_LOOKUP, CHUNK: CHUNK_LOOKUP}

FULL, SESSION, MINIMAL, ANSWER, UPLOAD = "full", "session", "minimal", "global dedup answer", "upload form"
UNKNOWN = "unknown"

FILE_INFO, XORB_INFO = "file info", "xorb info (CAS info)"
"""The names of the two sections of records."""

SENTENCES = {
    "header": "Identifies a shard, and shows whether it has a footer.",
    FILE_INFO: "For every file, the segments that it is rebuilt from: ranges of chunks in xorbs.",
    XORB_INFO: "For every xorb, its chunks: hash, place and size of each.",
    "file lookup": "The table keys of all files (16 digits of their hashes), sorted, and where their records begin.",
    "xorb lookup": "The table keys of all xorbs (16 digits of their hashes), sorted, and where their records begin.",
    "chunk lookup": "The table keys of all chunks (16 digits of their hashes), sorted, with xorb and number of each.",
    "footer": "Has the offsets of the sections, the HMAC key of the chunk hashes, and the expiry of the shard.",
}
"""Purpose of each part of a shard."""


@dataclass(frozen=True, slots=True)
class LookupTable:
    """One lookup table.

    Attributes:
        kind: `file`, `xorb` or `chunk`.
        start: First byte.
        count: Number of entries.
    """

    kind: str
    start: int
    count: int

    @property
    def record(self) -> Record:
        """The layout of an entry."""
        return LOOKUPS[self.kind]

    @property
    def stop(self) -> int:
        """One past the last byte."""
        return self.start + self.count * self.record.size

    def span(self, first: int, last: int) -> Span:
        """Return where the entries number `first` to `last`, half-open, lie."""
        return Span("", self.start + first * self.record.size, self.start + last * self.record.size)


@dataclass(frozen=True, slots=True)
class MdbGeometry:
    """The parts of a shard.

    Attributes:
        size: Bytes of the file.
        header: The header's fields.
        footer: The footer's fields; None in the upload form.
        file_info: Where the file info section lies, half-open.
        cas_info: Where the xorb info (CAS info) section lies, half-open.
        tables: The lookup tables that have entries, by kind.
    """

    size: int
    header: dict[str, Any]
    footer: dict[str, Any] | None
    file_info: tuple[int, int]
    cas_info: tuple[int, int]
    tables: dict[str, LookupTable]

    @property
    def key(self) -> bytes:
        """The key under which chunk hashes are stored; zero for none."""
        return ZERO if self.footer is None else bytes(self.footer["chunk_hash_hmac_key"])

    @property
    def key_span(self) -> Span:
        """Return where that key stands; there is a footer then."""
        at = self.size - FOOTER_SIZE + FOOTER.offsets["chunk_hash_hmac_key"]
        return Span("", at, at + FOOTER.sizes["chunk_hash_hmac_key"])

    @property
    def flavour(self) -> str:
        """Return what the shard is for, by its parts: full, session, minimal, global dedup answer, upload form."""
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
        """Return where the section lies in which objects of a kind are, half-open."""
        return self.file_info if kind == FILE else self.cas_info

    def entry_places(self, kind: str, index: int, chunk: int = -1) -> tuple[Span, Span] | None:
        """Return the records that an entry of a lookup table leads to; None when they do not lie in their section.

        Args:
            kind: Of which table.
            index: Position of the header in 48-byte records from the start of its section.
            chunk: Number of the chunk in the xorb; -1 in the tables of files and xorbs.

        Returns:
            The header record, and the record that carries the whole hash: the header itself, or the chunk's.
        """
        start, stop = self.section(kind)
        header, place = start + index * RECORD_SIZE, start + (index + 1 + chunk) * RECORD_SIZE
        if place + RECORD_SIZE > stop:
            return None
        return Span("", header, header + RECORD_SIZE), Span("", place, place + RECORD_SIZE)


def claims(geometry: MdbGeometry, *, with_footer: bool) -> list[Section]:
    """Return the parts that a shard claims; empty ones are left out."""
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
    """Return the header's fields.

    Args:
        data: The first bytes of the file.

    Raises:
        BadMagic: The tag is not there.
        Unsupported: The version is not 2.
        Truncated: The bytes end inside the header.
        FormatError: `footer_size` is neither 0 nor 200.
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
    """Return the footer's fields, not checked yet.

    Args:
        data: The last bytes of the file.
        size: Bytes of the file.

    Raises:
        Truncated: The file is too short to have a footer after two sections.
    """
    if size < SECTIONS_START + FOOTER_SIZE:
        raise Truncated(
            f"header and footer take {SECTIONS_START + FOOTER_SIZE} bytes; the file has {size}",
            span=Span("", min(SECTIONS_START, size), size),
        )
    return FOOTER.read_one(data, len(data) - FOOTER_SIZE, place=Span("", size - len(data), size))


def locate(size: int, header: dict[str, Any], footer: dict[str, Any]) -> MdbGeometry:
    """Return the parts that a footer states, after its checks.

    Raises:
        Unsupported: The footer's version is not 1.
        FormatError: It does not stand where it states, offsets are not in order or outside the file, or a table
            is longer than the place it has.
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
    """Return why the records of one file or xorb do not lie in their section, or empty.

    Args:
        what: `file` or `xorb`.
        records: Number of its records, the header included.
        left: Number of records from its header to the end of the section.
    """
    if records <= left:
        return ""
    return f"a {what} of {plural(records, 'record')} does not fit: {plural(left, 'is', 'are')} left in its section"


def range_fault(first: int, last: int, count: int) -> str:
    """Return why the chunks `first` to `last`, half-open, are no range of a xorb, or empty.

    Args:
        first: First chunk.
        last: One past the last.
        count: Number of chunks of the xorb; -1 when it is unknown.
    """
    if first >= last:
        return f"its chunk range is empty or reversed: first chunk {first}, end {last}"
    return f"it names chunks {first} to {last - 1}; the xorb has {plural(count, 'chunk')}" if 0 <= count < last else ""


def size_fault(size: int, total: int) -> str:
    """Return why a segment of `size` bytes does not fit its chunks, which have `total` bytes; or empty."""
    return f"its size is given as {plural(size, 'byte')}; its chunks have {total:,}" if size != total else ""


def descents(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the numbers of the entries of a lookup table whose key is below the one before: a table is sorted."""
    return np.flatnonzero(rows["key"][1:] < rows["key"][:-1]) + 1
