"""When things happened, without the pauses of the user; and when they would have happened on another line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shardscope.widgets.request_log.columns import RequestColumns, Times

LONGEST_PAUSE = 0.02
"""Seconds without any request that are drawn; of longer pauses the rest is left out: nobody waited for the line."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When each record of a tape began, was answered and ended.

    Attributes:
        begin: Seconds, one for each record.
        answer: The same for the first byte of its answer.
        end: The same for the last byte.
        span: When the last one ended: the width of a picture.
        busy: Seconds in which something was under way.
        rounds: How many requests had to wait for one another.
    """

    begin: Times
    answer: Times
    end: Times
    span: float
    busy: float
    rounds: int


def measured(columns: RequestColumns) -> Schedule:
    """What happened, with the pauses cut short."""
    if not len(columns):
        return _nothing()
    order = np.argsort(columns.begin, kind="stable")
    begin = columns.begin[order]
    latest = np.maximum.accumulate(columns.end[order])
    pauses = np.maximum(begin[1:] - latest[:-1], 0.0)
    cut = np.concatenate(([begin[0]], begin[0] + np.cumsum(np.maximum(pauses - LONGEST_PAUSE, 0.0))))
    shift = np.empty_like(cut)
    shift[order] = cut
    end = columns.end - shift
    busy = float(latest[-1] - begin[0] - pauses.sum())
    return Schedule(columns.begin - shift, columns.answer - shift, end, float(end.max()), busy, _rounds(columns))


def replayed(columns: RequestColumns, latency: float, rate: float) -> Schedule:
    """What would have happened on another line.

    The requests of one round are sent together: the round waits once, then its bytes share the line.

    Args:
        columns: What happened.
        latency: Seconds from a request to the beginning of its answer.
        rate: Bytes per second.
    """
    count = _rounds(columns)
    if not count:
        return _nothing(len(columns))
    made, rounds = ~columns.hits, columns.rounds
    amounts = np.bincount(rounds[made], weights=columns.sizes[made], minlength=count + 1)
    lasts = latency + amounts / rate
    lasts[0] = 0.0
    over = np.cumsum(lasts)
    begin = np.where(made, over[rounds] - lasts[rounds], over[rounds])
    answer = np.where(made, begin + latency, begin)
    largest = np.zeros(count + 1)
    np.maximum.at(largest, rounds[made], columns.sizes[made].astype(float))
    share = columns.sizes / np.maximum(largest, 1.0)[rounds]
    end = np.where(made, answer + share * (amounts / rate)[rounds], begin)
    return Schedule(begin, answer, end, float(over[-1]), float(over[-1]), count)


def download_seconds(files: int, size: int, latency: float, rate: float) -> float:
    """How long it takes to fetch everything: the files one after another, each whole."""
    return files * latency + size / rate


def _rounds(columns: RequestColumns) -> int:
    return int(columns.rounds.max()) if len(columns) else 0


def _nothing(count: int = 0) -> Schedule:
    none = np.zeros(count)
    return Schedule(none, none, none, 0.0, 0.0, 0)
