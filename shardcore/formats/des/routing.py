"""Routing of a uid: shard number, file name, zone (des-architecture, Read path and Backends and routing).

Shards are named `<date>_<hex>_<part>.des`, without subfolders. The date is that of `created_at`; the number follows
from the uid. The number of its bits, `n_bits`, is not stored and can only be inferred.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

import numpy as np

from shardcore.errors import UsageError

MIN_BITS = 4
MAX_BITS = 16
DEFAULT_BITS = 8

_NAME = re.compile(r"([0-9]{8})_([0-9A-F]{1,4})_([0-9]{4,9})\.des")


@dataclass(frozen=True, slots=True, order=True)
class ShardName:
    """File name as packers write it.

    Attributes:
        date: YYYYMMDD.
        hex: The shard number, upper case, 1 to 4 digits.
        part: Number of the part; a new part is started when the last is full.
    """

    date: str
    hex: str
    part: int

    @classmethod
    def parse(cls, name: str) -> ShardName | None:
        match = _NAME.fullmatch(name)
        return cls(match[1], match[2], int(match[3])) if match else None

    @property
    def number(self) -> int:
        return int(self.hex, 16)

    def __str__(self) -> str:
        return f"{self.date}_{self.hex}_{self.part:04}.des"


@dataclass(frozen=True, slots=True)
class Uid:
    """Uid with its UTF-8 bytes and the low 16 bits of its routing number."""

    text: str
    raw: bytes
    bits: int

    @classmethod
    def parse(cls, text: str) -> Uid:
        return cls(text, uid_bytes(text), low_bits(text))

    def route(self, n_bits: int) -> Route:
        check_bits(n_bits)
        number = self.bits & ((1 << n_bits) - 1)
        return Route(n_bits, number, shard_hex(number, n_bits), "digits" if self.text.isdecimal() else "crc32")

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Route:
    """Route of a uid.

    Attributes:
        n_bits: Bits of the shard number.
        number: The shard number, below `2 ** n_bits`.
        hex: The number as printed in file names.
        rule: `digits` (the uid is a decimal number) or `crc32` (of its UTF-8 bytes).
    """

    n_bits: int
    number: int
    hex: str
    rule: str

    @staticmethod
    def of(uid: str, n_bits: int = DEFAULT_BITS) -> Route:
        return Uid.parse(uid).route(n_bits)


def check_bits(n_bits: object) -> int:
    """Return `n_bits`; raise UsageError if it is not an integer from 4 to 16."""
    if isinstance(n_bits, bool) or not isinstance(n_bits, int) or not MIN_BITS <= n_bits <= MAX_BITS:
        raise UsageError(f"n_bits is {n_bits!r}; it must be an integer from {MIN_BITS} to {MAX_BITS}")
    return n_bits


def uid_bytes(uid: str) -> bytes:
    """Return the UTF-8 bytes of a uid; surrogate escapes become the original bytes."""
    try:
        return uid.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise UsageError(f"the uid {uid!r} cannot be encoded as UTF-8") from None


def low_bits(uid: str) -> int:
    """Return the low 16 bits of the number that a uid routes by.

    A uid of decimal digits of any script is that number; any other uid is the CRC-32 of its bytes. Digits that are not
    decimals, such as a superscript two, crash the reference; here they count as text. Modulo 2^16 only the last 16
    digits matter, so a long uid is cheap.
    """
    value = int(uid[-MAX_BITS:]) if uid.isdecimal() else zlib.crc32(uid_bytes(uid))
    return value & 0xFFFF


def shard_hex(number: int, n_bits: int) -> str:
    """Return a shard number as printed in file names: upper case, at least `n_bits // 4` digits."""
    return f"{number:0{max(1, n_bits // 4)}X}"


def shard_date(created_at: str) -> str:
    moment = parse_time(created_at)
    return f"{moment.year:04}{moment.month:02}{moment.day:02}"


def parse_time(created_at: str) -> datetime:
    try:
        return datetime.fromisoformat(created_at)
    except ValueError:
        pass
    try:
        return datetime.combine(date.fromisoformat(created_at), datetime.min.time())
    except ValueError:
        raise UsageError(f"not a date or time in ISO 8601: {created_at!r}") from None


def utc_stamp(created_at: str) -> str:
    """Return a time in UTC with `Z`, as in sidecars and retention copies; a time without a zone counts as UTC."""
    moment = parse_time(created_at)
    try:
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"outside the years 1 to 9999 in UTC: {created_at!r}") from None
    return moment.isoformat().replace("+00:00", "Z")


def bits_of_names(names: Iterable[ShardName]) -> int | None:
    """Return the smallest `n_bits` that gives the hex digits of all names; None if there is none."""
    printed = {(name.number, name.hex) for name in names}
    for n_bits in range(MIN_BITS, MAX_BITS + 1):
        if printed and all(number >> n_bits == 0 and shard_hex(number, n_bits) == hex_ for number, hex_ in printed):
            return n_bits
    return None


def infer_n_bits(uids: Mapping[str, Iterable[str]]) -> int | None:
    """Return the smallest `n_bits` that routes every uid to its file; None if there is none, or no uid.

    Args:
        uids: Uids of files, by the shard number printed in the file name.
    """
    columns = [(hex_, np.fromiter(map(low_bits, some), np.uint16)) for hex_, some in uids.items()]
    columns = [(hex_, bits) for hex_, bits in columns if len(bits)]
    if not columns:
        return None
    for n_bits in range(MIN_BITS, MAX_BITS + 1):
        if all(_prints_as(bits, hex_, n_bits) for hex_, bits in columns):
            return n_bits
    return None


def routed_to(uids: Iterable[str], hex_: str, n_bits: int) -> bool:
    return _prints_as(np.fromiter(map(low_bits, uids), np.uint16), hex_, n_bits)


def _prints_as(bits: np.ndarray, hex_: str, n_bits: int) -> bool:
    number = int(hex_, 16)
    mask = np.uint16((1 << n_bits) - 1)
    return shard_hex(number, n_bits) == hex_ and bool(np.all(bits & mask == number))
