"""Calculator below the question of a lesson: one line, and the results that were kept."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLabel, QLineEdit, QVBoxLayout, QWidget

from shardcore.teaching.lessons.calculator import Calculator, CalculatorError, CalculatorSetup
from shardscope.learning.lessons.prose import Prose
from shardscope.widgets import theme

RECENT = 6
"""So many results are shown."""


class CalculatorField(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("lessonCalculator")
        self.setAccessibleName(self.tr("Calculator"))
        self.calculator = Calculator()
        self._results: dict[str, int] = {}
        self.title = Prose(tone="muted")
        self.line = _Line()
        self.line.setObjectName("lessonCalculation")
        self.line.setAccessibleName(self.tr("Calculation"))
        self.line.setFont(theme.fixed_font())
        self.line.returnPressed.connect(self._compute)
        self.results = QLabel()
        self.results.setObjectName("lessonResults")
        self.results.setAccessibleName(self.tr("Results"))
        self.results.setTextFormat(Qt.TextFormat.PlainText)
        self.results.setFont(theme.fixed_font())
        self.results.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.trouble = Prose(tone="warning")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        for widget in (self.title, self.line, self.trouble, self.results):
            column.addWidget(widget)
        self.offer(None)

    def offer(self, setup: CalculatorSetup | None) -> None:
        self.setVisible(setup is not None)
        if setup is None or setup.width != self.calculator.width:
            self.calculator, self._results = Calculator(setup.width if setup is not None else 32), {}
            self.line.clear()
        if setup is not None:
            self.title.tell(self.tr("Calculator, {0} bits; *a = …* keeps a result.").format(setup.width))
            begun = setup.begun().names
            self.calculator.names |= begun
            self._results |= begun
        self.trouble.tell("")
        self._tell()

    def _compute(self) -> None:
        text = self.line.text().strip()
        if not text:
            return
        try:
            name, value = self.calculator.compute(text)
        except CalculatorError as error:
            self.trouble.tell(f"{error.message[0].upper()}{error.message[1:]}.")
            return
        self.trouble.tell("")
        self.line.keep(text)
        self._results.pop(name, None)
        self._results[name] = value
        self._tell()

    def _tell(self) -> None:
        digits = self.calculator.width // 4
        last = [*self._results.items()][-RECENT:]
        lines = [f"{name or '=':<6} 0x{value:0{digits}x}  {value:,}" for name, value in last]
        self.results.setText("\n".join(lines))
        self.results.setVisible(bool(lines))


class _Line(QLineEdit):
    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []
        self._at = 0

    def keep(self, text: str) -> None:
        self._lines.append(text)
        self._at = len(self._lines)
        self.clear()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Up.value: -1, Qt.Key.Key_Down.value: 1}
        if event.key() not in steps:
            super().keyPressEvent(event)
            return
        self._at = min(max(self._at + steps[event.key()], 0), len(self._lines))
        self.setText(self._lines[self._at] if self._at < len(self._lines) else "")
