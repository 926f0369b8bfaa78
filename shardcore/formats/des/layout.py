"""The records of a DES shard and the rules on them (des-architecture, Shard format; des_core.shard_io).

`header 8 | data | index | footer 12`, all numbers unsigned and little-endian. An index entry has texts of variable
length, so it is described by the records between them: uid length; then (version 2) flags; then offset and sizes of
an inline object, or the hash length of a BigFile; then the length of the metadata.
"""

from __future__ import annotations

import json
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.json_text import FREE, parse_json
from shardcore.errors import FormatError, Truncated
from shardcore.model.number_text import ends_text, plural
from shardcore.model.record import Differs, Field, FieldRole, Record
from shardcore.model.safe_text import short
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span

MAGIC = b"DES2"
FOOTER_MAGIC = b"DESI"
OTHER_FAMILY = b"DESHEAD1"

VERSIONS = (1, 2)
BIGFILE_FLAG = 1
CODECS = ("none", "zstd", "lz4")
HASH_LENGTH = 64
HEX_DIGITS = b"0123456789abcdefABCDEF"
MAX_UID = 65535
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

PLACE_V1_SHORT = Record(
    "place, first version 1",
    source="des_core.shard_io, history of 2025-11-28",
    fields=_PLACE,
)

TEXT_DOCS = {
    "uid": "Key of the object, UTF-8, not normalised; it is data and never used as a path.",
    "hash": "SHA-256 of the uncompressed content in lower-case hex; it is the name of the external file.",
    "meta": "Metadata of the object: a JSON object, without spaces and with ASCII escapes.",
}

LAYOUTS = (
    HEADER,
    INDEX_HEAD,
    UID_HEAD,
    INLINE,
    BIGFILE_HEAD,
    BIGFILE_TAIL,
    PLACE_V1,
    PLACE_V1_SHORT,
    FOOTER,
)


def read_uid(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def uid_bytes(uid: str) -> bytes:
    """Return the bytes of a uid; raise FormatError for more than 65,535 bytes or text that UTF-8 cannot encode."""
    try:
        data = uid.encode()
    except UnicodeEncodeError:
        raise FormatError(f"the uid {short(uid)} cannot be encoded as UTF-8") from None
    if len(data) > MAX_UID:
        raise FormatError(f"the uid has {len(data):,} bytes; the limit is {MAX_UID:,}")
    return data


def read_meta(data: bytes, *, place: Span | None = None) -> dict[str, Any]:
    """Parse metadata; {} for no bytes. Raise FormatError if it is not a JSON object."""
    if not data:
        return {}
    tree = parse_json(data, "the metadata", limits=FREE, span=place)
    if not isinstance(tree, dict):
        raise FormatError(f"the metadata is a JSON {_JSON_NAMES[type(tree)]}, not an object", span=place)
    return tree


_JSON_NAMES = {list: "list", str: "string", int: "number", float: "number", bool: "literal", type(None): "null"}


def write_meta(meta: dict[str, Any] | None) -> bytes:
    if not meta:
        return b""
    try:
        return json.dumps(meta, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError(f"the metadata cannot be written as JSON: {error}") from None


def section_claims(index_start: int, index_stop: int, size: int) -> list[Section]:
    return [
        Section("header", SectionRole.HEADER, 0, HEADER.size, "Identifies the format and the layout of the entries."),
        Section(
            "data",
            SectionRole.DATA,
            HEADER.size,
            index_start,
            "The payloads (stored contents), in the order in which they were added, without padding.",
        ),
        Section(
            "index",
            SectionRole.INDEX,
            index_start,
            index_stop,
            "One entry per object: uid, location of its content, metadata.",
        ),
        Section("footer", SectionRole.FOOTER, index_stop, size, "Contains the size of the index; readers start here."),
    ]


def is_hash(text: bytes) -> bool:
    """Return True if `text` is 64 hex digits, and so a safe file name."""
    return len(text) == HASH_LENGTH and bool(are_hashes(np.frombuffer(text, np.uint8)))


def are_hashes(texts: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.asarray(_IS_HEX[texts].all(axis=-1))


_IS_HEX = np.isin(np.arange(256), np.frombuffer(HEX_DIGITS, np.uint8))


def bigfile_name(digest: bytes) -> str:
    """Return the path of an external file relative to the shard's folder; `digest` must pass `is_hash`."""
    return f"{BIGFILES}/{digest.decode('ascii', 'replace')}"


def codec_name(code: int) -> str:
    return CODECS[code] if code < len(CODECS) else f"{code} (unknown)"


class PayloadFault(IntEnum):
    NONE = 0
    OUTSIDE = 1
    """The payload does not end before the index."""
    CODEC = 2
    """The codec is not in `CODECS`."""
    SIZE = 3
    """Stored and uncompressed size of an uncompressed object differ."""


def payload_faults(
    offset: NDArray[np.uint64],
    length: NDArray[np.uint64],
    codec: NDArray[np.uint8],
    size: NDArray[np.uint64],
    data_stop: int,
) -> NDArray[np.uint8]:
    stop = np.uint64(data_stop)
    faults = np.zeros(len(offset), np.uint8)
    faults[(codec == 0) & (size != length)] = PayloadFault.SIZE
    faults[codec >= len(CODECS)] = PayloadFault.CODEC
    # `offset + length` may overflow.
    faults[(length > stop) | (offset > stop - np.minimum(length, stop))] = PayloadFault.OUTSIDE
    return faults


def payload_fault_text(fault: int, offset: int, length: int, codec: int, size: int, data_stop: int) -> str:
    if fault == PayloadFault.NONE:
        return ""
    return {
        PayloadFault.OUTSIDE: (
            f"its payload, bytes {ends_text(offset, offset + length)}, does not end before the index at {data_stop:#x}"
        ),
        PayloadFault.CODEC: f"codec {codec} is not supported",
        PayloadFault.SIZE: f"stored uncompressed in {plural(length, 'byte')}, but uncompressed_size is {size:,}",
    }[PayloadFault(fault)]


def index_start(size: int, footer: dict[str, Any]) -> int:
    """Return the offset of the index from the footer; raise Truncated if the index does not fit in the file."""
    room = size - HEADER.size - FOOTER.size
    index_size = footer["index_size"]
    span = Span("", size - FOOTER.size + FOOTER.offsets["index_size"], size)
    if index_size > room:
        raise Truncated(
            f"index_size is {index_size:,}; between header and footer are {plural(max(room, 0), 'byte')}", span=span
        )
    if index_size < INDEX_HEAD.size:
        raise Truncated(f"index_size is {index_size}; the entry count alone takes {INDEX_HEAD.size} bytes", span=span)
    return size - FOOTER.size - int(index_size)
