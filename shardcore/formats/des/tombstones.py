"""Tombstones: a deletion noted in the sidecar; the shard itself stays as it is (des_core.metadata_manager)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shardcore.dataset import DataSet
from shardcore.errors import KeyAbsent, UsageError
from shardcore.formats.des.shard import DesShard
from shardcore.formats.des.sidecar import MAX_SIDECAR, SIDECAR_LIMITS, created_at_of, sidecar_name
from shardcore.formats.des.sidecar_writer import bury, new_sidecar, sidecar_bytes, unbury
from shardcore.json_text import parse_json
from shardcore.objects import ObjectRef, inside_member
from shardcore.shard import Shard
from shardcore.sources.local import FileSource, LocalFolder
from shardcore.text import short
from shardcore.words import plural
from shardcore.writing.edit import Rewrite


def tombstone(
    shard: Shard, keys: Sequence[str], *, now: str, facts: Mapping[str, str] | None = None, undo: bool = False
) -> tuple[Rewrite, ...]:
    """Notes deletions in the sidecars, or takes the notes back; every entry with one of the uids is meant.

    Args:
        shard: A shard, or a folder of them.
        keys: The uids.
        now: The time, in ISO 8601 and UTC.
        facts: `deleted_by`, `reason`, `ticket_id`.
        undo: Whether tombstones are removed.

    Raises:
        KeyAbsent: A uid is nowhere.
        UsageError: A uid has no tombstone that could be removed; the shard is no local file.
        FormatError: A sidecar is damaged.
        SourceError: The bytes cannot be had.
    """
    if not keys:
        raise UsageError("which objects? give their uids")
    rows: dict[str, list[tuple[str, str]]] = {}
    files: dict[str, DesShard] = {}
    for key in keys:
        found = shard.find_all(key)
        if not found:
            raise KeyAbsent(key)
        for ref in found:
            member = _member_of(shard, ref)
            files[ref.shard] = member
            inner = inside_member(ref) if ref.shard else ref
            rows.setdefault(ref.shard, []).append((key, created_at_of(inner.extras.get("meta", {}))))
    return tuple(
        _rewritten(files[name], entries, now=now, facts=dict(facts or {}), undo=undo) for name, entries in rows.items()
    )


def _member_of(shard: Shard, ref: ObjectRef) -> DesShard:
    member = shard.member(ref.shard) if isinstance(shard, DataSet) else shard
    if not isinstance(member, DesShard):
        raise UsageError(f"{short(ref.key)} does not lie in a shard")
    return member


def _rewritten(
    shard: DesShard, entries: list[tuple[str, str]], *, now: str, facts: dict[str, str], undo: bool
) -> Rewrite:
    source = shard.source
    folder = source.folder if source is not None else None
    if source is None or not isinstance(folder, LocalFolder):
        raise UsageError("only sidecars of local files can be changed")
    name = sidecar_name(source.name)
    if not name:
        raise UsageError(f"{source.name} does not end with .des: it has no sidecar")
    path = folder.path / name
    old = _read(path)
    uids = sorted({uid for uid, _ in entries})
    if undo:
        tree, without = unbury(_parsed(old, name), uids, now) if old is not None else ({}, uids)
        if without:
            raise UsageError(f"{short(without[0])} has no tombstone in {name}")
        what = f"remove {plural(len(uids), 'tombstone')}"
    else:
        tree = bury(_parsed(old, name) if old is not None else _made(shard), entries, facts, now)
        what = f"note {plural(len(uids), 'object')} as deleted"
    shard_path = source.path if isinstance(source, FileSource) else folder.path / source.name
    verb = "lift tombstone" if undo else "tombstone"
    return Rewrite(path, what, old, sidecar_bytes(tree), shard_path, verb, tuple(uids))


def _read(path: Path) -> bytes | None:
    """The sidecar, or None where there is none.

    Raises:
        SourceError: It cannot be read.
        UsageError: It is larger than any that is read.
    """
    if not os.path.lexists(path):
        return None
    with FileSource(path, follow_links=False) as source:
        if source.size > MAX_SIDECAR:
            raise UsageError(f"{path} has {plural(source.size, 'byte')}; at most {MAX_SIDECAR:,} are read")
        return source.read(0, source.size)


def _parsed(data: bytes, name: str) -> dict[str, Any]:
    tree = parse_json(data, name, limits=SIDECAR_LIMITS)
    if not isinstance(tree, dict) or not all(isinstance(tree.get(k, {}), dict) for k in ("index", "tombstones")):
        raise UsageError(f"{name} is no sidecar")
    # What is there keeps its order: as few bytes change as can be.
    return tree | {name: tree.get(name, {}) for name in ("index", "tombstones")}


def _made(shard: DesShard) -> dict[str, Any]:
    """A new sidecar for a shard that has none: every content is read for its checksum."""
    entries = shard.file.entries
    size = shard.source.size if shard.source is not None else 0
    return new_sidecar(shard.source.name if shard.source else "", size, entries, list(_checksums(shard)))


def _checksums(shard: DesShard) -> Iterator[str]:
    entries = shard.file.entries
    for row in range(len(entries)):
        if entries.columns.big[row]:
            yield entries.hash(row).decode("ascii", "replace").lower()
            continue
        digest = hashlib.sha256()
        for piece in shard.file.stream(row):
            digest.update(piece)
        yield digest.hexdigest()
