"""What a writer remembers of millions of objects: columns of few bytes, no Python object for each."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np


class TextColumn:
    """Byte strings, one after the other."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._stops = array("Q")
        self._hashes = array("q")

    def __len__(self) -> int:
        return len(self._stops)

    def append(self, text: bytes) -> None:
        """Adds one at the end."""
        self._bytes += text
        self._stops.append(len(self._bytes))
        self._hashes.append(hash(text))

    def extend(self, texts: Sequence[bytes]) -> None:
        """Adds many at the end."""
        stops = np.cumsum(np.fromiter(map(len, texts), np.uint64, len(texts))) + np.uint64(len(self._bytes))
        self._bytes += b"".join(texts)
        self._stops.frombytes(stops.tobytes())
        self._hashes.extend(map(hash, texts))

    def __getitem__(self, row: int) -> bytes:
        start = self._stops[row - 1] if row else 0
        return bytes(self._bytes[start : self._stops[row]])

    def twins(self) -> tuple[int, int] | None:
        """The rows of two that are equal, those that come first in the column; None where all differ."""
        hashes = np.frombuffer(self._hashes, np.int64)
        order = np.argsort(hashes, kind="stable")
        same = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
        found: tuple[int, int] | None = None
        for at in same.tolist():
            # Of equal hashes, any two may be the equal ones; there are few.
            first, other = int(order[at]), at + 1
            while other < len(order) and hashes[order[other]] == hashes[first]:
                second = int(order[other])
                if self[first] == self[second] and (found is None or second < found[1]):
                    found = (first, second)
                other += 1
        return found


class Labels:
    """What errors call objects, for those that have a label."""

    def __init__(self) -> None:
        self._texts = TextColumn()
        self._rows = array("Q")

    def note(self, row: int, label: str) -> None:
        """Remembers the label of a row; rows come in order."""
        if label:
            self._texts.append(label.encode("utf-8", "surrogatepass"))
            self._rows.append(row)

    def of(self, row: int) -> str:
        """The label of a row, or its number."""
        at = int(np.searchsorted(np.frombuffer(self._rows, np.uint64), row)) if self._rows else 0
        if at < len(self._rows) and self._rows[at] == row:
            return self._texts[at].decode("utf-8", "surrogatepass")
        return f"object {row}"
