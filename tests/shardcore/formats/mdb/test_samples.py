"""Shards of the reference and cache folders: contents, recipes, tree."""

from __future__ import annotations

import json
import runpy
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.formats.mdb.tree import date_text
from shardcore.model.node import Node
from shardcore.model.objects import State
from shardcore.testing import check_explained
from tests.shardcore.formats.mdb.made import made_shard

DATA = Path(__file__).parents[3] / "data" / "mdb"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())
SHARDS = EXPECTED["shards"]
NAMES = [shard["path"] for shard in SHARDS]
XORBS = DATA / "cas" / "xorbs"
ANSWER = "derived/keyed_reply.mdb"
FULL = next(DATA / name for name in NAMES if "e74f6896" in name)
TWO_XORBS = next(DATA / name for name in NAMES if "4605e746" in name)


@pytest.fixture(scope="module")
def sources() -> dict[str, bytes]:
    contents = runpy.run_path(str(DATA / "sources.py"))["build"]()
    return {listed["hash"]: contents[listed["name"]] for listed in EXPECTED["files"]}


@pytest.mark.parametrize("listed", SHARDS, ids=NAMES)
def test_objects_and_counts(listed: dict[str, Any]) -> None:
    with shardcore.open(DATA / listed["path"], xorbs=XORBS) as shard:
        fields = shard.fields
        header = fields["header.version"], fields["header.footer_size"]
        assert header == (listed["header"]["version"], listed["header"]["footer_size"])
        flavour = {"upload": "upload form"}.get(listed["flavour"], listed["flavour"])
        assert shard.flavour == ("global dedup answer" if listed["path"] == ANSWER else flavour)
        assert (shard.format, shard.why) == ("mdb", f"tag HFRepoMetaData, {shard.flavour}")
        for name, value in (listed["footer"] or {}).items():
            found = fields["footer." + name.replace("xorb_info_offset", "cas_info_offset")]
            assert (found.hex() if isinstance(found, bytes) else found) == value
        assert (listed["footer"] is None) == ("footer.version" not in fields)
        counts = listed["counts"]
        keys = shard.objects.keys[:]
        files, xorbs = counts["files"], counts["xorbs"]
        assert len(keys) == shard.declared_objects == files + xorbs + counts["chunks"]
        assert keys[:files] == listed["file_hashes"]
        assert keys[files : files + xorbs] == [f"xorb:{text}" for text in listed["xorb_hashes"]]
        columns = shard.objects[:]
        assert columns.kind.tolist() == [0] * files + [1] * xorbs + [2] * counts["chunks"]
        assert int(columns.size[:files].sum()) == listed["materialized_bytes"]
        assert int(columns.size[files : files + xorbs].sum()) == listed["stored_bytes"]
        refs = [shard.objects.ref(row) for row in range(len(keys))]
        assert sum(len(ref.extras["segments"]) for ref in refs[:files]) == counts["segments"]
        assert sum(ref.extras["eligible"] for ref in refs[files + xorbs :]) == counts["global_dedup_flagged"]


@pytest.mark.parametrize("listed", EXPECTED["lookups"]["files"], ids=lambda f: f"{f['shard']}-{f['file_hash'][:8]}")
def test_file_lookups(listed: dict[str, Any], sources: dict[str, bytes]) -> None:
    with shardcore.open(DATA / listed["shard"], xorbs=XORBS) as shard:
        ref = shard.find(listed["file_hash"])
        assert ref.extras["segments"] == listed["segments"]
        assert ref.spans[0].start == 48 + 48 * listed["index"]
        content = sources[listed["file_hash"]]
        assert (ref.size, shard.read(ref)) == (len(content), content)
        stored = next(f["stored_sha256"] for f in EXPECTED["files"] if f["hash"] == listed["file_hash"])
        assert ref.extras["sha256"] == stored


@pytest.mark.parametrize("listed", EXPECTED["lookups"]["chunks"], ids=lambda c: f"{c['shard']}-{c['chunk_hash'][:8]}")
def test_chunk_lookups(listed: dict[str, Any]) -> None:
    with shardcore.open(DATA / listed["shard"], xorbs=XORBS) as shard:
        for text in (listed["chunk_hash"], listed["stored_hash"]):
            found = shard.find_all(f"chunk:{text}")
            places = {(ref.extras["xorb"], ref.extras["chunk"]) for ref in found}
            assert places == {(hit["xorb"], hit["chunk"]) for hit in listed["hits"]}
            assert all(ref.key == f"chunk:{listed['stored_hash']}" for ref in found)
            assert shard.find(f"chunk:{text}") in found
            assert shard.find_many([f"chunk:{text}"]).tolist() == [found[0].row]


def test_empty_file_is_live() -> None:
    with shardcore.open(FULL, xorbs=DATA / "damaged") as shard:
        ref = shard.find("0" * 64)
        assert (ref.state, ref.size, ref.extras["segments"], ref.extras["sha256"]) == (State.LIVE, 0, [], "0" * 64)
        assert shard.read(ref) == shard.read_range(ref, 0, 10) == b""


def test_missing_xorbs_are_named() -> None:
    with shardcore.open(TWO_XORBS, xorbs=DATA / "damaged") as shard:
        ref = shard.find(EXPECTED["files"][-1]["hash"])
        assert ref.state is State.EXTERNAL
        with pytest.raises(shardcore.ExternalMissing) as caught:
            shard.read(ref)
        for xorb in EXPECTED["xorbs"]:
            assert xorb["hash"] in str(caught.value)
        recipe = json.loads(shard.read_part(ref, "recipe"))
        assert recipe["file"] == ref.key
        assert [{k: v for k, v in s.items() if k != "range_hash"} for s in recipe["segments"]] == ref.extras["segments"]
        assert len(recipe["segments"][0]["range_hash"]) == 64
        for key in (ref.key, f"xorb:{EXPECTED['xorbs'][0]['hash']}"):
            assert shard.trace(str(key)).outcome == "found"
        xorb = json.loads(shard.read_part(shard.find(f"xorb:{EXPECTED['xorbs'][0]['hash']}"), "recipe"))
        starts = np.cumsum([0, *(chunk["size"] for chunk in xorb["chunks"])]).tolist()
        assert [chunk["start"] for chunk in xorb["chunks"]] == starts[:-1]
        report = shard.verify()
        assert (report.ok, "mdb.xorb-missing" in {one.code for one in report.findings}) == (True, True)
    with shardcore.open(TWO_XORBS) as shard:  # the xorbs beside the shard are found
        assert len(shard.read(shard.find(EXPECTED["files"][-1]["hash"]))) == 204000


def test_ranges_need_only_the_chunks_they_touch(
    sources: dict[str, bytes], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Later chunks of the file may be missing or damaged."""
    key = next(listed["hash"] for listed in EXPECTED["files"] if listed["name"] == "beta.bin")
    content = sources[key]
    with shardcore.open(TWO_XORBS, xorbs=XORBS) as shard:
        segments = shard.find(key).extras["segments"]
        text, size = segments[0]["xorb"], segments[0]["bytes"]
        xorb = shard.file.xorbs.get(text)
        cut = xorb.record_span(1).stop - 7
    # The xorb of the second segment is missing, and that of the first and last one is cut in its second chunk.
    data = (XORBS / f"default.{text}").read_bytes()
    (tmp_path / f"default.{text}").write_bytes(data[:cut])
    with shardcore.open(TWO_XORBS, xorbs=tmp_path) as shard:
        ref = shard.find(key)
        assert shard.read_range(ref, 0, size) == content[:size]
        assert shard.read_range(ref, size - 9, size) == content[size - 9 : size]
        assert shard.read_range(shard.find(f"xorb:{text}"), 5, 15) == content[5:15]
        for error, start, stop in (
            (shardcore.ExternalMissing, size - 9, size + 1),
            (shardcore.FormatError, len(content) - 9, len(content)),
            (shardcore.ShardError, 0, len(content)),
        ):
            with pytest.raises(error):
                shard.read_range(ref, start, stop)
    asked = ["get", str(TWO_XORBS), key, "--xorbs", str(tmp_path), "--range"]
    assert run([*asked, "7:20"]) == 0
    assert capfdbinary.readouterr().out == content[7:20]
    assert run([*asked, f"7:{size + 20}"]) == 4


def test_xorbs_and_chunks_have_content(sources: dict[str, bytes]) -> None:
    with shardcore.open(FULL, xorbs=XORBS) as shard:
        xorb = shard.find(f"xorb:{EXPECTED['xorbs'][1]['hash']}")
        whole = shard.read(xorb)
        assert len(whole) == xorb.size == EXPECTED["xorbs"][1]["unpacked_bytes"]
        for row in range(len(shard.objects)):
            ref = shard.objects.ref(row)
            if ref.kind == "chunk":
                assert shard.read(ref) == whole[ref.extras["start"] : ref.extras["start"] + ref.size]


def test_taking_everything_takes_the_files(tmp_path: Path) -> None:
    for name, options, count in (("files", (), 6), ("xorbs", ("--kind", "xorb"), 2)):
        arguments = [str(DATA / "cas" / "shard-cache"), str(tmp_path / name), "--xorbs", str(DATA / "cas" / "xorbs")]
        assert run(["extract", *arguments, *options]) == 0
        assert len(list((tmp_path / name).iterdir())) == count + 1


def named(node: Node, *path: str) -> Node:
    for name in path:
        node = next(child for child in node.children if child.name.startswith(name))
    return node


def test_an_expired_shard_reads_as_before() -> None:
    with shardcore.open(DATA / "derived" / "expired.mdb") as shard:
        notes = [finding for finding in shard.verify("structure").findings if finding.code == "mdb.expired"]
        assert [note.severity for note in notes] == [shardcore.Severity.NOTE]
    assert "9999" in date_text(2**64 - 2)


def test_every_table_row_is_a_link() -> None:
    with shardcore.open(DATA / "derived" / "keyed_full.mdb") as shard:
        shard.load_index()
        for kind, head in (("file", "file "), ("xorb", "xorb ")):
            for row in named(shard.tree, f"{kind} lookup").children:
                path = shard.explain(row.target.start)
                assert path[2].name.startswith(head + row.text.removesuffix("…"))
        for row in named(shard.tree, "chunk lookup").children:
            assert shard.explain(row.target.start)[-2].text.startswith(row.text.removesuffix("…"))
        footer = named(shard.tree, "footer")
        for name in ("file_info_offset", "cas_info_offset", "file_lookup_offset", "footer_offset"):
            node = named(footer, name)
            assert node.target.start == node.value
        segment = named(shard.tree, "file info", "file eea76e", "segments", "segment 0")
        assert shard.explain(segment.target.start)[-2].name == "chunk 7"


def test_before_loading_records_are_plain() -> None:
    data = made_shard(4, 300, 2, 600)
    with shardcore.open(data) as shard:
        assert not shard.loaded
        check_explained(shard, complete=False)
        assert shard.explain(48)[1].name == "file info"
        shard.load_index()
        check_explained(shard)
        assert shard.explain(48)[-1].name == "file_hash"


@pytest.mark.parametrize("cut", [1000, 1001, 960 + 48 * 5])
def test_a_cut_upload_form_keeps_what_is_whole(cut: int) -> None:
    data = (DATA / "derived" / "upload_form.mdb").read_bytes()[:cut]
    with shardcore.open(data) as shard:
        shard.load_index()
        check_explained(shard)
        assert [key for key in shard.objects.keys[:] if key and ":" not in key]
        assert {finding.code for finding in shard.verify("structure").findings} == {"mdb.walk"}
        assert shard.explain(cut - 1)[-1].name == "unread"


def test_a_gap_is_unknown_and_said() -> None:
    data = (DATA / "derived" / "upload_form.mdb").read_bytes() + bytes(70)
    with shardcore.open(data) as shard:
        assert shard.sections[-1].role is shardcore.SectionRole.UNKNOWN
        assert {finding.code for finding in shard.verify("structure").findings} == {"mdb.gap"}


def test_an_entry_that_leads_past_its_section_says_so() -> None:
    data = bytearray((DATA / "derived" / "keyed_full.mdb").read_bytes())
    with shardcore.open(bytes(data)) as shard:
        start = named(shard.tree, "file lookup").span.start
    data[start + 8 : start + 12] = b"\xff" * 4
    with shardcore.open(bytes(data)) as shard:
        node = named(shard.tree, "file lookup").children[0]
        assert (node.target, node.row, bool(node.error)) == (None, None, True)


CACHE = DATA / "cas" / "shard-cache"
BETA = "d2ce46f5bde5faf0d28cbc8f1cfb0b6120b902adf166869afb45ae9f70ee794c"
CHUNK = "d2b73b95e11fcf65002840f7bf3593075f1345c245cc82dea8344202d5cd9eb7"


def test_a_cache_folder_is_a_data_set() -> None:
    expected = json.loads((DATA / "expected.json").read_text())
    with shardcore.open(CACHE) as cache:
        assert [member.name for member in cache.members] == sorted(path.name for path in CACHE.iterdir())
        for listed in expected["files"]:
            ref = cache.find(listed["hash"])
            assert ref.size == len(cache.read(ref)) == listed["size"]
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
