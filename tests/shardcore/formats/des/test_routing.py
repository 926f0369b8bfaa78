"""Promises of routing: numbers, names, dates and what can be inferred from a folder."""

from __future__ import annotations

import random
import zlib

import pytest

from shardcore.errors import UsageError
from shardcore.formats.des.routing import (
    Route,
    ShardName,
    bits_of_names,
    infer_n_bits,
    routed_to,
    shard_date,
    shard_hex,
    utc_stamp,
)


@pytest.mark.parametrize(
    ("uid", "number", "hex_", "rule"),
    [
        ("0042", 42, "2A", "digits"),
        ("a", 67, "43", "crc32"),
        ("-7", 31, "1F", "crc32"),
        ("337", 81, "51", "digits"),
        ("za\u017c", 95, "5F", "crc32"),
        ("\u0662\u0663", 23, "17", "digits"),
        ("", 0, "00", "crc32"),
    ],
)
def test_vectors_at_8_bits(uid: str, number: int, hex_: str, rule: str) -> None:
    assert Route.of(uid, 8) == Route(8, number, hex_, rule)


def test_digits_that_are_no_decimals_are_text() -> None:
    """The reference fails on a superscript two."""
    assert Route.of("\u00b2", 8) == Route(8, zlib.crc32("\u00b2".encode()) & 255, "93", "crc32")


@pytest.mark.parametrize("n_bits", range(4, 17))
def test_long_numbers(n_bits: int) -> None:
    rng = random.Random(n_bits)
    for digits in (1, 15, 16, 17, 40, 4000):
        value = rng.randrange(10 ** (digits - 1), 10**digits)
        assert Route.of(str(value), n_bits).number == value % 2**n_bits
    assert Route.of("9" * 65535, n_bits).number == (10**16 - 1) % 2**n_bits


def test_bytes_that_are_no_utf8_route_by_what_is_stored() -> None:
    uid = b"\xff\xfe".decode("utf-8", "surrogateescape")
    assert Route.of(uid, 16).number == zlib.crc32(b"\xff\xfe") & 0xFFFF


@pytest.mark.parametrize(
    ("n_bits", "number", "text"),
    [
        (4, 15, "F"),
        (5, 1, "1"),
        (5, 31, "1F"),
        (7, 127, "7F"),
        (8, 10, "0A"),
        (11, 2047, "7FF"),
        (12, 1, "001"),
        (15, 0x7FFF, "7FFF"),
        (16, 0, "0000"),
    ],
)
def test_hex_width(n_bits: int, number: int, text: str) -> None:
    assert shard_hex(number, n_bits) == text


@pytest.mark.parametrize("n_bits", [3, 17, -1, True, 8.0, None])
def test_bits_out_of_range(n_bits: int) -> None:
    with pytest.raises(UsageError, match="n_bits"):
        Route.of("a", n_bits)


@pytest.mark.parametrize(
    ("created_at", "day"),
    [
        ("2026-11-03T00:30:00+02:00", "20261103"),
        ("2026-11-03T23:30:00-05:00", "20261103"),
        ("2026-11-03T08:00:00Z", "20261103"),
        ("2026-11-03", "20261103"),
        ("20261103", "20261103"),
        ("0099-01-02", "00990102"),
    ],
)
def test_date_in_its_own_zone(created_at: str, day: str) -> None:
    """The date in a file name is that of the time's own zone, never converted to UTC."""
    assert shard_date(created_at) == day


@pytest.mark.parametrize("created_at", ["", "yesterday", "2026-13-01", "1700000000000", "\u0662"])
def test_no_date(created_at: str) -> None:
    with pytest.raises(UsageError, match="ISO 8601"):
        shard_date(created_at)


def test_stamp_is_utc() -> None:
    assert utc_stamp("2026-11-03T00:30:00+02:00") == "2026-11-02T22:30:00Z"
    assert utc_stamp("2026-11-03T08:00:00.25") == "2026-11-03T08:00:00.250000Z"
    with pytest.raises(UsageError, match="outside the years"):
        utc_stamp("0001-01-01T00:00:00+05:00")


def test_names() -> None:
    parsed = ShardName.parse("20261103_1F_0007.des")
    assert parsed == ShardName("20261103", "1F", 7)
    assert (parsed.number, str(parsed)) == (31, "20261103_1F_0007.des")


@pytest.mark.parametrize(
    "name",
    [
        "20261103_1f_0007.des",
        "20261103_1F_07.des",
        "20261103_1F_0007.meta",
        "2026_1F_0007.des",
        "x.des",
        "20261103_1F_0007.des\n",
        "20261103_12345_0001.des",
        "\u0662" * 8 + "_1F_0001.des",
    ],
)
def test_other_names(name: str) -> None:
    assert ShardName.parse(name) is None


@pytest.mark.parametrize("n_bits", range(4, 17))
def test_inferred_bits(n_bits: int) -> None:
    rng = random.Random(n_bits)
    uids: dict[str, list[str]] = {}
    for _ in range(3000):
        uid = str(rng.randrange(10**9)) if rng.random() < 0.5 else f"doc-{rng.random()}.pdf"
        uids.setdefault(Route.of(uid, n_bits).hex, []).append(uid)
    assert infer_n_bits(uids) == n_bits


@pytest.mark.parametrize("n_bits", range(4, 17))
def test_names_lead_to_every_uid(n_bits: int) -> None:
    rng = random.Random(n_bits)
    for count in (1, 2, 5, 300):
        uids = [str(rng.randrange(10**9)) for _ in range(count)]
        files = {uid: Route.of(uid, n_bits).hex for uid in uids}
        found = bits_of_names(ShardName("20261103", hex_, 0) for hex_ in files.values())
        assert found in range(4, n_bits + 1)
        assert all(Route.of(uid, found).hex == hex_ for uid, hex_ in files.items())
        assert all(routed_to([uid], hex_, found) for uid, hex_ in files.items())


def test_names_of_different_packers() -> None:
    assert bits_of_names([]) is None
    assert bits_of_names([ShardName("20261103", "2A", 0), ShardName("20261103", "02B", 0)]) is None
    assert not routed_to(["43"], "2A", 8)


def test_nothing_to_infer_from() -> None:
    assert infer_n_bits({}) is None
    assert infer_n_bits({"1F": []}) is None
    assert infer_n_bits({"2A": ["0042"], "2B": ["0042"]}) is None


def test_smallest_bits_win() -> None:
    assert infer_n_bits({"2A": ["0042"]}) == 6
