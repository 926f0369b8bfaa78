"""Panel of the bytes: tabs, path, overview, search, legend."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from shardcore import Cancelled, DataSet, FormatError, Node, Report, Section, Shard, ShardError, Source, Span
from shardcore.model.details import OpenedWith, curl_command, explain_command, read_lines
from shardcore.model.node import nearest_row
from shardcore.model.span import SourceName
from shardcore.model.text import plural, shown
from shardcore.operations.offset_expression import GotoNames, starts_of
from shardcore.shards.inner_source import InnerSource
from shardscope.session.byte_pages import PageCache
from shardscope.session.copy_bytes import CopyAs, TooMuchToCopy, check_size, copied
from shardscope.session.display_text import headline, short_name
from shardscope.session.error_messages import error_text
from shardscope.session.highlights import highlights_in
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.lookup_steps import TraceWalk
from shardscope.session.open_request import listed_members
from shardscope.session.section_lookup import section_at
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.views.hex.actions import HexActions, HexMenuActions, add_looks, hex_menu, open_menu
from shardscope.views.hex.address_bar import AddressBar, EntryContext
from shardscope.views.hex.breadcrumb import Breadcrumb
from shardscope.views.hex.byte_status import HexStatus
from shardscope.views.hex.cells import roles_in
from shardscope.views.hex.drawing_tab import DrawingPlace
from shardscope.views.hex.hex_state import HexState
from shardscope.views.hex.legend import Legend
from shardscope.views.hex.overlays import HexSelection, frames_of
from shardscope.views.hex.overview import Overview
from shardscope.views.hex.row_width import RowChoice, RowMode
from shardscope.views.hex.search_bar import ByteSearch
from shardscope.views.hex.tabs import OpenSource, SourceTabs, stored_span
from shardscope.views.hex.view import HexView
from shardscope.widgets import fonts
from shardscope.widgets.clipboard import copy_lines

LineForm = Callable[[str, Span, OpenedWith], str]
"""Function that returns a command or program lines that print bytes, from URI, span and options."""


class HexCopier(QObject):
    message = Signal(object)
    failed = Signal(object)

    def __init__(self, state: HexState) -> None:
        super().__init__(state)
        self._state = state

    def copy(self, form: CopyAs = CopyAs.SEEN) -> None:
        """Copy the selected bytes; reads them in a job and refuses too many with `failed`."""
        span, rows = self._state.selection.span, self._state.layout
        if not span.size:
            return
        try:
            check_size(span.size)
        except TooMuchToCopy as error:
            self.failed.emit(str(error))
            return

        def work(source: Source, job: Job) -> str:
            data = source.read(span.start, span.stop)
            job.check()
            return copied(data, form, start=span.start, width=rows.width, lead=rows.lead, digits=rows.digits)

        def done(text: str | None, error: BaseException | None) -> None:
            if text is not None:
                copy_lines(text)
                self.message.emit(self.tr("{0} copied {1}").format(plural(span.size, "byte"), form.value))
            elif not isinstance(error, Cancelled):
                self.failed.emit(self.tr("Cannot copy: {0}").format(error_text(error)))

        self._state.pages.read(span.source, work, key=("copy", id(self)), title="", done=done)

    def copy_line(self, form: LineForm, uri: str, how: OpenedWith) -> None:
        if text := form(uri, self._state.selection.span, how):
            copy_lines(text)
            self.message.emit(self.tr("{0} copied").format(shown(text.splitlines()[-1].strip())))

    def copy_text(self, text: str) -> None:
        copy_lines(text)
        self.message.emit(self.tr("{0} copied").format(text))


class Naming:
    def __init__(self, session: Session, state: HexState) -> None:
        self._session = session
        self._state = state
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
        shard = self._session.shard
        stored = self._state.name == ""
        return GotoNames(
            size=self._state.layout.size,
            caret=self._state.selection.caret,
            sections=self._state.sections,
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


def file_title(shard: Shard | None, source: str, path: Sequence[Node]) -> str:
    name = SourceName.parse(source)
    if isinstance(shard, DataSet):
        return short_name(shard.uri) if path else name.path
    stored = shard.source if shard is not None else None
    file = "" if stored is None else stored.title if isinstance(stored, InnerSource) else short_name(stored.name)
    return " › ".join(part for part in (file, name.path, "decoded" if name.stretches else "") if part)


LOW = 330
"""Height in pixels below which overview and legend are hidden."""


@dataclass(frozen=True, slots=True)
class HexPanelState:
    sources: tuple[OpenSource, ...]
    name: str


class HexPanel(QWidget):
    """Central panel of the window; it follows the session's selection and changes it.

    The window sets `room`, the height without notices, so that a notice covers rows only.
    """

    full_width_changed = Signal()
    """`full_width` may have changed."""
    look_up_wanted = Signal(object)
    """Carries the key to look up."""
    extract_wanted = Signal(object)
    """Carries the row of the object to extract."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("hexPanel")
        self._session = session
        self.room: Callable[[], int] = self.height
        self._path: tuple[Node, ...] = ()
        self.pages = PageCache(session.jobs, self)
        self.view = HexView(self.pages)
        self.state = self.view.state
        self.overview = Overview(self.pages)
        self.tabs = SourceTabs()
        self.breadcrumb = Breadcrumb()
        self.naming = Naming(session, self.state)
        self.address = AddressBar(self.naming.known)
        self.rows = RowChoice(self.state)
        self.decoded_button = QToolButton()
        self._about = QWidget()
        self.searching = ByteSearch(session, self.state, self.overview)
        self.search = self.searching.bar
        self.legend = Legend()
        self.status = HexStatus()
        self.copier = HexCopier(self.state)
        self.actions_ = HexActions(self)
        self.drawings = DrawingPlace(session, self.tabs, self.actions_, self.view)
        self.setFocusProxy(self.view)
        self._lay_out()
        self._connect_views()
        self._connect_actions()
        self._connect_session()

    # --- making ---

    def _lay_out(self) -> None:
        self.decoded_button.setDefaultAction(self.actions_.decoded)
        self.decoded_button.setObjectName("decodedButton")
        self.decoded_button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Ignored)
        self.decoded_button.hide()
        self.search.hide()
        about = QHBoxLayout(self._about)
        about.setContentsMargins(0, 0, 0, 0)
        about.setSpacing(10)
        about.addWidget(self.breadcrumb, 1)
        about.addWidget(self.decoded_button)
        line = self._line = QHBoxLayout()
        line.setContentsMargins(10, 2, 10, 0)
        line.setSpacing(10)
        line.addWidget(self.tabs)
        line.addWidget(self._about, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(line)
        column.addWidget(self.overview)
        column.addWidget(self.search)
        column.addWidget(self.drawings.splitter, 1)
        column.addWidget(self.legend)

    def add_beside_tabs(self, line: QWidget, last: QWidget) -> None:
        self._line.addWidget(line, 1)
        self._line.addWidget(last)

    def set_about_visible(self, shown: bool) -> None:
        self._about.setVisible(shown)

    @property
    def full_width(self) -> float:
        """Width in pixels at which all columns fit; infinite for drawings."""
        by_record = self.rows.width.mode is RowMode.RECORD
        return math.inf if self.drawings.in_front or by_record else self.view.full_width

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        tall = self.room() >= fonts.px(LOW)
        self.overview.setVisible(tall)
        self.legend.setVisible(tall and not self.drawings.in_front)
        self.drawings.fit()

    def _connect_views(self) -> None:
        self.state.selection_changed.connect(self._selected_here)
        self.state.activated.connect(lambda _: self.follow_pointer())
        self.view.menu_requested.connect(self._open_menu)
        self.view.header_menu_requested.connect(self._open_header_menu)
        self.state.view_changed.connect(self._view_moved)
        self.state.layout_changed.connect(self._view_moved)
        self.overview.jumped.connect(self._jump)
        self.overview.section_chosen.connect(
            lambda section: self._session.select_span(Span(self.state.name, section.start, section.stop))
        )
        self.overview.reported.connect(self._session.say)
        self.tabs.chosen.connect(self._tab_chosen)
        self.drawings.shown_changed.connect(self._drawing_shown)
        self.drawings.shown_changed.connect(lambda _: self.full_width_changed.emit())
        self.state.layout_changed.connect(self.full_width_changed)
        self.actions_.fields.toggled.connect(lambda _: self.full_width_changed.emit())
        self.state.hovered.connect(self.drawings.highlight)
        self.breadcrumb.chosen.connect(self._session.select_span)
        self.breadcrumb.file_chosen.connect(self._session.select_nothing)
        self.address.chosen.connect(lambda offset: self._session.select_span(self._byte(offset)))
        self.address.key_chosen.connect(lambda key: self._session.look_up(key, selects=True))
        self.address.left.connect(self.view.setFocus)
        self.view.field_chosen.connect(self._session.select_span)
        self.search.left.connect(self.view.setFocus)
        self.copier.message.connect(self._session.message)
        self.copier.failed.connect(partial(self._session.say, failed=True))

    def _connect_actions(self) -> None:
        actions = self.actions_
        actions.copy.triggered.connect(partial(self._copy_as, CopyAs.SEEN))
        for form, action in actions.copy_as.items():
            action.triggered.connect(partial(self._copy_as, form))
        actions.copy_command.triggered.connect(partial(self._copy_line, explain_command))
        actions.copy_python.triggered.connect(partial(self._copy_line, read_lines))
        actions.copy_curl.triggered.connect(partial(self._copy_line, curl_command))
        actions.copy_offset.triggered.connect(lambda: self.copier.copy_text(f"{self.state.selection.span.start:#x}"))
        actions.select_field.triggered.connect(lambda: self.state.select_field(self.state.selection.caret))
        actions.select_record.triggered.connect(self.select_record)
        actions.select_section.triggered.connect(self.select_section)
        actions.follow.triggered.connect(self.follow_pointer)
        actions.references.triggered.connect(self._session.find_references)
        actions.decoded.triggered.connect(self.toggle_decoded)
        actions.inside.triggered.connect(self.open_inside)
        actions.goto.triggered.connect(self.address.start)
        actions.find.triggered.connect(self.search.start)
        actions.find_these.triggered.connect(self.searching.find_these)
        actions.find_next.triggered.connect(lambda: self.searching.again(backward=False))
        actions.find_previous.triggered.connect(lambda: self.searching.again(backward=True))
        actions.letters.toggled.connect(self.state.set_letters)
        actions.fields.toggled.connect(self.view.set_column)
        actions.fold.toggled.connect(self.state.set_folding)
        actions.larger.triggered.connect(lambda: self.state.set_zoom(fonts.zoomed(self.state.zoom, larger=True)))
        actions.smaller.triggered.connect(lambda: self.state.set_zoom(fonts.zoomed(self.state.zoom, larger=False)))
        self._path_changed(())

    def _connect_session(self) -> None:
        session = self._session
        session.opened.connect(self._opened)
        session.closed.connect(self._closed)
        session.selection_changed.connect(self._session_selected)
        session.index_loaded.connect(self._index_loaded)
        session.findings_changed.connect(self._findings_changed)
        session.highlights_changed.connect(self._highlights_changed)
        session.notation_changed.connect(self._notation_changed)
        session.notes.changed.connect(self._notes_changed)
        self.pages.troubled.connect(session.note_error)
        if session.shard is not None:
            self._opened(session.shard)

    # --- what is open ---

    def _opened(self, shard: Shard) -> None:
        self.pages.use(shard)
        self.tabs.clear()
        self.address.clear()
        if not self._session.request.changes and not self._session.switching:
            # An edit in the sandbox opens the file again: the focus stays on the bit buttons.
            self.view.setFocus()
        self.search.forget()
        self.naming.forget()
        self.drawings.opened()
        self.actions_.copy_curl.setVisible(self._session.uri.startswith(("http://", "https://")))
        if shard.source is not None:
            self._show(OpenSource("", shard.source.size, shard.sections))
            self.naming.learn()
        if self._session.switching:
            return
        if isinstance(shard, DataSet) and (members := listed_members(shard)):
            first = members[0]
            self._session.select_span(Span(str(SourceName(first.name)), 0, min(first.size, 1)), self, remember=False)

    def _closed(self) -> None:
        self.address.clear()
        self.search.forget()
        self.tabs.clear()
        self.pages.use(None)
        self.naming.forget()
        self.state.set_source("", 0)
        self.overview.set_source("", 0)
        self._path_changed(())
        self.status.clear()

    def view_state(self) -> object:
        self._note_place()
        return HexPanelState(tuple(self.tabs.sources), self.state.name)

    def restore_view_state(self, state: object) -> None:
        if not isinstance(state, HexPanelState) or not state.sources:
            return
        for source in state.sources:
            if (fresh := self.tabs.known(source.name)) is not None:
                self.tabs.sources[self.tabs.sources.index(fresh)] = source
            self.tabs.show_source(source)
        shown = self.tabs.known(state.name) or state.sources[0]
        self.tabs.show_source(shown)
        self._lay_bytes(shown)
        self.overview.set_selection(*self._selected())

    def _note_place(self) -> None:
        if (before := self.tabs.known(self.state.name)) is not None:
            before.top, before.span = max(self.state.visible_bytes[0], 0), self.state.selection.span

    def _index_loaded(self) -> None:
        self.pages.refresh_runs()
        self.view.names.forget()
        shard = self._session.shard
        if shard is not None and shard.source is not None:
            stored = self.tabs.known("")
            if stored is not None and stored.sections != shard.sections:
                stored.sections = shard.sections
                if self.state.name == "":
                    self._show_sections()
            self.naming.learn()

    def _findings_changed(self, report: Report | None) -> None:
        findings = report.findings if report is not None else ()
        self.state.set_findings(findings)
        self.overview.set_findings(findings)

    def _notes_changed(self) -> None:
        notes = self._session.notes.on(self.state.name)
        self.state.set_notes(notes)
        self.overview.set_notes(notes)

    def _highlights_changed(self) -> None:
        """Show the highlights; if nothing is selected, scroll to the inputs of a computed step."""
        highlights, arrows = self._session.highlights, self._session.arrows
        self.state.set_highlights(highlights, arrows)
        self.overview.set_highlights(highlights, arrows)
        if not highlights or not highlights[0].hollow or self._session.selection.span is not None:
            return
        here = highlights_in(highlights, self.state.name)
        if not here:
            self.show_source(highlights[0].span.source)
        elif not any(highlight.span.start < self.state.visible_bytes[1] for highlight in here) or not any(
            highlight.span.stop > self.state.visible_bytes[0] for highlight in here
        ):
            self.state.reveal(here[0].span.start)

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
        if self.state.name != source.name or self.state.layout.size != source.size or before is not source:
            self._lay_bytes(source, chosen=select is None)
        if select is not None:
            self.state.select(select)
        self.overview.set_selection(*self._selected())
        self._path_changed(())
        self._refresh_status()

    def _lay_bytes(self, source: OpenSource, *, chosen: bool = True) -> None:
        self.state.set_source(source.name, source.size, source.sections)
        self.overview.set_source(source.name, source.size, source.sections)
        self._findings_changed(self._session.report)
        self._notes_changed()
        if source.span is not None and chosen:
            self.state.select(source.span, reveal=False)
        self.state.scroll_to(source.top)

    # --- the selection ---

    def _selected_here(self, selection: HexSelection) -> None:
        self.overview.set_selection(*self._selected())
        self._refresh_status()
        self._session.select_span(selection.span, self)

    def _session_selected(self, selection: Selection) -> None:
        span = selection.span
        if selection.complete and not isinstance(selection.origin, TraceWalk):
            here = span is not None and span.source == self.state.name
            self.address.show_place(span.start if span is not None and here else None)
        if span is None:
            if selection.row is None and self.state.layout.size:
                # The caret stays, without a selection.
                caret = self.state.selection.caret
                self.state.select(Span(self.state.name, caret, caret + 1), reveal=False)
                self.overview.set_selection(0, 0)
                self._path_changed(())
                self._refresh_status()
            return
        if selection.origin is not self or span.source != self.state.name:
            if span.source != self.state.name or not self.tabs.sources:
                self.show_source(span.source, span)
            elif span != self.state.selection.span:
                self.state.select(span)
                self.overview.set_selection(*self._selected())
        if selection.complete and span.source == self.state.name:
            self._path_changed(selection.path)
        self._refresh_status()

    def _selected(self) -> tuple[int, int]:
        span = self.state.selection.span
        return span.start, span.stop

    def _show_sections(self) -> None:
        if (source := self.tabs.known(self.state.name)) is not None:
            self.state.set_sections(source.sections)
            self.overview.set_sections(source.sections)

    def _notation_changed(self) -> None:
        self.state.fit_font()
        self.view.names.forget()
        self._show_sections()
        self._path_changed(self._path)
        self._refresh_status()

    def _path_changed(self, path: tuple[Node, ...]) -> None:
        self._path = path
        self.breadcrumb.set_path(file_title(self._session.shard, self.state.name, path), path)
        self.rows.set_path(path)
        self.state.set_frames(frames_of(path, self.state.name))
        self.actions_.select_record.setEnabled(len(self.state.frames) > 1)
        self.actions_.follow.setEnabled(self._pointer() is not None)
        stored = stored_span(self.state.name)
        self.actions_.decoded.setEnabled(bool(self._decoded()) or stored is not None)
        self.actions_.inside.setEnabled(self._inner() is not None)
        self.actions_.decoded.setText(
            self.tr("Show &stored bytes") if stored is not None else self.tr("Show &decoded bytes")
        )
        self.decoded_button.setVisible(self.actions_.decoded.isEnabled())
        if path:
            notes = [self.tr("note: {0}").format(note.text) for note in self.state.notes_at(self.state.selection.caret)]
            names = [*(node.name for node in path[1:]), headline(path[-1]), *notes]
            self.view.accessibility.set_location(", ".join(names))

    def _pointer(self) -> Span | None:
        return next((node.target for node in reversed(self._path) if node.target is not None), None)

    def _decoded(self) -> str:
        return next((node.decoded for node in reversed(self._path) if node.decoded), "")

    def follow_pointer(self) -> None:
        target = self._pointer()
        if target is not None:
            self._session.select_span(target)

    def toggle_decoded(self) -> None:
        stored = stored_span(self.state.name)
        if stored is not None:
            self._session.select_span(stored)
        elif name := self._decoded():
            self._session.select_span(Span(name, 0, 1))

    def _inner(self) -> int | SourceName | None:
        if (row := nearest_row(self._path)) is not None:
            return row
        name = self._decoded() or (self.state.name if stored_span(self.state.name) is not None else "")
        return SourceName.parse(name) if name else None

    def open_inside(self) -> None:
        if (inner := self._inner()) is not None:
            self._session.open_inside(inner)

    def select_record(self) -> None:
        if len(self.state.frames) > 1:
            self._session.select_span(Span(self.state.name, *self.state.frames[1]))

    def select_section(self) -> None:
        section = section_at(self.state.sections, self.state.selection.caret)
        if section is not None:
            self._session.select_span(Span(self.state.name, section.start, section.stop))

    def _tab_chosen(self, name: str) -> None:
        source = self.tabs.known(name)
        if source is not None:
            self._show(source)
            self._session.select_span(self.state.selection.span, self)

    def _byte(self, offset: int) -> Span:
        return Span(self.state.name, offset, min(offset + 1, self.state.layout.size))

    def _jump(self, offset: int) -> None:
        self.state.scroll_to(offset)
        self.state.move_caret(offset)

    # --- the drawings ---

    def _drawing_shown(self, in_front: bool) -> None:
        drawn = self.drawings.panel if in_front else None
        self.setFocusProxy(drawn if drawn is not None else self.view)
        self.legend.setVisible(self.room() >= fonts.px(LOW) and not in_front)

    # --- around the bytes ---

    def _view_moved(self) -> None:
        self.legend.parts = self.state.sections
        self.overview.set_view(*self.state.visible_bytes)
        self.overview.set_fetched(self._fetched())
        parts = self.state.rows_on_screen.parts()
        fields = roles_in(self.state.cells_of(part.top, part.lines) for _, part in parts)
        self.legend.set_roles([s.role for s in self.state.sections if s.size], fields)

    def _fetched(self) -> tuple[tuple[int, int], ...] | None:
        """Return the cached ranges of a remote source; None for local or decoded bytes."""
        shard = self._session.shard
        if shard is None or not self._session.request.is_remote or stored_span(self.state.name) is not None:
            return None
        source = shard.source if self.state.name == "" else None
        return source.loaded(0, source.size) if source is not None else ()

    def _refresh_status(self) -> None:
        self.status.show_selection(self.state.selection.span, self.state.layout.size, self._path, self.state.sections)

    def _copy_as(self, form: CopyAs, checked: bool = False) -> None:
        self.copier.copy(form)

    def _copy_line(self, form: LineForm, checked: bool = False) -> None:
        request = self._session.request
        if request.sandbox:
            self._session.say(self.tr("Not available in the sandbox: save a copy and open it"), failed=True)
            return
        self.copier.copy_line(form, request.shown, request.opened_with())

    # --- the menu ---

    def _open_menu(self, place: QPoint) -> None:
        selection = self._session.selection
        row, key = selection.row, selection.ref.key if selection.ref is not None else None
        handlers = HexMenuActions(
            go=lambda: self._session.select_row(row if row is not None else -1),
            look_up=lambda: self.look_up_wanted.emit(key),
            extract=lambda: self.extract_wanted.emit(row),
            report=self._session.say,
        )
        known = row if key is not None else None
        open_menu(hex_menu(self.view, self, self.actions_, handlers, self.rows, row=known), place)

    def _open_header_menu(self, place: QPoint) -> None:
        menu = QMenu(self)
        add_looks(menu, self.actions_, self.rows)
        open_menu(menu, place)
