"""Contents of DES shards: BigFiles, declared sizes, ranges, decoded sources, lookups."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

import shardcore
from shardcore import errors
from shardcore.errors import BadChecksum, ExternalMissing, FormatError, LimitExceeded, ShardError, SourceError
from shardcore.formats.des import shard as opening
from shardcore.formats.des.routing import locate
from shardcore.model.objects import State
from shardcore.progress import stopped_by
from shardcore.sources.memory import BytesSource
from shardcore.testing import CountingSource, check_explained
from tests.shardcore.formats.des.made import Stored, random_stored, shard, write

FILM = b"film" * 1000
DIGEST = hashlib.sha256(FILM).hexdigest()


STORED = [Stored(b"film", FILM, big=True), Stored(b"note", b"small")]


def test_a_bigfile_is_read_whole_and_in_ranges(tmp_path: Path) -> None:
    one = Stored(b"other", FILM, big=True, changes={"hash": DIGEST.upper().encode()})
    path, external = write(tmp_path, "x.des", [*STORED, one]), tmp_path / "_bigFiles" / DIGEST
    shutil.copy(external, tmp_path / "_bigFiles" / DIGEST.upper())
    with shardcore.open(path) as opened:
        ref = opened.find("film")
        assert opened.read(ref) == opened.read(opened.find("other")) == FILM
        assert opened.read_range(ref, 4, 8) == b"film"
        assert opened.read_range(ref, len(FILM) - 2, len(FILM) + 2) == b"lm"
        with pytest.raises(LimitExceeded, match="the range of film exceeds") as caught:
            opened.read_range(ref, 0, 2, limit=1)
        assert caught.value.span == ref.spans[0]
        with opened.bytes_of(ref.spans[0].source) as source:
            assert source.read(0, source.size) == FILM


def test_a_bigfile_of_other_content_or_none(tmp_path: Path) -> None:
    path = write(tmp_path, "x.des", STORED)
    external = tmp_path / "_bigFiles" / DIGEST
    external.write_bytes(FILM[:-1] + b"?")
    with shardcore.open(path) as opened:
        with pytest.raises(BadChecksum):
            opened.read(opened.find("film"))
        external.write_bytes(FILM + b"?")
        with pytest.raises(FormatError, match="4,001 bytes, but the entry declares 4,000"):
            opened.read(opened.find("film"))
        assert [f.code for f in opened.verify().findings] == ["des.bigfile"]
    external.unlink()
    with shardcore.open(path) as opened:
        with pytest.raises(ExternalMissing, match=DIGEST) as caught:
            opened.read(opened.find("film"))
        assert caught.value.span is not None
        assert (opened.trace("film").outcome, opened.read(opened.find("note"))) == ("found", b"small")
        assert [f.code for f in opened.verify().findings] == ["des.bigfile-missing"]
    with shardcore.open(shard(STORED)) as opened:
        assert opened.find("film").state is State.EXTERNAL
        with pytest.raises(ExternalMissing, match="folder of the shard is unknown"):
            opened.read(opened.find("film"))


@pytest.mark.parametrize("what", ["file", "folder"])
def test_links_are_not_followed(tmp_path: Path, what: str) -> None:
    path = write(tmp_path / "shards", "x.des", STORED)
    folder = tmp_path / "shards" / "_bigFiles"
    moved = folder.rename(tmp_path / "elsewhere")
    if what == "folder":
        folder.symlink_to(moved)
    else:
        folder.mkdir()
        (folder / DIGEST).symlink_to(moved / DIGEST)
    with shardcore.open(path) as opened:
        ref = opened.find("film")
        for read in (opened.read, lambda r: opened.read_range(r, 0, 1)):
            with pytest.raises(ExternalMissing, match="link"):
                read(ref)
        with pytest.raises(SourceError):
            opened.bytes_of(ref.spans[0].source)


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
@pytest.mark.parametrize("declared", [0, 499, 501, 1 << 50, (1 << 64) - 1])
def test_the_declared_size_holds(codec: str, declared: int) -> None:
    data = shard([Stored(b"a", b"text " * 100, codec, changes={"uncompressed": declared})])
    with shardcore.open(data) as opened:
        ref = opened.find("a")
        for read in (opened.read, lambda one: b"".join(opened.stream(one))):
            with pytest.raises((FormatError, LimitExceeded)):
                read(ref)
        assert not opened.verify().ok


def test_two_lengths_that_differ() -> None:
    """`length` is read, as by the local reader of the reference; its S3 reader would differ."""
    with shardcore.open(shard([Stored(b"a", b"hello", changes={"compressed": 3})])) as opened:
        assert opened.read(opened.find("a")) == b"hello"
        assert [f.code for f in opened.verify().findings] == ["des.two-lengths"]


def test_long_payloads_stream_in_pieces() -> None:
    content = bytes(range(256)) * (1 << 13) + bytes(20 << 20)
    data = shard([Stored(b"plain", content), Stored(b"zstd", content, "zstd")])
    with shardcore.open(data) as opened:
        for key in ("plain", "zstd"):
            pieces = list(opened.stream(opened.find(key)))
            assert max(map(len, pieces)) <= 1 << 20
            assert b"".join(pieces) == content
        with pytest.raises(LimitExceeded):
            opened.read(opened.find("zstd"), limit=1000)
        with pytest.raises(LimitExceeded):
            opened.read_range(opened.find("plain"), 0, 2000, limit=1000)


def test_decoded_payloads_are_sources() -> None:
    data = shard([Stored(b"a", b"plain"), Stored(b"b", b"text " * 100, "zstd"), Stored(b"c", b"word " * 90, "lz4")])
    with shardcore.open(data) as opened:
        opened.load_index()
        for key, content in (("b", b"text " * 100), ("c", b"word " * 90)):
            place = opened.find(key).spans[0]
            leaf = opened.explain(place.start)[-1]
            assert leaf.decoded == f"@{place.start}-{place.stop}"
            assert opened.bytes_of(leaf.decoded).read(0, len(content)) == content
            assert [(s.start, s.stop) for s in opened.sections_of(leaf.decoded)] == [(0, len(content))]
            check_explained(opened, leaf.decoded)
        assert opened.explain(8)[-1].decoded == ""
        for name in ("@8-13", "@0-5", "@x", "@", "@99999999999999999999-1", "@13-14"):
            with pytest.raises(ShardError):
                opened.bytes_of(name)


def test_overlaps_and_gaps_are_explained() -> None:
    stored_objects = [
        Stored(b"long", b"0123456789" * 10),
        Stored(b"inside", b"", changes={"offset": 20, "length": 10, "compressed": 10, "uncompressed": 10}),
        Stored(b"deeper", b"", changes={"offset": 22, "length": 2, "compressed": 2, "uncompressed": 2}),
        Stored(b"tail", b"abc"),
    ]
    data = shard(stored_objects, gap=b"..")
    with shardcore.open(BytesSource(data, "x.des")) as opened:
        opened.load_index()
        check_explained(opened)
        owners = [opened.explain(offset)[-1].name for offset in (8, 10, 19, 20, 22, 24, 29, 30, 109, 110)]
        assert owners == ["gap", "long", "long", "inside", "deeper", "long", "long", "long", "long", "gap"]
        codes = [f.code for f in opened.verify("index").findings]
        assert (codes.count("des.overlap"), codes.count("des.gap")) == (2, 2)


def _uniform(count: int, size: int = 20) -> bytes:
    return shard([Stored(f"doc-{n:06}".encode(), bytes([n % 256]) * size) for n in range(count)])


@pytest.mark.parametrize(("count", "size", "ranges"), [(50, 20, 1), (300, 1000, 2), (5000, 20, 3)])
def test_ranges_that_are_read_to_open(count: int, size: int, ranges: int) -> None:
    source = CountingSource(_uniform(count, size), "x.des")
    with shardcore.open(source) as opened:
        assert len(source.ranges) == ranges
        opened.load_index()
        opened.runs(0, source.size)
        assert (len(opened.objects[:]), opened.objects.keys[3]) == (count, "doc-000003")
        assert len(source.ranges) == ranges


def test_an_object_is_one_range() -> None:
    stored = [Stored(b"pad", bytes(200_000)), Stored(b"a", b"x" * 5000, "zstd"), Stored(b"empty")]
    stored.append(Stored(b"b", b"12345"))
    source = CountingSource(shard(stored), "x.des")
    with shardcore.open(source) as opened:
        for key, cost in (("a", 1), ("empty", 0), ("b", 1)):
            source.ranges.clear()
            ref = opened.find(key)
            assert source.ranges == []
            assert opened.read(ref) == {"a": b"x" * 5000, "empty": b"", "b": b"12345"}[key]
            assert source.ranges == [(ref.spans[0].start, ref.spans[0].stop)] * cost
        source.ranges.clear()
        assert (opened.read_range(opened.find("pad"), 100, 110), source.ranges) == (bytes(10), [(108, 118)])


def test_the_other_family_is_named() -> None:
    data = b"DESHEAD1" + bytes(100) + b"DESFOOT1" + bytes(64)
    assert "DESHEAD1" in shardcore.detect(data).why
    with pytest.raises(errors.Unsupported, match="DESHEAD1"):
        shardcore.open(data)


def test_bytes_behind_the_entries() -> None:
    data = shard(random_stored(3, 10), after=b"left over")
    with shardcore.open(data) as opened:
        place = opened.file.entries.lost_span
        assert data[place.start : place.stop] == b"left over"
        assert opened.explain(place.start)[-1].name == "after the entries"
        assert "des.index-trailing" in [f.code for f in opened.verify("structure").findings]


def test_a_gigantic_index_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_INDEX", 1000)
    source = CountingSource(_uniform(5000), "x.des")
    with pytest.raises(LimitExceeded, match="index"):
        shardcore.open(source)
    assert sum(stop - start for start, stop in source.ranges) <= 2 * 65536


def test_half_a_shard_is_a_candidate() -> None:
    whole = _uniform(3)
    assert "no footer" in shardcore.detect(whole[:-1]).why
    assert "no magic" in shardcore.detect(b"\0" + whole[1:]).why
    with pytest.raises(errors.NotAShard):
        shardcore.detect(b"\0" * 100)


DATA = Path(__file__).parents[3] / "data" / "des"


def test_trace_of_an_inline_object() -> None:
    with shardcore.open(DATA / "tiny.des") as opened:
        trace = opened.trace("b")
    spans = {step.title: [(s.start, s.stop) for s in step.spans] for step in trace.steps}
    wanted = {"Footer": [(104, 116)], "Header": [(0, 8)], "Count": [(18, 22)], "Walk": [(63, 104), (65, 66)]}
    assert spans.items() >= (wanted | {"Flags": [(66, 67)], "Place": [(67, 100)], "Payload": [(13, 18)]}).items()
    assert [(step.requests, step.bytes) for step in trace.steps] == [(0, 0)] * 7 + [(1, 5)]


def test_trace_of_a_deleted_object() -> None:
    path = DATA / "sidecar" / "20261103_51_0000.des"
    for deleted, cost in ((False, 0), (True, 1)):
        with shardcore.open(path, deleted=deleted) as opened:
            trace = opened.trace("gone")
            assert "GDPR" in next(step for step in trace.steps if step.title == "Sidecar").text
            assert trace.steps[-1].requests == cost


def test_finding_reads_nothing() -> None:
    data = bytearray(shard([Stored(b"a", b"hello", changes={"codec": 9}), Stored(b"b", b"text " * 100, "zstd")]))
    data[17] ^= 0xFF
    with shardcore.open(bytes(data)) as opened:
        assert "codec 9" in opened.find("a").error
        assert opened.find("b").row == 1
        assert [opened.trace(key).outcome for key in "ab"] == ["damaged"] * 2
        with pytest.raises(errors.UsageError):
            opened.find("\ud800")


def test_locate() -> None:
    found = {"uid": "0042", "date": "20261103", "n_bits": 8, "rule": "digits", "number": 42, "hex": "2A"}
    assert locate("0042", date="2026-11-03T00:30:00+02:00") == found | {"names": "20261103_2A_*.des"}
    assert locate("a", date="2026-11-03", n_bits=16)["hex"] == "BE43"
    with pytest.raises(errors.UsageError, match="date"):
        locate("0042")


def test_locate_with_zones(tmp_path: Path) -> None:
    s3 = {"bucket": "docs", "prefix": "des"}
    text = json.dumps({"n_bits": 8, "zones": [{"name": "low", "range": {"start": 0, "end": 127}, "s3": s3}]})
    path = tmp_path / "zones.json"
    path.write_text(text)
    for zones in (text, path, str(path)):
        found = locate("0042", date="2026-11-03", zones=zones)
        assert (found["zone"], found["uri"]) == ("low", "s3://docs/des/")
    assert locate("0200", date="2026-11-03", zones=text)["zone"] is None
    for error, options in (
        (errors.UsageError, {"n_bits": 12, "zones": text}),
        (SourceError, {"zones": tmp_path / "none.json"}),
        (FormatError, {"zones": "{}"}),
    ):
        with pytest.raises(error):
            locate("0042", date="2026-11-03", **options)


def test_all_of_very_many_equal_uids_are_found_without_creating_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with shardcore.open(shard([Stored(b"the same uid", b"x")] * 20_000), format="des") as opened:
        made: list[int] = []
        refs = type(opened.objects).refs
        monkeypatch.setattr(type(opened.objects), "refs", lambda self, rows: made.append(len(rows)) or refs(self, rows))
        found = opened.find_all("the same uid")
        assert (len(found), made) == (20_000, [])
        assert found[-1] == opened.find("the same uid")
        assert sum(made) <= 3
        assert next(iter(found)).row == 0
        assert max(made) <= 1024

        def cancel() -> None:
            raise errors.Cancelled

        with stopped_by(cancel), pytest.raises(errors.Cancelled):
            list(found)
