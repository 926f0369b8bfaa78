"""Requests to a store: those after the first of a bucket are sent without botocore's client, and look the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from shardcore.sources.remote.address import Address, parse_address
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.response import RangeQuery, Reply
from shardcore.sources.remote.s3 import S3Transport
from tests.remote.faults import FaultProxy, OtherRegion
from tests.remote.servers import StoreServer
from tests.remote.serving import Request

KEYS = ["a", "deep/er/b c", "plus+and%41&=?#", "ü/~(x)!*'", "a//b", "x:y@z,$;"]


@pytest.fixture
def store() -> Iterator[StoreServer]:
    with StoreServer() as server:
        for key in KEYS:
            server.put(f"/bucket/{key}", b"0123456789")
        yield server


@contextmanager
def transport(url: str, **options: object) -> Iterator[S3Transport]:
    keys = {"access_key": "AKIATEST", "secret_key": "secret", "session_token": "token", "region": "eu-west-3"}
    with closing(S3Transport(RemoteOptions(endpoint_url=url, addressing="path", **{**keys, **options}))) as found:  # type: ignore[arg-type]
        yield found


def address(key: str, version: str = "") -> Address:
    return replace(parse_address("s3://bucket/key"), path=key, version=version)


def taken(reply: Reply, where: Address) -> bytes:
    data = b"".join(reply.pieces(where))
    reply.close(whole=True)
    return data


def signature(request: Request, url: str) -> str:
    given = request.headers["authorization"]
    names = given.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    again = AWSRequest("GET", url + request.target, {name: request.headers[name] for name in names})
    again.context = {"timestamp": request.headers["x-amz-date"]}
    auth = S3SigV4Auth(Credentials("AKIATEST", "secret", "token"), "s3", "eu-west-3")
    text = auth.string_to_sign(again, auth.canonical_request(again))
    return given.partition("Signature=")[0] + "Signature=" + str(auth.signature(text, again))


@pytest.mark.parametrize("key", KEYS)
def test_the_second_request_of_a_bucket_asks_as_the_first(store: StoreServer, key: str) -> None:
    with transport(store.url) as way, closing(way.get(RangeQuery(address(key), 0, 1))) as reply:
        etag = reply.headers["etag"]
    asked = RangeQuery(address(key, "v/1+ä"), 2, 5, etag)
    store.log.clear()
    with transport(store.url, requester_pays=True) as way:
        way.get(asked).close()
        first = next(iter(store.log)).request
        store.log.clear()
        way.get(asked).close()
        second = next(iter(store.log)).request
    assert "v%2F1" in second.target
    for name in ("range", "if-match", "x-amz-request-payer", "x-amz-security-token", "user-agent"):
        assert second.headers[name] == first.headers[name]
    assert second.target == first.target
    assert second.headers["authorization"] == signature(second, store.url)


def test_an_anonymous_request_has_no_signature(store: StoreServer) -> None:
    with closing(S3Transport(RemoteOptions(endpoint_url=store.url, addressing="path", anonymous=True))) as way:
        for key in KEYS:
            assert taken(way.get(RangeQuery(address(key), 2, 5)), address(key)) == b"234"
    assert not any("authorization" in seen.request.headers for seen in store.log)


def test_an_error_has_the_code_of_the_store_and_keeps_the_connection(store: StoreServer) -> None:
    with transport(store.url) as way:
        assert taken(way.get(RangeQuery(address("a"), 0, 3)), address("a")) == b"012"
        missing = way.get(RangeQuery(address("nothing"), 0, 3))
        assert (missing.status, missing.code, way.redirects) == (404, "NoSuchKey", 0)
        assert taken(way.get(RangeQuery(address("a"), 3, 5)), address("a")) == b"34"
    assert len(store.log) == 3
    assert store.log.most_connections == 1


@pytest.mark.parametrize("status", [301, 307, 400])
def test_a_bucket_that_moves_is_followed(store: StoreServer, status: int) -> None:
    with FaultProxy(store.host) as proxy, transport(proxy.url) as way:
        way.get(RangeQuery(address("a"), 0, 3)).close()
        proxy.faults = [OtherRegion(status=status)]
        assert taken(way.get(RangeQuery(address("a"), 3, 5)), address("a")) == b"34"
        assert way.redirects >= 1
        assert taken(way.get(RangeQuery(address("a"), 5, 7)), address("a")) == b"56"
        assert way.redirects == 0
