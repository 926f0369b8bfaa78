"""Who owns the bytes of the data section: the payloads in the order of the file, and the gaps between them."""

from __future__ import annotations

import numpy as np

from shardcore.formats.des.entries import Entries


class DataMap:
    """Who owns the bytes of the data section: payloads in the order of their offsets, and the gaps between them.

    Where payloads overlap, the one that begins later owns the common bytes, and after its end the one that reaches
    farthest goes on. (No writer makes overlaps or gaps.)

    Args:
        entries: The entries.
        start: First byte of the section.
        stop: One past its last byte.

    Attributes:
        starts: First byte of each part, int64, ascending.
        stops: One past its last byte; parts tile the section.
        rows: The entry that owns it, -1 for a gap.
        overlaps: Pairs of entries of which the first reaches into the second, int64, shape (n, 2).
    """

    def __init__(self, entries: Entries, start: int, stop: int) -> None:
        rows = entries.by_offset()
        c = entries.columns
        first = np.clip(c.offset[rows].astype(np.int64), start, stop)
        last = np.maximum(np.minimum((c.offset[rows] + c.length[rows]).astype(np.int64), stop), first)
        ahead = np.append(first[1:], stop)[: len(rows)]
        reach = np.maximum.accumulate(last)
        # After the end of a payload an earlier, longer one may go on; then comes a gap.
        keeper = np.maximum.accumulate(np.where(last == reach, np.arange(len(rows)), 0))
        end = np.minimum(last, ahead)
        resumed = np.maximum(np.minimum(reach, ahead), end)
        pieces = [(first, end, rows), (end, resumed, rows[keeper]), (resumed, ahead, np.full(len(rows), -1))]
        before = first[:1] if len(first) else np.array([stop])
        pieces.append((np.array([start]), before, np.array([-1])))
        starts, stops, owners = (np.concatenate([piece[n] for piece in pieces]) for n in range(3))
        solid = np.flatnonzero(stops > starts)
        order = solid[np.argsort(starts[solid], kind="stable")]
        self.starts, self.stops, self.rows = starts[order], stops[order], owners[order].astype(np.int64)
        crossed = np.flatnonzero(reach[:-1] > first[1:])
        self.overlaps = (
            np.stack([rows[keeper[crossed]], rows[crossed + 1]], axis=1) if len(crossed) else np.zeros((0, 2), np.int64)
        )

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Ranges that no payload has, merged."""
        where = np.flatnonzero(self.rows < 0)
        return list(zip(self.starts[where].tolist(), self.stops[where].tolist(), strict=True))
