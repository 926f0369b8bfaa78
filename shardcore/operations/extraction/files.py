"""Taking objects out into files: safe names, nothing outside the folder, nothing replaced unasked, a manifest."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from shardcore.errors import Remedy, ShardError, SourceError, UsageError, ends_reading, reason_of
from shardcore.model.objects import ObjectRef, State
from shardcore.operations.extraction.manifest import MANIFEST, ManifestWriter
from shardcore.operations.extraction.names import Names
from shardcore.operations.extraction.options import ALL_PARTS, AS_USUAL, NO_PARTS, Conflict, ExtractOptions
from shardcore.progress import Progress, no_progress
from shardcore.shards.prefetch import fetched_ahead
from shardcore.shards.shard import PIECE, Shard, bounded
from shardcore.writing.partial_file import write_kept
from shardcore.writing.temporary import write_whole

HEAD = 4096
"""Bytes that a guess looks at."""

MAGICS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", ".png"),
    (0, b"\xff\xd8\xff", ".jpg"),
    (0, b"GIF87a", ".gif"),
    (0, b"GIF89a", ".gif"),
    (8, b"WEBP", ".webp"),
    (8, b"WAVE", ".wav"),
    (0, b"II*\0", ".tif"),
    (0, b"MM\0*", ".tif"),
    (0, b"%PDF-", ".pdf"),
    (0, b"PK\x03\x04", ".zip"),
    (0, b"PK\x05\x06", ".zip"),
    (0, b"\x1f\x8b\x08", ".gz"),
    (0, b"BZh", ".bz2"),
    (0, b"\xfd7zXZ\0", ".xz"),
    (0, b"\x28\xb5\x2f\xfd", ".zst"),
    (0, b"\x04\x22\x4d\x18", ".lz4"),
    (0, b"7z\xbc\xaf\x27\x1c", ".7z"),
    (257, b"ustar", ".tar"),
    (0, b"\x7fELF", ".elf"),
    (0, b"\xcf\xfa\xed\xfe", ".macho"),
    (0, b"\0asm", ".wasm"),
    (0, b"\x93NUMPY", ".npy"),
    (0, b"\x89HDF\r\n\x1a\n", ".h5"),
    (0, b"PAR1", ".parquet"),
    (0, b"SQLite format 3\0", ".sqlite"),
    (0, b"OggS", ".ogg"),
    (0, b"fLaC", ".flac"),
    (0, b"ID3", ".mp3"),
    (4, b"ftyp", ".mp4"),
)
"""Offset of a magic number, the magic, and the ending. A magic after another container's (`RIFF`) comes after it."""

_CONTAINERS = {b"WEBP": b"RIFF", b"WAVE": b"RIFF"}
_JSON_START = re.compile(r'\s*(\{\s*("|\})|\[\s*([\[\]{"\d-]|true|false|null))')
_TEXT_CONTROLS = frozenset("\t\n\r\f\x1b")


def ending_of(head: bytes, *, whole: bool) -> str:
    """Return the ending for a content, with its dot; empty when nothing speaks for one.

    Args:
        head: Its first bytes; `HEAD` of them are enough.
        whole: Whether that is all of it.
    """
    for at, magic, ending in MAGICS:
        if head.startswith(magic, at) and head.startswith(_CONTAINERS.get(magic, b"")):
            return ending
    return _text_ending(head, whole=whole) if head else ""


def _text_ending(head: bytes, *, whole: bool) -> str:
    """`.json` or `.txt` for UTF-8 text without control characters."""
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        # A character may be cut at the end of what was read.
        if whole or error.start < len(head) - 3:
            return ""
        text = head[: error.start].decode("utf-8")
    if not text or any((c < " " and c not in _TEXT_CONTROLS) or c == "\x7f" for c in text):
        return ""
    if not _JSON_START.match(text):
        return ".txt"
    return ".json" if not whole or _is_json(text) else ".txt"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


KEPT_FROM = 4 << 20
"""Objects of fewer bytes begin again."""

UNNAMED = "-unnamed "
"""In the identity of a file of which its server states nothing but the size: another may have the same."""


def mark_of(shard: Shard, ref: ObjectRef, limit: int | None) -> str:
    """Return an identity of the content of an object; empty if it is not resumed after a failure.

    It is taken up where any range of it can be read alone: it lies in the file as it is, or is the whole content of
    one. The mark has the identity of the file in it: once that was replaced, nothing goes on.
    """
    if ref.size < KEPT_FROM or (limit is not None and ref.size > limit) or ref.state is not State.LIVE:
        return ""
    plain = ref.codec == "none" and len(ref.spans) > 0 and ref.spans[0].size == ref.size == ref.stored_size
    whole = ref.key in shard.views
    if not (plain and ref.spans[0].source in ("", ref.shard)) and not whole:
        return ""
    try:
        source = shard.bytes_of(ref.shard)
    except ShardError:
        return ""
    if source.near or UNNAMED in source.identity:
        return ""
    facts = [source.identity, ref.shard, str(ref.key), str(ref.size), *map(str, ref.spans[:1])]
    return hashlib.sha256("\n".join(facts).encode("utf-8", "surrogatepass")).hexdigest()


def pieces_from(shard: Shard, ref: ObjectRef, start: int) -> Iterator[bytes]:
    """Yield the content of an object from an offset on.

    Raises:
        ShardError: The bytes cannot be read, or are damaged.
    """
    if not start:
        yield from shard.stream(ref)
        return
    for at in range(start, ref.size, PIECE):
        yield shard.read_range(ref, at, min(at + PIECE, ref.size))


ANY_SIZE = 1 << 63
"""More bytes than any object has."""

_USUAL = ExtractOptions()
_BARE = (State.UNUSED, State.DELETED)

EachPiece = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Extracted:
    """Result for one object, or for a part of one that has a file of its own.

    Attributes:
        key: The object's key.
        path: The file; empty when none was written.
        size: Bytes written.
        sha256: Of the content, hexadecimal.
        error: Why there is no file, or empty.
        part: The name of the part (`fragments`); empty for the content itself.
        remedy: What would help against the error, where there is something.
        skipped: The file that exists already and stays, by the policy `skip`; empty otherwise.
        state: `unused` or `deleted` for a slot without an object; empty otherwise.
        row: The row of the object; -1 when it has none, or is unknown.
        facts: What the format keeps about the object, for the manifest; see `Shard.facts`.
        last: Whether no further object can be had: the shard was replaced, or its server lost.
    """

    key: str | None
    path: str
    size: int = 0
    sha256: str = ""
    error: str = ""
    part: str = ""
    remedy: Remedy | None = None
    skipped: str = ""
    state: str = ""
    row: int = -1
    facts: dict[str, Any] = field(default_factory=dict)
    last: bool = False

    @classmethod
    def failed(cls, key: str | None, error: ShardError, part: str = "", row: int = -1) -> Extracted:
        """Return what became of an object that there is no file for."""
        lost = ends_reading(error)
        return cls(key, "", error=error.placed, part=part, remedy=error.remedy, row=row, last=lost)

    def line(self) -> dict[str, Any]:
        """As the manifest and the command line report it: what may be empty, only where it states something."""
        told = {"key": self.key, "path": self.path, "size": self.size, "sha256": self.sha256}
        more = {"error": self.error, "part": self.part, "skipped": self.skipped, "state": self.state}
        return told | {name: value for name, value in more.items() if value}


def extract_objects(
    shard: Shard,
    refs: Iterable[ObjectRef],
    folder: str | Path,
    options: ExtractOptions = _USUAL,
    *,
    total: int = 0,
    progress: Progress = no_progress,
    each_piece: EachPiece | None = None,
    manifest_written: Callable[[Path], None] | None = None,
) -> Generator[Extracted]:
    """Write objects into files of a folder, one after the other; a damaged one does not stop the others.

    A file appears under its name only when it is complete. At the end `manifest.json` is written, which reports the key
    of every file, and what the format keeps about it.

    Args:
        shard: Where the objects are.
        refs: The objects. Where requesting the next one fails (an iterator that goes on after an error, such as
            `map`), that is the result of this one.
        folder: Made when it is not there.
        options: How.
        total: How many objects there are, for `progress`.
        progress: Called after every object.
        each_piece: Called with the number of bytes of every piece before it is written; may raise to stop.
        manifest_written: Called with the path of the manifest at the end.

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
        raise SourceError(f"cannot create the folder {where}: {what}") from error
    taking = _Taking(shard, where, options, each_piece)
    manifest = ManifestWriter(shard, where) if options.manifest else None
    try:
        for number, ref in enumerate(fetched_ahead(shard, _each(refs), _sound)):
            results = [Extracted.failed(None, ref)] if isinstance(ref, ShardError) else taking.take(ref)
            if manifest is not None:
                for result in results:
                    manifest.add(result.line() | result.facts)
            progress(number + 1, max(total, number + 1))
            yield from results
        if manifest is not None:
            path = manifest.appear()
            if manifest_written is not None:
                manifest_written(path)
    finally:
        if manifest is not None:
            manifest.discard()
        taking.tidy()


def take_planned(
    shard: Shard, refs: Iterable[ObjectRef], folder: Path, options: ExtractOptions, names: Iterable[str]
) -> Generator[list[Extracted]]:
    """Write objects under names that were decided before, one for each file, in the order in which files are written.

    Args:
        shard: See `extract_objects`.
        refs: The objects.
        folder: See `extract_objects`; it exists.
        options: See `extract_objects`.
        names: The names, with `/` between folders.
    """
    taking = _Taking(shard, folder, options, None, names=_GivenNames(names))
    try:
        yield from map(taking.take, refs)
    finally:
        taking.tidy()


class _GivenNames(Names):
    """Gives names that were decided before, one after the other."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self._left = iter(names)

    def give(self, key: str, ending: str = "") -> str:
        return next(self._left)


def write_object(
    shard: Shard,
    ref: ObjectRef,
    path: Path,
    *,
    part: str = "",
    force: bool = False,
    limit: int | None = None,
    each_piece: EachPiece | None = None,
) -> tuple[int, str]:
    """Stream one object, or a part of it, into a file that appears when it is complete; at most `limit` bytes.

    Of a large object of another machine what came is kept when no more does, and the next time the rest is fetched.

    Returns:
        Bytes written, and their sha256.

    Raises:
        UsageError: The file exists already.
        SourceError: It cannot be written, or the object's bytes cannot be read.
        FormatError: The object is damaged.
        LimitExceeded: It is longer than the limit.
    """
    mark = "" if part else mark_of(shard, ref, limit)
    if mark:
        return _write_kept(shard, ref, path, mark, force=force, each_piece=each_piece)
    return _write(_pieces(shard, ref, part, limit), path, force=force, each_piece=each_piece)


def files_of(shard: Shard, ref: ObjectRef, options: ExtractOptions) -> dict[str, str]:
    """The files that an object becomes: part to name, which need not be safe. The part `""` is the content itself.

    Raises:
        ShardError: The member of a data set that holds the object cannot be opened.
    """
    names = shard.file_names(ref)
    if options.parts == AS_USUAL:
        return names
    content = {"": names[""]}
    if options.parts == NO_PARTS:
        return content
    chosen = ref.parts if options.parts == ALL_PARTS else (options.parts,)
    # A part without a file name of its own is called after the content.
    return content | {part: names.get(part, f"{names['']}.{part}") for part in chosen}


class _Taking:
    """One extraction: the names that were given, the folders that were made."""

    def __init__(
        self,
        shard: Shard,
        where: Path,
        options: ExtractOptions,
        each_piece: EachPiece | None,
        names: Names | None = None,
    ) -> None:
        self._shard = shard
        self._where = where
        self._options = options
        self._each_piece = each_piece
        self._names = names or Names([MANIFEST], folders=options.folders)
        self._known: set[Path] = {where}
        self._made: list[Path] = []

    def take(self, ref: ObjectRef) -> list[Extracted]:
        """Return the content and the parts of an object; one that is damaged does not stop the others."""
        if ref.state in _BARE:
            bare = Extracted(ref.key, "", state=ref.state.name.lower(), row=ref.row)
            return [] if self._options.skip_unused else [bare]
        try:
            files = files_of(self._shard, ref, self._options)
        except ShardError as error:
            return [Extracted.failed(ref.key, error, row=ref.row)]
        facts = self._facts(ref)
        results = []
        for part, name in files.items():
            try:
                results.append(self._take_part(ref, part, name, facts))
            except ShardError as error:
                results.append(Extracted.failed(ref.key, error, part, ref.row))
        return results

    def tidy(self) -> None:
        """Remove folders that were made for files which did not come."""
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):
                folder.rmdir()

    def _facts(self, ref: ObjectRef) -> dict[str, Any]:
        try:
            return self._shard.facts(ref) if self._options.manifest else {}
        except ShardError:
            # What is damaged there is reported by what became of the content, or is no part of it.
            return {}

    def _take_part(self, ref: ObjectRef, part: str, raw: str, facts: dict[str, Any]) -> Extracted:
        pieces, ending = _pieces(self._shard, ref, part, self._options.limit), ""
        if self._options.guess_extension:
            head, pieces = _peeked(pieces)
            ending = ending_of(head[:HEAD], whole=len(head) < HEAD)
        name = self._names.give(raw, ending)
        path = self._where / name
        exists = os.path.lexists(path)
        if exists and self._options.conflict is Conflict.SKIP and not _is_folder(path):
            return Extracted(ref.key, "", part=part, skipped=str(path), row=ref.row)
        if exists and self._options.conflict is Conflict.RENAME:
            path = self._free_path(name)
        self._make_folders(path.parent)
        force = self._options.conflict is Conflict.REPLACE
        if not part and (mark := mark_of(self._shard, ref, self._options.limit)):
            size, digest = _write_kept(self._shard, ref, path, mark, force=force, each_piece=self._each_piece)
        else:
            size, digest = _write(pieces, path, force=force, each_piece=self._each_piece)
        return Extracted(ref.key, str(path), size, digest, part=part, row=ref.row, facts=facts)

    def _free_path(self, name: str) -> Path:
        """Return another name, that no file has."""
        while os.path.lexists(path := self._where / self._names.rename(name)):
            pass
        return path

    def _make_folders(self, folder: Path) -> None:
        """Make the folders between the one of the extraction and a file.

        Raises:
            UsageError: A file or a link has the name of a folder: links are not followed.
            SourceError: A folder cannot be made.
        """
        if folder in self._known:
            return
        self._make_folders(folder.parent)
        try:
            folder.mkdir()
            self._made.append(folder)
        except FileExistsError:
            if not _is_folder(folder):
                raise UsageError(f"{folder} exists already, and is no folder") from None
        except OSError as error:
            raise SourceError(f"cannot create the folder {folder}: {reason_of(error)}") from error
        self._known.add(folder)


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


def _sound(ref: ObjectRef | ShardError) -> ObjectRef | None:
    return None if isinstance(ref, ShardError) else ref


def _is_folder(path: Path) -> bool:
    """Return whether a path is a folder, and no link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _write(pieces: Iterator[bytes], path: Path, *, force: bool, each_piece: EachPiece | None) -> tuple[int, str]:
    digest = hashlib.sha256()

    def told() -> Iterator[bytes]:
        for piece in pieces:
            if each_piece is not None:
                each_piece(len(piece))
            digest.update(piece)
            yield piece

    return write_whole(path, told(), force=force), digest.hexdigest()


def _write_kept(
    shard: Shard, ref: ObjectRef, path: Path, mark: str, *, force: bool, each_piece: EachPiece | None
) -> tuple[int, str]:
    """Continue a file where an earlier run broke off."""

    def told(start: int) -> Iterator[bytes]:
        if start and each_piece is not None:
            each_piece(start)
        for piece in pieces_from(shard, ref, start):
            if each_piece is not None:
                each_piece(len(piece))
            yield piece

    return write_kept(path, mark, ref.size, told, force=force)


def _pieces(shard: Shard, ref: ObjectRef, part: str, limit: int | None) -> Iterator[bytes]:
    if not part:
        yield from bounded(shard, ref, limit)
        return
    data = memoryview(shard.read_part(ref, part, limit=ANY_SIZE if limit is None else limit))
    for at in range(0, len(data), PIECE):
        yield bytes(data[at : at + PIECE])


def _peeked(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes of a content, at least `HEAD` where there are so many, and all of its pieces."""
    first: list[bytes] = []
    while sum(map(len, first)) < HEAD and (piece := next(pieces, None)) is not None:
        first.append(piece)
    return b"".join(first), chain(first, pieces)
