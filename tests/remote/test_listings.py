"""Listings of stores that answer with anything else: an error of the source, without the words of the server."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from shardcore import RemoteOptions
from shardcore.cli.program import run
from shardcore.sources.remote.cancel import MOST_XML
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
    """A server that answers everything with one body."""
    return HttpServer(lambda _: Answer(status, {"Content-Type": "application/xml"}, body))


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_listing_that_is_none(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the store answers, `ls` ends with one line and code 4, in bounded time and memory."""
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


def test_a_full_page_is_read() -> None:
    """A thousand names of the greatest length are a listing."""
    with StoreServer() as server:
        for number in range(1000):
            server.put(f"/bucket/{number:04}{'&' * 1000}", b"x")
        remote = RemoteOptions(anonymous=True, endpoint_url=f"http://{server.host}", addressing="path")
        from shardcore.sources.where import folder_of

        folder = folder_of("s3://bucket/", remote)
        try:
            assert len(folder.list()) == 1000
        finally:
            folder.close()
