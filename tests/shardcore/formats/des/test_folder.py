"""Promises of a folder of shards: routing, inferred bits, parts, zones, retention copies."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import pytest

import shardcore
from shardcore.errors import FormatError, KeyAbsent, NotAShard, ShardError, UsageError
from shardcore.formats.des import routing
from shardcore.formats.des.folder import DesDataSet
from shardcore.formats.des.routing import Route
from shardcore.model.objects import State
from shardcore.testing import check_explained
from tests.shardcore.formats.des.made import Stored, write


def _packed(folder: Path, n_bits: int = 8, count: int = 300, day: str = "20261103") -> dict[str, bytes]:
    """A folder as the packers make it, two parts to a shard number; returns the contents by uid."""
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


def _opened(folder: Path, **options: bool) -> DesDataSet:
    opened = shardcore.open(folder, **options)
    assert isinstance(opened, DesDataSet)
    return opened


@pytest.mark.parametrize("n_bits", [4, 5, 8, 12])
def test_every_uid_is_found_through_its_route(tmp_path: Path, n_bits: int) -> None:
    """The number of bits is inferred, every uid is found in its part, and only there is looked for it."""
    contents = _packed(tmp_path, n_bits, 2000 if n_bits == 12 else 300)
    with _opened(tmp_path) as opened:
        assert opened.n_bits == n_bits
        for uid in list(contents)[:30]:
            ref = opened.find(uid)
            assert opened.read(ref) == contents[uid]
            assert opened.read_range(ref, 1, 4) == contents[uid][1:4]
            trace = opened.trace(uid)
            assert trace.steps[0].title == "Route"
            assert ref.shard in trace.steps[0].values["candidates"]
            assert len(trace.steps[0].values["candidates"]) <= 2
            assert trace.ref == ref
        with pytest.raises(KeyAbsent):
            opened.find("not here")
        assert opened.trace("not here").outcome == "absent"


def test_all_objects_after_loading(tmp_path: Path) -> None:
    """After `load_index` the objects of all members are rows, and lookups name these rows."""
    contents = _packed(tmp_path)
    write(tmp_path, "20261104_00_0000.des", [Stored(b"256", b"later")])
    with _opened(tmp_path) as opened:
        opened.load_index()
        assert sorted(str(key) for key in opened.objects.keys[:]) == sorted([*contents, "256"])
        ref = opened.find("256")
        assert ref.shard == "20261104_00_0000.des"
        assert opened.objects.ref(ref.row) == ref
        assert opened.objects.keys[ref.row] == "256"
        assert opened.verify().ok
        assert opened.fields["dataset.n_bits"] == 8


@pytest.mark.thorough
def test_many_uids_at_once(tmp_path: Path) -> None:
    """`find_many` gives the rows that `find` gives, -1 for absent ones; a damaged candidate is no proof of absence."""
    contents = _packed(tmp_path)
    write(tmp_path, "mine.des", [Stored(b"extra", b"x"), Stored(next(iter(contents)).encode(), b"hidden by its route")])
    uids = [*contents, "extra", "nobody"]
    with _opened(tmp_path) as opened:
        rows = opened.find_many(uids)
        assert rows[:-1].tolist() == [opened.find(uid).row for uid in uids[:-1]]
        assert rows[-1] == -1
        assert opened.find_many([]).tolist() == []
    bad = tmp_path / "mine.des"
    bad.write_bytes(bad.read_bytes()[:-1])
    with _opened(tmp_path) as opened:
        assert opened.find_many(uids[:5]).min() >= 0
        with pytest.raises(FormatError):
            opened.find_many(["nobody"])


def test_the_first_part_wins(tmp_path: Path) -> None:
    """A uid in two parts is served from the first, and `find_all` has both, across dates."""
    for name, content in (
        ("20261104_2A_0000", b"new"),
        ("20261103_2A_0001", b"second"),
        ("20261103_2A_0000", b"first"),
    ):
        write(tmp_path, f"{name}.des", [Stored(b"42", content), Stored(b"298", b"")])
    with _opened(tmp_path) as opened:
        assert opened.read(opened.find("42")) == b"first"
        assert [opened.read(ref) for ref in opened.find_all("42")] == [b"first", b"second", b"new"]


def test_candidates_are_whole_names(tmp_path: Path) -> None:
    """Sidecars and numbers that only begin alike are not searched; parts come in order, of all dates."""
    names = ["20261103_1_0001.des", "20261104_1_0000.des", "20261103_1F_0000.des", "20261103_1_0000.des"]
    for name in names:
        write(tmp_path, name, [])
    (tmp_path / "20261103_1_0000.meta").write_text('{"version": 1}')
    zones = {"n_bits": 5, "zones": [{"name": "all", "range": {"start": 0, "end": 31}}]}
    (tmp_path / "zones.json").write_text(json.dumps(zones))
    with _opened(tmp_path) as opened:
        route = opened.trace("33").steps[0].values
    assert route["hex"] == "1"
    assert route["candidates"] == ["20261103_1_0000.des", "20261103_1_0001.des", "20261104_1_0000.des"]


def test_files_with_other_names_are_searched_too(tmp_path: Path) -> None:
    """A `.des` file that no packer named may hold any uid; it comes after those of the route."""
    write(tmp_path, "20261103_2A_0000.des", [Stored(b"42", b"packed")])
    write(tmp_path, "mine.des", [Stored(b"42", b"other"), Stored(b"7", b"seven")])
    (tmp_path / "20261103_2A_0000.meta").write_text("{}")
    (tmp_path / "notes.txt").write_text("hello")
    with _opened(tmp_path, deleted=True) as opened:
        assert [m.name for m in opened.members] == ["20261103_2A_0000.des", "mine.des"]
        assert opened.read(opened.find("42")) == b"packed"
        assert opened.read(opened.find("7")) == b"seven"


def test_without_bits_all_are_searched(tmp_path: Path) -> None:
    """Where no number of bits explains the names, every file is a candidate."""
    write(tmp_path, "20261103_2A_0000.des", [Stored(b"1", b"wrong place")])
    write(tmp_path, "20261103_2B_0000.des", [Stored(b"2", b"wrong, too")])
    with _opened(tmp_path) as opened:
        assert opened.n_bits is None
        assert opened.read(opened.find("2")) == b"wrong, too"
        assert "unknown" in opened.trace("2").steps[0].text


def test_a_damaged_part_does_not_hide_the_others(tmp_path: Path) -> None:
    """What lies in good parts is found; what is nowhere else may be in the damaged one, so it is not called absent."""
    write(tmp_path, "20261103_2A_0000.des", [Stored(b"42", b"a")])
    write(tmp_path, "20261103_2A_0001.des", [Stored(b"298", b"b")])
    bad = tmp_path / "20261103_2A_0000.des"
    bad.write_bytes(bad.read_bytes()[:-1])
    with _opened(tmp_path) as opened:
        assert opened.read(opened.find("298")) == b"b"
        with pytest.raises(FormatError):
            opened.find("42")
        opened.load_index()
        assert opened.objects.keys[:] == ["298"]
        report = opened.verify()
        assert [f.code for f in report.findings] == ["des.unreadable"]
        assert not report.ok


@pytest.mark.parametrize(("count", "words"), [(1, "the one file"), (3, "3 files")])
def test_how_many_files_may_hold_a_uid_is_told_in_agreement(tmp_path: Path, count: int, words: str) -> None:
    """Where the number of bits is not known, the step says how many files may contain the uid, in plain words."""
    for number in range(count):
        write(tmp_path, f"part {number}.des", [Stored(b"x", b"y")])
    with _opened(tmp_path) as opened:
        assert opened.n_bits is None
        assert opened.trace("nobody").steps[0].text == f"n_bits is unknown: {words} may contain the uid."


def test_bigfiles_are_shared(tmp_path: Path) -> None:
    """All shards of a folder find their external files in it; spans name the file, not the member."""
    for number in (0, 1):
        write(
            tmp_path, f"20261103_2A_000{number}.des", [Stored(str(42 + 256 * number).encode(), b"film" * 99, big=True)]
        )
    with _opened(tmp_path) as opened:
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


def test_tombstones_count_in_folders(tmp_path: Path) -> None:
    """Sidecars of members are heeded, and `deleted=True` reaches the members."""
    path = write(tmp_path, "20261103_2A_0000.des", [Stored(b"42", b"secret")])
    path.with_suffix(".meta").write_text(json.dumps({"version": 1, "tombstones": {"42": {"uid": "42"}}}))
    with _opened(tmp_path) as opened:
        assert opened.find("42").state is State.TOMBSTONED
        with pytest.raises(UsageError, match="deleted"):
            opened.read(opened.find("42"))
        with opened.bytes_of("20261103_2A_0000.meta") as source:
            assert source.size > 0
    with _opened(tmp_path, deleted=True) as opened:
        assert opened.read(opened.find("42")) == b"secret"


def test_zones_rule_the_bits(tmp_path: Path) -> None:
    """A zones file beside the shards says the number of bits, and traces name the zone."""
    write(tmp_path, "20261103_02A_0000.des", [Stored(b"42", b"x")])
    zones = {"n_bits": 12, "zones": [{"name": "north", "range": {"start": 0, "end": 99}}]}
    (tmp_path / "zones.json").write_text(json.dumps(zones))
    with _opened(tmp_path) as opened:
        assert opened.n_bits == 12
        assert "of zone north" in opened.trace("42").steps[0].text
    (tmp_path / "zones.json").write_text("broken")
    with _opened(tmp_path) as opened:
        assert opened.zones is None
        assert opened.read(opened.find("42")) == b"x"


@pytest.mark.parametrize("where", ["beside", "above"])
def test_retention_copies(tmp_path: Path, where: str) -> None:
    """Copies kept longer are shown with their object, and serve a uid that no shard has any more."""
    folder = tmp_path / "shards"
    write(folder, "20261103_2A_0000.des", [Stored(b"42", b"content")])
    day = (folder if where == "beside" else tmp_path) / "_ext_retention" / "20261103"
    day.mkdir(parents=True)
    (day / "42_2026-11-03T08:00:00Z.dat").write_bytes(b"content")
    (day / "a_b_2026-11-03T08:00:00.25Z.dat").write_bytes(b"kept only here")
    (day / "notes.txt").write_bytes(b"")
    (day / "x_2026-11-03T08:00:00Z.dat").symlink_to(day / "notes.txt")
    with _opened(folder) as opened:
        assert [node.name for node in opened.tree.children] == ["20261103_2A_0000.des", "_ext_retention"]
        ref = opened.find("42")
        assert ref.shard == "20261103_2A_0000.des"
        assert ref.extras["copies"] == ["_ext_retention/20261103/42_2026-11-03T08:00:00Z.dat"]
        assert opened.trace("42").steps[-1].title == "Retention"
        kept = opened.find("a_b")
        assert (kept.state, kept.kind, kept.row) == (State.EXTERNAL, "copy", -1)
        assert opened.read(kept) == b"kept only here"
        assert opened.read_range(kept, 5, 9) == b"only"
        assert [r.kind for r in opened.find_all("42")] == ["object", "copy"]
        check_explained(opened, kept.spans[0].source)
        with opened.bytes_of(kept.spans[0].source) as source:
            assert source.size == 14
        with pytest.raises(KeyAbsent):
            opened.find("x")


def test_more_shards_than_files_may_be_open(tmp_path: Path) -> None:
    """All shards of a folder stay open to lookups without holding their files."""
    for number in range(300):
        write(tmp_path, f"20261103_{number % 256:02X}_{number // 256:04}.des", [Stored(str(number).encode(), b"x")])
    import resource

    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(allowed, 256), most))
    try:
        with _opened(tmp_path) as opened:
            opened.load_index()
            assert len(opened.objects) == 300
            assert opened.read(opened.find("299")) == b"x"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))


@pytest.mark.thorough
def test_the_plain_words_are_true_at_any_time(tmp_path: Path) -> None:
    """A folder says that it does not know how many objects it has, until somebody asks: then it counts and lists."""
    contents = _packed(tmp_path)
    for ask in (len, lambda o: len(o.keys[:]), lambda o: len(o[:]), lambda o: len(o.order("slot") or o)):
        with _opened(tmp_path) as opened:
            assert (opened.declared_objects, opened.listing, opened.loaded) == (None, None, False)
            assert ask(opened.objects) == len(contents)
            assert (opened.declared_objects, opened.loaded) == (len(contents), True)
            assert opened.listing is not None
    with shardcore.open(next(tmp_path.glob("*.des"))) as one:
        assert one.declared_objects == len(one.objects)
        assert one.listing is one.objects


def test_damage_is_told_once(tmp_path: Path) -> None:
    """The trace of a uid whose payload, or whose part, is damaged names the damage in one step."""
    path = write(tmp_path / "content", "20261103_2A_0000.des", [Stored(b"42", b"text " * 99, "zstd")])
    data = bytearray(path.read_bytes())
    data[12] ^= 255
    path.write_bytes(data)
    write(tmp_path / "part", "20261103_2A_0000.des", [Stored(b"42", b"text " * 99)])
    (tmp_path / "part" / "20261103_2A_0000.des").write_bytes(b"DES2")
    for folder in ("content", "part"):
        with _opened(tmp_path / folder) as opened:
            told = opened.trace("42")
        assert told.outcome == "damaged"
        assert [step.title for step in told.steps].count("Damaged") == 1
        assert told.steps[-1].title == "Damaged"


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    """Members, damaged ones too, BigFiles, sidecars and copies are looked at without holding their files."""
    folder = tmp_path / "shards"
    film = b"film" * 99
    for number in range(20):
        path = write(folder, f"20261103_2A_{number:04}.des", [Stored(b"42", film, big=True)])
        path.with_suffix(".meta").write_text('{"version": 1}')
        if number % 2:
            path.write_bytes(path.read_bytes()[:-1])
    day = folder / "_ext_retention" / "20261103"
    day.mkdir(parents=True)
    (day / "42_2026-11-03T08:00:00Z.dat").write_bytes(b"content")
    held = []
    with _opened(folder) as opened:
        before = len(list(Path("/proc/self/fd").iterdir()))
        opened.load_index()
        assert len(opened.unreadable) == 10
        for name in ("20261103_2A_0000.des", "20261103_2A_0000.meta", opened.find("42").spans[0].source):
            held.append(opened.part(name))
            check_explained(opened, name)
        held.append(opened.part("_ext_retention/20261103/42_2026-11-03T08:00:00Z.dat"))
        assert [part.source.read(0, 4) for part in held] == [b"DES2", b'{"ve', b"film", b"cont"]
        assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_copies_are_listed_when_somebody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening and looking at the tree list no day of retention copies; the first lookup lists each once."""
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
    with _opened(tmp_path) as opened:
        copies = opened.tree.children[-1]
        assert (copies.name, copies.expandable) == ("_ext_retention", True)
        assert not [name for name in listed if "/" in name]
        for _ in range(3):
            assert len(opened.find("42").extras["copies"]) == 5
        assert len([name for name in listed if "/" in name]) == 5
        assert [node.text for node in copies.children] == ["7 bytes"] * 5


def test_uids_are_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A uid is encoded and hashed once, not by the folder and again by each part."""
    _packed(tmp_path)
    with _opened(tmp_path) as opened:
        assert opened.n_bits == 8
        parsed: list[str] = []
        real = routing.low_bits
        monkeypatch.setattr(routing, "low_bits", lambda uid: parsed.append(uid) or real(uid))
        for ask in (opened.find_all, opened.trace, lambda uid: opened.find_many([uid])):
            parsed.clear()
            ask("nobody")
            assert parsed == ["nobody"]


def test_names_of_copies_with_at_signs(tmp_path: Path) -> None:
    """A uid like `a@1-2` is part of a file name, and no stretch of bytes."""
    write(tmp_path, "20261103_2A_0000.des", [Stored(b"42", b"content")])
    day = tmp_path / "_ext_retention" / "20261103"
    day.mkdir(parents=True)
    (day / "me%40@1-2_2026-11-03T08:00:00Z.dat").write_bytes(b"mine")
    with _opened(tmp_path) as opened:
        ref = opened.find("me%40@1-2")
        assert opened.read(ref) == b"mine"
        assert opened.read_range(ref, 1, 3) == b"in"
        assert opened.bytes_of(ref.spans[0].source).read(0, 4) == b"mine"
        check_explained(opened, ref.spans[0].source)


def test_detection_of_folders(tmp_path: Path) -> None:
    """A folder is a data set by the names in it; without `.des` files it is none."""
    with pytest.raises(NotAShard):
        shardcore.open(tmp_path)
    with pytest.raises(NotAShard):
        shardcore.open(tmp_path, format="des")
    write(tmp_path, "mine.des", [])
    assert shardcore.detect(tmp_path).why == "1 file named *.des"
    write(tmp_path, "20261103_2A_0000.des", [Stored(b"42")])
    assert shardcore.detect(tmp_path).why == "1 file named <date>_<hex>_<part>.des"


def test_explaining_a_member(tmp_path: Path) -> None:
    """Bytes of members are explained through the folder."""
    write(tmp_path, "20261103_2A_0000.des", [Stored(b"42", b"text " * 50, "zstd")])
    with _opened(tmp_path) as opened:
        opened.load_index()
        path = opened.explain(8, "20261103_2A_0000.des")
        assert (path[-1].name, path[-1].text) == ("42", "zstd")
        assert [node.span.source for node in path] == ["20261103_2A_0000.des"] * 3
        assert path[-1].row == 0
        name = path[-1].decoded
        assert name == f"20261103_2A_0000.des@8-{path[-1].span.stop}"
        assert opened.tree_of(name).row == 0
        assert opened.bytes_of(name).read(0, 5) == b"text "
        check_explained(opened, name)
        assert opened.runs(0, 8, "20261103_2A_0000.des").stop.tolist() == [4, 5, 8]
        span = opened.find("42").spans[0]
        assert (span.source, span.start) == ("20261103_2A_0000.des", 8)
