"""Table model of a request log, in the order in which the requests ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex

from shardcore.model.text import ends_text, plural, size_text
from shardcore.sources.remote.request_log import CANCELLED, KEPT, Request, RequestLog
from shardcore.system import last_part
from shardscope.session.display_text import numbers
from shardscope.widgets.request_log.costs import seconds_text
from shardscope.widgets.table_model import TableModel

Times = npt.NDArray[np.float64]


_FIRST_CAPACITY = 1024

LONGEST_PAUSE = 0.02
"""Maximum length in seconds of a pause between requests in the waterfall; longer pauses are shortened."""


class RequestColumns:
    """Records in the order in which they ended, with their times (seconds) and sizes (bytes) as arrays."""

    def __init__(self) -> None:
        self.records: list[Request] = []
        self._times = np.zeros((3, _FIRST_CAPACITY))
        self._sizes = np.zeros(_FIRST_CAPACITY, np.int64)
        self._rounds = np.zeros(_FIRST_CAPACITY, np.int64)
        self._hits = np.zeros(_FIRST_CAPACITY, bool)
        # Running maxima of end and round, so that they can be searched.
        self._latest = np.zeros(_FIRST_CAPACITY)
        self._highest = np.zeros(_FIRST_CAPACITY, np.int64)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def begin(self) -> Times:
        return self._times[0, : len(self)]

    @property
    def answer(self) -> Times:
        return self._times[1, : len(self)]

    @property
    def end(self) -> Times:
        return self._times[2, : len(self)]

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        return self._sizes[: len(self)]

    @property
    def hits(self) -> npt.NDArray[np.bool_]:
        return self._hits[: len(self)]

    @property
    def rounds(self) -> npt.NDArray[np.int64]:
        """Round trip of each request, counted from 1; a cache hit gets the number of the previous request, or 0."""
        return self._rounds[: len(self)]

    def extend(self, records: Sequence[Request]) -> None:
        """Append records; they must have ended later than those already present."""
        first, count = len(self), len(self) + len(records)
        self._make_room(count)
        self.records.extend(records)
        new = slice(first, count)
        self._times[0, new] = [one.at for one in records]
        self._times[1, new] = [one.at + one.wait for one in records]
        self._times[2, new] = [one.at + one.wait + one.transfer for one in records]
        self._sizes[new] = [one.bytes for one in records]
        self._hits[new] = [one.cached for one in records]
        self._find_rounds(first, count)

    def _make_room(self, count: int) -> None:
        room = len(self._sizes)
        if count <= room:
            return
        more = max(count, 2 * room) - room
        self._times = np.pad(self._times, ((0, 0), (0, more)))
        self._sizes, self._rounds = np.pad(self._sizes, (0, more)), np.pad(self._rounds, (0, more))
        self._hits, self._latest = np.pad(self._hits, (0, more)), np.pad(self._latest, (0, more))
        self._highest = np.pad(self._highest, (0, more))

    def _find_rounds(self, first: int, count: int) -> None:
        """Compute round trips: a request depends on all requests that had ended when it began."""
        before = self._latest[first - 1] if first else 0.0
        ends = np.where(self._hits[first:count], 0.0, self._times[2, first:count])
        self._latest[first:count] = np.maximum.accumulate(np.maximum(ends, before))
        over = np.searchsorted(self._latest[:count], self._times[0, first:count], side="right")
        highest, rounds = self._highest[:first].tolist(), []
        for ended, hit in zip(over.tolist(), self._hits[first:count].tolist(), strict=True):
            last = min(ended, len(highest))
            own = (highest[last - 1] if last else 0) + (not hit)
            rounds.append(own)
            highest.append(max(own, highest[-1]) if highest else own)
        self._rounds[first:count], self._highest[first:count] = rounds, highest[first:]


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
        none = np.zeros(0)
        return Schedule(none, none, none, 0.0, 0.0)
    order = np.argsort(columns.begin, kind="stable")
    begin = columns.begin[order]
    latest = np.maximum.accumulate(columns.end[order])
    pauses = np.maximum(begin[1:] - latest[:-1], 0.0)
    cut = np.concatenate(([begin[0]], begin[0] + np.cumsum(np.maximum(pauses - LONGEST_PAUSE, 0.0))))
    shift = np.empty_like(cut)
    shift[order] = cut
    end = columns.end - shift
    busy = float(latest[-1] - begin[0] - pauses.sum())
    return Schedule(columns.begin - shift, columns.answer - shift, end, float(end.max()), busy)


PURPOSE, RANGE, BYTES, ANSWER = range(4)

AT_ONCE = 10_000
"""Maximum number of records read per call, so that the window stays responsive."""

Index = QModelIndex | QPersistentModelIndex


class RequestLogModel(TableModel):
    titles = ("Purpose", "Range", "Bytes", "Response")
    numbers = (BYTES,)
    things: Any

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.columns = RequestColumns()
        self.schedule = measured(self.columns)
        self.listings = 0
        self._request_log: RequestLog | None = None
        self._seen = 0
        self._hits = False
        self.things = np.zeros(0, np.int64)
        self._main = ""

    @property
    def request_log(self) -> RequestLog | None:
        return self._request_log

    def set_request_log(self, request_log: RequestLog | None, main: str = "") -> None:
        """Show another request log; requests to other addresses than `main` are shown with their file name."""
        self._request_log, self._main = request_log, main
        self._restart()

    def read_again(self, main: str) -> None:
        """Reload all records, because the purpose of an earlier request can change."""
        self._main = main
        self._restart()

    def _restart(self) -> None:
        self.beginResetModel()
        self.columns, self._seen, self.listings = RequestColumns(), 0, 0
        self.things = np.zeros(0, np.int64)
        self.schedule = measured(self.columns)
        self.endResetModel()
        self.take_new()

    def take_new(self) -> bool:
        """Take at most `AT_ONCE` new records; return whether there were any. Call it again until it returns false."""
        request_log = self._request_log
        if request_log is None or (count := request_log.requests + request_log.hits) == self._seen:
            return False
        records = request_log.records
        first = len(self.columns)
        fresh = records[max(len(records) - (count - self._seen), 0) :][: min(max(KEPT - first, 0), AT_ONCE)]
        if not fresh:
            return False
        self._seen += len(fresh)
        self.columns.extend(fresh)
        self.listings += sum(one.purpose.value == "listing" and not one.cached for one in fresh)
        self.schedule = measured(self.columns)
        rows = np.arange(first, len(self.columns))
        rows = rows if self._hits else rows[~self.columns.hits[first:]]
        if len(rows):
            self.beginInsertRows(QModelIndex(), len(self.things), len(self.things) + len(rows) - 1)
            self.things = np.concatenate((self.things, rows))
            self.endInsertRows()
        self.change()
        return True

    def show_hits(self, wanted: bool) -> None:
        self.beginResetModel()
        self._hits = wanted
        self.things = np.arange(len(self.columns)) if wanted else np.flatnonzero(~self.columns.hits)
        self.endResetModel()

    def record(self, row: int) -> Request:
        return self.columns.records[int(self.things[row])]

    def bar(self, row: int) -> tuple[float, float, float]:
        """Return begin, first byte and end of a request as fractions of the total time."""
        number, plan, span = int(self.things[row]), self.schedule, max(self.schedule.span, 1e-9)
        return float(plan.begin[number]) / span, float(plan.answer[number]) / span, float(plan.end[number]) / span

    # --- the table ---

    def spoken(self, row: int, column: int) -> str:
        text = self.text(row, column)
        return f"{text}, {self._lasted(int(self.things[row]))}" if column == ANSWER else text

    def text(self, row: int, column: int) -> str:
        record = self.record(row)
        if column == PURPOSE:
            return record.purpose.value
        if column == RANGE:
            return self._place(record)
        if column == BYTES:
            return size_text(record.bytes) if record.bytes or not record.error else ""
        return answer_text(record)

    def _place(self, record: Request) -> str:
        name = "" if record.address == self._main else last_part(record.address)
        start, stop = record.start, record.stop
        span = "" if start is None or stop is None else numbers(ends_text(start, stop))
        return " of ".join(part for part in (span, name) if part) or "/"

    def _lasted(self, number: int) -> str:
        plan = self.schedule
        wait, all_ = plan.answer[number] - plan.begin[number], plan.end[number] - plan.begin[number]
        return f"{seconds_text(float(wait))} until the first byte, {seconds_text(float(all_))} in total"

    def tip(self, row: int, column: int) -> str:
        record, number = self.record(row), int(self.things[row])
        size = plural(record.bytes, "byte")
        if record.cached:
            return f"{record.address}\n{self._place(record)}\nFrom the cache, without a request: {size}"
        error = f"\n{record.error}" if record.error else ""
        round_ = int(self.columns.rounds[number])
        times = f"{answer_text(record)} · {size} · {self._lasted(number)} · round {round_}"
        return f"{record.method} {record.address}\n{self._place(record)}\n{times}{error}"


def is_cancelled(record: Request) -> bool:
    return record.error == CANCELLED


def answer_text(record: Request) -> str:
    if record.cached:
        return "cache"
    if is_cancelled(record):
        return "■ cancelled"
    text = str(record.status) if record.status else "no answer"
    again = f" ↻ {record.retry + 1}" if record.retry else ""
    return f"✖ {text}{again}" if record.error else f"{text}{again}"
