"""What an extraction came to, on a card over the bytes: nothing moves for it, and nothing waits for it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import Remedy
from shardcore.words import plural
from shardscope.extraction import Failure
from shardscope.looks import theme
from shardscope.looks.remedies import ACTIONS
from shardscope.looks.shown import shown, tip
from shardscope.objects.extracting import Extracting, Result

STAYS_MILLISECONDS = 20_000
"""Good news goes away by itself after this time; failures stay until somebody says so."""

MARGIN = 12

WIDTH = 720


class ResultBar(QFrame):
    """Lies over the bottom of a widget, and follows its size.

    Args:
        extracting: Whose results are told.
        under: What the card lies over.
        message: What lies over it, too; the card keeps clear of it.

    Attributes:
        open_url: Shows a folder to the user.
    """

    def __init__(self, extracting: Extracting, under: QWidget, message: QWidget | None = None) -> None:
        super().__init__(under)
        self.open_url: Callable[[QUrl], object] = QDesktopServices.openUrl
        self._extracting = extracting
        self._session = extracting.session
        self._under = under
        self._result: Result | None = None
        self._message = message
        self.setObjectName("resultBar")
        self.setAccessibleName(self.tr("Result of the extraction"))
        self.sign = QLabel(self)
        self.label = QLabel(self)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setMinimumWidth(60)
        self.label.setWordWrap(True)
        self.open_folder = self._button(self.tr("Open folder"), self._open_folder)
        self.failures = self._button(self.tr("Failures…"), self._show_failures)
        self.retry = self._button(self.tr("Retry failed"), self._retry)
        self.mend = self._button("", self._mend)
        self.dismiss = QToolButton(self)
        self.dismiss.setText("✕")
        self.dismiss.setAccessibleName(self.tr("Dismiss the result"))
        self.dismiss.setToolTip(self.tr("Dismiss"))
        self.dismiss.clicked.connect(self.hide)
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addWidget(self.sign)
        row.addWidget(self.label, 1)
        row.addWidget(self.dismiss)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch(1)
        for button in (self.open_folder, self.failures, self.mend, self.retry):
            buttons.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 8, 8, 8)
        column.setSpacing(8)
        column.addLayout(row)
        column.addLayout(buttons)
        self._ends = QTimer(self)
        self._ends.setSingleShot(True)
        self._ends.setInterval(STAYS_MILLISECONDS)
        self._ends.timeout.connect(self._end)
        under.installEventFilter(self)
        if message is not None:
            message.installEventFilter(self)
        extracting.finished.connect(self.tell)
        self.hide()

    def _button(self, text: str, act: Callable[[], None]) -> QPushButton:
        button = QPushButton(text, self)
        button.clicked.connect(lambda _: act())
        return button

    def tell(self, result: Result) -> None:
        """Says what became of an extraction."""
        self._result = result
        failed = result.found.failed
        remedy = result.found.remedy
        for button in (self.failures, self.retry):
            button.setVisible(failed > 0)
        self.retry.setText(self.tr("Resume") if result.found.lost else self.tr("Retry failed"))
        # Nothing else helps with the objects of what stays open; for what was lost there is the other button.
        self.mend.setText(ACTIONS[remedy] if remedy in (Remedy.DELETED, Remedy.XORBS) else "")
        self.mend.setVisible(bool(self.mend.text()))
        self.setAccessibleDescription(result.text)
        self.setToolTip(tip(f"{result.text}\n{result.wanted.where}"))
        self.label.setText(shown(result.text))
        self._colour()
        self.show()
        self.raise_()
        self._place()
        if failed:
            self._ends.stop()
        else:
            self._ends.start()

    @property
    def text(self) -> str:
        """What it says; empty when there is nothing to say."""
        return "" if self.isHidden() or self._result is None else self._result.text

    # --- what the buttons do ---

    def _open_folder(self) -> None:
        if self._result is not None:
            self.open_url(QUrl.fromLocalFile(str(self._result.wanted.where)))

    def _show_failures(self) -> None:
        if self._result is not None:
            failures_box(self._result.found.failures, self._result.found.failed, self.window()).open()

    def _retry(self) -> None:
        if self._result is not None and self._extracting.retry(self._result) is not None:
            self.hide()

    def _mend(self) -> None:
        if self._result is not None:
            self.hide()
            self._session.remedy_wanted.emit(self._result.found.remedy)

    def _end(self) -> None:
        if self.underMouse() or self.hasFocus() or any(one.hasFocus() for one in self.findChildren(QWidget)):
            self._ends.start()
        else:
            self.hide()

    # --- where it is ---

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follows the size of what it lies over."""
        moves = (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.Show, QEvent.Type.Hide)
        here = watched is self._under and event.type() == QEvent.Type.Resize
        if (here or (watched is self._message and event.type() in moves)) and not self.isHidden():
            self._place()
        return False

    def _place(self) -> None:
        """At the bottom, in the middle; as many lines as the words need."""
        room = self._under.size()
        width = min(WIDTH, room.width() - 2 * MARGIN)
        layout = self.layout()
        height = layout.totalHeightForWidth(width) if layout is not None else self.sizeHint().height()
        height = min(height, room.height() - MARGIN)
        bottom = room.height() - MARGIN
        if self._message is not None and self._message.isVisible():
            # What is wrong with the file is said at the same place: both can be read, one over the other.
            bottom = min(bottom, self._message.y() - MARGIN // 2)
        self.setGeometry((room.width() - width) // 2, max(bottom - height, 0), width, height)

    def _colour(self) -> None:
        if self._result is None:
            return
        colours = theme.of(self)
        wrong = self._result.found.failed > 0
        strong = colours.error if wrong else colours.ok if self._result.found.files else colours.note
        self.sign.setText("✖" if wrong else "✔" if self._result.found.files else "●")
        sheet = (
            f"#resultBar {{ background: {colours.raised.name()}; border: 1px solid {colours.border.name()};"
            f" border-left: 4px solid {strong.name()}; border-top-right-radius: 6px;"
            " border-bottom-right-radius: 6px; }"
        )
        if sheet != self.styleSheet():
            # A new style sheet changes the palette, which brings us here again.
            self.setStyleSheet(sheet)
            self.sign.setStyleSheet(f"color: {strong.name()}; font-weight: 700;")

    def changeEvent(self, event: QEvent) -> None:
        """Follows the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_result"):
            self._colour()


def failures_box(failures: tuple[Failure, ...], total: int, parent: QWidget) -> QDialog:
    """A list of what failed, and why; modal to the window when it is opened by `open()`."""
    box = QDialog(parent)
    box.setObjectName("extractFailures")
    box.setWindowTitle(QCoreApplication.translate("ResultBar", "Not extracted"))
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    more = f"; the first {len(failures):,}:" if total > len(failures) else ""
    head = QLabel(
        QCoreApplication.translate("ResultBar", "{0} could not be written").format(plural(total, "file")) + more, box
    )
    head.setTextFormat(Qt.TextFormat.PlainText)
    table = QTableWidget(len(failures), 2, box)
    table.setObjectName("failureTable")
    table.setAccessibleName(QCoreApplication.translate("ResultBar", "What failed"))
    table.setHorizontalHeaderLabels(["Object", "Reason"])
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    table.setTabKeyNavigation(False)
    table.verticalHeader().hide()
    for row, failure in enumerate(failures):
        for column, text in enumerate((failure.name, failure.reason)):
            item = QTableWidgetItem(shown(text))
            item.setToolTip(tip(text))
            table.setItem(row, column, item)
    table.setColumnWidth(0, 240)
    table.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
    table.horizontalHeader().setHighlightSections(False)
    table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, box)
    buttons.rejected.connect(box.reject)
    column_layout = QVBoxLayout(box)
    column_layout.setContentsMargins(18, 16, 18, 14)
    column_layout.setSpacing(10)
    column_layout.addWidget(head)
    column_layout.addWidget(table, 1)
    column_layout.addWidget(buttons)
    box.resize(760, 360)
    return box
