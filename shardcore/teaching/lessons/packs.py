"""Packs of lessons of others: a folder or zip, checked, installed below the data folder of the user, and removed."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from shardcore.errors import ShardError, SourceError, UsageError, reason_of
from shardcore.model.number_words import plural
from shardcore.model.text import short
from shardcore.operations.notes import user_data_folder
from shardcore.progress import check_stopped
from shardcore.shards.opening import open as open_shard
from shardcore.sources.base import check_name
from shardcore.teaching.lessons.lesson import Lesson, LessonError
from shardcore.teaching.lessons.library import in_order, lesson_texts, lessons, read_lesson

MOST_FILES = 500
MOST_BYTES = 128 << 20
"""Bytes of all files of a pack; checked before anything is written."""

README = "README.md"
"""A pack may describe itself: the first heading is its title."""

_RECORD = ".pack.json"
"""Title and origin of an installed pack, written when it is installed."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MOST_README = 1 << 16


@dataclass(frozen=True, slots=True)
class LessonPack:
    """An installed pack.

    Attributes:
        name: Its name: that of the folder or zip it came from.
        title: Name.
        origin: The path it was installed from.
        folder: The folder.
        lessons: Its lessons, in order; each is named `PACK.LESSON`.
        problem: Reason why it cannot be used; empty where it can.
    """

    name: str
    title: str
    origin: str
    folder: Path
    lessons: tuple[Lesson, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _PackFile:
    """A file of a pack before it is installed."""

    name: str
    size: int
    read: Callable[[], bytes]


def packs_folder() -> Path:
    """Return the folder of installed packs: below the data folder of the user, never in that of the program."""
    return user_data_folder().parent / "lessons"


def packs() -> tuple[LessonPack, ...]:
    """Return the installed packs, by name. One that does not hold lessons any more has a `problem`."""
    try:
        folders = sorted(one for one in packs_folder().iterdir() if _NAME.fullmatch(one.name) and one.is_dir())
    except OSError:
        return ()
    return tuple(map(_pack_in, folders))


def install(origin: Path, *, replaced: bool = False) -> LessonPack:
    """Install the lessons of a folder or zip.

    Everything is checked before anything is written: names, sizes, and that each text is a lesson. What is written is
    complete when it appears.

    Args:
        origin: The folder or zip; its name is that of the pack.
        replaced: Whether an installed pack of that name is replaced.

    Raises:
        UsageError: There is no lesson, a text is none, a pack of that name is installed, or the files are too many.
        SourceError: It cannot be read or written, or a name leads outside.
        FormatError: The zip is damaged.
    """
    name = origin.stem if origin.suffix.lower() == ".zip" else origin.absolute().name
    if not _NAME.fullmatch(name):
        raise UsageError(f"{short(name)} is not a valid pack name: letters, digits, `.`, `-` and `_`, 64 at most")
    target = packs_folder() / name
    if target.exists() and not replaced:
        raise UsageError(f"a pack called {name} is installed; remove it first, or replace it")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as work:
            made = Path(work) / name
            made.mkdir()
            _write_all(origin, made)
            pack = _checked(made, origin)
            record = {"title": pack.title, "origin": pack.origin}
            (made / _RECORD).write_text(json.dumps(record), "utf-8")
            if target.exists():
                target.rename(Path(work) / "old")
            made.rename(target)
    except OSError as error:
        raise SourceError(f"cannot install {origin}: {reason_of(error)}") from error
    return _pack_in(target)


def remove(name: str) -> None:
    """Remove an installed pack.

    Raises:
        UsageError: There is none of that name.
        SourceError: It cannot be removed.
    """
    folder = packs_folder() / name
    if not _NAME.fullmatch(name) or not folder.is_dir():
        there = ", ".join(pack.name for pack in packs()) or "none"
        raise UsageError(f"no pack called {short(name)} is installed; installed: {there}")
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise SourceError(f"cannot remove {folder}: {reason_of(error)}") from error


def beside(lesson: Lesson, link: str) -> Path | None:
    """Return the file that a relative link of a lesson leads to; None where it leads elsewhere, or to no file.

    Args:
        lesson: The lesson.
        link: The link as it is written, without what comes after `#`.
    """
    if lesson.path is None or not link:
        return None
    try:
        found = lesson.path.parent / check_name(link)
        inside = found.resolve().is_relative_to(lesson.path.parent.resolve())
        return found if inside and found.is_file() else None
    except (OSError, SourceError):
        return None


# --- reading ---


def _pack_in(folder: Path) -> LessonPack:
    """Return the installed pack in a folder."""
    try:
        record = json.loads((folder / _RECORD).read_text("utf-8"))
        title, origin = str(record["title"]), str(record["origin"])
    except (OSError, ValueError, KeyError, TypeError):
        title, origin = folder.name, ""
    pack = LessonPack(folder.name, title, origin, folder)
    try:
        return replace(pack, lessons=_lessons_in(folder))
    except UsageError as error:
        return replace(pack, problem=error.message)


def _checked(folder: Path, origin: Path) -> LessonPack:
    """Return the pack that is about to be installed."""
    found = _lessons_in(folder)
    if not found:
        raise UsageError(f"{origin} holds no lesson: a text `NAME.md`, at the top")
    title = _title_of(folder) or (found[0].title if len(found) == 1 else folder.name)
    return LessonPack(folder.name, title, str(origin.absolute()), folder, found)


def _lessons_in(folder: Path) -> tuple[Lesson, ...]:
    found = []
    for path in lesson_texts(folder):
        try:
            lesson = read_lesson(path)
        except (LessonError, OSError) as error:
            raise UsageError(f"{path.name} is not a lesson: {error}") from error
        found.append(replace(lesson, name=f"{folder.name}.{lesson.name}"))
    own = {lesson.name.removeprefix(f"{folder.name}."): lesson.name for lesson in found}
    named = tuple(replace(one, needs=tuple(own.get(need, need) for need in one.needs)) for one in found)
    try:
        return in_order(named, lessons())
    except LessonError as error:
        raise UsageError(error.message) from error


def _title_of(folder: Path) -> str:
    """Return the first heading of the description of a pack; empty where there is none."""
    try:
        with (folder / README).open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MOST_README)
    except OSError:
        return ""
    return next((line[2:].strip()[:100] for line in text.splitlines() if line.startswith("# ")), "")


# --- what is installed ---


def _write_all(origin: Path, folder: Path) -> None:
    """Write the files of a folder or zip, checked before."""
    if origin.is_dir():
        _write_files(list(_in_folder(origin)), folder, origin)
        return
    with open_shard(origin, format="zip", jobs=1) as archive:
        if len(archive.objects) > MOST_FILES * 2:
            raise _too_many(origin)
        files = []
        for row in range(len(archive.objects)):
            ref = archive.objects.ref(row)
            if ref.extras.get("encrypted") or ref.extras.get("link"):
                what = "encrypted" if ref.extras.get("encrypted") else "a symbolic link"
                raise UsageError(f"{short(str(ref.key))} in {origin} is {what}: it is not installed")
            if ref.error:
                raise SourceError(f"{origin}: {ref.error}")
            if not str(ref.key).endswith("/") and not _is_hidden(str(ref.key)):
                files.append(_PackFile(str(ref.key), ref.size, partial(archive.read, ref)))
        _write_files(_without_top(files), folder, origin)


def _in_folder(origin: Path) -> Iterator[_PackFile]:
    """Yield the files of a folder; hidden ones are left out."""
    count = 0
    for above, folders, names in os.walk(origin):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names) + [one for one in folders if (Path(above) / one).is_symlink()]:
            path = Path(above) / name
            if name.startswith("."):
                continue
            facts = path.lstat()
            if not stat.S_ISREG(facts.st_mode):
                raise UsageError(f"{path} is a link, or no file: it is not installed")
            count += 1
            if count > MOST_FILES:
                raise _too_many(origin)
            yield _PackFile(path.relative_to(origin).as_posix(), facts.st_size, path.read_bytes)


def _is_hidden(name: str) -> bool:
    """Return whether a file of a zip is hidden, or what macOS adds to the files of a zip."""
    return any(part == "__MACOSX" or (part.startswith(".") and part != "..") for part in name.split("/"))


def _without_top(files: list[_PackFile]) -> list[_PackFile]:
    """Return the files below the one folder that holds all of them, where there is one."""
    tops = {one.name.partition("/")[0] for one in files}
    if len(tops) != 1 or any("/" not in one.name for one in files):
        return files
    return [replace(one, name=one.name.partition("/")[2]) for one in files]


def _write_files(files: list[_PackFile], folder: Path, origin: Path) -> None:
    """Check all names and sizes, and write."""
    if len(files) > MOST_FILES or sum(one.size for one in files) > MOST_BYTES:
        raise _too_many(origin)
    seen: set[str] = set()
    for one in files:
        check_name(one.name)
        parts = PurePosixPath(one.name).parts
        if ":" in one.name or any(part.endswith((".", " ")) for part in parts) or not one.name.isprintable():
            raise SourceError(f"refused to write {short(one.name)}: it is not a plain relative name")
        if one.name.casefold() in seen:
            raise UsageError(f"{origin} holds {short(one.name)} twice")
        seen.add(one.name.casefold())
    left = MOST_BYTES
    for one in files:
        check_stopped()
        data = one.read()
        left -= len(data)
        if left < 0:
            raise _too_many(origin)
        path = folder / one.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _too_many(origin: Path) -> ShardError:
    most = f"{plural(MOST_FILES, 'file')}, of {MOST_BYTES >> 20} MiB together"
    return UsageError(f"{origin} is more than a pack of lessons has: at most {most}")
