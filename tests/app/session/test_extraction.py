"""Writing objects that were deleted: asked for, or left out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shardcore import Cancelled, SourceChanged
from shardcore.operations.extraction import ExtractOptions
from shardcore.progress import no_progress
from shardscope.session.extraction import ExtractionOutcome, ExtractionRequest, write
from shardscope.session.open_request import OpenRequest


@pytest.fixture
def request_(data: Path, tmp_path: Path) -> OpenRequest:
    """A shard of three objects, of which a sidecar declares one deleted."""
    folder = tmp_path / "shard"
    shutil.copytree(data / "des" / "sidecar", folder)
    return OpenRequest(str(folder / "20261103_51_0000.des"))


def test_another_file_is_not_mixed_in(request_: OpenRequest, tmp_path: Path, data: Path) -> None:
    """Nothing of a file that replaced the open one is written under the old names."""
    out = tmp_path / "out"
    with request_.open(no_progress) as shard:
        Path(request_.uri).unlink()
        shutil.copy(data / "des" / "zstd.des", request_.uri)
        with pytest.raises(SourceChanged):
            write(ExtractionRequest(shard, request_, None, out, ExtractOptions(deleted=True)), no_progress)
    assert not out.exists()


def test_a_cancelled_extraction_counts_its_files_and_leaves_no_other(data: Path, tmp_path: Path) -> None:
    request = OpenRequest(str(data / "swh" / "small.shard"))
    for most in range(60):
        out, found, left = tmp_path / str(most), ExtractionOutcome(), most

        def stop(done: int, total: int) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Cancelled

        with request.open(no_progress) as shard:
            try:
                write(ExtractionRequest(shard, request, None, out, ExtractOptions()), stop, found)
            except Cancelled:
                names = sorted(path.name for path in out.iterdir()) if out.exists() else []
                assert len(names) == found.files
                assert not any(name.startswith(".") for name in names)
            else:
                break
    assert found.files == 12
