"""The hash function section: locations of its parts, checks of its fields, reading and writing.

`layout.py` has the records, and `chd_code.py` the encoding of the displacements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shardcore.errors import BadMagic, FormatError, Truncated, Unsupported
from shardcore.formats.swh.chd_code import Encoded, PartSizes, part_sizes
from shardcore.formats.swh.layout import DIRECTORY_ENTRY, HASH_FIXED_SIZE, HASH_HEAD, HASH_TAIL, VARIABLE_PARTS
from shardcore.model.number_words import grouped_digits, plural
from shardcore.model.span import Span


@dataclass(frozen=True, slots=True)
class HashParts:
    """Locations of the parts of a hash function section, from its first 55 bytes."""

    start: int
    values: Mapping[str, Any]
    sizes: PartSizes

    @property
    def seed(self) -> int:
        return int(self.values["seed"])

    @property
    def slots(self) -> int:
        return int(self.values["table_size"])

    @property
    def buckets(self) -> int:
        return int(self.values["displacements_count"])

    @property
    def low_width(self) -> int:
        return int(self.values["low_bits_width"])

    @property
    def store_bits(self) -> int:
        return int(self.values["store_bits"])

    @property
    def unary_bits(self) -> int:
        """Bits used in the unary bits: B + (T >> r)."""
        return self.buckets + (self.store_bits >> self.low_width)

    @property
    def stop(self) -> int:
        return self.start + HASH_FIXED_SIZE + int(self.values["sequence_length"])

    def part(self, name: str) -> Span:
        """Return the location of one of `VARIABLE_PARTS` in the file."""
        at = self.start + HASH_HEAD.size
        sizes = (self.sizes.unary, self.sizes.directory, self.sizes.low_bits, self.sizes.store)
        for part, size in zip(VARIABLE_PARTS, sizes, strict=True):
            if part == name:
                return Span("", at, at + size)
            at += size
        raise KeyError(name)

    def where(self, part: str, start: int, stop: int) -> Span:
        first = self.part(part).start
        return Span("", first + start, first + stop)


def read_hash_parts(data: bytes, start: int, slots: int, size: int) -> HashParts:
    """Read and check the first 55 bytes of the section (§2 of `docs/formats/swh.md`).

    Args:
        data: The first bytes of the section.
        start: Start of the section.
        slots: Slots of the index.
        size: Bytes of the file.

    Raises:
        Truncated: The section ends after the file.
        BadMagic: The name of the algorithm or of the key hash differs.
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
        raise BadMagic("the hash function at hash_position does not begin with `chd_ph`", span=place("algorithm"))
    if values["table_size"] != slots and int.from_bytes(values["table_size"].to_bytes(4, "little"), "big") == slots:
        raise Unsupported("the hash function was written on a big-endian machine", span=place("table_size"))
    check(
        values["table_size"] == slots,
        "table_size",
        f"table_size is {values['table_size']}; the index has {plural(slots, 'slot')}",
    )
    check(
        values["hash_state_length"] == 12,
        "hash_state_length",
        f"the state of the key hash has {plural(values['hash_state_length'], 'byte')}, not 12",
    )
    if values["hash_name"] != b"jenkins\0":
        raise BadMagic("hash_name is not `jenkins`, the only key hash that is supported", span=place("hash_name"))
    buckets, low_width, store_bits = (values[name] for name in ("displacements_count", "low_bits_width", "store_bits"))
    check(buckets >= 1, "displacements_count", "displacements_count is 0; at least 1 is required")
    # Verification decodes all displacements, so their number is limited by the slots.
    check(
        buckets <= max(slots, 1),
        "displacements_count",
        f"displacements_count is {buckets:,}; at most {slots:,} are possible, one bucket per slot",
    )
    check(1 <= low_width <= 31, "low_bits_width", f"low_bits_width is {low_width}; valid: 1 to 31")
    check(
        values["select_count"] == buckets,
        "select_count",
        f"displacements_count is {buckets}; select_count is {values['select_count']}",
    )
    check(
        values["select_top"] == store_bits >> low_width,
        "select_top",
        f"T >> r is {store_bits >> low_width}; select_top is {values['select_top']}",
    )
    sizes = part_sizes(buckets, low_width, store_bits)
    check(
        values["select_length"] == sizes.select,
        "select_length",
        f"select_length is {values['select_length']}; the select block has {plural(sizes.select, 'byte')}",
    )
    sequence = f"the displacements have {grouped_digits(sizes.sequence)} bytes; the field has"
    check(values["sequence_length"] == sizes.sequence, "sequence_length", f"{sequence} {values['sequence_length']}")
    parts = HashParts(start, values, sizes)
    if parts.stop > size:
        raise Truncated(
            f"the hash function ends at byte {parts.stop:#x}, the file at {size:#x}", span=place("sequence_length")
        )
    return parts


def read_hash_tail(data: bytes, parts: HashParts) -> dict[str, Any]:
    """Read the last 8 bytes of the section; raise FormatError if they contradict the first bytes."""
    at = parts.stop - HASH_TAIL.size
    values = HASH_TAIL.read_one(data, place=Span("", at, parts.stop))
    if (values["slots_count"], values["buckets_count"]) != (parts.slots, parts.buckets):
        message = (
            f"hash function: it begins with n = {parts.slots} and B = {parts.buckets}; "
            f"it ends with n = {values['slots_count']} and B = {values['buckets_count']}"
        )
        raise FormatError(message, span=Span("", at, parts.stop))
    return values


def read_encoded(section: bytes, parts: HashParts) -> Encoded:
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
