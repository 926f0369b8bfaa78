"""Commands that change files that are there: delete, truncate, tombstone, undo. They ask first."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import USUAL, Json, KeyFile, Keys, Opening, all_keys, opens, progress_bar, refuse_address
from shardcore.cli.output import print_json, print_line, tell_json, tell_line, warn
from shardcore.errors import UsageError
from shardcore.words import plural
from shardcore.writing.verbs import TOMBSTONE, made

if TYPE_CHECKING:
    from shardcore.shard import Shard
    from shardcore.writing.edit import Edit, Rewrite

SHOWN_CHANGES = 20
"""Changes that are shown before the question."""

LocalFile = Annotated[str, typer.Argument(metavar="FILE", help="A local file.", show_default=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show old and new bytes, and change nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
NoUndo = Annotated[bool, typer.Option("--no-undo", help="Keep no copy of what is overwritten: for takedowns.")]


@opens
def delete(
    uri: LocalFile,
    keys: Keys = None,
    key_file: KeyFile = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    no_undo: NoUndo = False,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Delete objects of a shard in place: their bytes become zeros."""
    wanted = all_keys(keys, key_file)
    return change(uri, how, "delete", wanted, yes=yes, dry_run=dry_run, no_undo=no_undo, as_json=json)


@opens
def truncate(
    uri: LocalFile,
    dry_run: DryRun = False,
    yes: Yes = False,
    no_undo: NoUndo = False,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Cut off the bytes that follow the end of a shard."""
    return change(uri, how, "truncate", yes=yes, dry_run=dry_run, no_undo=no_undo, as_json=json)


@opens
def append(
    uri: LocalFile,
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="The files with what is appended.", show_default=False)
    ],
    dry_run: DryRun = False,
    yes: Yes = False,
    no_undo: NoUndo = False,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Append the bytes of files to the content of a shard, in place or by rewriting it: that is said first."""
    return change(uri, how, "append", *map(Path, inputs), yes=yes, dry_run=dry_run, no_undo=no_undo, as_json=json)


def undo(file: LocalFile, yes: Yes = False, dry_run: DryRun = False, json: Json = False) -> int:
    """Put back what the last edit of a file changed, from FILE.undo; called again, the edit before."""
    from shardcore.writing.chain import bring_back, earlier_journals
    from shardcore.writing.undo import read_journal
    from shardcore.writing.undo import undo as put_back

    bring_back(Path(file))
    journal = read_journal(Path(file))
    state = "came to its end" if journal.done else "was interrupted"
    earlier = len(earlier_journals(Path(file)))
    if dry_run:
        told = {"path": file, "what": journal.what, "done": journal.done, "size": journal.old_size, "earlier": earlier}
        left = f"; {plural(earlier, 'edit')} before it can be undone then" if earlier else ""
        print_json(told) if json else print_line(f"{file}: undoes: {journal.what} (it {state}){left}")
        return 0
    _ask(f"{file}: undo this: {journal.what} (it {state}). Proceed?", yes=yes)
    with progress_bar("putting back") as progress:
        put_back(file, progress)
    return tell_edited(file, USUAL, as_json=json)


@opens
def tombstone(
    uri: Annotated[str, typer.Argument(metavar="URI", help="A local file, or a folder.", show_default=False)],
    keys: Keys = None,
    key_file: KeyFile = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help=TOMBSTONE.help_of("reason"))] = "",
    by: Annotated[str, typer.Option(metavar="NAME", help=TOMBSTONE.help_of("by"))] = "",
    ticket: Annotated[str, typer.Option(metavar="ID", help=TOMBSTONE.help_of("ticket"))] = "",
    take_back: Annotated[bool, typer.Option("--undo", help="Remove tombstones instead.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Note in the sidecar that objects were deleted; the shard itself stays as it is."""
    values = {"reason": reason, "by": by, "ticket": ticket, "date": str(how.options.get("date") or "")}
    refuse_address(uri)
    with how.open(uri) as shard:
        stamp = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        rewrites: tuple[Rewrite, ...] = made(
            TOMBSTONE,
            edit_for(shard, "tombstone"),
            shard,
            keys=all_keys(keys, key_file),
            values=values,
            now=stamp,
            back=take_back,
        )
    if dry_run:
        print_json([one.told() for one in rewrites])
        return 0
    if not json:
        for one in rewrites:
            print_line(f"{one.path}: {one.what}")
    _ask(f"The shard stays as it is, and so do the bytes in it. {plural(len(rewrites), 'file')}. Proceed?", yes=yes)
    for one in rewrites:
        one.make()
        if json:
            sha256 = hashlib.sha256(one.new).hexdigest()
            tell_json({"path": str(one.path), "objects": 0, "size": len(one.new), "sha256": sha256})
    return 0


COMMANDS = (delete, truncate, append, tombstone, undo)


def change(
    uri: str, how: Opening, name: str, *given: Any, yes: bool, dry_run: bool, no_undo: bool, as_json: bool
) -> int:
    """Makes the edit that a command means, after it was shown and agreed to; the exit code.

    Raises:
        UsageError: The format has no such edit, or there is nobody to ask.
    """
    refuse_address(uri)
    with how.open(uri) as shard:
        edit: Edit = edit_for(shard, name)(shard, *given)
        if edit.new_size == edit.old_size and not edit.changes:
            warn(f"{uri}: {edit.what}; nothing was changed")
            return 0
        if not agreed(edit, yes=yes, dry_run=dry_run, no_undo=no_undo, as_json=as_json):
            return 0
        make(edit, no_undo=no_undo)
    return tell_edited(uri, how, as_json=as_json)


def edit_for(shard: Shard, name: str) -> Callable[..., Any]:
    """What makes the edits of a name for shards of this format.

    Raises:
        UsageError: The format has no such edit.
    """
    from shardcore.registry import all_formats, format_of

    found = format_of(shard.format).edits.get(name)
    if found is None:
        there = ", ".join(one.name for one in all_formats() if name in one.edits)
        raise UsageError(f"{shard.format} shards know no {name}; {there} does")
    return found


def agreed(edit: Edit, *, yes: bool, dry_run: bool, no_undo: bool, as_json: bool) -> bool:
    """Shows an edit and asks; whether it is to be made.

    Raises:
        UsageError: There is nobody to ask, and no `--yes`.
    """
    from shardcore.writing.kept import kept_text

    kept = kept_text(edit, keep=not no_undo)
    if dry_run:
        if as_json:
            print_json(edit.told() | {"undo": kept})
        else:
            _show(edit)
            print_line(kept)
        return False
    if not yes:
        _show(edit)
    _ask(f"{edit.path}: {edit.what}; {kept}. Proceed?", yes=yes)
    return True


def make(edit: Edit, *, no_undo: bool) -> None:
    """Makes an edit that was agreed to.

    Raises:
        ShardError: It cannot be made.
    """
    from shardcore.writing.undo import apply

    with progress_bar("writing") as progress:
        apply(edit, journal=not no_undo, progress=progress)


def tell_edited(uri: str, how: Opening, *, as_json: bool) -> int:
    """Opens the file again, verifies its index and tells what it is now; the exit code."""
    from shardcore.finding import Depth, Severity

    with how.open(uri) as shard:
        report = shard.verify(Depth.INDEX)
        size = shard.source.size if shard.source is not None else 0
        objects = shard.declared_objects
    for finding in report.findings:
        if finding.severity is Severity.ERROR:
            warn(f"the file is not sound: {finding.code}: {finding.message}")
    if as_json:
        tell_json({"path": uri, "objects": objects, "size": size, "sha256": _sha256(uri)})
    else:
        tell_line(f"{uri}: {plural(size, 'byte')}")
    return 0 if report.ok else 1


def _ask(question: str, *, yes: bool) -> None:
    """Asks on the terminal.

    Raises:
        UsageError: There is none, and no `--yes`; or the answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{question.removesuffix(' Proceed?')} Nobody can be asked here: add --yes")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was changed")


def _show(edit: Edit) -> None:
    """Old and new bytes of the changes."""
    told = edit.told()
    for change in told["changes"][:SHOWN_CHANGES]:
        print_line(f"{change['start']}..{change['stop']}  {change['what']}")
        for name in ("old", "new"):
            more = " …" if change["stop"] - change["start"] > len(change[name]) // 2 else ""
            print_line(f"  {name}  {change[name]}{more}")
    if len(told["changes"]) > SHOWN_CHANGES:
        print_line(f"and {plural(len(told['changes']) - SHOWN_CHANGES, 'change')} more")
    if told["size"] != told["new_size"]:
        print_line(f"size  {told['size']} -> {told['new_size']}")


def _sha256(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
