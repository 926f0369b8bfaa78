"""Command `diff`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from shardcore.cli.options import USUAL, Json, Opening, opens
from shardcore.cli.output import print_json, print_line, print_rest, progress_bar
from shardcore.model.text import json_values, size_text
from shardcore.operations.description import Diff

if TYPE_CHECKING:
    from shardcore.operations.diff import ShardDiff
    from shardcore.shards.shard import Shard
    from shardcore.sources.base import Source

MOST_LINES = 60
"""Maximum number of fields, of shards, and of objects that are printed as text."""

_BLOCK = 1 << 20

_COMPARED = {"identity": "ETags and sizes", "sizes": "keys and sizes", "contents": "contents"}


@opens
def diff(asked: Diff, json: Json = False, how: Opening = USUAL) -> int:
    """Compare two shards object by object; exit code 1 where they differ.

    Examples:
        shardcore diff archive archive
    """
    from shardcore.operations.diff import diff as compared
    from shardcore.sources.remote.address import is_address

    contents = asked.content or not (is_address(asked.first) or is_address(asked.second))
    with how.open_rest(asked.first) as one, how.open_rest(asked.second) as other:
        with progress_bar("comparing") as progress:
            found = compared(one, other, contents=contents, progress=progress)
        if json:
            print_json(_as_json(found, one, other))
        else:
            _print_lines(found, one, other)
    return 0 if found.equal else 1


def _as_json(found: ShardDiff, one: Shard, other: Shard) -> dict[str, Any]:
    return {
        "equal": found.equal,
        "compared": found.compared.value,
        "fields": [{"name": name, "first": json_values(a), "second": json_values(b)} for name, a, b in found.fields],
        "counts": {change.value: count for change, count in found.counts.items()},
        "bytes": {change.value: size for change, size in found.sizes.items()},
        "shards": [
            {"name": member.name, "change": member.change.value, "first": member.first, "second": member.second,
             "counts": {change.value: count for change, count in member.counts.items() if count}, "error": member.why}
            for member in found.shards
        ],
        "objects": [
            {"change": one_diff.change.value, "key": one_diff.key, "first": _place(one_diff.first),
             "second": _place(one_diff.second), "error": one_diff.why}
            for one_diff in found.objects(one, other)
        ],
    }  # fmt: skip


def _print_lines(found: ShardDiff, one: Shard, other: Shard) -> None:
    from shardcore.operations.diff_columns import DiffKind

    for name, a, b in found.fields[:MOST_LINES]:
        print_line(f"{name}: {_value(a)} → {_value(b)}")
    print_rest(len(found.fields), MOST_LINES, "field")
    shards = [member for member in found.shards if member.change is not DiffKind.EQUAL]
    for member in shards[:MOST_LINES]:
        sizes = [f"{size:,}" if size is not None else "–" for size in (member.first, member.second)]
        counts = ", ".join(f"{count:,} {change.value}" for change, count in member.counts.items() if count)
        print_line(f"{member.change.value:<8} {sizes[0]:>12} {sizes[1]:>12}  {member.name}: {member.why or counts}")
    print_rest(len(shards), MOST_LINES, "shard")
    for one_diff in islice(found.objects(one, other, found.differing[:MOST_LINES]), MOST_LINES):
        print_line(_line(one_diff))
    print_rest(len(found.differing), MOST_LINES, "object")
    shown = {kind: count for kind, count in found.counts.items() if count or kind is DiffKind.EQUAL}
    parts = [f"{count:,} {kind.value} ({size_text(found.sizes[kind])})" for kind, count in shown.items()]
    print_line(f"{', '.join(parts)}; compared: {_COMPARED[found.compared.value]}")
    if found.equal and not found.across and _differ(one.source, other.source):
        print_line("the objects are equal; other bytes of the files differ")


def _differ(one: Source | None, other: Source | None) -> bool:
    if one is None or other is None or not (one.near and other.near):
        return False
    spans = ((start, min(start + _BLOCK, one.size)) for start in range(0, one.size, _BLOCK))
    return one.size != other.size or any(one.read(*span) != other.read(*span) for span in spans)


def _value(value: Any) -> str:
    return "–" if value is None else str(json_values(value))


def _place(ref: Any) -> dict[str, Any] | None:
    if ref is None:
        return None
    span = ref.spans[0].to_json() if ref.spans else None
    return {"key": ref.key, "size": ref.size if ref.size >= 0 else None, "span": span}


def _line(found: Any) -> str:
    sizes = [f"{ref.size:,}" if ref is not None and ref.size >= 0 else "–" for ref in (found.first, found.second)]
    name = found.key
    if found.first is not None and found.second is not None and found.first.key != found.second.key:
        name += f" → {found.second.key}"
    why = f" ({found.why})" if found.why else ""
    return f"{found.change.value:<8} {sizes[0]:>12} {sizes[1]:>12}  {name}{why}"
