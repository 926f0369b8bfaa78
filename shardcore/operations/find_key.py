"""Search for a key in many files and folders."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from shardcore.dataclasses import dataclass, replace
from shardcore.errors import KeyAbsent, NotAShard, ShardError, SourceError, UsageError
from shardcore.model.budget import operation
from shardcore.model.keys import Key, several
from shardcore.model.objects import ObjectRef
from shardcore.model.parallel import Call, in_order
from shardcore.progress import Progress, check_stopped, no_progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.detect import judge_folder
from shardcore.shards.format import Certainty
from shardcore.shards.opening import MOST_JOBS, REMOTE_JOBS
from shardcore.shards.opening import open as open_shard
from shardcore.shards.registry import each_format, format_of
from shardcore.shards.tickets import ShardTicket, absolute, as_named
from shardcore.sources.base import Entry
from shardcore.sources.local import LocalFolder, listed_once
from shardcore.sources.location import local_path
from shardcore.sources.remote.address import is_address, shown_address

if TYPE_CHECKING:
    from shardcore.shards.task_pool import TaskPool
    from shardcore.sources.remote.request_log import LogShare, RequestLog


@dataclass(frozen=True, slots=True)
class KeyHit:
    """File or data set that contains the key, or that could not be searched.

    Attributes:
        path: Path or address of the file; for a data set, of its folder.
        format: Name of the format; empty if it is not recognised.
        ref: The object; None if the file could not be searched. In a data set `ref.shard` is the file with the object.
        error: Reason why it could not be searched, or None.
    """

    path: str
    format: str = ""
    ref: ObjectRef | None = None
    error: ShardError | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    path: str
    named: bool = False
    error: ShardError | None = None


@dataclass(frozen=True, slots=True)
class _Outcome:
    hit: KeyHit | None = None
    searched: bool = False


def _searched(place: _Place, key: Key, options: dict[str, Any]) -> _Outcome:
    check_stopped()
    if place.error is not None:
        return _Outcome(KeyHit(shown_address(place.path), error=place.error))
    try:
        return _look(place.path, key, options)
    except ShardError as error:
        # A file with part of a magic number may be a damaged shard with the key.
        if isinstance(error, NotAShard) and not (place.named or error.candidates):
            return _Outcome()
        return _Outcome(KeyHit(shown_address(place.path), error=error))


@operation
def _look(path: str, key: Key, options: dict[str, Any]) -> _Outcome:
    with open_shard(path, **options) as shard:
        try:
            shard.parse_key(shard.key_text(key))
        except UsageError:
            return _Outcome(searched=True)
        try:
            ref = shard.find(key)
        except KeyAbsent:
            return _Outcome(searched=True)
        return _Outcome(KeyHit(shown_address(path), shard.format, ref), searched=True)


def _searched_elsewhere(place: _Place, named: str, key: Key, options: dict[str, Any]) -> tuple[_Outcome, LogShare]:
    from shardcore.sources.remote.request_log import RequestLog

    tape = RequestLog()
    outcome = _searched(place, key, {**options, "tape": tape})
    if (hit := outcome.hit) is not None:
        error = hit.error and as_named(hit.error, named)
        outcome = replace(outcome, hit=replace(hit, path=shown_address(named), error=error))
    return outcome, tape.share()


class KeySearch(Iterator[KeyHit]):
    """Running search for a key; iterating over it yields the hits in the order of the paths.

    Attributes:
        searched: Number of files and data sets that were searched so far, without those in `failed`.
        failed: Number of files and data sets that could not be searched.
    """

    def __init__(
        self,
        key: Key,
        paths: Iterable[str | Path],
        jobs: int,
        progress: Progress,
        options: dict[str, Any],
        tasks: TaskPool | None = None,
    ) -> None:
        self.searched = 0
        self.failed = 0
        self._key = key
        self._options = options
        self._listed = 0
        self._progress = progress
        search = partial(_searched, key=key, options=options)
        places = self._places(paths)
        outcomes = in_order(search, places, jobs) if tasks is None else self._elsewhere(places, tasks)
        self._hits = self._search(outcomes)

    def __next__(self) -> KeyHit:
        return next(self._hits)

    def close(self) -> None:
        """Stop the search."""
        self._hits.close()

    def _elsewhere(self, places: Iterator[_Place], tasks: TaskPool) -> Generator[_Outcome]:
        from shardcore.shards.task_pool import TaskLimits

        tape: RequestLog | None = self._options.get("tape")
        plain = {name: value for name, value in self._options.items() if name != "tape"}

        limits = TaskLimits(plain.get("remote"), tape)
        # Limits of requests and bytes are divided equally among the paths.
        found = list(places) if limits.limited else places

        def calls() -> Iterator[Call[tuple[_Outcome, LogShare]]]:
            for number, place in enumerate(found):
                ticket = ShardTicket(place.path, "", plain)
                tasks.check_keys(ticket)
                if isinstance(found, list):
                    (ticket,) = limits.shared(number, [ticket], len(found) - number)
                named = replace(place, path=absolute(place.path))
                yield _searched_elsewhere, (named, place.path, self._key, ticket.options)

        with closing(tasks.calls(calls())) as results:
            for number, (outcome, share) in enumerate(results):
                limits.spend(number, share.counts[:2], 1)
                if tape is not None:
                    tape.merge(share)
                yield outcome

    def _search(self, found: Generator[_Outcome]) -> Generator[KeyHit]:
        with closing(found) as outcomes:
            for done, outcome in enumerate(outcomes, 1):
                self.searched += outcome.searched
                self._progress(done, max(self._listed, done))
                if outcome.hit is not None:
                    self.failed += outcome.hit.error is not None
                    yield outcome.hit

    def _places(self, paths: Iterable[str | Path]) -> Iterator[_Place]:
        for path in paths:
            text = str(path)
            if is_address(text) or not os.path.isdir(local_path(text)):  # noqa: PTH112
                self._listed += 1
                yield _Place(text, named=True)
            else:
                yield from self._below(local_path(text))

    def _below(self, top: Path) -> Iterator[_Place]:
        waiting = [top]
        while waiting:
            path = waiting.pop()
            try:
                entries, place = self._listing(path)
            except SourceError as error:
                entries, place = [], _Place(str(path), error=error)
            files = [entry.name for entry in entries if not entry.is_folder and entry.size > 0]
            self._listed += len(files) + (place is not None)
            waiting += [path / entry.name for entry in reversed(entries) if entry.is_folder]
            if place is not None:
                yield place
            for name in files:
                yield _Place(str(path / name))

    def _listing(self, path: Path) -> tuple[list[Entry], _Place | None]:
        """Return the entries of a folder to search one by one, and the folder itself if it is a data set, else None."""
        with listed_once():
            entries = LocalFolder(path).list()
            try:
                names = self._data_set_names(path)
            except ShardError as error:
                # Its files cannot be opened without the common description (info).
                return [entry for entry in entries if entry.is_folder], _Place(str(path), error=error)
        if names is None:
            return entries, None
        return [entry for entry in entries if entry.name not in names], _Place(str(path), named=True)

    def _data_set_names(self, path: Path) -> frozenset[str] | None:
        """Return the names in a folder that belong to its data set; None if the folder is not a data set.

        Also None for a data set whose lookups try all files in turn: its files are searched in parallel instead.
        """
        folder = LocalFolder(path)
        try:
            _, verdict = judge_folder(folder, each_format)
            if verdict.certainty < Certainty.BESIDE:
                return None
            with open_shard(folder, **self._options) as shard:
                if not isinstance(shard, DataSet) or not shard.routes or shard.key_spaces:
                    return None
                lead = PurePosixPath(os.path.relpath(shard.folder.uri, path))
                return frozenset((lead / member.name).parts[0] for member in shard.members)
        except (NotAShard, UsageError):
            return None


def find_in(
    key: Key,
    paths: Iterable[str | Path],
    *,
    jobs: int | None = None,
    progress: Progress = no_progress,
    tasks: TaskPool | None = None,
    **options: Any,
) -> KeySearch:
    """Search for a key in files and folders.

    Folders are searched recursively, without following links. If a folder is a data set whose format routes keys, only
    the files that may contain the key are opened. Files in folders that are not shards are skipped, and so are shards
    whose keys have another form.

    Args:
        key: The key in its text form, or as the bytes or number that the formats store.
        paths: Files, folders and addresses.
        jobs: Number of files searched in parallel. Default: one per processor, at most 8; 8 if a path is an address.
        progress: Called as `progress(done, total)` after each file; the total grows while folders are listed.
        tasks: Workers that search the files; default: threads of this process.
        **options: As for `shardcore.open`: `format`, `remote`, `tape`, and the options of the formats.

    Returns:
        Iterator over the hits, in the order of the paths; files that could not be searched are hits with an `error`.

    Raises:
        UsageError: The format is unknown, or `paths` is a single path instead of a sequence.
    """
    named = list(several(paths, "paths"))
    if options.get("format"):
        format_of(options["format"])
    remote = any(is_address(str(path)) for path in named)
    threads = jobs or (REMOTE_JOBS if remote else min(os.cpu_count() or 1, MOST_JOBS))
    return KeySearch(key, named, threads, progress, options, tasks)
