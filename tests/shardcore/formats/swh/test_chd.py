"""The hash function of the Software Heritage shard: hashing, slots, and building."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.errors import Cancelled, ShardError
from shardcore.formats.swh import chd
from shardcore.formats.swh.chd import Function, build, find_duplicate, table_sizes
from shardcore.formats.swh.hash_section import decode
from shardcore.testing import sampled
from tests.shardcore.formats.swh.sections import key_array, keys_of_texts, random_keys, section_bytes, take_apart

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
# Ten objects 0 to 9 with seed 6 (§9.2): displacements 4, 2, 42.
DIGITS = bytes.fromhex(
    "6368645f706800 0b000000 0c000000 6a656e6b696e7300 06000000 28000000 03000000 01000000 08000000"
    "10000000 03000000 04000000 46000000 01000000 02000000 5d000000 0b000000 03000000"
)
# Key, a, b, c, g, f, h, displacement, slot (§9.2).
DIGIT_ROWS = [
    ("0", 0x48C91420, 0x99111C94, 0xB24BBCB3, 1, 6, 6, 2, 7),
    ("1", 0x1AEB3984, 0x6C07945C, 0x98720608, 0, 6, 1, 4, 10),
    ("2", 0x49F1D697, 0x5BF8E6BF, 0x23DE7CD1, 1, 4, 6, 2, 5),
    ("3", 0x83AF4647, 0x11FE8476, 0x09199C5C, 0, 3, 3, 4, 4),
    ("4", 0xDCE6AA9E, 0x7F8F36D6, 0x2F47DEEE, 1, 10, 9, 2, 6),
    ("5", 0xE9475689, 0xE19DE21C, 0x628A4FFB, 2, 10, 2, 42, 9),
    ("6", 0x20BE47FF, 0x4A60CD61, 0x121BB73E, 2, 10, 1, 42, 0),
    ("7", 0xE5042AAA, 0xE45CEB5A, 0x8CB1AF5D, 1, 2, 6, 2, 3),
    ("8", 0x275E1FA0, 0xCC4C5BE3, 0x621A018C, 0, 4, 1, 4, 8),
    ("9", 0x44E0F549, 0x92D73526, 0x35B2D1CC, 1, 2, 5, 2, 1),
]
KEYS = st.binary(min_size=32, max_size=32)
SEEDS = st.integers(0, 2**32 - 1)


# --- the hash ---------------------------------------------------------------------------------------------------


def test_hashes_and_slots_of_the_worked_example() -> None:
    """The table of §9.2, once with arrays and once with plain integers."""
    keys = keys_of_texts("0123456789")
    _, a, b, c, g, f, h, displacements, slots = zip(*DIGIT_ROWS, strict=True)
    hashed = chd.jenkins(keys, 6)
    assert [column.tolist() for column in hashed] == [list(a), list(b), list(c)]
    placed = chd.place(*hashed, 3, 11)
    assert [column.tolist() for column in placed] == [list(g), list(f), list(h)]
    assert chd.slot(placed[1], placed[2], np.array(displacements, np.uint32), 11).tolist() == list(slots)
    assert Function(6, 11, np.array([4, 2, 42], np.uint32)).slots_of(keys).tolist() == list(slots)
    for row in DIGIT_ROWS:
        last = chd.jenkins_rounds(hashlib.sha256(row[0].encode()).digest(), 6)[2].mixed
        assert last == row[1:4]
        assert chd.place_one(last, 3, 11) == row[4:7]
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
def test_functions_of_reference_files_are_built_again(data: Path, name: str) -> None:
    section, slots = sample(data, name)
    keys = key_array([bytes.fromhex(key) for key in slots])
    assert section_bytes(build(keys, [take_apart(section).seed])) == section


def test_the_signed_dialect(data: Path) -> None:
    """The sample fits the signed rule for all keys, the usual one for hardly any."""
    section, slots = sample(data, "dialect/signed_dialect")
    seed, n, buckets, encoded = take_apart(section)
    displacements = decode(encoded, buckets).displacements
    keys = key_array([bytes.fromhex(key) for key in slots])
    at = np.array(list(slots.values()))
    assert (Function(seed, n, displacements, signed=True).slots_of(keys) == at).all()
    assert np.count_nonzero(Function(seed, n, displacements).slots_of(keys) == at) < 5


# --- building ---------------------------------------------------------------------------------------------------


def test_the_worked_examples_are_built() -> None:
    assert section_bytes(build(keys_of_texts("abc"), [1])) == ABC
    assert section_bytes(build(keys_of_texts("0123456789"), [6])) == DIGITS


def test_table_sizes() -> None:
    assert [table_sizes(m) for m in (0, 1, 10, 11)] == [(1, 11), (1, 11), (3, 11), (3, 13)]
    assert [table_sizes(m)[1] for m in (58, 59, 60)] == [59, 67, 67], "61 is turned down"
    assert table_sizes(1_000_000) == (250_001, 1_010_129)
    with pytest.raises(ShardError, match=r"2\^32"):
        table_sizes(4_252_017_624)


def build_slowly(keys: np.ndarray, seeds: list[int]) -> Function | None:
    buckets, n = table_sizes(len(keys))
    displacements = [0] * buckets
    for seed in seeds:
        members: dict[int, list[tuple[int, int]]] = {}
        for key in keys:
            g, f, h = chd.place_one(chd.jenkins_rounds(key.tobytes(), seed)[2].mixed, buckets, n)
            members.setdefault(g, []).append((f, h))
        if any(len(set(items)) < len(items) for items in members.values()):
            continue
        if place_slowly(members, n, displacements):
            return Function(seed, n, np.array(displacements, np.uint32))
    return None


def place_slowly(members: dict[int, list[tuple[int, int]]], n: int, displacements: list[int]) -> bool:
    free = [True] * n
    for size in sorted({len(items) for items in members.values()}, reverse=True):
        left = sorted(g for g, items in members.items() if len(items) == size)
        probe = 0
        while left:
            waiting = []
            for g in left:
                at = {chd.slot_one(f, h, probe, n) for f, h in members[g]}
                if len(at) == size and all(free[slot] for slot in at):
                    displacements[g] = probe
                    for slot in at:
                        free[slot] = False
                else:
                    waiting.append(g)
            left = waiting
            probe += 1
            if probe >= min(chd.MAX_PROBES, n * n):
                return False
    return True


@pytest.mark.parametrize("number", sampled(range(120), 8))
def test_building_equals_the_plain_loop(number: int) -> None:
    """Retries of seeds and stale values are included."""
    keys = random_keys(1 + number if number < 100 else 40 * number, seed=number)
    seeds = np.random.default_rng(number).integers(0, 2**32, 100).tolist()
    expected = build_slowly(keys, seeds)
    assert expected is not None
    built = build(keys, seeds)
    assert (built.seed, built.slots) == (expected.seed, expected.slots)
    assert built.displacements.tolist() == expected.displacements.tolist()


@pytest.mark.thorough
def test_failed_seeds_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed seed leaves values in empty buckets; success with the last probe is failure, as in the reference."""
    stale = last = 0
    for number in range(200):
        monkeypatch.setattr(chd_build, "MAX_PROBES", 10 + number % 60)
        keys = random_keys(8 + number % 37, seed=number)
        seeds = list(range(number, number + 12))
        expected = build_slowly(keys, seeds)
        if expected is None:
            with pytest.raises(ShardError, match="after 12 seeds"):
                build(keys, seeds)
            continue
        built = build(keys, seeds)
        assert built.seed == expected.seed
        assert built.displacements.tolist() == expected.displacements.tolist()
        stale += built.displacements.tolist() != build(keys, [built.seed]).displacements.tolist()
        monkeypatch.setattr(chd_build, "MAX_PROBES", 11 + number % 60)
        last += build(keys, seeds).seed != built.seed
    assert stale >= 3, "or stale displacements were not tested"
    assert last >= 3, "or the last probe was not"


@given(count=st.integers(1, 400), number=st.integers(0, 1000))
def test_built_functions_are_perfect(count: int, number: int) -> None:
    keys = random_keys(count, seed=number)
    slots = build(keys).slots_of(keys)
    assert len(set(slots.tolist())) == count
    assert 0 <= slots.min() <= slots.max() < table_sizes(count)[1]


def test_no_keys() -> None:
    function = build(np.zeros((0, 32), np.uint8))
    assert (function.seed, function.slots, function.displacements.tolist()) == (0, 11, [0])
    assert function.slots_of(np.zeros((0, 32), np.uint8)).tolist() == []
    assert section_bytes(function)[-8:] == bytes.fromhex("0b000000 01000000")


def test_seeds_count_up_from_the_first() -> None:
    number = next(n for n in range(1000) if build(random_keys(20, seed=n)).seed != chd.FIRST_SEED)
    keys = random_keys(20, seed=number)
    first = chd.FIRST_SEED
    assert section_bytes(build(keys)) == section_bytes(build(keys, range(first, first + 100)))
    assert build(random_keys(5, seed=1), 2**32 + 7).seed == 7


def test_a_duplicate_key_ends_in_an_error() -> None:
    keys = random_keys(30, seed=1)
    keys[17] = keys[4]
    with pytest.raises(ShardError, match="after 100 seeds"):
        build(keys)
    with pytest.raises(ShardError, match="after 2 seeds"):
        build(keys, [5, 6])


def test_progress_is_told_and_may_cancel() -> None:
    keys = random_keys(20_000, seed=1)
    told: list[tuple[int, int]] = []
    build(keys, progress=lambda done, total: told.append((done, total)))
    assert len(told) > 20
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert {total for _, total in told} == {20_000}

    def cancel(done: int, total: int) -> None:
        if done > total // 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        build(keys, progress=cancel)


# --- duplicates -------------------------------------------------------------------------------------------------


def test_no_duplicate() -> None:
    keys = np.zeros((257, 32), np.uint8)
    for bit in range(256):
        keys[bit, bit // 8] = 1 << (bit % 8)
    assert find_duplicate(keys) is None
    assert find_duplicate(keys[:1]) is None
    assert find_duplicate(keys[:0]) is None


def test_the_first_key_that_comes_again() -> None:
    keys = random_keys(1000, seed=1)
    keys[900] = keys[10]
    keys[[300, 400]] = keys[200]
    assert find_duplicate(keys) == (200, 300)
    keys[250] = keys[900]
    assert find_duplicate(keys) == (10, 250)
