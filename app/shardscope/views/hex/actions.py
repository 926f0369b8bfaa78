"""Actions of the hex panel, in its context menu and in the menus of the window: copying, search, bytes per row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QPoint, Qt, SignalInstance
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMenu, QWidget

from shardcore import Node, Shard, Span
from shardcore.dataclasses import dataclass
from shardcore.model.details import OpenedWith, curl_command, explain_command, read_lines, record_size
from shardcore.model.node import nearest_row
from shardcore.model.span import SourceName
from shardcore.model.text import plural, shown
from shardscope.session.byte_marks import section_at
from shardscope.session.byte_pages import pieces_of
from shardscope.session.display_text import CopyAs, TooMuchToCopy, check_size, copied, cut_middle
from shardscope.session.jobs import Job
from shardscope.session.session import Session
from shardscope.views.hex.address_bar import AddressBar
from shardscope.views.hex.layout import AUTOMATIC, MAX_WIDTH
from shardscope.views.hex.search_bar import SearchBar
from shardscope.views.hex.state import HexState
from shardscope.views.hex.tabs import DrawingPlace, stored_span
from shardscope.views.hex.view import HexView
from shardscope.widgets import fonts
from shardscope.widgets.clipboard import copy_lines
from shardscope.widgets.file_dialogs import ask_target
from shardscope.widgets.layouts import made, new_action
from shardscope.widgets.save_picture import add_picture
from shardscope.widgets.table import context_menu

LineForm = Callable[[str, Span, OpenedWith], str]
"""Function of URI, span and opening options; returns a command or program lines that print the bytes of the span."""


class HexActions(QObject):
    """Actions of the hex panel; the window connects those without a slot. `look_up` emits a key, `extract` a row."""

    def __init__(
        self,
        panel: QWidget,
        session: Session,
        view: HexView,
        rows: RowChoice,
        address: AddressBar,
        search: SearchBar,
        drawings: DrawingPlace,
        look_up: SignalInstance,
        extract: SignalInstance,
    ) -> None:
        super().__init__(panel)
        self._panel, self._session, self._view, self._state, self._rows = panel, session, view, view.state, rows
        self._look_up, self._extract = look_up, extract
        state = self._state
        act, standard = partial(new_action, panel), QKeySequence.StandardKey
        toggle = partial(act, checkable=True, checked=True)
        self.copy = act(self.tr("&Copy"), self._copy, standard.Copy)
        self.copy_as = {
            form: act(self.tr("Copy as {0}").format(form.value), partial(self._copy, form))
            for form in CopyAs
            if form is not CopyAs.SEEN
        }
        self.copy_command = act(self.tr("Copy as &shardcore command"), partial(self._copy_line, explain_command))
        self.copy_python = act(self.tr("Copy as P&ython lines"), partial(self._copy_line, read_lines))
        self.copy_curl = act(self.tr("Copy as c&url command"), partial(self._copy_line, curl_command))
        self.copy_curl.setVisible(False)
        self.copy_offset = act(self.tr("Copy &offset"), self._copy_offset, "Ctrl+Alt+C")
        self.save = act(self.tr("Sa&ve selected bytes as…"), self.ask_save)
        self.paste = act(self.tr("&Paste over"), None, standard.Paste)
        self.fill = act(self.tr("F&ill…"))
        self.replace = act(self.tr("Replace all &hits…"), None, "Ctrl+H")
        self.select_field = act(
            self.tr("Select &field"), lambda: state.select_field(state.selection.caret), "Ctrl+Shift+F"
        )
        record = lambda: session.select_span(Span(state.name, *state.frames[1]))  # noqa: E731
        self.select_record = act(self.tr("Select &record"), record, "Ctrl+Shift+R")
        self.select_section = act(self.tr("Select &section"), self._select_section, "Ctrl+Shift+S")
        self.note = act(self.tr("Add &note…"), None, "Ctrl+B")
        self.next_note = act(self.tr("Ne&xt note"), None, "F4")
        self.previous_note = act(self.tr("Previo&us note"), None, "Shift+F4")
        self.follow = act(self.tr("Follow &pointer"), self.follow_pointer)
        self.references = act(self.tr("Find &references"), session.references.find, "Ctrl+Shift+W")
        self.decoded = act(self.tr("Show &decoded bytes"), self.toggle_decoded, "Ctrl+D")
        self.inside = act(self.tr("Open &inside"), self._open_inside, "Ctrl+Shift+I")
        self.drawing = act(self.tr("Dra&wing"), drawings.toggle, "Alt+D")
        self.copy_drawing = act(self.tr("Copy d&rawing"), lambda: drawings.made().copy.trigger())  # noqa: PLW0108 - made when used
        self.save_drawing = act(self.tr("Save dra&wing…"), lambda: drawings.made().save.trigger())  # noqa: PLW0108 - made when used
        self.goto = act(self.tr("&Go to…"), address.start, "Ctrl+G")
        self.find = act(self.tr("&Find…"), search.start, standard.Find)
        self.find_these = act(self.tr("Find &these bytes"), search.find_these, "Ctrl+F3")
        self.find_next = act(self.tr("Find &next"), partial(search.again, backward=False), "F3")
        self.find_previous = act(self.tr("Find p&revious"), partial(search.again, backward=True), "Shift+F3")
        about = self.tr("Always shown in palettes for colour-blind users")
        self.letters = toggle(self.tr("Role &letters"), checked=False, toolTip=about, toggled=state.set_letters)
        about = self.tr("Show names and values of the fields of each row")
        self.fields = toggle(self.tr("Fi&elds beside the bytes"), toolTip=about, toggled=view.set_column)
        about = self.tr("Show rows of equal bytes as one line; click or press Enter to expand")
        self.fold = toggle(self.tr("Fold rows of e&qual bytes"), toolTip=about, toggled=state.set_folding)
        drawings.sketches_changed.connect(self._set_drawings)
        self._set_drawings(False)
        self.larger = act(self.tr("&Larger bytes"), partial(self._zoom, larger=True), "Ctrl+Alt++")
        self.smaller = act(self.tr("S&maller bytes"), partial(self._zoom, larger=False), "Ctrl+Alt+-")

    def set_open(self, is_open: bool) -> None:
        for action in (
            *(self.copy, *self.copies, self.copy_offset, self.save),
            *(self.select_field, self.select_section, self.find_these),
            *(self.references, self.goto, self.find, self.find_next, self.find_previous),
            *(self.letters, self.fields, self.fold, self.larger, self.smaller),
        ):
            action.setEnabled(is_open)

    def _set_drawings(self, there: bool) -> None:
        for action in (self.drawing, self.copy_drawing, self.save_drawing):
            action.setEnabled(there)

    @property
    def copies(self) -> list[QAction]:
        return [*self.copy_as.values(), self.copy_command, self.copy_python, self.copy_curl]

    def _zoom(self, *, larger: bool) -> None:
        self._state.set_zoom(fonts.zoomed(self._state.zoom, larger=larger))

    # --- the field at the caret ---

    def set_path(self, path: Sequence[Node]) -> None:
        if path and self._rows.width.mode is RowMode.RECORD:
            self._rows.fit_record()
        stored = self._stored
        self.select_record.setEnabled(len(self._state.frames) > 1)
        self.follow.setEnabled(self._pointer is not None)
        self.decoded.setEnabled(stored is not None or bool(self._decoded))
        self.decoded.setText(self.tr("Show &decoded bytes") if stored is None else self.tr("Show &stored bytes"))
        self.inside.setEnabled(self._inner is not None)

    @property
    def _stored(self) -> Span | None:
        return stored_span(self._state.name)

    @property
    def _pointer(self) -> Span | None:
        return next((node.target for node in reversed(self._state.path) if node.target is not None), None)

    @property
    def _decoded(self) -> str:
        return next((node.decoded for node in reversed(self._state.path) if node.decoded), "")

    @property
    def _inner(self) -> int | SourceName | None:
        if (row := nearest_row(self._state.path)) is not None:
            return row
        name = self._decoded or (self._state.name if self._stored is not None else "")
        return SourceName.parse(name) if name else None

    def follow_pointer(self) -> None:
        if (target := self._pointer) is not None:
            self._session.select_span(target)

    def toggle_decoded(self) -> None:
        if (stored := self._stored) is not None:
            self._session.select_span(stored)
        elif name := self._decoded:
            self._session.select_span(Span(name, 0, 1))

    def _open_inside(self) -> None:
        if (inner := self._inner) is not None:
            self._session.open_inside(inner)

    def _select_section(self) -> None:
        section = section_at(self._state.sections, self._state.selection.caret)
        if section is not None:
            self._session.select_span(Span(self._state.name, section.start, section.stop))

    # --- copying ---

    def _copy(self, form: CopyAs = CopyAs.SEEN) -> None:
        session, span, rows = self._session, self._state.selection.span, self._state.layout
        if not span.size:
            return
        try:
            check_size(span.size)
        except TooMuchToCopy as error:
            session.say(str(error), failed=True)
            return

        def work(shard: Shard, job: Job) -> str:
            data = shard.bytes_of(span.source).read(span.start, span.stop)
            job.check()
            return copied(data, form, start=span.start, width=rows.width, lead=rows.lead, digits=rows.digits)

        said = self.tr("{0} copied {1}").format(plural(span.size, "byte"), form.value)
        session.ask(work, partial(self._copy_text, said=said), failed=self.tr("Cannot copy"), key=("copy", self))

    def _copy_line(self, form: LineForm) -> None:
        request = self._session.request
        if request.sandbox:
            self._session.say(self.tr("Not available in the sandbox: save a copy and open it"), failed=True)
        elif text := form(request.shown, self._state.selection.span, request.opened_with()):
            self._copy_text(text, self.tr("{0} copied").format(shown(text.splitlines()[-1].strip())))

    def _copy_offset(self) -> None:
        text = f"{self._state.selection.span.start:#x}"
        self._copy_text(text, self.tr("{0} copied").format(text))

    def _copy_text(self, text: str, said: str) -> None:
        copy_lines(text)
        self._session.message.emit(said)

    # --- saving ---

    def ask_save(self) -> QFileDialog | None:
        request, span = self._session.request, self._state.selection.span
        if not span.size:
            return None
        name = f"{Path(request.name).stem}-{span.start:#x}-{span.stop - 1:#x}.bin"
        save, start = lambda path: self.save_to(Path(path), span), str(request.folder)
        return ask_target(self._panel, self.tr("Save selected bytes"), save, name=name, start=start)

    def save_to(self, path: Path, span: Span) -> None:
        session = self._session

        def work(shard: Shard, job: Job) -> int:
            from shardcore.writing.temporary import write_whole

            return write_whole(path, pieces_of(shard.bytes_of(span.source), span, job.progress), force=True)

        def go() -> None:
            saved = self.tr("{0} saved: {1}").format(plural(span.size, "byte"), path)
            take = lambda _: session.say(saved)  # noqa: E731
            session.ask(work, take, failed=self.tr("Cannot save the bytes"), title=f"Save {path.name}")

        session.with_consent("Saving the bytes", span.size, go)

    # --- menus ---

    def add_looks(self, menu: QMenu) -> None:
        self._rows.fill(menu)
        menu.addActions([self.fold, self.fields, self.letters, self.larger, self.smaller])

    def open_header_menu(self, place: QPoint) -> None:
        menu = context_menu(self._panel, ())
        self.add_looks(menu)
        menu.popup(place)

    def open_menu(self, place: QPoint) -> None:
        selection = self._session.selection
        row, key = selection.row, selection.ref.key if selection.ref is not None else None
        menu = context_menu(self._panel, [self.copy])
        menu.addMenu(self.tr("Copy &as")).addActions(self.copies)
        menu.addActions([self.copy_offset, self.save, self.paste, self.fill])
        menu.addSeparator()
        menu.addActions([self.select_field, self.select_record, self.select_section])
        menu.addActions([self.follow, self.references, self.decoded, self.inside, self.note])
        menu.addSeparator()
        for text, act in (
            (self.tr("Go to o&bject"), lambda: self._session.select_row(row if row is not None else -1)),
            (self.tr("Look &up object"), lambda: self._look_up.emit(key)),
            (self.tr("E&xtract object…"), lambda: self._extract.emit(row)),
        ):
            menu.addAction(text, act).setEnabled(row is not None and key is not None)
        menu.addSeparator()
        menu.addActions([self.find_these, self.find, self.goto])
        menu.addSeparator()
        self.add_looks(menu)
        menu.addSeparator()
        add_picture(menu, self._view, "bytes", self._session.say)
        menu.popup(place)


# --- bytes per row ---

DEFAULT = 16

_LONGEST = 16


class RowMode(Enum):
    AUTO = "auto"
    FIXED = "fixed"
    RECORD = "record"


@dataclass(frozen=True)
class RowWidth:
    mode: RowMode
    width: int = DEFAULT

    @property
    def text(self) -> str:
        return f"{self.width} bytes" if self.mode is RowMode.FIXED else self.mode.value.capitalize()


CHOICES = (RowWidth(RowMode.AUTO), *(RowWidth(RowMode.FIXED, width) for width in (8, 16, 24, 32)))


def record_of(path: Sequence[Node], source: str) -> tuple[int, int] | None:
    """Return size and start of the smallest node on a path that has children and fits into a row; None without one."""
    for node in reversed(path[1:]):
        if node.span.source == source and 2 <= node.span.size <= MAX_WIDTH and node.expandable and node.bits is None:
            return node.span.size, node.span.start
    return None


def table_record_of(path: Sequence[Node], source: str) -> tuple[int, str] | None:
    """Return `(size, name)` of the table record on a path, such as `(40, "slot")`; None outside tables."""
    for table, row in zip(path[-2::-1], path[:0:-1], strict=False):
        size = record_size(table)
        if size is not None and row.span.source == source and 2 <= size <= MAX_WIDTH:
            return size, row.name.strip("[]").rstrip("0123456789.,").rstrip() or "record"
    return None


class RowChoice(QObject):
    def __init__(self, state: HexState) -> None:
        super().__init__(state)
        self._state = state
        self.width = RowWidth(RowMode.AUTO)

    def choose(self, width: RowWidth, origin: int = 0) -> None:
        self.width = width
        if width.mode is RowMode.FIXED:
            self._state.set_row_width(width.width, origin)
        elif width.mode is RowMode.AUTO:
            self._state.set_row_rule(AUTOMATIC)
        else:
            self.fit_record()

    def fill(self, menu: QMenu) -> None:
        rows = menu.addMenu(self.tr("Bytes per &row: {0}").format(self.width.text))
        record = table_record_of(self._state.path, self._state.name)
        for width in dict.fromkeys((*CHOICES, RowWidth(RowMode.RECORD), self.width)):
            text = width.text
            if width.mode is RowMode.RECORD and record is not None:
                text = self.tr("One {0} ({1} bytes)").format(cut_middle(record[1], _LONGEST), record[0])
            made(rows.addAction(text, partial(self.choose, width)), checkable=True, checked=width == self.width)
        rows.addAction(self.tr("&Other…"), self.ask)

    def ask(self) -> QInputDialog:
        dialog = made(QInputDialog(self._state.area), "rowWidth", windowTitle=self.tr("Bytes per row"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setInputMode(QInputDialog.InputMode.IntInput)
        dialog.setIntRange(1, MAX_WIDTH)
        dialog.setIntValue(self._state.layout.width)
        dialog.setLabelText(self.tr("Bytes per row:"))
        dialog.intValueSelected.connect(lambda width: self.choose(RowWidth(RowMode.FIXED, width)))
        dialog.open()
        return dialog

    def fit_record(self) -> None:
        size, start = record_of(self._state.path, self._state.name) or (DEFAULT, 0)
        rows = self._state.layout
        if rows.width != size or rows.column_of(start) != 0:
            self._state.set_row_width(size, start)
