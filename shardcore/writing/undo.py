"""Edits of a file in place with a journal: applying, undoing and completing an edit; see `journal`."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO

from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, ShardError, SourceError, UsageError, reported_as
from shardcore.model.finding import Findings
from shardcore.model.text import plural, shell_line, typed
from shardcore.progress import Progress, no_progress
from shardcore.sources.local import FileSource, open_side_file
from shardcore.writing.in_place import (
    Audit,
    Edit,
    FileChange,
    New,
    Stream,
    Zeros,
    check_audit_log,
    check_names,
    locked,
    make_changes,
    make_durable,
    open_for_edit,
    real_path,
    write_all,
)
from shardcore.writing.journal import (
    BEGUN,
    DONE,
    MAGIC,
    UNDOING,
    Journal,
    JournalRecord,
    all_journals,
    bring_back,
    check_journal,
    drop_last,
    earlier_journals,
    journal_of,
    mark_journal,
    opened_journal,
    read_journal,
    remove_journal,
    set_state,
    write_journal,
)
from shardcore.writing.temporary import sync_folders
from shardcore.writing.temporary_names import JOURNAL, stem_of, sweep

# --- finding journals ---


def interrupted_edit(path: str | Path) -> Journal | None:
    """Return the journal of an interrupted edit; None if there is none for this file."""
    try:
        with open_side_file(journal_of(Path(path))) as file:
            head = file.read(len(MAGIC) + 1)
    except (ShardError, OSError):
        return None
    if head not in (MAGIC + BEGUN, MAGIC + UNDOING):
        return None
    found = read_journal(Path(path))
    return None if found.done else found


def interrupted(path: str | Path) -> str:
    """Return a message about an interrupted edit, or an empty string. It names a command if the journal is valid."""
    try:
        found = interrupted_edit(path)
    except ShardError as error:
        return f"{journal_of(Path(path))} describes an interrupted edit, but is ignored: {error.message}"
    return found.message if found is not None else ""


def note_interrupted(findings: Findings, source: FileSource, format_name: str) -> None:
    """Add a finding about an interrupted edit; its code begins with the format name."""
    try:
        found = interrupted_edit(source.path)
    except ShardError:
        findings.warning(f"{format_name}.journal", None, interrupted(source.path))
        return
    if found is not None:
        findings.error(f"{format_name}.interrupted-edit", None, found.message)


def undoable_edits(path: Path) -> int | None:
    """Return the number of edits that can be undone; None if the journals belong to another file."""
    where, earlier = journal_of(path), len(earlier_journals(path))
    if not os.path.lexists(where):
        return earlier
    _check_ours(where)
    try:
        read_journal(path)
    except (UsageError, FormatError):
        return None
    return 1 + earlier


def kept_text(edit: Edit, *, keep: bool) -> str:
    """Return text for a message: whether the journal keeps the old bytes, and how many earlier edits can be undone."""
    journal, earlier = f"{edit.path.name}{JOURNAL}", undoable_edits(edit.path)
    if not keep:
        stays = f", but {journal} still has those of an earlier edit" if earlier != 0 else ""
        return f"no copy of the old bytes is kept{stays}"
    if earlier is None:
        return f"the old bytes are kept in {journal}, replacing those of another file"
    first = f"; {plural(earlier, 'earlier edit')} can also be undone" if earlier else ""
    return f"the old bytes are kept in {journal}{first}"


def _check_ours(where: Path) -> None:
    try:
        with open_side_file(where) as file:
            ours = file.read(len(MAGIC)) == MAGIC
    except SourceError as error:
        raise UsageError(f"{error.message}; rename it, since the journal needs this name") from error
    if not ours:
        raise UsageError(f"{where} is not an undo file; rename it, since the journal needs this name")


# --- editing ---


def apply(
    edit: Edit,
    *,
    journal: bool = True,
    hard_links: bool = False,
    audit: Audit | None = None,
    progress: Progress = no_progress,
) -> Path | None:
    """Write the journal, then the changes; after an error the old bytes are restored at once.

    Returns:
        Path of the journal; None if `journal` is False. Journals of earlier edits stay if they belong to this file.

    Raises:
        UsageError: An earlier edit was interrupted, the changes are invalid, another process edits the file, or the
            file has several hard links.
        SourceChanged: The file changed since it was opened.
        SourceError: The file or the journal cannot be written.
    """
    with locked(edit.path):
        edit.check()
        check_names(edit.path, hard_links=hard_links)
        open_for_edit(edit.path).close()
        if audit is not None:
            check_audit_log(edit.path)
        if left := interrupted(edit.path):
            raise UsageError(left)
        # An edit whose new bytes are not in the journal cannot be completed, so the journal needs the old bytes.
        keep = journal or any(isinstance(one.new, Stream) for one in edit.changes)
        path = journal_of(edit.path)
        bring_back(edit.path)
        # Without old bytes, the journals of earlier edits stay, even those about another file.
        stale = undoable_edits(edit.path) is None and journal
        write_journal(edit, path, stale=stale, keep=keep)
        try:
            make_changes(edit, progress)
            if audit is not None:
                _note(audit, edit.path, edit.verb, edit.keys, edit.what, edit.old_size)
        except BaseException as error:
            if keep:
                _take_back(edit.path, error)
            elif isinstance(error, ShardError):
                raise SourceError(f"{error.message}; {interrupted(edit.path)}") from error
            raise
        with _edited(edit.path, edit.verb):
            if journal:
                mark_journal(path, DONE)
                return path
            drop_last(edit.path)
        return None


@contextlib.contextmanager
def _edited(path: Path, verb: str) -> Iterator[None]:
    """Context manager for the work after an edit: errors raised in it also state that the file was edited."""
    try:
        yield
    except SourceError as error:
        found, more = interrupted_edit(path), "do not run it again"
        if found is not None and found.can_finish:
            more = f"run the same {verb or 'edit'} again to complete it"
        elif found is not None and found.kept:
            more = f"`{shell_line(['shardcore', 'undo', typed(str(path))])}` restores the old bytes"
        raise SourceError(f"{path} was edited, but {error.message}; {more}") from error


def _take_back(path: Path, error: BaseException) -> None:
    """Restore the file after a failed edit; if that also fails, the journal stays."""
    try:
        undo(path)
    except ShardError as second:
        if isinstance(error, ShardError):
            raise SourceError(f"{error.message}; restoring the old bytes also failed: {second.message}") from error
        raise second from error


def _note(audit: Audit, path: Path, verb: str, keys: Sequence[str], what: str, old_size: int) -> None:
    audit.note(path, verb, keys, what=what, size_before=old_size, size_after=path.stat().st_size)


def unfinished_edit(path: str | Path, verb: str, keys: Sequence[str] = ()) -> tuple[Journal, frozenset[str]] | None:
    """Return journal and keys of an interrupted edit that can be completed; None if there is none.

    Raises:
        UsageError: The interrupted edit is not `verb` of `keys`, or cannot be completed.
    """
    where = real_path(path)
    try:
        found = interrupted_edit(where)
    except ShardError as error:
        purge = shell_line(["shardcore", "undo", typed(str(where)), "--purge"])
        raise UsageError(f"{interrupted(where)}; rename the journal, or remove it: `{purge}`") from error
    if found is None:
        return None
    with opened_journal(where) as raw:
        had = frozenset(found.keys(raw))
    if not found.can_finish or found.verb != verb or not had <= set(keys):
        raise UsageError(found.message)
    return found, had


def finish(
    path: str | Path, *, keep: bool = True, audit: Audit | None = None, progress: Progress = no_progress
) -> Journal:
    """Complete an interrupted edit found by `unfinished_edit`; with `keep`, its old bytes stay in the journal."""
    where = real_path(path)
    with locked(where):
        with opened_journal(where, writable=True) as raw:
            found = check_journal(where, raw)
            if not found.can_finish:
                raise UsageError(found.message)
            if audit is not None:
                check_audit_log(where)
            _write(where, raw, found.changes, found.new_size, progress)
            if audit is not None:
                _note(audit, where, found.verb, found.keys(raw), f"{found.what} (finished)", found.old_size)
            stays = keep and found.kept
            with _edited(where, found.verb):
                if stays:
                    set_state(raw, DONE)
        if not stays:
            with _edited(where, found.verb):
                drop_last(where, wipe=found.kept)
    return found


def undo(path: str | Path, progress: Progress = no_progress, *, trust: bool = False) -> Journal:
    """Undo the last edit and remove its journal; the edit before it is then the last one. `trust`: see `read_journal`.

    Raises:
        UsageError: There is no journal, it belongs to another file, it has no old bytes, or another process edits the
            file.
        FormatError: The journal is damaged.
        SourceError: The file cannot be written.
    """
    where = real_path(path)
    with locked(where):
        bring_back(where)
        with opened_journal(where, writable=True) as raw:
            found = check_journal(where, raw, trust=trust)
            if not found.kept:
                raise UsageError(found.message)
            open_for_edit(where).close()
            set_state(raw, UNDOING)
            _write(where, raw, found.old, found.old_size, progress)
        drop_last(where)
    return found


def purge(path: str | Path, *, dry_run: bool = False) -> list[Path]:
    """Remove all journals of a file, and overwrite their bytes.

    Args:
        path: The file.
        dry_run: Whether nothing is removed.

    Returns:
        Paths of the journals, that of the last edit first.

    Raises:
        UsageError: An edit was interrupted, so that its journal is needed; another process edits the file; or a file
            with the name of a journal is not a journal.
        SourceError: A journal cannot be removed.
    """
    where = real_path(path)
    with locked(where):
        try:
            left = interrupted_edit(where)
        except (FormatError, UsageError):
            left = None
        if left is not None:
            raise UsageError(f"the journal cannot be removed: {left.message}")
        found = all_journals(where)
        for one in found:
            _check_ours(one)
        if not dry_run:
            for one in found:
                remove_journal(one, wipe=True)
            sweep(where.parent, stem_of(journal_of(where)))
            sync_folders([where.parent])
    return found


def _write(path: Path, raw: IO[bytes], records: Sequence[JournalRecord], size: int, progress: Progress) -> None:
    done, total = 0, max(sum(one.size for one in records), 1)
    with open_for_edit(path) as file, reported_as(f"cannot write {path}"):
        status = os.fstat(file.fileno())
        now = file.seek(0, os.SEEK_END)
        grows = now < size
        if now != size and stat.S_ISREG(status.st_mode):
            # Restored bytes beyond the end begin as a hole: zeros need not be written.
            file.truncate(size)
        for one in records:
            for start, data in one.pieces(raw, now if grows else size):
                file.seek(start)
                write_all(file, data)
                done += len(data)
                progress(min(done, total), total)
        make_durable(file, before=status.st_mtime_ns)


def planned_undo(source: FileSource) -> tuple[Journal, Edit]:
    """Return the journal of the last edit, and the changes that `undo` would make, as an edit for display."""
    path = real_path(source.path)
    with locked(path):
        bring_back(path)
        found = read_journal(path)
    if not found.kept:
        raise UsageError(found.message)
    changes: list[FileChange] = []
    for one in found.old:
        new: New = Stream(one.size, partial(_kept, found.undo_path, one)) if one.holds else Zeros(one.size)
        changes.append(FileChange(one.start, new, "restored"))
    return found, Edit(source, f"undo this: {found.what}", tuple(changes), found.old_size)


def _kept(path: Path, record: JournalRecord) -> Iterator[bytes]:
    with open_side_file(path) as raw:
        yield from (piece for _, piece in record.pieces(raw, record.stop))


# --- running an edit ---


@dataclass(frozen=True, slots=True)
class Edited:
    """Outcome of an edit; `finished` are the keys of an interrupted edit that was completed first, or None."""

    what: str
    finished: frozenset[str] | None
    journal: Path | None
    changed: bool


def edit_in_place(
    path: str | Path,
    verb: str,
    compute: Callable[[Sequence[str]], Edit],
    keys: Sequence[str] = (),
    *,
    agreed: Callable[[Edit | Journal], bool] = lambda _: True,
    keep: bool = True,
    hard_links: bool = False,
    audit: Audit | None = None,
    progress: Progress = no_progress,
) -> Edited:
    """Edit a file while holding its lock; an interrupted edit of the same kind is completed first.

    `compute` opens the file, which the caller closes, and returns the edit for the keys that are left. `agreed` returns
    whether to proceed; it is called with the edit, or with the journal of an interrupted one.
    """
    where = real_path(path)
    with locked(where):
        check_names(where, hard_links=hard_links)
        found = unfinished_edit(where, verb, keys)
        finished: frozenset[str] | None = None
        if found is not None:
            if not agreed(found[0]):
                return Edited(found[0].what, None, None, changed=False)
            finish(where, keep=keep, audit=audit, progress=progress)
            finished = found[1]
            keys = [key for key in keys if key not in finished]
            if not keys:
                return Edited(found[0].what, finished, None, changed=True)
        edit = compute(keys)
        if (edit.new_size == edit.old_size and not edit.changes) or not agreed(edit):
            return Edited(edit.what, finished, None, changed=finished is not None)
        journal = apply(edit, journal=keep, hard_links=hard_links, audit=audit, progress=progress)
        return Edited(edit.what, finished, journal, changed=True)
