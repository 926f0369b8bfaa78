"""Byte shares of a DES shard, and the load of the shard numbers of a folder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardcore.formats.des.file import DesFile
from shardcore.formats.des.routing import ShardName
from shardcore.model.byte_shares import Share, Use, budget, share_of
from shardcore.model.slot_usage import Load, counts_of


def shares(file: DesFile) -> tuple[Share, ...]:
    parts = file.data_map
    gone = np.isin(parts.rows, file.tombstoned)
    gap, live = parts.rows < 0, (parts.rows >= 0) & ~gone
    inside = [
        share_of(Use.DATA, "data", parts.starts[live], parts.stops[live], "The objects, as they are stored."),
        share_of(Use.DEAD, "tombstoned data", parts.starts[gone], parts.stops[gone], _TOMBSTONED),
        share_of(Use.DEAD, "unreferenced bytes", parts.starts[gap], parts.stops[gap], "No entry refers to these."),
    ]
    return budget(file.sections, {"data": inside})


_TOMBSTONED = "Deleted according to the sidecar; the bytes remain until the shard is rewritten."


def numbers(names: Sequence[tuple[str, int]], n_bits: int) -> Load:
    """Return the number of objects per shard number, over all dates and parts."""
    parsed = [(ShardName.parse(name.rpartition("/")[2]), count) for name, count in names]
    named = [(name.number, count) for name, count in parsed if name is not None and name.number < 1 << n_bits]
    places = np.array([number for number, _ in named], np.int64)
    weights = np.array([count for _, count in named], np.int64)
    counts = counts_of(np.repeat(places, weights), 1 << n_bits)
    return Load(
        "Objects per shard number",
        "shard number",
        "object",
        counts,
        "The shard number is the uid, if it is a number, or its CRC-32, modulo 2^n_bits: both should spread evenly.",
        int(counts.sum()) / len(counts),
        by_chance=True,
        names=tuple(f"{number:X}" for number in range(len(counts))) if len(counts) <= 4096 else (),
    )
