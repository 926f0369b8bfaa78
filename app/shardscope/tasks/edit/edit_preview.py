"""Computing the preview of an edit, and running the edit; both in jobs. No Qt here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from itertools import accumulate
from pathlib import Path

from shardcore import Cancelled, DataSet, Shard, ShardError, SourceChanged, UsageError
from shardcore.dataclasses import dataclass, field, fields, replace
from shardcore.model.span import SourceName
from shardcore.model.text import plural
from shardcore.progress import Progress, no_progress, stopped_by
from shardcore.sources.local import FileSource, LocalFolder
from shardcore.sources.patched_source import Change as Patch
from shardcore.sources.patched_source import PatchedSource
from shardcore.writing.declaration import Verb
from shardcore.writing.in_place import Edit, FileChange, Rewrite, Zeros, check_names, edit_of, locked, make_rewrites
from shardcore.writing.undo import apply, finish, interrupted_edit, kept_text, planned_undo, undo
from shardscope.session.byte_marks import Proposed, ProposedRange

SHOWN = 64
"""Maximum number of old bytes, and of new bytes, in a row of the preview."""

KEPT = 1 << 20
"""Maximum number of new bytes that a preview keeps in memory for changes whose bytes are computed in pieces."""

MOST_LINES = 2_000
"""Maximum number of lines compared one by one; larger texts are shown as one changed range."""

Make = Callable[[bool, Progress], None]
"""Function that runs an edit; its arguments are whether to keep an undo file, and a progress callback."""

Undo = Callable[[str, Progress], None]


@dataclass(frozen=True, slots=True)
class EditRequest:
    """Requested edit; `now` is the time in ISO 8601 in UTC, `back` requests the reverse of the verb."""

    verb: Verb
    keys: Sequence[str] = ()
    paths: tuple[Path, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    now: str = ""
    back: bool = False


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change, as a row of the preview.

    Attributes:
        source: Name of the source that contains the change; None if the bytes view cannot show it.
        old_start: Offset in the old bytes; differs from `start` after insertions and deletions.
        old: The first of the `old_size` old bytes, at most `SHOWN`; `new` likewise.
    """

    source: str | None
    what: str
    start: int
    stop: int
    old_start: int
    old: bytes
    old_size: int
    new: bytes
    new_size: int
    is_text: bool = False


@dataclass(frozen=True)
class Proposal:
    """Changes of an edit that can be run; `old_size` and `new_size` are file sizes in bytes.

    Attributes:
        name: Name of the file that changes; empty if several files change.
        proposed: Old and new bytes for the bytes view, by source.
        kept: Texts on what happens to the old bytes, without and with an undo file; empty if there is no choice.
        asked: Request from which the changes were computed; None for typed bytes and undo.
        undoes: Whether this edit undoes another one.
        undo: Function that undoes this edit; its first argument is the identity that the file must still have.
    """

    what: str
    rows: tuple[ChangeRow, ...]
    name: str
    old_size: int
    new_size: int
    proposed: Mapping[str, Proposed]
    make: Make
    kept: tuple[str, ...] = ()
    remark: str = ""
    asked: EditRequest | None = None
    undoes: bool = False
    undo: Undo | None = None
    again: Callable[[Shard], Proposal] | None = None

    @property
    def total(self) -> str:
        if not self.rows:
            return "Nothing would change"
        count = sum(max(row.old_size, row.new_size) for row in self.rows)
        text = f"{plural(len(self.rows), 'change')}, {plural(count, 'byte')}"
        if not self.name:
            return text
        more = self.new_size - self.old_size
        if not more:
            return f"{text}; the file keeps its size of {plural(self.old_size, 'byte')}"
        verb = "grows" if more > 0 else "shrinks"
        return f"{text}; {self.name} {verb} by {plural(abs(more), 'byte')}, from {self.old_size:,} to {self.new_size:,}"


def propose(shard: Shard, asked: EditRequest) -> Proposal:
    """Compute the changes of an edit. Meanwhile, a local file is locked against edits by other processes."""
    from shardcore.operations.edit import compute_edit

    with locked(shard.source.path) if isinstance(shard.source, FileSource) else nullcontext():
        given = {one.name: getattr(asked, one.name) for one in fields(asked) if one.name != "verb"}
        edit = compute_edit(shard, asked.verb, **given)
    found = _of_edit_with_undo(edit) if isinstance(edit, Edit) else _of_rewrites(shard, edit)
    return replace(found, asked=asked, again=lambda shard: propose(shard, asked))


def propose_bytes(shard: Shard, changes: Sequence[Patch]) -> Proposal:
    """Compute the edit that writes typed bytes; raises `UsageError` if no byte changes."""
    source = shard.source
    if not isinstance(source, FileSource):
        raise UsageError("only local files can be changed in place")
    with locked(source.path):
        source.check_unchanged()
        typed = PatchedSource(source, changes)
        found = [(start, typed.read(start, stop), source.read(start, stop)) for start, stop in typed.new_ranges]
        new = tuple(FileChange(start, data, "typed") for start, data, old in found if data != old)
        if not new:
            raise UsageError("the typed bytes are the same as those in the file")
        edit = edit_of(source, f"overwrite {plural(sum(one.size for one in new), 'byte')}", new)
    return replace(_of_edit_with_undo(edit), again=lambda shard: propose_bytes(shard, changes))


def propose_undo(shard: Shard) -> Proposal:
    if not isinstance(shard.source, FileSource):
        raise UsageError("only local files can be changed in place")
    journal, edit = planned_undo(shard.source)
    state = "" if journal.done else "That edit was interrupted: the file may be partly changed."
    undone = _of_edit(edit, lambda _, progress: put_back(edit.path, "", progress))
    return replace(undone, remark=state, undoes=True)


def put_back(path: Path, left: str, progress: Progress = no_progress) -> None:
    """Undo the last edit, or finish an interrupted one without undo file. `left` is the expected identity, or empty."""
    with _uncancellable(progress) as report, locked(path):
        if left:
            with FileSource(path) as source:
                if source.identity != left:
                    raise SourceChanged(f"{path} was changed by another program")
        found = interrupted_edit(path)
        if found is not None and not found.kept:
            finish(path, keep=False, progress=report)
        else:
            undo(path, report)


def _apply(edit: Edit, keep: bool, progress: Progress) -> None:
    """Run an edit; it can be cancelled only with `keep`, which writes an undo file."""
    if keep:
        apply(edit, progress=progress)
    else:
        with _uncancellable(progress) as report:
            apply(edit, journal=False, progress=report)


@contextmanager
def _uncancellable(progress: Progress) -> Iterator[Progress]:
    """Yield a progress callback that ignores cancellation."""

    def report(done: int, total: int) -> None:
        with suppress(Cancelled):
            progress(done, total)

    with stopped_by(lambda: None):
        yield report


# --- edits in place ---


def _of_edit_with_undo(edit: Edit) -> Proposal:
    check_names(edit.path, hard_links=False)
    found = _of_edit(edit, partial(_apply, edit), (kept_text(edit, keep=False), kept_text(edit, keep=True)))
    return replace(found, undo=partial(put_back, edit.path))


def _of_edit(edit: Edit, make: Make, kept: tuple[str, ...] = ()) -> Proposal:
    rows: list[ChangeRow] = []
    stretches: list[ProposedRange] = []
    left = KEPT
    for described, one in zip(edit.to_json()["changes"], edit.changes, strict=True):
        old, new = bytes.fromhex(described["old"]), bytes.fromhex(described["new"])
        old_size = max(min(one.stop, edit.old_size) - one.start, 0)
        rows.append(ChangeRow("", one.what, one.start, one.stop, one.start, old, old_size, new, one.size))
        if old_size:
            stretch = _stretch(one, min(one.stop, edit.old_size), left)
            left -= 0 if isinstance(one.new, bytes) else len(stretch.new or b"")
            stretches.append(stretch)
    if edit.new_size < edit.old_size:
        at, cut = edit.new_size, edit.old_size - edit.new_size
        old = edit.source.read(at, min(at + SHOWN, edit.old_size))
        rows.append(ChangeRow("", "cut off", at, edit.old_size, at, old, cut, b"", 0))
        stretches.append(ProposedRange(at, edit.old_size, None))
    proposed = {"": Proposed.of("", stretches)} if stretches else {}
    return Proposal(edit.what, tuple(rows), edit.path.name, edit.old_size, edit.new_size, proposed, make, kept)


def _stretch(change: FileChange, stop: int, most: int) -> ProposedRange:
    if isinstance(change.new, Zeros):
        return ProposedRange(change.start, stop, zeros=True)
    if isinstance(change.new, bytes):
        return ProposedRange(change.start, stop, change.new[: stop - change.start])
    kept = bytearray()
    for piece in change.pieces():
        kept += piece[: min(most, stop - change.start) - len(kept)]
        if len(kept) >= min(most, stop - change.start):
            break
    return ProposedRange(change.start, stop, bytes(kept))


# --- small files beside the shard ---


def _of_rewrites(shard: Shard, rewrites: Sequence[Rewrite]) -> Proposal:
    rows: list[ChangeRow] = []
    proposed: dict[str, Proposed] = {}
    for one in rewrites:
        source = _source_of(shard, one.path) if one.old else None
        found = _changed_lines(source, one)
        rows += found
        if source is not None:
            proposed[source] = _proposed_text(source, one.old or b"", one.new or b"", found)
    whats = list(dict.fromkeys(one.what for one in rewrites))
    single = rewrites[0] if len(rewrites) == 1 else None
    fresh = [one.path.name for one in rewrites if one.old is None]
    remark = f"{', '.join(fresh[:3])} will be created." if fresh else ""
    return Proposal(
        whats[0] if len(whats) == 1 else f"change {plural(len(rewrites), 'file')}",
        tuple(rows),
        single.path.name if single is not None else "",
        len(single.old or b"") if single is not None else 0,
        len(single.new or b"") if single is not None else 0,
        proposed,
        lambda _, progress: make_rewrites(rewrites, progress=progress),
        remark=f"The shard itself is unchanged. {remark}".strip(),
        undo=lambda _, progress: make_rewrites(
            [replace(one, old=one.new, new=one.old) for one in rewrites], progress=progress
        ),
    )


def _changed_lines(source: str | None, rewrite: Rewrite) -> list[ChangeRow]:
    old, new = ((text or b"").splitlines(keepends=True) for text in (rewrite.old, rewrite.new))
    old_at, new_at = ([0, *accumulate(map(len, lines))] for lines in (old, new))
    rows = []
    for tag, a, b, c, d in _opcodes(old, new):
        if tag == "equal":
            continue
        before, after = b"".join(old[a:b]), b"".join(new[c:d])
        lines = f"line {c + 1}" if d - c == 1 else f"lines {c + 1:,} to {d:,}" if d > c else f"after line {c}"
        what = f"{rewrite.path.name}, {lines}"
        sizes = len(before), len(after)
        before, after = before.strip()[:SHOWN], after.strip()[:SHOWN]
        rows.append(
            ChangeRow(source, what, new_at[c], new_at[d], old_at[a], before, sizes[0], after, sizes[1], is_text=True)
        )
    return rows


def _opcodes(old: list[bytes], new: list[bytes]) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield `SequenceMatcher` opcodes for at most `MOST_LINES` lines; equal lines at both ends are skipped."""
    first = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    most = min(len(old), len(new)) - first
    ends = zip(reversed(old), reversed(new), strict=False)
    last = min(next((n for n, (a, b) in enumerate(ends) if a != b), most), most)
    inner = old[first : len(old) - last], new[first : len(new) - last]
    if max(map(len, inner)) > MOST_LINES:
        yield "replace", first, len(old) - last, first, len(new) - last
        return
    from difflib import SequenceMatcher

    for tag, a, b, c, d in SequenceMatcher(None, *inner, autojunk=False).get_opcodes():
        yield tag, a + first, b + first, c + first, d + first


def _proposed_text(source: str, old: bytes, new: bytes, rows: Sequence[ChangeRow]) -> Proposed:
    stop = min(len(old), len(new))
    found = [ProposedRange(0, stop, new[:stop])] if stop else []
    if len(new) < len(old):
        found.append(ProposedRange(len(new), len(old), None))
    return Proposed(
        source,
        tuple(found),
        tuple((row.old_start, row.old_start + row.old_size) for row in rows if row.old_size),
        tuple((row.start, min(row.stop, len(old))) for row in rows if row.start < min(row.stop, len(old))),
    )


def _source_of(shard: Shard, path: Path) -> str | None:
    folder = shard.folder if isinstance(shard, DataSet) else shard.source.folder if shard.source is not None else None
    if not isinstance(folder, LocalFolder) or path.parent.absolute() != folder.path.absolute():
        return None
    name = str(SourceName(path.name))
    try:
        shard.bytes_of(name)
    except ShardError:
        return None
    return name
