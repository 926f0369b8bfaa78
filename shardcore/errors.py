"""Errors of shardcore and their location in the file.

For any input, the library raises only these errors and `Cancelled`.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, TypedDict, TypeVar, Unpack

from shardcore.model.span import Span
from shardcore.model.text import short, without_secrets

LONGEST_KEY = 200
"""Maximum number of characters of a key that a message shows."""


def shown_key(key: str) -> str:
    return key if len(key) <= LONGEST_KEY else short(key, LONGEST_KEY)


class Remedy(Enum):
    """Advice to the user for an error. The values name Python arguments; the command line has its own texts."""

    DELETED = "open with deleted=True to read it"
    XORBS = "name the folder that contains them (xorbs=)"
    SPEC = "give the specification (spec=), or one of the files"
    LIMIT = "raise the limit"
    WORK = "raise the limit with shardcore.allowing(…)"
    REPLACE = "pass force=True to replace it"
    HARD_LINKS = "pass hard_links=True to edit it under all its names, or edit a copy"
    JOURNAL = "check its origin, then pass trust=True to use it"
    FINISH = "write to it again with force=True to finish that first"
    KEYS = "choose another key rule (keys=)"
    DEDUPE = "keys must be unique: pass dedupe=True to keep one of equal objects"
    NAMES = "give other keys in a manifest (manifest=), or skip such inputs (skip_unreadable=True)"
    SKIP = "pass skip_unreadable=True to skip it"
    DATE = 'give the time, such as date="2026-03-05T09:30:00+00:00"'
    PROFILE = "the request was not signed: name a profile (RemoteOptions(profile=…)) that may read it"
    RIGHTS = "ask its owner for read access, or try another profile or anonymous=True"
    PAYER = "ask its owner for read access; if readers pay, set RemoteOptions(requester_pays=True)"
    LOGIN = "give a login: in the address (https://user:password@host/…), in headers.toml, or in HF_TOKEN for hf://"
    OTHER_LOGIN = "check the user and password, the token or the keys"
    WRITE_PROFILE = "the request was not signed: name a profile (RemoteOptions(profile=…)) that may write it"
    WRITE_RIGHTS = "ask its owner for write access, or try another profile"
    UNCONDITIONAL = "pass force=True to overwrite it unconditionally"
    RENEW = "renew the credentials, then open it again"
    CLOCK = "set the clock of this machine"
    REGION = "name the region (RemoteOptions(region=…))"
    LIMIT_FETCH = "raise limit_fetch"
    LIMIT_REQUESTS = "raise limit_requests"
    COPY = "copy it to this machine first"
    REOPEN = "open it again"
    AGAIN = "try again later"
    TRUST = "set SSL_CERT_FILE or AWS_CA_BUNDLE to the certificates to trust"
    PROXY = "check HTTPS_PROXY and NO_PROXY"
    STORE = "if you trust the file, name the store or the folder in RemoteOptions(trusted=…)"
    HOST = "check the address and your network"


class Cancelled(BaseException):
    """Raised by a `progress` callable to stop a long operation; `except Exception` does not catch it."""


class Place(TypedDict, total=False):
    """Keyword arguments that subclasses pass on to `ShardError`."""

    span: Span | None
    remedy: Remedy | None


class ShardError(Exception):
    """Base class of the errors of shardcore.

    Attributes:
        message: One sentence. Addresses in it have no credentials and no query.
        span: Location in the file, if there is one.
        remedy: Advice to the user; None if there is none.
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
        """Return the message with its location, without the remedy."""
        return f"{self.message} ({self.span})" if self.span else self.message

    def __str__(self) -> str:
        return f"{self.placed}; {self.remedy.value}" if self.remedy else self.placed


class UsageError(ShardError):
    """Wrong use: a malformed key, an unknown format name, an option that cannot be used."""


class TargetExists(UsageError, FileExistsError):
    """The file to write exists. Also a `FileExistsError`, as for `open(path, "x")`."""


class InvalidIndex(UsageError, IndexError):
    """An index of an array is out of range or not supported. Also an `IndexError`, as for any array."""


class NotAnArray(UsageError, AttributeError):
    """A shard that is not one array has no `shape` or `dtype`. Also an `AttributeError`, so `hasattr` returns False."""


class PackageMissing(UsageError):
    """An optional package is not installed; the message contains the command that installs it."""


MOST_NAMED = 8
"""Maximum number of stores listed in a message."""


class StoreUntrusted(UsageError):
    """A file refers to stores that you have not trusted. No request was sent to them.

    Attributes:
        file: Name of the file.
        stores: Addresses, as in `RemoteOptions.trusted`.
        who: Identity that would sign the requests, such as `as profile lab`; empty for a local folder.
    """

    remedy = Remedy.STORE

    def __init__(
        self,
        message: str = "",
        *,
        file: str = "",
        stores: tuple[str, ...] = (),
        who: str = "",
        **place: Unpack[Place],
    ) -> None:
        self.file, self.stores, self.who = file, stores, who
        what = "an untrusted store; no request was sent to" if who else "an untrusted folder, which was not opened:"
        text = message or f"{file} refers to {what} {self._listed}"
        super().__init__(text, **place)

    @property
    def question(self) -> str:
        """The question to ask before the stores are trusted."""
        return f"Connect to {self._listed} {self.who}?" if self.who else f"Open {self._listed}?"

    @property
    def _listed(self) -> str:
        more = f" and {len(self.stores) - MOST_NAMED:,} more" if len(self.stores) > MOST_NAMED else ""
        return ", ".join(self.stores[:MOST_NAMED]) + more


class SpaceUnchosen(UsageError):
    """A folder contains several data sets with separate keys, and one must be chosen.

    Attributes:
        address: Address of the first of these data sets.
    """

    def __init__(self, message: str, *, address: str = "", **place: Unpack[Place]) -> None:
        self.address = address
        super().__init__(message, **place)


class LayerUnchosen(UsageError):
    """A Neuroglancer link has several layers with precomputed sources, and one must be chosen.

    Attributes:
        layers: Names and addresses of the layers, in the order of the link.
    """

    def __init__(self, message: str = "", *, layers: tuple[tuple[str, str], ...] = (), **place: Unpack[Place]) -> None:
        self.layers = layers
        text = message or f"this Neuroglancer link has {len(layers)} precomputed layers; open one of them"
        super().__init__(text, **place)


class NotAShard(ShardError):
    """No format recognises the bytes.

    Attributes:
        candidates: One sentence per format that matched in part.
        is_other: Whether the bytes certainly belong to no shard format: an empty file, a web page.
    """

    def __init__(
        self, message: str, *, candidates: tuple[str, ...] = (), is_other: bool = False, **place: Unpack[Place]
    ) -> None:
        super().__init__(message, **place)
        self.candidates = candidates
        self.is_other = is_other


class FormatError(ShardError):
    """The bytes violate a rule of their format."""


class Truncated(FormatError):
    """The bytes end before the structure is complete."""


class BadMagic(FormatError):
    """The magic number is missing or wrong."""


class BadChecksum(FormatError):
    """A stored checksum or digest differs from the computed one."""


class Unsupported(FormatError):
    """The format is recognised, but shardcore does not support its version, variant or codec."""


class KeyAbsent(ShardError, KeyError):
    """The key is not in the shard. Also a `KeyError`, as for any Python mapping.

    Attributes:
        key: The key, in the text form of the format.
    """

    def __init__(self, key: str, message: str = "", *, span: Span | None = None) -> None:
        super().__init__(message or f"not in this shard: {shown_key(key)}", span=span)
        if not message:
            # A key may look like an address.
            self.message = f"not in this shard: {shown_key(key)}"
        self.key = key


class SourceError(ShardError, OSError):
    """The bytes cannot be read: a file is missing or shrank, the network fails, credentials are refused.

    Also an `OSError`, as for `open` of Python.

    Attributes:
        partial: Result before the error: a `Report` of `verify`, a `Salvage` of `salvage`; else None.
    """

    partial: Any = None
    _number: int | None = None

    @property
    def errno(self) -> int | None:
        """Number of the error in the module `errno`; None if the operating system reported none."""
        cause = self.__cause__
        return cause.errno if isinstance(cause, OSError) else self._number

    @errno.setter
    def errno(self, number: int | None) -> None:
        # Needed to copy the error to another process: that sets each attribute.
        self._number = number


class MissingFile(SourceError, FileNotFoundError):
    """There is no such file or folder. Also a `FileNotFoundError`, as for `open` of Python."""


class ExternalMissing(SourceError):
    """Bytes that are stored outside the shard (a xorb, a BigFile) were not found."""


class SourceChanged(SourceError):
    """The file was changed or replaced while it was open. Bytes that were read before are no longer valid."""


class OutOfResources(SourceError):
    """The operating system ran out of file descriptors or memory. The file is not the cause."""


class RemoteError(SourceError):
    """Bytes on another machine cannot be read. No message contains a query, a login or a key.

    Attributes:
        status: HTTP status, such as 403; 0 without a response.
    """

    def __init__(self, message: str, *, status: int = 0, **place: Unpack[Place]) -> None:
        super().__init__(message, **place)
        self.status = status

    def again(self) -> RemoteError:
        """Return a copy to raise in another thread, because the traceback of the original keeps objects alive."""
        return type(self)(self.message, status=self.status, remedy=self.remedy)


class NoSuchObject(RemoteError):
    """The bucket, key or file does not exist."""

    _number = errno.ENOENT


class CannotList(RemoteError):
    """The server returns single files but cannot list them."""


class Forbidden(RemoteError):
    """Access is denied. A store that denies listing also returns this status for a missing key."""

    _number = errno.EACCES


class CredentialsRefused(RemoteError):
    """The credentials are missing, unknown, wrong or expired."""


class ClockSkewed(RemoteError):
    """The local clock differs too much from the server's for a signed request."""


class WrongRegion(RemoteError):
    """The bucket is in another region than the one to which the request was sent."""


class RangeRefused(RemoteError):
    """The server did not return the requested range, but the whole file, other bytes, or encoded bytes."""


class ConnectionFailed(RemoteError):
    """All attempts to send a request ended without a complete response."""


class TimedOut(ConnectionFailed):
    """No data arrived within the timeout."""


class HostUnknown(ConnectionFailed):
    """The host name cannot be resolved to an address."""


class TlsFailed(ConnectionFailed):
    """The certificate of the server is not trusted, or the server does not speak TLS."""


class ProxyFailed(ConnectionFailed):
    """The proxy set by environment variables does not work."""


class ServerFailed(RemoteError):
    """The server cannot answer: status 5xx, or too many requests."""


class BudgetSpent(RemoteError):
    """A limit that the caller set for requests or bytes is exceeded (`limit_requests`, `limit_fetch`)."""


class LargeRead(BudgetSpent):
    """A read needs `size` bytes, more than may be fetched without asking the user; see `sources.base.at_most`."""

    def __init__(self, message: str, *, status: int = 0, size: int = 0, **place: Unpack[Place]) -> None:
        super().__init__(message, status=status, **place)
        self.size = size


_REFUSED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
_UNREAD = frozenset({errno.EIO, errno.EINTR, errno.EAGAIN, errno.EBUSY, errno.ETIMEDOUT, getattr(errno, "ESTALE", -1)})


def failed(what: str, error: Exception) -> SourceError:
    kind = OutOfResources if isinstance(error, OSError) and error.errno in _REFUSED else SourceError
    kind = MissingFile if isinstance(error, FileNotFoundError) else kind
    found = kind(f"{what}: {reason_of(error)}")
    found.errno = getattr(error, "errno", None)
    return found


@contextmanager
def reported_as(what: str) -> Iterator[None]:
    """Convert errors of the operating system and of invalid paths to `SourceError`, with the message `what: reason`."""
    try:
        yield
    except ShardError:
        raise
    except (OSError, ValueError) as error:
        raise failed(what, error) from error


E = TypeVar("E", bound="ShardError")


def detached(error: E) -> E:
    """Remove traceback and causes from an error that is stored: they would keep open files and contents in memory."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def says_absent(error: SourceError) -> bool:
    """Return whether an error means that the file does not exist; a failing or slow server does not prove that."""
    cause = error.__cause__
    if isinstance(error, (SourceChanged, OutOfResources)) or (isinstance(cause, OSError) and cause.errno in _UNREAD):
        return False
    return not isinstance(error, RemoteError) or isinstance(error, (NoSuchObject, Forbidden, CannotList))


def raise_unless_absent(error: SourceError) -> None:
    if not says_absent(error):
        raise error


def ends_reading(error: ShardError) -> bool:
    return isinstance(error, SourceChanged) or source_lost(error)


def raise_if_ended(error: ShardError) -> None:
    if ends_reading(error):
        raise error


def source_lost(error: BaseException) -> bool:
    """Return True if all further reads would fail: the server fails, a limit is reached, or memory or files run out.

    Errors about one file (403, 404, no ranges) do not count: other files can still be read.
    """
    if isinstance(error, OutOfResources):
        return True
    return isinstance(error, RemoteError) and not isinstance(error, (NoSuchObject, Forbidden, CannotList, RangeRefused))


def raise_if_lost(error: ShardError) -> None:
    if source_lost(error):
        raise error


DEFAULT_LIMIT = 1 << 30
"""Default for the maximum bytes of one decoded object."""


class LimitExceeded(ShardError):
    """An object or result has more bytes than a limit allows. The default limit is 1 GiB per decoded object."""

    remedy: Remedy | None = Remedy.LIMIT


def reason_of(error: Exception) -> str:
    """Return the message of an error; for an `OSError` without its number and path."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
