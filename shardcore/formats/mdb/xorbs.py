"""Search and cache of the xorbs to which a shard refers.

Formats do not import each other: the registry passes a function that opens xorbs, and `Xorb` describes its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import HashArray, from_text, to_text, to_texts
from shardcore.errors import (
    ExternalMissing,
    FormatError,
    NotAShard,
    Remedy,
    SourceError,
    UsageError,
    raise_unless_absent,
)
from shardcore.formats.mdb.index import MdbIndex, texts_of
from shardcore.model.data_set_nodes import placed, placed_span
from shardcore.model.span import SourceName, Span
from shardcore.shards.cache import LruCache, Once
from shardcore.shards.open_context import Opener
from shardcore.shards.shard import SourcePart
from shardcore.sources.base import WHOLE_HEAD, WHOLE_RANGE, Folder, Source
from shardcore.sources.prefetched_source import WholeFiles

NAMES = ("default.{}", "{}", "{}.xorb")
"""Possible names of xorb files; `{}` is the hash in text form."""

SUBFOLDERS = ("", "xorbs", "xorbs/xorbs")
"""Subfolders in which xorbs are searched: of the option `xorbs`, or else of the shard's folder and its parent."""

MOST_MISSING = 1000
"""Number of missing xorbs of a file after which the search stops."""

SPAN_PREFIX = "xorb:"
"""Prefix of the source name of a xorb; its hash follows."""

MOST_KEPT = 64 << 20
"""Memory limit for opened xorbs, in bytes; the least recently used ones are closed first."""

XORB_COST, CHUNK_COST = 64 << 10, 128
"""Estimated memory of an opened xorb, and of each of its chunks, in bytes."""


@runtime_checkable
class Xorb(Protocol):
    """Protocol of an opened xorb, as MDB shards use it."""

    def part(self, name: str) -> SourcePart:
        """Return the xorb file if `name` is empty; for `@start-stop`, the uncompressed bytes of that chunk."""

    def close(self) -> None: ...

    @property
    def chunk_count(self) -> int: ...

    @property
    def chunk_sizes(self) -> NDArray[np.int64]: ...

    @property
    def chunk_hashes(self) -> HashArray | None:
        """Chunk hashes from the info block; None if the xorb has no info block."""

    def record_span(self, number: int) -> Span: ...

    def stream_chunks(self, first: int, last: int) -> Iterator[bytes]:
        """Yield the uncompressed chunks `[first, last)`."""


class XorbFetch(WholeFiles):
    """Fetches a xorb completely if at least half of it is needed: few large requests instead of one per segment."""

    def __init__(self, source: Source, index: Callable[[], MdbIndex]) -> None:
        super().__init__(source)
        self._index = index
        self._begun: set[str] = set()

    def first(self, text: str) -> int:
        needed = self._needed.get(text, 0) + WHOLE_HEAD  # for its headers and its info block
        return min(needed, WHOLE_RANGE) if self.has_room(needed) else WHOLE_HEAD

    def opening(self, text: str, source: Source) -> None:
        """When a xorb is opened, start to fetch all of it if files need at least half of it and memory allows."""
        if self._lacks(text, source) and self.fetch(source):
            self._begun.add(text)

    def reading(self, text: str, xorb: Xorb) -> None:
        """Before a xorb is read, start to fetch all of it, if needed, and release the memory of earlier ones."""
        if text in self._begun:
            return
        self._begun.add(text)
        source = xorb.part("").source
        if self._lacks(text, source):
            self.release()
            self.fetch(source)

    def _lacks(self, text: str, source: Source) -> bool:
        return not source.near and 2 * self._needed.get(text, 0) >= source.size

    @cached_property
    def _needed(self) -> dict[str, int]:
        """Number of uncompressed bytes that the files use of each xorb, by hash."""
        segments = self._index().segments
        hashes, first, inverse = np.unique(texts_of(segments["cas_hash"]), return_index=True, return_inverse=True)
        sums = np.bincount(inverse.ravel(), weights=segments["unpacked_segment_bytes"], minlength=len(hashes))
        return dict(zip(to_texts(segments["cas_hash"][first]), map(int, sums), strict=True))


class Xorbs:
    """Finds and opens xorbs, and caches them in up to `MOST_KEPT` bytes of memory; thread-safe.

    If `given` (the option `xorbs`) is set, only that folder is searched, otherwise the folders around `beside`.
    """

    def __init__(self, given: Folder | None, beside: Folder | None, opener: Opener) -> None:
        self._given = given
        self._beside = beside
        self._opener = opener
        self._kept: LruCache[str, Once[Xorb]] = LruCache(MOST_KEPT)
        self._places: Once[list[tuple[Folder, str]]] = Once()
        self._last_place: tuple[Folder, str] | None = None
        self._closed = False

    def get(self, text: str, fetch: XorbFetch | None = None) -> Xorb:
        """Return the xorb with a hash in text form; with `fetch`, it may be fetched completely.

        Raises:
            ExternalMissing: The xorb is not found.
            FormatError: The xorb is damaged.
        """
        if self._closed:
            raise SourceError("the shard is closed")
        once = self._kept.setdefault(text, Once(), XORB_COST)

        def opened() -> Xorb:
            xorb = self._opened(self._source(text, fetch), text, fetch)
            self._kept.put(text, once, XORB_COST + CHUNK_COST * xorb.chunk_count)
            return xorb

        try:
            return once.get(opened)
        finally:
            # A missing xorb must not stay in the cache.
            if once.value is None:
                self._kept.drop(text, once)

    def part(self, name: SourceName) -> SourcePart | None:
        """Return a xorb (`xorb:<hash>`) or a decompressed chunk (`xorb:<hash>@start-stop`); None for other names."""
        if not name.path.startswith(SPAN_PREFIX):
            return None
        xorb = self.get(to_text(from_text(name.path.removeprefix(SPAN_PREFIX))))
        part = xorb.part(str(name.inside(name.path)))
        return SourcePart(part.source, part.sections, lambda: placed(part.tree(), name.path))

    def stored_span(self, text: str, first: int, last: int) -> Span:
        """Return the span of the chunk records `[first, last)`; raise FormatError if the xorb does not have them."""
        xorb = self.get(text)
        if not 0 <= first < last <= xorb.chunk_count:
            raise FormatError(f"xorb {text} has {xorb.chunk_count:,} chunks; the segment uses {first} to {last - 1}")
        return Span(SPAN_PREFIX + text, xorb.record_span(first).start, xorb.record_span(last - 1).stop)

    def need(self, texts: list[str], fetch: XorbFetch | None = None) -> None:
        """Open the xorbs with these hashes; raise ExternalMissing with the names of the missing ones."""
        missing = []
        for text in dict.fromkeys(texts):
            try:
                self.get(text, fetch)
            except ExternalMissing:
                missing.append(text)
                if len(missing) == MOST_MISSING:
                    break
        if missing:
            named = ", ".join(missing[:8]) + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")
            raise self._missing(f"{'missing xorb' if len(missing) == 1 else 'missing xorbs'}: {named}")

    def close(self) -> None:
        """Close all cached xorbs; `get` fails afterwards."""
        self._closed = True
        for once in self._kept.clear():
            if once.value is not None:
                once.value.close()
        if self._given is not None:
            self._given.close()

    def _missing(self, message: str) -> ExternalMissing:
        if self._given is not None:
            return ExternalMissing(f"{message} (searched in {self._given.uri})")
        return ExternalMissing(f"{message} (searched next to the shard)", remedy=Remedy.XORBS)

    def _source(self, text: str, fetch: XorbFetch | None) -> Source:
        first = fetch.first(text) if fetch is not None else WHOLE_HEAD
        places = self._places.get(self._candidates)
        # It is probably in the folder of the last xorb found.
        last = self._last_place
        for place in [last, *(p for p in places if p is not last)] if last is not None else places:
            folder, name = place
            try:
                source = folder.open_at(name.format(text), 0, first)
            except SourceError as error:
                raise_unless_absent(error)
                continue
            self._last_place = place
            return source
        raise self._missing(f"missing xorb: {text}")

    def _candidates(self) -> list[tuple[Folder, str]]:
        above = self._beside.parent() if self._beside is not None else None
        folders = list[Folder]()
        for root in [self._given] if self._given is not None else [self._beside, above]:
            for name in SUBFOLDERS:
                with suppress(SourceError):
                    if root is not None:
                        folders.append(root.folder(name) if name else root)
        # Clients write the first form of the name; the other forms are tried if no folder has it.
        return [(folder, name) for name in NAMES for folder in folders]

    def _opened(self, source: Source, text: str, fetch: XorbFetch | None) -> Xorb:
        with ExitStack() as failed:
            failed.callback(source.close)
            try:
                if fetch is not None:
                    fetch.opening(text, source)
                shard = self._opener(source, "xorb")
            except FormatError as error:
                message = f"xorb {text} is damaged: {error.message}"
                raise FormatError(message, span=inside_xorb(error.span, text)) from error
            except NotAShard as error:
                raise FormatError(f"the file named after xorb {text} is not a xorb: {error.message}") from error
            if not isinstance(shard, Xorb):
                raise UsageError("the file is not a xorb")
            failed.pop_all()
        return shard


def inside_xorb(span: Span | None, text: str) -> Span | None:
    return span and placed_span(span, SPAN_PREFIX + text)
