"""Addresses: what people paste, and what becomes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shardcore.errors import SourceError, UsageError
from shardcore.sources.remote.address import Address, is_address, parse_address


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
    ],
)
def test_parse(text: str, shown: str, folder: bool) -> None:
    """The shown form has no query, login or fragment; `precomputed://` names a folder."""
    address = parse_address(text)
    assert (address.shown, address.is_folder) == (shown, folder)


@pytest.mark.parametrize("text", ["ftp://host/a", "s3://", "s3://key:secret@bucket/a", "https://", "http://host:x/"])
def test_what_is_no_address(text: str) -> None:
    """Other schemes and half addresses are refused, without repeating what may be secret."""
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
    """The web address of an object tells its bucket, key and region; one with a query is left as it is."""
    assert parse_address(text).store == Address(scheme, bucket, key, region=region)
    assert parse_address(text + "?X-Amz-Signature=1").store is None


def test_neighbours_stay_inside() -> None:
    """A name leads to a neighbour, and never out of the folder; the query stays behind."""
    folder = parse_address("https://host/a/b.des?token=1").folder
    assert folder.shown == "https://host/a/"
    assert folder.inside("c d/e").url == "https://host/a/c%20d/e"
    assert folder.parent == parse_address("https://host/")
    assert parse_address("https://host/").parent is None
    for name in ("../x", "/x", "a//b", ""):
        with pytest.raises(SourceError):
            folder.inside(name)


def test_local_files_load_no_network() -> None:
    """`import shardcore`, and opening a local file, load neither boto3 nor urllib3."""
    sample = Path(__file__).parents[3] / "data" / "swh" / "one.shard"
    code = f"import shardcore, sys; shardcore.open({str(sample)!r}).close(); "
    code += "sys.exit(any(name in sys.modules for name in ('boto3', 'botocore', 'urllib3')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("value", "there"),
    [
        ("s3://b/k", True),
        (" HTTPS://h/k", True),
        ("ftp://h/k", True),
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
    """One rule for library, command line and window: a scheme other than file, at the beginning."""
    assert is_address(value) is there
