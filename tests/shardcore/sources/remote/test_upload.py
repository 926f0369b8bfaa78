"""Writing to S3: what is packed, converted and extracted appears in a bucket when it is complete, or not at all."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import ShardError
from shardcore.sources.remote import upload
from shardcore.sources.remote.address import parse_address
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.session import RemoteSession
from tests.remote.faults import Lost
from tests.remote.s3 import Place
from tests.remote.serving import Request

SWH = Path(__file__).parents[3] / "data" / "swh" / "small.shard"


@pytest.fixture
def flags(s3: Place, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    return ["--endpoint-url", s3.endpoint, "--addressing", "path"]


@pytest.fixture
def client(s3: Place) -> Iterator[Any]:
    one = s3.client()
    yield one
    one.close()


def _keys(client: Any, bucket: str, prefix: str) -> list[str]:
    return [each["Key"] for each in client.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", ())]


def test_commands_write_to_a_bucket(
    s3: Place, flags: list[str], client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_bytes(b"hello")
    pack = ["pack", "swh", "s3://shards/up/x.shard", str(tmp_path / "a.txt"), *flags]
    assert run(pack) == 0
    assert capsys.readouterr().out.startswith("s3://shards/up/x.shard  1  ")
    assert run(pack) == 2
    assert "exists; --force" in capsys.readouterr().err
    assert run([*pack, "--force"]) == 0
    assert run(["verify", "s3://shards/up/x.shard", *flags]) == 0
    assert run(["convert", str(SWH), "des", "s3://shards/up/y.des", "--key", "as-is", *flags]) == 0
    assert run(["extract", "s3://shards/up/x.shard", "s3://shards/up/out", *flags]) == 0
    assert len(_keys(client, s3.bucket, "up/out/")) == 2  # the object and the manifest
    options = RemoteOptions(endpoint_url=s3.endpoint, addressing="path")
    with shardcore.open(SWH) as here, shardcore.open("s3://shards/up/y.des", remote=options) as there:
        key = str(here.objects.keys[0])
        assert there.read(there.find(key)) == here.read(here.find(key))
    assert run(["pack", "swh", "https://example.org/x.shard", str(tmp_path / "a.txt")]) == 2


def test_a_lost_answer_to_the_last_request_is_no_failure(
    s3: Place, flags: list[str], client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload, "PART", 5 << 20)
    monkeypatch.setattr("shardcore.sources.remote.session.FIRST_PAUSE", 0.001)
    (tmp_path / "big").write_bytes(random.Random(3).randbytes(11 << 20))
    with s3.counted() as proxy:
        remote = RemoteSession(RemoteOptions(endpoint_url=f"http://{proxy.host}", addressing="path"))
        complete = [0]

        def first(request: Request) -> bool:
            complete[0] += request.method == "POST" and "uploadId" in request.target
            return complete[0] == 1 and request.method == "POST" and "uploadId" in request.target

        proxy.faults = [Lost(when=first)]
        try:
            upload.Upload(remote, force=False).send(tmp_path / "big", parse_address("s3://shards/lost-big"))
        finally:
            remote.close()
        assert proxy.struck
    assert client.head_object(Bucket=s3.bucket, Key="lost-big")["ContentLength"] == 11 << 20
    client.delete_object(Bucket=s3.bucket, Key="lost-big")


def test_large_files_go_in_parts_and_leave_nothing_when_they_fail(
    s3: Place, flags: list[str], client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload, "PART", 5 << 20)
    data = random.Random(1).randbytes(11 << 20)
    (tmp_path / "big").write_bytes(data)
    remote = RemoteSession(RemoteOptions(endpoint_url=s3.endpoint, addressing="path"))
    sender = upload.Upload(remote, force=False)
    try:
        sender.send(tmp_path / "big", parse_address("s3://shards/parts/big"))
        assert client.get_object(Bucket=s3.bucket, Key="parts/big")["Body"].read() == data
        with pytest.raises(ShardError, match="exists"):
            sender.send(tmp_path / "big", parse_address("s3://shards/parts/big"))
        assert not client.list_multipart_uploads(Bucket=s3.bucket).get("Uploads")
        with pytest.raises(ShardError, match="bucket nowhere not found"):
            sender.send(tmp_path / "big", parse_address("s3://nowhere/big"))
    finally:
        remote.close()
        client.delete_object(Bucket=s3.bucket, Key="parts/big")
