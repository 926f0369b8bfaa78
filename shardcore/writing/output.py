"""Files that appear under their final names only when they are complete."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from shardcore.errors import Remedy, ShardError, SourceError, UsageError, reason_of
from shardcore.sources.base import check_name
from shardcore.writing.plan import WrittenFile

STREAM_PIECE = 1 << 20


class Draining:
    """A file that takes bytes and keeps none: for plans, where only sizes matter."""

    def __init__(self) -> None:
        self.at = 0
        self.objects = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Counts the bytes."""
        self.at += len(data)

    def write_at(self, offset: int, data: bytes) -> None:
        """Does nothing: the bytes were counted before."""

    def complete(self, objects: int = 0) -> None:
        """Notes how many objects the file would hold."""
        self.objects = objects


class TemporaryFile(Draining):
    """A file under a temporary name, in the folder where it is going to appear.

    Attributes:
        final: The name under which it appears.
        objects: How many objects it holds, once it is complete.
        sha256: Of its bytes, in hex, once it is complete.

    Raises:
        SourceError: The folder cannot be written to.
    """

    def __init__(self, final: Path) -> None:
        super().__init__()
        self.final = final
        self.sha256 = ""
        # Not `tempfile`: its files are private, and to learn the mode of usual files one has to change the umask of the
        # whole process for a moment.
        self.path = _temporary_path(final)
        try:
            self._file = self.path.open("x+b", buffering=1 << 20)
        except (OSError, ValueError) as error:
            gone = isinstance(error, FileNotFoundError) and not os.path.isdir(final.parent)  # noqa: PTH112
            reason = f"there is no folder {final.parent}" if gone else reason_of(error)
            raise SourceError(f"cannot write {final}: {reason}") from error

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Appends bytes.

        Raises:
            SourceError: The disk is full, the file cannot be written, or it is closed already.
        """
        try:
            self._file.write(data)
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot write {self.final}: {reason_of(error)}") from error
        self.at += len(data)

    def write_at(self, offset: int, data: bytes) -> None:
        """Fills in bytes that were left open before.

        Raises:
            SourceError: The file cannot be written.
        """
        try:
            self._file.seek(offset)
            self._file.write(data)
            self._file.seek(0, os.SEEK_END)
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot write {self.final}: {reason_of(error)}") from error

    def _pieces(self) -> Iterator[bytes]:
        """The whole file as written so far."""
        self._file.seek(0)
        while piece := self._file.read(STREAM_PIECE):
            yield piece

    def complete(self, objects: int = 0) -> None:
        """Makes the bytes durable and closes the file; completing it once more does nothing.

        Args:
            objects: How many objects it holds.

        Raises:
            SourceError: The file cannot be written.
        """
        if self.sha256:
            return
        self.objects = objects
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            digest = hashlib.sha256()
            for piece in self._pieces():
                digest.update(piece)
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot write {self.final}: {reason_of(error)}") from error
        self.close()
        self.sha256 = digest.hexdigest()

    def close(self) -> None:
        """Hands the bytes to the system.

        Raises:
            SourceError: The file cannot be written.
        """
        try:
            self._file.close()
        except OSError as error:
            raise SourceError(f"cannot write {self.final}: {reason_of(error)}") from error

    def appear(self, *, force: bool) -> None:
        """Gives the closed file its final name.

        Raises:
            UsageError: A file of that name appeared meanwhile, and `force` is not set.
            SourceError: The file cannot be renamed.
        """
        try:
            if force or not hasattr(os, "link"):
                self.path.replace(self.final)
                return
            # A hard link fails when somebody else made the file meanwhile; a rename would replace it.
            try:
                os.link(self.path, self.final)
            except FileExistsError:
                raise
            except OSError:
                # The file system has no hard links. What is left is to look once more, and to rename.
                if _is_there(self.final):
                    raise FileExistsError(self.final) from None
                self.path.rename(self.final)
                return
        except FileExistsError as error:
            raise UsageError(f"{self.final} exists already", remedy=Remedy.REPLACE) from error
        except OSError as error:
            raise SourceError(f"cannot write {self.final}: {reason_of(error)}") from error
        with contextlib.suppress(OSError):
            self.path.unlink()

    def discard(self) -> None:
        """Removes the file."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self.path.unlink()


class Output:
    """Where a writer writes: a file, or a folder of files with sub-folders; they appear when all of them are complete.

    A folder that is not there yet is made beside its place under a temporary name, and appears with all its files at
    once. In a folder that is there, files get their names one after the other, in the order in which they were begun:
    begin what is referred to before what refers to it.

    Args:
        target: The final path of the shard, or of the folder; None to only plan.
        force: Whether existing files are replaced.
        folder: Whether the target is a folder.

    Raises:
        UsageError: The target exists already, or its folder does not.
        SourceError: The system takes no such name.
    """

    def __init__(self, target: str | Path | None, *, force: bool = False, folder: bool = False) -> None:
        self.target = Path(target) if target is not None else None
        self.force = force
        self.folder = folder
        self._files: list[TemporaryFile] = []
        self._made: list[Path] = []
        self._staged: Path | None = None
        if self.target is None:
            return
        if not os.path.isdir(self.target.parent):  # noqa: PTH112 - Path.is_dir raises where looking is not allowed
            raise UsageError(f"there is no folder {self.target.parent}")
        if not folder:
            self._check_free(self.target)
        elif _is_there(self.target) and not os.path.isdir(self.target):  # noqa: PTH112
            raise UsageError(f"{self.target} is no folder")

    @property
    def planning(self) -> bool:
        """Whether nothing is written."""
        return self.target is None

    def open(self, name: str = "") -> Draining:
        """Starts a file.

        Args:
            name: Relative to the target, where that is a folder; else to the folder of the target, and empty for the
                target itself. Folders on the way are made.

        Raises:
            UsageError: The file exists already.
            SourceError: The folder cannot be written to, or the name is not a plain relative one.
        """
        if self.target is None:
            return Draining()
        final = self._root(self.target) / check_name(name) if name or self.folder else self.target
        self._make_folders(final.parent)
        self._check_free(final)
        file = TemporaryFile(final)
        self._files.append(file)
        return file

    def commit(self) -> tuple[WrittenFile, ...]:
        """Completes the files that are not complete yet, then gives all of them their names.

        Where a file cannot get its name, those that have theirs already are taken away again, unless they replaced
        others (`force`): these stay, and the error names them.

        Raises:
            UsageError: A file of that name appeared meanwhile, and `force` is not set.
            SourceError: A file cannot be written or renamed.
        """
        for file in self._files:
            file.complete()
        appeared: list[TemporaryFile] = []
        try:
            for file in self._files:
                file.appear(force=self.force)
                appeared.append(file)
            self._show_folder()
        except ShardError as error:
            raise self._taken_back(error, appeared) from error
        for folder in dict.fromkeys(self._final(file).parent for file in self._files):
            _sync_folder(folder)
        written = tuple(WrittenFile(self._final(f), f.objects, f.at, f.sha256) for f in self._files)
        self._files.clear()
        self._made.clear()
        return written

    def discard(self) -> None:
        """Removes what was begun, and the folders that were made for it."""
        for file in self._files:
            file.discard()
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        self._files.clear()
        self._made.clear()

    def _root(self, target: Path) -> Path:
        """The folder to which names are relative: of a folder that is not there yet, the one under a temporary name."""
        if not self.folder:
            return target.parent
        if self._staged is None and not _is_there(target):
            self._staged = _temporary_path(target)
            self._make_folders(self._staged)
        return self._staged or target

    def _final(self, file: TemporaryFile) -> Path:
        """Where a file is in the end."""
        if self._staged is None or self.target is None:
            return file.final
        return self.target / file.final.relative_to(self._staged)

    def _make_folders(self, folder: Path) -> None:
        missing: list[Path] = []
        while not _is_there(folder):
            missing.append(folder)
            folder = folder.parent
        for one in reversed(missing):
            try:
                one.mkdir()
            except OSError as error:
                raise SourceError(f"cannot make the folder {one}: {reason_of(error)}") from error
            self._made.append(one)

    def _show_folder(self) -> None:
        if self._staged is None or self.target is None:
            return
        try:
            self._staged.rename(self.target)
        except OSError as error:
            if _is_there(self.target):
                raise UsageError(f"{self.target} exists already", remedy=Remedy.REPLACE) from error
            raise SourceError(f"cannot write {self.target}: {reason_of(error)}") from error

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
        if _is_there(path) and (os.path.isdir(path) or not self.force):  # noqa: PTH112
            raise taken(path)


def taken(path: Path) -> UsageError:
    """The error where a name is not free for a file."""
    if os.path.isdir(path):  # noqa: PTH112
        return UsageError(f"{path} is a folder; give the name of a file")
    return UsageError(f"{path} exists already", remedy=Remedy.REPLACE)


def write_whole(path: Path, pieces: Iterable[bytes], *, force: bool = False) -> int:
    """Writes one file that appears when it is complete; returns its bytes.

    Raises:
        UsageError: The file exists already, and `force` is not set.
        SourceError: It cannot be written.
    """
    if os.path.lexists(path) and (os.path.isdir(path) or not force):  # noqa: PTH112
        raise taken(path)
    file = TemporaryFile(path)
    try:
        for piece in pieces:
            file.write(piece)
        file.close()
        file.appear(force=force)
    except BaseException:
        file.discard()
        raise
    return file.at


def _temporary_path(final: Path) -> Path:
    """A free name beside a final one, by which what is not complete can be recognised."""
    stem = os.fsencode(final.name)[:100].decode("utf-8", "ignore")
    return final.parent / f".{stem}.{secrets.token_hex(6)}.part"


def _is_there(path: Path) -> bool:
    """Whether something has this name, a link without a target included.

    Raises:
        SourceError: The system takes no such name, or does not let us look.
    """
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot write {path}: {reason_of(error)}") from error
    return True


def _sync_folder(folder: Path) -> None:
    """Makes a rename durable, where the system knows how; the file is complete even where it does not."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
