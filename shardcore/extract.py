"""Taking objects out into files: safe names, nothing outside the folder, nothing overwritten, a manifest."""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardcore.errors import Remedy, ShardError, SourceError, reason_of
from shardcore.objects import ObjectRef
from shardcore.progress import Progress, no_progress
from shardcore.shard import PIECE, Shard, bounded
from shardcore.writing.output import write_whole

MAX_NAME_BYTES = 180
"""Longest file name given; every common file system takes 255 bytes, and temporary names need some."""

ANY_SIZE = 1 << 63
"""More bytes than any object has."""

_DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"}
_RESERVED = _DEVICES | {f"{port}{n}" for port in ("com", "lpt") for n in range(10)}
_FORBIDDEN = frozenset('/\\:*?"<>|')


@dataclass(frozen=True, slots=True)
class Extracted:
    """What became of one object, or of a part of one that has a file of its own.

    Attributes:
        key: The object's key.
        path: The file; empty when there is none.
        size: Bytes written.
        sha256: Of the content, hexadecimal.
        error: Why there is no file, or empty.
        part: The name of the part (`fragments`); empty for the content itself.
        remedy: What would help against the error, where there is something.
    """

    key: str | None
    path: str
    size: int = 0
    sha256: str = ""
    error: str = ""
    part: str = ""
    remedy: Remedy | None = None

    @classmethod
    def failed(cls, key: str | None, error: ShardError, part: str = "") -> Extracted:
        """What became of an object that there is no file for."""
        return cls(key, "", error=error.placed, part=part, remedy=error.remedy)

    def line(self) -> dict[str, Any]:
        """As the manifest and the command line tell it: `error` and `part` only where they say something."""
        told = {"key": self.key, "path": self.path, "size": self.size, "sha256": self.sha256}
        return told | {name: value for name, value in (("error", self.error), ("part", self.part)) if value}


class Names:
    """Gives every key a file name of its own that is safe on every common system.

    Keys that are safe already keep their text. Others are cleaned and end with `~` and eight digits of the key's
    sha256, so that a name depends on little more than its key.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {_folded(name) for name in taken}
        self._digits: dict[str, int] = {}

    def give(self, key: str) -> str:
        """The name for a key; never the same twice, not even in another case."""
        name = _cleaned(key)
        if name != key or _folded(name) in self._taken:
            digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
            stem, ending = _parted(name)
            stem = _cut(stem, MAX_NAME_BYTES - 20)
            # A key that comes again and again goes on where it was, instead of trying every number anew.
            digits = self._digits.get(digest, 7)
            name = key
            while name == key or _folded(name) in self._taken:
                digits += 1
                more = digest[:digits] if digits <= 64 else f"{digest[:32]}-{digits - 63}"
                name = f"{stem}~{more}{ending}"
            self._digits[digest] = digits
        self._taken.add(_folded(name))
        return name


def extract(
    shard: Shard,
    refs: Iterable[ObjectRef],
    folder: str | Path,
    *,
    force: bool = False,
    total: int = 0,
    limit: int | None = None,
    progress: Progress = no_progress,
    each_piece: Callable[[int], None] | None = None,
) -> Iterator[Extracted]:
    """Writes objects into files of a folder, one after the other; a damaged one does not stop the others.

    A file appears under its name only when it is complete. At the end `manifest.json` is written, which tells the key
    of every file. Parts of objects that have a file name of their own are files beside (`Shard.file_names`).

    Args:
        shard: Where the objects are.
        refs: The objects. Where asking for the next one fails (an iterator that goes on after an error, such as
            `map`), that is the result of this one.
        folder: Made when it is not there.
        force: Whether existing files are replaced.
        total: How many objects there are, for `progress`.
        limit: Most bytes that one object may have; None for as many as it has.
        progress: Called after every object.
        each_piece: Called with the number of bytes of every piece before it is written; may raise to stop.

    Yields:
        What became of each object, and after it of each of its parts.

    Raises:
        SourceError: The folder cannot be written to.
    """
    where = Path(folder)
    try:
        where.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        # Path.is_file raises for names that are too long, and where looking is not allowed.
        what = "it is a file" if os.path.isfile(where) else reason_of(error)  # noqa: PTH113
        raise SourceError(f"cannot make the folder {where}: {what}") from error
    names = Names(["manifest.json"])
    done: list[Extracted] = []
    for number, ref in enumerate(_each(refs)):
        if isinstance(ref, ShardError):
            results = [Extracted.failed(None, ref)]
        else:
            results = _extract_one(shard, ref, where, names, force=force, limit=limit, each_piece=each_piece)
        done += results
        progress(number + 1, max(total, number + 1))
        yield from results
    write_manifest(shard, done, where)


def write_manifest(shard: Shard, results: Iterable[Extracted], folder: Path) -> Path:
    """Writes which file came from which key; beside an older manifest, under the next free number.

    Raises:
        SourceError: The folder cannot be written to.
    """
    origin = shard.source.uri if shard.source is not None else getattr(shard, "uri", "")
    lines = [result.line() for result in results]
    for line in lines:
        line["path"] = Path(line["path"]).name
    content: dict[str, Any] = {"uri": origin, "format": shard.format, "objects": lines}
    text = json.dumps(content, ensure_ascii=True, indent=1)
    number = 1
    while True:
        path = folder / ("manifest.json" if number == 1 else f"manifest-{number}.json")
        try:
            with path.open("x", encoding="ascii") as file:
                file.write(text + "\n")
            return path
        except FileExistsError:
            number += 1
        except OSError as error:
            raise SourceError(f"cannot write {path}: {error.strerror}") from error


def write_object(
    shard: Shard,
    ref: ObjectRef,
    path: Path,
    *,
    part: str = "",
    force: bool = False,
    limit: int | None = None,
    each_piece: Callable[[int], None] | None = None,
) -> tuple[int, str]:
    """Streams one object, or a part of it, into a file that appears when it is complete; at most `limit` bytes.

    Returns:
        Bytes written, and their sha256.

    Raises:
        UsageError: The file exists already.
        SourceError: It cannot be written, or the object's bytes cannot be had.
        FormatError: The object is damaged.
        LimitExceeded: It is longer than the limit.
    """
    digest = hashlib.sha256()

    def told() -> Iterator[bytes]:
        for piece in _part(shard, ref, part, limit) if part else bounded(shard, ref, limit):
            if each_piece is not None:
                each_piece(len(piece))
            digest.update(piece)
            yield piece

    return write_whole(path, told(), force=force), digest.hexdigest()


def _each(refs: Iterable[ObjectRef]) -> Iterator[ObjectRef | ShardError]:
    iterator = iter(refs)
    while True:
        try:
            ref = next(iterator)
        except StopIteration:
            return
        except ShardError as error:
            yield error
        else:
            yield ref


def _extract_one(shard: Shard, ref: ObjectRef, where: Path, names: Names, **options: Any) -> list[Extracted]:
    """The content and the parts of an object; one that is damaged does not stop the others."""
    try:
        files = shard.file_names(ref)
    except ShardError as error:
        return [Extracted.failed(ref.key, error)]
    results = []
    for part, name in files.items():
        path = where / names.give(name)
        try:
            size, digest = write_object(shard, ref, path, part=part, **options)
        except ShardError as error:
            results.append(Extracted.failed(ref.key, error, part))
        else:
            results.append(Extracted(ref.key, str(path), size, digest, part=part))
    return results


def _part(shard: Shard, ref: ObjectRef, part: str, limit: int | None) -> Iterator[bytes]:
    data = memoryview(shard.read_part(ref, part, limit=ANY_SIZE if limit is None else limit))
    for at in range(0, len(data), PIECE):
        yield bytes(data[at : at + PIECE])


def _cleaned(key: str) -> str:
    kept = "".join("_" if c in _FORBIDDEN or not c.isprintable() else c for c in key)
    stem, ending = _parted(kept)
    kept = f"{_cut(stem, MAX_NAME_BYTES - len(ending.encode()))}{ending}".rstrip(" .").lstrip(" ")
    if kept.startswith((".", "-", "~")):
        kept = "_" + kept[1:]
    if not kept or unicodedata.normalize("NFKC", kept).split(".")[0].rstrip().lower() in _RESERVED:
        kept = "_" + kept
    return kept


def _parted(name: str) -> tuple[str, str]:
    """A name without its ending, and the ending with its dot where it is short enough to be one."""
    stem, dot, suffix = name.rpartition(".")
    return (stem, dot + suffix) if dot and stem and len(suffix.encode()) <= 8 else (name, "")


def _cut(text: str, limit: int) -> str:
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def _folded(name: str) -> str:
    """Names that some file system takes for the same are equal in this form."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
