"""Rows of objects, chosen and printed: what the commands that list and take out share. NumPy, not a loop per row."""

from __future__ import annotations

import fnmatch
import hashlib
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.cli.options import progress_bar
from shardcore.cli.output import object_json, print_json, print_line, printable, warn, worded
from shardcore.dataset import DataSet
from shardcore.errors import FormatError, ShardError, UsageError
from shardcore.extract.ahead import fetched_ahead
from shardcore.extract.choice import all_rows, outer_kinds, taken_rows
from shardcore.extract.options import ExtractOptions
from shardcore.objects import ObjectColumns, ObjectRef, State
from shardcore.parallel import in_order
from shardcore.shard import Shard
from shardcore.text import short

ROWS_AT_ONCE = 1 << 16
"""Rows listed from one read."""


def unserved(deleted: bool) -> tuple[State, ...]:
    """The states of rows that cannot be had; `ls` leaves them out without `--all`.

    Args:
        deleted: Whether tombstoned objects are served.
    """
    return (State.UNUSED, State.DELETED) if deleted else (State.UNUSED, State.DELETED, State.TOMBSTONED)


def kind_code(shard: Shard, kind: str | None) -> int | None:
    """The code of a kind of objects; None for all kinds.

    Raises:
        UsageError: The shard has no such objects.
    """
    if kind is None:
        return None
    if kind not in shard.objects.kinds:
        raise UsageError(f"no objects of kind {short(kind)} here, only {', '.join(shard.objects.kinds)}")
    return shard.objects.kinds.index(kind)


def shown_rows(
    shard: Shard, kind: int | None, skip: int, limit: int | None, hidden: Collection[State]
) -> Iterator[tuple[NDArray[np.int64], ObjectColumns]]:
    """The rows to list, with their columns, in the order of the slots."""
    left = limit
    for first in range(0, len(shard.objects), ROWS_AT_ONCE):
        if left == 0:
            return
        rows = np.arange(first, min(first + ROWS_AT_ONCE, len(shard.objects)), dtype=np.int64)
        columns = shard.objects.columns(rows)
        keep = ~np.isin(columns.state, list(hidden))
        if kind is not None:
            keep &= columns.kind == kind
        chosen = rows[keep]
        skipped = min(skip, len(chosen))
        skip -= skipped
        chosen = chosen[skipped:] if left is None else chosen[skipped : skipped + left]
        left = None if left is None else left - len(chosen)
        if len(chosen):
            # Sizes that are not known yet are read for the rows that are shown, not for all.
            sized = shard.objects.columns(chosen, sizes=True) if not shard.loaded else columns.take(chosen - first)
            yield chosen, sized


def list_rows(
    shard: Shard,
    rows: NDArray[np.int64],
    columns: ObjectColumns,
    *,
    as_json: bool,
    digest: bool,
    without_content: Collection[State],
) -> int:
    """Prints some rows; returns how many of them have an error.

    Args:
        shard: Whose rows they are.
        rows: Which.
        columns: What is known of them.
        as_json: Whether each is a JSON value.
        digest: Whether the sha256 of the content is told, too.
        without_content: States of rows that have none to digest.
    """
    bare = {state.name.lower() for state in without_content}
    damaged = int(np.count_nonzero(columns.state == State.DAMAGED))
    if not as_json and not digest:
        _print_rows(shard, rows, columns)
        return damaged
    errors = 0

    def told(row: int) -> dict[str, Any] | None:
        try:
            found = object_json(shard.objects.ref(row))
        except FormatError as error:
            found = {"key": None, "state": "damaged", "size": None, "error": str(error)}
        except IndexError:
            # The tables said that there are more; reading the records told that there are not.
            return None
        if digest and found["state"] not in bare and "error" not in found:
            _add_digest(shard, row, found)
        return found

    things: Iterable[int] = rows.tolist()
    if digest:
        things = fetched_ahead(shard, things, shard.objects.ref)
    with closing(in_order(told, things, shard.jobs if digest else 1)) as lines:
        for found in lines:
            if found is None:
                break
            errors += "error" in found
            if as_json:
                print_json(found)
            else:
                print_line(f"{found.get('sha256', '-'):<64}  {found['size']!s:>12}  {found['key']}")
    return errors


def all_refs(
    shard: Shard, pattern: str | None, kind: str | None, options: ExtractOptions
) -> tuple[Iterator[ObjectRef], int]:
    """All objects that can be taken out, one at a time; where there is a view of the whole content, that alone.

    Kinds that are parts of others (the chunks of a file) are left out unless they are asked for.
    """
    if shard.views and pattern is None and kind is None:
        return iter([shard.find(shard.views[0])]), 1
    with progress_bar("loading the index") as progress:
        shard.load_index(progress)
    objects, code = shard.objects, kind_code(shard, kind)
    kinds = outer_kinds(objects) if code is None else (code,)
    rows = np.concatenate([np.empty(0, np.int64), *taken_rows(objects, all_rows(objects), options, kinds)])
    if pattern is not None:
        texts = shard.objects.key_texts(rows)
        matching = [key is not None and fnmatch.fnmatchcase(key, pattern) for key in texts]
        rows = rows[np.array(matching, bool)]
    # `map` goes on after an error: one row that cannot be read does not end the others.
    return map(shard.objects.ref, rows.tolist()), len(rows)


def warn_unreadable(shard: Shard) -> int:
    """Names the members of a data set that are left out; returns how many."""
    unreadable = shard.unreadable if isinstance(shard, DataSet) else {}
    for name, error in unreadable.items():
        warn(f"{name}: {error}")
    return len(unreadable)


def _print_rows(shard: Shard, rows: NDArray[np.int64], columns: ObjectColumns) -> None:
    """Size and key of many rows; state, kind and shard only where they tell something. No Python object per row."""
    keys = [key if key is not None else "-" for key in shard.objects.key_texts(rows)]
    if not "".join(keys).isprintable():
        keys = [printable(key) for key in keys]
    sizes = [f"{size:>12}" if size >= 0 else f"{'-':>12}" for size in columns.size.tolist()]
    parts: list[list[str]] = [sizes, keys]
    if columns.state.any():
        names = [state.name.lower() for state in State]
        parts.insert(0, [f"{names[code]:<10}" for code in columns.state.tolist()])
    if len(shard.objects.kinds) > 1:
        parts.insert(0, [f"{shard.objects.kinds[code]:<8}" for code in columns.kind.tolist()])
    sys.stdout.write("\n".join(map("  ".join, zip(*parts, strict=True))) + "\n")


def _add_digest(shard: Shard, row: int, found: dict[str, Any]) -> None:
    digest, size = hashlib.sha256(), 0
    try:
        for piece in shard.stream(shard.objects.ref(row)):
            digest.update(piece)
            size += len(piece)
    except ShardError as error:
        found["error"] = worded(error.placed, error.remedy)
        return
    found["sha256"] = digest.hexdigest()
    found["size"] = size
