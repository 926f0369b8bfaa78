"""A window that takes dropped files, as any other program would, and prints what it got as lines of JSON."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QLabel


def say(**facts: Any) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


class Target(QLabel):
    def __init__(self, place: QRect) -> None:
        super().__init__("A folder of another program", alignment=Qt.AlignmentFlag.AlignCenter)
        self.setAcceptDrops(True)
        self.setGeometry(place)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
        say(event="enter", formats=event.mimeData().formats(), actions=event.possibleActions().value)

    def dropEvent(self, event: QDropEvent) -> None:
        files = []
        for url in event.mimeData().urls():
            path = Path(url.toLocalFile())
            data = path.read_bytes()
            files.append({"path": str(path), "size": len(data), "sha256": hashlib.sha256(data).hexdigest()})
        self.setText("\n".join(f"{Path(file['path']).name}\n{file['size']} bytes" for file in files))
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        say(event="drop", files=files, text=event.mimeData().text())


def main() -> int:
    application = QApplication(sys.argv[:1])
    target = Target(QRect(*(int(number) for number in sys.argv[1:5])))
    target.show()
    say(event="ready")
    return application.exec()


if __name__ == "__main__":
    sys.exit(main())
