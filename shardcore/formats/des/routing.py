"""Routing of a uid: shard number, file name and zone (des-architecture, Read path and Backends and routing).

Shards are named `<date>_<hex>_<part>.des`, without subfolders. The date is that of `created_at`; the number follows
from the uid. The number of its bits, `n_bits`, is not stored and can only be inferred. A zones file maps ranges of
numbers to buckets.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np

from shardcore.codecs.json_text import USUAL, parse_json, structure_fault
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, UsageError
from shardcore.formats.des.layout import BIGFILES, RETENTION
from shardcore.model.span import Span
from shardcore.model.text import iso_text, short
from shardcore.sources.local import read_side_file

MIN_BITS = 4
MAX_BITS = 16
DEFAULT_BITS = 8

MAX_ZONES = 1 << 20
"""Largest zones file, in bytes."""
MAX_YAML = 1 << 18
"""Longest YAML text, in characters; longer texts must be JSON, which is parsed faster."""

_NAME = re.compile(r"([0-9]{8})_([0-9A-F]{1,4})_([0-9]{4,9})\.des")
_LABEL = re.compile(r"[^/\\\0-\x1f%@]+")


@dataclass(frozen=True, slots=True, order=True)
class ShardName:
    """File name of a shard as packers write it: `<date>_<hex>_<part>.des`.

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
    """Uid with its UTF-8 bytes (`raw`) and the low 16 bits of the number that selects its shard (`bits`)."""

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
    """Shard number of a uid, and the rule that gives it.

    Attributes:
        n_bits: Number of bits of the shard number.
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
    """Return the low 16 bits of the number that selects the shard of a uid.

    A uid of decimal digits of any script is that number; any other uid is the CRC-32 of its bytes. Digits that are not
    decimals, such as a superscript two, crash the reference; here they count as text. Modulo 2^16 only the last 16
    digits matter, so a long uid is cheap.
    """
    value = int(uid[-MAX_BITS:]) if uid.isdecimal() else zlib.crc32(uid_bytes(uid))
    return value & 0xFFFF


def shard_hex(number: int, n_bits: int) -> str:
    """Return a shard number as printed in file names: upper case, at least `n_bits // 4` digits."""
    return f"{number:0{max(1, n_bits // 4)}X}"


# --- dates ----------------------------------------------------------------------------------------------------------


def shard_date(created_at: str) -> str:
    moment = _parsed(created_at)
    return f"{moment.year:04}{moment.month:02}{moment.day:02}"


def utc_stamp(created_at: str) -> str:
    """Return a time in UTC with `Z`, as in sidecars and retention copies; a time without a zone counts as UTC."""
    moment = _parsed(created_at)
    try:
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"outside the years 1 to 9999 in UTC: {created_at!r}") from None
    return iso_text(moment)


def _parsed(created_at: str) -> datetime:
    """Parse ISO 8601, or 10 digits as Unix seconds. Other texts of digits only must be a date, YYYYMMDD."""
    digits = len(created_at) if created_at.isdecimal() and created_at.isascii() else 0
    if digits == 10:
        return datetime.fromtimestamp(int(created_at), UTC)
    try:
        if digits not in (0, 8):
            raise ValueError  # `fromisoformat` would take the first 8 digits for a date and the rest for a time
        return datetime.fromisoformat(created_at)
    except ValueError:
        raise UsageError(f"not a date or time in ISO 8601: {created_at!r}") from None


# --- n_bits ---------------------------------------------------------------------------------------------------------


def bits_of_names(names: Iterable[ShardName]) -> int | None:
    """Return the smallest `n_bits` whose shard numbers are printed as in all file names; None if there is none."""
    return _smallest_bits({name.hex: np.array([name.number], np.uint16) for name in names})


def infer_n_bits(uids: Mapping[str, Iterable[str]]) -> int | None:
    """Return the smallest `n_bits` that routes the uids of each file to the hex number in its name; None if none."""
    columns = {hex_: np.fromiter(map(low_bits, some), np.uint16) for hex_, some in uids.items()}
    return _smallest_bits({hex_: bits for hex_, bits in columns.items() if len(bits)})


def _smallest_bits(numbers: Mapping[str, np.ndarray]) -> int | None:
    for n_bits in range(MIN_BITS, MAX_BITS + 1):
        if numbers and all(_prints_as(bits, hex_, n_bits) for hex_, bits in numbers.items()):
            return n_bits
    return None


def routed_to(uids: Iterable[str], hex_: str, n_bits: int) -> bool:
    return _prints_as(np.fromiter(map(low_bits, uids), np.uint16), hex_, n_bits)


def _prints_as(bits: np.ndarray, hex_: str, n_bits: int) -> bool:
    number = int(hex_, 16)
    mask = np.uint16((1 << n_bits) - 1)
    return shard_hex(number, n_bits) == hex_ and bool(np.all(bits & mask == number))


# --- zones ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Zone:
    """Range of shard numbers, both ends inclusive, and the location of its shards.

    Attributes:
        start: First shard number.
        end: Last shard number, inclusive.
        s3: Those of `bucket`, `prefix`, `region_name` and `endpoint_url` that the file contains.
        path: Folder relative to the zones file, or absolute; the reference supports buckets only.
    """

    name: str
    start: int
    end: int
    s3: tuple[tuple[str, str], ...] = ()
    path: str = ""

    def holds(self, number: int) -> bool:
        return self.start <= number <= self.end

    @property
    def uri(self) -> str:
        place = dict(self.s3)
        if not place.get("bucket"):
            return self.path
        prefix = place.get("prefix", "").strip("/")
        return f"s3://{place['bucket']}/{prefix + '/' if prefix else ''}"


@dataclass(frozen=True, slots=True)
class Zones:
    """Parsed zones file. The zones are sorted by number and do not overlap, but need not cover all numbers."""

    n_bits: int
    zones: tuple[Zone, ...]

    def zone_of(self, number: int) -> Zone | None:
        return next((zone for zone in self.zones if zone.holds(number)), None)

    @property
    def labels(self) -> dict[str, Zone]:
        """Zones by a name that is valid in paths: their own name, or `zone-<first number>`."""
        names = [zone.name for zone in self.zones]
        reserved = (".", "..", BIGFILES, RETENTION)
        return {
            name
            if _LABEL.fullmatch(name) and name not in reserved and names.count(name) == 1
            else f"zone-{zone.start}": zone
            for name, zone in zip(names, self.zones, strict=True)
        }

    @classmethod
    def parse(cls, data: str | bytes) -> Zones:
        """Parse a zones file, JSON or YAML; raise FormatError, with a location in the text if known."""
        if len(data) > MAX_ZONES:
            raise FormatError(f"zones: the file has more than {MAX_ZONES:,} bytes")
        try:
            text = data.decode() if isinstance(data, bytes) else data
        except UnicodeDecodeError as error:
            raise FormatError("zones: the file is not UTF-8", span=Span("", error.start, error.end)) from None
        tree = _checked(_parse_text(text), dict, "the file")
        try:
            n_bits = check_bits(tree.get("n_bits", None))
        except UsageError as error:
            raise FormatError(f"zones: {error}", span=_span_of(text, "n_bits")) from None
        listed = tree.get("zones")
        if not isinstance(listed, list):
            raise FormatError("zones: `zones` is not a list", span=_span_of(text, "zones"))
        zones = []
        for number, item in enumerate(listed):
            try:
                zones.append(_zone(item, n_bits, f"zones[{number}]"))
            except FormatError as error:
                name = item.get("name") if isinstance(item, dict) else None
                place = _span_of(text, "name", name) if isinstance(name, str) else _span_of(text, "zones")
                raise FormatError(error.message, span=place) from None
        zones.sort(key=lambda zone: zone.start)
        for left, right in pairwise(zones):
            if right.start <= left.end:
                message = f"zones: {short(left.name)} and {short(right.name)} both contain number {right.start}"
                raise FormatError(message, span=_span_of(text, "name", right.name))
        return cls(n_bits, tuple(zones))


def _span_of(text: str, key: str, value: str | None = None) -> Span | None:
    quote = "[\"']?"
    pattern = rf"{quote}\b{key}{quote}\s*:" + (rf"\s*{quote}{re.escape(value)}" if value is not None else "")
    found = re.search(pattern, text)
    if found is None:
        return None
    start = len(text[: found.start()].encode())
    return Span("", start, start + len(found[0].encode()))


def _parse_text(text: str) -> Any:
    if text.lstrip()[:1] in ("{", "["):
        fault = structure_fault(text, USUAL)
        if fault:
            raise FormatError(f"zones: {fault}")
    try:
        return parse_json(text, "the file")
    except FormatError as error:
        return _parse_yaml(text, error)


def _parse_yaml(text: str, json_error: FormatError) -> Any:
    if len(text) > MAX_YAML:
        raise FormatError(f"zones: not JSON ({json_error}), and too long for YAML (limit: {MAX_YAML:,} characters)")
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Loader that rejects aliases, which can expand a short text to any size."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark
                raise yaml.MarkedYAMLError(problem="aliases (*) are not supported", problem_mark=mark)
            return super().compose_node(parent, index)

    try:
        return yaml.load(text, Loader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where, span = "", None
        if mark is not None:
            start = len(text[: mark.index].encode("utf-8", "surrogatepass"))
            where, span = f", line {mark.line + 1}", Span("", start, start)
        why = f"{error.problem or 'it cannot be read'}{where}"
        raise FormatError(f"zones: neither JSON ({json_error}) nor YAML ({why})", span=span) from None
    except (yaml.YAMLError, ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise FormatError(f"zones: neither JSON ({json_error}) nor YAML ({type(error).__name__})") from None


def _zone(item: Any, n_bits: int, what: str) -> Zone:
    item = _checked(item, dict, what)
    name = item.get("name")
    if not isinstance(name, str):
        raise FormatError(f"zones: {what} has no name")
    shown = short(name)
    limits = _checked(item.get("range"), dict, f"the range of {shown}")
    for key in ("start", "end"):
        value = limits.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << n_bits:
            raise FormatError(f"zones: `{key}` of {shown} is not a shard number of {n_bits} bits")
    start, end = limits["start"], limits["end"]
    if start > end:
        raise FormatError(f"zones: the range of {shown} starts at {start} and ends at {end}")
    place = _checked(item.get("s3") or {}, dict, f"`s3` of {shown}")
    keys = ("bucket", "prefix", "region_name", "endpoint_url")
    given = {key: _checked(place[key], str, f"`{key}` of {shown}") for key in keys if place.get(key) is not None}
    path = _checked(item.get("path") or "", str, f"`path` of {shown}")
    return Zone(name, start, end, tuple(given.items()), path)


def _checked(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind):
        raise FormatError(f"zones: {what} is not a {'mapping' if kind is dict else 'string'}")
    return value


def locate(key: str, *, date: str = "", n_bits: int | None = None, zones: Any = None) -> dict[str, Any]:
    """Compute which shards can contain a uid, by the routing rule; no shard is opened.

    Args:
        key: The uid.
        date: `created_at` in ISO 8601 or Unix seconds; required. Only the date is used, in its own time zone.
        n_bits: Number of bits of the shard number; default: that in the zones file, else 8.
        zones: A zones file: its text, or its path.

    Returns:
        `uid`, `date`, `n_bits`, `rule`, `number`, `hex` and `names` (a pattern with `*` for the part); with zones also
        `zone` and `uri` (None if no zone has the number).

    Raises:
        UsageError: The date is invalid, or `n_bits` is not 4 to 16, or differs from the zones file.
        FormatError: The zones file is invalid.
        SourceError: The zones file cannot be read.
    """
    if not date:
        raise UsageError("no date: the name of a shard begins with the date of created_at; pass -O date=CREATED_AT")
    day = shard_date(str(date))
    found = None
    if zones is not None:
        is_text = isinstance(zones, str) and ("{" in zones or "\n" in zones)
        found = Zones.parse(zones if is_text else read_side_file(str(zones), MAX_ZONES + 1, named=True))
        if n_bits not in (None, found.n_bits):
            raise UsageError(f"n_bits is {n_bits}, but the zones file declares {found.n_bits}")
        n_bits = found.n_bits
    route = Uid.parse(key).route(DEFAULT_BITS if n_bits is None else n_bits)
    place: dict[str, Any] = {
        "uid": key,
        "date": day,
        "n_bits": route.n_bits,
        "rule": route.rule,
        "number": route.number,
        "hex": route.hex,
        "names": f"{day}_{route.hex}_*.des",
    }
    if found is not None:
        zone = found.zone_of(route.number)
        place |= {"zone": zone.name if zone else None, "uri": zone.uri if zone else None}
    return place
