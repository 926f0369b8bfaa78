"""The line under the bytes: offset and length, decimal and hex, and where in the structure."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from shardcore import Node, Section, Span
from shardcore.words import plural
from shardscope.hex.tip import path_text
from shardscope.looks.shown import shown
from shardscope.looks.words import size_text


class HexStatus(QWidget):
    """Always there; its texts can be selected and copied."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("hexStatus")
        self.offset = self._label("statusOffset", "Offset of the selection")
        self.length = self._label("statusLength", "Length of the selection")
        self.place = self._label("statusPlace", "Where in the structure")
        self.whole = self._label("statusSize", "Size of the source")
        self.place.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 2, 10, 4)
        row.setSpacing(18)
        row.addWidget(self.offset)
        row.addWidget(self.length)
        row.addWidget(self.place, 1)
        row.addWidget(self.whole)

    def show_selection(self, span: Span, size: int, path: Sequence[Node], sections: Sequence[Section]) -> None:
        """Tells what is selected in a source of `size` bytes."""
        self.offset.setText(f"offset {span.start:,} · {span.start:#x}" if size else "no bytes")
        self.length.setText(f"{plural(span.size, 'byte')} · {span.size:#x}" if size else "")
        self.place.setText(shown(path_text(path, span.start, sections)) if size else "")
        self.whole.setText(f"{plural(size, 'byte')} · {size_text(size)}" if size >= 1024 else plural(size, "byte"))

    def _label(self, name: str, meaning: str) -> QLabel:
        label = QLabel()
        label.setObjectName(name)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setAccessibleDescription(meaning)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label
