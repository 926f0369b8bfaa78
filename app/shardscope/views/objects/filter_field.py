"""The line that filters the objects."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QLineEdit, QWidget


class FilterField(QLineEdit):
    """A line to type a filter into; a file that is dropped on it is sought among the objects."""

    file_dropped = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText(self.tr("Key, *part*, >4K"))
        self.setToolTip(
            self.tr(
                "Any of these, with blanks between them; all must fit.\n"
                "• a key or the beginning of one; *0f3* for keys with 0f3 in them; a pattern with * and ?; "
                "key:… for keys that look like a rule\n"
                "• a size in bytes: >4K  <=1M  =520  10..200   or of stored bytes: stored:10..200\n"
                "• rows by their numbers: row:12  row:10..20\n"
                "• state:live,unused   kind:chunk   codec:lz4   with a minus for what is not wanted: -state:unused\n"
                "Drop a file here to ask whether it is in this shard: by its SHA-256, its name, then its content."
            )
        )
        self.setAccessibleName(self.tr("Filter objects"))
        self.setClearButtonEnabled(True)
        self.setAcceptDrops(True)
        self.setMinimumWidth(140)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Takes one local file."""
        urls = event.mimeData().urls()
        if len(urls) == 1 and urls[0].isLocalFile():
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
        else:
            super().dragEnterEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        """Hands over the file; texts are typed in."""
        urls = event.mimeData().urls()
        if len(urls) == 1 and urls[0].isLocalFile():
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            path = Path(urls[0].toLocalFile())
            QTimer.singleShot(0, self, lambda: self.file_dropped.emit(path))
        else:
            super().dropEvent(event)
