"""Byte layout of an MDB shard, the rules that its records must follow, and the computation of its hashes.

Order: header, File Info Section, CAS Info Section (xorbs), lookup tables of files, xorbs and chunks, footer.
Both sections consist of 48-byte records, and positions in them are record numbers. Numbers are little-endian. Names are
those of the specification, or of the reference source for bytes that the specification calls reserved.
"""

from __future__ import annotations

import struct
from enum import IntEnum, IntFlag
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import (
    DATA_KEY,
    END_MARK,
    SIZE,
    ZERO,
    HashArray,
    as_rows,
    keyed,
    keyed_all,
    to_text,
    tree_root,
    tree_roots,
)
from shardcore.dataclasses import dataclass
from shardcore.errors import BadMagic, FormatError, Truncated, Unsupported
from shardcore.model.record import Differs, Field, FieldRole, Record
from shardcore.model.section import Part, Section, SectionRole
from shardcore.model.span import Span
from shardcore.model.text import plural

TAG = bytes.fromhex("48465265706f4d6574614461746100556967456a7b815783a5bdd95ccdd14aa9")
"""First bytes of every shard: `HFRepoMetaData`, a zero byte, and 17 fixed random bytes."""

TAG_TEXT = TAG[:15]

HEADER_VERSION = 2
FOOTER_VERSION = 1
SECTIONS_START = 48

RECORD_SIZE = 48

NO_EXPIRY = (1 << 64) - 1
"""Value of `shard_key_expiry` for a shard that never expires; 0 means not recorded."""


class FileFlag(IntFlag):
    WITH_VERIFICATION = 1 << 31
    WITH_METADATA_EXT = 1 << 30


class ChunkFlag(IntFlag):
    GLOBAL_DEDUP_ELIGIBLE = 1 << 31


_RESERVED = Differs("these bytes are reserved", "writers use them; the name is that of current sources")


def _hash(name: str, role: FieldRole, doc: str, differs: Differs | None = None) -> Field:
    return Field(name, ("u1", SIZE), role, doc, differs=differs)


def _u4(name: str, role: FieldRole, doc: str, differs: Differs | None = None) -> Field:
    return Field(name, "<u4", role, doc, differs=differs)


def _u8(name: str, role: FieldRole, doc: str, default: int = 0, differs: Differs | None = None) -> Field:
    return Field(name, "<u8", role, doc, default, differs)


def _unused(size: int) -> Field:
    return Field("_unused", ("u1", size), FieldRole.UNUSED, "Reserved, 0.")


_FOOTER_SIZE_DIFFERS = Differs(
    "it is the size of the footer, which has 200 bytes",
    "it is 0 in the upload form, which has no footer; the original reader does not use it",
)

HEADER = Record(
    "MDBShardFileHeader",
    source="1. Header",
    fields=(
        Field("tag", ("u1", 32), FieldRole.MAGIC, "Identifies a shard: HFRepoMetaData and 18 more bytes.", TAG),
        _u8("version", FieldRole.VERSION, "Version of the layout; 2.", HEADER_VERSION),
        _u8(
            "footer_size",
            FieldRole.SIZE,
            "Size of the footer: 200 bytes, or 0 without a footer.",
            differs=_FOOTER_SIZE_DIFFERS,
        ),
    ),
)

FILE_HEADER = Record(
    "FileDataSequenceHeader",
    source="2. File Info Section",
    fields=(
        _hash("file_hash", FieldRole.KEY, "Hash of the file; all zero for an empty file."),
        _u4(
            "file_flags",
            FieldRole.FLAGS,
            "Bit 31: one verification entry per segment follows the segments; bit 30: one metadata entry comes last.",
        ),
        _u4("num_entries", FieldRole.COUNT, "Number of segments from which the file is rebuilt."),
        _unused(8),
    ),
)

_CAS_FLAGS = _u4("cas_flags", FieldRole.FLAGS, "Reserved, 0 (`xorb_flags` in the reference source).")

FILE_ENTRY = Record(
    "FileDataSequenceEntry",
    source="2. File Info Section",
    fields=(
        _hash(
            "cas_hash",
            FieldRole.HASH,
            "Hash of the xorb that contains this segment (`xorb_hash` in the reference source).",
        ),
        _CAS_FLAGS,
        _u4(
            "unpacked_segment_bytes",
            FieldRole.SIZE,
            "Uncompressed size of the segment in bytes: the sum of its chunks.",
        ),
        _u4("chunk_index_start", FieldRole.NUMBER, "Number of the segment's first chunk in the xorb, from 0."),
        _u4("chunk_index_end", FieldRole.NUMBER, "Number of the segment's last chunk plus one."),
    ),
)

FILE_VERIFICATION = Record(
    "FileVerificationEntry",
    source="2. File Info Section",
    fields=(
        _hash(
            "range_hash",
            FieldRole.HASH,
            "Range hash of the segment of the same number: BLAKE3 of its chunk hashes under a constant key.",
        ),
        _unused(16),
    ),
)

FILE_METADATA = Record(
    "FileMetadataExt",
    source="2. File Info Section",
    fields=(
        _hash(
            "sha256",
            FieldRole.HASH,
            "SHA-256 of the file, each 8-byte group reversed, so that its text form is the usual digest; "
            "all zero for an empty file.",
            Differs(
                "it is the SHA-256 of the file",
                "each group of 8 bytes is reversed, and for an empty file zeros are stored instead of the digest",
            ),
        ),
        _unused(16),
    ),
)

BOOKEND = Record(
    "Bookend",
    source="2. File Info Section, 3. CAS Info Section",
    fields=(
        Field("mark", ("u1", SIZE), FieldRole.MAGIC, "All bits one: the section ends here.", END_MARK),
        Field("_zero", ("u1", 16), FieldRole.PADDING, "Zero."),
    ),
)

_ON_DISK = Differs("it is the size of the xorb on disk", "clients write 0; only the server sets it")

CAS_HEADER = Record(
    "CASChunkSequenceHeader",
    source="3. CAS Info Section",
    fields=(
        _hash("cas_hash", FieldRole.KEY, "Hash of the xorb (`xorb_hash` in the reference source)."),
        _CAS_FLAGS,
        _u4("num_entries", FieldRole.COUNT, "Number of chunks in the xorb."),
        _u4("num_bytes_in_cas", FieldRole.SIZE, "Uncompressed size of all its chunks in bytes."),
        _u4("num_bytes_on_disk", FieldRole.SIZE, "Size of the xorb file in bytes; clients write 0.", _ON_DISK),
    ),
)

_KEYED = Differs(
    "it is the hash of the chunk",
    "it is keyed if the footer has an HMAC key, so that only a reader that has the chunk can find it",
)

CAS_ENTRY = Record(
    "CASChunkSequenceEntry",
    source="3. CAS Info Section",
    fields=(
        _hash("chunk_hash", FieldRole.KEY, "Hash of the chunk; keyed if the footer has an HMAC key.", _KEYED),
        _u4(
            "chunk_byte_range_start",
            FieldRole.OFFSET,
            "Offset of the chunk in the uncompressed xorb: all chunks decompressed and concatenated.",
        ),
        _u4("unpacked_segment_bytes", FieldRole.SIZE, "Uncompressed size of the chunk in bytes."),
        _u4(
            "flags",
            FieldRole.FLAGS,
            "Bit 31: eligible for global deduplication.",
            Differs(
                "the last 8 bytes of a chunk record are reserved",
                "4 of them are flags: servers set bit 31 on the first chunk of every file; clients send 0",
            ),
        ),
        _unused(4),
    ),
)

RECORD = Record(
    "record",
    source="2. File Info Section, 3. CAS Info Section",
    fields=(
        _hash("hash", FieldRole.HASH, "Every record begins with a hash."),
        Field("value", ("u1", 16), FieldRole.NUMBER, "The meaning of these bytes depends on the kind of the record."),
    ),
)
"""Fields common to all records of the two sections; used until the kinds of the records are known."""

_KEY = _u8(
    "key", FieldRole.KEY, "Table key: the first 8 bytes of the hash as one number, the first 16 digits of its text."
)


def _lookup(kind: str, section: str, *more: Field) -> Record:
    doc = f"Position of the header in 48-byte records from the section's start ({section} info)."
    fields = (_KEY, _u4("index", FieldRole.OFFSET, doc), *more)
    return Record(f"{kind} lookup entry", source=f"reference source, {kind}_lookup", fields=fields)


FILE_LOOKUP = _lookup("file", "file")
XORB_LOOKUP = _lookup("xorb", "xorb")
CHUNK_LOOKUP = _lookup("chunk", "xorb", _u4("chunk", FieldRole.NUMBER, "Number of the chunk in that xorb, from 0."))


def _live(name: str, role: FieldRole, doc: str) -> Field:
    return _u8(name, role, doc, differs=_RESERVED)


FOOTER = Record(
    "MDBShardFileFooter",
    source="4. Footer",
    fields=(
        _u8("version", FieldRole.VERSION, "Version of the footer; 1.", FOOTER_VERSION),
        _u8("file_info_offset", FieldRole.OFFSET, "Offset of the file info section; always 48.", SECTIONS_START),
        _u8(
            "cas_info_offset",
            FieldRole.OFFSET,
            "Offset of the xorb info (CAS info) section (`xorb_info_offset` in the reference source).",
        ),
        _live("file_lookup_offset", FieldRole.OFFSET, "Offset of the file lookup table."),
        _live("file_lookup_num_entry", FieldRole.COUNT, "Number of entries of the file lookup table."),
        _live("xorb_lookup_offset", FieldRole.OFFSET, "Offset of the xorb lookup table."),
        _live("xorb_lookup_num_entry", FieldRole.COUNT, "Number of entries of the xorb lookup table."),
        _live("chunk_lookup_offset", FieldRole.OFFSET, "Offset of the chunk lookup table."),
        _live("chunk_lookup_num_entry", FieldRole.COUNT, "Number of entries of the chunk lookup table."),
        _hash(
            "chunk_hash_hmac_key",
            FieldRole.KEY,
            "HMAC key of the stored chunk hashes: only a reader that has a chunk can find it; all zero if not used.",
        ),
        _u8("shard_creation_timestamp", FieldRole.TIME, "Creation time in Unix seconds; 0 if not recorded."),
        _u8(
            "shard_key_expiry",
            FieldRole.TIME,
            "Expiry for clients, in Unix seconds; 0 if not recorded, all bits one for never.",
        ),
        Field("_buffer", ("u1", 48), FieldRole.UNUSED, "Reserved, 0."),
        _live("stored_bytes_on_disk", FieldRole.SIZE, "Sum of num_bytes_on_disk of all xorbs; 0 in client shards."),
        _live("materialized_bytes", FieldRole.SIZE, "Sum of the sizes of all files, in bytes."),
        _live("stored_bytes", FieldRole.SIZE, "Sum of num_bytes_in_cas of all xorbs."),
        _u8("footer_offset", FieldRole.OFFSET, "Offset of this footer."),
    ),
)

FOOTER_SIZE = FOOTER.size


class RecordKind(IntEnum):
    FILE_HEADER = 0
    FILE_ENTRY = 1
    FILE_VERIFICATION = 2
    FILE_METADATA = 3
    CAS_HEADER = 4
    CAS_ENTRY = 5
    BOOKEND = 6
    UNREAD = 7


RECORDS: dict[int, Record] = dict(
    enumerate((FILE_HEADER, FILE_ENTRY, FILE_VERIFICATION, FILE_METADATA, CAS_HEADER, CAS_ENTRY, BOOKEND, RECORD))
)

FILE, XORB, CHUNK = "file", "xorb", "chunk"
KINDS = (FILE, XORB, CHUNK)
"""Kinds of objects; each may have a lookup table."""


def key_text(kind: str, hash_text: str) -> str:
    """Return the key of an object: the text of its hash, with the kind as prefix unless it is a file."""
    return hash_text if kind == FILE else f"{kind}:{hash_text}"


BLOCKS = {
    FILE: (RecordKind.FILE_HEADER, RecordKind.FILE_ENTRY),
    XORB: (RecordKind.CAS_HEADER, RecordKind.CAS_ENTRY),
}
"""Record kinds of the blocks in the section of files and in that of xorbs: kind of the header, kind of the entries."""

LOOKUPS: dict[str, Record] = {FILE: FILE_LOOKUP, XORB: XORB_LOOKUP, CHUNK: CHUNK_LOOKUP}

FULL, SESSION, MINIMAL, ANSWER, UPLOAD = "full", "session", "minimal", "global dedup answer", "upload form"
UNKNOWN = "unknown"

FILE_INFO, XORB_INFO = "file info", "xorb info (CAS info)"


def section_name(kind: str) -> str:
    return FILE_INFO if kind == FILE else XORB_INFO


def _table(kind: str, others: str) -> Part:
    doc = f"Table keys of all {kind}s (16 digits of their hashes), sorted, with {others}."
    return Part(f"{kind} lookup", SectionRole.LOOKUP, doc)


PARTS = (
    Part("header", SectionRole.HEADER, "Identifies a shard, and shows whether it has a footer."),
    Part(
        FILE_INFO,
        SectionRole.INDEX,
        "For every file, its segments: the ranges of chunks in xorbs from which it is rebuilt.",
    ),
    Part(XORB_INFO, SectionRole.INDEX, "For every xorb, its chunks: hash, offset and size of each."),
    _table(FILE, "the positions of their records"),
    _table(XORB, "the positions of their records"),
    _table(CHUNK, "xorb and number of each"),
    Part(
        "footer",
        SectionRole.FOOTER,
        "Contains the offsets of the sections, the HMAC key of the chunk hashes, and the expiry of the shard.",
    ),
)

HEADER_SECTION = Section(PARTS[0].name, PARTS[0].role, 0, HEADER.size, PARTS[0].doc)


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
class MdbLayout:
    """Header, footer (None if the shard has no valid one) and byte ranges of the sections of a shard.

    `file_info` and `cas_info` are half-open byte ranges; `tables` has the non-empty lookup tables by kind of object.
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
        return FOOTER.span("chunk_hash_hmac_key", self.size - FOOTER_SIZE)

    @property
    def flavour(self) -> str:
        """Kind of the shard, derived from its parts: full, session, minimal, global dedup answer or upload form."""
        footer = self.footer
        if footer is None:
            return UPLOAD
        empty = self.file_info[1] - self.file_info[0] <= RECORD_SIZE
        if empty and (self.key != ZERO or (not self.tables and footer["shard_creation_timestamp"] != 0)):
            return ANSWER
        if not self.tables and footer["file_lookup_offset"] == footer["footer_offset"]:
            return MINIMAL
        forever = footer["shard_key_expiry"] == NO_EXPIRY or footer["shard_creation_timestamp"] == 0
        return SESSION if forever else FULL

    def section(self, kind: str) -> tuple[int, int]:
        return self.file_info if kind == FILE else self.cas_info

    def entry_places(self, kind: str, index: int, chunk: int = -1) -> tuple[Span, Span] | None:
        """Return the spans of the header and of the record with the full hash to which a table entry refers.

        `index` counts records from the section's start. For files and xorbs, `chunk` is -1 and both are the header.
        Returns None if the records are not inside the section.
        """
        start, stop = self.section(kind)
        header, place = start + index * RECORD_SIZE, start + (index + 1 + chunk) * RECORD_SIZE
        if place + RECORD_SIZE > stop:
            return None
        return Span("", header, header + RECORD_SIZE), Span("", place, place + RECORD_SIZE)

    def claims(self, *, with_footer: bool) -> list[Section]:
        """Return the non-empty parts as sections; they may overlap in a damaged file."""
        bounds = {"header": (0, HEADER.size), FILE_INFO: self.file_info, XORB_INFO: self.cas_info}
        bounds |= {f"{kind} lookup": (table.start, table.stop) for kind, table in self.tables.items()}
        if with_footer:
            bounds["footer"] = max(self.size - FOOTER_SIZE, 0), self.size
        parts = [Section(p.name, p.role, *bounds[p.name], p.doc) for p in PARTS if p.name in bounds]
        return [part for part in parts if part.size]


def read_header(data: bytes) -> dict[str, Any]:
    """Return the fields of the header ("1. Header").

    Raises:
        BadMagic: The tag is wrong.
        Unsupported: The version is not 2.
        FormatError: The header is truncated, or `footer_size` is neither 0 nor 200.
    """
    if data[: len(TAG)] != TAG[: len(data)]:
        raise BadMagic(
            "not an MDB shard: it does not begin with the tag HFRepoMetaData", span=Span("", 0, min(len(data), 32))
        )
    header = HEADER.read_one(data, place=Span("", 0, len(data)))
    if header["version"] != HEADER_VERSION:
        raise Unsupported(f"header version {header['version']} is not supported", span=HEADER.span("version"))
    if header["footer_size"] not in (0, FOOTER_SIZE):
        raise FormatError(
            f"footer_size is {header['footer_size']}; it must be {FOOTER_SIZE}, or 0 without a footer",
            span=HEADER.span("footer_size"),
        )
    return header


def read_footer(data: bytes, size: int) -> dict[str, Any]:
    """Return the fields of the footer, not yet checked; raise Truncated if the file is too short for a footer."""
    if size < SECTIONS_START + FOOTER_SIZE:
        raise Truncated(
            f"header and footer take {SECTIONS_START + FOOTER_SIZE} bytes; the file has {size}",
            span=Span("", min(SECTIONS_START, size), size),
        )
    return FOOTER.read_one(data, len(data) - FOOTER_SIZE, place=Span("", size - len(data), size))


def locate(size: int, header: dict[str, Any], footer: dict[str, Any]) -> MdbLayout:
    """Check the footer and return the parts that it declares.

    Raises:
        Unsupported: The footer version is not 1.
        FormatError: `footer_offset` is wrong, offsets decrease, or a table does not fit.
    """
    where = size - FOOTER_SIZE

    def wrong(name: str, message: str, error: type[FormatError] = FormatError) -> FormatError:
        return error(message, span=FOOTER.span(name, where))

    if footer["version"] != FOOTER_VERSION:
        raise wrong("version", f"footer version {footer['version']} is not supported", Unsupported)
    if footer["footer_offset"] != where:
        raise wrong("footer_offset", f"the footer is at {where:#x}; footer_offset is {footer['footer_offset']:#x}")
    names = ("file_info_offset", "cas_info_offset", *(f"{kind}_lookup_offset" for kind in KINDS), "footer_offset")
    last = SECTIONS_START
    for name in names:
        if not last <= footer[name] <= where:
            raise wrong(name, f"{name} is {footer[name]:#x}; it must be from {last:#x} to {where:#x}")
        last = footer[name]
    tables = {}
    for kind, following in zip(KINDS, names[3:], strict=True):
        table = LookupTable(kind, footer[f"{kind}_lookup_offset"], footer[f"{kind}_lookup_num_entry"])
        if table.stop > footer[following]:
            raise wrong(
                f"{kind}_lookup_num_entry",
                f"the {kind} lookup table has {plural(table.count, 'entry')} and would end at byte {table.stop:#x}, "
                f"but {following} is {footer[following]:#x}",
            )
        if table.count:
            tables[kind] = table
    sections = footer["file_info_offset"], footer["cas_info_offset"], footer["file_lookup_offset"]
    return MdbLayout(size, header, footer, sections[:2], sections[1:], tables)


# --- rules of the records ---------------------------------------------------------------------------------------


def file_steps(headers: NDArray[Any]) -> NDArray[np.int64]:
    steps: NDArray[np.int64] = file_records(*(headers[name].astype(np.int64) for name in ("file_flags", "num_entries")))
    return steps


def file_records(flags: Any, count: Any) -> Any:
    """Return the number of records of a file of n segments: 1 + n, or 1 + 2n with verification; plus 1 with metadata.

    `flags` (`file_flags`) and `count` (n) are Python numbers or int64 columns.
    """
    return 1 + count * (1 + (flags >> 31 & 1)) + (flags >> 30 & 1)


def block_fault(what: str, records: int, left: int) -> str:
    """Return an error text if a block of `records` records exceeds the `left` ones in its section, else ""."""
    if records <= left:
        return ""
    return f"a {what} of {plural(records, 'record')} does not fit: {plural(left, 'is', 'are')} left in its section"


def range_fault(first: int, last: int, count: int) -> str:
    """Return an error text if a xorb of `count` chunks (-1: unknown) lacks the chunks `[first, last)`, else ""."""
    if first >= last:
        return f"its chunk range is empty or reversed: first chunk {first}, end {last}"
    return f"it has chunks {first} to {last - 1}; the xorb has {plural(count, 'chunk')}" if 0 <= count < last else ""


def size_fault(size: int, total: int) -> str:
    return f"its declared size is {plural(size, 'byte')}, but its chunks have {total:,}" if size != total else ""


def descents(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the numbers of the entries whose key is below the previous one; tables must be sorted."""
    return np.flatnonzero(rows["key"][1:] < rows["key"][:-1]) + 1


# --- hashes -----------------------------------------------------------------------------------------------------

RANGE_KEY = bytes.fromhex("7f1857d6ce56ed66127ff913e7a5c3f3a4cd26d5b5db49e64124987f28fb94c3")
"""BLAKE3 key of the range hashes in verification entries."""

FILE_KEY = ZERO
"""BLAKE3 key with which the root of a file's chunk tree is hashed to give the file hash."""


def file_hash(hashes: HashArray, sizes: NDArray[np.uint64]) -> bytes:
    """Return the hash of a file: the root of its chunk tree, hashed with the zero key; all zero for an empty file."""
    return keyed(FILE_KEY, tree_root(hashes, sizes)) if len(hashes) else ZERO


def file_hashes(hashes: HashArray, sizes: NDArray[np.uint64], bounds: NDArray[np.integer]) -> HashArray:
    """Return the hashes of many files; file `i` has the chunks `[bounds[i], bounds[i + 1])`."""
    roots = tree_roots(hashes, sizes, bounds)
    full = np.flatnonzero(np.diff(bounds))
    roots[full] = _keyed_rows(FILE_KEY, roots[full])
    return roots


def range_hash(hashes: HashArray) -> bytes:
    """Return the hash in a `FileVerificationEntry`: keyed BLAKE3 of the raw chunk hashes, concatenated."""
    return keyed(RANGE_KEY, hashes.tobytes())


def range_hashes(hashes: HashArray, bounds: NDArray[np.integer]) -> HashArray:
    """Return the range hash of each range of chunk hashes `[bounds[i], bounds[i + 1])`, shape `(m, 32)`."""
    raw = hashes.tobytes()
    marks = (np.asarray(bounds, dtype=np.int64) * SIZE).tolist()
    return as_rows(keyed_all(RANGE_KEY, [raw[start:stop] for start, stop in pairwise(marks)]))


def protect(key: bytes, raw: bytes) -> bytes:
    """Return a chunk hash, hashed again with the footer's HMAC key: by keyed BLAKE3, not the HMAC of RFC 2104.

    The zero key means no key: the hash is returned unchanged.
    """
    return keyed(key, raw) if key != ZERO else raw


def protect_many(key: bytes, hashes: HashArray) -> HashArray:
    return _keyed_rows(key, hashes) if key != ZERO else hashes


def _keyed_rows(key: bytes, hashes: HashArray) -> HashArray:
    rows = struct.iter_unpack(f"{SIZE}s", hashes.tobytes())
    return as_rows(keyed_all(key, [raw for (raw,) in rows]))


def shard_name(data: bytes) -> str:
    """Return the name of a shard file: its keyed BLAKE3 hash (DATA key) as text, and `.mdb`."""
    return f"{to_text(keyed(DATA_KEY, data))}.mdb"
