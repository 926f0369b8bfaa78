"""The command in a real X display: a window appears, keys and mouse work, and the end is quiet."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from tests.app.display.program import ROOT, Mouse

HERE = Path(__file__).parent
SECONDS = 60.0


class Shown:
    def __init__(self, process: subprocess.Popen[str], environment: dict[str, str], folder: Path) -> None:
        self.process = process
        self.mouse = Mouse(environment)
        self._environment = environment
        self._folder = folder

    def title_is(self, title: str) -> bool:
        command = ["xdotool", "search", "--onlyvisible", "--name", f"^{title}$"]
        return subprocess.run(command, env=self._environment, capture_output=True, check=False).returncode == 0

    def focus(self, title: str) -> None:
        command = ["xdotool", "search", "--onlyvisible", "--name", f"^{title}$", "windowfocus", "--sync"]
        surroundings = self._environment
        self.until(lambda: subprocess.run(command, env=surroundings, capture_output=True, check=False).returncode == 0)

    def picture(self) -> QImage:
        target = self._folder / "screen.png"
        command = [sys.executable, str(HERE / "screen_grab.py"), str(target)]
        subprocess.run(command, env=self._environment, check=True, timeout=30)
        return QImage(str(target))

    def until(self, so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not so():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline, "it did not come to that"


@pytest.fixture
def shown(x_display: dict[str, str], data: Path, tmp_path: Path) -> Iterator[Shown]:
    environment = {**x_display, "XDG_CONFIG_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "shardscope", str(data / "swh" / "small.shard")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield Shown(process, environment, tmp_path)
        finally:
            process.kill()


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.display("xdotool")
def test_the_window_of_the_command(shown: Shown) -> None:
    title = "small.shard — Shardscope"
    shown.until(lambda: shown.title_is(title))
    shown.focus(title)

    def colourful() -> bool:
        image = shown.picture()
        return len({image.pixel(x, y) for x in range(0, 1440, 9) for y in range(0, 900, 9)}) > 60

    shown.until(colourful)
    before = shown.picture()
    shown.mouse.do("key", "ctrl+g")
    shown.mouse.do("type", "index+40")
    shown.mouse.do("key", "Return")
    shown.until(lambda: shown.picture() != before)
    shown.mouse.do("key", "ctrl+q")
    output, errors = shown.process.communicate(timeout=SECONDS)
    assert (shown.process.returncode, output, errors) == (0, "", "")
