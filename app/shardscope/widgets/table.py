"""Tables whose columns are described by data: model, column widths, view and context menu."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    Qt,
)
from PySide6.QtGui import QAction, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QMenu,
    QStackedLayout,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from shardcore.dataclasses import dataclass
from shardcore.model.text import shown
from shardscope.widgets import theme
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.elided_label import cut_text
from shardscope.widgets.keyboard import select_current
from shardscope.widgets.layouts import made
from shardscope.widgets.plain_text import plain_label, tip

Index = QModelIndex | QPersistentModelIndex
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
Roles = Qt.ItemDataRole

THING_ROLE = int(Roles.UserRole)
"""Item role for which a model returns the entry of a row in `things`."""

Look = Callable[[QStyleOptionViewItem, theme.Palette, Any], object]
"""Function that changes text, colour or font of a cell before it is painted."""


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a table; all functions get the entry of a row.

    Attributes:
        least: Minimum width in pixels; None for numbers and short words, which are never cut.
        tip: Function for the tooltip; None: the tooltip is the displayed text.
        spoken: Function for the accessible text; if it is None or returns None, that is the displayed text.
        key: Function for the sort key; None if the table cannot be sorted by this column.
        stretched: True for the column that takes the remaining width.
    """

    title: str
    text: Callable[[Any], str]
    least: int | None = None
    number: bool = False
    tip: Callable[[Any], str] | None = None
    spoken: Callable[[Any], str | None] | None = None
    key: Callable[[Any], Any] | None = None
    look: Look | None = None
    stretched: bool = False

    @property
    def alignment(self) -> int | None:
        return int(RIGHT) if self.number else None


class TableModel(QAbstractTableModel):
    """Table model with one row per entry of `things`."""

    columns: Sequence[Column] = ()
    things: Any = ()

    def __init__(self, parent: QObject | None = None, columns: Sequence[Column] = ()) -> None:
        super().__init__(parent)
        self.columns = columns
        self._unsorted: Any = ()
        self._order = -1, Qt.SortOrder.AscendingOrder

    @property
    def sortable(self) -> bool:
        return any(column.key is not None for column in self.columns)

    def text(self, row: int, column: int) -> str:
        return self.columns[column].text(self.things[row])

    def show_things(self, things: Any) -> None:
        self.beginResetModel()
        self._unsorted = things
        self.things = self._sorted()
        self.endResetModel()

    def _sorted(self) -> Any:
        column, order = self._order
        key = self.columns[column].key if 0 <= column < len(self.columns) else None
        if key is None:
            return self._unsorted
        return tuple(sorted(self._unsorted, key=key, reverse=order is Qt.SortOrder.DescendingOrder))

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by the key of a column; -1 restores the order of `show_things`. Selected entries stay selected."""
        if not self.sortable:
            return
        self.layoutAboutToBeChanged.emit()
        old, self._order = self.persistentIndexList(), (column, order)
        selected = [self.things[index.row()] for index in old]
        self.things = self._sorted()
        rows = {id(thing): row for row, thing in enumerate(self.things)}
        new = [self.index(rows[id(thing)], index.column()) for thing, index in zip(selected, old, strict=True)]
        self.changePersistentIndexList(old, new)
        self.layoutChanged.emit()

    def change(self, first: int = 0, last: int | None = None, column: int | None = None) -> None:
        """Emit `dataChanged` for rows `first` to `last`, both included; by default for all rows."""
        last = self.rowCount() - 1 if last is None else last
        if 0 <= first <= last:
            columns = (0, len(self.columns) - 1) if column is None else (column, column)
            self.dataChanged.emit(self.index(first, columns[0]), self.index(last, columns[1]))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.things)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Roles.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Roles.DisplayRole:
            return self.tr(self.columns[section].title)
        return self.columns[section].alignment if role == Roles.TextAlignmentRole else None

    def data(self, index: Index, role: int = Roles.DisplayRole) -> Any:
        if not index.isValid():
            return None
        column, thing = self.columns[index.column()], self.things[index.row()]
        match role:
            case Roles.DisplayRole:
                return shown(self.text(index.row(), index.column()))
            case Roles.ToolTipRole:
                text = self.text(index.row(), index.column()) if column.tip is None else column.tip(thing)
                return tip(text) or None
            case Roles.AccessibleTextRole:
                return None if column.spoken is None else column.spoken(thing)
            case Roles.TextAlignmentRole:
                return column.alignment
        return thing if role == THING_ROLE else None


# --- widths ---

MOST_ROUNDS = 3
_BETWEEN = 8


class ColumnWidth(NamedTuple):
    """Preferred and minimum width of a column in pixels; equal for numbers, which are never cut."""

    wanted: int
    least: int


def share_width(
    columns: Sequence[ColumnWidth], stretched: int, room: int, by_hand: Mapping[int, int] = MappingProxyType({})
) -> list[int]:
    """Return the width of each column in pixels; their sum exceeds `room` if the minimum widths do.

    Column `stretched` takes the remaining width. `by_hand` are widths set by the user, by column index.
    """
    columns = [ColumnWidth(by_hand[n], by_hand[n]) if n in by_hand else column for n, column in enumerate(columns)]
    widths = [min(column.least, column.wanted) for column in columns]
    widths[stretched] = columns[stretched].least
    missing = [max(column.wanted - width, 0) for column, width in zip(columns, widths, strict=True)]
    left, all_ = max(room - sum(widths), 0), max(sum(missing), 1)
    widths = [width + min(left * more // all_, more) for width, more in zip(widths, missing, strict=True)]
    if stretched not in by_hand:
        widths[stretched] += max(room - sum(widths), 0)
    return widths


class ColumnFitter(QObject):
    """Sets the widths of the visible columns of a table, whose model has `columns` like those of `TableModel`.

    Widths set by the user are stored under the title of the column.
    """

    def __init__(self, table: QTableView, measure: Callable[[int], ColumnWidth]) -> None:
        super().__init__(table)
        self._table, self._measure = table, measure
        self._model: Any = table.model()
        self._fitting = False
        self._by_hand: dict[str, int] = {}
        self.soon = Debounce(self, self.fit)
        table.horizontalHeader().sectionResized.connect(self._resized)
        table.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self.fit()
        return False

    def reset(self) -> None:
        self._by_hand.clear()
        self.fit()

    def _resized(self, column: int, _: int, width: int) -> None:
        if not self._fitting and width and QApplication.mouseButtons() & Qt.MouseButton.LeftButton:
            self._by_hand[self._model.columns[column].title] = width
            self.soon.start()

    def fit(self) -> None:
        table = self._table
        # For a hidden table, Qt would measure every row.
        if self._fitting or not table.isVisible():
            return
        shown = [column for column in range(table.horizontalHeader().count()) if not table.isColumnHidden(column)]
        if not shown:
            return
        self._fitting = True
        columns, stretched, by_hand = [self._measure(column) for column in shown], 0, {}
        for at, declared in enumerate(self._model.columns[column] for column in shown):
            if declared.stretched:
                stretched = at
            if declared.title in self._by_hand:
                # Numbers are never cut, not even by hand.
                least = columns[at].least if declared.number else 0
                by_hand[at] = max(self._by_hand[declared.title], least)
        # New widths may bring or remove a scroll bar, which changes the room.
        for _ in range(MOST_ROUNDS):
            room = table.viewport().width()
            for column, width in zip(shown, share_width(columns, stretched, room, by_hand), strict=True):
                table.setColumnWidth(column, width)
            if table.wordWrap():
                for row in visible_rows(table):
                    height = table.sizeHintForRow(row) + _BETWEEN
                    table.setRowHeight(row, max(height, table.verticalHeader().defaultSectionSize()))
            if table.viewport().width() == room:
                break
        self._fitting = False


# --- the view ---


def visible_rows(table: QTableView, area: QRect | None = None) -> range:
    """Return the rows in an area of the viewport, by default in all of it."""
    area = table.viewport().rect() if area is None else area
    first, last = table.rowAt(max(area.top(), 0)), table.rowAt(area.bottom())
    return range(first, (last if last >= 0 else table.model().rowCount() - 1) + 1) if first >= 0 else range(0)


class CellDelegate(QStyledItemDelegate):
    def __init__(self, table: QTableView) -> None:
        super().__init__(table)
        self._table = table

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        model: TableModel = index.model()  # type: ignore[assignment]
        if (look := model.columns[index.column()].look) is not None:
            look(option, theme.of(self._table), model.things[index.row()])

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        item = QStyleOptionViewItem(option)
        self.initStyleOption(item, index)
        style = self._table.style()
        if not self._table.wordWrap():
            margin = style.pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin, item, self._table) + 1
            room = style.subElementRect(QStyle.SubElement.SE_ItemViewItemText, item, self._table).width() - 2 * margin
            item.text = cut_text(item.fontMetrics, item.text, room)
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, item, painter, self._table)


class RowTable(QTableView):
    """Table of the declared columns of a `TableModel`.

    Attributes:
        choose: Called with the index of a row when it is selected or clicked.
        menu: Function that returns the context menu of a row.
    """

    def __init__(
        self,
        model: TableModel,
        parent: QWidget | None,
        name: str,
        title: str,
        choose: Callable[[int], object] | None = None,
        menu: Callable[[int], QMenu] | None = None,
        *,
        wrapped: bool = False,
    ) -> None:
        super().__init__(parent)
        made(self, name, accessibleName=title, showGrid=False, wordWrap=wrapped)
        self.choose, self.menu = choose or (lambda _: None), menu
        self._seen: dict[int, int] = {}
        self._model = model
        self.setModel(model)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setItemDelegate(CellDelegate(self))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        made(self.verticalHeader(), visible=False, defaultSectionSize=self.fontMetrics().height() + 10)
        header = made(self.horizontalHeader(), highlightSections=False, defaultAlignment=LEFT)
        # Only rows on the screen are measured.
        header.setResizeContentsPrecision(0)
        if model.sortable:
            header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
            header.setSortIndicatorClearable(True)
            self.setSortingEnabled(True)
        self.fitter = ColumnFitter(self, self._width)
        self.verticalScrollBar().valueChanged.connect(self.fitter.soon.again)
        for changed in (model.dataChanged, model.rowsInserted, model.layoutChanged):
            changed.connect(self.fitter.soon.again)
        model.modelReset.connect(self._forget)
        self.customContextMenuRequested.connect(self._open_menu)
        # Focus also makes a row current, but does not select it.
        chosen = self.selectionModel()
        chosen.currentRowChanged.connect(
            lambda now, _: self.choose(now.row()) if now.isValid() and chosen.isSelected(now) else None
        )
        self.clicked.connect(lambda index: self.choose(index.row()))

    def _width(self, column: int) -> ColumnWidth:
        header = self.horizontalHeader()
        text = max(self.sizeHintForColumn(column) + _BETWEEN, header.minimumSectionSize())
        wanted = self._seen[column] = max(self._seen.get(column, 0), text, header.sectionSizeHint(column))
        least = self._model.columns[column].least
        return ColumnWidth(wanted, wanted if least is None else least)

    def _forget(self) -> None:
        self._seen.clear()
        self.fitter.soon.start()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange) and hasattr(self, "fitter"):
            self._forget()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if select_current(self, event):
            self.choose(self.currentIndex().row())
        else:
            super().keyPressEvent(event)

    def _open_menu(self, place: QPoint) -> None:
        index = self.indexAt(place)
        if index.isValid() and self.menu is not None:
            self.menu(index.row()).popup(self.viewport().mapToGlobal(place))


Entry = tuple[str, Callable[[], object]] | QAction | bool | None


def list_rows(table: QTableView, name: str, spoken: str, row: int, **properties: Any) -> None:
    made(
        table,
        name,
        accessibleName=spoken,
        selectionBehavior=QAbstractItemView.SelectionBehavior.SelectRows,
        selectionMode=QAbstractItemView.SelectionMode.SingleSelection,
        showGrid=False,
        tabKeyNavigation=False,
        **properties,
    )
    rows, header = table.verticalHeader(), table.horizontalHeader()
    rows.hide()
    rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    rows.setDefaultSectionSize(row)
    header.setHighlightSections(False)
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


def context_menu(
    parent: QWidget, entries: Iterable[Entry], picture: str = "", report: Callable[[str, bool], object] | None = None
) -> QMenu:
    """Return a menu that is deleted when it closes. An entry None adds a separator, an entry False adds nothing.

    With `report`, the last entry saves a picture of the parent; `report` gets a message and whether saving failed.
    """
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    for entry in entries:
        if entry is None:
            menu.addSeparator()
        elif isinstance(entry, QAction):
            menu.addAction(entry)
        elif isinstance(entry, tuple):
            menu.addAction(entry[0], entry[1])
    if report is not None:
        from shardscope.widgets.save_picture import add_picture

        menu.addSeparator()
        add_picture(menu, parent, picture, report)
    return menu


class TableOrText(QStackedLayout):
    def __init__(self, table: QTableView, parent: QWidget) -> None:
        super().__init__()
        self.label = made(plain_label("", wrap=True, quiet=True), alignment=Qt.AlignmentFlag.AlignCenter)
        # Without a parent, the first widget of a stack opens as a window.
        self.label.setParent(parent)
        self._table = table
        self.addWidget(self.label)
        self.addWidget(table)

    def show_table(self, shown: bool, text: str = "") -> None:
        self.label.setText(text)
        self.setCurrentWidget(self._table if shown else self.label)
