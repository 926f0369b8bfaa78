"""Parts of a content and the bytes that store them."""

from __future__ import annotations

from dataclasses import dataclass

from shardcore.model.span import Span


@dataclass(frozen=True, slots=True)
class ContentPart:
    """Part of a decoded content, half-open, and where it is stored.

    Attributes:
        start: First byte of the content.
        stop: One past the last byte.
        stored: Stored bytes. Of the same number of bytes: each byte of the content is stored as it is, in order.
    """

    start: int
    stop: int
    stored: Span

    @property
    def exact(self) -> bool:
        """Return whether each byte of the content has a byte of its own."""
        return self.stored.size == self.stop - self.start

    def span_of(self, start: int, stop: int) -> Span:
        """Return where bytes of the part are stored: themselves, or all of the part that holds them."""
        if not self.exact:
            return self.stored
        first = max(start, self.start) - self.start + self.stored.start
        return Span(self.stored.source, first, first + max(min(stop, self.stop) - max(start, self.start), 0))

    def content_at(self, offset: int) -> int:
        """Return the byte of the content that is stored at an offset: itself, or the first byte of the part."""
        return self.start + (offset - self.stored.start if self.exact else 0)
