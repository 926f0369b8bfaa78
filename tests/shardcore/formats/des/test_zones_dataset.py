"""Promises of a zones file that is opened: the shards of all its zones as one place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import FormatError, KeyAbsent, SourceError
from shardcore.formats.des.zones import Zones
from shardcore.testing.checks import check_explained
from tests.shardcore.formats.des.made import Stored, write

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
    with shardcore.open(zones) as opened:
        assert [member.name for member in opened.members] == [  # type: ignore[attr-defined]
            "high/20261103_C8_0000.des",
            "zone-0/20261103_2A_0000.des",
            "zone-0/20261104_2A_0000.des",
        ]
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
    assert span is not None
    assert text.encode()[span.start : span.stop].decode() == place


def test_zones_without_a_place(tmp_path: Path) -> None:
    text = json.dumps({"n_bits": 8, "zones": [{"name": "a", "range": {"start": 0, "end": 1}}]})
    assert len(Zones.parse(text).zones) == 1
    (tmp_path / "zones.json").write_text(text)
    with pytest.raises(FormatError, match="neither a bucket nor a folder"):
        shardcore.open(tmp_path / "zones.json")
    with pytest.raises(SourceError, match="only a local zones file"):
        shardcore.open(text.replace('"range"', '"path": "/etc", "range"').encode())
