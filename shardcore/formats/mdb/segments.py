"""Segments of a file as mappings that are created on access, because a file can have hundreds of thousands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import to_texts

AT_ONCE = 4096
"""Number of segments created per batch during iteration."""


class FileSegments(Sequence[dict[str, Any]]):
    """Sequence over rows of `FILE_ENTRY`; each item has `xorb`, `start`, `end` (chunks, half-open) and `bytes`."""

    def __init__(self, rows: NDArray[Any]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, number: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, number: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, number: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(number, slice):
            return _mappings(self._rows[number])
        return _mappings(self._rows[range(len(self))[number] :][:1])[0]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for first in range(0, len(self), AT_ONCE):
            yield from self[first : first + AT_ONCE]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(dict.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} segments>"


def _mappings(rows: NDArray[Any]) -> list[dict[str, Any]]:
    # Most segments are in few xorbs, so equal texts are shared.
    known: dict[str, str] = {}
    xorbs = [known.setdefault(text, text) for text in to_texts(rows["cas_hash"])]
    rest = (rows[name].tolist() for name in ("chunk_index_start", "chunk_index_end", "unpacked_segment_bytes"))
    return [{"xorb": x, "start": a, "end": b, "bytes": n} for x, a, b, n in zip(xorbs, *rest, strict=True)]
