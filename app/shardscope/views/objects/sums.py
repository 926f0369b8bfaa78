"""Number and bytes of the selected rows, added up in a job."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from shardcore.model.number_words import plural
from shardcore.sources.remote.address import is_address
from shardscope.session.jobs import JobPriority, Pool
from shardscope.session.object_counts import Sum, add_up, countable
from shardscope.session.session import Session
from shardscope.views.objects.table import ObjectTable

PAUSE_MILLISECONDS = 60
"""A selection that stands still for so long is added up."""


class SelectionSums(QObject):
    """Follows the selection of a table; `changed()` tells that `text` is another."""

    changed = Signal()

    def __init__(self, session: Session, table: ObjectTable) -> None:
        super().__init__(table)
        self._session = session
        self._table = table
        self._sum: Sum | None = None
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MILLISECONDS)
        self._pause.timeout.connect(self._add_up)
        table.selectionModel().selectionChanged.connect(self._start)
        table.objects.modelReset.connect(self._start)

    @property
    def text(self) -> str:
        """Return what to say; empty when at most one row is selected."""
        count = self._table.selected_count()
        if count < 2:
            return ""
        parts = [f"{count:,} selected"]
        if self._sum is not None:
            more = f" and {plural(self._sum.unknown, 'object')} of unknown size" if self._sum.unknown else ""
            parts.append(f"{plural(self._sum.size, 'byte')}{more}")
        return ", ".join(parts)

    def _start(self, *_: object) -> None:
        self._sum = None
        if (older := self._session.jobs.newest(("sum", self))) is not None:
            older.cancel()
        self._pause.start()
        self.changed.emit()

    def _add_up(self) -> None:
        chosen = self._table.selected_ranges()
        if len(chosen) < 2 or not countable(len(chosen), far=is_address(self._session.uri)):
            return

        def take(found: Sum) -> None:
            self._sum = found
            self.changed.emit()

        self._session.ask(
            lambda shard, job: add_up(shard, chosen, job.progress),
            take,
            key=("sum", self),
            pool=Pool.CPU,
            priority=JobPriority.SCAN,
        )
