"""Recovery from a damaged shard: the sections can be read without tables and footer.

A file is recovered from its xorbs and checked, or as its recipe if xorbs are missing. A damaged header is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from shardcore.dataclasses import replace
from shardcore.errors import ExternalMissing, ShardError, SourceError, raise_if_lost
from shardcore.formats.mdb.content import recipe_pieces
from shardcore.formats.mdb.layout import CHUNK, FILE, FOOTER_SIZE, HEADER, HEADER_VERSION, TAG
from shardcore.formats.mdb.shard import MdbShard
from shardcore.model.objects import ObjectRef
from shardcore.shards.salvage import Damaged, SalvagedObject, refs
from shardcore.shards.shard import bounded
from shardcore.sources.patched_source import Change, PatchedSource

_BY_HASHES = "its range hashes and its file hash"


def salvage(damaged: Damaged) -> Iterator[SalvagedObject]:
    shard = damaged.shard
    if isinstance(shard, MdbShard):
        yield from _records(damaged, shard, without_index=shard.damage is not None)
        return
    if damaged.source.size < HEADER.size:
        return
    for footer in (FOOTER_SIZE, 0):
        head = HEADER.pack(tag=TAG, version=HEADER_VERSION, footer_size=footer)
        with damaged.reopen(PatchedSource(damaged.source, [Change.overwrite(0, head)])) as mended:
            if isinstance(mended, MdbShard) and len(mended.objects):
                yield from _records(damaged, mended, without_index=True)
                return


def _records(damaged: Damaged, shard: MdbShard, *, without_index: bool) -> Iterator[SalvagedObject]:
    kinds = frozenset(kind for kind in shard.objects.kinds if kind != CHUNK)
    away: set[str] = set()
    for ref in refs(replace(damaged, shard=shard), kinds):
        name = ref.key or f"row-{ref.row}"
        if ref.error:
            yield SalvagedObject(ref.key, name, ref.spans, why=ref.error, without_index=without_index)
            continue
        content = ref.kind == FILE and _has_content(shard, ref, away)
        if content:
            pieces, by = partial(bounded, shard, ref, damaged.limit), _BY_HASHES
        else:
            pieces, by, name = partial(recipe_pieces, shard.file, ref), "", f"{name.replace(':', '-')}.recipe.json"
        yield SalvagedObject(ref.key, name, ref.spans, pieces, by, without_index=without_index)


def _has_content(shard: MdbShard, ref: ObjectRef, away: set[str]) -> bool:
    """Return True if all xorbs of a file exist, even corrupt ones; a missing one is added to `away`."""
    segments = ref.extras["segments"]
    if not len(segments):
        return True
    xorbs = dict.fromkeys(segment["xorb"] for segment in segments)
    if not away.isdisjoint(xorbs):
        return False
    for text in xorbs:
        try:
            shard.file.xorbs.get(text)
        except (ExternalMissing, SourceError) as error:
            raise_if_lost(error)
            away.add(text)
            return False
        except ShardError:
            return True
    return True
