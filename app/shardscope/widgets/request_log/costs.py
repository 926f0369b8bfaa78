"""What requests and bytes cost, and how numbers of a tape are said. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from shardcore.model.number_words import plural
from shardcore.sources.remote.request_log import size_text

GIGABYTE = 1_000_000_000
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


@dataclass(frozen=True, slots=True)
class Price:
    """What a store asks, in US dollars.

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
        """What so many requests cost, of which some list, and so many bytes."""
        asked = ((requests - listings) * self.reads + listings * self.listings) / 1000
        return asked + size * self.gigabyte / GIGABYTE


PRICES = (
    Price("Amazon S3, to the internet", 0.0004, 0.005, 0.09),
    Price("Amazon S3, within its region", 0.0004, 0.005, 0.0),
    Price("Google Cloud Storage, to the internet", 0.0004, 0.005, 0.12),
    Price("No charge", 0.0, 0.0, 0.0),
)
"""Published prices of the first tier, as an order of magnitude; the settings hold which one counts."""


OWN = "My prices"
"""The name of what somebody gave: the settings hold the numbers."""


def price_called(name: str, own: Sequence[float] = ()) -> Price:
    """The prices of that name; the first where there are none.

    Args:
        name: See `PRICES` and `OWN`.
        own: What was given: for a thousand requests that read, for a thousand that list, for a gigabyte.
    """
    if name == OWN and len(own) == 3:
        return Price(OWN, *own)
    return next((one for one in PRICES if one.name == name), PRICES[0])


RATES = ((10, "10 Mbit/s"), (100, "100 Mbit/s"), (1_000, "1 Gbit/s"), (10_000, "10 Gbit/s"))
"""Lines that a replay may run on: megabits per second, and how they are called."""


def bytes_per_second(megabits: float) -> float:
    """The rate of a line."""
    return megabits * 1_000_000 / 8


def money_text(amount: float) -> str:
    """An amount in dollars with two digits that count: `$0.0000016`, `$9.00`."""
    if amount <= 0:
        return "$0"
    # Binary fractions have digits that nobody meant.
    return f"${amount:,.2f}" if amount >= 0.01 else f"${Decimal(f'{amount:.2g}'):f}"


def seconds_text(seconds: float) -> str:
    """A duration: `0.45 s`, `12 s`, `3 min 20 s`, `2 h 13 min`, `9 days`."""
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
    """The sums of a tape.

    Attributes:
        requests: How many were made.
        size: Bytes that came.
        busy: Seconds in which something was under way.
        listings: How many of the requests listed.
        files: How many files were read from.
        full: The bytes of these files.
    """

    requests: int
    size: int
    busy: float
    listings: int = 0
    files: int = 0
    full: int = 0

    def spent(self, price: Price) -> str:
        """What was fetched, in one line."""
        of = f" of {size_text(self.full)}" if self.full else ""
        cost = money_text(price.of(self.requests, self.size, self.listings))
        fetched = f"{plural(self.requests, 'request')} · {size_text(self.size)}{of}"
        return f"{fetched} · {seconds_text(self.busy)} · about {cost}"

    def download(self, price: Price) -> str:
        """What a full download would be, in one line."""
        cost = money_text(price.of(self.files, self.full))
        many = f"{plural(self.files, 'request')} · " if self.files > 1 else ""
        return f"{many}{size_text(self.full)} · about {cost}"
