"""Sandbox: changes of the open file in memory, their effect, and menu actions. The file itself is never written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from shardcore import Cancelled, DataSet, Shard, ShardError, Span, UsageError
from shardcore.dataclasses import replace
from shardcore.model.span import SourceName
from shardcore.model.text import shown
from shardcore.sources.base import read_pieces
from shardcore.sources.patched_source import (
    Change,
    PatchedSource,
    check_room,
    overwriting,
    redo_step,
    steps_of,
    undo_step,
)
from shardcore.teaching.change_impact import MOST_BYTES, Before, Impact, before, compare, noting, touched
from shardcore.writing.temporary import write_whole
from shardscope.session.byte_marks import SandboxChanges
from shardscope.session.display_text import error_text
from shardscope.session.jobs import Job, JobPriority, Pool
from shardscope.session.open_request import listed_members
from shardscope.session.session import OpenFailure, Session
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.layouts import new_action
from shardscope.widgets.plain_text import tip

_KEPT = ("on", "changes", "undone", "impact", "error", "_expects", "_saved", "_was", "_member", "_there", "_asked")
"""Attributes of `Sandbox` that are stored with a document while another one is shown."""

SOON_MILLISECONDS = 300
"""Pause in typing, in milliseconds, after which the file is reopened with the typed bytes."""


class Sandbox(QObject):
    changed = Signal()
    """The sandbox was switched on or off, or a change was made, undone or redone."""
    compared = Signal()
    reopening = Signal()
    reopened = Signal()
    """The changed bytes were opened, and all panels show them."""
    saved = Signal(object)

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.on = False
        self.changes: tuple[Change, ...] = ()
        self.undone: tuple[Change, ...] = ()
        self.impact: Impact | None = None
        self.error = ""
        self._expects = ""
        self._saved: tuple[Change, ...] = ()
        self._was: Before | None = None
        self.leaving = False
        self._member = self._begin_at = ""
        self._there: tuple[tuple[Change, ...], tuple[Change, ...]] = ((), ())
        self._asked: tuple[Change, ...] | None = None
        self._soon = Debounce(self, self._open_soon, SOON_MILLISECONDS)
        self._listens = False
        session.opened.connect(self._opened)
        session.closed.connect(self._closed)
        session.documents.failed.connect(self._not_opened)

    # --- what there is ---

    @property
    def why_not(self) -> str:
        shard = self._session.shard
        if shard is None:
            return self.tr("Open a file first")
        if self._session.request.inside:
            return self.tr("This is inside another file: save it as a file and open that")
        if shard.source is None and not self.member:
            return self.tr("A folder has no bytes to change: select bytes of one of its files")
        return ""

    @property
    def member(self) -> str:
        """Name of the shard whose bytes are selected in a data set; empty if there is none."""
        shard, span = self._session.shard, self._session.selection.span
        if not isinstance(shard, DataSet) or span is None:
            return ""
        name = SourceName.parse(span.source).path
        return name if any(member.name == name for member in listed_members(shard)) else ""

    @property
    def source(self) -> PatchedSource | None:
        source = self._session.shard.source if self._session.shard is not None else None
        return source if self.on and isinstance(source, PatchedSource) else None

    @property
    def unsaved(self) -> bool:
        return self.on and bool(self.changes) and self.changes != self._saved

    @property
    def count(self) -> int:
        return steps_of(self.changes)

    @property
    def pending(self) -> tuple[Change, ...]:
        """Changes that the opened bytes do not contain yet; empty if a cut is among them, since offsets differ then."""
        there = self._there[0]
        pairs = zip(there, self.changes, strict=False)
        same = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(there), len(self.changes)))
        if any(change.data is None for change in (*there[same:], *self.changes[same:])):
            return ()
        return self.changes[same:]

    @property
    def marks(self) -> SandboxChanges | None:
        source = self.source
        return None if source is None else SandboxChanges(source.new_ranges, source.cuts)

    # --- switching ---

    def switch(self, on: bool) -> None:
        if on == self.on:
            return
        if on and self.member:
            self._open_member()
        elif on and not self.why_not:
            source = self._session.shard.source if self._session.shard is not None else None
            self._expects = source.identity if source is not None else ""
            self._set((), ())
        elif not on:
            self.leaving = True
            self.reopening.emit()
            request = self._session.request.without_changes()
            self._session.open(request, select=self._inside(self._session.selection.span))

    def _open_member(self) -> None:
        span, shard = self._session.selection.span, self._session.shard
        if span is None or not isinstance(shard, DataSet):
            return
        stored = not SourceName.parse(span.source).stretches
        self._begin_at = f"{shard.folder.uri.rstrip('/')}/{self.member}"
        request = replace(self._session.request, uri=self._begin_at)
        self._session.open(request, select=Span("", span.start, span.stop) if stored else None)

    def _listen(self, listens: bool) -> None:
        """Connect to the selection, or disconnect: in a data set, it decides which shard the sandbox would change."""
        if listens != self._listens:
            self._listens = listens
            signal = self._session.selection_changed
            (signal.connect if listens else signal.disconnect)(self._selected)

    def _selected(self, *_: object) -> None:
        if (member := self.member) != self._member:
            self._member = member
            self.changed.emit()

    def drop(self) -> None:
        self._soon.stop()
        self._saved = self.changes

    def stay(self) -> None:
        self.leaving = False

    # --- changing ---

    def flip(self, bit: int) -> None:
        place = self.place

        def made(shard: Shard, _: Job) -> Change:
            source = self._changed_source(shard)
            if place is None or place.start >= source.size:
                raise UsageError("select a byte of the file first")
            return Change.flip(place.start, bit, source.read(place.start, place.start + 1)[0])

        failed, key = self.tr("Cannot flip the bit"), ("flip", self)
        self._session.ask(made, self._add, failed=failed, key=key, priority=JobPriority.SCREEN)

    def put(self, pieces: Sequence[tuple[int, bytes]], what: str = "", *, second: bool = False) -> None:
        """Overwrite bytes as one undo step; the file is reopened after `SOON_MILLISECONDS` without typing."""
        if self.on and self._hold(overwriting(self.changes, pieces, what, second=second), ()):
            self._soon.start()
            self.changed.emit()

    def cut(self, *, rest: bool = False) -> None:
        place, source = self.place, self.source
        if place is not None and source is not None:
            self._add(Change.cut(place.start, source.size if rest else max(place.stop, place.start + 1)))

    def undo(self) -> None:
        if self.on and self.changes:
            self._set(*undo_step(self.changes, self.undone), self.changes[-1])

    def redo(self) -> None:
        if self.on and self.undone:
            self._set(*redo_step(self.changes, self.undone), self.undone[-1])

    def start_over(self) -> None:
        if self.on and self.changes:
            self._set((), (*self.undone, *reversed(self.changes)))

    @property
    def place(self) -> Span | None:
        span = self._session.selection.span
        return span if self.on and span is not None and not span.source else None

    def _add(self, change: Change) -> None:
        self._set((*self.changes, change), (), change)

    def _set(self, changes: tuple[Change, ...], undone: tuple[Change, ...], last: Change | None = None) -> None:
        if self._hold(changes, undone):
            select = Span("", last.start, last.stop if last.data is not None else last.start + 1) if last else None
            self._open(self._inside(select or self._session.selection.span))

    def _hold(self, changes: tuple[Change, ...], undone: tuple[Change, ...]) -> bool:
        try:
            check_room(changes)
        except ShardError as error:
            self._session.say(error_text(error), failed=True)
            return False
        self.changes, self.undone = changes, undone
        self.impact = None
        return True

    def _open_soon(self) -> None:
        if not self.leaving:
            self._open(lambda: self._inside(self._session.selection.span))

    def _open(self, select: Span | Callable[[], Span | None] | None) -> None:
        self._soon.stop()
        self._asked = self.changes
        self.reopening.emit()
        self._session.open(self._session.request.with_changes(self.changes, self._expects), select=select)

    def _changed_source(self, shard: Shard) -> PatchedSource:
        source = shard.source
        if not isinstance(source, PatchedSource):
            raise UsageError("the sandbox is not open")
        return PatchedSource(source.base, self.changes, expects=self._expects)

    @staticmethod
    def _inside(span: Span | None) -> Span | None:
        return span if span is not None and not span.source else None

    # --- what is open ---

    def _opened(self, shard: Shard) -> None:
        self._listen(isinstance(shard, DataSet))
        self._member = self.member
        if self._session.documents.switching:
            return
        request = self._session.request
        was = self.on
        if request.sandbox and not request.inside:
            if not was:
                self._was = None
                self._saved = ()
            self.on = True
            if request.changes != self._asked:
                # Other code reopened the sandbox with its own changes, which replace those recorded here.
                self._soon.stop()
                self.changes, self.undone, self._expects = request.changes, (), request.expects
                self._asked = request.changes
            self._there = request.changes, self.undone if request.changes == self.changes else ()
            self.changed.emit()
            QTimer.singleShot(0, self, self.reopened.emit)
            self.compare()
        elif was:
            self._forget()
            if self.leaving:
                QTimer.singleShot(0, self, self.reopened.emit)
            self.leaving = False
        else:
            self.changed.emit()
            if request.uri == self._begin_at:
                QTimer.singleShot(0, self, lambda: self.switch(True))
        self._begin_at = ""

    def _not_opened(self, failure: OpenFailure) -> None:
        self.leaving, self._begin_at = False, ""
        if self.on:
            if failure.request.sandbox:
                self._soon.stop()
                self.changes, self.undone = self._there
            self.changed.emit()

    def _closed(self) -> None:
        if not self._session.documents.replacing:
            self._listen(False)
            self._forget()

    def _forget(self) -> None:
        self.on = False
        self.changes = self.undone = self._saved = ()
        self._there, self._asked = ((), ()), None
        self._soon.stop()
        self._was, self.impact, self.error = None, None, ""
        self._session.jobs.cancel(("before", self))
        self.changed.emit()
        self.compared.emit()

    # --- other tabs ---

    def view_state(self) -> object:
        self._soon.stop()
        self.leaving, self._begin_at = False, ""
        return {name: getattr(self, name) for name in _KEPT}

    def restore_view_state(self, state: object) -> None:
        if not isinstance(state, dict):
            return
        for name, value in state.items():
            setattr(self, name, value)
        self.changed.emit()
        self.compared.emit()
        if self.on and self.changes != self._there[0]:
            # The opened bytes do not contain the last change yet.
            self._soon.start()

    # --- comparing ---

    @property
    def comparing(self) -> Job | None:
        jobs = self._session.jobs
        return jobs.newest(("before", self)) or jobs.newest(("compare", self))

    def stop(self) -> None:
        if (job := self.comparing) is not None:
            job.cancel()

    def compare(self) -> None:
        """Compare the objects of the sandbox with those on disk, which are read first; many bytes need consent."""
        self.impact, self.error = None, ""
        self.compared.emit()
        if self._was is None:
            source = self.source
            size = min(source.size, MOST_BYTES) if source is not None else 0
            self.error = self.tr("press Compare to read the objects from disk")
            self._session.with_consent(self.tr("Comparing the objects"), size, self._note)
            return
        was = self._was

        def take(impact: Impact) -> None:
            if self.changes != self._there[0]:
                return  # other bytes were typed meanwhile
            self.impact = impact
            self.compared.emit()
            self._session.verification.set_report(impact.report)

        request = self._session.request.with_changes((), self._expects)

        def work(shard: Shard, job: Job) -> Impact:
            noted, keys = was, touched(was, shard)
            if keys:  # of many objects, only some were recorded: record the changed ones now
                with request.open(job.progress) as original:
                    noted = noting(was, original, keys)
            return compare(noted, shard, job.progress)

        self._session.ask(
            work,
            take,
            failed=self._not_compared,
            stopped=lambda: self._not_compared(Cancelled()),
            key=("compare", self),
            pool=Pool.CPU,
            priority=JobPriority.SCAN,
            title=self.tr("Compare with the original file"),
        )
        self.compared.emit()

    def _note(self) -> None:
        if self._session.jobs.newest(("before", self)) is not None:
            return
        request = self._session.request.with_changes((), self._expects)
        self.error = ""

        def work(job: Job) -> Before:
            with request.open(job.progress) as shard:
                return before(shard, job.progress)

        def done(was: Before | None, error: BaseException | None) -> None:
            if not self.on:
                return
            if was is not None:
                self._was = was
                self.compare()
            else:
                self._not_compared(error or Cancelled())

        self._session.jobs.submit(
            work,
            key=("before", self),
            pool=Pool.CPU,
            priority=JobPriority.SCAN,
            lasting=True,
            title=self.tr("Record the objects of the file"),
            done=self._session.documents.when_shown(done),
        )
        self.compared.emit()

    def _not_compared(self, error: BaseException) -> None:
        self.error = self.tr("stopped") if isinstance(error, Cancelled) else error_text(error)
        self.compared.emit()

    # --- saving ---

    def save(self, path: Path, *, agreed: bool, failed: Callable[[BaseException], None]) -> Job | None:
        """Write a copy in a job, never over the file itself."""
        changes, original = self.changes, self._session.uri

        def work(shard: Shard, job: Job) -> None:
            source = self._changed_source(shard)
            if "://" not in original and path.exists() and path.samefile(original):
                raise UsageError(f"{path.name} is the original file, which is never changed: choose another name")

            def copied() -> Iterator[bytes]:
                at = 0
                for piece in read_pieces(source, 0, source.size):
                    at += len(piece)
                    job.progress(at, source.size)
                    yield piece

            write_whole(path, copied(), force=agreed)

        def take(_: None) -> None:
            self._saved = changes
            self.saved.emit(path)
            self.changed.emit()

        title = self.tr("Save a copy of the sandbox")
        return self._session.ask(work, take, failed=failed, key=("save", self), title=title)


class SandboxActions(QObject):
    leave_wanted = Signal()

    def __init__(self, sandbox: Sandbox, parent: QObject) -> None:
        super().__init__(parent)
        self._sandbox = sandbox
        act = partial(new_action, self)
        self.switch = act(self.tr("Use sand&box"), self._switched, "Ctrl+Alt+B", checkable=True)
        self.switch.setObjectName("breakItSafely")
        self.to_bits = act(self.tr("&Flip a bit…"), None, "Ctrl+Alt+F")
        self.bits = [act(self.tr("Flip bit &{0}").format(n), partial(sandbox.flip, n)) for n in range(8)]
        self.cut = act(self.tr("&Cut the selected bytes out"), sandbox.cut, "Ctrl+Alt+X")
        cut_rest = partial(sandbox.cut, rest=True)
        self.cut_rest = act(self.tr("Cut from here to the &end"), cut_rest, "Ctrl+Alt+End")
        self.undo, self.redo = act("", sandbox.undo), act("", sandbox.redo)
        self.start_over = act(self.tr("&Start over"), sandbox.start_over, "Ctrl+Alt+Z")
        self.save = act(self.tr("Save as a &copy…"), None, "Ctrl+Alt+S")
        self.salvage = act(self.tr("Recover &objects…"), None, "Ctrl+Alt+E")
        self.missions = act(self.tr("&Missions…"), None, "Ctrl+Alt+M")
        sandbox.changed.connect(self.update)
        self.update()

    def _switched(self) -> None:
        if self._sandbox.on:
            self.leave_wanted.emit()
        else:
            self._sandbox.switch(True)
        # Its check mark shows the actual state.
        self.switch.setChecked(self._sandbox.on)

    def update(self) -> None:
        sandbox, why_not = self._sandbox, self._sandbox.why_not
        self.switch.setEnabled(sandbox.on or not why_not)
        self.switch.setChecked(sandbox.on)
        safe = self.tr("Changes in memory only: the file on disk is not changed")
        if sandbox.member:
            safe = self.tr("Opens {0} alone. {1}").format(shown(sandbox.member), safe)
        self.switch.setToolTip(tip(why_not or safe))
        first = "" if sandbox.on else self.tr("Choose Tools > Sandbox > Use sandbox first")
        there = {self.undo: sandbox.changes, self.redo: sandbox.undone}
        there |= dict.fromkeys((self.start_over, self.save), sandbox.changes)
        for action in (self.to_bits, *self.bits, self.cut, self.cut_rest, *there):
            action.setEnabled(sandbox.on and bool(there.get(action, True)))
            action.setToolTip(first)
        no_file = self.tr("Open one of the files of the folder first") if sandbox.member else why_not
        self.salvage.setEnabled(not no_file)
        self.salvage.setToolTip(tip(no_file or self.tr("Works with a damaged index, if the format allows it")))
