"""Samples of the reference writer, hostile samples, and the findings of each verification depth."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest
import zstandard

import shardcore
from shardcore.errors import FormatError, KeyAbsent, UsageError
from shardcore.formats.des import verify
from shardcore.model.budget import budgeted
from shardcore.model.finding import Depth, Severity
from shardcore.model.objects import State
from tests.shardcore.formats.des.made import Stored, random_stored, shard, write

DATA = Path(__file__).parents[3] / "data" / "des"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())
CASES = {case["name"]: case for case in EXPECTED["cases"]}
HOSTILE = {case["path"].removeprefix("hostile/"): case for case in EXPECTED["hostile"]}


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case["name"])
def test_entries(case: dict[str, Any]) -> None:
    with shardcore.open(DATA / case["path"], deleted=True) as shard:
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
                assert (ref.kind, ref.spans[0].source) == ("bigfile", f"_bigFiles/{said['bigfile']}")
            else:
                found = ref.codec, ref.stored_size, ref.spans[0].start
                assert found == (said["codec"], said["stored"], said["offset"])
    with shardcore.open(DATA / case["path"]) as shard:
        for key in case["absent"]:
            with pytest.raises(KeyAbsent):
                shard.find(key)
        tombstoned = [ref for ref in shard.objects if ref.state is State.TOMBSTONED]
        assert [ref.key for ref in tombstoned] == case.get("tombstoned", [])
        for ref in tombstoned:
            with pytest.raises(UsageError, match="GDPR"):
                list(shard.stream(ref))


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
assert sorted(HOSTILE) == sorted([*NOT_OPENED, *ONE_ENTRY_DAMAGED, *READ_AND_REPORTED])


@pytest.mark.parametrize("name", NOT_OPENED)
def test_not_opened(name: str) -> None:
    with pytest.raises(FormatError, match=NOT_OPENED[name]) as caught:
        shardcore.open(DATA / f"hostile/{name}")
    assert caught.value.span is not None
    with shardcore.open(DATA / "hostile" / name, partial=True) as shard:
        assert shard.damage is not None
        assert len(shard.tree.children) >= 2
        assert not shard.verify(Depth.STRUCTURE).ok


@pytest.mark.parametrize("name", ONE_ENTRY_DAMAGED)
def test_one_damaged_entry(name: str) -> None:
    code, text = ONE_ENTRY_DAMAGED[name]
    with shardcore.open(DATA / f"hostile/{name}") as shard:
        ref = shard.objects.ref(0)
        assert ref.state is State.DAMAGED
        assert text in ref.error
        report = shard.verify(Depth.INDEX)
        assert not report.ok
        assert [(f.code, f.span) for f in report.findings if text in f.message] == [(code, shard.file.entries.span(0))]
        if code == "des.entry":
            with pytest.raises(FormatError, match=text):
                shard.read(ref)
        if name == "utf8.des":
            raw = bytes.fromhex(ref.extras["key_hex"])
            assert (ref.key, raw) == (None, shard.file.entries.uid(0))
            assert shard.find(raw.decode("utf-8", "surrogateescape")) == ref
        for row in range(1, len(shard.objects)):
            other = shard.objects.ref(row)
            assert len(shard.read(other)) == other.size


@pytest.mark.parametrize("name", READ_AND_REPORTED)
def test_read_and_reported(name: str) -> None:
    with shardcore.open(DATA / f"hostile/{name}") as shard:
        report = shard.verify()
        assert READ_AND_REPORTED[name] in [f.code for f in report.findings]
        for row in range(len(shard.objects)):
            shard.read(shard.objects.ref(row))


def test_the_last_of_equal_uids_wins() -> None:
    """`find` returns the last of two entries with one uid, `find_all` both."""
    with shardcore.open(DATA / "hostile/duplicate.des") as shard:
        assert shard.find("same").row == 1
        assert [ref.row for ref in shard.find_all("same")] == [0, 1]
        assert shard.find_many(["same", "other"]).tolist() == [1, -1]
        assert shard.trace("same").ref == shard.find("same")


def test_a_partial_index_keeps_its_entries() -> None:
    with shardcore.open(DATA / "hostile/count_huge.des", partial=True) as shard:
        assert [len(shard.read(shard.find(key))) for key in ("one", "two")] == [4, 5]
        with pytest.raises(FormatError, match="not found in the readable entries"):
            shard.find("three")
        assert shard.trace("three").outcome == "damaged"


def _codes(data: bytes | Path, depth: Depth = Depth.CONTENT) -> list[tuple[str, str]]:
    with shardcore.open(data, partial=True) as opened:
        return [(f.severity.value, f.code) for f in opened.verify(depth).findings]


@pytest.mark.parametrize(
    ("changes", "code", "depth"),
    [
        ({"offset": 1 << 40}, "des.entry", Depth.INDEX),
        ({"length": (1 << 64) - 1}, "des.entry", Depth.INDEX),
        ({"codec": 3}, "des.entry", Depth.INDEX),
        ({"uncompressed": 4}, "des.entry", Depth.INDEX),
        ({"compressed": 4}, "des.two-lengths", Depth.INDEX),
        ({"meta": b"[1]"}, "des.entry-text", Depth.INDEX),
        ({"meta": b"{x}"}, "des.entry-text", Depth.INDEX),
        ({"codec": 1}, "des.content", Depth.CONTENT),
        ({"codec": 2}, "des.content", Depth.CONTENT),
        ({"codec": 1, "uncompressed": 1 << 40}, "des.over-limit", Depth.CONTENT),
    ],
)
def test_errors_of_an_entry(changes: dict[str, Any], code: str, depth: Depth) -> None:
    data = shard([Stored(b"good", b"fine"), Stored(b"bad", b"hello", changes=changes)])
    with shardcore.open(data) as opened:
        for reached in Depth:
            report = opened.verify(reached)
            found = [f for f in report.findings if f.code == code]
            assert bool(found) == reached.reaches(depth)
            assert all(f.severity is Severity.ERROR and f.key == "bad" and f.span for f in found)
            assert report.ok == (not found)


def test_large_contents_are_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "DEFAULT_LIMIT", 1000)
    with shardcore.create(tmp_path / "a.des", format="des", codec="zstd") as writer:
        writer.add("large", bytes(50_000))
    with shardcore.open(tmp_path / "a.des") as opened:
        assert opened.verify().findings == ()


def test_notes_and_warnings() -> None:
    assert _codes(shard([one for one in random_stored(5, 60) if not one.big])) == []
    one = Stored(b"a", b"xyz")
    for data, finding in (
        (shard([Stored(b"a", b"x" * 9, changes={"flags": 6})]), ("note", "des.flags")),
        (shard([one, Stored(b"a", b"y")]), ("warning", "des.duplicate-uid")),
        (shard([one], gap=b"..."), ("note", "des.gap")),
        (shard([one, Stored(b"b", b"z", changes={"offset": 9})]), ("warning", "des.overlap")),
        (shard([Stored(b"a", b"xyz", changes={"offset": 5})]), ("warning", "des.offset-in-header")),
        (shard([one], after=b"?"), ("warning", "des.index-trailing")),
        (shard([one], version=1), ("note", "des.version-1")),
    ):
        assert finding in _codes(data)


def test_every_duplicate_is_one_finding() -> None:
    stored_objects = [Stored(b"a"), Stored(b""), Stored(b"a"), Stored(b"b"), Stored(b"a"), Stored(b"")]
    with shardcore.open(shard(stored_objects)) as opened:
        messages = {f.key: f.message for f in opened.verify(Depth.INDEX).findings}
    assert sorted(messages) == ["", "a"]
    assert "entry 4 has the same uid as entry 0, 2" in messages["a"]


def test_uids_have_to_fit_the_file_name(tmp_path: Path) -> None:
    """In a file of shard number 2A every uid has to route there, by some number of bits."""
    right = write(tmp_path, "20261103_2A_0000.des", [Stored(b"42"), Stored(b"298")])
    assert _codes(right) == []
    wrong = write(tmp_path, "20261103_2A_0001.des", [Stored(b"42"), Stored(b"43")])
    assert _codes(wrong) == [("warning", "des.routing")]
    assert _codes(write(tmp_path, "named-otherwise.des", [Stored(b"42"), Stored(b"43")])) == []


def test_a_cut_index() -> None:
    data = bytearray(shard([Stored(b"a", b"x"), Stored(b"b", b"y")]))
    data[10] = 3
    with shardcore.open(bytes(data), partial=True) as opened:
        for depth in Depth:
            (finding,) = [f for f in opened.verify(depth).findings if f.code == "des.index-cut"]
            assert finding.severity is Severity.ERROR


def _claims(folder: Path, payload: bytes, entries: list[bytes]) -> Path:
    """A shard of one payload with these entries behind their uids of 4 bytes."""
    index = struct.pack("<I", len(entries))
    index += b"".join(struct.pack("<H", 4) + b"%04d" % number + entry for number, entry in enumerate(entries))
    (folder / "one.des").write_bytes(b"DES2\x02\0\0\0" + payload + index + b"DESI" + struct.pack("<Q", len(index)))
    return folder / "one.des"


def test_a_bigfile_of_many_entries_is_read_once(tmp_path: Path) -> None:
    content = bytes(1 << 20)
    digest = hashlib.sha256(b"another").hexdigest().encode()
    (tmp_path / "_bigFiles").mkdir()
    (tmp_path / "_bigFiles" / digest.decode()).write_bytes(content)
    entry = struct.pack("<BH", 1, 64) + digest + struct.pack("<QI", len(content), 0)
    with budgeted() as budget, shardcore.open(_claims(tmp_path, b"", [entry] * 100)) as found:
        report = found.verify()
        assert budget.read < 4 * len(content)
    assert sum(one.code == "des.bigfile" for one in report.findings) == 100


def test_a_payload_of_many_entries_is_decoded_once(tmp_path: Path) -> None:
    content = bytes(range(256)) * 4096
    payload = zstandard.compress(content)
    places = [
        struct.pack("<BQQBQQI", 0, 8, len(payload) - n % 2, 1, len(payload) - n % 2, len(content) - n % 3, 0)
        for n in range(600)
    ]
    with budgeted() as budget, shardcore.open(_claims(tmp_path, payload, places)) as found:
        report = found.verify()
        assert budget.expanded <= 2 * len(content)
    wrong = {one.key for one in report.findings if one.code == "des.content"}
    assert wrong == {f"{n:04d}" for n in range(600) if n % 6}


def test_stored_bytes_of_payloads_are_charged(tmp_path: Path) -> None:
    """Overlapping payloads that claim to expand to nothing cost a bounded number of reads."""
    stored, count = bytes(4 << 20), 1000
    place = [struct.pack("<BQQBQQI", 0, 8 + n, len(stored) - n, 1, len(stored) - n, 0, 0) for n in range(count)]
    with budgeted() as budget, shardcore.open(_claims(tmp_path, stored, place)) as found:
        report = found.verify()
        assert budget.read < 1 << 30
    assert "des.unchecked" in {one.code for one in report.findings}
