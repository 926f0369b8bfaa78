"""Promises of a folder of shards: routing, inferred bits, parts, zones, retention copies."""

from __future__ import annotations

import hashlib
import json
import random
import re
from pathlib import Path

import pytest

import shardcore
from shardcore.errors import FormatError, KeyAbsent, LimitExceeded, NotAShard, ShardError
from shardcore.formats.des.routing import Route
from shardcore.model.objects import State
from shardcore.testing import check_explained
from tests.shardcore.formats.des.made import Stored, write


def _packed(folder: Path, n_bits: int = 8, count: int = 300, day: str = "20261103") -> dict[str, bytes]:
    dice = random.Random(n_bits)
    contents: dict[str, bytes] = {}
    shards: dict[str, list[Stored]] = {}
    while len(contents) < count:
        uid = str(dice.randrange(10**9)) if dice.random() < 0.5 else f"doc-{dice.random()}"
        contents[uid] = uid.encode() * 3
        shards.setdefault(Route.of(uid, n_bits).hex, []).append(Stored(uid.encode(), contents[uid], "zstd"))
    for hex_, stored_objects in shards.items():
        half = (len(stored_objects) + 1) // 2
        for part, some in enumerate((stored_objects[:half], stored_objects[half:])):
            write(folder, f"{day}_{hex_}_{part:04}.des", some)
    return contents


@pytest.mark.parametrize("n_bits", [4, 5, 8])
def test_every_uid_is_found_through_its_route(tmp_path: Path, n_bits: int) -> None:
    contents = _packed(tmp_path, n_bits)
    with shardcore.open(tmp_path) as opened:
        assert opened.n_bits == n_bits
        for uid in list(contents)[:30]:
            ref = opened.find(uid)
            assert (opened.read(ref), opened.read_range(ref, 1, 4)) == (contents[uid], contents[uid][1:4])
            trace = opened.trace(uid)
            assert ref.shard in trace.steps[0].values["candidates"]
            assert len(trace.steps[0].values["candidates"]) <= 2
            assert trace.ref == ref
        with pytest.raises(KeyAbsent):
            opened.find("not here")
        assert opened.trace("not here").outcome == "absent"


def test_the_first_part_wins(tmp_path: Path) -> None:
    """Files with other names are searched after those with the names of parts; without bits all are."""
    for name, content in (
        ("20261104_2A_0000", b"new"),
        ("20261103_2A_0001", b"second"),
        ("20261103_2A_0000", b"first"),
    ):
        write(tmp_path, f"{name}.des", [Stored(b"42", content), Stored(b"298", b"")])
    write(tmp_path, "mine.des", [Stored(b"42", b"other"), Stored(b"7", b"seven")])
    (tmp_path / "20261103_2A_0000.meta").write_text("{}")
    (tmp_path / "notes.txt").write_text("hello")
    with shardcore.open(tmp_path, deleted=True) as opened:
        assert (len(opened.members), opened.members[-1].name) == (4, "mine.des")
        assert opened.read(opened.find("42")) == b"first"
        assert opened.read(opened.find("7")) == b"seven"
        assert [opened.read(ref) for ref in opened.find_all("42")] == [b"first", b"second", b"new", b"other"]
    write(tmp_path / "wrong", "20261103_2A_0000.des", [Stored(b"1", b"wrong place")])
    write(tmp_path / "wrong", "20261103_2B_0000.des", [Stored(b"2", b"wrong, too")])
    with shardcore.open(tmp_path / "wrong") as opened:
        assert (opened.n_bits, opened.read(opened.find("2"))) == (None, b"wrong, too")


def test_candidates_are_whole_names(tmp_path: Path) -> None:
    """Sidecars and numbers that only begin alike are not searched; parts come in order, of all dates."""
    names = ["20261103_1_0001.des", "20261104_1_0000.des", "20261103_1F_0000.des", "20261103_1_0000.des"]
    for name in names:
        write(tmp_path, name, [])
    (tmp_path / "20261103_1_0000.meta").write_text('{"version": 1}')
    zones = {"n_bits": 5, "zones": [{"name": "all", "range": {"start": 0, "end": 31}}]}
    (tmp_path / "zones.json").write_text(json.dumps(zones))
    with shardcore.open(tmp_path) as opened:
        route = opened.trace("33").steps[0].values
    assert route["hex"] == "1"
    assert route["candidates"] == ["20261103_1_0000.des", "20261103_1_0001.des", "20261104_1_0000.des"]


def test_a_damaged_part_does_not_hide_the_others(tmp_path: Path) -> None:
    """A uid that is in no intact part may be in the damaged one, so it is not absent."""
    write(tmp_path, "20261103_2A_0000.des", [Stored(b"42", b"a")])
    write(tmp_path, "20261103_2A_0001.des", [Stored(b"298", b"b")])
    bad = tmp_path / "20261103_2A_0000.des"
    bad.write_bytes(bad.read_bytes()[:-1])
    with shardcore.open(tmp_path) as opened:
        assert opened.read(opened.find("298")) == b"b"
        with pytest.raises(FormatError):
            opened.find("42")
        opened.load_index()
        assert opened.objects.keys[:] == ["298"]
        with pytest.raises(FormatError):
            opened.find_many(["42"])
        report = opened.verify()
        assert [f.code for f in report.findings] == ["des.unreadable"]
        assert not report.ok


def test_bigfiles_are_shared(tmp_path: Path) -> None:
    for number in (0, 1):
        stored = Stored(b"%d" % (42 + 256 * number), b"film" * 99, big=True)
        write(tmp_path, f"20261103_2A_000{number}.des", [stored])
    with shardcore.open(tmp_path) as opened:
        for uid in ("42", "298"):
            ref = opened.find(uid)
            assert ref.state is State.EXTERNAL
            assert opened.read(ref) == b"film" * 99
            name = ref.spans[0].source
            assert name == "_bigFiles/" + hashlib.sha256(b"film" * 99).hexdigest()
            with opened.bytes_of(name) as source:
                assert source.size == 396
            check_explained(opened, name)
            assert [(s.start, s.stop) for s in opened.sections_of(name)] == [(0, 396)]
        with pytest.raises(ShardError):
            opened.bytes_of("_bigFiles/../x")


def test_zones_rule_the_bits(tmp_path: Path) -> None:
    write(tmp_path, "20261103_02A_0000.des", [Stored(b"42", b"x")])
    zones = {"n_bits": 12, "zones": [{"name": "north", "range": {"start": 0, "end": 99}}]}
    (tmp_path / "zones.json").write_text(json.dumps(zones))
    with shardcore.open(tmp_path) as opened:
        assert opened.n_bits == 12
    (tmp_path / "zones.json").write_text("broken")
    with shardcore.open(tmp_path) as opened:
        assert opened.zones is None
        assert opened.read(opened.find("42")) == b"x"


@pytest.mark.parametrize("where", ["beside", "above"])
def test_retention_copies(tmp_path: Path, where: str) -> None:
    folder = tmp_path / "shards"
    write(folder, "20261103_2A_0000.des", [Stored(b"42", b"content")])
    day = (folder if where == "beside" else tmp_path) / "_ext_retention" / "20261103"
    day.mkdir(parents=True)
    (day / "42_2026-11-03T08:00:00Z.dat").write_bytes(b"content")
    (day / "a_b_2026-11-03T08:00:00.25Z.dat").write_bytes(b"kept only here")
    (day / "me%40@1-2_2026-11-03T08:00:00Z.dat").write_bytes(b"mine")
    (day / "notes.txt").write_bytes(b"")
    (day / "x_2026-11-03T08:00:00Z.dat").symlink_to(day / "notes.txt")
    with shardcore.open(folder) as opened:
        assert [node.name for node in opened.tree.children] == ["20261103_2A_0000.des", "_ext_retention"]
        ref = opened.find("42")
        assert ref.shard == "20261103_2A_0000.des"
        assert ref.extras["copies"] == ["_ext_retention/20261103/42_2026-11-03T08:00:00Z.dat"]
        kept = opened.find("a_b")
        assert (kept.state, kept.kind, kept.row) == (State.EXTERNAL, "copy", -1)
        assert opened.read_range(kept, 5, 9) == b"only"
        with pytest.raises(LimitExceeded, match=re.escape(kept.spans[0].source)):
            opened.read_range(kept, 5, 9, limit=3)
        assert [r.kind for r in opened.find_all("42")] == ["object", "copy"]
        for one, content in ((kept, b"kept only here"), (opened.find("me%40@1-2"), b"mine")):
            assert opened.read(one) == content
            check_explained(opened, one.spans[0].source)
            with opened.bytes_of(one.spans[0].source) as source:
                assert source.read(0, source.size) == content
        with pytest.raises(KeyAbsent):
            opened.find("x")


def test_copies_are_listed_when_somebody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "20261103_2A_0000.des", [Stored(b"42", b"content")])
    for number in range(5):
        day = tmp_path / "_ext_retention" / f"2026110{number}"
        day.mkdir(parents=True)
        (day / "42_2026-11-03T08:00:00Z.dat").write_bytes(b"content")
    listed: list[str] = []
    real = shardcore.LocalFolder.list

    def listing(folder: shardcore.LocalFolder, prefix: str = "") -> object:
        listed.append(prefix)
        return real(folder, prefix)

    monkeypatch.setattr(shardcore.LocalFolder, "list", listing)
    with shardcore.open(tmp_path) as opened:
        copies = opened.tree.children[-1]
        assert (copies.name, copies.expandable) == ("_ext_retention", True)
        assert not [name for name in listed if "/" in name]
        for _ in range(3):
            assert len(opened.find("42").extras["copies"]) == 5
        assert len([name for name in listed if "/" in name]) == 5
        assert [node.text for node in copies.children] == ["7 bytes"] * 5


def test_detection_of_folders(tmp_path: Path) -> None:
    with pytest.raises(NotAShard):
        shardcore.open(tmp_path)
    with pytest.raises(NotAShard):
        shardcore.open(tmp_path, format="des")
    write(tmp_path, "mine.des", [])
    assert shardcore.detect(tmp_path).why == "1 file named *.des"
    write(tmp_path, "20261103_2A_0000.des", [Stored(b"42")])
    assert shardcore.detect(tmp_path).why == "1 file named <date>_<hex>_<part>.des"
