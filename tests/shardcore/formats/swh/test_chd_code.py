"""The compressed displacements: encode and decode as a pair, single values, and damaged parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.errors import FormatError
from shardcore.formats.swh.hash_section import (
    Encoded,
    bit_field,
    byte_range,
    decode,
    displacement,
    encode,
    find_bucket_bits,
    part_sizes,
    value_location,
    wrong_directory_entries,
)
from shardcore.model.span import Span

LARGEST = 2**32 - 2  # the largest number that 31 bits can say
DISPLACEMENTS = st.lists(
    st.one_of(st.integers(0, 3), st.integers(0, 20_000), st.integers(0, LARGEST)), min_size=1, max_size=400
).map(lambda values: np.array(values, np.uint32))
# The example of §9.2: displacements 4, 2, 42.
EXAMPLE = Encoded(
    r=1,
    total_bits=8,
    unary=bytes.fromhex("46000000"),  # one-bits at 1, 2, 6
    directory=np.array([1], np.uint32),
    low_bits=bytes.fromhex("02000000"),  # 0, 1, 0
    store=bytes.fromhex("5d000000"),  # 1 | 1 | 11, lowest bit first
)


def usual(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).geometric(0.01, count).astype(np.uint32) - 1


def limit_of(encoded: Encoded, buckets: int) -> int:
    return buckets + (encoded.total_bits >> encoded.r)


def ones(*positions: int, size: int = 4) -> bytes:
    return sum(1 << position for position in positions).to_bytes(size, "little")


# --- the pair ---------------------------------------------------------------------------------------------------


def test_the_worked_example() -> None:
    """Displacements 4, 2, 42 are the bytes of §9.2."""
    encoded = encode(np.array([4, 2, 42], np.uint32))
    assert (encoded.r, encoded.total_bits) == (EXAMPLE.r, EXAMPLE.total_bits)
    assert (encoded.unary, encoded.low_bits, encoded.store) == (EXAMPLE.unary, EXAMPLE.low_bits, EXAMPLE.store)
    assert encoded.directory.tolist() == [1]
    decoded = decode(EXAMPLE, 3)
    assert decoded.displacements.tolist() == [4, 2, 42]
    assert decoded.positions.tolist() == [1, 2, 6]
    assert decoded.ends.tolist() == [2, 3, 8]
    assert decoded.lengths.tolist() == [2, 1, 5]


@given(displacements=DISPLACEMENTS)
def test_decode_is_the_inverse_of_encode(displacements: np.ndarray) -> None:
    encoded = encode(displacements)
    decoded = decode(encoded, len(displacements))
    assert decoded.displacements.dtype == np.uint32
    assert decoded.displacements.tolist() == displacements.tolist()
    assert decoded.lengths.tolist() == [(int(value) + 1).bit_length() - 1 for value in displacements]
    assert not len(wrong_directory_entries(encoded.directory, decoded.positions))
    sizes = part_sizes(len(displacements), encoded.r, encoded.total_bits)
    assert len(encoded.unary) == sizes.unary
    assert 4 * len(encoded.directory) == sizes.directory
    assert len(encoded.low_bits) == sizes.low_bits
    assert len(encoded.store) == sizes.store


@pytest.mark.parametrize(("largest", "r"), [(0, 1), (2, 1), (2**12 - 1, 3), (LARGEST, 4)])
def test_low_bits_kept(largest: int, r: int) -> None:
    """The number of low bits is the logarithm of the average length, at least 1 (§4, step 6)."""
    assert encode(np.full(50, largest, np.uint32)).r == r


def test_a_full_directory() -> None:
    """The directory has B // 128 + 1 entries; with a multiple of 128 buckets the last has no one-bit and is 0 (§2)."""
    for buckets, entries in ((1, 1), (127, 1), (128, 2), (129, 2), (384, 4)):
        encoded = encode(usual(buckets))
        positions = decode(encoded, buckets).positions
        assert len(encoded.directory) == entries
        expected = positions[::128].tolist()
        assert encoded.directory.tolist() == expected + [0] * (entries - len(expected))


# --- one value --------------------------------------------------------------------------------------------------


def look_up(encoded: Encoded, buckets: int, bucket: int) -> tuple[int, list[tuple[int, int]]]:
    reads: list[tuple[int, int]] = []

    def read(start: int, stop: int) -> bytes:
        assert 0 <= start < stop <= len(encoded.unary)
        reads.append((start, stop))
        return encoded.unary[start:stop]

    entry = int(encoded.directory[bucket // 128])
    positions = find_bucket_bits(read, entry, bucket, limit_of(encoded, buckets))
    low = [bit_field(encoded.low_bits, i * encoded.r, encoded.r) if i >= 0 else 0 for i in (bucket - 1, bucket)]
    start, length = value_location(bucket, positions, (low[0], low[1]), encoded.r, encoded.total_bits)
    first, last = byte_range(start, length)
    return displacement(bit_field(encoded.store[first:last], start - 8 * first, length), length), reads


@given(displacements=DISPLACEMENTS, data=st.data())
def test_one_value_is_what_decoding_all_gives(displacements: np.ndarray, data: st.DataObject) -> None:
    """The directory leads to the same displacement, in at most two reads and 272 bytes."""
    bucket = data.draw(st.integers(0, len(displacements) - 1))
    found, reads = look_up(encode(displacements), len(displacements), bucket)
    assert found == displacements[bucket]
    assert len(reads) <= 2
    assert sum(stop - start for start, stop in reads) <= 272


# --- damage -----------------------------------------------------------------------------------------------------


def where(part: str, start: int, stop: int) -> Span:
    return Span(part, start, stop)


@pytest.mark.parametrize(
    ("damage", "message", "span"),
    [
        ({"unary": ones(1, 2)}, "2 one-bits; one per bucket is required \\(3\\)", Span("unary bits", 0, 4)),
        ({"unary": ones(1, 2, 5, 6)}, "4 one-bits; one per bucket is required \\(3\\)", Span("unary bits", 0, 4)),
        ({"unary": ones(1, 2, 7)}, "bit 7 of the unary bits is set, but only 7", Span("unary bits", 0, 1)),
        ({"unary": ones(1, 2, 31)}, "bit 31 of the unary bits is set, but only 7", Span("unary bits", 3, 4)),
        ({"unary": ones(1, 2, 5)}, "end at bit 6 of the value store; store_bits is 8", Span("low bits", 0, 1)),
        (
            {"low_bits": bytes([0b110, 0, 0, 0])},
            "end at bit 9 of the value store; store_bits is 8",
            Span("low bits", 0, 1),
        ),
        ({"unary": ones(0, 1, 6), "low_bits": bytes([1, 0, 0, 0])}, "the value of bucket 1 has -1 bits", None),
        ({"unary": b"F"}, "unary bits: 1 byte instead of 4", None),
        ({"low_bits": bytes(8)}, "low bits: 8 bytes instead of 4", None),
        ({"store": b""}, "value store: 0 bytes instead of 4", None),
        ({"r": 0}, "invalid counts", None),
        ({"r": 32}, "invalid counts", None),
        ({"total_bits": -1}, "invalid counts", None),
    ],
)
def test_damaged_parts(damage: dict[str, bytes | int], message: str, span: Span | None) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        decode(replace(EXAMPLE, **damage), 3, where)  # type: ignore[arg-type]
    if span is not None:
        assert caught.value.span == span
    assert caught.value.span is not None or "counts" in message


def test_values_of_more_than_31_bits() -> None:
    encoded = Encoded(1, 31, ones(15), np.array([15], np.uint32), ones(0), ones(30))
    assert decode(encoded, 1).displacements.tolist() == [2**30 + 2**31 - 1]
    encoded = Encoded(1, 32, ones(16), np.array([16], np.uint32), ones(), ones(31))
    with pytest.raises(FormatError, match="the value of bucket 0 has 32 bits"):
        decode(encoded, 1)


@given(data=st.data())
def test_any_parts_decode_or_are_refused(data: st.DataObject) -> None:
    buckets, r, total_bits = (data.draw(st.integers(*ends)) for ends in ((1, 40), (1, 31), (0, 400)))
    sizes = part_sizes(buckets, r, total_bits)
    unary, low_bits, store = (
        data.draw(st.binary(min_size=size, max_size=size)) for size in (sizes.unary, sizes.low_bits, sizes.store)
    )
    if data.draw(st.booleans()):  # the right number of one-bits, mostly in range, so that later checks are reached
        chosen = data.draw(st.sets(st.integers(0, 8 * sizes.unary - 1), min_size=buckets, max_size=buckets))
        unary = ones(*chosen, size=sizes.unary)
    try:
        decoded = decode(Encoded(r, total_bits, unary, np.zeros(1, np.uint32), low_bits, store), buckets)
    except FormatError:
        return
    assert decoded.lengths.min() >= 0
    assert decoded.lengths.max() <= 31
    assert int(decoded.ends[-1]) == total_bits


def reader(unary: bytes) -> Callable[[int, int], bytes]:

    def read(start: int, stop: int) -> bytes:
        assert 0 <= start < stop <= len(unary)
        return unary[start:stop]

    return read


@pytest.mark.parametrize(
    ("entry", "bucket", "message"),
    [
        (7, 0, "refers to bit 7; 7 unary bits"),
        (2**32 - 1, 1, "7 unary bits are in use"),
        (-1, 1, "7 unary bits are in use"),
        (0, 0, "refers to unary bit 0, which is 0"),
        (3, 1, "refers to unary bit 3, which is 0"),
        (2, 2, "2 one-bits? from bit 2 on; 3 expected"),
        (1, 128, "no one-bit in the 17 unary bits before bit 1"),
    ],
)
def test_wrong_entries_are_refused(entry: int, bucket: int, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        find_bucket_bits(reader(EXAMPLE.unary), entry, bucket, 7, where)
    assert caught.value.span is not None
    assert caught.value.span.source == "unary bits"


def test_one_bits_past_the_limit_do_not_count() -> None:
    with pytest.raises(FormatError, match=r"1 one-bits? from bit 3 on; 2 expected"):
        find_bucket_bits(reader(ones(3, 8)), 3, 1, 8)
    assert find_bucket_bits(reader(ones(3, 8)), 3, 1, 9) == (3, 8)


def test_long_gaps_end_the_search() -> None:
    unary = ones(0, size=1 << 20)
    reads: list[int] = []

    def read(start: int, stop: int) -> bytes:
        reads.append(stop - start)
        return unary[start:stop]

    with pytest.raises(FormatError, match=r"1 one-bits? from bit 0 on; 128 expected"):
        find_bucket_bits(read, 0, 127, 8 << 20)
    assert sum(reads) <= 272


@pytest.mark.parametrize(
    ("positions", "low_parts"), [((5, 6), (1, 0)), ((-1, 20), (0, 0)), ((0, 1), (1, 0)), ((4, 5), (0, 1))]
)
def test_values_outside_the_store_are_refused(positions: tuple[int, int], low_parts: tuple[int, int]) -> None:
    with pytest.raises(FormatError, match="value of bucket 1 is at bits"):
        value_location(1, positions, low_parts, 2, 16)


def test_a_field_past_its_bytes_is_refused() -> None:
    with pytest.raises(FormatError):
        bit_field(b"ab", 8, 9)
