"""Damaged shards: the depth that reports each damage, and the objects that stay readable."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.codecs.xet.hashes import from_text
from shardcore.formats.mdb.layout import FILE_HEADER, FILE_METADATA
from shardcore.formats.xorb import file as xorb_file
from shardcore.model.finding import Depth
from shardcore.model.objects import State
from shardcore.sources.base import Source
from shardcore.sources.local import LocalFolder
from shardcore.sources.memory import BytesSource
from tests.hostile.mdb import file_of_many_xorbs, rows
from tests.hostile.mdb import shard as shard_of
from tests.shardcore.formats.mdb.made import made_shard

DATA = Path(__file__).parents[3] / "data" / "mdb"
CASES = DATA.parent / "cases"
DAMAGED = json.loads((DATA / "expected.json").read_text())["damaged"]
XORBS = DATA / "cas" / "xorbs"
BETA = "d2ce46f5bde5faf0d28cbc8f1cfb0b6120b902adf166869afb45ae9f70ee794c"

REFUSED = {"magic", "header_version", "footer_version", "footer_size", "footer_offset", "lookup_past_end"}
REFUSED |= {"lookup_offset", "cut_in_file_section", "cut_footer", "no_end_mark", "empty", "xorb_offset"}

FOUND = {
    "file_count_huge": "mdb.walk",
    "xorb_count_huge": "mdb.walk",
    "index_not_a_header": "mdb.table-row",
    "range_backwards": "mdb.segment",
    "range_past_xorb": "mdb.segment",
    "chunk_hash_bit": "mdb.xorb-hash",
    "file_hash_bit": "mdb.file",
    "verification_bit": "mdb.file",
    "sha_bit": "mdb.file",
}
"""Code of an error that verification reports of a shard that is opened."""


@pytest.mark.parametrize("listed", DAMAGED, ids=lambda d: Path(d["path"]).stem)
def test_noticed_in_time(listed: dict[str, Any]) -> None:
    depth = Depth.STRUCTURE if listed["caught_by"] == "structure" else Depth.CONTENT
    name = Path(listed["path"]).stem
    assert (name in REFUSED) != (name in FOUND)
    if name in REFUSED:
        with pytest.raises(shardcore.FormatError) as caught:
            shardcore.open(DATA / listed["path"], format="mdb")
        assert caught.value.span is not None
        if name in ("header_version", "footer_size"):
            with shardcore.open(DATA / listed["path"], partial=True) as shard:
                assert shard.damage is not None
                assert shard.fields["header.version"] == (3 if name == "header_version" else 2)
                assert shard.explain(33)[-1].name == "version"
        return
    with shardcore.open(DATA / listed["path"], xorbs=XORBS) as shard:
        errors = {f.code: f for f in shard.verify(depth).findings if f.severity is shardcore.Severity.ERROR}
        assert FOUND[name] in errors
        if FOUND[name] == "mdb.walk":
            start = 48 if name == "file_count_huge" else 480
            assert errors["mdb.walk"].span.start == start
            assert shard.explain(start)[-1].error
            shard.load_index()
            assert shard.damage.span.start == start
            kinds = {key.partition(":")[0] for key in shard.objects.keys[:] if key}
            assert "xorb" in kinds or name == "xorb_count_huge"
            assert run(["ls", str(DATA / listed["path"])]) == 3
        elif name == "range_backwards":
            ref = shard.find(BETA)
            assert (ref.state, bool(ref.error)) == (State.DAMAGED, True)
            with pytest.raises(shardcore.FormatError):
                shard.read(ref)
        elif name == "index_not_a_header":
            assert "damaged" in {shard.trace(key).outcome for key in shard.objects.keys[:] if key}
        elif FOUND[name] == "mdb.file":
            with pytest.raises(shardcore.BadChecksum) as caught:
                shard.read(shard.objects.ref(0))
            assert caught.value.span is not None


@pytest.mark.parametrize("name", ["footer_version", "footer_offset", "lookup_past_end", "lookup_offset", "cut_footer"])
def test_a_bad_footer_loses_nothing(name: str) -> None:
    """With `partial`, files are found by walking: the footer only helps."""
    with shardcore.open(DATA / "damaged" / f"{name}.mdb", xorbs=XORBS, partial=True) as shard:
        assert shard.damage is not None
        ref = shard.find(BETA)
        assert len(shard.read(ref)) == 204_000
        assert not shard.verify(Depth.STRUCTURE).ok


def test_a_cut_shard_keeps_what_came_before() -> None:
    data = next((DATA / "cas" / "shard-cache").glob("e74f6896*")).read_bytes()[: 960 + 48 * 4]
    with pytest.raises(shardcore.FormatError):
        shardcore.open(data)
    with shardcore.open(data, xorbs=XORBS, partial=True) as shard:
        keys = [key or "" for key in shard.objects.keys[:]]
        assert len(keys) == 5
        assert all(len(shard.read(shard.find(key))) == shard.find(key).size for key in keys)
        assert {finding.code for finding in shard.verify().findings} == {"mdb.footer", "mdb.walk"}
        assert "footer.version" not in shard.fields


def test_absence_is_not_claimed_behind_a_broken_walk() -> None:
    """Without tables, a key is absent only when the walk reached the bookend."""
    data = bytearray(made_shard(7, 6, 2, 12, tables=False))
    with shardcore.open(BytesSource(bytes(data))) as shard:
        first, last = shard.objects.keys[0], shard.objects.keys[5]
        assert first is not None
        assert last is not None
        with pytest.raises(shardcore.KeyAbsent):
            shard.find("0" * 63 + "1")
    count = 48 + 3 * 8 * 48 + 36
    data[count : count + 4] = b"\xff" * 4  # the number of segments of the fourth file
    with shardcore.open(BytesSource(bytes(data))) as shard:
        assert (shard.find(first).key, shard.trace(last).outcome) == (first, "damaged")
        with pytest.raises(shardcore.FormatError):
            shard.find("0" * 63 + "1")
        assert shard.find("xorb:" + str(shard.objects.keys[3]).removeprefix("xorb:")).kind == "xorb"


def test_missing_xorbs_are_looked_for_once_and_chunks_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, unpacked, unpack = list[str](), list[int](), xorb_file.unpack
    monkeypatch.setattr(xorb_file, "unpack", lambda *given: unpacked.append(given[2]) or unpack(*given))

    class Asked(LocalFolder):
        def open(self, name: str) -> Source:
            asked.append(name)
            return super().open(name)

    with shardcore.open(BytesSource(made_shard(8, 40, 3, 12)), xorbs=Asked(tmp_path)) as shard:
        codes = [finding.code for finding in shard.verify().findings]
    assert codes.count("mdb.xorb-missing") == 3
    assert len(asked) == len(set(asked)) > 0
    with shardcore.create(tmp_path / "s.mdb", format="mdb") as writer:
        for number in range(200):
            writer.add(None, b"%d " % number)
    asked.clear()
    with shardcore.open(tmp_path / "s.mdb", xorbs=Asked(tmp_path / "xorbs")) as shard:
        assert shard.verify().ok
    assert (sorted(unpacked), len(asked)) == ([*range(200)], 3)


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_a_repeated_table_entry_hides_an_object(kind: int) -> None:
    data = bytearray(made_shard(9, 6, 2, 12))
    table = int.from_bytes(data[-200 + 24 + 16 * kind :][:8], "little")
    size = 16 if kind == 2 else 12
    data[table + size : table + 2 * size] = data[table : table + size]
    with shardcore.open(BytesSource(bytes(data))) as shard:
        assert [f.code for f in shard.verify(Depth.INDEX).findings] == ["mdb.table-repeats"]


def test_an_upload_that_states_a_footer_it_lacks(capfd: pytest.CaptureFixture[str]) -> None:
    """It is not damaged: `verify`, `trace` and `get` read it alike."""
    path = CASES / "05-mdb-footer-size-200-but-none" / "footer200-none.mdb"
    key = "007778c4d00b4a98787df428c0d8eb897bd1fc359e49da2c3218c60ac5e5e015"
    with shardcore.open(path) as shard:
        assert (shard.damage, shard.fields["header.footer_size"], shard.why[-11:]) == (None, 200, "upload form")
        assert len(shard.read(shard.find(key))) == 187
        report = shard.verify()
        assert report.ok
        assert [(one.code, one.span) for one in report.findings] == [("mdb.footer-size", shardcore.Span("", 40, 48))]
    assert [run([command, str(path), key]) for command in ("trace", "get")] == [0, 0]
    assert capfd.readouterr().err == ""


def test_a_damaged_footer_is_no_missing_one() -> None:
    data = (CASES / "05-mdb-footer-size-200-but-none" / "footer200-none.mdb").read_bytes()
    for damaged in (data + bytes(1), data + bytes(200), data[:-48]):
        with pytest.raises(shardcore.FormatError):
            shardcore.open(damaged)
        with shardcore.open(damaged, partial=True) as shard:
            assert "mdb.footer" in [one.code for one in shard.verify().findings]


def test_files_that_cannot_have_their_hash_are_errors(tmp_path: Path) -> None:
    """Only a file without segments has the zero hash, with the SHA-256 of no bytes or zeros."""
    data = (CASES / "16-mdb-file-nobody-reads" / "m336.mdb").read_bytes()
    empty = rows(FILE_HEADER, 1, file_flags=0x40000000)
    digests = [bytes(32), from_text(hashlib.sha256().hexdigest()), bytes([1]) * 32]
    named = shard_of(b"".join(empty + rows(FILE_METADATA, 1, sha256=np.frombuffer(one, "u1")) for one in digests), b"")
    for content, expected in ((data, ["mdb.empty-file"] * 2), (named, ["mdb.file-twice"] * 2 + ["mdb.empty-digest"])):
        with shardcore.open(content) as shard:
            report = shard.verify(Depth.STRUCTURE)
            assert not report.ok
            found = [one.code for one in report.findings if one.code != "mdb.mixed-verification"]
            assert sorted(found) == sorted(expected)
    with shardcore.open(data) as shard:
        assert shard.objects[:8].state.tolist().count(State.DAMAGED) == 2


def test_a_file_keeps_nothing_of_the_xorbs_it_was_read_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardcore.formats.mdb.xorbs.MOST_KEPT", 1)
    path = file_of_many_xorbs(tmp_path, count=200, xorbs=3, chunks=2500)
    with shardcore.open(path) as opened:
        ref = opened.find("file:" + "01" * 32)
        tracemalloc.start()
        try:
            with pytest.raises(shardcore.BadChecksum, match="hash of the file"):
                opened.read(ref)
            assert tracemalloc.get_traced_memory()[1] < 5_000_000
        finally:
            tracemalloc.stop()
