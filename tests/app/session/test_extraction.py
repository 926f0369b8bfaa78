"""Writing objects that were deleted: asked for, or left out."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shardcore import Cancelled, Shard, SourceChanged
from shardcore.operations.extraction import Conflict, ExtractOptions
from shardcore.progress import no_progress
from shardscope.session.extraction import ExtractionOutcome, ExtractionRequest, existing, outlook, write
from shardscope.session.open_request import OpenRequest
from shardscope.session.row_ranges import RowRanges

NAMES = ("keep", "gone", "nometa")


@pytest.fixture
def request_(data: Path, tmp_path: Path) -> OpenRequest:
    """A shard of three objects, of which a sidecar declares one deleted."""
    folder = tmp_path / "shard"
    shutil.copytree(data / "des" / "sidecar", folder)
    return OpenRequest(str(folder / "20261103_51_0000.des"))


def wanted(shard: Shard, request: OpenRequest, where: Path, **options: Any) -> ExtractionRequest:
    """All objects."""
    return ExtractionRequest(shard, request, RowRanges.all_of(3), where, ExtractOptions(**options))


def counts(found: ExtractionOutcome) -> dict[str, int]:
    """What is not zero."""
    numbers = {"files": found.files, "skipped": found.skipped, "failed": found.failed, "left_out": found.left_out}
    return {name: number for name, number in numbers.items() if number}


def test_what_would_be_written(request_: OpenRequest, tmp_path: Path) -> None:
    """Objects, bytes, names and those that were deleted are known before anything is written."""
    out = tmp_path / "out"
    with request_.open(no_progress) as shard:
        ahead = outlook(wanted(shard, request_, out))
        sizes = [shard.objects.ref(row).size for row in range(3)]
        assert (ahead.objects, ahead.deleted, ahead.unused) == (2, 1, 0)
        assert ahead.size == sizes[0] + sizes[2]
        assert ahead.examples == ("keep", "nometa")
        both = outlook(wanted(shard, request_, out, deleted=True))
        assert (both.objects, both.deleted, both.size) == (3, 1, sum(sizes))
    assert not out.exists()


def test_deleted_objects_are_read_on_purpose(request_: OpenRequest, tmp_path: Path) -> None:
    """With them all are written, and the open shard still refuses to serve the deleted one."""
    out = tmp_path / "out"
    with request_.open(no_progress) as shard:
        assert counts(write(wanted(shard, request_, out, deleted=True), no_progress)) == {"files": 3}
        assert (out / "gone").stat().st_size == shard.objects.ref(1).size
        again = write(wanted(shard, request_, tmp_path / "again"), no_progress)
        assert (again.files, again.left_out) == (2, 1)


def test_another_file_is_not_mixed_in(request_: OpenRequest, tmp_path: Path, data: Path) -> None:
    """When the file was replaced meanwhile, nothing of the new one is written under the names of the old."""
    out = tmp_path / "out"
    with request_.open(no_progress) as shard:
        Path(request_.uri).unlink()
        shutil.copy(data / "des" / "zstd.des", request_.uri)
        with pytest.raises(SourceChanged):
            write(wanted(shard, request_, out, deleted=True), no_progress)
    assert not out.exists()


def test_a_second_run_says_what_is_there(request_: OpenRequest, tmp_path: Path) -> None:
    """Files that are there are called that, and the manifest that is named is the one that was written."""
    out = tmp_path / "out"
    with request_.open(no_progress) as shard:
        asked = wanted(shard, request_, out, conflict=Conflict.SKIP)
        assert existing(asked) == 0
        assert write(asked, no_progress).text(out) == "2 files written to out; 1 deleted left out"
        assert existing(asked) == 2
        again = write(asked, no_progress)
        assert again.text(out) == "2 files exist already: skipped; 1 deleted left out"
        failing = write(replace(asked, options=ExtractOptions()), no_progress)
    assert failing.manifest == out / "manifest-3.json"
    assert failing.text(out).startswith("0 of 2 files written to out; 2 failed: ")
    assert "exists already; see manifest-3.json" in failing.text(out)
    assert [failure.name for failure in failing.failures] == ["keep", "nometa"]
    assert failing.again == (0, 2)


def test_existing_files_with_guessed_endings(request_: OpenRequest, tmp_path: Path) -> None:
    """A file of the name with an ending counts, too, where endings come from contents."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "keep.txt").write_text("x")
    with request_.open(no_progress) as shard:
        assert existing(wanted(shard, request_, out, guess_extension=True)) == 1
        assert existing(wanted(shard, request_, out)) == 0


@pytest.mark.parametrize(("path", "objects"), [("swh/small.shard", 12), ("bloscpack/meta_0.blp", 1)])
def test_everything(data: Path, tmp_path: Path, path: str, objects: int) -> None:
    """Everything is what the command line takes: no unused slots, and the whole content where there is a view of it."""
    request = OpenRequest(str(data / path))
    with request.open(no_progress) as shard:
        all_of_it = ExtractionRequest(shard, request, None, tmp_path / "out")
        assert outlook(all_of_it).objects == objects
        found = write(all_of_it, no_progress)
    assert counts(found) == {"files": objects}
    assert found.size == sum(p.stat().st_size for p in (tmp_path / "out").iterdir() if p.name != "manifest.json")


def test_a_cancelled_extraction_counts_its_files_and_leaves_no_other(data: Path, tmp_path: Path) -> None:
    """At whatever moment it is stopped, the files are those that were counted, and nothing begun stays."""
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
