"""The bytes of a Software Heritage Read Shard, version 1, and the rules on them.

The shard layer is big-endian; the hash function section is a dump of a C library on a little-endian machine, and what
holds between its fields stands in `hash_section.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import BadMagic, FormatError, Truncated, Unsupported
from shardcore.nodes.sections import Section, SectionRole
from shardcore.objects import State
from shardcore.record import Field, FieldRole, Record
from shardcore.span import Span

MAGIC = b"SWHShard"
WHOLE_MAGIC = MAGIC + b"\0"
"""What readers compare: the letters and the zero after them."""

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

HASH_FIXED_SIZE = HASH_HEAD.offsets["displacements_count"] + HASH_TAIL.size
"""Bytes of a hash function section that `sequence_length` does not count."""

VARIABLE_PARTS = {
    "unary bits": "High parts of the ends of all values: end i as a one-bit at (end >> r) + i.",
    "select directory": "The place of every 128th one-bit, so that one displacement is found without reading all.",
    "low bits": "The r low bits of the end of every value, packed.",
    "value store": "The displacements, each in as many bits as it needs, packed.",
}

SENTENCES = {
    "header": "Says where the parts of the shard lie.",
    "padding": "Zeros up to the first object; nobody checks them.",
    "objects": "Every object: its length in 8 bytes, then its content; in the order of writing.",
    "index": "One slot for each value of the hash function: the key and the place of its object.",
    "hash function": "Gives every key a slot of its own, and any other key an arbitrary slot.",
    "trailing": "Bytes after the end of the shard, as on a larger block device; `truncate` removes them.",
}


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where the parts of a shard lie, and what a slot and an object may say.

    Attributes:
        objects_start: First byte of the objects.
        index_start: First byte of the index, and one past the last of the objects.
        slots: Number of slots.
        declared: Objects written, as the header says.
    """

    objects_start: int
    index_start: int
    slots: int
    declared: int

    @staticmethod
    def of(header: dict[str, Any]) -> Geometry:
        """The geometry that a header states."""
        slots = header["index_size"] // SLOT.size
        return Geometry(header["objects_position"], header["index_position"], slots, header["objects_count"])

    def slot_start(self, slot: int) -> int:
        """First byte of a slot."""
        return self.index_start + SLOT.size * slot

    def slot_span(self, slot: int) -> Span:
        """The bytes of a slot."""
        return Span("", self.slot_start(slot), self.slot_start(slot + 1))

    def key_span(self, slot: int) -> Span:
        """The key in a slot."""
        start = self.slot_start(slot)
        return Span("", start, start + SLOT.sizes["key"])

    def offset_span(self, slot: int) -> Span:
        """The offset in a slot."""
        return Span("", self.slot_start(slot) + SLOT.offsets["offset"], self.slot_start(slot + 1))

    def states(self, offsets: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """What the offsets of slots say: live, unused, or damaged; the key says nothing.

        An object is live where its length field lies in the objects section.
        """
        last = self.index_start - OBJECT.size
        states = np.full(len(offsets), State.DAMAGED, np.uint8)
        inside = (offsets >= np.uint64(self.objects_start)) & (offsets <= np.uint64(max(last, 0)))
        states[inside & np.bool_(last >= self.objects_start)] = State.LIVE
        states[(offsets == np.uint64(NO_OBJECT)) | (offsets == np.uint64(0))] = State.UNUSED
        return states

    def state(self, offset: int) -> State:
        """What the offset of one slot says; see `states`."""
        return State(int(self.states(np.array([offset], np.uint64))[0]))

    def outside(self, slot: int, offset: int) -> FormatError:
        """What is wrong with a slot whose state is damaged."""
        return FormatError(f"slot {slot} points to {offset}, outside the objects", span=self.offset_span(slot))

    def room(self, offset: int) -> int:
        """Bytes that the content of an object can have whose length stands at `offset`: objects end at the index."""
        return self.index_start - offset - OBJECT.size

    def too_long(self, offset: int, size: int) -> FormatError | None:
        """What is wrong with an object of `size` bytes whose length stands at `offset`; None when it fits."""
        room = self.room(offset)
        if size <= room:
            return None
        message = f"the object says {size} bytes; the objects end after {room}"
        return FormatError(message, span=length_span(offset))


def read_header(data: bytes) -> dict[str, Any]:
    """Reads and checks the header of a shard; `check_reach` compares it with the size of the file.

    Raises:
        Truncated: The header is cut.
        BadMagic: The magic is not there.
        Unsupported: The version is not 1.
        FormatError: The sections contradict each other.
    """
    values = HEADER.read_one(data, place=Span("", 0, len(data)))
    if not values["magic"].startswith(WHOLE_MAGIC):
        raise BadMagic("no SWHShard magic", span=Span("", 0, len(WHOLE_MAGIC)))
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
    if hashes + HASH_FIXED_SIZE > size:
        raise Truncated(
            f"the hash function begins at {hashes}, the file ends at {size}", span=field_span("hash_position")
        )


def cut_header(head: bytes) -> dict[str, Any]:
    """The fields that a header has which may be cut; nothing is checked.

    Args:
        head: The first bytes of the file, 88 or all there are.
    """
    values = HEADER.read_one(head.ljust(HEADER.size, b"\0"))
    return {name: value for name, value in values.items() if field_span(name).stop <= len(head)}


def field_span(name: str) -> Span:
    """The bytes of a header field."""
    start = HEADER.offsets[name]
    return Span("", start, start + HEADER.sizes[name])


def length_span(offset: int) -> Span:
    """The length field of an object."""
    return Span("", offset, offset + OBJECT.size)


def header_section(size: int = HEADER.size) -> Section:
    """The header, or as much of it as the file has."""
    return Section("header", SectionRole.HEADER, 0, size, SENTENCES["header"])


def sections_of(header: dict[str, Any], hash_stop: int, size: int) -> list[Section]:
    """All sections, from the fields of the header and the end of the hash function."""
    objects, index, hashes = (header[f"{name}_position"] for name in ("objects", "index", "hash"))
    claims = [
        header_section(),
        Section("padding", SectionRole.PADDING, HEADER.size, objects, SENTENCES["padding"]),
        Section("objects", SectionRole.DATA, objects, index, SENTENCES["objects"]),
        Section("index", SectionRole.INDEX, index, hashes, SENTENCES["index"]),
        Section("hash function", SectionRole.LOOKUP, hashes, hash_stop, SENTENCES["hash function"]),
        Section("trailing", SectionRole.TRAILING, hash_stop, size, SENTENCES["trailing"]),
    ]
    return [claim for claim in claims if claim.size or claim.name == "objects"]


def cut_sections(header: dict[str, Any], size: int) -> Iterator[tuple[Section, int]]:
    """What a file that was cut to `size` bytes still has of the parts behind the header, and how long each was.

    How long the hash function was is not known: 0.
    """
    for whole in sections_of(header, max(header["hash_position"], size), size)[1:]:
        left = Section(whole.name, whole.role, whole.start, min(whole.stop, size), whole.doc)
        if left.size > 0:
            yield left, whole.size if whole.name != "hash function" else 0
