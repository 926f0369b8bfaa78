"""Assertions about opened shards for the contract tests, and the choice of cases in a quick and a full run."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import pytest

from shardcore.errors import ConnectionFailed, KeyAbsent, ShardError
from shardcore.model.finding import Depth, Report
from shardcore.model.node import Children, Node
from shardcore.model.objects import State
from shardcore.model.record import FieldRole
from shardcore.model.span import Span
from shardcore.shards.registry import all_formats
from shardcore.shards.shard import Shard
from shardcore.shards.trace import Trace
from shardcore.testing.sources import LossyConnection

T = TypeVar("T")
AnyShard = TypeVar("AnyShard", bound=Shard)

FULL = os.environ.get("SHARDSCOPE_FULL") == "1"
"""True in a full run, which tests all cases instead of samples. The environment is read only here."""


def sampled(items: Sequence[T], at_most: int, *, keep: Iterable[T] = (), full: bool | None = None) -> list[T]:
    """Return at most `at_most` items in order: the first, the last and random ones. All of them in a full run.

    Args:
        items: All cases.
        at_most: Number of items in a quick run, in addition to `keep`.
        keep: Items that are always included.
        full: Overrides `FULL`.
    """
    if len(items) <= at_most or (FULL if full is None else full):
        return list(items)
    seeded = random.Random(f"{len(items)}/{at_most}")
    edges = {0, len(items) - 1} if at_most > 1 else set()
    chosen = {*edges, *seeded.sample(range(len(items)), at_most - len(edges))}
    kept = set(keep)
    return [item for number, item in enumerate(items) if number in chosen or item in kept]


def rounds(full: int, quick: int) -> int:
    """Return `full` in a full run, else `quick`."""
    return full if FULL else min(full, quick)


SMALL = 8192
"""Maximum size of a file whose offsets are all tested."""

OFFSETS = rounds(300, 60)
"""Number of offsets passed to `explain`, in addition to the same number of run starts."""

DECODED = rounds(8, 4)
"""Number of sources of decoded bytes that `check_explained` tests, in addition to the file."""

SEEDED = 500
"""Number of random offsets tested in larger files, in addition to the edges of nodes."""


def indexed(shard: AnyShard) -> AnyShard:
    shard.load_index()
    return shard


def check_tiling(shard: Shard) -> None:
    """Assert that the sections cover the file without gaps or overlaps."""
    size = shard.source.size if shard.source else 0
    at = 0
    for section in shard.sections:
        assert section.start == at, f"{section} does not begin at {at}"
        assert section.stop >= section.start
        at = section.stop
    assert at == size
    assert len(shard.sections) <= 64


FIELDS_BYTES = 1024
"""Size in bytes of a range whose fields are compared with `explain`."""

FIELDS_COMPARED = rounds(80, 12)
"""Number of fields per range that are compared with `explain`."""


def check_explained(shard: Shard, source: str = "", *, complete: bool = True) -> None:
    """Assert that runs cover the source and agree with `explain`; if `complete`, also that each byte has a node."""
    size = shard.bytes_of(source).size
    runs = shard.runs(0, size, source)
    assert runs.start.tolist() == [0, *runs.stop.tolist()[:-1]] if size else len(runs) == 0
    assert size == 0 or runs.stop[-1] == size
    decoded: set[str] = set()
    offsets = [offset for offset in places(shard, size, source) if offset < size]
    first = sampled(runs.start.tolist(), OFFSETS, full=False)
    for offset in sampled(offsets, OFFSETS, keep=first, full=False):
        path = shard.explain(offset, source)
        leaf = path[-1]
        number = int(np.searchsorted(runs.start, offset, "right")) - 1
        assert runs.role[number] == leaf.role, (offset, leaf)
        assert leaf.span.start <= runs.start[number] <= offset < runs.stop[number] <= leaf.span.stop, (offset, leaf)
        assert leaf.name
        if complete:
            assert len(path) > 1, (offset, leaf)
            assert leaf.role is not FieldRole.GROUP or leaf.error, (offset, leaf)
        decoded.update(node.decoded for node in path if node.decoded)
    check_fields(shard, source)
    for name in sampled(sorted(decoded - {source}), DECODED, full=False):
        check_explained(shard, name, complete=complete)


def check_fields(shard: Shard, source: str = "") -> None:
    """Assert that `fields_in` agrees with `explain` at the start of each field, is complete, and obeys its limit."""
    size = shard.bytes_of(source).size
    for start in {0, max(size - FIELDS_BYTES, 0), size // 2}:
        stop = min(start + FIELDS_BYTES, size)
        found = shard.fields_in(start, stop, source)
        begins = [path[-1].span.start for path in found]
        assert begins == sorted(begins), source
        for number in sampled(range(len(found)), FIELDS_COMPARED, full=False):
            path = shard.explain(begins[number], source)
            assert [(n.name, n.span) for n in path] == [(n.name, n.span) for n in found[number]], source
        assert set(begins) <= set(shard.runs(start, stop, source).start.tolist()), source
        assert [path[-1].span for path in shard.fields_in(start, stop, source, limit=1)] == [
            path[-1].span for path in found[:1]
        ], source


def check_columns(shard: Shard) -> None:
    """Assert that columns, keys and references of the objects agree."""
    rows = np.random.default_rng(7).permutation(len(shard.objects))[:200].astype(np.int64)
    columns = shard.objects.columns(rows, sizes=True)
    texts = shard.objects.key_texts(rows)
    for number, row in enumerate(rows.tolist()):
        ref = shard.objects.ref(row)
        assert (ref.row, ref.key) == (row, texts[number])
        for name in ("state", "size", "stored_size"):
            assert getattr(ref, name) == getattr(columns, name)[number]
        assert ref.kind == shard.objects.kinds[columns.kind[number]]
        assert ref.codec == shard.objects.codecs[columns.codec[number]]
        if ref.spans and not ref.spans[0].source and ref.spans[0].size:
            assert (ref.spans[0].start, ref.spans[0].stop) == (columns.start[number], columns.stop[number])
    for name in shard.objects.orders:
        order = shard.objects.order(name)
        assert order is None or len(np.unique(order)) == len(order)


def check_sequence(shard: Shard) -> None:
    """Assert that the objects are a sequence before and after `load_index`: indices, iteration, slices, keys agree."""
    objects = shard.objects
    every = list(objects)
    assert len(objects) == len(every)
    assert [ref.row for ref in every] == list(range(len(every)))
    for place in (0, -1, len(every) // 2) if every else ():
        assert objects[place] == every[place]
        assert objects[place] in objects
    for beyond in (len(every), -len(every) - 1):
        with pytest.raises(IndexError):
            objects[beyond]
    assert list(reversed(objects[:3])) == every[:3][::-1]
    for rows in (slice(1, 5), slice(None, None, -7), slice(-3, None), slice(4, 2)):
        part = objects[rows]
        assert len(part) == len(every[rows])
        assert list(part) == every[rows]
        assert part.keys[:] == list(part.keys) == objects.keys[rows] == [ref.key for ref in every[rows]]
        assert part[1:][:2].row.tolist() == [ref.row for ref in every[rows][1:][:2]]
        for name in ("row", "size", "stored_size", "state"):
            assert getattr(part, name).tolist() == [getattr(ref, name) for ref in every[rows]]
        assert [objects.kinds[code] for code in part.kind.tolist()] == [ref.kind for ref in part]
        assert [objects.codecs[code] for code in part.codec.tolist()] == [ref.codec for ref in part]


def check_mapping(shard: Shard, keys: Sequence[str], absent: Sequence[str]) -> None:
    """Assert that objects can be read by key, given as text or in the stored form.

    Args:
        shard: The shard.
        keys: Some of its keys, whose objects can be read.
        absent: Keys that it does not contain.
    """
    for key in keys:
        ref, raw = shard.find(key), shard.raw_key(key)
        assert key in shard
        assert shard[key] == shard.read(key) == shard.read(ref)
        assert shard.key_text(raw) == key
        assert raw in shard
        assert shard.find(raw) == ref
        assert shard.find_all(raw) == shard.find_all(key)
        assert shard.trace(raw).key == key
        assert shard[raw] == shard[key]
    assert shard.find_many([shard.raw_key(key) for key in keys]).tolist() == shard.find_many(keys).tolist()
    for key in absent:
        assert key not in shard
        assert shard.raw_key(key) not in shard
        with pytest.raises(KeyError) as caught:
            shard[key]
        assert isinstance(caught.value, KeyAbsent)
        assert str(caught.value) == caught.value.placed
    unused = (State.UNUSED, State.DELETED, *(() if shard.chosen.get("deleted") else (State.TOMBSTONED,)))
    assert len(shard) == len(list(shard))
    assert list(shard) == [ref.key for ref in shard.objects if ref.key is not None and ref.state not in unused]


def check_contents(shard: Shard, rows: Sequence[int]) -> None:
    """Assert that `contents` of rows returns the same bytes and errors as `read` of each row."""

    def alone(row: int) -> bytes | str:
        try:
            return shard.read(shard.objects.ref(row))
        except ShardError as error:
            return error.placed

    together = [one.placed if isinstance(one, ShardError) else one for one in shard.contents(np.array(rows, np.int64))]
    assert together == list(map(alone, rows))


LONGEST_WHY = 130
"""Maximum number of characters in the reason (`why`) of a step."""


def check_steps(shard: Shard, trace: Trace, alone: Sequence[str]) -> None:
    """Assert that each step has a reason, meanings of its values, and inputs if it reads no bytes.

    Formats that exist only in tests are not checked.

    Args:
        shard: The shard.
        trace: The trace of a lookup.
        alone: Titles of steps that compute only from the key or from options.
    """
    if shard.format not in {known.name for known in all_formats()}:
        return
    looked_at: list[Span] = []
    for step in trace.steps:
        assert step.why.endswith("."), step.title
        assert len(step.why) <= LONGEST_WHY, step.why
        assert set(step.meanings) == set(step.values), (step.title, set(step.values) - set(step.meanings))
        assert all(meaning.text for meaning in step.meanings.values())
        if step.computed:
            assert step.inputs or step.title in alone, step.title
        for one in step.inputs:
            assert any(span.holds(one) for span in looked_at), (step.title, one)
        looked_at += step.spans


def live_keys(shard: Shard) -> list[str]:
    """Return the distinct keys of all rows that are not unused, deleted, tombstoned or damaged."""
    good = np.flatnonzero(np.isin(shard.objects[:].state, [State.LIVE, State.EXTERNAL]))
    return list(dict.fromkeys(key for key in shard.objects.key_texts(good) if key is not None))


def places(shard: Shard, size: int, source: str = "") -> list[int]:
    """Return offsets to test: all of a small file; of a larger file, those around edges of nodes, and random ones."""
    if size <= SMALL:
        return list(range(size + 1))
    edges: set[int] = set()
    for node in walk(shard.tree_of(source), limit=3000):
        if node.span.source == source:
            edges.update((node.span.start, node.span.stop))
    around = {edge + step for edge in edges for step in (-1, 0, 1)}
    seeded = random.Random(size).sample(range(size), SEEDED)
    return sorted(place for place in around | set(seeded) if 0 <= place <= size)


def walk(node: Node, limit: int = 2000) -> Iterator[Node]:
    """Yield at most `limit` nodes of a tree, breadth first; from a long list only the first and last few."""
    queue, given = [node], 0
    while queue and given < limit:
        node = queue.pop(0)
        given += 1
        yield node
        kids = node.children
        if isinstance(kids, Children) and len(kids) > 64:
            queue += [*kids[:32], *kids[len(kids) - 32 :]]
        else:
            queue += list(kids)


def check_lost_connection(opened: Callable[[LossyConnection], Shard], count: int) -> None:
    """Assert that a connection lost at any point ends verification with an error, and does not add findings.

    Args:
        opened: Opens a shard through a given connection.
        count: Number of points at which the connection is lost.
    """
    whole = LossyConnection()
    with opened(whole) as shard:
        opening = whole.requests
        right = {(one.code, one.span, one.message) for one in shard.verify(Depth.CONTENT).findings}
    for left in sampled(range(whole.requests), count, full=False):
        lost = None
        try:
            with opened(LossyConnection(left)) as shard:
                report = shard.verify(Depth.CONTENT)
        except ConnectionFailed as error:
            lost = error
        assert lost is not None, (left, whole.requests, report.findings)
        if lost.partial is None:
            assert left < opening, left
            continue
        assert isinstance(lost.partial, Report)
        assert not lost.partial.ok
        assert lost.partial.stopped_after
        assert {(one.code, one.span, one.message) for one in lost.partial.findings} <= right, left
