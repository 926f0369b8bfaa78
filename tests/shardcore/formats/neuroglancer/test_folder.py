"""Folders of shards: which key space they are, and what is looked up over all of them."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.errors import FormatError, KeyAbsent, NotAShard, SourceError, UsageError
from shardcore.formats.neuroglancer import FORMAT
from shardcore.formats.neuroglancer.morton import encode
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, ShardingSpec
from shardcore.model.objects import State
from shardcore.shards.dataset import DataSet
from tests.shardcore.formats.neuroglancer.made import build, random_rows

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"
HASHED = ShardingSpec(0, MURMUR, 2, 3, "gzip", "gzip")
PLAIN = ShardingSpec(1, IDENTITY, 1, 1)


def opened(path: Path, **options: Any) -> DataSet:
    found = shardcore.open(path, **options)
    assert isinstance(found, DataSet)
    return found


def annotations(folder: Path, seed: int = 0) -> dict[str, list[tuple[int, bytes]]]:
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
        ("skeletons_murmur_gzip", "info in the same folder, skeletons", ["0.shard", "1.shard"], 123),
        ("mesh", "info in the same folder, meshes", ["0.shard", "1.shard"], 12),
        ("legacy_pair", "info in the same folder, skeletons", ["0.index", "1.index"], 30),
        ("volume/4_4_40", "info in a parent folder, scale 4_4_40", ["0.shard", "1.shard", "2.shard", "3.shard"], 69),
    ],
)
def test_folders_open_as_data_sets(path: str, why: str, members: list[str], count: int) -> None:
    assert shardcore.detect(shardcore.LocalFolder(DATA / path)) == shardcore.Detection("neuroglancer", why)
    with opened(DATA / path) as found:
        assert (found.why, [m.name for m in found.members]) == (why, members)
        assert len(found.objects) == count
        assert found.verify("index").ok
        assert found.tree.children[0].name == "sharding specification"


def test_a_root_with_one_key_space_opens_it(tmp_path: Path) -> None:
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
        assert shard.why.startswith("info in a parent folder, annotations by")


def test_a_missing_shard_has_no_keys(tmp_path: Path) -> None:
    shutil.copytree(DATA / "tiny_worked_example", tmp_path / "set")
    (tmp_path / "set" / "1.shard").unlink()
    with opened(tmp_path / "set") as found:
        with pytest.raises(KeyAbsent):
            found.find("12")
        assert found.trace("12").outcome == "absent"
        assert found.read(found.find("9")) == b"nine"


def test_a_damaged_shard_does_not_hide_the_others(tmp_path: Path) -> None:
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


def test_strays_are_named(tmp_path: Path) -> None:
    """A file with the name of a shard to which no key routes is not a shard of the data set."""
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
    shutil.copytree(DATA / "tiny_worked_example", tmp_path / "set")
    (tmp_path / "set" / "0.shard").rename(tmp_path / "set" / "1.shard")
    with shardcore.open(tmp_path / "set" / "1.shard") as shard:
        with pytest.raises(KeyAbsent, match=r"belongs in 0\.shard"):
            shard.find("9")
        assert {f.code for f in shard.verify("index").findings} == {"neuroglancer.wrong-shard"}


def test_a_given_specification_opens_a_folder_without_info(tmp_path: Path) -> None:
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
    info = json.loads((DATA / "volume" / "info").read_text())
    info["scales"] = [info["scales"][0] | {"key": key}]
    (tmp_path / "info").write_text(json.dumps(info))
    with pytest.raises(UsageError, match="refused to follow"):
        shardcore.open(tmp_path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    shutil.copytree(DATA / "tiny_worked_example", tmp_path / "set")
    (tmp_path / "set" / "1.shard").unlink()
    (tmp_path / "set" / "1.shard").symlink_to(DATA / "tiny_worked_example" / "1.shard")
    with opened(tmp_path / "set") as found:
        assert [m.name for m in found.members] == ["0.shard"]


@pytest.mark.parametrize("key", ["", "-1", "1.0", "0x10", "18446744073709551616", "1e3", " 1", "१२"])
def test_keys_are_decimal_numbers_of_64_bits(key: str) -> None:
    with opened(DATA / "tiny_worked_example") as found, pytest.raises(UsageError):
        found.find(key)
    with shardcore.open(DATA / "tiny_worked_example" / "0.shard") as shard:
        with pytest.raises(UsageError):
            shard.find(key)
        with pytest.raises(UsageError):
            shard.find_many([key])


def test_the_largest_key(tmp_path: Path) -> None:
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
