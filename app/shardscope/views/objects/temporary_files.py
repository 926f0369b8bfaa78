"""Objects as temporary files for drags and the clipboard; written in jobs, removed when the program ends. No Qt."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from shardcore import Node, Remedy, Shard, SourceError, Span, State
from shardcore.dataclasses import dataclass
from shardcore.operations.extraction import ExtractOptions, Names, extract_objects
from shardcore.progress import Progress
from shardcore.sources.base import on_failure
from shardcore.system import is_own, process_exists
from shardcore.writing.temporary import write_whole
from shardscope.session.byte_pages import pieces_of

SMALL = 64_000_000
"""Maximum size in bytes of a selection that is written on mouse press."""

MOST_FILES = 10_000

_PLAIN = ExtractOptions(manifest=False, folders=True)

_PREFIX = "shardscope-drag-"
_NAME = re.compile(re.escape(_PREFIX) + r"(\d+)-.+")


class TooLarge(Exception):
    pass


@dataclass(frozen=True)
class Prepared:
    """Files written for a drag or for the clipboard, and their folder; `left_out` counts skipped tombstoned objects."""

    folder: Path
    files: tuple[Path, ...]
    size: int
    problems: tuple[str, ...] = ()
    left_out: int = 0
    remedy: Remedy | None = None

    @property
    def handed(self) -> tuple[Path, ...]:
        """Paths to give to other programs: a single file, or all files and sub-folders at the top of `folder`."""
        if len(self.files) == 1:
            return self.files
        tops = (self.folder / path.relative_to(self.folder).parts[0] for path in self.files)
        return tuple(dict.fromkeys(tops))

    @property
    def there(self) -> bool:
        return bool(self.files) and all(path.is_file() for path in self.files)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class DraggedNode:
    name: str
    span: Span
    row: int | None = None

    @classmethod
    def of(cls, node: Node | None) -> DraggedNode | None:
        if node is None or (node.row is None and not node.span.size):
            return None
        return cls(node.name, node.span, node.row)


class DragFolders:
    """Private temporary folders (mode 0700) of this process, removed when it ends."""

    def __init__(self, base: Path | None = None) -> None:
        self._base = base or Path(tempfile.gettempdir())
        self._root: Path | None = None

    def new(self) -> Path:
        try:
            if self._root is None or not self._root.is_dir():
                # mkdtemp gives mode 0700.
                self._root = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=self._base))
                weakref.finalize(self, shutil.rmtree, self._root, True)
            return Path(tempfile.mkdtemp(prefix="files-", dir=self._root))
        except OSError as error:
            raise SourceError(f"cannot create a temporary folder: {error.strerror}") from error

    def remove(self) -> None:
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)

    def remove_stale(self) -> list[Path]:
        """Remove and return the folders that ended processes of this user left behind."""
        removed = []
        for path in self._base.glob(f"{_PREFIX}*"):
            match = _NAME.fullmatch(path.name)
            if match and _is_ours(path) and not process_exists(int(match[1])):
                shutil.rmtree(path, ignore_errors=True)
                removed.append(path)
        return removed


def prepare(
    shard: Shard,
    chosen: Sequence[int] | DraggedNode,
    folders: DragFolders,
    progress: Progress,
    *,
    limit: int | None = None,
    deleted: bool = False,
) -> Prepared:
    """Write objects to files, or the bytes of a node that is not an object as `<name>.bin`.

    Skips unused rows, and tombstoned ones unless `deleted`. Raises `TooLarge` above `limit` bytes. On any exception
    all files are removed.
    """
    if isinstance(chosen, DraggedNode):
        if chosen.row is None or not _is_object(shard, chosen.span, chosen.row):
            return _prepare_bytes(shard, chosen, folders, progress, limit)
        chosen = [chosen.row]
    columns = shard.objects.columns(np.asarray(chosen, np.int64), sizes=True)
    dead = columns.state == State.TOMBSTONED
    used = (columns.state != State.UNUSED) & (~dead | deleted)
    total = sum(size for size in columns.size[used].tolist() if size > 0)
    if limit is not None and total > limit:
        raise TooLarge
    folder = folders.new()
    refs = [shard.objects.ref(row) for row in columns.row[used].tolist()]
    with on_failure(shutil.rmtree, folder, ignore_errors=True):
        results = list(extract_objects(shard, refs, folder, _PLAIN, each_piece=_watch(progress, total, limit)))
    kept = [result for result in results if not result.error]
    wrong = [result for result in results if result.error]
    problems = tuple(f"{result.key or 'an object without a key'}: {result.error}" for result in wrong)
    return Prepared(
        folder,
        tuple(Path(result.path) for result in kept),
        sum(result.size for result in kept),
        problems,
        left_out=0 if deleted else int(dead.sum()),
        remedy=wrong[0].remedy if wrong else None,
    )


def _prepare_bytes(
    shard: Shard, node: DraggedNode, folders: DragFolders, progress: Progress, limit: int | None
) -> Prepared:
    span = node.span
    if limit is not None and span.size > limit:
        raise TooLarge
    source, folder = shard.bytes_of(span.source), folders.new()
    path = folder / Names().give(f"{node.name}.bin")
    with on_failure(shutil.rmtree, folder, ignore_errors=True):
        size = write_whole(path, pieces_of(source, span, progress))
    return Prepared(folder, (path,), size)


def _is_object(shard: Shard, span: Span, row: int) -> bool:
    """Return whether a span contains the stored content of an object, not just an entry that refers to it."""
    ref = shard.objects.ref(row)
    if ref.state in (State.UNUSED, State.DELETED) or not ref.spans:
        return False
    return span.holds(ref.spans[0])


def _watch(progress: Progress, total: int, limit: int | None) -> Callable[[int], None]:
    done = 0

    def each_piece(size: int) -> None:
        nonlocal done
        done += size
        # Sizes may be unknown before, or wrong.
        if limit is not None and done > limit:
            raise TooLarge
        progress(min(done, total), max(total, 1))

    return each_piece


def _is_ours(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and is_own(status)
