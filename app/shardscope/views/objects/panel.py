"""Panel of the objects: filter, table and status line."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAction, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QToolBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import DataSet, NotAShard
from shardcore.dataclasses import dataclass, replace
from shardcore.model.text import plural, size_text
from shardcore.sources.remote.address import is_address
from shardscope.session.display_text import error_text
from shardscope.session.jobs import Job, JobPriority, Pool
from shardscope.session.object_filter import FileMatch, SomeRows, find_file, place_of_key, toggled, wanted_names
from shardscope.session.object_rows import (
    NeedsAllRows,
    ObjectCounts,
    SizeSum,
    View,
    add_up,
    can_sort,
    count,
    countable,
    rows_of,
)
from shardscope.session.selection import Selection, TraceWalk
from shardscope.session.session import IndexState, Session
from shardscope.startup.settings import Settings
from shardscope.views.objects.actions import ObjectActions
from shardscope.views.objects.model import ObjectModel, place_in
from shardscope.views.objects.table import ColumnVisibility, ObjectTable
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.layouts import lay, made


class Chips(QToolBar):
    """Buttons that filter by kind or state; buttons that do not fit are in a menu at the end."""

    spoken_role = QAccessible.Role.Grouping

    chosen = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "objectChips", accessibleName=self.tr("Kinds and states"))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        plain = "{ background: transparent; border: none; padding: 0; spacing: 4px; }"
        self.setStyleSheet(f"QToolBar {plain} #qt_toolbar_ext_button {plain}")
        self.buttons: dict[tuple[str, str], QToolButton] = {}
        more = self.findChild(QToolButton, "qt_toolbar_ext_button")
        assert more is not None
        # Its icon is black in every theme.
        more.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        about = self.tr("More kinds and states")
        made(more, text="»", toolTip=about, accessibleName=about, focusPolicy=Qt.FocusPolicy.TabFocus)

    def show_census(self, census: ObjectCounts | None) -> None:
        for action in self.actions():
            self.removeAction(action)
            action.deleteLater()
        self.buttons = {}
        kinds, states = (census.kinds, census.states) if census is not None else ((), ())
        if len(kinds) > 1:
            for kind, found in kinds:
                self._add("kind", kind, plural(found, kind))
        if len(states) > 1:
            for state, found in states:
                self._add("state", state, f"{state} {found:,}")

    def show_filter(self, text: str) -> None:
        for (name, value), button in self.buttons.items():
            button.setChecked(value in wanted_names(text, name))

    def _add(self, name: str, value: str, text: str) -> None:
        about = self.tr("Show only {0}:{1}; click again to show all").format(name, value)
        action = made(self.addAction(text, lambda: self.chosen.emit(name, value)), checkable=True, toolTip=about)
        button = self.widgetForAction(action)
        assert isinstance(button, QToolButton)
        self.buttons[name, value] = button
        made(button, accessibleName=self.tr("Only {0}").format(text), focusPolicy=Qt.FocusPolicy.TabFocus)


class FilterField(QLineEdit):
    file_dropped = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText(self.tr("Filter: key, *part*, >4K"))
        self.setToolTip(
            self.tr(
                "Conditions separated by spaces; all must match.\n"
                "• a key or any part of one; a pattern with * and ?, as 0f3* for a prefix; "
                "key:… for a key that looks like a condition\n"
                "• a size in bytes: >4K  <=1M  =520  10..200   or a stored size: stored:10..200\n"
                "• rows by their numbers: row:12  row:10..20\n"
                "• state:live,unused   kind:chunk   codec:lz4   a minus excludes: -state:unused\n"
                "Drop a file here to search for it in this shard: by its SHA-256, its name, then its content."
            )
        )
        made(
            self, accessibleName=self.tr("Filter objects"), clearButtonEnabled=True, acceptDrops=True, minimumWidth=172
        )

    def _accept_file(self, event: QDropEvent) -> Path | None:
        urls = event.mimeData().urls()
        if len(urls) != 1 or not urls[0].isLocalFile():
            return None
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        return Path(urls[0].toLocalFile())

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._accept_file(event) is None:
            super().dragEnterEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        path = self._accept_file(event)
        if path is None:
            super().dropEvent(event)
        else:
            QTimer.singleShot(0, self, lambda: self.file_dropped.emit(path))


def why_none(session: Session) -> str | None:
    shard = session.shard
    if shard is None:
        return ""
    if session.listing is None:
        if isinstance(shard, DataSet) and shard.key_spaces:
            return "Choose a key space first."
        words = {
            IndexState.LOADING: "Reading the index …",
            IndexState.FAILED: "Cannot read the objects.",
        }
        return words.get(session.index.state, "Load the index to see the objects.")
    if shard.damage is not None and not len(session.listing):
        why = "is not a shard" if isinstance(shard.damage, NotAShard) else "is damaged"
        return f"No objects: this file {why}."
    return None


HIDE_UNUSED = "-state:unused,deleted"

APPLY_MILLISECONDS = 250
DIM_MILLISECONDS = 200
SUM_MILLISECONDS = 60
"""Milliseconds until the filter is applied, old rows are dimmed, and the sizes of a selection are added up."""

MANY_ROWS = 1_000_000
"""Number of rows above which filtering is listed in *Activity*."""


@dataclass(frozen=True, slots=True)
class ListPosition:
    text: str
    view: View
    top: int


class ObjectPanel(QWidget):
    """Panel that follows and changes the selection of the session. `bytes_wanted` requests to focus the bytes."""

    bytes_wanted = Signal()
    preview_wanted = Signal()

    def __init__(self, session: Session, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._view = View()
        self._note, self._refused = "", False
        self._top: int | None = None
        self._sum: SizeSum | None = None
        self.salvage_button: QPushButton | None = None
        self.model = ObjectModel(session, self)
        self.table = ObjectTable(self.model, self)
        self.filter = FilterField(self)
        self.chips = Chips(self)
        about = self.tr("Hide rows without an object and deleted objects")
        self.hide_unused = QAction(self.tr("&Hide unused and deleted rows"), self, checkable=True, toolTip=about)
        about = self.tr("Read the whole index, to sort objects and explain every byte")
        self.load_button = made(QPushButton(self.tr("Load index"), self), toolTip=about)
        self.status = made(Elided(greedy=True, parent=self), "objectStatus")
        self.earlier = self._pager("◀", self.tr("Earlier rows"), -1)
        self.later = self._pager("▶", self.tr("Later rows"), 1)
        self.actions_ = ObjectActions(session, self.table, settings, self)
        self.columns = ColumnVisibility(session, self.table, settings)
        line = QAction(self)
        line.setSeparator(True)
        self.table.addActions([line, self.hide_unused, self.columns.reset_widths])
        self._typing = Debounce(self, self._apply, APPLY_MILLISECONDS)
        self._late = Debounce(self, lambda: self.table.dim(self._looking is not None), DIM_MILLISECONDS)
        self._summing = Debounce(self, self._add_up, SUM_MILLISECONDS)
        self._update = Debounce(self, self._show_state).again
        self.setFocusProxy(self.table)
        self._lay_out()
        self._connect()
        self._reload()
        if session.index.state is IndexState.LOADED:
            self._rows_known()

    def _pager(self, sign: str, name: str, step: int) -> QToolButton:
        about, turn = self.tr("{0} (too many to scroll at once)").format(name), lambda: self._turn(step)
        return made(QToolButton(self), text=sign, toolTip=about, accessibleName=name, clicked=turn)

    def _lay_out(self) -> None:
        bar = lay(QHBoxLayout(), (self.filter, 1), self.chips, margins=(8, 4, 8, 4), spacing=6)
        # Fixed height, and never wider than the line above, so that the layout is stable.
        line = QWidget(self)
        line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        line.setFixedHeight(max(self.load_button.sizeHint().height(), self.earlier.sizeHint().height()) + 4)
        buttons = self.load_button, self.earlier, self.later
        self._foot = lay(QHBoxLayout(line), (self.status, 1), *buttons, margins=(8, 2, 8, 2), spacing=6)
        self.table.setMinimumSize(0, 48)
        lay(QVBoxLayout(self), bar, (self.table, 1), line)

    def offer_salvage(self, action: QAction) -> None:
        text = action.text().replace("&", "")
        button = made(QPushButton(text, self), toolTip=action.toolTip(), accessibleName=text, clicked=action.trigger)
        self.salvage_button = button
        self._foot.insertWidget(1, button)
        self._update()

    def _connect(self) -> None:
        session, model, table = self._session, self.model, self.table
        for signal, slot in (
            (session.opened, lambda _: self._reload()),
            (session.closed, self._reload),
            (session.index.loaded, self._rows_known),
            (session.index.changed, self._index_changed),
            (session.notation_changed, self._update),
            # Also while hidden: extracting and looking up act on the selected rows.
            (session.selection_changed, self._follow),
            (session.documents.switched, self._return_to_top),
            (session.jobs.changed, lambda job: self._update() if job is self._looking else None),
            (table.rows_chosen, lambda row: session.select_row(row, self)),
            (table.row_opened, self._open_row),
            (table.row_double_clicked, self._open_content),
            (table.key_typed, self._find_typed),
            (table.horizontalHeader().sectionClicked, self._sort_by),
            (table.selectionModel().selectionChanged, self._selection_changed),
            (model.modelReset, self._selection_changed),
            (model.blocks_changed, self._update),
            (model.page_failed, lambda why: self._show_note(f"some rows cannot be read: {why}")),
            (self.filter.textChanged, self._typing.again),
            (self.filter.returnPressed, self._apply_now),
            (self.filter.file_dropped, self.seek),
            (self.hide_unused.triggered, self._hide),
            (self.chips.chosen, lambda name, value: self.show_only(toggled(self.filter.text(), name, value))),
            (self.load_button.clicked, lambda _: session.index.want()),
        ):
            signal.connect(slot)
        self.filter.installEventFilter(self)

    # --- what is open ---

    def _reload(self) -> None:
        self._view, self._note, self._refused, self._top = View(), "", False, None
        self.filter.clear()
        self._show_filter()
        self._typing.stop()
        if self._looking is not None:
            self._looking.cancel()
        self.table.dim(False)
        self.model.largest = 0
        self.chips.show_census(None)
        shard = self._session.shard
        ready = shard is not None and (shard.loaded or self._session.index.loads_at_once)
        self.columns.expect(counted=ready)
        self.model.load()
        source = shard.source if shard is not None else None
        self.table.set_largest(source.size if source is not None else 0)
        self._show_order()
        self._update()

    def _index_changed(self, state: IndexState) -> None:
        if state in (IndexState.NONE, IndexState.FAILED):
            self.columns.learn(None)
        self._update()

    def _rows_known(self) -> None:
        if self._view.plain or not self.model.listed:
            self.model.load()
        if not self._view.plain:
            self._show(self._view)
        else:
            self._follow(self._session.selection, replaced=True)
        self._count()
        self._update()

    def _count(self) -> None:
        def learn(census: ObjectCounts | None) -> None:
            self.model.largest = census.largest if census is not None else 0
            self.chips.show_census(census)
            self.chips.show_filter(self.filter.text())
            self.columns.learn(census)

        if not countable(self._total, far=is_address(self._session.uri)):
            learn(None)
            return
        self._session.ask(
            lambda shard, job: count(shard, job.progress),
            learn,
            failed=lambda _: learn(None),
            stopped=lambda: None if self._session.jobs.newest(("count", self)) else learn(None),
            key=("count", self),
            pool=Pool.CPU,
            priority=JobPriority.PREFETCH,
        )

    def view_state(self) -> object:
        self._typing.stop()
        return ListPosition(self.filter.text(), self._view, self.table.verticalScrollBar().value())

    def restore_view_state(self, state: object) -> None:
        if not isinstance(state, ListPosition):
            return
        self.filter.setText(state.text)
        self._typing.stop()
        self._show_filter()
        self._top = state.top
        wanted = replace(state.view, text=state.text.strip())
        if not wanted.plain:
            self._show(wanted)

    def _return_to_top(self) -> None:
        waits = self._looking is not None or self._session.jobs.newest(("place", self)) is not None
        if self._top is not None and not waits:
            self.table.executeDelayedItemsLayout()
            self.table.verticalScrollBar().setValue(self._top)
            self._top = None

    # --- filter and order ---

    def show_only(self, text: str) -> None:
        self.filter.setText(text)
        self._typing.stop()
        self._apply()

    def _hide(self, hidden: bool) -> None:
        words = [word for word in self.filter.text().split() if word != HIDE_UNUSED]
        self.show_only(" ".join([*words, HIDE_UNUSED] if hidden else words))

    def _show_filter(self) -> None:
        self.chips.show_filter(self.filter.text())
        self.hide_unused.setChecked(HIDE_UNUSED in self.filter.text().split())

    def _apply_now(self) -> None:
        self._typing.stop()
        self._apply()
        self.table.setFocus(Qt.FocusReason.OtherFocusReason)

    def _apply(self) -> None:
        self._show_filter()
        self._top = None
        wanted = replace(self._view, text=self.filter.text().strip())
        if wanted != self._view:
            self._show(wanted)

    def _sort_by(self, section: int) -> None:
        order = self.model.columns[section].order
        shard = self._session.shard
        if shard is None:
            return
        if self._session.listing is None or not can_sort(shard, order):
            states = {
                IndexState.LOADING: self.tr("The index is still loading. Sort when it is loaded."),
                IndexState.LOADED: self.tr("There are too many rows to sort by this column."),
            }
            else_ = self.tr("Load the index before sorting.")
            self._session.message.emit(states.get(self._session.index.state, else_))
            self._show_order()
            return
        descending = order == self._view.order and not self._view.descending
        self._show(View(self._view.text, order, descending))

    def _show(self, view: View) -> None:
        """Filter and sort the rows in a job; ask first if this has to read a large remote index."""
        if self._session.shard is None:
            return
        # A new object, so that results of an earlier search for the same rows are ignored.
        view = replace(view)
        self._view, self._note, self._refused = view, "", False
        self._show_order()

        def take(rows: SomeRows | None) -> None:
            if self._view is view:
                self.table.dim(False)
                self.model.set_rows(rows)
                self._follow(self._session.selection, replaced=True)
                self._return_to_top()
                self._update()

        def failed(error: BaseException) -> None:
            self._say(error_text(error), view)
            if isinstance(error, NeedsAllRows) and self._view is view:
                # Until the user agrees, the rows stay as they are.
                self._session.index.with_consent(self.tr("Filtering and sorting"), partial(find, whole=True))

        def find(*, whole: bool) -> None:
            if self._view is not view:
                return
            if whole and self._session.listing is None:
                self._session.index.load()
            heavy = bool(view.text) and self._total > MANY_ROWS
            self._session.ask(
                lambda shard, job: rows_of(shard, view, job.progress, whole=whole),
                take,
                failed=failed,
                stopped=lambda: None if self._looking else self._say(self.tr("the filter was stopped"), view),
                key=("rows", self),
                pool=Pool.CPU,
                title="Filter objects" if heavy else "",
            )
            self._late.start()
            self._update()

        find(whole=not self._large_ahead)

    def _say(self, note: str, view: View) -> None:
        if self._view is view:
            self.table.dim(False)
            self._note, self._refused = note, True
            self._update()

    def _show_order(self) -> None:
        header = self.table.horizontalHeader()
        section = next((n for n, c in enumerate(self.model.columns) if c.order == self._view.order), -1)
        side = Qt.SortOrder.DescendingOrder if self._view.descending else Qt.SortOrder.AscendingOrder
        header.setSortIndicatorShown(section >= 0)
        header.setSortIndicator(section, side)

    def seek(self, path: Path) -> None:
        job: Job | None = None

        def report(words: str) -> None:
            if job is not None:
                job.note = words
            self._session.message.emit(words)
            self._show_note(words)

        def take(found: FileMatch) -> None:
            report(found.how)
            if found.ref is not None:
                self._session.select_row(found.ref.row)

        def find() -> None:
            nonlocal job
            self._show_note(self.tr("searching for {0} …").format(path.name))
            job = self._session.ask(
                lambda shard, job: find_file(shard, path, job.progress),
                take,
                failed=lambda error: report(error_text(error)),
                key=("seek", self),
                pool=Pool.CPU,
                priority=JobPriority.SCAN,
                title=self.tr("Find {0}").format(path.name),
            )

        if self._session.shard is not None:
            # Unless a key matches, all objects are searched.
            self._session.index.with_consent(self.tr("Searching for {0}").format(path.name), find)

    def _show_note(self, note: str) -> None:
        self._note = note
        self._update()

    # --- selection and state ---

    def _follow(self, selection: Selection, *, replaced: bool = False) -> None:
        row, order = selection.row, self.model.order
        if row is None and (not selection.complete or self._is_looked_up(selection.origin)):
            return
        if row is not None and selection.origin is self and not replaced:
            return
        self._session.jobs.cancel(("place", self))
        if row is None or order is None or not self.model.scattered:
            self.table.follow(row)
            return

        def take(place: int | None) -> None:
            if self.model.order is order:
                self.table.follow_place(place)
                self._return_to_top()

        self._session.ask(lambda shard, job: place_in(order, row), take, key=("place", self), pool=Pool.CPU)

    def _selection_changed(self, *_: object) -> None:
        self._sum = None
        self._session.jobs.cancel(("sum", self))
        self._summing.start()
        self._update()

    def _add_up(self) -> None:
        chosen = self.table.selected_ranges()
        if len(chosen) < 2 or not countable(len(chosen), far=is_address(self._session.uri)):
            return

        def take(found: SizeSum) -> None:
            self._sum = found
            self._update()

        self._session.ask(
            lambda shard, job: add_up(shard, chosen, job.progress),
            take,
            key=("sum", self),
            pool=Pool.CPU,
            priority=JobPriority.SCAN,
        )

    def _is_looked_up(self, origin: object) -> bool:
        if not isinstance(origin, TraceWalk) or self.table.selected_count() != 1:
            return False
        ref = origin.trace.ref if origin.trace is not None else None
        current = self.table.selectionModel().selectedRows()[0]
        # With a damaged index, the lookup may not find the object.
        return self.model.row_of(current) == ref.row if ref is not None else self.model.key_of(current) == origin.key

    def _open_row(self, row: int) -> None:
        self._session.select_row(row, self)
        self.bytes_wanted.emit()

    def _open_content(self, row: int) -> None:
        """Open the content of a row in a tab if it is a shard or container; otherwise show its preview and bytes."""

        def show() -> None:
            self.preview_wanted.emit()
            self._open_row(row)

        self._session.open_inside(row, otherwise=show)

    def _find_typed(self, text: str) -> None:
        order, start = self.model.order, self.model.block[0] + max(self.table.currentIndex().row(), 0)

        def take(place: int | None) -> None:
            if self.model.order is not order:
                return
            self._show_note("" if place is not None else self.tr("no key begins with {0}").format(text))
            if place is not None:
                self.table.follow_place(place)
                self._session.select_row(self.model.row_of(self.table.currentIndex()), self)

        def find() -> None:
            self._session.ask(
                lambda shard, job: place_of_key(shard.objects, order, text, start, job.progress),
                take,
                failed=self.tr("Cannot read the keys"),
                key=("typed", self),
                pool=Pool.CPU,
                priority=JobPriority.SCREEN,
            )

        if self.model.total:
            self._session.index.with_consent(self.tr("Searching for a key"), find)

    def _turn(self, step: int) -> None:
        self.model.set_block(self.model.block_number + step)

    @property
    def _looking(self) -> Job | None:
        return self._session.jobs.newest(("rows", self))

    @property
    def _large_ahead(self) -> bool:
        far = self._session.request.is_remote
        return far and self._session.index.bytes_ahead > 0 and not self._session.index.loads_at_once

    @property
    def _total(self) -> int:
        return len(self._session.listing) if self._session.listing is not None else 0

    def _show_state(self) -> None:
        total, state = self._total, self._session.index.state
        self.load_button.setVisible(self._session.shard is not None and state in (IndexState.NONE, IndexState.FAILED))
        words = self.tr("Load index")
        if self._large_ahead:
            words = self.tr("Load index: {0}").format(size_text(self._session.index.bytes_ahead))
        self.load_button.setText(words)
        first, last = self.model.block
        paged = last - first < self.model.total
        for button in (self.earlier, self.later):
            button.setVisible(paged)
        self.earlier.setEnabled(first > 0)
        self.later.setEnabled(last < self.model.total)
        if self.salvage_button is not None:
            damage = self._session.shard.damage if self._session.shard is not None else None
            self.salvage_button.setVisible(not (damage is None or isinstance(damage, NotAShard) or total))
        if (why := why_none(self._session)) is not None:
            self.status.setText(why)
            return
        all_rows = self._view.plain or self.model.total == total
        parts = [plural(total, "row") if all_rows else f"{self.model.total:,} of {plural(total, 'row')}"]
        if (job := self._looking) is not None:
            done = f" {100 * job.done_amount // job.total_amount} %" if job.total_amount else ""
            parts.append(f"searching …{done}")
        if paged:
            parts.append(f"shown: {first:,} to {last - 1:,}")
        if (selected := self.table.selected_count()) > 1:
            words = f"{selected:,} selected"
            if (found := self._sum) is not None:
                words += f", {plural(found.size, 'byte')}"
                words += f" and {plural(found.unknown, 'object')} of unknown size" if found.unknown else ""
            parts.append(words)
        if state is IndexState.LOADING:
            parts.append("reading the index …")
        if self._note:
            # Errors of the filter come first, other notes last.
            parts.insert(0 if self._refused else len(parts), self._note)
        self.status.setText("  ·  ".join(parts))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
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
