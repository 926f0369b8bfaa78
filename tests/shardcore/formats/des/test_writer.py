"""Writing DES shards: one file, and folders into which uid and date route."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

import shardcore
from shardcore.errors import UsageError
from shardcore.operations.extraction import extract_objects
from shardcore.operations.pack import pack
from shardcore.testing import WriterContract

DATA = Path(__file__).parents[3] / "data" / "des"

# The worked example of docs/formats/des.md, row by row.
TINY = bytes.fromhex(
    "44455332 02 000000"  # DES2, version 2
    "68656c6c6f 7368617264"  # hello, shard
    "02000000"  # 2 entries
    "0100 61 00 0800000000000000 0500000000000000 00 0500000000000000 0500000000000000 00000000"
    "0100 62 00 0d00000000000000 0500000000000000 00 0500000000000000 0500000000000000 00000000"
    "44455349 5600000000000000"  # DESI, index size 86
)


class TestDesWriterContract(WriterContract):
    format: ClassVar = "des"
    suffix: ClassVar = ".des"

    def objects(self) -> list[tuple[str | None, bytes]]:
        uids = ["", "a", "a/b.txt", "../../etc/passwd", "zażółć", "x" * 300, "photo.JPG"]
        return [(uid, uid.encode() * number) for number, uid in enumerate(uids)]


class TestWithFacts(TestDesWriterContract):
    options: ClassVar = {"codec": "zstd", "threshold": 600}
    moments: ClassVar = 10

    def facts(self, row: int) -> dict[str, Any]:
        if row % 3 == 0:
            return {"meta": {"n": row, "who": "Żółw", "created_at": "2026-11-03T08:00:00+01:00"}}
        return {"codec": "lz4"} if row % 3 == 1 else {}


class TestFolder(TestDesWriterContract):
    suffix: ClassVar = "/"
    moments: ClassVar = 10
    options: ClassVar = {"date": "2026-11-03", "n_bits": 4, "max_bytes": 1000, "threshold": 1000}

    def test_more_shards_than_files_may_be_open(self, tmp_path: Path) -> None:
        with shardcore.create(f"{tmp_path}/set/", format="des", n_bits=8, date="2026-11-03") as writer:
            writer.add_many(list(map(str, range(600))), [b"%d" % number for number in range(600)])
        assert len(writer.written) == 256
        with shardcore.open(tmp_path / "set") as shard:
            assert all(shard[str(n)] == b"%d" % n for n in (0, 255, 256, 599))


def test_the_worked_example_byte_by_byte(tmp_path: Path) -> None:
    with shardcore.create(tmp_path / "a.des", format="des") as writer:
        assert writer.add_many(["a", "b"], [b"hello", b"shard"]) == ["a", "b"]
    assert (tmp_path / "a.des").read_bytes() == TINY


@pytest.mark.parametrize("name", ["none", "meta", "unicode", "empty", "tiny", "zstd", "lz4", "zstd_l9", "lz4_l9", "v1"])
def test_the_bytes_of_the_reference(tmp_path: Path, name: str) -> None:
    out = repacked(DATA / f"{name}.des", tmp_path, codec_of=name)
    assert out.read_bytes() == (DATA / f"{name}.des").read_bytes()


def repacked(sample: Path, folder: Path, *, codec_of: str, **options: Any) -> Path:
    with shardcore.open(sample) as shard:
        refs = [shard.objects.ref(row) for row in range(len(shard.objects))]
        list(extract_objects(shard, refs, folder / "x"))
    if codec_of.endswith("_l9"):
        options |= {"codec": codec_of.partition("_")[0], "level": 9}
    if codec_of == "v1":
        options |= {"version": "1"}
    done = pack("des", folder / "out.des", manifest=folder / "x/manifest.json", options=options)
    assert done.report.ok
    return folder / "out.des"


def test_big_files_of_the_reference(tmp_path: Path) -> None:
    (sample,) = (DATA / "big").glob("*.des")
    out = repacked(sample, tmp_path, codec_of="none", threshold=2000)
    assert out.read_bytes() == sample.read_bytes()
    theirs = {path.name: path.read_bytes() for path in (DATA / "big/_bigFiles").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "_bigFiles").iterdir()} == theirs


def test_what_becomes_a_big_file(tmp_path: Path) -> None:
    """A content longer than the threshold is stored once and never compressed; an existing file stays."""
    long = b"m" * 1001
    digest = hashlib.sha256(long).hexdigest()
    (tmp_path / "_bigFiles").mkdir()
    there = tmp_path / "_bigFiles" / hashlib.sha256(b"t" * 2000).hexdigest()
    there.write_bytes(b"t" * 2000)
    objects = {"a": long, "b": long, "c": b"m" * 1000, "d": b"t" * 2000}
    with shardcore.create(tmp_path / "x.des", format="des", threshold=1000, codec="zstd") as writer:
        for uid, data in objects.items():
            writer.add(uid, io.BytesIO(data))
    assert [file.path.name for file in writer.written] == [digest, "x.des"]
    with shardcore.open(tmp_path / "x.des") as shard:
        assert [ref.kind for ref in map(shard.find, objects)] == ["bigfile", "bigfile", "object", "bigfile"]
        assert {uid: shard.read(shard.find(uid)) for uid in objects} == objects


def test_long_contents_below_a_high_threshold(tmp_path: Path) -> None:
    data = b"0123456789abcdef" * (5 << 18)
    for codec in ("none", "zstd", "lz4"):
        path = tmp_path / f"{codec}.des"
        with shardcore.create(path, format="des", threshold=1 << 30, codec=codec) as writer:
            writer.add("a", io.BytesIO(data))
            writer.add("b", b"after")
        with shardcore.open(path) as shard:
            assert hashlib.sha256(shard.read(shard.find("a"))).digest() == hashlib.sha256(data).digest()
            assert shard.read(shard.find("b")) == b"after"
            assert shard.verify().findings == ()


def test_what_is_not_compressed(tmp_path: Path) -> None:
    for skip, wanted in ((None, ["none", "zstd", "zstd"]), (".TXT,.xml", ["zstd", "none", "zstd"]), ("", ["zstd"] * 3)):
        options = {} if skip is None else {"skip": skip}
        with shardcore.create(tmp_path / "x.des", format="des", codec="zstd", force=True, **options) as writer:
            writer.add_many(["a.JPG", "b.txt", "c"], [b"a", b"b", b"c"])
            writer.add("a.jpg", b"a", codec="lz4")
        with shardcore.open(tmp_path / "x.des") as shard:
            assert [ref.codec for ref in shard.objects] == [*wanted, "lz4"]


def test_a_folder_is_routed(tmp_path: Path) -> None:
    objects = {str(number): b"x" * 400 for number in range(0, 64, 8)} | {"late": b"y"}
    with shardcore.create(f"{tmp_path}/set/", format="des", n_bits=4, max_bytes=1000, date="2026-11-03") as writer:
        for uid, data in objects.items():
            writer.add(uid, data, **({"created_at": "2026-11-04T23:30:00-05:00"} if uid == "late" else {}))
    names = ("20261103_0_0000", "20261103_0_0001", "20261103_8_0000", "20261103_8_0001", "20261104_5_0000")
    assert sorted(file.path.name for file in writer.written) == [f"{name}.des" for name in names]
    with shardcore.open(tmp_path / "set") as shard:
        for uid, data in objects.items():
            ref = shard.find(uid)
            assert shard.read(ref) == data
            assert not ref.extras.get("meta")
        assert shard.verify().findings == ()


def test_dates_are_kept_where_asked(tmp_path: Path) -> None:
    when = "2026-11-03T08:00:00Z"
    with shardcore.create(tmp_path / "x.des", format="des", keep_date=True) as writer:
        writer.add("a", b"", created_at=when)
        writer.add("b", b"", created_at=when, meta={"created_at": "2020-01-01", "x": 1})
        writer.add("c", b"")
        writer.add("d", b"", created_at=1793692800)
    with shardcore.open(tmp_path / "x.des") as shard:
        metas = [shard.find(uid).extras["meta"] for uid in "abcd"]
    assert metas == [{"created_at": when}, {"created_at": "2020-01-01", "x": 1}, {}, {"created_at": when}]


def test_sidecars_have_checksums(tmp_path: Path) -> None:
    with shardcore.create(tmp_path / "x.des", format="des", sidecar=True, codec="lz4", threshold=100) as writer:
        writer.add("a", b"hello", meta={"created_at": "2026-11-03T09:00:00+01:00"})
        writer.add("b", b"x" * 200)
        plan = writer.plan()
    assert [file.path.name for file in writer.written][1:] == ["x.des", "x.meta"]
    assert [file.size for file in plan.files] == [file.size for file in writer.written]
    tree = json.loads((tmp_path / "x.meta").read_text())
    assert list(tree["index"]) == ["a:2026-11-03T08:00:00Z", "b"]
    assert tree["index"]["b"]["checksum"] == hashlib.sha256(b"x" * 200).hexdigest()
    with shardcore.open(tmp_path / "x.des") as shard:
        assert shard.find("a").extras["checksum"] == hashlib.sha256(b"hello").hexdigest()
        assert shard.verify().findings == ()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"level": 3}, "level requires"),
        ({"codec": "zstd", "level": 23}, "level for zstd must be 1 to 22"),
        ({"codec": "rar"}, "one of none, zstd, lz4"),
        ({"skip": "jpg"}, "with a dot"),
        ({"n_bits": 8}, "require a folder"),
        ({"date": "yesterday"}, "ISO 8601"),
        ({"threshold": "10X"}, "64K or 1M"),
    ],
)
def test_options_are_checked(tmp_path: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        shardcore.create(tmp_path / "x.des", format="des", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("key", "facts", "options", "told"),
    [
        (None, {}, {}, "in/a: .*requires a key"),
        ("x" * 65536, {}, {}, "in/a: the uid has 65,536 bytes"),
        ("\ud800", {}, {}, "in/a: .*cannot be encoded"),
        ("a", {"meta": [1]}, {}, "in/a: meta must be a JSON object"),
        ("a", {"meta": {"x": float("nan")}}, {}, "in/a: the metadata cannot be written as JSON"),
        ("a", {"codec": "rar"}, {}, "codec must be one of"),
        ("a", {"meta": {"x": 1}}, {"version": "1"}, "in/a: version 1 cannot store metadata"),
        ("a", {}, {"version": "1", "threshold": 2}, "in/a has 3 bytes: version 1 has no BigFiles"),
        ("a", {}, {"folder": True}, "in/a has no created_at"),
        ("a", {"created_at": "soon"}, {"folder": True}, "in/a: not a date"),
    ],
)
def test_objects_are_checked(
    tmp_path: Path, key: str | None, facts: dict[str, Any], options: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError, match=told), shardcore.create(tmp_path / "x", format="des", **options) as writer:
        writer.add(key, b"abc", label="in/a", **facts)
    assert list(tmp_path.iterdir()) == []


def test_force_into_a_folder_removes_other_shards(tmp_path: Path) -> None:
    for number, options in ((1, {"sidecar": True}), (2, {"force": True})):
        with shardcore.create(tmp_path / "set", format="des", folder=True, date="2026-11-03", **options) as writer:
            writer.add(str(number), b"x" * 20)
    assert sorted(path.name for path in (tmp_path / "set").iterdir()) == ["20261103_02_0000.des"]
    assert len(writer.output.removed) == 2


@pytest.mark.parametrize("suffix", ["", "/"])
def test_bigfiles_that_are_left_are_counted(tmp_path: Path, suffix: str) -> None:
    out = f"{tmp_path}/out{suffix}" if suffix else str(tmp_path / "out.des")
    options = {"threshold": 10} | ({"date": "2026-01-02"} if suffix else {})
    for name, size in (("kept", 100), ("gone", 200), ("gone too", 300), ("small", 5)):
        (tmp_path / name).write_bytes(name[:1].encode() * size)
    first = pack("des", out, [tmp_path / name for name in ("kept", "gone", "gone too", "small")], options=options)
    assert first.notes == ()
    done = pack("des", out, [tmp_path / name for name in ("kept", "small")], options=options, force=True)
    (note,) = done.notes
    assert "2 BigFiles of 500 bytes that" in note
    assert len(list(tmp_path.glob("**/_bigFiles/*"))) == 3
    again = pack("des", out, [tmp_path / "small"], options=options, force=True)
    assert ("3 BigFiles of 600 bytes" if suffix else "1 BigFile of 100 bytes") in again.notes[0]
