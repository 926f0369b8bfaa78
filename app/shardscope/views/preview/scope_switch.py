"""Switch between the selected chunk and the whole volume."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QToolButton, QWidget


class ScopeSwitch(QWidget):
    changed = Signal(bool)
    """Choice of a scope: true for the whole volume, false for the selected chunk."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("previewScope")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        group = QButtonGroup(self)
        self.chunk = self._button("previewChunk", self.tr("Chunk"))
        self.volume = self._button("previewVolume", self.tr("Volume"))
        for button in (self.chunk, self.volume):
            group.addButton(button)
            row.addWidget(button)
        self.chunk.setChecked(True)
        self.volume.toggled.connect(self.changed)
        self.hide()

    def _button(self, name: str, text: str) -> QToolButton:
        button = QToolButton()
        button.setObjectName(name)
        button.setText(text)
        button.setCheckable(True)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        return button

    @property
    def whole(self) -> bool:
        return self.volume.isChecked()

    def offer(self, there: bool, *, whole: bool) -> None:
        self.setVisible(there)
        (self.volume if there and whole else self.chunk).setChecked(True)
