"""Adding and removing tombstones: deletions are recorded in the sidecar (des_core.metadata_manager)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shardcore.codecs.content_hash import sha256_of
from shardcore.codecs.json_text import parse_json
from shardcore.dataclasses import dataclass
from shardcore.errors import KeyAbsent, Remedy, UsageError
from shardcore.formats.des import sidecar
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import created_at_of
from shardcore.formats.des.routing import ShardName, shard_date
from shardcore.formats.des.shard import DesShard
from shardcore.model.objects import ObjectRef, inside_member
from shardcore.model.text import plural, short
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import Shard
from shardcore.sources.local import FileSource, LocalFolder
from shardcore.writing.in_place import Rewrite

MOST_NAMED = 3
"""Maximum number of keys named in the description of a change."""


def tombstone(
    shard: Shard,
    keys: Sequence[str],
    *,
    now: str,
    facts: Mapping[str, str] | None = None,
    undo: bool = False,
    date: str = "",
) -> tuple[Rewrite, ...]:
    """Return the sidecars to write, with tombstones added or removed (`undo`).

    DES readers look up a tombstone by `uid:timestamp`. The time is `created_at` of the entry's metadata, else that of
    the sidecar's index, else `date`. If a uid has several entries, `date` selects among them. `now` is the time of
    the deletion, in UTC; `facts` are `deleted_by`, `reason`, `ticket_id`.

    Raises:
        KeyAbsent: A uid is not found.
        UsageError: The time of an object is unknown, a uid has no tombstone to remove, or the file is not local.
        FormatError: A sidecar is damaged.
    """
    if not keys:
        raise UsageError("no uids given")
    day = shard_date(date) if date else ""
    rows: dict[str, list[tuple[str, str]]] = {}
    files: dict[str, DesFile] = {}
    for key in dict.fromkeys(keys):
        entries = [_entry_of(shard, ref) for ref in shard.find_all(key)]
        if not entries:
            raise KeyAbsent(key)
        # Readers search only shards with the date in their names.
        chosen = [entry for entry in entries if not day or entry.date in ("", day)]
        if not chosen:
            raise UsageError(f"{short(key)} is in {entries[0].file.source.name}, which is not a shard of {date}")
        for entry, created_at in _dated(key, chosen, date, undo=undo):
            files[entry.member] = entry.file
            rows.setdefault(entry.member, []).append((key, created_at))
    return tuple(
        _rewritten(files[name], some, now=now, facts=dict(facts or {}), undo=undo) for name, some in rows.items()
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry with the possible times of its object; `date` is that in the file name, "" if there is none."""

    member: str
    file: DesFile
    date: str
    times: tuple[str, ...]


def _entry_of(shard: Shard, ref: ObjectRef) -> _Entry:
    member = shard.member(ref.shard) if isinstance(shard, DataSet) else shard
    if not isinstance(member, DesShard):
        raise UsageError(f"{short(ref.key)} is a retention copy, not an entry of a shard")
    file, inner = member.file, inside_member(ref) if ref.shard else ref
    name = ShardName.parse(file.source.name)
    stated = sidecar.stamp_of(created_at_of(inner.extras.get("meta", {})))
    times = [stated] if stated else file.sidecar.times(str(inner.key)) if file.sidecar is not None else []
    return _Entry(ref.shard, file, name.date if name is not None else "", tuple(times))


def _dated(key: str, entries: list[_Entry], date: str, *, undo: bool) -> list[tuple[_Entry, str]]:
    given = sidecar.time_of_day(date)
    found: list[tuple[_Entry, str]] = []
    unknown = [entry for entry in entries if not entry.times]
    for entry in entries:
        found += [(entry, time) for time in entry.times if not given or time == given]
    if not found and given and unknown:
        return [(entry, given) for entry in unknown]
    if undo and not given:
        return [(entry, "") for entry in entries]
    if not found and given:
        raise UsageError(f"{short(key)} was created at {entries[0].times[0]}, not at {date}")
    if unknown and not given:
        name = unknown[0].file.source.name
        text = f"{name} does not contain created_at of {short(key)}, which the sidecar key requires"
        raise UsageError(text, remedy=Remedy.DATE)
    return found


def _rewritten(
    file: DesFile, entries: list[tuple[str, str]], *, now: str, facts: dict[str, str], undo: bool
) -> Rewrite:
    source, folder, name = file.source, file.source.folder, file.sidecar_name
    if not isinstance(folder, LocalFolder):
        raise UsageError("only sidecars of local files can be changed")
    if not name:
        raise UsageError(f"{source.name} does not end with .des: it has no sidecar")
    path = folder.path / name
    old = _read(path)
    if undo:
        verb = "remove tombstone"
        tree, without = sidecar.remove_tombstones(_parsed(b"{}" if old is None else old, name), entries, now)
        if without:
            raise UsageError(f"{short(without[0])} has no tombstone in {name}")
        what = f"remove {plural(len(entries), 'tombstone')}: {_some(entries)}"
    else:
        verb, before = "tombstone", _new_sidecar(file) if old is None else _with_required(_parsed(old, name), file)
        tree = sidecar.add_tombstones(before, entries, facts, now)
        there = [entry for entry in entries if sidecar.entry_key(*entry) in before["tombstones"]]
        changes = (("add", [entry for entry in entries if entry not in there]), ("update", there))
        what = "; ".join(f"{do} {plural(len(some), 'tombstone')}: {_some(some)}" for do, some in changes if some)
    shard_path = source.path if isinstance(source, FileSource) else folder.path / source.name
    keys = tuple(dict.fromkeys(uid for uid, _ in entries))
    return Rewrite(path, what, old, sidecar.sidecar_bytes(tree), shard_path, verb, keys)


def _some(entries: list[tuple[str, str]]) -> str:
    shown = ", ".join(short(sidecar.entry_key(*entry)) for entry in entries[:MOST_NAMED])
    return shown if len(entries) <= MOST_NAMED else f"{shown}, …"


def _read(path: Path) -> bytes | None:
    if not os.path.lexists(path):
        return None
    with FileSource(path, follow_links=False) as source:
        if source.size > sidecar.MAX_SIDECAR:
            raise UsageError(f"{path} has {plural(source.size, 'byte')}; the limit is {sidecar.MAX_SIDECAR:,}")
        return source.read(0, source.size)


def _parsed(data: bytes, name: str) -> dict[str, Any]:
    tree = parse_json(data, name, limits=sidecar.SIDECAR_LIMITS)
    if not isinstance(tree, dict) or not all(isinstance(tree.get(k, {}), dict) for k in ("index", "tombstones")):
        raise UsageError(f"{name} is not a sidecar: not a JSON object with objects `index` and `tombstones`")
    # Existing members keep their order, to change few bytes.
    return tree | {part: tree.get(part, {}) for part in ("index", "tombstones")}


def _with_required(tree: dict[str, Any], file: DesFile) -> dict[str, Any]:
    """Return the sidecar with all fields that DES readers require; if one is missing, they ignore the whole sidecar."""
    stated = {"shard_file": file.source.name, "shard_size": file.source.size}
    return stated | {"created_at": sidecar.NO_TIME, "last_updated": sidecar.NO_TIME} | tree


def _new_sidecar(file: DesFile) -> dict[str, Any]:
    """Return a new sidecar; reads every content to compute its checksum."""
    entries = file.entries
    checksums = [
        entries.hash_text(row).lower() if entries.columns.big[row] else sha256_of(file.stream(row))[0]
        for row in range(len(entries))
    ]
    return sidecar.new_sidecar(file.source.name, file.source.size, entries, checksums)
