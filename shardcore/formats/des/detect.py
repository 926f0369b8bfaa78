"""Detecting and opening DES: a shard, a folder of shards, or a zones file."""

from __future__ import annotations

from shardcore.errors import NotAShard, ShardError, source_lost
from shardcore.formats.des import folder as shards
from shardcore.formats.des import shard
from shardcore.formats.des.layout import MAGIC
from shardcore.formats.des.zones_dataset import DesZones, open_zones
from shardcore.formats.des.zones_file import MAX_TEXT, looks_like_zones
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import OpenContext
from shardcore.sources.base import Folder
from shardcore.sources.prefetched_source import PrefetchedSource

HEAD = 1 << 16
"""Bytes in which the keys of a zones file are searched; part of the first read."""


def detect(probe: PrefetchedSource) -> Verdict | None:
    """Detect a shard by the magic of its header and footer, a zones file by its keys."""
    if _is_zones(probe):
        return Verdict(Certainty.BESIDE, "zones file: n_bits and zones")
    return shard.detect(probe)


def open_shard(probe: PrefetchedSource, context: OpenContext) -> shard.DesShard | DesZones:
    return open_zones(probe, context) if _is_zones(probe) else shard.open_shard(probe, context)


def detect_folder(folder: Folder) -> Verdict | None:
    """Detect a folder of shards, or a folder without shards that has a zones file."""
    verdict = shards.detect_folder(folder)
    if verdict is None and (name := _zones_in(folder)) is not None:
        return Verdict(Certainty.BESIDE, f"zones file {name}, no shards")
    return verdict


def open_folder(folder: Folder, context: OpenContext) -> shards.DesDataSet:
    try:
        return shards.open_folder(folder, context)
    except NotAShard:
        if (name := _zones_in(folder)) is None:
            raise
    return open_zones(folder.open(name), context, folder)


def _zones_in(folder: Folder) -> str | None:
    there = {entry.name for entry in folder.list() if not entry.is_folder}
    for name in shards.ZONES_NAMES:
        if name in there:
            try:
                if looks_like_zones(folder.read(name, MAX_TEXT)):
                    return name
            except ShardError as error:
                if source_lost(error):
                    raise
    return None


def _is_zones(probe: PrefetchedSource) -> bool:
    head = probe.head(min(HEAD, probe.head_size))
    if head.startswith(MAGIC) or b"\0" in head:
        return False
    return looks_like_zones(probe.head(HEAD))
