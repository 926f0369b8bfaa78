"""Stores that files name: nothing is requested from them until you agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import shardcore
from shardcore import RemoteOptions, StoreUntrusted
from shardcore.cli.program import run
from tests.remote.servers import RangeServer
from tests.shardcore.formats.des.made import Stored, shard

Command = Callable[[str, str], list[str]]
COMMANDS: tuple[Command, ...] = (
    lambda uri, _: ["info", uri],
    lambda uri, _: ["tree", uri],
    lambda uri, _: ["ls", uri],
    lambda uri, _: ["get", uri, "7", "--date", "2026-11-03"],
    lambda uri, _: ["trace", uri, "7"],
    lambda uri, _: ["verify", uri],
    lambda uri, out: ["extract", uri, f"{out}/files"],
    lambda uri, out: ["salvage", uri, f"{out}/saved"],
    lambda uri, out: ["convert", uri, f"{out}/made.shard", "--to", "swh"],
    lambda uri, _: ["tombstone", uri, "7", "--dry-run"],
    lambda uri, _: ["ls", uri, "--no-sign-request"],
    lambda uri, _: ["ls", uri, "--region", "eu-west-1"],
)


@pytest.fixture
def named(tmp_path: Path) -> Path:
    folder = tmp_path / "downloaded"
    folder.mkdir()
    return folder


def write_zones(folder: Path, *endpoints: str) -> Path:
    step = 256 // len(endpoints)
    zones = []
    for n, endpoint in enumerate(endpoints):
        place = {"range": {"start": n * step, "end": n * step + step - 1}}
        zones.append({"name": f"zone{n}", "s3": {"bucket": "taken", "endpoint_url": endpoint}} | place)
    path = folder / "zones.yaml"
    path.write_text(json.dumps({"n_bits": 8, "zones": zones}))
    return path


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command("URI", "OUT")[::2]))
def test_no_command_connects_unasked(
    command: Command, named: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder with a zones file sends no request, signed or not, before you agree."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with RangeServer() as server:
        path = write_zones(named, f"http://user:password@{server.host}")
        for uri in (str(named), str(path)):
            assert run(command(uri, str(tmp_path))) in (2, 3)
            told = capsys.readouterr()
            assert "password" not in told.err + told.out
            assert not list(server.log)
    assert not [one for one in tmp_path.rglob("*") if one.is_file() and one != path]


def test_the_refusal_names_store_and_way(named: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_zones(named, "https://a.example.org", "https://b.example.org:9000")
    assert run(["ls", str(named), "--profile", "lab"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "an untrusted store; no request was sent to https://a.example.org, https://b.example.org:9000" in told
    assert "--yes" in told
    assert "--zones FILE" in told
    with pytest.raises(StoreUntrusted) as caught:
        shardcore.open(named, remote=RemoteOptions(profile="lab"))
    assert caught.value.question == ("Connect to https://a.example.org, https://b.example.org:9000 as profile lab?")


@pytest.mark.parametrize("agree", [["--yes"], ["-y"], ["--zones", "{}"], ["--endpoint-url", "http://{}"]])
def test_you_agree(agree: list[str], named: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RangeServer() as server:
        path = write_zones(named, f"http://{server.host}")
        given = [one.format(server.host if "://" in one else path) for one in agree]
        run(["ls", str(named), "--no-sign-request", *given])
        assert "refers to an untrusted store" not in capsys.readouterr().err
        assert list(server.log)


def test_one_store_agreed_to_is_not_another(named: Path) -> None:
    remote = RemoteOptions(anonymous=True, trusted=frozenset(["https://a.example.org"]))
    write_zones(named, "https://a.example.org")
    shardcore.open(named, remote=remote).close()
    write_zones(named, "https://a.example.org", "https://b.example.org")
    with pytest.raises(StoreUntrusted) as caught:
        shardcore.open(named, remote=remote)
    assert caught.value.stores == ("https://b.example.org",)
    write_zones(named, "https://a.example.org.evil.example")
    with pytest.raises(StoreUntrusted):
        shardcore.open(named, remote=remote)


def test_the_terminal_is_asked(
    named: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with RangeServer() as server:
        write_zones(named, f"http://{server.host}")
        for answer, sent in (("", False), ("n\n", False), ("y\n", True)):
            monkeypatch.setattr("sys.stdin", Terminal(answer))
            run(["ls", str(named), "--no-sign-request"])
            told = capsys.readouterr().err
            assert f"Connect to http://{server.host} anonymously? [y/N]" in told
            assert bool(list(server.log)) is sent


class Terminal:
    """Standard input of somebody who answers."""

    def __init__(self, answer: str) -> None:
        self.readline = lambda: answer

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("leads", ["absolute", "above", "link"])
def test_a_zone_elsewhere_is_asked_about(
    leads: str, named: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A zones file opens folders below its own without a question, others after you agree."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "20261103_07_0000.des").write_bytes(shard([Stored(b"7", b"content")]))
    (named / "link").symlink_to(secret)
    path = {"absolute": str(secret), "above": "../secret", "link": "link"}[leads]
    zones = {"n_bits": 8, "zones": [{"name": "a", "range": {"start": 0, "end": 255}, "path": path}]}
    (named / "zones.json").write_text(json.dumps(zones))
    assert run(["get", str(named), "7"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "zones.json refers to an untrusted folder, which was not opened:" in told.err
    assert "--yes" in told.err
    for agree in (["--yes"], ["--zones", str(named / "zones.json")]):
        assert run(["get", str(named), "7", *agree]) == 0
        assert capsys.readouterr().out == "content"
