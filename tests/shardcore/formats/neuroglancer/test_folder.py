"""Folders of shards: which key space they are, and what is looked up over all of them."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.codecs.json_text import parse_json
from shardcore.errors import FormatError, KeyAbsent, NotAShard, SourceError, UsageError
from shardcore.formats.neuroglancer import FORMAT, sharding
from shardcore.formats.neuroglancer.morton import encode
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, ShardingSpec
from shardcore.model.objects import State
from shardcore.shards.dataset import DataSet
from shardcore.testing import check_explained
from tests.shardcore.formats.neuroglancer.made import build, random_rows

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"
CASES = json.loads((DATA / "expected.json").read_text())["cases"]
HASHED = ShardingSpec(0, MURMUR, 2, 3, "gzip", "gzip")
PLAIN = ShardingSpec(1, IDENTITY, 1, 1)


def opened(path: Path, **options: Any) -> DataSet:
    """A data set of this format."""
    found = shardcore.open(path, **options)
    assert isinstance(found, DataSet)
    return found


def annotations(folder: Path, seed: int = 0) -> dict[str, list[tuple[int, bytes]]]:
    """An annotation data set with all three kinds of key space; returns the rows by folder."""
    dice = random.Random(seed)
    grid = (5, 3)
    cells = [(x, y) for x in range(grid[0]) for y in range(grid[1])]
    rows = {
        "by_id": random_rows(dice.sample(range(2**60), 90), dice),
        "rel/segment": random_rows(dice.sample(range(2**60), 40), dice),
        "cells": random_rows([encode(cell, grid) for cell in cells], dice),
    }
    specs = {"by_id": HASHED, "rel/segment": HASHED, "cells": PLAIN}
    for name, own in rows.items():
        (folder / name).mkdir(parents=True)
        for file, data in build(specs[name], own).items():
            (folder / name / file).write_bytes(data)
    info = {
        "@type": "neuroglancer_annotations_v1",
        "by_id": {"key": "by_id", "sharding": HASHED.to_json()},
        "relationships": [{"id": "segment", "key": "rel/segment", "sharding": HASHED.to_json()}],
        "spatial": [{"key": "cells", "grid_shape": list(grid), "chunk_size": [1, 1], "sharding": PLAIN.to_json()}],
    }
    (folder / "info").write_text(json.dumps(info))
    return rows


@pytest.mark.parametrize(
    ("path", "why", "members", "count"),
    [
        ("skeletons_murmur_gzip", "info beside it, skeletons", ["0.shard", "1.shard"], 123),
        ("mesh", "info beside it, meshes", ["0.shard", "1.shard"], 12),
        ("legacy_pair", "info beside it, skeletons", ["0.index", "1.index"], 30),
        ("volume/4_4_40", "info above it, scale 4_4_40", ["0.shard", "1.shard", "2.shard", "3.shard"], 69),
    ],
)
def test_folders_open_as_data_sets(path: str, why: str, members: list[str], count: int) -> None:
    """A folder with an info, or the folder of a scale, is a data set over its shards."""
    assert shardcore.detect(shardcore.LocalFolder(DATA / path)) == shardcore.Detection("neuroglancer", why)
    with opened(DATA / path) as found:
        assert (found.why, [m.name for m in found.members]) == (why, members)
        assert len(found.objects) == count
        assert found.verify("index").ok
        assert found.tree.children[0].name == "sharding specification"


@pytest.mark.parametrize("wrong", [False, True])
def test_an_info_is_parsed_once(wrong: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recognising and opening a folder, or one of its shards, parses its info once, whether or not it is usable."""
    info = {"@type": "nothing known" if wrong else "neuroglancer_skeletons", "sharding": PLAIN.to_json()}
    for name, path in (("folder", tmp_path / "a"), ("file", tmp_path / "b")):
        path.mkdir()
        (path / "info").write_text(json.dumps(info | {"opened": name}))
        (path / "0.shard").write_bytes(bytes(PLAIN.index_size))
        parsed: list[str] = []

        def counting(text: bytes, what: str, parsed: list[str] = parsed, **options: Any) -> Any:
            parsed.append(what)
            return parse_json(text, what, **options)

        monkeypatch.setattr("shardcore.formats.neuroglancer.info.parse_json", counting)
        with suppress(NotAShard, UsageError):
            opened(path).close() if name == "folder" else shardcore.open(path / "0.shard").close()
        assert parsed == ["the info"], name


def test_a_folder_of_several_key_spaces_lists_them() -> None:
    """The root of a volume with two scales names both, as a mistake of the caller."""
    with pytest.raises(UsageError, match=r"4_4_40 \(scale 4_4_40\), 8_8_80 \(scale 8_8_80\)"):
        shardcore.open(DATA / "volume")


def test_a_root_with_one_key_space_opens_it(tmp_path: Path) -> None:
    """Where there is only one key space below the root, sharded or not, the root stands for it."""
    info = json.loads((DATA / "volume" / "info").read_text())
    del info["scales"][0]
    shutil.copytree(DATA / "volume" / "8_8_80", tmp_path / "8_8_80")
    (tmp_path / "info").write_text(json.dumps(info))
    with opened(tmp_path) as found:
        assert len(found.objects) == 11
    del info["scales"][0]["sharding"]
    (tmp_path / "info").write_text(json.dumps(info))
    with opened(tmp_path) as found:
        assert (found.fields["space.sharded"], len(found.objects)) == (False, 0)


@pytest.mark.parametrize(
    ("folder", "kind"), [("by_id", "annotation"), ("rel/segment", "annotation list"), ("cells", "annotation cell")]
)
def test_annotations(tmp_path: Path, folder: str, kind: str) -> None:
    """Each kind of annotation key space opens by its folder, even one of two parts, and reads right."""
    rows = annotations(tmp_path)[folder]
    with pytest.raises(UsageError, match="3 key spaces"):
        shardcore.open(tmp_path)
    with opened(tmp_path / folder) as found:
        assert found.verify().ok
        for key, data in rows:
            ref = found.find(str(key))
            assert found.read(ref) == data
            assert ref.kind == kind
            assert ("cell" in ref.extras) == (folder == "cells")
    with shardcore.open(tmp_path / folder / "0.shard") as shard:
        assert shard.why.startswith("info above it, annotations by")


@pytest.mark.parametrize("seed", range(3))
def test_lookups_over_many_shards(tmp_path: Path, seed: int) -> None:
    """Keys over eight shards: one by one, in bulk and told, before and after loading."""
    dice = random.Random(seed)
    rows = random_rows(sorted({dice.getrandbits(64) for _ in range(300)}), dice)
    for file, data in build(HASHED, rows).items():
        (tmp_path / file).write_bytes(data)
    (tmp_path / "info").write_text(json.dumps({"@type": "neuroglancer_skeletons", "sharding": HASHED.to_json()}))
    with opened(tmp_path) as found:
        for key, data in rows[:20]:
            assert found.read(found.find(str(key))) == data
        found.load_index()
        assert len(found.objects) == 300
        numbers = found.find_many([str(key) for key, _ in rows])
        assert (numbers >= 0).all()
        for (key, data), row in zip(rows, numbers.tolist(), strict=True):
            ref = found.objects.ref(row)
            assert (ref.key, found.read(ref)) == (str(key), data)
        columns = found.objects[:]
        assert set(columns.shard.tolist()) == set(range(len(found.members)))
        trace = found.trace(str(rows[0][0]))
        assert [step.title for step in trace.steps] == [
            "Specification",
            "Drop low bits",
            "Hash",
            "Split",
            "Shard index entry",
            "Minishard index",
            "Keys",
            "Locate the value",
            "Value",
            "Meaning",
        ]
        assert trace.steps[4].spans[0].source == trace.steps[3].values["file"]
        assert found.find_all(str(rows[0][0])) == (found.find(str(rows[0][0])),)


def test_a_missing_shard_has_no_keys(tmp_path: Path) -> None:
    """A key whose shard file was never written is absent, and the trace ends at that file's name."""
    shutil.copytree(DATA / "tiny_worked_example", tmp_path / "set")
    (tmp_path / "set" / "1.shard").unlink()
    with opened(tmp_path / "set") as found:
        with pytest.raises(KeyAbsent):
            found.find("12")
        trace = found.trace("12")
        assert (trace.outcome, trace.steps[-1].title) == ("absent", "No such shard")
        assert found.read(found.find("9")) == b"nine"


def test_a_damaged_shard_does_not_hide_the_others(tmp_path: Path) -> None:
    """One shard cut short: the other is listed and read, and verification names the cut one."""
    shutil.copytree(DATA / "tiny_worked_example", tmp_path / "set")
    (tmp_path / "set" / "0.shard").write_bytes(bytes(10))
    with opened(tmp_path / "set") as found:
        found.load_index()
        assert found.read(found.find("12")) == b"twelve"
        with pytest.raises(FormatError):
            found.find("9")
        report = found.verify()
        assert not report.ok
        assert report.findings[0].span is not None
        assert report.findings[0].span.source == "0.shard"


def test_damage_is_told_once(tmp_path: Path) -> None:
    """The trace of a key in a damaged minishard, or in a shard that cannot be opened, names the damage in one step."""
    shutil.copytree(DATA / "hostile" / "not_multiple_of_24", tmp_path / "index")
    shutil.copytree(DATA / "tiny_worked_example", tmp_path / "cut")
    (tmp_path / "cut" / "0.shard").write_bytes(bytes(10))
    cases = (("index", "2", ["Split", "Shard index entry", "Damaged"]), ("cut", "9", ["Split", "Damaged"]))
    for folder, key, titles in cases:
        with opened(tmp_path / folder) as found:
            told = found.trace(key)
        assert told.outcome == "damaged"
        assert [step.title for step in told.steps][3:] == titles
        assert [span.source for span in told.steps[-1].spans] == ["0.shard"]


def test_bits_of_a_route_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of a data set is parsed and hashed once, not by the data set and again by its member."""
    hashed: list[int] = []
    real = sharding.murmur_low64
    monkeypatch.setattr(sharding, "murmur_low64", lambda key: hashed.append(key) or real(key))
    with opened(DATA / "skeletons_murmur_gzip") as found:
        for ask in (found.find, found.find_all, found.trace):
            hashed.clear()
            ask("9007199254740993")
            assert len(hashed) == 1


def test_more_shards_than_open_files(tmp_path: Path) -> None:
    """A data set may have more shards than a process may have files open; all of them are read."""
    spec = ShardingSpec(0, IDENTITY, 0, 7)
    for name, data in build(spec, [(key, b"%d" % key) for key in range(128)]).items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "info").write_text(json.dumps(spec.to_json()))
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, before[1]))
    try:
        with opened(tmp_path) as found:
            found.load_index()
            assert found.unreadable == {}
            assert len(found.objects) == 128
            assert found.read(found.find("77")) == b"77"
            assert found.verify().ok
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_strays_are_named(tmp_path: Path) -> None:
    """Files with the name of a shard to which no key leads are no members, and verification says so."""
    shutil.copytree(DATA / "tiny_worked_example", tmp_path / "set")
    shutil.copy(tmp_path / "set" / "0.shard", tmp_path / "set" / "07.shard")
    shutil.copy(tmp_path / "set" / "0.shard", tmp_path / "set" / "5.shard")
    with opened(tmp_path / "set") as found:
        assert [m.name for m in found.members] == ["0.shard", "1.shard"]
        strays = [f for f in found.verify().findings if f.code == "neuroglancer.file-name"]
        assert len(strays) == 2
    with shardcore.open(tmp_path / "set" / "07.shard") as shard:
        assert not shard.verify().ok


def test_keys_in_the_wrong_shard_are_reported(tmp_path: Path) -> None:
    """A shard under the name of another: its keys are not found, and each is an error."""
    shutil.copytree(DATA / "tiny_worked_example", tmp_path / "set")
    (tmp_path / "set" / "0.shard").rename(tmp_path / "set" / "1.shard")
    with shardcore.open(tmp_path / "set" / "1.shard") as shard:
        with pytest.raises(KeyAbsent, match=r"belongs in 0\.shard"):
            shard.find("9")
        assert {f.code for f in shard.verify("index").findings} == {"neuroglancer.wrong-shard"}


def test_a_given_specification_opens_a_folder_without_info(tmp_path: Path) -> None:
    """With the specification given, a folder of shards alone is a data set."""
    for name in ("0.shard", "1.shard"):
        shutil.copy(DATA / "tiny_worked_example" / name, tmp_path / name)
    with pytest.raises(NotAShard):
        shardcore.open(tmp_path)
    with opened(tmp_path, spec=PLAIN.to_json()) as found:
        assert found.read(found.find("12")) == b"twelve"
    with pytest.raises(NotAShard, match="no `info`"):
        shardcore.open(tmp_path, format="neuroglancer")


@pytest.mark.parametrize("key", ["../../outside", "/outside", "a/../../../outside"])
def test_names_in_an_info_do_not_lead_outside(tmp_path: Path, key: str) -> None:
    """A scale whose key leaves the data set is not followed."""
    info = json.loads((DATA / "volume" / "info").read_text())
    info["scales"] = [info["scales"][0] | {"key": key}]
    (tmp_path / "info").write_text(json.dumps(info))
    with pytest.raises(UsageError, match="refused to follow"):
        shardcore.open(tmp_path)


def test_the_info_of_a_data_set_is_a_source() -> None:
    """The info can be looked at from the data set, and every byte of it is explained."""
    with opened(DATA / "volume" / "4_4_40") as found:
        place = found.tree.children[0].span
        assert found.sections_of("info")[0].stop == found.bytes_of("info").size
        assert found.explain(place.start, "info")[-1].name == "sharding specification"
        check_explained(found, "info", complete=False)


@pytest.mark.thorough
def test_threads_do_not_disturb_each_other() -> None:
    """Lookups, loading and bulk lookups from many threads give the right values."""
    expected = {entry["key"]: entry for case in CASES if case["path"] == "mesh" for entry in case["entries"]}

    def work(number: int) -> None:
        key = sorted(expected)[number % len(expected)]
        if number % 5 == 0:
            found.load_index()
        ref = found.find(key)
        assert hashlib.sha256(found.read(ref)).hexdigest() == expected[key]["sha256"]
        fragments = found.read_part(ref, "fragments")
        assert hashlib.sha256(fragments).hexdigest() == expected[key]["fragments_sha256"]
        assert found.trace(key).outcome == "found"
        assert found.find_many([key])[0] >= 0

    with opened(DATA / "mesh") as found, ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(200)))


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A shard that is a link to a file elsewhere is no member."""
    shutil.copytree(DATA / "tiny_worked_example", tmp_path / "set")
    (tmp_path / "set" / "1.shard").unlink()
    (tmp_path / "set" / "1.shard").symlink_to(DATA / "tiny_worked_example" / "1.shard")
    with opened(tmp_path / "set") as found:
        assert [m.name for m in found.members] == ["0.shard"]


@pytest.mark.parametrize("key", ["", "-1", "1.0", "0x10", "18446744073709551616", "1e3", " 1", "१२"])
def test_keys_are_decimal_numbers_of_64_bits(key: str) -> None:
    """Anything else is a mistake of the caller: never rounded, never wrapped."""
    with opened(DATA / "tiny_worked_example") as found, pytest.raises(UsageError):
        found.find(key)
    with shardcore.open(DATA / "tiny_worked_example" / "0.shard") as shard:
        with pytest.raises(UsageError):
            shard.find(key)
        with pytest.raises(UsageError):
            shard.find_many([key])


def test_the_largest_key(tmp_path: Path) -> None:
    """Keys at the end of the range and beyond 2**53 keep every bit, in every way of asking."""
    keys = [2**64 - 1, 2**64 - 2, 2**53 + 1, 2**63, 0]
    rows = [(key, str(key).encode()) for key in keys]
    (tmp_path / "0.shard").write_bytes(build(ShardingSpec(0, IDENTITY, 3, 0), rows)["0.shard"])
    with shardcore.open(tmp_path / "0.shard", spec=ShardingSpec(0, IDENTITY, 3, 0).to_json()) as shard:
        for key in keys:
            assert shard.read(shard.find(str(key))) == str(key).encode()
        rows_found = shard.find_many([str(key) for key in keys])
        assert [shard.objects.keys[row] for row in rows_found.tolist()] == [str(key) for key in keys]
        assert (shard.objects[:].state == State.LIVE).all()
        assert rows_found.dtype == np.int64


def test_locate() -> None:
    """A key's shard and minishard follow from the info alone, given as a file, a folder or text."""
    assert FORMAT.locate is not None
    for info in (DATA / "tiny_worked_example", str(DATA / "tiny_worked_example" / "info"), PLAIN.to_json()):
        answer = FORMAT.locate("12", info=info)
        assert (answer["shard"], answer["shard_number"], answer["minishard"]) == ("1.shard", 1, 0)
    answer = FORMAT.locate("51", info=DATA / "volume", folder="4_4_40")
    assert (answer["shard"], answer["minishard"]) == ("4_4_40/2.shard", 1)
    for wrong in ({}, {"info": DATA / "volume"}, {"info": PLAIN.to_json(), "spec": PLAIN.to_json()}):
        with pytest.raises(UsageError):
            FORMAT.locate("51", **wrong)
    with pytest.raises(SourceError):
        FORMAT.locate("51", info="nowhere")
