"""Answers are the bytes that were asked for, of the very file that was opened; and what is told where they are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import Forbidden, HostUnknown, NoSuchObject, RangeRefused, SourceChanged, SourceError
from shardcore.shards.opening import source_of
from shardcore.sources.remote.options import RemoteOptions
from tests.remote.contents import Held
from tests.remote.servers import RangeServer, StoreServer

DATA = Path(__file__).parents[3] / "data"
SWH = DATA / "swh" / "medium.shard"
BIG = bytes(range(253)) * 2000


def test_nothing_but_ranges_is_asked_for_and_every_one_is_pinned(server: RangeServer) -> None:
    """Opening is one GET without HEAD; further requests carry the strong ETag of the first."""
    with source_of(server.put("/a", BIG)) as source:
        assert source.size == len(BIG)
        source.read_last(10)
    first, second = [one.request for one in server.log]
    assert (first.method, first.range, "if-match" in first.headers) == ("GET", "0-65535", False)
    assert second.headers["if-match"] == server.contents["/a"].etag
    assert second.range == f"{len(BIG) - 10}-{len(BIG) - 1}"  # never a range from the end: not all servers know it


@pytest.mark.parametrize("manners", [{"etag": "weak"}, {"etag": "none"}, {"etag": "none", "modified": False}])
def test_files_without_a_strong_tag_are_compared(manners: dict[str, object], server: RangeServer) -> None:
    """By the weak ETag, else by date and size."""
    server.behave(**manners)
    address = server.put("/a", BIG)
    with source_of(address) as source:
        assert source.read(100_000, 100_100) == BIG[100_000:100_100]
        server.put("/a", Held(BIG[::-1] + b"x"))
        with pytest.raises(SourceChanged):
            source.read(200_000, 200_100)


def test_servers_without_ranges(server: RangeServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.behave(ranges=False)
    with source_of(server.put("/a", BIG)) as source:
        assert source.read(300_000, 300_100) == BIG[300_000:300_100]
        assert len(server.log) == 1
    server.behave(chunked=True)
    with source_of(server.put("/b", BIG)) as source:
        assert source.size == len(BIG)
    server.behave(chunked=False)
    large = server.put("/c", bytes(300_000))
    assert run(["info", large, "--limit-fetch", "200000"]) == 4
    assert "ranges and returns the whole file of 300,000 bytes" in capsys.readouterr().err


def test_packed_answers(server: RangeServer) -> None:
    info = json.dumps({"a": "b" * 1000}).encode()
    address = server.put("/set/info", info)
    server.put("/set/a.shard", SWH)
    for how in ("stored", "sent"):
        server.behave(gzip=how)
        folder = source_of(address.removesuffix("info"))
        assert folder.read("info", 10_000) == info
        with pytest.raises(RangeRefused, match="gzip"):
            folder.open("a.shard")
        folder.close()


def test_an_empty_file_is_no_shard(server: RangeServer, capsys: pytest.CaptureFixture[str]) -> None:
    """The server answers 416 to the first range."""
    assert run(["info", server.put("/empty.shard", b"")]) == 3
    assert "is empty" in capsys.readouterr().err


def test_a_forbidden_neighbour_is_absent_and_told_once(server: RangeServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Stores without the right to list answer 403 for missing files."""
    server.behave(missing=403)
    name = "20261103_51_0000.des"
    address = server.put(f"/{name}", Path(__file__).parents[3] / "data" / "des" / "sidecar" / name)
    assert run(["verify", address]) in (0, 1)
    told = capsys.readouterr().err.splitlines()
    assert len([line for line in told if ".meta not found, or access is denied" in line]) == 1


def test_a_folder_without_its_slash(server: RangeServer) -> None:
    folder = DATA / "neuroglancer" / "skeletons_murmur_gzip"
    address = server.put_folder("/set", folder)
    with shardcore.open(address) as shard:
        slash = shard.why
        cost = len(server.log)
    server.log.clear()
    with shardcore.open(address.rstrip("/")) as shard:
        assert shard.why == slash
    assert len(server.log) == cost + 1


def test_what_is_no_shard_says_what_it_is(server: RangeServer, capsys: pytest.CaptureFixture[str]) -> None:
    page = server.put("/a.shard", b"\n<!DOCTYPE html>\n<html><body>Please log in</body></html>")
    assert run(["info", page]) == 3
    assert "a.shard is a web page (HTML)" in capsys.readouterr().err
    assert run(["info", f"{server.url}/none/"]) == 4
    assert "/none/ has no info, and a web server has no listings: give the address of a file" in capsys.readouterr().err
    shard = server.put("/b.shard", DATA / "swh" / "medium.shard")
    assert run(["info", shard, "--limit-requests", "1", "--tape", "-"]) == 4
    told = capsys.readouterr().err
    assert "the limit of 1 request is used up" in told
    assert run(["info", f"{server.url}/none.shard", "--tape", "-"]) == 4
    assert "2 requests, 0 B\n" in capsys.readouterr().err
    folder = server.put_folder("/set", DATA / "neuroglancer" / "skeletons_murmur_gzip")
    assert run(["info", folder]) == 0
    assert "bytes not counted, objects not counted (--count)" in capsys.readouterr().out


def test_errors_say_what_to_do(server: RangeServer, capsys: pytest.CaptureFixture[str]) -> None:
    gone = server.url + "/none.shard"
    with pytest.raises(NoSuchObject):
        shardcore.open(gone)
    server.behave(missing=403)
    with pytest.raises(Forbidden):
        shardcore.open(gone)
    assert run(["info", gone]) == 4
    assert capsys.readouterr().err == f"shardcore: {gone} may not be read (status 403)\n"
    with StoreServer() as store:
        store.behave(missing=403)
        flags = ["--endpoint-url", store.url, "--addressing", "path", "--no-sign-request"]
        assert run(["info", "s3://bucket/key", *flags]) == 4
        assert "--profile NAME names credentials" in capsys.readouterr().err
        assert run(["info", "s3://bucket/key", "--profile", "nobody", *flags[:4]]) == 4
        assert "no profile 'nobody'" in capsys.readouterr().err
        assert run(["info", "s3://bucket/key", "--profile", "nobody", *flags]) == 2
    with pytest.raises(SourceError):
        shardcore.open("http://127.0.0.1:9/a.shard", remote=RemoteOptions(retries=0))
    assert issubclass(HostUnknown, SourceError)


def test_the_tape(server: RangeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = server.put("/medium.shard", SWH)
    with shardcore.open(SWH) as shard:
        key = str(shard.objects.keys[5])
    out = tmp_path / "tape"
    assert run(["get", address, key, "-o", str(tmp_path / "o"), "--tape", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    asked = [line for line in lines if not line["cached"]]
    assert len(asked) == len(server.log)
    assert asked[0]["purpose"] == "head"
    assert {line["method"] for line in lines} == {"GET"}
    assert "lookup" in {line["purpose"] for line in asked}
    assert run(["info", address, "--tape", "-"]) == 0
    told = capsys.readouterr()
    assert "a full download would have been 1 request" in told.err
    assert json.loads(told.out.splitlines()[-1])["method"] == "GET"
