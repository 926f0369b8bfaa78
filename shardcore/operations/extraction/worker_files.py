"""Extraction of a data set by workers. This process decides the names and writes the manifest."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from shardcore.errors import FormatError, LimitExceeded, ShardError, UsageError, reported_as, source_lost
from shardcore.model.data_set_nodes import placed_error
from shardcore.model.objects import ObjectRef, located
from shardcore.operations.description import Conflict, Extract, ExtractOptions
from shardcore.operations.extraction.files import (
    MANIFEST,
    Extracted,
    ManifestWriter,
    extract_planned,
    files_of,
    send_manifest,
)
from shardcore.operations.extraction.names import Names
from shardcore.operations.extraction.selection import Unreadable, check_kind
from shardcore.progress import Progress, no_progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard_tasks import RowsRequest, rows_of
from shardcore.shards.task_pool import TaskPool
from shardcore.shards.tickets import absolute
from shardcore.sources.remote.address import is_address, parse_address
from shardcore.sources.remote.upload import BucketFolder, Upload

if TYPE_CHECKING:
    from shardcore.sources.remote.options import RemoteOptions

MOST_PLANNED = 1 << 22
"""Maximum objects of one shard, since all names are decided before writing."""


@dataclass(frozen=True, slots=True)
class PlannedObject:
    row: int
    files: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """Objects of a shard to write, the decided names of their files, and the sizes of existing files in the store."""

    objects: tuple[PlannedObject, ...]
    kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    there: Mapping[str, int] = field(default_factory=dict, compare=False)


def member_plan(shard: DataSet, name: str, progress: Progress, request: RowsRequest, asked: Extract) -> MemberPlan:
    with shard.borrowed(name) as member:
        found = rows_of(member, request)
        if found.more:
            raise LimitExceeded(f"more than {request.most:,} objects: extract this shard separately")
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
                if source_lost(error):
                    raise
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

        def ref(one: PlannedObject) -> ObjectRef:
            if one.error:
                raise FormatError(one.error)
            return located(member.objects.ref(one.row), name, None)

        return extract_planned(shard, map(ref, plan.objects), folder, options, plan.names, delivery, plan.there)


@contextmanager
def _delivery(
    out: str, options: ExtractOptions, remote: RemoteOptions | None
) -> Iterator[tuple[Path, BucketFolder | None]]:
    if not is_address(out):
        yield Path(out), None
        return
    from shardcore.sources.remote.options import RemoteOptions
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
    where = _Target(str(asked.folder), asked, remote)
    with closing(where):
        plans = list(map(where.decided, plans))
        yield from _written(tasks, shard, where, plans, failed, progress)


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


def _written(
    tasks: TaskPool,
    shard: DataSet,
    where: _Target,
    plans: list[MemberPlan],
    failed: dict[str, ShardError],
    progress: Progress,
) -> Generator[Extracted]:
    manifest = ManifestWriter(shard, where.folder, where.root) if where.options.manifest else None
    try:
        given, own = (where.out, where.options, where.remote), [(plan,) for plan in plans]
        with closing(tasks.each(shard, member_files, given, own=own, only=_idle)) as found:
            for number, (member, results) in enumerate(zip(shard.members, found, strict=True), 1):
                progress(number, len(plans))
                if isinstance(results, ShardError):
                    results = [Extracted.failed(None, placed_error(results, member.name))]
                for done in results:
                    if manifest is not None:
                        manifest.add(done.line() | done.facts)
                    yield where.named(done)
                    if done.last:
                        return
        if manifest is not None:
            path = manifest.appear()
            if where.delivery is not None:
                send_manifest(where.delivery, path, where.there)
    finally:
        if manifest is not None:
            manifest.discard()


def _idle(own: tuple[MemberPlan]) -> list[Extracted] | None:
    return None if own[0].objects else []


class _Target:
    """Target of an extraction by workers.

    Attributes:
        root: Prefix of the paths that workers return.
        folder: Folder of the manifest: the target, or a temporary one.
        delivery: Sends the manifest; None if the target is a folder.
    """

    def __init__(self, out: str, options: ExtractOptions, remote: RemoteOptions | None) -> None:
        self._shown, self.out = out, absolute(out)
        self.options, self.remote = options, remote
        self._names = Names([MANIFEST], folders=options.folders)
        self._ends = ExitStack()
        self.there: dict[str, int] = {}
        self.delivery: BucketFolder | None = None
        with reported_as(f"cannot create the folder {out}"):
            self.folder, self.delivery = self._ends.enter_context(_delivery(self.out, options, remote))
            self.folder.mkdir(parents=True, exist_ok=True)
            if self.delivery is not None and options.conflict is not Conflict.REPLACE:
                self.there = self.delivery.sizes(required=options.conflict is not Conflict.ERROR)
        self.root = self.delivery.shown if self.delivery is not None else str(self.folder)

    def decided(self, plan: MemberPlan) -> MemberPlan:
        names = [self._given(raw) for one in plan.objects for raw in one.files]
        there = {name: self.there[name] for name in names if name in self.there}
        return replace(plan, names=tuple(names), there=there)

    def _given(self, raw: str) -> str:
        name = free = self._names.give(raw)
        if self.options.conflict is Conflict.RENAME:
            while self._exists(free):
                free = self._names.rename(name)
        return free

    def _exists(self, name: str) -> bool:
        return name in self.there if self.delivery is not None else os.path.lexists(self.folder / name)

    def named(self, done: Extracted) -> Extracted:
        if self.delivery is not None:
            return done
        path, skipped, error = (
            text.replace(f"{self.root}/", f"{Path(self._shown)}/") for text in (done.path, done.skipped, done.error)
        )
        return replace(done, path=path, skipped=skipped, error=error)

    def close(self) -> None:
        self._ends.close()
