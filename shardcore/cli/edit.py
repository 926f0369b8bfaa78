"""Commands that change files: delete, truncate, append, tombstone, undo. They ask for confirmation."""

from __future__ import annotations

import hashlib
import sys
from contextlib import ExitStack
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import USUAL, Json, Opening, edits, only, takes_settings
from shardcore.cli.output import confirmed, emit_json, emit_line, print_json, print_line, progress_bar, warn
from shardcore.dataclasses import replace
from shardcore.errors import UsageError
from shardcore.model.text import plural, range_text
from shardcore.operations.description import Append, Delete, TombstoneEdit, Truncate, Undo

if TYPE_CHECKING:
    from shardcore.operations.edit import EditResult
    from shardcore.progress import Progress
    from shardcore.writing.in_place import Edit, Rewrite
    from shardcore.writing.journal import Journal


SHOWN_CHANGES = 20
"""Maximum number of changes that are printed before the confirmation."""

LocalFile = Annotated[str, typer.Argument(metavar="FILE", help="A local file.", show_default=False)]


@edits
def delete(uri: LocalFile, asked: Delete, json: Json = False, how: Opening = USUAL) -> int:
    """Delete objects of a shard in place: their bytes become zeros.

    Examples:
        shardcore delete small.shard --keys takedown.txt --dry-run
        shardcore delete small.shard --keys takedown.txt --yes
    """
    if not asked.audit and (asked.reason or asked.who or asked.ticket):
        warn("--reason, --who and --ticket are only written to FILE.audit.jsonl: pass --audit")
    return change(uri, asked, how, as_json=json)


@edits
def truncate(uri: LocalFile, asked: Truncate, json: Json = False, how: Opening = USUAL) -> int:
    """Remove the bytes that follow the end of a shard.

    Examples:
        shardcore truncate small.shard --dry-run
    """
    return change(uri, asked, how, as_json=json)


@edits
def append(uri: LocalFile, asked: Append, json: Json = False, how: Opening = USUAL) -> int:
    """Append the bytes of files to the content of a shard, in place or by rewriting it.

    Examples:
        shardcore append log.blp more.txt --yes
    """
    return change(uri, asked, how, as_json=json)


@takes_settings
def undo(file: LocalFile, asked: Undo, json: Json = False) -> int:
    """Undo the last edit of a file from FILE.undo; run again, it undoes the edit before.

    Examples:
        shardcore undo small.shard --dry-run
        shardcore undo small.shard --yes
    """
    from shardcore.operations.edit import refuse_address, undo_last
    from shardcore.writing.in_place import locked, real_path
    from shardcore.writing.journal import earlier_journals

    only("without --purge", not asked.purge, trust=asked.trust)
    refuse_address(file)
    path = real_path(file)
    if asked.purge:
        with locked(path):
            return _purge(Path(file), asked, as_json=json)

    def agreed(journal: Journal) -> None:
        _ask(f"{file}: undo: {journal.what} ({_ended(journal)}). Proceed?", yes=asked.yes)

    with progress_bar("undoing") as progress:
        done = undo_last(file, asked, lambda: USUAL.open(file), agreed=agreed, progress=progress)
    if (journal := done.undoes) is None or done.changed:
        return print_edited(file, done, as_json=json)
    earlier = len(earlier_journals(path))
    shown = {"path": file, "what": journal.what, "done": journal.done, "size": journal.old_size, "earlier": earlier}
    changes = journal.changes_back()
    shown |= {"new_size": journal.old_size, "changes": changes}
    if not json:
        _show_changes(changes)
    left = f"; {plural(earlier, 'earlier edit')} can be undone after it" if earlier else ""
    print_json(shown) if json else print_line(f"{file}: would undo: {journal.what} ({_ended(journal)}){left}")
    return 0


def _ended(journal: Journal) -> str:
    return "complete" if journal.done else "interrupted"


def _purge(path: Path, asked: Undo, *, as_json: bool) -> int:
    from shardcore.writing.undo import purge

    found = purge(path, dry_run=True)
    shown = found if path.is_symlink() else [path.with_name(one.name) for one in found]
    if not found:
        raise UsageError(f"{path} has no undo files: nothing to remove")
    sizes = [one.stat().st_size for one in found]
    if not as_json:
        for one, size in zip(shown, sizes, strict=True):
            print_line(f"{one}: {plural(size, 'byte')}")
    what = f"remove {plural(len(found), 'journal')} with the old bytes; the edits cannot be undone then"
    if not asked.dry_run:
        _ask(f"{path}: {what}. Proceed?", yes=asked.yes)
        purge(path)
    if as_json:
        for one, size in zip(found, sizes, strict=True):
            emit_json({"path": str(one), "size": size, "removed": not asked.dry_run})
    return 0


@edits
def tombstone(
    uri: Annotated[str, typer.Argument(metavar="URI", help="A local file, or a folder.", show_default=False)],
    asked: TombstoneEdit,
    by: Annotated[str, typer.Option(metavar="NAME", hidden=True)] = "",
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Mark objects as deleted in the sidecar; the shard itself does not change.

    Examples:
        shardcore tombstone archive 2090 --date 2026-01-05T09:30:00Z --reason 'request 17' --yes
    """
    from shardcore.operations.edit import put_tombstones

    answered: list[bool] = [asked.yes]

    def agreed(rewrites: tuple[Rewrite, ...]) -> None:
        if not json and (asked.yes or not answered[0]):
            for one in rewrites:
                print_line(f"{one.path}: {one.what}")
        _ask(
            f"replace {plural(len(rewrites), 'sidecar')}; the shards do not change. Proceed?",
            yes=answered[0],
        )
        answered[0] = True

    asked = replace(asked, who=asked.who or by)
    rewrites = put_tombstones(uri, asked, lambda: how.open(uri), agreed=agreed)
    if asked.dry_run and json:
        print_json([one.to_json() for one in rewrites])
    elif asked.dry_run:
        for one in rewrites:
            shown = one.to_json()
            print_line(f"{one.path}: {one.what}" + ("" if shown["old"] is not None else " (a new file)"))
            old, new = ((shown[name] or "").splitlines() for name in ("old", "new"))
            # Skip the two header lines with file names.
            for line in islice(unified_diff(old, new, lineterm="", n=1), 2, None):
                print_line(f"  {line if line[0] != '@' else '…'}")
    elif json:
        for one in rewrites:
            new = one.new or b""
            emit_json(
                {"path": str(one.path), "objects": 0, "size": len(new), "sha256": hashlib.sha256(new).hexdigest()}
            )
    return 0


def change(uri: str, asked: Truncate, how: Opening, *, as_json: bool) -> int:
    """Show an edit, ask for confirmation and run it; return the exit code."""
    from shardcore.operations.edit import change as change_file

    with ExitStack() as bar:
        bars: list[Progress] = []

        def begin(edit: Edit | Journal) -> bool:
            # No progress bar while asking for confirmation.
            bars.clear()
            bar.close()
            return agreed(edit, asked, as_json=as_json)

        def progress(done: int, total: int) -> None:
            if not bars:
                bars.append(bar.enter_context(progress_bar("writing")))
            bars[0](done, total)

        done = change_file(uri, asked, lambda: how.open(uri), agreed=begin, progress=progress)
    if asked.dry_run:
        return 0
    if not done.changed:
        warn(f"{uri}: {done.what}; nothing was changed")
        return 0
    if done.finished is not None:
        warn(f"{uri}: an interrupted edit was completed first")
    return print_edited(uri, done, as_json=as_json)


def agreed(edit: Edit | Journal, asked: Truncate, *, as_json: bool) -> bool:
    from shardcore.writing.journal import Journal
    from shardcore.writing.undo import kept_text

    if isinstance(edit, Journal):
        _ask(f"{edit.path}: complete the interrupted edit: {edit.what}. Proceed?", yes=asked.yes)
        return True
    if asked.dry_run and edit.new_size == edit.old_size and not edit.changes:
        warn(f"{edit.path}: {edit.what}; nothing was changed")
        return False
    kept = kept_text(edit, keep=not asked.no_undo)
    if asked.dry_run:
        if as_json:
            print_json(edit.to_json() | {"undo": kept})
        else:
            _show(edit)
            print_line(kept)
        return False
    if not asked.yes:
        _show(edit)
    _ask(f"{edit.path}: {edit.what}; {kept}. Proceed?", yes=asked.yes)
    return True


def print_edited(uri: str, done: EditResult, *, as_json: bool) -> int:
    """Print the edited file and the result of verifying it; return the exit code."""
    from shardcore.model.finding import Severity

    for finding in done.report.findings if done.report is not None else ():
        if finding.severity is Severity.ERROR:
            warn(f"the file has an error: {finding.code}: {finding.message}")
    if as_json:
        emit_json({"path": uri, "objects": done.objects, "size": done.size, "sha256": done.sha256()})
    else:
        emit_line(f"{uri}: {plural(done.size, 'byte')}")
    return 0 if done.ok else 1


def _ask(question: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"not a terminal: pass --yes to confirm: {question.removesuffix('. Proceed?')}")
    if not confirmed(question):
        raise UsageError("nothing was changed")


def _show(edit: Edit) -> None:
    shown = edit.to_json()
    _show_changes(shown["changes"])
    if shown["size"] != shown["new_size"]:
        print_line(f"size  {shown['size']} -> {shown['new_size']}")


def _show_changes(changes: list[dict[str, Any]]) -> None:
    for change in changes[:SHOWN_CHANGES]:
        print_line(f"{range_text(change['start'], change['stop'])}  {change['what']}")
        for name in ("old", "new"):
            more = " …" if change["stop"] - change["start"] > len(change[name]) // 2 else ""
            print_line(f"  {name}  {change[name]}{more}")
    if len(changes) > SHOWN_CHANGES:
        print_line(f"and {plural(len(changes) - SHOWN_CHANGES, 'change')} more")
