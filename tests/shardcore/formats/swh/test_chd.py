"""The hash function: hashing, slots, building, and compressed displacements."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.codecs import extension
from shardcore.errors import Cancelled, FormatError, ShardError
from shardcore.formats.swh import chd, hash_section
from shardcore.formats.swh.chd import Function, build, find_duplicates, table_sizes
from shardcore.formats.swh.hash_section import Encoded, decode, encode
from shardcore.model.span import Span
from tests.shardcore.formats.swh import sections
from tests.shardcore.formats.swh.sections import key_array, random_keys, section_bytes, take_apart

# Three objects a, b, c with seed 1 (§9.1), from the hash function's first byte to its last.
ABC = bytes.fromhex(
    "6368645f706800"  # chd_ph, NUL
    "0b000000 0c000000"  # table size 11, 12 bytes of hash state
    "6a656e6b696e7300"  # jenkins, NUL
    "01000000 24000000"  # seed 1, L = 36
    "01000000 01000000 00000000"  # B = 1, r = 1, T = 0
    "10000000 01000000 00000000"  # Ls = 16, select count 1, top 0
    "01000000"  # unary bits: bit 0
    "00000000"  # directory: first one-bit at 0
    "00000000"  # low bits: 0; the value store has no bytes
    "0b000000 01000000"  # n = 11, B = 1
)
KEYS = st.binary(min_size=32, max_size=32)
SEEDS = st.integers(0, 2**32 - 1)


# --- the hash ---------------------------------------------------------------------------------------------------


def test_hashes_and_slots_of_the_worked_example() -> None:
    """The table of §9.2, once with arrays and once with plain integers."""
    keys = sections.keys_of_texts("0123456789")
    _, a, b, c, g, f, h, displacements, slots = zip(*sections.DIGIT_ROWS, strict=True)
    hashed = chd.jenkins(keys, 6)
    assert [column.tolist() for column in hashed] == [list(a), list(b), list(c)]
    placed = chd.place(*hashed, 3, 11)
    assert [column.tolist() for column in placed] == [list(g), list(f), list(h)]
    assert chd.slot(placed[1], placed[2], np.array(displacements, np.uint32), 11).tolist() == list(slots)
    assert Function(6, 11, np.array([4, 2, 42], np.uint32)).slots_of(keys).tolist() == list(slots)
    for row in sections.DIGIT_ROWS:
        last = chd.jenkins_rounds(hashlib.sha256(row[0].encode()).digest(), 6)[2].mixed
        assert (last, chd.place_one(last, 3, 11)) == (row[1:4], row[4:7])
        assert chd.slot_one(row[5], row[6], row[7], 11) == row[8]


@given(keys=st.lists(KEYS, min_size=1, max_size=5), seed=SEEDS)
def test_many_keys_hash_as_one_does(keys: list[bytes], seed: int) -> None:
    columns = np.stack(chd.jenkins(key_array(keys), seed), axis=1).tolist()
    assert [tuple(row) for row in columns] == [chd.jenkins_rounds(key, seed)[2].mixed for key in keys]


def test_blocks_join_without_a_seam() -> None:
    keys = random_keys(40_000, seed=1)
    picked = [0, 16_383, 16_384, 32_767, 32_768, 39_999]
    assert np.array_equal(np.stack(chd.jenkins(keys, 9))[:, picked], np.stack(chd.jenkins(keys[picked], 9)))
    function = Function(9, 40_427, np.arange(10_001, dtype=np.uint32))
    assert np.array_equal(function.slots_of(keys)[picked], function.slots_of(keys[picked]))


@pytest.mark.parametrize("slots", [2, 11, 1_010_129, 2**31 - 1, 2**32 - 5, 2**32 - 1])
def test_slots_do_not_overflow(slots: int) -> None:
    b, c, displacements = np.random.default_rng(slots).integers(0, 2**32, (3, 1000)).astype(np.uint32)
    for column in (b, c, displacements):
        column[:2] = 0, 2**32 - 1
    _, f, h = chd.place(b, b, c, 1, slots)
    found = chd.slot(f, h, displacements, slots).tolist()
    for row, one in enumerate(zip(b.tolist(), c.tolist(), displacements.tolist(), strict=True)):
        _, f_one, h_one = chd.place_one((0, one[0], one[1]), 1, slots)
        assert (f[row], h[row]) == (f_one, h_one)
        assert found[row] == chd.slot_one(f_one, h_one, one[2], slots) < slots


# --- files of the reference -------------------------------------------------------------------------------------


def sample(data: Path, name: str) -> tuple[bytes, dict[str, int]]:
    expected = json.loads((data / "swh" / f"{name}.expected.json").read_text())
    section = (data / "swh" / f"{name}.shard").read_bytes()[expected["header"]["hash_position"] : expected["hash_end"]]
    return section, {key: row["slot"] for key, row in expected["objects"].items() if row["slot"] is not None}


@pytest.mark.parametrize("name", ["one", "small", "medium", "legacy"])
def test_functions_of_reference_files_are_built_again(data: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extension, if it was compiled, and with NumPy."""
    section, slots = sample(data, name)
    keys = key_array([bytes.fromhex(key) for key in slots])
    for native in (extension.native, None):
        monkeypatch.setattr(extension, "native", native)
        assert section_bytes(build(keys, [take_apart(section).seed])) == section


# --- building ---------------------------------------------------------------------------------------------------


def test_the_worked_examples_are_built() -> None:
    assert section_bytes(build(sections.keys_of_texts("abc"), [1])) == ABC
    assert section_bytes(build(sections.keys_of_texts("0123456789"), [6])) == sections.DIGITS


def test_table_sizes() -> None:
    assert [table_sizes(m) for m in (0, 1, 10, 11)] == [(1, 11), (1, 11), (3, 11), (3, 13)]
    assert [table_sizes(m)[1] for m in (58, 59, 60)] == [59, 67, 67], "61 is turned down"
    assert table_sizes(1_000_000) == (250_001, 1_010_129)
    with pytest.raises(ShardError, match=r"2\^32"):
        table_sizes(4_252_017_624)


@pytest.mark.thorough
@pytest.mark.parametrize("native", [extension.native, None])
@pytest.mark.parametrize(
    ("count", "most", "seeds", "digest"),
    [
        (120, None, 100, "dc25549d67f4493478dd4a640bd666c6cf45f5c2b715ed9f126cd845ea1495c8"),
        (200, 10, 12, "b781cd2dc5697e9d6c02163f15229612055f41febeaa3b0a3a1ef7a7954e3fac"),
    ],
)
def test_retries_of_seeds(
    count: int, most: int | None, seeds: int, digest: str, native: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed seed leaves values in empty buckets; success with the last probe is failure, as in the reference."""
    monkeypatch.setattr(extension, "native", native)
    found = hashlib.sha256()
    for number in range(count):
        keys = random_keys(1 + number if number < 100 else 40 * number, seed=number)
        tried = np.random.default_rng(number).integers(0, 2**32, seeds).tolist()
        if most:
            monkeypatch.setattr(chd, "MAX_PROBES", most + number % 60)
            keys, tried = random_keys(8 + number % 37, seed=number), range(number, number + seeds)
        with suppress(ShardError):
            found.update(section_bytes(build(keys, tried)))
    assert found.hexdigest() == digest


def test_special_keys_and_seeds() -> None:
    function = build(np.zeros((0, 32), np.uint8))
    assert (function.seed, function.slots, function.displacements.tolist()) == (0, 11, [0])
    assert function.slots_of(np.zeros((0, 32), np.uint8)).tolist() == []
    assert section_bytes(function)[-8:] == bytes.fromhex("0b000000 01000000")
    first = chd.FIRST_SEED
    keys = next(keys for keys in (random_keys(20, seed=n) for n in range(1000)) if build(keys).seed != first)
    assert section_bytes(build(keys)) == section_bytes(build(keys, range(first, first + 100)))
    assert build(random_keys(5, seed=1), 2**32 + 7).seed == 7
    keys[17] = keys[4]
    for seeds, count in (((), 100), (([5, 6],), 2)):
        with pytest.raises(ShardError, match=f"after {count} seeds"):
            build(keys, *seeds)


@given(count=st.integers(1, 400), number=st.integers(0, 1000))
def test_built_functions_are_perfect(count: int, number: int) -> None:
    keys = random_keys(count, seed=number)
    slots = build(keys).slots_of(keys)
    assert len(set(slots.tolist())) == count
    assert 0 <= slots.min() <= slots.max() < table_sizes(count)[1]


def test_progress_is_told_and_may_cancel() -> None:
    keys = random_keys(20_000, seed=1)
    told: list[tuple[int, int]] = []
    build(keys, progress=lambda done, total: told.append((done, total)))
    assert len(told) > 10
    assert (told, {total for _, total in told}) == (sorted(told), {20_000})

    def cancel(done: int, total: int) -> None:
        if done > total // 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        build(keys, progress=cancel)


# --- duplicates -------------------------------------------------------------------------------------------------


def test_the_first_key_that_comes_again() -> None:
    keys = np.zeros((257, 32), np.uint8)
    for bit in range(256):
        keys[bit, bit // 8] = 1 << (bit % 8)
    assert [find_duplicates(keys[:count]) for count in (0, 1, 257)] == [[]] * 3
    keys = random_keys(1000, seed=1)
    keys[900] = keys[10]
    keys[[300, 400]] = keys[200]
    assert find_duplicates(keys)[0] == (200, 300)
    keys[250] = keys[900]
    assert find_duplicates(keys)[0] == (10, 250)


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


def ones(*positions: int, size: int = 4) -> bytes:
    return sum(1 << position for position in positions).to_bytes(size, "little")


# --- the pair ---------------------------------------------------------------------------------------------------


def test_the_worked_example() -> None:
    """Displacements 4, 2, 42 are the bytes of §9.2."""
    encoded = encode(np.array([4, 2, 42], np.uint32))
    assert repr(encoded) == repr(EXAMPLE)
    decoded = decode(EXAMPLE, 3)
    assert (decoded.displacements.tolist(), decoded.positions.tolist()) == ([4, 2, 42], [1, 2, 6])
    assert (decoded.ends.tolist(), decoded.lengths.tolist()) == ([2, 3, 8], [2, 1, 5])


@given(displacements=DISPLACEMENTS)
def test_decode_is_the_inverse_of_encode(displacements: np.ndarray) -> None:
    encoded = encode(displacements)
    decoded = decode(encoded, len(displacements))
    assert decoded.displacements.dtype == np.uint32
    assert decoded.displacements.tolist() == displacements.tolist()
    assert decoded.lengths.tolist() == [(int(value) + 1).bit_length() - 1 for value in displacements]
    assert (encoded.directory == hash_section.directory_of(decoded.positions)).all()
    sizes = hash_section.part_sizes(len(displacements), encoded.r, encoded.total_bits)
    parts = encoded.unary, encoded.directory.astype("<u4").tobytes(), encoded.low_bits, encoded.store
    assert tuple(map(len, parts)) == (sizes.unary, sizes.directory, sizes.low_bits, sizes.store)


@pytest.mark.parametrize(("largest", "r"), [(0, 1), (2, 1), (2**12 - 1, 3), (LARGEST, 4)])
def test_low_bits_kept(largest: int, r: int) -> None:
    """The number of low bits is the logarithm of the average length, at least 1 (§4, step 6)."""
    assert encode(np.full(50, largest, np.uint32)).r == r


def test_a_full_directory() -> None:
    """The directory has B // 128 + 1 entries; with a multiple of 128 buckets the last has no one-bit and is 0 (§2)."""
    for buckets, entries in ((1, 1), (127, 1), (128, 2), (129, 2), (384, 4)):
        encoded = encode(np.random.default_rng(1).geometric(0.01, buckets).astype(np.uint32) - 1)
        positions = decode(encoded, buckets).positions
        assert len(encoded.directory) == entries
        expected = positions[::128].tolist()
        assert encoded.directory.tolist() == expected + [0] * (entries - len(expected))


# --- one value --------------------------------------------------------------------------------------------------


class Reads(list[tuple[int, int]]):
    """Reads unary bits, and lists the ranges that are read."""

    def __init__(self, unary: bytes) -> None:
        self.unary = unary

    def __call__(self, start: int, stop: int) -> bytes:
        assert 0 <= start < stop <= len(self.unary)
        self.append((start, stop))
        return self.unary[start:stop]


@given(displacements=DISPLACEMENTS, data=st.data())
def test_one_value_is_what_decoding_all_gives(displacements: np.ndarray, data: st.DataObject) -> None:
    """The directory leads to the same displacement, in at most two reads and 272 bytes."""
    bucket, buckets = data.draw(st.integers(0, len(displacements) - 1)), len(displacements)
    encoded = encode(displacements)
    reads = Reads(encoded.unary)
    entry, limit = int(encoded.directory[bucket // 128]), buckets + (encoded.total_bits >> encoded.r)
    positions = hash_section.find_bucket_bits(reads, entry, bucket, limit)
    low = [
        hash_section.bit_field(encoded.low_bits, i * encoded.r, encoded.r) if i >= 0 else 0
        for i in (bucket - 1, bucket)
    ]
    start, length = hash_section.value_location(bucket, positions, (low[0], low[1]), encoded.r, encoded.total_bits)
    first, last = hash_section.byte_range(start, length)
    found = hash_section.displacement(
        hash_section.bit_field(encoded.store[first:last], start - 8 * first, length), length
    )
    assert found == displacements[bucket]
    assert len(reads) <= 2
    assert sum(stop - start for start, stop in reads) <= 272


# --- damage -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "message", "span"),
    [
        ({"unary": ones(1, 2)}, "have 2 one-bits; one per bucket is required", Span("unary bits", 0, 4)),
        ({"unary": ones(1, 2, 5, 6)}, "have 4 one-bits; one per bucket is required", Span("unary bits", 0, 4)),
        ({"unary": ones(1, 2, 7)}, "bit 7 of the unary bits is set", Span("unary bits", 0, 1)),
        ({"unary": ones(1, 2, 31)}, "bit 31 of the unary bits is set", Span("unary bits", 3, 4)),
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
        decode(replace(EXAMPLE, **damage), 3, Span)
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
    sizes = hash_section.part_sizes(buckets, r, total_bits)
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
        hash_section.find_bucket_bits(Reads(EXAMPLE.unary), entry, bucket, 7, Span)
    assert caught.value.span.source == "unary bits"


def test_the_search_for_one_bits_is_bounded() -> None:
    assert hash_section.find_bucket_bits(Reads(ones(3, 8)), 3, 1, 9) == (3, 8)
    reads = Reads(ones(0, size=1 << 20))
    for read, entry, bucket, limit, message in (
        (Reads(ones(3, 8)), 3, 1, 8, "1 one-bit from bit 3 on"),
        (reads, 0, 127, 8 << 20, "1 one-bit from bit 0 on"),
    ):
        with pytest.raises(FormatError, match=message):
            hash_section.find_bucket_bits(read, entry, bucket, limit)
    assert sum(stop - start for start, stop in reads) <= 272
    with pytest.raises(FormatError):
        hash_section.bit_field(b"ab", 8, 9)


@pytest.mark.parametrize(
    ("positions", "low_parts"), [((5, 6), (1, 0)), ((-1, 20), (0, 0)), ((0, 1), (1, 0)), ((4, 5), (0, 1))]
)
def test_values_outside_the_store_are_refused(positions: tuple[int, int], low_parts: tuple[int, int]) -> None:
    with pytest.raises(FormatError, match="value of bucket 1 is at bits"):
        hash_section.value_location(1, positions, low_parts, 2, 16)
