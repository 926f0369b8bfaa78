"""A folder of shards as one data set."""

from __future__ import annotations

import gc
import json
import pathlib
import shutil
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.formats.mdb.lookup import MdbKey, MdbLookup
from shardcore.testing import check_explained
from tests.hostile.mdb import shard as shard_of

DATA = Path(__file__).parents[3] / "data" / "mdb"
CACHE = DATA / "cas" / "shard-cache"
EMPTY = shard_of(b"", b"")
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
        assert trace.steps[0].title == "Search every shard"
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


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder of two good shards, three damaged ones and one file that is none, with the xorbs around."""
    folder = tmp_path / "shard-cache"
    shutil.copytree(CACHE, folder)
    shutil.copytree(DATA / "cas" / "xorbs", tmp_path / "xorbs")
    for name in ("header_version", "footer_size", "xorb_count_huge"):
        shutil.copy(DATA / "damaged" / f"{name}.mdb", folder / f"{name}.mdb")
    (folder / "notes.mdb").write_text("no shard at all")
    return folder


def descriptors() -> int:
    """How many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are counted in /proc")
def test_members_and_xorbs_hold_no_descriptors(mixed: Path) -> None:
    """Whatever was opened, found, read and verified, good or damaged, nothing stays open for it."""
    before = descriptors()
    with shardcore.open(mixed) as cache:
        assert len(cache.read(cache.find(BETA))) == 204_000
        cache.load_index()
        assert not cache.verify().ok
        for name in ("header_version.mdb", "notes.mdb"):
            with pytest.raises(shardcore.ShardError):
                cache.part(name)
        cache.explain(10, cache.trace(f"chunk:{CHUNK}").steps[-2].spans[1].source)
        assert descriptors() == before
    assert descriptors() == before


def test_what_is_no_shard_is_not_called_damaged(mixed: Path) -> None:
    """A file without the tag is told to be no shard; one with it, and damaged, why it is not read."""
    with shardcore.open(mixed) as cache:
        assert isinstance(cache, shardcore.DataSet)
        cache.load_index()
        assert set(cache.unreadable) == {"header_version.mdb", "footer_size.mdb", "notes.mdb"}
        assert isinstance(cache.unreadable["notes.mdb"], shardcore.NotAShard)
        assert isinstance(cache.unreadable["footer_size.mdb"], shardcore.FormatError)
        messages = [f.message for f in cache.verify("structure").findings if f.code == "mdb.unreadable"]
        assert any("notes.mdb: not an MDB shard" in message for message in messages)


def test_a_file_that_is_no_shard_leaves_absence_open(tmp_path: Path) -> None:
    """It may have been one: keys in the other shards are found, and what is in none of them is not proven absent."""
    for path in CACHE.iterdir():
        shutil.copy(path, tmp_path / path.name)
    (tmp_path / "notes.mdb").write_text("no shard at all")
    with shardcore.open(tmp_path) as cache:
        assert cache.find(BETA).key == BETA
        trace = cache.trace("5" * 64)
        assert trace.outcome == "damaged"
        assert trace.steps[-1].text.startswith("notes.mdb: not an MDB shard")


def test_nothing_silently_says_that_there_are_no_objects(capsys: pytest.CaptureFixture[str]) -> None:
    """Before the index is loaded the number of objects is not known; whoever asks for it gets the right one."""
    with shardcore.open(CACHE) as cache:
        assert cache.declared_objects is None
        assert cache.listing is None
        assert len(cache.objects.keys[:]) == len(cache.objects) == 6 + 2 + 13
        assert cache.declared_objects == len(cache.listing or ()) == 6 + 2 + 13
    assert run(["info", str(CACHE), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["objects"] is None
    assert run(["info", str(CACHE), "--count", "--json"]) == 0
    counted = json.loads(capsys.readouterr().out)["objects"]
    assert run(["ls", str(CACHE), "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == counted == 6 + 2 + 13


def test_a_key_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many shards are asked, the text of a key is read once."""
    parsed: Counter[str] = Counter()
    parse = MdbLookup.parse

    def counted(text: str) -> MdbKey:
        parsed[text] += 1
        return parse(text)

    monkeypatch.setattr(MdbLookup, "parse", staticmethod(counted))
    with shardcore.open(CACHE) as cache:
        cache.find(BETA)
        assert cache.trace(f"chunk:{'5' * 64}").outcome == "absent"
    assert set(parsed.values()) == {1}


def test_rows_of_nodes_are_those_of_the_data_set() -> None:
    """A byte of a member leads to its object among all objects."""
    with shardcore.open(CACHE) as cache:
        cache.load_index()
        for row in range(len(cache.objects)):
            ref = cache.objects.ref(row)
            path = cache.explain(ref.spans[0].start, ref.spans[0].source)
            assert [node.row for node in path if node.row is not None][-1] == row


def test_an_open_member_takes_little_memory(tmp_path: Path) -> None:
    """Folders of very many shards are opened: what is kept of each shard is bounded."""
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
