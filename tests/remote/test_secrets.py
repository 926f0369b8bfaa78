"""Credentials and signed queries are in no error, tape, log, name or text of what is open."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import Forbidden, NoSuchObject, ShardError
from shardcore.sources.location import source_of
from shardcore.sources.remote.address import parse_address, shown_address
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.request_log import RequestLog
from tests.remote.servers import RangeServer, RedirectServer, StoreServer

SWH = Path(__file__).parents[1] / "data" / "swh" / "small.shard"
SECRETS = ("topsecret", "s3cr3tKEY", "AKIASECRETSECRET", "t0k3nt0k3n", "hunter2")


KEYS = RemoteOptions(access_key="AKIASECRETSECRET", secret_key="s3cr3tKEY", session_token="t0k3nt0k3n")


def _clean(*texts: object) -> None:
    told = "\n".join(str(text) for text in texts)
    assert not [secret for secret in SECRETS if secret in told]


def test_a_signed_address_is_read_and_never_shown(
    server: RangeServer, capsys: pytest.CaptureFixture[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The query is sent with every request for the file, and is in no output."""
    caplog.set_level(logging.DEBUG)
    query = "X-Amz-Credential=AKIASECRETSECRET&X-Amz-Signature=topsecret"
    address = server.put("/b/small.shard", SWH) + f"?{query}"
    tape = RequestLog()
    with shardcore.open(address, tape=tape) as shard:
        assert shard.source.folder is None  # nobody looks for neighbours: their addresses are not signed
        assert shard.source.name == "small.shard"
        shard.load_index()
        _clean(shard.source.uri, shard.source.identity, tape.lines(), tape.summary(), tape.notes, repr(shard.source))
    assert all(one.request.target.endswith(query) for one in server.log)
    with pytest.raises(NoSuchObject) as caught:
        shardcore.open(address.replace("small", "other"), tape=tape)
    _clean(caught.value, repr(caught.value), tape.lines())
    server.behave(missing=403)
    with pytest.raises(Forbidden) as refused:
        shardcore.open(address.replace("small", "third"), tape=tape)
    _clean(refused.value)
    out = tmp_path / "tape.jsonl"
    assert run(["info", address, "--json", "--tape", str(out)]) == 0
    assert run(["get", address.replace("small", "none"), "key", "--tape", "-"]) == 4
    printed = capsys.readouterr()
    assert json.loads(printed.out.splitlines()[0])["uri"] == address.split("?")[0]
    _clean(printed.out, printed.err, out.read_text())
    _clean(*[record.getMessage() for record in caplog.records if record.name.startswith("shard")])


def test_a_login_in_an_address_is_sent_and_never_shown(server: RangeServer) -> None:
    address = server.put("/small.shard", SWH).replace("http://", "http://me:hunter2@")
    with shardcore.open(address) as shard:
        _clean(shard.source.uri, shard.source.identity, shard.tape.lines())
    assert next(iter(server.log)).request.headers["authorization"].startswith("Basic ")


def test_a_login_goes_to_its_own_server_only(server: RangeServer) -> None:
    """The login is not sent to the target of a redirect, not even later."""
    data = bytes(300_000)
    server.put("/a", data)
    with RedirectServer(server.url) as redirect:
        with source_of(redirect.url.replace("http://", "http://me:hunter2@") + "/a", RemoteOptions()) as opened:
            assert opened.read(200_000, 200_010) == bytes(10)
            assert opened.read(290_000, 290_010) == bytes(10)
        assert next(iter(redirect.log)).request.headers["authorization"].startswith("Basic ")
    assert len(server.log) == 3
    assert not [one for one in server.log if "authorization" in one.request.headers]


def test_keys_are_in_no_text_of_the_options_or_of_errors() -> None:
    _clean(repr(KEYS), str(KEYS), repr(parse_address("https://me:hunter2@host/a?sig=topsecret")))
    with StoreServer() as server:
        options = RemoteOptions(**{**vars(KEYS), "endpoint_url": server.url, "addressing": "path"})
        tape = RequestLog()
        with pytest.raises(ShardError) as caught:
            shardcore.open("s3://bucket/none.shard", remote=options, tape=tape)
        _clean(caught.value, repr(caught.value), tape.lines(), tape.notes)


def test_what_cannot_be_parsed_is_shown_without_secrets_too() -> None:
    _clean(shown_address("https://me:hunter2@host:port/a?X=topsecret"), shown_address("https://h/a?X=topsecret"))
    with pytest.raises(ShardError) as caught:
        shardcore.open("https://me:hunter2@host:port/a?X=topsecret")
    _clean(caught.value)


ADDRESS = "http://me:hunter2@127.0.0.1:9/a.shard?X-Amz-Signature=topsecret"


@pytest.mark.parametrize(
    "command",
    [
        ["undo", ADDRESS],
        ["undo", ADDRESS, "--yes"],
        ["delete", ADDRESS, "key", "--yes"],
        ["append", ADDRESS, "here"],
        ["tombstone", ADDRESS, "key"],
        ["pack", "swh", ADDRESS, "here"],
        ["pack", "swh", "out.shard", ADDRESS],
        ["pack", "swh", "out.shard", "--manifest", ADDRESS],
        ["pack", "bloscpack", "out.blp", "here", "-O", f"metadata={ADDRESS}"],
        ["pack", "bloscpack", "out.blp", "here", "-O", f"metadata=http://me:{'hunter2' * 99}@host/"],
        ["pack", "mdb", "out.mdb", "here", "-O", f"xorbs={ADDRESS}"],
        ["pack", "neuroglancer", "out/", "-O", f"volume={ADDRESS}"],
        ["convert", "here", ADDRESS, "--to", "swh"],
        ["rekey", ADDRESS, "out", "--key", "00"],
        ["get", "here", "--keys", ADDRESS],
        ["get", "here", "key", "-o", ADDRESS],
        ["extract", "here", ADDRESS],
        ["ls", "here", "--tape", ADDRESS],
        ["ls", "here", "--xorbs", ADDRESS],
        ["ls", "here", "there", ADDRESS],
        ["ls", "here", ADDRESS.replace("http", "--http")],
        ["locate", "des", "7", "-O", "date=2026-11-03", "-O", f"zones={ADDRESS}"],
        ["draw", "here", "--svg", ADDRESS],
        ["info", f"./{ADDRESS}"],
    ],
    ids=lambda command: " ".join(command)[:40],
)
def test_no_command_shows_a_secret(
    command: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors that quote an address leave out login and query."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").write_bytes(SWH.read_bytes())
    assert run(command) != 0
    told = capsys.readouterr()
    assert told.err
    _clean(told.out, told.err)
