"""Prices of requests and bytes, and the totals of a request log as text. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from shardcore.model.number_words import plural, size_text

GIGABYTE = 1_000_000_000
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


@dataclass(frozen=True, slots=True)
class Price:
    """Prices of a store, in US dollars.

    Attributes:
        name: Whose price it is, and for what.
        reads: For a thousand requests that read.
        listings: For a thousand requests that list.
        gigabyte: For 10^9 bytes that leave the store.
    """

    name: str
    reads: float
    listings: float
    gigabyte: float

    def of(self, requests: int, size: int, listings: int = 0) -> float:
        """Return what so many requests cost, of which some list, and so many bytes."""
        asked = ((requests - listings) * self.reads + listings * self.listings) / 1000
        return asked + size * self.gigabyte / GIGABYTE


PRICES = (
    Price("Amazon S3, to the internet", 0.0004, 0.005, 0.09),
    Price("Amazon S3, within its region", 0.0004, 0.005, 0.0),
    Price("Google Cloud Storage, to the internet", 0.0004, 0.005, 0.12),
    Price("No charge", 0.0, 0.0, 0.0),
)
"""Published prices of the first tier in November 2026, as an order of magnitude; the settings hold which one counts."""


def price_called(name: str) -> Price:
    """Return the prices of that name; the first of the list if there are none."""
    return next((one for one in PRICES if one.name == name), PRICES[0])


def money_text(amount: float) -> str:
    """Return an amount in dollars with two digits that count: `$0.0000016`, `$9.00`."""
    if amount <= 0:
        return "$0"
    # Binary fractions have digits that nobody meant.
    return f"${amount:,.2f}" if amount >= 0.01 else f"${Decimal(f'{amount:.2g}'):f}"


def seconds_text(seconds: float) -> str:
    """Return a duration: `0.45 s`, `12 s`, `3 min 20 s`, `2 h 13 min`, `9 days`."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    if whole < 2 * _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return plural(whole // _DAY, "day")


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of a request log.

    Attributes:
        requests: Number of requests.
        size: Bytes received.
        busy: Seconds during which at least one request was open.
        listings: Number of requests that list.
        files: Number of files that were read from.
        full: Size of these files in bytes.
        round_trips: Number of requests that had to wait for one another.
        hits: Number of reads that the cache answered.
    """

    requests: int
    size: int
    busy: float
    listings: int = 0
    files: int = 0
    full: int = 0
    round_trips: int = 0
    hits: int = 0

    def spent(self, price: Price) -> str:
        """Return what was fetched, in one line."""
        of = f" of {size_text(self.full)}" if self.full else ""
        cost = money_text(price.of(self.requests, self.size, self.listings))
        fetched = f"{plural(self.requests, 'request')} · {size_text(self.size)}{of}"
        trips = f" · {plural(self.round_trips, 'round trip')}" if self.round_trips else ""
        cached = f" · {100 * self.hits // (self.requests + self.hits)} % of reads from the cache" if self.hits else ""
        return f"{fetched}{trips} · {seconds_text(self.busy)} · about {cost}{cached}"

    def download(self, price: Price) -> str:
        """Return what a full download would be, in one line."""
        cost = money_text(price.of(self.files, self.full))
        many = f"{plural(self.files, 'request')} · " if self.files > 1 else ""
        return f"{many}{size_text(self.full)} · about {cost}"
