"""The hash function section: its layout, and the encoding of the displacements (§2 of `docs/formats/swh.md`).

Value i of the value store has its own length; the running sums S of the lengths are the ends of the values. The high
part of a sum is a one-bit in the *unary bits*, its r low bits are in the *low bits*. The *select directory* has the
position of every 128th one-bit, so that one displacement can be read without the others.

Symbols: *B* buckets, *r* low bits per sum, *T* bits in the value store, *P* positions of the one-bits, *S* ends of the
values. Bit i of a bit string is bit `i % 8` of byte `i // 8`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import BadMagic, FormatError, ShardError, Truncated, Unsupported
from shardcore.formats.swh.layout import DIRECTORY_ENTRY, HASH_FIXED_SIZE, HASH_HEAD, HASH_TAIL, VARIABLE_PARTS
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural

U32 = NDArray[np.uint32]
I64 = NDArray[np.int64]

ONES_PER_ENTRY = 128
"""Number of one-bits per entry of the select directory."""

MAX_LENGTH = 31
"""Longest value of a 32-bit displacement, in bits."""

# Longest distance between one-bits: a value has at most 31 bits and r is at least 1, so the high parts of
# neighbouring sums differ by at most 16, plus 1 for the one-bit itself.
_MAX_GAP = (MAX_LENGTH + 1) // 2 + 1
_FIRST_READ = 64  # bytes; 128 one-bits usually take about 50

Where = Callable[[str, int, int], Span]
"""Function `(part, start, stop)` that returns bytes `[start, stop)` of a part of the section as a span of the file."""

Read = Callable[[int, int], bytes]
"""Function that reads bytes `[start, stop)` of the unary bits."""


@dataclass(frozen=True, slots=True)
class PartSizes:
    """Sizes in bytes of the variable-length parts of the hash section (§2 of `docs/formats/swh.md`)."""

    unary: int
    directory: int
    low_bits: int
    store: int

    @property
    def select(self) -> int:
        return 8 + self.unary + self.directory

    @property
    def sequence(self) -> int:
        return 16 + self.select + self.low_bits + self.store


def part_sizes(buckets: int, r: int, total_bits: int) -> PartSizes:
    return PartSizes(
        unary=_word_bytes(buckets + (total_bits >> r)),
        directory=4 * (buckets // ONES_PER_ENTRY + 1),
        low_bits=_word_bytes(buckets * r),
        store=_word_bytes(total_bits),
    )


def _word_bytes(bits: int) -> int:
    """Return W of §2: the size of `bits` bits in bytes, rounded up to whole 4-byte words."""
    return 4 * ((bits + 31) // 32)


@dataclass(frozen=True, slots=True)
class HashLayout:
    """Locations of the parts of a hash function section, and the numbers in its first 55 bytes.

    `slots` is n, `buckets` B, `low_width` r, `store_bits` T; `unary_bits` is the number of unary bits in use,
    B + (T >> r). `parts` has the span in the file for each name in `VARIABLE_PARTS`.
    """

    start: int
    stop: int
    values: Mapping[str, Any]
    seed: int
    slots: int
    buckets: int
    low_width: int
    store_bits: int
    unary_bits: int
    parts: Mapping[str, Span]

    @staticmethod
    def of(start: int, values: Mapping[str, Any], sizes: PartSizes) -> HashLayout:
        at, parts = start + HASH_HEAD.size, {}
        for name, size in zip(VARIABLE_PARTS, (sizes.unary, sizes.directory, sizes.low_bits, sizes.store), strict=True):
            parts[name] = Span("", at, at + size)
            at += size
        buckets, r, total = (int(values[name]) for name in ("displacements_count", "low_bits_width", "store_bits"))
        stop = start + HASH_FIXED_SIZE + int(values["sequence_length"])
        seed, slots = int(values["seed"]), int(values["table_size"])
        return HashLayout(start, stop, values, seed, slots, buckets, r, total, buckets + (total >> r), parts)

    @property
    def tail(self) -> Span:
        return Span("", self.stop - HASH_TAIL.size, self.stop)

    def where(self, part: str, start: int, stop: int) -> Span:
        """Return bytes `[start, stop)` of a part as bytes of the file."""
        first = self.parts[part].start
        return Span("", first + start, first + stop)


def read_hash_layout(data: bytes, start: int, slots: int, size: int) -> HashLayout:
    """Read and check the first 55 bytes of the section (§2 of `docs/formats/swh.md`).

    Raises:
        Truncated: The section exceeds the file, which has `size` bytes.
        BadMagic: The name of the algorithm or of the key hash differs.
        Unsupported: The section was written on a big-endian machine.
        FormatError: The counts contradict each other or the `slots` of the index.
    """
    values = HASH_HEAD.read_one(data, place=Span("", start, start + len(data)))
    for error, name, message in _faults(values, slots):
        lead = "hash function: " if error is FormatError else ""
        raise error(lead + message, span=HASH_HEAD.span(name, start))
    sizes = part_sizes(values["displacements_count"], values["low_bits_width"], values["store_bits"])
    found = HashLayout.of(start, values, sizes)
    if found.stop > size:
        message = f"the hash function ends at byte {found.stop:#x}, the file at {size:#x}"
        raise Truncated(message, span=HASH_HEAD.span("sequence_length", start))
    return found


def _faults(values: Mapping[str, Any], slots: int) -> Iterator[tuple[type[FormatError], str, str]]:
    n, buckets, r, total = (
        values[name] for name in ("table_size", "displacements_count", "low_bits_width", "store_bits")
    )
    if values["algorithm"] != b"chd_ph\0":
        yield BadMagic, "algorithm", "the hash function at hash_position does not begin with `chd_ph`"
    if n != slots and int.from_bytes(n.to_bytes(4, "little"), "big") == slots:
        yield Unsupported, "table_size", "the hash function was written on a big-endian machine"
    if n != slots:
        yield FormatError, "table_size", f"table_size is {n}; the index has {plural(slots, 'slot')}"
    if (length := values["hash_state_length"]) != 12:
        yield FormatError, "hash_state_length", f"the state of the key hash has {plural(length, 'byte')}, not 12"
    if values["hash_name"] != b"jenkins\0":
        yield BadMagic, "hash_name", "hash_name is not `jenkins`, the only key hash that is supported"
    if buckets < 1:
        yield FormatError, "displacements_count", "displacements_count is 0; at least 1 is required"
    # Verification decodes all displacements, so their number is limited by the slots.
    if buckets > max(slots, 1):
        message = f"displacements_count is {buckets:,}; at most {slots:,} are possible, one bucket per slot"
        yield FormatError, "displacements_count", message
    if not 1 <= r <= 31:
        yield FormatError, "low_bits_width", f"low_bits_width is {r}; valid: 1 to 31"
    if (count := values["select_count"]) != buckets:
        yield FormatError, "select_count", f"displacements_count is {buckets}; select_count is {count}"
    sizes, top = part_sizes(buckets, r, total), total >> r
    select, sequence = grouped_digits(sizes.select), grouped_digits(sizes.sequence)
    for name, computed, message in (
        ("select_top", top, f"T >> r is {top}; select_top is"),
        ("select_length", sizes.select, f"the select block has {select} bytes; select_length is"),
        ("sequence_length", sizes.sequence, f"the displacements have {sequence} bytes; sequence_length is"),
    ):
        if values[name] != computed:
            yield FormatError, name, f"{message} {values[name]}"


def _wrong(message: str, span: Span | None = None) -> FormatError:
    return FormatError(f"hash function: {message}", span=span)


def read_hash_tail(data: bytes, layout: HashLayout) -> dict[str, Any]:
    """Read the last 8 bytes of the section; raise FormatError if they contradict the first bytes."""
    values = HASH_TAIL.read_one(data, place=layout.tail)
    if (values["slots_count"], values["buckets_count"]) != (layout.slots, layout.buckets):
        ends = f"it ends with n = {values['slots_count']} and B = {values['buckets_count']}"
        raise _wrong(f"it begins with n = {layout.slots} and B = {layout.buckets}; {ends}", layout.tail)
    return values


def read_encoded(section: bytes, layout: HashLayout) -> Encoded:
    unary, directory, low_bits, store = (
        section[span.start - layout.start : span.stop - layout.start] for span in layout.parts.values()
    )
    entries = DIRECTORY_ENTRY.read(directory, count=len(directory) // DIRECTORY_ENTRY.size)["position"]
    return Encoded(layout.low_width, layout.store_bits, unary, entries.astype(np.uint32), low_bits, store)


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


# --- all displacements ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Encoded displacements: the variable parts of the section, in file order.

    Attributes:
        r: Low bits per sum, 1 to 31.
        total_bits: T, bits used in the value store.
        unary: High parts of the sums; one-bit i is at bit `(S[i] >> r) + i`.
        directory: Position of every 128th one-bit, shape `(B // 128 + 1,)`; 0 for a last entry without a bit.
        low_bits: Low parts of the sums, r bits each.
        store: The values.
    """

    r: int
    total_bits: int
    unary: bytes
    directory: U32
    low_bits: bytes
    store: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """Decoded displacements; every array has shape `(B,)`.

    Attributes:
        displacements: Displacement of each bucket.
        positions: P, position of each one-bit in the unary bits.
        ends: S, end of each value in the value store, in bits.
        lengths: Bits of each value.
    """

    displacements: U32
    positions: I64
    ends: I64
    lengths: I64


def decode(encoded: Encoded, buckets: int, where: Where = Span) -> Decoded:
    """Decode and check all displacements (§2.1), without the directory.

    `where` returns the spans of errors. Raises FormatError if the parts contradict each other or the counts `buckets`,
    r and T.
    """
    if buckets < 1 or not 1 <= encoded.r <= MAX_LENGTH or encoded.total_bits < 0:
        raise _wrong(f"invalid counts: B = {buckets}, r = {encoded.r}, T = {encoded.total_bits}")
    sizes = part_sizes(buckets, encoded.r, encoded.total_bits)
    for part, data, size in (
        ("unary bits", encoded.unary, sizes.unary),
        ("low bits", encoded.low_bits, sizes.low_bits),
        ("value store", encoded.store, sizes.store),
    ):
        if len(data) != size:
            raise _wrong(f"{part}: {plural(len(data), 'byte')} instead of {size:,}", where(part, 0, 0))
    positions = _one_bits(encoded.unary, buckets, buckets + (encoded.total_bits >> encoded.r), where)
    each = np.arange(buckets, dtype=np.int64)
    low_parts = _bit_fields(encoded.low_bits, each * encoded.r, np.full(buckets, encoded.r, np.int64))
    ends = ((positions - each) << encoded.r) + low_parts
    lengths = np.diff(ends, prepend=0)
    _check_lengths(ends, lengths, encoded, where)
    values = _bit_fields(encoded.store, ends - lengths, lengths)
    displacements = values + (np.int64(1) << lengths) - 1
    return Decoded(displacements.astype(np.uint32), positions, ends, lengths)


def encode(displacements: U32) -> Encoded:
    """Encode one or more displacements (§2.1); raise ShardError if they take 2^32 bits or more."""
    plus_one = displacements.astype(np.int64) + 1
    lengths = np.frexp(plus_one.astype(np.float64))[1].astype(np.int64) - 1  # floor(log2), exact below 2**53
    ends = np.cumsum(lengths)
    buckets, total_bits = len(displacements), int(ends[-1])
    if total_bits >= 1 << 32:
        raise ShardError(f"hash function: the displacements take {total_bits:,} bits; the limit is 2^32 - 1")
    r = max(1, (total_bits // buckets).bit_length() - 1)
    sizes = part_sizes(buckets, r, total_bits)
    each = np.arange(buckets, dtype=np.int64)
    positions = (ends >> r) + each
    unary = np.zeros(8 * sizes.unary, np.uint8)
    unary[positions] = 1
    return Encoded(
        r=r,
        total_bits=total_bits,
        unary=np.packbits(unary, bitorder="little").tobytes(),
        directory=directory_of(positions),
        low_bits=_packed_fields(ends & ((1 << r) - 1), each * r, sizes.low_bits),
        store=_packed_fields(plus_one - (np.int64(1) << lengths), ends - lengths, sizes.store),
    )


def directory_of(positions: I64) -> U32:
    directory = np.zeros(len(positions) // ONES_PER_ENTRY + 1, np.uint32)
    sampled = positions[::ONES_PER_ENTRY]
    directory[: len(sampled)] = sampled
    return directory


def _one_bits(unary: bytes, buckets: int, limit: int, where: Where) -> I64:
    """Return the positions of the one-bits; there must be exactly `buckets`, all before bit `limit`."""
    bits = np.unpackbits(np.frombuffer(unary, np.uint8), bitorder="little")
    count = int(np.count_nonzero(bits))
    if count != buckets:
        message = f"the unary bits have {plural(count, 'one-bit')}; one per bucket is required ({buckets:,})"
        raise _wrong(message, where("unary bits", 0, len(unary)))
    positions: I64 = np.flatnonzero(bits).astype(np.int64, copy=False)
    last = int(positions[-1])
    if last >= limit:
        message = f"bit {last} of the unary bits is set, but only {limit} bits are in use"
        raise _wrong(message, where("unary bits", last // 8, last // 8 + 1))
    return positions


def _check_lengths(ends: I64, lengths: I64, encoded: Encoded, where: Where) -> None:
    bad = np.flatnonzero((lengths < 0) | (lengths > MAX_LENGTH))
    if len(bad):
        bucket = int(bad[0])
        span = where("low bits", *byte_range(bucket * encoded.r, encoded.r))
        raise _wrong(f"the value of bucket {bucket} has {lengths[bucket]} bits; valid: 0 to {MAX_LENGTH}", span)
    if int(ends[-1]) != encoded.total_bits:
        span = where("low bits", *byte_range((len(ends) - 1) * encoded.r, encoded.r))
        raise _wrong(f"the values end at bit {ends[-1]} of the value store; store_bits is {encoded.total_bits}", span)


def _bit_fields(data: bytes, starts: I64, widths: I64) -> I64:
    """Return fields of 0 to 31 bits of a bit string of 4-byte words; width 0 gives 0."""
    words = np.frombuffer(data + bytes(8), "<u4").astype(np.uint32, copy=False)
    at = starts >> 5
    window = words[at].astype(np.uint64) | words[at + 1].astype(np.uint64) << np.uint64(32)
    fields: I64 = (window >> (starts & 31).astype(np.uint64)).astype(np.int64)
    fields &= (np.int64(1) << widths) - 1
    return fields


def _packed_fields(values: I64, starts: I64, size: int) -> bytes:
    words = np.zeros(size // 4 + 2, np.uint32)
    shifted = values.astype(np.uint64) << (starts & 31).astype(np.uint64)
    at = starts >> 5
    np.bitwise_or.at(words, at, (shifted & np.uint64(0xFFFFFFFF)).astype(np.uint32))
    np.bitwise_or.at(words, at + 1, (shifted >> np.uint64(32)).astype(np.uint32))
    return words[: size // 4].astype("<u4").tobytes()


# --- one displacement, without decoding the others --------------------------------------------------------------


def byte_range(first_bit: int, bits: int) -> tuple[int, int]:
    """Return the byte range `[start, stop)` of `bits` bits that begin at `first_bit`; empty for 0 bits."""
    start = first_bit // 8
    return start, max(start, (first_bit + bits + 7) // 8) if bits else start


def bit_field(data: bytes, first_bit: int, bits: int) -> int:
    if bits and first_bit + bits > 8 * len(data):
        raise _wrong(f"a field of {plural(bits, 'bit')} at bit {first_bit} exceeds the {8 * len(data)} bits read")
    return (int.from_bytes(data, "little") >> first_bit) & ((1 << bits) - 1)


def find_bucket_bits(
    read: Read, directory_entry: int, bucket: int, limit_bits: int, where: Where = Span
) -> tuple[int, int]:
    """Return P[g - 1] and P[g], positions of the one-bits of buckets g - 1 and g in the unary bits; P[-1] is -1.

    One-bits are counted from entry `g // 128` of the directory on. If that entry is for one-bit g itself, one-bit g - 1
    is searched backwards. `read` reads bytes of the unary bits, of which `limit_bits` are in use.
    """
    if not 0 <= directory_entry < limit_bits:
        message = f"the select directory refers to bit {directory_entry}; {limit_bits} unary bits are in use"
        raise _wrong(message, where("unary bits", 0, _word_bytes(limit_bits)))
    after = bucket % ONES_PER_ENTRY
    if after:
        return _ones_from(read, directory_entry, after, limit_bits, where)
    start, stop = max(0, directory_entry - _MAX_GAP) // 8, directory_entry // 8 + 1
    bits, at = _read_bits(read, start, stop), directory_entry - 8 * start
    if bits[at : at + 1] != "1":
        raise _no_one_bit(directory_entry, where)
    if bucket == 0:
        return -1, directory_entry
    if (before := bits.rfind("1", 0, at)) < 0:
        message = f"no one-bit in the {_MAX_GAP} unary bits before bit {directory_entry}"
        raise _wrong(message, where("unary bits", start, stop))
    return 8 * start + before, directory_entry


def value_location(
    bucket: int, positions: tuple[int, int], low_parts: tuple[int, int], r: int, total_bits: int
) -> tuple[int, int]:
    """Return first bit and length of the value of bucket g in the value store (§2.1, steps 2 and 3).

    `positions` are P[g - 1] and P[g], `low_parts` the low bits of both ends. Raises FormatError for a value that is
    longer than 31 bits, ends before it starts, or is outside the value store.
    """
    start = ((positions[0] - bucket + 1) << r) + low_parts[0]
    end = ((positions[1] - bucket) << r) + low_parts[1]
    if not (0 <= start <= end <= total_bits and end - start <= MAX_LENGTH):
        raise _wrong(f"the value of bucket {bucket} is at bits {start} to {end}; the value store has {total_bits} bits")
    return start, end - start


def displacement(stored: int, length: int) -> int:
    return stored + (1 << length) - 1


def _ones_from(read: Read, entry: int, after: int, limit_bits: int, where: Where) -> tuple[int, int]:
    """Return the positions of one-bits number `after - 1` and `after`, where the one-bit at `entry` is number 0."""
    start = entry // 8
    stop = (min(limit_bits, entry + after * _MAX_GAP + 1) + 7) // 8
    bits = _read_bits(read, start, min(stop, start + _FIRST_READ))
    if stop > start + _FIRST_READ and bits.count("1", entry % 8) <= after:
        bits += _read_bits(read, start + _FIRST_READ, stop)
    bits = bits[entry % 8 : limit_bits - 8 * start]
    if bits[:1] != "1":
        raise _no_one_bit(entry, where)
    # Splitting at the one-bits is faster than a search per bit.
    zeros = bits.split("1", after + 1)
    if len(zeros) < after + 2:
        message = f"the unary bits have {plural(len(zeros) - 1, 'one-bit')} from bit {entry} on; {after + 1} expected"
        raise _wrong(message, where("unary bits", start, stop))
    last = entry + len(bits) - len(zeros[-1]) - 1
    return last - len(zeros[-2]) - 1, last


def _no_one_bit(entry: int, where: Where) -> FormatError:
    span = where("unary bits", entry // 8, entry // 8 + 1)
    return _wrong(f"the select directory refers to unary bit {entry}, which is 0", span)


def _read_bits(read: Read, start: int, stop: int) -> str:
    """Return bits as the letters 0 and 1, the first bit first."""
    data = read(start, stop)
    return f"{int.from_bytes(data, 'little'):0{8 * len(data)}b}"[::-1]
