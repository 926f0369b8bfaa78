"""Results of a search in bytes: offset, encoding and field. Selecting a row selects its bytes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget

from shardcore import Shard, ShardError
from shardcore.model.text import plural
from shardscope.session.byte_marks import HitList
from shardscope.session.display_text import cut_middle, offset_words
from shardscope.session.jobs import Job
from shardscope.session.session import Session
from shardscope.widgets.clipboard import copy_lines, copy_text
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.table import Column, RowTable, TableModel, TableOrText, context_menu, visible_rows

_PATH = 2

MOST_OFFSETS = 10_000

_SOON_MILLISECONDS = 30


class HitModel(TableModel):
    """Model whose entries are indices into `hits`; `set_paths` adds the names of fields later."""

    def __init__(self) -> None:
        super().__init__()
        self.columns = (
            Column("Offset", lambda hit: offset_words(int(self.hits.offsets[hit])), number=True),
            Column("Encoding", lambda hit: self.hits.pattern(hit).name, 80),
            Column("Field", lambda hit: self.paths.get(hit, ""), 120, stretched=True),
        )
        self.hits = HitList()
        self.paths: dict[int, str] = {}

    def set_hits(self, hits: HitList) -> None:
        self.hits, self.paths = hits, {}
        self.show_things(range(len(hits)))

    def set_paths(self, paths: Mapping[int, str]) -> None:
        self.paths.update(paths)
        if paths:
            self.change(min(paths), max(paths), _PATH)


class HitsTable(QWidget):
    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.model = HitModel()
        self.state = made(Elided(greedy=True, parent=self), "hitsState")
        self.state.setContentsMargins(8, 6, 8, 6)
        self.table = RowTable(self.model, self, "hitsTable", self.tr("Hits of the search"), self._select, self.menu_of)
        self.setFocusProxy(self.table)
        self._body = TableOrText(self.table, self)
        lay(QVBoxLayout(self), self.state, self._body)
        self._soon = Debounce(self, self._name, _SOON_MILLISECONDS)
        self.table.verticalScrollBar().valueChanged.connect(self._soon.again)
        session.notation_changed.connect(self.model.change)
        session.opened.connect(lambda _: self.set_hits(HitList()))
        session.closed.connect(lambda: self.set_hits(HitList()))
        self.set_hits(HitList())

    def set_hits(self, hits: HitList) -> None:
        self.model.set_hits(hits)
        more = self.tr(", the first {0} are listed").format(f"{len(hits):,}") if hits.count > len(hits) else ""
        words = self.tr("{0}{1}: {2}").format(plural(hits.count, "hit"), more, hits.what)
        self.state.set_text(words if hits.what else "")
        self.state.setVisible(bool(hits.what))
        teach = self.tr("Find bytes, text or numbers with Ctrl+F. List shows all hits here.")
        self._body.show_table(len(hits) > 0, self.tr("Not found.") if hits.what else teach)
        if len(hits):
            self._soon.start()

    def _select(self, number: int) -> None:
        hits = self.model.hits
        span = hits.span(number)
        if span is not None:
            self._session.select_span(span, self)
        else:
            self._session.select_row(hits.contents[number].row, self)

    def _name(self) -> None:
        """Look up the fields of the visible rows in a job, at most 200."""
        hits = self.model.hits
        rows = [row for row in visible_rows(self.table) if row not in self.model.paths][:200]
        if not rows:
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

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._soon.start()

    def menu_of(self, row: int) -> QMenu:
        hits = self.model.hits
        offsets = hits.offsets[:MOST_OFFSETS]
        every = self.tr("Copy &all offsets") if len(hits) <= MOST_OFFSETS else self.tr("Copy the first 10,000 &offsets")
        entries = [
            (self.tr("&Select bytes"), lambda: self._select(row)),
            None,
            (self.tr("Copy &offset"), lambda: copy_text(f"{int(hits.offsets[row]):#x}")),
            (every, lambda: copy_lines("\n".join(f"{offset:#x}" for offset in offsets.tolist()))),
        ]
        return context_menu(self.table, entries, "hits", self._session.say)


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
