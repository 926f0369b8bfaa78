"""Real and derived shards: what they hold equals what was listed when they were made."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.formats.mdb.shard import MdbShard
from shardcore.model.objects import State

DATA = Path(__file__).parents[3] / "data" / "mdb"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())
SHARDS = EXPECTED["shards"]
NAMES = [shard["path"] for shard in SHARDS]
XORBS = DATA / "cas" / "xorbs"
ANSWER = "derived/keyed_reply.mdb"


def opened(path: str, **options: Any) -> MdbShard:
    shard = shardcore.open(DATA / path, **({"xorbs": XORBS} | options))
    return shard


@pytest.fixture(scope="module")
def sources() -> dict[str, bytes]:
    contents = runpy.run_path(str(DATA / "sources.py"))["build"]()
    return {listed["hash"]: contents[listed["name"]] for listed in EXPECTED["files"]}


@pytest.mark.parametrize("listed", SHARDS, ids=NAMES)
def test_header_footer_and_flavour(listed: dict[str, Any]) -> None:
    with opened(listed["path"]) as shard:
        fields = shard.fields
        assert shard.format == "mdb"
        assert fields["header.version"] == listed["header"]["version"]
        assert fields["header.footer_size"] == listed["header"]["footer_size"]
        flavour = {"upload": "upload form"}.get(listed["flavour"], listed["flavour"])
        assert shard.flavour == ("global dedup answer" if listed["path"] == ANSWER else flavour)
        for name, value in (listed["footer"] or {}).items():
            found = fields["footer." + name.replace("xorb_info_offset", "cas_info_offset")]
            assert (found.hex() if isinstance(found, bytes) else found) == value
        assert shard.why == f"tag HFRepoMetaData, {shard.flavour}"
        assert shardcore.detect(DATA / listed["path"]).why == "tag HFRepoMetaData"
        assert (listed["footer"] is None) == ("footer.version" not in fields)


@pytest.mark.parametrize("listed", SHARDS, ids=NAMES)
def test_objects_and_counts(listed: dict[str, Any]) -> None:
    with opened(listed["path"]) as shard:
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
    with opened(listed["shard"]) as shard:
        ref = shard.find(listed["file_hash"])
        assert ref.extras["segments"] == listed["segments"]
        assert ref.spans[0].start == 48 + 48 * listed["index"]
        content = sources[listed["file_hash"]]
        assert ref.size == len(content)
        assert shard.read(ref) == content
        stored = next(f["stored_sha256"] for f in EXPECTED["files"] if f["hash"] == listed["file_hash"])
        assert ref.extras["sha256"] == stored


@pytest.mark.parametrize("listed", EXPECTED["lookups"]["chunks"], ids=lambda c: f"{c['shard']}-{c['chunk_hash'][:8]}")
def test_chunk_lookups(listed: dict[str, Any]) -> None:
    with opened(listed["shard"]) as shard:
        for text in (listed["chunk_hash"], listed["stored_hash"]):
            found = shard.find_all(f"chunk:{text}")
            places = {(ref.extras["xorb"], ref.extras["chunk"]) for ref in found}
            assert places == {(hit["xorb"], hit["chunk"]) for hit in listed["hits"]}
            assert all(ref.key == f"chunk:{listed['stored_hash']}" for ref in found)
            assert shard.find(f"chunk:{text}") in found
            assert shard.find_many([f"chunk:{text}"]).tolist() == [found[0].row]


def test_empty_file_is_live() -> None:
    path = next(name for name in NAMES if "e74f6896" in name)
    with opened(path, xorbs=DATA / "damaged") as shard:
        ref = shard.find("0" * 64)
        assert ref.state is State.LIVE
        assert (ref.size, ref.extras["segments"], ref.extras["sha256"]) == (0, [], "0" * 64)
        assert shard.read(ref) == b""
        assert shard.read_range(ref, 0, 10) == b""


def test_missing_xorbs_are_named() -> None:
    path = next(name for name in NAMES if "4605e746" in name)
    with opened(path, xorbs=DATA / "damaged") as shard:
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
        assert [chunk["start"] for chunk in xorb["chunks"]] == np.cumsum(
            [0, *(chunk["size"] for chunk in xorb["chunks"])]
        )[:-1].tolist()
        codes = {finding.code for finding in shard.verify().findings}
        assert "mdb.xorb-missing" in codes
        assert shard.verify().ok


def test_xorbs_beside_the_shard_are_found() -> None:
    path = next(name for name in NAMES if "4605e746" in name)
    with opened(path, xorbs=None) as shard:
        assert len(shard.read(shard.find(EXPECTED["files"][-1]["hash"]))) == 204000


def test_ranges_need_only_the_chunks_they_touch(
    sources: dict[str, bytes], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Later chunks of the file may be missing or damaged."""
    key = next(listed["hash"] for listed in EXPECTED["files"] if listed["name"] == "beta.bin")
    content = sources[key]
    path = next(name for name in NAMES if "4605e746" in name)
    with opened(path) as shard:
        segments = shard.find(key).extras["segments"]
        text, size = segments[0]["xorb"], segments[0]["bytes"]
        xorb = shard.file.xorbs.get(text)
        cut = xorb.record_span(1).stop - 7
    # The xorb of the second segment is missing, and that of the first and last one is cut in its second chunk.
    data = (XORBS / f"default.{text}").read_bytes()
    (tmp_path / f"default.{text}").write_bytes(data[:cut])
    with opened(path, xorbs=tmp_path) as shard:
        ref = shard.find(key)
        assert shard.read_range(ref, 0, size) == content[:size]
        assert shard.read_range(ref, size - 9, size) == content[size - 9 : size]
        assert shard.read_range(shard.find(f"xorb:{text}"), 5, 15) == content[5:15]
        with pytest.raises(shardcore.ExternalMissing):
            shard.read_range(ref, size - 9, size + 1)
        with pytest.raises(shardcore.FormatError):
            shard.read_range(ref, len(content) - 9, len(content))
        with pytest.raises(shardcore.ShardError):
            shard.read(ref)
    asked = ["get", str(DATA / path), key, "--xorbs", str(tmp_path), "--range"]
    assert run([*asked, "7:20"]) == 0
    assert capfdbinary.readouterr().out == content[7:20]
    assert run([*asked, f"7:{size + 20}"]) == 4


def test_xorbs_and_chunks_have_content(sources: dict[str, bytes]) -> None:
    with opened(next(name for name in NAMES if "e74f6896" in name)) as shard:
        xorb = shard.find(f"xorb:{EXPECTED['xorbs'][1]['hash']}")
        whole = shard.read(xorb)
        assert len(whole) == xorb.size == EXPECTED["xorbs"][1]["unpacked_bytes"]
        for row in range(len(shard.objects)):
            ref = shard.objects.ref(row)
            if ref.kind == "chunk":
                assert shard.read(ref) == whole[ref.extras["start"] : ref.extras["start"] + ref.size]
