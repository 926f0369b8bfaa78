"""File with a temporary name, which gets its final name when it is complete."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from shardcore.errors import Remedy, SourceError, TargetExists, UsageError, reason_of, reported_as
from shardcore.system import (
    closing_file,
    give_mode,
    lock_file,
    name_new,
    open_file,
    replace_file,
    sync_file,
    sync_file_systems,
    sync_folder,
)
from shardcore.writing.temporary_names import lock, temporary_path, temporary_text

if TYPE_CHECKING:
    from blake3 import blake3

STREAM_PIECE = 1 << 20
BUFFER = 1 << 18
LARGE = 1 << 22
"""Minimum size in bytes of a complete file that a separate thread hashes and syncs."""

FEW = 16
"""Number of files or folders above which one call syncs the whole file system instead of each."""

TRIES = 3
"""Attempts to create and lock a temporary file; the last file is used even if it cannot be locked."""


class Draining:
    """File that counts and discards bytes, for plans, which need only sizes."""

    def __init__(self) -> None:
        self.at = 0
        self.objects = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.at += len(data)

    def write_at(self, offset: int, data: bytes) -> None:
        """Do nothing: the bytes are already counted."""

    def skip(self, size: int) -> None:
        self.at += size

    def rewind(self, offset: int) -> None:
        self.at = offset

    def prove(self) -> None:
        """Do nothing: no file was written that could be compared."""

    def rest(self) -> None:
        """Do nothing: there is no file to close."""

    def complete(self, objects: int = 0) -> None:
        self.objects = objects


class TemporaryFile(Draining):
    """File with a temporary name, in the folder of its final name. As a context manager, an exception discards it.

    Args:
        final: The final name; may be changed within the folder until the file is renamed.
        run: See `temporary_path`.
        stem: See `temporary_path`.
        like: File whose mode and owner it gets, if allowed; default: the file that it replaces, if there is one.
        path: Temporary name in a folder that the run has locked; default: `temporary_path`.
        file: The file at `path`, if it is already open and locked.
        finishing: Thread that hashes and syncs large complete files. All files then need a call of `make_durable`.

    Attributes:
        objects: Number of objects, once it is complete.
        durable: Whether its bytes are synced to the disk.
    """

    def __init__(
        self,
        final: Path,
        run: str = "",
        stem: str = "",
        *,
        like: Path | None = None,
        path: Path | None = None,
        file: IO[bytes] | None = None,
        finishing: ThreadPoolExecutor | None = None,
    ) -> None:
        super().__init__()
        self.final = final
        self.durable = False
        self._finishing = finishing
        self._digest: Future[str] | str = ""
        # First byte that is compared, and the digest of all bytes written from there on.
        self._proof: tuple[int, blake3] | None = None
        # Not `tempfile`: its files are private, and to learn the mode of usual files one has to change the umask of the
        # whole process for a moment.
        self._held: int | None = None
        self._over = False
        self._like = like
        self._file = file
        # Unless it is locked, a file is created only when its buffer is full or it is complete.
        self._pending = bytearray() if path is not None and like is None and finishing is not None else None
        if path is not None and (file is not None or self._pending is not None):
            self.path = path
            return
        for left in reversed(range(TRIES)):
            self.path = path or temporary_path(final, run, stem)
            self._file = self._opened("x+b")
            free = path is not None or lock_file(self._file.fileno()) is not False
            if (free and os.path.lexists(self.path)) or not left:
                break
            # A concurrent `sweep` removed it before it was locked.
            self._file.close()
            self.path.unlink(missing_ok=True)

    def _opened(self, mode: str) -> IO[bytes]:
        try:
            like = self._like or (self.final if self.final.is_file() else None)
            if mode != "x+b" or like is None:
                return open(self.path, mode, buffering=BUFFER, opener=open_file)
            file = open(self.path, mode, buffering=BUFFER, opener=_private)  # noqa: SIM115
            give_mode(file.fileno(), like)
            return file
        except (OSError, ValueError) as error:
            raise _cannot_create(self.final, error) from error

    @property
    def file(self) -> IO[bytes]:
        """The open file; reopened after `rest`."""
        if self._file is None:
            if self._over:
                raise SourceError(f"cannot write {self.final}: it is closed")
            if self._pending is not None:
                self._file, pending, self._pending = self._opened("x+b"), self._pending, None
                self._file.write(pending)
                return self._file
            self._file = self._opened("r+b")
            lock(self._file.fileno())
            self._file.seek(0, os.SEEK_END)
        return self._file

    def write(self, data: bytes | bytearray | memoryview) -> None:
        try:
            if self._pending is not None and len(self._pending) + len(data) <= BUFFER:
                self._pending += data
            else:
                (self._file or self.file).write(data)
        except (OSError, ValueError) as error:  # without `_writing`, which would slow down small writes
            raise SourceError(f"cannot write {self.final}: {reason_of(error)}") from error
        if self._proof is not None:
            self._proof[1].update(data)
        self.at += len(data)

    def prove(self) -> None:
        """Hash all bytes written from now on, and compare the hash with that of the file when it is complete.

        A writer that verifies contents in memory then need not read the file again.
        """
        from blake3 import blake3  # imported lazily: rarely needed

        self._proof = self.at, blake3()

    def write_at(self, offset: int, data: bytes) -> None:
        """Write bytes at an offset that was skipped before."""
        with self._writing():
            self.file.seek(offset)
            self.file.write(data)
            self.file.seek(0, os.SEEK_END)

    def skip(self, size: int) -> None:
        """Skip bytes, which are written later or stay zero."""
        self.at += size
        with self._writing():
            self.file.flush()
            self.file.truncate(self.at)
            self.file.seek(0, os.SEEK_END)

    def rewind(self, offset: int) -> None:
        """Truncate the file to an offset."""
        self.at, self._proof = offset, None
        with self._writing():
            self.file.seek(offset)
            self.file.truncate()

    def rest(self) -> None:
        """Close the file until the next write, since a folder may have more files than a process may keep open."""
        if self._pending is not None:
            self._create_whole(self._pending)
        file, self._file = self._file, None
        if file is not None:
            with self._writing():
                file.close()

    def _create_whole(self, data: bytearray) -> bytes:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        with self._writing(), closing_file(open_file(self.path, flags)) as descriptor:
            _write_to(descriptor, data)
            os.lseek(descriptor, 0, os.SEEK_SET)
            written = os.read(descriptor, len(data) + 1)
        self._pending = None
        return written

    def read_back(self) -> Iterator[bytes]:
        """Yield all bytes written so far; later writes continue at the end."""
        with self._writing():
            self.file.flush()
            self.file.seek(0)
            while piece := self.file.read(STREAM_PIECE):
                yield piece
            self.file.seek(0, os.SEEK_END)

    def hold(self) -> None:
        """Keep the file locked after it is closed, until `let_go`: the lock shows that the run is alive."""
        with contextlib.suppress(OSError):
            self._held = os.dup(self.file.fileno())

    def complete(self, objects: int = 0) -> None:
        """Close and sync the file; further calls do nothing."""
        if self._digest:
            return
        self.objects = objects
        if self._finishing is not None and self.at < LARGE:
            if self._pending is not None:
                written = self._create_whole(self._pending)
            else:
                with self._writing():
                    self.file.seek(0)
                    written = self.file.read(self.at)
            self.close()
            self._digest = self._digest_of([written])
            return
        self.close()
        self._digest = self._finishing.submit(self._finished) if self._finishing is not None else self._finished()

    @property
    def sha256(self) -> str:
        """Return the sha256 of the file in hex; empty before it is complete. May wait for the thread that hashes it."""
        if isinstance(self._digest, Future):
            self._digest = self._digest.result()
        return self._digest

    def _finished(self) -> str:
        held = memoryview(bytearray(BUFFER))
        with self._writing(), open(self.path, "r+b", buffering=0, opener=open_file) as file:
            # All pieces use the same memory.
            digest = self._digest_of(held[:count] for count in iter(lambda: file.readinto(held), 0))
            sync_file(file.fileno())
        self.durable = True
        return digest

    def _digest_of(self, pieces: Iterable[bytes | memoryview]) -> str:
        digest, at = hashlib.sha256(), 0
        start, meant = self._proof or (0, None)
        found = type(meant)() if meant is not None else None
        for piece in pieces:
            digest.update(piece)
            if found is not None:
                found.update(memoryview(piece)[max(start - at, 0) :])
                at += len(piece)
        if found is not None and meant is not None and found.digest() != meant.digest():
            raise SourceError(f"cannot write {self.final}: the file differs from what was written")
        return digest.hexdigest()

    def make_durable(self) -> None:
        with self._writing(), closing_file(open_file(self.path, os.O_RDWR)) as descriptor:
            sync_file(descriptor)
        self.durable = True

    def close(self) -> None:
        self._over = True
        self.rest()

    def let_go(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            with contextlib.suppress(OSError):
                os.close(held)

    def appear(self, other: Callable[[], Path] | None = None, *, force: bool = False) -> Path:
        """Rename the closed file to its final name, or if that exists, to the first free name of `other`; return it.

        Raises:
            UsageError: The final name exists, and neither `force` nor `other` is given.
        """
        if self.path != self.final:
            with self._writing():
                self.final = Path(_renamed(self.path, self.final, other, force=force))
        return self.final

    def move(self, final: Path) -> None:
        """Change the final name, and move the closed file to the folder of `final`; it keeps its temporary name."""
        with self._writing():
            self.path = self.path.rename(final.parent / self.path.name)
        # That folder is locked by the run.
        self.let_go()
        self.final = final

    def discard(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
        self._file, self._pending, self._over = None, None, True
        self.let_go()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            self.discard()
        self.let_go()

    def _writing(self) -> contextlib.AbstractContextManager[None]:
        return reported_as(f"cannot write {self.final}")


def _renamed(temporary: str | Path, final: str | Path, other: Callable[[], Path] | None, *, force: bool) -> str | Path:
    while True:
        try:
            (replace_file if force else name_new)(temporary, final)
        except FileExistsError as error:
            if other is None:
                raise exists_error(Path(final)) from error
            final = other()
        else:
            return final


def _write_to(descriptor: int, data: bytes | bytearray) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def exists_error(path: Path) -> UsageError:
    if os.path.isdir(path):  # noqa: PTH112
        return UsageError(f"{path} is a folder; give the name of a file")
    if os.path.lexists(path) and not is_replaceable(path):
        return UsageError(f"{path} is a pipe, a socket or a device; give the name of a file")
    return TargetExists(f"{path} exists already", remedy=Remedy.REPLACE)


def free_name(path: Path, *, force: bool, other: Callable[[], Path] | None = None) -> Path:
    while os.path.lexists(path) and not (force and is_replaceable(path)):
        if other is None:
            raise exists_error(path)
        path = other()
    return path


def write_whole(path: Path, pieces: Iterable[bytes], *, force: bool = False) -> int:
    return write_as(path, pieces, force=force)[1]


def write_as(
    path: Path,
    pieces: Iterable[bytes],
    *,
    force: bool = False,
    other: Callable[[], Path] | None = None,
    free: bool = False,
) -> tuple[Path, int]:
    """Write a file that gets its name when it is complete; return name and size.

    `other` returns another name if `path` exists; see `TemporaryFile.appear`. With `free`, the name is assumed to be
    free, and checked only at the end.
    """
    if not free:
        path = free_name(path, force=force, other=other)
    rest, first, size = iter(pieces), list[bytes](), 0
    while size <= BUFFER and (piece := next(rest, None)) is not None:
        first.append(piece)
        size += len(piece)
    if size <= BUFFER:
        return Path(write_small(path, b"".join(first), force=force, other=other)), size
    with TemporaryFile(path) as file:
        for piece in chain(first, rest):
            file.write(piece)
        # Keep the lock until the rename, against a concurrent `sweep`.
        file.hold()
        file.close()
        return file.appear(other, force=force), file.at


def write_small(
    path: str | Path, data: bytes, *, force: bool = False, other: Callable[[], Path] | None = None
) -> str | Path:
    """Write a small file with few system calls; return its name. See `write_as`."""
    with reported_as(f"cannot write {path}"):
        for _ in range(TRIES - 1):
            # A concurrent `sweep` may remove it before it is locked.
            with contextlib.suppress(FileNotFoundError):
                return _write_small(path, data, force, other)
        return _write_small(path, data, force, other)


def _write_small(path: str | Path, data: bytes, force: bool, other: Callable[[], Path] | None) -> str | Path:
    temporary = temporary_text(str(path))
    try:
        descriptor = open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except (OSError, ValueError) as error:
        raise _cannot_create(path, error) from error
    try:
        # Keep the lock until the rename, against a concurrent `sweep`.
        lock(descriptor)
        _write_to(descriptor, data)
        return _renamed(temporary, path, other, force=force)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise
    finally:
        os.close(descriptor)


def _cannot_create(final: str | Path, error: Exception) -> SourceError:
    folder = Path(final).parent
    gone = isinstance(error, FileNotFoundError) and not folder.is_dir()
    reason = f"no such folder: {folder}" if gone else reason_of(error)
    return SourceError(f"cannot write {final}: {reason}")


def takes_writes(path: Path) -> bool:
    """Return True for a pipe, a device or a descriptor of this process, also through a link.

    Such a target is written directly; renaming a file to its name would replace it for all processes.
    """
    if _descriptor_of(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def write_through(path: Path, pieces: Iterable[bytes]) -> int:
    """Write bytes directly to a pipe, device or descriptor (see `takes_writes`); return their number."""
    number, size = _descriptor_of(path), 0
    # Duplicate a descriptor: reopening its file would write from the beginning.
    with (
        reported_as(f"cannot write {path}"),
        open(path if number is None else os.dup(number), "wb", buffering=0) as file,
    ):
        for piece in pieces:
            _write_to(file.fileno(), piece)
            size += len(piece)
    return size


_DESCRIPTOR = re.compile(r"/dev/std(?P<name>out|err)|/(?:dev|proc/self)/fd/(?P<number>[0-9]{1,6})")


def _descriptor_of(path: Path) -> int | None:
    found = _DESCRIPTOR.fullmatch(str(path))
    if found is None:
        return None
    return int(found["number"]) if found["number"] else 1 if found["name"] == "out" else 2


def is_replaceable(path: Path) -> bool:
    """Return whether a new file may replace what has this name: a file, a link to a file, or a broken link."""
    return os.path.isfile(path) or (os.path.islink(path) and not os.path.exists(path))  # noqa: PTH110, PTH113, PTH114


_private = partial(open_file, mode=0o600)
"""Opener that creates a file which only its owner can read, until `give_mode` sets its mode."""


def is_there(path: Path) -> bool:
    """Return whether a name exists, including broken links."""
    with reported_as(f"cannot write {path}"), contextlib.suppress(FileNotFoundError):
        path.lstat()
        return True
    return False


def sync_folders(folders: Collection[Path]) -> None:
    """Sync folders after renames; does nothing if the system does not support it."""
    if len(folders) <= FEW or not sync_file_systems(folders):
        for folder in folders:
            with reported_as(f"cannot sync {folder}"):
                sync_folder(folder)


def make_durable(files: Collection[TemporaryFile]) -> None:
    """Sync complete files; many files by one call of `syncfs` if available."""
    left = [file for file in files if file.sha256 and not file.durable]
    if len(left) <= FEW or not sync_file_systems({file.path.parent for file in left}):
        for file in left:
            file.make_durable()
