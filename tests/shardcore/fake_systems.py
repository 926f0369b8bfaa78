"""Other operating systems, as a library sees them: functions are missing, or refuse what they refuse there."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shardcore import system

fcntl = pytest.importorskip("fcntl", reason="other systems are faked on a Unix")

PREFIX = "\\\\?\\"
LONGEST = 259
"""Letters of a path without the prefix."""

_SHARE_DELETE = 4
_WRITES = 0x40000000
_FLAGS = {1: os.O_CREAT | os.O_EXCL, 2: os.O_CREAT | os.O_TRUNC, 3: 0, 4: os.O_CREAT, 5: os.O_TRUNC}
"""Dispositions of `CreateFile`."""


@contextmanager
def windows() -> Iterator[None]:
    """Windows: no `pread`, users or locks of folders; open files keep their names; names are the same in any case."""
    fake = _Windows()
    with pytest.MonkeyPatch.context() as patch:
        for flag, value in (("WINDOWS", True), ("LINUX", False), ("MACOS", False)):
            patch.setattr(system, flag, value)
        for name in (
            *("pread", "preadv", "geteuid", "getuid", "fchown", "fchmod", "chown", "getpgid"),
            *("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC", "SEEK_HOLE", "SEEK_DATA"),
        ):
            patch.delattr(os, name)
        patch.setattr(os, "supports_fd", set())
        patch.setattr(shutil, "_use_fd_functions", False)
        patch.setitem(sys.modules, "_winapi", SimpleNamespace(CreateFile=fake.create_file, CloseHandle=os.close))
        patch.setitem(sys.modules, "msvcrt", fake)
        patch.setenv("USERNAME", "me")
        for name in fake.CALLS:
            patch.setattr(os, name, getattr(fake, name))
        patch.setattr(os, "remove", fake.unlink)
        yield


@contextmanager
def macos() -> Iterator[None]:
    """macOS: no `syncfs`, no `/proc`; a sync of its own, which network file systems refuse."""
    with pytest.MonkeyPatch.context() as patch:
        for flag, value in (("WINDOWS", False), ("LINUX", False), ("MACOS", True)):
            patch.setattr(system, flag, value)
        yield


@contextmanager
def bare_unix() -> Iterator[None]:
    """A file system without hard links, locks and syncs of folders, on a Unix without `pread` and `O_NOFOLLOW`."""

    def refuse(*given: object, **more: object) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(system, "LINUX", False)
        patch.setattr(os, "link", refuse)
        patch.setattr(os, "fsync", fsync)
        patch.setattr(fcntl, "flock", refuse)
        for name in ("pread", "O_NOFOLLOW", "SEEK_HOLE", "SEEK_DATA"):
            patch.delattr(os, name)
        yield


class _Windows:
    """The calls that Windows answers otherwise; also stands for the module `msvcrt`."""

    LK_NBLCK = 2
    CALLS = ("open", "dup", "lseek", "fsync", "stat", "lstat", "mkdir", "rename", "replace", "unlink", "rmdir", "link")

    def __init__(self) -> None:
        self._real = {name: getattr(os, name) for name in self.CALLS}
        self._far: dict[int, int] = {}
        """Positions beyond the end of any file; file systems of Linux have none so far."""
        self._shared: dict[int, tuple[int, int]] = {}
        """Descriptors whose files may be renamed and removed."""
        self.flags = {name: getattr(os, name) for name in ("O_NOFOLLOW", "O_CLOEXEC")}

    # --- opening ---

    def create_file(
        self, path: str, access: int, share: int, security: int, disposition: int, attributes: int, template: int
    ) -> int:
        """Open a file; the handle is a descriptor."""
        assert (security, attributes, template) == (0, 0x80, 0)
        flags = {1: os.O_WRONLY, 2: os.O_RDONLY, 3: os.O_RDWR}[access >> 30]
        assert bool(access & _WRITES) == (flags != os.O_RDONLY)
        # A new file must not take the name of one in another case.
        name = self._there(path) if disposition != 1 else self._new(path)
        descriptor: int = self._real["open"](name, flags | _FLAGS[disposition] | self.flags["O_CLOEXEC"])
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise _denied(path)
        if share & _SHARE_DELETE:
            self._shared[descriptor] = _identity(os.fstat(descriptor))
        return descriptor

    def open_osfhandle(self, handle: int, flags: int) -> int:
        """Make a descriptor of a handle."""
        if flags & os.O_APPEND:
            fcntl.fcntl(handle, fcntl.F_SETFL, os.O_APPEND)
        return handle

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """`os.open`, which opens no folders."""
        if os.path.isdir(path):  # noqa: PTH112
            raise _denied(path)
        descriptor: int = self._real["open"](path, flags, mode, dir_fd=dir_fd)
        return descriptor

    def dup(self, descriptor: int) -> int:
        """`os.dup`."""
        copy: int = self._real["dup"](descriptor)
        if self._is_shared(descriptor):
            self._shared[copy] = self._shared[descriptor]
        return copy

    def lseek(self, descriptor: int, offset: int, how: int) -> int:
        """`os.lseek`, to any number of 63 bits."""
        if how == os.SEEK_SET and offset > 1 << 60:
            self._far[descriptor] = offset
            return offset
        if how == os.SEEK_CUR and offset == 0 and descriptor in self._far:
            return self._far[descriptor]
        self._far.pop(descriptor, None)
        position: int = self._real["lseek"](descriptor, offset, how)
        return position

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        """Lock bytes at the position of a file: against being read, too, so far beyond its end."""
        assert (mode, count) == (self.LK_NBLCK, 1)
        assert os.lseek(descriptor, 0, os.SEEK_CUR) > os.fstat(descriptor).st_size
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None

    def fsync(self, descriptor: int) -> None:
        """`os.fsync`, of files that are open for writing alone."""
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        self._real["fsync"](descriptor)

    # --- names ---

    def stat(self, path: Any, **options: Any) -> os.stat_result:
        """`os.stat`, in any case."""
        return self._looked("stat", path, **options)

    def lstat(self, path: Any, **options: Any) -> os.stat_result:
        """`os.lstat`, in any case."""
        return self._looked("lstat", path, **options)

    def mkdir(self, path: Any, mode: int = 0o777) -> None:
        """`os.mkdir`."""
        self._real["mkdir"](self._new(path), mode)

    def rename(self, old: Any, new: Any) -> None:
        """`os.rename`, which replaces nothing, and leaves open files alone."""
        old, new = _plain(old), self._new(new)
        self._check_closed(old)
        if os.path.lexists(new):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new))
        self._real["rename"](old, new)

    def replace(self, old: Any, new: Any) -> None:
        """`os.replace`, which replaces no file that is open, however it was opened."""
        old, new = _plain(old), self._new(new)
        self._check_closed(old)
        there = _identity(os.lstat(new)) if os.path.lexists(new) else None
        if any(_identity(os.fstat(one)) == there for one in _open_files()):
            raise _denied(new)
        self._real["replace"](old, new)

    def link(self, old: Any, new: Any) -> None:
        """`os.link`."""
        self._real["link"](old, self._new(new))

    def unlink(self, path: Any, **options: Any) -> None:
        """`os.unlink`, which leaves open files alone."""
        self._check_closed(path)
        self._real["unlink"](path, **options)

    def rmdir(self, path: Any, **options: Any) -> None:
        """`os.rmdir`."""
        self._real["rmdir"](path, **options)

    def _looked(self, call: str, path: Any, **options: Any) -> os.stat_result:
        path = path if isinstance(path, int) else _plain(path)
        try:
            found: os.stat_result = self._real[call](path, **options)
        except FileNotFoundError:
            found = self._real[call](self._there(path), **options)
        return found

    def _there(self, path: Any) -> Any:
        """The path of what has this name in another case; the path itself where there is nothing."""
        if isinstance(path, int):
            return path
        path = _plain(path)
        folder, name = os.path.split(path)
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208
        except OSError:
            return path
        same = [one for one in names if one.casefold() == name.casefold()]
        return os.path.join(folder, same[0]) if same and name not in same else path  # noqa: PTH118

    def _new(self, path: Any) -> Any:
        """The path of something new, which has a name that Windows takes as it is."""
        if len(os.fspath(path)) > LONGEST and not os.fspath(path).startswith(PREFIX):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        if system.is_special_name(os.path.basename(_plain(path))):  # noqa: PTH119
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
        return self._there(path)

    def _is_shared(self, descriptor: int) -> bool:
        return self._shared.get(descriptor) == _identity(os.fstat(descriptor))

    def _check_closed(self, path: Any) -> None:
        """Refuse what is open so that it keeps its name, and folders in which any file is open."""
        found = _identity(os.lstat(path))
        root = os.path.realpath(path) + os.sep
        for one in _open_files():
            below = os.readlink(f"/proc/self/fd/{one}").startswith(root)  # noqa: PTH115
            if below or (_identity(os.fstat(one)) == found and not self._is_shared(one)):
                raise _denied(path)


def _plain(path: Any) -> str:
    """Return a path without the prefix of long ones, as the system below takes it."""
    text = os.fspath(path)
    return text[len(PREFIX) :].replace("\\", "/") if text.startswith(PREFIX) else text


def _open_files() -> Iterator[int]:
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        try:
            if stat.S_ISREG(os.fstat(int(name)).st_mode):
                yield int(name)
        except OSError:
            continue


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _denied(path: Any) -> PermissionError:
    return PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(Path(path)))


SYSTEMS: dict[str, Callable[[], Any]] = {"windows": windows, "macos": macos, "bare_unix": bare_unix}
"""Each as a context."""
