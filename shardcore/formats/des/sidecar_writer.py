"""Writing sidecars: checksums of a new shard, tombstones of an existing one (des_core.metadata_manager)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from shardcore.formats.des.entries import Entries
from shardcore.formats.des.layout import codec_name
from shardcore.formats.des.sidecar import VERSION, created_at_of, entry_key, stamp_of, uid_and_time

NO_TIME = "1970-01-01T00:00:00Z"
"""Fixed creation time in new sidecars, so that equal input gives equal bytes."""


def new_sidecar(
    name: str, size: int, entries: Entries, checksums: Sequence[str], times: Sequence[str] = ()
) -> dict[str, Any]:
    index: dict[str, Any] = {}
    uids = entries.uids(np.arange(len(entries), dtype=np.int64))
    c = entries.columns
    for row, (uid, checksum) in enumerate(zip(uids, checksums, strict=True)):
        big, meta, text = bool(c.big[row]), entries.meta(row), uid or ""
        created_at = created_at_of(meta) or (times[row] if times else "")
        index[entry_key(text, created_at)] = {
            "uid": text,
            "offset": None if big else int(c.offset[row]),
            "length": None if big else int(c.length[row]),
            "codec": None if big else codec_name(int(c.codec[row])),
            "compressed_size": None if big else int(c.compressed[row]),
            "uncompressed_size": None if big else int(c.size[row]),
            "is_bigfile": big,
            "bigfile_hash": entries.hash(row).decode("ascii", "replace") if big else None,
            "bigfile_size": int(c.size[row]) if big else None,
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
    """Return the sidecar with tombstones added; existing tombstones keep `deleted_at` and other members.

    Args:
        tree: The sidecar.
        rows: uid and created_at of each entry; the time is required, because DES readers look up only `uid:timestamp`.
        facts: `deleted_by`, `reason`, `ticket_id`.
        deleted_at: Time of the deletion.
    """
    tombs, index = dict(tree["tombstones"]), tree["index"]
    renamed: dict[str, str] = {}
    for uid, created_at in rows:
        key = entry_key(uid, created_at)
        if key not in index and uid in index:
            renamed[uid] = key
        bare = tombs.get(uid, {})
        if not created_at_of(bare):
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
    """Return the sidecar with the tombstones of `rows` removed, and the uids that had none."""
    wanted = {(uid, stamp_of(created_at)) for uid, created_at in rows}
    kept, had = {}, set()
    for key, stone in tree["tombstones"].items():
        uid, created_at = uid_and_time(key, stone)
        mine = {(one, time) for one, time in wanted if one == uid and time in ("", stamp_of(created_at) or time)}
        if mine:
            had |= mine
        else:
            kept[key] = stone
    without = sorted({uid for uid, _ in wanted - had})
    return _with_stats(tree | {"tombstones": kept, "last_updated": now}), without


def _with_stats(tree: dict[str, Any]) -> dict[str, Any]:
    entries, gone = len(tree["index"]), len(tree["tombstones"])
    ratio = gone / entries if entries else 0.0
    return tree | {"stats": {"entries": entries, "deleted_files": gone, "deletion_ratio": ratio}}
