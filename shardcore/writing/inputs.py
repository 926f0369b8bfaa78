"""Inputs of packing: files in folders, without those that the new shard replaces."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, MutableSequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from shardcore.errors import Remedy, ShardError, SourceError, UsageError, reason_of
from shardcore.model.number_text import plural
from shardcore.system import is_link_entry, listed_name
from shardcore.writing.input_items import Content, InputItem
from shardcore.writing.temporary_names import is_left_over
from shardcore.writing.writer import OddName, UnreadableInput

Inode = tuple[int, int]
"""Device and inode."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Input that was skipped because it cannot be read or the format cannot store its name."""

    name: str
    why: str


class LeftOut:
    """Collects inputs that are not packed. With `skip`, a failing input is added here; its error is not raised."""

    def __init__(self, *, skip: bool = False, remedy: Remedy = Remedy.NAMES) -> None:
        self.skip = skip
        self._remedy = remedy
        self.skipped: list[Skipped] = []
        self._links = 0
        self._others = 0

    def fail(self, name: str, error: ShardError) -> None:
        """Record an input that cannot be packed; raise its error unless `skip`."""
        if not self.skip:
            if isinstance(error, OddName):
                error.remedy = error.remedy or self._remedy
            elif isinstance(error, UnreadableInput) and self._remedy is Remedy.NAMES:
                error.remedy = error.remedy or Remedy.SKIP
            raise error
        self.skipped.append(Skipped(name, error.message))

    def add(self, entry: os.DirEntry[str]) -> None:
        """Count an entry that is neither a file nor a folder."""
        if is_link_entry(entry):
            self._links += 1
        else:
            self._others += 1

    def notes(self) -> list[str]:
        counts = (
            (self._links, plural(self._links, "link") + " (links in folders are not followed)"),
            (self._others, plural(self._others, "pipe, socket or device", "pipes, sockets and devices")),
        )
        return [f"left out: {words}" for count, words in counts if count]


def named(inputs: Iterable[str | Path]) -> Iterator[str | Path]:
    """Yield the inputs; `-` is replaced by the lines of standard input."""
    for one in inputs:
        if one == "-":
            yield from (line for line in sys.stdin.read().splitlines() if line)
        else:
            yield one


def input_files(
    inputs: Iterable[str | Path], left_out: LeftOut | None = None, *, deep: bool = True
) -> Iterator[tuple[Path, str]]:
    """Yield the given files, and the files in the given folders sorted by name, recursively if `deep`.

    Links in folders are left out, as are temporary files of writers. The name of a file is relative to its given
    folder, with `/`.
    """
    left_out = left_out or LeftOut()
    for one in inputs:
        path = Path(one)
        # `Path.is_dir` and `is_file` raise for names that are too long and without permission.
        if os.path.isdir(path):  # noqa: PTH112
            yield from _files_below(path, "", left_out, deep=deep)
        elif os.path.isfile(path):  # noqa: PTH113
            yield path, path.name
        else:
            there = os.path.exists(path)  # noqa: PTH110
            why = f"{path} is not a regular file" if there else f"file not found: {path}"
            left_out.fail(str(path), SourceError(why))


def _files_below(folder: Path, above: str, left_out: LeftOut, *, deep: bool = True) -> Iterator[tuple[Path, str]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        left_out.fail(str(folder), SourceError(f"cannot list {folder}: {reason_of(error)}"))
        return
    for entry in entries:
        if is_left_over(entry.name):
            continue
        name = above + listed_name(entry.name)
        if is_link_entry(entry) or not (entry.is_dir() or entry.is_file()):
            left_out.add(entry)
        elif entry.is_file():
            yield Path(entry.path), name
        elif deep:
            yield from _files_below(Path(entry.path), f"{name}/", left_out)


def inode_of(path: str | Path, *, follow: bool = True) -> Inode | None:
    """Return device and inode of a file, None if it does not exist; with `follow`, of the target of a link."""
    try:
        found = Path(path).stat(follow_symlinks=follow)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


class Replaced:
    """Set of files that a new shard replaces: the file of the same name or, with `force`, the shards in the folder."""

    def __init__(self, out: str | Path, members: tuple[str, ...] = (), *, folder: bool, force: bool) -> None:
        self._place = inode_of(out, follow=folder) if force or not folder else None
        self._members = members if folder else None

    def __bool__(self) -> bool:
        return self._place is not None

    def __contains__(self, path: Path) -> bool:
        if self._members is None:
            return inode_of(path) == self._place
        return any(self._is_member(path, pattern) for pattern in self._members)

    def _is_member(self, path: Path, pattern: str) -> bool:
        if pattern.startswith("**/"):
            below = any(inode_of(folder) == self._place for folder in path.parents)
            return below and fnmatchcase(path.name, pattern.removeprefix("**/"))
        depth = pattern.count("/") + 1
        name = "/".join(path.parts[-depth:])
        return fnmatchcase(name, pattern) and inode_of(path.parents[depth - 1]) == self._place


def without_replaced(
    items: Iterable[InputItem],
    replaced: Replaced,
    inputs: Collection[Path] | None = None,
    notes: MutableSequence[str] | None = None,
) -> Iterator[InputItem]:
    """Yield the objects except those whose files the new shard replaces.

    If such a file was found in a folder, a note is added; if it is one of `inputs`, UsageError is raised.
    """
    for item in items:
        contents: tuple[Content, ...] = (item.content, *item.parts.values())
        files = (one for one in contents if isinstance(one, (str, Path)))
        same = next((one for one in files if Path(one) in replaced), None)
        if same is None:
            yield item
        elif inputs is None or Path(same) in inputs:
            raise overwrite_error(Path(same))
        elif notes is not None:
            notes.append(f"left out: {same}: the new shard replaces it")


def overwrite_error(path: Path) -> UsageError:
    return UsageError(f"{path} is an input and would be replaced: give the new shard another name")
