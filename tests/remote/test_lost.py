"""A server that is lost midway: one line, exit code 4, what came before, and nothing is called damaged."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.operations import recover
from tests.remote.faults import Drop, Fault, FaultProxy, NoListing, Refuse, after, always
from tests.remote.samples import samples
from tests.remote.servers import StoreServer
from tests.shardcore.formats.des.made import Stored, shard

SHARDS, OBJECTS = 30, 3
"""Shards of the data set of these tests, more than four workers may be ahead of the first one; and objects of each."""

Lose = Callable[[int], Fault]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A folder of shards, of which one is damaged: a finding that has to be there."""
    folder, dice = tmp_path_factory.mktemp("many"), random.Random(5)
    for number in range(SHARDS):
        with shardcore.create(folder / f"shard-{number:02}.des", format="des") as writer:
            for key in range(OBJECTS):
                writer.add(f"{number}-{key}", dice.randbytes(3000))
    found = {path.name: path.read_bytes() for path in sorted(folder.glob("*.des"))}
    first = min(found)
    found[first] = b"X" + found[first][1:]
    return found


@contextmanager
def losing(files: Mapping[str, bytes], fault: Fault | None) -> Iterator[tuple[FaultProxy, list[str]]]:
    """A store with files in `s3://b/`, behind a proxy with a fault; and the options that reach it."""
    with StoreServer() as server, FaultProxy(server.host, [fault] if fault else []) as proxy:
        for name, data in files.items():
            server.put(f"/b/{name}", data)
        yield proxy, ["--endpoint-url", proxy.url, "--no-sign-request", "--addressing", "path"]


def dropped(left: int) -> Fault:
    return Drop(when=after(left))


def expired(left: int) -> Fault:
    return Refuse("ExpiredToken", when=after(left))


def outcome(command: list[str], capsys: Capture) -> tuple[int, list[str], list[str]]:
    capsys.readouterr()
    code = run(command)
    told = capsys.readouterr()
    return code, told.out.splitlines(), told.err.splitlines()


@pytest.mark.parametrize("lose", [dropped, expired])
@pytest.mark.parametrize("jobs", ["1", "4"])
def test_verify_of_a_folder_prints_what_it_found(
    lose: Lose, jobs: str, many: dict[str, bytes], capsys: Capture
) -> None:
    with losing(many, None) as (proxy, more):
        assert outcome(["verify", "s3://b/", "--jobs", jobs, *more], capsys)[0] == 1
        requests = len(proxy.log.seen)
    with losing(many, lose(requests * 2 // 3)) as (_, more):
        code, lines, errors = outcome(["verify", "s3://b/", "--jobs", jobs, *more], capsys)
    assert code == 4
    assert [line.partition(": shard")[0] for line in lines] == ["error: des.unreadable"]
    (line,) = errors
    assert f" of {SHARDS} files, " in line
    assert ("source unreachable after" if lose is dropped else "stopped after") in line
    with losing(many, lose(requests * 2 // 3)) as (_, more):
        code, lines, errors = outcome(["verify", "s3://b/", "--jobs", jobs, "--json", *more], capsys)
    report = json.loads(lines[0])
    assert (code, len(lines), len(errors), report["ok"]) == (4, 1, 1, False)
    assert report["stopped_after"].endswith("objects")
    assert [finding["code"] for finding in report["findings"]] == ["des.unreadable"]


def test_a_forbidden_shard_is_a_finding_about_that_shard(many: dict[str, bytes], capsys: Capture) -> None:
    """A listed shard that answers 403 or 404 is one finding; the others are verified."""
    files = {name: data for name, data in many.items() if name != min(many)}
    for code in ("AccessDenied", "NoSuchKey"):
        with losing(files, Refuse(code, when=always, only=max(files))) as (_, more):
            rc, lines, errors = outcome(["verify", "s3://b/", *more], capsys)
        assert (rc, errors) == (1, [])
        assert len([line for line in lines if "des.unreadable" in line and max(files) in line]) == 1
        assert f"{(SHARDS - 2) * OBJECTS} objects" in lines[-1]


def test_a_lost_salvage_keeps_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As of a file that is too large to come whole.
    monkeypatch.setattr(recover, "READ_WHOLE", 0)
    dice = random.Random(6)
    with shardcore.create(tmp_path / "a.des", format="des") as writer:
        for key in range(40):
            writer.add(f"{key}", dice.randbytes(100_000))
    files = {"a.des": (tmp_path / "a.des").read_bytes()}
    with losing(files, dropped(4)) as (proxy, _):
        reach = shardcore.RemoteOptions(endpoint_url=proxy.url, addressing="path", anonymous=True)
        with pytest.raises(shardcore.SourceError) as lost:
            recover.salvage("s3://b/a.des", tmp_path / "out", remote=reach)
    found = lost.value.partial
    assert 0 < len(found.items) < 40
    assert {item.condition.value for item in found.items} <= {"whole", "unchecked"}


@pytest.mark.parametrize("command", [["info"], ["ls"], ["verify"], ["find", "key"], ["ls", "--format", "des"]])
def test_a_prefix_that_is_not_there(command: list[str], capsys: Capture) -> None:
    with losing({"other/a.des": b"x"}, None) as (_, more):
        code, lines, errors = outcome([*command, "s3://b/nothing/", *more], capsys)
    assert (code, lines, errors) == (4, [], ["shardcore: nothing found at s3://b/nothing/"])


def test_without_the_right_to_list(capsys: Capture) -> None:
    """The names of Neuroglancer shards are computed from the keys, or tried."""
    one = samples()["neuroglancer"]
    uri = f"s3://b/{one.target}"
    with losing(one.files, NoListing()) as (_, more):
        assert outcome(["get", uri, one.key, "-o", "-", *more], capsys)[0] == 0
        without = [outcome([*words, *more], capsys) for words in (["info", uri], ["ls", uri], ["verify", uri])]
    with losing(one.files, None) as (_, more):
        whole = [outcome([*words, *more], capsys) for words in (["info", uri], ["ls", uri], ["verify", uri])]
    assert without == whole


def test_a_des_folder_without_the_right_to_list(capsys: Capture) -> None:
    """With date and number of bits, the names of the shards of a uid are computed."""
    first, second = shard([Stored(b"170", b"first")]), shard([Stored(b"42", b"second")])
    files = {"d/20261103_2A_0000.des": first, "d/20261103_2A_0001.des": second}
    given = ["--date", "2026-11-03", "-O", "n_bits=7"]
    with losing(files, NoListing()) as (_, more):
        found = [outcome(["get", "s3://b/d/", uid, *given, *more], capsys) for uid in ("170", "42", "298")]
        code, _, (line,) = outcome(["ls", "s3://b/d/", *given, *more], capsys)
    assert [one[:2] for one in found] == [(0, ["first"]), (0, ["second"]), (1, [])], found
    assert code == 4
    assert "status 403" in line
