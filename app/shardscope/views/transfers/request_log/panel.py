"""Panel of the request log: requests with their purpose, time and cost."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPoint, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QActionGroup, QColor, QHideEvent, QPainter, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import RequestLog, SectionRole, Shard, Span
from shardcore.model.span import SourceName
from shardcore.sources.base import ReadPurpose
from shardcore.sources.remote.request_log import Request
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.widgets import theme
from shardscope.widgets.clipboard import copy_lines, copy_text
from shardscope.widgets.dock_table_columns import ColumnRule
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.fonts import px
from shardscope.widgets.request_log.costs import PRICES, Price, Totals, price_called
from shardscope.widgets.request_log.model import ANSWER, PURPOSE, RANGE, RequestLogModel, is_cancelled
from shardscope.widgets.row_table import row_table
from shardscope.widgets.save_picture import add_picture
from shardscope.widgets.strip_paint import paint_swatch

SECTIONS: Mapping[ReadPurpose, SectionRole] = MappingProxyType(
    {
        ReadPurpose.HEAD: SectionRole.HEADER,
        ReadPurpose.FOOTER: SectionRole.FOOTER,
        ReadPurpose.INDEX: SectionRole.INDEX,
        ReadPurpose.LOOKUP: SectionRole.LOOKUP,
        ReadPurpose.PAYLOAD: SectionRole.DATA,
        ReadPurpose.LISTING: SectionRole.METADATA,
        ReadPurpose.PROBE: SectionRole.UNKNOWN,
    }
)
"""Section role that gives a purpose its colour; listings and probes read no section and get unused ones."""


Index = QModelIndex | QPersistentModelIndex

BAR = 6
"""Height in pixels of the bar below the text of a row."""

_SWATCH = 16
_SIDE = 6
_FOOT = 3
_LEAST = 2.0
_LIGHT = 0.38


class RequestTable(QTableView):
    def __init__(self, requests: RequestLogModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.requests = requests
        self.setItemDelegate(RequestWords(self))

    @property
    def row_height(self) -> int:
        return self.fontMetrics().height() + 8 + BAR

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        first, last = self.rowAt(event.rect().top()), self.rowAt(event.rect().bottom())
        if first < 0:
            return
        last = last if last >= 0 else self.requests.rowCount() - 1
        current = self.selectionModel().currentIndex().row() if self.selectionModel().hasSelection() else -1
        painter = QPainter(self.viewport())
        for row in range(first, last + 1):
            self._paint_bar(painter, row, row == current)
        painter.end()

    def _paint_bar(self, painter: QPainter, row: int, selected: bool) -> None:
        record = self.requests.record(row)
        colours = theme.of(self)
        left, width = float(_SIDE), float(self.viewport().width() - 2 * _SIDE)
        begin, answer, end = (left + share * width for share in self.requests.bar(row))
        top = self.rowViewportPosition(row) + self.rowHeight(row) - BAR - _FOOT
        strong = colours.base if selected else colours.edge(SECTIONS[record.purpose])
        if record.cached:
            tick = QRectF(min(begin, left + width - 2), top - 2, 2, BAR + 3)
            painter.fillRect(tick, colours.base if selected else colours.muted)
            return
        end = max(end, begin + _LEAST)
        over = max(end - left - width, 0.0)
        begin, answer, end = begin - over, answer - over, end - over
        light = QColor(strong)
        light.setAlphaF(_LIGHT)
        painter.fillRect(QRectF(begin, top, end - begin, BAR), light)
        # Draw even very short transfers.
        first = max(min(answer, end - _LEAST), begin) if record.bytes else end
        painter.fillRect(QRectF(first, top, end - first, BAR), strong)
        if record.error and not is_cancelled(record):
            painter.fillRect(QRectF(end - 3, top - 2, 3, BAR + 3), colours.error)


class RequestWords(QStyledItemDelegate):
    def __init__(self, table: RequestTable) -> None:
        super().__init__(table)
        self._table = table

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        if index.column() == ANSWER:
            record, colours = self._table.requests.record(index.row()), theme.of(self._table)
            failed = record.error and not is_cancelled(record)
            strong = colours.error if failed else colours.warning if record.retry else colours.muted
            option.palette.setColor(option.palette.ColorRole.Text, strong)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        size = super().sizeHint(option, index)
        return size + QSize(_SWATCH + _SIDE, 0) if index.column() == PURPOSE else size

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, theme.selected(self._table)[0])
        purpose = index.column() == PURPOSE
        option.rect = option.rect.adjusted(_SWATCH + _SIDE if purpose else 0, 0, 0, -BAR - _FOOT + 1)
        super().paint(painter, option, index)
        if purpose:
            section = SECTIONS[self._table.requests.record(index.row()).purpose]
            top = option.rect.top() + (option.rect.height() - _SWATCH) // 2
            box = QRectF(option.rect.left() - _SWATCH, top, _SWATCH, _SWATCH)
            paint_swatch(painter, theme.of(self._table), section, box)


POLL_MILLISECONDS = 400
"""Polling interval in milliseconds while the panel is visible."""

_LOW = 170
"""Height in pixels below which the cost of a full download is hidden."""


class RequestLogPanel(QWidget):
    def __init__(self, session: Session, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._settings = settings
        self.model = RequestLogModel(self)
        session.notation_changed.connect(self.model.change)
        self.spent = Elided(greedy=True, parent=self)
        self.spent.setObjectName("tapeSpent")
        self.full = Elided(greedy=True, parent=self)
        self.full.setObjectName("tapeFull")
        self.notes = Elided(greedy=True, parent=self)
        self.notes.setObjectName("tapeNotes")
        self.hits = self._button(self.tr("Cache"), self.tr("Include reads that the cache answered (no cost)"))
        self.hits.setCheckable(True)
        self.hits.toggled.connect(self.model.show_hits)
        self.prices = self._button("$", self.tr("Prices"))
        self.prices.setAccessibleName(self.tr("Prices"))
        self.prices.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.prices.setMenu(self._price_menu())
        self.table = self._table()
        self.setFocusProxy(self.table)
        self._lay_out()
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MILLISECONDS)
        self._timer.timeout.connect(self._poll)
        session.request_log_changed.connect(self._set_request_log)
        session.opened.connect(lambda _: self._known_better())
        session.index_loaded.connect(self._known_better)
        self._set_request_log(session.request_log)

    def _button(self, text: str, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setText(text)
        button.setToolTip(tip)
        return button

    def _price_menu(self) -> QMenu:
        menu = QMenu(self)
        group = QActionGroup(menu)
        for price in PRICES:
            action = menu.addAction(price.name, partial(self._set_price, price))
            action.setCheckable(True)
            action.setChecked(price is self.price)
            group.addAction(action)
        return menu

    def _table(self) -> RequestTable:
        table = RequestTable(self.model, self)
        rules = (ColumnRule(), ColumnRule(190), ColumnRule(), ColumnRule())
        row_table(self, self.model, rules, RANGE, self._choose, self._open_menu, table=table)
        table.setObjectName("tapeTable")
        table.setAccessibleName(self.tr("Requests"))
        table.verticalHeader().setDefaultSectionSize(table.row_height)
        return table

    def _lay_out(self) -> None:
        second = QHBoxLayout()
        second.setSpacing(4)
        second.addWidget(self.full, 1)
        second.addWidget(self.hits)
        second.addWidget(self.prices)
        head = QVBoxLayout()
        head.setContentsMargins(8, 4, 8, 6)
        head.setSpacing(3)
        head.addWidget(self.spent)
        head.addLayout(second)
        head.addWidget(self.notes)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.table, 1)

    # --- what is shown ---

    @property
    def price(self) -> Price:
        return price_called(self._settings.price)

    def _set_price(self, price: Price) -> None:
        self._settings.price = price.name
        self._show_totals()

    def _set_request_log(self, request_log: RequestLog | None) -> None:
        self.model.set_request_log(request_log, self._main())
        self._show_totals()
        self._run()

    def _known_better(self) -> None:
        if self.model.request_log is not None:
            self.model.read_again(self._main())
            self._show_totals()

    def _main(self) -> str:
        shard = self._session.shard
        return shard.source.uri if shard is not None and shard.source is not None else ""

    def _run(self) -> None:
        if self.model.request_log is not None and self.isVisible():
            self._poll()
            self._timer.start()
        else:
            self._timer.stop()

    def _poll(self) -> None:
        bar = self.table.verticalScrollBar()
        at_end = bar.value() == bar.maximum()
        if self.model.take_new():
            self._show_totals()
            if at_end and not self.table.selectionModel().hasSelection():
                self.table.scrollToBottom()
        else:
            self._show_notes()

    @property
    def totals(self) -> Totals:
        request_log = self.model.request_log
        if request_log is None:
            return Totals(0, 0, 0.0)
        trips = int(self.model.columns.rounds.max(initial=0))
        return Totals(
            request_log.requests,
            request_log.bytes,
            self.model.schedule.busy,
            self.model.listings,
            request_log.files,
            request_log.full_size,
            trips,
            request_log.hits,
        )

    def _show_totals(self) -> None:
        totals = self.totals
        self.spent.set_text(totals.spent(self.price))
        self.full.set_text(self.tr("Full download: {0}").format(totals.download(self.price)) if totals.full else "")
        self.prices.setToolTip(self.tr("Prices: {0}").format(self.price.name))
        self._show_notes()

    def _show_notes(self) -> None:
        notes = self.model.request_log.notes if self.model.request_log is not None else ()
        self.notes.set_text(notes[-1] if notes else "")
        self.notes.setToolTip("\n".join(notes))
        self.notes.setVisible(bool(notes))

    # --- what is chosen ---

    def _choose(self, current: QModelIndex, previous: QModelIndex) -> None:
        if current.isValid() and (span := self.span_of(self.model.record(current.row()))) is not None:
            self._session.select_span(span, self)

    def span_of(self, record: Request) -> Span | None:
        """Return the bytes that a request fetched; None if they are not of the open shard."""
        shard = self._session.shard
        if shard is None or record.start is None or record.stop is None or not record.bytes:
            return None
        name = source_name(shard, record.address)
        return None if name is None else Span(name, record.start, record.start + record.bytes)

    def menu_of(self, record: Request) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        span = self.span_of(record)
        if span is not None:
            menu.addAction(self.tr("&Select bytes"), lambda: self._session.select_span(span, self))
        menu.addSeparator()
        menu.addAction(self.tr("Copy &address"), lambda: copy_text(record.address))
        if record.start is not None:
            menu.addAction(self.tr("Copy &range"), lambda: copy_text(f"{record.start}..{record.stop}"))
        request_log = self.model.request_log
        if request_log is not None:
            menu.addAction(self.tr("Copy the log as &JSON lines"), lambda: copy_lines(request_log.lines()))
        menu.addSeparator()
        add_picture(menu, self, "requests", self._session.say)
        return menu

    def _open_menu(self, place: QPoint) -> None:
        index = self.table.indexAt(place)
        if index.isValid():
            self.menu_of(self.model.record(index.row())).popup(self.table.viewport().mapToGlobal(place))

    # --- events ---

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        for part in (self.full, self.hits, self.prices):
            part.setVisible(self.height() >= px(_LOW))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._run()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._run()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "full"):
            sheet = f"color: {theme.of(self).muted.name()};"
            if sheet != self.full.styleSheet():
                self.full.setStyleSheet(sheet)


def source_name(shard: Shard, address: str) -> str | None:
    """Return the name of the source of the open shard at an address; None if there is none."""
    source = shard.source
    if source is not None and source.uri == address:
        return ""
    folder = source.folder if source is not None else getattr(shard, "folder", None)
    if folder is None or not address.startswith(folder.uri) or address.endswith("/"):
        return None
    return str(SourceName(address[len(folder.uri) :].lstrip("/")))
