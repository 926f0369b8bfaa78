"""Notes on the open file. Jobs read and write them; views use them through `SessionNotes`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from threading import Lock

from PySide6.QtCore import QObject, Signal

from shardcore import Shard, Span
from shardcore.operations.notes import (
    Note,
    NoteBook,
    add_note,
    carry_notes,
    keep_beside,
    note_place,
    notes_markdown,
    open_notes,
    remove_notes,
)
from shardcore.writing.temporary import write_whole
from shardscope.session.display_text import error_text
from shardscope.session.documents import Documents
from shardscope.session.index import DocumentIndex
from shardscope.session.jobs import Job, JobPriority

MOST_PLACES = 1000
"""Maximum number of notes for which the name of the annotated field is looked up."""


class SessionNotes(QObject):
    """Notes on the open file; read-only in a sandbox. `book` is None while they are read, and after an error."""

    changed = Signal()
    added = Signal(object)

    def __init__(self, documents: Documents, index: DocumentIndex) -> None:
        super().__init__(documents)
        self._documents = documents
        self._writing = Lock()
        self.book: NoteBook | None = None
        self._stored: list[NoteBook] = []
        self.error = ""
        self.places: dict[Span, str] = {}
        self.removed: tuple[Note, ...] = ()
        self._before: tuple[str, tuple[Note, ...]] = ("", ())
        documents.opened.connect(lambda _: self.load())
        documents.closed.connect(self._closed)
        index.loaded.connect(self._name_places)

    @property
    def all(self) -> tuple[Note, ...]:
        return self.book.notes if self.book is not None else ()

    @property
    def can_change(self) -> bool:
        return self.book is not None and not self._documents.current.request.sandbox

    @property
    def warning(self) -> str:
        if self.error:
            return self.error
        if self.book is not None and self.book.changed:
            return self.tr("The file has changed since these notes were written: offsets may no longer match.")
        if self.book is not None and self._documents.current.request.sandbox:
            return self.tr("Notes are read-only in the sandbox")
        return ""

    def on(self, source: str) -> tuple[Note, ...]:
        return self.book.on(source) if self.book is not None else ()

    def at(self, span: Span | None) -> Note | None:
        return next((note for note in self.all if note.span == span), None)

    def load(self) -> None:
        """Read the notes in a job; if an edited file is reloaded, its notes are kept."""
        self._forget()
        (link, before), self._before = self._before, ("", ())
        request = self._documents.current.request
        carried = before if link == request.link and not request.sandbox else ()

        def failed(error: BaseException) -> None:
            self.error = error_text(error)
            self.changed.emit()

        def take(book: NoteBook) -> None:
            self._stored = [book]
            self._take(book)

        self._documents.ask(
            lambda shard, _: carry_notes(shard, open_notes(shard), carried),
            take,
            failed=failed,
            key=("notes", self),
            priority=JobPriority.PREFETCH,
        )

    def add(self, span: Span, text: str) -> None:
        self._change(
            lambda shard, book: add_note(shard, book, Note(span, text.strip())),
            self.tr("Cannot save the note"),
            lambda: self.added.emit(self.at(span)),
        )

    def remove(self, notes: Sequence[Note]) -> None:
        gone = tuple(notes)

        def then() -> None:
            self.removed = gone
            self.changed.emit()

        self._change(lambda shard, book: remove_notes(shard, book, gone), self.tr("Cannot delete the note"), then)

    def restore(self) -> None:
        gone, self.removed = self.removed, ()
        self._change(
            lambda shard, book: reduce(lambda into, note: add_note(shard, into, note), gone, book),
            self.tr("Cannot restore the note"),
        )

    def set_beside(self, beside: bool) -> None:
        self._change(
            lambda shard, book: keep_beside(shard, book, beside=beside),
            self.tr("Cannot move the notes"),
            failed=self.changed.emit,
        )

    def export(self, path: Path) -> None:
        """Write the notes as Markdown; replaces an existing file, which the dialog has confirmed."""
        book = self.book
        if book is None:
            return

        def work(shard: Shard, _: Job) -> int:
            return write_whole(path, [notes_markdown(shard, book).encode("utf-8", "surrogateescape")], force=True)

        self._documents.ask(
            work,
            lambda _: self._documents.say(self.tr("Notes written to {0}").format(path)),
            failed=self.tr("Cannot write the notes"),
        )

    def next_from(self, span: Span | None, *, backward: bool = False) -> Note | None:
        notes = self.all
        if not notes:
            return None
        spans = [note.span for note in notes]
        if span is None:
            return notes[-1 if backward else 0]
        at = bisect_left(spans, span) - 1 if backward else bisect_right(spans, span)
        return notes[at % len(notes)]

    def _change(
        self,
        work: Callable[[Shard, NoteBook], NoteBook],
        what: str,
        then: Callable[[], object] = lambda: None,
        failed: Callable[[], object] = lambda: None,
    ) -> None:
        stored = self._stored
        if not self.can_change:
            return

        def locked(shard: Shard, _: Job) -> NoteBook:
            # Each change reads, modifies and writes the stored notes, so changes run one after the other.
            with self._writing:
                stored[0] = work(shard, stored[0])
                return stored[0]

        def take(changed: NoteBook) -> None:
            self._take(changed)
            then()

        def fail(error: BaseException) -> None:
            self._documents.report_error(what, error)
            failed()

        job = self._documents.ask(locked, take, failed=fail)
        if job is not None:
            # The note is stored even if the tab or the window is closed now.
            job.lasting = job.background = job.completes = True

    def _take(self, book: NoteBook) -> None:
        self.book, self.error = book, ""
        self.changed.emit()
        self._name_places()

    def _name_places(self) -> None:
        spans = [note.span for note in self.all[:MOST_PLACES]]
        if not spans:
            return

        def work(shard: Shard, job: Job) -> dict[Span, str]:
            found = {}
            for span in spans:
                job.check()
                found[span] = note_place(shard, span)
            return found

        def take(found: dict[Span, str]) -> None:
            self.places = found
            self.changed.emit()

        self._documents.ask(work, take, key=("note places", self), priority=JobPriority.PREFETCH)

    def _closed(self) -> None:
        request = self._documents.current.request
        if self._documents.replacing and not request.sandbox:
            self._before = request.link, self.all
        self._forget()

    def _forget(self) -> None:
        self.book, self.error, self.places, self.removed = None, "", {}, ()
        self.changed.emit()
