"""List model of things to open: shards of a data set, files of a folder, recent files, samples."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, overload

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from shardcore import Member
from shardcore.model.text import plural, shown
from shardscope.widgets.plain_text import tip

Index = QModelIndex | QPersistentModelIndex

_ROOT = QModelIndex()

DETAIL_ROLE = int(Qt.ItemDataRole.UserRole)
PROBLEM_ROLE = DETAIL_ROLE + 1
HERE_ROLE = DETAIL_ROLE + 2
LEVEL_ROLE = DETAIL_ROLE + 3


@dataclass(frozen=True, slots=True)
class PlaceEntry:
    """Entry of the list; `where` is the name of a shard or the request to open, `size` is -1 if unknown."""

    where: str
    title: str
    detail: str = ""
    size: int = -1
    level: int = 0


class MemberPlaces(Sequence[PlaceEntry]):
    """Entries for the shards of a data set, created on access; the shards must be sorted by name."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members

    def __len__(self) -> int:
        return len(self._members)

    @overload
    def __getitem__(self, number: int) -> PlaceEntry: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[PlaceEntry]: ...
    def __getitem__(self, number: int | slice) -> PlaceEntry | Sequence[PlaceEntry]:
        if isinstance(number, slice):
            return MemberPlaces(self._members[number])
        member = self._members[number]
        return PlaceEntry(member.name, member.name, size=member.size)

    def number_of(self, where: str) -> int | None:
        number = bisect_left(self._members, where, key=attrgetter("name"))
        return number if number < len(self) and self._members[number].name == where else None


class PlaceModel(QAbstractListModel):
    """List of things to open; `count_of` and `problem_of` are called while painting and must be fast."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.places: Sequence[PlaceEntry] = ()
        self.count_of: Callable[[str], int | None] = lambda _: None
        self.problem_of: Callable[[str], str] = lambda _: ""
        self._shown: Sequence[int] = ()
        self._text = ""
        self.here = ""

    def fill(self, places: Sequence[PlaceEntry], text: str = "") -> None:
        self.beginResetModel()
        self.places, self._text = places, text.casefold()
        self._shown = self._filtered()
        self.endResetModel()

    def added(self, count: int) -> None:
        """Show `count` entries that were appended to `places`."""
        first = len(self.places) - count
        new = [n for n in range(first, first + count) if self._text in self.places[n].title.casefold()]
        if new:
            before = len(self._shown)
            self.beginInsertRows(QModelIndex(), before, before + len(new) - 1)
            self._shown = range(len(self.places)) if not self._text else [*self._shown, *new]
            self.endInsertRows()

    def set_filter(self, text: str) -> None:
        if text.casefold() != self._text:
            self.fill(self.places, text)

    def _filtered(self) -> Sequence[int]:
        if not self._text:
            return range(len(self.places))
        return [n for n, place in enumerate(self.places) if self._text in place.title.casefold()]

    def set_here(self, where: str) -> None:
        if where != self.here:
            self.here = where
            self.refresh()

    def refresh(self) -> None:
        if self._shown:
            self.dataChanged.emit(self.index(0), self.index(len(self._shown) - 1))

    def place(self, index: Index) -> PlaceEntry:
        return self.places[self._shown[index.row()]]

    def row_of(self, where: str) -> int | None:
        if isinstance(self.places, MemberPlaces):
            number = self.places.number_of(where)
            row = bisect_left(self._shown, number) if number is not None else len(self._shown)
            return row if row < len(self._shown) and self._shown[row] == number else None
        return next((row for row, n in enumerate(self._shown) if self.places[n].where == where), None)

    def rowCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        place = self.place(index)
        if role == Qt.ItemDataRole.DisplayRole:
            return shown(place.title)
        if role == DETAIL_ROLE:
            return shown(self._detail(place))
        if role == PROBLEM_ROLE:
            return shown(self.problem_of(place.where))
        if role == HERE_ROLE:
            return place.where == self.here
        if role == LEVEL_ROLE:
            return place.level
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleDescriptionRole):
            parts = [place.where, self._detail(place), self.problem_of(place.where)]
            return tip("\n".join(part for part in parts if part))
        return None

    def _detail(self, place: PlaceEntry) -> str:
        count = self.count_of(place.where)
        parts = [place.detail]
        if place.size >= 0:
            parts.append(plural(place.size, "byte"))
        if count is not None:
            parts.append(plural(count, "object"))
        return "  ·  ".join(part for part in parts if part)
