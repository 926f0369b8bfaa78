"""Converting: every object of one format in another, and nothing dropped silently."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import UsageError
from shardcore.operations.convert import convert
from shardcore.writing.manifest import Loss
from tests.hostile.des import entry, shard
from tests.hostile.making import put

DATA = Path(__file__).parents[2] / "data"


XORBS = DATA / "mdb/cas/xorbs"


PLAIN_MDB = next((DATA / "mdb/cas/shard-cache").glob("e74f6896*"))


def contents(path: Path) -> dict[str, bytes]:
    with shardcore.open(path) as shard:
        return {key: shard.read(shard.find(key)) for key in shard.objects.keys[:] if key is not None}


def result_of(path: Path) -> list[dict[str, object]]:
    listed: list[dict[str, object]] = json.loads(path.with_name(path.name + ".manifest.json").read_text())["objects"]
    return listed


def test_keys_stay_where_they_fit(tmp_path: Path) -> None:
    sample = DATA / "swh/small.shard"
    with shardcore.open(sample) as shard:
        done = convert(shard, "des", tmp_path / "x.des")
    assert done.report.ok
    assert done.notes == ()
    assert contents(tmp_path / "x.des") == contents(sample)
    with shardcore.open(tmp_path / "x.des") as shard:
        convert(shard, "swh", tmp_path / "x.shard")
    assert contents(tmp_path / "x.shard") == contents(sample)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.des", "x.shard"]


def test_keys_that_do_not_fit_become_sha256(tmp_path: Path) -> None:
    """Equal contents become one object; the result manifest maps the old keys."""
    with shardcore.create(tmp_path / "x.des", format="des") as writer:
        writer.add("a", b"same", meta={"x": 1})
        writer.add("b", b"same", codec="zstd")
        writer.add("c", b"other" * 300_000)
    with shardcore.open(tmp_path / "x.des") as shard:
        done = convert(shard, "swh", tmp_path / "x.shard")
    one, other = (hashlib.sha256(data).hexdigest() for data in (b"same", b"other" * 300_000))
    assert contents(tmp_path / "x.shard") == {one: b"same", other: b"other" * 300_000}
    stored = [("a", one, {"meta": {"x": 1}}), ("b", one, {"codec": "zstd"}), ("c", other, {})]
    assert result_of(tmp_path / "x.shard") == [{"key": key, "stored": at} | facts for key, at, facts in stored]
    assert done.notes == (
        "swh cannot store meta (1 object)",
        "swh cannot store codec (1 object)",
        "2 keys replaced by the sha256 of the object",
        "1 object merged with another of the same content",
    )


def test_the_rules_for_keys(tmp_path: Path) -> None:
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
    (sample,) = (DATA / "des/sidecar").glob("*.des")
    with shardcore.open(sample) as shard:
        done = convert(shard, "des", tmp_path / "x.des")
    assert done.notes == ("left out: 1 tombstoned object",)
    assert set(contents(tmp_path / "x.des")) == {"keep", "nometa"}
    with shardcore.open(sample, deleted=True) as shard:
        done = convert(shard, "des", tmp_path / "y.des", deleted=True)
    assert done.notes == ("1 tombstoned object written without tombstone: readers return them again",)
    assert set(contents(tmp_path / "y.des")) == {"keep", "nometa", "gone"}


def losses(uri: Path, format: str, out: Path, **options: Any) -> list[dict[str, Any]]:
    with shardcore.open(uri) as shard:
        planned = convert(shard, format, out, options=options, plan=True, unread=True)
        done = convert(shard, format, out, options=options)
    found = [loss.to_json() for loss in done.losses]
    assert [loss.to_json() for loss in planned.losses] == found
    assert {loss["text"] for loss in found} <= set(done.notes)
    if found:
        manifest = out.with_name(out.name + ".manifest.json")
        assert json.loads(manifest.read_text())["losses"] == found
    return found


def test_a_weaker_checksum_is_a_loss(tmp_path: Path) -> None:
    """One that stays or becomes stronger is not reported."""
    sample = tmp_path / "sample.blp"
    with shardcore.create(sample, format="bloscpack", checksum="sha256") as writer:
        writer.add(None, b"some words " * 5000)
    (lost,) = losses(sample, "des", tmp_path / "x.des")
    assert lost | {"text": ""} == {"kind": "checksum", "name": "sha256", "objects": 1, "text": ""}
    assert lost["text"] == "1 content stored without a checksum (before: sha256)"
    (lost,) = losses(sample, "mdb", tmp_path / "x.mdb")
    assert lost["text"] == "1 content stored with blake3 (before: sha256)"
    (lost,) = losses(sample, "bloscpack", tmp_path / "a.blp", checksum="crc32")
    assert lost["text"] == "1 content stored with crc32 (before: sha256)"
    assert losses(sample, "bloscpack", tmp_path / "b.blp") == []
    assert losses(sample, "des", tmp_path / "y.des", sidecar="yes") == []
    with shardcore.open(tmp_path / "b.blp") as shard:
        assert shard.checksum == "sha256"


@pytest.mark.parametrize(("uri", "target"), [("bcolz/prices", "bloscpack"), ("bcolz/samples", "bloscpack")])
def test_bcolz_columns_stay_arrays(tmp_path: Path, uri: str, target: str) -> None:
    with shardcore.open(DATA / "bloscpack" / uri) as shard:
        arrays = [shard.array(key) for key in shard.objects.keys[:]] if "prices" in uri else [shard.array("all")]
        done = convert(shard, target, f"{tmp_path / 'out'}/")
    assert [(loss.kind, loss.name) for loss in done.losses] == [("setting", "bcolz")]
    found = []
    for file in done.written:
        if file.path.suffix == ".blp":
            with shardcore.open(file.path) as shard:
                found.append(shard.array("all"))
    for one, other in zip(found, arrays, strict=True):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()
    listed = json.loads((tmp_path / "out/manifest.json").read_text())
    assert listed["source"] == "bloscpack"
    assert any("cparams" in text for text in listed["bcolz"].values())


def test_a_manifest_of_another_shard(tmp_path: Path) -> None:
    with shardcore.open(DATA / "des/tiny.des") as shard:
        convert(shard, "des", tmp_path / "n.des", keys="number")
        manifest = tmp_path / "n.des.manifest.json"
        with pytest.raises(UsageError, match="not the manifest of this shard"):
            convert(shard, "des", tmp_path / "x.des", manifest=manifest)
        with pytest.raises(UsageError, match="omit --key"):
            convert(shard, "des", tmp_path / "x.des", manifest=manifest, keys="sha256")
    (tmp_path / "other.json").write_text('{"key": 1}\n')
    with shardcore.open(tmp_path / "n.des") as shard:
        with pytest.raises(UsageError, match="strings"):
            convert(shard, "des", tmp_path / "x.des", manifest=tmp_path / "other.json")
        convert(shard, "des", tmp_path / "y.des", manifest=manifest)
    assert not (tmp_path / "x.des").exists()
    assert contents(tmp_path / "y.des") == contents(DATA / "des/tiny.des")


def test_the_command_brings_keys_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, back = tmp_path / "x.shard", tmp_path / "back.des"
    assert run(["convert", str(DATA / "des/meta.des"), "swh", str(out), "--plan", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)["losses"]
    assert run(["convert", str(DATA / "des/meta.des"), "swh", str(out)]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [f"shardcore: {loss['text']}" for loss in planned] == lines
    assert run(["convert", str(out), "des", str(back), "--manifest", f"{out}.manifest.json"]) == 0
    with shardcore.open(DATA / "des/meta.des") as old, shardcore.open(back) as new:
        for key in old.objects.keys[:]:
            assert new.read(new.find(key)) == old.read(old.find(key))
            assert new.facts(new.find(key)) == old.facts(old.find(key))


def test_a_manifest_names_no_paths(tmp_path: Path) -> None:
    """Only declared settings are read from a manifest: it chooses no files to read or write."""
    (tmp_path / "secret").write_text('{"a": "secret"}')
    stated = {"format": "des", "source": "bloscpack", "metadata": str(tmp_path / "secret"), "checksum": "md5"}
    stated |= {"xorbs": str(tmp_path / "elsewhere"), "spec": str(tmp_path / "secret"), "volume": "x.npy"}
    manifest = tmp_path / "m.json"
    manifest.write_text(json.dumps(stated | {"objects": []}))
    for format in ("bloscpack", "mdb", "neuroglancer"):
        with shardcore.open(DATA / "des/tiny.des") as shard:
            key = shard.objects.keys[0]
            lines = [{"key": "7", "stored": key}, {"key": "8", "stored": shard.objects.keys[1]}]
            manifest.write_text(json.dumps(stated | {"objects": lines}))
            out = f"{tmp_path / format}/" if format != "mdb" else tmp_path / "x.mdb"
            convert(shard, format, out, manifest=manifest)
    with shardcore.open(tmp_path / "bloscpack/7.blp") as shard:
        assert (shard.checksum, shard.facts(shard.find("all"))) == ("md5", {})
    assert not (tmp_path / "elsewhere").exists()


def test_other_keys_of_meshes_and_volumes(tmp_path: Path) -> None:
    mesh, volume = DATA / "neuroglancer/mesh", DATA / "neuroglancer/volume/4_4_40"
    with shardcore.open(mesh) as shard:
        done = convert(shard, "neuroglancer", f"{tmp_path / 'mesh'}/", keys="number")
    assert [loss.kind for loss in done.losses] == ["keys"]
    assert json.loads((tmp_path / "mesh/info").read_text()) == json.loads((mesh / "info").read_text())
    with shardcore.open(volume) as shard:
        done = convert(shard, "neuroglancer", f"{tmp_path / 'volume'}/", keys="number")
    assert [(loss.kind, loss.name) for loss in done.losses] == [
        ("setting", "spec"),
        ("setting", "key_spaces"),
        ("keys", "number"),
    ]
    assert "left out: 1 other key space of the info (8_8_80)" in done.notes


def test_too_many_objects_for_one_shard_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where keys are digests, the number of objects decides."""
    monkeypatch.setattr("shardcore.formats.mdb.writer.MAX_SHARD_SIZE", 30_000)
    path = tmp_path / "many.shard"
    with shardcore.create(path, format="swh") as writer:
        for number in range(300):
            writer.add(None, b"%d" % number)
    with monkeypatch.context() as patch:
        patch.setattr("shardcore.formats.mdb.writer.MdbWriter._add", lambda *_: pytest.fail("a content was read"))
        assert run(["convert", str(path), "mdb", str(tmp_path / "x.mdb")]) == 2
    assert "write to a folder" in capsys.readouterr().err
    assert run(["convert", str(path), "mdb", f"{tmp_path / 'store'}/"]) == 0
    equal = put(tmp_path, "equal.des", shard(b"", [entry(b"%x" % n, 8, 0, 0, 0) for n in range(300)]))
    assert run(["convert", str(equal), "mdb", str(tmp_path / "y.mdb")]) == 0


def test_expiry_and_key_of_mdb_are_reported(tmp_path: Path) -> None:
    keyed = tmp_path / "keyed.mdb"
    with shardcore.open(PLAIN_MDB, xorbs=XORBS) as shard:
        shardcore.rekey(shard, keyed, key="01" * 32, expiry="2100-01-01")
    found = {loss.name: loss.text for loss in losses_of(keyed, "des", tmp_path / "x.des", xorbs=XORBS)}
    assert found["footer"] == "left out: fields of the footer (chunk_hash_hmac_key)"
    assert found["expiry"] == "des cannot store expiry (4102444800)"
    manifest = tmp_path / "x.des.manifest.json"
    assert "01" * 32 not in manifest.read_text()
    with shardcore.open(tmp_path / "x.des") as between:
        convert(between, "mdb", tmp_path / "back.mdb", manifest=manifest)
    with shardcore.open(tmp_path / "back.mdb") as back:
        assert back.fields["footer.shard_key_expiry"] == 4102444800


def losses_of(path: Path, format: str, out: Path, **options: Any) -> tuple[Loss, ...]:
    with shardcore.open(path, **options) as shard:
        done = convert(shard, format, out)
    assert {loss.text for loss in done.losses} <= set(done.notes)
    return done.losses


def test_what_is_written_opens_with_its_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sharding, which no `info` states, is in the manifest; it also opens the shard to convert it back."""
    sample, folder, back = DATA / "swh/small.shard", tmp_path / "shards", tmp_path / "back.shard"
    folder.mkdir()
    assert run(["convert", str(sample), "neuroglancer", str(folder)]) == 0
    assert run(["ls", str(folder)]) == 3
    assert "manifest that convert wrote" in capsys.readouterr().err
    manifest = folder / "manifest.json"
    assert run(["verify", str(folder), "--manifest", str(manifest)]) == 0
    assert run(["extract", str(folder), str(tmp_path / "files"), "--source-manifest", str(manifest)]) == 0
    # Indented by another program; and the manifest of extract.
    manifest.write_text(json.dumps(json.loads(manifest.read_text()), indent=4))
    for one in (manifest, tmp_path / "files/manifest.json"):
        with shardcore.open(folder, manifest=one) as shard:
            assert len(shard) == len(contents(sample))
    convert(folder, "swh", back, manifest=manifest)
    assert contents(back) == contents(sample)


def test_a_manifest_opens_no_other_files(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"format": "neuroglancer", "objects": [], "opening": {"spec": "/etc/passwd"}}))
    with shardcore.open(DATA / "swh/small.shard", manifest=path) as shard:
        assert shard.format == "swh"
    path.write_text('{"path": "a", "key": "b"}\n')
    with pytest.raises(UsageError, match="not a manifest of convert"):
        shardcore.open(DATA / "swh/small.shard", manifest=path)
