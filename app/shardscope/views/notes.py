"""Panel of notes, and the dialog of one note."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import Span
from shardcore.model.text import plural
from shardcore.operations.notes import MOST_LETTERS, Note
from shardscope.session.display_text import cut_middle, offset_words, span_words
from shardscope.session.session import Session
from shardscope.widgets.clipboard import copy_lines, copy_text
from shardscope.widgets.deferred_signals import WhileVisible
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.file_dialogs import ask_target
from shardscope.widgets.layouts import lay, made, new_action
from shardscope.widgets.note_flag import BOOKMARK, FLAG
from shardscope.widgets.plain_text import plain_label
from shardscope.widgets.table import Column, Entry, RowTable, TableModel, TableOrText, context_menu
from shardscope.widgets.tick_box import TickBox


class NoteDialog(QDialog):
    """Dialog for a note; `written` carries the span and the text."""

    written = Signal(object, str)

    def __init__(self, span: Span, place: str, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "noteDialog", windowTitle=self.tr("Edit note") if text else self.tr("Add note"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._span = span
        where = Elided(greedy=True, parent=self)
        where.set_text("  ·  ".join(part for part in (span_words(span), place) if part))
        spoken, hint = self.tr("Text of the note"), self.tr("Text (empty: a bookmark)")
        self.field = made(QPlainTextEdit(text, self), "noteText", accessibleName=spoken, placeholderText=hint)
        self.field.setTabChangesFocus(True)
        # Selected text would be replaced by the first key.
        self.field.moveCursor(QTextCursor.MoveOperation.End)
        self.field.textChanged.connect(self._limit)
        self.limit = plain_label("")
        self.buttons = made(QDialogButtonBox(self), accepted=self.accept, rejected=self.reject)
        self.save = self.buttons.addButton(self.tr("&Save"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.save.setToolTip(self.tr("Ctrl+Return"))
        self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self.field.installEventFilter(self)
        parts = where, self.field, self.limit, self.buttons
        lay(QVBoxLayout(self), *parts, margins=(16, 12, 16, 12), spacing=8)
        self.accepted.connect(lambda: self.written.emit(self._span, self.field.toPlainText()))
        self._limit()
        self.resize(QSize(480, 260))
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _limit(self) -> None:
        characters = len(self.field.toPlainText())
        self.save.setEnabled(characters <= MOST_LETTERS)
        over = self.tr("{0} of at most {1} characters").format(f"{characters:,}", f"{MOST_LETTERS:,}")
        self.limit.setText(over if characters > MOST_LETTERS * 0.9 else self.tr("Ctrl+Return saves"))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and watched is self.field:
            command = event.modifiers() & Qt.KeyboardModifier.ControlModifier
            if command and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.accept()
                return True
        return super().eventFilter(watched, event)

    def accept(self) -> None:
        if self.save.isEnabled():
            super().accept()


class NoteModel(TableModel):
    things: tuple[Note, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.columns = (
            Column(
                "Offset",
                lambda note: offset_words(note.span.start),
                number=True,
                key=lambda note: (note.span.source, note.span.start),
            ),
            Column("Size", lambda note: f"{note.span.size:,}", number=True, key=lambda note: note.span.size),
            Column(
                "Field",
                lambda note: " › ".join(map(cut_middle, self._place(note))),
                140,
                tip=lambda note: " › ".join(self._place(note)),
                key=self._place,
            ),
            Column(
                "Note",
                self._label,
                260,
                tip=lambda note: "\n".join(part for part in (note.text, note.created) if part),
                spoken=lambda note: note.text or self.tr(BOOKMARK),
                key=lambda note: note.text.casefold(),
                stretched=True,
            ),
        )
        self._places: dict[Span, str] = {}

    def show_notes(self, notes: tuple[Note, ...], places: dict[Span, str]) -> None:
        self._places = places
        if notes == self._unsorted:
            # Names of fields may have been loaded since.
            self.sort(*self._order)
        else:
            self.show_things(notes)

    def _label(self, note: Note) -> str:
        first, more, _ = note.text.partition("\n")
        return f"{FLAG} {first}{' …' if more else ''}" if note.text else f"{FLAG} {self.tr(BOOKMARK)}"

    def _place(self, note: Note) -> list[str]:
        return [part for part in (note.span.source, *self._places.get(note.span, "").split(" › ")) if part]


class NotesPanel(QWidget):
    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._notes = session.notes
        self.setObjectName("notesPanel")
        self.model = NoteModel()
        self.table = RowTable(
            self.model,
            self,
            "notesTable",
            self.tr("Notes"),
            lambda row: session.select_span(self.model.things[row].span, self),
            lambda row: self.menu_of(self.model.things[row]),
        )
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.table.doubleClicked.connect(lambda _: self._edit())
        self.setFocusProxy(self.table)
        context = Qt.ShortcutContext.WidgetWithChildrenShortcut
        self.edit, self.delete, self.restore = (
            new_action(self, text, act, keys, shortcutContext=context)
            for text, act, keys in (
                (self.tr("&Edit…"), self._edit, "F2"),
                (self.tr("&Delete"), self._delete, "Del"),
                (self.tr("&Undo delete"), self._notes.restore, "Ctrl+Z"),
            )
        )
        self.add_button = made(QPushButton(self.tr("&Add…"), self), "notesAdd", clicked=self.ask)
        self.undo_button = made(QPushButton(self.tr("&Undo"), self), "notesUndo", clicked=self._notes.restore)
        self.export_button = made(QPushButton(self.tr("E&xport…"), self), "notesExport", clicked=self._ask_export)
        about = self.tr("Store the notes in FILE.notes.json, next to the file")
        self.beside = made(
            TickBox(self.tr("&Beside file"), self), "notesBeside", toolTip=about, clicked=self._notes.set_beside
        )
        self.state = made(Elided(greedy=True, parent=self), "notesState")
        self.state.setContentsMargins(8, 2, 8, 4)
        self._body = TableOrText(self.table, self)
        self.empty = self._body.label
        buttons = self.add_button, self.undo_button, self.export_button
        bar = lay(QHBoxLayout(), *buttons, 1, self.beside, margins=(8, 6, 8, 2), spacing=10)
        lay(QVBoxLayout(self), bar, self._body, self.state, spacing=2)
        session.notation_changed.connect(self.model.change)
        self._notes.changed.connect(self._show)
        WhileVisible(session.selection_changed, self, lambda _: self._enable_add())
        self._show()

    # --- what is shown ---

    def _show(self) -> None:
        notes, changes = self._notes, self._notes.can_change
        chosen = {note.span for note in self._chosen()}
        self.model.show_notes(notes.all, notes.places)
        for row, note in enumerate(self.model.things):
            if note.span in chosen and not self._chosen():
                self.table.setCurrentIndex(self.model.index(row, 0))
        count = plural(len(notes.all), "note") if notes.book is not None else ""
        self.state.set_text("  ·  ".join(part for part in (count, notes.warning) if part))
        nothing = notes.error or self.tr("Select bytes and press Ctrl+B to add a note.")
        self._body.show_table(bool(notes.all), nothing)
        self.beside.setChecked(notes.book is not None and notes.book.is_beside)
        self._enable_add()
        self.export_button.setEnabled(bool(notes.all))
        self.beside.setEnabled(changes and notes.book is not None and notes.book.beside is not None)
        for part in (self.undo_button, self.restore):
            part.setEnabled(changes and bool(notes.removed))
        for action in (self.edit, self.delete):
            action.setEnabled(changes)

    def _enable_add(self) -> None:
        self.add_button.setEnabled(self._notes.can_change and self._session.selection.span is not None)

    # --- actions ---

    def ask(self) -> NoteDialog | None:
        span = self._session.selection.span
        if span is None:
            return None
        if not self._notes.can_change:
            self._session.say(self._notes.warning or self.tr("The notes are still loading"), failed=True)
            return None
        return self._ask(span)

    def go(self, *, backward: bool = False) -> None:
        note = self._notes.next_from(self._session.selection.span, backward=backward)
        if note is None:
            self._session.message.emit(self.tr("No notes on this file."))
        else:
            self._session.select_span(note.span)

    def _ask(self, span: Span) -> NoteDialog:
        note = self._notes.at(span)
        path = self._session.selection.path if span == self._session.selection.span else ()
        names = self._notes.places.get(span, "").split(" › ") if span in self._notes.places else []
        place = " › ".join(cut_middle(name) for name in names or [node.name for node in path[1:]])
        dialog = NoteDialog(span, place, note.text if note is not None else "", self.window())
        dialog.written.connect(self._notes.add)
        dialog.open()
        return dialog

    def _chosen(self) -> tuple[Note, ...]:
        rows = sorted(index.row() for index in self.table.selectionModel().selectedRows())
        return tuple(self.model.things[row] for row in rows)

    def _edit(self) -> None:
        if (chosen := self._chosen()) and self._notes.can_change:
            self._ask(chosen[0].span)

    def _delete(self) -> None:
        if chosen := self._chosen():
            self._notes.remove(chosen)

    def _ask_export(self) -> None:
        request, start = self._session.request, str(self._session.request.folder)
        kinds = {self.tr("Markdown (*.md)"): "md"}
        name, title = f"{request.name}.notes.md", self.tr("Export notes")
        ask_target(self, title, lambda path: self._notes.export(Path(path)), name=name, start=start, kinds=kinds)

    def menu_of(self, note: Note) -> QMenu:
        entries: list[Entry] = [
            (self.tr("&Select bytes"), lambda: self._session.select_span(note.span, self)),
            self.edit,
            self.delete,
            self.restore,
            None,
            (self.tr("&Copy text"), lambda: copy_lines(note.text)),
            (self.tr("Copy &offset"), lambda: copy_text(f"{note.span.start:#x}")),
        ]
        return context_menu(self.table, entries, "notes", self._session.say)
