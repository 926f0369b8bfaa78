"""Comparing two shards: every kind of difference, across formats, and as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.operations.diff_sides import DiffKind

SAMPLES = Path("resources/samples")


def written(path: Path, objects: dict[str, bytes], **options: object) -> Path:
    """A des shard with some objects."""
    with shardcore.create(path, format="des", **options) as writer:
        for key, data in objects.items():
            writer.add(key, data)
    return path


def counts(first: Path, second: Path, **options: bool) -> dict[str, int]:
    """The counts that are not zero."""
    with shardcore.open(first) as one, shardcore.open(second) as other:
        found = shardcore.diff(one, other, **options)
        assert len(list(found.objects(one, other))) == sum(found.counts.values()) - found.counts[DiffKind.EQUAL]
        return {kind.value: count for kind, count in found.counts.items() if count}


def test_every_kind_of_difference(tmp_path: Path) -> None:
    """Objects are equal, moved, changed, added, removed or renamed."""
    first = written(
        tmp_path / "a.des", {"same": b"1" * 9, "old": b"22", "gone": b"333", "named": b"4444", "last": b"5"}
    )
    second = written(
        tmp_path / "b.des", {"same": b"1" * 9, "old": b"2222", "new": b"66666", "other": b"4444", "last": b"5"}
    )
    assert counts(first, second) == {"equal": 1, "moved": 1, "changed": 1, "added": 1, "removed": 1, "renamed": 1}


def test_equal_shards_have_no_difference(tmp_path: Path) -> None:
    """Every sample equals itself."""
    for name in ("swh/small.shard", "bloscpack/array.blp", "des/archive", "xorb/chunks.xorb", "neuroglancer/volume"):
        assert set(counts(SAMPLES / name, SAMPLES / name)) == {"equal"}


def test_a_changed_byte_is_a_changed_object(tmp_path: Path) -> None:
    """Where sizes and offsets agree, one byte that differs is found, in the object that has it."""
    first = written(tmp_path / "a.des", {f"k{n}": bytes([n]) * 100 for n in range(50)})
    data = bytearray(first.read_bytes())
    with shardcore.open(first) as shard:
        data[shard.find("k17").spans[0].start + 50] ^= 1
    second = tmp_path / "b.des"
    second.write_bytes(data)
    with shardcore.open(first) as one, shardcore.open(second) as other:
        found = shardcore.diff(one, other)
        (changed,) = found.objects(one, other)
        assert (changed.change, changed.key) == (DiffKind.CHANGED, "k17")
        assert not found.equal
        assert shardcore.diff(one, other, contents=False).equal


def test_formats_and_codecs_are_compared_by_content(tmp_path: Path) -> None:
    """A converted shard, and one that is compressed otherwise, equal the original."""
    objects = {f"{n:02}" * 32: bytes([n]) * 1000 for n in range(9)}
    plain = written(tmp_path / "a.des", objects)
    packed = written(tmp_path / "b.des", objects, codec="zstd")
    assert set(counts(plain, packed)) <= {"equal", "moved"}
    assert run(["convert", str(SAMPLES / "swh/small.shard"), "des", str(tmp_path / "c.des")]) == 0
    assert set(counts(SAMPLES / "swh/small.shard", tmp_path / "c.des")) == {"equal"}


def test_keys_that_occur_twice(tmp_path: Path) -> None:
    """Equal keys are matched in their order; one more is added."""
    with shardcore.open(SAMPLES / "xorb" / "chunks.xorb") as shard:
        keys = [ref.key for ref in shard.objects]
    assert len(keys) == len(set(keys)) or counts(SAMPLES / "xorb/chunks.xorb", SAMPLES / "xorb/chunks.xorb")
    first = written(tmp_path / "a.des", {"a": b"1"})
    second = written(tmp_path / "b.des", {"a": b"1", "b": b"1"})
    assert counts(first, second) == {"equal": 1, "added": 1}
    assert counts(second, first) == {"equal": 1, "removed": 1}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`diff` exits with 1 where shards differ, and its JSON states each difference."""
    first = written(tmp_path / "a.des", {"a": b"1", "b": b"22"})
    second = written(tmp_path / "b.des", {"a": b"1", "b": b"333"})
    assert run(["diff", str(first), str(first)]) == 0
    assert "2 equal (3 B); compared: contents" in capsys.readouterr().out
    assert run(["diff", str(first), str(second), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["equal"], told["compared"], told["counts"]["changed"]) == (False, "contents", 1)
    (changed,) = told["objects"]
    assert (changed["key"], changed["first"]["size"], changed["second"]["size"]) == ("b", 2, 3)
    assert run(["diff", str(first), str(second)]) == 1
    assert "changed" in capsys.readouterr().out
    assert run(["diff", str(first), str(tmp_path / "none.des")]) == 4
