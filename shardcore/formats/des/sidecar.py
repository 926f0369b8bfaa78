"""The sidecar `<name>.meta` beside a shard: checksums and tombstones (des_core.metadata_manager).

A tombstone never changes the shard: a reader that does not look here serves what was deleted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shardcore.caching import OnceEach
from shardcore.errors import (
    ExternalMissing,
    Forbidden,
    FormatError,
    LimitExceeded,
    NoSuchObject,
    ShardError,
    SourceError,
    UsageError,
)
from shardcore.formats.des.layout import SUFFIX as SHARD_SUFFIX
from shardcore.formats.des.routing import utc_stamp
from shardcore.json_text import JsonLimits, parse_json
from shardcore.sources.base import Folder
from shardcore.sources.names import SourceName
from shardcore.span import Span
from shardcore.text import short

SUFFIX = ".meta"
VERSION = 1
MAX_SIDECAR = 1 << 28
"""Largest sidecar read, 256 MiB."""
SIDECAR_LIMITS = JsonLimits(size=MAX_SIDECAR)
FACT_LETTERS = 1000
TIME_LETTERS = 64
"""Letters of a time; no longer text is one."""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """One deletion.

    Attributes:
        uid: What was deleted.
        created_at: The version that was deleted, as the sidecar states it; empty when it states none.
        facts: All that the tombstone says, as text: `deleted_at`, `deleted_by`, `reason`, `ticket_id`.
    """

    uid: str
    created_at: str
    facts: dict[str, str]

    def covers(self, created_at: str) -> bool:
        """Whether an entry of this uid with that `created_at` (or none, empty) is the deleted one.

        Without two times that can be compared it is: what was deleted must not be served by mistake.
        """
        mine, other = _stamp(self.created_at), _stamp(created_at)
        return not mine or not other or mine == other

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.facts.items()) or "deleted"


FEW = 4
"""Tombstones of one uid that are looked through each time."""


@dataclass(frozen=True, slots=True)
class Sidecar:
    """What a sidecar says.

    Attributes:
        name: Its file name.
        size: Its bytes.
        fields: The single values, by name: `version`, `shard_file`, `shard_size`, …, `stats.entries`, ….
        index: What it says of each entry, by `uid:timestamp` or `uid`.
        tombstones: Deletions by uid.
    """

    name: str
    size: int
    fields: dict[str, int | float | str | bool | None]
    index: dict[str, dict[str, Any]]
    tombstones: dict[str, tuple[Tombstone, ...]]
    _times: OnceEach[str, dict[str, int]] = field(default_factory=OnceEach, compare=False, repr=False)

    @property
    def span(self) -> Span:
        """All of its bytes."""
        return Span(str(SourceName(self.name)), 0, self.size)

    @classmethod
    def parse(cls, data: bytes, name: str) -> Sidecar:
        """Read a sidecar.

        Raises:
            FormatError: It is not JSON, not of this form, or of another version.
        """
        place = Span(str(SourceName(name)), 0, len(data))
        tree = parse_json(data, name, limits=SIDECAR_LIMITS, span=place)
        if not isinstance(tree, dict):
            raise FormatError(f"{name} is not a JSON object", span=place)
        if tree.get("version") != VERSION:
            raise FormatError(f"{name} is of version {short(tree.get('version'))}; {VERSION} is known", span=place)
        index, tombs = (_objects(tree, key, name, place) for key in ("index", "tombstones"))
        return cls(name, len(data), _plain_fields(tree), index, _tombstones(tombs))

    def entry(self, uid: str, created_at: str) -> dict[str, Any] | None:
        """What it says of an entry; None when it does not know it.

        Args:
            uid: The uid.
            created_at: `created_at` of the entry's metadata; empty for none.
        """
        return self.index.get(entry_key(uid, created_at))

    def tombstone(self, uid: str, created_at: str) -> Tombstone | None:
        """The tombstone of an entry, if there is one."""
        found = self.tombstones.get(uid)
        if not found:
            return None
        # One uid may have a hundred thousand: they are looked up by their times, not tried one by one.
        times = self._times.get(uid, lambda: _by_time(found)) if len(found) > FEW else _by_time(found)
        other = _stamp(created_at)
        first = min(times.get("", len(found)), times.get(other, len(found))) if other else 0
        return found[first] if first < len(found) else None


def sidecar_name(shard: str) -> str:
    """How the sidecar of a file is called; empty for a file without the suffix `.des`."""
    return shard.removesuffix(SHARD_SUFFIX) + SUFFIX if shard.endswith(SHARD_SUFFIX) else ""


def shard_of_sidecar(name: str) -> str:
    """The file that a sidecar of this name belongs to; empty for other names."""
    return name.removesuffix(SUFFIX) + SHARD_SUFFIX if name.endswith(SUFFIX) else ""


def read_sidecar(folder: Folder, name: str) -> tuple[Sidecar | None, ShardError | None]:
    """The sidecar of that name, or why it cannot be used; neither when there is none.

    Only a file that is known not to be there is none: one that cannot be read may have tombstones in it. Stores that
    nobody may list say "forbidden" of what is not there; that is none, and the tape notes it.
    """
    try:
        return Sidecar.parse(folder.read(name, MAX_SIDECAR), name), None
    except (ExternalMissing, NoSuchObject, Forbidden):
        return None, None
    except SourceError as error:
        missing = isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError))
        return None, None if missing else error
    except (FormatError, LimitExceeded) as error:
        return None, error


def entry_key(uid: str, created_at: str) -> str:
    """How a sidecar calls an entry: `uid:timestamp` in UTC when there is a time, else the uid."""
    stamp = _stamp(created_at)
    return f"{uid}:{stamp}" if stamp else uid


def created_at_of(meta: dict[str, Any]) -> str:
    """`created_at` of an entry's metadata; empty when there is none that is text."""
    value = meta.get("created_at")
    return value if isinstance(value, str) else ""


def _by_time(tombs: tuple[Tombstone, ...]) -> dict[str, int]:
    """The first tombstone of each time in UTC, by its number; those without a time under the empty text."""
    found: dict[str, int] = {}
    for number, tomb in enumerate(tombs):
        found.setdefault(_stamp(tomb.created_at), number)
    return found


def _stamp(created_at: str) -> str:
    try:
        return utc_stamp(created_at) if 0 < len(created_at) <= TIME_LETTERS else ""
    except UsageError:
        return ""


def _objects(tree: dict[str, Any], key: str, name: str, place: Span) -> dict[str, dict[str, Any]]:
    found = tree.get(key, {})
    if not isinstance(found, dict) or not all(isinstance(value, dict) for value in found.values()):
        raise FormatError(f"`{key}` of {name} is not an object of objects", span=place)
    return found


def _plain_fields(tree: dict[str, Any]) -> dict[str, int | float | str | bool | None]:
    stats = tree.get("stats")
    every = {**tree, **({f"stats.{key}": value for key, value in stats.items()} if isinstance(stats, dict) else {})}
    return {key: value for key, value in every.items() if value is None or isinstance(value, (int, float, str))}


def _tombstones(found: dict[str, dict[str, Any]]) -> dict[str, tuple[Tombstone, ...]]:
    tombs: dict[str, list[Tombstone]] = {}
    for key, item in found.items():
        # The key is `uid:timestamp`, and a uid may have colons; an item without its uid is taken by its whole key.
        uid = item.get("uid")
        uid = uid if isinstance(uid, str) else key
        facts = {name: _fact(value) for name, value in item.items() if name not in ("uid", "created_at") and value}
        tombs.setdefault(uid, []).append(Tombstone(uid, created_at_of(item), facts))
    return {uid: tuple(listed) for uid, listed in tombs.items()}


def _fact(value: object) -> str:
    text = value if isinstance(value, str) else short(value, FACT_LETTERS)
    return text if len(text) <= FACT_LETTERS else text[:FACT_LETTERS] + "…"
