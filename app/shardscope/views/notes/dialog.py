"""Dialog for the text of a note."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from shardcore import Span
from shardcore.operations.notes import MOST_LETTERS
from shardscope.session.display_text import span_words
from shardscope.widgets.elided_label import Elided


class NoteDialog(QDialog):
    """Dialog for a note; `written` carries the span and the text."""

    written = Signal(object, str)

    def __init__(self, span: Span, place: str, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("noteDialog")
        self.setWindowTitle(self.tr("Edit note") if text else self.tr("Add note"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._span = span
        where = Elided(greedy=True, parent=self)
        where.set_text("  ·  ".join(part for part in (span_words(span), place) if part))
        self.field = QPlainTextEdit(self)
        self.field.setObjectName("noteText")
        self.field.setAccessibleName(self.tr("Text of the note"))
        self.field.setPlaceholderText(self.tr("Text (empty: a bookmark)"))
        self.field.setTabChangesFocus(True)
        self.field.setPlainText(text)
        # Selected text would be replaced by the first key.
        self.field.moveCursor(QTextCursor.MoveOperation.End)
        self.field.textChanged.connect(self._limit)
        self.limit = QLabel(self)
        self.limit.setTextFormat(Qt.TextFormat.PlainText)
        self.buttons = QDialogButtonBox(self)
        self.save = self.buttons.addButton(self.tr("&Save"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.save.setToolTip(self.tr("Ctrl+Return"))
        self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.field.installEventFilter(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(8)
        for part in (where, self.field, self.limit, self.buttons):
            column.addWidget(part)
        self.accepted.connect(lambda: self.written.emit(self._span, self.field.toPlainText()))
        self._limit()
        self.resize(QSize(480, 260))
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _limit(self) -> None:
        characters = len(self.field.toPlainText())
        self.save.setEnabled(characters <= MOST_LETTERS)
        over = self.tr("{0} of at most {1} characters").format(f"{characters:,}", f"{MOST_LETTERS:,}")
        self.limit.setText(over if characters > MOST_LETTERS * 0.9 else self.tr("Ctrl+Return saves"))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and watched is self.field:
            command = event.modifiers() & Qt.KeyboardModifier.ControlModifier
            if command and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.accept()
                return True
        return super().eventFilter(watched, event)

    def accept(self) -> None:
        if self.save.isEnabled():
            super().accept()
