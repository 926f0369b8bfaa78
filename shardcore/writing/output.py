"""Files that appear under their final names only when they are complete."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from shardcore.errors import SourceError, UsageError, reason_of
from shardcore.writing.plan import WrittenFile

STREAM_PIECE = 1 << 20


class Draining:
    """A file that takes bytes and keeps none: for plans, where only sizes matter."""

    def __init__(self) -> None:
        self.at = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Counts the bytes."""
        self.at += len(data)

    def write_at(self, offset: int, data: bytes) -> None:
        """Does nothing: the bytes were counted before."""


class TemporaryFile(Draining):
    """A file under a temporary name, in the folder where it is going to appear.

    Raises:
        SourceError: The folder cannot be written to.
    """

    def __init__(self, final: Path) -> None:
        super().__init__()
        self.final = final
        # Not `tempfile`: its files are private, and to learn the mode of usual files one has to change the umask of the
        # whole process for a moment.
        stem = os.fsencode(final.name)[:100].decode("utf-8", "ignore")
        self.path = final.parent / f".{stem}.{secrets.token_hex(6)}.part"
        try:
            self._file = self.path.open("x+b", buffering=1 << 20)
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot write {final}: {reason_of(error)}") from error

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

    def read_pieces(self) -> Iterator[bytes]:
        """The whole file as written so far."""
        self._file.flush()
        self._file.seek(0)
        while piece := self._file.read(STREAM_PIECE):
            yield piece

    def complete(self) -> str:
        """Makes the bytes durable; returns the sha256 of the file.

        Raises:
            SourceError: The file cannot be written.
        """
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            digest = hashlib.sha256()
            for piece in self.read_pieces():
                digest.update(piece)
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot write {self.final}: {reason_of(error)}") from error
        self.close()
        return digest.hexdigest()

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
            raise UsageError(f"{self.final} exists already") from error
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
    """Where a writer writes: a target whose files appear all complete, or not at all.

    Files are renamed in the order in which they were made: make what is referred to before what refers to it.

    Args:
        target: The final path of the shard, or None to only plan.
        force: Whether an existing file is replaced.

    Raises:
        UsageError: The target exists already, or its folder does not.
        SourceError: The system takes no such name.
    """

    def __init__(self, target: str | Path | None, *, force: bool = False) -> None:
        self.target = Path(target) if target is not None else None
        self.force = force
        self._files: list[TemporaryFile] = []
        if self.target is not None:
            self._check_free(self.target)

    @property
    def planning(self) -> bool:
        """Whether nothing is written."""
        return self.target is None

    def open(self, name: str = "") -> Draining:
        """Starts a file: the target itself, or one of that name beside it.

        Raises:
            UsageError: The file exists already.
            SourceError: The folder cannot be written to.
        """
        if self.target is None:
            return Draining()
        final = self.target.parent / name if name else self.target
        self._check_free(final)
        file = TemporaryFile(final)
        self._files.append(file)
        return file

    def commit(self, objects: int) -> tuple[WrittenFile, ...]:
        """Completes all files, then gives them their names.

        Args:
            objects: How many objects the shard holds.

        Raises:
            SourceError: A file cannot be written; nothing appears under a final name then.
        """
        digests = [file.complete() for file in self._files]
        written = []
        for file, digest in zip(self._files, digests, strict=True):
            file.appear(force=self.force)
            _sync_folder(file.final.parent)
            written.append(WrittenFile(file.final, objects, file.at, digest))
        self._files.clear()
        return tuple(written)

    def discard(self) -> None:
        """Removes what was begun."""
        for file in self._files:
            file.discard()
        self._files.clear()

    def _check_free(self, path: Path) -> None:
        if not os.path.isdir(path.parent):  # noqa: PTH112 - Path.is_dir raises where looking is not allowed
            raise UsageError(f"there is no folder {path.parent}")
        if _is_there(path) and (os.path.isdir(path) or not self.force):  # noqa: PTH112
            raise UsageError(f"{path} exists already")


def write_whole(path: Path, pieces: Iterable[bytes], *, force: bool = False) -> int:
    """Writes one file that appears when it is complete; returns its bytes.

    Raises:
        UsageError: The file exists already, and `force` is not set.
        SourceError: It cannot be written.
    """
    if not force and os.path.lexists(path):
        raise UsageError(f"{path} exists already")
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


def _is_there(path: Path) -> bool:
    """Whether something has this name, be it a link that leads nowhere.

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
