"""Extraction of a data set by workers; the calling process chooses the file names and writes the manifest."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from shardcore.dataclasses import dataclass, field, replace
from shardcore.errors import FormatError, LimitExceeded, ShardError, UsageError, raise_if_lost, reported_as, source_lost
from shardcore.model.data_set_nodes import placed_error
from shardcore.model.objects import ObjectRef, located
from shardcore.operations.description import Conflict, Extract, ExtractOptions
from shardcore.operations.extraction.files import Extracted, Target, extract_planned, files_of, manifest_of
from shardcore.operations.extraction.selection import Unreadable, check_kind
from shardcore.progress import Progress, no_progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard_tasks import RowsRequest, rows_of
from shardcore.shards.task_pool import TaskPool
from shardcore.shards.tickets import absolute
from shardcore.sources.remote.address import is_address, parse_address
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.upload import BucketFolder, Upload

MOST_PLANNED = 1 << 22
"""Maximum number of objects of one shard, since all file names are chosen before any file is written."""


@dataclass(frozen=True, slots=True)
class PlannedObject:
    row: int
    files: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """Objects of a shard to write, the names of their files, and the sizes of those that exist in the object store."""

    objects: tuple[PlannedObject, ...]
    kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    there: Mapping[str, int] = field(default_factory=dict, compare=False)


def member_plan(shard: DataSet, name: str, progress: Progress, request: RowsRequest, asked: Extract) -> MemberPlan:
    with shard.borrowed(name) as member:
        found = rows_of(member, request)
        if found.more:
            raise LimitExceeded(f"over {request.most:,} objects, the limit for workers: extract it without workers")
        planned = []
        for row in found.rows:
            if not asked.takes(None if row.ref is None else row.ref.key):
                continue
            if row.ref is None:
                planned.append(PlannedObject(-1, error=row.error))
                continue
            try:
                files = tuple(files_of(member, row.ref, asked).values())
            except ShardError as error:
                raise_if_lost(error)
                files = ()
            planned.append(PlannedObject(row.ref.row, files))
    return MemberPlan(tuple(planned), found.kinds)


def member_files(
    shard: DataSet,
    name: str,
    progress: Progress,
    out: str,
    options: ExtractOptions,
    remote: RemoteOptions | None,
    plan: MemberPlan,
) -> list[Extracted]:
    """Write the objects of one shard; the returned paths are relative to the target."""
    with _delivery(out, options, remote) as (folder, delivery):
        member = shard.member(name)
        member.load_index()

        def ref(one: PlannedObject) -> ObjectRef | ShardError:
            return FormatError(one.error) if one.error else located(member.objects.ref(one.row), name, None)

        return extract_planned(shard, map(ref, plan.objects), folder, options, plan.names, delivery, plan.there)


@contextmanager
def _delivery(
    out: str, options: ExtractOptions, remote: RemoteOptions | None
) -> Iterator[tuple[Path, BucketFolder | None]]:
    if not is_address(out):
        yield Path(out), None
        return
    from shardcore.sources.remote.session import RemoteSession

    with TemporaryDirectory(prefix="shardcore-") as folder:
        session = RemoteSession(remote or RemoteOptions())
        with closing(session):
            upload = Upload(session, force=options.conflict is Conflict.REPLACE)
            yield Path(folder), BucketFolder(upload, parse_address(out))


def extract_on(
    tasks: TaskPool,
    shard: DataSet,
    asked: Extract,
    *,
    remote: RemoteOptions | None = None,
    progress: Progress = no_progress,
    unreadable: Unreadable = lambda name, error: None,
) -> Generator[Extracted]:
    """Extract the objects of a data set by workers, with the results of `extract_each`.

    Workers first list the objects. This process then decides names and conflicts, so that the result does not depend on
    the order of the workers. Then they write the files. The folder is an address in an object store, or a folder that
    all workers have under the same path. Extensions cannot be guessed.
    """
    if asked.guess_extension:
        raise UsageError(
            "--guess-extension cannot be combined with --cluster: file names are chosen before contents are read"
        )
    plans, failed = _plans(tasks, shard, asked)
    for name, error in failed.items():
        unreadable(name, error)
    if asked.match is not None and not any(plan.objects for plan in plans):
        return
    with ExitStack() as ends:
        with reported_as(f"cannot create the folder {asked.folder}"):
            out = absolute(str(asked.folder))
            folder, delivery = ends.enter_context(_delivery(out, asked, remote))
            folder.mkdir(parents=True, exist_ok=True)
            target = Target(folder, Path(asked.folder), asked, delivery)
        # All names are decided before any file is written.
        own = [(_named(plan, target),) for plan in plans]
        found = tasks.each(shard, member_files, (out, asked, remote), own=own, only=_idle)
        with manifest_of(shard, target) as add, closing(found):
            for number, (member, results) in enumerate(zip(shard.members, found, strict=True), 1):
                progress(number, len(plans))
                if isinstance(results, ShardError):
                    results = [Extracted.failed(None, placed_error(results, member.name))]
                for done in map(target.result_named, results):
                    add(done)
                    yield done
                    if done.last:
                        return


def _plans(tasks: TaskPool, shard: DataSet, asked: Extract) -> tuple[list[MemberPlan], dict[str, ShardError]]:
    request = RowsRequest(asked.hidden, asked.kind, outer=True, refs=True, most=MOST_PLANNED)
    plans, failed, kinds = list[MemberPlan](), dict[str, ShardError](), dict[str, None]()
    with closing(tasks.each(shard, member_plan, (request, asked))) as found:
        for member, plan in zip(shard.members, found, strict=True):
            if isinstance(plan, ShardError):
                if source_lost(plan):
                    raise placed_error(plan, member.name)
                failed[member.name] = plan
            else:
                kinds.update(dict.fromkeys(plan.kinds))
            plans.append(MemberPlan(()) if isinstance(plan, ShardError) else plan)
    check_kind(asked.kind, kinds)
    return plans, failed


def _named(plan: MemberPlan, target: Target) -> MemberPlan:
    names = []
    for raw in (raw for one in plan.objects for raw in one.files):
        name = target.names.give(raw)
        rename = target.options.conflict is Conflict.RENAME and target.exists(name)
        names.append(target.free_name(name) if rename else name)
    there = {name: target.there[name] for name in names if name in target.there}
    return replace(plan, names=tuple(names), there=there)


def _idle(own: tuple[MemberPlan]) -> list[Extracted] | None:
    return None if own[0].objects else []
