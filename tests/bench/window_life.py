"""One window from its start on, in a process of its own; prints one figure for each thing that it was asked for.

`empty`: an empty PySide6 window, for comparison. `paint`: the processor seconds until the window has painted.
`idle`: the processor time of ten seconds with a file open and nothing to do. `row`: how much memory twenty files, one
after the other, add. `select`: how much memory a file that is given adds, and that with all objects selected.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).parents[2]
SAMPLES = (
    "swh/small.shard",
    "xorb/chunks.xorb",
    "bloscpack/array.blp",
    "des/archive",
    "neuroglancer/hashed",
)
FILES = 20
IDLE_SECONDS = 10


def empty() -> float:
    """Processor seconds until an empty window has painted."""
    from PySide6.QtWidgets import QApplication, QMainWindow

    application = QApplication(["bench"])
    window = QMainWindow()
    window.resize(1440, 840)
    window.show()
    application.processEvents()
    return time.process_time()


def ours(what: str) -> float | str:
    """The figure of our window."""
    from shardscope.__main__ import quick_start

    with ExitStack() as stack:
        with quick_start():
            from PySide6.QtCore import qInstallMessageHandler
            from PySide6.QtWidgets import QApplication

            from shardscope.shell.main_window import MainWindow
            from shardscope.startup.settings import Settings

            qInstallMessageHandler(lambda kind, context, text: None)
            application = QApplication(["bench"])
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            window = MainWindow(Settings(Path(folder) / "settings.json"))
            window.resize(1440, 840)
            window.show()
        application.processEvents()
        if what == "paint":
            figure = time.process_time()
        else:
            figure = {"idle": _idle, "row": _row, "select": _select}[what](application, window)
        window.close()
        application.processEvents()
    return figure


def private() -> float:
    """Megabytes that this process alone holds."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def _rest(application, window, seconds: float) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + seconds
    while time.monotonic() < end or window.session.shard is None or window.jobs.open_jobs:
        application.processEvents()
        time.sleep(0.005)


def _idle(application, window) -> float:  # type: ignore[no-untyped-def]
    """Processor seconds of one second, in percent of a processor, in the event loop as it always runs."""
    from PySide6.QtCore import QEventLoop, QTimer

    window.open(str(ROOT / "resources" / "samples" / SAMPLES[0]))
    _rest(application, window, 3)
    _rest(application, window, 3)  # what came with the file is laid out and painted
    before = time.process_time()
    loop = QEventLoop()
    # Not the end of the application: that closes the window, which is work.
    QTimer.singleShot(IDLE_SECONDS * 1000, loop.quit)
    loop.exec()
    return 100 * (time.process_time() - before) / IDLE_SECONDS


def _row(application, window) -> float:  # type: ignore[no-untyped-def]
    """Megabytes that twenty files add after the first five, which bring all formats in."""
    paths = [ROOT / "resources" / "samples" / name for name in SAMPLES]
    for path in paths:
        window.open(str(path))
        _rest(application, window, 0.6)
    before = private()
    for number in range(FILES):
        window.open(str(paths[number % len(paths)]))
        _rest(application, window, 0.6)
    return private() - before


def _select(application, window) -> str:  # type: ignore[no-untyped-def]
    """Megabytes over the empty window, opened and then with all objects selected."""
    empty = private()
    window.open(sys.argv[2])
    _rest(application, window, 4)
    opened = private() - empty
    window.objects.table.selectAll()
    _rest(application, window, 2)
    return f"{opened} {private() - empty}"


if __name__ == "__main__":
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    sys.stdout.write(f"{empty() if sys.argv[1] == 'empty' else ours(sys.argv[1])}\n")
