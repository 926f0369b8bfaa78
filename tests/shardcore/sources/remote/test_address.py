"""Addresses: what people paste, and what becomes of it."""

from __future__ import annotations

import pytest

from shardcore.errors import SourceError, UsageError
from shardcore.sources.remote.address import Address, is_address, parse_address, plain_address


@pytest.mark.parametrize(
    ("text", "shown", "folder"),
    [
        ("s3://bucket/a/b.shard", "s3://bucket/a/b.shard", False),
        ("s3://bucket", "s3://bucket/", True),
        ("S3://bucket/a/", "s3://bucket/a/", True),
        ("gs://bucket/a", "gs://bucket/a", False),
        ("https://host:8080/a%20b/c.des?sig=1#top", "https://host:8080/a%20b/c.des", False),
        ("https://user:word@host/a b", "https://host/a%20b", False),
        ("precomputed://gs://bucket/volume", "gs://bucket/volume/", True),
        ("precomputed://https://host/volume", "https://host/volume/", True),
        ("gs://bucket/volume|neuroglancer-precomputed:", "gs://bucket/volume/", True),
        ("s3a://bucket/a", "s3://bucket/a", False),
        ("arn:aws:s3:::bucket/a b/c", "s3://bucket/a b/c", False),
        ("arn:aws-cn:s3:::bucket", "s3://bucket/", True),
        ("https://b.s3.amazonaws.com/k?versionId=aB1._-", "https://b.s3.amazonaws.com/k?versionId=aB1._-", False),
        ("s3://bucket/k?part", "s3://bucket/k?part", False),
        ("hf://owner/name/a b.shard", "hf://owner/name/a%20b.shard", False),
        ("hf://datasets/owner/name@main/a", "hf://datasets/owner/name/a", False),
        ("hf://spaces/owner/name@v1/", "hf://spaces/owner/name@v1/", True),
        ("https://huggingface.co/datasets/o/n/blob/v1/a/b?download=true", "hf://datasets/o/n@v1/a/b", False),
    ],
)
def test_parse(text: str, shown: str, folder: bool) -> None:
    address = parse_address(text)
    assert (address.shown, address.is_folder) == (shown, folder)


CONSOLE = "console.aws.amazon.com/s3"
GOOGLE = "https://console.cloud.google.com/storage/browser"


@pytest.mark.parametrize(
    ("text", "shown", "region"),
    [
        (f"https://s3.{CONSOLE}/object/b?region=eu-west-1&prefix=a/b%20c", "s3://b/a/b c", "eu-west-1"),
        (
            f"https://us-east-1.{CONSOLE}/object/b?region=eu-west-1&prefix=a&versionId=v.1",
            "s3://b/a?versionId=v.1",
            "eu-west-1",
        ),
        (f"https://s3.{CONSOLE}/buckets/b?region=us-west-2&prefix=a/&tab=objects", "s3://b/a/", "us-west-2"),
        (f"https://eu-west-3.{CONSOLE}/buckets/b/a/", "s3://b/a/", "eu-west-3"),
        (f"https://s3.{CONSOLE}/buckets/b?region=not%20a%20region", "s3://b/", ""),
        (f"{GOOGLE}/b/a/b;tab=objects?project=p&prefix=", "gs://b/a/b/", ""),
        (f"{GOOGLE}/_details/b/a/b%20c.shard;tab=live_object?project=p", "gs://b/a/b c.shard", ""),
        ("https://storage.cloud.google.com/b/a.shard?authuser=1", "gs://b/a.shard", ""),
    ],
)
def test_pages_of_consoles(text: str, shown: str, region: str) -> None:
    address = parse_address(text)
    assert (address.shown, address.region) == (shown, region)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arn:aws:s3:eu-west-1:123:accesspoint/name/object/k", "access points are not supported"),
        ("s3://arn:aws:s3:eu-west-1:123:accesspoint/name/k", "access points are not supported"),
        ("arn:aws:s3-object-lambda:eu-west-1:123:accesspoint/name", "access points are not supported"),
        ("arn:aws:iam::123:role/x", "Resource Name is not supported"),
        (f"https://s3.{CONSOLE}/home?region=eu-west-1", "shows no object or bucket"),
        (GOOGLE, "shows no object or bucket"),
        ("hf://datasets/owner", "hf://[datasets/|spaces/]owner/name"),
        ("https://neuroglancer-demo.appspot.com/#!{}", "open one of them"),
    ],
)
def test_what_is_refused_says_what_to_give(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_address(text)
    assert words in str(caught.value)


def test_where_files_of_a_hub_are() -> None:
    address = parse_address("hf://datasets/o/n@refs/convert/parquet/x/a.shard")
    assert address.url == "https://huggingface.co/datasets/o/n/resolve/refs%2Fconvert%2Fparquet/x/a.shard"
    assert parse_address("hf://o/n/x").url == "https://huggingface.co/o/n/resolve/main/x"
    assert address.server == ("https", "huggingface.co")


def test_versions_are_no_secret_and_signatures_are() -> None:
    old = parse_address("s3://b/a/k?versionId=v1")
    assert (old.path, old.version, old.is_single_file, old.folder.shown) == ("a/k", "v1", True, "s3://b/a/")
    assert plain_address("s3a://b/k?versionId=v1") == "s3://b/k?versionId=v1"
    signed = "https://acc.blob.core.windows.net/c/a?sv=2022&sr={}&sig=hidden"
    blob, container = parse_address(signed.format("b")), parse_address(signed.format("c"))
    assert blob.is_single_file
    assert not container.is_single_file
    assert container.folder.inside("b").url == signed.format("c").replace("/c/a?", "/c/b?")
    assert "?" not in blob.folder.inside("b").url
    assert "hidden" not in f"{container!r}{blob.shown}"
    assert plain_address(signed) == signed
    with pytest.raises(UsageError, match="over TLS only"):
        parse_address(signed.format("b").replace("https:", "http:"))


@pytest.mark.parametrize("text", ["ftp://host/a", "s3://", "s3://key:secret@bucket/a", "https://", "http://host:x/"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_address(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "scheme", "bucket", "key", "region"),
    [
        ("https://bucket.s3.eu-west-1.amazonaws.com/a/b", "s3", "bucket", "a/b", "eu-west-1"),
        ("https://my.bucket.s3.amazonaws.com/a%20b", "s3", "my.bucket", "a b", ""),
        ("https://s3.us-west-2.amazonaws.com/bucket/a", "s3", "bucket", "a", "us-west-2"),
        ("https://s3.amazonaws.com/bucket/a", "s3", "bucket", "a", ""),
        ("https://storage.googleapis.com/bucket/a/", "gs", "bucket", "a/", ""),
    ],
)
def test_web_addresses_of_stores(text: str, scheme: str, bucket: str, key: str, region: str) -> None:
    assert parse_address(text).store == Address(scheme, bucket, key, region=region)
    assert parse_address(text + "?X-Amz-Signature=1").store is None


def test_neighbours_stay_inside() -> None:
    folder = parse_address("https://host/a/b.des?token=1").folder
    assert folder.shown == "https://host/a/"
    assert folder.inside("c d/e").url == "https://host/a/c%20d/e"
    assert folder.parent == parse_address("https://host/")
    assert parse_address("https://host/").parent is None
    for name in ("../x", "/x", "a//b", ""):
        with pytest.raises(SourceError):
            folder.inside(name)


@pytest.mark.parametrize(
    ("value", "there"),
    [
        ("s3://b/k", True),
        (" HTTPS://h/k", True),
        ("ftp://h/k", True),
        ("arn:aws:s3:::b/k", True),
        ("hf://o/n/k", True),
        ("precomputed://gs://b/k", True),
        ("file:///a/b", False),
        ("a/b", False),
        ("notes on http://h/k.txt", False),
        ('{"kvstore": "s3://b/k"}', False),
        ("://x", False),
        (None, False),
    ],
)
def test_what_looks_like_an_address(value: object, there: bool) -> None:
    assert is_address(value) is there
