"""Converting a data set member by member: the same files as from all members at once, few members open."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import FormatError, ShardError, UsageError
from shardcore.formats.des.folder import DesDataSet
from shardcore.formats.des.shard import DesShard
from shardcore.model.finding import Depth
from shardcore.operations import convert_worker
from shardcore.operations.convert import FromShard, convert
from shardcore.operations.extraction.selection import all_rows
from shardcore.operations.pack import pack
from shardcore.progress import no_progress
from shardcore.shards.dataset import PARTS, DataSet
from shardcore.shards.registry import FORMATS
from shardcore.sources.base import Source
from tests.shardcore.formats.des.made import Stored, write

SETS = ("des", "swh", "neuroglancer", "mdb", "bloscpack")
"""Formats that have data sets."""
TARGETS = {"des": {}, "swh": {}, "neuroglancer": {"kind": "skeleton"}, "mdb": {}, "bloscpack": {}, "xorb": {}}
FOLDERS = ("neuroglancer", "bloscpack")
RULES = ("", "as-is", "sha256", "number", "name")


def content(number: int) -> bytes:
    return {4: b"content 3" * 40, 6: b"long" * 5_000}.get(number, f"content {number}".encode() * 40)


def made(folder: Path, format: str) -> Path:
    out, work = folder / format, folder / f"inputs-{format}"
    work.mkdir()
    for number in range(8):
        (work / str(number)).write_bytes(content(number))
    if format in FOLDERS:
        options = {"kind": "skeleton", "spec": SPEC} if format == "neuroglancer" else {}
        pack(format, f"{out}/", [work / str(number) for number in range(8)], options=options)
        return out
    out.mkdir()
    names = {"des": "20261103_{:02X}_0000.des", "swh": "{}.shard", "mdb": "{}.mdb"}[format]
    for number in range(0, 8, 2):
        pack(format, out / names.format(number), [work / str(number), work / str(number + 1)])
    return out


SPEC = (
    '{"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0, "hash": "identity", "minishard_bits": 1, '
    '"shard_bits": 2, "minishard_index_encoding": "gzip", "data_encoding": "gzip"}'
)


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    for format in SETS:
        made(folder, format)
    return folder


def written(source: Path, format: str, out: Path, keys: str) -> tuple[dict[str, str], tuple[str, ...], str]:
    out.mkdir()
    target = f"{out / 'x'}/" if format in FOLDERS else str(out / f"x.{format}")
    try:
        with shardcore.open(source, xorbs=source.parent / "mdb/xorbs") as shard:
            done = convert(shard, format, target, keys=keys, options=TARGETS[format])
    except ShardError as error:
        return {}, (), str(error)
    paths = sorted(path for path in out.rglob("*") if path.is_file())
    digests = {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    return digests, done.notes, ""


def planned(source: Path, format: str, out: Path) -> list[tuple[str, int, list[str | None]]]:
    """The files that a plan without reading contents has: name, size, keys; it is made twice."""
    target = f"{out / 'x'}/" if format in FOLDERS else str(out / f"x.{format}")
    with shardcore.open(source, xorbs=source.parent / "mdb/xorbs") as shard:
        for _ in range(2):
            plan = convert(shard, format, target, options=TARGETS[format], plan=True, unread=True).plan
    return [(file.name, file.size, file.objects.keys[:]) for file in plan.files]


def test_the_same_is_planned(sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [("des", "des"), *((source, "neuroglancer") for source in SETS)]
    found = [planned(sets / source, format, tmp_path) for source, format in pairs]
    monkeypatch.setattr("shardcore.operations.convert.convert_source", FromShard)
    assert found == [planned(sets / source, format, tmp_path) for source, format in pairs]


@pytest.mark.parametrize("rules", [("",), pytest.param(RULES[1:], marks=pytest.mark.thorough)], ids=["usual", "given"])
@pytest.mark.parametrize("source", SETS)
def test_the_same_files_come_out(
    sets: Path, tmp_path: Path, source: str, rules: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convert_worker, "MOST_HELD", 1_000)
    # Joined objects have only the order of their rows.
    monkeypatch.setattr(convert_worker, "rows_in_file_order", all_rows)
    for format in FORMATS:
        for keys in rules:
            name = f"{format}-{keys}"
            found = written(sets / source, format, tmp_path / f"{name}-streamed", keys)
            with monkeypatch.context() as patch:
                patch.setattr("shardcore.operations.convert.convert_source", FromShard)
                assert found == written(sets / source, format, tmp_path / f"{name}-joined", keys), name


@pytest.fixture
def many(tmp_path: Path) -> Path:
    for number in range(40):
        stored = [Stored(uid, uid * 10) for uid in (b"%d" % number, b"%d" % (number + 256))]
        write(tmp_path / "set", f"20261103_{number:02X}_0000.des", stored)
    return tmp_path / "set"


class Open:
    """Which members are open, and how many were at the same time at most."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now, self.most = set[DesShard](), 0
        opening, closing = DesDataSet.open_member, DesShard.close

        def counted(this: DesDataSet, name: str, source: Source) -> DesShard:
            opened = opening(this, name, source)
            self.now.add(opened)
            self.most = max(self.most, len(self.now))
            return opened

        def ended(this: DesShard) -> None:
            self.now.discard(this)
            closing(this)

        patch.setattr(DesDataSet, "open_member", counted)
        patch.setattr(DesShard, "close", ended)


@pytest.mark.parametrize(("jobs", "held"), [(1, 1 << 20), (4, 0)], ids=["held", "streamed"])
def test_few_members_are_open(
    many: Path, tmp_path: Path, jobs: int, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No joined index is loaded, and no more shards are open than there are jobs."""
    monkeypatch.setattr(DataSet, "load_index", lambda *_: pytest.fail("the whole index was loaded"))
    monkeypatch.setattr(convert_worker, "MOST_HELD", held)
    monkeypatch.setattr("shardcore.operations.convert.MOST_KEPT", 0)
    told: list[tuple[int, int]] = []
    checked: list[tuple[int, int]] = []
    with shardcore.open(many) as shard:
        shard.jobs, members = jobs, Open(monkeypatch)
        watched = {"progress": lambda *at: told.append(at), "checking": lambda *at: checked.append(at)}
        done = convert(shard, "des", tmp_path / "x.des", verify=Depth.INDEX, verifying=no_progress, **watched)
        assert done.written[0].objects == 80
        assert 0 < members.most <= jobs + 1
        assert not members.now
        assert told == [(number, 80) for number in range(80)]
        assert checked[-1] == (40 * PARTS, 40 * PARTS)
        told.clear()
        convert(shard, "swh", tmp_path / "x.shard", progress=lambda *at: told.append(at), verifying=no_progress)
        assert all(abs(number / total - number / 80) < 0.01 for number, total in told)
        assert told[-1] == (79, 80)


@pytest.mark.parametrize("keys", ["", "sha256"])
def test_a_lost_member_is_an_error_with_its_place(
    many: Path, tmp_path: Path, keys: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = many / "20261103_0A_0000.des"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    (tmp_path / "out").mkdir()
    with shardcore.open(many) as shard:
        before = shard.member("20261103_00_0000.des")
        with pytest.raises(FormatError) as found:
            convert(shard, "des", tmp_path / "out/x.des", keys=keys)
        assert found.value.span.source == damaged.name
        assert before.read(before.find("0")) == b"0" * 10
    assert run(["convert", str(many), "swh", str(tmp_path / "out/x.shard"), "--jobs", "3"]) != 0
    assert damaged.name in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(UsageError, match="64 hex digits"), shardcore.open(many) as shard:
        convert(shard, "swh", tmp_path / "out/x.shard", keys="as-is")
