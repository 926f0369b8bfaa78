"""The xorbs that a shard points at: where they are looked for, and what is used of them.

Formats do not import each other: a xorb is opened by the opener that the registry hands over, and used through the
few things that `Xorb` names.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import ExternalMissing, FormatError, ShardError, SourceError, UsageError
from shardcore.format import Opener
from shardcore.nodes.node import Node
from shardcore.nodes.sections import Section
from shardcore.sources.base import Folder, Source
from shardcore.span import Span
from shardcore.xet_hashes import HashArray

NAMES = ("default.{}", "{}", "{}.xorb")
"""How files of xorbs are named, by the text form of the hash."""

SUBFOLDERS = ("", "xorbs", "xorbs/xorbs")
"""Where in a folder xorbs are looked for."""

SPAN_PREFIX = "xorb:"
"""A span in a xorb has this and the hash as its source."""

MOST_OPEN = 32
"""Xorbs kept open when nobody reads them."""


@runtime_checkable
class Xorb(Protocol):
    """What is used of an opened xorb."""

    def bytes_of(self, name: str) -> Source:
        """The file, by the empty name, or an unpacked chunk."""

    def sections_of(self, name: str) -> tuple[Section, ...]:
        """The sections of the file, or of an unpacked chunk."""

    def tree_of(self, name: str) -> Node:
        """The tree of the file, or of an unpacked chunk."""

    def close(self) -> None:
        """Closes the file."""

    @property
    def chunk_count(self) -> int:
        """Number of chunks."""

    @property
    def chunk_sizes(self) -> NDArray[np.int64]:
        """Bytes of each unpacked chunk."""

    @property
    def chunk_hashes(self) -> HashArray | None:
        """The chunk hashes that its info block lists."""

    def record_span(self, number: int) -> Span:
        """Where the record of a chunk lies."""

    def stream_chunks(self, first: int, last: int) -> Iterator[bytes]:
        """The unpacked chunks number `first` to `last`."""


class Xorbs:
    """The xorbs within reach of a shard, opened when needed.

    Args:
        given: The folder that the caller named; then no other place is looked at.
        beside: The folder that the shard lies in.
        opener: Opens sources of other formats.
    """

    def __init__(self, given: Folder | None, beside: Folder | None, opener: Opener) -> None:
        self._given = given
        self._beside = beside
        self._opener = opener
        self._open: OrderedDict[str, Xorb] = OrderedDict()
        self._held: Counter[str] = Counter()
        self._places: list[tuple[Folder, str]] | None = None
        self._lock = threading.RLock()

    def get(self, text: str) -> Xorb:
        """The xorb with a hash; read from it at once, or `hold` it.

        Args:
            text: The hash in text form.

        Raises:
            ExternalMissing: It is not within reach.
            FormatError: It is damaged.
        """
        with self._lock:
            if text not in self._open:
                self._open[text] = self._opened(self._source(text), text)
            self._open.move_to_end(text)
            idle = [name for name in self._open if name not in self._held and name != text]
            for name in idle[: max(len(self._open) - MOST_OPEN, 0)]:
                self._open.pop(name).close()
            return self._open[text]

    @contextmanager
    def hold(self, text: str) -> Iterator[Xorb]:
        """As `get`; the xorb is not closed meanwhile."""
        with self._lock:
            xorb = self.get(text)
            self._held[text] += 1
        try:
            yield xorb
        finally:
            with self._lock:
                self._held[text] -= 1
                self._held += Counter()  # drops what nobody holds

    def need(self, texts: list[str]) -> None:
        """Makes sure that all these xorbs are within reach, before the first byte is given.

        Raises:
            ExternalMissing: Some are not; the message names them.
        """
        missing = []
        for text in dict.fromkeys(texts):
            try:
                self.get(text)
            except ExternalMissing:
                missing.append(text)
        if missing:
            named = ", ".join(missing[:8]) + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")
            raise ExternalMissing(f"missing {'xorb' if len(missing) == 1 else 'xorbs'}: {named}{self._hint}")

    def close(self) -> None:
        """Closes all that are open."""
        with self._lock:
            for xorb in self._open.values():
                xorb.close()
            self._open.clear()

    @property
    def _hint(self) -> str:
        if self._given is not None:
            return f" (looked in {self._given.uri})"
        return " (looked beside the shard; name the folder of the xorbs)"

    def _source(self, text: str) -> Source:
        for folder, name in self._candidates():
            try:
                source = folder.open(name.format(text))
            except SourceError:
                continue
            # The next one is most likely found in the same way.
            places = self._candidates()
            places.remove((folder, name))
            places.insert(0, (folder, name))
            return source
        raise ExternalMissing(f"missing xorb: {text}{self._hint}")

    def _candidates(self) -> list[tuple[Folder, str]]:
        if self._places is None:
            above = self._beside.parent() if self._beside is not None else None
            roots = [self._given] if self._given is not None else [self._beside, above]
            folders = [folder for root in roots if root is not None for folder in _with_subfolders(root)]
            self._places = [(folder, name) for folder in folders for name in NAMES]
        return self._places

    def _opened(self, source: Source, text: str) -> Xorb:
        try:
            shard = self._opener(source, "xorb")
        except ShardError as error:
            source.close()
            if isinstance(error, FormatError):
                raise FormatError(
                    f"xorb {text} is damaged: {error.message}", span=inside_xorb(error.span, text)
                ) from error
            raise
        if not isinstance(shard, Xorb):
            source.close()
            raise UsageError("the opener gives no xorb")
        return shard


def _with_subfolders(root: Folder) -> Iterator[Folder]:
    for name in SUBFOLDERS:
        try:
            yield root.folder(name) if name else root
        except SourceError:
            continue


def inside_xorb(span: Span | None, text: str) -> Span | None:
    """A span in a xorb, as a span of the shard that points at it."""
    return span and Span(SPAN_PREFIX + text, span.start, span.stop)
