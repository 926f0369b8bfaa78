"""Reproducible random damage, and typical use of damaged shards."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from shardcore.errors import ExternalMissing, LimitExceeded, ShardError, Unsupported
from shardcore.model.finding import Depth
from shardcore.model.objects import State
from shardcore.model.span import Span
from shardcore.operations.references import references_to
from shardcore.shards.shard import Shard
from shardcore.testing.checks import check_tiling, walk
from shardcore.testing.sampling import rounds, sampled


def mutations(data: bytes, *, seed: int, count: int) -> Iterator[bytes]:
    """Yield randomly damaged copies: flipped bits, overwritten bytes, extreme integers, moved or removed ranges."""
    for number in range(count):
        yield mutated(data, random.Random(f"{seed}/{number}"))


def mutated(data: bytes, dice: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        if not out:
            return b"\0"
        # Headers and footers are at the ends: damage them often.
        near = min(len(out), dice.choice((64, 512, len(out))))
        at = dice.randrange(near) if dice.random() < 0.6 else len(out) - 1 - dice.randrange(near)
        kind = dice.randrange(6)
        if kind == 0:
            out[at] ^= 1 << dice.randrange(8)
        elif kind == 1:
            out[at] = dice.randrange(256)
        elif kind == 2:
            width = dice.choice((2, 4, 8))
            value = dice.choice(
                (0, 1, (1 << 8 * width) - 1, (1 << 8 * width - 1), len(out), dice.getrandbits(8 * width))
            )
            out[at : at + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, dice.choice(("little", "big")))
        elif kind == 3:
            del out[at : at + dice.choice((1, 2, 8, 40, 100))]
        elif kind == 4:
            out[at:at] = out[at : at + dice.choice((1, 8, 40))]
        else:
            other = dice.randrange(len(out))
            out[at : at + 8], out[other : other + 8] = out[other : other + 8], out[at : at + 8]
    return bytes(out)


def check_promise(shard: Shard) -> None:
    """Assert that every live object can be found and read if verification finds no error.

    Contents in missing files, contents above a limit, and encodings that a finding lists are exempt.
    """
    report = shard.verify(Depth.CONTENT)
    reported = {finding.key for finding in report.findings}
    for row in sampled(range(len(shard.objects)), rounds(250, 40), full=False) if report.ok else ():
        ref = shard.objects.ref(row)
        try:
            if ref.state in (State.LIVE, State.EXTERNAL):
                shard.read(ref, limit=1 << 24)
                if ref.key is not None:
                    shard.find(ref.key)
        except (ExternalMissing, LimitExceeded):
            continue
        except ShardError as error:
            if not (isinstance(error, Unsupported) and ref.key in reported):
                raise AssertionError(f"verified, but {ref.key} fails") from error


def exercise(opener: Callable[..., Shard], *, thorough: bool = True) -> str:
    """Use a shard, damaged or not, in every way; only `ShardError`s may be raised.

    Args:
        opener: Opens it; called with and without `partial=True`.
        thorough: Whether every verification depth is run instead of only the deepest.

    Returns:
        `refused` if it cannot be opened at all, `partial` if only a part can be shown, else `opened`.
    """
    outcome = "opened"
    try:
        opener().close()
    except ShardError:
        outcome = "partial"
    try:
        shard = opener(partial=True)
    except ShardError:
        return "refused"
    with shard:
        if shard.source is not None:
            check_tiling(shard)
        for action in _actions(shard, thorough):
            try:
                action()
            except ShardError:
                continue
    return outcome


def _actions(shard: Shard, thorough: bool) -> Iterator[Callable[[], object]]:
    size = shard.source.size if shard.source else 0

    def look() -> None:
        list(walk(shard.tree, 300))
        for offset in {0, size // 2, max(size - 1, 0)}:
            if offset < size:
                shard.explain(offset)
                references_to(shard, Span("", offset, offset + 1))
        shard.runs(0, min(size, 4096))
        shard.runs(max(size - 4096, 0), size)

    def list_objects() -> None:
        count = min(len(shard.objects), 200)
        shard.objects.columns(np.arange(count, dtype=np.int64), sizes=True)
        shard.objects.keys[:count]
        for ref in shard.objects[:count]:
            assert ref.row < count
        if count:
            assert shard.objects[-1].row == len(shard.objects) - 1

    def read_objects() -> None:
        for row in range(min(len(shard.objects), 12)):
            try:
                ref = shard.objects.ref(row)
                shard.read(ref, limit=1 << 24)
                for span in ref.spans[:1]:
                    references_to(shard, span)
                if ref.key is not None:
                    shard.find(ref.key)
                    shard.trace(ref.key)
            except ShardError:
                continue

    yield look
    yield list_objects
    yield read_objects
    yield shard.load_index
    yield look
    yield list_objects
    for depth in Depth if thorough else ():
        yield partial(shard.verify, depth)
    yield partial(check_promise, shard)
