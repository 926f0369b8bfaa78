"""Requests of a request log as columns, and their times without the pauses of the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shardcore.sources.remote.request_log import Request

Times = npt.NDArray[np.float64]


_FIRST_ROOM = 1024

LONGEST_PAUSE = 0.02
"""Seconds without any request that are drawn; the rest of a longer pause is left out."""


class RequestColumns:
    """Records in the order in which they ended, and one array for each thing that is computed with.

    Attributes:
        records: The records themselves.
    """

    def __init__(self) -> None:
        self.records: list[Request] = []
        self._times = np.zeros((3, _FIRST_ROOM))
        self._sizes = np.zeros(_FIRST_ROOM, np.int64)
        self._rounds = np.zeros(_FIRST_ROOM, np.int64)
        self._hits = np.zeros(_FIRST_ROOM, bool)
        # Of the records so far: the latest end, and the highest round. Both only grow, so they can be searched.
        self._latest = np.zeros(_FIRST_ROOM)
        self._highest = np.zeros(_FIRST_ROOM, np.int64)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def begin(self) -> Times:
        """Seconds at which each was asked for."""
        return self._times[0, : len(self)]

    @property
    def answer(self) -> Times:
        """Seconds at which its answer began."""
        return self._times[1, : len(self)]

    @property
    def end(self) -> Times:
        """Seconds at which its answer ended."""
        return self._times[2, : len(self)]

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Bytes that came."""
        return self._sizes[: len(self)]

    @property
    def hits(self) -> npt.NDArray[np.bool_]:
        """Return whether the cache answered."""
        return self._hits[: len(self)]

    @property
    def rounds(self) -> npt.NDArray[np.int64]:
        """The round of each request, from 1: it began after one of the round before had ended.

        A read that the cache answered has the round that was over by then; 0 before the first.
        """
        return self._rounds[: len(self)]

    def extend(self, records: Sequence[Request]) -> None:
        """Adds records that ended after those that are there."""
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
        """Compute the rounds: a request depends on those that had ended when it began."""
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
    """Times of the records of a request log.

    Attributes:
        begin: Seconds, one per record.
        answer: Seconds at the first byte of each answer.
        end: Seconds at the last byte of each answer.
        span: End of the last request: the width of the waterfall.
        busy: Seconds during which at least one request was open.
    """

    begin: Times
    answer: Times
    end: Times
    span: float
    busy: float


def measured(columns: RequestColumns) -> Schedule:
    """Return the times of the requests, with long pauses cut short."""
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
