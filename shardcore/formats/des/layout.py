"""The records of a DES shard and the rules on them (des-architecture, Shard format; des_core.shard_io).

`header 8 | data | index | footer 12`, all numbers unsigned and little-endian. An index entry has texts of variable
length between its records; the `ENTRY` tuples give their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.json_text import FREE, parse_json
from shardcore.dataclasses import dataclass
from shardcore.errors import BadMagic, FormatError, Truncated, Unsupported
from shardcore.model.record import Differs, Field, FieldRole, Record
from shardcore.model.section import Part, Section, SectionRole, laid_out
from shardcore.model.span import Span
from shardcore.model.text import plural

MAGIC = b"DES2"
FOOTER_MAGIC = b"DESI"
OTHER_FAMILY = b"DESHEAD1"

VERSIONS = (1, 2)
BIGFILE_FLAG = 1
CODECS = ("none", "zstd", "lz4")
HASH_LENGTH = 64
SUFFIX = ".des"
BIGFILES = "_bigFiles"
RETENTION = "_ext_retention"

HEADER = Record(
    "header",
    source="des_core.shard_io, HEADER",
    fields=(
        Field(
            "magic",
            ("u1", 4),
            FieldRole.MAGIC,
            "The letters DES2, in version 1 files too.",
            MAGIC,
            Differs("a shard begins with magic and version", "files of version 1 also have `DES2`"),
        ),
        Field("version", "u1", FieldRole.VERSION, "Layout of the index entries: 1 or 2; writers write 2.", 2),
        Field("reserved", ("u1", 3), FieldRole.UNUSED, "Zero; the reference rejects other values."),
    ),
)

FOOTER = Record(
    "footer",
    source="des_core.shard_io, FOOTER",
    fields=(
        Field("magic", ("u1", 4), FieldRole.MAGIC, "The letters DESI.", FOOTER_MAGIC),
        Field(
            "index_size",
            "<u8",
            FieldRole.SIZE,
            "Size of the index in bytes; it ends at the footer, so it starts at file size - 12 - index_size.",
        ),
    ),
)

INDEX_HEAD = Record(
    "index head",
    source="des_core.shard_io, INDEX",
    fields=(Field("entry_count", "<u4", FieldRole.COUNT, "Number of entries that follow."),),
)

UID_HEAD = Record(
    "uid head",
    source="des_core.shard_io, index entry",
    fields=(Field("uid_length", "<u2", FieldRole.SIZE, "Size in bytes of the uid that follows; 0 is allowed."),),
)

_FLAGS = Field("flags", "u1", FieldRole.FLAGS, "Bit 0: the content is a BigFile; the reference ignores the other bits.")
_TWO_LENGTHS = Differs(
    "an entry has offsets and sizes",
    "the stored size is stored twice: the local reader uses length, the S3 reader compressed_size",
)
_PLACE = (
    Field("offset", "<u8", FieldRole.OFFSET, "Offset of the payload from the start of the file."),
    Field("length", "<u8", FieldRole.SIZE, "Stored size of the payload in bytes.", differs=_TWO_LENGTHS),
)
_CODING = (
    Field("codec", "u1", FieldRole.CODEC, "Codec of the payload: 0 none, 1 zstd, 2 LZ4 frame."),
    Field(
        "compressed_size",
        "<u8",
        FieldRole.SIZE,
        "Stored size again; equal to length in all known files.",
        differs=_TWO_LENGTHS,
    ),
    Field(
        "uncompressed_size",
        "<u8",
        FieldRole.SIZE,
        "Uncompressed size of the content in bytes.",
        differs=Differs(
            "an entry has the sizes of its content", "the reference compares it only for compressed contents"
        ),
    ),
)
_META_LENGTH = Field("meta_length", "<u4", FieldRole.SIZE, "Size in bytes of the metadata that follows; 0 if none.")

INLINE = Record(
    "inline object", source="des_core.shard_io, index entry", fields=(_FLAGS, *_PLACE, *_CODING, _META_LENGTH)
)

_HASH_PATH = Differs(
    "a BigFile is stored at `_bigFiles/<hash>`",
    "the reference appends any text to the folder, even a path; here only 64 hex digits are accepted",
)

BIGFILE_HEAD = Record(
    "BigFile head",
    source="des_core.shard_io, index entry",
    fields=(
        _FLAGS,
        Field("hash_length", "<u2", FieldRole.SIZE, "Length of the hash that follows, 64 letters.", differs=_HASH_PATH),
    ),
)

BIGFILE_TAIL = Record(
    "BigFile tail",
    source="des_core.shard_io, index entry",
    fields=(
        Field("size", "<u8", FieldRole.SIZE, "Size of the external file in bytes; it is never compressed."),
        _META_LENGTH,
    ),
)

PLACE_V1 = Record("place, version 1", source="des_core.shard_io, index entry", fields=(*_PLACE, *_CODING))

PLACE_V1_SHORT = Record("place, first version 1", source="des_core.shard_io, history of 2025-11-28", fields=_PLACE)


@dataclass(frozen=True, slots=True)
class EntryText:
    name: str
    role: FieldRole
    doc: str


UID = EntryText("uid", FieldRole.KEY, "Key of the object, UTF-8, not normalised; it is data and never used as a path.")
HASH = EntryText(
    "hash",
    FieldRole.HASH,
    "SHA-256 of the uncompressed content in lower-case hex; it is the name of the external file.",
)
META = EntryText(
    "meta", FieldRole.TEXT, "Metadata of the object: a JSON object, without spaces and with ASCII escapes."
)

EntryParts = tuple[Record | EntryText, ...]

ENTRY_INLINE: EntryParts = (UID_HEAD, UID, INLINE, META)
ENTRY_BIGFILE: EntryParts = (UID_HEAD, UID, BIGFILE_HEAD, HASH, BIGFILE_TAIL, META)
ENTRY_V1: EntryParts = (UID_HEAD, UID, PLACE_V1)
ENTRY_V1_SHORT: EntryParts = (UID_HEAD, UID, PLACE_V1_SHORT)

PARTS = (
    Part("header", SectionRole.HEADER, "Identifies the format and the layout of the entries."),
    Part(
        "data",
        SectionRole.DATA,
        "The payloads (stored contents), in the order in which they were added, without padding.",
        always=True,
    ),
    Part("index", SectionRole.INDEX, "One entry per object: uid, location of its content, metadata."),
    Part("footer", SectionRole.FOOTER, "Contains the size of the index; readers start here."),
)
"""The sections, in file order."""


def sections_of(index_start: int, size: int) -> tuple[Section, ...]:
    return tuple(laid_out(PARTS, (0, HEADER.size, index_start, size - FOOTER.size, size)))


def check_header(header: dict[str, Any]) -> None:
    if header["magic"] != MAGIC:
        raise BadMagic("the file does not begin with DES2", span=HEADER.span("magic"))
    if header["version"] not in VERSIONS:
        text = f"version {header['version']} is not supported (supported: {', '.join(map(str, VERSIONS))})"
        raise Unsupported(text, span=HEADER.span("version"))
    if any(header["reserved"]):
        raise FormatError("the reserved bytes of the header are not zero", span=HEADER.span("reserved"))


def index_start(size: int, footer: dict[str, Any]) -> int:
    """Return the offset of the index from the footer; raise Truncated if the index does not fit in the file."""
    room = size - HEADER.size - FOOTER.size
    index_size = int(footer["index_size"])
    span = FOOTER.span("index_size", size - FOOTER.size)
    if index_size > room:
        message = f"index_size is {index_size:,}; between header and footer are {plural(max(room, 0), 'byte')}"
        raise Truncated(message, span=span)
    if index_size < INDEX_HEAD.size:
        raise Truncated(f"index_size is {index_size}; the entry count alone takes {INDEX_HEAD.size} bytes", span=span)
    return size - FOOTER.size - index_size


def read_uid(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


_JSON_NAMES = {list: "list", str: "string", int: "number", float: "number", bool: "literal", type(None): "null"}


def read_meta(data: bytes, *, place: Span | None = None) -> dict[str, Any]:
    """Parse metadata; {} for no bytes. Raise FormatError if it is not a JSON object."""
    if not data:
        return {}
    tree = parse_json(data, "the metadata", limits=FREE, span=place)
    if not isinstance(tree, dict):
        raise FormatError(f"the metadata is a JSON {_JSON_NAMES[type(tree)]}, not an object", span=place)
    return tree


def created_at_of(meta: Mapping[str, Any]) -> str:
    value = meta.get("created_at")
    return value if isinstance(value, str) else ""


_IS_HEX = np.isin(np.arange(256), np.frombuffer(b"0123456789abcdefABCDEF", np.uint8))


def are_hashes(texts: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.asarray(_IS_HEX[texts].all(axis=-1))


def is_hash(text: bytes) -> bool:
    """Return True if `text` is 64 hex digits, and so a safe file name."""
    return len(text) == HASH_LENGTH and bool(are_hashes(np.frombuffer(text, np.uint8)))


def bigfile_name(digest: bytes) -> str:
    """Return the path of an external file relative to the shard's folder; `digest` must pass `is_hash`."""
    return f"{BIGFILES}/{digest.decode('ascii', 'replace')}"


def codec_name(code: int) -> str:
    return CODECS[code] if code < len(CODECS) else f"{code} (unknown)"
