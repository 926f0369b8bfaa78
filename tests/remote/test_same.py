"""The commands say the same of a remote thing as of a local copy, but for `uri`."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.testing import rounds, sampled
from shardcore.testing.kill_runs import bytes_of
from tests.remote.s3 import Place
from tests.remote.servers import RangeServer, StoreServer

SAMPLES = Path(__file__).parents[2] / "resources" / "samples"
FILES = sorted(
    path.relative_to(SAMPLES).as_posix()
    for path in SAMPLES.rglob("*")
    if path.suffix in (".shard", ".blp", ".mdb", ".des", ".xorb")
    and "damaged" not in path.relative_to(SAMPLES).as_posix()
)
FOLDERS = ("des/archive/", "neuroglancer/hashed/")
COMMANDS = (("info", "--count"), ("ls", "--digest", "sha256"), ("verify",))


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with RangeServer() as server:
        yield server.put_folder("/samples", SAMPLES)


@pytest.fixture(scope="module")
def store() -> Iterator[tuple[str, list[str]]]:
    with StoreServer() as server:
        server.put_folder("/shards/samples", SAMPLES)
        flags = ["--endpoint-url", server.url, "--addressing", "path", "--no-sign-request"]
        yield "s3://shards/samples/", flags


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Any:
    def call(*arguments: str) -> tuple[int, bytes]:
        kept = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(kept, encoding="utf-8", write_through=True))
        code = run(list(arguments))
        sys.stdout.flush()
        return code, kept.getvalue()

    return call


def _without_uri(code: int, text: bytes) -> tuple[int, list[Any]]:
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        line.pop("uri", None)
    return code, lines


def _same(said: Any, local: str, remote: str, flags: list[str], tmp_path: Path) -> None:
    keys: list[str] = []
    for command in COMMANDS:
        here = _without_uri(*said(*command, local, "--json"))
        there = _without_uri(*said(*command, remote, "--json", *flags))
        assert here == there, (command, remote)
        if command[0] == "ls":
            keys = [line["key"] for line in here[1] if line.get("key") and "error" not in line][:3]
            # A file without a key to ask for has nothing but what was deleted.
            assert keys or not any(line["state"] == "live" for line in here[1])
    for key in keys[:1]:
        here = said("trace", local, "--json", "--", key)
        assert here[0] == 0
        assert here == said("trace", remote, "--json", *flags, "--", key)
        assert said("get", local, "--", key) == said("get", remote, *flags, "--", key)
    both = (("here", local, []), ("there", remote, flags))
    assert len({said("extract", uri, str(tmp_path / name), *more)[0] for name, uri, more in both}) == 1
    written = [bytes_of(tmp_path / name) for name in ("here", "there")]
    told = [json.loads(files.pop("manifest.json", b"{}")) for files in written]
    assert written[0] == written[1]
    assert told[0] | {"uri": ""} == told[1] | {"uri": ""}


@pytest.mark.parametrize("name", sampled(FILES, rounds(12, 1), full=False))
def test_a_file_on_a_web_server(name: str, web: str, said: Any, tmp_path: Path) -> None:
    _same(said, str(SAMPLES / name), web + name, [], tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("name", sampled([*FILES, *FOLDERS], 12, keep=FOLDERS, full=False))
def test_a_file_or_folder_in_a_store(name: str, store: tuple[str, list[str]], said: Any, tmp_path: Path) -> None:
    root, flags = store
    _same(said, str(SAMPLES / name), root + name, flags, tmp_path)


def test_a_data_set_on_a_web_server(web: str, said: Any) -> None:
    local, remote = str(SAMPLES / "neuroglancer" / "hashed"), web + "neuroglancer/hashed/"
    with shardcore.open(local) as shard:
        shard.load_index()
        keys = [str(key) for key in shard.objects.keys[:3]]
    for command in (["ls"], ["verify"], *(["trace", "--", key] for key in [*keys, "123456"])):
        first, *rest = command
        flags = ["--json"]
        assert said(first, local, *flags, *rest) == said(first, remote, *flags, *rest)
    assert said("get", local, keys[0]) == said("get", f"precomputed://{remote.rstrip('/')}", keys[0])


@pytest.mark.thorough
def test_samples_in_motos_s3(s3: Place, said: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    paths = [path for path in SAMPLES.rglob("*") if path.is_file() and path.name != "README.md"]
    s3.put({f"same/{path.relative_to(SAMPLES).as_posix()}": path.read_bytes() for path in paths})
    flags = ["--json", "--endpoint-url", s3.endpoint, "--addressing", "path"]
    for name in [*FILES, *FOLDERS]:
        here = _without_uri(*said("info", "--count", "--json", str(SAMPLES / name)))
        assert here == _without_uri(*said("info", "--count", f"s3://{s3.bucket}/same/{name}", *flags)), name
    for name in FOLDERS:
        assert said("ls", "--json", str(SAMPLES / name)) == said("ls", f"s3://{s3.bucket}/same/{name}", *flags)
