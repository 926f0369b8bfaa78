"""The comparison of formats: until all is packed and measured."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from shardcore.teaching.comparison.comparison import compared_formats
from shardcore.teaching.comparison.contents import BUILT_IN
from shardcore.teaching.comparison.measure import measured
from tests.bench.figures import Figure, best_of

CREATED = 200.0
"""Milliseconds until the objects are created."""
WHOLE = 30.0
"""Seconds until every format is packed, looked up in, changed and verified."""
CASES = ((1000, 1024), (2000, 256), (5000, 1024))


def run() -> Iterator[Figure]:
    """The figures of the library, then those of the window."""
    for count, size in CASES:
        objects = BUILT_IN.objects(count, size)
        what = f"{count:,} objects of {size:,} bytes"
        made = best_of(3, lambda count=count, size=size: BUILT_IN.objects(count, size))  # type: ignore[misc]
        yield Figure(f"{what}, made", 1000 * made, CREATED, "ms")
        whole = best_of(1, lambda objects=objects: [measured(name, objects, {}) for name in compared_formats()])  # type: ignore[misc]
        yield Figure(f"{what}, packed and measured", whole, WHOLE)
    yield from _window()


def _window() -> Iterator[Figure]:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import QEventLoop, qInstallMessageHandler
    from PySide6.QtWidgets import QApplication

    from shardscope.shell.main_window import MainWindow
    from shardscope.startup.settings import Settings

    qInstallMessageHandler(lambda kind, context, text: None)
    application = QApplication.instance() or QApplication(["bench"])
    assert isinstance(application, QApplication)
    with tempfile.TemporaryDirectory() as folder:
        window = MainWindow(Settings(Path(folder) / "settings.json"))
        window.show()
        sheet: Any = window.comparing.show()

        def until(done: Callable[[], bool]) -> float:
            """Waits for news, as the window does: asking again and again would take half of the time from the jobs."""
            began, loop = time.perf_counter(), QEventLoop()
            told = sheet.desk.changed.connect(lambda: done() and loop.quit())
            if not done():
                loop.exec()
            sheet.desk.changed.disconnect(told)
            return time.perf_counter() - began

        def measured_all() -> bool:
            return bool(sheet.desk.rows) and not sheet.desk.stale and all(row.costs for row in sheet.desk.rows.values())

        until(measured_all)
        for slider, steps in (
            (sheet.sizes, 3),
            (sheet.counts, 9),
            (sheet.counts, 10),
            (sheet.sizes, 4),
            (sheet.dial, 7),
        ):
            slider.slider.setValue(steps)
            what = f"the window: {sheet.counts.value} objects, size {sheet.sizes.value}"
            yield Figure(f"{what}, measured", until(measured_all), WHOLE)
        sheet.close()
        window.close()
