"""Command `recover`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from shardcore.cli.options import USUAL, Json, Opening, Uri, opens, progress_bar
from shardcore.cli.output import emit_json, emit_line, stopped, warn, with_advice
from shardcore.cli.workers import Cluster, SendKeys, SharedFolder, WorkerOptions
from shardcore.errors import Remedy, ShardError, SourceError, UsageError
from shardcore.model.number_text import plural
from shardcore.model.safe_text import visible
from shardcore.operations.description import Recover

if TYPE_CHECKING:
    from shardcore.operations.recover import Salvage, Saved


@opens
def recover(
    uri: Uri,
    asked: Recover,
    cluster: Cluster = None,
    shared: SharedFolder = False,
    send_keys: SendKeys = False,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Extract the intact objects of a damaged file, also without its index, and write a report.

    Examples:
        shardcore recover damaged.shard --plan
        shardcore recover damaged.shard saved
    """
    if asked.folder is None and not asked.plan:
        raise UsageError("give the folder to write to, or --plan to only report")
    from shardcore.operations.extraction import ANY_SIZE
    from shardcore.operations.recover import salvage
    from shardcore.shards.ticket import ShardTicket, absolute, as_named

    workers = WorkerOptions(cluster, None, send_keys)
    target = None if asked.plan else asked.folder
    if target is not None:
        workers.check_target(str(target), shared=shared)
    given: dict[str, Any] = {
        "format": how.format,
        "limit": asked.limit or ANY_SIZE,
        "raw": asked.raw,
        "remote": how.remote,
    }
    given |= how.options
    try:
        with workers.pool() as tasks, progress_bar("recovering") as progress:
            if tasks is None:
                done = salvage(uri, target, progress=progress, tape=how.tape, **given)
            else:
                tasks.check_keys(ShardTicket(uri, "", given))
                place = None if target is None else target.absolute()
                try:
                    done = tasks.run(partial(salvage, **given), absolute(uri), place)
                except ShardError as error:
                    raise as_named(error, uri) from error.__cause__
    except SourceError as error:
        if error.partial is None:
            raise
        _print_all(error.partial.items, as_json=json)
        raise stopped(error, plural(len(error.partial.items), "object")) from None
    _print_all(done.items, as_json=json)
    if json:
        emit_json(done.summary())
    else:
        _sum_up(done)
    lost = done.counts["damaged"] + done.counts["lost"] + done.missing
    return 1 if lost or done.left_out or not done.items else 0


def _print_all(items: Iterable[Saved], *, as_json: bool) -> None:
    for one in items:
        if as_json:
            emit_json(one.to_json())
        else:
            _print_result(one)


def _print_result(one: Saved) -> None:
    name = visible(one.path or one.key or one.name)
    if one.raw:
        emit_line(f"{'raw':10}  {name}  {one.size}  {one.sha256}  ({visible(one.why)})")
    elif one.sha256:
        by = f"checked by {one.checked_by}" if one.checked_by else "no checksum"
        key = "" if one.key is not None else "; found without a key"
        emit_line(f"{one.condition.label:10}  {name}  {one.size}  {one.sha256}  ({by}{key})")
    else:
        emit_line(f"{one.condition.label:10}  {name}  {visible(one.why)}")


def _sum_up(done: Salvage) -> None:
    counts = done.counts
    from shardcore.shards.salvage import Condition

    parts = [f"{counts[one.value]:,} {one.label}" for one in Condition]
    keyless = f"; {counts['without_key']:,} of them without a key" if counts["without_key"] else ""
    ranges = f"; {plural(done.raw, 'range')} of unclaimed bytes" if done.raw else ""
    found = len(done.items) - done.raw
    what = f"{found:,} of {plural(done.declared or 0, 'object')} found" if done.missing else plural(found, "object")
    emit_line(f"{done.format}: {what}: {', '.join(parts)}{keyless}{ranges}")
    if done.opens:
        warn(f"the file cannot be opened: {done.opens}")
    for note in done.notes:
        warn(note)
    for note in done.left_out:
        warn(with_advice(note, Remedy.WORK))
