"""Mapping between ranges of decoded content and the bytes that store them."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shardcore.model.span import Span


@dataclass(frozen=True, slots=True)
class ContentPart:
    """Decoded bytes `[start, stop)` and the span that stores them; uncompressed if both have the same size."""

    start: int
    stop: int
    stored: Span

    @property
    def exact(self) -> bool:
        return self.stored.size == self.stop - self.start

    def span_of(self, start: int, stop: int) -> Span:
        """Return the stored bytes of a range of the content: exact if uncompressed, else those of the whole part."""
        if not self.exact:
            return self.stored
        first = max(start, self.start) - self.start + self.stored.start
        return Span(self.stored.source, first, first + max(min(stop, self.stop) - max(start, self.start), 0))

    def content_at(self, offset: int) -> int:
        return self.start + (offset - self.stored.start if self.exact else 0)


class ContentParts(Sequence[ContentPart]):
    """Parts created on access by their number, for contents with too many parts to keep in memory."""

    @abstractmethod
    def at_stored(self, span: Span) -> ContentPart | None:
        """Return the first part that contains the stored byte at the start of a span; None if no part does."""

    @abstractmethod
    def placed(self, place: Callable[[Span], Span]) -> ContentParts:
        """Return the same parts with each span converted by `place`, for example to a span of the data set."""


def part_at(parts: Sequence[ContentPart], offset: int) -> ContentPart | None:
    at = bisect_right(parts, offset, key=lambda part: part.start) - 1
    return parts[at] if at >= 0 and offset < parts[at].stop else None


def part_stored_at(parts: Sequence[ContentPart], span: Span) -> ContentPart | None:
    if isinstance(parts, ContentParts):
        return parts.at_stored(span)
    inside = (one for one in parts if one.stored.source == span.source and one.stored.start <= span.start)
    return next((one for one in inside if span.start < one.stored.stop), None)
