"""Searching a lookup table: keys are sorted and spread evenly, so a key tells about where it stands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError
from shardcore.formats.mdb.geometry import LookupTable, descents
from shardcore.formats.mdb.objects import Read

WHOLE_TABLE = 65536
"""Tables of up to this many bytes are read at once; of longer ones a piece of this size around the likely place."""

_GUESSES = 6  # after so many pieces in the wrong place the keys are not spread evenly: halve instead


class Seen:
    """What a search read last, to be shown.

    Args:
        base: Reads the bytes `[start, stop)` of the shard.
        table: The table that is searched.
    """

    def __init__(self, base: Read, table: LookupTable) -> None:
        self._base = base
        self._table = table
        self._first, self._data = 0, b""

    def read(self, start: int, stop: int) -> bytes:
        """Reads, and remembers what came."""
        data = self._base(start, stop)
        self._first, self._data = (start - self._table.start) // self._table.record.size, data
        return data

    def around(self, number: int, most: int) -> tuple[int, list[dict[str, Any]]]:
        """Up to `most` rows on both sides of one, of those that were read last: the first one's number, and all."""
        record = self._table.record
        rows = record.read(self._data, 0, len(self._data) // record.size)
        first = max(number - self._first - most, 0)
        return self._first + first, [record.values(row) for row in rows[first : number - self._first + most]]


def search(read: Read, table: LookupTable, key: int) -> tuple[int, NDArray[Any]]:
    """The entries with a key: the number of the first (or where it would be), and their rows.

    Hashes are spread evenly, so that the key tells where in a long table it must be; one piece nearly always has it.

    Args:
        read: Reads the bytes `[start, stop)` of the shard.
        table: The table.
        key: The key.

    Raises:
        FormatError: The table is not sorted where it was read.
    """
    piece = WHOLE_TABLE // table.record.size
    low, high = 0, table.count  # the first entry with a key not below `key` has a number in [low, high]
    low_key, high_key, tries = 0, 1 << 64, 0
    while True:
        first, last = low, high
        if high - low > piece:
            share = (high - low) * (key - low_key) // (high_key - low_key) if tries < _GUESSES else (high - low) // 2
            first = min(max(low + share - piece // 2, low), high - piece)
            last = first + piece
        rows = _sorted_rows(read, table, first, last)
        keys, tries = rows["key"], tries + 1
        if first > low and int(keys[0]) >= key:
            high, high_key = first, max(int(keys[0]), key + 1)
        elif last < high and int(keys[-1]) < key:
            low, low_key = last, int(keys[-1])
        else:
            break
    number = first + int(np.searchsorted(keys, np.uint64(key), "left"))
    found = rows[keys == np.uint64(key)]
    while len(found) and number + len(found) == last and last < table.count:
        more = _sorted_rows(read, table, last, min(last + piece, table.count))
        found, last = np.concatenate([found, more[more["key"] == np.uint64(key)]]), last + len(more)
    return number, found


def _sorted_rows(read: Read, table: LookupTable, first: int, last: int) -> NDArray[Any]:
    span = table.span(first, last)
    rows = table.record.read(read(span.start, span.stop), 0, last - first, place=span)
    if len(descents(rows)):
        raise FormatError(f"the {table.kind} lookup table is not sorted by table key: it cannot be searched", span=span)
    return rows
