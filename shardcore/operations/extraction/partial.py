"""Large objects of other machines that broke off while they were written: what came is kept, the rest is fetched."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from shardcore.errors import ShardError
from shardcore.model.objects import ObjectRef, State
from shardcore.shards.shard import PIECE, Shard

KEPT_FROM = 4 << 20
"""Objects of fewer bytes begin again."""

UNNAMED = "-unnamed "
"""In the identity of a file of which its server says nothing but the size: another may have the same."""


def mark_of(shard: Shard, ref: ObjectRef, limit: int | None) -> str:
    """What tells the content of an object from every other; empty where it is not taken up again after a failure.

    It is taken up where any range of it can be read alone: it lies in the file as it is, or is the whole content of
    one. The mark has the identity of the file in it: once that was replaced, nothing goes on.
    """
    if ref.size < KEPT_FROM or (limit is not None and ref.size > limit) or ref.state is not State.LIVE:
        return ""
    plain = ref.codec == "none" and len(ref.spans) > 0 and ref.spans[0].size == ref.size == ref.stored_size
    whole = ref.key in shard.views
    if not (plain and ref.spans[0].source in ("", ref.shard)) and not whole:
        return ""
    try:
        source = shard.bytes_of(ref.shard)
    except ShardError:
        return ""
    if source.near or UNNAMED in source.identity:
        return ""
    facts = [source.identity, ref.shard, str(ref.key), str(ref.size), *map(str, ref.spans[:1])]
    return hashlib.sha256("\n".join(facts).encode("utf-8", "surrogatepass")).hexdigest()


def pieces_from(shard: Shard, ref: ObjectRef, start: int) -> Iterator[bytes]:
    """The content of an object from an offset on.

    Raises:
        ShardError: The bytes cannot be had, or are damaged.
    """
    if not start:
        yield from shard.stream(ref)
        return
    for at in range(start, ref.size, PIECE):
        yield shard.read_range(ref, at, min(at + PIECE, ref.size))
