"""Routing: numbers, names, dates, inferred bits, and zones files."""

from __future__ import annotations

import json
import random
import zlib
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import FormatError, KeyAbsent, SourceError, UsageError
from shardcore.formats.des import routing
from shardcore.formats.des.routing import Route, ShardName, Zones, bits_of_names, infer_n_bits
from shardcore.testing.checks import check_explained
from tests.shardcore.formats.des.made import Stored, write


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
        ("\u00b2", zlib.crc32("\u00b2".encode()) & 255, "93", "crc32"),  # the reference fails on a superscript two
    ],
)
def test_vectors_at_8_bits(uid: str, number: int, hex_: str, rule: str) -> None:
    assert Route.of(uid, 8) == Route(8, number, hex_, rule)


@pytest.mark.parametrize("n_bits", range(4, 17))
def test_long_numbers(n_bits: int) -> None:
    rng = random.Random(n_bits)
    for digits in (1, 15, 16, 17, 40, 4000):
        value = rng.randrange(10 ** (digits - 1), 10**digits)
        assert Route.of(str(value), n_bits).number == value % 2**n_bits
    assert Route.of("9" * 65535, n_bits).number == (10**16 - 1) % 2**n_bits
    no_utf8 = b"\xff\xfe".decode("utf-8", "surrogateescape")
    assert Route.of(no_utf8, 16).number == zlib.crc32(b"\xff\xfe") & 0xFFFF


def test_hex_width() -> None:
    for n_bits, number, text in (
        *((4, 15, "F"), (5, 1, "1"), (5, 31, "1F"), (7, 127, "7F"), (8, 10, "0A"), (11, 2047, "7FF")),
        *((12, 1, "001"), (15, 0x7FFF, "7FFF"), (16, 0, "0000")),
    ):
        assert routing.shard_hex(number, n_bits) == text
    for wrong in (3, 17, -1, True, 8.0, None):
        with pytest.raises(UsageError, match="n_bits"):
            Route.of("a", wrong)


def test_date_in_its_own_zone() -> None:
    """The date in a file name is that of the time's own zone, never converted to UTC."""
    times = ("2026-11-03T00:30:00+02:00", "2026-11-03T23:30:00-05:00", "2026-11-03T08:00:00Z", "2026-11-03", "20261103")
    assert {routing.shard_date(time) for time in times} == {"20261103"}
    assert routing.shard_date("0099-01-02") == "00990102"
    for wrong in ("", "yesterday", "2026-13-01", "1700000000000", "\u0662"):
        with pytest.raises(UsageError, match="ISO 8601"):
            routing.shard_date(wrong)


def test_ten_digits_are_unix_seconds() -> None:
    """No 10-digit number is a year, month and day, and no longer number is a date and a time."""
    assert routing.shard_date("1710100812") == "20240310"
    assert routing.utc_stamp("1710100812") == "2024-03-10T20:00:12Z"
    assert routing.locate("a", date="1710100812")["names"] == "20240310_43_*.des"
    for wrong in ("171010081", "17101008123", "1710100812345"):
        with pytest.raises(UsageError, match="ISO 8601"):
            routing.shard_date(wrong)


def test_stamp_is_utc() -> None:
    assert routing.utc_stamp("2026-11-03T00:30:00+02:00") == "2026-11-02T22:30:00Z"
    assert routing.utc_stamp("2026-11-03T08:00:00.25") == "2026-11-03T08:00:00.250000Z"
    with pytest.raises(UsageError, match="outside the years"):
        routing.utc_stamp("0001-01-01T00:00:00+05:00")


def test_names() -> None:
    parsed = ShardName.parse("20261103_1F_0007.des")
    assert parsed == ShardName("20261103", "1F", 7)
    assert (parsed.number, str(parsed)) == (31, "20261103_1F_0007.des")
    for name in (
        *("20261103_1f_0007.des", "20261103_1F_07.des", "20261103_1F_0007.meta", "2026_1F_0007.des", "x.des"),
        *("20261103_1F_0007.des\n", "20261103_12345_0001.des", "\u0662" * 8 + "_1F_0001.des"),
    ):
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
        assert all(routing.routed_to([uid], hex_, found) for uid, hex_ in files.items())


def test_names_of_different_packers() -> None:
    assert bits_of_names([]) is None
    assert bits_of_names([ShardName("20261103", "2A", 0), ShardName("20261103", "02B", 0)]) is None
    assert not routing.routed_to(["43"], "2A", 8)
    for names in ({}, {"1F": []}, {"2A": ["0042"], "2B": ["0042"]}):
        assert infer_n_bits(names) is None
    assert infer_n_bits({"2A": ["0042"]}) == 6  # the smallest wins


YAML = """\
n_bits: 8
zones:
  - name: high
    range: {start: 128, end: 255}
    path: far
  - name: low/first
    range: {start: 0, end: 99}
    path: near
"""
FILM = b"film" * 99


@pytest.fixture
def zones(tmp_path: Path) -> Path:
    """Two zones in folders: 42 (2A) is in one, 200 (C8) in the other; 100 to 127 are in none."""
    write(tmp_path / "near", "20261103_2A_0000.des", [Stored(b"42", b"old"), Stored(b"298", FILM, big=True)])
    write(tmp_path / "near", "20261104_2A_0000.des", [Stored(b"42", b"new")])
    write(tmp_path / "far", "20261103_C8_0000.des", [Stored(b"200", b"far away")])
    (tmp_path / "far" / "20261103_C8_0000.meta").write_text('{"version": 1, "tombstones": {}, "index": {}}')
    for name in ("near", "far"):
        day = tmp_path / name / "_ext_retention" / "20261103"
        day.mkdir(parents=True)
        (day / "200_2026-11-03T08:00:00Z.dat").write_bytes(name.encode())
    path = tmp_path / "zones.yaml"
    path.write_text(YAML)
    return path


def test_all_zones_are_one_place(zones: Path) -> None:
    names = ["high/20261103_C8_0000.des", "zone-0/20261103_2A_0000.des", "zone-0/20261104_2A_0000.des"]
    with shardcore.open(zones) as opened:
        assert [member.name for member in opened.members] == names
        assert opened.objects.keys[:] == ["200", "42", "298", "42"]
        assert opened.read(opened.find("42")) == b"old"
        assert [opened.read(ref) for ref in opened.find_all("42")] == [b"old", b"new"]
        big = opened.find("298")
        assert opened.read(big) == FILM
        assert opened.part(big.spans[0].source).source.read(0, 4) == b"film"
        assert opened.part("20261103_C8_0000.meta").source.read(0, 3) == b'{"v'
        assert opened.find_many(["200", "42", "99999"]).tolist() == [0, 1, -1]
        check_explained(opened, "high/20261103_C8_0000.des")
        assert opened.verify().ok
        assert opened.fields["zones.n_bits"] == 8
        with pytest.raises(KeyAbsent):
            opened.find("100")


def test_a_date_leaves_its_shards(zones: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in (zones, zones.parent / "near"):
        assert run(["get", str(place), "42", "--date", "2026-11-04T23:30:00+05:00"]) == 0
        assert capsys.readouterr().out == "new"
        assert run(["get", str(place), "298", "--date", "2026-11-04"]) == 1
        assert run(["trace", str(place), "42", "--date", "2026-11-04"]) == 0
        assert "20261104" in capsys.readouterr().out
        assert run(["ls", str(place), "--date", "yesterday"]) == 2
        capsys.readouterr()


def test_copies_come_from_the_zone_of_the_uid(zones: Path) -> None:
    with shardcore.open(zones) as opened:
        ref = opened.find("200")
        assert ref.extras["copies"] == ["high/_ext_retention/20261103/200_2026-11-03T08:00:00Z.dat"]
        copy = opened.find_all("200")[-1]
        assert opened.read(copy) == b"far"
        assert opened.bytes_of(copy.spans[0].source).read(0, 3) == b"far"
        assert len(opened.tree.children[-1].children) == 2


def test_a_shard_in_another_zone_is_an_error(zones: Path) -> None:
    write(zones.parent / "far", "20261103_2A_0001.des", [Stored(b"42")])
    with shardcore.open(zones) as opened:
        report = opened.verify("structure")
    assert [(f.code, f.span.source if f.span else "") for f in report.findings] == [
        ("des.other-zone", "high/20261103_2A_0001.des")
    ]


def test_zones_that_nobody_wrote_to(zones: Path) -> None:
    (zones.parent / "far").rename(zones.parent / "away")
    with shardcore.open(zones) as opened:
        assert len(opened.objects) == 3
        with pytest.raises(KeyAbsent):
            opened.find("200")


@pytest.mark.parametrize(
    ("text", "why", "place"),
    [
        ("n_bits: 8\nzones:\n  - name: a\n    range: {start: 0, end: 300}\n", "`end` of 'a'", "name: a"),
        ("n_bits: 99\nzones: []\n", "n_bits is 99", "n_bits:"),
        ("n_bits: 8\nzones: [\n  {name: b\n", "line 4", ""),
        ("n_bits: 8\nzones: &x [*x]\n", r"aliases \(\*\) are not supported, line 2", ""),
        ("n_bits: 8\nzones:\n  - {name: c, range: {start: 0, end: 1}, s3: {bucket: [1]}}\n", "`bucket`", "name: c"),
        ('{"n_bits": 8, "zones": 5}', "not a list", '"zones":'),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, why: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / "zones.yaml"
    path.write_text(text)
    with pytest.raises(FormatError, match=why) as caught:
        shardcore.open(path)
    span = caught.value.span
    assert text.encode()[span.start : span.stop].decode() == place


def test_zones_without_a_place(tmp_path: Path) -> None:
    text = json.dumps({"n_bits": 8, "zones": [{"name": "a", "range": {"start": 0, "end": 1}}]})
    assert len(Zones.parse(text).zones) == 1
    (tmp_path / "zones.json").write_text(text)
    with pytest.raises(FormatError, match="neither a bucket nor a folder"):
        shardcore.open(tmp_path / "zones.json")
    with pytest.raises(SourceError, match="only a local zones file"):
        shardcore.open(text.replace('"range"', '"path": "/etc", "range"').encode())


def _zone(name: str, start: Any, end: Any, **s3: str) -> dict[str, Any]:
    return {"name": name, "range": {"start": start, "end": end}, "s3": s3}


def _parse(*zones: Any, n_bits: Any = 8) -> Zones:
    return Zones.parse(json.dumps({"n_bits": n_bits, "zones": list(zones)}))


def test_both_ends_belong_to_the_zone() -> None:
    zones = _parse(_zone("b", 200, 255), _zone("a", 0, 127, bucket="docs", prefix="/des/"))
    assert [z.name for z in zones.zones] == ["a", "b"]
    owners = [found.name if (found := zones.zone_of(number)) else None for number in (0, 127, 128, 200, 255)]
    assert (owners, zones.zones[0].uri) == (["a", "a", None, "b", "b"], "s3://docs/des/")
    assert zones.zones[1].uri == ""


@pytest.mark.parametrize(
    ("zones", "n_bits", "why"),
    [
        ([_zone("a", 0, 10), _zone("b", 10, 20)], 8, "both contain number 10"),
        ([_zone("a", 0, 256)], 8, "not a shard number"),
        ([_zone("a", -1, 2)], 8, "not a shard number"),
        ([_zone("a", 3, 2)], 8, "starts at 3"),
        ([_zone("a", True, 2)], 8, "not a shard number"),
        ([_zone("a", "0", 2)], 8, "not a shard number"),
        ([{"name": "a"}], 8, "not a mapping"),
        ([{"range": {}}], 8, "no name"),
        (["a"], 8, "not a mapping"),
        ([], 3, "n_bits"),
        ([], "8", "n_bits"),
    ],
)
def test_refused(zones: list[Any], n_bits: Any, why: str) -> None:
    with pytest.raises(FormatError, match=why):
        _parse(*zones, n_bits=n_bits)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", b"\xff\xfe", "[" * 100_000, "!!python/object/apply:os.getcwd []", " " * (1 << 21), "\t:\0"],
    ids=["empty", "list", "open", "not utf-8", "deep", "yaml object", "large", "control"],
)
def test_hostile_text(text: str | bytes) -> None:
    with pytest.raises(FormatError):
        Zones.parse(text)
