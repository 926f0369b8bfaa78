"""Selection in the status line: offset and length, decimal and hex, and the name of the bytes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from shardcore import Node, Section, Span
from shardcore.model.number_words import long_size, plural
from shardscope.session.words import headline, offset_words
from shardscope.views.hex.tip import path_text
from shardscope.widgets.elided import Elided

VALUE = 220
"""Pixels that what the bytes mean may request; it takes more where there is more."""


class HexStatus(QWidget):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("hexStatus")
        self.offset = self._label("statusOffset", self.tr("Offset of the selection"))
        self.length = self._label("statusLength", self.tr("Length of the selection"))
        self.value = self._label("statusValue", self.tr("What the selected bytes mean"), greedy=True)
        self.whole = self._label("statusSize", self.tr("Size of the source"))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 0, 0, 0)
        row.setSpacing(18)
        row.addWidget(self.offset)
        row.addWidget(self.length)
        row.addWidget(self.value, 1)
        row.addWidget(self.whole)

    def show_selection(self, span: Span, size: int, path: Sequence[Node], sections: Sequence[Section]) -> None:
        offset = offset_words(span.start)
        self.offset.setText(self.tr("offset {0}").format(offset) if size else self.tr("no bytes"))
        self.length.setText(plural(span.size, "byte") if size else "")
        self.value.tell(_value(path, span, sections) if size else "")
        self.whole.setText(long_size(size))
        self._give_room()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._give_room()

    def _give_room(self) -> None:
        row = self.layout()
        gap = row.spacing() if row is not None else 0
        value = min(self.fontMetrics().horizontalAdvance(self.value.text()), VALUE)
        wish = {label: label.sizeHint().width() + gap for label in (self.offset, self.length, self.whole)}
        self.length.setVisible(self.width() >= wish[self.offset] + value + wish[self.length])
        self.whole.setVisible(self.width() >= sum(wish.values()) + value)

    def clear(self) -> None:
        for label in (self.offset, self.length, self.value, self.whole):
            label.clear()

    def _label(self, name: str, meaning: str, *, greedy: bool = False) -> Elided:
        label = Elided(greedy=greedy)
        label.setObjectName(name)
        label.setAccessibleDescription(meaning)
        label.setToolTip(meaning)
        return label


def _value(path: Sequence[Node], span: Span, sections: Sequence[Section]) -> str:
    if len(path) > 1:
        said = headline(path[-1])
        return f"{path[-1].name}: {said}" if said else path[-1].name
    return path_text(path, span.start, sections)
