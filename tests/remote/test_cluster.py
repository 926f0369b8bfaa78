"""Shards worked on in other threads, processes and machines: the same output, no keys sent, lost workers replaced."""

from __future__ import annotations

import json
import pickle
import threading
from base64 import b64encode
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.errors import BadChecksum, BudgetSpent, Cancelled, ShardError, UsageError
from shardcore.model.finding import Depth
from shardcore.operations.convert_worker import held_objects
from shardcore.progress import stopped_by
from shardcore.shards.task_pool import TaskPool, TaskState, check_encrypted, local_processes
from shardcore.shards.tickets import on_shard
from shardcore.sources.remote.options import RemoteOptions
from tests.remote.cluster import failing, killed_once, not_plain, not_the_second, object_count
from tests.remote.servers import RangeServer
from tests.remote.serving import Answer, Request
from tests.shardcore.formats.des.made import Stored, write

Capture = pytest.CaptureFixture[str]
SAMPLES = Path(__file__).parents[2] / "resources" / "samples"
HASHED = SAMPLES / "neuroglancer" / "hashed"
SETS = [SAMPLES / "des" / "archive", HASHED, SAMPLES / "mdb" / "cache", SAMPLES / "swh"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return _shards(tmp_path / "set", 20)


def _shards(folder: Path, count: int) -> Path:
    for number in range(count):
        stored = [Stored(f"{number + 256 * n}".encode(), f"{number + 256 * n}".encode() * 50) for n in range(2)]
        path = write(folder, f"20261103_{number:02X}_0000.des", stored)
        if number == 10:
            path.write_bytes(path.read_bytes()[:-1])
    return folder


@pytest.mark.parametrize("where", SETS, ids=lambda path: str(path.relative_to(SAMPLES)))
def test_a_ticket_opens_its_shard(where: Path) -> None:
    with shardcore.open(where) as shards:
        tickets = pickle.loads(pickle.dumps(shards.tickets()))
        assert [ticket.size for ticket in tickets] == [member.size for member in shards.members]
        for ticket, member in zip(tickets, shards.members, strict=True):
            inside = shards.member(member.name)
            with shardcore.open_ticket(ticket) as shard:
                assert shard.objects.keys[:] == inside.objects.keys[:]
                assert shard.verify(Depth.CONTENT) == inside.verify(Depth.CONTENT)


def test_a_single_file_is_a_set_of_one_ticket() -> None:
    path = SAMPLES / "swh" / "small.shard"
    with shardcore.open(path) as shard:
        (ticket,) = shard.tickets()
        assert (ticket.name, ticket.size, ticket.format) == ("", path.stat().st_size, "swh")
        with shardcore.open_ticket(ticket) as again:
            assert again.objects.keys[:] == shard.objects.keys[:]
    with shardcore.open(path.read_bytes()) as shard, pytest.raises(UsageError, match="not opened by a path"):
        shard.tickets()


def test_a_ticket_costs_no_listing_and_no_info(server: RangeServer) -> None:
    for path in HASHED.iterdir():
        server.put(f"/set/{path.name}", path)
    with shardcore.open(f"{server.url}/set/") as shards:
        tickets = shards.tickets()
    server.log.clear()
    with shardcore.open_ticket(tickets[0]) as shard:
        assert len(shard.objects)
    assert {seen.request.path for seen in server.log} == {"/set/0.shard"}


def test_results_come_in_order_and_carry_errors(folder: Path) -> None:
    with shardcore.open(folder, jobs=3) as shards:
        expected = list(shards.map_shards(not_the_second))
        assert isinstance(expected[1], BadChecksum)
        assert isinstance(expected[10], shardcore.FormatError)
        assert expected[2:10] == [str(number) for number in range(2, 10)]
        with ThreadPoolExecutor(2) as threads:
            given = list(shards.map_shards(not_the_second, executor=threads, batch=3))
        with ProcessPoolExecutor(2, get_context("spawn")) as processes:
            far = list(shards.map_shards(not_the_second, executor=processes, batch=3))
    assert list(map(str, given)) == list(map(str, far)) == list(map(str, expected))
    assert isinstance(far[10], shardcore.FormatError)


def test_a_slow_shard_does_not_hold_up_the_others(folder: Path) -> None:
    others, done = threading.Event(), list[int]()

    def work(shard: shardcore.Shard) -> int:
        if shard.objects.keys[0] == "0":
            others.wait(20)
        done.append(1)
        if len(done) == 10:
            others.set()
        return len(shard.objects)

    with shardcore.open(folder) as shards, ThreadPoolExecutor(2) as threads:
        results = list(shards.map_shards(work, executor=threads, batch=1, in_flight=2))
    assert others.is_set()
    assert [result for result in results if isinstance(result, int)] == [2] * 19


def test_few_tasks_are_under_way(folder: Path) -> None:
    """Few shards are opened before the first result is taken; cancelling ends the rest."""
    opened = list[str]()

    def work(shard: shardcore.Shard) -> None:
        opened.append(str(shard.objects.keys[0]))

    with shardcore.open(folder, jobs=1) as shards:
        with closing(shards.map_shards(work, batch=1, in_flight=1)) as results:
            next(results)

        def stop() -> None:
            raise Cancelled

        with stopped_by(stop), pytest.raises(Cancelled):
            list(shards.map_shards(work))
    assert len(opened) < 20


def test_keys_stay_here(folder: Path) -> None:
    """Tickets carry credentials only on request, and only over TLS to another machine."""
    remote = RemoteOptions(access_key="AKIA0", secret_key="hidden-secret")
    with shardcore.open(folder, remote=remote) as shards:
        with pytest.raises(UsageError, match="not sent to workers"):
            shards.tickets()
        (first, *_) = shards.tickets(keys=True)
        assert "hidden-secret" not in repr(first)
        with pytest.raises(UsageError, match="over TLS only"):
            list(shards.map_shards(object_count, executor=SimpleNamespace(), keys=True))  # type: ignore[arg-type]
    assert shardcore.ShardTicket("https://a.example/x.des?sig=abc", "des").has_keys
    assert not shardcore.ShardTicket("https://a.example/x.des", "des", {"remote": RemoteOptions(profile="p")}).has_keys


def test_keys_are_sent_where_the_line_is_encrypted() -> None:
    scheduler = SimpleNamespace(address="tls://10.0.0.5:8786")
    executor = SimpleNamespace(_client=SimpleNamespace(scheduler=scheduler))
    check_encrypted(executor)  # type: ignore[arg-type]
    scheduler.address = "tcp://10.0.0.5:8786"
    with pytest.raises(UsageError, match="over TLS only"):
        check_encrypted(executor)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["http://me:{0}@{1}/set/", "http://{1}/set/?sv=1&sr=c&sig={0}"])
def test_a_login_in_the_address_is_for_all_shards(form: str) -> None:
    word = "hunter2-topsecret"
    sent = ("Basic " + b64encode(f"me:{word}".encode()).decode(), f"sig={word}")
    server = RangeServer()
    files = server.give

    def guarded(request: Request) -> Answer:
        right = request.headers.get("authorization") == sent[0] or sent[1] in request.target
        return files(request) if right else Answer(403)

    server.answer = guarded
    with server:
        server.put_folder("/set", HASHED)
        with shardcore.open(form.format(word, server.url.partition("://")[2])) as shards:
            with pytest.raises(UsageError, match="credentials are not sent"):
                shards.tickets()
            tickets = shards.tickets(keys=True)
            assert word not in repr(tickets)
            found = list(shards.map_shards(object_count, executor=ThreadPoolExecutor(1)))
            assert found == [object_count(shards.member(ticket.name)) for ticket in tickets]
        with shardcore.open_ticket(tickets[0]) as shard:
            assert shard.verify().ok


def test_limits_are_shared_among_tasks(folder: Path) -> None:
    with local_processes(2) as pool:
        with shardcore.open(folder, remote=RemoteOptions(limit_requests=40)) as shards:
            assert [x for x in pool.each(shards, on_shard, (object_count,)) if isinstance(x, int)] == [2] * 19
        few = shardcore.open(folder, remote=RemoteOptions(limit_requests=1))
        with few as shards, pytest.raises(BudgetSpent):
            list(pool.each(shards, on_shard, (object_count,)))


@pytest.mark.thorough
def test_shards_of_a_lost_process_are_done_again(folder: Path, tmp_path: Path) -> None:
    """No result is missing or doubled."""
    work = partial(killed_once, mark=str(tmp_path / "mark"))
    with shardcore.open(folder) as shards, local_processes(2) as pool:
        results = list(pool.each(shards, on_shard, (work,)))
    assert [result for result in results if isinstance(result, int)] == [2] * 19
    assert len(results) == 20


def test_what_cannot_be_sent_is_refused(folder: Path) -> None:
    with shardcore.open(folder) as shards, ProcessPoolExecutor(1, get_context("spawn")) as processes:
        with pytest.raises(UsageError, match="define the function in a module"):
            list(shards.map_shards(lambda shard: 1, executor=processes))
        assert {type(one) for one in shards.map_shards(not_plain, executor=processes)} == {UsageError}


def test_an_error_of_the_function_is_not_called_damage(folder: Path) -> None:
    with shardcore.open(folder, jobs=2) as shards:
        results = list(shards.map_shards(failing))
    assert str(results[0]) == "the function failed: ValueError: no such column"
    assert [type(one) for one in results[:10]] == [ShardError] * 10
    assert isinstance(results[10], shardcore.FormatError)


@pytest.mark.parametrize(
    "command",
    [
        ["find", "42", "set", "set/20261103_0A_0000.des", "nothing"],
        ["salvage", "set/20261103_0A_0000.des", "out"],
        ["salvage", "set", "--plan"],
        ["convert", "whole", "des", "out/x.des"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_other_commands_print_the_same(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], capsys: Capture
) -> None:
    (tmp_path / "whole").mkdir()
    for path in folder.glob("*_0?_*"):
        if "_0A_" not in path.name:
            (tmp_path / "whole" / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    given, each, calls = list[object](), TaskPool.each, TaskPool.calls
    monkeypatch.setattr(TaskPool, "each", lambda *all, **more: given.append(all[2]) or each(*all, **more))
    monkeypatch.setattr(TaskPool, "calls", lambda *all: given.append(all[1]) or calls(*all))
    told = []
    for more in ([], ["--cluster", "local:2"]):
        Path("out").mkdir()
        code = run([*command, *more])
        files = {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
        told.append((code, *capsys.readouterr(), files))
        Path("out").rename(f"out-{len(told)}")
        assert bool(given) == bool(more)
    assert told[0] == told[1]
    if command[0] == "convert":
        assert told[0][0] == 0
        assert held_objects in given


@pytest.mark.thorough
def test_an_interrupted_run_goes_on(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Stored results are reused; those of changed shards and of an incomplete line are computed again."""
    state, base = tmp_path / "state", ["ls", str(folder), "--digest", "sha256", "--cluster", "local:2"]
    assert run([*base, "--state", str(state)]) == 1
    whole = capsys.readouterr().out
    lines = state.read_text().splitlines(keepends=True)
    assert len(lines) == 19
    state.write_text("".join(lines[:12]) + lines[12][:20])
    assert run([*base, "--state", str(state)]) == 1
    assert capsys.readouterr().out == whole
    assert state.read_text().splitlines(keepends=True)[:12] == lines[:12]
    assert len(state.read_text().splitlines()) == 19
    state.write_text("no state\n")
    assert run([*base, "--state", str(state)]) == 2
    assert "not a state file" in capsys.readouterr().err
    state.write_text(json.dumps({"done": "x", "result": {"": "os:system", "of": {}}}) + "\n")
    with closing(TaskState(state)) as found, pytest.raises(UsageError, match="another version"):
        found.found(["x"])


def test_targets_that_workers_do_not_see_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", str(folder), "out", "--cluster", "tcp://127.0.0.1:1"]) == 2
    assert "give an s3:// address, or --shared" in capsys.readouterr().err
    assert run(["verify", str(folder), "--state", "x"]) == 2
    assert run(["verify", str(folder), "--cluster", "local:0"]) == 2
    assert "takes a number of processes" in capsys.readouterr().err
