"""Files that appear under their final names only when they are complete."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from shardcore.errors import Remedy, ShardError, SourceError, UsageError, reason_of
from shardcore.sources.base import check_name
from shardcore.writing.left_over import lock, new_run, stem_of, sweep, temporary_path
from shardcore.writing.plan import WrittenFile
from shardcore.writing.temporary import (
    Draining,
    TemporaryFile,
    is_replaceable,
    is_there,
    make_durable,
    sync_folders,
    taken,
)


class Output:
    """Where a writer writes: a file, or a folder of files with sub-folders; they appear when all of them are complete.

    A folder that is not there yet is made beside its place under a temporary name, and appears with all its files at
    once. In a folder that is there, files get their names one after the other, in the order in which they were begun:
    begin what is referred to before what refers to it. Those begun with `last` come after all others.

    What runs that were killed left in the folders that are written to is removed.

    Args:
        target: The final path of the shard, or of the folder; None to only plan.
        force: Whether existing files are replaced.
        folder: Whether the target is a folder.
        planning: Whether nothing is written, though the target is known.
        replaces: Patterns of names, in sub-folders with `/`: where `force` writes into a folder that is there, the
            files that match and are not written anew are removed at the very end.
        jobs: Number of contents, or parts of contents, that are compressed or hashed at the same time. The bytes
            written do not depend on it.

    Raises:
        UsageError: The target exists already, or its folder does not.
        SourceError: The system takes no such name.
    """

    def __init__(
        self,
        target: str | Path | None,
        *,
        force: bool = False,
        folder: bool = False,
        replaces: tuple[str, ...] = (),
        planning: bool = False,
        jobs: int = 1,
    ) -> None:
        self.jobs = jobs
        self._workers: ThreadPoolExecutor | None = None
        self.target = Path(target) if target is not None else None
        self.force = force
        self.folder = folder
        self.removed: tuple[Path, ...] = ()
        self._replaces = replaces
        self._run = new_run()
        # All that is written for the sake of one file is known by its name, wherever it is.
        self._stem = None if folder or self.target is None else stem_of(self.target)
        self._files: list[TemporaryFile] = []
        self._last: set[TemporaryFile] = set()
        self._there: set[Path] = set()  # files that stay, as they are what would be written
        self._made: list[Path] = []
        self._swept: set[Path] = set()
        self._staged: Path | None = None
        self._staged_lock: int | None = None
        self._finishing: ThreadPoolExecutor | None = None
        self.planning = planning or target is None
        if self.target is None or planning:
            return
        if not os.path.isdir(self.target.parent):  # noqa: PTH112 - Path.is_dir raises where looking is not allowed
            raise UsageError(f"there is no folder {self.target.parent}")
        if not folder:
            self._check_free(self.target)
        elif is_there(self.target) and not os.path.isdir(self.target):  # noqa: PTH112
            raise UsageError(f"{self.target} is no folder")
        sweep(self.target.parent, stem_of(self.target))

    @property
    def workers(self) -> ThreadPoolExecutor | None:
        """Threads that compress and hash; None with one job."""
        if self._workers is None and self.jobs > 1:
            self._workers = ThreadPoolExecutor(self.jobs, thread_name_prefix="pack")
        return self._workers

    def open(self, name: str = "", *, last: bool = False) -> Draining:
        """Starts a file.

        Args:
            name: Relative to the target, where that is a folder; else to the folder of the target, and empty for the
                target itself. Folders on the way are made.
            last: Whether it gets its name after all others.

        Raises:
            UsageError: The file exists already.
            SourceError: The folder cannot be written to, or the name is not a plain relative one.
        """
        if self.target is None or self.planning:
            return Draining()
        name = check_name(name) if name or self.folder else ""
        final = self._root(self.target) / name if name else self.target
        self._make_folders(final.parent)
        self._check_free(final)
        # Nothing in a folder under a temporary name needs a temporary name of its own.
        return self._begin(final, last=last, path=final if self._staged is not None else None)

    def spool(self, name: str) -> Draining:
        """Starts a file whose name is known only when it is complete; see `settle`.

        Args:
            name: Any name in the folder where it is going to be, as in `open`.

        Raises:
            SourceError: The folder cannot be written to.
        """
        if self.target is None or self.planning:
            return Draining()
        name = check_name(name)
        final = self._root(self.target) / name
        self._make_folders(final.parent)
        return self._begin(final)

    def settle(self, file: Draining, name: str) -> bool:
        """Says what a file of `spool` is called. It is named for its content: where there is one already, that stays.

        Args:
            file: The file, all of it written.
            name: As in `open`, in the folder that `spool` was told.

        Returns:
            Whether the file is written; False where there is one already, and this one was thrown away.
        """
        if self.target is None or not isinstance(file, TemporaryFile):
            return True
        final = self._root(self.target) / check_name(name)
        known = next((other for other in self._files if other is not file and other.final == final), None)
        size = known.at if known is not None else _size_of(final)
        if size == file.at:
            self._there.add(final)
            self._files.remove(file)
            file.discard()
            return False
        file.final = final
        return True

    def drop(self, file: Draining) -> None:
        """Throws away a file that is not needed after all."""
        if isinstance(file, TemporaryFile):
            self._files.remove(file)
            file.discard()

    def commit(self) -> tuple[WrittenFile, ...]:
        """Completes the files that are not complete yet, then gives all of them their names.

        Where a file cannot get its name, those that have theirs already are taken away again, unless they replaced
        others (`force`): these stay, and the error names them.

        Raises:
            UsageError: A file of that name appeared meanwhile, and `force` is not set.
            SourceError: A file cannot be written or renamed.
        """
        self._files.sort(key=lambda file: file in self._last)
        for file in self._files:
            file.complete()
        make_durable(self._files)
        appeared: list[TemporaryFile] = []
        try:
            for file in self._files:
                file.appear(force=self.force)
                appeared.append(file)
            sync_folders({file.final.parent for file in self._files})
            self._show_folder()
        except ShardError as error:
            raise self._taken_back(error, appeared) from error
        if self.target is not None:
            sync_folders({self.target.parent})
        written = tuple(WrittenFile(self._final(f), f.objects, f.at, f.sha256) for f in self._files)
        self._remove_others({file.path for file in written})
        self._forget()
        return written

    def discard(self) -> None:
        """Removes what was begun, and the folders that were made for it."""
        for file in self._files:
            file.discard()
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        self._forget()

    def _begin(self, final: Path, *, last: bool = False, path: Path | None = None) -> TemporaryFile:
        # Threads start with the first large file; most shards have none.
        self._finishing = self._finishing or ThreadPoolExecutor(1, thread_name_prefix="finish-files")
        file = TemporaryFile(final, self._run, self._stem or "", path=path, finishing=self._finishing)
        if not self._files and self._staged is None:
            file.hold()
        self._files.append(file)
        if last:
            self._last.add(file)
        return file

    def _forget(self) -> None:
        for pool in (self._workers, self._finishing):
            if pool is not None:
                pool.shutdown(cancel_futures=True)
        self._workers = self._finishing = None
        for file in self._files:
            file.let_go()
        self._files.clear()
        self._made.clear()
        if self._staged_lock is not None:
            os.close(self._staged_lock)
            self._staged_lock = None

    def _root(self, target: Path) -> Path:
        """The folder to which names are relative: of a folder that is not there yet, the one under a temporary name."""
        if not self.folder:
            return target.parent
        if self._staged is None and not is_there(target):
            self._staged = temporary_path(target, self._run)
            self._make_folders(self._staged)
            if hasattr(os, "O_DIRECTORY"):
                with contextlib.suppress(OSError):
                    self._staged_lock = os.open(self._staged, os.O_RDONLY | os.O_DIRECTORY)
                    lock(self._staged_lock)
        return self._staged or target

    def _final(self, file: TemporaryFile) -> Path:
        """Where a file is in the end."""
        if self._staged is None or self.target is None:
            return file.final
        return self.target / file.final.relative_to(self._staged)

    def _make_folders(self, folder: Path) -> None:
        missing: list[Path] = []
        inner = folder
        while not is_there(inner):
            missing.append(inner)
            inner = inner.parent
        for one in reversed(missing):
            try:
                one.mkdir()
            except OSError as error:
                raise SourceError(f"cannot make the folder {one}: {reason_of(error)}") from error
            self._made.append(one)
        if not missing and folder not in self._swept:
            sweep(folder, self._stem)
        self._swept.add(folder)

    def _show_folder(self) -> None:
        if self._staged is None or self.target is None:
            return
        try:
            self._staged.rename(self.target)
        except OSError as error:
            if is_there(self.target):
                raise UsageError(f"{self.target} exists already", remedy=Remedy.REPLACE) from error
            raise SourceError(f"cannot write {self.target}: {reason_of(error)}") from error

    def _remove_others(self, written: set[Path]) -> None:
        """Removes the files of a folder that the new ones replace and that have no successor of their name."""
        if not (self.force and self.folder and self.target is not None and self._staged is None):
            return
        removed = []
        there = {path for pattern in self._replaces for path in self.target.glob(pattern)}
        for path in sorted(there - written - self._there):
            with contextlib.suppress(OSError):
                path.unlink()
                removed.append(path)
        self.removed = tuple(removed)

    def _taken_back(self, error: ShardError, appeared: list[TemporaryFile]) -> ShardError:
        """Undoes the renames as far as that loses nothing; the error, which names the files that stay."""
        stay = [str(file.final) for file in appeared if self.force and self._staged is None]
        for file in appeared:
            if str(file.final) not in stay:
                with contextlib.suppress(OSError):
                    file.final.unlink()
        message = f"{error.message}; already in place: {', '.join(stay)}" if stay else error.message
        return type(error)(message, span=error.span, remedy=error.remedy)

    def _check_free(self, path: Path) -> None:
        if is_there(path) and not (self.force and is_replaceable(path)):
            raise taken(path)


def _size_of(path: Path) -> int:
    """The bytes of a plain file; -1 where there is none."""
    try:
        return path.lstat().st_size if path.is_file() and not path.is_symlink() else -1
    except OSError:
        return -1
