"""Data sets: key spaces, several shards, one file per object, boxes of voxels."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import shardcore
from shardcore import LocalFolder
from shardcore.errors import FormatError, KeyAbsent, LimitExceeded, NotAShard, SourceError, SpaceUnchosen, UsageError
from shardcore.formats.neuroglancer import FORMAT
from shardcore.formats.neuroglancer.info import parse_info
from shardcore.formats.neuroglancer.morton import encode
from shardcore.formats.neuroglancer.object_files import file_codec
from shardcore.formats.neuroglancer.shard import mesh_of_segment
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, ShardingSpec
from shardcore.testing.dataset_contract import DataSetContract
from tests.samples.__main__ import RESOURCES
from tests.shardcore.formats.neuroglancer.made import build, random_rows
from tests.volumes import OFFSET, sample_array, write_volume

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"
HASHED = ShardingSpec(0, MURMUR, 2, 3, "gzip", "gzip")
PLAIN = ShardingSpec(1, IDENTITY, 1, 1)


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
    with shardcore.open(DATA / path) as found:
        assert (found.why, [m.name for m in found.members]) == (why, members)
        assert len(found.objects) == count
        assert found.verify("index").ok
        assert found.tree.children[0].name == "sharding specification"


def test_a_root_with_one_key_space_opens_it(tmp_path: Path) -> None:
    info = json.loads((DATA / "volume" / "info").read_text())
    del info["scales"][0]
    shutil.copytree(DATA / "volume" / "8_8_80", tmp_path / "8_8_80")
    (tmp_path / "info").write_text(json.dumps(info))
    with shardcore.open(tmp_path) as found:
        assert len(found.objects) == 11
    del info["scales"][0]["sharding"]
    (tmp_path / "info").write_text(json.dumps(info))
    with shardcore.open(tmp_path) as found:
        assert (found.fields["space.sharded"], len(found.objects)) == (False, 0)


@pytest.mark.parametrize(
    ("folder", "kind"), [("by_id", "annotation"), ("rel/segment", "annotation list"), ("cells", "annotation cell")]
)
def test_annotations(tmp_path: Path, folder: str, kind: str) -> None:
    rows = annotations(tmp_path)[folder]
    with pytest.raises(UsageError, match="3 key spaces"):
        shardcore.open(tmp_path)
    with shardcore.open(tmp_path / folder) as found:
        assert found.verify().ok
        for key, data in rows:
            ref = found.find(str(key))
            assert (found.read(ref), ref.kind) == (data, kind)
            assert ("cell" in ref.extras) == (folder == "cells")
    with shardcore.open(tmp_path / folder / "0.shard") as shard:
        assert shard.why.startswith("info in a parent folder, annotations by")


def test_strays_are_named(tmp_path: Path) -> None:
    """A file with the name of a shard to which no key routes is not a shard of the data set."""
    shutil.copytree(DATA / "tiny_worked_example", tmp_path / "set")
    shutil.copy(tmp_path / "set" / "0.shard", tmp_path / "set" / "07.shard")
    shutil.copy(tmp_path / "set" / "0.shard", tmp_path / "set" / "5.shard")
    with shardcore.open(tmp_path / "set") as found:
        assert [m.name for m in found.members] == ["0.shard", "1.shard"]
        strays = [f for f in found.verify().findings if f.code == "neuroglancer.file-name"]
        assert len(strays) == 2
    with shardcore.open(tmp_path / "set" / "07.shard") as shard:
        assert not shard.verify().ok


def test_a_given_specification_opens_a_folder_without_info(tmp_path: Path) -> None:
    for name in ("0.shard", "1.shard"):
        shutil.copy(DATA / "tiny_worked_example" / name, tmp_path / name)
    with pytest.raises(NotAShard):
        shardcore.open(tmp_path)
    with shardcore.open(tmp_path, spec=PLAIN.to_json()) as found:
        assert found.read(found.find("12")) == b"twelve"
    with pytest.raises(NotAShard, match="no `info`"):
        shardcore.open(tmp_path, format="neuroglancer")


@pytest.mark.parametrize("key", ["../../outside", "/outside", "a/../../../outside"])
def test_names_in_an_info_do_not_lead_outside(tmp_path: Path, key: str) -> None:
    info = json.loads((DATA / "volume" / "info").read_text())
    info["scales"] = [info["scales"][0] | {"key": key}]
    (tmp_path / "info").write_text(json.dumps(info))
    with pytest.raises(UsageError, match="refused to open"):
        shardcore.open(tmp_path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    shutil.copytree(DATA / "tiny_worked_example", tmp_path / "set")
    (tmp_path / "set" / "1.shard").unlink()
    (tmp_path / "set" / "1.shard").symlink_to(DATA / "tiny_worked_example" / "1.shard")
    with shardcore.open(tmp_path / "set") as found:
        assert [m.name for m in found.members] == ["0.shard"]


def test_the_largest_key(tmp_path: Path) -> None:
    keys = [2**64 - 1, 2**64 - 2, 2**53 + 1, 2**63, 0]
    rows = [(key, str(key).encode()) for key in keys]
    (tmp_path / "0.shard").write_bytes(build(ShardingSpec(0, IDENTITY, 3, 0), rows)["0.shard"])
    with shardcore.open(tmp_path / "0.shard", spec=ShardingSpec(0, IDENTITY, 3, 0).to_json()) as shard:
        for key in keys:
            assert shard.read(shard.find(str(key))) == str(key).encode()
        rows_found = shard.find_many([str(key) for key in keys])
        assert [shard.objects.keys[row] for row in rows_found.tolist()] == [str(key) for key in keys]


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


def test_keys_are_decimal_numbers_of_64_bits() -> None:
    folder = DATA / "tiny_worked_example"
    with shardcore.open(folder) as found, shardcore.open(folder / "0.shard") as shard:
        for key in ("", "-1", "1.0", "0x10", "18446744073709551616", "1e3", " 1", "१२"):
            for ask in (found.find, shard.find, lambda one: shard.find_many([one])):
                with pytest.raises(UsageError):
                    ask(key)


def test_missing_damaged_and_renamed_shards(tmp_path: Path) -> None:
    folder = shutil.copytree(DATA / "tiny_worked_example", tmp_path / "set")
    whole = (folder / "0.shard").read_bytes()
    (folder / "0.shard").write_bytes(bytes(10))
    with shardcore.open(folder) as found:
        found.load_index()
        assert found.read(found.find("12")) == b"twelve"
        with pytest.raises(FormatError):
            found.find("9")
        report = found.verify()
        assert (report.ok, report.findings[0].span.source) == (False, "0.shard")
    (folder / "0.shard").write_bytes(whole)
    (folder / "1.shard").unlink()
    with shardcore.open(folder) as found:
        with pytest.raises(KeyAbsent):
            found.find("12")
        assert (found.trace("12").outcome, found.read(found.find("9"))) == ("absent", b"nine")
    (folder / "0.shard").rename(folder / "1.shard")
    with shardcore.open(folder / "1.shard") as shard:
        with pytest.raises(KeyAbsent, match=r"belongs in 0\.shard"):
            shard.find("9")
        assert {f.code for f in shard.verify("index").findings} == {"neuroglancer.wrong-shard"}


def root_of(folder: Path, *, sharded_scales: int = 0, scales: int = 2, mesh: str = "", skeletons: str = "") -> Path:
    info: dict[str, Any] = json.loads((DATA / "volume" / "info").read_text())
    del info["scales"][scales:]
    for number, scale in enumerate(info["scales"]):
        if number < sharded_scales:
            shutil.copytree(DATA / "volume" / scale["key"], folder / scale["key"])
        else:
            del scale["sharding"]
    for member, key, sample in (("mesh", mesh, "mesh"), ("skeletons", skeletons, "skeletons_murmur_gzip")):
        if key:
            shutil.copytree(DATA / sample, folder / key)
            info[member] = key
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "info").write_text(json.dumps(info))
    return folder


@pytest.mark.parametrize("key", ["mesh", "deep/meshes", "./mesh/"])
def test_a_root_with_meshes_alone_opens_them(tmp_path: Path, key: str) -> None:
    root = root_of(tmp_path / "set", scales=0, mesh=key)
    with shardcore.open(root) as found, shardcore.open(DATA / "mesh") as known:
        assert (found.why, found.objects.keys[:]) == ("info in the same folder, meshes", known.objects.keys[:])
        first = known.objects.keys[0]
        assert found.read_part(found.find(first), "fragments") == known.read_part(known.find(first), "fragments")
        text = (DATA / "mesh" / "info").read_bytes()
        assert found.bytes_of("info").read(0, len(text)) == text


def test_several_key_spaces_are_named(tmp_path: Path) -> None:
    root = root_of(tmp_path / "set", sharded_scales=1, mesh="mesh", skeletons="skeletons")
    with pytest.raises(SpaceUnchosen, match="4 key spaces") as caught:
        shardcore.open(root)
    assert caught.value.address == f"{root}/4_4_40"
    with pytest.raises(SpaceUnchosen, match="2 key spaces"):
        shardcore.open(root_of(tmp_path / "files"))
    for folder in ("4_4_40", "mesh", "skeletons"):
        with shardcore.open(root / folder) as found:
            assert len(found.objects)


def test_several_key_spaces_can_be_looked_at(tmp_path: Path) -> None:
    root = root_of(tmp_path / "set", sharded_scales=2, mesh="mesh")
    with shardcore.open(root, partial=True) as found:
        assert found.key_spaces == {"4_4_40": "scale 4_4_40", "8_8_80": "scale 8_8_80", "mesh": "meshes"}
        assert [len(node.children) for node in found.tree.children] == [1, 1, 1]
        found.load_index()
        assert (found.declared_objects, found.listing) == (None, None)
        lookups = (found.find, found.find_all, found.trace)
        others = (lambda: len(found.objects), lambda: list(found), lambda: found.find_many(["1"]), found.verify)
        for ask in (*others, *(partial(f, "1") for f in lookups)):
            with pytest.raises(UsageError, match="3 key spaces"):
                ask()


def test_a_root_without_key_spaces(tmp_path: Path) -> None:
    root = root_of(tmp_path / "set", scales=0)
    info = json.loads((root / "info").read_text()) | {"mesh": "mesh", "skeletons": "../elsewhere"}
    (root / "info").write_text(json.dumps(info))
    with pytest.raises(UsageError, match=r"no usable key space: skeletons: refused.*mesh: no info"):
        shardcore.open(root)


@pytest.mark.parametrize("key", ["../mesh", "/mesh", "a/../../mesh", 7, None, [], "a\0b"])
def test_folders_that_lead_elsewhere_are_not_followed(tmp_path: Path, key: object) -> None:
    shutil.copytree(DATA / "mesh", tmp_path / "mesh")
    root = root_of(tmp_path / "set" / "inner")
    info = json.loads((root / "info").read_text()) | {"mesh": key}
    assert parse_info(info).folders == ()
    (root / "info").write_text(json.dumps(info))
    with pytest.raises(UsageError):
        shardcore.open(root)
    linked = root_of(tmp_path / "linked", scales=0, mesh="mesh")
    shutil.rmtree(linked / "mesh")
    (linked / "mesh").symlink_to(DATA / "mesh")
    with pytest.raises(UsageError, match="mesh"):
        shardcore.open(linked)


ROOT = RESOURCES / "samples" / "neuroglancer" / "segmentation"


@pytest.mark.parametrize("below", ["", "16_16_16"])
def test_a_segment_leads_to_its_mesh(below: str) -> None:
    found = mesh_of_segment(LocalFolder(ROOT / below), 2**53 + 1)
    with shardcore.open(found[0]) as shard:
        assert shard.find(found[1]).key == str(2**53 + 1)


def test_there_may_be_none(tmp_path: Path) -> None:
    for folder, segment in ((ROOT, 0), (ROOT, 1 << 64), (ROOT / "mesh", 7), (tmp_path, 7)):
        assert mesh_of_segment(LocalFolder(folder), segment) is None
    info = json.loads((ROOT / "info").read_text())
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "info").write_text("{")
    for name in ("missing", "wrong", "..", "/etc"):
        (tmp_path / "info").write_text(json.dumps({**info, "mesh": name, "skeletons": "wrong"}))
        assert mesh_of_segment(LocalFolder(tmp_path), 7) is None


def test_boxes_of_voxels(tmp_path: Path) -> None:
    """They are assembled from chunks, and missing chunks are 0."""
    array = sample_array((13, 9, 7), "u1")
    scale = write_volume(tmp_path, "raw", array)
    with shardcore.open(scale) as found:
        np.testing.assert_array_equal(found[8, -1:, :105][..., 0], array[3, 2:, :5])
        assert found[5:5, :, :].shape == (0, 9, 7, 1)
        gone = [ref.extras for ref in found.objects if ref.shard == "0.shard"]
    for one in gone:
        array[
            tuple(slice(b - at, e - at) for b, e, at in zip(one["voxel_begin"], one["voxel_end"], OFFSET, strict=True))
        ] = 0
    (scale / "0.shard").unlink()
    with shardcore.open(scale) as found:
        np.testing.assert_array_equal(found[:, :, :][..., 0], array)


FOLDER = DATA / "unsharded"
MESHES = DATA / "mesh_files"
SKELETONS = DATA.parent / "cases" / "07-one-file-per-object" / "shnull"


class TestChunkFiles(DataSetContract):
    samples: ClassVar[Sequence[Path]] = (FOLDER,)
    absent: ClassVar[Sequence[str]] = ("9-13_1-5_100-104",)
    listed: ClassVar[bool] = True


class TestObjectFiles(DataSetContract):
    samples: ClassVar[Sequence[Path]] = (MESHES, SKELETONS)
    absent: ClassVar[Sequence[str]] = ("1234567",)
    listed: ClassVar[bool] = True


class TestCellFiles(DataSetContract):
    samples: ClassVar[Sequence[Path]] = (DATA / "cell_files",)
    listed: ClassVar[bool] = True


def test_keys_are_names_of_files() -> None:
    assert shardcore.detect(FOLDER).why == "info in the same folder, scale ."
    with pytest.raises(NotAShard):
        shardcore.open(FOLDER / "5-9_1-5_100-104")
    with shardcore.open(FOLDER) as found:
        assert found.fields["space.sharded"] is False
        assert found.objects.keys[0] == "13-15_-3-1_100-104"
        for bad in ("12", "1-2", "0-64_0-64_0-64", "13-15_-3-1_100-104.gz"):
            with pytest.raises(UsageError):
                found.find(bad)
        with pytest.raises(KeyAbsent):
            found.find("9-13_1-5_100-104")
        assert found.explain(0, "info")[-1].name == "info"


def test_damage_is_found(tmp_path: Path) -> None:
    copy = shutil.copytree(FOLDER, tmp_path / "copy")
    (copy / "5-9_-3-1_100-104.gz").write_bytes((FOLDER / "5-9_-3-1_100-104.gz").read_bytes()[:-5])
    (copy / "9-13_-3-1_100-104").write_bytes(bytes(70))
    (copy / "13-15_1-5_104-105").write_bytes(b"123")
    with shardcore.open(copy) as found:
        codes = {finding.key: finding.code for finding in found.verify().findings}
        assert codes == {
            "5-9_-3-1_100-104": "neuroglancer.value",
            "9-13_-3-1_100-104": "neuroglancer.chunk-size",
            "13-15_1-5_104-105": "neuroglancer.chunk-size",
        }
        assert "too few for raw voxels or a gzip member" in found.find("13-15_1-5_104-105").error


def test_only_gzip_files_have_a_checksum(tmp_path: Path) -> None:
    copy = shutil.copytree(MESHES, tmp_path / "copy")
    key = next(copy.glob("*.index")).stem
    (copy / key).write_bytes(bytes((copy / key).stat().st_size))
    with shardcore.open(copy) as found:
        report = found.verify()
        assert (report.unverified, report.without_checksum) == (report.objects, report.objects)
        assert any(f"files {key} and {key}.index" in one.message for one in report.findings)


def test_a_file_above_the_limit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardcore.formats.neuroglancer.object_files.DEFAULT_LIMIT", 1)
    with shardcore.open(SKELETONS) as found:
        report = found.verify()
        assert (report.ok, report.left_out) == (False, report.objects)
        with shardcore.allowing(0):
            assert found.verify().left_out == 0


def test_compression_is_by_ending_or_by_first_bytes() -> None:
    for name, codec in (("a.gz", "gzip"), ("a.br", "brotli"), ("a.zstd", "zstd"), ("a", "none")):
        assert file_codec(name, b"", None) == codec
    assert [file_codec("a", start, 4) for start in (b"\x1f\x8b123", b"\x1f\x8b12")] == ["gzip", "none"]


def test_large_files_are_not_read_as_a_whole(tmp_path: Path) -> None:
    copy = shutil.copytree(FOLDER, tmp_path / "copy")
    with (copy / "9-13_-3-1_100-104").open("r+b") as file:
        file.truncate((1 << 30) + 1)
    with shardcore.open(copy) as found:
        ref = found.find("9-13_-3-1_100-104")
        assert found.read_range(ref, 0, 10) == (FOLDER / "9-13_-3-1_100-104").read_bytes()[:10]
        with pytest.raises(LimitExceeded, match="1,073,741,825 bytes"):
            found[9:13, -3:1, 100:104]
        assert [one.key for one in found.verify().findings] == [ref.key]


@pytest.mark.parametrize("folder", [FOLDER, MESHES, SKELETONS])
def test_a_file_is_charted_and_converted(folder: Path, tmp_path: Path) -> None:
    with shardcore.open(folder) as found:
        member = found.part(found.members[0].name).source
        assert sum(share.size for share in found.member(found.members[0].name).byte_shares) == member.size
        parts = {key: (found.read(key), len(found.find(key).parts)) for key in found.objects.keys[:]}
        done = shardcore.convert(found, "bloscpack", f"{tmp_path / 'out'}/")
    with shardcore.open(tmp_path / "out") as converted:
        assert len(converted.objects) == sum(1 + count for _, count in parts.values())
    assert done.report.ok
