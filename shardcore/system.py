"""Differences between operating systems: files, file names, locks, owners, user folders, processes.

`docs/dev/portability.md` lists the differences, and the tests that simulate each system.
"""

from __future__ import annotations

import contextlib
import errno
import ntpath
import os
import re
import stat
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

WINDOWS = os.name == "nt"
MACOS = sys.platform == "darwin"
LINUX = sys.platform.startswith("linux")

# --- opening and reading ---


def open_file(path: str | Path, flags: int, mode: int = 0o666, *, follow_links: bool = False) -> int:
    """Open a file in binary mode without blocking; return its descriptor. Can be passed as `opener` to `open`.

    Fails with `ELOOP` on a symbolic link unless `follow_links`. On Windows, the open file can be renamed and removed.
    """
    if not follow_links:
        flags |= getattr(os, "O_NOFOLLOW", 0)
        if not hasattr(os, "O_NOFOLLOW") and is_link(path):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if WINDOWS:
        return _open_shared(path, flags)
    return os.open(path, flags | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0), mode)


@contextlib.contextmanager
def closing_file(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


_READ, _WRITE = 0x80000000, 0x40000000
_SHARE_ALL = 0x7
_NORMAL = 0x80


def _open_shared(path: str | Path, flags: int) -> int:
    """Open a file on Windows such that it can be renamed and removed while open, which `os.open` prevents."""
    winapi, msvcrt = import_module("_winapi"), import_module("msvcrt")
    access = _READ if not flags & (os.O_WRONLY | os.O_RDWR) else _WRITE if flags & os.O_WRONLY else _READ | _WRITE
    if flags & os.O_CREAT:
        disposition = 1 if flags & os.O_EXCL else 2 if flags & os.O_TRUNC else 4
    else:
        disposition = 5 if flags & os.O_TRUNC else 3
    handle = winapi.CreateFile(str(extended(path)), access, _SHARE_ALL, 0, disposition, _NORMAL, 0)
    try:
        descriptor: int = msvcrt.open_osfhandle(handle, flags & os.O_APPEND)
    except BaseException:
        winapi.CloseHandle(handle)
        raise
    return descriptor


_TURNS = tuple(threading.Lock() for _ in range(16))
"""Locks for reads on systems without `pread`; all reads of a descriptor use the same lock."""


def read_at(descriptor: int, count: int, at: int) -> bytes:
    """Return up to `count` bytes at an offset; the file position does not change."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, count, at)
    with _TURNS[descriptor % len(_TURNS)]:
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, at, os.SEEK_SET)
        try:
            return os.read(descriptor, count)
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)


def is_link(path: str | Path) -> bool:
    try:
        return is_link_status(os.lstat(path))
    except (OSError, ValueError):
        return False


def is_link_status(status: os.stat_result) -> bool:
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION


def is_link_entry(entry: os.DirEntry[str]) -> bool:
    return entry.is_symlink() or (WINDOWS and is_link_status(entry.stat(follow_symlinks=False)))


_JUNCTION = 0xA0000003


# --- folders ---


@contextlib.contextmanager
def held_folder(folder: Path, inner: str = "") -> Iterator[Path]:
    """Yield a path of `folder/inner` that stays valid if these folders are renamed. `inner` must not contain links.

    Only Linux has such paths; on other systems the normal path is returned.
    """
    if not LINUX:
        yield folder / inner
        return
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in inner.split("/") if inner else ():
            outer = descriptor
            descriptor = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=outer)
            os.close(outer)
        path = Path(f"/proc/self/fd/{descriptor}")
        yield path if path.is_dir() else folder / inner
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def open_folder(folder: Path) -> Iterator[int | None]:
    """Yield a descriptor of a folder for `write_new`; None on a system without such descriptors."""
    if os.link not in os.supports_dir_fd:
        yield None
        return
    with closing_file(os.open(folder, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | _CLOSED)) as descriptor:
        yield descriptor


def write_new(folder: int, temporary: str, name: str, data: bytes) -> None:
    """Write a small file in an open folder, first with a temporary name; OSError if the final name exists."""
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOSED, 0o666, dir_fd=folder)
    try:
        # Keep the lock until the rename, so that a concurrent `sweep` does not remove the file.
        lock_file(descriptor)
        if os.write(descriptor, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        name_new(temporary, name, folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)


_CLOSED = getattr(os, "O_CLOEXEC", 0)


# --- names of files ---


def name_new(path: str | Path, final: str | Path, folder: int | None = None) -> None:
    """Rename a file; `FileExistsError` if the new name exists. Names are relative to the open `folder`, if given."""
    if WINDOWS:
        os.rename(extended(path), extended(final))  # noqa: PTH104 - never replaces a file there
        return
    # A hard link fails if another process has created the file; a rename would replace it.
    try:
        os.link(path, final, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        raise
    except (OSError, AttributeError):
        # No hard links here: check once more, then rename.
        try:
            os.lstat(final, dir_fd=folder)
        except OSError:
            os.rename(path, final, src_dir_fd=folder, dst_dir_fd=folder)
            return
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(final)) from None
    with contextlib.suppress(OSError):
        os.unlink(path, dir_fd=folder)


def replace_file(path: str | Path, final: str | Path) -> None:
    """Rename a file to the name of another, replacing it; programs that have the other one open can still read it.

    Windows cannot replace an open file, so the old file is renamed first and then removed.
    """
    path, final = extended(path), extended(final)
    try:
        os.replace(path, final)  # noqa: PTH105
    except PermissionError:
        if not WINDOWS or os.path.isdir(final):  # noqa: PTH112
            raise
        aside = f"{path}.old"
        os.rename(final, aside)  # noqa: PTH104
        try:
            os.rename(path, final)  # noqa: PTH104
        except BaseException:
            os.rename(aside, final)  # noqa: PTH104
            raise
        os.unlink(aside)  # noqa: PTH108


_LONGEST = 247
"""Maximum length of a path that Windows accepts without a prefix."""


def extended(path: str | Path) -> str | Path:
    r"""Return a path with the prefix `\\?\`, which Windows requires for long paths."""
    if not WINDOWS or len(str(path)) <= _LONGEST or str(path).startswith("\\\\?\\"):
        return path
    full = ntpath.abspath(path)
    return f"\\\\?\\UNC{full[1:]}" if full.startswith("\\\\") else f"\\\\?\\{full}"


_DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"}
DEVICE_NAMES = frozenset(_DEVICES | {f"{port}{n}" for port in ("com", "lpt") for n in range(10)})
"""Names without extension that are devices in every Windows folder."""

FORBIDDEN = frozenset('/\\:*?"<>|')
"""Characters that Windows does not allow in file names."""


def is_special_name(part: str) -> bool:
    """Return whether opening a name would reach something other than a file of that name.

    Windows: devices, streams (`a:b`), drives, and names that lose trailing dots or spaces.
    """
    return WINDOWS and (is_device(part) or not FORBIDDEN.isdisjoint(part) or part != part.rstrip(" ."))


def is_device(name: str) -> bool:
    return unicodedata.normalize("NFKC", name).split(".")[0].rstrip().lower() in DEVICE_NAMES


def listed_name(name: str) -> str:
    """Return a listed name in Unicode form NFC, since macOS stores accents as separate characters."""
    return unicodedata.normalize("NFC", name) if MACOS and not name.isascii() else name


def path_of_url(url: str) -> str:
    """Return the path of a `file://` URL; on Windows with the drive, or as `//server/share`."""
    parts = urlsplit(url)
    path = unquote(parts.path)
    if not WINDOWS:
        return path
    if parts.netloc not in ("", "localhost"):
        return f"//{parts.netloc}{path}"
    return re.sub(r"^/+([A-Za-z])[:|]", r"\1:", path)


def last_part(where: str) -> str:
    text = where.replace("\\", "/") if WINDOWS and "://" not in where else where
    return text.rstrip("/").rpartition("/")[2] or where


# --- locks ---

_FAR = 1 << 62
"""Offset of the locked byte, beyond the end of any file, because a lock on Windows prevents reading."""


def open_to_lock(path: str | Path, flags: int = os.O_RDONLY) -> int | None:
    """Open a file or folder for `lock_file`, without following links; None for a folder on Windows."""
    if WINDOWS and os.path.isdir(path):  # noqa: PTH112
        return None
    return open_file(path, flags)


def lock_file(descriptor: int) -> bool | None:
    """Lock until the descriptor is closed. True: locked; False: locked by another process; None: not supported."""
    try:
        if WINDOWS:
            msvcrt, before = import_module("msvcrt"), os.lseek(descriptor, 0, os.SEEK_CUR)
            os.lseek(descriptor, _FAR, os.SEEK_SET)
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(descriptor, before, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        held = error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
        return False if held else None
    return True


# --- owners and modes ---


def is_own(status: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def give_mode(descriptor: int, like: Path) -> None:
    """Copy owner and mode of `like` to a new file if permitted; group rights are removed if the group cannot be set."""
    if not hasattr(os, "fchown"):
        return
    with contextlib.suppress(OSError):
        there, mine = like.stat(), os.fstat(descriptor)
        mode = there.st_mode & 0o666
        if (there.st_uid, there.st_gid) != (mine.st_uid, mine.st_gid):
            try:
                os.fchown(descriptor, there.st_uid, there.st_gid)
            except OSError:
                try:
                    os.fchown(descriptor, -1, there.st_gid)
                except OSError:
                    mode &= 0o606
        os.fchmod(descriptor, mode)


# --- syncing to the disk ---

_FULL_SYNC = 51


def sync_file(descriptor: int) -> None:
    """Flush a file to the disk; on macOS also the write cache of the drive."""
    if MACOS:
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, _FULL_SYNC)
            return
    os.fsync(descriptor)


_NO_SYNC = (errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF)
"""Errors of file systems without folder sync, and of folders that are writable but not readable."""


def sync_folder(folder: Path) -> None:
    if WINDOWS:
        return
    try:
        with closing_file(os.open(folder, os.O_RDONLY | os.O_DIRECTORY)) as descriptor:
            os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def sync_file_systems(folders: Iterable[Path]) -> bool:
    """Flush the file systems that contain the folders; False if that fails. Only Linux has `syncfs` for it."""
    if not LINUX:
        return False
    import ctypes

    sync = getattr(ctypes.CDLL(None), "syncfs", None)
    if sync is None:
        return False
    try:
        # Usually one file system for all folders of a shard.
        devices = {folder.stat().st_dev: folder for folder in folders}
        return all(_sync_file_system(sync, folder) for folder in devices.values())
    except OSError:
        return False


def _sync_file_system(sync: Callable[[int], int], folder: Path) -> bool:
    with closing_file(os.open(folder, os.O_RDONLY | os.O_DIRECTORY)) as descriptor:
        return sync(descriptor) == 0


# --- user folders ---


def user_folder(kind: Literal["data", "config", "state"]) -> Path:
    """Return the user's folder for this program. For a user without home, it is a path that cannot be created."""
    from platformdirs import PlatformDirs  # most commands need no folder

    try:
        return Path(getattr(PlatformDirs("shardscope", appauthor=False, roaming=kind != "state"), f"user_{kind}_dir"))
    except RuntimeError:
        return Path(os.devnull, "shardscope")


def has_xdg_desktop() -> bool:
    return sys.platform not in ("win32", "cygwin", "darwin")


def user_mark() -> str:
    if hasattr(os, "getuid"):
        return str(os.getuid())
    import getpass

    return re.sub(r"\W", "_", getpass.getuser())


# --- processes ---


def keep_freed_memory() -> None:
    """Free a large block. From then on, glibc keeps freed memory of blocks up to 16 MiB instead of returning it."""
    bytes(1 << 24)


def ending_signals() -> tuple[int, ...]:
    import signal

    more: Any = getattr(signal, "SIGBREAK", None)
    return (signal.SIGTERM,) if more is None else (signal.SIGTERM, more)


def process_exists(pid: int) -> bool:
    """Return whether a process is running; always True on Windows, where `os.kill` would end it."""
    if WINDOWS:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


_MOST_OF_MACOS = 10240
"""Number of open files that macOS allows when it reports no limit."""


def single_blas_thread() -> None:
    """Prevent NumPy from starting threads for linear algebra, which is not used. Call it before NumPy is imported.

    The threads cost 0.1 s of processor time at every start. A value set by the user is not changed.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def allow_many_files(most: int) -> None:
    if WINDOWS:
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (most, _MOST_OF_MACOS):
        wanted = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        if soft == resource.RLIM_INFINITY or soft >= wanted:
            return
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return


def limit_memory(room: int) -> None:
    """Limit the address space of this process to its current size plus `room` bytes; Linux only."""
    if not LINUX:
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = pages * resource.getpagesize() + room
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
