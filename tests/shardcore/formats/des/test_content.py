"""Promises of contents: BigFiles beside the shard, sizes that hold, ranges, decoded sources."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import shardcore
from shardcore.errors import BadChecksum, ExternalMissing, FormatError, LimitExceeded, ShardError, SourceError
from shardcore.model.objects import State
from shardcore.sources.memory import BytesSource
from shardcore.testing import check_explained
from tests.shardcore.formats.des.made import Stored, shard, write

FILM = b"film" * 1000
DIGEST = hashlib.sha256(FILM).hexdigest()


def _film(folder: Path) -> Path:
    return write(folder, "x.des", [Stored(b"film", FILM, big=True), Stored(b"note", b"small")])


def test_a_bigfile_is_read_whole_and_in_ranges(tmp_path: Path) -> None:
    with shardcore.open(_film(tmp_path)) as opened:
        ref = opened.find("film")
        assert opened.read(ref) == FILM
        assert opened.read_range(ref, 4, 8) == b"film"
        assert opened.read_range(ref, len(FILM) - 2, len(FILM) + 2) == b"lm"
        with opened.bytes_of(ref.spans[0].source) as source:
            assert source.read(0, source.size) == FILM


def test_a_bigfile_of_other_content(tmp_path: Path) -> None:
    path = _film(tmp_path)
    external = tmp_path / "_bigFiles" / DIGEST
    external.write_bytes(FILM[:-1] + b"?")
    with shardcore.open(path) as opened:
        with pytest.raises(BadChecksum):
            opened.read(opened.find("film"))
        external.write_bytes(FILM + b"?")
        with pytest.raises(FormatError, match="4,001 bytes, but the entry declares 4,000"):
            opened.read(opened.find("film"))
        assert [f.code for f in opened.verify().findings] == ["des.bigfile"]


def test_a_missing_bigfile_is_an_error_for_itself(tmp_path: Path) -> None:
    path = _film(tmp_path)
    (tmp_path / "_bigFiles" / DIGEST).unlink()
    with shardcore.open(path) as opened:
        with pytest.raises(ExternalMissing, match=DIGEST) as caught:
            opened.read(opened.find("film"))
        assert caught.value.span is not None
        assert opened.read(opened.find("note")) == b"small"
        assert [f.code for f in opened.verify().findings] == ["des.bigfile-missing"]


@pytest.mark.parametrize("what", ["file", "folder"])
def test_links_are_not_followed(tmp_path: Path, what: str) -> None:
    path = _film(tmp_path / "shards")
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


def test_bytes_have_no_bigfiles() -> None:
    with shardcore.open(shard([Stored(b"film", FILM, big=True)])) as opened:
        assert opened.find("film").state is State.EXTERNAL
        with pytest.raises(ExternalMissing, match="folder of the shard is unknown"):
            opened.read(opened.find("film"))


def test_an_upper_case_hash(tmp_path: Path) -> None:
    one = Stored(b"film", FILM, big=True, changes={"hash": DIGEST.upper().encode()})
    path = write(tmp_path, "x.des", [one])
    (tmp_path / "_bigFiles" / DIGEST).rename(tmp_path / "_bigFiles" / DIGEST.upper())
    with shardcore.open(path) as opened:
        assert opened.read(opened.find("film")) == FILM


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
@pytest.mark.parametrize("declared", [0, 499, 501, 1 << 50, (1 << 64) - 1])
def test_the_declared_size_holds(codec: str, declared: int) -> None:
    data = shard([Stored(b"a", b"text " * 100, codec, changes={"uncompressed": declared})])
    with shardcore.open(data) as opened:
        ref = opened.find("a")
        with pytest.raises((FormatError, LimitExceeded)):
            opened.read(ref)
        with pytest.raises((FormatError, LimitExceeded)):
            b"".join(opened.stream(ref))
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


def test_rows_that_are_none() -> None:
    with shardcore.open(shard([Stored(b"a"), Stored(b"b")])) as two, shardcore.open(shard([Stored(b"a")])) as one:
        with pytest.raises(shardcore.UsageError):
            one.read(two.find("b"))
        with pytest.raises(IndexError):
            one.objects.ref(1)


def test_a_broken_source_is_a_source_error(tmp_path: Path) -> None:
    """A file that shrinks while it is open leaves the shard usable."""
    path = write(tmp_path, "x.des", [Stored(b"pad", bytes(200_000)), Stored(b"a", b"y" * 9)])
    with shardcore.open(path) as opened:
        path.write_bytes(path.read_bytes()[:1000])
        with pytest.raises(SourceError):
            opened.read(opened.find("a"))
        assert opened.read_range(opened.find("pad"), 0, 9) == bytes(9)


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
        first, second, third = "long", "inside", "deeper"
        assert owners == ["gap", first, first, second, third, first, first, first, first, "gap"]
        codes = [f.code for f in opened.verify("index").findings]
        assert codes.count("des.overlap") == 2
        assert codes.count("des.gap") == 2
