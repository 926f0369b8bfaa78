"""Opens a file in a window, selects all objects, and prints the private memory of both over the empty window, in MB."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path


def private() -> float:
    """Megabytes that this process alone holds."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def main(path: str) -> None:
    """Runs the window."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import qInstallMessageHandler
    from PySide6.QtWidgets import QApplication

    from shardscope.shell.main_window import MainWindow
    from shardscope.startup.settings import Settings

    qInstallMessageHandler(lambda kind, context, text: None)
    application = QApplication(["bench"])

    def run(seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end or window.jobs.open_jobs:
            application.processEvents()
            time.sleep(0.005)

    with tempfile.TemporaryDirectory() as folder:
        window = MainWindow(Settings(Path(folder) / "settings.ini"))
        window.resize(1440, 840)
        window.show()
        run(1)
        empty = private()
        window.open(path)
        run(4)
        opened = private() - empty
        window.objects.table.selectAll()
        run(2)
        print(opened, private() - empty, flush=True)
        window.close()
        run(0.1)


if __name__ == "__main__":
    main(sys.argv[1])
