"""Byte ranges of the rows and cells of delimited text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_QUOTE = ord('"')
_FEED = ord("\n")
_BLOCK = 1 << 20


def row_spans(data: bytes, most: int = 1 << 20) -> NDArray[np.int64]:
    """Return the byte ranges `[start, stop)` of at most `most` rows, without line ends; int64, shape `(rows, 2)`.

    Line ends inside quotes do not end a row; empty lines are skipped. The encoding must be a superset of ASCII.
    """
    whole = np.frombuffer(data, np.uint8)
    ends: list[NDArray[np.int64]] = []
    inside = count = 0
    for start in range(0, len(whole), _BLOCK):
        block = whole[start : start + _BLOCK]
        quotes = np.cumsum(block == _QUOTE, dtype=np.int32) + inside
        inside = int(quotes[-1]) & 1
        ends.append(np.flatnonzero((block == _FEED) & (quotes & 1 == 0)) + start)
        count += len(ends[-1])
        if count > 2 * most:
            break
    else:
        ends.append(np.array([len(whole)], np.int64))
    stops = np.concatenate(ends) if ends else np.zeros(0, np.int64)
    starts = np.concatenate([[3 if data.startswith(b"\xef\xbb\xbf") else 0], stops[:-1] + 1]).astype(np.int64)
    if len(whole):
        # A carriage return before the line end belongs to it.
        returned = (stops > starts) & (whole[np.maximum(stops - 1, 0)] == ord("\r"))
        stops = stops - returned
    filled = stops > starts
    return np.stack([starts[filled], stops[filled]], axis=1)[:most]


def cell_spans(data: bytes, start: int, stop: int, delimiter: str, most: int = 4096) -> list[tuple[int, int]]:
    """Return the byte ranges `[start, stop)` of the cells of a row, including quotes."""
    mark = delimiter.encode("ascii")
    found: list[tuple[int, int]] = []
    at = start
    while len(found) < most:
        end = at
        if data[at : at + 1] == b'"' and at < stop:
            end = _quoted_end(data, at, stop)
        end = data.find(mark, end, stop)
        if end < 0:
            found.append((at, stop))
            break
        found.append((at, end))
        at = end + 1
    return found


def _quoted_end(data: bytes, start: int, stop: int) -> int:
    at = start + 1
    while True:
        at = data.find(b'"', at, stop)
        if at < 0:
            return stop
        if data[at + 1 : at + 2] != b'"' or at + 1 >= stop:
            return at + 1
        at += 2


def cell_text(raw: bytes, encoding: str = "utf-8") -> str:
    text = raw.decode(encoding, "replace")
    if text.startswith('"'):
        inner, closed, rest = text[1:].replace('""', "\0").partition('"')
        return (inner + rest if closed else text[1:].replace('""', "\0")).replace("\0", '"')
    return text
