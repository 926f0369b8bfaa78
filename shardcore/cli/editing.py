"""Commands that change files that are there: delete, truncate, tombstone, undo. They ask first."""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardcore.cli.options import USUAL, Json, KeyFile, Keys, Opening, all_keys, opens, progress_bar, refuse_address
from shardcore.cli.output import print_json, print_line, tell_json, tell_line, warn
from shardcore.errors import SourceChanged, UsageError
from shardcore.sources.where import local_path
from shardcore.words import plural
from shardcore.writing.verbs import TOMBSTONE, made

if TYPE_CHECKING:
    from shardcore.progress import Progress
    from shardcore.shard import Shard
    from shardcore.writing.audit import Audit
    from shardcore.writing.edit import Edit, Rewrite
    from shardcore.writing.undo import Journal

SHOWN_CHANGES = 20
"""Changes that are shown before the question."""

LocalFile = Annotated[str, typer.Argument(metavar="FILE", help="A local file.", show_default=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show old and new bytes, and change nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
HardLinks = Annotated[
    bool, typer.Option("--hard-links", help="Edit a file that has several names; all of them are about its bytes.")
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help=TOMBSTONE.help_of("reason"))]
Who = Annotated[str, typer.Option(metavar="NAME", help=TOMBSTONE.help_of("by"))]
Ticket = Annotated[str, typer.Option(metavar="ID", help=TOMBSTONE.help_of("ticket"))]
InLog = Annotated[bool, typer.Option("--audit", help="Append a line about it to FILE.audit.jsonl.")]
NoUndo = Annotated[bool, typer.Option("--no-undo", help="Keep no copy of what is overwritten: for takedowns.")]


@opens
def delete(
    uri: LocalFile,
    keys: Keys = None,
    key_file: KeyFile = None,
    reason: Reason = "",
    who: Who = "",
    ticket: Ticket = "",
    audit: InLog = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    no_undo: NoUndo = False,
    hard_links: HardLinks = False,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Delete objects of a shard in place: their bytes become zeros."""
    if not audit and (reason or who or ticket):
        warn("--reason, --who and --ticket are noted in FILE.audit.jsonl alone: add --audit")
    wanted = all_keys(keys, key_file)
    given = Request("delete", wanted, (), yes, dry_run, no_undo, hard_links, _audit(audit, reason, who, ticket))
    return change(uri, how, given, as_json=json)


@opens
def truncate(
    uri: LocalFile,
    dry_run: DryRun = False,
    yes: Yes = False,
    no_undo: NoUndo = False,
    hard_links: HardLinks = False,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Cut off the bytes that follow the end of a shard."""
    given = Request("truncate", None, (), yes, dry_run, no_undo, hard_links)
    return change(uri, how, given, as_json=json)


@opens
def append(
    uri: LocalFile,
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="The files with what is appended.", show_default=False)
    ],
    dry_run: DryRun = False,
    yes: Yes = False,
    no_undo: NoUndo = False,
    hard_links: HardLinks = False,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Append the bytes of files to the content of a shard, in place or by rewriting it: that is said first."""
    given = Request("append", None, tuple(map(Path, inputs)), yes, dry_run, no_undo, hard_links)
    return change(uri, how, given, as_json=json)


def undo(
    file: LocalFile,
    purge: Annotated[
        bool, typer.Option("--purge", help="Remove FILE.undo and those before it, with the old bytes in them.")
    ] = False,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            help="Use FILE.undo though it belongs to another user, names another device or inode (both were copied or "
            "restored from a backup), or makes FILE longer by more than 1 GiB of zeros.",
        ),
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Put back what the last edit of a file changed, from FILE.undo; called again, the edit before."""
    from shardcore.writing.chain import bring_back, earlier_journals
    from shardcore.writing.lock import locked, real_path
    from shardcore.writing.undo import read_journal
    from shardcore.writing.undo import undo as put_back

    refuse_address(file)
    path = real_path(file)
    with locked(path):
        if purge:
            return _purge(path, yes=yes, dry_run=dry_run, as_json=json)
        bring_back(path)
        journal = read_journal(path, trust=trust)
        if not journal.kept:
            raise UsageError(journal.told)
        state = "came to its end" if journal.done else "was interrupted"
        earlier = len(earlier_journals(path))
        if dry_run:
            size = journal.old_size
            told = {"path": file, "what": journal.what, "done": journal.done, "size": size, "earlier": earlier}
            left = f"; {plural(earlier, 'edit')} before it can be undone then" if earlier else ""
            print_json(told) if json else print_line(f"{file}: undoes: {journal.what} (it {state}){left}")
            return 0
        _ask(f"{file}: undo this: {journal.what} (it {state}). Proceed?", yes=yes)
        with progress_bar("putting back") as progress:
            put_back(path, progress, trust=trust)
        return tell_edited(file, USUAL, as_json=json)


def _purge(path: Path, *, yes: bool, dry_run: bool, as_json: bool) -> int:
    """Remove the journals of a file; the exit code."""
    from shardcore.writing.undo import purge

    found = purge(path, dry_run=True)
    if not found:
        raise UsageError(f"{path} has no journals: nothing to remove")
    sizes = [one.stat().st_size for one in found]
    if not as_json:
        for one, size in zip(found, sizes, strict=True):
            print_line(f"{one}: {plural(size, 'byte')}")
    what = f"remove {plural(len(found), 'journal')} with the old bytes; the edits cannot be undone then"
    if not dry_run:
        _ask(f"{path}: {what}. Proceed?", yes=yes)
        purge(path)
    if as_json:
        for one, size in zip(found, sizes, strict=True):
            tell_json({"path": str(one), "size": size, "removed": not dry_run})
    return 0


@opens
def tombstone(
    uri: Annotated[str, typer.Argument(metavar="URI", help="A local file, or a folder.", show_default=False)],
    keys: Keys = None,
    key_file: KeyFile = None,
    reason: Reason = "",
    who: Who = "",
    by: Annotated[str, typer.Option(metavar="NAME", hidden=True)] = "",
    ticket: Ticket = "",
    audit: InLog = False,
    take_back: Annotated[bool, typer.Option("--undo", help="Remove tombstones instead.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    hard_links: HardLinks = False,
    json: Json = False,
    how: Opening = USUAL,
) -> int:
    """Note in the sidecar that objects were deleted; the shard itself stays as it is."""
    from shardcore.writing.edit import make_rewrites
    from shardcore.writing.lock import locked

    who = who or by
    refuse_address(uri)
    wanted = all_keys(keys, key_file)
    if dry_run:
        print_json([one.told() for one in _rewrites(uri, how, wanted, reason, who, ticket, back=take_back)])
        return 0
    agreed = yes
    paths: list[str | Path] = [uri]
    while True:
        with locked(*paths):
            rewrites = _rewrites(uri, how, wanted, reason, who, ticket, back=take_back)
            if not agreed:
                _tell_rewrites(rewrites, as_json=json)
                _ask(f"The shard stays as it is, and so do the bytes in it. {_count(rewrites)}. Proceed?", yes=False)
                agreed = True
            elif yes:
                _tell_rewrites(rewrites, as_json=json)
            try:
                make_rewrites(rewrites, hard_links=hard_links, audit=_audit(audit, reason, who, ticket))
                break
            except SourceChanged:
                # Another editor of one of the files of a folder was first: they are locked, and read again.
                if len(paths) > 1:
                    raise
                paths += [one.shard for one in rewrites]
    if json:
        for one in rewrites:
            sha256 = hashlib.sha256(one.new).hexdigest()
            tell_json({"path": str(one.path), "objects": 0, "size": len(one.new), "sha256": sha256})
    return 0


def _rewrites(
    uri: str, how: Opening, keys: list[str], reason: str, who: str, ticket: str, *, back: bool
) -> tuple[Rewrite, ...]:
    """The sidecars with the tombstones, or without them."""
    with how.open(uri) as shard:
        stamp = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        values = {"reason": reason, "by": who, "ticket": ticket}
        make_one = edit_for(shard, "tombstone")
        found: tuple[Rewrite, ...] = made(TOMBSTONE, make_one, shard, keys=keys, values=values, now=stamp, back=back)
        return found


COMMANDS = (delete, truncate, append, tombstone, undo)


@dataclass(frozen=True, slots=True)
class Request:
    """An edit as a command line requests it.

    Attributes:
        name: The verb.
        keys: The objects; None for a verb that takes none.
        paths: The files of a verb that takes files.
        yes: Whether nobody is asked.
        dry_run: Whether nothing is changed.
        no_undo: Whether the old bytes are not kept.
        hard_links: Whether a file with several names is edited.
        audit: What the audit log notes; None for no note.
    """

    name: str
    keys: list[str] | None
    paths: tuple[Path, ...]
    yes: bool
    dry_run: bool
    no_undo: bool
    hard_links: bool
    audit: Audit | None = None


def change(uri: str, how: Opening, given: Request, *, as_json: bool) -> int:
    """Makes the edit that a command means, after it was shown and agreed to; the exit code.

    Raises:
        UsageError: The format has no such edit, there is nobody to ask, or another process edits the file.
    """
    from shardcore.writing.lock import locked
    from shardcore.writing.undo import edit_in_place

    refuse_address(uri)
    with ExitStack() as stack:

        def compute(keys: Sequence[str]) -> Edit:
            shard = stack.enter_context(how.open(uri))
            edit: Edit = edit_for(shard, given.name)(shard, *([list(keys)] if given.keys is not None else given.paths))
            return edit

        if given.dry_run:
            agreed(compute(given.keys or ()), given, as_json=as_json)
            return 0
        stack.enter_context(locked(uri))
        with ExitStack() as bar:

            def begin(edit: Edit | Journal) -> bool:
                # No bar while somebody is asked.
                bars.clear()
                bar.close()
                return agreed(edit, given, as_json=as_json)

            def progress(done: int, total: int) -> None:
                if not bars:
                    bars.append(bar.enter_context(progress_bar("writing")))
                bars[0](done, total)

            bars: list[Progress] = []
            done = edit_in_place(
                uri,
                given.name,
                compute,
                given.keys or (),
                agreed=begin,
                keep=not given.no_undo,
                hard_links=given.hard_links,
                audit=given.audit,
                progress=progress,
            )
        if not done.changed:
            warn(f"{uri}: {done.what}; nothing was changed")
            return 0
        if done.finished is not None:
            warn(f"{uri}: an edit that was interrupted was finished first")
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


def agreed(edit: Edit | Journal, given: Request, *, as_json: bool) -> bool:
    """Shows an edit and asks; whether it is to be made.

    Raises:
        UsageError: There is nobody to ask, and no `--yes`.
    """
    from shardcore.writing.kept import kept_text
    from shardcore.writing.undo import Journal

    if isinstance(edit, Journal):
        _ask(f"{edit.path}: finish the edit that was interrupted: {edit.what}. Proceed?", yes=given.yes)
        return True
    if given.dry_run and edit.new_size == edit.old_size and not edit.changes:
        warn(f"{edit.path}: {edit.what}; nothing was changed")
        return False
    kept = kept_text(edit, keep=not given.no_undo)
    if given.dry_run:
        if as_json:
            print_json(edit.told() | {"undo": kept})
        else:
            _show(edit)
            print_line(kept)
        return False
    if not given.yes:
        _show(edit)
    _ask(f"{edit.path}: {edit.what}; {kept}. Proceed?", yes=given.yes)
    return True


def _audit(wanted: bool, reason: str, who: str, ticket: str) -> Audit | None:
    """What the audit log notes; who edits is by default the user of the system."""
    if not wanted:
        return None
    from shardcore.writing.audit import Audit

    if not who:
        with contextlib.suppress(OSError, KeyError, ImportError):
            who = getpass.getuser()
    return Audit(reason, who, ticket)


def _tell_rewrites(rewrites: tuple[Rewrite, ...], *, as_json: bool) -> None:
    if not as_json:
        for one in rewrites:
            print_line(f"{one.path}: {one.what}")


def _count(rewrites: tuple[Rewrite, ...]) -> str:
    return plural(len(rewrites), "file")


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
    with local_path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
