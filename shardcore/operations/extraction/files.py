"""Extraction of objects to files with safe names and a manifest, never outside the folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import threading
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain, count, groupby
from json.encoder import encode_basestring_ascii as quoted
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shardcore.dataclasses import dataclass, field, replace
from shardcore.errors import Remedy, ShardError, SourceError, UsageError, ends_reading, reason_of, reported_as
from shardcore.model.objects import ObjectColumns, ObjectRef, State
from shardcore.model.parallel import in_order
from shardcore.operations.description import ALL_PARTS, ANY_SIZE, AS_USUAL, NO_PARTS, Conflict, ExtractOptions
from shardcore.operations.extraction.names import ENDINGS, HEAD, Names, ending_of
from shardcore.progress import Progress, no_progress
from shardcore.shards.prefetch import fetched_ahead
from shardcore.shards.shard import Shard, bounded
from shardcore.sources.base import PIECE
from shardcore.system import extended, held_folder, open_folder, write_new
from shardcore.writing.partial_file import write_resumable
from shardcore.writing.temporary import TemporaryFile, exists_error, write_as, write_small
from shardcore.writing.temporary_names import temporary_text

if TYPE_CHECKING:
    from shardcore.sources.remote.upload import BucketFolder

MANIFEST = "manifest.json"


KEPT_FROM = 4 << 20
"""Minimum size in bytes of an object whose interrupted extraction can be resumed."""

UNNAMED = "-unnamed "
"""Part of the identity of a remote file without ETag and date; other files may have the same identity."""


def mark_of(shard: Shard, ref: ObjectRef, limit: int | None) -> str:
    """Return an identity of the content, for resuming a failed extraction; empty if it cannot be resumed.

    Resuming needs random access: an uncompressed object, or the whole content of a file. The identity includes that of
    the source file, so extraction starts again if that file was replaced.
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


_USUAL = ExtractOptions()
_BARE = (State.UNUSED, State.DELETED)


@dataclass(frozen=True, slots=True)
class SmallObjects:
    """Columns and keys of small objects without metadata and parts, whose contents are read in one batch."""

    columns: ObjectColumns
    keys: list[str]


Wanted = ObjectRef | ShardError | SmallObjects
EachPiece = Callable[[int], None]
EachPlanned = Callable[[bool], None]
OtherPath = Callable[[], Path]


# Not frozen: creating frozen instances is three times as slow, and there are millions.
@dataclass(slots=True)
class Extracted:
    """Result for one object, or for a part that has its own file.

    Attributes:
        key: Key of the object.
        path: The file; empty if none was written.
        size: Bytes written.
        sha256: Digest of the content, in hex.
        error: Reason why there is no file, or empty.
        part: Name of the part (`fragments`); empty for the content itself.
        remedy: Remedy for the error, if there is one.
        skipped: Existing file that was kept, by the policy `skip`; otherwise empty.
        state: `unused` or `deleted` for a slot without an object; otherwise empty.
        row: Row of the object; -1 if it has none or it is unknown.
        facts: Metadata of the object, for the manifest; see `Shard.facts`.
        last: Whether no further object can be read: the shard was replaced, or its server is unreachable.
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
        """Return the result of an object that could not be extracted."""
        lost = ends_reading(error)
        return cls(key, "", error=error.placed, part=part, remedy=error.remedy, row=row, last=lost)

    def line(self) -> dict[str, Any]:
        """Return the JSON object that `extract --json` prints; empty values are omitted."""
        return {"key": self.key, "path": self.path, "size": self.size, "sha256": self.sha256} | self.more()

    def more(self) -> dict[str, str]:
        """Return the values other than key, path, size and sha256 that are not empty."""
        found = {"error": self.error, "part": self.part, "skipped": self.skipped, "state": self.state}
        return {name: value for name, value in found.items() if value}


class Target:
    """Folder to which objects are extracted. For an object store, their files are then uploaded from it.

    Attributes:
        folder: Local folder of the files and the manifest.
        there: Sizes of the files that exist in the object store, by name; empty for a local target.
        root: Folder as the caller stated it, or address, with which the paths of results begin.
    """

    def __init__(
        self,
        folder: Path,
        given: Path,
        options: ExtractOptions,
        delivery: BucketFolder | None,
        names: Names | None = None,
        there: Mapping[str, int] | None = None,
    ) -> None:
        self.folder, self.options, self.delivery = folder, options, delivery
        self.names = names or Names([MANIFEST], folders=options.folders)
        # Conflicts with existing files are decided before any content is read.
        self.there = there or {}
        if there is None and delivery is not None and options.conflict is not Conflict.REPLACE:
            self.there = delivery.sizes(required=options.conflict is not Conflict.ERROR)
        self.root = delivery.shown if delivery is not None else str(given)
        self.lead, self._given = f"{folder}{os.sep}", f"{given}{os.sep}"

    def exists(self, name: str) -> bool:
        return name in self.there if self.delivery is not None else os.path.lexists(extended(self.lead + name))

    def free_name(self, name: str) -> str:
        """Reserve and return an alternative for a name that exists."""
        while self.exists(other := self.names.rename(name)):
            pass
        return other

    def named(self, text: str) -> str:
        """Replace the path of the opened folder in a text by the path that the caller stated."""
        return text.replace(self.lead, self._given)

    def result_named(self, one: Extracted) -> Extracted:
        before = one.path, one.skipped, one.error
        path, skipped, error = after = tuple(map(self.named, before))
        return one if after == before else replace(one, path=path, skipped=skipped, error=error)


@contextlib.contextmanager
def manifest_of(
    shard: Shard, target: Target, written: Callable[[Path], None] | None = None
) -> Iterator[Callable[[Extracted], None]]:
    """Yield a function that adds a result to the manifest, which is written at the end; an exception discards it."""
    if not target.options.manifest:
        yield lambda result: None
        return
    file, lead = TemporaryFile(target.folder / MANIFEST), "\n  "
    shared, text = dict[str, Any](), ""

    def write(text: str) -> None:
        file.write(text.encode("ascii"))

    def add(result: Extracted) -> None:
        nonlocal lead, shared, text
        # `json.dumps` and `Path.relative_to` are too slow for millions of lines; many objects share their metadata.
        path = result.path.removeprefix(target.root).replace(os.sep, "/").lstrip("/")
        line = f'"size": {result.size}, "sha256": "{result.sha256}"'
        key = "null" if result.key is None else quoted(result.key)
        more = result.more() | result.facts if result.error or result.part or result.path == "" else result.facts
        if more is not shared:
            shared, text = more, "".join(f", {quoted(name)}: {json.dumps(more[name])}" for name in more)
        write(f'{lead}{{"key": {key}, "path": {quoted(path)}, {line}{text}}}')
        lead = ",\n  "

    try:
        uri = shard.source.uri if shard.source is not None else getattr(shard, "uri", "")
        facts = {"uri": uri, "format": shard.format} | shard.write_options
        write("{" + "".join(f"\n {json.dumps(name)}: {json.dumps(value)}," for name, value in facts.items()))
        write('\n "objects": [')
        yield add
        write("\n ]\n}\n")
        file.complete()
        numbers = count(2)
        path = file.appear(lambda: target.folder / _numbered(next(numbers)))
        if target.delivery is not None:
            _send_manifest(target.delivery, path, target.there)
        if written is not None:
            written(Path(target.named(str(path))))
    finally:
        file.discard()


def _numbered(number: int) -> str:
    return MANIFEST if number == 1 else f"manifest-{number}.json"


def _send_manifest(delivery: BucketFolder, path: Path, there: Container[str]) -> None:
    for name in filter(lambda name: name not in there, map(_numbered, count(1))):
        try:
            delivery.send(path, name)
        except UsageError as error:
            if error.remedy is not Remedy.REPLACE:
                raise
        else:
            return


def extract_objects(
    shard: Shard,
    refs: Iterable[Wanted],
    folder: str | Path,
    options: ExtractOptions = _USUAL,
    *,
    total: int = 0,
    progress: Progress = no_progress,
    each_piece: EachPiece | None = None,
    manifest_written: Callable[[Path], None] | None = None,
    delivery: BucketFolder | None = None,
    planned: EachPlanned | None = None,
) -> Generator[Extracted]:
    """Write objects into files of a folder, several at a time; a corrupt one does not stop the others.

    A file gets its name only when it is complete. `manifest.json` is written at the end: it lists the key and the
    metadata of every file. Yields the result of each object, followed by the results of its parts.

    - `refs`: an error instead of an object becomes its result; so does an error raised by `next` if iteration can go on
      (as with `map`). With `SmallObjects`, neither the arguments below nor options that depend on contents work.
    - `each_piece` is called with the size of every piece before it is written; it may raise to cancel.
    - `delivery`: complete files are sent there and removed from `folder`. Its names count as existing files.
    - `planned` is called per object before it is read: with True if a file is missing, so that the content is needed.
    """
    where = Path(folder)
    try:
        where.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        # `Path.is_file` would raise an error if the name is too long or permission is missing.
        what = "a file of that name exists" if os.path.isfile(where) else reason_of(error)  # noqa: PTH113
        raise SourceError(f"cannot create the folder {where}: {what}") from error
    extraction = _Extraction(shard, where, options, each_piece, delivery, planned=planned)
    try:
        written = manifest_of(shard, extraction, manifest_written)
        with written as add, closing(extraction.results(refs)) as each:
            for number, results in enumerate(each, 1):
                last = False
                for result in results:
                    add(result)
                    last |= result.last
                progress(number, max(total, number))
                yield from results
                if last:
                    break
    except ShardError as error:
        error.message = extraction.named(error.message)
        raise
    finally:
        extraction.tidy()


def extract_planned(
    shard: Shard,
    refs: Iterable[ObjectRef | ShardError],
    folder: Path,
    options: ExtractOptions,
    names: Iterable[str],
    delivery: BucketFolder | None,
    there: Mapping[str, int],
) -> list[Extracted]:
    """Write objects to files whose names are already decided; `there` has the sizes of existing files by name."""
    extraction = _Extraction(shard, folder, options, None, delivery, _GivenNames(names), there)
    try:
        with closing(extraction.results(refs)) as each:
            return [result for results in each for result in results]
    finally:
        extraction.tidy()


class _GivenNames(Names):
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
) -> int:
    """Stream one object, or a part of it, to a new file; return its size.

    If a large remote object is interrupted, its partial file is kept, and the next call fetches the rest.
    """
    mark = "" if part else mark_of(shard, ref, limit)
    pieces = _pieces(shard, ref, part, limit, path.name)
    return _write(shard, ref, pieces, path, mark, force=force, each_piece=each_piece, hashed=False)[1]


def files_of(shard: Shard, ref: ObjectRef, options: ExtractOptions) -> dict[str, str]:
    """Return the file name of each part of an object; names may be unsafe. The part `""` is the content itself."""
    names = shard.file_names(ref)
    if options.parts == AS_USUAL:
        return names
    content = {"": names[""]}
    if options.parts == NO_PARTS:
        return content
    chosen = ref.parts if options.parts == ALL_PARTS else (options.parts,)
    # A part without a file name gets that of the content with the name of the part appended.
    return content | {part: names.get(part, f"{names['']}.{part}") for part in chosen}


@dataclass(frozen=True, slots=True)
class _File:
    """File of an object.

    Attributes:
        raw: Name that the shard suggests, which may be unsafe.
        name: The safe name; empty until the content determines its extension.
        settled: Whether a file of this name exists, so that the content is not needed.
    """

    part: str
    raw: str
    name: str = ""
    settled: bool = False


@dataclass(frozen=True, slots=True)
class _Task:
    """Files to write for one object, planned before its content is read; or its results if nothing is to be written."""

    ref: ObjectRef | None = None
    files: tuple[_File, ...] = ()
    results: tuple[Extracted, ...] = ()

    @property
    def reads(self) -> ObjectRef | None:
        return self.ref if any(not one.settled for one in self.files) else None


WRITERS = min(os.cpu_count() or 1, 4)
"""Objects decoded and written in parallel; no more than processors, since threads slow each other down."""


_NO_SIZE = -1
"""Size that stands for an existing name that is not a regular file, such as a link or a pipe."""


class _Extraction(Target):
    """Running extraction. The folder is held open: nothing is written to another folder that replaces it."""

    def __init__(
        self,
        shard: Shard,
        where: Path,
        options: ExtractOptions,
        each_piece: EachPiece | None,
        delivery: BucketFolder | None,
        names: Names | None = None,
        there: Mapping[str, int] | None = None,
        planned: EachPlanned | None = None,
    ) -> None:
        self._ends = ExitStack()
        with reported_as(f"cannot write to the folder {where}"):
            folder = self._ends.enter_context(held_folder(where))
            self._opened = self._ends.enter_context(ExitStack())
            self._into, self._inner = self._opened.enter_context(open_folder(folder)), ""
            self._fresh = is_empty(folder)
        super().__init__(folder, where, options, delivery, names, there)
        self._shard, self._planned_one = shard, planned
        self._each_piece = each_piece
        self._known: set[Path] = {folder}
        self._making = threading.Lock()
        self._made: list[Path] = []
        self._stays = options.conflict in (Conflict.SKIP, Conflict.ERROR)
        self._renamed: dict[str, str] = {}

    def results(self, refs: Iterable[Wanted]) -> Generator[list[Extracted]]:
        for small, group in groupby(_each(refs), lambda one: isinstance(one, SmallObjects)):
            write: Callable[[Iterator[Any]], Generator[list[Extracted]]] = self._of_small if small else self._one_by_one
            with closing(write(group)) as each:
                yield from each

    def _of_small(self, groups: Iterable[SmallObjects]) -> Generator[list[Extracted]]:
        lost, temporary = SourceError(""), temporary_text("extract")
        for few in groups:
            rows, contents = few.columns.row, self._shard.contents_of(few.columns)
            (ref,) = self._shard.objects.each_ref(rows[:1], sizes=False)
            facts = {} if isinstance(ref, ShardError) else self._facts(ref)
            for row, key in zip(rows.tolist(), few.keys, strict=True):
                name = self.names.give(key)
                try:
                    # `contents` ends early if the source cannot be read; `lost` then stands for the error.
                    data = next(contents, lost)
                    if isinstance(data, ShardError):
                        raise data
                    if not self._fresh and self._size_there(name) is not None:
                        raise exists_error(Path(name))
                    inner, _, last = name.rpartition("/")
                    if inner != self._inner:
                        self._open_inner(inner)
                    if self._into is None:
                        write_small(self.lead + name, data)
                    else:
                        write_new(self._into, temporary, last, data)
                except (OSError, ShardError):
                    yield self._alone(row, key, name)
                    continue
                digest = hashlib.sha256(data).hexdigest()
                path = self._given + name.replace("/", os.sep)
                yield [Extracted(key, path, len(data), digest, row=row, facts=facts)]

    def _open_inner(self, inner: str) -> None:
        self._make_folders(self.folder / inner)
        self._opened.close()
        self._into, self._inner = None, "/"
        held = self._opened.enter_context(held_folder(self.folder, inner))
        self._into, self._inner = self._opened.enter_context(open_folder(held)), inner

    def _alone(self, row: int, key: str, name: str) -> list[Extracted]:
        (ref,) = self._shard.objects.each_ref(np.array([row], np.int64), sizes=False)
        if isinstance(ref, ShardError):
            return [Extracted.failed(None, ref)]
        settled = self._stays and self._size_there(name) is not None
        return list(map(self.result_named, self._extract(_Task(ref, (_File("", key, name, settled),)))))

    def _one_by_one(self, refs: Iterable[ObjectRef | ShardError]) -> Generator[list[Extracted]]:
        tasks = fetched_ahead(self._shard, map(self._plan, refs), lambda task: task.reads)
        if self.delivery is None:
            done = in_order(self._extract, tasks, self._writers)
        else:
            # Threads even for one writer: a signal may interrupt the main thread at any point.
            deliver, jobs = lambda results: [self._deliver(one) for one in results], max(self.delivery.jobs, 2)
            done = in_order(deliver, map(self._extract, tasks), jobs, stop=self.delivery.stop)
        with closing(done) as each:
            for results in each:
                yield list(map(self.result_named, results))

    @property
    def _writers(self) -> int:
        """Maximum number of objects written in parallel; 1 if a name depends on earlier ones."""
        options = self.options
        if options.guess_extension or options.conflict is Conflict.RENAME:
            return 1
        return min(self._shard.jobs, WRITERS) if self._each_piece is None else 1

    def _plan(self, ref: ObjectRef | ShardError) -> _Task:
        if isinstance(ref, ShardError):
            return _Task(results=(Extracted.failed(None, ref),))
        if ref.state in _BARE:
            bare = Extracted(ref.key, "", state=ref.state.name.lower(), row=ref.row)
            return _Task(results=() if self.options.skip_unused else (bare,))
        try:
            files = files_of(self._shard, ref, self.options)
            task = _Task(ref, tuple(self._planned(ref, part, raw) for part, raw in files.items()))
        except ShardError as error:
            return _Task(results=(Extracted.failed(ref.key, error, row=ref.row),))
        if self._planned_one is not None:
            self._planned_one(task.reads is not None)
        return task

    def _planned(self, ref: ObjectRef, part: str, raw: str) -> _File:
        if not self.options.guess_extension:
            name = self.names.give(raw)
            settled = self._stays and self._size_there(name) is not None
            return _File(part, raw, name, settled)
        if self.options.conflict is Conflict.SKIP:
            for ending in ENDINGS:
                name = self.names.preview(raw, ending)
                if self._is_same(name, _size_of(self._shard, ref, part, name)):
                    return _File(part, raw, self.names.give(raw, ending), settled=True)
        return _File(part, raw)

    def _size_there(self, name: str) -> int | None:
        """Return the size of an existing name; `_NO_SIZE` if it is not a file, None if it does not exist."""
        if self.delivery is not None:
            return self.there.get(name)
        try:
            found = os.lstat(extended(self.lead + name))
        except (OSError, ValueError):
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else _NO_SIZE

    def _is_same(self, name: str, size: int) -> bool:
        """Return whether an existing file counts as the file of an object; a negative `size` is unknown.

        Name and size are enough, since a file gets its name only when it is complete. For a link, the name is enough.
        """
        there = self._size_there(name)
        if there is None or _is_folder(self.folder / name):
            return False
        return there == size or there < 0 or size < 0

    def _extract(self, task: _Task) -> list[Extracted]:
        ref = task.ref
        if ref is None:
            return list(task.results)
        results = []
        for file in task.files:
            try:
                results.append(self._extract_file(ref, file))
            except ShardError as error:
                results.append(Extracted.failed(ref.key, error, file.part, ref.row))
        return results

    def tidy(self) -> None:
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        self._ends.close()

    def _facts(self, ref: ObjectRef) -> dict[str, Any]:
        try:
            return self._shard.facts(ref) if self.options.manifest else {}
        except ShardError:
            # Damage of the metadata is reported with the content, or does not affect it.
            return {}

    def _extract_file(self, ref: ObjectRef, file: _File) -> Extracted:
        name, options = file.name, self.options
        pieces = _pieces(self._shard, ref, file.part, options.limit, name or file.raw)
        if not name:
            head, pieces = _peeked(pieces, HEAD)
            name = self.names.give(file.raw, ending_of(head[:HEAD], whole=len(head) < HEAD))
        conflict, free = options.conflict, self._stays and bool(file.name) and not file.settled
        exists = not free and self.exists(name)
        if exists and conflict is Conflict.SKIP:
            return self._skipped(ref, file.part, name)
        if exists and conflict is Conflict.ERROR and self.delivery is not None:
            raise UsageError(f"{self._shown(name)} exists", remedy=Remedy.REPLACE)
        try:
            path = self._free_path(name) if exists and conflict is Conflict.RENAME else self.folder / name
            path, size, digest = self._write(ref, file.part, pieces, path, name, free=free)
        except UsageError as error:
            # Another run wrote it meanwhile.
            if conflict is Conflict.SKIP and error.remedy is Remedy.REPLACE and not exists and self.exists(name):
                return self._skipped(ref, file.part, name)
            raise
        return Extracted(ref.key, str(path), size, digest, part=file.part, row=ref.row, facts=self._facts(ref))

    def _skipped(self, ref: ObjectRef, part: str, name: str) -> Extracted:
        size = _size_of(self._shard, ref, part, name)
        if self._is_same(name, size):
            return Extracted(ref.key, "", part=part, skipped=self._shown(name), row=ref.row)
        if _is_folder(self.folder / name):
            raise exists_error(self.folder / name)
        text = f"{self._shown(name)} exists already, with {self._size_there(name):,} bytes instead of {size:,}"
        raise UsageError(text, remedy=Remedy.REPLACE)

    def _write(
        self, ref: ObjectRef, part: str, pieces: Iterator[bytes], path: Path, name: str, *, free: bool
    ) -> tuple[Path, int, str]:
        """Write a file and its folder; tries twice, since a concurrent run may remove the folder while it is empty."""
        force = self.options.conflict is Conflict.REPLACE
        mark = "" if part or self.delivery is not None else mark_of(self._shard, ref, self.options.limit)
        for last in (False, True):
            self._make_folders(path.parent if "/" in name else self.folder)
            try:
                with self._held(name) as folder:
                    held, other = folder / path.name, None
                    if self.options.conflict is Conflict.RENAME:
                        other = partial(self._free_path, name, folder)
                    found = _write(
                        self._shard,
                        ref,
                        pieces,
                        held,
                        mark,
                        force=force,
                        each_piece=self._each_piece,
                        other=other,
                        free=free,
                    )
                return path.with_name(found[0].name), *found[1:]
            except SourceError:
                if last or path.parent.is_dir():
                    raise
                self._known = {self.folder}
                # The iterator cannot be read twice.
                pieces = _pieces(self._shard, ref, part, self.options.limit, name)
        raise AssertionError("the second attempt returns or raises")

    @contextlib.contextmanager
    def _held(self, name: str) -> Iterator[Path]:
        inner, shown = name.rpartition("/")[0], (self.folder / name).parent
        if not inner:
            yield shown
            return
        with reported_as(f"cannot write into {shown}"), held_folder(self.folder, inner) as held:
            try:
                yield held
            except ShardError as error:
                error.message = error.message.replace(f"{held}{os.sep}", f"{shown}{os.sep}")
                raise

    def _shown(self, name: str) -> str:
        return self.root + name if self.delivery is not None else str(self.folder / name)

    # --- files that are sent to an object store ------------------------------------------------------------------

    def _deliver(self, done: Extracted) -> Extracted:
        if self.delivery is None or not done.path:
            # The target name is the final one, not that of the temporary file.
            return replace(done, error=done.error.replace(f"{self.folder}/", self.root))
        path, conflict = Path(done.path), self.options.conflict
        name = path.relative_to(self.folder).as_posix()
        original = self._renamed.pop(name, name)
        while True:
            try:
                return replace(done, path=self.delivery.send(path, name))
            except UsageError as error:
                # Another run wrote it meanwhile.
                if error.remedy is Remedy.REPLACE and conflict is Conflict.SKIP:
                    return Extracted(done.key, "", part=done.part, skipped=self._shown(name), row=done.row)
                if error.remedy is not Remedy.REPLACE or conflict is not Conflict.RENAME:
                    return Extracted.failed(done.key, error, done.part, done.row)
                name = self._free_path(original).relative_to(self.folder).as_posix()

    def _free_path(self, name: str, folder: Path | None = None) -> Path:
        other = self.free_name(name)
        if self.delivery is not None:
            self._renamed[other] = name
        path = self.folder / other
        return path if folder is None else folder / path.name

    def _make_folders(self, folder: Path) -> None:
        if folder not in self._known:
            with self._making:
                self._make_folder(folder)

    def _make_folder(self, folder: Path) -> None:
        if folder in self._known:
            return
        self._make_folder(folder.parent)
        try:
            os.mkdir(extended(folder))  # noqa: PTH102
            self._made.append(folder)
        except FileExistsError:
            if not _is_folder(folder):
                raise UsageError(f"{folder} exists already, and is not a folder") from None
        except OSError as error:
            raise SourceError(f"cannot create the folder {folder}: {reason_of(error)}") from error
        self._known.add(folder)


def _each(refs: Iterable[Wanted]) -> Iterator[Wanted]:
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


def is_empty(folder: Path) -> bool:
    try:
        return next(folder.iterdir(), None) is None
    except OSError:
        return True


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _size_of(shard: Shard, ref: ObjectRef, part: str, name: str) -> int:
    return -1 if part or ref.size < 0 else ref.size + len(shard.file_head(ref, name))


def _write(
    shard: Shard,
    ref: ObjectRef,
    pieces: Iterator[bytes],
    path: Path,
    mark: str,
    *,
    force: bool,
    each_piece: EachPiece | None,
    other: OtherPath | None = None,
    free: bool = False,
    hashed: bool = True,
) -> tuple[Path, int, str]:
    """Write the pieces of an object; with a `mark`, the partial file of an interrupted attempt is continued."""
    digest = hashlib.sha256()

    def counted(found: Iterable[bytes]) -> Iterator[bytes]:
        for piece in found:
            if each_piece is not None:
                each_piece(len(piece))
            if hashed and not mark:
                digest.update(piece)
            yield piece

    def rest(start: int) -> Iterator[bytes]:
        if start and each_piece is not None:
            each_piece(start)
        starts = range(start, ref.size, PIECE)
        ranges = (shard.read_range(ref, at, min(at + PIECE, ref.size)) for at in starts)
        yield from counted(ranges if start else shard.stream(ref))

    if mark:
        return write_resumable(path, mark, ref.size, rest, force=force, other=other)
    return *write_as(path, counted(pieces), force=force, other=other, free=free), digest.hexdigest()


def _pieces(shard: Shard, ref: ObjectRef, part: str, limit: int | None, name: str) -> Iterator[bytes]:
    if not part:
        if head := shard.file_head(ref, name):
            yield head
        yield from bounded(shard, ref, limit)
        return
    data = memoryview(shard.read_part(ref, part, limit=ANY_SIZE if limit is None else limit))
    for at in range(0, len(data), PIECE):
        yield bytes(data[at : at + PIECE])


def _peeked(pieces: Iterator[bytes], count: int) -> tuple[bytes, Iterator[bytes]]:
    """Return at least `count` bytes from the beginning of a content (all if shorter), and an iterator of all pieces."""
    first: list[bytes] = []
    size = 0
    while size <= count and (piece := next(pieces, None)) is not None:
        first.append(piece)
        size += len(piece)
    return b"".join(first), chain(first, pieces)
