"""The bytes of a Software Heritage Read Shard, version 1.

The shard layer is big-endian; the hash function section is a dump of a C library on a little-endian machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shardcore.errors import BadMagic, FormatError, Truncated, Unsupported
from shardcore.formats.swh.chd_code import Encoded, PartSizes, part_sizes
from shardcore.record import Field, FieldRole, Record
from shardcore.span import Span

MAGIC = b"SWHShard"
VERSION = 1
DATA_START = 512
"""Where every known writer lets the objects begin."""

NO_OBJECT = 2**64 - 1
"""Offset of a slot without object."""

HEADER = Record(
    "header",
    source="format.rst, Shard",
    fields=(
        Field("magic", ("u1", 32), FieldRole.MAGIC, "`SWHShard`, then zeros; readers compare 9 bytes.", MAGIC),
        Field("version", ">u8", FieldRole.VERSION, "Version of the format; 1 is the only one.", VERSION),
        Field("objects_count", ">u8", FieldRole.COUNT, "Objects that were written; deletions do not lower it."),
        Field("objects_position", ">u8", FieldRole.OFFSET, "Where the objects begin; 512 in every known file."),
        Field("objects_size", ">u8", FieldRole.SIZE, "Bytes of the objects, with the 8 bytes of length before each."),
        Field("index_position", ">u8", FieldRole.OFFSET, "Where the index begins: right after the objects."),
        Field("index_size", ">u8", FieldRole.SIZE, "Bytes of the index: 40 for each slot."),
        Field("hash_position", ">u8", FieldRole.OFFSET, "Where the hash function begins: right after the index."),
    ),
)

OBJECT = Record(
    "object",
    source="format.rst, Objects",
    fields=(Field("size", ">u8", FieldRole.SIZE, "Bytes of the content, which follows at once."),),
)

SLOT = Record(
    "index entry",
    source="format.rst, Index",
    fields=(
        Field("key", ("u1", 32), FieldRole.KEY, "Key of the object, or zeros in a slot without object."),
        Field("offset", ">u8", FieldRole.OFFSET, "Where the object's length stands, from the start of the file."),
    ),
)

HASH_HEAD = Record(
    "hash function",
    source="cmph: chd_ph_dump, compressed_seq_dump, select_dump",
    fields=(
        Field("algorithm", ("u1", 7), FieldRole.TEXT, "Name of the algorithm, `chd_ph` and a NUL.", b"chd_ph\0"),
        Field("table_size", "<u4", FieldRole.COUNT, "n, the number of slots; a prime."),
        Field("hash_state_length", "<u4", FieldRole.SIZE, "Bytes of the next two fields: 12.", 12),
        Field("hash_name", ("u1", 8), FieldRole.TEXT, "Name of the key hash, `jenkins` and a NUL.", b"jenkins\0"),
        Field("seed", "<u4", FieldRole.NUMBER, "Seed of the key hash: start value of its third number."),
        Field("sequence_length", "<u4", FieldRole.SIZE, "L, bytes of the compressed displacements that follow."),
        Field("displacements_count", "<u4", FieldRole.COUNT, "B, the number of displacements: one for each bucket."),
        Field("low_bits_width", "<u4", FieldRole.NUMBER, "r, low bits kept of each end of a value; at least 1."),
        Field("store_bits", "<u4", FieldRole.COUNT, "T, bits used in the value store."),
        Field("select_length", "<u4", FieldRole.SIZE, "Ls, bytes of the select block that follows."),
        Field("select_count", "<u4", FieldRole.COUNT, "One-bits in the unary bits: B."),
        Field("select_top", "<u4", FieldRole.COUNT, "Zero-bits in the unary bits: T >> r."),
    ),
)

HASH_TAIL = Record(
    "hash function end",
    source="cmph: chd_ph_dump",
    fields=(
        Field("slots_count", "<u4", FieldRole.COUNT, "n, the number of slots, again."),
        Field("buckets_count", "<u4", FieldRole.COUNT, "B, the number of buckets, again."),
    ),
)

DIRECTORY_ENTRY = Record(
    "select directory entry",
    source="cmph: select_dump",
    fields=(
        Field("position", "<u4", FieldRole.OFFSET, "Bit at which one-bit number 128·j stands; 0 when there is none."),
    ),
)

VARIABLE_PARTS = {
    "unary bits": "High parts of the ends of all values: end i as a one-bit at (end >> r) + i.",
    "select directory": "The place of every 128th one-bit, so that one displacement is found without reading all.",
    "low bits": "The r low bits of the end of every value, packed.",
    "value store": "The displacements, each in as many bits as it needs, packed.",
}


@dataclass(frozen=True, slots=True)
class HashParts:
    """Where the parts of a hash function section lie, from its first 55 bytes.

    Attributes:
        start: First byte of the section in the file.
        values: The fields of `HASH_HEAD`.
        sizes: Bytes of the variable parts.
    """

    start: int
    values: Mapping[str, Any]
    sizes: PartSizes

    @property
    def seed(self) -> int:
        """Seed of the key hash."""
        return int(self.values["seed"])

    @property
    def slots(self) -> int:
        """n, the number of slots."""
        return int(self.values["table_size"])

    @property
    def buckets(self) -> int:
        """B, the number of buckets."""
        return int(self.values["displacements_count"])

    @property
    def low_width(self) -> int:
        """r, low bits kept of each end."""
        return int(self.values["low_bits_width"])

    @property
    def store_bits(self) -> int:
        """T, bits used in the value store."""
        return int(self.values["store_bits"])

    @property
    def unary_bits(self) -> int:
        """Bits used in the unary bits."""
        return self.buckets + (self.store_bits >> self.low_width)

    @property
    def stop(self) -> int:
        """One past the last byte of the section."""
        return self.start + 39 + int(self.values["sequence_length"])

    def part(self, name: str) -> Span:
        """The bytes of one of `VARIABLE_PARTS`."""
        at = self.start + HASH_HEAD.size
        sizes = (self.sizes.unary, self.sizes.directory, self.sizes.low_bits, self.sizes.store)
        for part, size in zip(VARIABLE_PARTS, sizes, strict=True):
            if part == name:
                return Span("", at, at + size)
            at += size
        raise KeyError(name)

    def where(self, part: str, start: int, stop: int) -> Span:
        """Bytes of a part, as bytes of the file."""
        first = self.part(part).start
        return Span("", first + start, first + stop)


def read_header(data: bytes) -> dict[str, Any]:
    """Reads and checks the header of a shard; `check_reach` compares it with the size of the file.

    Raises:
        Truncated: The header is cut.
        BadMagic: The magic is not there.
        Unsupported: The version is not 1.
        FormatError: The sections contradict each other.
    """
    values = HEADER.read_one(data, place=Span("", 0, len(data)))
    if values["magic"][:9] != MAGIC + b"\0":
        raise BadMagic("no SWHShard magic", span=Span("", 0, 9))
    if values["version"] != VERSION:
        raise Unsupported(f"version {values['version']} of the format; 1 is known", span=field_span("version"))
    objects, index, hashes = (values[f"{name}_position"] for name in ("objects", "index", "hash"))
    if objects < HEADER.size:
        raise FormatError("the objects begin inside the header", span=field_span("objects_position"))
    if index != objects + values["objects_size"]:
        raise FormatError("the index does not begin where the objects end", span=field_span("index_position"))
    if hashes != index + values["index_size"]:
        raise FormatError("the hash function does not begin where the index ends", span=field_span("hash_position"))
    if values["index_size"] % SLOT.size:
        raise FormatError("the index is not a whole number of slots", span=field_span("index_size"))
    slots = values["index_size"] // SLOT.size
    if not 2 <= slots < 2**32:
        raise FormatError(f"an index of {slots} slots", span=field_span("index_size"))
    if values["objects_count"] > slots:
        raise FormatError(f"{values['objects_count']} objects in {slots} slots", span=field_span("objects_count"))
    return values


def check_reach(header: dict[str, Any], size: int) -> None:
    """Checks that a file of `size` bytes has room for the parts that the header names.

    Raises:
        Truncated: It was cut.
    """
    hashes = header["hash_position"]
    if hashes + 39 > size:
        raise Truncated(
            f"the hash function begins at {hashes}, the file ends at {size}", span=field_span("hash_position")
        )


def field_span(name: str) -> Span:
    """The bytes of a header field."""
    start = HEADER.offsets[name]
    return Span("", start, start + HEADER.sizes[name])


def read_hash_parts(data: bytes, start: int, slots: int, size: int) -> HashParts:
    """Reads and checks the first 55 bytes of a hash function section.

    Args:
        data: The bytes from the section's first one on.
        start: Where the section begins.
        slots: Slots of the index.
        size: Bytes of the file.

    Raises:
        Truncated: The section is cut.
        BadMagic: The names of the algorithm or of the key hash are not there.
        Unsupported: The section was written on a big-endian machine.
        FormatError: The counts contradict each other or the index.
    """
    values = HASH_HEAD.read_one(data, place=Span("", start, start + len(data)))

    def place(name: str) -> Span:
        return Span("", start + HASH_HEAD.offsets[name], start + HASH_HEAD.offsets[name] + HASH_HEAD.sizes[name])

    def check(holds: bool, name: str, message: str) -> None:
        if not holds:
            raise FormatError(f"hash function: {message}", span=place(name))

    if values["algorithm"] != b"chd_ph\0":
        raise BadMagic("no chd_ph hash function where the header says", span=place("algorithm"))
    if values["table_size"] != slots and int.from_bytes(values["table_size"].to_bytes(4, "little"), "big") == slots:
        raise Unsupported("the hash function was written on a big-endian machine", span=place("table_size"))
    check(values["table_size"] == slots, "table_size", f"made for {values['table_size']} slots; the index has {slots}")
    check(values["hash_state_length"] == 12, "hash_state_length", "the hash state is not 12 bytes")
    if values["hash_name"] != b"jenkins\0":
        raise BadMagic("the key hash is not jenkins", span=place("hash_name"))
    buckets, low_width, store_bits = (values[name] for name in ("displacements_count", "low_bits_width", "store_bits"))
    check(buckets >= 1, "displacements_count", "no buckets")
    check(1 <= low_width <= 31, "low_bits_width", f"{low_width} low bits; 1 to 31 are possible")
    check(values["select_count"] == buckets, "select_count", "its two counts of buckets differ")
    check(values["select_top"] == store_bits >> low_width, "select_top", "zero-bits do not fit the value store")
    sizes = part_sizes(buckets, low_width, store_bits)
    check(values["select_length"] == sizes.select, "select_length", f"the select block takes {sizes.select} bytes")
    check(
        values["sequence_length"] == sizes.sequence, "sequence_length", f"the displacements take {sizes.sequence} bytes"
    )
    parts = HashParts(start, values, sizes)
    if parts.stop > size:
        raise Truncated(f"the hash function ends at {parts.stop}, the file at {size}", span=place("sequence_length"))
    return parts


def read_hash_tail(data: bytes, parts: HashParts) -> dict[str, Any]:
    """Reads and checks the last 8 bytes of a hash function section.

    Raises:
        FormatError: They contradict the first ones.
    """
    at = parts.stop - HASH_TAIL.size
    values = HASH_TAIL.read_one(data, place=Span("", at, parts.stop))
    if (values["slots_count"], values["buckets_count"]) != (parts.slots, parts.buckets):
        raise FormatError("hash function: its last two counts contradict its first ones", span=Span("", at, parts.stop))
    return values


def read_encoded(section: bytes, parts: HashParts) -> Encoded:
    """The compressed displacements of a whole section; the inverse of `write_hash_section`."""

    def bytes_of(name: str) -> bytes:
        span = parts.part(name)
        return section[span.start - parts.start : span.stop - parts.start]

    directory = DIRECTORY_ENTRY.read(bytes_of("select directory"), count=parts.sizes.directory // 4)["position"]
    return Encoded(
        r=parts.low_width,
        total_bits=parts.store_bits,
        unary=bytes_of("unary bits"),
        directory=directory.astype(np.uint32),
        low_bits=bytes_of("low bits"),
        store=bytes_of("value store"),
    )


def write_hash_section(seed: int, slots: int, buckets: int, encoded: Encoded) -> bytes:
    """The bytes of a hash function section; the inverse of `read_encoded`."""
    sizes = part_sizes(buckets, encoded.r, encoded.total_bits)
    head = HASH_HEAD.pack(
        table_size=slots,
        seed=seed,
        sequence_length=sizes.sequence,
        displacements_count=buckets,
        low_bits_width=encoded.r,
        store_bits=encoded.total_bits,
        select_length=sizes.select,
        select_count=buckets,
        select_top=encoded.total_bits >> encoded.r,
    )
    entries = np.zeros(len(encoded.directory), DIRECTORY_ENTRY.dtype)
    entries["position"] = encoded.directory
    tail = HASH_TAIL.pack(slots_count=slots, buckets_count=buckets)
    return head + encoded.unary + DIRECTORY_ENTRY.write(entries) + encoded.low_bits + encoded.store + tail
