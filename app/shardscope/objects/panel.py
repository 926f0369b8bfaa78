"""The objects: a filter, the table, and what is known about both."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import NotAShard
from shardscope.jobs import Pool, Priority
from shardscope.looks.remedies import plain_words
from shardscope.models.object_model import ObjectModel
from shardscope.models.object_rows import Rows, Sought, View, can_sort, rows_of, seek_file
from shardscope.objects.actions import ObjectActions
from shardscope.objects.table import ObjectTable
from shardscope.selection import Selection
from shardscope.session import IndexState, Session
from shardscope.settings import Settings

TYPING_MILLISECONDS = 250
"""The filter waits this long for the next key stroke."""

MANY_ROWS = 1_000_000
"""Filtering more rows than this is a job that is shown."""


class FilterField(QLineEdit):
    """A line to type a filter into; a file that is dropped on it is sought among the objects."""

    file_dropped = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText("Filter: beginning of a key, pattern with * or ?, whole key; or drop a file here")
        self.setToolTip(
            "Type the beginning of a key, a pattern with * and ?, or a whole key.\n"
            "Drop a file here to ask whether it is in this shard: by its SHA-256, its name, then its content."
        )
        self.setAccessibleName("Filter objects")
        self.setClearButtonEnabled(True)
        self.setAcceptDrops(True)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Takes one local file."""
        urls = event.mimeData().urls()
        if len(urls) == 1 and urls[0].isLocalFile():
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
        else:
            super().dragEnterEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        """Hands over the file; texts are typed in."""
        urls = event.mimeData().urls()
        if len(urls) == 1 and urls[0].isLocalFile():
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            path = Path(urls[0].toLocalFile())
            QTimer.singleShot(0, self, lambda: self.file_dropped.emit(path))
        else:
            super().dropEvent(event)


class ObjectPanel(QWidget):
    """Follows the selection of the session, and makes it."""

    def __init__(self, session: Session, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._view = View()
        self._note = ""
        self.model = ObjectModel(session, self)
        self.table = ObjectTable(self.model, self)
        self.filter = FilterField(self)
        self.hide_unused = QToolButton(self)
        self.hide_unused.setCheckable(True)
        self.hide_unused.setToolTip("Leaves out the rows that hold no object, or one that was deleted")
        self.load_button = QPushButton("Read the index", self)
        self.load_button.setToolTip("Reads the whole index: objects can be sorted then, and every byte explained")
        self.status = QLabel(self)
        self.status.setObjectName("objectStatus")
        self.status.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.earlier = self._pager("◀", "Earlier rows", -1)
        self.later = self._pager("▶", "Later rows", 1)
        self.actions_ = ObjectActions(session, self.table, settings, self)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(TYPING_MILLISECONDS)
        self.setFocusProxy(self.table)
        self._lay_out()
        self._connect()
        self._reload()

    def _pager(self, sign: str, name: str, step: int) -> QToolButton:
        button = QToolButton(self)
        button.setText(sign)
        button.setToolTip(f"{name}: more rows than can be scrolled at once")
        button.setAccessibleName(name)
        button.clicked.connect(lambda: self._turn(step))
        return button

    def _lay_out(self) -> None:
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 6, 8, 6)
        bar.setSpacing(10)
        bar.addWidget(self.filter, 1)
        bar.addWidget(self.hide_unused)
        bar.addWidget(self.load_button)
        foot = QHBoxLayout()
        foot.setContentsMargins(8, 3, 8, 3)
        foot.addWidget(self.status, 1)
        foot.addWidget(self.earlier)
        foot.addWidget(self.later)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(bar)
        layout.addWidget(self.table, 1)
        layout.addLayout(foot)

    def _connect(self) -> None:
        session = self._session
        session.opened.connect(lambda _: self._reload())
        session.closed.connect(self._reload)
        session.index_loaded.connect(self._rows_known)
        session.index_changed.connect(lambda _: self._update())
        session.selection_changed.connect(self._follow)
        self.table.rows_chosen.connect(lambda row: session.select_row(row, self))
        self.table.horizontalHeader().sectionClicked.connect(self._sort_by)
        self.table.selectionModel().selectionChanged.connect(lambda *_: self._update())
        self.model.blocks_changed.connect(self._update)
        self.model.page_failed.connect(self._failed)
        self.filter.textChanged.connect(lambda _: self._typing.start())
        self.filter.returnPressed.connect(self._apply_now)
        self.filter.file_dropped.connect(self.seek)
        self.filter.installEventFilter(self)
        self._typing.timeout.connect(self._apply)
        self.hide_unused.toggled.connect(self._hiding)
        self.load_button.clicked.connect(lambda _: session.load_index())

    # --- what is open ---

    def _reload(self) -> None:
        self._view, self._note = View(), ""
        for widget in (self.filter, self.hide_unused):
            widget.blockSignals(True)
        self.filter.clear()
        self.hide_unused.setChecked(False)
        for widget in (self.filter, self.hide_unused):
            widget.blockSignals(False)
        self._hiding(False)
        self._typing.stop()
        if (older := self._session.jobs.newest(("rows", self))) is not None:
            older.cancel()
        self.model.load()
        source = self._session.shard.source if self._session.shard is not None else None
        self.table.set_largest(source.size if source is not None else 0)
        self._show_order()
        self._update()

    def _rows_known(self) -> None:
        """Rows, or more about them, are known now; order and filter stay."""
        if self._view.plain:
            self.model.load()
            self._follow(self._session.selection)
        else:
            self._show(self._view)
        self._update()

    # --- filter and order ---

    def _hiding(self, hidden: bool) -> None:
        self.hide_unused.setText(f"{'☑' if hidden else '☐'} Hide unused and deleted")
        self._apply()

    def _wanted(self) -> View:
        return View(self.filter.text().strip(), self.hide_unused.isChecked(), self._view.order, self._view.descending)

    def _apply_now(self) -> None:
        self._typing.stop()
        self._apply()
        self.table.setFocus(Qt.FocusReason.OtherFocusReason)

    def _apply(self) -> None:
        if self._wanted() != self._view:
            self._show(self._wanted())

    def _sort_by(self, section: int) -> None:
        order = self.model.columns[section].order
        shard = self._session.shard
        if shard is None:
            return
        if self._session.listing is None or not can_sort(shard, order):
            states = {
                IndexState.LOADING: "The index is being read: sort then.",
                IndexState.LOADED: "There are too many rows to sort by this column.",
            }
            self._session.message.emit(states.get(self._session.index_state, "Sorting needs the index: read it first."))
            self._show_order()
            return
        descending = order == self._view.order and not self._view.descending
        self._show(View(self._view.text, self._view.hide, order, descending))

    def _show(self, view: View) -> None:
        """Finds the rows of a view, in a job, and shows them."""
        if self._session.shard is None:
            return
        self._view, self._note = view, ""
        self._show_order()

        def take(rows: Rows | None) -> None:
            if self._view is view:
                self.model.set_rows(rows)
                self._follow(self._session.selection)
                self._update()

        def failed(error: BaseException) -> None:
            self._say(plain_words(error), view)

        heavy = (view.text or view.hide) and self._total > MANY_ROWS
        self._session.ask(
            lambda shard, job: rows_of(shard, view, job.progress),
            take,
            failed=failed,
            stopped=lambda: self._say("the filter was stopped", view),
            key=("rows", self),
            pool=Pool.CPU,
            title="Filter objects" if heavy else "",
        )
        self._update()

    def _say(self, note: str, view: View) -> None:
        """Says what became of a view, if it is still the one that is wanted."""
        if self._view is view:
            self._note = note
            self._update()

    def _show_order(self) -> None:
        header = self.table.horizontalHeader()
        section = next((n for n, c in enumerate(self.model.columns) if c.order == self._view.order), -1)
        side = Qt.SortOrder.DescendingOrder if self._view.descending else Qt.SortOrder.AscendingOrder
        header.setSortIndicatorShown(section >= 0)
        header.setSortIndicator(section, side)

    def seek(self, path: Path) -> None:
        """Asks whether a file is among the objects; selects the one it is."""
        if self._session.shard is None:
            return

        def take(found: Sought) -> None:
            tell(found.how)
            if found.ref is not None:
                self._session.select_row(found.ref.row)

        def tell(words: object) -> None:
            self._note = str(words)
            if job is not None:
                job.note = self._note
            self._session.message.emit(self._note)
            self._update()

        self._note = f"looking for {path.name} …"
        job = self._session.ask(
            lambda shard, job: seek_file(shard, path, job.progress),
            take,
            failed=tell,
            key=("seek", self),
            pool=Pool.CPU,
            priority=Priority.SCAN,
            title=f"Is {path.name} in here?",
        )
        self._update()

    # --- selection and state ---

    def _follow(self, selection: Selection) -> None:
        if selection.origin is self and selection.row is not None:
            return
        if selection.complete or selection.row is not None:
            self.table.follow(selection.row)

    def _turn(self, step: int) -> None:
        first, last = self.model.block
        self.model.set_block((first if step < 0 else last) // max(last - first, 1) + min(step, 0))

    def _failed(self, message: str) -> None:
        self._note = f"some rows cannot be read: {message}"
        self._update()

    @property
    def _total(self) -> int:
        """How many rows there are, as far as that is known."""
        return len(self._session.listing) if self._session.listing is not None else 0

    def _update(self) -> None:
        shard = self._session.shard
        total = self._total
        state = self._session.index_state
        self.load_button.setVisible(shard is not None and state in (IndexState.NONE, IndexState.FAILED))
        first, last = self.model.block
        paged = last - first < self.model.total
        for button in (self.earlier, self.later):
            button.setVisible(paged)
        self.earlier.setEnabled(first > 0)
        self.later.setEnabled(last < self.model.total)
        if shard is None:
            self.status.setText("")
            return
        if self._session.listing is None:
            words = {
                IndexState.LOADING: "Reading the index: the objects are known then …",
                IndexState.FAILED: "The objects cannot be read.",
            }
            self.status.setText(words.get(state, "The objects are known once the index is read."))
            return
        if shard.damage is not None and not total:
            why = "it is not a shard" if isinstance(shard.damage, NotAShard) else "the file is damaged"
            self.status.setText(f"No objects can be read: {why}.")
            return
        parts = [f"{total:,} rows"] if self._view.plain else [f"{self.model.total:,} of {total:,} rows"]
        if self._session.jobs.newest(("rows", self)) is not None:
            parts.append("looking …")
        if paged:
            parts.append(f"shown: {first:,} to {last - 1:,}")
        if (selected := self.table.selected_count()) > 1:
            parts.append(f"{selected:,} selected")
        if state is IndexState.LOADING:
            parts.append("reading the index …")
        if self._note:
            parts.append(self._note)
        self.status.setText("  ·  ".join(parts))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Down goes from the filter to the table, Escape clears it."""
        if watched is self.filter and event.type() == QEvent.Type.KeyPress:
            key = event.key()  # type: ignore[attr-defined]
            if key == Qt.Key.Key_Down:
                self.table.setFocus(Qt.FocusReason.TabFocusReason)
                return True
            if key == Qt.Key.Key_Escape and self.filter.text():
                self.filter.clear()
                self._apply_now()
                return True
        return super().eventFilter(watched, event)
