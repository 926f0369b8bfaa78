"""What the reference wrote is read right; what it would refuse, or should, comes out as stated in expected.json."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.errors import FormatError, KeyAbsent, ShardError, UsageError
from shardcore.formats.des.shard import DesShard
from shardcore.model.finding import Depth
from shardcore.model.objects import State

DATA = Path(__file__).parents[3] / "data" / "des"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())
CASES = {case["name"]: case for case in EXPECTED["cases"]}
HOSTILE = {case["path"].removeprefix("hostile/"): case for case in EXPECTED["hostile"]}


def _opened(name: str, **options: Any) -> DesShard:
    shard = shardcore.open(DATA / name, **options)
    assert isinstance(shard, DesShard)
    return shard


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case["name"])
def test_entries(case: dict[str, Any]) -> None:
    with _opened(case["path"], deleted=True) as shard:
        assert shard.declared_objects == len(shard.objects) == case["count"]
        assert shard.fields["header.version"] == case["version"]
        for row, said in enumerate(case["entries"]):
            ref = shard.objects.ref(row)
            assert ref == shard.find(said["key"])
            assert (ref.key, ref.extras["meta"], ref.error) == (said["key"], said["meta"], "")
            data = shard.read(ref)
            assert (len(data), hashlib.sha256(data).hexdigest()) == (said["size"], said["sha256"])
            assert ref.size == said["size"]
            if said["bigfile"]:
                assert ref.state is State.EXTERNAL
                assert ref.kind == "bigfile"
                assert ref.spans[0].source == f"_bigFiles/{said['bigfile']}"
            else:
                assert (ref.codec, ref.stored_size, ref.spans[0].start) == (
                    said["codec"],
                    said["stored"],
                    said["offset"],
                )


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case["name"])
def test_absent_and_tombstoned(case: dict[str, Any]) -> None:
    with _opened(case["path"]) as shard:
        for key in case["absent"]:
            with pytest.raises(KeyAbsent):
                shard.find(key)
        for key in case.get("tombstoned", []):
            ref = shard.find(key)
            assert ref.state is State.TOMBSTONED
            with pytest.raises(UsageError, match="GDPR"):
                list(shard.stream(ref))
        tombstoned = [
            ref.key for ref in map(shard.objects.ref, range(len(shard.objects))) if ref.state is State.TOMBSTONED
        ]
        assert tombstoned == case.get("tombstoned", [])


NOT_OPENED = {
    "magic.des": "does not begin with DES2",
    "version3.des": "version 3",
    "reserved.des": "reserved",
    "footer.des": "DESI footer",
    "index_huge.des": "index_size is 9,223,372,036,854,775,808",
    "index_into_header.des": "between header and footer are 99 bytes",
    "count_huge.des": "2 of 4,294,967,295 entries can be read",
    "name_len.des": "its uid of 65,535 bytes ends after the index",
    "truncated.des": "DESI footer",
    "tiny.des": "8 bytes, too few",
}
ONE_ENTRY_DAMAGED = {
    "offset_past.des": ("des.entry", "does not end before the index"),
    "offset_wrap.des": ("des.entry", "does not end before the index"),
    "codec9.des": ("des.entry", "codec 9"),
    "utf8.des": ("des.entry-text", "not UTF-8"),
    "usize_bomb.des": ("des.entry", "uncompressed_size is 1,125,899,906,842,624"),
    "bigfile_escape.des": ("des.entry", "not 64 hex digits"),
    "bigfile_abs.des": ("des.entry", "not 64 hex digits"),
    "meta_list.des": ("des.entry-text", "a JSON list"),
}
READ_AND_REPORTED = {"offset_header.des": "des.offset-in-header", "duplicate.des": "des.duplicate-uid"}


def test_every_hostile_file_has_an_outcome() -> None:
    assert sorted(HOSTILE) == sorted([*NOT_OPENED, *ONE_ENTRY_DAMAGED, *READ_AND_REPORTED])


@pytest.mark.parametrize("name", NOT_OPENED)
def test_not_opened(name: str) -> None:
    with pytest.raises(FormatError, match=NOT_OPENED[name]) as caught:
        _opened(f"hostile/{name}")
    assert caught.value.span is not None
    with shardcore.open(DATA / "hostile" / name, partial=True) as shard:
        assert shard.damage is not None
        assert len(shard.tree.children) >= 2
        assert not shard.verify(Depth.STRUCTURE).ok


@pytest.mark.parametrize("name", ONE_ENTRY_DAMAGED)
def test_one_damaged_entry(name: str) -> None:
    code, text = ONE_ENTRY_DAMAGED[name]
    with _opened(f"hostile/{name}") as shard:
        ref = shard.objects.ref(0)
        assert ref.state is State.DAMAGED
        assert text in ref.error
        report = shard.verify(Depth.INDEX)
        assert not report.ok
        assert [(f.code, f.span) for f in report.findings if text in f.message] == [(code, shard.file.entries.span(0))]
        if code == "des.entry":
            with pytest.raises(FormatError, match=text):
                shard.read(ref)
        for row in range(1, len(shard.objects)):
            other = shard.objects.ref(row)
            assert len(shard.read(other)) == other.size


def test_an_undecodable_uid_is_kept() -> None:
    with _opened("hostile/utf8.des") as shard:
        ref = shard.objects.ref(0)
        assert ref.key is None
        raw = bytes.fromhex(ref.extras["key_hex"])
        assert raw == shard.file.entries.uid(0)
        assert shard.find(raw.decode("utf-8", "surrogateescape")) == ref


@pytest.mark.parametrize("name", READ_AND_REPORTED)
def test_read_and_reported(name: str) -> None:
    with _opened(f"hostile/{name}") as shard:
        report = shard.verify()
        assert READ_AND_REPORTED[name] in [f.code for f in report.findings]
        for row in range(len(shard.objects)):
            shard.read(shard.objects.ref(row))


def test_the_last_of_equal_uids_wins() -> None:
    """`find` returns the last of two entries with one uid, `find_all` both."""
    with _opened("hostile/duplicate.des") as shard:
        assert shard.find("same").row == 1
        assert [ref.row for ref in shard.find_all("same")] == [0, 1]
        assert shard.find_many(["same", "other"]).tolist() == [1, -1]
        assert shard.trace("same").ref == shard.find("same")


def test_a_partial_index_keeps_its_entries() -> None:
    with _opened("hostile/count_huge.des", partial=True) as shard:
        assert [len(shard.read(shard.find(key))) for key in ("one", "two")] == [4, 5]
        with pytest.raises(FormatError, match="not found in the readable entries"):
            shard.find("three")
        assert shard.trace("three").outcome == "damaged"


@pytest.mark.parametrize("name", ["bigfile_escape.des", "bigfile_abs.des"])
def test_a_path_as_hash_is_never_opened(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    original = shardcore.LocalFolder.open

    def noting(self: shardcore.LocalFolder, wanted: str) -> shardcore.FileSource:
        asked.append(wanted)
        return original(self, wanted)

    monkeypatch.setattr(shardcore.LocalFolder, "open", noting)
    with _opened(f"hostile/{name}", deleted=True) as shard:
        ref = shard.objects.ref(0)
        for action in (
            lambda: shard.read(ref),
            lambda: shard.read_range(ref, 0, 1),
            lambda: shard.bytes_of(f"_bigFiles/{ref.extras['hash']}"),
            lambda: shard.bytes_of(ref.spans[0].source),
        ):
            try:
                action()
            except ShardError:
                continue
        shard.trace("big")
        shard.verify()
    assert {name.rpartition(".")[2] for name in asked} <= {"meta"}
