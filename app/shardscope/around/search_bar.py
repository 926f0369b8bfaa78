"""The search bar: bytes with wildcards, text and numbers; next, previous, count, stop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QLineEdit, QProgressBar, QToolButton, QWidget

from shardcore import Cancelled, Source, Span, UsageError
from shardcore.search import Hits, Pattern, find_next, parse_hex, parse_number, parse_text, search
from shardscope.jobs import Job
from shardscope.looks import theme
from shardscope.looks.remedies import plain_words
from shardscope.pages import PageCache

KINDS = MappingProxyType[str, tuple[str, Callable[[str], Pattern]]](
    {
        "Hex": ("53 57 ?? 4?", parse_hex),
        "Text": ("text, as UTF-8", parse_text),
        "UTF-16": ("text, as UTF-16 little-endian", lambda text: parse_text(text, "utf-16-le")),
        "u64 big": ("512 or 0x200, big-endian", lambda text: parse_number(text, "u64", ">")),
        "u64 little": ("512 or 0x200, little-endian", lambda text: parse_number(text, "u64", "<")),
        "u32 big": ("512 or 0x200, big-endian", lambda text: parse_number(text, "u32", ">")),
        "u32 little": ("512 or 0x200, little-endian", lambda text: parse_number(text, "u32", "<")),
        "Number": ("u16be:512  i8:-1  f32le:1.5", parse_number),
    }
)
_STEPS = 1000


class SearchBar(QWidget):
    """Searches the source that is shown, as a job.

    `found` carries the `Span` of a hit, `hits_changed` a tuple of offsets in the source, `left` tells that the keyboard
    should go back to the bytes.

    Args:
        selected: Gives the selected bytes of the source that is shown.
        pages: Reads it.
        parent: Where the bar stands.
    """

    found = Signal(object)
    hits_changed = Signal(object)
    left = Signal()

    def __init__(self, selected: Callable[[], Span], pages: PageCache, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._selected = selected
        self._pages = pages
        self._job: Job | None = None
        self.kind = QComboBox()
        self.kind.setObjectName("searchKind")
        self.kind.addItems(list(KINDS))
        self.kind.setAccessibleName("What to search for")
        self.field = QLineEdit()
        self.field.setObjectName("searchField")
        self.field.setClearButtonEnabled(True)
        self.field.setAccessibleName("Search")
        self.before = self._button(
            "↑", "searchPrevious", "Previous (Shift+Enter)", partial(self._clicked, backward=True)
        )
        self.after = self._button("↓", "searchNext", "Next (Enter)", self._clicked)
        self.all = self._button("Count", "searchCount", "Count all, and show them on the overview", self.count)
        self.stop = self._button("Stop", "searchStop", "Stop (Esc)", self.cancel)
        self.progress = QProgressBar()
        self.progress.setObjectName("searchProgress")
        self.progress.setRange(0, _STEPS)
        self.progress.setTextVisible(False)
        self.progress.setFixedSize(120, 8)
        self.status = QLabel()
        self.status.setObjectName("searchStatus")
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 4, 10, 4)
        row.setSpacing(5)
        for widget in (self.kind, self.field, self.before, self.after, self.all, self.stop, self.progress, self.status):
            row.addWidget(widget)
        row.setStretchFactor(self.field, 1)
        row.addWidget(self._button("✕", "searchClose", "Close (Esc)", self.close_bar))
        self.kind.currentTextChanged.connect(self._kind_changed)
        self.field.textEdited.connect(lambda: self._say(""))
        self.field.installEventFilter(self)
        self._kind_changed(self.kind.currentText())
        self._running(None)

    def start(self) -> None:
        """Shows the bar, and takes the keyboard."""
        self.show()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def close_bar(self) -> None:
        """Stops, forgets the hits, and goes away."""
        self.cancel()
        self.hide()
        self.hits_changed.emit(())
        self.left.emit()

    def look(self, *, backward: bool = False) -> None:
        """Looks for the next hit after the caret, or the one before it; goes on at the other end, and says so."""
        pattern = self._pattern()
        if pattern is None:
            return
        span = self._selected()
        start = span.start if backward else span.start + (1 if span.size else 0)

        def work(source: Source, job: Job) -> tuple[Span, bool] | None:
            return find_next(source, pattern, job.progress, start, backward=backward)

        def done(hit: tuple[Span, bool] | None) -> None:
            if hit is None:
                self._say("not found", wrong=True)
                return
            place, around = hit
            end = "beginning" if backward else "end"
            self._say(f"at {place.start:,}" + (f", went around the {end}" if around else ""))
            self.found.emit(Span(span.source, place.start, place.stop))

        self._run(span.source, f"Search {pattern}", work, done)

    def _clicked(self, checked: bool = False, *, backward: bool = False) -> None:
        self.look(backward=backward)

    def count(self) -> None:
        """Looks for all hits, from the caret on and around."""
        pattern = self._pattern()
        if pattern is None:
            return
        span = self._selected()

        def work(source: Source, job: Job) -> Hits:
            return search(source, pattern, job.progress, start=span.start)

        def done(hits: Hits) -> None:
            listed = "" if hits.count == len(hits.offsets) else f", the first {len(hits.offsets):,} are shown"
            self._say(f"{hits.count:,} found{listed}", wrong=hits.count == 0)
            self.hits_changed.emit(hits.offsets)

        self._run(span.source, f"Count {pattern}", work, done)

    def cancel(self) -> None:
        """Stops the search that runs."""
        if self._job is not None:
            self._job.cancel()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Enter searches, Shift+Enter backwards; Escape stops, and closes when nothing runs."""
        if watched is self.field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.look(backward=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
                return True
            if event.key() == Qt.Key.Key_Escape:
                self.cancel() if self._job is not None else self.close_bar()
                return True
        return super().eventFilter(watched, event)

    def _run(self, name: str, title: str, work: Callable[[Source, Job], Any], done: Callable[[Any], None]) -> None:
        def finished(result: Any, error: BaseException | None) -> None:
            if self._job is not None and self._job is not job:
                return
            self._running(None)
            if isinstance(error, Cancelled):
                self._say("stopped")
            elif error is not None:
                self._say(f"stopped: {plain_words(error)}", wrong=True)
            else:
                done(result)

        self._say("searching …")
        job = self._pages.read(name, work, key=("search", id(self)), title=title[:60], done=finished)
        self._running(job)

    def _running(self, job: Job | None) -> None:
        self._job = job
        self.stop.setVisible(job is not None)
        self.progress.setVisible(job is not None)
        self.progress.setValue(0)

    def show_progress(self, job: Job) -> None:
        """Takes the news of jobs; those of other jobs are left alone."""
        if job is self._job and job.total_amount:
            self.progress.setValue(_STEPS * job.done_amount // job.total_amount)

    def _pattern(self) -> Pattern | None:
        text = self.field.text()
        if not text:
            return None
        try:
            return KINDS[self.kind.currentText()][1](text)
        except UsageError as error:
            self._say(str(error), wrong=True)
            return None

    def _kind_changed(self, kind: str) -> None:
        self.field.setPlaceholderText(KINDS[kind][0])
        self._say("")

    def _say(self, text: str, *, wrong: bool = False) -> None:
        colours = theme.of(self)
        self.status.setText(text)
        self.status.setStyleSheet(f"color: {(colours.error if wrong else colours.muted).name()}")

    def _button(self, text: str, name: str, tip: str, act: Callable[..., None]) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setObjectName(name)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.clicked.connect(act)
        return button
