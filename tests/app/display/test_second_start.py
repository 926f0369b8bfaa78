"""Two starts of the command in a real X display: one window, one tab more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.app.display.program import ROOT

SECONDS = 60.0

pytestmark = pytest.mark.display("xdotool")


@pytest.fixture
def environment(x_display: dict[str, str], tmp_path: Path) -> dict[str, str]:
    clean = {name: value for name, value in x_display.items() if name != "XDG_RUNTIME_DIR"}
    return {**clean, "XDG_CONFIG_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}


@pytest.fixture
def start(environment: dict[str, str]) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    running: list[subprocess.Popen[bytes]] = []

    def begin(*arguments: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "shardscope", *map(str, arguments)]
        running.append(subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.PIPE))
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def titles(environment: dict[str, str]) -> list[str]:
    find = ["xdotool", "search", "--onlyvisible", "--name", "Shardscope$"]
    found = subprocess.run(find, env=environment, capture_output=True, text=True, check=False).stdout.split()
    name = [["xdotool", "getwindowname", number] for number in found]
    return [subprocess.run(one, env=environment, capture_output=True, text=True, check=False).stdout for one in name]


def until(so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not so():
        assert time.monotonic() < deadline, "it did not come to that"


def shows(environment: dict[str, str], *names: str) -> Callable[[], bool]:
    return lambda: sorted(title.split(" — ")[0] for title in titles(environment)) == sorted(names)


@pytest.mark.thorough
def test_a_second_start_opens_a_tab(
    start: Callable[..., subprocess.Popen[bytes]], environment: dict[str, str], data: Path, tmp_path: Path
) -> None:
    folder = data / "swh"
    first = start(folder / "small.shard")
    until(shows(environment, "small.shard"))
    second = start(os.path.relpath(folder / "one.shard", ROOT))
    assert second.wait(SECONDS) == 0
    until(shows(environment, "one.shard"))
    other = start("--new-window", folder / "medium.shard")
    until(shows(environment, "one.shard", "medium.shard"))
    other.send_signal(signal.SIGTERM)
    assert other.wait(SECONDS) == 0
    first.kill()
    first.wait(SECONDS)
    assert list(tmp_path.glob("shardscope-*")), "the killed window left no socket"
    start(folder / "medium.shard")
    until(shows(environment, "medium.shard"))
    assert start(folder / "small.shard").wait(SECONDS) == 0
    until(shows(environment, "small.shard"))
