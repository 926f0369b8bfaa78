"""Output of a writer: files that get their final names only when all are complete.

Several files are replaced together; a killed run leaves all old files, or a state that can be completed. The complete
new files are in a folder. Renaming that folder to its fixed name is the commit; afterwards, the files are moved to
their final paths and old ones removed, which can be repeated. Until that is done, opening the target is an error.

    OUT/.replacing-shards/replacement.json   {"files": [...], "remove": [...]}, names relative to OUT
    OUT/.replacing-shards/files/...          the new files
    .NAME.replacing-shards/                  the same beside a file NAME that is replaced with others
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO
from weakref import WeakSet

from shardcore.codecs.json_text import JsonLimits, parse_json
from shardcore.errors import FormatError, Remedy, ShardError, SourceError, UsageError, reason_of, reported_as
from shardcore.model.text import short
from shardcore.sources.base import check_name, on_failure
from shardcore.system import (
    is_link,
    is_own,
    is_special_name,
    lock_file,
    open_file,
    open_to_lock,
    replace_file,
    sync_file,
)
from shardcore.writing.plan import WrittenFile
from shardcore.writing.temporary import (
    Draining,
    TemporaryFile,
    exists_error,
    is_replaceable,
    is_there,
    make_durable,
    sync_folders,
)
from shardcore.writing.temporary_names import (
    in_use,
    is_left,
    new_run,
    remove_tree,
    replacing_path,
    stem_of,
    sweep,
    temporary_path,
)

FILES, LIST = "files", "replacement.json"
LIMITS = JsonLimits(size=1 << 28)

TRIES = 5
"""Attempts to create a temporary folder, since a concurrent `sweep` may remove it before it is locked."""


_ALIVE: WeakSet[Output] = WeakSet()


@atexit.register
def _abandon_all() -> None:
    """Remove unfinished files at exit, before modules are unloaded."""
    for one in list(_ALIVE):
        one.abandon()


class Output:
    """Output of a writer: a file, or a folder of files. They get their names when all of them are complete.

    A new folder is created under a temporary name and renamed at the end. In an existing folder, and for a file that is
    replaced with others, the new files are prepared in a temporary folder, and replace the old ones such that a killed
    run can be completed. They get their names in the order in which they were opened: open a file
    before those that refer to it. Files opened with `last` come after all others. Temporary files of killed runs are
    removed or completed.

    Args:
        target: Final path of the shard or folder; None to plan only.
        force: Whether existing files are replaced.
        folder: Whether the target is a folder.
        planning: Whether nothing is written, even if there is a target.
        replaces: Patterns of file names (with `/`: in sub-folders). With `force` in an existing folder, matching files
            that are not written again are removed at the end.
        jobs: Number of contents, or parts of them, compressed or hashed in parallel. The output does not depend on it.

    Attributes:
        removed: Old files that were removed, and not replaced by new ones.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | None,
        *,
        force: bool = False,
        folder: bool = False,
        replaces: tuple[str, ...] = (),
        planning: bool = False,
        jobs: int = 1,
    ) -> None:
        self._files: list[TemporaryFile] = []
        self._prepared: Path | None = None
        self._process = os.getpid()
        _ALIVE.add(self)
        self.jobs = jobs
        self._workers: ThreadPoolExecutor | None = None
        self.target = Path(target) if target is not None else None
        self.force = force
        self.folder = folder
        self.removed: tuple[Path, ...] = ()
        self.replaces = replaces
        self._run = new_run()
        # All temporary files of one target share its stem, in any folder.
        self._stem = None if folder or self.target is None else stem_of(self.target)
        # Folder of the final names.
        self._base = self.target if folder and self.target is not None else Path(target or "").parent
        self._last: set[TemporaryFile] = set()
        self._there: set[Path] = set()  # existing files that are not written again, since they are the same
        self._made: list[Path] = []
        self._swept: set[Path] = set()
        # Folder in `_prepared` to which names are relative.
        self._staged: Path | None = None
        self._staged_lock: int | None = None
        self._finishing: ThreadPoolExecutor | None = None
        self.planning = planning or target is None
        if self.target is None or planning:
            return
        if not os.path.isdir(self.target.parent):  # noqa: PTH112 - Path.is_dir raises where looking is not allowed
            raise UsageError(f"no such folder: {self.target.parent}")
        if not folder:
            self._check_free(self.target)
        elif is_there(self.target) and not os.path.isdir(self.target):  # noqa: PTH112
            raise UsageError(f"{self.target} is not a folder")
        self.removed = tuple(finish_interrupted(self.target, folder=folder, force=force) or ())
        sweep(self.target.parent, stem_of(self.target))
        if folder:
            sweep(self.target)

    @property
    def workers(self) -> ThreadPoolExecutor | None:
        """Threads that compress and hash; None if `jobs` is 1."""
        if self._workers is None and self.jobs > 1:
            self._workers = ThreadPoolExecutor(self.jobs, thread_name_prefix="pack")
        return self._workers

    def open(self, name: str = "", *, last: bool = False) -> Draining:
        """Start a file of the output.

        `name` is relative to the target folder; for a target file, relative to its folder, and empty for the target
        itself. Sub-folders are created.
        """
        if self.target is None or self.planning:
            return Draining()
        name = check_name(name) if name or self.folder else ""
        if self.folder and (self._staged is None or self._staged != self._prepared):
            self._check_free(self.target / name)
        final = self._root() / name if name else self.target
        self._make_folders(final.parent)
        self._check_free(final)
        # Files in a temporary folder do not need temporary names.
        return self._begin(final, last=last, path=final if self._staged is not None else None)

    def spool(self, name: str) -> Draining:
        """Start a file that `settle` names when it is complete; `name` is a provisional name in the same folder."""
        if self.planning:
            return Draining()
        name = check_name(name)
        final = self._root() / name
        self._make_folders(final.parent)
        return self._begin(final)

    def settle(self, file: Draining, name: str) -> bool:
        """Give a file of `spool` its name. If a file of that name and size exists, drop the new one; return False."""
        if not isinstance(file, TemporaryFile):
            return True
        final = self._root() / check_name(name)
        known = next((other for other in self._files if other is not file and other.final == final), None)
        size = known.at if known is not None else _size_of(self._placed(final))
        if size == file.at:
            self._there.add(self._placed(final))
            self._files.remove(file)
            file.discard()
            return False
        file.final = final
        return True

    def drop(self, file: Draining) -> None:
        if isinstance(file, TemporaryFile):
            self._files.remove(file)
            file.discard()

    def commit(self) -> tuple[WrittenFile, ...]:
        """Complete all files, then rename them. If a rename fails, the files renamed before it are removed."""
        self._files.sort(key=lambda file: file in self._last)
        for file in self._files:
            file.complete()
        make_durable(self._files)
        self._prepare_several()
        appeared: list[TemporaryFile] = []
        try:
            for file in self._files:
                file.appear(force=self.force)
                appeared.append(file)
            if self._staged is not None:
                sync_folders({file.final.parent for file in self._files})
            self._show_prepared()
        except ShardError:
            for file in appeared:
                with contextlib.suppress(OSError):
                    file.final.unlink()
            raise
        # From here on errors remove nothing: the files may have replaced others.
        if self.target is not None:
            new = self._files if self._staged is None else ()
            sync_folders({self.target.parent, *(file.final.parent for file in new)})
        written = tuple(WrittenFile(self._placed(f.final), f.objects, f.at, f.sha256) for f in self._files)
        self._forget()
        return written

    def discard(self) -> None:
        for file in self._files:
            file.discard()
        if self._prepared is not None:
            remove_tree(self._prepared)
            self._prepared = None
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        self._forget()

    def abandon(self, warn: Callable[..., None] = warnings.warn) -> None:
        """Remove the files of an output that was neither committed nor discarded, with a ResourceWarning."""
        # After a fork, it belongs to the parent process.
        if (self._files or self._prepared is not None) and os.getpid() == self._process:
            self.discard()
            warn(f"{self.target} was not finished: its files are removed", ResourceWarning, source=self, stacklevel=3)

    def __del__(self) -> None:
        self.abandon()

    def _begin(self, final: Path, *, last: bool = False, path: Path | None = None) -> TemporaryFile:
        # The thread starts with the first large file; most shards have none.
        self._finishing = self._finishing or ThreadPoolExecutor(1, thread_name_prefix="finish-files")
        file = TemporaryFile(final, self._run, self._stem or "", path=path, finishing=self._finishing)
        if not self._files and self._prepared is None:
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

    def _root(self) -> Path:
        """Return the folder to which names are relative; for a new folder, its temporary name."""
        if not self.folder:
            return self._base
        if self._staged is not None:
            return self._staged
        there = is_there(self._base)
        return self._prepare(self._base / self._base.name) if there else self._prepare(self._base, files="")

    def _prepare(self, final: Path, files: str = FILES) -> Path:
        for _ in range(TRIES):
            self._prepared = temporary_path(final, self._run)
            self._make_folders(self._prepared)
            with contextlib.suppress(OSError):
                held = open_to_lock(self._prepared)
                free = lock_file(held) if held is not None else None
                if held is None or free is None or (free and is_there(self._prepared)):
                    self._staged_lock = held
                    break
                # A concurrent `sweep` removed it before it was locked.
                os.close(held)
                self._prepared.rmdir()
        assert self._prepared is not None
        self._staged = self._prepared / files
        self._make_folders(self._staged)
        return self._staged

    def _prepare_several(self) -> None:
        """Move the new files into a temporary folder if a target file is replaced together with others."""
        target = self.target
        if target is None or self.folder or len(self._files) < 2 or not any(is_there(f.final) for f in self._files):
            return
        staged = self._prepare(target)
        for file in self._files:
            final = staged / file.final.relative_to(target.parent)
            self._make_folders(final.parent)
            file.move(final)

    def _placed(self, final: Path) -> Path:
        return self._base / final.relative_to(self._staged) if self._staged is not None else final

    def _make_folders(self, folder: Path) -> None:
        if folder in self._swept:
            return
        missing: list[Path] = []
        inner = folder
        while not is_there(inner):
            missing.append(inner)
            inner = inner.parent
        for one in reversed(missing):
            with reported_as(f"cannot create the folder {one}"):
                one.mkdir()
            self._made.append(one)
        if not missing:
            sweep(folder, self._stem)
        self._swept.add(folder)

    def _show_prepared(self) -> None:
        target, prepared, staged = self.target, self._prepared, self._staged
        if prepared is None or staged is None or target is None:
            return
        if staged != prepared:
            root = self._base
            files = [file.final.relative_to(staged).as_posix() for file in self._files]
            remove = [path.relative_to(root).as_posix() for path in self._others({root / name for name in files})]
            for name in files:
                self._check_free(root / name)
            for folder in dict.fromkeys(name.rpartition("/")[0] for name in files):
                _check_movable(root, folder, prepared)
            place = replacing_path(target, folder=self.folder)
            begin_replacement(prepared, place, files, remove)
            with on_failure(place.rename, prepared):
                # Check again: until the lock was taken, another run may have changed the folder.
                for name in files:
                    self._check_free(root / name)
            self._prepared = None
            self.removed = (*self.removed, *finish_replacement(place))
            return
        try:
            prepared.rename(target)
        except OSError as error:
            if is_there(target):
                raise UsageError(f"{target} exists already", remedy=Remedy.REPLACE) from error
            raise SourceError(f"cannot write {target}: {reason_of(error)}") from error
        self._prepared = None

    def _others(self, written: set[Path]) -> list[Path]:
        """Return the old files of a folder to remove: they match `replaces` and were not written again."""
        if not (self.force and self.folder and self.target is not None):
            return []
        there = {path for pattern in self.replaces for path in self.target.glob(pattern)}
        if self._prepared is not None:
            there = {path for path in there if self._prepared not in path.parents}
        return sorted(path for path in there - written - self._there if is_removable(self.target, path))

    def _check_free(self, path: Path) -> None:
        if is_there(path) and not (self.force and is_replaceable(path)):
            raise exists_error(path)


class StreamOutput(Output):
    """Output into a binary file object of the caller; the complete shard, which must be one file, is copied there."""

    def __init__(self, stream: BinaryIO, *, jobs: int = 1) -> None:
        self._stream = stream
        self._kept = tempfile.TemporaryDirectory(prefix="shardcore-")
        super().__init__(Path(self._kept.name) / "shard", jobs=jobs)

    def commit(self) -> tuple[WrittenFile, ...]:
        try:
            written = super().commit()
            if len(written) > 1:
                names = ", ".join(one.path.name for one in written)
                raise UsageError(
                    f"the shard consists of several files ({names}), but a file object takes only one: give a path"
                )
            with reported_as("cannot write to the file object"), written[0].path.open("rb") as file:
                shutil.copyfileobj(file, self._stream, 1 << 20)
            return written
        finally:
            self._kept.cleanup()

    def discard(self) -> None:
        super().discard()
        self._kept.cleanup()


def _size_of(path: Path) -> int:
    try:
        return path.lstat().st_size if path.is_file() and not path.is_symlink() else -1
    except OSError:
        return -1


def _check_movable(root: Path, name: str, prepared: Path) -> None:
    folder, target = root, root / name
    for part in name.split("/") if name else ():
        if not is_there(folder / part):
            break
        folder = folder / part
        if is_link(folder) or not folder.is_dir():
            raise SourceError(f"cannot write into {target}: {folder} is not a folder")
    if folder.stat().st_dev != prepared.stat().st_dev:
        raise SourceError(f"cannot write to {target}: {folder} is on another file system than {root}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SourceError(f"cannot write into {target}: permission denied")


# --- replacing several files together ---


def begin_replacement(prepared: Path, place: Path, files: Sequence[str], remove: Sequence[str]) -> None:
    """Commit the new files, which are in the folder `FILES` of `prepared`, by renaming `prepared` to `place`.

    `files` are their names; `remove` are old files that no new file replaces. After an error nothing is changed.
    """
    with reported_as(f"cannot write {place}"):
        with (prepared / LIST).open("x", encoding="ascii") as stream:
            json.dump({"files": list(files), "remove": list(remove)}, stream)
            stream.flush()
            sync_file(stream.fileno())
        sync_folders([Path(folder) for folder, _, _ in os.walk(prepared)])
        while not is_left(place):
            try:
                prepared.rename(place)
                break
            except OSError:
                # Another run was first: wait for it.
                if not os.path.lexists(place):
                    raise
        else:
            raise UsageError(f"another run is already replacing files in {place.parent}", remedy=Remedy.FINISH)
    with on_failure(place.rename, prepared):
        sync_folders([place.parent])


def finish_replacement(place: Path) -> list[Path]:
    """Move new files to their final paths and remove old ones; can be repeated. Return the removed files."""
    root = place.parent
    files, remove = _read_replacement(place)
    removed = []
    try:
        prepared, folders = place / FILES, set[str]()
        for name in files:
            new = prepared / name
            if not os.path.lexists(new):
                continue  # moved before the interruption
            folder = name.rpartition("/")[0]
            if folder not in folders:
                _check_folders(place, f"{FILES}/{name}")
                (root / folder).mkdir(parents=True, exist_ok=True)
                folders.add(folder)
            if not stat.S_ISREG(new.lstat().st_mode):
                raise FormatError(f"{new} is not a regular file")
            replace_file(new, root / name)
        sync_folders({root / folder for folder in {name.rpartition("/")[0] for name in files}})
        for name in remove:
            _check_folders(root, name)
            if not os.path.isdir(root / name):  # noqa: PTH112
                with contextlib.suppress(FileNotFoundError):
                    (root / name).unlink()
                    removed.append(root / name)
    except SourceError:
        raise
    except OSError as error:
        why = f"replacing files in {root} is not finished: {reason_of(error)}"
        raise SourceError(why, remedy=Remedy.FINISH) from error
    remove_tree(place)
    sync_folders([root])
    return removed


def finish_interrupted(target: Path, *, folder: bool, force: bool) -> list[Path] | None:
    """Complete a replacement that a killed run left, and return the old files that it removes; None if there is none.

    Raises:
        UsageError: Files may not be replaced without `force`, or another run is replacing them.
        SourceError: The replacement cannot be completed.
        FormatError: The list of the files is invalid.
    """
    place = replacing_path(target, folder=folder)
    if not os.path.lexists(place) or not is_left(place):
        return None
    if in_use(place):
        raise UsageError(f"another run is replacing {target}", remedy=Remedy.AGAIN)
    if not force:
        raise UsageError(f"replacing {target} was interrupted", remedy=Remedy.FINISH)
    found = place.lstat()
    if not stat.S_ISDIR(found.st_mode) or not is_own(found):
        raise FormatError(f"{place} is not a folder of the current user: remove it")
    return finish_replacement(place)


def is_removable(root: Path, path: Path) -> bool:
    """Return whether a path below `root` may be removed: it is not a folder, and no folder in the path is a link."""
    name = path.relative_to(root).as_posix()
    try:
        check_name(name)
        _check_folders(root, name)
    except (SourceError, FormatError):
        return False
    return is_replaceable(path)


def _read_replacement(place: Path) -> tuple[list[str], list[str]]:
    """Return the names of the new files, and of the old ones to remove; two empty lists if all files are moved."""
    with reported_as(f"cannot read {place / LIST}"):
        try:
            with open(place / LIST, "rb", opener=open_file) as stream:
                text = stream.read(LIMITS.size + 1)
        except FileNotFoundError:
            return [], []
    members = parse_json(text, str(place / LIST), limits=LIMITS)
    lists = [members.get(name) for name in ("files", "remove")] if isinstance(members, dict) else []
    if not lists or not all(isinstance(one, list) and all(isinstance(name, str) for name in one) for one in lists):
        raise FormatError(f"{place / LIST} is not a valid list of files")
    files, remove = ([check_name(name) for name in one or ()] for one in lists)
    if odd := next((name for name in (*files, *remove) if any(map(is_special_name, name.split("/")))), None):
        raise FormatError(f"{place / LIST} lists {short(odd)}, which is not a valid file name on this system")
    return files, remove


def _check_folders(root: Path, name: str) -> None:
    folder = root
    for part in name.split("/")[:-1]:
        folder = folder / part
        if is_link(folder):
            raise FormatError(f"{folder} is a link: links are not followed when files are moved or removed")


# --- memory ---


class MemoryFile(Draining):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.data = bytearray()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.data += data
        self.at = len(self.data)

    def write_at(self, offset: int, data: bytes) -> None:
        self.data[offset : offset + len(data)] = data

    def skip(self, size: int) -> None:
        self.write(bytes(size))

    def rewind(self, offset: int) -> None:
        del self.data[offset:]
        self.at = offset


class MemoryOutput(Output):
    """Output in memory.

    Attributes:
        files: Bytes of the complete files, by relative name, in the order of completion.
    """

    def __init__(self, name: str = "", *, folder: bool = False) -> None:
        super().__init__(None, folder=folder)
        self.planning = False
        self.files: dict[str, bytes] = {}
        self._name = name
        self._begun: list[tuple[MemoryFile, bool]] = []

    def open(self, name: str = "", *, last: bool = False) -> Draining:
        file = MemoryFile(name or self._name)
        self._begun.append((file, last))
        return file

    def spool(self, name: str) -> Draining:
        return self.open(name)

    def settle(self, file: Draining, name: str) -> bool:
        if not isinstance(file, MemoryFile):
            return True
        if any(other.name == name and other is not file for other, _ in self._begun):
            self.drop(file)
            return False
        file.name = name
        return True

    def drop(self, file: Draining) -> None:
        self._begun = [(other, last) for other, last in self._begun if other is not file]

    def commit(self) -> tuple[WrittenFile, ...]:
        ordered = [file for file, _ in sorted(self._begun, key=lambda one: one[1])]
        self.files = {file.name: bytes(file.data) for file in ordered}
        return tuple(
            WrittenFile(Path(file.name), file.objects, file.at, sha256(file.data).hexdigest()) for file in ordered
        )

    def discard(self) -> None:
        self._begun = []
