"""Extracting the objects of a data set on workers: names are decided before, and the manifest is written here."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from shardcore.errors import FormatError, LimitExceeded, ShardError, SourceError, UsageError, reason_of, source_lost
from shardcore.model.member_nodes import placed_error
from shardcore.model.objects import ObjectRef, State, located
from shardcore.operations.extraction.default_objects import no_kind
from shardcore.operations.extraction.files import Extracted, files_of, send_manifest, take_planned
from shardcore.operations.extraction.manifest import MANIFEST, ManifestWriter
from shardcore.operations.extraction.names import Names
from shardcore.operations.extraction.options import Conflict, ExtractOptions
from shardcore.operations.extraction.selection import Unreadable
from shardcore.progress import Progress, no_progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.member_work import RowsAsked, rows_of
from shardcore.shards.task_pool import TaskPool
from shardcore.shards.ticket import absolute
from shardcore.sources.remote.address import is_address, parse_address
from shardcore.sources.remote.upload import BucketFolder, Upload

if TYPE_CHECKING:
    from shardcore.sources.remote.options import RemoteOptions

MOST_PLANNED = 1 << 22
"""Objects of one shard whose names are decided before they are written."""


@dataclass(frozen=True, slots=True)
class PlannedObject:
    """An object that is to be written.

    Attributes:
        row: Its row in its shard.
        files: The names of its files, as the format states them; none where that failed.
        error: Reason why its record cannot be read; empty where it can.
    """

    row: int
    files: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """The objects of a shard that are to be written.

    Attributes:
        objects: The objects.
        kinds: The kinds that the shard has.
        names: The names of their files, when they are decided.
        there: The sizes of those that exist already, in a store.
    """

    objects: tuple[PlannedObject, ...]
    kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    there: Mapping[str, int] = field(default_factory=dict, compare=False)


def member_plan(
    shard: DataSet, name: str, progress: Progress, asked: RowsAsked, options: ExtractOptions, match: str | None
) -> MemberPlan:
    """Return the objects of a member that are to be written.

    Raises:
        ShardError: The index cannot be read.
    """
    with shard.borrowed(name) as member:
        found = rows_of(member, asked)
        if found.more:
            raise LimitExceeded(f"more than {asked.most:,} objects: extract this shard separately")
        planned = []
        for row in found.rows:
            if row.ref is None:
                planned += [] if match is not None else [PlannedObject(-1, error=row.error)]
                continue
            if match is not None and (row.ref.key is None or not fnmatch.fnmatchcase(row.ref.key, match)):
                continue
            try:
                files = tuple(files_of(member, row.ref, options).values())
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
    """Write the objects of a member; what becomes of each, with paths relative to the target.

    Raises:
        ShardError: The member cannot be opened, or the target cannot be written to.
    """
    with _delivery(out, options, remote) as (folder, delivery):
        member = shard.member(name)
        member.load_index()

        def ref(one: PlannedObject) -> ObjectRef:
            if one.error:
                raise FormatError(one.error)
            return located(member.objects.ref(one.row), name, None)

        return take_planned(shard, map(ref, plan.objects), folder, options, plan.names, delivery, plan.there)


@contextmanager
def _delivery(
    out: str, options: ExtractOptions, remote: RemoteOptions | None
) -> Iterator[tuple[Path, BucketFolder | None]]:
    """Return the folder to write to, and what sends its files on, if the target is in a store."""
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
    out: str,
    *,
    match: str | None = None,
    kind: str | None = None,
    options: ExtractOptions,
    remote: RemoteOptions | None = None,
    progress: Progress = no_progress,
    unreadable: Unreadable = lambda name, error: None,
) -> Generator[Extracted]:
    """Extract the objects of a data set as `extract_each` does, on workers.

    The workers list the objects first. Then names, and what happens where a file exists, are decided here, so that the
    result does not depend on their order; then the workers write the files. The manifest is written at the end.

    Args:
        tasks: The workers.
        shard: The data set; its objects are those of its members.
        out: A folder that all workers see under the same path, or an address in a store.
        match: See `extract`.
        kind: See `extract`.
        options: See `extract`; an ending cannot be guessed.
        remote: How the target is reached.
        progress: Called after every member.
        unreadable: Called with each member that is left out, and why.

    Raises:
        UsageError: An option does not fit, or no member has objects of that kind.
        SourceError: The target cannot be written to.
    """
    if options.guess_extension:
        raise UsageError("--guess-extension needs the contents before names are decided: not with --cluster")
    plans, failed = _plans(tasks, shard, match, kind, options)
    for name, error in failed.items():
        unreadable(name, error)
    if match is not None and not any(plan.objects for plan in plans):
        return
    where = _Target(out, options, remote)
    with closing(where):
        plans = list(map(where.decided, plans))
        yield from _written(tasks, shard, where, plans, failed, progress)


def _plans(
    tasks: TaskPool, shard: DataSet, match: str | None, kind: str | None, options: ExtractOptions
) -> tuple[list[MemberPlan], dict[str, ShardError]]:
    """Return what is to be written of each member, and the members that cannot be read."""
    hidden = tuple(state for state in State if state not in options.states)
    asked = RowsAsked(hidden, kind, outer=True, refs=True, most=MOST_PLANNED)
    plans, failed, kinds = list[MemberPlan](), dict[str, ShardError](), dict[str, None]()
    with closing(tasks.each(shard, member_plan, (asked, options, match))) as found:
        for member, plan in zip(shard.members, found, strict=True):
            if isinstance(plan, ShardError):
                if source_lost(plan):
                    raise placed_error(plan, member.name)
                failed[member.name] = plan
            else:
                kinds.update(dict.fromkeys(plan.kinds))
            plans.append(MemberPlan(()) if isinstance(plan, ShardError) else plan)
    if kind is not None and kinds and kind not in kinds:
        raise no_kind(kind, tuple(kinds))
    return plans, failed


def _written(
    tasks: TaskPool,
    shard: DataSet,
    where: _Target,
    plans: list[MemberPlan],
    failed: dict[str, ShardError],
    progress: Progress,
) -> Generator[Extracted]:
    """Let the workers write, and note what became of each object."""
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
    """Return the result of a member that has nothing to be written; None where a worker is needed."""
    return None if own[0].objects else []


class _Target:
    """The target of an extraction, as far as it is decided here.

    Args:
        out: A folder, or an address in a store.
        options: How objects become files.
        remote: How the address is reached.

    Attributes:
        out: The target, as workers name it.
        root: Begins the paths that they return.
        options: See above.
        remote: See above.
        folder: The folder of the manifest: the target, or a temporary one.
        delivery: Sends the manifest on; None where the target is a folder.
        there: Names that exist in the store, and their sizes.
    """

    def __init__(self, out: str, options: ExtractOptions, remote: RemoteOptions | None) -> None:
        self._shown, self.out = out, absolute(out)
        self.options, self.remote = options, remote
        self._names = Names([MANIFEST], folders=options.folders)
        self._ends = ExitStack()
        self.there: dict[str, int] = {}
        self.delivery: BucketFolder | None = None
        try:
            self.folder, self.delivery = self._ends.enter_context(_delivery(self.out, options, remote))
            self.folder.mkdir(parents=True, exist_ok=True)
            if self.delivery is not None and options.conflict is not Conflict.REPLACE:
                self.there = self.delivery.sizes(required=options.conflict is not Conflict.ERROR)
        except OSError as error:
            raise SourceError(f"cannot create the folder {out}: {reason_of(error)}") from error
        self.root = self.delivery.shown if self.delivery is not None else str(self.folder)

    def decided(self, plan: MemberPlan) -> MemberPlan:
        """Return a plan with the names of its files."""
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
        """Return what became of an object, with the paths and errors as the caller names the target."""
        if self.delivery is not None:
            return done
        path, skipped, error = (
            text.replace(f"{self.root}/", f"{Path(self._shown)}/") for text in (done.path, done.skipped, done.error)
        )
        return replace(done, path=path, skipped=skipped, error=error)

    def close(self) -> None:
        """Remove the temporary folder."""
        self._ends.close()
