"""Checking the answer of a mission: the open file must be repaired."""

from __future__ import annotations

import hashlib
import re

from shardcore.errors import ShardError
from shardcore.model.finding import Depth, Severity
from shardcore.model.number_text import plural
from shardcore.shards.shard import Shard

MOST_BYTES = 256 << 20

_PIECE = 1 << 20
_DIGEST = re.compile(r"sha256 ([0-9a-f]{64})")


def is_demand(answer: str) -> bool:
    return answer in {depth.value for depth in Depth} or _DIGEST.fullmatch(answer) is not None


def missing_of(answer: str, shard: Shard) -> str:
    """Return a text about the remaining damage; empty if the file is repaired."""
    digest = _DIGEST.fullmatch(answer)
    try:
        if digest is not None:
            return "" if _sha256(shard) == digest[1] else "Not repaired yet: the bytes differ from the intact file."
        if shard.damage is not None:
            return f"Not yet: {shard.damage.message}."
        errors = [one for one in shard.verify(answer).findings if one.severity is Severity.ERROR]
    except ShardError as error:
        return f"Not yet: {error.message}."
    if not errors:
        return ""
    return f"Not yet: *verify {answer}* still reports {plural(len(errors), 'error')}."


def _sha256(shard: Shard) -> str:
    source = shard.source
    if source is None or source.size > MOST_BYTES:
        return ""
    found = hashlib.sha256()
    for start in range(0, source.size, _PIECE):
        found.update(source.read(start, min(start + _PIECE, source.size)))
    return found.hexdigest()


__all__ = ["is_demand", "missing_of"]
