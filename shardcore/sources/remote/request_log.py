"""Request log: every request for an open shard, with bytes and times."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from shardcore.dataclasses import asdict, dataclass, replace
from shardcore.model.text import plural, size_text
from shardcore.sources.base import PurposeAt, ReadPurpose

CANCELLED = "cancelled"

KEPT = 100_000
"""Maximum number of records in the log. The totals count all requests."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, or one read from the cache.

    Attributes:
        at: Seconds since the start of the log.
        method: `GET`, `HEAD` or `PUT`.
        address: Address without secrets.
        start: First requested byte; None without a range.
        stop: End of the range, exclusive.
        purpose: Purpose of the read.
        bytes: Bytes of content received.
        wait: Seconds until the response began.
        transfer: Seconds from the beginning of the response to its end.
        status: HTTP status; 0 without a response.
        retry: Number of the attempt; 0 for the first.
        cached: Whether the bytes came from the cache, without a request.
        error: Error message; empty on success.
    """

    at: float
    method: str
    address: str
    start: int | None
    stop: int | None
    purpose: ReadPurpose
    bytes: int = 0
    wait: float = 0.0
    transfer: float = 0.0
    status: int = 0
    retry: int = 0
    cached: bool = False
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the line for this request in a log file."""
        found = asdict(self)
        found["purpose"] = self.purpose.value
        for name in ("at", "wait", "transfer"):
            found[name] = round(found[name], 6)
        return found


@dataclass(frozen=True, slots=True)
class LogShare:
    """Content of a request log from another process. `counts` are requests, bytes, sent, hits and retries."""

    records: tuple[Request, ...]
    notes: tuple[str, ...]
    sizes: dict[str, int]
    counts: tuple[int, int, int, int, int]


class RequestLog:
    """Requests for one open shard, in the order in which they ended. Thread-safe.

    Attributes:
        requests: Number of requests.
        bytes: Bytes of content received.
        sent: Bytes sent.
        hits: Number of reads from the cache.
        retries: Number of requests that were retries.

    Args:
        on_note: Receives urgent notes immediately, in any thread.
    """

    def __init__(self, on_note: Callable[[str], None] | None = None) -> None:
        self._on_note = on_note
        self._lock = threading.RLock()
        self._began = time.monotonic()
        self._records: deque[Request] = deque(maxlen=KEPT)
        self._sizes: dict[str, int] = {}
        self._notes: dict[str, None] = {}
        self._purposes: dict[str, PurposeAt] = {}
        # Numbers of records without a known purpose, by address.
        self._unnamed: dict[str, list[int]] = {}
        self._added = 0
        self.requests = self.bytes = self.sent = self.hits = self.retries = 0

    @property
    def now(self) -> float:
        """Seconds since the start of the log."""
        return time.monotonic() - self._began

    @property
    def records(self) -> tuple[Request, ...]:
        """The last records, at most `KEPT`."""
        with self._lock:
            return tuple(self._records)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that are not errors, such as a file to which access is denied; without repetitions."""
        with self._lock:
            return tuple(self._notes)

    @property
    def full_size(self) -> int:
        """Total size of all files that were read, for comparison with a full download."""
        with self._lock:
            return sum(self._sizes.values())

    @property
    def files(self) -> int:
        """Number of files that were read; a full download would need one request for each."""
        with self._lock:
            return len(self._sizes)

    def add(self, record: Request) -> None:
        """Append a record and update the totals."""
        with self._lock:
            self._records.append(record)
            if record.purpose is ReadPurpose.INDEX and record.address not in self._purposes:
                self._unnamed.setdefault(record.address, []).append(self._added)
            self._added += 1
            if record.cached:
                self.hits += 1
            else:
                self.requests += 1
                if record.method == "PUT":
                    self.sent += record.bytes
                else:
                    self.bytes += record.bytes
                self.retries += bool(record.retry)

    def share(self) -> LogShare:
        """Return the content, for `merge` of another log."""
        with self._lock:
            counts = (self.requests, self.bytes, self.sent, self.hits, self.retries)
            return LogShare(tuple(self._records), tuple(self._notes), dict(self._sizes), counts)

    def merge(self, share: LogShare) -> None:
        """Add the content of another log; its times stay relative to its own start."""
        with self._lock:
            self._records.extend(share.records)
            self._added += len(share.records)
            self._notes |= dict.fromkeys(share.notes)
            self._sizes |= share.sizes
            requests, came, sent, hits, retries = share.counts
            self.requests += requests
            self.bytes += came
            self.sent += sent
            self.hits += hits
            self.retries += retries

    def note(self, text: str, *, urgent: bool = False) -> None:
        """Add a note; repetitions are dropped."""
        with self._lock:
            new = text not in self._notes
            self._notes[text] = None
        if new and urgent and self._on_note is not None:
            self._on_note(text)

    def learn_size(self, address: str, size: int) -> None:
        """Set the size of a file that was read, for `full_size`."""
        with self._lock:
            self._sizes[address] = size

    def learn_purposes(self, address: str, at: PurposeAt) -> None:
        """Set the function that returns the purpose of a read at an offset in a file; updates its earlier records."""
        with self._lock:
            self._purposes[address] = at
            # Called per shard of a data set: examining all records each time would be quadratic.
            first = self._added - len(self._records)
            for number in self._unnamed.pop(address, ()):
                if number < first:
                    continue
                record = self._records[number - first]
                known = self.purpose_of(address, record.start)
                if known is not None:
                    self._records[number - first] = replace(record, purpose=known)

    def purpose_of(self, address: str, start: int | None) -> ReadPurpose | None:
        """Return the purpose of a read at an offset of a file; None if unknown."""
        with self._lock:
            at = self._purposes.get(address)
            return at(start) if at is not None and start is not None else None

    def summary(self) -> str:
        """Return one line: requests and bytes, compared with a full download."""
        if not self.requests:
            return "no requests"
        if not self.files:
            size = f"{size_text(self.sent)} sent" if self.sent else size_text(self.bytes)
            return f"{plural(self.requests, 'request')}, {size}"
        full = self.full_size
        hits = f", {plural(self.hits, 'read')} from the cache" if self.hits else ""
        again = f" ({plural(self.retries, 'retry', 'retries')})" if self.retries else ""
        whole = f"; a full download would have been {plural(self.files, 'request')}, {size_text(full)}"
        return f"{plural(self.requests, 'request')}{again}, {size_text(self.bytes)} of {size_text(full)}{hits}{whole}"

    def lines(self) -> str:
        """Return all records as JSON lines."""
        return "".join(json.dumps(record.to_json(), ensure_ascii=True) + "\n" for record in self.records)
