"""Columns of the object table, and its model: jobs read pages of rows; order and filter are an array of row numbers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt, Signal

from shardcore import DataSet, ObjectColumns, Objects, Shard, State
from shardcore.dataclasses import dataclass
from shardcore.model.text import shown
from shardscope.session.display_text import error_text, numbers
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.object_filter import STATES
from shardscope.session.object_rows import RowRanges
from shardscope.session.session import Session
from shardscope.widgets.plain_text import tip
from shardscope.widgets.table import LEFT, RIGHT, Index

Values = Sequence[str | int | None]


@dataclass(frozen=True)
class RowPage:
    shard: Shard
    objects: Objects
    columns: ObjectColumns
    keys: list[str | None]

    @classmethod
    def read(cls, shard: Shard, objects: Objects, rows: NDArray[np.int64]) -> RowPage:
        return cls(shard, objects, *objects.page(rows, sizes=True))


def _from(name: str) -> Callable[[RowPage], Values]:
    return lambda page: getattr(page.columns, name).tolist()


def _kinds(page: RowPage) -> Values:
    return [page.objects.kinds[kind] for kind in page.columns.kind.tolist()]


def _states(page: RowPage) -> Values:
    return [STATES[state] for state in page.columns.state.tolist()]


def _codecs(page: RowPage) -> Values:
    names, columns = page.objects.codecs, page.columns
    pairs = zip(columns.codec.tolist(), columns.state.tolist(), strict=True)
    return [names[codec] if state != State.UNUSED else None for codec, state in pairs]


def _members(page: RowPage) -> Values:
    assert isinstance(page.shard, DataSet)
    return [page.shard.members[number].name for number in page.columns.shard.tolist()]


@dataclass(frozen=True, slots=True)
class ObjectColumn:
    """Column of the object table.

    Attributes:
        order: Name of the order in `object_rows` that sorts by this column.
        values: Function that returns the values of a page of rows; negative numbers stand for unknown ones.
        offset: Whether the values are offsets, which are shown in the notation chosen by the user.
        stretched: Whether the column takes the remaining width.
    """

    name: str
    title: str
    doc: str
    order: str
    values: Callable[[RowPage], Values]
    number: bool = True
    offset: bool = False
    muted: bool = False
    stretched: bool = False

    @property
    def alignment(self) -> int:
        return int(RIGHT if self.number else LEFT)

    def known(self, page: RowPage) -> Values:
        """Return the values of a page; None where a number is unknown."""
        values: Any = self.values(page)
        return [value if value >= 0 else None for value in values] if self.number else values

    def texts(self, page: RowPage) -> list[str]:
        values: Any = self.values(page)
        if self.offset:
            # All at once: each text alone would be searched for offsets.
            return numbers("\n".join([f"{value:#x}" if value >= 0 else "—" for value in values])).split("\n")
        if self.number:
            return [f"{value:,}" if value >= 0 else "—" for value in values]
        return [(text if len(text) < 200 and text.isprintable() else shown(text)) if text else "—" for text in values]


COLUMNS = (
    ObjectColumn("row", "Row", "Row number: slot, entry or chunk.", "slot", _from("row"), muted=True),
    ObjectColumn("key", "Key", "Key of the object.", "key", lambda page: page.keys, number=False, stretched=True),
    ObjectColumn("kind", "Kind", "Kind of object.", "kind", _kinds, number=False),
    ObjectColumn(
        "state", "State", "live, unused, deleted, external, tombstoned or damaged.", "state", _states, number=False
    ),
    ObjectColumn("size", "Size", "Size of the decoded content in bytes.", "size", _from("size")),
    ObjectColumn(
        "stored", "Stored", "Stored size of the content in bytes.", "stored", _from("stored_size"), muted=True
    ),
    ObjectColumn("start", "Offset", "Offset of the stored content.", "offset", _from("start"), offset=True),
    ObjectColumn("codec", "Codec", "Codec of the stored content.", "codec", _codecs, number=False, muted=True),
    ObjectColumn("shard", "Shard", "Shard of the data set that contains the object.", "shard", _members, number=False),
)


class RowTexts(NamedTuple):
    """One row as it is shown; the state is None and the size -1 while the row is not loaded."""

    texts: Sequence[str]
    state: State | None
    size: int


class LoadedPage:
    def __init__(self, rows: RowPage, columns: Sequence[ObjectColumn]) -> None:
        self.rows = rows
        self.write(columns)

    def write(self, columns: Sequence[ObjectColumn]) -> None:
        texts = [column.texts(self.rows) for column in columns]
        states = [State(state) for state in self.rows.columns.state.tolist()]
        if State.DAMAGED in states:
            at = next(number for number, column in enumerate(columns) if column.name == "state")
            pairs = zip(texts[at], states, strict=True)
            texts[at] = [f"✖ {text}" if state is State.DAMAGED else text for text, state in pairs]
        rows = zip(zip(*texts, strict=True), states, self.rows.columns.size.tolist(), strict=True)
        self.texts = [RowTexts._make(row) for row in rows]


PAGE = 32
"""Number of rows loaded by one job; small, since reading the size of a remote object may cost a request."""

MOST_CACHED_PAGES = 512

MAX_WAITING = 6
"""Maximum number of pages being loaded; older ones have left the screen, so their jobs are cancelled."""

MANY_PLACES = 200_000

_TEXT_ROLES = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole)

STRUCK = (State.DELETED, State.TOMBSTONED)


class ObjectModel(QAbstractTableModel):
    """Model of the object table: all rows of `Shard.objects`, or those set by `set_rows`.

    Qt counts rows and pixels in 32 bits, so one block of at most `set_most` rows is shown at a time.
    A *place* is an index into the shown order over all blocks, a *row* one into `Shard.objects`.
    """

    page_loaded = Signal(object)
    page_failed = Signal(object)
    blocks_changed = Signal()

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._objects: Objects | None = None
        self.order: NDArray[np.integer] | None = None
        self.total = 0
        self._first = 0
        self._most = 1 << 24
        self._round = 0
        self._pages: OrderedDict[int, LoadedPage] = OrderedDict()
        self._asked: OrderedDict[int, Job] = OrderedDict()
        self._failed: set[int] = set()
        self.columns: Sequence[ObjectColumn] = COLUMNS
        self.largest = 0
        self.requests = 0
        session.notation_changed.connect(self._write_again)

    def _write_again(self) -> None:
        self.layoutAboutToBeChanged.emit()
        for page in self._pages.values():
            page.write(self.columns)
        self.layoutChanged.emit()

    # --- what is shown ---

    def load(self) -> None:
        self._objects = self._session.listing
        has = {
            "kind": self._objects is not None and len(self._objects.kinds) > 1,
            "shard": isinstance(self._session.shard, DataSet),
        }
        self.columns = tuple(column for column in COLUMNS if has.get(column.name, True))
        self.set_rows(None)

    @property
    def listed(self) -> bool:
        return self._objects is not None

    @property
    def block(self) -> tuple[int, int]:
        """Half-open range of places (indices into the shown order) of the current block."""
        return self._first, min(self._first + self._most, self.total)

    @property
    def block_number(self) -> int:
        return self._first // self._most

    def set_most(self, rows: int) -> None:
        before, number = self.block, self.block_number
        self._most = max(rows, 1)
        if self.block != before:
            self.set_block(number)

    def set_block(self, number: int) -> None:
        self.set_rows(self.order, number)

    def set_rows(self, rows: NDArray[np.integer] | None, block: int = 0) -> None:
        """Show block number `block` of these rows, in this order; None for all rows in the order of the format."""
        self.beginResetModel()
        self._round += 1
        for job in self._asked.values():
            job.cancel()
        self._asked.clear()
        self._pages.clear()
        self._failed.clear()
        self.order = rows
        self.total = len(rows) if rows is not None else len(self._objects) if self._objects is not None else 0
        self._first = min(max(block, 0) * self._most, max(self.total - 1, 0) // self._most * self._most)
        self.endResetModel()
        self.blocks_changed.emit()

    @property
    def scattered(self) -> bool:
        """True if `place_of` is too slow for the GUI thread and needs a job."""
        return self.order is not None and len(self.order) > MANY_PLACES

    def place_of(self, row: int) -> int | None:
        """Return the index of a row in the shown order; None if it is not shown. Takes O(n) after `set_rows`."""
        if self.order is None:
            return row if 0 <= row < self.total else None
        return place_in(self.order, row)

    def show_place(self, place: int) -> QModelIndex:
        if not self._first <= place < self.block[1]:
            self.set_block(place // self._most)
        return self.index(place - self._first, 0)

    def row_of(self, index: Index) -> int:
        return self._row_at(index.row())

    def _row_at(self, at: int) -> int:
        place = self._first + at
        return place if self.order is None else int(self.order[place])

    def ranges_of(self, places: Iterable[range]) -> RowRanges:
        """Return the rows at ranges of places (indices into the shown order) of the current block."""
        first = self._first
        return RowRanges.of((range(part.start + first, part.stop + first) for part in places), self.order)

    def key_of(self, index: Index) -> str | None:
        page = self._page(index.row())
        return None if page is None else page.rows.keys[(self._first + index.row()) % PAGE]

    @property
    def pages(self) -> Iterable[LoadedPage]:
        return self._pages.values()

    def loaded_keys(self) -> Iterator[str]:
        """Yield the keys of loaded pages, most recently used first; reads nothing."""
        for page in reversed(self._pages.values()):
            yield from (key for key in page.rows.keys if key is not None)

    # --- fetching ---

    def _page(self, at: int) -> LoadedPage | None:
        """Return the page that contains row `at` of the block; None while a job reads it."""
        number = (self._first + at) // PAGE
        page = self._pages.get(number)
        if page is not None:
            self._pages.move_to_end(number)
        elif number not in self._asked and number not in self._failed and self._objects is not None:
            self._ask(number, self._objects)
        return page

    def _ask(self, number: int, objects: Objects) -> None:
        current, start, stop = self._round, number * PAGE, min((number + 1) * PAGE, self.total)
        rows = np.arange(start, stop) if self.order is None else self.order[start:stop].astype(np.int64)

        def ended() -> None:
            self._asked.pop(number, None)
            first, last = max(start - self._first, 0), min(stop, self.block[1]) - 1 - self._first
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(self.columns) - 1))

        def take(rows: RowPage) -> None:
            if current == self._round:
                page = self._pages[number] = LoadedPage(rows, self.columns)
                while len(self._pages) > MOST_CACHED_PAGES:
                    self._pages.popitem(last=False)
                self.page_loaded.emit(page)
                ended()

        def failed(error: BaseException) -> None:
            if current == self._round:
                self._failed.add(number)
                self.page_failed.emit(error_text(error))
                ended()

        def stopped() -> None:
            if current == self._round:
                self._asked.pop(number, None)

        self.requests += 1
        job = self._session.ask(
            lambda shard, _: RowPage.read(shard, objects, rows),
            take,
            failed=failed,
            stopped=stopped,
            priority=JobPriority.SCREEN,
        )
        if job is not None:
            self._asked[number] = job
        while len(self._asked) > MAX_WAITING:
            self._asked.popitem(last=False)[1].cancel()

    def row_texts(self, at: int) -> RowTexts:
        page = self._page(at)
        place = self._first + at
        if page is not None:
            return page.texts[place % PAGE]
        key = "not readable" if place // PAGE in self._failed else "…"
        known = {"row": f"{self._row_at(at):,}", "key": key}
        return RowTexts([known.get(column.name, "…") for column in self.columns], None, -1)

    # --- overrides of Qt ---

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else max(min(self._most, self.total - self._first), 0)

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
                return column.alignment
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or role not in _TEXT_ROLES:
            return None
        column, text = self.columns[index.column()], self.row_texts(index.row()).texts[index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return text
            case Qt.ItemDataRole.ToolTipRole if column.name == "key":
                return tip(text)
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{column.title}: {text}"
        return None


def place_in(order: NDArray[np.integer], row: int) -> int | None:
    found = np.flatnonzero(order == row)
    return int(found[0]) if len(found) else None
