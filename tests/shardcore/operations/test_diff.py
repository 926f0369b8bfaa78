"""Comparing two shards: every kind of difference, across formats, and as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.operations.diff_columns import DiffKind

SAMPLES = Path("resources/samples")


def written(path: Path, objects: dict[str, bytes], **options: object) -> Path:
    with shardcore.create(path, format="des", **options) as writer:
        for key, data in objects.items():
            writer.add(key, data)
    return path


def counts(first: Path, second: Path, **options: bool) -> dict[str, int]:
    with shardcore.open(first) as one, shardcore.open(second) as other:
        found = shardcore.diff(one, other, **options)
        assert len(list(found.objects(one, other))) == sum(found.counts.values()) - found.counts[DiffKind.EQUAL]
        return {kind.value: count for kind, count in found.counts.items() if count}


def test_every_kind_of_difference(tmp_path: Path) -> None:
    both = {"same": b"1" * 9, "old": b"22"}
    first = written(tmp_path / "a.des", both | {"gone": b"333", "named": b"4444", "last": b"5"})
    second = written(tmp_path / "b.des", both | {"old": b"2222", "new": b"66666", "other": b"4444", "last": b"5"})
    assert counts(first, second) == {"equal": 1, "moved": 1, "changed": 1, "added": 1, "removed": 1, "renamed": 1}


def test_equal_shards_have_no_difference(tmp_path: Path) -> None:
    for name in ("swh/small.shard", "bloscpack/array.blp", "des/archive", "xorb/chunks.xorb", "neuroglancer/volume"):
        assert set(counts(SAMPLES / name, SAMPLES / name)) == {"equal"}


def test_a_changed_byte_is_a_changed_object(tmp_path: Path) -> None:
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
    objects = {f"{n:02}" * 32: bytes([n]) * 1000 for n in range(9)}
    plain = written(tmp_path / "a.des", objects)
    packed = written(tmp_path / "b.des", objects, codec="zstd")
    assert set(counts(plain, packed)) <= {"equal", "moved"}
    assert run(["convert", str(SAMPLES / "swh/small.shard"), "des", str(tmp_path / "c.des")]) == 0
    assert set(counts(SAMPLES / "swh/small.shard", tmp_path / "c.des")) == {"equal"}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def packed(path: Path, format: str, objects: dict[str, bytes]) -> Path:
    """A shard of some format; of formats that know objects by their contents, without the keys."""
    with shardcore.create(path, format=format) as writer:
        for key, data in objects.items():
            writer.add(key if format in ("des", "neuroglancer", "bloscpack") else None, data)
    return path


def test_chunks_that_differ(tmp_path: Path) -> None:
    objects = {str(n): bytes([n]) * 500 for n in range(5)}
    first = packed(tmp_path / "a.xorb", "xorb", objects)
    second = packed(tmp_path / "b.xorb", "xorb", {**objects, "2": b"\xaa" * 500, "5": b"more" * 100})
    found = counts(first, second)
    assert (found["changed"], found["added"]) == (1, 1)


CONVERTED = [
    (sample, format)
    for sample in (
        *("swh/small.shard", "bloscpack/array.blp", "des/archive"),
        *("xorb/chunks.xorb", "neuroglancer/mesh", "mdb/cache"),
    )
    for format in ("swh", "mdb", "des", "neuroglancer", "xorb")
    # A xorb holds no empty object, and cuts large ones into chunks.
    if not sample.startswith(format) and not (format == "xorb" and sample.startswith(("swh", "mdb")))
]


@pytest.mark.parametrize(("sample", "format"), CONVERTED)
def test_what_was_converted_is_equal(sample: str, format: str, tmp_path: Path) -> None:
    """Across formats contents are compared, not keys."""
    out = tmp_path / "out" / ("x.xorb" if format == "xorb" else "x")
    out.parent.mkdir()
    assert run(["convert", str(SAMPLES / sample), format, str(out)]) == 0
    target = out if out.exists() else out.parent
    assert run(["diff", str(SAMPLES / sample), str(target)]) == 0
    assert run(["diff", str(target), str(SAMPLES / sample)]) == 0


def test_numbers_that_are_equal_by_accident(tmp_path: Path) -> None:
    contents = [bytes([n]) * 300 for n in range(6)]
    first = packed(tmp_path / "a.des", "des", {str(n): data for n, data in enumerate(contents)})
    second = packed(tmp_path / "b.xorb", "xorb", {str(n): data for n, data in enumerate(contents[::-1])})
    assert counts(first, second) == {"renamed": 6}
    third = packed(tmp_path / "c.xorb", "xorb", {str(n): data for n, data in enumerate([*contents[:5], b"new" * 100])})
    assert counts(first, third) == {"equal": 5, "changed": 1}


def test_a_damaged_object_is_unread(tmp_path: Path) -> None:
    objects = {f"k{n}": b"text " * 100 + bytes([n]) for n in range(10)}
    first = written(tmp_path / "a.des", objects, codec="zstd")
    data = bytearray(first.read_bytes())
    with shardcore.open(first) as shard:
        data[shard.find("k4").spans[0].start] ^= 0xFF
    (second := tmp_path / "b.des").write_bytes(data)
    assert counts(first, second) == {"equal": 9, "unread": 1}
    with shardcore.open(first) as one, shardcore.open(second) as other:
        (unread,) = shardcore.diff(one, other).objects(one, other)
        assert (unread.change, unread.key) == (DiffKind.UNREAD, "k4")
        assert unread.why
    assert run(["diff", str(first), str(second)]) == 1


def test_data_sets_by_shard(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        written(tmp_path / folder / "same.des", {"one": b"1", "two": b"22"})
        written(tmp_path / folder / "bad.des", {"seven": b"7"})
    bad = tmp_path / "b" / "bad.des"
    bad.write_bytes(bad.read_bytes()[:-30])
    written(tmp_path / "a" / "gone.des", {"three": b"333"})
    written(tmp_path / "b" / "new.des", {"four": b"4444"})
    written(tmp_path / "a" / "varied.des", {"five": b"5", "six": b"6"})
    written(tmp_path / "b" / "varied.des", {"five": b"5", "six": b"7"})
    with shardcore.open(tmp_path / "a") as one, shardcore.open(tmp_path / "b") as other:
        found = shardcore.diff(one, other)
        shards = {shard.name: shard for shard in found.shards}
    kinds = {name: shard.change.value for name, shard in shards.items()}
    unlike = {"gone.des": "removed", "new.des": "added", "varied.des": "changed", "bad.des": "unread"}
    assert kinds == {"same.des": "equal"} | unlike
    assert [name for name, shard in shards.items() if shard.why] == ["bad.des"]
    assert shards["varied.des"].counts[DiffKind.CHANGED] == 1
    assert shards["gone.des"].second is None
    assert shards["same.des"].counts[DiffKind.EQUAL] == 2
    assert not found.equal
