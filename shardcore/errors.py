"""Every failure of shardcore, and the place in the file that it belongs to.

Nothing but these errors (and `Cancelled`, which is nobody's fault) leaves the library, whatever the input.
"""

from __future__ import annotations

import errno
from enum import Enum
from typing import Any

from shardcore.model.span import Span
from shardcore.model.text import short, without_secrets

LONGEST_KEY = 200
"""Letters of a key that a sentence shows as it is."""


def shown_key(key: str) -> str:
    return key if len(key) <= LONGEST_KEY else short(key, LONGEST_KEY)


class Remedy(Enum):
    """Remedy for a failure; the value is for programs. The command line names its options instead."""

    DELETED = "open with deleted=True to read it"
    XORBS = "name the folder that contains them (xorbs=)"
    SPEC = "give the specification (spec=), or one of the files"
    LIMIT = "a higher limit allows it"
    WORK = "shardcore.allowing(…) allows more"
    REPLACE = "it is replaced with force=True"
    HARD_LINKS = "all of its names are edited with hard_links=True; else copy it"
    JOURNAL = "trust=True uses it; check first where it comes from"
    FINISH = "write into it again with force=True, which finishes that first"
    KEYS = "another rule makes keys that fit (keys=)"
    DEDUPE = "keys are unique in a shard: with dedupe=True one of equal objects is kept"
    NAMES = "a manifest gives other keys (manifest=), or skip such inputs (skip_unreadable=True)"
    SKIP = "skip_unreadable=True leaves it out"
    DATE = 'give the time, such as date="2026-03-05T09:30:00+00:00"'
    PROFILE = "the request was not signed: name a profile (RemoteOptions(profile=…)) that may read it"
    RIGHTS = "ask its owner for the right to read it, or try another profile, or anonymous=True"
    PAYER = "ask its owner for the right to read it; where readers pay, RemoteOptions(requester_pays=True)"
    LOGIN = "give a login: in the address (https://user:password@host/…), in headers.toml, or in HF_TOKEN for hf://"
    OTHER_LOGIN = "check the user and password, the token or the keys"
    WRITE_PROFILE = "the request was not signed: name a profile (RemoteOptions(profile=…)) that may write it"
    WRITE_RIGHTS = "ask its owner for the right to write it, or try another profile"
    UNCONDITIONAL = "force=True writes without the condition, and replaces existing objects"
    RENEW = "renew the credentials, then open it again"
    CLOCK = "set the clock of this machine"
    REGION = "name the region (RemoteOptions(region=…))"
    LIMIT_FETCH = "a higher limit_fetch allows it"
    LIMIT_REQUESTS = "a higher limit_requests allows it"
    COPY = "copy it here first"
    REOPEN = "open it again"
    AGAIN = "try again later"
    TRUST = "name the certificates to trust in SSL_CERT_FILE or AWS_CA_BUNDLE"
    PROXY = "look at HTTPS_PROXY and NO_PROXY"
    STORE = "if you trust the file, name the store or the folder in RemoteOptions(trusted=…)"
    HOST = "look at the address, and at the network of this machine"


class Cancelled(BaseException):
    """Raised by a `progress` callable to stop a long operation; `except Exception` does not swallow it."""


class ShardError(Exception):
    """Any failure of shardcore.

    Attributes:
        message: One sentence; addresses in it have no login and no query.
        span: Where in the file, when the failure has a place.
        remedy: What would help, where the caller can do something.
    """

    remedy: Remedy | None = None

    def __init__(self, message: str, *, span: Span | None = None, remedy: Remedy | None = None) -> None:
        message = without_secrets(message)
        super().__init__(message)
        self.message = message
        self.span = span
        if remedy is not None:
            self.remedy = remedy

    @property
    def placed(self) -> str:
        """The message and the place, without a remedy."""
        return f"{self.message} ({self.span})" if self.span else self.message

    def __str__(self) -> str:
        return f"{self.placed}; {self.remedy.value}" if self.remedy else self.placed


class UsageError(ShardError):
    """Misuse: a malformed key, an unknown format name, an impossible option."""


class PackageMissing(UsageError):
    """A package that only this needs is not installed; the message has the command that installs it."""


MOST_NAMED = 8
"""Stores that a question lists."""


class StoreUntrusted(UsageError):
    """A file names stores that you have not agreed to. No request was sent to them.

    Attributes:
        file: The name of the file.
        stores: Their addresses, as `RemoteOptions.trusted` takes them.
        who: How requests would be signed: `as profile lab`, `anonymously`.
    """

    remedy = Remedy.STORE

    def __init__(
        self,
        message: str = "",
        *,
        file: str = "",
        stores: tuple[str, ...] = (),
        who: str = "",
        span: Span | None = None,
        remedy: Remedy | None = None,
    ) -> None:
        self.file, self.stores, self.who = file, stores, who
        what = "a store; no request was sent to" if who else "a folder elsewhere; nothing was opened in"
        text = message or f"{file} names {what} {self._listed}"
        super().__init__(text, span=span, remedy=remedy)

    @property
    def question(self) -> str:
        """Return the question that `yes` answers, in one sentence."""
        return f"Connect to {self._listed} {self.who}?" if self.who else f"Open {self._listed}?"

    @property
    def _listed(self) -> str:
        more = f" and {len(self.stores) - MOST_NAMED:,} more" if len(self.stores) > MOST_NAMED else ""
        return ", ".join(self.stores[:MOST_NAMED]) + more


class SpaceUnchosen(UsageError):
    """A folder has several key spaces: one of them has to be opened.

    Attributes:
        address: Address of the first of them.
    """

    def __init__(
        self, message: str, *, address: str = "", span: Span | None = None, remedy: Remedy | None = None
    ) -> None:
        self.address = address
        super().__init__(message, span=span, remedy=remedy)


class LayerUnchosen(UsageError):
    """A link of Neuroglancer has several layers with precomputed sources: one of them has to be chosen.

    Attributes:
        layers: Names and addresses of the layers, in the order of the link.
    """

    def __init__(
        self,
        message: str = "",
        *,
        layers: tuple[tuple[str, str], ...] = (),
        span: Span | None = None,
        remedy: Remedy | None = None,
    ) -> None:
        self.layers = layers
        text = message or f"this link of Neuroglancer has {len(layers)} precomputed layers; open one of them"
        super().__init__(text, span=span, remedy=remedy)


class NotAShard(ShardError):
    """No format recognises the bytes.

    Attributes:
        candidates: One sentence per format that came near.
        is_other: Whether the bytes are known to be no shard, whatever the format: an empty file, a web page.
    """

    def __init__(
        self,
        message: str,
        *,
        candidates: tuple[str, ...] = (),
        span: Span | None = None,
        remedy: Remedy | None = None,
        is_other: bool = False,
    ) -> None:
        super().__init__(message, span=span, remedy=remedy)
        self.candidates = candidates
        self.is_other = is_other


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


class KeyAbsent(ShardError, KeyError):
    """The key is not in the shard; a `KeyError`, as `shard[key]` of a mapping raises it.

    Attributes:
        key: The key, in the text form of the format.
    """

    def __init__(self, key: str, message: str = "", *, span: Span | None = None) -> None:
        super().__init__(message or f"not in this shard: {shown_key(key)}", span=span)
        if not message:
            # A key may look like an address.
            self.message = f"not in this shard: {shown_key(key)}"
        self.key = key


class SourceError(ShardError):
    """The bytes cannot be read: a file is gone or shrank, the network fails, credentials are refused.

    Attributes:
        partial: Result of an operation that it ended: the `Report` of `verify`, the `Salvage` of `salvage`.
    """

    partial: Any = None


class ExternalMissing(SourceError):
    """Bytes that the shard keeps outside itself (a xorb, a BigFile) are not where they should be."""


class SourceChanged(SourceError):
    """The bytes were replaced while they were open; what was read before no longer holds."""


class OutOfResources(SourceError):
    """The system refused: too many open files, or not enough memory. The file is not the cause."""


class RemoteError(SourceError):
    """Bytes of another machine cannot be read. No message has a query, a login or a key in it.

    Attributes:
        status: The answer of the server, such as 403; 0 when there was none.
    """

    def __init__(
        self, message: str, *, status: int = 0, span: Span | None = None, remedy: Remedy | None = None
    ) -> None:
        super().__init__(message, span=span, remedy=remedy)
        self.status = status

    def again(self) -> RemoteError:
        """Return a copy of an error for another caller: the traceback of the first keeps objects alive."""
        return type(self)(self.message, status=self.status, remedy=self.remedy)


class NoSuchObject(RemoteError):
    """There is no such bucket, key or file."""


class CannotList(RemoteError):
    """The server opens what is named, and lists nothing."""


class Forbidden(RemoteError):
    """The server does not let us read it. Stores that may not be listed answer so for what is absent, too."""


class CredentialsRefused(RemoteError):
    """There are no credentials of that name, or they are unknown, wrong or expired."""


class ClockSkewed(RemoteError):
    """The clock of this machine is too far from the server's for a signed request."""


class WrongRegion(RemoteError):
    """The bucket is in another region, and the server does not state in which."""


class RangeRefused(RemoteError):
    """The server does not answer with the bytes that were requested: the whole file, others, or encoded ones."""


class ConnectionFailed(RemoteError):
    """No answer, or not all of it, after all attempts."""


class TimedOut(ConnectionFailed):
    """Nothing came for too long."""


class HostUnknown(ConnectionFailed):
    """The name of the server has no address."""


class TlsFailed(ConnectionFailed):
    """The server cannot prove who it is, or speaks no TLS."""


class ProxyFailed(ConnectionFailed):
    """The proxy that the environment names does not serve."""


class ServerFailed(RemoteError):
    """The server states that it cannot answer: 5xx, or too many requests."""


class BudgetSpent(RemoteError):
    """More requests or bytes than the caller allowed."""


class LargeRead(BudgetSpent):
    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        span: Span | None = None,
        remedy: Remedy | None = None,
        size: int = 0,
    ) -> None:
        super().__init__(message, status=status, span=span, remedy=remedy)
        self.size = size


_REFUSED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
_UNREAD = frozenset({errno.EIO, errno.EINTR, errno.EAGAIN, errno.EBUSY, errno.ETIMEDOUT, getattr(errno, "ESTALE", -1)})


def failed(what: str, error: Exception) -> SourceError:
    kind = OutOfResources if isinstance(error, OSError) and error.errno in _REFUSED else SourceError
    return kind(f"{what}: {reason_of(error)}")


def says_absent(error: SourceError) -> bool:
    cause = error.__cause__
    if isinstance(error, (SourceChanged, OutOfResources)) or (isinstance(cause, OSError) and cause.errno in _UNREAD):
        return False
    return not isinstance(error, RemoteError) or isinstance(error, (NoSuchObject, Forbidden, CannotList))


def ends_reading(error: ShardError) -> bool:
    return isinstance(error, SourceChanged) or source_lost(error)


def source_lost(error: BaseException) -> bool:
    if isinstance(error, OutOfResources):
        return True
    return isinstance(error, RemoteError) and not isinstance(error, (NoSuchObject, Forbidden, CannotList, RangeRefused))


DEFAULT_LIMIT = 1 << 30
"""One decoded object is at most this many bytes, unless requested."""


class LimitExceeded(ShardError):
    """More bytes than the limit allows: one decoded object over 1 GiB unless requested."""

    remedy: Remedy | None = Remedy.LIMIT


def reason_of(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
