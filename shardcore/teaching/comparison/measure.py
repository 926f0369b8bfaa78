"""The row of one format: packed and measured, or sketched from a few of the objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shardcore.errors import ShardError
from shardcore.model.section import SectionRole
from shardcore.shards.format import Format
from shardcore.shards.registry import format_of, writes_of
from shardcore.teaching.comparison.contents import ComparedObject
from shardcore.teaching.comparison.costs import action_costs, cold_lookup
from shardcore.teaching.comparison.packed import PackedFormat, pack_in_memory, pieces_of_plan
from shardcore.teaching.comparison.row import FormatRow, SectionShare

FEW, MORE = 10, 40
"""A sketch packs as many objects, and as many; how the sections grow between the two is how they go on growing."""

Options = Mapping[str, Any]


def blank(format: str, options: Options) -> FormatRow:
    """What a format says of itself, before anything was packed.

    Args:
        format: Its name.
        options: A value of its dial by the dial's name, and options for writing.
    """
    found = format_of(format)
    writes = writes_of(found)
    dial = writes.dial
    return FormatRow(
        format,
        found.title,
        cannot=writes.cannot,
        purpose=writes.purpose,
        dial=dial.name if dial is not None else "",
        value=str(options.get(dial.name, dial.usual)) if dial is not None else "",
    )


def uncompressed(format: str, options: Options) -> dict[str, Any]:
    """Return options with which a format stores contents uncompressed, as far as the given ones do not choose a codec.

    Args:
        format: Its name.
        options: As in `blank`.
    """
    writes = writes_of(format_of(format))
    dial, added = writes.dial, dict(writes.uncompressed)
    for name, value in added.items():
        if isinstance(value, Mapping) and dial is not None:
            added[name] = {**dial.options_for(str(options.get(dial.name, dial.usual)))[name], **value}
    return {**added, **options}


def written_with(found: Format, options: Options) -> dict[str, Any]:
    """Options for writing: the dial's value is turned into those that it means."""
    dial = writes_of(found).dial
    given = dict(options)
    if dial is None:
        return given
    return dial.options_for(str(given.pop(dial.name, dial.usual))) | given


def measured(format: str, objects: Sequence[ComparedObject], options: Options) -> FormatRow:
    """Packs objects into a format, and looks one up, adds, deletes and verifies, counting.

    Args:
        format: Its name.
        objects: The objects.
        options: As in `blank`.

    Returns:
        The row; where the objects or the options do not fit the format, its `error` says why.

    Raises:
        Cancelled: Nobody wants it any more.
    """
    row, packed = looked_up(format, objects, options)
    return with_costs(row, packed, options) if packed is not None else row


def looked_up(
    format: str, objects: Sequence[ComparedObject], options: Options
) -> tuple[FormatRow, PackedFormat | None]:
    """The first half of `measured`: packs, and looks one up; what was packed is for the other half.

    Args:
        format: Its name.
        objects: The objects.
        options: As in `blank`.

    Raises:
        Cancelled: Nobody wants it any more.
    """
    row = blank(format, options)
    found = format_of(format)
    try:
        packed = pack_in_memory(found, objects, written_with(found, options))
        row = _with(row, packed, len(objects))
        return replace(row, lookup=cold_lookup(packed)), packed
    except ShardError as error:
        return replace(row, error=error.message), None


def with_costs(row: FormatRow, packed: PackedFormat, options: Options) -> FormatRow:
    """The other half: a row with what append, delete and verify cost.

    Args:
        row: Of `looked_up`.
        packed: What was packed.
        options: As in `blank`.

    Raises:
        Cancelled: Nobody wants it any more.
    """
    try:
        return replace(row, costs=action_costs(packed, written_with(packed.format, options)))
    except ShardError as error:
        return replace(row, error=error.message)


def _with(row: FormatRow, packed: PackedFormat, count: int) -> FormatRow:
    return replace(
        row,
        content=packed.content,
        objects=count,
        files=len(packed.files),
        pieces=pieces_of_plan(packed.plan),
        notes=packed.notes,
    )


@dataclass(frozen=True, slots=True)
class Points:
    """What became of a few objects, and of a few more: how sections grow is read from these.

    Attributes:
        row: The format; its `error` says why nothing can be told.
        fewer: The sections of `FEW` objects.
        fewer_content: Bytes of these.
        few: Those of `MORE`.
        few_content: Bytes of these.
        files: How many files both became.
        notes: What people should know.
    """

    row: FormatRow
    fewer: tuple[SectionShare, ...] = ()
    fewer_content: int = 0
    few: tuple[SectionShare, ...] = ()
    few_content: int = 0
    files: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()


def points_of(format: str, objects: Sequence[ComparedObject], options: Options) -> Points:
    """Packs a few objects, to sketch many.

    Args:
        format: The name of the format.
        objects: The first `MORE` of them.
        options: As in `blank`.

    Raises:
        Cancelled: Nobody wants it any more.
    """
    row = blank(format, options)
    found = format_of(format)
    try:
        given = written_with(found, options)
        fewer, few = (pack_in_memory(found, objects[:count], given) for count in (FEW, MORE))
    except ShardError as error:
        return Points(replace(row, error=error.message))
    return Points(
        row,
        pieces_of_plan(fewer.plan),
        fewer.content,
        pieces_of_plan(few.plan),
        few.content,
        (len(fewer.files), len(few.files)),
        few.notes,
    )


def sketched(points: Points, count: int, content: int) -> FormatRow:
    """Estimates what packing many objects would give; that takes no time.

    Args:
        points: What became of the first of them.
        count: How many there are, `MORE` at least.
        content: Bytes of all.

    Returns:
        The row, without lookup and costs.
    """
    if points.row.error:
        return points.row
    before = {(piece.name, piece.role): piece for piece in points.fewer}
    pieces = []
    for piece in points.few:
        last = before.get((piece.name, piece.role), SectionShare(piece.name, piece.role, 0, 0))
        if piece.role is SectionRole.DATA:
            size = _further(points.fewer_content, last.size, points.few_content, piece.size, content)
        else:
            size = _further(FEW, last.size, MORE, piece.size, count)
        pieces.append(replace(piece, size=size, count=max(_further(FEW, last.count, MORE, piece.count, count), 1)))
    files = _further(FEW, points.files[0], MORE, points.files[1], count)
    row = replace(points.row, content=content, objects=count, files=files, exact=False, notes=points.notes)
    return replace(row, pieces=tuple(pieces))


def _further(x1: int, y1: int, x2: int, y2: int, x: int) -> int:
    """Where a straight line through two points is at another place; not below the second."""
    if x2 == x1:
        return y2
    return max(round(y2 + (y2 - y1) * (x - x2) / (x2 - x1)), y2)
