"""The sidecar `<name>.meta` of a shard: checksums and tombstones (des_core.metadata_manager).

A tombstone never changes the shard: a reader that ignores the sidecar returns deleted objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from shardcore.codecs.json_text import JsonLimits, parse_json
from shardcore.dataclasses import dataclass, field
from shardcore.errors import (
    ExternalMissing,
    Forbidden,
    FormatError,
    LimitExceeded,
    NoSuchObject,
    ShardError,
    SourceError,
    UsageError,
    raise_if_lost,
)
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.layout import HASH_LENGTH, codec_name, created_at_of
from shardcore.formats.des.layout import SUFFIX as SHARD_SUFFIX
from shardcore.formats.des.routing import utc_stamp
from shardcore.model.span import SourceName, Span
from shardcore.model.text import short
from shardcore.shards.cache import OnceEach
from shardcore.sources.base import Folder, Source

SUFFIX = ".meta"
VERSION = 1
MAX_SIDECAR = 1 << 28
"""Largest sidecar that is read, in bytes: 256 MiB."""
SIDECAR_LIMITS = JsonLimits(size=MAX_SIDECAR)
MOST_SOUGHT = 1 << 20
"""Largest sidecar, in bytes, in which the span of a tombstone is searched; in a larger one it is the whole file."""
FACT_LETTERS = 1000
TIME_LETTERS = 64
"""Longest text that is parsed as a time."""
NO_TIME = "1970-01-01T00:00:00Z"
"""Fixed creation time in new sidecars, so that equal input gives equal bytes."""

_TIMED_KEY = re.compile(
    r"(?P<uid>.*):(?P<stamp>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{6})?Z)", re.DOTALL
)
"""Key `uid:timestamp` as in the reference (ShardMetadata.build_key): UTC with `Z`, microseconds if not zero."""

_DAY = re.compile(r"[0-9W-]{7,10}", re.ASCII)
"""ISO 8601 date without a time of day."""


def sidecar_name(shard: str) -> str:
    return shard.removesuffix(SHARD_SUFFIX) + SUFFIX if shard.endswith(SHARD_SUFFIX) else ""


def shard_of_sidecar(name: str) -> str:
    return name.removesuffix(SUFFIX) + SHARD_SUFFIX if name.endswith(SUFFIX) else ""


# --- keys -----------------------------------------------------------------------------------------------------------


def stamp_of(created_at: str) -> str:
    """Return a time as written in sidecar keys; "" for an invalid time."""
    text = created_at.strip()
    try:
        return utc_stamp(text) if 0 < len(text) <= TIME_LETTERS else ""
    except UsageError:
        return ""


def time_of_day(created_at: str) -> str:
    """Return a time as written in sidecar keys; "" for a date without a time of day or an invalid time."""
    return "" if _DAY.fullmatch(created_at.strip()) else stamp_of(created_at)


def entry_key(uid: str, created_at: str) -> str:
    """Return the key of an entry in a sidecar: `uid:timestamp` in UTC, or only the uid without a valid time."""
    stamp = stamp_of(created_at)
    return f"{uid}:{stamp}" if stamp else uid


def uid_and_time(key: str, item: Mapping[str, Any]) -> tuple[str, str]:
    """Return uid and created_at of a member of `index` or `tombstones`; created_at is "" if there is none.

    A key `uid:timestamp` takes precedence over the members `uid` and `created_at`, because the reference uses only
    the key. A uid may contain colons.
    """
    uid = item.get("uid")
    timed = _TIMED_KEY.fullmatch(key)
    if timed is not None and uid != key:
        return timed["uid"], timed["stamp"]
    return uid if isinstance(uid, str) else key, created_at_of(item)


# --- reading --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tombstone:
    """Tombstone: record of one deletion.

    Attributes:
        uid: The deleted uid.
        created_at: Time of the deleted version, as stored; "" if the sidecar has none.
        facts: `deleted_at`, `deleted_by`, `reason`, `ticket_id` as text.
        key: Its key in the member `tombstones` of the sidecar.
    """

    uid: str
    created_at: str
    facts: dict[str, str]
    key: str = ""

    @property
    def timed(self) -> bool:
        """True if the key is `uid:timestamp`, the only form that the reference's readers look up."""
        return _TIMED_KEY.fullmatch(self.key) is not None and self.key == entry_key(self.uid, self.created_at)

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.facts.items()) or "deleted"


@dataclass(frozen=True)
class Sidecar:
    """Content of a sidecar.

    Attributes:
        size: Size of the sidecar in bytes.
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
        for part in ("index", "tombstones"):
            found = tree.setdefault(part, {})
            if not isinstance(found, dict) or not all(isinstance(value, dict) for value in found.values()):
                raise FormatError(f"`{part}` of {name} is not a JSON object whose members are objects", span=place)
        stats = tree["stats"] if isinstance(tree.get("stats"), dict) else {}
        every = tree | {f"stats.{key}": value for key, value in stats.items()}
        fields = {key: value for key, value in every.items() if value is None or isinstance(value, (int, float, str))}
        tombs: dict[str, list[Tombstone]] = {}
        for key, item in tree["tombstones"].items():
            uid, created_at = uid_and_time(key, item)
            facts = {name: _fact(value) for name, value in item.items() if name not in ("uid", "created_at") and value}
            tombs.setdefault(uid, []).append(Tombstone(uid, created_at, facts, key))
        return cls(name, len(data), fields, tree["index"], {uid: tuple(listed) for uid, listed in tombs.items()})

    def key_of(self, uid: str, created_at: str) -> str | None:
        """Return the key of an entry in the member `index`; None if it is not there.

        As in the reference, a key without time matches any time; an entry without time matches the only key of its uid.
        """
        for key in (entry_key(uid, created_at), uid):
            if key in self.index:
                return key
        keys = () if stamp_of(created_at) else self._timed_keys.get(uid, ())
        return keys[0] if len(keys) == 1 else None

    def entry(self, uid: str, created_at: str) -> dict[str, Any] | None:
        key = self.key_of(uid, created_at)
        return None if key is None else self.index[key]

    def times(self, uid: str) -> list[str]:
        return [key[len(uid) + 1 :] for key in self._timed_keys.get(uid, ())]

    @cached_property
    def _timed_keys(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for key, item in self.index.items():
            uid, created_at = uid_and_time(key, item)
            if key == f"{uid}:{created_at}":
                found.setdefault(uid, []).append(key)
        return found

    def tombstone(self, uid: str, created_at: str) -> Tombstone | None:
        """Return the first tombstone with the uid and time of an entry; a missing or invalid time equals any time.

        Doubtful cases count as deleted, so that no deleted object is returned.
        """
        found = self.tombstones.get(uid)
        if not found:
            return None
        # A uid may have 100,000 tombstones, so they are indexed by time.
        times = self._times.get(uid, lambda: {stamp_of(tomb.created_at): n for n, tomb in [*enumerate(found)][::-1]})
        other = stamp_of(created_at)
        first = min(times.get("", len(found)), times.get(other, len(found))) if other else 0
        return found[first] if first < len(found) else None

    def tombstone_span(self, folder: Folder | None, tombstone: Tombstone) -> Span:
        """Return the span of a tombstone and its key in the sidecar; of the whole sidecar if it is not found."""
        if folder is None or self.size > MOST_SOUGHT:
            return self.span
        try:
            data = folder.read(self.name, MOST_SOUGHT)
        except ShardError as error:
            raise_if_lost(error)
            return self.span
        found = _find_tombstone(data, tombstone.key) if len(data) == self.size else None
        return Span(self.span.source, *found) if found is not None else self.span


def read_sidecar(shard: Source) -> tuple[Sidecar | None, ShardError | None]:
    """Return the sidecar of a file, or the error that makes it unusable; (None, None) if there is no sidecar.

    An unreadable sidecar is an error, because it may contain tombstones. A store that does not permit listing answers
    "forbidden" for a missing object, which therefore counts as missing.
    """
    folder, name = shard.folder, sidecar_name(shard.name)
    if folder is None or not name:
        return None, None
    try:
        return Sidecar.parse(folder.read(name, MAX_SIDECAR), name), None
    except (ExternalMissing, NoSuchObject, Forbidden):
        return None, None
    except SourceError as error:
        raise_if_lost(error)
        missing = isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError))
        return None, None if missing else error
    except (FormatError, LimitExceeded) as error:
        return None, error


def checksum_in(entry: Mapping[str, Any] | None) -> str:
    """Return the sha256 in an entry of a sidecar, as lower-case hex; "" if it has none."""
    checksum = entry.get("checksum") if entry else None
    if not entry or entry.get("checksum_algo", "sha256") != "sha256" or not isinstance(checksum, str):
        return ""
    return checksum.lower() if len(checksum) == HASH_LENGTH else ""


def _fact(value: object) -> str:
    text = value if isinstance(value, str) else short(value, FACT_LETTERS)
    return text if len(text) <= FACT_LETTERS else text[:FACT_LETTERS] + "…"


def _find_tombstone(data: bytes, key: str) -> tuple[int, int] | None:
    # Latin-1 maps each byte to one character, so offsets in the text are offsets in the file.
    text, wanted = data.decode("latin-1"), key.encode("utf-8", "surrogatepass").decode("latin-1")
    try:
        for part, _, start, _ in _members(text, 0):
            if part == "tombstones":
                places = ((first, stop) for name, first, _, stop in _members(text, start) if name in (key, wanted))
                return next(places, None)
    except (ValueError, RecursionError):
        pass
    return None


def _members(text: str, at: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield the members of the JSON object at `at`: name, start of the name, start and end of the value."""
    decoder = json.JSONDecoder()
    at = _past_blank(text, _past_blank(text, at) + 1)
    while text[at : at + 1] == '"':
        first = at
        name, at = decoder.raw_decode(text, at)
        value = _past_blank(text, _past_blank(text, at) + 1)
        _, at = decoder.raw_decode(text, value)
        yield name, first, value, at
        at = _past_blank(text, at)
        at = _past_blank(text, at + 1) if text[at : at + 1] == "," else at


def _past_blank(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in " \t\r\n":
        at += 1
    return at


# --- writing --------------------------------------------------------------------------------------------------------


def entry_fields(entries: Entries, row: int) -> dict[str, Any]:
    """Return the fields of an entry that a sidecar repeats; None for those that only the other kind of entry has."""
    entry = entries.entry(row)
    big, size = bool(entry.big), entry.size
    return {
        "offset": None if big else entry.offset,
        "length": None if big else entry.length,
        "codec": None if big else codec_name(entry.codec),
        "compressed_size": None if big else entry.compressed,
        "uncompressed_size": None if big else size,
        "is_bigfile": big,
        "bigfile_hash": entries.hash_text(row) if big else None,
        "bigfile_size": size if big else None,
    }


def new_sidecar(
    name: str, size: int, entries: Entries, checksums: Sequence[str], times: Sequence[str] = ()
) -> dict[str, Any]:
    index: dict[str, Any] = {}
    for row, (uid, checksum) in enumerate(zip(entries.uids(entries.all_rows), checksums, strict=True)):
        meta, text = entries.meta(row), uid or ""
        created_at = created_at_of(meta) or (times[row] if times else "")
        index[entry_key(text, created_at)] = {
            "uid": text,
            **entry_fields(entries, row),
            "meta": meta,
            "checksum": checksum,
            "checksum_algo": "sha256",
        }
    tree = {
        "version": VERSION,
        "shard_file": name,
        "shard_size": size,
        "created_at": NO_TIME,
        "last_updated": NO_TIME,
        "index": index,
        "tombstones": {},
    }
    return _with_stats(tree)


def sidecar_bytes(tree: dict[str, Any]) -> bytes:
    return json.dumps(tree, indent=2).encode()


def add_tombstones(
    tree: dict[str, Any], rows: Iterable[tuple[str, str]], facts: dict[str, str], deleted_at: str
) -> dict[str, Any]:
    """Return the sidecar with tombstones of entries (uid, created_at) added; existing ones keep `deleted_at`.

    The time is required, because DES readers look up only `uid:timestamp`.
    """
    tombs, index = dict(tree["tombstones"]), tree["index"]
    renamed: dict[str, str] = {}
    for uid, created_at in rows:
        key = entry_key(uid, created_at)
        if key not in index and uid in index:
            renamed[uid] = key
        if not created_at_of(tombs.get(uid, {})):
            tombs.pop(uid, None)
        before = tombs.get(key)
        known = before if isinstance(before, dict) else {}
        named = {name: value or known.get(name, "") for name, value in facts.items()}
        when = known.get("deleted_at") or deleted_at
        tombs[key] = {**known, "uid": uid, "created_at": stamp_of(created_at), "deleted_at": when, **named}
    index = {renamed.get(key, key): item for key, item in index.items()}
    return _with_stats(tree | {"index": index, "tombstones": tombs, "last_updated": deleted_at})


def remove_tombstones(
    tree: dict[str, Any], rows: Iterable[tuple[str, str]], now: str
) -> tuple[dict[str, Any], list[str]]:
    """Return the sidecar without the tombstones of `rows`, and the uids in `rows` that had no tombstone."""
    wanted = {(uid, stamp_of(created_at)) for uid, created_at in rows}
    kept, had = {}, set()
    for key, stone in tree["tombstones"].items():
        uid, created_at = uid_and_time(key, stone)
        mine = {(one, time) for one, time in wanted if one == uid and time in ("", stamp_of(created_at) or time)}
        had |= mine
        if not mine:
            kept[key] = stone
    without = sorted({uid for uid, _ in wanted - had})
    return _with_stats(tree | {"tombstones": kept, "last_updated": now}), without


def _with_stats(tree: dict[str, Any]) -> dict[str, Any]:
    entries, gone = len(tree["index"]), len(tree["tombstones"])
    ratio = gone / entries if entries else 0.0
    return tree | {"stats": {"entries": entries, "deleted_files": gone, "deletion_ratio": ratio}}
