"""Table view of the objects, for any number of rows, and the choice of visible columns."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from PySide6.QtCore import (
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    Qt,
    QTimer,
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
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import QAbstractItemView, QApplication, QHeaderView, QMenu, QTableView, QWidget

from shardcore import State
from shardcore.dataclasses import dataclass
from shardscope.session.object_rows import ObjectCounts, RowRanges
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.views.objects.model import STRUCK, LoadedPage, ObjectColumn, ObjectModel
from shardscope.widgets import theme
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.elided_label import cut_text
from shardscope.widgets.keyboard import select_current
from shardscope.widgets.layouts import made, new_action
from shardscope.widgets.table import ColumnFitter, ColumnWidth, Index, context_menu, visible_rows

MARGIN = 7.0
MOST_PAINTED_ROWS = 4000
BAR_SPACE = 40

_LEAST_BAR = 12
_KEY_DIGITS, _TEXT_DIGITS = 20, 14
"""Minimum width in digits of the key column and of other text columns."""
_BAR_STRENGTH = 0.45

_TONES = {
    None: "muted",
    State.UNUSED: "muted",
    State.DELETED: "muted",
    State.TOMBSTONED: "muted",
    State.DAMAGED: "error",
}


@dataclass(frozen=True, slots=True)
class _PaintedRow:
    """Elided texts of the visible columns, and their left edges in pixels; `size` is -1 if unknown."""

    texts: list[str]
    lefts: list[float]
    tone: str
    struck: bool
    size: int


MAX_PIXELS = 2**31 - 1
"""Maximum height of the rows in pixels: Qt counts pixels in 32 bits, and hangs if there are more."""

MANY_SELECTED = 10_000
"""Number of rows above which a change of the selection repaints the whole view."""

_VEIL_ALPHA = 150


class ObjectTable(QTableView):
    """Shows one block of an `ObjectModel`. Signals carry a row of `Shard.objects`; `key_typed` carries a key prefix."""

    rows_chosen = Signal(object)
    row_opened = Signal(object)
    row_double_clicked = Signal(object)
    key_typed = Signal(object)
    copy_requested = Signal()

    def __init__(self, model: ObjectModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.objects = model
        self._following = self._outdated = False
        self._shown = QPersistentModelIndex()
        self._typed = ""
        self._typing = Debounce(self, self._forget_typed, QApplication.keyboardInputInterval())
        self._painted: dict[int, _PaintedRow] = {}
        self._widths: list[tuple[int, int]] = []
        self._restyle()
        self._largest = 0
        self._sized: object = None
        self._texts: dict[str, float] = {}
        self._titles = QStandardItemModel(self)
        self._titled: Sequence[ObjectColumn] = ()
        made(self, "objectTable", accessibleName=self.tr("Objects"), showGrid=False, wordWrap=False)
        self.setModel(model)
        made(self, selectionBehavior=QAbstractItemView.SelectionBehavior.SelectRows, tabKeyNavigation=False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        rows = made(self.verticalHeader(), visible=False)
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        # A header checks whether a whole row is selected, one call per row; an empty selection model avoids that.
        rows.setSelectionModel(QItemSelectionModel(model, rows))
        header = self.horizontalHeader()
        # Qt would call a model in Python eight times per title and paint.
        header.setModel(self._titles)
        made(header, highlightSections=False, minimumSectionSize=48)
        # Room for the sort indicator beside right-aligned titles.
        header.setStyleSheet("QHeaderView::section { padding-right: 16px; }")
        self._show_titles()
        self.fitter = ColumnFitter(self, self._width)
        self._measure()
        model.modelReset.connect(self._reset_columns)
        model.page_loaded.connect(self._measure_page)
        model.layoutChanged.connect(self._measure_pages)
        self.clicked.connect(self._emit_chosen)

    # --- columns ---

    @property
    def visible_columns(self) -> list[str]:
        return [column.name for n, column in enumerate(self.objects.columns) if not self.isColumnHidden(n)]

    def show_columns(self, names: Collection[str]) -> None:
        for number, column in enumerate(self.objects.columns):
            self.setColumnHidden(number, column.name not in names and column.name != "key")
        self.fitter.soon.start()
        self.viewport().update()

    def _show_titles(self) -> None:
        columns = self.objects.columns
        if columns == self._titled:
            return
        self._titled = columns
        self._key = next(number for number, column in enumerate(columns) if column.name == "key")
        self._titles.setColumnCount(len(columns))
        for number, column in enumerate(columns):
            title = QStandardItem(column.title)
            for role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.TextAlignmentRole):
                title.setData(self.objects.headerData(number, Qt.Orientation.Horizontal, role), role)
            self._titles.setHorizontalHeaderItem(number, title)

    def _reset_columns(self) -> None:
        self._show_titles()
        self._painted.clear()
        grown = {"row": len(f"{self.objects.total:,}"), "start": len(f"{self._largest:,}")}
        digit = self._metrics[False].horizontalAdvance("0")
        sized = [column.name for column in self.objects.columns], grown, digit
        if sized != self._sized:
            self._sized = sized
            self._texts = {name: digits * digit for name, digits in grown.items()}
        self.fitter.soon.start()

    def set_largest(self, offset: int) -> None:
        self._largest = offset
        self._reset_columns()

    def reset_widths(self) -> None:
        self._sized = None
        self._reset_columns()
        self._measure_pages()
        self.fitter.reset()

    def _measure_page(self, page: LoadedPage) -> None:
        for number, column in enumerate(self.objects.columns):
            texts = [row.texts[number] for row in page.texts]
            wide = max(map(self._metrics[column.name == "key"].horizontalAdvance, texts), default=0.0)
            if wide > self._texts.get(column.name, 0.0):
                self._texts[column.name] = wide
                self.fitter.soon.start()

    def _measure_pages(self) -> None:
        self._painted.clear()
        for page in self.objects.pages:
            self._measure_page(page)
        self.viewport().update()

    def _width(self, number: int) -> ColumnWidth:
        column, header = self.objects.columns[number], self.horizontalHeader()
        title = max(header.sectionSizeHint(number), header.minimumSectionSize())
        text = math.ceil(self._texts.get(column.name, 0) + 2 * MARGIN) + 1
        if column.number:
            needed = max(title, text)
            return ColumnWidth(max(title, text + BAR_SPACE) if column.name == "size" else needed, needed)
        digits = _KEY_DIGITS if column.stretched else _TEXT_DIGITS
        least = digits * self._metrics[column.name == "key"].horizontalAdvance("0") + 2 * MARGIN
        return ColumnWidth(max(title, text), max(title, min(text, math.ceil(least))))

    # --- geometry ---

    def _measure(self) -> None:
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 7)
        room = self.viewport().height() + self.horizontalHeader().height() + 4096
        self.objects.set_most((MAX_PIXELS - room) // self.verticalHeader().defaultSectionSize())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        kinds = QEvent.Type
        if event.type() in (kinds.FontChange, kinds.StyleChange, kinds.PaletteChange) and hasattr(self, "fitter"):
            self._restyle()
            if event.type() != kinds.PaletteChange:
                self._measure()
                self._reset_columns()
                self._measure_pages()

    # --- painting ---

    def _restyle(self) -> None:
        self._painted.clear()
        self._plain, self._mono = self.font(), theme.fixed_font()
        self._mono.setPointSizeF(self._plain.pointSizeF())
        self._struck = QFont(self._mono)
        self._struck.setStrikeOut(True)
        self._metrics = {False: QFontMetricsF(self._plain), True: QFontMetricsF(self._mono)}

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, area, colours = QPainter(self.viewport()), event.rect(), theme.of(self)
        painter.fillRect(area, colours.base)
        if seen := visible_rows(self, area):
            self._paint_rows(painter, colours, area, seen)
        if self._outdated:
            veil = self.palette().base().color()
            veil.setAlpha(_VEIL_ALPHA)
            painter.fillRect(area, veil)

    def _paint_rows(self, painter: QPainter, colours: theme.Palette, area: QRect, seen: range) -> None:
        height, first = self.verticalHeader().defaultSectionSize(), seen.start
        top = self.rowViewportPosition(first)
        parts = (range(max(part.start, first), min(part.stop, seen.stop)) for part in self._selected_places())
        selected = {place for part in parts for place in part}
        ground = theme.selected(self)[0]
        for place in selected:
            painter.fillRect(QRect(0, top + (place - first) * height, area.right() + 1, height), ground)
        # On the inactive colour, texts keep their own colours.
        inverted = {place - first for place in selected} if self.hasFocus() else set()
        widths = [(n, self.columnWidth(n)) for n in range(len(self.objects.columns)) if not self.isColumnHidden(n)]
        if widths != self._widths or len(self._painted) > MOST_PAINTED_ROWS:
            self._widths = widths
            self._painted.clear()
        rows = [self._painted.get(place) or self._lay_out(place) for place in seen]
        for at, (number, width) in enumerate(widths):
            left = self.columnViewportPosition(number)
            if left <= area.right() and left + width >= area.left():
                self._paint_column(painter, colours, at, QPoint(left, top), rows, inverted)
        if self.hasFocus() and (current := self.currentIndex().row()) in seen:
            painter.setPen(QPen(colours.text, 1.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            y = top + (current - first) * height
            painter.drawRect(QRectF(0.5, y + 0.5, self.viewport().width() - 1.0, height - 1.0))

    def _lay_out(self, place: int) -> _PaintedRow:
        row = self.objects.row_texts(place)
        texts: list[str] = []
        lefts: list[float] = []
        for number, width in self._widths:
            column, text = self.objects.columns[number], row.texts[number]
            metrics, room = self._metrics[column.name == "key"], width - 2 * MARGIN
            wide = metrics.horizontalAdvance(text)
            if column.number:
                lefts.append(MARGIN + max(room - wide, 0.0))
            else:
                text = cut_text(metrics, text, room) if wide > room else text
                lefts.append(MARGIN)
            texts.append(text)
        made = _PaintedRow(texts, lefts, _TONES.get(row.state, ""), row.state in STRUCK, row.size)
        if row.state is not None:
            self._painted[place] = made
        return made

    def _paint_column(
        self,
        painter: QPainter,
        colours: theme.Palette,
        at: int,
        corner: QPoint,
        rows: Sequence[_PaintedRow],
        inverted: Collection[int],
    ) -> None:
        height, metrics = self.verticalHeader().defaultSectionSize(), self._metrics[False]
        base = corner.y() + (height - metrics.height()) / 2 + metrics.ascent()
        column = self.objects.columns[self._widths[at][0]]
        largest = self.objects.largest if column.name == "size" else 0
        bar_room = min((row.lefts[at] for row in rows), default=0.0) - 2 * MARGIN
        key = column.name == "key"
        font = self._mono if key else self._plain
        painter.setFont(font)
        tones = {"": colours.muted if column.muted else colours.text, "muted": colours.muted, "error": colours.error}
        pen: QColor | None = None
        for number, row in enumerate(rows):
            colour = colours.base if number in inverted else tones[row.tone]
            if colour is not pen:
                painter.setPen(colour)
                pen = colour
            if largest > 0 and row.size > 0 and bar_room >= _LEAST_BAR:
                bar = theme.faint(colours.base if number in inverted else colours.accent, _BAR_STRENGTH)
                long = max(bar_room * min(row.size / largest, 1.0), 1.0)
                painter.fillRect(QRectF(corner.x() + MARGIN, corner.y() + number * height + 6, long, height - 12), bar)
            if key and row.struck:
                painter.setFont(self._struck)
            painter.drawText(QPointF(corner.x() + row.lefts[at], base + number * height), row.texts[at])
            if key and row.struck:
                painter.setFont(font)

    def dim(self, outdated: bool) -> None:
        if outdated is not self._outdated:
            self._outdated = outdated
            self.viewport().update()

    # --- rows ---

    def _selected_places(self) -> list[range]:
        return [range(part.top(), part.bottom() + 1) for part in self.selectionModel().selection().toList()]

    def selected_ranges(self) -> RowRanges:
        return self.objects.ranges_of(self._selected_places())

    def selected_count(self) -> int:
        return sum(map(len, self._selected_places()))

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
        """Emit `rows_chosen` with a selected row: the current one, else the one shown before, else the first."""
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
                places = visible_rows(self)
                if places and self.currentIndex().row() not in places:
                    index = self.objects.index(places.start, self._key)
                    self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
        finally:
            self._following = False

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and index.isValid():
            self.row_double_clicked.emit(self.objects.row_of(index))
        else:
            super().mouseDoubleClickEvent(event)

    def open_current(self) -> None:
        if self.currentIndex().isValid():
            self._open(self.currentIndex())

    def _open(self, index: QModelIndex) -> None:
        if not self.selectionModel().isSelected(index):
            self.follow_place(self.objects.block[0] + index.row())
        self.row_opened.emit(self.objects.row_of(index))

    def _emit_chosen(self, index: QModelIndex) -> None:
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
        control = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier == Qt.KeyboardModifier.ControlModifier
        if event.key() in ends and last >= 0 and (control or not chosen.hasSelection()):
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


PENDING = frozenset({"state", "stored"})
"""Names of the columns hidden until the rows are counted."""


class ColumnVisibility(QObject):
    def __init__(self, session: Session, table: ObjectTable, settings: Settings) -> None:
        super().__init__(table)
        self._session = session
        self._table = table
        self._settings = settings
        self._constant: frozenset[str] = frozenset()
        self.reset_widths = new_action(self, self.tr("Reset column &widths"), table.reset_widths)
        self.automatic = new_action(self, self.tr("Choose columns &automatically"), self._forget)
        header = made(table.horizontalHeader(), contextMenuPolicy=Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(lambda place: self.menu().popup(header.mapToGlobal(place)))
        table.objects.modelReset.connect(self._apply)

    def expect(self, *, counted: bool) -> None:
        """Set the visible columns of a new shard; `counted`: its rows are being counted, then `learn` is called."""
        listing = self._session.listing
        plain = {"codec"} if listing is not None and tuple(listing.codecs) == ("none",) else set()
        self._constant = frozenset(plain) | (PENDING if counted else frozenset())
        self._apply()

    def learn(self, census: ObjectCounts | None) -> None:
        """Hide columns that have the same value in all rows; `census` is None if the rows cannot be counted."""
        self._constant = census.constant if census is not None else self._constant - PENDING
        self._apply()

    def choose(self, name: str, shown: bool) -> None:
        self._settings.set_columns(self._session.format, self._settings.columns(self._session.format) | {name: shown})
        self._apply()

    def menu(self) -> QMenu:
        menu = context_menu(self._table, ())
        for column in self._table.objects.columns:
            if column.name != "key":
                shown = column.name in self._table.visible_columns
                action = made(menu.addAction(column.title), checkable=True, checked=shown, toolTip=column.doc)
                # Wait until the menu is closed: this lays out the table.
                action.triggered.connect(
                    lambda wanted, name=column.name: QTimer.singleShot(0, self, lambda: self.choose(name, wanted))
                )
        menu.addSeparator()
        menu.addActions([self.automatic, self.reset_widths])
        return menu

    def _forget(self) -> None:
        self._settings.set_columns(self._session.format, {})
        self._apply()

    def _apply(self) -> None:
        names, chosen = (
            [column.name for column in self._table.objects.columns],
            self._settings.columns(self._session.format),
        )
        self._table.show_columns([name for name in names if chosen.get(name, name not in self._constant)])
