"""Table model of the objects: jobs read pages of rows; order and filter are a NumPy array of row numbers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QFont

from shardcore import DataSet, ObjectColumns, Objects, Shard, State
from shardcore.model.text import grouped_digits, shown
from shardscope.session.display_text import offset_words
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.row_ranges import RowRanges
from shardscope.session.session import Session
from shardscope.widgets.plain_text import tip

PAGE = 32
"""Number of rows loaded by one job; small, since the size of a remote row may cost a request."""

PAGES = 512
"""Maximum number of cached pages."""

MAX_WAITING = 6
"""Maximum number of pending pages; older ones are cancelled, since they left the screen."""

MANY_PLACES = 200_000
"""Number of rows above which `place_of` is too slow for the GUI thread."""

ROW_ROLE = int(Qt.ItemDataRole.UserRole)
"""Item role of the row number in `Shard.objects`."""

KEY_ROLE = ROW_ROLE + 1
"""Item role of the key as text, or None."""

STATE_ROLE = ROW_ROLE + 2
"""Item role of the `State`; None while it is unknown."""

Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class ObjectColumn:
    name: str
    title: str
    doc: str
    order: str
    number: bool = True


_COLUMNS = (
    ObjectColumn("row", "Row", "Row number: slot, entry or chunk.", "slot"),
    ObjectColumn("key", "Key", "Key of the object.", "key", number=False),
    ObjectColumn("kind", "Kind", "Kind of object.", "kind", number=False),
    ObjectColumn("state", "State", "live, unused, deleted, external, tombstoned or damaged.", "state", number=False),
    ObjectColumn("size", "Size", "Size of the decoded content in bytes.", "size"),
    ObjectColumn("stored", "Stored", "Stored size of the content in bytes.", "stored"),
    ObjectColumn("start", "Offset", "Offset of the stored content.", "offset"),
    ObjectColumn("codec", "Codec", "Codec of the stored content.", "codec", number=False),
    ObjectColumn("shard", "Shard", "Shard of the data set that contains the object.", "shard", number=False),
)


@dataclass(frozen=True)
class RowPage:
    columns: ObjectColumns
    keys: list[str | None]

    @classmethod
    def read(cls, objects: Objects, rows: NDArray[np.int64]) -> RowPage:
        return cls(*objects.page(rows, sizes=True))

    def value(self, shard: Shard, at: int, name: str) -> str | int | None:
        columns, objects = self.columns, shard.objects
        match name:
            case "key":
                return self.keys[at]
            case "kind":
                return objects.kinds[int(columns.kind[at])]
            case "state":
                return State(int(columns.state[at])).name.lower()
            case "codec":
                return objects.codecs[int(columns.codec[at])] if int(columns.state[at]) != State.UNUSED else None
            case "shard":
                assert isinstance(shard, DataSet)
                return shard.members[int(columns.shard[at])].name
        value = int({"size": columns.size, "stored": columns.stored_size, "start": columns.start}[name][at])
        return value if value >= 0 else None


class ObjectModel(QAbstractTableModel):
    """Rows of `Shard.objects`, all or those set by `set_rows`.

    Qt counts rows and pixels in 32 bits, so one block of at most `set_most` rows is shown at a time.
    A *place* is an index into the shown order over all blocks, a *row* one into `Shard.objects`.
    """

    page_failed = Signal(object)
    blocks_changed = Signal()

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._shard: Shard | None = None
        self._objects: Objects | None = None
        self._rows: NDArray[np.integer] | None = None
        self._count = 0
        self._first = 0
        self._most = 1 << 24
        self._round = 0
        self._pages: OrderedDict[int, RowPage] = OrderedDict()
        self._asked: OrderedDict[int, Job] = OrderedDict()
        self._failed: set[int] = set()
        self.columns: tuple[ObjectColumn, ...] = _COLUMNS
        self.largest = 0
        self.requests = 0
        session.notation_changed.connect(self._write_again)

    def _write_again(self) -> None:
        self.layoutAboutToBeChanged.emit()
        self.layoutChanged.emit()

    # --- what is shown ---

    def load(self) -> None:
        self._shard = self._session.shard
        self._objects = self._session.listing
        kinds = self._objects.kinds if self._objects is not None else ()
        hidden = set() if len(kinds) > 1 else {"kind"}
        if not isinstance(self._shard, DataSet):
            hidden.add("shard")
        self.columns = tuple(column for column in _COLUMNS if column.name not in hidden)
        self.set_rows(None)

    def set_rows(self, rows: NDArray[np.integer] | None) -> None:
        """Show these rows in this order; None shows all in the order of the format."""
        self.beginResetModel()
        self._forget()
        self._rows = rows
        self._count = len(rows) if rows is not None else len(self._objects) if self._objects is not None else 0
        self._first = 0
        self.endResetModel()
        self.blocks_changed.emit()

    @property
    def listed(self) -> bool:
        return self._objects is not None

    @property
    def total(self) -> int:
        return self._count

    @property
    def block(self) -> tuple[int, int]:
        """Half-open range of places (indices into the shown order) of the current block."""
        return self._first, min(self._first + self._most, self._count)

    def set_most(self, rows: int) -> None:
        before, number = self.block, self._first // self._most
        self._most = max(rows, 1)
        if self.block != before:
            self.set_block(number)

    def set_block(self, number: int) -> None:
        self.beginResetModel()
        self._forget()
        self._first = min(max(number, 0) * self._most, max(self._count - 1, 0) // self._most * self._most)
        self.endResetModel()
        self.blocks_changed.emit()

    def _forget(self) -> None:
        self._round += 1
        for job in self._asked.values():
            job.cancel()
        self._asked.clear()
        self._pages.clear()
        self._failed.clear()

    @property
    def scattered(self) -> bool:
        """True if `place_of` is too slow for the GUI thread and needs a job."""
        return self._rows is not None and len(self._rows) > MANY_PLACES

    def place_of(self, row: int) -> int | None:
        """Return the index of a row in the shown order; None if it is not shown. O(n) after `set_rows`."""
        if self._rows is None:
            return row if 0 <= row < self._count else None
        return place_in(self._rows, row)

    @property
    def order(self) -> NDArray[np.integer] | None:
        return self._rows

    def show_place(self, place: int) -> QModelIndex:
        if not self._first <= place < self.block[1]:
            self.set_block(place // self._most)
        return self.index(place - self._first, 0)

    def row_of(self, index: Index) -> int:
        place = self._first + index.row()
        return place if self._rows is None else int(self._rows[place])

    def ranges_of(self, places: Iterable[range]) -> RowRanges:
        """Return the rows at ranges of places (indices into the shown order) of the current block."""
        first = self._first
        return RowRanges.of((range(part.start + first, part.stop + first) for part in places), self._rows)

    def key_of(self, index: Index) -> str | None:
        page = self._page(index)
        return None if page is None else page.keys[(self._first + index.row()) % PAGE]

    def loaded_keys(self) -> Iterator[str]:
        """Yield the keys of loaded pages, most recently used first; reads nothing."""
        for page in reversed(self._pages.values()):
            yield from (key for key in page.keys if key is not None)

    # --- fetching ---

    def _page(self, index: Index) -> RowPage | None:
        number = (self._first + index.row()) // PAGE
        page = self._pages.get(number)
        if page is not None:
            self._pages.move_to_end(number)
        elif number not in self._asked and number not in self._failed:
            self._ask(number)
        return page

    def _ask(self, number: int) -> None:
        objects, current = self._objects, self._round
        if objects is None:
            return
        start, stop = number * PAGE, min((number + 1) * PAGE, self._count)
        rows = np.arange(start, stop, dtype=np.int64) if self._rows is None else self._rows[start:stop].astype(np.int64)

        def work(shard: Shard, job: Job) -> RowPage:
            return RowPage.read(objects, rows)

        def take(page: RowPage) -> None:
            if current == self._round:
                self._pages[number] = page
                while len(self._pages) > PAGES:
                    self._pages.popitem(last=False)
                ended()

        def failed(error: BaseException) -> None:
            if current == self._round:
                self._failed.add(number)
                self.page_failed.emit(error_text(error))
                ended()

        def stopped() -> None:
            if current == self._round:
                self._asked.pop(number, None)

        def ended() -> None:
            self._asked.pop(number, None)
            self.dataChanged.emit(
                self.index(max(start - self._first, 0), 0),
                self.index(min(stop, self.block[1]) - 1 - self._first, len(self.columns) - 1),
            )

        self.requests += 1
        job = self._session.ask(work, take, failed=failed, stopped=stopped, priority=JobPriority.SCREEN)
        if job is not None:
            self._asked[number] = job
        while len(self._asked) > MAX_WAITING:
            self._asked.popitem(last=False)[1].cancel()

    # --- what Qt asks ---

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        first, last = self.block
        return 0 if parent.isValid() else max(last - first, 0)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        column = self.columns[section]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.title
            case Qt.ItemDataRole.ToolTipRole:
                return f"{column.doc} Click to sort."
            case Qt.ItemDataRole.TextAlignmentRole:
                return int(_alignment(column))
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        column = self.columns[index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.ToolTipRole:
                text = self._text(index, column)
                if role == Qt.ItemDataRole.DisplayRole:
                    return text
                return tip(text) if column.name == "key" else None
            case Qt.ItemDataRole.TextAlignmentRole:
                return int(_alignment(column))
            case Qt.ItemDataRole.FontRole:
                return self._font(index)
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{column.title}: {self._text(index, column)}"
        if role == ROW_ROLE:
            return self.row_of(index)
        if role == KEY_ROLE:
            return self.key_of(index)
        return self._state(index) if role == STATE_ROLE else None

    def row_texts(self, place: int) -> tuple[list[str], State | None]:
        index = self.index(place, 0)
        return [self._text(index, column) for column in self.columns], self._state(index)

    def share_of(self, place: int) -> float:
        """Return the size of a row as a fraction of `largest`; 0 while either is unknown."""
        page = self._page(self.index(place, 0)) if self.largest > 0 else None
        return 0.0 if page is None else int(page.columns.size[(self._first + place) % PAGE]) / self.largest

    def _state(self, index: Index) -> State | None:
        page = self._page(index)
        return None if page is None else State(int(page.columns.state[(self._first + index.row()) % PAGE]))

    def _font(self, index: Index) -> QFont | None:
        font = QFont()
        if self._state(index) in (State.DELETED, State.TOMBSTONED):
            font.setStrikeOut(True)
            return font
        return None

    def _text(self, index: Index, column: ObjectColumn) -> str:
        if column.name == "row":
            return f"{self.row_of(index):,}"
        page = self._page(index)
        if page is None or self._shard is None:
            failed = (self._first + index.row()) // PAGE in self._failed
            return "not readable" if failed and column.name == "key" else "…"
        value = page.value(self._shard, (self._first + index.row()) % PAGE, column.name)
        if value is None or value == "":
            return "—"
        number = offset_words if column.name == "start" else grouped_digits
        return number(value) if isinstance(value, int) else shown(value)


def place_in(order: NDArray[np.integer], row: int) -> int | None:
    found = np.flatnonzero(order == row)
    return int(found[0]) if len(found) else None


def _alignment(column: ObjectColumn) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column.number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
