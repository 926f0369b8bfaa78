"""The references read the files that the lessons have built by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardcore.teaching.build import SPEC, new_file
from tests.interop.readers import Reader, _ok
from tests.interop.test_neuroglancer_writer import read_by_cloud_volume, read_by_tensorstore
from tests.shardcore.teaching.test_build import LESSONS, built


@pytest.mark.thorough
@pytest.mark.interop("cloudvolume", "tensorstore")
def test_the_shard_of_the_lesson_is_read(tmp_path: Path) -> None:
    path = new_file("neuroglancer", tmp_path)
    path.write_bytes(built(LESSONS["neuroglancer"]))
    keys = {2: b"two", 9: b"nine", 14: b"fourteen"}
    assert read_by_cloud_volume(tmp_path, dict(SPEC)) == keys
    assert read_by_tensorstore(tmp_path, dict(SPEC)) == keys


@pytest.mark.interop("bloscpack")
def test_the_file_of_the_lesson_is_read(tmp_path: Path) -> None:
    path = new_file("bloscpack", tmp_path)
    path.write_bytes(built(LESSONS["bloscpack"]))
    with Reader("bloscpack") as reader:
        found = reader.ask(path, ["0", "1"], sizes=[4, 3])
    assert found == {"0": _ok(b"SHAR"), "1": _ok(b"DED")}
