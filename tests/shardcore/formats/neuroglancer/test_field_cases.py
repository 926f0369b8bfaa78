"""Files from the field: the right answers of `tests/data/cases`, from the command line and the library."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore import RemoteOptions
from shardcore.cli.program import run
from shardcore.errors import SourceError, StoreUntrusted

CASES = Path(__file__).parents[3] / "data" / "cases"


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


ANNOTATIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("03-numbers-rounded/ints/by_id", "1", {"u": 4294967295, "i": -2147483647, "f": 16777216.0}),
    ("03-numbers-rounded/ints/spatial0", "0", {"u": 123456789, "i": -987654321, "f": 0.1}),
    ("03-numbers-rounded/bigpos/by_id", "1", {"position": [3880065.25, 514312.125, 172525], "u": 123456789}),
    ("04-annotations-polyline/polyline/by_id", "1", {"points": [[0, 0, 0], [1, 1, 1], [2, 0, 5]], "score": 0.25}),
    ("04-annotations-polyline/polyline/by_id", "2", {"points": [[9, 9, 9], [8, 8, 8]], "score": 1.0}),
    ("04-annotations-polyline/polyline/spatial0", "0", {"id": "1", "start": 8, "stop": 52}),
    ("07-one-file-per-object/partly/by_id", "77", {"position": [1, 2, 3], "c": -5}),
    ("07-one-file-per-object/partly/rel_seg", "5", {"id": "77", "c": -5}),
    ("07-one-file-per-object/partly/spatial0", "0_0_0", {"id": "77"}),
    ("07-one-file-per-object/partly/spatial1", "0", {"id": "77"}),
)


@pytest.mark.parametrize(("folder", "key", "right"), ANNOTATIONS)
def test_annotations_are_shown_as_stored(
    folder: str, key: str, right: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, "show", str(CASES / folder), key)
    row = found["rows"][0]
    assert {name: row[name] for name in right} == right
    assert [type(row[name]) for name in right] == [type(value) for value in right.values()]
    with shardcore.open(CASES / folder) as shard:
        content = shardcore.content(shard, shard.find(key))
        cells = dict(zip(content.titles(), content.cells(0), strict=True))
        numbers = [name for name in cells if isinstance(right.get(name), int)]
        assert [cells[name] for name in numbers] == [str(right[name]) for name in numbers]
        assert shard.verify().ok


def test_one_file_per_object(capsys: pytest.CaptureFixture[str]) -> None:
    partly, shnull = str(CASES / "07-one-file-per-object/partly"), str(CASES / "07-one-file-per-object/shnull")
    fields = told(capsys, "info", partly)["fields"]
    assert {name for name in fields if name.startswith("key_spaces.")} == {
        f"key_spaces.{name}" for name in ("by_id", "rel_seg", "spatial0", "spatial1")
    }
    assert run(["ls", partly]) == 2
    assert f"shardcore ls {partly}/spatial1" in capsys.readouterr().err
    assert told(capsys, "show", f"{partly}/by_id", "77")["related"] == {"seg": ["5"]}
    assert told(capsys, "ls", shnull)["key"] == "59"
    shown = told(capsys, "show", shnull, "59")
    assert (shown["vertices"], shown["edges"]) == (3, 2)
    assert run(["get", shnull, "5"]) == 1


def test_damaged_files_are_found(tmp_path: Path) -> None:
    copy = shutil.copytree(CASES / "07-one-file-per-object/shnull", tmp_path / "copy")
    (copy / "60").write_bytes((copy / "59").read_bytes()[:-1])
    (copy / "061").write_bytes(b"")
    with shardcore.open(copy) as found:
        assert [(one.code, one.key) for one in found.verify().findings] == [("neuroglancer.content", "60")]


def test_a_skeleton_info_without_type_is_read() -> None:
    with shardcore.open(CASES / "08-skeleton-info-without-type/notype") as found:
        assert found.objects.keys[:] == ["1"]
        assert shardcore.content(found, found.find("1")).kind == "skeleton"
        assert [(one.severity.value, one.code) for one in found.verify("structure").findings] == [
            ("warning", "neuroglancer.info")
        ]


def test_a_key_beside_the_info_is_opened_with_consent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = shutil.copytree(CASES / "10-key-with-dotdot/dotdot", tmp_path / "dotdot")
    inside, place = root / "x", str(root / "s0")
    for where in (inside, inside / ".." / "s0"):
        with pytest.raises(StoreUntrusted) as caught:
            shardcore.open(where)
        assert caught.value.stores == (place,)
        with shardcore.open(where, remote=RemoteOptions(trusted=frozenset(caught.value.stores))) as found:
            assert (found.objects.keys[:], found.uri) == (["0"], place)
            assert found.verify().ok
    info = json.loads((inside / "info").read_text())
    shutil.copytree(root / "s0", root / "s1")
    twice = info | {"scales": [*info["scales"], info["scales"][0] | {"key": "../s1"}]}
    (inside / "info").write_text(json.dumps(twice))
    with shardcore.open(inside, partial=True) as found, pytest.raises(SourceError, match="refused"):
        found.chunk_grid("scale ../s1")
    trusted = RemoteOptions(trusted=frozenset({place, str(root / "s1")}))
    with shardcore.open(inside / ".." / "s0", remote=trusted) as found:
        other = found.chunk_grid("scale ../s1")
        assert other.read((0, 0, 0)).size == 1
    (inside / "info").write_text(json.dumps(info))
    assert run(["ls", str(inside)]) == 2
    assert place in capsys.readouterr().err
    assert told(capsys, "ls", str(inside), "--yes")["key"] == "0"
    (root / "s0").rename(tmp_path / "s1")
    (root / "s0").symlink_to(tmp_path / "s1")
    with pytest.raises(SourceError, match="link"):
        shardcore.open(inside, remote=RemoteOptions(trusted=frozenset("*")))
