"""Bytes per row: automatic, a fixed number, or the size of the record at the caret; with their menu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QInputDialog, QMenu

from shardcore import Node
from shardcore.model.details import record_size
from shardscope.session.display_text import cut_middle
from shardscope.views.hex.grid import AUTOMATIC
from shardscope.views.hex.hex_state import HexState
from shardscope.views.hex.layout import MAX_WIDTH

DEFAULT = 16
"""Bytes per row by default; fewer if they do not fit."""


class RowMode(Enum):
    AUTO = "auto"
    FIXED = "fixed"
    RECORD = "record"


@dataclass(frozen=True)
class RowWidth:
    mode: RowMode
    width: int = DEFAULT

    @property
    def text(self) -> str:
        return f"{self.width} bytes" if self.mode is RowMode.FIXED else self.mode.value.capitalize()


CHOICES = (RowWidth(RowMode.AUTO), *(RowWidth(RowMode.FIXED, width) for width in (8, 16, 24, 32)))
"""Numbers of bytes per row in the menu, besides *record* and *other*."""


def record_of(path: Sequence[Node], source: str) -> tuple[int, int] | None:
    """Return `(size, start)` of the smallest node on a path that has children and fits a row; None if there is none."""
    for node in reversed(path[1:]):
        if node.span.source == source and 2 <= node.span.size <= MAX_WIDTH and node.expandable and node.bits is None:
            return node.span.size, node.span.start
    return None


def table_record_of(path: Sequence[Node], source: str) -> tuple[int, str] | None:
    """Return `(size, name)` of the table record on a path, such as `(40, "slot")`; None outside tables."""
    for table, row in zip(path[-2::-1], path[:0:-1], strict=False):
        size = record_size(table)
        if size is not None and row.span.source == source and 2 <= size <= MAX_WIDTH:
            return size, _kind_of(row.name) or "record"
    return None


def _kind_of(name: str) -> str:
    return name.strip("[]").rstrip("0123456789.,").rstrip()


_LONGEST = 16


class RowChoice(QObject):
    def __init__(self, state: HexState) -> None:
        super().__init__(state)
        self._state = state
        self._path: Sequence[Node] = ()
        self.width = RowWidth(RowMode.AUTO)

    def choose(self, width: RowWidth) -> None:
        self.width = width
        if width.mode is RowMode.FIXED:
            self._state.set_row_width(width.width)
        elif width.mode is RowMode.AUTO:
            self._state.set_row_rule(AUTOMATIC)
        else:
            self._apply()

    def fill(self, menu: QMenu) -> None:
        rows = menu.addMenu(self.tr("Bytes per &row: {0}").format(self.width.text))
        for width in dict.fromkeys((*CHOICES, RowWidth(RowMode.RECORD), self.width)):
            text = self._record if width.mode is RowMode.RECORD else width.text
            action = rows.addAction(text, partial(self.choose, width))
            action.setCheckable(True)
            action.setChecked(width == self.width)
        rows.addAction(self.tr("&Other…"), self.ask)

    def ask(self) -> QInputDialog:
        dialog = QInputDialog(self._state.area)
        dialog.setObjectName("rowWidth")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setInputMode(QInputDialog.InputMode.IntInput)
        dialog.setIntRange(1, MAX_WIDTH)
        dialog.setIntValue(self._state.layout.width)
        dialog.setWindowTitle(self.tr("Bytes per row"))
        dialog.setLabelText(self.tr("Bytes per row:"))
        dialog.intValueSelected.connect(lambda width: self.choose(RowWidth(RowMode.FIXED, width)))
        dialog.open()
        return dialog

    def set_path(self, path: Sequence[Node]) -> None:
        self._path = tuple(path)
        if path and self.width.mode is RowMode.RECORD:
            self._apply()

    def _apply(self) -> None:
        size, start = record_of(self._path, self._state.name) or (DEFAULT, 0)
        rows = self._state.layout
        if rows.width != size or rows.column_of(start) != 0:
            self._state.set_row_width(size, start)

    @property
    def _record(self) -> str:
        record = table_record_of(self._path, self._state.name)
        if record is None:
            return RowWidth(RowMode.RECORD).text
        return self.tr("One {0} ({1} bytes)").format(cut_middle(record[1], _LONGEST), record[0])
