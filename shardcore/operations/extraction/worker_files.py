"""Extracting the objects of a data set on workers: names are decided before, and the manifest is written here."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from shardcore.errors import FormatError, LimitExceeded, ShardError, SourceError, UsageError, reason_of, says_absent
from shardcore.model.objects import ObjectRef, State, located
from shardcore.operations.extraction.default_objects import no_kind
from shardcore.operations.extraction.files import Extracted, files_of, take_planned
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
from shardcore.sources.where import folder_of

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
        error: Why its record cannot be read; empty where it can.
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
        there: Those of them that exist already, in a store, and stay.
    """

    objects: tuple[PlannedObject, ...]
    kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    there: frozenset[str] = frozenset()


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
            raise LimitExceeded(f"more than {asked.most:,} objects: extract this shard by itself")
        planned = []
        for row in found.rows:
            if row.ref is None:
                planned += [] if match is not None else [PlannedObject(-1, error=row.error)]
                continue
            if match is not None and (row.ref.key is None or not fnmatch.fnmatchcase(row.ref.key, match)):
                continue
            try:
                files = tuple(files_of(member, row.ref, options).values())
            except ShardError:
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
    with _place_of(out, options, remote) as (folder, send):
        for there in plan.there:
            (folder / there).parent.mkdir(parents=True, exist_ok=True)
            (folder / there).touch()
        member, results = shard.member(name), list[Extracted]()
        member.load_index()
        refs = (_ref(member.objects.ref(one.row), name) for one in plan.objects if not one.error)
        with closing(take_planned(shard, refs, folder, options, plan.names)) as taken:
            for one in plan.objects:
                done = [Extracted.failed(None, FormatError(one.error))] if one.error else next(taken)
                results += [send(each) for each in done]
    return results


def _ref(ref: ObjectRef, member: str) -> ObjectRef:
    return located(ref, member, None)


class _Sender:
    """Sends files as soon as they are written, and removes them; without a store it leaves them where they are.

    Args:
        folder: The folder that they are written to.
        out: The address of the target; empty for the folder itself.
        remote: How it is reached.
        force: Whether objects that exist are replaced.
    """

    def __init__(
        self, folder: Path, out: str = "", remote: RemoteOptions | None = None, *, force: bool = False
    ) -> None:
        self._folder, self._out = folder, out
        if out:
            from shardcore.sources.remote.options import RemoteOptions
            from shardcore.sources.remote.session import RemoteSession
            from shardcore.sources.remote.upload import Upload

            self._session = RemoteSession(remote or RemoteOptions())
            self._upload = Upload(self._session, force=force)

    def __call__(self, done: Extracted) -> Extracted:
        """Send the file of an object; return what became of it, with a relative path."""
        if done.skipped:
            return replace(done, skipped=self._relative(done.skipped))
        if not done.path:
            return done
        name = self._relative(done.path)
        if self._out:
            try:
                self.send(Path(done.path), name)
            except ShardError as error:
                return Extracted.failed(done.key, error, done.part, done.row)
        return replace(done, path=name)

    def send(self, path: Path, name: str) -> None:
        """Send a file under a name, and remove it.

        Raises:
            ShardError: The store does not take it.
        """
        self._upload.send(path, parse_address(self._out).inside(name))
        path.unlink()

    def close(self) -> None:
        """Give the connection back."""
        if self._out:
            self._session.close()

    def _relative(self, path: str) -> str:
        return Path(path).relative_to(self._folder).as_posix()


@contextmanager
def _place_of(
    out: str, options: ExtractOptions, remote: RemoteOptions | None
) -> Iterator[tuple[Path, _Sender]]:
    """Return the folder to write to, and what sends its files on."""
    if not is_address(out):
        yield Path(out), _Sender(Path(out))
        return
    with TemporaryDirectory(prefix="shardcore-") as folder:
        sender = _Sender(Path(folder), out, remote, force=options.conflict is Conflict.REPLACE)
        with closing(sender):
            yield Path(folder), sender


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
    manifest = ManifestWriter(shard, where.folder) if where.options.manifest else None
    try:
        work = tasks.each(
            shard, member_files, (where.out, where.options, where.remote), own=[(plan,) for plan in plans], only=_busy
        )
        with closing(work) as found:
            for number, (member, results) in enumerate(zip(shard.members, found, strict=True), 1):
                progress(number, len(plans))
                for done in [Extracted.failed(None, results)] if isinstance(results, ShardError) else results:
                    if manifest is not None and member.name not in failed:
                        manifest.add(done.line() | done.facts)
                    yield where.named(done)
        if manifest is not None:
            where.send(manifest.appear())
    finally:
        if manifest is not None:
            manifest.discard()


def _busy(own: tuple[MemberPlan]) -> list[Extracted] | None:
    """Return the result of a member that has nothing to be written; None where a worker is needed."""
    return None if own[0].objects else []


class _Target:
    """The target of an extraction, as far as it is decided here.

    Args:
        out: A folder, or an address in a store.
        options: How objects become files.
        remote: How the address is reached.

    Attributes:
        out: See above.
        options: See above.
        remote: See above.
        folder: The folder of the manifest: the target, or a temporary one.

    Raises:
        SourceError: It cannot be created or listed.
    """

    def __init__(self, out: str, options: ExtractOptions, remote: RemoteOptions | None) -> None:
        self._shown = out
        self.out = absolute(out)
        self.options, self.remote = options, remote
        self._names = Names([MANIFEST], folders=options.folders)
        self._temporary = TemporaryDirectory(prefix="shardcore-") if is_address(out) else None
        self.folder = Path(self._temporary.name if self._temporary is not None else out)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceError(f"cannot create the folder {out}: {reason_of(error)}") from error
        self._there = self._listed() if is_address(out) and options.conflict is not Conflict.REPLACE else set[str]()

    def _listed(self) -> set[str]:
        """Return the names that exist in the store."""
        found, waiting = set[str](), [""]
        with closing(folder_of(self.out, self.remote)) as folder:
            while waiting:
                try:
                    entries = folder.list(waiting.pop())
                except SourceError as error:
                    if not says_absent(error):
                        raise
                    continue
                found |= {entry.name for entry in entries if not entry.is_folder}
                waiting += [entry.name for entry in entries if entry.is_folder]
        return found

    def decided(self, plan: MemberPlan) -> MemberPlan:
        """Return a plan with the names of its files."""
        names = [self._given(raw) for one in plan.objects for raw in one.files]
        skipped = self._there if self.options.conflict is Conflict.SKIP else frozenset[str]()
        return replace(plan, names=tuple(names), there=frozenset(name for name in names if name in skipped))

    def _given(self, raw: str) -> str:
        name = free = self._names.give(raw)
        if self.options.conflict is Conflict.RENAME:
            while self._exists(free):
                free = self._names.rename(name)
        return free

    def _exists(self, name: str) -> bool:
        return name in self._there if is_address(self.out) else os.path.lexists(self.folder / name)

    def named(self, done: Extracted) -> Extracted:
        """Return what became of an object, with whole paths."""
        if done.path:
            return replace(done, path=self._whole(done.path))
        return replace(done, skipped=self._whole(done.skipped)) if done.skipped else done

    def _whole(self, name: str) -> str:
        return parse_address(self.out).inside(name).shown if is_address(self.out) else str(Path(self._shown) / name)

    def send(self, manifest: Path) -> None:
        """Send the manifest, if it has to be sent; where there is one already, under the next free number.

        Raises:
            ShardError: The store does not take it.
        """
        if not is_address(self.out):
            return
        name, number = MANIFEST, 1
        while name in self._there:
            number += 1
            name = f"manifest-{number}.json"
        sender = _Sender(self.folder, self.out, self.remote, force=self.options.conflict is Conflict.REPLACE)
        with closing(sender):
            sender.send(manifest, name)

    def close(self) -> None:
        """Remove the temporary folder."""
        if self._temporary is not None:
            self._temporary.cleanup()
