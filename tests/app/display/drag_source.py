"""The window of Shardscope on a shard; prints, as lines of JSON, where its rows are and when a drag begins."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import QMimeData, QPoint, QRect, QTimer
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QApplication

from shardscope.shell.main_window import MainWindow
from shardscope.startup.settings import Settings
from shardscope.views.objects.drag_out import DragOut


def say(**facts: Any) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def tell_rows(window: MainWindow, timer: QTimer) -> None:
    table = window.objects.table
    model = table.objects
    indexes = [model.index(row, 1) for row in range(model.rowCount())]
    keys = [model.key_of(index) for index in indexes]
    if window.session.shard is None or not any(keys):
        return
    timer.stop()
    rows = []
    for index, key in zip(indexes, keys, strict=True):
        place = table.visualRect(index)
        if key is not None and table.viewport().rect().contains(place.center()):
            point = table.viewport().mapToGlobal(QPoint(place.left() + 40, place.center().y()))
            rows.append({"key": key, "x": point.x(), "y": point.y()})
    say(event="ready", rows=rows)


def watch(drag: DragOut) -> None:
    run = drag.run_drag

    def told(mime: QMimeData, pixmap: QPixmap) -> None:
        say(event="begin", files=len(mime.urls()))
        run(mime, pixmap)
        say(event="end")

    drag.run_drag = told


def main() -> int:
    application = QApplication(sys.argv[:1])
    window = MainWindow(Settings(Path(sys.argv[2])))
    window.setGeometry(QRect(*(int(number) for number in sys.argv[3:7])))
    window.show()
    window.open(sys.argv[1])
    watch(window.drag_out)
    timer = QTimer(interval=50)
    timer.timeout.connect(lambda: tell_rows(window, timer))
    timer.start()
    return application.exec()


if __name__ == "__main__":
    sys.exit(main())
