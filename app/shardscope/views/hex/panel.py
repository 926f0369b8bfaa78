"""Panel of the bytes: tabs, path, overview, search, bytes, legend; it follows the selection of the session."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from shardcore import Cancelled, DataSet, FormatError, Node, Report, Section, Shard, ShardError, Span
from shardcore.model.span import SourceName
from shardcore.operations.offset_expression import GotoNames, starts_of
from shardcore.shards.inner_source import InnerSource
from shardscope.session.byte_marks import Range
from shardscope.session.byte_pages import PageCache
from shardscope.session.display_text import headline, short_name
from shardscope.session.jobs import JobPriority
from shardscope.session.open_request import listed_members
from shardscope.session.selection import Selection, TraceWalk, highlights_in
from shardscope.session.session import Session
from shardscope.views.hex.actions import HexActions, RowChoice, RowMode
from shardscope.views.hex.address_bar import AddressBar, EntryContext
from shardscope.views.hex.layout import roles_in
from shardscope.views.hex.overview import Overview
from shardscope.views.hex.search_bar import SearchBar
from shardscope.views.hex.state import HexSelection, HexState
from shardscope.views.hex.status import Breadcrumb, HexStatus, Legend
from shardscope.views.hex.tabs import DrawingPlace, OpenSource, SourceTabs, stored_span
from shardscope.views.hex.view import HexView
from shardscope.widgets import fonts
from shardscope.widgets.deferred_signals import WhileVisible
from shardscope.widgets.layouts import lay

LOW = 330
"""Height in pixels below which overview and legend are hidden."""


class Naming:
    """Names and keys with which the address field completes a text; names of fields are loaded in a job."""

    def __init__(self, session: Session, state: HexState) -> None:
        self._session, self._state = session, state
        self._starts: dict[str, int] = {}
        self.keys: Callable[[], Iterable[str]] = tuple

    def forget(self) -> None:
        self._starts = {}

    def learn(self) -> None:
        def take(starts: dict[str, int]) -> None:
            self._starts = starts

        self._session.ask(
            lambda shard, _: starts_of(shard.tree), take, key=("names", id(self)), priority=JobPriority.PREFETCH
        )

    def places(self) -> GotoNames:
        shard, state = self._session.shard, self._state
        stored = state.name == ""
        return GotoNames(
            size=state.layout.size,
            caret=state.selection.caret,
            sections=state.sections,
            values=shard.fields if stored and shard is not None else {},
            starts=self._starts if stored else {},
        )

    def known(self) -> EntryContext:
        return EntryContext(self.places(), self._is_key, self.keys())

    def _is_key(self, text: str) -> bool:
        shard = self._session.shard
        if shard is None:
            return False
        try:
            shard.parse_key(text)
        except ShardError:
            return False
        return True


class HexPanel(QWidget):
    """Central panel. `room`, set by the window, returns its height without notices, which only cover rows of bytes."""

    full_width_changed = Signal()
    look_up_wanted = Signal(object)
    """Carries the key to look up."""
    extract_wanted = Signal(object)
    """Carries the row of the object to extract."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("hexPanel")
        self._session = session
        self.room: Callable[[], int] = self.height
        self.pages = PageCache(session.jobs, self)
        self.view = HexView(self.pages)
        self.state = self.view.state
        self.overview = Overview(self.state)
        self.tabs = SourceTabs()
        self.breadcrumb = Breadcrumb()
        self.naming = Naming(session, self.state)
        self.address = AddressBar(self.naming.known)
        self.rows = RowChoice(self.state)
        self.search = SearchBar(session, self.state, self.overview)
        self.legend = Legend()
        self.status = HexStatus(self.state)
        self.drawings = DrawingPlace(session, self.tabs, self.view)
        self.actions_ = HexActions(
            self,
            session,
            self.view,
            self.rows,
            self.address,
            self.search,
            self.drawings,
            self.look_up_wanted,
            self.extract_wanted,
        )
        self.decoded_button = QToolButton()
        self._about = QWidget()
        self.setFocusProxy(self.view)
        self._lay_out()
        self._connect()
        self._path_changed(())
        if session.shard is not None:
            self._opened(session.shard)

    def _lay_out(self) -> None:
        self.decoded_button.setDefaultAction(self.actions_.decoded)
        self.decoded_button.setObjectName("decodedButton")
        self.decoded_button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Ignored)
        self.decoded_button.hide()
        self.search.hide()
        lay(QHBoxLayout(self._about), (self.breadcrumb, 1), self.decoded_button, spacing=10)
        self._line = lay(QHBoxLayout(), self.tabs, (self._about, 1), margins=(10, 2, 10, 0), spacing=10)
        lay(QVBoxLayout(self), self._line, self.overview, self.search, (self.drawings.splitter, 1), self.legend)

    def _connect(self) -> None:
        session, state = self._session, self.state
        for signal, slot in (
            (state.selection_changed, self._selected_here),
            (state.activated, lambda _: self.actions_.follow_pointer()),
            (state.view_changed, self._view_moved),
            (state.layout_changed, self._view_moved),
            (state.layout_changed, self.full_width_changed),
            (state.hovered, self.drawings.highlight),
            (self.view.menu_requested, self.actions_.open_menu),
            (self.view.header_menu_requested, self.actions_.open_header_menu),
            (self.view.field_chosen, session.select_span),
            (self.overview.jumped, self._jump),
            (self.overview.section_chosen, session.select_span),
            (self.overview.reported, session.say),
            (self.tabs.chosen, self._tab_chosen),
            (self.drawings.shown_changed, self._drawing_shown),
            (self.actions_.fields.toggled, lambda _: self.full_width_changed.emit()),
            (self.breadcrumb.chosen, session.select_span),
            (self.breadcrumb.file_chosen, session.select_nothing),
            (self.address.chosen, lambda offset: session.select_span(self._byte(offset))),
            (self.address.key_chosen, lambda key: session.lookup.start(key, selects=True)),
            (self.address.left, self.view.setFocus),
            (self.search.left, self.view.setFocus),
            (self.pages.troubled, session.watch.note_error),
            (session.opened, self._opened),
            (session.closed, self._closed),
            (session.index.loaded, self._index_loaded),
            (session.verification.changed, self._findings_changed),
            (session.lookup.highlights_changed, self._highlights_changed),
            (session.notation_changed, self._notation_changed),
            (session.notes.changed, self._notes_changed),
        ):
            signal.connect(slot)
        WhileVisible(session.selector.begun, self, self._session_selected, own=True)
        WhileVisible(session.selection_changed, self, self._session_selected)

    def add_beside_tabs(self, line: QWidget, last: QWidget) -> None:
        self._line.addWidget(line, 1)
        self._line.addWidget(last)

    def set_about_visible(self, shown: bool) -> None:
        self._about.setVisible(shown)

    @property
    def full_width(self) -> float:
        """Width in pixels at which all columns fit; infinite for drawings and for rows as long as a record."""
        by_record = self.rows.width.mode is RowMode.RECORD
        return math.inf if self.drawings.in_front or by_record else self.view.full_width

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.search.isVisible():
            self.search.close_bar()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        tall = self.room() >= fonts.px(LOW)
        self.overview.setVisible(tall)
        self.legend.setVisible(tall and not self.drawings.in_front)
        self.drawings.fit()

    # --- what is open ---

    def _opened(self, shard: Shard) -> None:
        session = self._session
        self.pages.use(shard)
        self.tabs.clear()
        self.address.clear()
        if not session.request.changes and not session.documents.switching:
            # An edit in the sandbox opens the file again: the focus stays on the bit buttons.
            self.view.setFocus()
        self.search.forget()
        self.naming.forget()
        self.drawings.opened()
        self.actions_.copy_curl.setVisible(session.uri.startswith(("http://", "https://")))
        if shard.source is not None:
            self._show(OpenSource("", shard.source.size, shard.sections))
            self.naming.learn()
        if isinstance(shard, DataSet) and not session.documents.switching and (members := listed_members(shard)):
            first = members[0]
            start = Span(str(SourceName(first.name)), 0, min(first.size, 1))
            session.select_span(start, self.view, remember=False)

    def _closed(self) -> None:
        self.address.clear()
        self.search.forget()
        self.tabs.clear()
        self.pages.use(None)
        self.naming.forget()
        self.state.set_source("", 0)
        self._path_changed(())
        self.status.clear()

    def view_state(self) -> object:
        self._note_place()
        return tuple(self.tabs.sources), self.state.name, self.search.view_state()

    def restore_view_state(self, state: object) -> None:
        if not isinstance(state, tuple) or not state[0]:
            return
        sources, name, searched = state
        for source in sources:
            if (fresh := self.tabs.known(source.name)) is not None:
                self.tabs.sources[self.tabs.sources.index(fresh)] = source
            self.tabs.show_source(source)
        shown = self.tabs.known(name) or sources[0]
        self.tabs.show_source(shown)
        self._lay_bytes(shown)
        self.search.restore_view_state(searched)

    def _note_place(self) -> None:
        if (before := self.tabs.known(self.state.name)) is not None:
            before.top, before.span = max(self.state.visible_bytes[0], 0), self.state.selection.span

    def _index_loaded(self) -> None:
        self.pages.refresh_runs()
        self.view.column.forget()
        shard = self._session.shard
        if shard is not None and shard.source is not None:
            stored = self.tabs.known("")
            if stored is not None and stored.sections != shard.sections:
                stored.sections = shard.sections
                if self.state.name == "":
                    self.state.set_sections(stored.sections)
            self.naming.learn()

    def show_source(self, name: str, select: Span | None = None) -> None:
        """Show a source, in a new tab if needed, and select bytes; a source that is not open is read in a job."""
        known = self.tabs.known(name)
        if known is not None:
            self._show(known, select)
            return

        def done(found: tuple[int, tuple[Section, ...]] | None, error: BaseException | None) -> None:
            if found is not None:
                self._show(OpenSource(name, *found), select)
            elif error is not None and not isinstance(error, Cancelled):
                shard = self._session.shard
                damaged = isinstance(shard, DataSet) and any(member.name == name for member in shard.members)
                if damaged and isinstance(error, FormatError):
                    self._session.member_damaged.emit(name, error)
                else:
                    self._session.report_error(self.tr("Cannot show {0}").format(name), error)

        self.pages.describe(name, done, key=("describe", id(self)))

    def _show(self, source: OpenSource, select: Span | None = None) -> None:
        before = self.tabs.known(self.state.name)
        if before is not None and before is not source:
            self._note_place()
        self.tabs.show_source(source)
        if before is not source or (self.state.name, self.state.layout.size) != (source.name, source.size):
            self._lay_bytes(source, chosen=select is None)
        if select is not None:
            self.state.select(select)
        self._path_changed(())

    def _lay_bytes(self, source: OpenSource, *, chosen: bool = True) -> None:
        self.state.set_source(source.name, source.size, source.sections)
        self._findings_changed(self._session.verification.report)
        self._notes_changed()
        if source.span is not None and chosen:
            self.state.select(source.span, reveal=False)
        self.state.scroll_to(source.top)

    def _tab_chosen(self, name: str) -> None:
        source = self.tabs.known(name)
        if source is not None:
            self._show(source)
            self._session.select_span(self.state.selection.span, self.view)

    # --- marks ---

    def _findings_changed(self, report: Report | None) -> None:
        self.state.set_findings(report.findings if report is not None else ())

    def _notes_changed(self) -> None:
        self.state.set_notes(self._session.notes.on(self.state.name))

    def _highlights_changed(self) -> None:
        highlights, arrows = self._session.lookup.highlights, self._session.lookup.arrows
        self.state.set_highlights(highlights, arrows)
        self.overview.update()
        if not highlights or not highlights[0].hollow or self._session.selection.span is not None:
            return
        here = highlights_in(highlights, self.state.name)
        start, stop = self.state.visible_bytes
        if not here:
            self.show_source(highlights[0].span.source)
        elif not any(one.span.start < stop for one in here) or not any(one.span.stop > start for one in here):
            self.state.reveal(here[0].span.start)

    def _notation_changed(self) -> None:
        self.state.fit_font()
        self.view.column.forget()
        self.status.clear()
        self._path_changed(self.state.path)

    def _drawing_shown(self, in_front: bool) -> None:
        drawn = self.drawings.panel if in_front else None
        self.setFocusProxy(drawn if drawn is not None else self.view)
        self.legend.setVisible(self.room() >= fonts.px(LOW) and not in_front)
        self.full_width_changed.emit()

    def _view_moved(self) -> None:
        state = self.state
        self.overview.set_fetched(self._fetched())
        fields = roles_in([state.cells_of(part.top, part.lines) for _, part in state.rows_on_screen.parts])
        self.legend.parts = state.sections
        self.legend.set_roles([section.role for section in state.sections if section.size], fields)

    def _fetched(self) -> tuple[Range, ...] | None:
        """Return the cached ranges of a remote source; None for local or decoded bytes."""
        shard = self._session.shard
        if shard is None or not self._session.request.is_remote or stored_span(self.state.name) is not None:
            return None
        source = shard.source if self.state.name == "" else None
        return source.loaded(0, source.size) if source is not None else ()

    # --- the selection ---

    def _selected_here(self, selection: HexSelection) -> None:
        self._session.select_span(selection.span, self.view)
        self.status.refresh()

    def _session_selected(self, selection: Selection) -> None:
        span, state = selection.span, self.state
        if span != self._session.selection.span:
            return  # The file was closed while the panel was hidden.
        if selection.complete and not isinstance(selection.origin, TraceWalk):
            self.address.show_place(span.start if span is not None and span.source == state.name else None)
        if span is None:
            if selection.row is None and state.layout.size:
                state.deselect()
                self._path_changed(())
            return
        if span.source != state.name or not self.tabs.sources:
            self.show_source(span.source, span)
        elif selection.origin is not self.view and span != state.selection.span:
            state.select(span)
        if selection.complete and span.source == state.name:
            self._path_changed(selection.path)
        else:
            self.status.refresh()

    def _path_changed(self, path: Sequence[Node]) -> None:
        state = self.state
        state.set_path(path)
        self.breadcrumb.set_path(file_title(self._session.shard, state.name, path), path)
        self.actions_.set_path(path)
        self.decoded_button.setVisible(self.actions_.decoded.isEnabled())
        if path:
            notes = [self.tr("note: {0}").format(note.text) for note in state.notes_at(state.selection.caret)]
            names = [*[node.name for node in path[1:]], headline(path[-1]), *notes]
            self.view.accessibility.set_location(", ".join(names))
        self.status.refresh()

    def _byte(self, offset: int) -> Span:
        return Span(self.state.name, offset, min(offset + 1, self.state.layout.size))

    def _jump(self, offset: int) -> None:
        self.state.scroll_to(offset)
        self.state.move_caret(offset)


def file_title(shard: Shard | None, source: str, path: Sequence[Node]) -> str:
    name = SourceName.parse(source)
    if isinstance(shard, DataSet):
        return short_name(shard.uri) if path else name.path
    stored = shard.source if shard is not None else None
    file = "" if stored is None else stored.title if isinstance(stored, InnerSource) else short_name(stored.name)
    return " › ".join([part for part in (file, name.path, "decoded" if name.stretches else "") if part])
