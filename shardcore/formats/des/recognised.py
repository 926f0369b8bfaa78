"""What is opened as DES: a shard, or a zones file."""

from __future__ import annotations

from shardcore.format import Certainty, OpenContext, Verdict
from shardcore.formats.des import shard
from shardcore.formats.des.layout import MAGIC
from shardcore.formats.des.zoned import DesZones, open_zones
from shardcore.formats.des.zones import looks_like_zones
from shardcore.sources.opening import PrefetchedSource

HEAD = 1 << 16
"""Bytes of a text in which the keys of a zones file are looked for; they come with the first read."""


def detect(probe: PrefetchedSource) -> Verdict | None:
    """DES by the magic numbers of both ends; a zones file by its keys."""
    if _is_zones(probe):
        return Verdict(Certainty.BESIDE, "a zones file: n_bits and zones")
    return shard.detect(probe)


def open_shard(probe: PrefetchedSource, context: OpenContext) -> shard.DesShard | DesZones:
    """Opens a shard, or the zones that a zones file names.

    Raises:
        FormatError: It is damaged.
        SourceError: The bytes cannot be had.
    """
    return open_zones(probe, context) if _is_zones(probe) else shard.open_shard(probe, context)


def _is_zones(probe: PrefetchedSource) -> bool:
    head = probe.head(min(HEAD, probe.head_size))
    if head.startswith(MAGIC) or b"\0" in head:
        return False
    return looks_like_zones(probe.head(HEAD))
