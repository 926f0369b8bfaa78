"""Table models of the comparison: objects, header fields, shards of data sets."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QFont

from shardcore import DiffKind, MemberDiff
from shardcore.model.record import Value
from shardcore.operations.diff_columns import KINDS
from shardscope.session.display_text import offset_words
from shardscope.session.jobs import Job
from shardscope.views.diff.diff_jobs import ComparedPair, ShardPair
from shardscope.widgets.table_model import Index, TableModel

I64 = NDArray[np.int64]

PAGE = 256
"""Number of rows whose keys are loaded by one job."""

MOST_PAGES = 64

SIGNS = {
    DiffKind.EQUAL: "=",
    DiffKind.MOVED: "↕",
    DiffKind.CHANGED: "≠",
    DiffKind.ADDED: "+",
    DiffKind.REMOVED: "−",
    DiffKind.RENAMED: "→",
    DiffKind.UNREAD: "?",
}


class DiffColumn(IntEnum):
    CHANGE = 0
    KEY = 1
    FIRST_SIZE = 2
    SECOND_SIZE = 3
    FIRST_OFFSET = 4
    SECOND_OFFSET = 5


class DiffObjectModel(TableModel):
    """Objects of a comparison; `wanted` requests the keys of a page and carries its number and objects."""

    titles = ("Change", "Key", "Size left", "Size right", "Offset left", "Offset right")
    numbers = frozenset({2, 3, 4, 5})
    things: I64 = np.zeros(0, np.int64)

    wanted = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.compared: ComparedPair | None = None
        self._keys: OrderedDict[int, list[str]] = OrderedDict()
        self._asked: set[int] = set()

    def show_compared(self, compared: ComparedPair | None, numbers: I64) -> None:
        self.compared = compared
        self._keys.clear()
        self._asked.clear()
        self.show_things(numbers)  # type: ignore[arg-type]

    def take_keys(self, numbers: I64, page: int, keys: list[str]) -> None:
        """Store the keys of a page, unless other objects are shown meanwhile."""
        self._asked.discard(page)
        if self.things[page * PAGE : (page + 1) * PAGE].tolist() != numbers.tolist():
            return
        self._keys[page] = keys
        while len(self._keys) > MOST_PAGES:
            self._keys.popitem(last=False)
        self.change(page * PAGE, min((page + 1) * PAGE, len(self.things)) - 1, DiffColumn.KEY)

    def text(self, row: int, column: int) -> str:
        number, compared = int(self.things[row]), self.compared
        assert compared is not None
        if column == DiffColumn.CHANGE:
            kind = KINDS[compared.found.kinds[number]]
            return f"{SIGNS[kind]} {self.tr(kind.value)}"
        if column == DiffColumn.KEY:
            return self._key(row)
        side, shift = (column - 2) % 2, column >= DiffColumn.FIRST_OFFSET
        columns = compared.columns[side]
        value = int((columns.start if shift else columns.size)[number])
        return "–" if value < 0 else offset_words(value) if shift else f"{value:,}"

    def tip(self, row: int, column: int) -> str:
        compared = self.compared
        why = compared.found.unread.get(int(self.things[row]), "") if compared is not None else ""
        return "\n".join(part for part in (self.text(row, column), why) if part)

    def _key(self, row: int) -> str:
        page = row // PAGE
        if page in self._keys:
            return self._keys[page][row % PAGE]
        if page not in self._asked:
            self._asked.add(page)
            self.wanted.emit(page, self.things[page * PAGE : (page + 1) * PAGE])
        return "…"


def keys_of(compared: ComparedPair, numbers: I64, pair: ShardPair, _: Job) -> list[str]:
    """Return the keys of objects, `old → new` where they differ. Runs in a job."""
    sides: list[list[str]] = []
    for shard, rows in ((pair.first, compared.found.first[numbers]), (pair.second, compared.found.second[numbers])):
        texts = [""] * len(rows)
        there = np.flatnonzero(rows >= 0)
        for place, text in zip(there.tolist(), shard.objects.key_texts(rows[there]), strict=True):
            texts[place] = text or "–"
        sides.append(texts)
    return [f"{a} → {b}" if a and b and a != b else a or b for a, b in zip(*sides, strict=True)]


def sorted_numbers(compared: ComparedPair, numbers: I64, column: int, down: bool, pair: ShardPair, job: Job) -> I64:
    """Return object numbers sorted by a column. Runs in a job; the key column reads all keys."""
    if column == DiffColumn.KEY:
        texts: list[str] = []
        for at in range(0, len(numbers), 1 << 14):
            job.check()
            texts += keys_of(compared, numbers[at : at + (1 << 14)], pair, job)
        order = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
    elif column == DiffColumn.CHANGE:
        order = np.argsort(compared.found.kinds[numbers], kind="stable")
    else:
        columns = compared.columns[(column - 2) % 2]
        values = columns.start if column >= DiffColumn.FIRST_OFFSET else columns.size
        order = np.argsort(values[numbers], kind="stable")
    return numbers[order[::-1] if down else order]


class DiffFieldModel(TableModel):
    titles = ("", "Field", "Left", "Right")
    things: tuple[tuple[str, Value | None, Value | None], ...] = ()

    def text(self, row: int, column: int) -> str:
        name, first, second = self.things[row]
        return ("≠" if first != second else "=", name, value_text(first), value_text(second))[column]

    def spoken(self, row: int, column: int) -> str | None:
        _, first, second = self.things[row]
        return (self.tr("different") if first != second else self.tr("equal")) if column == 0 else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.FontRole and index.isValid():
            _, first, second = self.things[index.row()]
            font = QFont()
            font.setBold(first != second)
            return font
        return super().data(index, role)


class DiffMemberModel(TableModel):
    titles = ("Change", "Shard", "Bytes left", "Bytes right", "Objects")
    numbers = frozenset({2, 3})
    things: Sequence[MemberDiff] = ()

    def text(self, row: int, column: int) -> str:
        member = self.things[row]
        counts = ", ".join(f"{count:,} {kind.value}" for kind, count in member.counts.items() if count)
        sizes = [f"{size:,}" if size is not None else "–" for size in (member.first, member.second)]
        return (f"{SIGNS[member.change]} {member.change.value}", member.name, *sizes, member.why or counts)[column]


def value_text(value: Value | None) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return str(value).lower()
        case int():
            return f"{value:,}"
        case bytes():
            return value.hex(" ")
    return str(value)
