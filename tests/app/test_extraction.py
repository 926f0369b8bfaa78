"""Writing objects that were deleted: asked for, or left out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shardcore import Shard, SourceChanged
from shardcore.progress import no_progress
from shardscope.extraction import Extracted, Extraction, write
from shardscope.opening import OpenRequest
from shardscope.row_ranges import RowRanges

NAMES = ("keep", "gone", "nometa")


@pytest.fixture
def request_(data: Path, tmp_path: Path) -> OpenRequest:
    """A shard of three objects, of which a sidecar declares one deleted."""
    folder = tmp_path / "shard"
    shutil.copytree(data / "des" / "sidecar", folder)
    return OpenRequest(str(folder / "20261103_51_0000.des"))


def wanted(shard: Shard, request: OpenRequest, where: Path, deleted: bool | None = None) -> Extraction:
    """All objects."""
    return Extraction(shard, request, RowRanges.all_of(3), where, deleted)


def test_nothing_is_written_before_it_is_asked(request_: OpenRequest, tmp_path: Path) -> None:
    """When some objects are tombstoned and nobody said what to do, that is the answer, and there is no folder."""
    out = tmp_path / "out"
    with request_.open(no_progress) as shard:
        assert write(wanted(shard, request_, out), no_progress) == Extracted(asks=1)
    assert not out.exists()


def test_deleted_objects_are_left_out(request_: OpenRequest, tmp_path: Path) -> None:
    """Without them the others are written."""
    out = tmp_path / "out"
    with request_.open(no_progress) as shard:
        assert write(wanted(shard, request_, out, deleted=False), no_progress) == Extracted(files=2, left_out=1)
    assert sorted(path.name for path in out.iterdir()) == ["keep", "manifest.json", "nometa"]


def test_deleted_objects_are_read_on_purpose(request_: OpenRequest, tmp_path: Path) -> None:
    """With them all are written, and the open shard still refuses to serve the deleted one."""
    out = tmp_path / "out"
    with request_.open(no_progress) as shard:
        assert write(wanted(shard, request_, out, deleted=True), no_progress) == Extracted(files=3)
        assert (out / "gone").stat().st_size == shard.objects.ref(1).size
        again = write(wanted(shard, request_, tmp_path / "again"), no_progress)
        assert again == Extracted(asks=1)


def test_a_shard_opened_to_serve_them_does_not_ask(request_: OpenRequest, tmp_path: Path) -> None:
    """Who opened with deleted objects has said it already."""
    request = request_.serving_deleted()
    with request.open(no_progress) as shard:
        assert write(wanted(shard, request, tmp_path / "out"), no_progress) == Extracted(files=3)


def test_another_file_is_not_mixed_in(request_: OpenRequest, tmp_path: Path, data: Path) -> None:
    """When the file was replaced meanwhile, nothing of the new one is written under the names of the old."""
    out = tmp_path / "out"
    with request_.open(no_progress) as shard:
        Path(request_.uri).unlink()
        shutil.copy(data / "des" / "zstd.des", request_.uri)
        with pytest.raises(SourceChanged):
            write(wanted(shard, request_, out, deleted=True), no_progress)
    assert not out.exists()
