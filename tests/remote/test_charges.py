"""Limits count what came, the log has every request, and slow servers are told."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

import shardcore
from shardcore import errors
from shardcore.cli.program import run
from shardcore.sources.base import ReadPurpose
from shardcore.sources.location import source_of
from shardcore.sources.remote import file
from shardcore.sources.remote import session as remote
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.request_log import RequestLog
from tests.remote.faults import Cut, FaultProxy, burst
from tests.remote.s3 import Place
from tests.remote.servers import RangeServer, StoreServer
from tests.remote.serving import Answer, HttpServer, Request

SWH = Path(__file__).parents[1] / "data" / "swh" / "small.shard"
BIG = bytes(1_000_000)


def test_cut_bodies_are_charged_for_what_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """A range that broke off costs its bytes once, so a limit of the file size reads all of it."""
    monkeypatch.setattr(remote, "FIRST_PAUSE", 0.0)
    with RangeServer({"/a": BIG}) as server, FaultProxy(server.host, [Cut(when=burst(1, 3))]) as proxy:
        tape = RequestLog()
        with source_of(f"{proxy.url}/a", RemoteOptions(limit_fetch=len(BIG)), tape) as source:
            assert source.read(0, len(BIG)) == BIG
            assert proxy.struck
            assert tape.bytes == len(BIG)
            with pytest.raises(errors.BudgetSpent):
                source.check_unchanged()


def test_a_whole_file_is_charged_though_a_part_was_requested(server: RangeServer) -> None:
    server.behave(ranges=False)
    server.put("/a", BIG)
    folder = source_of(server.put("/b", BIG).removesuffix("b"), RemoteOptions(limit_fetch=1_500_000))
    with folder.open("a"), pytest.raises(errors.BudgetSpent):
        folder.open("b")
    folder.close()


def test_listings_are_charged_and_logged() -> None:
    with StoreServer({f"/bucket/{number:04}": b"x" for number in range(2500)}) as store:
        reach = {"endpoint_url": store.url, "anonymous": True, "addressing": "path"}
        tape = RequestLog()
        folder = source_of("s3://bucket/", RemoteOptions(**reach, limit_requests=3), tape)  # type: ignore[arg-type]
        assert len(folder.list()) == 2500
        folder.close()
        store.log.settle()
        logged = [(one.purpose, one.status, one.bytes) for one in tape.records]
        assert logged == [(ReadPurpose.LISTING, 200, seen.sent) for seen in store.log]
        assert tape.bytes == store.log.sent
        first = next(iter(store.log)).sent
        folder = source_of("s3://bucket/", RemoteOptions(**reach, limit_fetch=first - 1))  # type: ignore[arg-type]
        store.log.clear()
        with pytest.raises(errors.BudgetSpent):
            folder.list()
        folder.close()
        assert len(store.log) == 1


@pytest.mark.parametrize(
    ("target", "words"), [("/a", "in a loop of 1 redirect"), ("/a{}", "redirected more than 5 times")]
)
def test_redirects_without_end_are_counted_and_told(
    target: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hops = count()

    def lead(request: Request) -> Answer:
        return Answer(302, {"Location": target.format(next(hops))})

    with HttpServer(lead) as server:
        tape = RequestLog()
        with pytest.raises(errors.RangeRefused, match=words):
            shardcore.open(f"{server.url}/a", tape=tape)
        assert tape.requests == len(server.log)
        assert {one.status for one in tape.records} <= {301, 302}
        assert run(["info", f"{server.url}/a"]) == 4
    assert words in capsys.readouterr().err


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(0, 40)
    monkeypatch.setattr(file, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))


@pytest.mark.usefixtures("slow")
def test_a_slow_server_is_told_and_given_up_on_request(server: RangeServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Below 1 KB/s for 30 seconds a warning is printed; with the flag the command ends."""
    address = server.put("/small.shard", SWH)
    assert run(["info", address]) == 0
    told = capsys.readouterr().err
    assert "is slow: less than 1 KB/s" in told
    assert told.count("small.shard") == 1
    assert run(["info", address, "--give-up-slow"]) == 4
    assert "aborted" in capsys.readouterr().err


def test_old_versions(s3: Place) -> None:
    """`?versionId=` reads that version, also after it was replaced, without requests for neighbours."""
    client = s3.client()
    try:
        client.put_bucket_versioning(Bucket=s3.bucket, VersioningConfiguration={"Status": "Enabled"})
        old = client.put_object(Bucket=s3.bucket, Key="old.shard", Body=SWH.read_bytes())["VersionId"]
        client.put_object(Bucket=s3.bucket, Key="old.shard", Body=b"something else")
    finally:
        client.put_bucket_versioning(Bucket=s3.bucket, VersioningConfiguration={"Status": "Suspended"})
        client.close()
    way = RemoteOptions(endpoint_url=s3.endpoint, access_key=s3.key, secret_key=s3.secret, addressing="path")
    address = f"s3://{s3.bucket}/old.shard?versionId={old}"
    with shardcore.open(address, remote=way) as shard:
        assert (shard.format, shard.source.uri) == ("swh", address)
        assert shard.source.folder is None
    with pytest.raises(shardcore.NotAShard):
        shardcore.open(f"s3://{s3.bucket}/old.shard", remote=way)
    with pytest.raises(errors.RemoteError):
        shardcore.open(f"s3://{s3.bucket}/old.shard?versionId=none", remote=way)
