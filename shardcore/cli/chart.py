"""Command `chart`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import USUAL, Json, Opening, Uri, only, opens, progress_bar
from shardcore.cli.output import print_json, print_line
from shardcore.errors import UsageError
from shardcore.model.safe_text import short

if TYPE_CHECKING:
    from shardcore.model.byte_shares import Share
    from shardcore.shards.shard import Shard
    from shardcore.teaching.charts import Chart

BAR = 40
"""Characters of the longest bar."""

MOST_LINES = 60
"""Maximum bins printed as text; more bins are merged."""


class What(StrEnum):
    BUDGET = "budget"
    SIZES = "sizes"
    LOAD = "load"


@opens
def chart(
    uri: Uri,
    what: Annotated[What, typer.Argument(metavar="WHAT", help="budget, sizes or load.")] = What.BUDGET,
    of: Annotated[str, typer.Option("--of", metavar="NAME", help="Name of the load, or kind of the objects.")] = "",
    spread: Annotated[bool, typer.Option("--spread", help="With load: how many slots have 0, 1, 2 … objects.")] = False,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Count bytes per use, object sizes, or the load of slots.

    Examples:
        shardcore chart small.shard load
        shardcore chart array.blp sizes --json
    """
    only("with sizes and load", what in (What.SIZES, What.LOAD), of=of)
    only("with load", what is What.LOAD, spread=spread)
    from shardcore.cli.object_rows import warn_unreadable

    with how.open(uri) as shard:
        if not shard.loaded:
            with progress_bar("Reading the index") as progress:
                shard.load_index(progress)
        if what is What.BUDGET:
            shares = _shares(shard)
            if json:
                print_json([_share_json(share) for share in shares])
            else:
                _print_bars([(f"{one.name} ({one.use.value})", float(one.size), f"{one.size:,}") for one in shares])
        else:
            found = _counted(shard, what, of, spread=spread)
            if json:
                print_json(found.to_json())
            else:
                _print_chart(found)
        return 1 if warn_unreadable(shard) else 0


def _share_json(share: Share) -> dict[str, Any]:
    first = None if share.span is None else share.span.to_json()
    return {
        "use": share.use.value,
        "name": share.name,
        "bytes": share.size,
        "stretches": share.stretches,
        "first": first,
    }


def _shares(shard: Shard) -> tuple[Share, ...]:
    from shardcore.shards.dataset import DataSet

    if not isinstance(shard, DataSet):
        return shard.byte_shares
    with progress_bar("counting") as progress:
        return shard.count_shares(progress)


def _counted(shard: Shard, what: What, of: str, *, spread: bool) -> Chart:
    from shardcore.teaching.charts import load_chart, object_sizes, spread_chart

    with progress_bar("Counting") as progress:
        if what is What.SIZES:
            if of and of not in shard.objects.kinds:
                raise UsageError(f"no objects of kind {short(of)} (available: {', '.join(shard.objects.kinds)})")
            return object_sizes(shard.objects, of, progress).chart()
        names = [load.name for load in shard.loads]
        if not names:
            raise UsageError(shard.no_loads)
        if of and of not in names:
            raise UsageError(f"unknown load {short(of)} (available: {', '.join(names)})")
        load = shard.loads[names.index(of or names[0])].make(progress)
        if not spread:
            return load_chart(load).chart
        turned = spread_chart(load)
        if turned is None:
            raise UsageError(f"{load.title}: not spread by a hash function, so --spread has nothing to compare with")
        return turned


def _print_chart(found: Chart) -> None:
    print_line(found.title)
    print_line(found.note)
    print_line()
    each = -(-len(found) // MOST_LINES) or 1
    lines = []
    for first in range(0, len(found), each):
        last = min(first + each, len(found))
        value = float(found.values[first:last].mean())
        text = f"{value:,.2f}".rstrip("0").rstrip(".")
        low, high = int(found.edges[first]), int(found.edges[last])
        name = f"{low:,}" if high == low + 1 else f"{low:,}..{high:,}"
        lines.append((name, value, text))
    print_line(f"{found.x}: {found.y}" + (f", mean of {each:,}" if each > 1 else ""))
    _print_bars(lines)


def _print_bars(lines: list[tuple[str, float, str]]) -> None:
    names = max((len(name) for name, _, _ in lines), default=0)
    largest = max((value for _, value, _ in lines), default=0.0) or 1.0
    for name, value, text in lines:
        bar = "#" * (max(round(BAR * value / largest), 1) if value > 0 else 0)
        print_line(f"  {name:>{names}}  {bar:<{BAR}}  {text}")
