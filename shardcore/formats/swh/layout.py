"""Records and sections of a Software Heritage Read Shard, version 1; states of slots, and checks of the header.

The shard layer is big-endian. The hash function section is a dump of the C library cmph on a little-endian machine;
`hash_section.py` checks its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import BadMagic, FormatError, Truncated, Unsupported
from shardcore.model.objects import State
from shardcore.model.pointer_table import PointerTable
from shardcore.model.record import Differs, Field, FieldRole, Record
from shardcore.model.section import Part, Section, SectionRole, laid_out
from shardcore.model.span import Span
from shardcore.model.text import ends_text, grouped_digits, plural
from shardcore.model.usage import Use

MAGIC = b"SWHShard"
WHOLE_MAGIC = MAGIC + b"\0"
"""Part of the magic that readers compare, 9 bytes."""

VERSION = 1
DATA_START = 512
"""`objects_position` in the files of every known writer."""

NO_OBJECT = 2**64 - 1
"""Offset in a slot without an object."""

_MAGIC_DIFFERS = Differs("the magic is padded with zeros to 32 bytes", "readers compare the first 9 bytes alone")
_POSITION_DIFFERS = Differs(
    "the header reaches from byte 32 to objects_position",
    "it ends at 88; objects begin at 512 in every known file, and the bytes between are padding that no reader checks",
)

HEADER = Record(
    "header",
    source="format.rst, Shard",
    fields=(
        Field("magic", ("u1", 32), FieldRole.MAGIC, "`SWHShard`, then zeros.", MAGIC, _MAGIC_DIFFERS),
        Field("version", ">u8", FieldRole.VERSION, "Version of the format; 1 is the only one.", VERSION),
        Field("objects_count", ">u8", FieldRole.COUNT, "Number of objects written; deletions do not lower it."),
        Field(
            "objects_position",
            ">u8",
            FieldRole.OFFSET,
            "Offset of the first object; 512 in every known file.",
            differs=_POSITION_DIFFERS,
        ),
        Field("objects_size", ">u8", FieldRole.SIZE, "Size of all objects in bytes, each with its 8-byte length."),
        Field("index_position", ">u8", FieldRole.OFFSET, "Offset of the index, directly after the objects."),
        Field("index_size", ">u8", FieldRole.SIZE, "Size of the index: 40 bytes per slot."),
        Field("hash_position", ">u8", FieldRole.OFFSET, "Offset of the hash function, directly after the index."),
    ),
)

OBJECT = Record(
    "object",
    source="format.rst, Objects",
    fields=(
        Field(
            "size",
            ">u8",
            FieldRole.SIZE,
            "Size of the content in bytes; the content follows directly.",
            differs=Differs(
                "objects_count times a size and a content follow one another",
                "deleting overwrites sizes with zeros, so objects are found by their slots and not by walking",
            ),
        ),
    ),
)

SLOT = Record(
    "index entry",
    source="format.rst, Index",
    fields=(
        Field("key", ("u1", 32), FieldRole.KEY, "Key of the object; all zero in a slot without an object."),
        Field(
            "offset",
            ">u8",
            FieldRole.OFFSET,
            "Offset of the object's length field in the file; 2^64 - 1 (older writers: 0) if there is no object.",
            differs=Differs(
                "2^64 - 1 means that the object has been deleted",
                "unused slots also have it, and an older writer marks those by 0; only objects_count gives the number "
                "of each kind",
            ),
        ),
    ),
)

HASH_HEAD = Record(
    "hash function",
    source="cmph: chd_ph_dump, compressed_seq_dump, select_dump",
    fields=(
        Field("algorithm", ("u1", 7), FieldRole.TEXT, "Name of the algorithm: `chd_ph` and a zero byte.", b"chd_ph\0"),
        Field(
            "table_size",
            "<u4",
            FieldRole.COUNT,
            "n, the number of slots; a prime, so that any step reaches every slot.",
        ),
        Field("hash_state_length", "<u4", FieldRole.SIZE, "Size of the next two fields, name and seed: 12 bytes.", 12),
        Field("hash_name", ("u1", 8), FieldRole.TEXT, "Name of the key hash: `jenkins` and a zero byte.", b"jenkins\0"),
        Field("seed", "<u4", FieldRole.NUMBER, "Seed of the key hash: the initial value of its third state number, c."),
        Field(
            "sequence_length",
            "<u4",
            FieldRole.SIZE,
            "L, size of the compressed displacements in bytes: from the next field to the end of the value store.",
        ),
        Field("displacements_count", "<u4", FieldRole.COUNT, "B, the number of displacements: one per bucket."),
        Field(
            "low_bits_width",
            "<u4",
            FieldRole.NUMBER,
            "r, the number of low bits of the end of each value; at least 1.",
        ),
        Field("store_bits", "<u4", FieldRole.COUNT, "T, the number of bits in use in the value store."),
        Field(
            "select_length",
            "<u4",
            FieldRole.SIZE,
            "Ls, size of the select block in bytes: the next two fields, the unary bits and the select directory.",
        ),
        Field("select_count", "<u4", FieldRole.COUNT, "Number of one-bits in the unary bits: B."),
        Field("select_top", "<u4", FieldRole.COUNT, "Number of zero-bits in the unary bits: T >> r."),
    ),
)

HASH_TAIL = Record(
    "hash function end",
    source="cmph: chd_ph_dump",
    fields=(
        Field("slots_count", "<u4", FieldRole.COUNT, "n, the number of slots, again: `table_size`."),
        Field("buckets_count", "<u4", FieldRole.COUNT, "B, the number of buckets, again: `displacements_count`."),
    ),
)

DIRECTORY_ENTRY = Record(
    "select directory entry",
    source="cmph: select_dump",
    fields=(
        Field(
            "position",
            "<u4",
            FieldRole.OFFSET,
            "Entry j: position of one-bit number 128·j in the unary bits; 0 if there is no such one-bit.",
        ),
    ),
)

HASH_FIXED_SIZE = HASH_HEAD.offsets["displacements_count"] + HASH_TAIL.size
"""Bytes of a hash function section that `sequence_length` does not include."""

VARIABLE_PARTS = {
    "unary bits": "High part of the end of each value in the value store: a one-bit at (end >> r) + i for value i.",
    "select directory": "Position of every 128th one-bit, so that one displacement is found without reading all.",
    "low bits": "The r low bits of the end of each value in the value store, without gaps.",
    "value store": "The displacements of all buckets, each in as many bits as it needs, without gaps.",
}

PARTS = (
    Part("header", SectionRole.HEADER, "Contains the offsets of the sections and the number of objects written."),
    Part(
        "padding",
        SectionRole.PADDING,
        "Unused bytes up to the first object: zeros in new files, but readers do not check them.",
    ),
    Part(
        "objects",
        SectionRole.DATA,
        "Every object, in the order of writing: its length in 8 bytes, then its content.",
        always=True,
    ),
    Part("index", SectionRole.INDEX, "One slot per value of the hash function: a key, and the offset of its object."),
    Part(
        "hash function",
        SectionRole.LOOKUP,
        "Gives every key of the shard its own slot, and any other key an arbitrary slot.",
    ),
    Part(
        "trailing",
        SectionRole.TRAILING,
        "Bytes after the end of the shard, as on a larger block device; readers ignore them.",
    ),
)
"""The sections, in file order."""


@dataclass(frozen=True, slots=True)
class ShardLayout:
    """Locations of objects and slots; state of a slot by its offset.

    Attributes:
        objects_start: Offset of the first object.
        index_start: Offset of the index, which is the end of the objects.
        slots: Number of slots.
        declared: `objects_count` of the header.
    """

    objects_start: int
    index_start: int
    slots: int
    declared: int

    @staticmethod
    def of(header: dict[str, Any]) -> ShardLayout:
        slots = header["index_size"] // SLOT.size
        return ShardLayout(header["objects_position"], header["index_position"], slots, header["objects_count"])

    def deleted(self, live: int, damaged: int) -> int:
        """Return the number of deleted objects; negative if more slots have an object than objects were written."""
        return self.declared - live - damaged

    def slot_start(self, slot: int) -> int:
        return self.index_start + SLOT.size * slot

    def slot_span(self, slot: int, field: str = "") -> Span:
        return SLOT.span(field, self.slot_start(slot))

    def states(self, offsets: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """Return the states of slots by their offsets, never by their keys, because a zero key is valid.

        An object is live if its length field is in the objects section.
        """
        last = np.uint64(self.index_start - OBJECT.size)
        states = np.full(len(offsets), State.DAMAGED, np.uint8)
        states[(offsets >= np.uint64(self.objects_start)) & (offsets <= last)] = State.LIVE
        states[~has_object(offsets)] = State.UNUSED
        return states

    def state(self, offset: int) -> State:
        if offset in (0, NO_OBJECT):
            return State.UNUSED
        inside = self.objects_start <= offset <= self.index_start - OBJECT.size
        return State.LIVE if inside else State.DAMAGED

    def outside(self, slot: int, offset: int) -> FormatError:
        inside = f"which are bytes {ends_text(self.objects_start, self.index_start)}"
        message = f"slot {slot} points to byte {offset:#x}, outside the objects, {inside}"
        return FormatError(message, span=self.slot_span(slot, "offset"))

    def too_long(self, offset: int, size: int) -> FormatError | None:
        """Return the error of an object that exceeds the objects section; None for one that does not."""
        most = self.index_start - offset - OBJECT.size
        if size <= most:
            return None
        message = f"the object has {plural(size, 'byte')}; only {grouped_digits(most)} are left before the index"
        return FormatError(message, span=OBJECT.span("size", offset))


def has_object(offsets: NDArray[np.uint64]) -> NDArray[np.bool_]:
    return np.asarray((offsets != np.uint64(NO_OBJECT)) & (offsets != np.uint64(0)))


class SlotTable(PointerTable):
    layout = SLOT
    row_name = "slot {}"
    row_doc = "One slot of the index: a key, and the offset of its object."
    pointer = "offset"
    why = "Slot {} has the offset of this object."
    used = (Use.INDEX, "slots of objects", "Key and offset of each object.")
    unused = (
        Use.SLACK,
        "unused slots",
        "A perfect hash needs a few more slots than objects; otherwise building it takes too long.",
    )

    def __init__(self, shard: ShardLayout, read: Callable[[int, int], NDArray[Any]]) -> None:
        super().__init__(shard.index_start, shard.slots, read)
        self._shard = shard

    def _states(self, rows: NDArray[Any]) -> NDArray[np.uint8]:
        return self._shard.states(rows["offset"])

    def _target(self, number: int, row: Any) -> Span:
        return OBJECT.span("size", int(row["offset"]))

    def _fault(self, number: int, row: Any) -> str:
        return self._shard.outside(number, int(row["offset"])).message

    def _text(self, number: int, row: Any, state: State) -> str:
        if state is State.LIVE:
            return str(row["key"].tobytes().hex())
        return "no object: unused, or deleted" if state is State.UNUSED else "points outside the objects"

    def _field_texts(self, number: int, row: Any, state: State) -> dict[str, str]:
        if state is not State.UNUSED:
            return {}
        none = int(row["offset"]) == NO_OBJECT
        return {"offset": "2^64 - 1: no object" if none else "0: no object (older writers)"}


def read_header(data: bytes) -> dict[str, Any]:
    """Read and check the header (§1); `check_reach` compares it with the size of the file.

    Raises:
        Truncated: The header is incomplete.
        BadMagic: The magic differs.
        Unsupported: The version is not 1.
        FormatError: The sections contradict each other.
    """
    values = HEADER.read_one(data, place=Span("", 0, len(data)))
    if not values["magic"].startswith(WHOLE_MAGIC):
        raise BadMagic("the file does not begin with `SWHShard` and a zero byte", span=Span("", 0, len(WHOLE_MAGIC)))
    if values["version"] != VERSION:
        message = f"version {values['version']} is not supported (supported: 1)"
        raise Unsupported(message, span=HEADER.span("version"))
    for name, message in _faults(values):
        raise FormatError(message, span=HEADER.span(name))
    return values


def _faults(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    objects, index, hashes = (values[f"{name}_position"] for name in ("objects", "index", "hash"))
    objects_stop, index_stop = objects + values["objects_size"], index + values["index_size"]
    slots, rest = divmod(values["index_size"], SLOT.size)
    if objects < HEADER.size:
        yield "objects_position", f"objects_position is {objects:#x}, which is inside the header of {HEADER.size} bytes"
    if index != objects_stop:
        yield "index_position", f"the objects end at {objects_stop:#x}, but index_position is {index:#x}"
    if hashes != index_stop:
        yield "hash_position", f"the index ends at {index_stop:#x}, but hash_position is {hashes:#x}"
    if rest:
        whole = f"which is not a whole number of slots of {SLOT.size} bytes"
        yield "index_size", f"index_size is {values['index_size']}, {whole}"
    if not 2 <= slots < 2**32:
        yield "index_size", f"index_size gives {plural(slots, 'slot')}; an index has at least 2 and fewer than 2^32"
    if (count := values["objects_count"]) > slots:
        have = f"the index has only {plural(slots, 'slot')}"
        yield "objects_count", f"objects_count is {plural(count, 'object')}, but {have}"


def check_reach(header: dict[str, Any], size: int) -> None:
    """Raise Truncated if the file, of `size` bytes, is too short for the smallest hash function."""
    hashes = header["hash_position"]
    if hashes + HASH_FIXED_SIZE > size:
        message = (
            f"the hash function is at {hashes:#x} and has at least {HASH_FIXED_SIZE} bytes; the file ends at {size:#x}"
        )
        raise Truncated(message, span=HEADER.span("hash_position"))


def sections_of(header: dict[str, Any], hash_stop: int, size: int) -> list[Section]:
    objects, index, hashes = (header[f"{name}_position"] for name in ("objects", "index", "hash"))
    return laid_out(PARTS, (0, HEADER.size, objects, index, hashes, hash_stop, size))
