"""Effect of changed bytes on a shard: the checks that detect the change, and the objects that are affected.

Objects are read by key, up to `MOST_OBJECTS` and `MOST_BYTES`; the others are only counted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, field, replace
from shardcore.errors import ExternalMissing, KeyAbsent, ShardError, SourceError, raise_if_ended
from shardcore.model.finding import Depth, Finding, Report, Severity
from shardcore.model.objects import ObjectRef, State, in_states
from shardcore.model.span import SourceName, Span
from shardcore.model.text import visible
from shardcore.progress import Progress, check_stopped, no_progress
from shardcore.shards.shard import Shard, bounded
from shardcore.sources.base import Source
from shardcore.sources.patched_source import PatchedSource

_DIGITS = re.compile(r"0x[0-9a-f]+|\d[\d,]*")

_Same = tuple[str, str, int, int]


class FindingBaseline:
    """Findings of a file before a change, to distinguish new findings from known ones.

    Removing bytes moves later bytes, so spans of old findings are converted to their offsets after the change.
    """

    def __init__(self, findings: Iterable[Finding], source: Source | None) -> None:
        self._moved = source if isinstance(source, PatchedSource) else None
        self._known = Counter(_same(one, self.place(one.span)) for one in findings)

    def place(self, span: Span | None) -> Span | None:
        """Convert a span before the change to the span of the same bytes after it."""
        moved = self._moved
        if span is None or moved is None:
            return span
        name = SourceName.parse(span.source)
        if name.path:
            return span
        if not name.stretches:
            return Span("", *moved.now(span.start, span.stop))
        first, *inner = name.stretches
        return Span(str(SourceName("", (moved.now(*first), *inner))), span.start, span.stop)

    def fresh(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return the findings that were not reported before; at the next depth, they are no longer new."""
        left = self._known.copy()
        new: list[Finding] = []
        seen: Counter[_Same] = Counter()
        for one in findings:
            same = _same(one, one.span)
            seen[same] += 1
            if left[same] > 0:
                left[same] -= 1
            else:
                new.append(one)
        self._known |= seen
        return tuple(new)

    def gone(self, was: Iterable[Finding], now: Iterable[Finding]) -> tuple[Finding, ...]:
        there = {_same(one, one.span) for one in now}
        return tuple(one for one in was if _same(one, self.place(one.span)) not in there)


def kind_of(error: ShardError) -> str:
    """Return error type and message without numbers, so that the same error at another offset compares equal."""
    return f"{type(error).__name__} {_DIGITS.sub('0', error.message)}"


def _same(finding: Finding, place: Span | None) -> _Same:
    if place is None:
        return finding.code, finding.key or "", -1, -1
    return finding.code, place.source, place.start, place.stop


MOST_OBJECTS = 3000
"""Maximum number of objects compared; more are sampled evenly."""

MOST_BYTES = 256 << 20
"""Maximum number of uncompressed bytes read before a change; after it, twice as many."""

MOST_TOUCHED = 100
"""Maximum number of changed locations whose objects are compared even if they are not in the sample."""

MOST_LISTED = 100_000
"""Maximum number of rows whose keys are listed; more are sampled evenly."""

_ROWS_AT_ONCE = 1000
_COUNTED_AT_ONCE = 1 << 17
_SERVED = (State.LIVE, State.EXTERNAL, State.DAMAGED)


class Fate(Enum):
    SAME = "same"
    """The same bytes are returned, or the same error as before."""
    REFUSED = "refused"
    LOST = "lost"
    WRONG = "wrong"
    """Other bytes are returned without an error."""
    MENDED = "mended"


@dataclass(frozen=True, slots=True)
class Served:
    digest: str
    size: int
    error: str = ""
    absent: bool = False
    recipe: bool = False


@dataclass(frozen=True, slots=True)
class Before:
    faults: frozenset[str]
    findings: tuple[Finding, ...]
    served: dict[str, Served]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class ChangedObject:
    key: str
    fate: Fate
    why: str = ""
    noticed: tuple[str, ...] = ()
    place: tuple[str, int, int] | None = None


@dataclass(frozen=True, slots=True)
class ImpactCheck:
    name: str
    new: tuple[Finding, ...] = ()
    error: str = ""

    @property
    def notices(self) -> bool:
        return bool(self.error) or any(one.severity is not Severity.NOTE for one in self.new)


@dataclass(frozen=True, slots=True)
class Impact:
    checks: tuple[ImpactCheck, ...]
    gone: tuple[Finding, ...] = ()
    counts: dict[Fate, int] = field(default_factory=dict)
    objects: tuple[ChangedObject, ...] = ()
    left_out: int = 0
    report: Report = Report(Depth.CONTENT, 0, ())

    @property
    def new(self) -> tuple[Finding, ...]:
        return tuple(one for check in self.checks for one in check.new)

    @property
    def silent(self) -> tuple[ChangedObject, ...]:
        """Objects whose bytes changed without an error and without a finding."""
        return tuple(one for one in self.objects if one.fate is Fate.WRONG and not one.noticed)


def before(shard: Shard, progress: Progress = no_progress) -> Before:
    """Read the objects of a shard and verify it, before any change."""
    keys, total = _some_keys(shard)
    steps = len(keys) + 1
    served = {
        key: one for key, one in _read_objects(shard, keys, MOST_BYTES, lambda done: progress(done, steps)) if one
    }
    report, error = _verified(shard, Depth.CONTENT)
    faults = frozenset(kind_of(fault) for fault in (shard.damage, error) if fault is not None)
    return Before(faults, report.findings, served, total - len(served))


def touched(was: Before, shard: Shard) -> tuple[str, ...]:
    """Return the keys of objects at changed bytes that are not in the sample of `before`; loads the index."""
    source = shard.source
    if not was.left_out or not isinstance(source, PatchedSource):
        return ()
    places = [*(at for start, stop in source.new_ranges for at in {start, stop - 1}), *(at for at, _ in source.cuts)]
    found: dict[str, None] = {}
    for place in places[:MOST_TOUCHED]:
        with _damage_ignored():
            shard.load_index()
            rows = [node.row for node in shard.explain(min(place, max(source.size - 1, 0))) if node.row is not None]
            keys = [shard.objects.ref(row).key for row in dict.fromkeys(rows)]
            found.update((key, None) for key in keys if key is not None and key not in was.served)
    return tuple(found)


def noting(was: Before, shard: Shard, keys: Iterable[str]) -> Before:
    """Add objects to the state before the change; `shard` is the unchanged file."""
    more = {key: one for key, one in _read_objects(shard, keys, MOST_BYTES) if one is not None and not one.absent}
    return replace(was, served=was.served | more, left_out=max(was.left_out - len(more), 0))


def compare(was: Before, shard: Shard, progress: Progress = no_progress) -> Impact:
    steps = len(was.served) + len(Depth) + 1
    known = FindingBaseline(was.findings, shard.source)

    def told(error: ShardError | None) -> str:
        return "" if error is None or kind_of(error) in was.faults else str(error)

    checks, report = [ImpactCheck("opening", error=told(shard.damage))], Report(Depth.CONTENT, 0, ())
    for number, depth in enumerate(Depth):
        progress(number, steps)
        report, error = _verified(shard, depth)
        checks.append(ImpactCheck(depth.value, known.fresh(report.findings), told(error)))
    related = _related_findings(report, checks)
    counts: Counter[Fate] = Counter()
    objects: list[ChangedObject] = []
    left_out = was.left_out
    now = _read_objects(shard, was.served, MOST_BYTES * 2, lambda done: progress(len(Depth) + done, steps))
    for (key, one), old in zip(now, was.served.values(), strict=True):
        if one is None:
            left_out += 1
            continue
        fate, why = _fate(old, one)
        counts[fate] += 1
        if fate is not Fate.SAME:
            objects.append(_object(shard, key, fate, why, related))
    progress(steps, steps)
    gone = known.gone(was.findings, report.findings)
    return Impact(tuple(checks), gone, dict(counts), tuple(objects), left_out, report)


def _related_findings(report: Report, checks: Iterable[ImpactCheck]) -> list[Finding]:
    """Return all errors, and new warnings; known warnings are not related to the change."""
    new = {(one.code, one.key, one.span) for check in checks for one in check.new}
    return [
        one
        for one in report.findings
        if one.severity is Severity.ERROR
        or (one.severity is not Severity.NOTE and (one.code, one.key, one.span) in new)
    ]


@contextmanager
def _damage_ignored() -> Iterator[None]:
    try:
        yield
    except ShardError as error:
        raise_if_ended(error)


def _verified(shard: Shard, depth: Depth) -> tuple[Report, ShardError | None]:
    try:
        return shard.verify(depth, lambda done, total: check_stopped()), None
    except ShardError as error:
        raise_if_ended(error)
        return Report(depth, 0, ()), error


def _some_keys(shard: Shard) -> tuple[list[str], int]:
    """Return keys spread evenly over the shard, at most `MOST_OBJECTS`, and the number of all objects."""
    count = 0
    with _damage_ignored():
        shard.load_index()
        count = len(shard.objects)
    if count > MOST_LISTED:
        return _spread_keys(shard, count)
    keys = list(dict.fromkeys(_keys(shard, np.arange(count, dtype=np.int64))))
    if len(keys) > MOST_OBJECTS:
        chosen = np.linspace(0, len(keys) - 1, MOST_OBJECTS).astype(np.int64)
        return [keys[number] for number in chosen.tolist()], len(keys)
    return keys, len(keys)


def _spread_keys(shard: Shard, count: int) -> tuple[list[str], int]:
    total = 0
    for first in range(0, count, _COUNTED_AT_ONCE):
        check_stopped()
        states = shard.objects.columns(np.arange(first, min(first + _COUNTED_AT_ONCE, count), dtype=np.int64)).state
        total += int(in_states(states, _SERVED).sum())
    rows = np.linspace(0, count - 1, MOST_OBJECTS).astype(np.int64)
    return list(dict.fromkeys(_keys(shard, rows))), total


def _keys(shard: Shard, wanted: NDArray[np.int64]) -> Iterator[str]:
    for first in range(0, len(wanted), _ROWS_AT_ONCE):
        check_stopped()
        rows = wanted[first : first + _ROWS_AT_ONCE]
        states = shard.objects.columns(rows).state
        for key, state in zip(shard.objects.key_texts(rows), states.tolist(), strict=True):
            if key is not None and state in _SERVED:
                yield key


def _read_objects(
    shard: Shard, keys: Iterable[str], most: int, progress: Callable[[int], None] = lambda done: None
) -> Iterator[tuple[str, Served | None]]:
    """Read objects by key, up to `most` bytes in total; yield None for an object that exceeds the remaining bytes."""
    for number, key in enumerate(keys):
        progress(number)
        one, size = _read_object(shard, key, most)
        most -= size
        yield key, one


def _read_object(shard: Shard, key: str, most: int) -> tuple[Served | None, int]:
    """Look up and read an object; return the result, None if over `most` bytes, and the number of bytes read."""
    if shard.damage is not None and not shard.objects.counted:
        return Served("", -1, str(shard.damage)), 0
    try:
        ref = shard.find(key)
    except KeyAbsent as error:
        return Served("", -1, str(error), absent=True), 0
    except ShardError as error:
        raise_if_ended(error)
        return Served("", -1, error.message), 0
    if max(ref.size, ref.stored_size) > most:
        return None, 0
    digest, size = hashlib.blake2b(digest_size=16), 0
    try:
        for piece in bounded(shard, ref, most):
            check_stopped()
            digest.update(piece)
            size += len(piece)
    except ShardError as error:
        raise_if_ended(error)
        if isinstance(error, (ExternalMissing, SourceError)):
            return Served(_recipe(shard, ref), ref.size, error.message, recipe=True), size
        return Served("", -1, error.message), size
    return Served(digest.hexdigest(), size), size


def _recipe(shard: Shard, ref: ObjectRef) -> str:
    """Return a digest of the metadata, used if the content is in another file that is not available."""
    digest = hashlib.blake2b(digest_size=16)
    plain = {name: value for name, value in ref.extras.items() if isinstance(value, (str, int, float, bool))}
    digest.update(json.dumps([ref.key, ref.size, ref.codec, ref.kind, plain], sort_keys=True).encode())
    for part in ref.parts:
        try:
            digest.update(shard.read_part(ref, part, limit=1 << 24))
        except ShardError as error:
            digest.update(type(error).__name__.encode())
    return digest.hexdigest()


def _fate(old: Served, now: Served) -> tuple[Fate, str]:
    if now.digest:
        if now.digest == old.digest:
            return Fate.SAME, ""
        if not old.digest:
            return Fate.MENDED, ""
        if now.recipe or old.recipe:
            return Fate.WRONG, "another object is returned"
        sizes = f"{old.size:,} bytes before, {now.size:,} now" if old.size != now.size else f"{now.size:,} bytes"
        return Fate.WRONG, f"different bytes are returned: {sizes}"
    if now.absent:
        return (Fate.SAME, "") if old.absent else (Fate.LOST, "")
    # Objects that could not be read before the change are not affected.
    return (Fate.SAME, "") if not old.digest else (Fate.REFUSED, now.error)


def _object(shard: Shard, key: str, fate: Fate, why: str, told: list[Finding]) -> ChangedObject:
    spans: tuple[tuple[str, int, int], ...] = ()
    if fate is not Fate.LOST:
        with _damage_ignored():
            ref = shard.find(key)
            all_spans = (*ref.spans, *((ref.record,) if ref.record is not None else ()))
            spans = tuple((one.source, one.start, one.stop) for one in all_spans)
    codes = (one.code for one in told if one.key == key or _touches(one, spans))
    return ChangedObject(key, fate, visible(why), tuple(dict.fromkeys(codes)), spans[0] if spans else None)


def _touches(finding: Finding, spans: tuple[tuple[str, int, int], ...]) -> bool:
    span = finding.span
    if span is None or finding.key is not None:
        return False
    return any(source == span.source and start < span.stop and span.start < stop for source, start, stop in spans)
