"""Public functions that detect, open and create shards, given a path, an address, bytes or an object of a shard."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, BinaryIO, Concatenate, ParamSpec, TypeVar

from shardcore.dataclasses import dataclass, replace
from shardcore.errors import FormatError, NotAShard, UsageError
from shardcore.model.budget import budgeted, operation
from shardcore.model.inside_path import InsidePath, InsideStep, split_inside
from shardcore.model.options import Option, OptionPurpose, OptionType, read_options
from shardcore.model.text import plural, short
from shardcore.progress import Progress, no_progress
from shardcore.shards.detect import LONGEST_BEGINNING, check_found, is_other_file, judge, judge_folder, partial_match
from shardcore.shards.format import Certainty, Format, Verdict
from shardcore.shards.open_context import Draft, OpenContext, PartialShard
from shardcore.shards.registry import all_containers, all_formats, each_format, folder_marks, format_of, writes_of
from shardcore.shards.shard import Shard, label_requests
from shardcore.sources.base import SMALL_HEAD, WHOLE_HEAD, WHOLE_RANGE, Folder, Source, on_failure, opens_whole
from shardcore.sources.local import FileSource, LocalFolder, listed_once
from shardcore.sources.location import FolderOpener, Openable, folder_of, local_path, source_of, text_at
from shardcore.sources.prefetched_source import PrefetchedSource
from shardcore.sources.remote.address import is_address, is_viewer_link, shown_address
from shardcore.writing.temporary_names import check_replaced

if TYPE_CHECKING:
    from shardcore.sources.remote.options import RemoteOptions
    from shardcore.sources.remote.request_log import RequestLog
    from shardcore.writing.output import Output
    from shardcore.writing.writer import Writer

REMOTE_JOBS = 16
"""Default number of remote members or objects processed in parallel."""

MOST_JOBS = 8
"""Maximum number of threads that process local files if the caller gives no number."""

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Detection:
    """Detected format.

    Attributes:
        format: Name of the format.
        why: Evidence, in one phrase.
    """

    format: str
    why: str


def chosen_address(where: T) -> T | str:
    """Return the address of the only layer of a Neuroglancer link; anything else is returned unchanged."""
    if not isinstance(where, str) or not is_viewer_link(where):
        return where
    from shardcore.shards.viewer_link import layer_address

    return layer_address(where)


@operation
def detect(where: Openable, *, remote: RemoteOptions | None = None) -> Detection:
    """Detect a format by the content of the file, else by files beside it, else by inference from the structure.

    Args:
        where: A path (of a file or folder), an address, bytes, a seekable binary file object, a `Source` or a `Folder`.
        remote: Options for remote files, and limits of requests.

    Raises:
        NotAShard: No format matches with enough certainty; `candidates` of the error are partial matches.
        SourceError: The bytes cannot be read.
    """
    where = chosen_address(where)
    target = _source(where, remote)
    try:
        if isinstance(target, Folder):
            with listed_once():
                found, verdict = judge_folder(target, each_format)
        else:
            probe = PrefetchedSource(target)
            found, verdict = judge(probe, each_format, all_containers)
            if verdict.certainty is Certainty.PARTLY:
                _check_mark(found, verdict, probe)
    finally:
        if target is not where:
            target.close()
    return Detection(found.name, verdict.why)


@operation
def open(
    where: Openable,
    *,
    format: str | None = None,
    partial: bool = False,
    progress: Progress = no_progress,
    remote: RemoteOptions | None = None,
    tape: RequestLog | None = None,
    jobs: int | None = None,
    manifest: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Shard:
    """Open a shard or a data set.

    Args:
        where: A path (of a file or folder), an address, bytes, a seekable binary file object, a `Source` or a `Folder`.
            `FILE#/KEY/KEY…` opens an object inside FILE; see `open_inside`. All other arguments then apply to FILE.
        format: Name of the format; default: detected.
        partial: Return the readable part of a damaged shard (with `damage` set) instead of raising an error.
        progress: Called as `progress(done, total)` if opening takes long.
        remote: Options for remote files, and limits of requests.
        tape: Log to which the requests for remote bytes are added; it is also `shard.tape`.
        jobs: Number of members or objects that operations on all of them process in parallel; default: 1 if they are
            local, else `threads` of `remote` (16).
        manifest: Path of a manifest of `convert`, `pack` or `extract`, with options for opening, such as the `spec`.
        **options: Options that formats declare for opening (`Format.options`), such as `spec` (neuroglancer) or
            `xorbs` (mdb). Those of other formats are ignored, unless they imply the format.

    Raises:
        UsageError: No format has such an option, or its value is invalid.
        NotAShard: No format recognises the bytes.
        FormatError: The bytes are damaged.
        SourceError: The bytes cannot be read, or an interrupted run left some files replaced and some not.
    """
    where = chosen_address(where)
    if manifest is not None:
        from shardcore.writing.manifest import opening_in

        given = {name: value for name, value in options.items() if value is not None}
        options = {**opening_in(local_path(manifest)), **given}
    if isinstance(where, str) and (inner := path_inside(where)) is not None:
        outer = open(
            inner[0], format=format, partial=partial, progress=progress, remote=remote, tape=tape, jobs=jobs, **options
        )
        return open_inside(outer, *inner[1], partial=partial, progress=progress, remote=remote, closing=True)
    values, named, claim = _opening_options(options, remote, tape)
    name = format or named
    remote = _with_threads(where, remote, jobs)
    target = _source(where, remote, tape, name)
    elsewhere = FolderOpener(remote, getattr(target, "tape", tape))
    context = OpenContext(
        _open_as,
        partial=partial,
        progress=progress,
        values=values,
        forced=name is not None,
        reach=elsewhere,
        trusted=remote.trusted if remote is not None else frozenset(),
    )
    with on_failure(lambda: None if target is where else target.close()):
        if isinstance(target, (LocalFolder, FileSource)):
            check_replaced(target.path, folder=isinstance(target, LocalFolder))
        if isinstance(target, Folder):
            shard = _open_folder(target, name, context)
        else:
            shard = _open_source(target, name, context, claim="" if format else claim)
        shard.tape = elsewhere.tape
        shard.chosen = {**({"format": format} if format else {}), **values}
        shard.opened_at = os.fsdecode(where) if isinstance(where, (str, os.PathLike)) else ""
        shard.opened_with = remote
        if values.get("isolated"):
            shard.isolate()
        label_requests(shard)
        place = getattr(shard, "folder", None) or target
        near = place.lists_cheaply if isinstance(place, Folder) else place.near
        shard.jobs = jobs if jobs is not None else 1 if near else remote.threads if remote else REMOTE_JOBS
        return shard


def _with_threads(where: object, remote: RemoteOptions | None, jobs: int | None) -> RemoteOptions | None:
    if jobs is None or not is_address(where) or (remote is not None and remote.threads >= jobs):
        return remote
    from shardcore.sources.remote.options import RemoteOptions

    return replace(remote or RemoteOptions(), threads=jobs)


MOST_INSIDE = 16
"""Maximum number of keys in a path inside a file: `FILE#/KEY/KEY…`."""


def path_inside(where: str) -> tuple[str, InsidePath] | None:
    """Split `FILE#/KEY/KEY…` into file and path inside it; None without a path inside, or if a file is named so."""
    if "#/" not in where or (not is_address(where) and os.path.lexists(local_path(where))):
        return None
    file, path, rest = split_inside(where)
    if not path:
        return None
    if rest:
        raise UsageError(f"{short(rest)} is a range of bytes; omit it to open the object")
    return file, path


@operation
def open_inside(
    shard: Shard,
    *path: InsideStep,
    format: str | None = None,
    partial: bool = False,
    progress: Progress = no_progress,
    remote: RemoteOptions | None = None,
    closing: bool = False,
) -> Shard:
    """Open an object that is a shard itself, or a `.npy`, safetensors, zip, gzip or zstd file.

    An uncompressed object is read in place, so that in a remote file only ranges are requested. A compressed one is
    decoded once, at most 1 GiB.

    Args:
        shard: The shard.
        *path: The key of an object, then of an object in that object, and so on; or a `SourceName` of bytes.
        format: Name of the innermost format; default: detected.
        partial: Return the readable part of a damaged shard instead of raising an error.
        progress: Called as `progress(done, total)` if opening takes long.
        remote: Options for remote files to which the object refers.
        closing: Whether closing the result also closes `shard`, as does an error of this function.

    Raises:
        KeyAbsent: A key was not found.
        NotAShard: No format recognises the bytes.
        FormatError: The bytes are damaged.
        SourceError: The bytes cannot be read.
        UsageError: The path has too many steps, or there are no bytes of that name.
    """
    from shardcore.shards.inner_source import source_inside

    found = shard
    # The format chosen for the file does not apply to its content; options that imply no format do.
    given = (option for one in all_formats() for option in one.options_for(OptionPurpose.OPEN))
    kept = {one.name: shard.chosen[one.name] for one in given if not one.names_format and one.name in shard.chosen}
    with on_failure(lambda: found.close() if closing or found is not shard else None):
        if not 0 < len(path) <= MOST_INSIDE:
            raise UsageError(f"a path inside a file has 1 to {MOST_INSIDE} steps, not {len(path)}")
        for number, step in enumerate(path, 1):
            last = number == len(path)
            source = source_inside(found, step, owned=closing or number > 1)
            chosen: dict[str, Any] = {"format": format if last else None, "partial": partial and last} | kept
            try:
                with on_failure(source.release):
                    found = open(source, progress=progress, remote=remote, jobs=shard.jobs, **chosen)
            except NotAShard as error:
                raise NotAShard(error.message, candidates=error.candidates, is_other=True) from error
        return found


def opening(
    function: Callable[Concatenate[Shard, P], R],
) -> Callable[Concatenate[Shard | Openable, P], R]:
    """Decorate a function that takes a shard, so that it also takes a path or address, and opens it for the call."""

    @wraps(function)
    def call(shard: Shard | Openable, /, *arguments: P.args, **named: P.kwargs) -> R:
        if isinstance(shard, Shard):
            return function(shard, *arguments, **named)
        # `convert` has an argument `manifest`. Standard input (`-`) can be read only once, which `convert` does itself.
        manifest = named.get("manifest")
        with open(shard, manifest=manifest if manifest != "-" else None) as opened:  # type: ignore[arg-type]
            return function(opened, *arguments, **named)

    return call


def _source(
    where: Openable,
    remote: RemoteOptions | None,
    tape: RequestLog | None = None,
    format: str | None = None,
) -> Source | Folder:
    if not is_address(where):
        return source_of(where, remote, tape)
    name = re.split(r"[?#|]", str(where), maxsplit=1)[0].rpartition("/")[2]
    return source_of(where, remote, tape, head_bytes(name, format), folder_marks())


def head_bytes(name: str, format: str | None = None) -> int:
    """Return the number of bytes that the first request of a remote file fetches, chosen by its name and format.

    Files of most formats have only a few fields at the beginning, and their index at another offset.
    """
    formats = [one for one in all_formats() if one.head_names and format in (None, one.name)]
    whole = any(re.fullmatch(one.head_names, name) for one in formats)
    # If the index is at the beginning, no further request may be needed.
    return WHOLE_HEAD if whole else WHOLE_RANGE if opens_whole() else SMALL_HEAD


def _opening_options(
    given: Mapping[str, Any], remote: RemoteOptions | None, tape: RequestLog | None
) -> tuple[dict[str, Any], str | None, str]:
    """Return the options for opening, the format that one of them implies, and the name of that option."""
    values: dict[str, Any] = {}
    named: str | None = None
    claim = ""
    wanted = {name: value for name, value in given.items() if value not in (None, False, "")}
    if not wanted:
        return values, named, claim
    declared = {
        option.name: (one.name, option) for one in all_formats() for option in one.options_for(OptionPurpose.OPEN)
    }
    for name, value in wanted.items():
        if name not in declared:
            raise UsageError(f"no format has an option {short(name)} for opening (available: {', '.join(declared)})")
        format, option = declared[name]
        value = read_json_at(option, value, format, remote, tape)
        values[name] = folder_of(value, remote, tape) if option.type is OptionType.FOLDER else option.value_of(value)
        named, claim = (format, name) if option.names_format else (named, claim)
    return values, named, claim


def read_json_at(option: Option, value: Any, format: str, remote: RemoteOptions | None, tape: RequestLog | None) -> Any:
    """Return the text at an address, if the option takes JSON and the value is an address; else the value itself."""
    if option.type is not OptionType.JSON or not is_address(value):
        return value
    return text_at(value, format_of(format).folder_mark, remote, tape).decode("utf-8", "surrogateescape")


def create(
    target: str | os.PathLike[str] | BinaryIO | None,
    format: str,
    *,
    force: bool = False,
    folder: bool | None = None,
    plan: bool = False,
    jobs: int | None = None,
    **options: Any,
) -> Writer:
    """Create a writer of a new shard.

    Args:
        target: Path of the shard, or a seekable binary file object, to which the complete shard is copied at its
            current position; None to plan only.
        format: Name of the format.
        force: Whether existing files are replaced; in a folder, shards that are not written again are removed.
        folder: Whether the target is the folder of a data set; default: True if it is a folder or ends with `/`.
        plan: Plan only: nothing is written, even if there is a target.
        jobs: Number of threads that compress and hash contents; default: one per core, at most 8.
        **options: Options that the format declares for writing (`Format.options`).

    Raises:
        UsageError: The format is unknown or cannot be written, an option is invalid, or the target exists or is not a
            seekable binary file object.
    """
    writes = writes_of(format_of(format))
    path, stream = (target, None) if target is None or isinstance(target, (str, os.PathLike)) else (None, target)
    if stream is not None:
        _check_writable(stream)
    if path is not None and is_address(path):
        raise UsageError(f"{shown_address(os.fsdecode(path))} is an address: shards are written to local files only")
    if path is not None and os.fsdecode(path) == "-":
        raise UsageError("a shard cannot be written to standard output: give a file name")
    if folder is None:
        folder = path is not None and means_folder(path)
    if folder and not writes.folder:
        where = f"{path} is a folder; " if path is not None and means_folder(path) else ""
        raise UsageError(f"{where}{format} writes one file: give a file name")
    if not folder and not writes.file:
        raise UsageError(f"{format} writes a folder: give a folder, or a name that ends with /")
    from shardcore.writing.output import Output, StreamOutput

    def output() -> Output:
        threads = jobs or min(os.cpu_count() or 1, MOST_JOBS)
        if stream is not None and not plan:
            return StreamOutput(stream, jobs=threads)
        final = None if path is None else local_path(path)
        return Output(final, force=force, folder=folder, replaces=writes.members, planning=plan, jobs=threads)

    return create_in(output, format=format, **options)


def _check_writable(stream: BinaryIO) -> None:
    try:
        writable = stream.seekable() and stream.write(b"") == 0
    except (AttributeError, TypeError, ValueError, OSError) as error:
        raise UsageError(f"{type(stream).__name__} is not a binary file object for writing: {error}") from error
    if not writable:
        raise UsageError(f"{type(stream).__name__} is not a seekable file object")


def create_in(output: Callable[[], Output], *, format: str, **options: Any) -> Writer:
    """Create a writer. `output` creates its output; it is called only after the options were checked."""
    found = format_of(format)
    writes = writes_of(found)
    values = read_options(found.options, options, OptionPurpose.WRITE, format)
    where = output()
    with on_failure(where.discard):
        writer = writes.create(where, **values)
    writer.declared = found.options_for(OptionPurpose.FACT)
    writer.part_names = writes.parts
    return writer


def means_folder(target: str | os.PathLike[str]) -> bool:
    """Return whether a target is an existing folder or ends with `/`."""
    text = os.fsdecode(target)
    return text.endswith(("/", os.sep)) or os.path.isdir(local_path(text))  # noqa: PTH112


def locate(
    format: str, key: str, *, remote: RemoteOptions | None = None, tape: RequestLog | None = None, **options: Any
) -> dict[str, Any]:
    """Compute which shard contains a key, without reading it. Options that take JSON also accept the address of a file.

    Raises:
        UsageError: The format does not route keys, or the key or an option does not fit.
        ShardError: A file that an option refers to cannot be read or is damaged.
    """
    found = format_of(format)
    if found.locate is None:
        there = ", ".join(one.name for one in all_formats() if one.locate is not None)
        raise UsageError(f"{format} does not route keys to shards (supported: {there})")
    given = {
        name: text_at(str(value), found.folder_mark, remote, tape).decode("utf-8", "surrogateescape")
        if is_address(value)
        else value
        for name, value in options.items()
    }
    return found.locate(key, **read_options(found.options, given, OptionPurpose.LOCATE, format))


def _open_source(target: Source, name: str | None, context: OpenContext, *, claim: str = "") -> Shard:
    """Open a file as the format `name`, or as the detected one. `claim` is the option that implies `name`, if any."""
    probe = PrefetchedSource(target)
    if name and claim:
        _check_claim(probe, name, claim)
    try:
        asked = Verdict(Certainty.MAGIC, "format given")
        found, verdict = (format_of(name), asked) if name else judge(probe, each_format, all_containers)
    except NotAShard as error:
        if not context.partial:
            raise
        return PartialShard("unknown", target, Draft(), error)
    try:
        with budgeted():  # unforeseen exceptions count as damage: part of the file may still be shown
            shard = found.open(probe, context)
    except (FormatError, NotAShard) as error:
        if is_other_file(verdict, context.draft, error):
            unknown = partial_match(found, verdict, probe.name)
            if not context.partial:
                raise unknown from error
            return PartialShard("unknown", target, Draft(), unknown)
        if not context.partial:
            raise
        shard = PartialShard(found.name, target, context.draft, error)
    if shard.title == Shard.title:
        shard.title = f"{found.title} v{shard.version}" if shard.version else found.title
    shard.why = shard.why or verdict.why
    return shard


def _check_claim(probe: PrefetchedSource, named: str, option: str) -> None:
    """Raise UsageError if an option implies one format, but the file has the magic number of another."""
    head = probe.head(LONGEST_BEGINNING)
    for one in all_formats():
        marks = (*one.begins, *one.marks)
        if one.name == named or not head.startswith(marks):
            continue
        verdict = one.detect(probe)
        if verdict is not None and verdict.certainty is Certainty.MAGIC:
            mark = next(mark.rstrip(b"\0").decode("ascii") for mark in marks if head.startswith(mark))
            what = f"begins with {mark} ({one.name})"
            raise UsageError(f"{probe.name} {what}, but {option} is an option of {named}")


def _check_mark(found: Format, verdict: Verdict, probe: PrefetchedSource) -> None:
    """Raise NotAShard if a file has only part of a magic number, and opening it fails before anything is read of it."""
    context = OpenContext(_open_as)
    try:
        found.open(probe, context)
    except (FormatError, NotAShard) as error:
        if is_other_file(verdict, context.draft, error):
            raise partial_match(found, verdict, probe.name) from error


def _open_as(source: Source, name: str) -> Shard:
    return format_of(name).open(PrefetchedSource(source), OpenContext(_open_as, forced=True))


@listed_once()
def _open_folder(folder: Folder, name: str | None, context: OpenContext) -> Shard:
    found, verdict = (
        (format_of(name), Verdict(Certainty.MAGIC, "format given")) if name else judge_folder(folder, each_format)
    )
    if found.open_folder is None:
        raise UsageError(f"{folder.uri} is a folder, but {found.name} has no data sets: give one of its files")
    try:
        shard = found.open_folder(folder, context)
    except NotAShard:
        check_found(folder, next(folder.pages(), []) if folder.listable else (folder.name,))
        raise
    from shardcore.shards.dataset import DataSet

    if shard.title == Shard.title:
        shard.title = found.folder_title
    if isinstance(shard, DataSet) and shard.listed and shard.members:
        shard.title += f", {plural(len(shard.members), 'file' if shard.files_are_objects else 'shard')}"
    shard.why = shard.why or verdict.why
    return shard
