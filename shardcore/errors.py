"""Every failure of shardcore, and the place in the file that it belongs to.

Nothing but these errors (and `Cancelled`, which is nobody's fault) leaves the library, whatever the input.
"""

from __future__ import annotations

from enum import Enum

from shardcore.span import Span


class Remedy(Enum):
    """What would help against a failure; the value says it to a program. The command line names its flags instead."""

    DELETED = "open with deleted=True to read it"
    XORBS = "name the folder that holds them (xorbs=)"
    SPEC = "give the specification (spec=), or one of the files"
    LIMIT = "a higher limit allows it"
    REPLACE = "it is replaced with force=True"
    KEYS = "another rule makes keys that fit (keys=)"


class Cancelled(BaseException):
    """Raised by a `progress` callable to stop a long operation; `except Exception` does not swallow it."""


class ShardError(Exception):
    """Any failure of shardcore.

    Attributes:
        message: One sentence.
        span: Where in the file, when the failure has a place.
        remedy: What would help, where the caller can do something.
    """

    remedy: Remedy | None = None

    def __init__(self, message: str, *, span: Span | None = None, remedy: Remedy | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        if remedy is not None:
            self.remedy = remedy

    @property
    def placed(self) -> str:
        """The message and the place, without a remedy."""
        return f"{self.message} (bytes {self.span})" if self.span else self.message

    def __str__(self) -> str:
        return f"{self.placed}; {self.remedy.value}" if self.remedy else self.placed


class UsageError(ShardError):
    """What was asked for makes no sense here: a malformed key, an unknown format name, an impossible option."""


class NotAShard(ShardError):
    """No format recognises the bytes.

    Attributes:
        candidates: One sentence for each format that came near.
    """

    def __init__(
        self,
        message: str,
        *,
        candidates: tuple[str, ...] = (),
        span: Span | None = None,
        remedy: Remedy | None = None,
    ) -> None:
        super().__init__(message, span=span, remedy=remedy)
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


DEFAULT_LIMIT = 1 << 30
"""One decoded object is at most this many bytes, unless asked for."""


class LimitExceeded(ShardError):
    """More bytes than the limit allows: one decoded object over 1 GiB unless asked for."""

    remedy = Remedy.LIMIT


def reason_of(error: Exception) -> str:
    """What went wrong, in the words of the system; without the error number and the path of an `OSError`."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
