from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.errors import ShardError
from shardcore.model.finding import Depth, Finding, Severity
from shardcore.model.objects import State
from tests.shardcore.formats.bloscpack.chunks import make_chunk, memcpy, sample
from tests.shardcore.formats.bloscpack.files import File

DATA = Path(__file__).parents[3] / "data" / "bloscpack"
EXPECTED = json.loads((DATA / "expected.json").read_text())
CASES = {case["name"]: case for case in EXPECTED["cases"]}
HOSTILE = {case["path"]: case for case in EXPECTED["hostile"]}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_chunks_and_whole_are_as_expected(case: dict[str, Any]) -> None:
    with shardcore.open(DATA / case["path"]) as shard:
        assert len(shard.objects) == case["count"] == len(case["entries"])
        for entry in case["entries"]:
            ref = shard.find(entry["key"])
            assert (ref.size, ref.stored_size, ref.spans[0].start) == (entry["size"], entry["stored"], entry["offset"])
            assert sha256(shard.read(ref)) == entry["sha256"]
        whole = shard.find("all")
        data = shard.read(whole)
        assert (len(data), sha256(data)) == (case["size"], case["sha256"])
        assert b"".join(shard.stream(whole)) == data
        wished = dict(case["header"])
        meta = wished.pop("meta", None)
        if "checksum" in wished:
            assert shard.file.header.checksum.name == wished.pop("checksum")
        if case["version"] == 2:
            assert wished.pop("max_app_chunks") == shard.file.header.max_app_chunks == 0
        assert {name: shard.fields[f"header.{name}"] for name in wished} == wished
        assert (shard.metadata, shard.version) == (case["metadata"], str(case["version"]))
        section = shard.file.metadata
        assert (section is None) == (meta is None)
        if meta is not None:
            assert (section.checksum.name, section.codec) == (meta["checksum"], meta["codec"].lower())
            names = {"meta_size": "size", "max_meta_size": "max", "meta_comp_size": "stored", "meta_level": "level"}
            assert {name: section.values[name] for name in names} == {a: meta[b] for a, b in names.items()}
        trailing = [section.size for section in shard.sections if section.name == "trailing"]
        assert trailing == ([case["trailing"]] if case["trailing"] else [])
        notes = [finding.code for finding in shard.verify().findings if finding.severity is Severity.NOTE]
        assert ("bloscpack.trailing" in notes) == bool(case["trailing"])


@pytest.mark.parametrize("case", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files(case: dict[str, Any]) -> None:
    try:
        shard = shardcore.open(DATA / case["path"])
    except ShardError:
        assert case["must"].startswith("error")
        return
    with shard:
        report = shard.verify()
        assert not report.ok
        for row in range(len(shard.objects)):
            try:
                shard.read(shard.objects.ref(row))
            except ShardError:
                continue


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("flipped", {0}),
        ("truncated", {3}),
        ("ctbytes_huge", {0}),
        ("ctbytes_small", {0}),
        ("nbytes_huge", {0}),
        ("blocksize_zero", {0}),
        ("typesize_zero", {0}),
        ("nchunks_more", {4}),
        ("offset_past", set()),
        ("offset_header", set()),
    ],
)
def test_the_rest_of_a_damaged_file_stays_readable(name: str, broken: set[int]) -> None:
    with shardcore.open(DATA / f"hostile/{name}.blp") as shard, shardcore.open(DATA / "hostile/flipped.blp") as good:
        count = 5 if name == "nchunks_more" else 4
        assert len(shard.objects) == count
        for row in range(count):
            if row in broken:
                with pytest.raises(ShardError):
                    shard.read(shard.objects.ref(row))
            elif row:
                assert shard.read(shard.find(str(row))) == good.read(good.find(str(row)))
            else:
                assert shard.read(shard.find("0"))
        report = shard.verify()
        wrong = {int(f.key) for f in report.findings if f.severity is Severity.ERROR and f.key is not None}
        if name == "nchunks_more":
            broken = {3, 4}  # the header takes the short last chunk for one in the middle
        assert wrong == (broken or {1})
        shard.load_index()
        for row in set() if name in ("flipped", "nbytes_huge", "nchunks_more") else broken:
            assert (shard.objects.ref(row).state, bool(shard.objects.ref(row).error)) == (State.DAMAGED, True)


FIELD_CASES = DATA.parent / "cases"
CHUNKS = [make_chunk(sample(500, n)) for n in range(4)]
FILE = File(CHUNKS, [500] * 4, checksum=2, spare=3)


def findings(data: bytes, depth: Depth = Depth.CONTENT) -> list[Finding]:
    with shardcore.open(data) as shard:
        return list(shard.verify(depth).findings)


def codes(data: bytes, depth: Depth = Depth.CONTENT) -> list[tuple[str, str]]:
    return [(f.severity.value, f.code) for f in findings(data, depth)]


def changed(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def test_each_depth_finds_its_own() -> None:
    data = changed(FILE.write(), 32 + 8 * 4, bytes(8))
    data = changed(data, FILE.places()[2] + 20, b"\xff")
    assert codes(data, Depth.STRUCTURE) == []
    assert codes(data, Depth.INDEX) == [("warning", "bloscpack.spare-slots")]
    assert codes(data) == [("warning", "bloscpack.spare-slots"), ("error", "bloscpack.digest")]


def test_a_digest_error_names_chunk_and_place() -> None:
    found = findings(changed(FILE.write(), FILE.places()[2] + 20, b"\xff"))
    place = FILE.places()[2] + len(CHUNKS[2])
    assert [(f.key, f.span) for f in found] == [("2", shardcore.Span("", place, place + 4))]


def test_damage_without_digests_is_found_by_decompressing() -> None:
    file = File(CHUNKS, [500] * 4, checksum=0)
    assert codes(changed(file.write(), file.places()[1] + 24, b"\xff" * 8)) == [("error", "bloscpack.content")]


@pytest.mark.parametrize(
    ("file", "at", "new", "expected"),
    [
        (File(CHUNKS, [500] * 4, version=2), 24, b"\x01", ("warning", "bloscpack.reserved")),
        (File(CHUNKS, [500] * 4, version=1, offsets=False), 5, b"\x01", ("warning", "bloscpack.reserved")),
        (File(CHUNKS, [500] * 4, offsets=False), 24, b"\x01", ("warning", "bloscpack.spare-slots")),
        (File(CHUNKS, [500] * 4, metadata={}), 32 + 32 + 12, b"x", ("warning", "bloscpack.metadata-room")),
        (File(CHUNKS, [500] * 4, metadata={}), 32 + 8, b"\x01", ("error", "bloscpack.meta-options")),
        (FILE, 12, b"\x05", ("error", "bloscpack.chunk-size")),
        (File(CHUNKS, [500] * 4, trailing=b"xyz"), 0, b"", ("note", "bloscpack.trailing")),
    ],
)
def test_what_is_odd_is_told(file: File, at: int, new: bytes, expected: tuple[str, str]) -> None:
    assert codes(changed(file.write(), at, new)) == [expected]


def test_codecs_that_nobody_decodes_are_not_called_damage() -> None:
    """A snappy chunk may be intact: its content is reported as unchecked."""
    chunk = make_chunk(sample(500))
    snappy = chunk[:2] + bytes([chunk[2] & 0x1F | 2 << 5]) + chunk[3:]
    data = File([memcpy(b"abc"), snappy], [3, 500], header={"chunk_size": -1, "last_chunk": -1}).write()
    with shardcore.open(data) as shard:
        assert "snappy" in shard.objects.ref(1).error
        with pytest.raises(shardcore.Unsupported, match="snappy"):
            shard.read(shard.find("1"))
        assert shard.read(shard.find("0")) == b"abc"
        assert shard.objects[:].state.tolist() == [State.LIVE, State.LIVE]
        report = shard.verify()
        assert [(f.severity, f.code) for f in report.findings] == [(Severity.WARNING, "bloscpack.unchecked")]


def test_a_table_shorter_than_the_counts_say() -> None:
    """Where chunk 0 begins before the end of the table, the counts are wrong."""
    data = FILE.write()
    shorter = data[: 32 + 8 * 5] + data[32 + 8 * 7 :]
    for slot, place in enumerate(FILE.places()[:4]):
        shorter = changed(shorter, 32 + 8 * slot, (place - 16).to_bytes(8, "little"))
    with shardcore.open(shorter) as shard:
        assert shard.read(shard.find("all")) == b"".join(sample(500, n) for n in range(4))
        assert [f.code for f in shard.verify().findings] == ["bloscpack.slots"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../bloscpack/offsets_minus1.blp", ("note", "bloscpack.offsets-unused")),
        ("15-digest-not-compared/b1501.blp", ("error", "bloscpack.digest")),
        ("17-reference-refuses/b969.blp", ("error", "bloscpack.meta-level")),
        ("17-reference-refuses/n843.blp", ("error", "bloscpack.chunk")),
        ("17-reference-refuses/n2516.blp", ("error", "bloscpack.chunk")),
        ("17-reference-refuses/d434.blp", ("warning", "bloscpack.nchunks")),
    ],
)
def test_files_that_the_reference_refuses(name: str, expected: tuple[str, str]) -> None:
    """They are errors; a file from which the reference reads nothing is a warning."""
    assert expected in codes((FIELD_CASES / name).read_bytes())


@pytest.mark.parametrize("nbytes", [0x7FFF0000, 0xF0000000])
@pytest.mark.parametrize("flipped", [0, 1])
def test_checksums_of_chunks_that_claim_too_much_are_compared(nbytes: int, flipped: int) -> None:
    chunk = changed(CHUNKS[0], 4, nbytes.to_bytes(4, "little"))
    header = {"chunk_size": -1, "last_chunk": -1}
    data = File([chunk, CHUNKS[1]], [-1, 500], checksum=1, header=header).write()
    at = data.index(chunk) + len(chunk)
    found = codes(changed(data, at, bytes([data[at] ^ flipped])))
    assert found == [("error", "bloscpack.digest") if flipped else ("warning", "bloscpack.unchecked")]
