"""The zones file: which bucket keeps which shard numbers (des-architecture, Backends and routing)."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from shardcore.errors import FormatError, UsageError
from shardcore.formats.des.routing import check_bits
from shardcore.json_text import USUAL, parse_json, structure_fault

MAX_TEXT = 1 << 20


@dataclass(frozen=True, slots=True)
class Zone:
    """A run of shard numbers and the place of their files.

    Attributes:
        name: Name of the zone.
        start: First shard number.
        end: Last shard number; it belongs to the zone, as in the file.
        s3: `bucket`, `prefix`, `region_name`, `endpoint_url`, those that are given.
    """

    name: str
    start: int
    end: int
    s3: tuple[tuple[str, str], ...] = ()

    @property
    def uri(self) -> str:
        """The folder of the zone's shards as an S3 address; empty without a bucket."""
        place = dict(self.s3)
        if not place.get("bucket"):
            return ""
        prefix = place.get("prefix", "").strip("/")
        return f"s3://{place['bucket']}/{prefix + '/' if prefix else ''}"


@dataclass(frozen=True, slots=True)
class Zones:
    """A zones file.

    Attributes:
        n_bits: Number of bits of a shard number.
        zones: The zones by their first number; they do not overlap, numbers may be left out.
    """

    n_bits: int
    zones: tuple[Zone, ...]

    def zone_of(self, number: int) -> Zone | None:
        """The zone that a shard number belongs to, or None when no zone has it."""
        return next((zone for zone in self.zones if zone.start <= number <= zone.end), None)

    @classmethod
    def parse(cls, text: str | bytes) -> Zones:
        """Read a zones file, JSON or (where PyYAML is installed) YAML.

        Raises:
            FormatError: The text is no such file, a number is out of range, or two zones overlap.
        """
        tree = _mapping(_parse_text(text), "the file")
        try:
            n_bits = check_bits(tree.get("n_bits", None))
        except UsageError as error:
            raise FormatError(f"zones: {error}") from None
        listed = tree.get("zones")
        if not isinstance(listed, list):
            raise FormatError("zones: `zones` is not a list")
        zones = sorted((_zone(item, n_bits) for item in listed), key=lambda zone: zone.start)
        for left, right in pairwise(zones):
            if right.start <= left.end:
                raise FormatError(f"zones: {left.name!r} and {right.name!r} both hold number {right.start}")
        return cls(n_bits, tuple(zones))


def _parse_text(text: str | bytes) -> Any:
    if len(text) > MAX_TEXT:
        raise FormatError(f"zones: the file has more than {MAX_TEXT:,} bytes")
    try:
        text = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError:
        raise FormatError("zones: the file is not UTF-8") from None
    fault = structure_fault(text, USUAL)
    if fault and text.lstrip()[:1] in ("{", "["):
        raise FormatError(f"zones: {fault}")
    try:
        return parse_json(text, "the file")
    except FormatError as error:
        return _parse_yaml(text, error)


def _parse_yaml(text: str, json_error: FormatError) -> Any:
    try:
        yaml = importlib.import_module("yaml")
    except ImportError:
        raise FormatError(f"zones: not JSON ({json_error}), and no PyYAML here to try YAML") from None
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise FormatError(f"zones: neither JSON ({json_error}) nor YAML ({type(error).__name__})") from None


def _mapping(value: Any, what: str) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"zones: {what} is not a mapping")
    return value


def _zone(item: Any, n_bits: int) -> Zone:
    item = _mapping(item, "a zone")
    name = item.get("name")
    if not isinstance(name, str):
        raise FormatError("zones: a zone has no name")
    limits = _mapping(item.get("range"), f"the range of {name!r}")
    start, end = (_number(limits.get(key), f"`{key}` of {name!r}", n_bits) for key in ("start", "end"))
    if start > end:
        raise FormatError(f"zones: {name!r} starts at {start} and ends at {end}")
    place = _mapping(item.get("s3") or {}, f"`s3` of {name!r}")
    keys = ("bucket", "prefix", "region_name", "endpoint_url")
    return Zone(name, start, end, tuple((key, str(place[key])) for key in keys if place.get(key) is not None))


def _number(value: Any, what: str, n_bits: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << n_bits:
        raise FormatError(f"zones: {what} is not a shard number of {n_bits} bits")
    return value
