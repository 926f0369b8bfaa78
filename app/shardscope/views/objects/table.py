"""Table view of the objects, for any number of rows."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from PySide6.QtCore import (
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QRectF,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QTableView,
    QWidget,
)

from shardcore import State
from shardscope.session.debounce import Debounce
from shardscope.session.row_ranges import RowRanges
from shardscope.widgets import theme
from shardscope.widgets.column_widths import MOST_ROUNDS, ColumnWidth, share_width
from shardscope.widgets.elided_label import cut_text
from shardscope.widgets.keyboard import select_current
from shardscope.widgets.object_model import ObjectModel

MARGIN = 7.0

MAX_KEPT = 4000
"""Maximum number of rows whose texts are cached."""

BAR_SPACE = 40
"""Width of the bars left of the sizes in pixels."""

_LEAST_BAR = 12
_BAR_STRENGTH = 0.45

_QUIET = ("row", "codec", "stored")
_STRUCK = (State.DELETED, State.TOMBSTONED)


@dataclass(frozen=True, slots=True)
class _PaintedRow:
    texts: list[str]
    places: list[float]
    state: State | None
    share: float = 0.0


class ObjectRowPainter:
    def __init__(self, table: QTableView, model: ObjectModel) -> None:
        self._table = table
        self._model = model
        self._rows: dict[int, _PaintedRow] = {}
        self.restyle()

    def forget(self, *_: object) -> None:
        self._rows.clear()

    def restyle(self) -> None:
        self._rows.clear()
        self._plain = self._table.font()
        self._mono = theme.fixed_font()
        self._mono.setPointSizeF(self._plain.pointSizeF())
        self._struck = QFont(self._mono)
        self._struck.setStrikeOut(True)
        self._metrics = {False: QFontMetricsF(self._plain), True: QFontMetricsF(self._mono)}

    def paint(self, painter: QPainter, area: QRect) -> None:
        table = self._table
        colours = theme.of(table)
        painter.fillRect(area, colours.base)
        height, first = row_height(table), table.rowAt(max(area.top(), 0))
        if first < 0:
            return
        last = table.rowAt(area.bottom())
        last = self._model.rowCount() - 1 if last < 0 else last
        top = table.rowViewportPosition(first)
        selected = self._selected(first, last)
        ground = theme.selected(table)[0]
        for place in selected:
            painter.fillRect(QRect(0, top + (place - first) * height, area.right() + 1, height), ground)
        if not table.hasFocus():
            # On the inactive colour, texts keep their own colours.
            selected = set()
        rows = [self._row(place) for place in range(first, last + 1)]
        metrics = self._metrics[False]
        base = top + (height - metrics.height()) / 2 + metrics.ascent()
        for number, column in enumerate(self._model.columns):
            if table.isColumnHidden(number):
                continue
            left = table.columnViewportPosition(number)
            if left > area.right() or left + table.columnWidth(number) < area.left():
                continue
            if column.name == "size":
                self._paint_bars(painter, number, left, top, rows, selected, first)
            self._paint_column(painter, number, column.name, left, base, rows, selected, first)
        self._outline(painter, first, last, top)

    def width_of(self, text: str, column: str) -> float:
        return self._metrics[column == "key"].horizontalAdvance(text)

    def sign(self, column: str, state: State | None) -> str:
        return "✖ " if column == "state" and state is State.DAMAGED else ""

    def _selected(self, first: int, last: int) -> set[int]:
        inside: set[int] = set()
        for part in selected_places(self._table):
            inside.update(range(max(part.start, first), min(part.stop, last + 1)))
        return inside

    def _paint_column(
        self,
        painter: QPainter,
        number: int,
        name: str,
        left: int,
        base: float,
        rows: list[_PaintedRow],
        selected: set[int],
        first: int,
    ) -> None:
        colours, height = theme.of(self._table), row_height(self._table)
        key = name == "key"
        painter.setFont(self._mono if key else self._plain)
        usual = colours.muted if name in _QUIET else colours.text
        pen: QColor | None = None
        for at, row in enumerate(rows):
            colour = colours.base if first + at in selected else row_colour(colours, row.state) or usual
            if colour is not pen:
                painter.setPen(colour)
                pen = colour
            struck = key and row.state in _STRUCK
            if struck:
                painter.setFont(self._struck)
            painter.drawText(QPointF(left + row.places[number], base + at * height), row.texts[number])
            if struck:
                painter.setFont(self._mono)

    def _paint_bars(
        self,
        painter: QPainter,
        number: int,
        left: int,
        top: int,
        rows: list[_PaintedRow],
        selected: set[int],
        first: int,
    ) -> None:
        colours, height = theme.of(self._table), row_height(self._table)
        room = min((row.places[number] for row in rows), default=0.0) - 2 * MARGIN
        if room < _LEAST_BAR:
            return
        for at, row in enumerate(rows):
            if row.share > 0:
                colour = QColor(colours.base if first + at in selected else colours.accent)
                colour.setAlphaF(_BAR_STRENGTH)
                long = max(room * min(row.share, 1.0), 1.0)
                painter.fillRect(QRectF(left + MARGIN, top + at * height + 6, long, height - 12), colour)

    def _row(self, place: int) -> _PaintedRow:
        found = self._rows.get(place)
        if found is None:
            found = self._made(place)
            if found.state is not None:
                if len(self._rows) >= MAX_KEPT:
                    self._rows.clear()
                self._rows[place] = found
        return found

    def _made(self, place: int) -> _PaintedRow:
        table = self._table
        texts, state = self._model.row_texts(place)
        places: list[float] = []
        for number, column in enumerate(self._model.columns):
            key = column.name == "key"
            texts[number] = self.sign(column.name, state) + texts[number]
            metrics = self._metrics[key]
            room = table.columnWidth(number) - 2 * MARGIN
            width = metrics.horizontalAdvance(texts[number])
            if width > room and not column.number:
                texts[number] = cut_text(metrics, texts[number], room)
                width = metrics.horizontalAdvance(texts[number])
            places.append(MARGIN + max(room - width, 0.0) if column.number else MARGIN)
        return _PaintedRow(texts, places, state, self._model.share_of(place))

    def _outline(self, painter: QPainter, first: int, last: int, top: int) -> None:
        table = self._table
        current = table.currentIndex()
        if not (table.hasFocus() and current.isValid() and first <= current.row() <= last):
            return
        height = row_height(table)
        painter.setPen(QPen(theme.of(table).text, 1.0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        y = top + (current.row() - first) * height
        painter.drawRect(QRectF(0.5, y + 0.5, table.viewport().width() - 1.0, height - 1.0))


def row_height(table: QTableView) -> int:
    return max(table.verticalHeader().defaultSectionSize(), 1)


def selected_places(table: QTableView) -> list[range]:
    return [range(part.top(), part.bottom() + 1) for part in table.selectionModel().selection().toList()]


def row_colour(colours: theme.Palette, state: State | None) -> QColor | None:
    match state:
        case State.DAMAGED:
            return colours.error
        case State.UNUSED | State.DELETED | State.TOMBSTONED | None:
            return colours.muted
    return None


Index = QModelIndex | QPersistentModelIndex

MAX_PIXELS = 2**31 - 1
"""Maximum height of a view in pixels: Qt counts in 32 bits and hangs above."""

SHORT_TEXT = 12
"""Minimum width in digits of the columns kind, state and shard."""

MANY_SELECTED = 10_000
"""Number of rows above which a change of the selection repaints the whole view."""

_VEIL = 150
"""Opacity (0 to 255) of the overlay that dims outdated rows."""

LONG_KEY = 14
"""Minimum width in digits of the column key."""


class ObjectTable(QTableView):
    """Shows an `ObjectModel`, one block at a time; its signals carry rows of `Shard.objects`."""

    rows_chosen = Signal(object)
    row_opened = Signal(object)
    key_typed = Signal(object)
    """Carries the prefix of a key typed so far."""
    copy_requested = Signal()

    def __init__(self, model: ObjectModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.objects = model
        self._following = self._outdated = False
        self._shown = QPersistentModelIndex()
        self._typed = ""
        self._typing = Debounce(self, self._forget_typed, QApplication.keyboardInputInterval())
        self._painter = ObjectRowPainter(self, model)
        self._largest = 0
        self._sized: tuple[tuple[str, ...], dict[str, int], float] = ((), {}, 0.0)
        self._texts: dict[str, float] = {}
        self._by_hand: dict[str, int] = {}
        self._names = frozenset(column.name for column in model.columns)
        self._sizing = False
        self.setObjectName("objectTable")
        self.setAccessibleName(self.tr("Objects"))
        self.setModel(model)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
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
            # Headers check whether a whole column is selected, one call per row; an empty selection model avoids that.
            one.setSelectionModel(QItemSelectionModel(model, one))
        # Room for the sort indicator beside right-aligned titles.
        header.setStyleSheet("QHeaderView::section { padding-right: 16px; }")
        self._measure()
        model.modelReset.connect(self._size_columns)
        model.dataChanged.connect(lambda *_: self._measure_texts())
        self.verticalScrollBar().valueChanged.connect(lambda _: self._measure_texts())
        self.clicked.connect(self._click)
        header.sectionResized.connect(self._resized)
        # The painter does not cache rows that are not loaded, so `dataChanged` is not needed.
        model.modelReset.connect(self._painter.forget)
        header.sectionResized.connect(self._painter.forget)

    # --- geometry ---

    def _measure(self) -> None:
        height = self.fontMetrics().height() + 7
        self.verticalHeader().setDefaultSectionSize(height)
        room = self.viewport().height() + self.horizontalHeader().height() + 4096
        self.objects.set_most((MAX_PIXELS - room) // row_height(self))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        kinds = QEvent.Type
        if event.type() in (kinds.FontChange, kinds.StyleChange, kinds.PaletteChange) and hasattr(self, "_painter"):
            self._painter.restyle()
            if event.type() != kinds.PaletteChange:
                self._measure()
                self._measure_texts()

    def set_largest(self, offset: int) -> None:
        self._largest = offset
        self._size_columns()

    def _size_columns(self) -> None:
        digit = self._painter.width_of("0", "size")
        grown = {"row": len(f"{self.objects.total:,}"), "start": len(f"{self._largest:,}")}
        columns = tuple(column.name for column in self.objects.columns)
        if (columns, grown, digit) != self._sized:
            self._sized = columns, grown, digit
            self._texts = {name: digits * digit for name, digits in grown.items()}
        self._fit()

    @property
    def _key(self) -> int:
        return next(number for number, column in enumerate(self.objects.columns) if column.name == "key")

    @property
    def visible_columns(self) -> list[str]:
        return [column.name for n, column in enumerate(self.objects.columns) if not self.isColumnHidden(n)]

    def show_columns(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._fit()
        self._painter.forget()
        self.viewport().update()

    def reset_widths(self) -> None:
        self._by_hand.clear()
        self._sized = (), {}, 0.0
        self._size_columns()
        self._measure_texts()

    def _room(self, number: int) -> ColumnWidth:
        column = self.objects.columns[number]
        header = self.horizontalHeader()
        title = max(header.sectionSizeHint(number), header.minimumSectionSize())
        text = math.ceil(self._texts.get(column.name, 0) + 2 * MARGIN) + 1
        if column.number:
            needed = max(title, text)
            wanted = max(title, text + BAR_SPACE) if column.name == "size" else needed
        else:
            digit = self._painter.width_of("0", column.name)
            most = LONG_KEY if column.name == "key" else SHORT_TEXT
            needed = max(title, min(text, math.ceil(most * digit + 2 * MARGIN)))
            wanted = max(title, text)
        if (by_hand := self._by_hand.get(column.name)) is not None:
            wanted = needed = max(by_hand, needed) if column.number else by_hand
        return ColumnWidth(wanted, needed)

    def _fit(self) -> None:
        shown = [n for n, column in enumerate(self.objects.columns) if column.name in self._names]
        if self._key not in shown or self._sizing:
            return
        self._sizing = True
        for number in range(len(self.objects.columns)):
            self.setColumnHidden(number, number not in shown)
        # New widths may bring or remove a scroll bar, which changes the room.
        for _ in range(MOST_ROUNDS):
            room = self.viewport().width()
            widths = share_width([self._room(n) for n in shown], shown.index(self._key), room)
            for number, width in zip(shown, widths, strict=True):
                self.setColumnWidth(number, width)
            if self.viewport().width() == room:
                break
        self._sizing = False

    def _resized(self, number: int, _: int, width: int) -> None:
        if not self._sizing and width and QApplication.mouseButtons() & Qt.MouseButton.LeftButton:
            self._by_hand[self.objects.columns[number].name] = width
            least = self._room(number).least
            if width < least:
                self._sizing = True
                self.setColumnWidth(number, least)
                self._sizing = False

    def _measure_texts(self) -> None:
        before = dict(self._texts)
        for place in self.visible_places():
            texts, state = self.objects.row_texts(place)
            for column, text in zip(self.objects.columns, texts, strict=True):
                sign = self._painter.sign(column.name, state)
                wide = self._painter.width_of(sign + text, column.name)
                self._texts[column.name] = max(self._texts.get(column.name, 0), wide)
        if self._texts != before:
            self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._measure_texts()
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        self._painter.paint(painter, event.rect())
        if self._outdated:
            veil = self.palette().base().color()
            veil.setAlpha(_VEIL)
            painter.fillRect(event.rect(), veil)
        painter.end()

    def dim(self, outdated: bool) -> None:
        if outdated is not self._outdated:
            self._outdated = outdated
            self.viewport().update()

    # --- rows ---

    def selected_ranges(self) -> RowRanges:
        return self.objects.ranges_of(selected_places(self))

    def selected_count(self) -> int:
        return len(self.selected_ranges())

    def visible_places(self) -> range:
        first = self.rowAt(0)
        last = self.rowAt(self.viewport().height() - 1)
        last = self.objects.rowCount() - 1 if last < 0 else last
        return range(max(first, 0), last + 1)

    def follow(self, row: int | None) -> None:
        """Select a row without emitting `rows_chosen`; None clears the selection."""
        self.follow_place(None if row is None else self.objects.place_of(row))

    def follow_place(self, place: int | None) -> None:
        self._following = True
        try:
            if place is None:
                self._shown = QPersistentModelIndex()
                self.selectionModel().clear()
                return
            # Use the key column, which is never hidden: arrow keys do not leave a hidden column.
            index = self.objects.show_place(place).siblingAtColumn(self._key)
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self._shown = QPersistentModelIndex(index)
            self.selectionModel().setCurrentIndex(index, flags)
            if not self.viewport().rect().contains(self.visualRect(index).center()):
                self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)
        finally:
            self._following = False

    def selectionChanged(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        if sum(part.height() for chosen in (selected, deselected) for part in chosen.toList()) > MANY_SELECTED:
            self.viewport().update()
        else:
            super().selectionChanged(selected, deselected)

    def selectionCommand(self, index: Index, event: QEvent | None = None) -> QItemSelectionModel.SelectionFlag:
        flags = QItemSelectionModel.SelectionFlag
        both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        if isinstance(event, QKeyEvent) and event.modifiers() & both == both:
            return flags.SelectCurrent | flags.Rows
        return super().selectionCommand(index, event)

    def moveCursor(self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier) -> QModelIndex:
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
        super().currentChanged(current, previous)
        # The outline surrounds the row, but Qt repaints only one cell of the previous row.
        self.viewport().update()
        if self.selectionModel().isSelected(current):
            self._choose()

    def viewportEvent(self, event: QEvent) -> bool:
        done = super().viewportEvent(event)
        if isinstance(event, QMouseEvent):
            # A click first makes a row current, then selects or deselects it.
            self._choose()
        return done

    def _choose(self) -> None:
        """Emit one of the selected rows: the current row if selected, else the row already shown, else the first."""
        chosen = self.selectionModel()
        if self._following or not chosen.hasSelection():
            return
        first = chosen.selection().toList()[0].topLeft()
        index = next((one for one in (self.currentIndex(), self._shown) if chosen.isSelected(one)), first)
        if index.row() != self._shown.row():
            self._shown = QPersistentModelIndex(index)
            self.rows_chosen.emit(self.objects.row_of(index))

    def focusInEvent(self, event: QFocusEvent) -> None:
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
        index = self.indexAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and index.isValid():
            self._open(index)
        else:
            super().mouseDoubleClickEvent(event)

    def open_current(self) -> None:
        if self.currentIndex().isValid():
            self._open(self.currentIndex())

    def _open(self, index: QModelIndex) -> None:
        if not self.selectionModel().isSelected(index):
            self.follow_place(self.objects.block[0] + index.row())
        self.row_opened.emit(self.objects.row_of(index))

    def _click(self, index: QModelIndex) -> None:
        if self.selectionModel().isSelected(index):
            self.rows_chosen.emit(self.objects.row_of(index))

    def event(self, event: QEvent) -> bool:
        asked = event if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) else None
        if asked is not None and asked.matches(QKeySequence.StandardKey.Copy):
            event.accept()
            return True
        return super().event(event)

    def keyboardSearch(self, search: str) -> None:
        # Qt would read each row from the model.
        self._typed += search
        self._typing.again()
        self.key_typed.emit(self._typed)

    def _forget_typed(self) -> None:
        self._typed = ""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_requested.emit()
            return
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.open_current()
            return
        # Focus makes a row current without selecting it, so the first key selects it. With Ctrl, Qt only moves.
        last, chosen = self.objects.rowCount() - 1, self.selectionModel()
        ends = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: last}
        if event.key() in ends and last >= 0 and (_only_control(event) or not chosen.hasSelection()):
            self._following = True
            self.setCurrentIndex(self.objects.index(ends[Qt.Key(event.key())], self._key))
            self._following = False
            self.selectRow(self.currentIndex().row())
        elif not select_current(self, event):
            super().keyPressEvent(event)
            self._choose()
            return
        # Emit again, since another selection may have followed.
        self._shown = QPersistentModelIndex()
        self._choose()


def _only_control(event: QKeyEvent) -> bool:
    return event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier == Qt.KeyboardModifier.ControlModifier
