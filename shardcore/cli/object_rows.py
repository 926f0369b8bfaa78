"""Rows of the command `ls`: selecting and printing objects, in blocks of rows."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from json.encoder import encode_basestring_ascii as quoted
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.cli.output import (
    error_line,
    object_json,
    print_json,
    print_line,
    progress_bar,
    warn,
    with_advice,
)
from shardcore.errors import ShardError
from shardcore.model.objects import ObjectColumns, State, in_states, located
from shardcore.model.parallel import in_order
from shardcore.model.text import size_text, visible
from shardcore.operations.extraction.selection import check_kind
from shardcore.shards.dataset import DataSet
from shardcore.shards.prefetch import fetched_ahead
from shardcore.shards.shard import Shard
from shardcore.shards.shard_tasks import (
    ObjectRow,
    RowsFound,
    RowsRequest,
    member_rows,
    object_rows,
    wanted_rows,
    with_digest,
)

ROWS_AT_ONCE = 1 << 14
FILES_AT_ONCE = 1 << 8
"""Rows read in one block if each row may be a separate file."""


def unreadable_states(deleted: bool) -> tuple[State, ...]:
    """Return the states of rows without readable content (tombstoned rows are readable if `deleted`)."""
    return (State.UNUSED, State.DELETED) if deleted else (State.UNUSED, State.DELETED, State.TOMBSTONED)


def shown_rows(
    shard: Shard, kind: int | None, skip: int, limit: int | None, hidden: Collection[State], *, keys: bool
) -> Iterator[tuple[ObjectColumns, list[str | None]]]:
    """Yield the columns of the rows to list, in row order; also their keys if `keys` is set."""
    left, count = limit, len(shard.objects)
    # Each row of a data set may open a separate file.
    step = FILES_AT_ONCE if shard.source is None and not shard.listed else ROWS_AT_ONCE
    for first in range(0, count, step):
        if left == 0:
            return
        rows = np.arange(first, min(first + step, count), dtype=np.int64)
        if skip and kind is None:
            # Skipped rows are counted by state, without reading keys and sizes.
            counted = int(np.count_nonzero(~in_states(shard.objects.columns(rows).state, hidden)))
            if counted <= skip:
                skip -= counted
                continue
        columns, texts = shard.objects.page(rows) if keys else (shard.objects.columns(rows), [])
        keep = ~in_states(columns.state, hidden)
        if kind is not None:
            keep &= columns.kind == kind
        chosen = rows[keep]
        skipped = min(skip, len(chosen))
        skip -= skipped
        chosen = chosen[skipped:] if left is None else chosen[skipped : skipped + left]
        left = None if left is None else left - len(chosen)
        if len(chosen):
            # Unknown sizes are read only for the rows that are shown.
            taken = columns.take(chosen - first)
            yield (
                taken if shard.listed or (keys and sizes_stated(shard)) else shard.objects.with_sizes(taken),
                [texts[at] for at in (chosen - first).tolist()] if keys else [],
            )


def sizes_stated(shard: Shard) -> bool:
    """Return whether a remote file states all sizes in its index, so that no object header needs to be read."""
    return shard.source is not None and not shard.source.near and shard.objects.sized


def list_rows(
    shard: Shard,
    columns: ObjectColumns,
    keys: Sequence[str | None],
    *,
    as_json: bool,
    digest: bool,
    without_content: Collection[State],
    member: str = "",
    human: bool = False,
) -> int:
    """Print rows; return the number of errors. Rows in the states `without_content` have no digest."""
    if not digest and as_json:
        return _print_json(shard, columns, keys, member)
    if not digest:
        _print_columns(columns, keys, shard.objects.kinds, human=human)
        return int(np.count_nonzero(columns.state == State.DAMAGED))
    asked = RowsRequest(refs=True, digest=True, bare=tuple(without_content))
    errors = 0

    def line(row: ObjectRow) -> dict[str, Any]:
        return _line(with_digest(shard, row, asked), member)

    things = fetched_ahead(shard, object_rows(shard, columns.row), attrgetter("ref"))
    with closing(in_order(line, things, shard.jobs)) as lines:
        for found in lines:
            errors += "error" in found
            _print_row(found, as_json=as_json, human=human)
    return errors


def _print_json(shard: Shard, columns: ObjectColumns, keys: Sequence[str | None], member: str) -> int:
    """Print rows as JSON lines; return the number of errors. Only rows with metadata or parts need an `ObjectRef`."""
    bare, errors = shard.bare(columns), 0
    for run in np.split(np.arange(len(columns)), np.flatnonzero(bare[1:] != bare[:-1]) + 1) if len(columns) else ():
        part, texts = columns.take(run), keys[run[0] : run[-1] + 1]
        if bare[run[0]]:
            sys.stdout.write(_bare_lines(shard, part, [key or "" for key in texts], member))
            continue
        for row in object_rows(shard, part.row):
            line = _line(row, member)
            errors += "error" in line
            print_json(line)
    return errors


def _bare_lines(shard: Shard, columns: ObjectColumns, keys: list[str], member: str) -> str:
    kinds, codecs, shown = shard.objects.kinds, shard.objects.codecs, quoted(member)
    leads = [f'", "kind": {quoted(kind)}, "state": "live", "size": ' for kind in kinds]
    ends = [f', "codec": {quoted(codec)}, "shard": {shown}}}\n' for codec in codecs]
    text = "".join(keys)
    if not (text.isascii() and _is_printable(text)) or '"' in text or "\\" in text:
        keys = [quoted(key)[1:-1] for key in keys]
    numbers = (_or_null(column) for column in (columns.size, columns.stored_size, columns.start, columns.stop))
    rows = zip(keys, columns.kind.tolist(), *numbers, columns.codec.tolist(), strict=True)
    lines = [
        f'{{"key": "{key}{leads[kind]}{size}, "stored_size": {stored}, "start": {first}, "stop": {last}{ends[codec]}'
        for key, kind, size, stored, first, last, codec in rows
    ]
    return "".join(lines)


def _or_null(column: NDArray[np.int64]) -> list[int | str]:
    return column.tolist() if (column >= 0).all() else [number if number >= 0 else "null" for number in column.tolist()]


def list_members(
    shard: DataSet, asked: RowsRequest, *, skip: int, limit: int | None, as_json: bool, human: bool = False
) -> int:
    printing = _Printing(shard, asked, skip, limit, as_json, human)
    if limit == 0:
        return 0
    with (
        progress_bar("listing") as progress,
        closing(shard.each_member(member_rows, asked, progress=progress)) as found,
    ):
        for member, result in found:
            if isinstance(result, ShardError):
                warn(f"{member.name}: {result}")
                printing.errors += 1
            else:
                printing.member(member.name, result)
            if printing.left == 0:
                break
        else:
            printing.check_kind()
    return printing.errors


class _Printing:
    def __init__(
        self, shard: DataSet, asked: RowsRequest, skip: int, limit: int | None, as_json: bool, human: bool
    ) -> None:
        self._shard, self._asked, self._skip, self._as_json, self._human = shard, asked, skip, as_json, human
        self.left, self.errors = limit, 0
        self._kinds: dict[str, None] = {}

    def member(self, name: str, found: RowsFound) -> None:
        self._kinds.update(dict.fromkeys(found.kinds))
        if found.more:
            self._large(name)
            return
        first, stop = self._window(len(found.columns.row))
        columns = found.columns.take(slice(first, stop))
        if self._asked.refs:
            for row in found.rows[first:stop]:
                line = _line(row, name)
                self.errors += "error" in line
                _print_row(line, as_json=self._as_json, human=self._human)
            return
        self.errors += int(np.count_nonzero(columns.state == State.DAMAGED))
        _print_columns(columns, found.keys[first:stop], found.kinds, human=self._human)

    def check_kind(self) -> None:
        check_kind(self._asked.kind, self._kinds)

    def _window(self, count: int) -> tuple[int, int]:
        first = min(self._skip, count)
        self._skip -= first
        stop = count if self.left is None else min(count, first + self.left)
        self.left = None if self.left is None else self.left - (stop - first)
        return first, stop

    def _large(self, name: str) -> None:
        with self._shard.borrowed(name) as member:
            member.load_index()
            member.jobs = self._shard.jobs
            for at in range(0, len(member.objects), ROWS_AT_ONCE):
                rows = np.arange(at, min(at + ROWS_AT_ONCE, len(member.objects)), dtype=np.int64)
                columns, keys = member.objects.page(rows)
                chosen = np.flatnonzero(wanted_rows(member, columns, self._asked))
                chosen = chosen[slice(*self._window(len(chosen)))]
                self.errors += list_rows(
                    member,
                    columns.take(chosen),
                    [keys[number] for number in chosen.tolist()],
                    as_json=self._as_json,
                    digest=self._asked.digest,
                    without_content=self._asked.bare,
                    member=name,
                    human=self._human,
                )
                if self.left == 0:
                    return


def _line(row: ObjectRow, member: str) -> dict[str, Any]:
    if row.ref is None:
        return {"key": None, "state": "damaged", "size": None, "error": row.error}
    found = object_json(located(row.ref, member, None) if member else row.ref)
    digested = row.digested
    if digested is not None and digested.error:
        found["error"] = with_advice(digested.error, digested.remedy, ())
    elif digested is not None:
        found |= {"sha256": digested.sha256, "size": digested.size}
    return found


def print_header(*, digest: bool) -> None:
    if sys.stdout.isatty():
        print_line(f"{'sha256':<64}  {'size':>12}  key" if digest else f"{'state':<10}  {'kind':<8}  {'size':>12}  key")


def _print_row(found: dict[str, Any], *, as_json: bool, human: bool) -> None:
    if as_json:
        print_json(found)
    else:
        size = -1 if found["size"] is None else found["size"]
        key = "-" if found["key"] is None else found["key"]
        print_line(f"{found.get('sha256', '-'):<64}  {_size_text(size, human=human)}  {key}")
        if "error" in found:
            warn(f"{key}: {found['error']}")


def _is_printable(text: str) -> bool:
    """Return the same as `text.isprintable()`, ten times as fast for ASCII."""
    if not text.isascii():
        return text.isprintable()
    codes = np.frombuffer(text.encode(), np.uint8)
    return not len(codes) or bool(codes.min() >= ord(" ") and codes.max() <= ord("~"))


def _size_text(size: int, *, human: bool) -> str:
    if size < 0:
        return f"{'-':>12}"
    return f"{size_text(size):>12}" if human else f"{size:>12}"


def warn_unreadable(shard: Shard) -> int:
    unreadable = shard.unreadable if isinstance(shard, DataSet) else {}
    for name, error in unreadable.items():
        warn(f"{name}: {error_line(error)}")
    return len(unreadable)


def _print_columns(columns: ObjectColumns, texts: Sequence[str | None], kinds: tuple[str, ...], *, human: bool) -> None:
    if not texts:
        return
    keys = [key if key is not None else "-" for key in texts]
    if not _is_printable("".join(keys)):
        keys = [visible(key) for key in keys]
    # Texts shared by many lines are created once.
    leads = [f"{state.name.lower():<10}  {kind:<8}  " for state in State for kind in kinds]
    codes = columns.state.astype(np.int64) * len(kinds) + columns.kind
    sizes = columns.size.tolist()
    size_texts = {size: f"{_size_text(size, human=human)}  " for size in set(sizes)}
    lines = [""] * (4 * len(keys))
    lines[0::4] = map(leads.__getitem__, codes.tolist())
    lines[1::4] = map(size_texts.__getitem__, sizes)
    lines[2::4], lines[3::4] = keys, ["\n"] * len(keys)
    sys.stdout.write("".join(lines))
