"""Counts for the charts, made in jobs; expensive reads need consent. No Qt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from shardcore import DataSet, Shard
from shardcore.model.usage import Load, Share
from shardcore.progress import Progress
from shardcore.teaching.charts import (
    BinnedLoad,
    Chart,
    Sizes,
    load_chart,
    object_sizes,
    spread_chart,
)
from shardscope.session.fetch_cost import whole

CHEAP = 64 << 20
"""Maximum number of bytes of a local file that a chart reads without consent."""


class ChartKind(Enum):
    BUDGET = "budget"
    SIZES = "sizes"
    LOAD = "load"


@dataclass(frozen=True, slots=True)
class ChartData:
    """Counts for a chart. If the user must first agree to reading the data, `cost` is the number of bytes to read."""

    shares: tuple[Share, ...] = ()
    chart: Chart | None = None
    second: Chart | None = None
    why: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    chosen: str = ""
    cost: int = 0
    lost: bool = False
    act: Callable[[int, int], BinTarget] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class BinTarget:
    """Text of some bins, and the target of a click on them: a filter, a row or bytes."""

    words: str
    filter: str = ""
    row: int | None = None
    place: tuple[int, int] | None = None


def count_budget(shard: Shard, progress: Progress, *, remote: bool, agreed: bool) -> ChartData:
    if not isinstance(shard, DataSet):
        shares = shard.byte_shares
        return ChartData(shares) if shares else ChartData(why="The file has no bytes.")
    if not shard.listed and not agreed:
        return ChartData(why="The files of this data set are not listed yet. Load the index to see how large they are.")
    cost = 0 if shard.loaded else min(shard.index_bytes, whole(shard))
    if cost > (0 if remote else CHEAP) and not agreed:
        why = f"Byte budget: reading the index of each file reads up to {cost:,} bytes."
        return ChartData(why=why, cost=cost)
    return ChartData(shard.count_shares(progress))


def count_sizes(shard: Shard, kind: str, progress: Progress) -> ChartData:
    if not shard.loaded:
        return ChartData(why="Load the index to see the sizes of the objects.")
    sizes = object_sizes(shard.objects, kind, progress)
    if not sizes.objects:
        lost = "No size of an object is known." if sizes.unknown else "There are no objects."
        return ChartData(why=lost, choices=_kinds(sizes), chosen=sizes.kind)
    chart = sizes.chart()
    return ChartData(chart=chart, choices=_kinds(sizes), chosen=sizes.kind, act=lambda a, b: _size_target(sizes, a, b))


def _kinds(sizes: Sizes) -> tuple[tuple[str, str], ...]:
    return tuple((kind, f"{kind} ({count:,})") for kind, count in sizes.kinds) if len(sizes.kinds) > 1 else ()


def _size_target(sizes: Sizes, first: int, last: int) -> BinTarget:
    low, high = int(sizes.edges[first]), int(sizes.edges[last]) - 1
    if last == len(sizes.counts):
        # The last bin of a histogram includes its upper edge.
        high = max(high, sizes.largest)
    count = int(sizes.counts[first:last].sum())
    noun = sizes.kind if count == 1 else _many(sizes.kind)
    between = f"{low:,} bytes" if low == high else f"{low:,} to {high:,} bytes"
    words = f"{between}: {count:,} {noun}"
    name = "stored" if sizes.stored else "size"
    rule = f"{name}:{low}..{high}"
    return BinTarget(words, f"kind:{sizes.kind} {rule}" if len(sizes.kinds) > 1 else rule)


def _many(noun: str) -> str:
    from shardcore.model.text import plural

    return plural(2, noun).partition(" ")[2]


def count_load(shard: Shard, name: str, progress: Progress, *, remote: bool, agreed: bool) -> ChartData:
    sources = shard.loads
    if not sources:
        return ChartData(why=shard.no_loads)
    chosen = next((source for source in sources if source.name == name), sources[0])
    choices = tuple((source.name, source.title) for source in sources) if len(sources) > 1 else ()
    if chosen.reads and isinstance(shard, DataSet) and not shard.listed and not agreed:
        why = f"{chosen.title}: the files of this data set are not listed yet. Load the index to count them."
        return ChartData(why=why, choices=choices, chosen=chosen.name)
    cost = min(chosen.reads, whole(shard))
    if cost > (0 if remote else CHEAP) and not agreed:
        why = f"{chosen.title}: counting them reads up to {cost:,} bytes."
        return ChartData(why=why, choices=choices, chosen=chosen.name, cost=cost)
    load = chosen.make(progress)
    grouped = load_chart(load)
    if not load.places or not load.total:
        return ChartData(why=f"{load.title}: there is nothing to count.", choices=choices, chosen=chosen.name)
    return ChartData(
        chart=grouped.chart,
        second=spread_chart(load),
        choices=choices,
        chosen=chosen.name,
        act=lambda a, b: _load_target(load, grouped, a, b),
    )


def _load_target(load: Load, grouped: BinnedLoad, first: int, last: int) -> BinTarget:
    low, high = int(grouped.bounds[first]), int(grouped.bounds[last])
    count = int(load.counts[low:high].sum())
    things = f"{count:,} {load.thing if count == 1 else _many(load.thing)}"
    if high - low == 1:
        name = load.names[low] if load.names else f"{low:,}"
        words = f"{load.place} {name}: {things}"
    else:
        words = f"{_many(load.place)} {low:,} to {high - 1:,}: {things}"
    rows, place = load.rows_in(low, high), load.bytes_in(low, high)
    if rows is not None and rows[1] > rows[0]:
        only = rows[0] if rows[1] - rows[0] == 1 else None
        text = f"row:{rows[0]}" if only is not None else f"row:{rows[0]}..{rows[1] - 1}"
        return BinTarget(words, text, only, place)
    if load.key_prefixes and high - low == 1:
        return BinTarget(words, load.key_prefixes[low], None, place)
    return BinTarget(words, "", None, place)


def spread_target(chart: Chart, first: int, last: int) -> BinTarget:
    low, high = int(chart.edges[first]), int(chart.edges[last]) - 1
    count = int(chart.values[first:last].sum())
    amount = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    ideal = ""
    if chart.ideal is not None:
        ideal = f"; {chart.ideal_name} {chart.ideal[first:last].sum():,.1f}"
    return BinTarget(f"{amount} {chart.x}: {count:,} {chart.y}{ideal}")
