"""A window like that of a file manager: a file is dragged out of it, and dropped files are taken.

`shelf.py X Y WIDTH HEIGHT`; a path on a line of standard input is the file that is dragged next. Prints lines of JSON.
"""

from __future__ import annotations

import sys
import threading

from PySide6.QtCore import QMimeData, QObject, QRect, Qt, QUrl, Signal
from PySide6.QtGui import QDrag, QMouseEvent
from PySide6.QtWidgets import QApplication

from tests.app.display.drop_target import Target, say


class Shelf(Target):
    def __init__(self, place: QRect) -> None:
        super().__init__(place)
        self.path = ""
        self._pressed = False

    def offer(self, path: str) -> None:
        self.path = path
        say(event="offered")

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = True

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if not self._pressed:
            return
        self._pressed = False
        mime = QMimeData()
        mime.setUrls([QUrl.fromLocalFile(self.path)])
        drag = QDrag(self)
        drag.setMimeData(mime)
        say(event="begin")
        say(event="end", action=drag.exec(Qt.DropAction.CopyAction).value)


class Lines(QObject):
    came = Signal(str)

    def read(self) -> None:
        for line in sys.stdin:
            self.came.emit(line.rstrip("\n"))


def main() -> int:
    application = QApplication(sys.argv[:1])
    shelf = Shelf(QRect(*(int(number) for number in sys.argv[1:5])))
    lines = Lines()
    lines.came.connect(shelf.offer, Qt.ConnectionType.QueuedConnection)
    threading.Thread(target=lines.read, daemon=True).start()
    shelf.show()
    say(event="ready")
    return application.exec()


if __name__ == "__main__":
    sys.exit(main())
