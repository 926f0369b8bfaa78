"""Search in the bytes and in decoded contents: bar, history, jobs, and marks on the hits."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QProgressBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import Cancelled, Shard, Span, UsageError
from shardcore.model.text import plural, shown
from shardcore.operations.search import (
    MAX_HITS,
    MAX_PATTERN,
    ContentHit,
    NextHit,
    Searched,
    find_next,
    parse_expression,
    parse_hex,
    parse_numbers,
    parse_text,
    search_contents,
)
from shardscope.session.byte_marks import HitList
from shardscope.session.byte_pages import Readable
from shardscope.session.display_text import cut_middle, error_text, offset_words
from shardscope.session.index import missing_of
from shardscope.session.jobs import Job, JobPriority, Pool
from shardscope.session.session import Session
from shardscope.views.hex.overview import Overview
from shardscope.views.hex.state import HexState
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.playback import show_progress
from shardscope.widgets.table import context_menu

MOST = 20

Entry = tuple[str, str]
"""Kind of search, and the text searched for."""


class SearchHistory(QObject):
    changed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.entries: list[Entry] = []
        self._at = 0
        self._lines: list[Entry] = []

    def add(self, entry: Entry) -> None:
        self._lines = []
        if self.entries[:1] != [entry]:
            self.entries = [entry, *(other for other in self.entries if other != entry)][:MOST]
            self.changed.emit(self.entries)

    def step(self, by: int, now: Entry) -> Entry | None:
        """Return the next older (1) or newer (-1) entry, None at the ends; the typed text counts as the newest."""
        if not self._lines or now != self._lines[self._at]:
            # After typing, history starts again from the current text.
            self._lines, self._at = [now, *(entry for entry in self.entries if entry != now)], 0
        if not 0 <= self._at + by < len(self._lines):
            return None
        self._at += by
        return self._lines[self._at]


KINDS: dict[str, tuple[str, Callable[[str, bool], Sequence[Searched]]]] = {
    "Text": ("text, as UTF-8", lambda text, case: (parse_text(text, match_case=case),)),
    "Hex": ("53 57 ?? 4?", lambda text, _: (parse_hex(text),)),
    "Regex": (r"shard_\d+|\x00{8}, on bytes", lambda text, case: (parse_expression(text, match_case=case),)),
    "UTF-16": (
        "text, as UTF-16 little-endian",
        lambda text, case: (parse_text(text, "utf-16-le", match_case=case),),
    ),
    "Number": (
        "512, 0x200 or 1.5, in every width and byte order; u16be:512 for one of them",
        lambda text, _: parse_numbers(text),
    ),
}
_BYTES = re.compile(r"([0-9a-f?]{2} )+[0-9a-f?]{0,2}", re.IGNORECASE)

AT_ONCE = 64 * 1024 * 1024
"""Maximum number of bytes fetched to count all hits once one was found; local and cached bytes do not count."""

COUNTED = 10_000
"""Number of hits at which this counting ends; the button *List* counts all hits."""


class SearchBar(QWidget):
    """Searches the source of a hex view in jobs; `found` carries the `Span` of a hit, `hits_changed` the `HitList`."""

    found = Signal(object)
    hits_changed = Signal(object)
    list_wanted = Signal()
    left = Signal()

    def __init__(self, session: Session, state: HexState, overview: Overview, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self._state, self._overview = session, state, overview
        self._jobs: dict[str, Job] = {}
        self._last: tuple[NextHit, bool] | None = None
        self._again: deque[bool] = deque()
        self._contents, self._at, self._rest = HitList(), 0, ""
        # Until the user chooses a kind, it is derived from the typed text.
        self._chosen = False
        self.history = SearchHistory(self)
        self.hits = HitList()
        self._lay_out()
        self.found.connect(session.select_span)
        session.jobs.changed.connect(self._show_progress)

    def _lay_out(self) -> None:
        self.kind = made(QComboBox(), "searchKind", accessibleName=self.tr("Kind of search"))
        self.kind.addItems(list(KINDS))
        self.field = made(QLineEdit(), "searchField", accessibleName=self.tr("Search"), clearButtonEnabled=True)
        made(self.field, toolTip=self.tr("Up and Down: recent searches"), minimumWidth=120, textEdited=self._typed)
        label = QLabel(self.tr("Find:"))
        label.setBuddy(self.field)
        self.progress = made(QProgressBar(), "searchProgress", textVisible=False, maximum=1000)
        self.progress.setFixedSize(60, 8)
        self.status = made(Elided(greedy=True), "searchStatus")
        tr, button = self.tr, self._button

        def show_earlier() -> None:
            self.earlier_menu().popup(self.earlier.mapToGlobal(self.earlier.rect().bottomLeft()))

        self.earlier = button("▾", "searchEarlier", tr("Recent searches"), show_earlier)
        self.stop = button(tr("Stop"), "searchStop", tr("Stop (Esc)"), self.cancel)
        self.match_case = made(QCheckBox(tr("Match case")), "searchMatchCase", toggled=lambda _: self._say(""))
        tip = tr("Search the decoded contents of the objects instead of the stored bytes")
        self.contents = made(QCheckBox(tr("Search contents")), "searchContents", toolTip=tip)
        row = lay(
            QHBoxLayout(),
            label,
            self.kind,
            (self.field, 1),
            self.earlier,
            button("↑", "searchPrevious", tr("Previous (Shift+Enter)"), partial(self.look, backward=True)),
            button("↓", "searchNext", tr("Next (Enter)"), self.look),
            button(tr("List"), "searchList", tr("List all hits and mark them on the overview"), self.list_all),
            self.stop,
            self.progress,
            button("✕", "searchClose", tr("Close (Esc)"), self.close_bar),
            spacing=5,
        )
        # A line of fixed height, so that a message does not move the bytes.
        line = lay(QHBoxLayout(), (self.status, 1), self.match_case, self.contents, spacing=12)
        lay(QVBoxLayout(self), row, line, margins=(10, 4, 10, 4), spacing=2)
        self.kind.currentTextChanged.connect(self._kind_changed)
        self.kind.activated.connect(lambda _: setattr(self, "_chosen", True))
        self.contents.toggled.connect(lambda on: self.look() if on and self.field.text() else self._say(""))
        self.field.installEventFilter(self)
        self._kind_changed(self.kind.currentText())
        self._running("find", None)

    def _button(self, text: str, name: str, tip: str, act: Callable[[], object]) -> QToolButton:
        button = made(QToolButton(), name, text=text, toolTip=tip, accessibleName=tip, clicked=lambda _=False: act())
        if len(text) == 1:
            button.setFixedWidth(28)
        return button

    def _kind_changed(self, kind: str) -> None:
        self.field.setPlaceholderText(KINDS[kind][0])
        self.match_case.setEnabled(kind not in ("Hex", "Number"))
        self._say("")

    def _typed(self, text: str) -> None:
        self._say("")
        if not self._chosen and self.kind.currentText() in ("Text", "Hex"):
            self.kind.setCurrentText("Hex" if _BYTES.fullmatch(text) else "Text")

    def _say(self, text: str, *, wrong: bool = False) -> None:
        self.status.set_text(text)
        theme.write_in(self.status, "error" if wrong else "muted")

    # --- opening and closing ---

    def start(self) -> None:
        self.show()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def look_for(self, kind: str, text: str) -> None:
        self.kind.setCurrentText(kind)
        self.field.setText(text)
        self.start()
        self.look()

    def again(self, *, backward: bool) -> None:
        if self.field.text():
            self.show()
            self.look(backward=backward)
        else:
            self.start()

    def find_these(self) -> None:
        state, span = self._state, self._state.selection.span
        data = state.pages.bytes_at(state.name, span.start, min(span.stop, span.start + MAX_PATTERN))
        if data is None or span.size > MAX_PATTERN:
            text = self.tr("Select at most {0} bytes to find them elsewhere.").format(f"{MAX_PATTERN:,}")
            self._session.say(text, failed=True)
        elif data:
            self.look_for("Hex", data.hex(" "))

    def close_bar(self) -> None:
        self.forget()
        self.hide()
        self.left.emit()

    def forget(self) -> None:
        self._drop()
        if self.status.text():
            self._say("")
        self._contents = HitList()
        self._set_hits(HitList())

    def view_state(self) -> tuple[HitList, HitList]:
        return self.hits, self._contents

    def restore_view_state(self, state: tuple[HitList, HitList]) -> None:
        hits, self._contents = state
        self._set_hits(hits)
        if len(shown := hits if len(hits) else self._contents):
            self.hits_changed.emit(shown)

    def _drop(self) -> None:
        self.cancel()
        self._jobs, self._last = {}, None
        self._running("find", None)

    def cancel(self) -> None:
        self._again.clear()
        for job in self._jobs.values():
            job.cancel()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.look(backward=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
                return True
            if event.key() == Qt.Key.Key_Escape:
                self.cancel() if self._jobs else self.close_bar()
                return True
            if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
                entry = self.history.step(1 if event.key() == Qt.Key.Key_Up else -1, self._entry())
                if entry is not None:
                    self.kind.setCurrentText(entry[0])
                    self.field.setText(entry[1])
                return True
        return super().eventFilter(watched, event)

    # --- search history ---

    def _entry(self) -> Entry:
        return self.kind.currentText(), self.field.text()

    def earlier_menu(self) -> QMenu:
        menu = context_menu(self, ())
        for kind, text in self.history.entries:
            entry = shown(cut_middle(text, 40)).replace("&", "&&")
            menu.addAction(f"{entry}\t{kind}", partial(self.look_for, kind, text))
        if not self.history.entries:
            menu.addAction(self.tr("No recent searches")).setEnabled(False)
        return menu

    # --- the bytes ---

    def _patterns(self) -> tuple[Searched, ...]:
        """Parse the text in the search field and mark its hits on the screen; if it is invalid, show the error."""
        text = self.field.text()
        try:
            patterns = tuple(KINDS[self.kind.currentText()][1](text, self.match_case.isChecked())) if text else ()
        except UsageError as error:
            self._say(str(error), wrong=True)
            return ()
        name = self._state.name
        if patterns and (name, patterns) != (self.hits.source, self.hits.patterns):
            self._drop()
            self._set_hits(HitList(name, text, patterns))
        return patterns

    def _set_hits(self, hits: HitList) -> None:
        self.hits = hits
        self._state.set_hits(hits)
        self._overview.set_hits(hits.on_a_strip if hits.source == self._state.name else ())

    def look(self, *, backward: bool = False) -> None:
        """Search from the caret and wrap around. A call during a search is queued until that search has ended."""
        patterns, span = self._patterns(), self._state.selection.span
        if not patterns:
            return
        if self.contents.isChecked():
            self._look_in_contents(patterns, backward=backward)
            return
        if "find" in self._jobs:
            # Continue from the pending hit.
            self._again.append(backward)
            return
        # The byte at the caret may begin the first hit.
        on_hit = self._last is not None and self._last[0].span.start == span.start
        start = span.start if backward else span.start + (on_hit or span.size > 1)

        def work(readable: Readable, job: Job) -> tuple[NextHit | None, bool]:
            source = readable.bytes_of(span.source)
            return find_next(source, patterns, job.progress, start, backward=backward), missing_of(source) <= AT_ONCE

        def done(result: tuple[NextHit | None, bool]) -> None:
            hit, listed = result
            if hit is None:
                self._say(self.tr("not found in the stored bytes"), wrong=True)
                return
            self._last = hit, backward
            self._show_hit()
            self.found.emit(Span(span.source, hit.span.start, hit.span.stop))
            if self._again:
                self.look(backward=self._again.popleft())
            elif listed and "list" not in self._jobs and not self.hits.count:
                self._list(patterns, self._show_hit, COUNTED)

        title = self.tr("Search {0}").format(self.field.text())
        self._run(partial(self._begin, "find", title, work, done))

    def _show_hit(self) -> None:
        if self._last is None:
            return
        hit, backward = self._last
        place = self.tr("at {0}").format(offset_words(hit.span.start))
        number = self.hits.number_at(hit.span.start)
        if self.hits.count:
            known = "" if number is None else self.tr("{0} of ").format(f"{number + 1:,}")
            place = f"{known}{self.hits.counted}, {place}"
        end = self.tr("beginning") if backward else self.tr("end")
        around = self.tr("wrapped around the {0}").format(end) if hit.around else ""
        self._say(" · ".join([part for part in (place, hit.pattern.name, around) if part]))

    def list_all(self) -> None:
        patterns = self._patterns()
        if patterns and self.contents.isChecked():
            # Hits in contents were listed when they were found.
            self.list_wanted.emit() if self._contents.patterns == patterns else self.look()
        elif patterns:
            self._run(partial(self._list, patterns, self._show_list))

    def _list(self, patterns: Sequence[Searched], then: Callable[[], None], most: int = 0) -> None:
        name, what = self.hits.source, self.hits.what

        def done(hits: HitList) -> None:
            self._set_hits(hits)
            self.hits_changed.emit(hits)
            then()

        def work(readable: Readable, job: Job) -> HitList:
            return HitList.listed(readable.bytes_of(name), name, what, patterns, job.progress, most)

        self._begin("list", self.tr("List {0}").format(what), work, done)

    def _show_list(self) -> None:
        hits = self.hits
        listed = "" if hits.count == len(hits) else self.tr(", the first {0} are listed").format(f"{len(hits):,}")
        self._say(self.tr("{0} found").format(f"{hits.count:,}") + listed, wrong=hits.count == 0)
        self.list_wanted.emit()

    def _run(self, begin: Callable[[], None]) -> None:
        self.history.add(self._entry())
        self._say("")

        def go() -> None:
            self._say(self.tr("searching …"))
            begin()

        shard = self._session.shard
        source = shard.source if shard is not None and not self._state.name else None
        self._session.with_consent("Searching the whole file", missing_of(source) if source is not None else 0, go)

    def _begin(
        self,
        kind: str,
        title: str,
        work: Callable[[Any, Job], Any],
        done: Callable[[Any], None],
        stopped: Callable[[], None] | None = None,
    ) -> None:
        def finished(result: Any, error: BaseException | None) -> None:
            if self._jobs.get(kind) is not job:
                return
            self._running(kind, None)
            if error is None:
                done(result)
            elif not isinstance(error, Cancelled):
                self._say(self.tr("stopped: {0}").format(error_text(error)), wrong=True)
            elif stopped is not None:
                stopped()
            else:
                self._say(self.tr("stopped"))

        pool, priority = (Pool.IO, JobPriority.SELECTED) if kind == "find" else (Pool.CPU, JobPriority.SCAN)
        pages, key = self._state.pages, ("search", kind, id(self))
        job = pages.ask(work, key=key, title=title[:60], done=finished, pool=pool, priority=priority)
        job.unit = "byte"
        self._running(kind, job)

    def _running(self, kind: str, job: Job | None) -> None:
        if job is None:
            self._jobs.pop(kind, None)
        else:
            self._jobs[kind] = job
        self.stop.setVisible(bool(self._jobs))
        self.progress.setVisible(bool(self._jobs))
        self.progress.setValue(0)

    def _show_progress(self, job: Job) -> None:
        if self._jobs and job in self._jobs.values() and job.total_amount:
            show_progress(self.progress, job)

    # --- the contents of objects ---

    def _look_in_contents(self, patterns: tuple[Searched, ...], *, backward: bool) -> None:
        self.history.add(self._entry())
        if self._contents.contents and tuple(self._contents.patterns) == patterns:
            self._go_to((self._at + (-1 if backward else 1)) % len(self._contents))
        elif "contents" not in self._jobs:
            begin = partial(self._begin_contents, patterns)
            self._session.index.with_consent(self.tr("Searching the contents"), begin)

    def _begin_contents(self, patterns: tuple[Searched, ...]) -> None:
        what, unreadable, found = self.field.text(), set[int](), list[ContentHit]()

        def work(shard: Shard, job: Job) -> None:
            if not shard.loaded:
                shard.load_index(job.progress)
            hits = search_contents(shard, patterns, job.progress, unreadable=lambda row, _: unreadable.add(row))
            found.extend(islice(hits, MAX_HITS))

        def take(*, stopped: bool = False) -> None:
            passed = self.tr("; {0} cannot be read").format(plural(len(unreadable), "object")) if unreadable else ""
            self._rest = passed + (self.tr("; stopped") if stopped else "")
            self._contents = HitList.of_contents(what, patterns, found)
            if found:
                self.hits_changed.emit(self._contents)
                self.list_wanted.emit()
                self._go_to(0)
            else:
                text = self.tr("not found in the contents so far") if stopped else self.tr("not found in the contents")
                self._say(text + self._rest, wrong=True)

        self._say(self.tr("searching the contents …"))
        self._begin("contents", self.tr("Search contents"), work, lambda _: take(), partial(take, stopped=True))

    def _go_to(self, number: int) -> None:
        self._at, hit = number, self._contents.contents[number]
        at = self.tr("{0} of {1}, in the content of row {2}, at {3}")
        text = at.format(f"{number + 1:,}", f"{len(self._contents):,}", f"{hit.row:,}", offset_words(hit.offset))
        self._say(" · ".join([part for part in (text, hit.pattern.name) if part]) + self._rest)
        if hit.span is not None:
            self._session.select_span(hit.span)
        else:
            self._session.select_row(hit.row)
