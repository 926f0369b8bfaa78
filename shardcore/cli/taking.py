"""Commands that take objects out: ls, get, extract."""

from __future__ import annotations

import fnmatch
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from shardcore.cli.options import (
    Deleted,
    Force,
    FormatName,
    Json,
    KeyFile,
    Keys,
    Limit,
    Spec,
    Uri,
    Xorbs,
    all_keys,
    byte_range,
    opened_with_rest,
    progress_bar,
)
from shardcore.cli.output import object_json, print_json, print_line, printable, warn
from shardcore.dataset import DataSet
from shardcore.errors import FormatError, ShardError, UsageError
from shardcore.extract import ANY_SIZE, write_object
from shardcore.extract import extract as extract_objects
from shardcore.objects import ObjectColumns, ObjectRef, State
from shardcore.shard import DEFAULT_LIMIT, Shard, bounded
from shardcore.writing.output import write_whole

ROWS_AT_ONCE = 1 << 16
"""Rows listed from one read."""

FEW_ROWS = 10_000
"""Up to this many rows are listed without loading the index first."""

HIDDEN = (State.UNUSED, State.DELETED)


def ls(
    uri: Uri,
    digest: Annotated[str | None, typer.Option(metavar="sha256", help="Also the sha256 of the content.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only objects of this kind.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many objects.", min=0)] = None,
    skip: Annotated[int, typer.Option(help="Leave out the first so many objects.", min=0)] = 0,
    everything: Annotated[bool, typer.Option("--all", help="Unused and deleted rows, too.")] = False,
    json: Json = False,
    format_name: FormatName = None,
    spec: Spec = None,
    xorbs: Xorbs = None,
    deleted: Deleted = False,
) -> int:
    """List the objects."""
    if digest not in (None, "sha256"):
        raise UsageError(f"--digest knows sha256, not {digest!r}")
    errors = 0
    with opened_with_rest(uri, format_name, spec=spec, xorbs=xorbs, deleted=deleted) as shard:
        if limit is None or limit + skip > FEW_ROWS or shard.source is None:
            with progress_bar("loading the index") as progress:
                shard.load_index(progress)
        errors += _warn_unreadable(shard)
        code = _kind_code(shard, kind)
        for rows, columns in _shown_rows(shard, code, skip, limit, everything):
            errors += _list(shard, rows, columns, as_json=json, digest=digest is not None)
        if shard.damage is not None:
            warn(f"damaged: {shard.damage}")
            return 3
    return 1 if errors else 0


def get(
    uri: Uri,
    keys: Keys = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="PATH", help="Write to a file.")] = None,
    part: Annotated[str | None, typer.Option(help="A part of the object instead of the object.")] = None,
    bytes_wanted: Annotated[str | None, typer.Option("--range", metavar="A:B", help="Only these bytes of it.")] = None,
    key_file: KeyFile = None,
    limit_bytes: Limit = DEFAULT_LIMIT,
    force: Force = False,
    format_name: FormatName = None,
    spec: Spec = None,
    xorbs: Xorbs = None,
    deleted: Deleted = False,
) -> int:
    """Write the content of objects to standard output, one after the other."""
    wanted = all_keys(keys, key_file)
    if not wanted:
        raise UsageError("which objects? give keys")
    window = byte_range(bytes_wanted)
    with opened_with_rest(uri, format_name, spec=spec, xorbs=xorbs, deleted=deleted) as shard:
        refs = [shard.find(key) for key in wanted]
        if output is not None and len(refs) == 1 and part is None and window is None:
            write_object(shard, refs[0], output, force=force, limit=limit_bytes or None)
            return 0
        pieces = (piece for ref in refs for piece in _pieces(shard, ref, part, window, limit_bytes or ANY_SIZE))
        if output is None:
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        else:
            write_whole(output, pieces, force=force)
    return 0


def extract(
    uri: Uri,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Made when it is not there.", show_default=False)],
    keys: Keys = None,
    pattern: Annotated[str | None, typer.Option("--match", metavar="GLOB", help="Only keys that match.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only objects of this kind.")] = None,
    key_file: KeyFile = None,
    limit_bytes: Limit = DEFAULT_LIMIT,
    json: Json = False,
    force: Force = False,
    format_name: FormatName = None,
    spec: Spec = None,
    xorbs: Xorbs = None,
    deleted: Deleted = False,
) -> int:
    """Write objects into files of a folder, with safe names and a manifest; without keys, all of them."""
    wanted = all_keys(keys, key_file)
    errors = 0
    with opened_with_rest(uri, format_name, spec=spec, xorbs=xorbs, deleted=deleted) as shard:
        if wanted:
            refs: Iterator[ObjectRef] | list[ObjectRef] = [shard.find(key) for key in wanted]
            total = len(wanted)
        else:
            refs, total = _all_refs(shard, pattern, kind, deleted)
            errors += _warn_unreadable(shard)
        with progress_bar("extracting") as progress:
            results = extract_objects(
                shard, refs, folder, force=force, total=total, limit=limit_bytes or None, progress=progress
            )
            for done in results:
                errors += bool(done.error)
                if json:
                    print_json(done.line())
                elif done.error:
                    warn(f"{done.key}: {done.error}")
                else:
                    print_line(f"{done.path}  {done.size}  {done.sha256}")
        if shard.damage is not None:
            warn(f"damaged: {shard.damage}")
            return 3
    return 1 if errors else 0


COMMANDS = (ls, get, extract)


def _kind_code(shard: Shard, kind: str | None) -> int | None:
    if kind is None:
        return None
    if kind not in shard.objects.kinds:
        raise UsageError(f"no objects of kind {kind!r} here; there is {', '.join(shard.objects.kinds)}")
    return shard.objects.kinds.index(kind)


def _shown_rows(
    shard: Shard, kind: int | None, skip: int, limit: int | None, everything: bool
) -> Iterator[tuple[NDArray[np.int64], ObjectColumns]]:
    """The rows to list, with their columns, in the order of the slots."""
    left = limit
    for first in range(0, len(shard.objects), ROWS_AT_ONCE):
        if left == 0:
            return
        rows = np.arange(first, min(first + ROWS_AT_ONCE, len(shard.objects)), dtype=np.int64)
        columns = shard.objects.columns(rows)
        keep = np.ones(len(rows), bool) if everything else ~np.isin(columns.state, HIDDEN)
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


def _list(shard: Shard, rows: NDArray[np.int64], columns: ObjectColumns, *, as_json: bool, digest: bool) -> int:
    damaged = int(np.count_nonzero(columns.state == State.DAMAGED))
    if not as_json and not digest:
        _print_rows(shard, rows, columns)
        return damaged
    errors = 0
    for row in rows.tolist():
        try:
            found = object_json(shard.objects.ref(row))
        except FormatError as error:
            found = {"key": None, "state": "damaged", "size": None, "error": str(error)}
        if digest and found["state"] not in ("unused", "deleted") and "error" not in found:
            _add_digest(shard, row, found)
        errors += "error" in found
        if as_json:
            print_json(found)
        else:
            print_line(f"{found.get('sha256', '-'):<64}  {found['size']!s:>12}  {found['key']}")
    return errors


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
        found["error"] = str(error)
        return
    found["sha256"] = digest.hexdigest()
    found["size"] = size


def _pieces(
    shard: Shard, ref: ObjectRef, part: str | None, window: tuple[int, int] | None, limit: int
) -> Iterator[bytes]:
    if part is not None:
        data = shard.read_part(ref, part, limit=limit)
        yield data if window is None else data[window[0] : window[1]]
    elif window is not None:
        yield shard.read_range(ref, *window, limit=limit)
    else:
        yield from bounded(shard, ref, limit)


def _all_refs(
    shard: Shard, pattern: str | None, kind: str | None, deleted: bool
) -> tuple[Iterator[ObjectRef], int]:
    """All objects that can be taken out, one at a time; where there is a view of the whole content, that alone.

    Kinds that are parts of others (the chunks of a file) are left out unless they are asked for.
    """
    if shard.views and pattern is None and kind is None:
        return iter([shard.find(shard.views[0])]), 1
    with progress_bar("loading the index") as progress:
        shard.load_index(progress)
    wanted = [State.LIVE, State.EXTERNAL, State.DAMAGED] + [State.TOMBSTONED] * deleted
    objects, code = shard.objects, _kind_code(shard, kind)
    columns = objects[:]
    kinds = [n for n, name in enumerate(objects.kinds) if name not in objects.inner_kinds] if code is None else [code]
    rows = np.flatnonzero(np.isin(columns.state, wanted) & np.isin(columns.kind, kinds))
    if pattern is not None:
        texts = shard.objects.key_texts(rows)
        matching = [key is not None and fnmatch.fnmatchcase(key, pattern) for key in texts]
        rows = rows[np.array(matching, bool)]
    # `map` goes on after an error: one row that cannot be read does not end the others.
    return map(shard.objects.ref, rows.tolist()), len(rows)


def _warn_unreadable(shard: Shard) -> int:
    """Names the members of a data set that are left out; returns how many."""
    unreadable = shard.unreadable if isinstance(shard, DataSet) else {}
    for name, error in unreadable.items():
        warn(f"{name}: {error}")
    return len(unreadable)
