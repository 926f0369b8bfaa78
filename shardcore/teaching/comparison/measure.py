"""Row of one format in a comparison: its objects packed in memory and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shardcore.errors import ShardError
from shardcore.shards.format import Format
from shardcore.shards.registry import format_of, writes_of
from shardcore.teaching.comparison.contents import ComparedObject
from shardcore.teaching.comparison.costs import action_costs, cold_lookup
from shardcore.teaching.comparison.packed import PackedFormat, pack_in_memory, pieces_of_plan
from shardcore.teaching.comparison.row import FormatRow

Options = Mapping[str, Any]


def blank(format: str, options: Options) -> FormatRow:
    """Return what a format says of itself, before anything was packed.

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
