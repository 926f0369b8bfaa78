"""*Compare formats…*: the window, and the dialogs around it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from shardcore import Cancelled
from shardcore.teaching.comparison import to_csv
from shardcore.teaching.comparison.comparison import write_text
from shardscope.learning.comparison.jobs import CompareJobs
from shardscope.learning.comparison.window import CompareWindow
from shardscope.session.error_words import plain_words
from shardscope.session.jobs import JobPriority, Jobs, alive
from shardscope.widgets.file_dialogs import ask_folder, ask_target
from shardscope.widgets.picture import ask_picture


class CompareFormats(QObject):
    """Opens the window of the comparison; there is one at a time.

    Args:
        jobs: Runs the work.
        parent: The window.

    Attributes:
        action: The action *Compare formats…*.
        sheet: The window, while it is open.
    """

    def __init__(self, jobs: Jobs, parent: QWidget) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._window = parent
        self.sheet: CompareWindow | None = None
        self.action = QAction(self.tr("Compare for&mats…"), parent)
        self.action.setObjectName("compareAction")
        self.action.setShortcut(QKeySequence("Ctrl+Shift+M"))
        self.action.setToolTip(self.tr("Packs the same objects into every format, and shows what each costs"))
        self.action.triggered.connect(lambda _: self.show())

    def show(self) -> CompareWindow:
        """Opens the window, or brings it to the front."""
        if self.sheet is None:
            desk = CompareJobs(self._jobs)
            sheet = self.sheet = CompareWindow(desk, self._window)
            desk.setParent(sheet)
            sheet.finished.connect(lambda _: self._closed())
            sheet.folder_wanted.connect(self._ask_folder)
            sheet.picture_wanted.connect(lambda: ask_picture(sheet.area, "formats", self._tell_picture))
            sheet.table_wanted.connect(self._ask_table)
            desk.begin()
        self.sheet.show()
        self.sheet.raise_()
        self.sheet.activateWindow()
        self.sheet.strips.setFocus(Qt.FocusReason.OtherFocusReason)
        return self.sheet

    def _closed(self) -> None:
        if self.sheet is not None:
            self.sheet.desk.stop()
            self.sheet = None
        # Not every desktop gives the keyboard back to the window by itself.
        self._window.window().activateWindow()

    def _ask_folder(self) -> None:
        sheet = self.sheet
        if sheet is None:
            return
        ask_folder(sheet, self.tr("Choose a folder whose files are packed"), lambda path: sheet.desk.read([path]))

    def _tell_picture(self, words: str, failed: bool) -> None:
        if self.sheet is not None:
            self.sheet.tell_saved(words, error=failed)

    def _ask_table(self) -> None:
        sheet = self.sheet
        if sheet is None:
            return
        found = sheet.desk.comparison
        kinds = {"CSV (*.csv)": "csv"}

        def save(path: str) -> None:
            self.save(Path(path), to_csv(found))

        ask_target(sheet, self.tr("Save table"), save, name="formats.csv", kinds=kinds)

    def save(self, path: Path, text: str) -> None:
        """Writes a table; the window of the comparison shows the result."""
        sheet = self.sheet

        def done(_: object, error: BaseException | None) -> None:
            if sheet is None or not alive(sheet.refresh) or isinstance(error, Cancelled):
                return
            words = self.tr("Saved: {0}").format(path) if error is None else plain_words(error)
            sheet.tell_saved(words, error=error is not None)

        self._jobs.submit(
            lambda _: write_text(path, text, force=True), key=("save", self), priority=JobPriority.SCREEN, done=done
        )
