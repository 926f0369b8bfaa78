"""Prices of requests and traffic, and totals of a request log as text. No Qt."""

from __future__ import annotations

from shardcore.dataclasses import dataclass
from shardcore.model.text import plural, size_text

GIGABYTE = 1_000_000_000
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


@dataclass(frozen=True, slots=True)
class Price:
    """Prices of a store in US dollars: per 1,000 read requests, per 1,000 list requests, per 10^9 outgoing bytes."""

    name: str
    reads: float
    listings: float
    gigabyte: float

    def of(self, requests: int, size: int, listings: int = 0) -> float:
        """Return the cost in US dollars; `requests` includes `listings`, `size` is in bytes."""
        asked = ((requests - listings) * self.reads + listings * self.listings) / 1000
        return asked + size * self.gigabyte / GIGABYTE


PRICES = (
    Price("Amazon S3, to the internet", 0.0004, 0.005, 0.09),
    Price("Amazon S3, within its region", 0.0004, 0.005, 0.0),
    Price("Google Cloud Storage, to the internet", 0.0004, 0.005, 0.12),
    Price("No charge", 0.0, 0.0, 0.0),
)
"""Published first-tier prices of November 2026, as an order of magnitude."""


def price_called(name: str) -> Price:
    return next((one for one in PRICES if one.name == name), PRICES[0])


def money_text(amount: float) -> str:
    """Return an amount in dollars; below one cent with two significant digits: `$0.0000016`, `$9.00`."""
    if amount <= 0:
        return "$0"
    from decimal import Decimal

    # Decimal avoids the digits of binary fractions.
    return f"${amount:,.2f}" if amount >= 0.01 else f"${Decimal(f'{amount:.2g}'):f}"


def seconds_text(seconds: float) -> str:
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
    """Totals of a request log; `busy` is the seconds with at least one open request, `size` the bytes received.

    `full` is the size of all files. `listings` are part of `requests`; `hits` are reads answered by the cache.
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
        of = f" of {size_text(self.full)}" if self.full else ""
        cost = money_text(price.of(self.requests, self.size, self.listings))
        fetched = f"{plural(self.requests, 'request')} · {size_text(self.size)}{of}"
        trips = f" · {plural(self.round_trips, 'round trip')}" if self.round_trips else ""
        cached = f" · {100 * self.hits // (self.requests + self.hits)} % of reads from the cache" if self.hits else ""
        return f"{fetched}{trips} · {seconds_text(self.busy)} · about {cost}{cached}"

    def download(self, price: Price) -> str:
        cost = money_text(price.of(self.files, self.full))
        many = f"{plural(self.files, 'request')} · " if self.files > 1 else ""
        return f"{many}{size_text(self.full)} · about {cost}"
