"""The sandbox over the open file: what was changed in memory, and what that does. The file is only ever read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from shardcore import Cancelled, DataSet, Depth, Report, Shard, ShardError, Span, UsageError
from shardcore.impact import MOST_BYTES, Before, Impact, before, compare, noting, touched
from shardcore.salvage import pieces_of
from shardcore.sources.names import SourceName
from shardcore.sources.patched import Change, PatchedSource, check_room
from shardcore.writing.temporary import write_whole
from shardscope.jobs import Job, Pool, Priority
from shardscope.looks.remedies import plain_words
from shardscope.models.sandboxed import Sandboxed
from shardscope.opening import members_at_hand
from shardscope.session import Session


class Sandbox(QObject):
    """Holds the changes, opens the file again over them after each, and compares.

    Attributes:
        on: Whether there is a sandbox.
        changes: What was done, in order.
        undone: What was undone and can be done again, the next one last.
        impact: What the changes did; None while that is not known.
        error: Why it is not known; empty while it is being found out.
        leaving: Whether the file is being opened as it is on disk.
    """

    changed = Signal()
    """It was switched, or the changes are others; and the bytes are open."""
    compared = Signal()
    """`impact` or `error` is another."""
    reopening = Signal()
    """The bytes are about to be opened again."""
    reopened = Signal()
    """They were, and everybody heard of it."""
    saved = Signal(object)
    """The path of a copy."""

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
        self._wanted: tuple[tuple[Change, ...], tuple[Change, ...]] = ((), ())
        session.selection_changed.connect(lambda _: self._selected())
        session.opened.connect(self._opened)
        session.closed.connect(self._closed)
        session.failed.connect(lambda _: self._not_opened())

    # --- what there is ---

    @property
    def why_not(self) -> str:
        """Why there can be no sandbox; empty where there can."""
        shard = self._session.shard
        if shard is None:
            return self.tr("Open a file first")
        if shard.source is None and not self.member:
            return self.tr("A folder cannot be broken: select bytes of one of its files")
        return ""

    @property
    def member(self) -> str:
        """The file of a data set whose bytes are selected; empty where none is."""
        shard, span = self._session.shard, self._session.selection.span
        if not isinstance(shard, DataSet) or span is None:
            return ""
        name = SourceName.parse(span.source).path
        return name if any(member.name == name for member in members_at_hand(shard)) else ""

    @property
    def source(self) -> PatchedSource | None:
        """The changed bytes that are open."""
        source = self._session.shard.source if self._session.shard is not None else None
        return source if self.on and isinstance(source, PatchedSource) else None

    @property
    def unsaved(self) -> bool:
        """Whether there are changes that no copy has."""
        return self.on and bool(self.changes) and self.changes != self._saved

    @property
    def marks(self) -> Sandboxed | None:
        """Where the bytes differ from those on disk; None without a sandbox."""
        source = self.source
        return None if source is None else Sandboxed(source.new_ranges, source.cuts)

    # --- switching ---

    def switch(self, on: bool) -> None:
        """Lays a sandbox over the file, or takes it away with its changes: whoever asks has been asked."""
        if on == self.on:
            return
        if on and self.member:
            self._open_member()
        elif on and not self.why_not:
            source = self._session.shard.source if self._session.shard is not None else None
            assert source is not None
            self._expects = source.identity
            self._set((), ())
        elif not on:
            self.leaving = True
            self.reopening.emit()
            self._session.open(self._session.request.unbroken(), select=self._inside(self._session.selection.span))

    def _open_member(self) -> None:
        """Opens the file of the data set by itself; the sandbox begins once it is there."""
        span, shard = self._session.selection.span, self._session.shard
        assert span is not None
        assert isinstance(shard, DataSet)
        stored = not SourceName.parse(span.source).stretches
        self._begin_at = f"{shard.folder.uri.rstrip('/')}/{self.member}"
        request = replace(self._session.request, uri=self._begin_at)
        self._session.open(request, select=Span("", span.start, span.stop) if stored else None)

    def _selected(self) -> None:
        """In a data set, the file that can be broken is the one whose bytes are selected."""
        if (member := self.member) != self._member:
            self._member = member
            self.changed.emit()

    def drop(self) -> None:
        """Forgets the changes, so that nobody is asked about them."""
        self._saved = self.changes

    def stay(self) -> None:
        """Nobody leaves after all."""
        self.leaving = False

    # --- changing ---

    def flip(self, bit: int) -> None:
        """Turns one bit of the byte with the caret."""
        place = self.place

        def made(shard: Shard, _: Job) -> Change:
            if shard.source is None or place is None or place.start >= shard.source.size:
                raise UsageError("select a byte of the file first")
            return Change.flip(place.start, bit, shard.source.read(place.start, place.start + 1)[0])

        self._session.ask(made, self._add, failed=self.tr("Not flipped"), key=("flip", self), priority=Priority.SCREEN)

    def overwrite(self, data: bytes) -> None:
        """Puts bytes in the place of as many, from the first selected one on."""
        place = self.place
        if place is not None and data:
            self._add(Change.overwrite(place.start, data))

    def cut(self) -> None:
        """Takes the selected bytes out."""
        place = self.place
        if place is not None:
            self._add(Change.cut(place.start, max(place.stop, place.start + 1)))

    def cut_rest(self) -> None:
        """Takes out everything from the first selected byte to the end."""
        place, source = self.place, self.source
        if place is not None and source is not None:
            self._add(Change.cut(place.start, source.size))

    def undo(self) -> None:
        """Takes the last change back."""
        if self.on and self.changes:
            *left, last = self.changes
            self._set(tuple(left), (*self.undone, last), last)

    def redo(self) -> None:
        """Does again what was undone last."""
        if self.on and self.undone:
            *left, last = self.undone
            self._set((*self.changes, last), tuple(left), last)

    def start_over(self) -> None:
        """Takes all changes back; they can be done again, one by one."""
        if self.on and self.changes:
            self._set((), (*self.undone, *reversed(self.changes)))

    @property
    def place(self) -> Span | None:
        """The selected bytes of the file; None where others, or none, are selected."""
        span = self._session.selection.span
        return span if self.on and span is not None and not span.source else None

    def _add(self, change: Change) -> None:
        self._set((*self.changes, change), (), change)

    def _set(self, changes: tuple[Change, ...], undone: tuple[Change, ...], last: Change | None = None) -> None:
        """Opens the file with these changes."""
        try:
            check_room(changes)
        except ShardError as error:
            self._session.message.emit(plain_words(error))
            return
        self._wanted = changes, undone
        self.reopening.emit()
        select = Span("", last.start, last.stop if last.data is not None else last.start + 1) if last else None
        self._session.open(
            self._session.request.broken(changes, self._expects),
            select=self._inside(select or self._session.selection.span),
        )

    @staticmethod
    def _inside(span: Span | None) -> Span | None:
        return span if span is not None and not span.source else None

    # --- what is open ---

    def _opened(self, _: Shard) -> None:
        request = self._session.request
        was = self.on
        if request.sandbox:
            if not was:
                self._was = None
                self._saved = ()
            self.on = True
            self.changes, self.undone = self._wanted
            self.changed.emit()
            QTimer.singleShot(0, self, self.reopened.emit)
            self._compare()
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

    def _not_opened(self) -> None:
        """What was open stays, with the changes it had."""
        self.leaving, self._begin_at = False, ""
        if self.on:
            self.changed.emit()

    def _closed(self) -> None:
        if not self._session.replacing:
            self._forget()

    def _forget(self) -> None:
        self.on = False
        self.changes = self.undone = self._saved = ()
        self._wanted = ((), ())
        self._was, self.impact, self.error = None, None, ""
        if (job := self._session.jobs.newest(("before", self))) is not None:
            job.cancel()
        self.changed.emit()
        self.compared.emit()

    # --- comparing ---

    @property
    def comparing(self) -> Job | None:
        """The job that finds out what the changes did."""
        jobs = self._session.jobs
        return jobs.newest(("before", self)) or jobs.newest(("compare", self))

    def compare(self) -> None:
        """Finds out what the changes did, once more: after it was stopped."""
        self._compare()

    def stop(self) -> None:
        """Stops finding out."""
        if (job := self.comparing) is not None:
            job.cancel()

    def _compare(self) -> None:
        self.impact, self.error = None, ""
        self.compared.emit()
        if self._was is None:
            source = self.source
            size = min(source.size, MOST_BYTES) if source is not None else 0
            self.error = self.tr("press Compare to read the objects as they are on disk")
            self._session.when_agreed(self.tr("Comparing the objects"), size, self._note)
            return
        was = self._was

        def take(impact: Impact) -> None:
            self.impact = impact
            self.compared.emit()
            self._session.tell_report(impact.checks[-1].report or Report(Depth.CONTENT, 0, impact.findings))

        request = self._session.request.broken((), self._expects)

        def work(shard: Shard, job: Job) -> Impact:
            noted, keys = was, touched(was, shard)
            if keys:  # of so many objects not all were noted: those that were changed are, now
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
            priority=Priority.SCAN,
            title=self.tr("Compare with the file as it was"),
        )
        self.compared.emit()

    def _note(self) -> None:
        """Notes what the file serves as it is on disk: opened anew, for what is open has changes."""
        if self._session.jobs.newest(("before", self)) is not None:
            return
        request = self._session.request.broken((), self._expects)
        self.error = ""

        def work(job: Job) -> Before:
            with request.open(job.progress) as shard:
                return before(shard, job.progress)

        def done(was: Before | None, error: BaseException | None) -> None:
            if not self.on:
                return
            if was is not None:
                self._was = was
                self._compare()
            else:
                self._not_compared(error or Cancelled())

        self._session.jobs.submit(
            work,
            key=("before", self),
            pool=Pool.CPU,
            priority=Priority.SCAN,
            lasting=True,
            title=self.tr("Note what the file serves"),
            done=done,
        )
        self.compared.emit()

    def _not_compared(self, error: BaseException) -> None:
        self.error = self.tr("stopped") if isinstance(error, Cancelled) else plain_words(error)
        self.compared.emit()

    # --- saving ---

    def save(self, path: Path, *, agreed: bool, failed: Callable[[BaseException], None]) -> Job | None:
        """Writes the changed bytes into another file; it appears when it is complete.

        Args:
            path: The file.
            agreed: Whether a file of that name may be replaced.
            failed: Is told why it could not be written.
        """
        changes, original = self.changes, self._session.uri

        def work(shard: Shard, job: Job) -> None:
            source = shard.source
            if source is None:
                raise UsageError("there are no bytes to save")
            if "://" not in original and path.exists() and path.samefile(original):
                raise UsageError(f"{path.name} is the file itself, which a sandbox never changes: choose another name")
            pieces = pieces_of(source, 0, source.size)
            at = 0

            def told() -> Iterator[bytes]:
                nonlocal at
                for piece in pieces:
                    at += len(piece)
                    job.progress(at, source.size)
                    yield piece

            write_whole(path, told(), force=agreed)

        def take(_: None) -> None:
            self._saved = changes
            self.saved.emit(path)
            self.changed.emit()

        return self._session.ask(
            work,
            take,
            failed=failed,
            key=("save", self),
            title=self.tr("Save a copy of the sandbox"),
        )
