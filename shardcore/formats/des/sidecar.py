"""The sidecar `<name>.meta` of a shard: checksums and tombstones (des_core.metadata_manager).

A tombstone never changes the shard: a reader that ignores the sidecar returns deleted objects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shardcore.codecs.json_text import JsonLimits, parse_json
from shardcore.errors import (
    ExternalMissing,
    Forbidden,
    FormatError,
    LimitExceeded,
    NoSuchObject,
    ShardError,
    SourceError,
    UsageError,
    source_lost,
)
from shardcore.formats.des.layout import SUFFIX as SHARD_SUFFIX
from shardcore.formats.des.routing import utc_stamp
from shardcore.model.safe_text import short
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span
from shardcore.shards.cache import Once, OnceEach
from shardcore.sources.base import Folder

SUFFIX = ".meta"
VERSION = 1
MAX_SIDECAR = 1 << 28
"""Largest sidecar read, 256 MiB."""
SIDECAR_LIMITS = JsonLimits(size=MAX_SIDECAR)
FACT_LETTERS = 1000
TIME_LETTERS = 64
"""Longest text that is parsed as a time."""
_TIMED_KEY = re.compile(
    r"(?P<uid>.*):(?P<stamp>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{6})?Z)", re.DOTALL
)
"""Key `uid:timestamp` as in the reference (ShardMetadata.build_key): UTC with `Z`, microseconds if not zero."""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """Tombstone: record of one deletion.

    Attributes:
        uid: The deleted uid.
        created_at: Time of the deleted version, as stored; "" if the sidecar has none.
        facts: `deleted_at`, `deleted_by`, `reason`, `ticket_id` as text.
        key: Its key in the sidecar.
    """

    uid: str
    created_at: str
    facts: dict[str, str]
    key: str = ""

    @property
    def timed(self) -> bool:
        """True if the key is `uid:timestamp`, the only form that the reference's readers look up."""
        return _TIMED_KEY.fullmatch(self.key) is not None and self.key == entry_key(self.uid, self.created_at)

    def covers(self, created_at: str) -> bool:
        """Return True if the entry of this uid was created at the same time, or if either time is missing or invalid.

        Doubtful cases count as deleted, so that no deleted object is returned.
        """
        mine, other = stamp_of(self.created_at), stamp_of(created_at)
        return not mine or not other or mine == other

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.facts.items()) or "deleted"


FEW = 4
"""Maximum number of tombstones per uid that are compared one by one; more are indexed by time."""


@dataclass(frozen=True, slots=True)
class Sidecar:
    """Content of a sidecar.

    Attributes:
        name: Its file name.
        size: Its size in bytes.
        fields: Single values by name: `version`, `shard_file`, `shard_size`, …, `stats.entries`, ….
        index: Details of each entry, by `uid:timestamp` or `uid`.
        tombstones: Tombstones by uid.
    """

    name: str
    size: int
    fields: dict[str, int | float | str | bool | None]
    index: dict[str, dict[str, Any]]
    tombstones: dict[str, tuple[Tombstone, ...]]
    _times: OnceEach[str, dict[str, int]] = field(default_factory=OnceEach, compare=False, repr=False)
    _keys: Once[dict[str, list[str]]] = field(default_factory=Once, compare=False, repr=False)

    @property
    def span(self) -> Span:
        return Span(str(SourceName(self.name)), 0, self.size)

    @classmethod
    def parse(cls, data: bytes, name: str) -> Sidecar:
        place = Span(str(SourceName(name)), 0, len(data))
        tree = parse_json(data, name, limits=SIDECAR_LIMITS, span=place)
        if not isinstance(tree, dict):
            raise FormatError(f"{name} is not a JSON object", span=place)
        if tree.get("version") != VERSION:
            text = f"{name}: version {short(tree.get('version'))} is not supported (supported: {VERSION})"
            raise FormatError(text, span=place)
        index, tombs = (_objects(tree, key, name, place) for key in ("index", "tombstones"))
        return cls(name, len(data), _plain_fields(tree), index, _tombstones(tombs))

    def key_of(self, uid: str, created_at: str) -> str | None:
        """Return the key of an entry in the index; None if it has none.

        As in the reference, a key without time matches any time; an entry without time matches the only key of its uid.
        """
        for key in (entry_key(uid, created_at), uid):
            if key in self.index:
                return key
        keys = () if stamp_of(created_at) else self._timed_keys().get(uid, ())
        return keys[0] if len(keys) == 1 else None

    def entry(self, uid: str, created_at: str) -> dict[str, Any] | None:
        key = self.key_of(uid, created_at)
        return None if key is None else self.index[key]

    def times(self, uid: str) -> list[str]:
        return [key[len(uid) + 1 :] for key in self._timed_keys().get(uid, ())]

    def _timed_keys(self) -> dict[str, list[str]]:
        def grouped() -> dict[str, list[str]]:
            found: dict[str, list[str]] = {}
            for key, item in self.index.items():
                uid, created_at = uid_and_time(key, item)
                if key == f"{uid}:{created_at}":
                    found.setdefault(uid, []).append(key)
            return found

        return self._keys.get(grouped)

    def tombstone(self, uid: str, created_at: str) -> Tombstone | None:
        found = self.tombstones.get(uid)
        if not found:
            return None
        # A uid may have 100,000 tombstones, so they are indexed by time.
        times = self._times.get(uid, lambda: _by_time(found)) if len(found) > FEW else _by_time(found)
        other = stamp_of(created_at)
        first = min(times.get("", len(found)), times.get(other, len(found))) if other else 0
        return found[first] if first < len(found) else None


def sidecar_name(shard: str) -> str:
    return shard.removesuffix(SHARD_SUFFIX) + SUFFIX if shard.endswith(SHARD_SUFFIX) else ""


def shard_of_sidecar(name: str) -> str:
    return name.removesuffix(SUFFIX) + SHARD_SUFFIX if name.endswith(SUFFIX) else ""


def read_sidecar(folder: Folder, name: str) -> tuple[Sidecar | None, ShardError | None]:
    """Return the sidecar, or the error that makes it unusable; (None, None) if there is no sidecar.

    An unreadable sidecar is an error, because it may contain tombstones. A store that does not permit listing answers
    "forbidden" for a missing object, which therefore counts as missing.
    """
    try:
        return Sidecar.parse(folder.read(name, MAX_SIDECAR), name), None
    except (ExternalMissing, NoSuchObject, Forbidden):
        return None, None
    except SourceError as error:
        if source_lost(error):
            raise
        missing = isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError))
        return None, None if missing else error
    except (FormatError, LimitExceeded) as error:
        return None, error


def entry_key(uid: str, created_at: str) -> str:
    """Return the key of an entry in a sidecar: `uid:timestamp` in UTC, or only the uid without a valid time."""
    stamp = stamp_of(created_at)
    return f"{uid}:{stamp}" if stamp else uid


def created_at_of(meta: Mapping[str, Any]) -> str:
    value = meta.get("created_at")
    return value if isinstance(value, str) else ""


def _by_time(tombs: tuple[Tombstone, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, tomb in enumerate(tombs):
        found.setdefault(stamp_of(tomb.created_at), number)
    return found


_IS_DAY = re.compile(r"[0-9W-]{7,10}", re.ASCII)
"""ISO 8601 date without a time of day."""


def time_of_day(created_at: str) -> str:
    """Return a time as written in sidecar keys; "" for a date without a time of day or an invalid time."""
    return "" if _IS_DAY.fullmatch(created_at.strip()) else stamp_of(created_at)


def stamp_of(created_at: str) -> str:
    text = created_at.strip()
    try:
        return utc_stamp(text) if 0 < len(text) <= TIME_LETTERS else ""
    except UsageError:
        return ""


def _objects(tree: dict[str, Any], key: str, name: str, place: Span) -> dict[str, dict[str, Any]]:
    found = tree.get(key, {})
    if not isinstance(found, dict) or not all(isinstance(value, dict) for value in found.values()):
        raise FormatError(f"`{key}` of {name} is not a JSON object whose members are objects", span=place)
    return found


def _plain_fields(tree: dict[str, Any]) -> dict[str, int | float | str | bool | None]:
    stats = tree.get("stats")
    every = {**tree, **({f"stats.{key}": value for key, value in stats.items()} if isinstance(stats, dict) else {})}
    return {key: value for key, value in every.items() if value is None or isinstance(value, (int, float, str))}


def uid_and_time(key: str, item: Mapping[str, Any]) -> tuple[str, str]:
    """Return uid and created_at of a member of `index` or `tombstones`; "" if it has no time.

    A key `uid:timestamp` precedes the members, because the reference uses only the key. A uid may contain colons.
    """
    uid = item.get("uid")
    timed = _TIMED_KEY.fullmatch(key)
    if timed is not None and uid != key:
        return timed["uid"], timed["stamp"]
    return uid if isinstance(uid, str) else key, created_at_of(item)


def _tombstones(found: dict[str, dict[str, Any]]) -> dict[str, tuple[Tombstone, ...]]:
    tombs: dict[str, list[Tombstone]] = {}
    for key, item in found.items():
        uid, created_at = uid_and_time(key, item)
        facts = {name: _fact(value) for name, value in item.items() if name not in ("uid", "created_at") and value}
        tombs.setdefault(uid, []).append(Tombstone(uid, created_at, facts, key))
    return {uid: tuple(listed) for uid, listed in tombs.items()}


def _fact(value: object) -> str:
    text = value if isinstance(value, str) else short(value, FACT_LETTERS)
    return text if len(text) <= FACT_LETTERS else text[:FACT_LETTERS] + "…"
