"""Dialog that lists the recoverable objects of a damaged file and extracts them."""

from __future__ import annotations

from itertools import chain, count
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QProgressBar,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from shardcore import Cancelled, SourceError
from shardcore.errors import source_lost
from shardcore.model.text import plural, shown, size_text
from shardcore.operations.recover import REPORT, Salvage, Saved
from shardcore.shards.salvage import Condition
from shardscope.session.display_text import cut_middle, grouped
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import Job, JobPriority, Pool
from shardscope.session.session import Session
from shardscope.widgets import theme
from shardscope.widgets.file_dialogs import ask_folder
from shardscope.widgets.fonts import LARGE
from shardscope.widgets.plain_text import plain_label, tip
from shardscope.widgets.tick_box import TickBox

MOST_ROWS = 1000
"""Maximum number of objects listed; the report in the folder lists all."""

_SIGNS = {Condition.WHOLE: "✓", Condition.UNCHECKED: "●", Condition.DAMAGED: "✖", Condition.LOST: "▲"}
_PLACE = int(Qt.ItemDataRole.UserRole)


class RecoverDialog(QDialog):
    """List of recoverable objects; `wanted` requests their extraction, `again` another search."""

    wanted = Signal()
    again = Signal()
    place_chosen = Signal(object)

    def __init__(self, name: str, *, sandbox: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("salvageSheet")
        self.setWindowTitle(self.tr("Recover objects"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        of = self.tr("the sandbox copy of {0}, not the file on disk") if sandbox else "{0}"
        words = self.tr("Objects that can be recovered from {0}").format(of.format(cut_middle(name, 60)))
        heading = plain_label(shown(words), size=LARGE, wrap=True)
        self.title = plain_label(self.tr("Searching for intact objects …"), wrap=True)
        self.busy = QProgressBar(self)
        self.busy.setTextVisible(False)
        self.busy.setFixedHeight(8)
        self.busy.setAccessibleName(self.tr("Progress"))
        self.rows = QTreeWidget(self)
        self.rows.setObjectName("salvageRows")
        self.rows.setAccessibleName(self.tr("Recovered objects"))
        self.rows.setHeaderLabels([self.tr("Condition"), self.tr("Name"), self.tr("Size"), self.tr("Check or reason")])
        self.rows.setRootIsDecorated(False)
        self.rows.setUniformRowHeights(True)
        self.rows.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.rows.header().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.rows.itemClicked.connect(self._chosen)
        self.rows.itemActivated.connect(self._chosen)
        self.raw = TickBox(self.tr("Include &bytes outside any object"), self)
        self.raw.setToolTip(self.tr("They may be uncompressed objects with unknown boundaries"))
        self.raw.toggled.connect(lambda _: self.again.emit())
        self.raw.hide()
        self.buttons = QDialogButtonBox(self)
        self.take = self.buttons.addButton(self.tr("&Extract to a folder…"), QDialogButtonBox.ButtonRole.ActionRole)
        self.take.setEnabled(False)
        self.take.clicked.connect(lambda _: self.wanted.emit())
        self.retry = self.buttons.addButton(self.tr("&Retry"), QDialogButtonBox.ButtonRole.ActionRole)
        self.retry.setObjectName("salvageRetry")
        self.retry.clicked.connect(lambda _: self.again.emit())
        self.retry.hide()
        close = self.buttons.addButton(QDialogButtonBox.StandardButton.Close)
        close.setShortcut(QKeySequence(Qt.Key.Key_Escape))
        self.buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(10)
        for part in (heading, self.title, self.busy, self.rows, self.raw, self.buttons):
            column.addWidget(part)
        self.resize(760, 460)

    def show_result(self, done: Salvage) -> None:
        self.busy.hide()
        counts = done.counts
        outcomes = [
            self.tr("✓ {0} intact").format(f"{counts['whole']:,}"),
            self.tr("● {0} unverified").format(f"{counts['unchecked']:,}"),
            self.tr("✖ {0} damaged").format(f"{counts['damaged']:,}"),
            self.tr("▲ {0} lost").format(f"{counts['lost']:,}"),
        ]
        keyless = plural(counts["without_key"], "object")
        more = [self.tr("{0} without a key.").format(keyless)] if counts["without_key"] else []
        if done.opens:
            more.append(self.tr("The file is damaged: {0}.").format(done.opens))
        more += [f"{note}." for note in (*done.notes, *done.left_out)]
        if done.folder is not None:
            more.append(self.tr("Written to {0}, with {1}.").format(done.folder, REPORT))
        self.title.setText(grouped(shown("  ·  ".join(outcomes) + ". " + " ".join(more))))
        self.title.setStyleSheet("")
        self.rows.clear()
        for one in done.items[:MOST_ROWS]:
            self.rows.addTopLevelItem(self._row(one))
        if len(done.items) > MOST_ROWS:
            self.rows.addTopLevelItem(
                QTreeWidgetItem(["…", self.tr("{0} more").format(f"{len(done.items) - MOST_ROWS:,}")])
            )
        for column in range(3):
            self.rows.resizeColumnToContents(column)
            self.rows.setColumnWidth(column, min(self.rows.columnWidth(column), 280))
        self.raw.setVisible(bool(done.unclaimed) and done.folder is None)
        self.take.setEnabled(bool(counts["whole"] + counts["unchecked"] + counts["raw"]) and done.folder is None)

    def show_error(self, text: str) -> None:
        self.busy.hide()
        self.title.setText(shown(text))
        self.title.setStyleSheet(f"color: {theme.of(self).error.name()};")

    def show_lost(self, text: str, done: Salvage | None) -> None:
        if done is not None:
            self.show_result(done)
        self.busy.hide()
        before = f"{self.title.text()}\n" if done is not None and done.items else ""
        self.title.setText(before + shown(self.tr("Source unreachable: {0}. More may be found later.").format(text)))
        self.title.setStyleSheet(f"color: {theme.of(self).warning.name()};")
        self.take.setEnabled(False)
        self.retry.show()

    def _row(self, one: Saved) -> QTreeWidgetItem:
        why = one.why or one.checked_by or self.tr("nothing")
        where = self.tr("; found without the index") if one.without_index and one.sha256 and not one.raw else ""
        name = one.path or one.name
        words = {Condition.WHOLE: self.tr("intact"), Condition.UNCHECKED: self.tr("unverified")}
        size = size_text(one.size) if one.size >= 0 else ""
        item = QTreeWidgetItem(
            [
                self.tr("● raw")
                if one.raw
                else f"{_SIGNS[one.condition]} {words.get(one.condition, one.condition.value)}",
                cut_middle(shown(name), 44),
                size,
                grouped(shown(why + where)),
            ]
        )
        item.setToolTip(1, tip(f"{name}\n{one.sha256}"))
        item.setToolTip(3, tip(why + where))
        item.setData(0, _PLACE, one.spans[0] if one.spans else None)
        return item

    def _chosen(self, item: QTreeWidgetItem, _: int) -> None:
        if (place := item.data(0, _PLACE)) is not None:
            self.place_chosen.emit(place)


class RecoverTask(QObject):
    written = Signal(object)

    def __init__(self, session: Session, window: QWidget) -> None:
        super().__init__(window)
        self._session = session
        self._window = window
        self.sheet: RecoverDialog | None = None
        self._writing = False
        session.closed.connect(self._close)
        session.jobs.changed.connect(self._progressed)

    def ask(self) -> RecoverDialog | None:
        if self._session.shard is None or self._session.shard.source is None:
            return None
        self._close()
        request = self._session.request
        sheet = self.sheet = RecoverDialog(request.name, sandbox=request.sandbox, parent=self._window)
        sheet.wanted.connect(self._ask_folder)
        sheet.again.connect(lambda: self._run(None))
        sheet.place_chosen.connect(self._session.select_span)
        sheet.finished.connect(lambda _: self._closed(sheet))
        sheet.show()
        # Some desktops do not give the keyboard to a new window.
        sheet.raise_()
        sheet.activateWindow()
        sheet.rows.setFocus(Qt.FocusReason.OtherFocusReason)
        size = self._session.shard.source.size
        self._session.with_consent(self.tr("Scanning the file"), size, lambda: self._run(None))
        return sheet

    def take_to(self, folder: Path) -> Job | None:
        return self._run(folder)

    def _ask_folder(self) -> None:
        folder = str(self._session.request.folder)
        title = self.tr("Folder for the recovered objects")

        def take(path: str) -> None:
            self.take_to(_empty_folder(Path(path), self._session.request.name))

        ask_folder(self.sheet or self._window, title, take, start=folder).setObjectName("salvageFolder")

    def _run(self, folder: Path | None) -> Job | None:
        sheet, request = self.sheet, self._session.request
        if sheet is None:
            return None
        raw, self._writing = sheet.raw.isChecked(), folder is not None
        sheet.busy.show()
        sheet.retry.hide()
        sheet.take.setEnabled(False)

        def take(done: Salvage) -> None:
            if self.sheet is sheet:
                sheet.show_result(done)
            if folder is not None:
                self.written.emit(done)

        def failed(error: BaseException) -> None:
            if self.sheet is sheet and isinstance(error, SourceError) and source_lost(error):
                sheet.show_lost(error_text(error), error.partial)
            elif self.sheet is sheet and not isinstance(error, Cancelled):
                sheet.show_error(error_text(error))
                sheet.take.setEnabled(folder is not None)

        title = self.tr("Search for intact objects") if folder is None else self.tr("Recover objects")
        return self._session.ask(
            lambda _, job: request.salvage(folder, job.progress, raw=raw),
            take,
            failed=failed,
            key=("salvage", self),
            pool=Pool.CPU,
            priority=JobPriority.SELECTED,
            title=title,
        )

    def _progressed(self, job: Job) -> None:
        if self.sheet is not None and job is self._session.jobs.newest(("salvage", self)):
            self.sheet.busy.setRange(0, max(job.total_amount, 1))
            self.sheet.busy.setValue(job.done_amount)

    def _close(self) -> None:
        sheet = self.sheet
        if sheet is not None and self._session.switching and self._writing:
            # Another tab is shown: writing continues without the dialog.
            self.sheet = None
        if sheet is not None:
            sheet.reject()

    def _closed(self, sheet: RecoverDialog) -> None:
        if self.sheet is sheet:
            self.sheet = None
            if (job := self._session.jobs.newest(("salvage", self))) is not None:
                job.cancel()


def _empty_folder(chosen: Path, name: str) -> Path:
    try:
        if not any(chosen.iterdir()):
            return chosen
    except OSError:
        # The job reports the reason.
        return chosen
    first = f"{Path(name).stem or 'objects'}-recovered"
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(chosen / one for one in names if not (chosen / one).exists())
