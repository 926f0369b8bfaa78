"""Command `find`."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Any

from shardcore.cli.options import (
    NO_WORKERS,
    USUAL,
    Json,
    Opening,
    Workers,
    opens,
)
from shardcore.cli.output import error_line, object_json, print_json, print_line, progress_bar, warn
from shardcore.cli.program import exit_code
from shardcore.errors import source_lost
from shardcore.operations.description import Find


@opens
def find(asked: Find, workers: Workers = NO_WORKERS, json: Json = False, how: Opening = USUAL) -> int:
    """Find the files and folders that contain a key; exit code 1 if none does, 4 if a source is unreachable.

    Examples:
        shardcore find 2090 archive small.shard
    """
    from shardcore.operations.find_key import find_in

    given = {"format": how.format, "remote": how.remote, "tape": how.tape, **how.options}
    found, first = 0, None
    with workers.pool() as tasks, progress_bar("searching") as progress:
        with closing(find_in(asked.key, asked.paths, jobs=how.jobs, progress=progress, tasks=tasks, **given)) as search:
            for hit in search:
                if hit.error is not None:
                    first = hit.error if first is None or source_lost(hit.error) else first
                    text = error_line(hit.error)
                    warn(text if hit.path in text else f"{hit.path}: {text}")
                else:
                    found += 1
                _print(hit, json=json)
        if found:
            return 0
    unknown = first is not None and (source_lost(first) or not search.searched)
    return exit_code(first) if first is not None and unknown else 1


def _print(hit: Any, *, json: bool) -> None:
    if json:
        print_json(_hit_json(hit))
    elif hit.ref is not None:
        size = f"{hit.ref.size:,}" if hit.ref.size >= 0 else "–"
        within = f"  {hit.ref.shard}" if hit.ref.shard else ""
        print_line(f"{hit.path}  {hit.format}  {size}{within}")
    sys.stdout.flush()


def _hit_json(hit: Any) -> dict[str, Any]:
    if hit.error is not None:
        return {"path": hit.path, "error": error_line(hit.error)}
    row = object_json(hit.ref)
    return {
        "path": hit.path,
        "format": hit.format,
        **{name: row[name] for name in ("key", "kind", "size", "start", "stop", "shard")},
    }
