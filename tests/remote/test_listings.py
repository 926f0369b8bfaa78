"""Listings of stores that answer with anything else: an error of the source, without the words of the server."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest

import shardcore
from shardcore import RemoteOptions
from shardcore.cli.program import run
from shardcore.sources.remote.response import MOST_XML
from shardcore.sources.remote.upload import Upload
from tests.remote.servers import StoreServer
from tests.remote.serving import Answer, HttpServer

SECRET = "the-words-of-the-server"
BOMB = "<!DOCTYPE l [<!ENTITY a '" + "x" * 50_000 + "'>]><ListBucketResult>" + "<Prefix>&a;&a;&a;</Prefix>" * 3000
PAGE = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>{}"
LISTED = "<ListBucketResult><Contents>{}</Contents></ListBucketResult>"
ANSWERS = {
    "a page": f"<html><body>Login, please {SECRET}<br></body></html>".encode(),
    "text": SECRET.encode(),
    "JSON": b'{"keys": ["' + SECRET.encode() + b'"]}',
    "half": f"<ListBucketResult><Contents><Key>{SECRET}</Key>".encode(),
    "no number": LISTED.format(f"<Key>a</Key><Size>{SECRET}</Size>").encode(),
    "no key": LISTED.format(f"<Size>1</Size><ETag>{SECRET}</ETag>").encode(),
    "no size": LISTED.format(f"<Key>{SECRET}</Key>").encode(),
    "bytes": bytes(range(256)) * 20,
    "a bomb in UTF-16": BOMB.encode("utf-16"),
    "a bomb": BOMB.encode(),
    "endless": PAGE.format("<Contents><Key>a</Key><Size>1</Size></Contents></ListBucketResult>").encode(),
    "too long": b"<ListBucketResult><Name>" + b"x" * (2 * MOST_XML),
    "deep": b"<a>" * 200_000,
}


def serving(body: bytes, status: int = 200) -> HttpServer:
    return HttpServer(lambda _: Answer(status, {"Content-Type": "application/xml"}, body))


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_listing_that_is_none(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`ls` ends with one line and exit code 4, in bounded time and memory."""
    with serving(ANSWERS[kind]) as server:
        tracemalloc.start()
        began = time.process_time()
        try:
            code = run(["ls", "s3://bucket/folder/", "--no-sign-request", "--endpoint-url", f"http://{server.host}"])
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    told = capsys.readouterr()
    assert code == 4
    assert told.err.count("\n") == 1
    assert "s3://bucket/folder/" in told.err
    assert SECRET not in told.err + told.out
    assert peak < 8 * MOST_XML
    assert time.process_time() - began < 30


@pytest.mark.parametrize("kind", ["a page", "text", "bytes"])
def test_answers_to_other_requests(kind: str, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(20 << 20))
    for status in (200, 404, 500):
        with serving(ANSWERS[kind], status) as server:
            keys = {"access_key": "a", "secret_key": "b", "endpoint_url": server.url}
            remote = RemoteOptions(**keys, retries=0, patience=1.0)
            with pytest.raises(shardcore.ShardError) as caught:
                shardcore.open("s3://bucket/a.shard", remote=remote)
            assert SECRET not in str(caught.value)
            with pytest.raises(shardcore.ShardError) as caught:
                send(tmp_path / "large", remote)
            assert SECRET not in str(caught.value)


def send(path: Path, options: RemoteOptions) -> None:
    from shardcore.sources.remote.address import parse_address
    from shardcore.sources.remote.session import RemoteSession

    remote = RemoteSession(options)
    try:
        Upload(remote, force=True).send(path, parse_address("s3://bucket/large"))
    finally:
        remote.close()


def test_a_full_page_is_read() -> None:
    with StoreServer() as server:
        for number in range(1000):
            server.put(f"/bucket/{number:04}{'&' * 1000}", b"x")
        remote = RemoteOptions(anonymous=True, endpoint_url=f"http://{server.host}", addressing="path")
        from shardcore.sources.location import folder_of

        folder = folder_of("s3://bucket/", remote)
        try:
            assert len(folder.list()) == 1000
        finally:
            folder.close()
