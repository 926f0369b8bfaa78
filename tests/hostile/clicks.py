"""Clicks through a window over a hostile file, and what each click cost.

`python -m tests.hostile.clicks` reads `{"path": …, "keys": […]}` from standard input. A process of its own, so that its
memory and its time are those of the window alone. Each line is JSON: `what` was done, `first` and `total` in seconds of
the processor until something new was shown and until all work was at rest, `megabytes` over the empty window with the
libraries of all formats, and `wrong`, what must not be.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from tests.hostile.running import load_formats

ROOT = Path(__file__).parents[2]
NODES = 6
"""Nodes of each level of the tree that are clicked."""
ENOUGH = 60.0
"""Seconds of the processor after which a click is given up."""
PATIENCE = 240.0
"""The same by the clock, for a machine that is busy with other work."""
_OFFSCREEN = "This plugin does not support"
"""How Qt begins what it says of a platform without windows of its own."""


@dataclass(frozen=True)
class Click:
    """What one click cost.

    Attributes:
        what: The click.
        first: Seconds of the processor until its result could be seen; 0 where it is seen at once.
        total: The same until nothing ran any more, or until the watch was given up.
        megabytes: Memory over the empty window, at its highest so far.
        stands: The longest time of the processor that the window's own thread took without answering.
        wrong: What was shown that must not be, or that it was given up; empty for nothing.
    """

    what: str
    first: float
    total: float
    megabytes: float
    stands: float
    wrong: str = ""


def clicks_over(path: Path, keys: tuple[str, ...], seconds: float) -> list[Click]:
    """Clicks through a window over a file, in a process of its own.

    Args:
        path: The file.
        keys: Keys to look up.
        seconds: After this time by the clock the process is ended.

    Returns:
        What the clicks cost; the last one has `wrong` when the process ended before its time.
    """
    paths = os.pathsep.join([str(ROOT), str(ROOT / "app")])
    environment = os.environ | {"PYTHONPATH": paths, "QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, "-m", "tests.hostile.clicks"]
    asked = json.dumps({"path": str(path), "keys": keys}).encode()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, cwd=ROOT, env=environment) as process:
        try:
            out, err = process.communicate(asked, seconds)
            code = str(process.returncode)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            code = f"none after {seconds:.0f} s"
    found = [Click(**json.loads(line)) for line in out.splitlines()]
    lines = err.decode(errors="replace").splitlines()
    told = "\n".join(line for line in lines if not line.startswith(_OFFSCREEN))
    if code != "0" or told:
        found.append(Click("the end", 0, 0, 0, 0, f"exit code {code} {told[-800:]}"))
    return found


class Clicker:
    """A window, and a watch on what it costs."""

    def __init__(self, folder: Path) -> None:
        from PySide6.QtWidgets import QApplication

        from shardscope.shell.main_window import MainWindow
        from shardscope.startup.settings import Settings

        self.application = QApplication.instance() or QApplication(sys.argv[:1])
        self.window = MainWindow(Settings(folder / "settings.json"))
        self.window.resize(1440, 840)
        self.window.show()
        self._rest(time.monotonic() + 10)
        load_formats()
        self.idle = _peak()

    def click(self, what: str, act: Callable[[], object], seen: Callable[[], bool] | None = None) -> Click:
        """Does something, and waits until all work is at rest.

        Args:
            what: Its name.
            act: Does it.
            seen: Whether its result is to be seen; without it, it is seen at once.
        """
        began = time.process_time()
        until = time.monotonic() + PATIENCE
        act()
        first, stands, rests = self._rest(until, seen, began)
        total = time.process_time() - began
        wrong = "" if rests else f"given up after {total:.0f} s"
        if not rests:
            self.window.stop_jobs()
            self._rest(time.monotonic() + PATIENCE)
        wrong = wrong or next(self._raw_texts(), "")
        return Click(what, min(first, total), total, (_peak() - self.idle) / 1024, stands, wrong)

    def _rest(
        self, until: float, seen: Callable[[], bool] | None = None, began: float = 0.0
    ) -> tuple[float, float, bool]:
        """Lets the window work until nothing is left to do; three rounds without a job are rest."""
        first, stands, quiet = float("inf") if seen else 0.0, 0.0, 0
        while quiet < 3:
            turn = time.thread_time()
            self.application.processEvents()
            stands = max(stands, time.thread_time() - turn)
            if seen is not None and first == float("inf") and seen():
                first = time.process_time() - began
            quiet = 0 if self.window.jobs.open_jobs else quiet + 1
            if time.monotonic() > until or (began and time.process_time() - began > ENOUGH):
                return first, stands, False
            time.sleep(0.02)
        return first, stands, True

    def _raw_texts(self) -> Iterator[str]:
        """Texts of the window that hold characters which act instead of being shown."""
        for where, text in self._texts():
            bad = next((c for c in text if not (c.isprintable() or c in "\n\t\u2028\xa0")), None)
            if bad is not None:
                yield f"raw {bad!r} in {where}"

    def _texts(self) -> Iterator[tuple[str, str]]:
        from PySide6.QtGui import QAction
        from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QTabBar, QWidget

        for widget in (self.window, *self.window.findChildren(QWidget)):
            name = widget.objectName() or type(widget).__name__
            yield f"title of {name}", widget.windowTitle()
            yield f"tooltip of {name}", widget.toolTip()
            yield f"accessible name of {name}", widget.accessibleName()
            if isinstance(widget, QLabel | QAbstractButton | QLineEdit):
                yield f"text of {name}", widget.text()
            if isinstance(widget, QTabBar):
                for tab in range(widget.count()):
                    yield f"tab of {name}", widget.tabText(tab) + widget.tabToolTip(tab)
        for action in self.window.findChildren(QAction):
            yield "an action", action.text() + action.toolTip()


def _peak() -> int:
    """The most memory that this process has had, in KiB.

    Not `getrusage`: its figure begins with that of the process that started this one.
    """
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0])


def run(path: Path, keys: list[str], folder: Path) -> Iterator[Click]:
    """Opens a file, clicks through all parts, looks keys up and verifies."""
    from shardcore import Depth, Span

    clicker = Clicker(folder)
    window, session = clicker.window, clicker.window.session
    opened: list[object] = []
    session.opened.connect(opened.append)
    session.documents.failed.connect(opened.append)
    yield clicker.click("open", lambda: window.open(str(path)), lambda: bool(opened))
    if session.shard is not None:
        yield from _tree(clicker)
        source = session.shard.source
        size = source.size if source is not None else 0
        for offset in sorted({0, min(32, size - 1), size // 2, size - 1}) if size else ():
            place = Span("", offset, min(offset + 1, size))
            yield clicker.click(f"byte {offset}", partial(session.select_span, place))
        for row in (0, 1, 1000):
            yield clicker.click(f"row {row}", partial(session.select_row, row))
        for key in keys:
            yield clicker.click(f"look up {key[:20]!r}", partial(session.lookup.start, key))
        for depth in Depth:
            yield clicker.click(f"verify {depth.value}", partial(session.verification.start, depth))
    yield clicker.click("close", window.close)


def _tree(clicker: Clicker) -> Iterator[Click]:
    """Unfolds the first nodes of three levels, and selects each."""
    from PySide6.QtCore import QModelIndex

    from shardscope.views.structure.tree import StructureTree

    tree = clicker.window.panels.panel(StructureTree)
    model = tree.model()
    level = [model.index(row, 0, QModelIndex()) for row in range(min(model.rowCount(), NODES))]
    for depth in range(3):
        for index in level:
            if index.isValid():
                yield clicker.click(f"node {str(index.data())[:40]!r}", partial(tree.setCurrentIndex, index))
                yield clicker.click(f"unfold {str(index.data())[:40]!r}", partial(tree.expand, index))
        each = NODES if depth == 0 else 2
        level = [model.index(row, 0, up) for up in level for row in range(min(model.rowCount(up), each))][: 2 * NODES]


def main() -> int:
    """Clicks, and prints."""
    with tempfile.TemporaryDirectory() as folder, suppress(BrokenPipeError):
        asked = json.load(sys.stdin)
        for click in run(Path(asked["path"]), asked["keys"], Path(folder)):
            print(json.dumps(asdict(click)), flush=True)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
