"""The fault proxy does what each fault says, to the requests that its schedule names, and to no others."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

from tests.remote.client import ask, ask_once, connected, error_code, nothing_left
from tests.remote.faults import (
    CODES,
    Cut,
    Drop,
    Fault,
    FaultProxy,
    Late,
    Mute,
    NoLabel,
    OtherRegion,
    OtherTag,
    Refuse,
    Short,
    Stall,
    Whole,
    WrongRange,
    after,
    again,
    burst,
    seeded,
)
from tests.remote.s3 import Place
from tests.remote.servers import RangeServer
from tests.remote.serving import Request

DATA = bytes(range(256)) * 40


@contextmanager
def proxied(*faults: Fault) -> Iterator[FaultProxy]:
    """A proxy with these faults before a server of `/a`."""
    with RangeServer({"/a": DATA}) as server, FaultProxy(server.host, faults) as proxy:
        yield proxy


def test_without_faults_nothing_changes() -> None:
    """Bytes, status, labels and tags are those of the server; the proxy counts as the server does."""
    with RangeServer({"/a": DATA}) as server, FaultProxy(server.host) as proxy:
        for asked in ("", "3-9", "-9", "99999-"):
            headers = {"range": f"bytes={asked}"} if asked else {"if-match": "x"}
            assert ask_once(proxy.host, "/a", **headers) == ask_once(server.host, "/a", **headers)
        assert ask_once(proxy.host, "/a", "HEAD") == ask_once(server.host, "/a", "HEAD")
        assert proxy.log.sent * 2 == server.log.sent
        server.behave(ranges=False, chunked=True)
        assert ask_once(proxy.host, "/a").body == DATA
        assert not proxy.struck


def test_schedules() -> None:
    """A burst, all after some, a seeded share: by the number of the request, the same each time."""
    numbers = [Request(n, "GET", "/", {}) for n in range(1000)]

    def struck(schedule: object) -> list[int]:
        return [request.number for request in numbers if schedule(request)]  # type: ignore[operator]

    assert struck(burst(2, 3)) == [2, 3, 4]
    assert struck(after(998)) == [998, 999]
    assert struck(again()) == list(range(1, 1000))
    dropped = struck(seeded(0.05))
    assert dropped == struck(seeded(0.05))
    assert dropped != struck(seeded(0.05, seed=2))
    assert 30 <= len(dropped) <= 70


def test_drops() -> None:
    """A dropped request has no answer; the others have."""
    with proxied(Drop(when=burst(0, 1))) as proxy:
        with pytest.raises(http.client.RemoteDisconnected):
            ask_once(proxy.host, "/a")
        assert ask_once(proxy.host, "/a").body == DATA
        assert proxy.struck == [0]
        assert proxy.log.seen[0].status == 0


def test_bodies_that_break_off() -> None:
    """A cut body ends early and says so by its length; a short one hides it, and only its label tells."""
    with proxied(Cut(share=0.25, when=burst(0, 1)), Short(when=burst(1, 1))) as proxy:
        got = ask_once(proxy.host, "/a", range="bytes=0-99")
        assert (got.whole, got.body) == (False, DATA[:25])
        got = ask_once(proxy.host, "/a", range="bytes=0-99")
        assert (got.whole, got.body) == (True, DATA[:99])
        assert got.headers["content-range"] == f"bytes 0-99/{len(DATA)}"
        assert proxy.log.seen[0].sent == 25


def test_stalls() -> None:
    """A stalled body and a mute server send nothing and keep the connection, until the client or the proxy ends."""
    with nothing_left(), proxied(Stall(when=burst(0, 1)), Mute(when=burst(1, 1))) as proxy:
        with connected(proxy.host, 0.2) as connection:
            connection.request("GET", "/a", headers={"range": "bytes=0-99"})
            response = connection.getresponse()
            assert response.read(50) == DATA[:50]
            with pytest.raises(TimeoutError):
                response.read(1)
            assert not proxy.log.seen[0].ended, "still under way"
            response.close()
        deadline = time.monotonic() + 5
        while not proxy.log.seen[0].ended:
            assert time.monotonic() < deadline, "the proxy notices that the client went"
            time.sleep(0.01)
        with pytest.raises(TimeoutError):
            ask_once(proxy.host, "/a", timeout=0.2)
    assert not [thread for thread in threading.enumerate() if "test server" in thread.name]


def test_latency() -> None:
    """Late answers are late, and whole."""
    with proxied(Late(0.2, when=burst(0, 1))) as proxy:
        began = time.monotonic()
        assert ask_once(proxy.host, "/a").body == DATA
        assert time.monotonic() - began >= 0.2


@pytest.mark.parametrize("code", CODES)
def test_errors_of_stores(code: str) -> None:
    """Each is sent with its status and its code in XML, while it lasts."""
    with proxied(Refuse(code, when=burst(1, 2))) as proxy, connected(proxy.host) as connection:
        answers = [ask(connection, "/a") for _ in range(4)]
        assert [got.status for got in answers] == [200, CODES[code][0], CODES[code][0], 200]
        assert error_code(answers[1].body) == code
        assert proxy.struck == [1, 2]


def test_wrong_ranges() -> None:
    """200 for 206; another range than asked, under its true label; the right one under a false label; no label."""
    faults = (
        Whole(when=burst(0, 1)),
        WrongRange(when=burst(1, 1)),
        WrongRange(lie=True, when=burst(2, 1)),
        NoLabel(when=burst(3, 1)),
    )
    with proxied(*faults) as proxy:
        whole, shifted, mislabelled, bare = (ask_once(proxy.host, "/a", range="bytes=0-99") for _ in range(4))
        assert (whole.status, whole.body) == (200, DATA)
        assert (shifted.status, shifted.body) == (206, DATA[16:100])
        assert shifted.headers["content-range"] == f"bytes 16-99/{len(DATA)}"
        assert (mislabelled.status, mislabelled.body) == (206, DATA[:100])
        assert mislabelled.headers["content-range"] == f"bytes 16-115/{len(DATA) + 32}"
        assert (bare.status, bare.body, "content-range" in bare.headers) == (206, DATA[:100], False)


@pytest.mark.parametrize("tag", ['"another"', 'W/"another"', ""])
def test_replaced_objects(tag: str) -> None:
    """Other bytes of the same number under another tag (or date), whatever `If-Match` says."""
    with proxied(OtherTag(tag, when=after(1))) as proxy:
        first = ask_once(proxy.host, "/a", range="bytes=0-99")
        second = ask_once(proxy.host, "/a", range="bytes=0-99", if_match=first.headers["etag"])
        assert second.status == 206
        assert second.headers.get("etag", "") == tag != first.headers["etag"]
        assert second.headers["last-modified"] != first.headers["last-modified"]
        assert second.body == bytes(255 - byte for byte in first.body)


def test_other_regions() -> None:
    """301, 307 and 400 name the region; a request that is signed for it passes."""
    signed = "AWS4-HMAC-SHA256 Credential=x/20261122/eu-central-1/s3/aws4_request, Signature=0"
    for status in (301, 307, 400):
        with proxied(OtherRegion(status=status, to="http://127.0.0.1:1" if status == 307 else "")) as proxy:
            got = ask_once(proxy.host, "/a?x=1")
            assert (got.status, got.headers["x-amz-bucket-region"]) == (status, "eu-central-1")
            assert got.headers.get("location") == ("http://127.0.0.1:1/a?x=1" if status == 307 else None)
            assert error_code(got.body)
            assert ask_once(proxy.host, "/a", authorization=signed).body == DATA


def test_faults_of_some_paths() -> None:
    """A fault of one object leaves the others alone."""
    with proxied(Refuse("AccessDenied", only=".meta")) as proxy:
        assert ask_once(proxy.host, "/a.meta").status == 403
        assert ask_once(proxy.host, "/a").status == 200


def test_s3(s3: Place) -> None:
    """Moto's S3 answers through the proxy as it does alone, listings in pages included; all is counted."""
    s3.put({f"faults/{n}": DATA for n in range(3)})

    def codes(client: object) -> Iterable[object]:
        import botocore.exceptions

        got = client.get_object(Bucket=s3.bucket, Key="faults/0", Range="bytes=-7")  # type: ignore[attr-defined]
        yield got["ContentRange"], got["ETag"], got["Body"].read()
        for asked in ({"Key": "faults/none"}, {"Key": "faults/0", "IfMatch": '"x"'}):
            try:
                client.get_object(Bucket=s3.bucket, **asked)  # type: ignore[attr-defined]
            except botocore.exceptions.ClientError as error:
                yield error.response["Error"]["Code"]
        pages = client.get_paginator("list_objects_v2").paginate(  # type: ignore[attr-defined]
            Bucket=s3.bucket, Prefix="faults/", PaginationConfig={"PageSize": 2}
        )
        yield [[item["Key"] for item in page["Contents"]] for page in pages]

    with s3.counted() as proxy:
        from dataclasses import replace

        straight, through = s3.client(), replace(s3, endpoint=proxy.url).client()
        try:
            assert list(codes(through)) == list(codes(straight))
        finally:
            straight.close()
            through.close()
        assert [one.status for one in proxy.log] == [206, 404, 412, 200, 200]
        assert proxy.log.seen[0].sent == 7
