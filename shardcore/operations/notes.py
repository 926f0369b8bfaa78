"""Notes on byte ranges of a file, in a JSON file in the user's data folder or beside the file (`FILE.notes.json`).

The name in the data folder depends on the content, so notes survive renames. Notes beside a file take precedence.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shardcore.codecs.json_text import FREE, JsonLimits, parse_json
from shardcore.dataclasses import dataclass, replace
from shardcore.errors import (
    FormatError,
    LimitExceeded,
    ShardError,
    SourceError,
    UsageError,
    raise_unless_absent,
    reported_as,
)
from shardcore.model.node import named
from shardcore.model.span import SourceName, Span
from shardcore.model.text import iso_text, plural, short, visible
from shardcore.shards.dataset import DataSet
from shardcore.shards.registry import format_of
from shardcore.shards.shard import Shard
from shardcore.sources.base import Folder, Source
from shardcore.sources.local import read_side_file
from shardcore.sources.location import local_path
from shardcore.sources.patched_source import PatchedSource
from shardcore.sources.remote.address import is_address
from shardcore.system import last_part, user_folder
from shardcore.writing.temporary import write_whole

MOST_NOTES = 10_000
MOST_LETTERS = 10_000
MOST_BYTES = 8 << 20
ENDS = 1 << 16
"""Bytes at each end of a file that are hashed for its identity."""
SUFFIX = ".notes.json"

_VERSION = 1
_LIMITS = JsonLimits(size=MOST_BYTES, depth=8, values=20 * MOST_NOTES, containers=4 * MOST_NOTES, digits=FREE.digits)
_SET = "set"


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """Note on a byte range; a bookmark if the text is empty. `created` is ISO 8601 with a UTC offset, or empty."""

    span: Span
    text: str = ""
    created: str = ""

    def to_json(self) -> dict[str, Any]:
        return {**self.span.to_json(), "text": self.text, "created": self.created}


@dataclass(frozen=True, slots=True)
class ContentIdentity:
    """Identity of a file: its size (-1 for a data set) and a digest of its first and last bytes. Costs two reads.

    For a data set, the digest covers its marker file, and size, first and last bytes of its first shard.
    """

    size: int
    sha256: str

    @property
    def file_name(self) -> str:
        return f"{_size_prefix(self.size)}-{self.sha256}.json"


@dataclass(frozen=True, slots=True)
class NoteBook:
    """Notes on one file or data set, sorted by source and offset.

    Attributes:
        path: The notes file; it is created with the first note.
        beside: Path of a notes file in the folder of the annotated file; None if the file is not local.
        changed: Whether the notes were written for an earlier content of the file.
    """

    path: Path
    name: str
    identity: ContentIdentity | None
    notes: tuple[Note, ...] = ()
    beside: Path | None = None
    changed: bool = False

    @property
    def is_beside(self) -> bool:
        return self.beside is not None and self.path == self.beside

    def on(self, source: str) -> tuple[Note, ...]:
        return tuple(note for note in self.notes if note.span.source == source)


def user_data_folder() -> Path:
    return user_folder("data") / "notes"


def content_identity(shard: Shard) -> ContentIdentity:
    if isinstance(shard, DataSet):
        return _data_set_identity(shard)
    source = _file_of(shard)
    digest = hashlib.sha256()
    _digest_ends(digest, source)
    return ContentIdentity(source.size, digest.hexdigest())


def open_notes(shard: Shard) -> NoteBook:
    """Return the notes on a shard, beside it or in the user's data folder; reads the shard only if notes may exist."""
    beside = _beside(shard)
    if beside is not None and os.path.lexists(beside):
        before, notes = _read(beside)
        identity = content_identity(shard)
        return NoteBook(beside, _name(shard), identity, notes, beside, before is not None and before != identity)
    folder = user_data_folder()
    lead = _size_prefix(-1 if isinstance(shard, DataSet) else _file_of(shard).size)
    maybe = False
    with reported_as(f"cannot list the notes in {folder}"), suppress(FileNotFoundError):
        maybe = any(name.startswith(f"{lead}-") for name in os.listdir(folder))  # noqa: PTH208
    if not maybe:
        return NoteBook(folder, _name(shard), None, beside=beside)
    identity = content_identity(shard)
    path = folder / identity.file_name
    return NoteBook(path, _name(shard), identity, _read(path)[1] if os.path.lexists(path) else (), beside)


def add_note(shard: Shard, book: NoteBook, note: Note) -> NoteBook:
    """Add a note and store the notes; a note on the same bytes is replaced.

    Raises FormatError for a damaged notes file, which is not changed, and SourceError if the notes cannot be stored.
    """
    if len(note.text) > MOST_LETTERS:
        raise UsageError(f"a note has at most {plural(MOST_LETTERS, 'character')}; this one has {len(note.text):,}")
    if not note.created:
        note = replace(note, created=iso_text(datetime.now(UTC), "seconds"))
    return _stored_with(shard, book, lambda notes: (*(one for one in notes if one.span != note.span), note))


def carry_notes(shard: Shard, book: NoteBook, notes: Sequence[Note]) -> NoteBook:
    """Copy the notes on the old content of a file to its present content, unless that has notes; sets `changed`."""
    if book.notes or book.is_beside or not notes:
        return book
    return replace(_stored_with(shard, book, lambda there: there or tuple(notes)), changed=True)


def remove_notes(shard: Shard, book: NoteBook, notes: Sequence[Note]) -> NoteBook:
    gone = {note.span for note in notes}
    return _stored_with(shard, book, lambda there: tuple(one for one in there if one.span not in gone))


def keep_beside(shard: Shard, book: NoteBook, *, beside: bool) -> NoteBook:
    """Move the notes beside the annotated file, or back to the data folder; UsageError if the file is not local."""
    if beside == book.is_beside:
        return book
    if book.beside is None:
        raise UsageError("only local files can have notes beside them")
    identity = content_identity(shard)
    target = book.beside if beside else user_data_folder() / identity.file_name
    notes = _read(book.path)[1] if os.path.isfile(book.path) else ()  # noqa: PTH113
    kept = _read(target)[1] if os.path.lexists(target) else ()
    spans = {note.span for note in notes}
    joined = tuple(sorted((*(one for one in kept if one.span not in spans), *notes)))
    moved = replace(book, path=target, identity=identity, notes=joined, changed=False)
    _write(moved)
    if os.path.isfile(book.path):  # noqa: PTH113
        _remove(book.path)
    return moved


def notes_markdown(shard: Shard, book: NoteBook) -> str:
    """Return the notes as Markdown: one heading per file, a list by offset with the annotated fields."""
    lines: list[str] = []
    for source in sorted({note.span.source for note in book.notes}):
        title = " › ".join(part for part in (book.name, source) if part)
        lines += [f"# Notes on {visible(title)}", ""]
        lines += [_markdown_line(shard, note) for note in book.on(source)]
        lines.append("")
    return "\n".join(lines) if lines else f"# Notes on {visible(book.name)}\n\nNo notes.\n"


def note_place(shard: Shard, span: Span) -> str:
    """Return the path from the section to the smallest field that contains a span; empty if unknown."""
    try:
        path = named(shard.whole_path(span.start, span.source), span)
    except ShardError:
        return ""
    names = [node.name for node in path[1:]]
    if names and names[0] == SourceName.parse(span.source).path:
        del names[0]  # the path in a data set begins with the file
    return visible(" › ".join(names))


def _markdown_line(shard: Shard, note: Note) -> str:
    place = note_place(shard, note.span)
    where = str(note.span) + (f" ({place})" if place else "")
    # Further lines are indented to stay in the list item.
    text = visible(note.text.strip(), keep="\n").replace("\n", "\n  ")
    return f"- {where}: {text}" if text else f"- {where}"


def _stored_with(shard: Shard, book: NoteBook, change: Any) -> NoteBook:
    """Apply a change to the notes as they are stored now, since another window may have changed them."""
    identity = content_identity(shard)
    path = book.path if book.is_beside else user_data_folder() / identity.file_name
    there = _read(path)[1] if os.path.lexists(path) else ()
    notes = tuple(sorted(change(there)))
    if len(notes) > MOST_NOTES:
        raise LimitExceeded(f"a file has at most {plural(MOST_NOTES, 'note')}")
    changed = replace(book, path=path, identity=identity, notes=notes, changed=False)
    _write(changed)
    return changed


def _write(book: NoteBook) -> None:
    assert book.identity is not None
    document = {
        "notes_version": _VERSION,
        "name": book.name,
        "content": {"size": book.identity.size, "sha256": book.identity.sha256},
        "notes": [note.to_json() for note in book.notes],
    }
    text = json.dumps(document, indent=1, ensure_ascii=True)
    if len(text) > MOST_BYTES:
        raise LimitExceeded(f"the notes have {plural(len(text), 'byte')}; at most {MOST_BYTES:,} are stored")
    if not book.is_beside:
        with reported_as(f"cannot create the folder {book.path.parent}"):
            book.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not book.notes and not book.is_beside:
        _remove(book.path)
        return
    write_whole(book.path, [text.encode("ascii"), b"\n"], force=True)


def _remove(path: Path) -> None:
    with reported_as(f"cannot remove {path}"):
        path.unlink(missing_ok=True)


def _read(path: Path) -> tuple[ContentIdentity | None, tuple[Note, ...]]:
    data = read_side_file(path, MOST_BYTES + 1)
    try:
        document = parse_json(data, f"the notes file {path}", limits=_LIMITS)
        if not isinstance(document, dict) or document.get("notes_version") != _VERSION:
            raise ValueError("notes_version is missing or unknown")
        notes = document["notes"]
        if not isinstance(notes, list) or len(notes) > MOST_NOTES:
            raise ValueError(f"notes is not a list of at most {plural(MOST_NOTES, 'note')}")
        return _identity_of(document.get("content")), tuple(sorted(map(_note_of, notes)))
    except (KeyError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise FormatError(f"the notes file {path} is damaged: {reason}; repair or remove it") from None


def _note_of(entry: Any) -> Note:
    start, stop, source = entry["start"], entry["stop"], entry.get("source", "")
    text, created = entry.get("text", ""), entry.get("created", "")
    if not all(isinstance(one, int) and not isinstance(one, bool) and one < 1 << 63 for one in (start, stop)):
        raise ValueError(f"{short(start)}..{short(stop)} is not a range of bytes")
    if not all(isinstance(one, str) and len(one) <= MOST_LETTERS for one in (text, created, source)):
        raise ValueError(f"text, created and source of a note must be strings of at most {MOST_LETTERS:,} characters")
    return Note(Span(source, start, stop), text, created)


def _identity_of(entry: Any) -> ContentIdentity | None:
    match entry:
        case {"size": int(size), "sha256": str(digest)}:
            return ContentIdentity(size, digest)
    return None


def _file_of(shard: Shard) -> Source:
    source = shard.source
    if source is None:
        raise UsageError(f"{shard.format}: this shard is not stored in a file")
    while isinstance(source, PatchedSource):
        source = source.base
    return source


def _digest_ends(digest: Any, source: Source) -> None:
    size = source.size
    digest.update(size.to_bytes(16, "little"))
    digest.update(source.read(0, min(size, ENDS)))
    if size > ENDS:
        digest.update(source.read(max(size - ENDS, ENDS), size))


def _data_set_identity(shard: DataSet) -> ContentIdentity:
    digest = hashlib.sha256(shard.format.encode())
    mark = format_of(shard.format).folder_mark
    if mark:
        _digest_mark(digest, shard.folder, mark)
    first = shard.first_member
    if first:
        with shard.borrowed(first) as member:
            digest.update(first.encode("utf-8", "surrogateescape"))
            _digest_ends(digest, _file_of(member))
    elif is_address(shard.uri):
        # The address cannot be listed, so there is no first shard to hash: the address identifies the data set.
        digest.update(shard.uri.encode("utf-8", "surrogateescape"))
    return ContentIdentity(-1, digest.hexdigest())


def _digest_mark(digest: Any, folder: Folder | None, mark: str) -> None:
    """Add the marker file of a data set to a digest; it is in the folder of the shards or in the parent folder."""
    for place in (folder, folder.parent() if folder is not None else None):
        if place is None:
            continue
        try:
            with place.open(mark) as source:
                _digest_ends(digest, source)
            return
        except SourceError as error:
            raise_unless_absent(error)


def _size_prefix(size: int) -> str:
    """Return the first part of a notes file's name for a file size; if no file has it, the shard is not read."""
    return str(size) if size >= 0 else _SET


def _name(shard: Shard) -> str:
    uri = shard.uri if isinstance(shard, DataSet) else _file_of(shard).name
    return last_part(uri)


def _beside(shard: Shard) -> Path | None:
    uri = shard.uri if isinstance(shard, DataSet) else _file_of(shard).uri
    if not uri or is_address(uri):
        return None
    path = local_path(uri)
    if not os.path.lexists(path):
        return None
    path = path.absolute()
    return path.with_name(path.name + SUFFIX) if path.name else None
