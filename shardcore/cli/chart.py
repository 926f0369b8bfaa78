"""Command `chart`."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import USUAL, Json, Opening, Uri, only, opens, progress_bar
from shardcore.cli.output import print_json, print_line
from shardcore.errors import UsageError
from shardcore.model.text import short

if TYPE_CHECKING:
    from shardcore.model.byte_shares import Share
    from shardcore.shards.shard import Shard
    from shardcore.teaching.charts.charts import Chart

BAR = 40
"""Characters of the longest bar."""

MOST_LINES = 60
"""Maximum bins printed as text; further ones are merged."""


class What(StrEnum):
    BUDGET = "budget"
    SIZES = "sizes"
    ENTROPY = "entropy"
    LOAD = "load"


@opens
def chart(
    uri: Uri,
    what: Annotated[What, typer.Argument(metavar="WHAT", help="budget, sizes, entropy or load.")] = What.BUDGET,
    of: Annotated[str, typer.Option("--of", metavar="NAME", help="The load, or the kind of objects.")] = "",
    whole: Annotated[bool, typer.Option("--whole", help="Entropy of all bytes instead of a sample.")] = False,
    spread: Annotated[bool, typer.Option("--spread", help="Load: number of slots per number of objects.")] = False,
    json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print rows of values separated by commas.")] = False,
    how: Opening = USUAL,
) -> int:
    """Count bytes per use, object sizes, entropy, or the load of slots.

    Examples:
        shardcore chart small.shard load
        shardcore chart array.blp entropy --csv
    """
    only("with sizes and load", what in (What.SIZES, What.LOAD), of=of)
    only("with entropy", what is What.ENTROPY, whole=whole)
    only("with load", what is What.LOAD, spread=spread)
    only("without --json", not json, csv=as_csv)
    from shardcore.cli.rows import warn_unreadable
    from shardcore.teaching.charts import export as written

    with how.open(uri) as shard:
        if what is not What.ENTROPY and not shard.loaded:
            with progress_bar("Reading the index") as progress:
                shard.load_index(progress)
        if what is What.BUDGET:
            shares = _shares(shard)
            rows, values = written.shares_csv, written.shares_json
            found: Any = shares
        else:
            found = _counted(shard, what, of, whole=whole, spread=spread)
            rows, values = written.chart_csv, written.chart_json  # type: ignore[assignment]
        if json:
            print_json(values(found))
        elif as_csv:
            sys.stdout.write(rows(found))
        elif what is What.BUDGET:
            _print_bars([(f"{one.name} ({one.use.value})", float(one.size), f"{one.size:,}") for one in found])
        else:
            _print_chart(found)
        return 1 if warn_unreadable(shard) else 0


def _shares(shard: Shard) -> tuple[Share, ...]:
    from shardcore.shards.dataset import DataSet

    if not isinstance(shard, DataSet):
        return shard.byte_shares
    with progress_bar("counting") as progress:
        return shard.count_shares(progress)


def _counted(shard: Shard, what: What, of: str, *, whole: bool, spread: bool) -> Chart:
    from shardcore.teaching.charts.charts import entropy_chart, load_chart, object_sizes, spread_chart
    from shardcore.teaching.charts.entropy import sampled_entropy, whole_entropy

    with progress_bar("Counting") as progress:
        if what is What.SIZES:
            if of and of not in shard.objects.kinds:
                raise UsageError(f"no objects of kind {short(of)} (available: {', '.join(shard.objects.kinds)})")
            return object_sizes(shard.objects, of, progress).chart()
        if what is What.ENTROPY:
            if shard.source is None:
                raise UsageError("a folder has no bytes: give one of its files")
            return entropy_chart((whole_entropy if whole else sampled_entropy)(shard.source, progress))
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
        part = found.values[first : first + each]
        known = part[part == part]  # noqa: PLR0124 - what is unknown is not equal to itself
        last = min(first + each, len(found))
        value = float(known.mean()) if len(known) else float("nan")
        text = f"{value:,.2f}".rstrip("0").rstrip(".") if len(known) else "not computed"
        low, high = int(found.edges[first]), int(found.edges[last])
        name = f"{low:,}" if high == low + 1 else f"{low:,}..{high:,}"
        lines.append((name, value if len(known) else 0.0, text))
    print_line(f"{found.x}: {found.y}" + (f", mean of {each:,}" if each > 1 else ""))
    _print_bars(lines)


def _print_bars(lines: list[tuple[str, float, str]]) -> None:
    names = max((len(name) for name, _, _ in lines), default=0)
    largest = max((value for _, value, _ in lines), default=0.0) or 1.0
    for name, value, text in lines:
        bar = "#" * (max(round(BAR * value / largest), 1) if value > 0 else 0)
        print_line(f"  {name:>{names}}  {bar:<{BAR}}  {text}")
