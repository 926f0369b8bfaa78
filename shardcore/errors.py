"""Every failure of shardcore, and the place in the file that it belongs to.

Nothing but these errors (and `Cancelled`, which is nobody's fault) leaves the library, whatever the input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of bytes, `[start, stop)`, in one of the byte sources of a shard.

    Attributes:
        source: `""` for the file itself, a relative name for a sibling (`info`, `_bigFiles/9f…`), or
            `@start-stop` for what those bytes of the file decode to.
        start: First byte.
        stop: One past the last byte; never before `start`.
    """

    source: str
    start: int
    stop: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.stop:
            raise ValueError(f"not a half-open range: {self.start}..{self.stop}")

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.stop - self.start

    def covers(self, offset: int) -> bool:
        """Whether the byte at `offset` is inside."""
        return self.start <= offset < self.stop

    def to_json(self) -> dict[str, Any]:
        """The JSON form: `source` is left out when it is the file itself."""
        place: dict[str, Any] = {"source": self.source} if self.source else {}
        return place | {"start": self.start, "stop": self.stop}

    def __str__(self) -> str:
        within = f" of {self.source}" if self.source else ""
        return f"{self.start}..{self.stop}{within}"


def decoded_name(start: int, stop: int) -> str:
    """The name of the source that holds what the bytes `[start, stop)` of the file decode to."""
    return f"@{start}-{stop}"


class Cancelled(BaseException):
    """Raised by a `progress` callable to stop a long operation; `except Exception` does not swallow it."""


class ShardError(Exception):
    """Any failure of shardcore.

    Attributes:
        span: Where in the file, when the failure has a place.
    """

    def __init__(self, message: str, *, span: Span | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span

    def __str__(self) -> str:
        return f"{self.message} (bytes {self.span})" if self.span else self.message


class UsageError(ShardError):
    """What was asked for makes no sense here: a malformed key, an unknown format name, an impossible option."""


class NotAShard(ShardError):
    """No format recognises the bytes.

    Attributes:
        candidates: One sentence for each format that came near.
    """

    def __init__(self, message: str, *, candidates: tuple[str, ...] = (), span: Span | None = None) -> None:
        super().__init__(message, span=span)
        self.candidates = candidates


class FormatError(ShardError):
    """The bytes break a rule of their format."""


class Truncated(FormatError):
    """The bytes end before the structure does."""


class BadMagic(FormatError):
    """A magic number is not there."""


class BadChecksum(FormatError):
    """A stored digest and the computed one differ."""


class Unsupported(FormatError):
    """Known, but refused: another version, another family, a codec that no library here decodes."""


class KeyAbsent(ShardError):
    """The key is not in the shard.

    Attributes:
        key: The key, in the text form of the format.
    """

    def __init__(self, key: str, message: str = "", *, span: Span | None = None) -> None:
        super().__init__(message or f"not in this shard: {key}", span=span)
        self.key = key


class SourceError(ShardError):
    """The bytes cannot be had: a file is gone or shrank, the network fails, credentials are refused."""


class ExternalMissing(SourceError):
    """Bytes that the shard keeps outside itself (a xorb, a BigFile) are not where they should be."""


class SourceChanged(SourceError):
    """The bytes were replaced while they were open; what was read before no longer holds."""


class LimitExceeded(ShardError):
    """More bytes than the limit allows: one decoded object over 1 GiB unless asked for."""
