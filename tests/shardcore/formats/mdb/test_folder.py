"""A folder of shards as one data set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shardcore
from shardcore.testing import check_explained

DATA = Path(__file__).parents[3] / "data" / "mdb"
CACHE = DATA / "cas" / "shard-cache"
BETA = "d2ce46f5bde5faf0d28cbc8f1cfb0b6120b902adf166869afb45ae9f70ee794c"
CHUNK = "d2b73b95e11fcf65002840f7bf3593075f1345c245cc82dea8344202d5cd9eb7"


def test_a_cache_folder_is_a_data_set() -> None:
    """Its members are the shards, its objects theirs, and any key is found in whichever shard has it."""
    expected = json.loads((DATA / "expected.json").read_text())
    with shardcore.open(CACHE) as cache:
        assert isinstance(cache, shardcore.DataSet)
        assert [member.name for member in cache.members] == sorted(path.name for path in CACHE.iterdir())
        for listed in expected["files"]:
            ref = cache.find(listed["hash"])
            assert ref.size == listed["size"]
            assert len(cache.read(ref)) == listed["size"]
        cache.load_index()
        assert len(cache.objects) == 6 + 2 + 13
        assert cache.verify().ok


def test_the_folder_around_the_cache_opens_it() -> None:
    """A folder that has `shard-cache` stands for it."""
    with shardcore.open(DATA / "cas") as cache:
        assert cache.find(BETA).shard == "shard-cache/" + next(CACHE.glob("4605e746*")).name


def test_traces_begin_with_the_members() -> None:
    """The first step is the choice of shards; later spans name the shard or the xorb they lie in."""
    with shardcore.open(CACHE) as cache:
        trace = cache.trace(f"chunk:{CHUNK}")
        assert trace.outcome == "found"
        assert trace.steps[0].title == "Go through the shards"
        sources = {span.source[:9] for step in trace.steps for span in step.spans}
        assert sources == {"4605e7461", "e74f6896f", "xorb:6d9a"}
        assert cache.trace(f"chunk:{'5' * 64}").outcome == "absent"
        with pytest.raises(shardcore.UsageError):
            cache.trace("not a hash")


def test_xorbs_of_a_cache_explain_themselves() -> None:
    """The bytes of a xorb that a trace leads to have sections, a tree and an owner each."""
    with shardcore.open(CACHE) as cache:
        span = cache.trace(f"chunk:{CHUNK}").steps[-2].spans[1]
        path = cache.explain(span.start, span.source)
        assert [node.name for node in path[1:]] == ["chunks", "chunk 5", "version"]
        assert cache.sections_of(span.source)[0].name == "chunks"
        assert cache.bytes_of(span.source).size == 314697
        check_explained(cache, span.source)
        with pytest.raises(shardcore.ExternalMissing):
            cache.bytes_of("xorb:" + "0" * 64)
