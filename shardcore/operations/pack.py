"""Packing of files, or of the files in a manifest, into a shard, which is then verified."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from shardcore.dataclasses import dataclass, field, replace
from shardcore.errors import SourceError, UsageError
from shardcore.model.budget import taking_operation
from shardcore.model.finding import Depth, Report
from shardcore.model.keys import several
from shardcore.model.options import OptionPurpose
from shardcore.model.text import plural
from shardcore.progress import Progress, no_progress
from shardcore.shards.format import Format
from shardcore.shards.opening import create, means_folder
from shardcore.shards.opening import open as open_shard
from shardcore.shards.registry import format_of, writes_of
from shardcore.writing.declaration import Writes
from shardcore.writing.inputs import (
    FormatInputs,
    InputBatch,
    InputItem,
    LeftOut,
    Replaced,
    Skipped,
    input_files,
    named,
    without_replaced,
)
from shardcore.writing.manifest import Loss, ManifestReader, ResultManifest, SourceRecord
from shardcore.writing.output import finish_interrupted
from shardcore.writing.plan import Plan, WrittenFile
from shardcore.writing.temporary import exists_error
from shardcore.writing.writer import ArraySource, OddName, UnreadableInput, Writer


@dataclass(frozen=True, slots=True)
class Packed:
    """Result of packing, or its plan.

    Attributes:
        written: Files that were written; empty for a plan.
        plan: The plan if only that was requested, else None.
        removed: Old shards of the folder that were removed, because they do not belong to the new data set.
        report: Result of the verification; None for a plan.
        notes: Messages about what was left out or cannot be stored; includes the losses.
        losses: Losses of a conversion.
        opening: Options that are needed to open the result; see `Writer.opening`.
        skipped: Inputs that were skipped.
    """

    written: tuple[WrittenFile, ...] = ()
    plan: Plan | None = None
    removed: tuple[Path, ...] = ()
    report: Report | None = None
    notes: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    opening: Mapping[str, Any] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()


@taking_operation
def pack(
    format: str,
    out: str | Path,
    inputs: Sequence[str | Path] = (),
    *,
    manifest: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    force: bool = False,
    plan: bool = False,
    unread: bool = False,
    skip_unreadable: bool = False,
    report: str | Path | None = None,
    verify: Depth = Depth.CONTENT,
    jobs: int | None = None,
    total: int = 0,
    progress: Progress = no_progress,
    verifying: Progress | None = None,
) -> Packed:
    """Pack files into a new shard, or a folder of shards, and verify it.

    Args:
        format: Name of the format.
        out: The shard; if it ends with `/` or is a folder, a data set of several files.
        inputs: Files and folders; `-` reads names from standard input.
        manifest: A manifest, whose objects precede those of the inputs; `-` for standard input.
        options: Options that the format declares for writing.
        force: Whether existing files are replaced.
        plan: Only plan: contents are read and compressed, but nothing is written.
        unread: With `plan`: use file sizes instead of contents; values that depend on contents are estimates.
        skip_unreadable: Skip inputs that cannot be read or have no valid key in the format; see `Packed.skipped`.
        report: JSON file to write, with the key of the object for each input; see `ResultManifest`.
        verify: Depth of the verification.
        jobs: Threads that compress and hash; default: one per core, at most 8. The output does not depend on it.
        total: Number of objects, if known, for `progress`.
        progress: Called after every object.
        verifying: Called instead of `progress` during the verification.

    Raises:
        UsageError: A key, metadata value or option is invalid in the format, a key occurs twice, or the target exists.
        SourceError: An input cannot be read, or the target cannot be written.
    """
    found = format_of(format)
    writes = writes_of(found)
    values = dict(options or {})
    if not inputs and manifest is None and not any(o.content and o.name in values for o in found.options):
        if force and not plan:
            removed = finish_interrupted(Path(out), folder=means_folder(out), force=True)
            if removed is not None:
                return Packed(removed=tuple(removed), notes=(f"completed the interrupted replacement of {out}",))
        raise UsageError("no inputs: give files, folders or a manifest")
    inputs = list(named(several(inputs, "inputs")))
    replaced = Replaced(out, writes.members, folder=means_folder(out), force=force)
    left_out = LeftOut(skip=skip_unreadable)
    notes: list[str] = []
    with ExitStack() as stack:
        read: ManifestReader | None = None
        gathered: FormatInputs | None = None
        items: Iterable[InputItem] = ()
        if manifest is not None:
            read = ManifestReader(manifest, found.options_for(OptionPurpose.FACT), format)
            stack.callback(read.close)
            items = read.items(writes.key_of, left_out)
            if replaced:
                items = without_replaced(items, replaced)
            kept = {option.name for option in found.options_for(OptionPurpose.WRITE)} & {"spec", "seed"}
            values = {name: value for name, value in read.header.items() if name in kept} | values
        if inputs or read is None:
            gathered = gather(writes, inputs, values, left_out)
            values = dict(gathered.options) | values
            more, total = gathered.items, total or gathered.total
            if replaced:
                more = without_replaced(more, replaced, set(map(Path, inputs)), notes)
            items = chain(items, more)
        if plan and unread:
            items = _unread(items, left_out)
        done = write_items(
            found,
            out,
            items,
            values,
            force=force,
            plan=plan,
            left_out=left_out,
            report=Path(report) if report is not None else None,
            verify=verify,
            jobs=jobs,
            total=total,
            progress=progress,
            verifying=verifying,
        )
        dropped = read.dropped if read is not None else {}
        notes += gathered.notes if gathered is not None else ()
        notes += left_out.notes()
    notes += [f"{format} cannot store {name} ({plural(count, 'object')})" for name, count in dropped.items()]
    return replace(done, notes=(*notes, *done.notes))


def write_volume(
    target: str | os.PathLike[str],
    array: ArraySource,
    *,
    chunk: int | Sequence[int] = 64,
    resolution: float | Sequence[float] = 1,
    kind: str | None = None,
    spec: Any = None,
    **others: Any,
) -> Packed:
    """Write an array as a Neuroglancer precomputed volume: info and sharded raw chunks, which are then verified.

    Args:
        target: Local folder.
        array: Array with the axes x, y, z and optionally channel, of NumPy, h5py, zarr …; read chunk by chunk.
        chunk: Voxels per chunk along x, y and z; one number for all.
        resolution: Nanometres per voxel along x, y and z; one number for all.
        kind: `image` or `segmentation`; default: segmentation if voxels are uint32 or uint64.
        spec: Sharding specification; default: suggested.
        **others: `force`, `verify`, `jobs` and `progress` of `pack`, whose errors are also raised.
    """
    axes = [one if isinstance(one, Iterable) else [one] * 3 for one in (chunk, resolution)]
    sizes, lengths = (",".join(map(str, one)) for one in axes)
    given = {"volume": array, "chunk_size": sizes, "resolution": lengths, "kind": kind, "spec": spec}
    return pack("neuroglancer", f"{os.fspath(target)}/", options=given, **others)


def gather(writes: Writes, inputs: Sequence[str | Path], options: Mapping[str, Any], left_out: LeftOut) -> FormatInputs:
    if writes.gather is not None:
        return writes.gather(list(map(Path, inputs)), options, left_out)
    return FormatInputs(_items(writes, inputs, left_out))


def _items(writes: Writes, inputs: Sequence[str | Path], left_out: LeftOut) -> Iterator[InputItem]:
    for path, name in input_files(inputs, left_out):
        try:
            key = writes.key_of(name)
        except UsageError as error:
            left_out.fail(str(path), error)
            continue
        yield InputItem(key, path, str(path), name)


def _unread(items: Iterable[InputItem], left_out: LeftOut) -> Iterator[InputItem]:
    for item in items:
        try:
            sized = item.unread()
        except UnreadableInput as error:
            left_out.fail(item.origin, error)
        else:
            yield sized


def write_items(
    found: Format,
    out: str | Path,
    items: Iterable[InputItem | InputBatch],
    options: Mapping[str, Any],
    *,
    force: bool = False,
    plan: bool = False,
    left_out: LeftOut | None = None,
    report: Path | None = None,
    verify: Depth = Depth.CONTENT,
    jobs: int | None = None,
    total: int = 0,
    progress: Progress = no_progress,
    verifying: Progress | None = None,
    source: SourceRecord | None = None,
) -> Packed:
    """Write objects and verify the result; see `pack`. `source` is recorded in the result manifest."""
    folder = means_folder(out)
    if plan and not folder and os.path.lexists(out) and not force:
        raise exists_error(Path(out))
    left_out = left_out or LeftOut()
    with ExitStack() as stack:
        writer = create(out, format=found.name, force=force, folder=folder, plan=plan, jobs=jobs, **options)
        with writer:
            writer.checks = verify is Depth.CONTENT
            result = ResultManifest(writer.output, found.name, report, source)
            stack.callback(result.discard)
            add_items(writer, found, items, result, left_out, total=total, progress=progress)
            if plan:
                planned = writer.plan()
                planned = replace(planned, files=(*planned.files, *result.planned))
                return Packed(plan=planned, notes=writer.notes, skipped=tuple(left_out.skipped))
        result.appear()
    checked = read_back(out, found.name, writer, verify, verifying or progress)
    return Packed(
        writer.written,
        removed=writer.output.removed,
        report=checked,
        notes=writer.notes,
        opening=dict(writer.opening),
        skipped=tuple(left_out.skipped),
    )


def add_items(
    writer: Writer,
    found: Format,
    items: Iterable[InputItem | InputBatch],
    result: ResultManifest,
    left_out: LeftOut,
    *,
    total: int = 0,
    progress: Progress = no_progress,
) -> None:
    check = writes_of(found).check_key if left_out.skip else None
    added, number = False, 0
    for item in items:
        progress(number, max(total, number + 1))
        if isinstance(item, InputBatch):
            result.note_batch(item, writer.add_many(item.keys, item.contents))
            number += len(item.keys)
            continue
        number += 1
        try:
            if check is not None:
                _check_key(check, item)
            before = writer.rows
            stored = item.add_to(writer)
            result.note(item, stored, None if before is None else (writer.rows or 0) - before)
            added = True
        except (UnreadableInput, OddName) as error:
            left_out.fail(item.origin, error)
    if left_out.skipped and not added:
        why = left_out.skipped[0].why
        raise SourceError(f"nothing is written: none of {plural(len(left_out.skipped), 'input')} can be packed: {why}")
    result.end(left_out.skipped, writer.opening)


def _check_key(check: Callable[[str], str], item: InputItem) -> None:
    try:
        if item.key is not None:
            check(item.key)
    except UsageError as error:
        raise OddName(f"{item.label}: {error.message}" if item.label else error.message) from None


def read_back(out: str | Path, format: str, writer: Writer, depth: Depth, progress: Progress = no_progress) -> Report:
    """Open the result and verify it. Contents are not read again if the writer verified them while writing."""
    reports = []
    checked = Depth.INDEX if writer.proven and depth is Depth.CONTENT else depth
    for folder in writer.folders or ("",):
        with open_shard(Path(out) / folder if folder else out, format=format, **writer.opening) as shard:
            reports.append((folder, shard.verify(checked, progress)))
    findings = [
        replace(finding, message=f"{folder}: {finding.message}") if folder else finding
        for folder, report in reports
        for finding in report.findings
        if finding.code not in writer.expected
    ]
    each = [report for _, report in reports]
    objects = sum(report.objects for report in each)
    if checked is not depth:
        return Report(depth, objects, tuple(findings), objects)
    without = sum(report.without_checksum for report in each)
    return Report(depth, objects, tuple(findings), sum(report.checked for report in each), without)
