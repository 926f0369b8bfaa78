"""Commands `ls`, `get`, `extract` and `recover`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import (
    NO_WORKERS,
    SMALL_INDEX,
    USUAL,
    Force,
    Json,
    KeyFile,
    Keys,
    Limit,
    Opening,
    ResumingWorkers,
    Uri,
    WorkerOptions,
    all_keys,
    byte_range,
    one_of,
    only,
    opens,
    target_of,
)
from shardcore.cli.output import FLAGS, emit_json, emit_line, error_line, progress_bar, stopped, warn, with_advice
from shardcore.dataclasses import replace
from shardcore.errors import DEFAULT_LIMIT, Remedy, ShardError, SourceError, UsageError
from shardcore.model.text import plural, short, visible
from shardcore.operations.description import ANY_SIZE, Conflict, Extract, Recover
from shardcore.sources.remote.address import is_address

if TYPE_CHECKING:
    from shardcore.model.objects import ObjectRef
    from shardcore.operations.extraction import Extracted
    from shardcore.operations.recover import Salvage, Saved
    from shardcore.shards.shard import Shard


FEW_ROWS = 10_000
"""Maximum `--limit` for which rows are listed without loading the index first."""


@opens
def ls(
    uri: Uri,
    digest: Annotated[
        str | None,
        typer.Option(metavar="sha256", help="Print the sha256 of each content.", autocompletion=one_of("sha256")),
    ] = None,
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="Only objects of this kind.")] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", help="List at most N objects.", min=0)] = None,
    skip: Annotated[int, typer.Option(metavar="N", help="Skip the first N objects.", min=0)] = 0,
    everything: Annotated[bool, typer.Option("--all", help="Include unused, deleted and tombstoned rows.")] = False,
    human: Annotated[bool, typer.Option("--human", help="Print sizes in KiB, MiB and GiB.")] = False,
    workers: ResumingWorkers = NO_WORKERS,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """List the objects: state, kind, size in bytes, key.

    Examples:
        shardcore ls archive --human
        shardcore ls contents.des --json
    """
    only("without --json", not json, human=human)
    if digest not in (None, "sha256"):
        raise UsageError(f"--digest must be sha256, not {digest!r}")
    from shardcore.cli.object_rows import (
        list_members,
        list_rows,
        print_header,
        shown_rows,
        sizes_stated,
        unreadable_states,
        warn_unreadable,
    )
    from shardcore.operations.extraction.selection import kind_code
    from shardcore.shards.dataset import DataSet
    from shardcore.shards.shard_tasks import RowsRequest

    with workers.pool() as tasks, how.open_rest(uri) as shard:
        if not json:
            print_header(digest=digest is not None)
        bare = unreadable_states(bool(how.options["deleted"]))
        hidden = () if everything else bare
        if isinstance(shard, DataSet) and shard.joins:
            wanted = digest is not None
            shard.tasks = tasks
            asked = RowsRequest(hidden, kind, refs=json or wanted, digest=wanted, bare=bare, jobs=shard.jobs)
            return 1 if list_members(shard, asked, skip=skip, limit=limit, as_json=json, human=human) else 0
        # Rows of a large folder are printed while its files are opened.
        streamed = shard.source is None and shard.index_cost > SMALL_INDEX
        # The whole index is needed to distinguish unused from deleted slots (swh).
        few = limit is not None and limit <= FEW_ROWS and not everything
        if not (streamed or shard.listed) and (json or not sizes_stated(shard)) and (not few or shard.source is None):
            with progress_bar("loading the index") as progress:
                shard.load_index(progress)
        errors = warn_unreadable(shard)
        for columns, keys in shown_rows(shard, kind_code(shard, kind), skip, limit, hidden, keys=not digest):
            errors += list_rows(
                shard, columns, keys, as_json=json, digest=digest is not None, without_content=bare, human=human
            )
        if shard.damage is not None:
            warn(f"damaged: {error_line(shard.damage)}")
            return 3
    return 1 if errors else 0


@opens
def get(
    uri: Uri,
    keys: Keys = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="PATH", help="Write to a file.")] = None,
    part: Annotated[str | None, typer.Option(metavar="NAME", help="Write this part of the object instead.")] = None,
    bytes_wanted: Annotated[str | None, typer.Option("--range", metavar="A:B", help="Write only these bytes.")] = None,
    key_file: KeyFile = None,
    limit_bytes: Limit = DEFAULT_LIMIT,
    force: Force = False,
    how: Opening = USUAL,
) -> int:
    """Write the content of objects to standard output, one after the other.

    Examples:
        shardcore get archive 2090 --output object
        shardcore get contents.des README.md --range 0:100
    """
    wanted = all_keys(keys, key_file)
    if not wanted:
        raise UsageError("no keys: give them after URI or with --keys; put keys that begin with a dash after --")
    window = byte_range(bytes_wanted)
    output = None if str(output) == "-" else output
    only("with --output FILE", output, force=force)
    with how.open_rest(uri) as shard:
        refs = [shard.find(key) for key in wanted]
        pieces = (piece for ref in refs for piece in _pieces(shard, ref, part, window, limit_bytes or ANY_SIZE))
        if output is None:
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
            return 0
        from shardcore.writing.temporary import takes_writes, write_through, write_whole

        if takes_writes(output):
            write_through(output, pieces)
        elif len(refs) == 1 and part is None and window is None:
            from shardcore.operations.extraction import write_object

            # A whole object of a remote file is fetched so that an interrupted call can be resumed.
            write_object(shard, refs[0], output, force=force, limit=limit_bytes or None)
        else:
            write_whole(output, pieces, force=force)
    return 0


@opens
def extract(
    uri: Uri,
    asked: Extract,
    workers: WorkerOptions = NO_WORKERS,
    json: Json = False,
    force: Force = False,
    how: Opening = USUAL,
) -> int:
    """Write objects into files of a folder, with safe names and a manifest.

    Default: all objects. A Bloscpack file or a xorb becomes one file with the whole content, unless --kind is given.

    Examples:
        shardcore extract archive out
        shardcore extract contents.des tables --match '*.csv'
    """
    from shardcore.operations.extraction import extract_each
    from shardcore.shards.dataset import DataSet

    if asked.keys is not None and not asked.everything:
        raise UsageError("keys cannot be combined with --match or --kind")
    out = str(asked.folder)
    workers.check_target(out)
    if is_address(out) and not out.endswith("/"):
        out += "/"
    asked = replace(asked, folder=out, limit=asked.limit or None, deleted=bool(how.options["deleted"]))
    with workers.pool() as tasks:
        if tasks is not None and asked.keys is None:
            from shardcore.operations.extraction.worker_files import extract_on

            with how.open_rest(uri) as shard:
                if isinstance(shard, DataSet) and shard.joins:
                    return _extracted(partial(extract_on, tasks, shard, asked, remote=how.remote), asked, as_json=json)
    whole = asked.keys is None and asked.everything and asked.conflict is not Conflict.SKIP
    with (
        target_of(out, how, force=asked.conflict is Conflict.REPLACE) as target,
        how.open_rest(uri, whole=whole) as shard,
    ):
        each = partial(extract_each, shard, replace(asked, folder=target.path), delivery=target.delivery)
        return _extracted(each, asked, shard.damage, as_json=json)


def _extracted(
    extract: Callable[..., Generator[Extracted]], asked: Extract, damage: ShardError | None = None, *, as_json: bool
) -> int:
    unreadable: list[str] = []

    def warned(name: str, error: ShardError) -> None:
        unreadable.append(name)
        warn(f"{name}: {error_line(error)}")

    with progress_bar("extracting") as progress, closing(extract(progress=progress, unreadable=warned)) as results:
        count, failed, lost = _print_all(results, as_json=as_json)
    if lost:
        return 4
    if not count and asked.match is not None:
        warn(f"no key matches {short(asked.match)}; nothing was written")
        return 1
    if damage is not None:
        warn(f"damaged: {error_line(damage)}")
        return 3
    return 1 if failed or unreadable else 0


def _print_all(results: Iterable[Extracted], *, as_json: bool) -> tuple[int, int, bool]:
    """Print a line per file; return the number of files, that of failures, and whether the source became unreadable."""
    failed, number = 0, -1
    like: Counter[Remedy] = Counter()
    try:
        for number, done in enumerate(results):
            failed += bool(done.error)
            if done.error and done.remedy is not None and not as_json:
                like[done.remedy] += 1
                if like[done.remedy] > 1:
                    continue
            if done.last:
                if as_json:
                    emit_json(done.line())
                _warn_stopped(number, with_advice(done.error, done.remedy))
                return number + 1, failed, True
            _print_result(done, as_json=as_json)
    except SourceError:
        if number >= 0:
            _warn_stopped(number + 1)
        raise
    for remedy, count in like.items():
        if count > 1:
            warn(f"{plural(count - 1, 'more object')} not written for the same reason: {FLAGS[remedy]}")
    return number + 1, failed, False


def _warn_stopped(count: int, why: str = "") -> None:
    why = f": {why}" if why else ""
    warn(f"stopped after {plural(count, 'file')}{why}; --conflict skip skips existing files")


def _print_result(done: Extracted, *, as_json: bool) -> None:
    if as_json:
        emit_json(done.line())
    elif done.error:
        what = with_advice(done.error, done.remedy)
        warn(what if done.key is None or done.key in what else f"{done.key}: {what}")
    elif done.skipped:
        emit_line(f"{done.skipped}  exists already: skipped")
    else:
        emit_line(f"{done.path}  {done.size}  {done.sha256}")


def _pieces(
    shard: Shard, ref: ObjectRef, part: str | None, window: tuple[int, int] | None, limit: int
) -> Iterator[bytes]:
    from shardcore.shards.shard import bounded

    if part is not None:
        data = shard.read_part(ref, part, limit=limit)
        _check_window(window, len(data), ref)
        yield data if window is None else data[window[0] : window[1]]
    elif window is not None:
        _check_window(window, ref.size, ref)
        yield shard.read_range(ref, *window, limit=limit)
    else:
        yield from bounded(shard, ref, limit)


def _check_window(window: tuple[int, int] | None, size: int, ref: ObjectRef) -> None:
    """Raise UsageError if a range begins after the end of the object; a range that only ends after it is shortened."""
    if window is not None and 0 <= size < window[0]:
        raise UsageError(f"--range begins at {window[0]}; {short(ref.key)} has {size} bytes")


@opens
def recover(
    uri: Uri,
    asked: Recover,
    workers: Annotated[WorkerOptions, "cluster", "shared", "send_keys"] = NO_WORKERS,
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
    from shardcore.operations.recover import salvage
    from shardcore.shards.tickets import ShardTicket, absolute, as_named

    target = None if asked.plan else asked.folder
    if target is not None:
        workers.check_target(str(target))
    given: dict[str, Any] = {
        "format": how.format,
        "limit": asked.limit or ANY_SIZE,
        "raw": asked.raw,
        "remote": how.remote,
        **how.options,
    }
    try:
        with workers.pool() as tasks, progress_bar("recovering") as progress:
            if tasks is None:
                done = salvage(how.where(uri), target, progress=progress, tape=how.tape, **given)
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
        _print_saved(error.partial.items, as_json=json)
        raise stopped(error, plural(len(error.partial.items), "object")) from None
    _print_saved(done.items, as_json=json)
    if json:
        emit_json(done.summary())
    else:
        _sum_up(done)
    lost = done.counts["damaged"] + done.counts["lost"] + done.missing
    return 1 if lost or done.left_out or not done.items else 0


def _print_saved(items: Iterable[Saved], *, as_json: bool) -> None:
    for one in items:
        if as_json:
            emit_json(one.to_json())
        else:
            _print_recovered(one)


def _print_recovered(one: Saved) -> None:
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
