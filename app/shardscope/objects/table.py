"""The table of objects: a view over any number of rows."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import (
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QTableView,
    QWidget,
)

from shardscope.models.object_model import ObjectModel
from shardscope.objects.paint import RowPainter, row_height, selected_places
from shardscope.row_ranges import RowRanges

Index = QModelIndex | QPersistentModelIndex

MAX_PIXELS = 2**31 - 1
"""Qt counts the pixels of a view in 32 bits and hangs beyond."""

_DIGITS = {"row": 4, "key": 8, "kind": 6, "state": 7, "size": 7, "stored": 6, "start": 6, "codec": 7, "shard": 6}
"""The least widths of the columns, in digits; they grow with the file, and some with what is in them."""

_MOST_DIGITS = {"state": 12, "shard": 16}
"""Columns that grow with their texts, and how far."""

MANY_SELECTED = 10_000
"""Changes of the selection by more rows than this are painted without looking at each."""

_VEIL = 150
"""Opacity of what dims outdated rows, of 255."""

_WALK = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)

LONG_KEY = 16
"""Digits that a key has room for at least, and all that the other columns leave; the table scrolls instead."""


class ObjectTable(QTableView):
    """Shows an `ObjectModel`, as many rows as Qt can scroll at once.

    `rows_chosen(row)` carries the row of `Shard.objects` that became current by the user's hand; `row_opened(row)` one
    that was clicked twice, or left with Enter. `room_changed()` tells that there is another width to share.
    """

    rows_chosen = Signal(object)
    row_opened = Signal(object)
    copy_requested = Signal()
    room_changed = Signal()

    def __init__(self, model: ObjectModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.objects = model
        self._following = self._outdated = False
        self._painter = RowPainter(self, model)
        self._largest = 0
        self._sized: tuple[tuple[str, ...], dict[str, int]] = ((), {})
        self._texts: dict[str, int] = {}
        self._by_hand: set[str] = set()
        self._widths: dict[str, int] = {}
        self._sizing = False
        self.setObjectName("objectTable")
        self.setAccessibleName(self.tr("Objects"))
        self.setModel(model)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        rows = self.verticalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionsClickable(True)
        header.setMinimumSectionSize(48)
        for one in (header, rows):
            # Headers ask whether a whole column is selected, which costs a call for each row: theirs never is.
            one.setSelectionModel(QItemSelectionModel(model, one))
        # Room for the sign of the order beside titles that stand at the right.
        header.setStyleSheet("QHeaderView::section { padding-right: 16px; }")
        self._measure()
        model.modelReset.connect(self._size_columns)
        model.dataChanged.connect(lambda *_: self._rows_came())
        self.clicked.connect(self._click)
        header.sectionResized.connect(self._resized)
        # Rows that were not there yet are not kept by the painter: it need not hear when they come.
        model.modelReset.connect(self._painter.forget)
        header.sectionResized.connect(self._painter.forget)

    # --- geometry ---

    def _measure(self) -> None:
        """Row height from the font, and as many rows as its pixels allow."""
        height = self.fontMetrics().height() + 7
        self.verticalHeader().setDefaultSectionSize(height)
        room = self.viewport().height() + self.horizontalHeader().height() + 4096
        self.objects.set_most((MAX_PIXELS - room) // row_height(self))

    def changeEvent(self, event: QEvent) -> None:
        """A larger font makes fewer rows fit."""
        super().changeEvent(event)
        kinds = QEvent.Type
        if event.type() in (kinds.FontChange, kinds.StyleChange, kinds.PaletteChange) and hasattr(self, "_painter"):
            self._painter.restyle()
            if event.type() != kinds.PaletteChange:
                self._measure()

    def set_largest(self, offset: int) -> None:
        """Says how large offsets are, so that they fit."""
        self._largest = offset
        self._size_columns()

    def _size_columns(self) -> None:
        digit = self.fontMetrics().horizontalAdvance("0")
        grown = {"row": len(f"{self.objects.total:,}") + 1, "start": len(f"{self._largest:,}")}
        shown = tuple(column.name for column in self.objects.columns)
        if shown == self._sized[0] and grown == self._sized[1]:
            return
        self._sized = shown, grown
        self._texts.clear()
        for number, name in enumerate(shown):
            room = 30 if self.objects.columns[number].number else 20
            self._set_width(number, max(_DIGITS[name], grown.get(name, 0)) * digit + room)
        self._widen()
        self.room_changed.emit()

    @property
    def _key(self) -> int:
        """The number of the column of keys."""
        return next(number for number, column in enumerate(self.objects.columns) if column.name == "key")

    def least_width(self, names: Collection[str]) -> int:
        """The room that these columns need at least, hidden or not."""
        digit = self.fontMetrics().horizontalAdvance("0")
        return sum(LONG_KEY * digit + 20 if name == "key" else self._widths.get(name, 0) for name in names)

    def hide_columns(self, numbers: Collection[int]) -> None:
        """Shows all columns but these."""
        for number in range(len(self.objects.columns)):
            self.setColumnHidden(number, number in numbers)
        self._widen()
        self._painter.forget()
        self.viewport().update()

    def reset_widths(self) -> None:
        """Gives every column the width that suits it, whatever the user did."""
        self._by_hand.clear()
        self._sized = ((), {})
        self._size_columns()
        self._rows_came()

    def _set_width(self, number: int, width: int) -> None:
        if self.objects.columns[number].name in self._by_hand:
            return
        self._widths[self.objects.columns[number].name] = width
        self._sizing = True
        self.setColumnWidth(number, width)
        self._sizing = False

    def _resized(self, number: int, _: int, width: int) -> None:
        """What the user drags keeps its width."""
        if not self._sizing and width and QApplication.mouseButtons() & Qt.MouseButton.LeftButton:
            self._by_hand.add(self.objects.columns[number].name)
            self._widths[self.objects.columns[number].name] = width

    def _rows_came(self) -> None:
        """Rows are known that were not before: their texts say how much room they want."""
        columns = {c.name: number for number, c in enumerate(self.objects.columns) if c.name in _MOST_DIGITS}
        before = dict(self._texts)
        for place in self.visible_places():
            texts, _ = self.objects.row_texts(place)
            for name, number in columns.items():
                self._texts[name] = max(self._texts.get(name, 0), self._painter.width_of(texts[number], name))
        if self._texts != before:
            self._widen()
            self.room_changed.emit()

    def _widen(self) -> None:
        """Gives texts the room they want, and keys what is left."""
        columns = self.objects.columns
        names = [column.name for n, column in enumerate(columns) if not self.isColumnHidden(n)]
        number = {column.name: n for n, column in enumerate(columns)}
        digit, viewport = self.fontMetrics().horizontalAdvance("0"), self.viewport().width()
        for name in ("state", "shard"):
            width = min(max(self._texts.get(name, 0), _DIGITS[name] * digit), _MOST_DIGITS[name] * digit)
            if name in names:
                self._set_width(number[name], width + 20)
        others = sum(self.columnWidth(number[name]) for name in names if name != "key")
        self._set_width(number["key"], max(viewport - others, LONG_KEY * digit + 20))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """There is more room, or less."""
        super().resizeEvent(event)
        self._widen()
        if event.size().width() != event.oldSize().width():
            self.room_changed.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paints rows, not cells: a delegate in Python would be called a thousand times for one screen."""
        painter = QPainter(self.viewport())
        self._painter.paint(painter, event.rect())
        if self._outdated:
            veil = self.palette().base().color()
            veil.setAlpha(_VEIL)
            painter.fillRect(event.rect(), veil)
        painter.end()

    def dim(self, outdated: bool) -> None:
        """Dim rows that do not fit the filter or the order that is being computed."""
        if outdated is not self._outdated:
            self._outdated = outdated
            self.viewport().update()

    # --- rows ---

    def selected_ranges(self) -> RowRanges:
        """The selected rows, as ranges; costs the same for one row and for millions."""
        return self.objects.ranges_of(selected_places(self))

    def selected_count(self) -> int:
        """How many rows are selected."""
        return len(self.selected_ranges())

    def visible_places(self) -> range:
        """The rows of the view that are on the screen."""
        first = self.rowAt(0)
        last = self.rowAt(self.viewport().height() - 1)
        last = self.objects.rowCount() - 1 if last < 0 else last
        return range(max(first, 0), last + 1)

    def follow(self, row: int | None) -> None:
        """Makes a row current without telling that the user did; None clears the selection."""
        self.follow_place(None if row is None else self.objects.place_of(row))

    def follow_place(self, place: int | None) -> None:
        """The same for a place among all that are shown."""
        self._following = True
        try:
            if place is None:
                self.selectionModel().clear()
                return
            # The key is never hidden: arrow keys do not leave a hidden column.
            index = self.objects.show_place(place).siblingAtColumn(self._key)
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.selectionModel().setCurrentIndex(index, flags)
            if not self.viewport().rect().contains(self.visualRect(index).center()):
                self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)
        finally:
            self._following = False

    def selectionChanged(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        """Qt lists every cell of a new selection for screen readers: of many rows it need not."""
        if sum(part.height() for chosen in (selected, deselected) for part in chosen.toList()) > MANY_SELECTED:
            self.viewport().update()
        else:
            super().selectionChanged(selected, deselected)

    def selectionCommand(self, index: Index, event: QEvent | None = None) -> QItemSelectionModel.SelectionFlag:
        """Shift extends the selection, with Ctrl as well: to the first or the last row."""
        flags = QItemSelectionModel.SelectionFlag
        both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        if isinstance(event, QKeyEvent) and event.modifiers() & both == both:
            return flags.SelectCurrent | flags.Rows
        return super().selectionCommand(index, event)

    def moveCursor(self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier) -> QModelIndex:
        """Home and End are the first and the last row: all of a row is current, not a cell."""
        actions, last = QAbstractItemView.CursorAction, self.objects.rowCount() - 1
        if last >= 0 and self.isColumnHidden(self.currentIndex().column()):
            self.selectionModel().setCurrentIndex(
                self.objects.index(max(self.currentIndex().row(), 0), self._key),
                QItemSelectionModel.SelectionFlag.NoUpdate,
            )
        if action in (actions.MoveHome, actions.MoveEnd) and last >= 0:
            return self.objects.index(0 if action is actions.MoveHome else last, self._key)
        return super().moveCursor(action, modifiers)

    def currentChanged(self, current: Index, previous: Index) -> None:
        """The user went to a row."""
        super().currentChanged(current, previous)
        if not self._following and current.isValid() and current.row() != previous.row():
            self.rows_chosen.emit(self.objects.row_of(current))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Focus never selects: Qt makes the first row current, which here stays a place to start from."""
        self._following = True
        try:
            super().focusInEvent(event)
            if self.currentIndex().isValid() and not self.selectionModel().hasSelection():
                places = self.visible_places()
                if places and self.currentIndex().row() not in places:
                    index = self.objects.index(places.start, self._key)
                    self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
        finally:
            self._following = False

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Opens the row that is under the pointer."""
        index = self.indexAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and index.isValid():
            self.row_opened.emit(self.objects.row_of(index))
        else:
            super().mouseDoubleClickEvent(event)

    def open_current(self) -> None:
        """Goes to the bytes of the current row."""
        if self.currentIndex().isValid():
            self.row_opened.emit(self.objects.row_of(self.currentIndex()))

    def _click(self, index: QModelIndex) -> None:
        """A click on the current row chooses it again: something else may be selected by now."""
        self.rows_chosen.emit(self.objects.row_of(index))

    def event(self, event: QEvent) -> bool:
        """Ctrl+0 and Ctrl+C are about the table while the keyboard is here: menus have them for the bytes."""
        asked = event if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) else None
        if asked is not None and (_is_reset(asked) or asked.matches(QKeySequence.StandardKey.Copy)):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy gives keys, not the text of one cell; Enter goes to the bytes, Ctrl+0 resets the widths."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_requested.emit()
            return
        if _is_reset(event):
            self.reset_widths()
            return
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.open_current()
            return
        if event.key() in _WALK and self.currentIndex().isValid() and not self.selectionModel().hasSelection():
            # Focus made a row current and selected nothing: the first key selects that row.
            index, flags = self.currentIndex(), QItemSelectionModel.SelectionFlag
            if event.key() in (Qt.Key.Key_Home, Qt.Key.Key_End):
                last = self.objects.rowCount() - 1
                index = self.objects.index(0 if event.key() == Qt.Key.Key_Home else last, self._key)
            self._following = True
            self.setCurrentIndex(index)
            self._following = False
            self.selectionModel().select(index, flags.ClearAndSelect | flags.Rows)
            self.rows_chosen.emit(self.objects.row_of(index))
            return
        super().keyPressEvent(event)


def _is_reset(event: QKeyEvent) -> bool:
    control, keypad = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.KeypadModifier
    return event.key() == Qt.Key.Key_0 and event.modifiers() & ~keypad == control
