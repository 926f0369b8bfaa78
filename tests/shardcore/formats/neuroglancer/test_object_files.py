"""Key spaces of one file per object as data sets: the contract of all data sets, and their names."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

import shardcore
from shardcore.errors import KeyAbsent, LimitExceeded, NotAShard, UsageError
from shardcore.formats.neuroglancer.object_files import file_codec
from shardcore.testing.dataset_contract import DataSetContract

DATA = Path(__file__).parents[3] / "data"
FOLDER = DATA / "neuroglancer" / "unsharded"
MESHES = DATA / "neuroglancer" / "mesh_files"
SKELETONS = DATA / "cases" / "07-one-file-per-object" / "shnull"


class TestChunkFiles(DataSetContract):
    samples: ClassVar[Sequence[Path]] = (FOLDER,)
    absent: ClassVar[Sequence[str]] = ("9-13_1-5_100-104",)
    listed: ClassVar[bool] = True


class TestObjectFiles(DataSetContract):
    samples: ClassVar[Sequence[Path]] = (MESHES, SKELETONS)
    absent: ClassVar[Sequence[str]] = ("1234567",)
    listed: ClassVar[bool] = True


class TestCellFiles(DataSetContract):
    samples: ClassVar[Sequence[Path]] = (DATA / "neuroglancer" / "cell_files",)
    listed: ClassVar[bool] = True


def test_keys_are_names_of_files() -> None:
    with shardcore.open(FOLDER) as found:
        assert found.objects.keys[0] == "13-15_-3-1_100-104"
        for bad in ("12", "1-2", "0-64_0-64_0-64", "13-15_-3-1_100-104.gz"):
            with pytest.raises(UsageError):
                found.find(bad)
        with pytest.raises(KeyAbsent):
            found.find("9-13_1-5_100-104")
        assert found.explain(0, "info")[-1].name == "info"


def test_detection_names_the_scale() -> None:
    assert shardcore.detect(FOLDER).why == "info in the same folder, scale ."
    with shardcore.open(FOLDER) as found:
        assert found.fields["space.sharded"] is False
    with pytest.raises(NotAShard):
        shardcore.open(FOLDER / "5-9_1-5_100-104")


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
    assert file_codec("a.gz", b"", None) == "gzip"
    assert file_codec("a.br", b"", None) == "brotli"
    assert file_codec("a.zstd", b"", None) == "zstd"
    assert file_codec("a", b"\x1f\x8b123", 4) == "gzip"
    assert file_codec("a", b"\x1f\x8b12", 4) == "none"
    assert file_codec("a", b"1234", None) == "none"


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
    assert done.report is not None
    assert done.report.ok
