"""The request log: every request that an opened thing made, and what it cost."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from shardcore.model.number_words import plural, size_text
from shardcore.sources.base import PurposeAt
from shardcore.sources.read_purpose import ReadPurpose

CALLED_OFF = "called off"
"""The error of a request that nobody wanted any more."""

KEPT = 100_000
"""Records that a request log keeps; the totals count all."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, or one read that the cache answered.

    Attributes:
        at: Seconds since the request log began.
        method: `GET`, `HEAD` or `PUT`.
        address: What was requested, without secrets.
        start: First byte that was requested; None where no range was.
        stop: One past the last.
        purpose: What it was for.
        bytes: Number of bytes of content received.
        wait: Seconds until the answer began.
        transfer: Seconds until it ended.
        status: What the server answered; 0 when it did not.
        retry: Which attempt it was; 0 for the first.
        cached: Whether the cache answered, without any request.
        error: What went wrong; empty when nothing did.
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
        """As one line of a request log file."""
        found = asdict(self)
        found["purpose"] = self.purpose.value
        for name in ("at", "wait", "transfer"):
            found[name] = round(found[name], 6)
        return found


@dataclass(frozen=True, slots=True)
class LogShare:
    records: tuple[Request, ...]
    notes: tuple[str, ...]
    sizes: dict[str, int]
    counts: tuple[int, int, int, int, int]


class RequestLog:
    """The requests of one opened thing, in the order in which they ended. Thread-safe.

    Attributes:
        requests: Number of requests made.
        bytes: Number of bytes of content received.
        sent: Number of bytes sent.
        hits: Number of reads answered by the cache.
        retries: How many of the requests requested something again.

    Args:
        on_note: Receives urgent notes at once, in whatever thread; None for nothing.
    """

    def __init__(self, on_note: Callable[[str], None] | None = None) -> None:
        self._on_note = on_note
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._records: deque[Request] = deque(maxlen=KEPT)
        self._sizes: dict[str, int] = {}
        self._notes: dict[str, None] = {}
        self._purposes: dict[str, PurposeAt] = {}
        # By address, the numbers of the records that were made while nobody knew what its bytes are for.
        self._unnamed: dict[str, list[int]] = {}
        self._added = 0
        self.requests = self.bytes = self.sent = self.hits = self.retries = 0

    @property
    def now(self) -> float:
        """Seconds since the request log began."""
        return time.monotonic() - self._began

    @property
    def records(self) -> tuple[Request, ...]:
        """The records; of very many the last."""
        with self._lock:
            return tuple(self._records)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what is not an error but should be said once, such as that a neighbour is absent or forbidden."""
        with self._lock:
            return tuple(self._notes)

    @property
    def full_size(self) -> int:
        """The size of everything that was read from: the bytes of a full download."""
        with self._lock:
            return sum(self._sizes.values())

    @property
    def files(self) -> int:
        """Return how many files were read from: the requests of a full download."""
        with self._lock:
            return len(self._sizes)

    def add(self, record: Request) -> None:
        """Keep a record."""
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
        """Return its content, to be merged into another one."""
        with self._lock:
            counts = (self.requests, self.bytes, self.sent, self.hits, self.retries)
            return LogShare(tuple(self._records), tuple(self._notes), dict(self._sizes), counts)

    def merge(self, share: LogShare) -> None:
        """Add the content of another request log; the times of its records are those of its own beginning."""
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
        """Keep a note; the same one is kept once."""
        with self._lock:
            new = text not in self._notes
            self._notes[text] = None
        if new and urgent and self._on_note is not None:
            self._on_note(text)

    def learn_size(self, address: str, size: int) -> None:
        """Report how large a file is that is read from."""
        with self._lock:
            self._sizes[address] = size

    def learn_purposes(self, address: str, at: PurposeAt) -> None:
        """Report what the bytes of a file are for, once it is open; what was read while nobody knew is named again."""
        with self._lock:
            self._purposes[address] = at
            # Of data sets each member says so: looking at all records each time would take the square of the time.
            first = self._added - len(self._records)
            for number in self._unnamed.pop(address, ()):
                if number < first:
                    continue
                record = self._records[number - first]
                known = self._known(address, record.start)
                if known is not None:
                    self._records[number - first] = replace(record, purpose=known)

    def purpose_of(self, address: str, start: int) -> ReadPurpose | None:
        """Return what the bytes at an offset of a file are for; None while nobody said."""
        with self._lock:
            return self._known(address, start)

    def _known(self, address: str, start: int | None) -> ReadPurpose | None:
        at = self._purposes.get(address)
        return at(start) if at is not None and start is not None else None

    def summary(self) -> str:
        """Return what was fetched, beside what a full download would have been, in one line."""
        if not self.requests:
            return "no requests"
        if not self.files:
            size = f"{size_text(self.sent)} sent" if self.sent else size_text(self.bytes)
            return f"{plural(self.requests, 'request')}, {size}"
        full = self.full_size
        hits = f", {plural(self.hits, 'read')} from the cache" if self.hits else ""
        again = f", {self.retries} of them asked again" if self.retries else ""
        whole = f"; a full download would have been {plural(self.files, 'request')}, {size_text(full)}"
        return f"{plural(self.requests, 'request')}{again}, {size_text(self.bytes)} of {size_text(full)}{hits}{whole}"

    def lines(self) -> str:
        """Return all records as JSON lines."""
        return "".join(json.dumps(record.to_json(), ensure_ascii=True) + "\n" for record in self.records)
