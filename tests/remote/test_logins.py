"""Logins, tokens and headers: sent to their own server, told apart when they are refused, and shown nowhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import CredentialsRefused, Forbidden, Remedy, UsageError
from shardcore.sources.location import source_of
from shardcore.sources.remote.http import headers_for
from shardcore.sources.remote.request_log import RequestLog
from tests.remote.faults import FaultProxy, Refuse
from tests.remote.s3 import Place
from tests.remote.servers import RangeServer, RedirectServer
from tests.remote.serving import Answer, HttpServer, Request

SWH = Path(__file__).parents[1] / "data" / "swh" / "small.shard"
WORD = "hunter2-topsecret"


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("LAB_TOKEN", WORD)

    def write(text: str) -> None:
        (tmp_path / "shardscope").mkdir(exist_ok=True)
        (tmp_path / "shardscope" / "headers.toml").write_text(text)

    return write


def test_a_wrong_login_is_not_a_missing_one(capsys: pytest.CaptureFixture[str]) -> None:
    with HttpServer(lambda _: Answer(401, {"WWW-Authenticate": "Basic"})) as server:
        with pytest.raises(Forbidden, match="without a login") as missing:
            shardcore.open(f"{server.url}/a.shard")
        assert missing.value.remedy is Remedy.LOGIN
        with pytest.raises(CredentialsRefused, match=r"login .* is not accepted") as wrong:
            shardcore.open(f"http://me:{WORD}@{server.host}/a.shard")
        assert wrong.value.remedy is Remedy.OTHER_LOGIN
        assert run(["info", f"http://me:{WORD}@{server.host}/a.shard"]) == 4
    told = capsys.readouterr().err
    assert "check the user and password" in told
    assert WORD not in told


@pytest.mark.parametrize(("pays", "named"), [(False, True), (True, False)])
def test_a_refusal_names_requester_pays_where_it_may_be_that(
    pays: bool, named: bool, s3: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused signed request may need `--requester-pays`, unless it was given."""
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    with FaultProxy(s3.host, [Refuse("AccessDenied")]) as shut:
        flags = ["--endpoint-url", shut.url, "--addressing", "path", *(["--requester-pays"] if pays else [])]
        assert run(["info", "s3://shards/a.shard", *flags]) == 4
    told = capsys.readouterr().err
    assert ("--requester-pays" in told) is named
    assert "ask its owner" in told


def test_headers_of_a_server_go_to_it_alone(
    server: RangeServer, configured: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytes(300_000)
    server.put("/a", data)
    with RedirectServer(server.url) as first:
        configured(f'["{first.url}"]\nX-Api-Key = "${{LAB_TOKEN}}"\nAuthorization = "Bearer ${{LAB_TOKEN}}"\n')
        tape = RequestLog()
        source = source_of(f"{first.url}/a", tape=tape)
        with source:
            assert source.read(200_000, 200_010) == bytes(10)
        sent = next(iter(first.log)).request.headers
        assert (sent["x-api-key"], sent["authorization"]) == (WORD, f"Bearer {WORD}")
        assert run(["info", f"{first.url}/none.shard"]) == 4
    assert len(server.log) >= 2
    assert not [one for one in server.log if {"x-api-key", "authorization"} & set(one.request.headers)]
    assert WORD not in tape.lines() + capsys.readouterr().err


def test_the_file_of_headers_is_checked(configured: Callable[[str], None]) -> None:
    configured('["data.example.org"]\nX-Key = "a ${LAB_TOKEN}"\n')
    assert headers_for(("https", "data.example.org")) == {"X-Key": f"a {WORD}"}
    assert headers_for(("http", "data.example.org")) == {}
    assert headers_for(("https", "data.example.org:8443")) == {}
    for line, words in (
        ('X-Key = "${NOT_SET_ANYWHERE}"', "NOT_SET_ANYWHERE is not set"),
        ('Range = "bytes=0-1"', "cannot be set"),
        ("X-Key = 3", "must be a text"),
        ('X-Key = "a\\nb"', "cannot be sent"),
        ("X-Key", "not valid TOML"),
    ):
        configured(f'["data.example.org"]\n{line}\n')
        with pytest.raises(UsageError, match=words):
            headers_for(("https", "data.example.org"))


def test_a_file_of_the_hub(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`hf://` is read by ranges; the token is sent to the hub, not to where it redirects."""
    server.put("/datasets/owner/name/resolve/v2/data/small.shard", SWH)
    with RedirectServer(server.url) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_TOKEN", WORD)
        tape = RequestLog()
        with shardcore.open("hf://datasets/owner/name@v2/data/small.shard", tape=tape) as shard:
            assert shard.format == "swh"
            assert shard.source.uri == "hf://datasets/owner/name@v2/data/small.shard"
        assert run(["info", f"{hub.url}/datasets/owner/name/blob/v2/data/small.shard"]) == 0
        assert all(one.request.headers["authorization"] == f"Bearer {WORD}" for one in hub.log)
    assert server.log.seen
    assert all(one.request.range and "authorization" not in one.request.headers for one in server.log)
    printed = capsys.readouterr()
    assert WORD not in tape.lines() + printed.out + printed.err


def test_a_signature_of_azure(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A signature for a container opens neighbours, one for a blob that blob alone; neither is printed."""
    folder = data / "neuroglancer" / "skeletons_murmur_gzip"
    query = f"sv=2022-11-02&sr=c&sp=rl&sig={WORD}"
    server = RangeServer()
    files = server.give

    def guarded(request: Request) -> Answer:
        signed = WORD in request.target
        return files(request) if signed else Answer(403, {"x-ms-error-code": "AuthenticationFailed"})

    server.answer = guarded
    with server:
        address = server.put_folder("/container/volume", folder)
        tape = RequestLog()
        with shardcore.open(f"{address}?{query}", tape=tape) as shard:
            assert shard.format == "neuroglancer"
            assert WORD not in tape.lines() + repr(shard)
        blob = f"{address}info?{query.replace('sr=c', 'sr=b')}"
        with pytest.raises(shardcore.NotAShard):
            shardcore.open(blob)
        assert run(["info", f"{address}?{query.replace(WORD, 'wrong')}"]) == 4
    told = capsys.readouterr().err
    assert "signed address; it may have expired" in told
    assert "wrong" not in told
