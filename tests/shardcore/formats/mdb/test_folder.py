"""A folder of shards as one data set."""

from __future__ import annotations

import gc
import json
import pathlib
import shutil
import tracemalloc
from pathlib import Path

import pytest

import shardcore
from shardcore.testing import check_explained
from tests.hostile.mdb import shard as shard_of

DATA = Path(__file__).parents[3] / "data" / "mdb"
CACHE = DATA / "cas" / "shard-cache"
EMPTY = shard_of(b"", b"")
BETA = "d2ce46f5bde5faf0d28cbc8f1cfb0b6120b902adf166869afb45ae9f70ee794c"
CHUNK = "d2b73b95e11fcf65002840f7bf3593075f1345c245cc82dea8344202d5cd9eb7"


def test_a_cache_folder_is_a_data_set() -> None:
    expected = json.loads((DATA / "expected.json").read_text())
    with shardcore.open(CACHE) as cache:
        assert [member.name for member in cache.members] == sorted(path.name for path in CACHE.iterdir())
        for listed in expected["files"]:
            ref = cache.find(listed["hash"])
            assert ref.size == listed["size"]
            assert len(cache.read(ref)) == listed["size"]
        cache.load_index()
        assert len(cache.objects) == 6 + 2 + 13
        assert cache.verify().ok
    with shardcore.open(DATA / "cas") as cache:
        assert cache.find(BETA).shard == "shard-cache/" + next(CACHE.glob("4605e746*")).name


def test_xorbs_of_a_cache_explain_themselves() -> None:
    with shardcore.open(CACHE) as cache:
        span = cache.trace(f"chunk:{CHUNK}").steps[-2].spans[1]
        path = cache.explain(span.start, span.source)
        assert [node.name for node in path[1:]] == ["chunks", "chunk 5", "version"]
        assert cache.sections_of(span.source)[0].name == "chunks"
        assert cache.bytes_of(span.source).size == 314697
        check_explained(cache, span.source)
        with pytest.raises(shardcore.ExternalMissing):
            cache.bytes_of("xorb:" + "0" * 64)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    folder = tmp_path / "shard-cache"
    shutil.copytree(CACHE, folder)
    shutil.copytree(DATA / "cas" / "xorbs", tmp_path / "xorbs")
    for name in ("header_version", "footer_size", "xorb_count_huge"):
        shutil.copy(DATA / "damaged" / f"{name}.mdb", folder / f"{name}.mdb")
    (folder / "notes.mdb").write_text("no shard at all")
    return folder


def test_what_is_no_shard_is_not_called_damaged(mixed: Path) -> None:
    with shardcore.open(mixed) as cache:
        cache.load_index()
        assert set(cache.unreadable) == {"header_version.mdb", "footer_size.mdb", "notes.mdb"}
        assert isinstance(cache.unreadable["notes.mdb"], shardcore.NotAShard)
        assert isinstance(cache.unreadable["footer_size.mdb"], shardcore.FormatError)
        assert "mdb.unreadable" in {f.code for f in cache.verify("structure").findings}
        assert (cache.find(BETA).key, cache.trace("5" * 64).outcome) == (BETA, "damaged")
        for name in ("header_version.mdb", "notes.mdb"):
            with pytest.raises(shardcore.ShardError):
                cache.part(name)


def test_an_open_member_takes_little_memory(tmp_path: Path) -> None:
    count, small = 300, tmp_path / "s"
    small.mkdir()
    for number in range(count):
        (small / f"{number:064x}.mdb").write_bytes(EMPTY)
    with shardcore.open(small) as cache:
        assert cache.members
        gc.collect()  # what other tests left behind is freed before, not while, this one is measured
        tracemalloc.start()
        try:
            cache.load_index()
            gc.collect()
            # Paths intern their names: the interpreter's table of them grows in leaps of megabytes.
            kinds = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(False, pathlib.__file__)])
            kept = sum(kind.size for kind in kinds.statistics("filename")) / count
        finally:
            tracemalloc.stop()
    assert kept < 6000
