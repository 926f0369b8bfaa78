"""Writing to a bucket over real HTTP: several at once, resumed by one listing, ended cleanly, and with plain errors."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.cli.program import run
from tests.remote.faults import CODES, FaultProxy, Lost, Refuse
from tests.remote.s3 import Place
from tests.remote.serving import Request

Capture = pytest.CaptureFixture[str]

COUNT = 24


@pytest.fixture
def proxy(s3: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FaultProxy]:
    """A counting proxy before the store; credentials and the folder for temporary files are in the environment."""
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    with s3.counted() as one:
        yield one


@pytest.fixture
def client(s3: Place) -> Iterator[Any]:
    one = s3.client()
    yield one
    one.close()


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "a.shard"
    dice = random.Random(5)
    with shardcore.create(path, format="swh") as writer:
        for size in range(1000, 1000 + COUNT):
            writer.add(None, dice.randbytes(size))
    return path


def flags(proxy: FaultProxy) -> list[str]:
    return ["--endpoint-url", f"http://{proxy.host}", "--addressing", "path"]


def keys(client: Any, prefix: str) -> set[str]:
    found = client.list_objects_v2(Bucket="shards", Prefix=prefix).get("Contents", ())
    return {each["Key"].removeprefix(prefix) for each in found if "manifest" not in each["Key"]}


def methods(proxy: FaultProxy) -> Counter[str]:
    found = Counter(one.request.method for one in proxy.log)
    proxy.log.seen.clear()
    return found


@pytest.mark.thorough
def test_skip_is_decided_by_one_listing(shard: Path, proxy: FaultProxy, client: Any, capsys: Capture) -> None:
    extract = ["extract", str(shard), "s3://shards/skip/", *flags(proxy)]
    assert run(extract) == 0
    first, second, *others = sorted(keys(client, "skip/"))
    client.delete_object(Bucket="shards", Key=f"skip/{first}")
    client.put_object(Bucket="shards", Key=f"skip/{second}", Body=b"other")
    methods(proxy)
    capsys.readouterr()
    assert run([*extract, "--conflict", "skip"]) == 1
    told = capsys.readouterr()
    assert methods(proxy) == {"PUT": 2, "GET": 2}  # the missing object and a manifest; unfinished uploads, the listing
    lines = told.out.splitlines()
    assert len([line for line in lines if line.endswith("exists already: skipped")]) == len(others)
    assert [line.split()[0] for line in lines if not line.endswith("skipped")] == [f"s3://shards/skip/{first}"]
    assert f"s3://shards/skip/{second} exists already, with 5 bytes instead of" in told.err
    assert client.get_object(Bucket="shards", Key="skip/manifest-2.json")


def test_a_line_is_printed_after_its_put(shard: Path, proxy: FaultProxy, client: Any, capsys: Capture) -> None:
    """When an upload is refused, each printed line is of an object that was uploaded."""
    with shardcore.open(shard) as opened:
        opened.load_index()
        order = [str(opened.objects.ref(row).key) for row in opened.objects.order("offset").tolist()]
    bad = order[COUNT // 2]
    proxy.faults = [Refuse("AccessDenied", only=bad)]
    extract = ["extract", str(shard), "s3://shards/line/", *flags(proxy)]
    assert run(extract) == 4
    told = capsys.readouterr()
    lines = [line.split()[0].rpartition("/")[2] for line in told.out.splitlines()]
    assert lines == order[: COUNT // 2]
    assert set(lines) <= keys(client, "line/")
    assert "stopped after 12 files; --conflict skip skips existing files" in told.err
    assert "may not be written (status 403); ask its owner for write access" in told.err
    proxy.faults = []
    assert run([*extract, "--conflict", "skip"]) == 0
    assert keys(client, "line/") == set(order)


def test_an_answer_that_was_lost_is_no_conflict(shard: Path, proxy: FaultProxy, client: Any) -> None:
    """When the response to a PUT was lost, the next attempt accepts the object that exists."""
    seen: set[str] = set()

    def first(request: Request) -> bool:
        new = request.method == "PUT" and request.path not in seen
        seen.add(request.path)
        return new and len(seen) <= 3

    proxy.faults = [Lost(when=first)]
    assert run(["extract", str(shard), "s3://shards/lost/", *flags(proxy)]) == 0
    assert len(keys(client, "lost/")) == COUNT


@pytest.mark.parametrize("force", [False, True])
def test_a_store_without_conditional_writes_is_named_at_once(
    shard: Path, proxy: FaultProxy, tmp_path: Path, force: bool, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """501 to a condition is reported without another attempt; `--force` writes without it."""
    monkeypatch.setitem(CODES, "NotImplemented", (501, "A header is not implemented."))
    proxy.faults = [Refuse("NotImplemented", when=lambda request: "if-none-match" in request.headers)]
    (tmp_path / "a").write_bytes(b"hello")
    more = ["--force"] if force else []
    pack = ["pack", "swh", f"s3://shards/without{force}/a.shard", str(tmp_path / "a")]
    assert run([*pack, *flags(proxy), *more]) == (0 if force else 4)
    assert methods(proxy)["PUT"] == 1
    error = capsys.readouterr().err
    assert ("does not support conditional writes" in error) is not force
    assert ("--force writes without the condition" in error) is not force
    extract = ["extract", str(shard), f"s3://shards/without{force}/out/", *flags(proxy), *more]
    assert run(extract) == (0 if force else 4)
    assert methods(proxy)["PUT"] <= (COUNT + 1 if force else 16)


def test_what_killed_programs_left_is_reported(proxy: FaultProxy, client: Any, tmp_path: Path, capsys: Capture) -> None:
    for key in ("left/a", "left/b", "other/c"):
        upload = client.create_multipart_upload(Bucket="shards", Key=key)["UploadId"]
        client.upload_part(Bucket="shards", Key=key, UploadId=upload, PartNumber=1, Body=b"x" * 1000)
    scratch = tmp_path / "scratch" / ".shardcore.0123456789ab.part"
    scratch.mkdir()
    (scratch / "file").write_bytes(b"x")
    (tmp_path / "a").write_bytes(b"hello")
    assert run(["pack", "swh", "s3://shards/left/x.shard", str(tmp_path / "a"), *flags(proxy)]) == 0
    assert "unfinished" not in capsys.readouterr().err
    assert not scratch.exists()
    assert run(["extract", str(tmp_path / "a"), "s3://shards/left/", *flags(proxy)]) == 3
    assert "2 unfinished uploads at s3://shards/left/: abort them" in capsys.readouterr().err
    for one in client.list_multipart_uploads(Bucket="shards")["Uploads"]:
        client.abort_multipart_upload(Bucket="shards", Key=one["Key"], UploadId=one["UploadId"])
