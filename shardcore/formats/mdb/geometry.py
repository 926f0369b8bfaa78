"""Where the parts of a shard lie, from its header and footer alone; and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    SECTIONS_START,
    TAG,
    XORB_LOOKUP,
)
from shardcore.record import Record
from shardcore.span import Span
from shardcore.xet_hashes import ZERO

FILE, XORB, CHUNK = "file", "xorb", "chunk"
KINDS = (FILE, XORB, CHUNK)
"""The kinds of objects of a shard; each may have a lookup table."""

LOOKUPS: dict[str, Record] = {FILE: FILE_LOOKUP, XORB: XORB_LOOKUP, CHUNK: CHUNK_LOOKUP}

FULL, SESSION, MINIMAL, ANSWER, UPLOAD = "full", "session", "minimal", "global dedup answer", "upload form"
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Table:
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


@dataclass(frozen=True, slots=True)
class Geometry:
    """The parts of a shard.

    Attributes:
        size: Bytes of the file.
        header: The header's fields.
        footer: The footer's fields; None in the upload form.
        file_info: Where the file info section lies, half-open.
        cas_info: Where the CAS info section lies, half-open.
        tables: The lookup tables that have entries, by kind.
    """

    size: int
    header: dict[str, Any]
    footer: dict[str, Any] | None
    file_info: tuple[int, int]
    cas_info: tuple[int, int]
    tables: dict[str, Table]

    @property
    def key(self) -> bytes:
        """The key under which chunk hashes are stored; zero for none."""
        return ZERO if self.footer is None else bytes(self.footer["chunk_hash_hmac_key"])

    @property
    def flavour(self) -> str:
        """What the shard is for, judged by its parts: full, session, minimal, global dedup answer, upload form.

        `unknown` when there should be a footer and it cannot be believed.
        """
        footer = self.footer
        if footer is None:
            return UNKNOWN if self.header["footer_size"] else UPLOAD
        empty = self.file_info[1] - self.file_info[0] <= SECTIONS_START
        answer = empty and (self.key != ZERO or (not self.tables and footer["shard_creation_timestamp"] != 0))
        if answer:
            return ANSWER
        if not self.tables and footer["file_lookup_offset"] == footer["footer_offset"]:
            return MINIMAL
        forever = footer["shard_key_expiry"] == NO_EXPIRY or footer["shard_creation_timestamp"] == 0
        return SESSION if forever else FULL


def read_header(data: bytes) -> dict[str, Any]:
    """The header's fields.

    Args:
        data: The first bytes of the file.

    Raises:
        BadMagic: The tag is not there.
        Unsupported: The version is not 2.
        Truncated: The bytes end inside the header.
        FormatError: `footer_size` is neither 0 nor 200.
    """
    if data[: len(TAG)] != TAG[: len(data)]:
        raise BadMagic("not an MDB shard: the tag HFRepoMetaData is not there", span=Span("", 0, min(len(data), 32)))
    header = HEADER.read_one(data, place=Span("", 0, len(data)))
    if header["version"] != HEADER_VERSION:
        raise Unsupported(f"header version {header['version']}; only {HEADER_VERSION} is known", span=Span("", 32, 40))
    if header["footer_size"] not in (0, FOOTER_SIZE):
        raise FormatError(
            f"footer_size is {header['footer_size']}; a footer has {FOOTER_SIZE} bytes, or there is none",
            span=Span("", 40, 48),
        )
    return header


def read_footer(data: bytes, size: int) -> dict[str, Any]:
    """The footer's fields, not checked yet.

    Args:
        data: The last bytes of the file.
        size: Bytes of the file.

    Raises:
        Truncated: The file is too short to have a footer behind two sections.
    """
    if size < SECTIONS_START + FOOTER_SIZE:
        raise Truncated(
            f"a header and a footer take {SECTIONS_START + FOOTER_SIZE} bytes, {size} are there",
            span=Span("", min(SECTIONS_START, size), size),
        )
    return FOOTER.read_one(data, len(data) - FOOTER_SIZE, place=Span("", size - len(data), size))


def locate(size: int, header: dict[str, Any], footer: dict[str, Any]) -> Geometry:
    """The parts that a footer states, after its checks.

    Raises:
        Unsupported: The footer's version is not 1.
        FormatError: It does not stand where it says, offsets are not in order or outside the file, or a table
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
            f"the footer begins at {where} and says {footer['footer_offset']}", span=place("footer_offset")
        )
    names = ("file_info_offset", "cas_info_offset", *(f"{kind}_lookup_offset" for kind in KINDS), "footer_offset")
    last = SECTIONS_START
    for name in names:
        if not last <= footer[name] <= where:
            raise FormatError(f"{name} is {footer[name]}, not from {last} to {where}", span=place(name))
        last = footer[name]
    tables = {}
    for kind, following in zip(KINDS, names[3:], strict=True):
        table = Table(kind, footer[f"{kind}_lookup_offset"], footer[f"{kind}_lookup_num_entry"])
        if table.stop > footer[following]:
            raise FormatError(
                f"the {kind} lookup table has {table.count} entries and would end at {table.stop}, "
                f"behind {following} {footer[following]}",
                span=place(f"{kind}_lookup_num_entry"),
            )
        if table.count:
            tables[kind] = table
    sections = footer["file_info_offset"], footer["cas_info_offset"], footer["file_lookup_offset"]
    return Geometry(size, header, footer, sections[:2], sections[1:], tables)
