"""pack, and its plan."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder with three files, one of them deeper, and a link that is left out."""
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    (folder / "a").write_bytes(b"first")
    (folder / "deep/b").write_bytes(b"")
    (folder / "c").write_bytes(b"third" * 1000)
    (folder / "link").symlink_to(folder / "a")
    return folder


def test_pack_writes_a_shard(inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.shard"
    assert run(["pack", "swh", str(out), str(inputs), "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert list(line) == ["path", "objects", "size", "sha256", "unchecked"]
    content = out.read_bytes()
    assert list(line.values()) == [str(out), 3, len(content), hashlib.sha256(content).hexdigest(), []]
    with shardcore.open(out) as shard:
        for data in (b"first", b"", b"third" * 1000):
            assert shard.read(shard.find(hashlib.sha256(data).hexdigest())) == data
        assert shard.verify().ok


def test_the_plan_is_what_is_written(inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.shard"
    assert run(["pack", "swh", str(out), str(inputs), "--plan", "--json"]) == 0
    (planned,) = json.loads(capsys.readouterr().out)["files"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
    assert run(["pack", "swh", str(out), str(inputs), "--plan"]) == 0
    assert f"({planned['size']:,} bytes), 3 objects" in capsys.readouterr().out
    assert run(["pack", "swh", str(out), str(inputs)]) == 0
    with shardcore.open(out) as shard:
        assert planned["path"] == str(out)
        assert planned["size"] == out.stat().st_size
        sections = [{"name": s.name, "role": s.role.value, "start": s.start, "stop": s.stop} for s in shard.sections]
        assert planned["sections"] == sections
        for planned_object in planned["objects"]:
            ref = shard.find(planned_object["key"])
            place = ref.spans[0]
            assert planned_object == {"key": ref.key, "size": ref.size, "start": place.start, "stop": place.stop}


def test_options_reach_the_format(inputs: Path, tmp_path: Path) -> None:
    for name, seed in [("a", "7"), ("b", "0x7"), ("c", "8")]:
        assert run(["pack", "swh", str(tmp_path / name), str(inputs), "-O", f"seed={seed}"]) == 0
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c


def test_pack_with_a_manifest(inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = "ab" * 32
    (inputs / "m.jsonl").write_text(json.dumps({"path": "deep/b", "key": key}) + "\n" + json.dumps({"path": "c"}))
    assert run(["pack", "swh", str(tmp_path / "one"), "--manifest", str(inputs / "m.jsonl")]) == 0
    assert run(["extract", str(tmp_path / "one"), str(tmp_path / "x")]) == 0
    assert run(["pack", "swh", str(tmp_path / "two"), "--manifest", str(tmp_path / "x/manifest.json")]) == 0
    for name in ("one", "two"):
        with shardcore.open(tmp_path / name) as shard:
            assert shard.read(shard.find(key)) == b""
            assert shard.declared_objects == 2
    (tmp_path / "empty").write_text("")
    assert run(["pack", "swh", str(tmp_path / "none"), "--manifest", str(tmp_path / "empty")]) == 0
    with shardcore.open(tmp_path / "none") as shard:
        assert shard.declared_objects == 0
    capsys.readouterr()


def test_a_folder_is_no_target_for_one_file(inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for out in (str(tmp_path), f"{tmp_path}/new/"):
        assert run(["pack", "swh", out, str(inputs)]) == 2
        assert "one file: give a file name" in capsys.readouterr().err


def test_a_folder_of_shards(inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [{"path": "a", "key": "1", "created_at": "2026-11-03T08:00:00Z", "meta": {"x": 1}}]
    lines += [{"path": "c", "key": "2", "created_at": "2026-11-04"}]
    (inputs / "m").write_text("\n".join(map(json.dumps, lines)))
    arguments = ["pack", "des", f"{tmp_path}/set/", "--manifest", str(inputs / "m"), "-O", "threshold=4K", "--json"]
    assert run([*arguments, "--plan"]) == 0
    planned = {one["path"]: one["size"] for one in json.loads(capsys.readouterr().out)["files"]}
    assert run(arguments) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {one["path"]: one["size"] for one in told} == planned
    names = ["_bigFiles", "20261103_01_0000.des", "20261104_02_0000.des"]
    assert sorted(path.name for path in (tmp_path / "set").iterdir()) == sorted(names)
    assert run(["extract", str(tmp_path / "set"), str(tmp_path / "x")]) == 0
    capsys.readouterr()
    again = ["pack", "des", str(tmp_path / "one.des"), "--manifest", str(tmp_path / "x/manifest.json")]
    assert run(again) == 0
    with shardcore.open(tmp_path / "one.des") as shard:
        assert shard.find("1").extras["meta"] == {"x": 1}
        assert shard.read(shard.find("2")) == b"third" * 1000
    assert run(["pack", "des", str(tmp_path / "two.des"), str(inputs / "deep"), str(inputs)]) == 0
    with shardcore.open(tmp_path / "two.des") as shard:
        assert shard.objects.keys[:] == ["b", "a", "c", "deep/b", "m"]


def test_what_reading_back_did_not_check_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zeros").write_bytes(bytes(100_000))
    monkeypatch.setattr("shardcore.model.budget.WORK_FLOOR", 0)
    monkeypatch.setattr("shardcore.model.budget.WORK_RATIO", 3)
    command = ["pack", "des", str(tmp_path / "x.des"), str(tmp_path / "zeros"), "-O", "codec=zstd", "--force"]
    assert run(command) == 1
    assert "shardcore: the content of 1 object was not checked" in capsys.readouterr().err
    assert run([*command, "--json"]) == 1
    told = capsys.readouterr()
    (message,) = json.loads(told.out)["unchecked"]
    assert message.startswith("the content of 1 object was not checked")
    assert f"shardcore: {message}" in told.err
    assert run([*command, "--json", "--no-verify"]) == 0
    assert json.loads(capsys.readouterr().out)["unchecked"] == []


def test_rekey_of_a_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(__file__).parents[3] / "resources" / "samples" / "mdb" / "cache"
    assert run(["rekey", str(folder), str(tmp_path / "new.mdb"), "--key", "11" * 32]) == 2
    assert capsys.readouterr().err == "shardcore: rekey writes one shard: give one file of the folder\n"
    assert list(tmp_path.iterdir()) == []


def test_rekey_writes_key_and_expiry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shard = next((Path(__file__).parents[3] / "resources" / "samples" / "mdb" / "cache").glob("*.mdb"))
    out = tmp_path / "new.mdb"
    assert run(["rekey", str(shard), str(out), "--key", "11" * 32, "--expiry", "2999-12-31"]) == 0
    capsys.readouterr()
    assert run(["info", str(out)]) == 0
    told = capsys.readouterr().out
    assert "11" * 32 in told
    assert "valid until 2999-12-31" in told
    assert run(["rekey", str(shard), str(tmp_path / "b.mdb"), "--expiry", "none"]) == 0
    capsys.readouterr()
    assert run(["info", str(tmp_path / "b.mdb")]) == 0
    assert "never expires" in capsys.readouterr().out


def test_a_report_can_be_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_bytes(b"a")
    out = tmp_path / "out.shard"
    assert run(["pack", "swh", str(out), str(tmp_path / "a"), "--report", "-"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["objects"][0]["path"] == str(tmp_path / "a")
    assert str(out) in told.err
    assert not Path("-").exists()
