"""Files that are no shards are named, with the next step; no format is forced on them."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import NotAShard

CASES = Path(__file__).parents[2] / "data/cases/12-what-it-is-instead"
RIGHT: dict[str, str] = json.loads((CASES / "expected.json").read_text())["right"]
SAMPLES = Path(__file__).parents[3] / "resources/samples"
LFS = CASES / "lfs-pointer.shard"


@pytest.mark.parametrize("name", RIGHT)
def test_files_from_the_field_are_named(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    what = RIGHT["zarr3_raw" if name.startswith("zarr3") else name].partition(" (")[0].partition(":")[0]
    assert run(["info", str(CASES / name)]) == 3
    text = capsys.readouterr().err
    assert f"{name} is {what}" in text
    assert "--format" not in text
    assert len(text.splitlines()) == 1


def mds(samples: int) -> bytes:
    about = b'{"version": 2, "format": "mds"}'
    first = 4 * (samples + 2) + len(about)
    return struct.pack(f"<{samples + 2}I", samples, *range(first, first + samples + 1)) + about + bytes(samples)


OTHERS = {
    "empty": (b"", "empty"),
    "zeros": (bytes(1000), "nothing but zeros"),
    "zeros at both ends": (bytes(200_000), "zeros in its first 65,536 and last 4,096 bytes"),
    "page": (b"<?xml version='1.0'?>\n<!DOCTYPE html><html>", "a web page (HTML)"),
    "azure": (b"\xef\xbb\xbf<?xml version='1.0'?><Error><Code>BlobNotFound</Code>", "an error document"),
    "google": (b'{\n "error": {\n  "code": 404,\n  "message": "No such object: a/b"', "an error document"),
    "hub": (b'{"error":"Entry not found"}', "an error document of a server (Entry not found)"),
    "hostile": (b'{"error":"a\x1b[2J{size}\xff"}', "an error document of a server (a\\x1b[2J{size}\ufffd)"),
    "bucket": (b"<?xml version='1.0'?>\n<ListBucketResult>", "a listing of a bucket"),
    "annex": (b"/annex/objects/SHA256E-s5--ab.shard\n", "a git-annex pointer"),
    "parquet": (b"PAR1\x15\x04 PAR1", "a Parquet file"),
    "git": (b"PACK\0\0\0\2\0\0\0\1", "a Git pack"),
    "blosc": (struct.pack("<4B3I", 2, 1, 0x13, 1, 8, 8, 24) + bytes(8), "a Blosc chunk"),
    "blosc2": (struct.pack("<4B3I", 5, 1, 0x13, 1, 8, 8, 40) + bytes(24), "a Blosc2 chunk"),
    "many samples": (mds(20_000), "a MosaicML shard"),
}


@pytest.mark.parametrize(("data", "what"), OTHERS.values(), ids=OTHERS)
def test_other_files_are_named(tmp_path: Path, data: bytes, what: str) -> None:
    (tmp_path / "x.shard").write_bytes(data)
    with pytest.raises(NotAShard) as caught:
        shardcore.open(tmp_path / "x.shard")
    assert caught.value.message.startswith(f"x.shard is {what}")
    assert caught.value.is_other
    with shardcore.open(tmp_path / "x.shard", partial=True) as shard:
        assert shard.damage.message == caught.value.message


@pytest.mark.parametrize(("name", "elsewhere"), [("zarr3_raw", "unknown"), ("zarr3_zstd", "zstd")])
def test_a_chunk_of_zarr_is_known_by_its_path(name: str, elsewhere: str, tmp_path: Path) -> None:
    """It may begin with the magic of a container."""
    with pytest.raises(NotAShard, match="0 is a chunk of a zarr v3 array with shards"):
        shardcore.open(CASES / name / "c/0/0")
    shutil.copytree(CASES / name / "c", tmp_path / "c")
    with shardcore.open(tmp_path / "c/0/0", partial=True) as shard:
        assert shard.format == elsewhere


def test_pointers_in_a_data_set_are_named(tmp_path: Path) -> None:
    for folder, member in (("des/archive", "20260106_43_0000.des"), ("neuroglancer/segmentation/mesh", "0.shard")):
        root = shutil.copytree(SAMPLES / folder, tmp_path / folder)
        (root / member).unlink()
        shutil.copy(LFS, root / member)
        with pytest.raises(NotAShard, match="is a Git LFS pointer"):
            shardcore.open(root / member)
        with shardcore.open(root) as found:
            errors = [one for one in found.verify().findings if one.severity.value == "error"]
        assert len(errors) == 1
        assert "it is a Git LFS pointer (12,345 bytes)" in errors[0].message


@pytest.mark.parametrize(
    "value", [b"<html><body>", b'{"error": "none"', b"PAR1", b"\x04\x22\x4d\x18", bytes(257) + b"ustar"]
)
def test_a_shard_is_what_its_info_says(value: bytes, tmp_path: Path) -> None:
    """Values and offsets may begin with the magic of another format."""
    spec = {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0, "hash": "identity", "minishard_bits": 0}
    (tmp_path / "info").write_text(json.dumps(spec | {"shard_bits": 0, "minishard_index_encoding": "raw"}))
    size = len(value)
    (tmp_path / "0.data").write_bytes(value + struct.pack("<QQQ", 0, 0, size))
    (tmp_path / "0.index").write_bytes(struct.pack("<QQ", size, size + 24))
    with shardcore.open(tmp_path / "0.data") as shard:
        assert shard["0"] == value
    start = int.from_bytes(value[:4], "little")
    with (tmp_path / "0.shard").open("wb") as file:
        file.write(struct.pack("<QQ", start, start + 24))
        file.seek(16 + start)
        file.write(struct.pack("<QQQ", 0, 0, start))
    with shardcore.open(tmp_path / "0.shard") as shard:
        assert shard.find("0").size == start
