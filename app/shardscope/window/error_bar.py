"""A message that floats over the bytes: what is wrong, and what can be done about it. Nothing is blocked or moved."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QToolButton, QWidget

from shardscope.looks import theme
from shardscope.looks.shown import shown_lines, tip
from shardscope.looks.words import cut_middle

LONGEST = 420
"""Characters of a message that are shown; the tooltip has all of it."""

_MARGIN = 14
_FOOT = 34
_WIDEST = 760


class Tone(Enum):
    """How bad the news is; the sign stands before the words."""

    ERROR = "✖"
    WARNING = "▲"
    NOTE = "●"


class ErrorBar(QFrame):
    """Hidden while there is nothing to say. It lies over its parent, near the bottom, and belongs to no layout."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("errorBar")
        self.setAccessibleName(self.tr("Message"))
        self._tone = Tone.ERROR
        self._action: Callable[[], object] | None = None
        self.sign = QLabel(self)
        self.sign.setTextFormat(Qt.TextFormat.PlainText)
        self.label = QLabel(self)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.label.setSizePolicy(policy)
        self.button = QPushButton(self)
        self.button.setObjectName("errorBarAction")
        self.button.clicked.connect(self._act)
        self.dismiss = QToolButton(self)
        self.dismiss.setText("✕")
        self.dismiss.setAccessibleName(self.tr("Dismiss the message"))
        self.dismiss.setToolTip(self.tr("Dismiss"))
        self.dismiss.clicked.connect(self.clear)
        self._row = row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 8, 6)
        row.setSpacing(10)
        row.addWidget(self.sign)
        row.addWidget(self.label, 1)
        row.addWidget(self.button)
        row.addWidget(self.dismiss)
        self.hide()
        if parent is not None:
            parent.installEventFilter(self)

    @property
    def text(self) -> str:
        """What it says; empty when there is nothing to say."""
        return "" if self.isHidden() else self.label.text()

    def tell(
        self, text: str, tone: Tone = Tone.ERROR, *, action: str = "", do: Callable[[], object] | None = None
    ) -> None:
        """Says something.

        Args:
            text: One sentence.
            tone: How bad it is.
            action: The words on the button; empty for no button.
            do: What the button does.
        """
        self._tone, self._action = tone, do
        text = shown_lines(text)
        self.sign.setText(tone.value)
        self.label.setText(cut_middle(text, LONGEST))
        self.label.setToolTip(tip(text))
        self.button.setText(action)
        self.button.setVisible(bool(action))
        self.setAccessibleDescription(text)
        self._colour()
        self.show()
        self._place()
        self.raise_()

    def clear(self) -> None:
        """Says nothing any more."""
        self._action = None
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keeps its place when what it lies over changes its size."""
        if watched is self.parent() and event.type() == QEvent.Type.Resize:
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        over = self.parentWidget()
        if over is None or self.isHidden():
            return
        width = max(min(over.width() - 2 * _MARGIN, _WIDEST), 0)
        height = min(self._row.totalHeightForWidth(width), max(over.height() - _MARGIN, 0))
        left, top = (over.width() - width) // 2, over.height() - height - min(_FOOT, over.height() // 8)
        self.setGeometry(left, max(top, 0), width, height)

    def _act(self) -> None:
        action = self._action
        self.clear()
        if action is not None:
            action()

    def _colour(self) -> None:
        colours = theme.of(self)
        strong = {Tone.ERROR: colours.error, Tone.WARNING: colours.warning, Tone.NOTE: colours.note}[self._tone]
        sheet = (
            f"#errorBar {{ background: {colours.raised.name()}; border: 1px solid {colours.border.name()};"
            f" border-left: 4px solid {strong.name()}; border-top-right-radius: 6px;"
            " border-bottom-right-radius: 6px; }"
        )
        if sheet == self.styleSheet():
            # A new style sheet changes the palette, which brings us here again.
            return
        self.setStyleSheet(sheet)
        self.sign.setStyleSheet(f"color: {strong.name()}; font-weight: 700;")

    def changeEvent(self, event: QEvent) -> None:
        """Follows the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self.sign.text():
            self._colour()
