"""`python -m tests.pictures FOLDER`: the pictures of the docs that options of `shardscope` cannot make."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from PySide6.QtCore import qInstallMessageHandler
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import delete

from shardcore import Span
from shardscope.learning.lessons.library import lessons
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import png_of, settle
from shardscope.startup import assets
from shardscope.startup.settings import Settings
from shardscope.views.structure.tree import StructureTree

SIZE = (1440, 840)
MOST_SECONDS = 60
LOOKUP, ASKED = 2, 4
"""Steps of the lesson: the one that looks the key up, and the one that is shown."""
SAMPLES = assets.resources() / "samples"


def main() -> int:
    """Makes all of them; the names of files are those that the pages use."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    folder = Path(sys.argv[1])
    qInstallMessageHandler(lambda kind, context, message: None)
    application = QApplication(sys.argv[:1])
    for name, show in (("lesson", lesson), ("sandbox", sandbox), ("salvage", salvage), ("compare", compare)):
        with window("light") as made:
            (folder / f"{name}.png").write_bytes(png_of(show(made).grab().toImage()))
        application.processEvents()
    return 0


@contextmanager
def window(theme: str) -> Iterator[MainWindow]:
    """A window with settings of its own."""
    with TemporaryDirectory(prefix="shardscope-") as folder:
        made = MainWindow(Settings(Path(folder) / "settings.ini", theme=theme))
        made.resize(*SIZE)
        made.show()
        settle(made)
        try:
            yield made
        finally:
            made.breaking.sandbox.drop()
            made.close()
            QApplication.processEvents()
            delete(made)


def lesson(window: MainWindow) -> QWidget:
    """A step of a lesson that asks, answered wrongly, over the drawing of the lookup."""
    panel = window.findChild(LessonPanel)
    assert panel is not None
    chosen = next(one for one in lessons() if one.name == "swh-2-find-a-key")
    panel.player.start(chosen)
    for number in (LOOKUP, ASKED):
        panel.player.go(number)
        until(window, lambda: panel.player.stage is not None)
        settle(window)
    window.show_part("lessons")
    window.hex.drawings.show("parking")
    settle(window)
    return window


def sandbox(window: MainWindow) -> QWidget:
    """One bit of a displacement turned over: who notices, and what becomes of the objects."""
    window.open(str(SAMPLES / "swh" / "small.shard"))
    settle(window)
    window.breaking.actions.switch.trigger()
    until(window, lambda: window.breaking.sandbox.impact is not None)
    settle(window)
    window.session.select_span(Span("", 5052, 5053))
    window.breaking.sandbox.flip(0)
    until(window, lambda: bool(window.breaking.sandbox.changes) and window.breaking.sandbox.comparing is None)
    settle(window)
    window.show_part("sandbox")
    settle(window)
    # How far the tree was scrolled depends on what was opened first, the bytes or their comparison.
    tree = window.findChild(StructureTree)
    assert tree is not None
    tree.scrollTo(tree.currentIndex(), StructureTree.ScrollHint.PositionAtBottom)
    return window


def salvage(window: MainWindow) -> QWidget:
    """What can be taken out of a damaged file."""
    window.open(str(SAMPLES / "des" / "damaged" / "20260105_2A_0000.des"))
    settle(window)
    sheet = window.breaking.salvaging.ask()
    assert sheet is not None
    settle(window)
    return sheet


def compare(window: MainWindow) -> QWidget:
    """The same objects in six formats."""
    sheet = window.comparing.show()

    def measured() -> bool:
        rows = sheet.desk.rows.values()
        return bool(rows) and not sheet.desk.stale and all(row.costs or row.error for row in rows)

    until(window, measured)
    settle(window)
    return sheet


def until(window: MainWindow, there: Callable[[], bool]) -> None:
    """Waits until something is so."""
    end = time.monotonic() + MOST_SECONDS
    while not there():
        if time.monotonic() > end:
            raise SystemExit("the window does not come to rest")
        settle(window, 40)


if __name__ == "__main__":
    raise SystemExit(main())
