"""Files that are cut while they are read, and links planted where objects are extracted to."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

import shardcore
from shardcore.errors import ShardError
from shardcore.operations.extraction import Conflict, ExtractOptions, extract_objects

DATA = Path(__file__).parent.parent / "data"
ONE_OF_EACH = {
    "swh": "swh/small.shard",
    "mdb": "mdb/cas/shard-cache/e74f6896fcb34a8319a97331d6b89e63c376d2da50068dce9e7f253a198b73a7.mdb",
    "xorb": "xorb/lz4.xorb",
    "bloscpack": "bloscpack/array.blp",
    "des": "des/sidecar/20261103_51_0000.des",
    "neuroglancer": "neuroglancer/skeletons_murmur_gzip/0.shard",
}
formats = pytest.mark.parametrize("name", ONE_OF_EACH)


def sample(name: str, folder: Path) -> Path:
    whole = DATA / ONE_OF_EACH[name]
    beside = list(whole.parent.iterdir()) if name in ("des", "neuroglancer") else [whole]
    folder.mkdir(parents=True, exist_ok=True)
    for path in beside:
        shutil.copy(path, folder)
    return folder / whole.name


@formats
@pytest.mark.parametrize("part", [0.0, 0.5, 0.95])
def test_a_file_that_is_cut_while_it_is_read_is_an_error(name: str, part: float, tmp_path: Path) -> None:
    """Reads after the cut raise a `ShardError` or return the right bytes; what was cached stays readable."""
    path = sample(name, tmp_path)
    with shardcore.open(path) as shard:
        shard.load_index()
        keys = [key for key in shard.objects.keys[:] if key is not None]
        contents: dict[str, bytes] = {}
        for key in keys[:20]:
            with suppress(ShardError):  # some objects lie in other files
                contents[key] = shard.read(shard.find(key))
        os.truncate(path, int(path.stat().st_size * part))
        with suppress(ShardError):
            assert [key for key in shard.objects.keys[:] if key is not None] == keys
        for key, content in contents.items():
            with suppress(ShardError):
                assert shard.read(shard.find(key)) == content
        with suppress(ShardError):
            shard.verify()  # an index that is in memory may be all that it needs


@formats
def test_extraction_of_a_file_that_is_cut_leaves_what_was_written(name: str, tmp_path: Path) -> None:
    path = sample(name, tmp_path / "in")
    out = tmp_path / "out"
    with shardcore.open(path) as shard:
        shard.load_index()
        refs = [shard.objects.ref(row) for row in range(min(len(shard.objects), 30))]
        written: dict[str, bytes] = {}
        for number, result in enumerate(extract_objects(shard, refs, out)):
            if number == 0:
                os.truncate(path, 40)
            if not result.error:
                written[Path(result.path).name] = Path(result.path).read_bytes()
    assert {p.name for p in out.iterdir()} == written.keys() | {"manifest.json"}
    assert all((out / file).read_bytes() == data for file, data in written.items())


@formats
@pytest.mark.parametrize("force", [False, True])
def test_planted_links_are_not_followed(name: str, force: bool, tmp_path: Path) -> None:
    """The links have the names of objects and of the manifest, and point to a file and a folder outside."""
    path, plain, planted = sample(name, tmp_path / "in"), tmp_path / "plain", tmp_path / "planted"
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"mine")
    planted.mkdir()
    with shardcore.open(path) as shard:
        shard.load_index()
        refs = [shard.objects.ref(row) for row in range(min(len(shard.objects), 6))]
        list(extract_objects(shard, refs, plain))
        for number, file in enumerate(sorted(plain.iterdir())):
            (planted / file.name).symlink_to((outside / "file", outside, outside / "new")[number % 3])
        options = ExtractOptions(conflict=Conflict.REPLACE if force else Conflict.ERROR)
        list(extract_objects(shard, refs, planted, options))
    assert [file.name for file in outside.iterdir()] == ["file"]
    assert (outside / "file").read_bytes() == b"mine"
