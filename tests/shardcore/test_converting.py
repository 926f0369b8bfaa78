"""Converting: every object of one format in another, and nothing dropped silently."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.converting import convert
from shardcore.errors import UsageError
from tests.hostile.des import entry, shard
from tests.hostile.making import put, zstd_bomb

DATA = Path(__file__).parents[1] / "data"


def contents(path: Path) -> dict[str, bytes]:
    """All objects of a shard."""
    with shardcore.open(path) as shard:
        return {key: shard.read(shard.find(key)) for key in shard.objects.keys[:] if key is not None}


def result_of(path: Path) -> list[dict[str, object]]:
    """The lines of the result manifest beside a shard."""
    listed: list[dict[str, object]] = json.loads(path.with_name(path.name + ".manifest.json").read_text())["objects"]
    return listed


def test_keys_stay_where_they_fit(tmp_path: Path) -> None:
    """From swh to des the hex keys are uids; back again they are the same keys; no result manifest is needed."""
    sample = DATA / "swh/small.shard"
    with shardcore.open(sample) as shard:
        done = convert(shard, "des", tmp_path / "x.des")
    assert done.report is not None
    assert done.report.ok
    assert done.notes == ()
    assert contents(tmp_path / "x.des") == contents(sample)
    with shardcore.open(tmp_path / "x.des") as shard:
        convert(shard, "swh", tmp_path / "x.shard")
    assert contents(tmp_path / "x.shard") == contents(sample)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.des", "x.shard"]


def test_keys_that_do_not_fit_become_sha256(tmp_path: Path) -> None:
    """From des to swh: the sha256, equal contents once; the result manifest names old keys, and facts without place."""
    with shardcore.create(tmp_path / "x.des", format="des") as writer:
        writer.add("a", b"same", meta={"x": 1})
        writer.add("b", b"same", codec="zstd")
        writer.add("c", b"other" * 300_000)
    with shardcore.open(tmp_path / "x.des") as shard:
        done = convert(shard, "swh", tmp_path / "x.shard")
    one, other = (hashlib.sha256(data).hexdigest() for data in (b"same", b"other" * 300_000))
    assert contents(tmp_path / "x.shard") == {one: b"same", other: b"other" * 300_000}
    assert result_of(tmp_path / "x.shard") == [
        {"key": "a", "stored": one, "meta": {"x": 1}},
        {"key": "b", "stored": one, "codec": "zstd"},
        {"key": "c", "stored": other},
    ]
    assert done.notes == (
        "swh has no place for meta (1 object)",
        "swh has no place for codec (1 object)",
        "1 object with the content of another one became one with it",
    )


def test_the_rules_for_keys(tmp_path: Path) -> None:
    """`number` counts, `name` is the name as a file, `as-is` refuses a key that does not fit; others are no rules."""
    with shardcore.open(DATA / "des/tiny.des") as shard:
        convert(shard, "des", tmp_path / "n.des", keys="number")
        convert(shard, "des", tmp_path / "m.des", keys="name")
        with pytest.raises(UsageError, match="64 hex digits"):
            convert(shard, "swh", tmp_path / "x.shard", keys="as-is")
        with pytest.raises(UsageError, match="as-is, sha256, number, name"):
            convert(shard, "des", tmp_path / "x.des", keys="guess")
    assert contents(tmp_path / "n.des") == {"0": b"hello", "1": b"shard"}
    assert contents(tmp_path / "m.des") == {"a": b"hello", "b": b"shard"}
    assert [line["key"] for line in result_of(tmp_path / "n.des")] == ["a", "b"]


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    """Tombstoned and deleted objects are left out, and counted; with `deleted` tombstoned ones are taken."""
    (sample,) = (DATA / "des/sidecar").glob("*.des")
    with shardcore.open(sample) as shard:
        done = convert(shard, "des", tmp_path / "x.des")
    assert done.notes == ("left out: 1 tombstoned object",)
    assert set(contents(tmp_path / "x.des")) == {"keep", "nometa"}
    with shardcore.open(sample, deleted=True) as shard:
        assert convert(shard, "des", tmp_path / "y.des", deleted=True).notes == ()
    assert set(contents(tmp_path / "y.des")) == {"keep", "nometa", "gone"}


@pytest.mark.parametrize(
    ("uri", "count"),
    [
        ("bloscpack/array.blp", 1),
        ("neuroglancer/tiny_worked_example/0.shard", None),
        ("neuroglancer/mesh", None),
        ("des/big", 5),
        ("swh/deleted.shard", None),
    ],
)
@pytest.mark.parametrize("format", ["swh", "des"])
def test_any_format_becomes_another(tmp_path: Path, uri: str, count: int | None, format: str) -> None:
    """Every content of a file or data set is there afterwards; the parts of meshes, too."""
    with shardcore.open(DATA / uri) as shard:
        done = convert(shard, format, tmp_path / "out")
        wanted = set()
        refs = [shard.find(shard.views[0])] if shard.views else [shard.find(k) for k in shard.objects.keys[:] if k]
        for ref in refs:
            wanted.add(shard.read(ref))
            wanted |= {shard.read_part(ref, part) for part in shard.file_names(ref) if part}
    assert done.report is not None
    assert done.report.ok
    assert wanted
    assert set(contents(tmp_path / "out").values()) == wanted
    assert count is None or len(refs) == count


def test_mdb_files_are_taken(tmp_path: Path) -> None:
    """Of an mdb shard the files are taken; the xorbs and chunks that they are made of are counted."""
    with shardcore.open(DATA / "mdb/cas") as shard:
        done = convert(shard, "des", tmp_path / "out.des")
    assert any("chunk" in note for note in done.notes)
    assert done.report is not None
    assert done.report.ok


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`convert` tells each file as `pack` does, and notes on standard error; `--plan` writes nothing."""
    arguments = ["convert", str(DATA / "des/tiny.des"), "swh", str(tmp_path / "x.shard"), "--json"]
    assert run([*arguments, "--plan"]) == 0
    assert json.loads(capsys.readouterr().out)["exact"] is True
    assert list(tmp_path.iterdir()) == []
    assert run(arguments) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [Path(line["path"]).name for line in lines] == ["x.shard", "x.shard.manifest.json"]
    assert run(arguments) == 2
    assert "exists already" in capsys.readouterr().err


def test_contents_together_are_limited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Objects that expand to far more than is stored are refused, also where all are one; --limit-bytes allows them."""
    path = file_of_zeros(tmp_path, 600 << 20)
    out = tmp_path / "out.shard"
    assert run(["convert", str(path), "swh", str(out), "--key", "sha256"]) == 3
    told = capsys.readouterr().err
    assert "--limit-bytes" in told
    assert not out.exists()
    assert run(["convert", str(path), "swh", str(out), "--key", "sha256", "--limit-bytes", str(1 << 30)]) == 0
    assert out.stat().st_size > 600 << 20


def file_of_zeros(folder: Path, size: int) -> Path:
    """A des file of a few KB with one payload of zeros."""
    return put(folder, "one.des", shard(zstd_bomb(size), [entry(b"one", 8, len(zstd_bomb(size)), 1, size)]))
