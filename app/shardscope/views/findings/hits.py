"""Results of a search in bytes: offset, encoding and field. Selecting a row selects its bytes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PySide6.QtCore import QCoreApplication, QModelIndex, QPoint, Qt
from PySide6.QtWidgets import (
    QLabel,
    QMenu,
    QStackedLayout,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from shardcore import Shard, ShardError
from shardcore.model.text import plural
from shardscope.session.debounce import Debounce
from shardscope.session.display_text import cut_middle, offset_words
from shardscope.session.hit_list import HitList
from shardscope.session.jobs import Job
from shardscope.session.session import Session
from shardscope.widgets.clipboard import copy_lines, copy_text
from shardscope.widgets.dock_table_columns import ColumnRule
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.row_table import row_table
from shardscope.widgets.save_picture import add_picture
from shardscope.widgets.table_model import TableModel

_PATH = 2


class HitModel(TableModel):
    titles = ("Offset", "Encoding", "Field")
    numbers = (0,)

    def __init__(self) -> None:
        super().__init__()
        self.hits = HitList()
        self._paths: dict[int, str] = {}

    def set_hits(self, hits: HitList) -> None:
        self.hits, self._paths = hits, {}
        self.show_things(range(len(hits)))

    def unnamed(self, first: int, last: int) -> list[int]:
        """Return the rows from `first` to `last`, both included, whose field is not loaded."""
        return [row for row in range(max(first, 0), min(last + 1, len(self.hits))) if row not in self._paths]

    def set_paths(self, paths: Mapping[int, str]) -> None:
        self._paths.update(paths)
        if paths:
            self.change(min(paths), max(paths), _PATH)

    def text(self, row: int, column: int) -> str:
        if column == _PATH:
            return self._paths.get(row, "")
        pattern = self.hits.pattern(row)
        return offset_words(int(self.hits.offsets[row])) if column == 0 else pattern.name or self.hits.what


MOST_COPIED = 10_000
"""Maximum number of offsets copied."""

_SOON_MILLISECONDS = 30


class HitsTable(QWidget):
    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.model = HitModel()
        session.notation_changed.connect(self.model.change)
        self.state = Elided(greedy=True, parent=self)
        self.state.setObjectName("hitsState")
        self.state.setContentsMargins(8, 6, 8, 6)
        self.table = self._table()
        self.setFocusProxy(self.table)
        self.empty = empty = QLabel(self)
        self.empty.setTextFormat(Qt.TextFormat.PlainText)
        empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        empty.setWordWrap(True)
        empty.setForegroundRole(empty.palette().ColorRole.PlaceholderText)
        self._stack = QStackedLayout()
        self._stack.addWidget(empty)
        self._stack.addWidget(self.table)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.state)
        layout.addLayout(self._stack)
        self._soon = Debounce(self, self._name, _SOON_MILLISECONDS)
        self.table.verticalScrollBar().valueChanged.connect(self._soon.again)
        session.opened.connect(lambda _: self.set_hits(HitList()))
        session.closed.connect(lambda: self.set_hits(HitList()))
        self.set_hits(HitList())

    def _table(self) -> QTableView:
        rules = (ColumnRule(), ColumnRule(80), ColumnRule(120))
        table = row_table(self, self.model, rules, 2, self._choose, self._open_menu)
        table.setObjectName("hitsTable")
        table.setAccessibleName(self.tr("Hits of the search"))
        return table

    def set_hits(self, hits: HitList) -> None:
        self.model.set_hits(hits)
        if not hits.what:
            self.state.clear()
        else:
            more = self.tr(", the first {0} are listed").format(f"{len(hits):,}") if hits.count > len(hits) else ""
            self.state.set_text(self.tr("{0}{1}: {2}").format(plural(hits.count, "hit"), more, hits.what))
        self.state.setVisible(bool(hits.what))
        none = self.tr("Not found.")
        teach = self.tr("Find bytes, text or numbers with Ctrl+F. List shows all hits here.")
        self.empty.setText(none if hits.what else teach)
        self._stack.setCurrentIndex(int(len(hits) > 0))
        self._soon.start()

    def _choose(self, current: QModelIndex, previous: QModelIndex) -> None:
        if current.isValid():
            self._select(current.row())

    def _select(self, number: int) -> None:
        hits = self.model.hits
        span = hits.span(number)
        if span is not None:
            self._session.select_span(span, self)
        else:
            self._session.select_row(hits.contents[number].row, self)

    def _name(self) -> None:
        """Look up the fields of the visible rows in a job, at most 200."""
        hits, height = self.model.hits, self.table.viewport().height()
        first, last = self.table.rowAt(0), self.table.rowAt(height - 1)
        rows = self.model.unnamed(first, last if last >= 0 else len(hits) - 1)[:200]
        if first < 0 or not rows:
            return

        def work(shard: Shard, job: Job) -> dict[int, str]:
            found = {}
            for row in rows:
                job.check()
                found[row] = _where(shard, hits, row)
            return found

        def take(found: dict[int, str]) -> None:
            if self.model.hits is hits:
                self.model.set_paths(found)

        self._session.ask(work, take, key=("hits", id(self)))

    def resizeEvent(self, event: object) -> None:
        self._soon.start()

    def _open_menu(self, place: QPoint) -> None:
        index = self.table.indexAt(place)
        if index.isValid():
            self.menu_of(index.row()).popup(self.table.viewport().mapToGlobal(place))

    def menu_of(self, row: int) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        hits = self.model.hits
        menu.addAction(self.tr("&Select bytes"), lambda: self._select(row))
        menu.addSeparator()
        menu.addAction(self.tr("Copy &offset"), lambda: copy_text(f"{int(hits.offsets[row]):#x}"))
        offsets = hits.offsets[:MOST_COPIED]
        text = self.tr("Copy &all offsets") if len(hits) <= MOST_COPIED else self.tr("Copy the first 10,000 &offsets")
        menu.addAction(text, lambda: copy_lines("\n".join(f"{offset:#x}" for offset in offsets.tolist())))
        menu.addSeparator()
        add_picture(menu, self.table, "hits", self._session.say)
        return menu


def _where(shard: Shard, hits: HitList, row: int) -> str:
    span = hits.span(row)
    try:
        if hits.contents:
            (key,) = shard.objects.key_texts(np.array([hits.contents[row].row]))
            return QCoreApplication.translate("HitsTable", "content of {0}").format(cut_middle(key or "—"))
        assert span is not None
        path = shard.explain(span.start, span.source)
    except ShardError:
        return "—"
    return " › ".join(cut_middle(node.name) for node in path[1:]) or path[0].name
