"""Comparison of the same objects in every format that can be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardcore.errors import UsageError
from shardcore.model.number_words import plural
from shardcore.model.options import OptionPurpose, read_options
from shardcore.progress import Progress, no_progress
from shardcore.shards.registry import all_formats, format_of, writes_of
from shardcore.teaching.comparison.contents import ComparedContents, ComparedObject
from shardcore.teaching.comparison.measure import measured, uncompressed
from shardcore.teaching.comparison.row import FormatRow
from shardcore.writing.temporary import TemporaryFile


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rows, and what they are about.

    Attributes:
        title: What was packed, in few words.
        rows: One for each format, in the order of the registry.
        count: Objects.
        content: Bytes of the objects.
        notes: What was left out, a sentence each.
        own_codecs: Whether each format compresses by its default codec; otherwise contents are stored uncompressed.
    """

    title: str
    rows: tuple[FormatRow, ...]
    count: int
    content: int
    notes: tuple[str, ...] = ()
    own_codecs: bool = False

    @property
    def largest(self) -> int:
        """Bytes of the largest: the end of the scale that all strips have."""
        return max((row.size for row in self.rows), default=0)

    @property
    def about(self) -> str:
        """Return what was packed, in one line."""
        return about_text(self.title, self.count, self.content, own_codecs=self.own_codecs)


def about_text(title: str, count: int, content: int, *, own_codecs: bool) -> str:
    """Return what is packed, and how it is stored, in one line."""
    codec = "default codec of each format" if own_codecs else "uncompressed in all formats"
    return f"{title} · {plural(count, 'object')}, {plural(content, 'byte')} · {codec}"


def compared_formats() -> tuple[str, ...]:
    """The formats that can be written."""
    return tuple(one.name for one in all_formats() if one.writes is not None)


def compare(
    contents: ComparedContents,
    *,
    count: int | None = None,
    size: int | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    own_codecs: bool = False,
    progress: Progress = no_progress,
) -> Comparison:
    """Packs the same objects into every format, and measures.

    Args:
        contents: Where the objects come from.
        count: How many; None for those that are there.
        size: Bytes of each; None for as many as each has.
        options: By the name of a format: a value for its dial, by the dial's name, and options for writing.
        own_codecs: Whether each format compresses by its default codec. Otherwise contents are stored uncompressed.
        progress: Called after every format.

    Raises:
        UsageError: A format or an option does not exist.
    """
    names = compared_formats()
    given = dict(options or {})
    for name, values in given.items():
        check_options(name, values)
    objects = contents.objects(count, size)
    rows = []
    for number, name in enumerate(names):
        progress(number, len(names))
        chosen = given.get(name, {})
        rows.append(measured(name, objects, chosen if own_codecs else uncompressed(name, chosen)))
    notes = left_out(contents, count, size)
    return Comparison(contents.title, tuple(rows), len(objects), content_of(objects), notes, own_codecs)


def content_of(objects: Sequence[ComparedObject]) -> int:
    """Bytes of the contents."""
    return sum(len(one.data) for one in objects)


def left_out(contents: ComparedContents, count: int | None, size: int | None) -> tuple[str, ...]:
    """Return what people should know of a choice of objects, a sentence each."""
    most = contents.most(size)
    if count is None or count <= most:
        return contents.notes
    each = f" of {plural(size, 'byte')}" if size is not None else ""
    return (*contents.notes, f"{plural(most, 'object')}{each} are compared instead of {count:,}: that is the most")


def check_options(name: str, values: Mapping[str, Any]) -> None:
    """Looks whether a format has such options.

    Raises:
        UsageError: The format does not exist or cannot be written, or an option or value does not exist.
    """
    found = format_of(name)
    dial = writes_of(found).dial
    rest = dict(values)
    if dial is not None and dial.name in rest:
        value = str(rest.pop(dial.name))
        if dial.options is not None and value not in dial.values:
            raise UsageError(f"{dial.name} must be one of {', '.join(dial.values)}, not {value}")
        if dial.options is None:
            rest[dial.name] = value
    read_options(found.options, rest, OptionPurpose.WRITE, name)


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Writes a picture or a table; it appears when it is complete.

    Raises:
        UsageError: A file of that name is there, and `force` is not set.
        SourceError: It cannot be written.
    """
    file = TemporaryFile(path)
    try:
        file.write(text.encode())
        file.complete()
        file.appear(force=force)
    except BaseException:
        file.discard()
        raise
