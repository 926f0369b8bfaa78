"""A slider over a few values, with its name and its value above it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from shardscope.widgets import theme
from shardscope.widgets.elided import Elided
from shardscope.widgets.plain_text import tip
from shardscope.widgets.ticked_slider import TickedSlider


class StepSlider(QWidget):
    """`chosen` tells that another value was chosen, by mouse or keyboard.

    Args:
        name: The object name of the slider.
        parent: Where it stands.
    """

    chosen = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = Elided(greedy=True, parent=self)
        self.said = QLabel(self)
        self.said.setTextFormat(Qt.TextFormat.PlainText)
        font = self.said.font()
        font.setBold(True)
        self.said.setFont(font)
        self.slider = TickedSlider(self)
        self.slider.setObjectName(name)
        self.slider.setPageStep(1)
        self._values: tuple[object, ...] = ()
        self._texts: tuple[str, ...] = ()
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.title, 1)
        head.addWidget(self.said)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(1)
        column.addLayout(head)
        column.addWidget(self.slider)
        self.slider.valueChanged.connect(self._changed)

    @property
    def value(self) -> object:
        """The value that is chosen; None where there is none."""
        at = self.slider.value()
        return self._values[at] if at < len(self._values) else None

    def offer(self, title: str, help: str, values: Sequence[object], texts: Sequence[str], value: object) -> None:
        """Offers other values; `chosen` tells nothing of it.

        Args:
            title: What they are of.
            help: One sentence.
            values: The values, in order; none where nothing can be chosen.
            texts: How each is called.
            value: The one that is chosen.
        """
        self._values, self._texts = tuple(values), tuple(texts)
        blocked = self.slider.blockSignals(True)
        self.slider.setRange(0, max(len(self._values) - 1, 0))
        self.slider.setValue(self._values.index(value) if value in self._values else 0)
        self.slider.blockSignals(blocked)
        self.slider.setEnabled(len(self._values) > 1)
        self.title.tell(title)
        self.title.setStyleSheet(f"color: {theme.of(self).muted.name()};")
        self.slider.setToolTip(tip(help))
        self._tell()

    def _changed(self, _: int) -> None:
        self._tell()
        self.chosen.emit()

    def _tell(self) -> None:
        at = self.slider.value()
        said = self._texts[at] if at < len(self._texts) else ""
        self.said.setText(said)
        self.slider.setAccessibleName(f"{self.title.text()}: {said}" if said else self.title.text())
