"""Compact storage for the keys and labels of millions of objects, without a Python object per value."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from shardcore.errors import Remedy, UsageError
from shardcore.model.number_text import plural


class TextColumn:
    """Sequence of byte strings in one buffer; strings can be appended but not changed."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._stops = array("Q")
        self._hashes = array("q")

    def __len__(self) -> int:
        return len(self._stops)

    def append(self, text: bytes) -> None:
        self._bytes += text
        self._stops.append(len(self._bytes))
        self._hashes.append(hash(text))

    def extend(self, texts: Sequence[bytes]) -> None:
        stops = np.cumsum(np.fromiter(map(len, texts), np.uint64, len(texts))) + np.uint64(len(self._bytes))
        self._bytes += b"".join(texts)
        self._stops.frombytes(stops.tobytes())
        self._hashes.frombytes(np.fromiter(map(hash, texts), np.int64, len(texts)).tobytes())

    def __getitem__(self, row: int) -> bytes:
        start = self._stops[row - 1] if row else 0
        return bytes(self._bytes[start : self._stops[row]])

    def twins(self) -> list[tuple[int, int]]:
        """Return the rows that repeat an earlier row, as (first row, repeated row), in order."""
        hashes = np.frombuffer(self._hashes, np.int64)
        order = np.argsort(hashes, kind="stable")
        same = hashes[order[1:]] == hashes[order[:-1]]
        rows = np.sort(order[np.append(same, False) | np.append(False, same)]) if len(order) else order
        # Confirm: hashes may collide.
        known: dict[bytes, int] = {}
        pairs = ((known.setdefault(self[row], row), row) for row in rows.tolist())
        return [(first, row) for first, row in pairs if first != row]


class Labels:
    def __init__(self) -> None:
        self._texts = TextColumn()
        self._rows = array("Q")

    def note(self, row: int, label: str) -> None:
        if label:
            self._texts.append(label.encode("utf-8", "surrogatepass"))
            self._rows.append(row)

    def of(self, row: int) -> str:
        at = int(np.searchsorted(np.frombuffer(self._rows, np.uint64), row)) if self._rows else 0
        if at < len(self._rows) and self._rows[at] == row:
            return self._texts[at].decode("utf-8", "surrogatepass")
        return f"object {row}"


MOST_PAIRS = 10
"""Duplicate pairs listed in an error."""


class SameKeys(UsageError):
    """Several objects have the same key."""


def twins_error(
    pairs: Sequence[tuple[str, ...]], count: int, what: str = "key", remedy: Remedy | None = None
) -> SameKeys:
    """Return the error for duplicate keys; `pairs` (both labels and the key) are the first `MOST_PAIRS` of `count`."""
    (first, second, key) = pairs[0]
    if count == 1:
        return SameKeys(f"{first} and {second} have the same {what}, {key}", remedy=remedy)
    listed = "; ".join(f"{first} and {second} ({key})" for first, second, key in pairs[:MOST_PAIRS])
    more = f"; and {plural(count - MOST_PAIRS, 'more pair')}" if count > MOST_PAIRS else ""
    return SameKeys(f"{count:,} pairs of objects have the same {what}: {listed}{more}", remedy=remedy)
