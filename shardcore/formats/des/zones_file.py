"""Zones files, which map ranges of shard numbers to buckets (des-architecture, Backends and routing)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from shardcore.codecs.json_text import USUAL, parse_json, structure_fault
from shardcore.errors import FormatError, UsageError
from shardcore.formats.des.layout import BIGFILES, RETENTION
from shardcore.formats.des.routing import check_bits
from shardcore.model.safe_text import short
from shardcore.model.span import Span

MAX_TEXT = 1 << 20

MAX_YAML = 1 << 18
"""Longest YAML text, in letters; longer texts must be JSON, which is parsed faster."""

_KEYS = (b"n_bits", b"zones")
_PLAIN = re.compile(r"[^/\\\0-\x1f%@]+")


@dataclass(frozen=True, slots=True)
class Zone:
    """Range of shard numbers, both ends inclusive, and the location of its shards.

    Attributes:
        name: Name of the zone.
        start: First shard number.
        end: Last shard number, inclusive.
        s3: `bucket`, `prefix`, `region_name`, `endpoint_url`, if given.
        path: Folder relative to the zones file, or absolute; the reference supports buckets only.
    """

    name: str
    start: int
    end: int
    s3: tuple[tuple[str, str], ...] = ()
    path: str = ""

    @property
    def uri(self) -> str:
        place = dict(self.s3)
        if not place.get("bucket"):
            return self.path
        prefix = place.get("prefix", "").strip("/")
        return f"s3://{place['bucket']}/{prefix + '/' if prefix else ''}"


@dataclass(frozen=True, slots=True)
class Zones:
    """Parsed zones file; zones are sorted and do not overlap, but need not cover all numbers."""

    n_bits: int
    zones: tuple[Zone, ...]

    def zone_of(self, number: int) -> Zone | None:
        return next((zone for zone in self.zones if zone.start <= number <= zone.end), None)

    @property
    def labels(self) -> dict[str, Zone]:
        """Zones by a name that is valid in paths: their own name, or `zone-<first number>`."""
        names = [zone.name for zone in self.zones]
        plain = {name for name in names if _is_label(name) and names.count(name) == 1}
        return {zone.name if zone.name in plain else f"zone-{zone.start}": zone for zone in self.zones}

    @classmethod
    def parse(cls, text: str | bytes) -> Zones:
        """Parse a zones file, JSON or YAML; raise FormatError, with a location in the text if known."""
        plain = _decoded(text)
        tree = _mapping(_parse_text(plain), "the file")
        try:
            n_bits = check_bits(tree.get("n_bits", None))
        except UsageError as error:
            raise FormatError(f"zones: {error}", span=_place(plain, "n_bits")) from None
        listed = tree.get("zones")
        if not isinstance(listed, list):
            raise FormatError("zones: `zones` is not a list", span=_place(plain, "zones"))
        zones = []
        for number, item in enumerate(listed):
            try:
                zones.append(_zone(item, n_bits, f"zones[{number}]"))
            except FormatError as error:
                name = item.get("name") if isinstance(item, dict) else None
                place = _place(plain, "name", name) if isinstance(name, str) else _place(plain, "zones")
                raise FormatError(error.message, span=place) from None
        zones.sort(key=lambda zone: zone.start)
        for left, right in pairwise(zones):
            if right.start <= left.end:
                text = f"zones: {short(left.name)} and {short(right.name)} both contain number {right.start}"
                raise FormatError(text, span=_place(plain, "name", right.name))
        return cls(n_bits, tuple(zones))


def looks_like_zones(head: bytes) -> bool:
    return all(key in head for key in _KEYS) and b"\0" not in head


def _is_label(name: str) -> bool:
    return bool(_PLAIN.fullmatch(name)) and name not in (".", "..", BIGFILES, RETENTION)


def _place(text: str, key: str, value: str | None = None) -> Span | None:
    quote = "[\"']?"
    pattern = rf"{quote}\b{key}{quote}\s*:" + (rf"\s*{quote}{re.escape(value)}" if value is not None else "")
    found = re.search(pattern, text)
    if found is None:
        return None
    start = len(text[: found.start()].encode())
    return Span("", start, start + len(found[0].encode()))


def _decoded(text: str | bytes) -> str:
    if len(text) > MAX_TEXT:
        raise FormatError(f"zones: the file has more than {MAX_TEXT:,} bytes")
    try:
        return text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise FormatError("zones: the file is not UTF-8", span=Span("", error.start, error.end)) from None


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
        raise FormatError(f"zones: not JSON ({json_error}), and too long for YAML (limit: {MAX_YAML:,} letters)")
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


def _mapping(value: Any, what: str) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"zones: {what} is not a mapping")
    return value


def _zone(item: Any, n_bits: int, what: str) -> Zone:
    item = _mapping(item, what)
    name = item.get("name")
    if not isinstance(name, str):
        raise FormatError(f"zones: {what} has no name")
    shown = short(name)
    limits = _mapping(item.get("range"), f"the range of {shown}")
    start, end = (_number(limits.get(key), f"`{key}` of {shown}", n_bits) for key in ("start", "end"))
    if start > end:
        raise FormatError(f"zones: {shown} starts at {start} and ends at {end}")
    place = _mapping(item.get("s3") or {}, f"`s3` of {shown}")
    keys = ("bucket", "prefix", "region_name", "endpoint_url")
    given = {key: _text(place[key], f"`{key}` of {shown}") for key in keys if place.get(key) is not None}
    path = _text(item.get("path") or "", f"`path` of {shown}")
    return Zone(name, start, end, tuple(given.items()), path)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise FormatError(f"zones: {what} is not a string")
    return value


def _number(value: Any, what: str, n_bits: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << n_bits:
        raise FormatError(f"zones: {what} is not a shard number of {n_bits} bits")
    return value
