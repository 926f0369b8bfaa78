"""The command that compares two shards: diff."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shardcore.cli.options import USUAL, Json, Opening, opens, progress_bar
from shardcore.cli.output import json_value, print_json, print_line
from shardcore.model.number_words import plural

MOST_LINES = 60
"""Differences that are printed for people."""


@opens
def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="The first shard.", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="B", help="The second shard.", show_default=False)],
    content: Annotated[bool, typer.Option("--content", help="Remote: compare contents, too, not sizes alone.")] = False,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Compare two shards object by object; exit code 1 where they differ."""
    from shardcore.operations.diff import DiffKind
    from shardcore.operations.diff import diff as compared
    from shardcore.sources.remote.address import is_address

    contents = content or not (is_address(first) or is_address(second))
    with how.open(first) as one, how.open_rest(second) as other, progress_bar("comparing") as progress:
        found = compared(one, other, contents=contents, progress=progress)
        objects = found.objects(one, other)
        if json:
            print_json(
                {
                    "equal": found.equal,
                    "compared": "contents" if found.contents else "sizes",
                    "fields": [
                        {"name": name, "first": json_value(a) if a is not None else None,
                         "second": json_value(b) if b is not None else None}
                        for name, a, b in found.fields
                    ],
                    "counts": {change.value: count for change, count in found.counts.items()},
                    "bytes": {change.value: size for change, size in found.sizes.items()},
                    "objects": [
                        {"change": one_diff.change.value, "key": one_diff.key, "first": _place(one_diff.first),
                         "second": _place(one_diff.second), "error": one_diff.why}
                        for one_diff in objects
                    ],
                }
            )  # fmt: skip
            return 0 if found.equal else 1
        for name, a, b in found.fields[:MOST_LINES]:
            print_line(f"{name}: {_value(a)} → {_value(b)}")
        for number, one_diff in enumerate(objects):
            if number >= MOST_LINES:
                print_line(f"… and {plural(len(found.rows) - MOST_LINES, 'object')} more")
                break
            print_line(_line(one_diff))
        shown = {kind: count for kind, count in found.counts.items() if count or kind is DiffKind.EQUAL}
        parts = [f"{count:,} {kind.value}" for kind, count in shown.items()]
        how_compared = "contents" if found.contents else "sizes alone"
        print_line(f"{', '.join(parts)} (compared: {how_compared})")
    return 0 if found.equal else 1


def _value(value: Any) -> str:
    return "–" if value is None else str(json_value(value))


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
