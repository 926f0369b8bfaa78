"""Edits of existing shards: delete, truncate, append, tombstone, undo, rekey."""

from __future__ import annotations

import contextlib
import getpass
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shardcore.dataclasses import dataclass
from shardcore.errors import SourceChanged, UsageError, reported_as
from shardcore.model.finding import Depth, Report
from shardcore.model.keys import Key, several
from shardcore.model.options import OptionPurpose, read_options
from shardcore.model.text import iso_text
from shardcore.operations.description import Append, Audited, Delete, TombstoneEdit, Truncate, Undo
from shardcore.operations.pack import Packed
from shardcore.progress import Progress, no_progress
from shardcore.shards.opening import open as open_shard
from shardcore.shards.opening import opening
from shardcore.shards.registry import all_formats, format_of
from shardcore.shards.shard import Shard
from shardcore.sources.location import local_path
from shardcore.sources.remote.address import is_address, shown_address
from shardcore.writing.declaration import TOMBSTONE, VERBS, EditSubject, Verb
from shardcore.writing.in_place import Audit, Edit, Rewrite, locked, make_rewrites, real_path
from shardcore.writing.journal import Journal, bring_back, read_journal
from shardcore.writing.undo import edit_in_place
from shardcore.writing.undo import undo as put_back

_TOMBSTONE_FACTS = {"by": "deleted_by", "reason": "reason", "ticket": "ticket_id"}
"""JSON members of a tombstone, by option name."""

Opened = Callable[[], Shard]
"""Function that opens the shard to edit; it is called again after the edit, for verification."""


@dataclass(frozen=True, slots=True)
class EditResult:
    """Outcome of an edit.

    Attributes:
        path: The file.
        what: Description: `delete 2 objects`.
        changed: Whether the file was changed.
        plan: Planned changes of a dry run, as `--dry-run --json` prints them: `size`, `new_size`, and `changes` with
            the first old and new bytes of each in hex.
        undoes: Journal of the edit that was undone, or would be by a dry run; None for other edits than `undo`.
        journal: The file with the old bytes; None if they are not kept.
        finished: Keys of an interrupted edit that was completed first; None if there was none.
        objects: Number of objects after the edit; None if that needs the index to be loaded.
        size: Bytes of the file after the edit.
        report: Result of verifying the index after the edit; None if nothing was changed.
    """

    path: Path
    what: str
    changed: bool
    plan: dict[str, Any] | None = None
    undoes: Journal | None = None
    journal: Path | None = None
    finished: frozenset[str] | None = None
    objects: int | None = None
    size: int = 0
    report: Report | None = None

    @property
    def ok(self) -> bool:
        """True if verification found no error."""
        return self.report is None or self.report.ok

    def sha256(self) -> str:
        """Return the sha256 of the file as it is now, in hex; reads the whole file."""
        with reported_as(f"cannot read {self.path}"), self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def delete(
    path: str | Path,
    keys: Iterable[Key],
    *,
    reason: str = "",
    who: str = "",
    ticket: str = "",
    audit: bool = False,
    no_undo: bool = False,
    hard_links: bool = False,
    dry_run: bool = False,
    progress: Progress = no_progress,
    **options: Any,
) -> EditResult:
    """Delete objects of a shard in place: their bytes become zeros.

    Args:
        path: A local file.
        keys: Keys of the objects.
        reason: The reason, for the audit log.
        who: The person who deletes, for the audit log; default: the user of the system.
        ticket: The ticket or request, for the audit log.
        audit: Whether a line is appended to `FILE.audit.jsonl`.
        no_undo: Do not keep the old bytes, for takedowns; otherwise `FILE.undo` contains them.
        hard_links: Whether a file with several hard links may be edited.
        dry_run: Only compute `EditResult.plan`.
        progress: Called after every piece.
        **options: As for `shardcore.open`.

    Raises:
        KeyAbsent: A key was not found; nothing is changed.
        UsageError: The format does not support the edit, another process edits the file, or another edit was
            interrupted.
        SourceError: The file cannot be read or written.
        FormatError: The file is damaged.
    """
    asked = Delete(
        keys=keys,
        reason=reason,
        who=who,
        ticket=ticket,
        audit=audit,
        no_undo=no_undo,
        hard_links=hard_links,
        dry_run=dry_run,
    )
    return change(path, asked, lambda: open_shard(path, **options), progress=progress)


def truncate(
    path: str | Path,
    *,
    no_undo: bool = False,
    hard_links: bool = False,
    dry_run: bool = False,
    progress: Progress = no_progress,
    **options: Any,
) -> EditResult:
    """Remove the bytes that follow the end of a shard; arguments and errors are those of `delete`."""
    asked = Truncate(no_undo=no_undo, hard_links=hard_links, dry_run=dry_run)
    return change(path, asked, lambda: open_shard(path, **options), progress=progress)


def append(
    path: str | Path,
    inputs: Sequence[str | Path],
    *,
    no_undo: bool = False,
    hard_links: bool = False,
    dry_run: bool = False,
    progress: Progress = no_progress,
    **options: Any,
) -> EditResult:
    """Append the bytes of files to the content of a shard, in place or by rewriting it (see `EditResult.what`).

    Other arguments and errors are those of `delete`.
    """
    asked = Append(inputs=inputs, no_undo=no_undo, hard_links=hard_links, dry_run=dry_run)
    return change(path, asked, lambda: open_shard(path, **options), progress=progress)


def tombstone(
    path: str | Path,
    keys: Iterable[Key],
    *,
    reason: str = "",
    who: str = "",
    ticket: str = "",
    audit: bool = False,
    undo: bool = False,
    hard_links: bool = False,
    dry_run: bool = False,
    **options: Any,
) -> tuple[Rewrite, ...]:
    """Mark objects as deleted in the sidecar; the shard itself does not change.

    Args:
        path: A local file, or the folder of a data set.
        keys: The objects.
        reason: Reason of the edit.
        who: Person who makes the edit.
        ticket: Ticket or request.
        audit: Whether a line is appended to `FILE.audit.jsonl`.
        undo: Remove the tombstones instead.
        hard_links: Whether a sidecar with several hard links may be replaced; the other names keep the old content.
        dry_run: Whether nothing is changed.
        **options: As for `shardcore.open`, such as `date`.

    Returns:
        The sidecars, each with its text before and after.

    Raises:
        ShardError: As for `delete`.
    """
    asked = TombstoneEdit(
        keys=keys,
        reason=reason,
        who=who,
        ticket=ticket,
        audit=audit,
        undo=undo,
        hard_links=hard_links,
        dry_run=dry_run,
    )
    return put_tombstones(path, asked, lambda: open_shard(path, **options))


def undo(
    path: str | Path,
    *,
    trust: bool = False,
    dry_run: bool = False,
    progress: Progress = no_progress,
    **options: Any,
) -> EditResult:
    """Undo the last edit of a file from `FILE.undo`; a second call undoes the edit before it.

    Args:
        path: A local file.
        trust: Use a journal that belongs to another user, names another device or inode (after the file and its
            journal were copied or restored), or extends the file by more than 1 GiB of zeros.
        dry_run: Whether nothing is changed; `EditResult.undoes` is the journal.
        progress: Called after every piece.
        **options: As for `shardcore.open`.

    Raises:
        UsageError: There is no journal, it was written for another file, it has no old bytes, or another process edits
            the file.
        FormatError: The journal is damaged.
        SourceError: The file cannot be written.
    """
    return undo_last(path, Undo(trust=trust, dry_run=dry_run), lambda: open_shard(path, **options), progress=progress)


@opening
def rekey(shard: Shard, /, out: str | Path, *, force: bool = False, **options: Any) -> Packed:
    """Rewrite a Xet shard with an HMAC key for its chunk hashes, or with another expiry, and verify its index.

    Args:
        shard: The opened shard, or an argument of `open`: a path, an address, bytes; it is not changed.
        out: The new file.
        force: Whether an existing file is replaced.
        **options: `key`: the HMAC key, 64 hex digits; `expiry`: a time, or seconds since 1970.

    Raises:
        UsageError: The format does not support the edit, nothing would change, or the target exists or is the shard.
        FormatError: The shard is damaged.
        SourceError: The bytes cannot be read or written.
    """
    write = edit_for(shard, "rekey")
    if shard.source is None:
        raise UsageError("rekey writes one shard: give one file of the folder")
    values = read_options(format_of(shard.format).options, options, OptionPurpose.REKEY, "rekey")
    written = write(shard, out, force=force, **values)
    with open_shard(out, **shard.chosen) as anew:
        return Packed(written, report=anew.verify(Depth.INDEX))


def edit_for(shard: Shard, name: str) -> Callable[..., Any]:
    """Return the function of an edit for the format of a shard; UsageError if it is not supported."""
    found = format_of(shard.format).edits.get(name)
    if found is None:
        there = ", ".join(one.name for one in all_formats() if name in one.edits)
        raise UsageError(f"{name} is not supported for {shard.format} (supported: {there})")
    return found


def compute_edit(
    shard: Shard,
    verb: Verb,
    *,
    keys: Sequence[str] = (),
    paths: Iterable[Path] = (),
    values: Mapping[str, str] | None = None,
    now: str = "",
    back: bool = False,
) -> Any:
    """Compute an edit without changing anything: an `Edit`, or a tuple of `Rewrite` if only sidecars change.

    `now` is the time as ISO 8601 in UTC. With `back`, tombstones are removed instead of written.
    """
    make, given = edit_for(shard, verb.name), values or {}
    if verb.beside:
        facts = {fact: given.get(name) or "" for name, fact in _TOMBSTONE_FACTS.items()}
        return make(shard, keys, now=now, facts=facts, undo=back, date=given.get("date") or "")
    subjects = {EditSubject.KEYS: (keys,), EditSubject.FILES: tuple(paths)}
    return make(shard, *subjects.get(verb.takes, ()))


def _log_entry(asked: Truncate | TombstoneEdit) -> Audit | None:
    if not isinstance(asked, Audited) or not asked.audit:
        return None
    who = asked.who
    if not who:
        with contextlib.suppress(OSError, KeyError, ImportError):
            who = getpass.getuser()
    return Audit(asked.reason, who, asked.ticket)


def change(
    path: str | Path,
    asked: Truncate,
    opened: Opened,
    *,
    agreed: Callable[[Edit | Journal], bool] = lambda _: True,
    progress: Progress = no_progress,
) -> EditResult:
    """Lock the file, edit it, and verify its index. `agreed` gets the edit and returns whether to proceed."""
    refuse_address(path)
    verb = next(one for one in VERBS if one.name == type(asked).__name__.lower())
    texts = _texts(opened, asked.keys) if isinstance(asked, Audited) else []
    with ExitStack() as stack:

        def compute(left: Sequence[str]) -> Edit:
            shard = stack.enter_context(opened())
            inputs = map(Path, several(asked.inputs, "inputs")) if isinstance(asked, Append) else ()
            edit: Edit = compute_edit(shard, verb, keys=list(left), paths=inputs)
            return edit

        if asked.dry_run:
            edit = compute(texts)
            agreed(edit)
            return EditResult(local_path(path), edit.what, False, edit.to_json(), size=edit.new_size)
        stack.enter_context(locked(path))
        done = edit_in_place(
            path,
            verb.name,
            compute,
            texts,
            agreed=agreed,
            keep=not asked.no_undo,
            hard_links=asked.hard_links,
            audit=_log_entry(asked),
            progress=progress,
        )
        if not done.changed:
            return EditResult(local_path(path), done.what, False)
        return _verified(path, opened, done.what, journal=done.journal, finished=done.finished)


def put_tombstones(
    path: str | Path,
    asked: TombstoneEdit,
    opened: Opened,
    *,
    agreed: Callable[[tuple[Rewrite, ...]], None] = lambda _: None,
) -> tuple[Rewrite, ...]:
    """Write or remove tombstones; see `tombstone`. `agreed` is called before writing, and may raise to cancel."""
    refuse_address(path)
    texts = _texts(opened, asked.keys)

    def computed() -> tuple[Rewrite, ...]:
        with opened() as shard:
            now = iso_text(datetime.now(UTC))
            values = {"reason": asked.reason, "by": asked.who, "ticket": asked.ticket}
            values["date"] = str(shard.chosen.get("date") or "")
            found: tuple[Rewrite, ...] = compute_edit(
                shard, TOMBSTONE, keys=texts, values=values, now=now, back=asked.undo
            )
            return found

    if asked.dry_run:
        return computed()
    paths: list[str | Path] = [path]
    while True:
        with locked(*paths):
            rewrites = computed()
            agreed(rewrites)
            try:
                make_rewrites(rewrites, hard_links=asked.hard_links, audit=_log_entry(asked))
            except SourceChanged:
                # Another process changed one of the files first: lock them and compute the edit again.
                if len(paths) > 1:
                    raise
                paths += [one.shard for one in rewrites]
            else:
                return rewrites


def undo_last(
    path: str | Path,
    asked: Undo,
    opened: Opened,
    *,
    agreed: Callable[[Journal], None] = lambda _: None,
    progress: Progress = no_progress,
) -> EditResult:
    """Undo the last edit; see `undo`. `agreed` is called before writing, and may raise to cancel."""
    refuse_address(path)
    where = real_path(path)
    with locked(where):
        bring_back(where)
        journal = read_journal(where, trust=asked.trust)
        if not journal.kept:
            raise UsageError(journal.message)
        if asked.dry_run:
            return EditResult(local_path(path), journal.what, False, undoes=journal, size=journal.old_size)
        agreed(journal)
        put_back(where, progress, trust=asked.trust)
        return _verified(path, opened, journal.what, undoes=journal)


def refuse_address(path: str | Path) -> None:
    if is_address(str(path)):
        shown = shown_address(str(path))
        raise UsageError(f"{shown} is an address; only local files can be changed: copy it to this machine first")


def _texts(opened: Opened, keys: Iterable[Key] | None) -> list[str]:
    given = list(several(keys or (), "keys"))
    texts = [key for key in given if isinstance(key, str)]
    if len(texts) == len(given):
        return texts
    with opened() as shard:
        return [shard.key_text(key) for key in given]


def _verified(path: str | Path, opened: Opened, what: str, **more: Any) -> EditResult:
    with opened() as shard:
        report = shard.verify(Depth.INDEX)
        size = shard.source.size if shard.source is not None else 0
        return EditResult(
            local_path(path), what, True, objects=shard.declared_objects, size=size, report=report, **more
        )
