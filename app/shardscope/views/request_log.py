"""Request log of a remote shard: the requests with purpose, time and cost, in the order in which they ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QModelIndex, QObject, QRectF, QSize, QTimer
from PySide6.QtGui import QActionGroup, QHideEvent, QPainter, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QStyle, QStyleOptionViewItem, QToolButton, QVBoxLayout, QWidget

from shardcore import RequestLog, SectionRole, Shard, Span
from shardcore.dataclasses import dataclass
from shardcore.model.span import SourceName
from shardcore.model.text import ends_text, plural, size_text
from shardcore.sources.base import ReadPurpose
from shardcore.sources.remote.request_log import CANCELLED, KEPT, Request
from shardcore.system import last_part
from shardscope.session.display_text import numbers
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.widgets import theme
from shardscope.widgets.clipboard import copy_lines, copy_text
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.fonts import px
from shardscope.widgets.layouts import drop_menu, lay, made
from shardscope.widgets.request_costs import PRICES, Price, Totals, price_called, seconds_text
from shardscope.widgets.strip_paint import paint_swatch
from shardscope.widgets.table import CellDelegate, Column, Index, RowTable, TableModel, context_menu, visible_rows

Times = npt.NDArray[np.float64]


LONGEST_PAUSE_SECONDS = 0.02


class RequestColumns:
    """Requests in order of their ends, times in seconds. `rounds` are round trips from 1; a cache hit adds none."""

    def __init__(self) -> None:
        self.records: list[Request] = []
        self.begin, self.answer, self.end = np.zeros((3, 0))
        self.hits = np.zeros(0, bool)
        self.rounds = np.zeros(0, np.int64)
        # Running maxima of end and round, so that they can be searched.
        self._latest, self._highest = np.zeros(0), [0]

    def __len__(self) -> int:
        return len(self.records)

    def extend(self, records: Sequence[Request]) -> None:
        """Append records; they must have ended later than those already present."""
        self.records.extend(records)
        begin = np.array([one.at for one in records])
        answer = begin + [one.wait for one in records]
        end = answer + [one.transfer for one in records]
        hits = np.array([one.cached for one in records], bool)
        self.rounds = np.append(self.rounds, self._find_rounds(begin, end, hits))
        self.begin, self.answer = np.append(self.begin, begin), np.append(self.answer, answer)
        self.end, self.hits = np.append(self.end, end), np.append(self.hits, hits)

    def _find_rounds(self, begin: Times, end: Times, hits: npt.NDArray[np.bool_]) -> list[int]:
        """Compute round trips: a request depends on all requests that had ended when it began."""
        latest = np.append(self._latest, np.where(hits, 0.0, end))
        self._latest = np.maximum.accumulate(latest)
        rounds = []
        ended = np.searchsorted(self._latest, begin, side="right")
        for before, hit in zip(ended.tolist(), hits.tolist(), strict=True):
            rounds.append(self._highest[min(before, len(self._highest) - 1)] + (not hit))
            self._highest.append(max(rounds[-1], self._highest[-1]))
        return rounds


@dataclass(frozen=True, slots=True)
class Schedule:
    """Times in seconds for the waterfall, with long pauses shortened; `answer` is the first byte, `end` the last."""

    begin: Times
    answer: Times
    end: Times
    span: float
    busy: float


def measured(columns: RequestColumns) -> Schedule:
    if not len(columns):
        return Schedule(columns.begin, columns.answer, columns.end, 0.0, 0.0)
    order = np.argsort(columns.begin, kind="stable")
    begin = columns.begin[order]
    latest = np.maximum.accumulate(columns.end[order])
    pauses = np.maximum(begin[1:] - latest[:-1], 0.0)
    cut = np.concatenate(([begin[0]], begin[0] + np.cumsum(np.maximum(pauses - LONGEST_PAUSE_SECONDS, 0.0))))
    shift = np.empty_like(cut)
    shift[order] = cut
    end = columns.end - shift
    busy = float(latest[-1] - begin[0] - pauses.sum())
    return Schedule(columns.begin - shift, columns.answer - shift, end, float(end.max()), busy)


PURPOSE, RANGE, BYTES, ANSWER = range(4)

AT_ONCE = 10_000


class RequestLogModel(TableModel):
    """Model whose entries are indices into `records`."""

    things: npt.NDArray[np.int64]

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.columns = (
            Column("Purpose", lambda number: self._record(number).purpose.value, tip=self._details),
            Column("Range", self._place, 190, tip=self._details, stretched=True),
            Column("Bytes", self._size, number=True, tip=self._details),
            Column(
                "Response",
                lambda number: answer_text(self._record(number)),
                tip=self._details,
                spoken=lambda number: f"{answer_text(self._record(number))}, {self._lasted(number)}",
                look=self._coloured,
            ),
        )
        self._hits = False
        self.set_request_log(None)

    def set_request_log(self, request_log: RequestLog | None, main: str = "") -> None:
        """Show another request log; requests to other addresses than `main` are shown with their file name."""
        self.beginResetModel()
        self.request_log, self._main = request_log, main
        self.records, self._seen, self.listings = RequestColumns(), 0, 0
        self.things = np.zeros(0, np.int64)
        self.schedule = measured(self.records)
        self.endResetModel()
        self.take_new()

    def take_new(self) -> bool:
        """Take at most `AT_ONCE` new records, so that the window stays responsive; return whether there were any."""
        request_log = self.request_log
        if request_log is None or (count := request_log.requests + request_log.hits) == self._seen:
            return False
        records = request_log.records
        first = len(self.records)
        fresh = records[max(len(records) - (count - self._seen), 0) :][: min(max(KEPT - first, 0), AT_ONCE)]
        if not fresh:
            return False
        self._seen += len(fresh)
        self.records.extend(fresh)
        self.listings += sum(one.purpose is ReadPurpose.LISTING and not one.cached for one in fresh)
        self.schedule = measured(self.records)
        rows = np.arange(first, len(self.records))
        rows = rows if self._hits else rows[~self.records.hits[first:]]
        if len(rows):
            self.beginInsertRows(QModelIndex(), len(self.things), len(self.things) + len(rows) - 1)
            self.things = np.concatenate((self.things, rows))
            self.endInsertRows()
        self.change()
        return True

    def show_hits(self, wanted: bool) -> None:
        self.beginResetModel()
        self._hits = wanted
        self.things = np.arange(len(self.records)) if wanted else np.flatnonzero(~self.records.hits)
        self.endResetModel()

    def record(self, row: int) -> Request:
        return self._record(self.things[row])

    def bar(self, row: int) -> tuple[float, float, float]:
        """Return begin, first byte and end of a request as fractions of the total time."""
        number, plan, span = int(self.things[row]), self.schedule, max(self.schedule.span, 1e-9)
        return float(plan.begin[number]) / span, float(plan.answer[number]) / span, float(plan.end[number]) / span

    # --- cells ---

    def _record(self, number: int) -> Request:
        return self.records.records[number]

    def _place(self, number: int) -> str:
        record = self._record(number)
        name = "" if record.address == self._main else last_part(record.address)
        start, stop = record.start, record.stop
        span = "" if start is None or stop is None else numbers(ends_text(start, stop))
        return " of ".join(part for part in (span, name) if part) or "/"

    def _size(self, number: int) -> str:
        record = self._record(number)
        return size_text(record.bytes) if record.bytes or not record.error else ""

    def _coloured(self, option: QStyleOptionViewItem, colours: theme.Palette, number: int) -> None:
        record = self._record(number)
        failed = record.error and not is_cancelled(record)
        strong = colours.error if failed else colours.warning if record.retry else colours.muted
        option.palette.setColor(option.palette.ColorRole.Text, strong)

    def _lasted(self, number: int) -> str:
        plan = self.schedule
        wait, all_ = plan.answer[number] - plan.begin[number], plan.end[number] - plan.begin[number]
        return f"{seconds_text(float(wait))} until the first byte, {seconds_text(float(all_))} in total"

    def _details(self, number: int) -> str:
        record = self._record(number)
        size = plural(record.bytes, "byte")
        if record.cached:
            return f"{record.address}\n{self._place(number)}\nFrom the cache, without a request: {size}"
        error = f"\n{record.error}" if record.error else ""
        round_ = int(self.records.rounds[number])
        times = f"{answer_text(record)} · {size} · {self._lasted(number)} · round trip {round_}"
        return f"{record.method} {record.address}\n{self._place(number)}\n{times}{error}"


def is_cancelled(record: Request) -> bool:
    return record.error == CANCELLED


def answer_text(record: Request) -> str:
    if record.cached:
        return "cache"
    if is_cancelled(record):
        return "■ cancelled"
    text = str(record.status) if record.status else "no response"
    again = f" ↻ {record.retry + 1}" if record.retry else ""
    return f"✖ {text}{again}" if record.error else f"{text}{again}"


SECTIONS: Mapping[ReadPurpose, SectionRole] = {
    ReadPurpose.HEAD: SectionRole.HEADER,
    ReadPurpose.FOOTER: SectionRole.FOOTER,
    ReadPurpose.INDEX: SectionRole.INDEX,
    ReadPurpose.LOOKUP: SectionRole.LOOKUP,
    ReadPurpose.PAYLOAD: SectionRole.DATA,
    ReadPurpose.LISTING: SectionRole.METADATA,
    ReadPurpose.PROBE: SectionRole.UNKNOWN,
}
"""Section role whose colour marks a purpose. Listings and probes read no section; they have colours of other roles."""


BAR = 6
_SWATCH = 16
_SIDE = 6
_FOOT = 3
_LEAST = 2.0
_LIGHT = 0.38


class RequestTable(RowTable):
    def __init__(self, requests: RequestLogModel, parent: QWidget | None = None) -> None:
        super().__init__(requests, parent, "tapeTable", self.tr("Requests"))
        self.requests = requests
        self.setItemDelegate(RequestDelegate(self))
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 8 + BAR)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        for row in visible_rows(self, event.rect()):
            self._paint_bar(painter, row, self.selectionModel().isRowSelected(row))

    def _paint_bar(self, painter: QPainter, row: int, selected: bool) -> None:
        record, colours = self.requests.record(row), theme.of(self)
        left, width = float(_SIDE), float(self.viewport().width() - 2 * _SIDE)
        begin, answer, end = (left + share * width for share in self.requests.bar(row))
        top = self.rowViewportPosition(row) + self.rowHeight(row) - BAR - _FOOT
        if record.cached:
            tick = QRectF(min(begin, left + width - 2), top - 2, 2, BAR + 3)
            painter.fillRect(tick, colours.base if selected else colours.muted)
            return
        end = max(end, begin + _LEAST)
        over = max(end - left - width, 0.0)
        begin, answer, end = begin - over, answer - over, end - over
        strong = colours.base if selected else colours.edge(SECTIONS[record.purpose])
        painter.fillRect(QRectF(begin, top, end - begin, BAR), theme.faint(strong, _LIGHT))
        # Draw even very short transfers.
        first = max(min(answer, end - _LEAST), begin) if record.bytes else end
        painter.fillRect(QRectF(first, top, end - first, BAR), strong)
        if record.error and not is_cancelled(record):
            painter.fillRect(QRectF(end - 3, top - 2, 3, BAR + 3), colours.error)


class RequestDelegate(CellDelegate):
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
            requests: RequestLogModel = index.model()  # type: ignore[assignment]
            section = SECTIONS[requests.record(index.row()).purpose]
            top = option.rect.top() + (option.rect.height() - _SWATCH) // 2
            box = QRectF(option.rect.left() - _SWATCH, top, _SWATCH, _SWATCH)
            paint_swatch(painter, theme.of(self._table), section, box)


POLL_MILLISECONDS = 400

_LOW = 170
"""Height in pixels below which the cost of a full download is hidden."""


class RequestLogPanel(QWidget):
    def __init__(self, session: Session, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._settings = settings
        self.model = RequestLogModel(self)
        self.spent, self.full, self.notes = (
            made(Elided(greedy=True, parent=self), name) for name in ("tapeSpent", "tapeFull", "tapeNotes")
        )
        self.full.setForegroundRole(self.full.palette().ColorRole.PlaceholderText)
        about = self.tr("Include reads that the cache answered (no cost)")
        self.hits = made(QToolButton(self), text=self.tr("Cache"), toolTip=about, checkable=True)
        self.hits.toggled.connect(self.model.show_hits)
        self.prices = made(QToolButton(self), text="$", accessibleName=self.tr("Prices"))
        drop_menu(self.prices, self._price_menu())
        self.table = RequestTable(self.model, self)
        self.table.choose = self._choose
        self.table.menu = lambda row: self.menu_of(self.model.record(row))
        self.setFocusProxy(self.table)
        second = lay(QHBoxLayout(), (self.full, 1), self.hits, self.prices, spacing=4)
        head = lay(QVBoxLayout(), self.spent, second, self.notes, margins=(8, 4, 8, 6), spacing=3)
        lay(QVBoxLayout(self), head, (self.table, 1))
        self._timer = made(QTimer(self), interval=POLL_MILLISECONDS, timeout=self._poll)
        session.notation_changed.connect(self.model.change)
        session.documents.request_log_changed.connect(self._set_request_log)
        session.opened.connect(lambda _: self._known_better())
        session.index.loaded.connect(self._known_better)
        self._set_request_log(session.documents.request_log)

    def _price_menu(self) -> QMenu:
        menu = QMenu(self)
        group = QActionGroup(menu)
        for price in PRICES:
            action = menu.addAction(price.name, partial(self._set_price, price))
            group.addAction(made(action, checkable=True, checked=price is self.price))
        return menu

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
        # The purpose of an earlier request can change.
        if self.model.request_log is not None:
            self.model.set_request_log(self.model.request_log, self._main())
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
        log, model = self.model.request_log, self.model
        if log is None:
            return Totals(0, 0, 0.0)
        trips = int(model.records.rounds.max(initial=0))
        busy, listings = model.schedule.busy, model.listings
        return Totals(log.requests, log.bytes, busy, listings, log.files, log.full_size, trips, log.hits)

    def _show_totals(self) -> None:
        totals = self.totals
        self.spent.setText(totals.spent(self.price).replace(" · about", "\nabout"))
        self.full.set_text(self.tr("Full download: {0}").format(totals.download(self.price)) if totals.full else "")
        self.prices.setToolTip(self.tr("Prices: {0}").format(self.price.name))
        self._show_notes()

    def _show_notes(self) -> None:
        notes = self.model.request_log.notes if self.model.request_log is not None else ()
        self.notes.set_text(notes[-1] if notes else "")
        self.notes.setToolTip("\n".join(notes))
        self.notes.setVisible(bool(notes))

    # --- selection ---

    def _choose(self, row: int) -> None:
        if (span := self.span_of(self.model.record(row))) is not None:
            self._session.select_span(span, self)

    def span_of(self, record: Request) -> Span | None:
        """Return the bytes that a request fetched; None if it fetched none, or none of the open shard."""
        shard = self._session.shard
        if shard is None or record.start is None or record.stop is None or not record.bytes:
            return None
        name = source_name(shard, record.address)
        return None if name is None else Span(name, record.start, record.start + record.bytes)

    def menu_of(self, record: Request) -> QMenu:
        span, log = self.span_of(record), self.model.request_log
        span_text = f"{record.start}..{record.stop}"
        entries = [
            span is not None and (self.tr("&Select bytes"), lambda: self._session.select_span(span, self)),
            None,
            (self.tr("Copy &address"), lambda: copy_text(record.address)),
            record.start is not None and (self.tr("Copy &range"), lambda: copy_text(span_text)),
            log is not None and (self.tr("Copy the log as &JSON lines"), lambda: copy_lines(log.lines())),
        ]
        return context_menu(self, entries, "requests", self._session.say)

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


def source_name(shard: Shard, address: str) -> str | None:
    """Return the name of the source of the open shard that has this address; None if no source has it."""
    source = shard.source
    if source is not None and source.uri == address:
        return ""
    folder = source.folder if source is not None else getattr(shard, "folder", None)
    if folder is None or not address.startswith(folder.uri) or address.endswith("/"):
        return None
    return str(SourceName(address[len(folder.uri) :].lstrip("/")))
