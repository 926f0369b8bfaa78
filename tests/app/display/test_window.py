"""The command in a real X display: a window appears, keys and mouse work, and the end is quiet."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from shardcore.teaching import resources
from shardcore.testing import sampled
from tests.app.display.program import ROOT, Mouse

HERE = Path(__file__).parent
SECONDS = 60.0


class Shown:
    """The running command, and what can be seen of it."""

    def __init__(self, process: subprocess.Popen[str], environment: dict[str, str], folder: Path) -> None:
        self.process = process
        self.mouse = Mouse(environment)
        self._environment = environment
        self._folder = folder

    def title_is(self, title: str) -> bool:
        """Whether a window has this title."""
        command = ["xdotool", "search", "--onlyvisible", "--name", f"^{title}$"]
        return subprocess.run(command, env=self._environment, capture_output=True, check=False).returncode == 0

    def focus(self, title: str) -> None:
        """Gives the keyboard to the window: no window manager does it. A window may not be ready at once."""
        command = ["xdotool", "search", "--onlyvisible", "--name", f"^{title}$", "windowfocus", "--sync"]
        surroundings = self._environment
        self.until(lambda: subprocess.run(command, env=surroundings, capture_output=True, check=False).returncode == 0)

    def picture(self) -> QImage:
        """What is on the screen."""
        target = self._folder / "screen.png"
        command = [sys.executable, str(HERE / "screen_grab.py"), str(target)]
        subprocess.run(command, env=self._environment, check=True, timeout=30)
        return QImage(str(target))

    def until(self, so: Callable[[], bool]) -> None:
        """Waits until something is so."""
        deadline = time.monotonic() + SECONDS
        while not so():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline, "it did not come to that"


@pytest.fixture
def shown(x_display: dict[str, str], data: Path, tmp_path: Path) -> Iterator[Shown]:
    """`shardscope` on the small sample, with settings of its own."""
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
    """The window comes up on the shard, a typed address moves the bytes, and Ctrl+Q ends without a word."""
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


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.display("xdotool")
def test_samples_in_the_hands_of_a_person(shown: Shown, tmp_path: Path) -> None:
    """Samples are opened by its path, clicked in, searched, an object extracted, in one window."""
    title = "small.shard — Shardscope"
    shown.until(lambda: shown.title_is(title))
    for number, sample in enumerate(sampled(resources.main_samples(), 2, full=False)):
        shown.focus(title)
        shown.mouse.do("key", "ctrl+shift+o")
        shown.until(lambda: shown.title_is("Open as"))
        shown.focus("Open as")
        shown.mouse.do("type", str(sample.path))
        shown.mouse.do("key", "Return")
        title = f"{sample.path.name} — Shardscope"
        shown.until(lambda title=title: shown.title_is(title))
        shown.focus(title)
        # The tree, the bytes, the overview.
        for place in ((150, 170), (640, 300), (800, 118)):
            shown.mouse.go(*place)
            shown.mouse.do("click", 1)
        shown.mouse.do("key", "ctrl+f")
        shown.mouse.do("type", "00")
        shown.mouse.do("key", "Return", "Escape", "alt+2", "Home", "ctrl+e")
        shown.until(lambda: shown.title_is("Extract objects"))
        shown.focus("Extract objects")
        folder = tmp_path / f"out{number}"
        shown.mouse.do("key", "ctrl+a")
        shown.mouse.do("type", str(folder))
        shown.mouse.do("key", "Return")
        shown.until(lambda folder=folder: any(path.name != "manifest.json" for path in folder.glob("*")))
        shown.until(lambda: not shown.title_is("Extract objects"))
    shown.focus(title)
    shown.mouse.do("key", "ctrl+q")
    output, errors = shown.process.communicate(timeout=SECONDS)
    assert (shown.process.returncode, output, errors) == (0, "", "")
