"""Two starts of the command in a real X display: one window, one tab more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.app.display.program import ROOT

SECONDS = 60.0
Start = Callable[..., subprocess.Popen[bytes]]

pytestmark = pytest.mark.display("xdotool")


@pytest.fixture
def environment(x_display: dict[str, str], tmp_path: Path) -> dict[str, str]:
    clean = {name: value for name, value in x_display.items() if name != "XDG_RUNTIME_DIR"}
    return {**clean, "XDG_CONFIG_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}


@pytest.fixture
def start(environment: dict[str, str]) -> Iterator[Start]:
    with ExitStack() as stack:

        def begin(*arguments: object) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", "shardscope", *map(str, arguments)]
            process = subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.PIPE)
            stack.callback(process.communicate)
            stack.callback(process.kill)
            return process

        yield begin


def titles(environment: dict[str, str]) -> list[str]:
    def ask(*words: str) -> str:
        return subprocess.run(["xdotool", *words], env=environment, capture_output=True, text=True, check=False).stdout

    found = ask("search", "--onlyvisible", "--name", "Shardscope$").split()
    return sorted(ask("getwindowname", number).split(" — ")[0] for number in found)


def until_shown(environment: dict[str, str], *names: str) -> None:
    deadline = time.monotonic() + SECONDS
    while titles(environment) != sorted(names):
        assert time.monotonic() < deadline, names


@pytest.mark.thorough
def test_a_second_start_opens_a_tab(start: Start, environment: dict[str, str], data: Path, tmp_path: Path) -> None:
    folder = data / "swh"
    first = start(folder / "small.shard")
    until_shown(environment, "small.shard")
    second = start(os.path.relpath(folder / "one.shard", ROOT))
    assert second.wait(SECONDS) == 0
    until_shown(environment, "one.shard")
    other = start("--new-window", folder / "medium.shard")
    until_shown(environment, "one.shard", "medium.shard")
    other.send_signal(signal.SIGTERM)
    assert other.communicate(timeout=SECONDS) == (None, b"")
    assert other.returncode == 0
    first.kill()
    first.wait(SECONDS)
    assert list(tmp_path.glob("shardscope-*")), "the killed window left no socket"
    start(folder / "medium.shard")
    until_shown(environment, "medium.shard")
    assert start(folder / "small.shard").wait(SECONDS) == 0
    until_shown(environment, "small.shard")
