"""Editing in the window: changes of the file and the sandbox, notices on them, and questions before they are lost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QPoint, QSize, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QFileDialog, QInputDialog, QLineEdit, QMainWindow, QMessageBox, QVBoxLayout

from shardcore import ShardError, Span, UsageError
from shardcore.model.text import plural, short, shown
from shardcore.operations.recover import Salvage
from shardcore.operations.search import parse_number
from shardcore.shards.salvage import Condition
from shardcore.writing.journal import Journal
from shardscope.learning.sandbox.banner import SandboxBanner, SandboxFrame
from shardscope.learning.sandbox.panel import SandboxPanel
from shardscope.learning.sandbox.sandbox import Sandbox
from shardscope.session.byte_marks import Proposed
from shardscope.session.display_text import cut_end, error_text, failure, offset_words
from shardscope.session.open_request import OpenRequest
from shardscope.session.selection import TraceWalk
from shardscope.session.session import Session
from shardscope.shell.bars import StatusLine
from shardscope.shell.docks import PanelDocks
from shardscope.shell.notices import Button, Notices, NoticeTone, ask
from shardscope.tasks.edit.actions import EditActions, EditChip
from shardscope.tasks.edit.edit_switch import EditSwitch
from shardscope.tasks.edit.editor import LEAST, EditDialog, Editor, EditOutcome
from shardscope.tasks.edit.rekey import RekeyTask
from shardscope.tasks.edit.typed_bytes import TypedBytes, proposed_bytes
from shardscope.tasks.recover import RecoverTask
from shardscope.views.hex.layout import HexPart
from shardscope.views.hex.panel import HexPanel
from shardscope.views.hex.state import ByteEdits
from shardscope.views.inspector.panel import Numbers
from shardscope.views.objects.panel import ObjectPanel
from shardscope.widgets.file_dialogs import ask_target
from shardscope.widgets.layouts import made
from shardscope.widgets.plain_text import tip


class SandboxShell(QObject):
    def __init__(
        self,
        session: Session,
        panel: SandboxPanel,
        bytes_: HexPanel,
        notices: Notices,
        docks: PanelDocks,
        window: QMainWindow,
    ) -> None:
        super().__init__(window)
        self._session = session
        self.panel = panel
        self._bytes = bytes_
        self._notices = notices
        self._docks, self.show = docks, partial(docks.show, "sandbox")
        self._window = window
        self._top, self._saw_caret = 0, False
        self._walk = TraceWalk()
        self._again = ""
        self._question: QMessageBox | None = None
        self.sandbox, self.actions = panel.sandbox, panel.actions_
        self.banner = SandboxBanner(self.sandbox, self.actions, bytes_)
        column = bytes_.layout()
        assert isinstance(column, QVBoxLayout)
        column.insertWidget(1, self.banner)
        self.frame = SandboxFrame(self.sandbox, bytes_.view)
        session.documents.may_leave = self._may_leave
        session.documents.add_unsaved(lambda: self.sandbox.unsaved)
        session.documents.keep_view("sandbox", self.sandbox)
        self.sandbox.changed.connect(self._changed)
        self.sandbox.reopening.connect(self._keep_place)
        self.sandbox.reopened.connect(self._return_to_place)
        session.opened.connect(lambda _: self._opened())
        session.documents.failed.connect(lambda _: setattr(self, "_again", ""))
        self.sandbox.saved.connect(self._saved)
        actions = self.actions
        actions.leave_wanted.connect(lambda: self.sandbox.switch(False))
        actions.switch.triggered.connect(lambda _: None if self.sandbox.on or self.sandbox.why_not else self.show())
        for slot in (self.show, panel.to_bits):
            actions.to_bits.triggered.connect(lambda _=False, slot=slot: slot())
        self.salvaging = RecoverTask(session, window)
        self.salvaging.written.connect(self._salvaged)
        actions.salvage.triggered.connect(lambda _: self.salvaging.ask())
        actions.save.triggered.connect(lambda _: self.ask_save())

    @property
    def stays(self) -> bool:
        request = self._session.request
        return (request.sandbox and not request.inside) or self.sandbox.leaving

    # --- the bytes ---

    def _changed(self) -> None:
        marks = self.sandbox.marks
        if marks is not self._bytes.state.sandboxed:
            self._bytes.state.set_sandboxed(marks)
        if self.sandbox.leaving and not self.sandbox.on:
            self._docks.uncover(self._docks.by_name["sandbox"])

    def _keep_place(self) -> None:
        state = self._bytes.state
        self._top, self._saw_caret = max(state.visible_bytes[0], 0), state.caret_seen
        walk, self._again = self._session.lookup.walk, self._session.request.uri
        if walk.steps or walk.key != self._walk.key:
            self._walk = walk

    def _return_to_place(self) -> None:
        state = self._bytes.state
        state.scroll_to(self._top)
        if self._saw_caret:
            # The banner reduced the height of the view.
            state.show_caret()

    def _opened(self) -> None:
        again, self._again = self._again, ""
        if again and again == self._session.request.uri:
            self._session.lookup.repeat(self._walk)

    # --- leaving ---

    def _may_leave(self, request: OpenRequest | None, go: Callable[[], object]) -> bool:
        now = self._session.request
        kept = request is not None and request.sandbox and (request.uri, request.inside) == (now.uri, now.inside)
        if kept or not self.sandbox.unsaved:
            return True
        self._ask_discard(go)
        return False

    def _ask_discard(self, go: Callable[[], object]) -> None:
        if self._question is not None:
            self._question.reject()
        text = self.tr("{0} in the sandbox will be lost.").format(plural(self.sandbox.count, "change"))
        detail = self.tr("The file on disk is unchanged. Save a copy to keep the changes.")

        def dropped() -> None:
            self.sandbox.drop()
            go()

        answers = [(self.tr("&Discard"), dropped), (self.tr("Save as a &copy…"), self.ask_save)]
        title = self.tr("Discard the sandbox?")
        box = self._question = ask(self._window, "discardSandbox", title, text, detail, answers, default=1)
        box.finished.connect(lambda _: setattr(self, "_question", None))
        box.rejected.connect(self.sandbox.stay)

    # --- copies ---

    def _salvaged(self, done: Salvage) -> None:
        there = done.count(Condition.WHOLE) + done.count(Condition.UNCHECKED)
        what = self.tr("{0} from the sandbox") if self.sandbox.on else "{0}"
        text = self.tr("{0} written to {1}").format(what.format(plural(there, "object")), done.folder)
        self._session.say(text)

    def ask_save(self) -> QFileDialog:
        self.sandbox.stay()
        name = Path(self._session.request.name)
        title, proposed = self.tr("Save the sandbox as a copy"), f"{name.stem}.copy{name.suffix}"
        save = lambda path: self.save_to(Path(path), agreed=True)  # noqa: E731
        dialog = ask_target(self._window, title, save, start=str(self._session.request.folder), name=proposed)
        dialog.setObjectName("saveSandbox")
        return dialog

    def save_to(self, path: Path, *, agreed: bool) -> None:
        def failed(error: BaseException) -> None:
            self._notices.add_notice(failure(self.tr("Cannot save the copy"), error), NoticeTone.ERROR)

        self.sandbox.save(path, agreed=agreed, failed=failed)

    def _saved(self, path: Path) -> None:
        text = self.tr("Sandbox saved as {0}. The original file is unchanged.").format(path)
        opens = partial(self._session.open_tab, OpenRequest(str(path)))
        self._notices.add_notice(text, NoticeTone.SUCCESS, action=self.tr("Open it"), do=opens)


GAP = 12
_TYPED = "typed bytes"
"""Subject of the notice about typed bytes that are not written yet."""


MOST_TYPED = 1 << 20
"""Maximum number of bytes that can be pasted or entered at once."""


def new_bytes(typed: str, *, text: bool) -> bytes:
    """Parse typed bytes: hex (spaces, commas and 0x allowed), or text as UTF-8; `UsageError` if empty or too long."""
    if len(typed) > 4 * MOST_TYPED:
        raise UsageError(f"at most {MOST_TYPED:,} bytes can be written at once")
    if text:
        data = typed.encode("utf-8", "surrogatepass")
    else:
        digits = "".join(part.removeprefix("0x") for part in typed.replace(",", " ").split())
        try:
            data = bytes.fromhex(digits)
        except ValueError:
            raise UsageError(f"{short(typed)} is not hex: type two digits for each byte, or choose text") from None
    if not data:
        raise UsageError("type the new bytes first")
    if len(data) > MOST_TYPED:
        raise UsageError(f"at most {MOST_TYPED:,} bytes can be written at once")
    return data


MOST_FILLED = 16 << 20
"""Maximum number of selected bytes that *Fill* overwrites at once."""


class UndoActions(QObject):
    """*Undo* and *Redo*: of the sandbox if it is used, else of typed bytes that are not written, else of edits."""

    def __init__(
        self, sandbox: Sandbox, typed: TypedBytes, switch: EditSwitch, editor: Editor, window: QMainWindow
    ) -> None:
        super().__init__(window)
        self._sandbox, self._typed, self._switch, self._editor = sandbox, typed, switch, editor
        self.undo, self.redo = QAction(window), QAction(window)
        self.undo.setShortcuts(QKeySequence.StandardKey.Undo)
        self.redo.setShortcuts(QKeySequence.StandardKey.Redo)
        self.undo.triggered.connect(lambda _: self._steps.undo() if self._steps.changes else editor.undo())
        self.redo.triggered.connect(lambda _: self._steps.redo() if self._steps.undone else editor.redo())
        for changed in (sandbox.changed, typed.changed, switch.changed, editor.news):
            changed.connect(lambda *_: self.update())
        self.update()

    @property
    def _steps(self) -> Sandbox | TypedBytes:
        return self._sandbox if self._sandbox.on else self._typed

    def update(self) -> None:
        changes, undone, editor = self._steps.changes, self._steps.undone, self._editor
        why_not = "" if changes else self._why_not()
        what = changes[-1].what if changes else editor.last_edit
        again = undone[-1].what if undone else "" if changes or self._switch.why_not else editor.last_undone
        for action, word, one in ((self.undo, self.tr("&Undo"), what), (self.redo, self.tr("&Redo"), again)):
            action.setText(f"{word}: {shown(cut_end(one, 60)).replace('&', '&&')}" if one else word)
            action.setEnabled(bool(one))
        self.undo.setDisabled(not what or bool(why_not))
        self.undo.setToolTip(tip(why_not))

    def _why_not(self) -> str:
        permission = self._switch.edit_permission
        if permission.interrupted:
            # An interrupted edit can be undone even in a damaged file.
            finish = self.tr("The interrupted edit has no undo file: it can only be finished")
            return "" if permission.interrupted.kept else finish
        return permission.why_not or (
            self.tr("There is nothing to undo") if not self._editor.last_edit else self._switch.why_not
        )


class EditShell(QObject):
    def __init__(
        self,
        session: Session,
        bytes_: HexPanel,
        objects: ObjectPanel,
        numbers: Numbers,
        in_sandbox: SandboxShell,
        notices: Notices,
        line: StatusLine,
        window: QMainWindow,
    ) -> None:
        super().__init__(window)
        self._session, self._bytes, self._sandbox = session, bytes_, in_sandbox.sandbox
        self._numbers = numbers
        self._notices, self._window = notices, window
        self._top = 0
        self._typed_shown = False
        self._from: tuple[str, int] | None = None
        self._refused: set[str] = set()
        self.switch = EditSwitch(session, self)
        self.editor = Editor(session, self.switch, objects.table.selected_ranges, window)
        self.typed = TypedBytes(session, self.switch, self)
        self.actions = EditActions(self.switch, self.editor, self.typed, window)
        self.undoing = UndoActions(self._sandbox, self.typed, self.switch, self.editor, window)
        self.rekeying = RekeyTask(session, self.switch, window)
        self.chip = EditChip(self.switch, self.actions, line)
        line.add_sign(self.chip)
        self.chip.setVisible(False)
        self.chip.sandbox_wanted.connect(in_sandbox.show)
        self._leave = session.documents.may_leave
        session.documents.may_leave = self._may_leave
        session.documents.add_unsaved(lambda: bool(self.typed.changes))
        session.documents.keep_view("permission", self.switch)
        session.documents.keep_view("typed", self.typed)
        self._connect()
        self._add_to_table(objects)
        self._update()

    def _connect(self) -> None:
        session, state, actions = self._session, self._bytes.state, self._bytes.actions_
        for signal, slot in (
            (self.editor.opened, self._place),
            (self.editor.proposed, self._show),
            (self.editor.place_wanted, self._reveal),
            (self.editor.reloading, self.typed.discard),
            (self.editor.reloading, self._keep_place),
            (self.editor.reloaded, lambda: state.scroll_to(self._top)),
            (self.editor.news, self._show_news),
            (self.rekeying.news, self._show_news),
            (self.actions.rekey.triggered, lambda _: self.rekeying.ask()),
            (self.switch.interrupted, self._show_interrupted),
            (self.switch.changed, lambda: self.chip.setVisible(session.shard is not None)),
            (self.typed.changed, self._typed_changed),
            (self.typed.place_wanted, state.move_caret),
            (actions.paste.triggered, lambda _: self.paste()),
            (actions.fill.triggered, lambda _: self.ask_fill()),
            (actions.replace.triggered, lambda _: self.ask_replace()),
            (state.read_only, lambda: self._refuse(self._why_not())),
            (self._numbers.cellDoubleClicked, lambda *_: None if self.edits else self._refuse(self._why_not())),
            (self._numbers.typed, self._put_number),
            (session.closed, lambda: self.actions.set_selected(0)),
        ):
            signal.connect(slot)
        sandbox = self._sandbox
        sandbox.changed.connect(lambda: self.chip.show_sandbox(sandbox.count if sandbox.on else None))
        for changed in (sandbox.changed, self.typed.changed, self.switch.changed, session.closed):
            changed.connect(self._update)
        for done in (self.editor.opened, self.editor.proposed, session.opened):
            done.connect(lambda _: self._update())

    def _add_to_table(self, objects: ObjectPanel) -> None:
        table, edits = objects.table, self.actions.for_objects
        table.selectionModel().selectionChanged.connect(lambda *_: self.actions.set_selected(table.selected_count()))
        line_before = QAction(table)
        line_before.setSeparator(True)
        table.insertActions(objects.hide_unused, [line_before, *edits])
        self.switch.changed.connect(lambda: line_before.setVisible(any(one.isVisible() for one in edits)))
        delete = QShortcut(QKeySequence(Qt.Key.Key_Delete), table)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)
        delete.activated.connect(self._delete)

    # --- the bytes ---

    def _place(self, sheet: EditDialog) -> None:
        self._from = self._bytes.state.name, self._bytes.state.visible_bytes[0]
        bytes_, screen = self._bytes, self._window.screen().availableGeometry()
        window = self._window.frameGeometry()
        corner = bytes_.mapToGlobal(QPoint(0, 0))
        before, after = corner.x() - screen.left(), screen.right() - corner.x() - bytes_.width()
        most = (self._window.size() - QSize(2 * GAP, 2 * GAP)).boundedTo(screen.size())
        width, height = sheet.size().boundedTo(most).toTuple()
        if max(before, after) >= LEAST + GAP:
            width = min(width, max(before, after) - GAP)
        left = corner.x() + bytes_.width() + GAP // 2 if after > before else corner.x() - GAP // 2 - width
        left = max(min(left, screen.right() - width), screen.left())
        top = min(window.bottom(), screen.bottom()) - GAP - height
        sheet.setGeometry(left, max(top, screen.top()), width, height)

    def _show(self, proposed: Proposed | None) -> None:
        self._bytes.state.set_proposed(proposed or (self.typed.proposed if self.editor.sheet is None else None))
        if proposed is None and self._from is not None and self.editor.sheet is None:
            # The edit changed a file beside the shard; return to the source shown before.
            (name, top), self._from = self._from, None
            if self._bytes.state.name != name:
                self._bytes.show_source(name)
                self._bytes.state.scroll_to(top)

    def _reveal(self, span: Span) -> None:
        state = self._bytes.state
        if span.source == state.name:
            state.reveal(span.start)
        else:
            self._bytes.show_source(span.source, Span(span.source, span.start, span.start + 1))

    def _keep_place(self) -> None:
        self._top = max(self._bytes.state.visible_bytes[0], 0)

    # --- what became of it ---

    def _typed_changed(self) -> None:
        typed, shown = self.typed, self._typed_shown
        self._typed_shown = bool(typed.changes)
        if typed.changes and not shown:
            words = self.tr("Typed bytes are not written yet. {0} writes them, {1} discards them.")
            keys = (self.actions.write.shortcut(), self.undoing.undo.shortcut())
            text = words.format(*(one.toString(QKeySequence.SequenceFormat.NativeText) for one in keys))
            write = Button(self.tr("Write…"), self.actions.write.trigger)
            discard = Button(self.tr("Discard"), self.actions.discard.trigger)
            self._notices.add_notice(text, NoticeTone.NOTE, buttons=[write, discard], about=_TYPED)
        elif shown and not typed.changes:
            self._notices.clear(_TYPED)

    def _show_news(self, news: EditOutcome) -> None:
        self._notices.add_notice(
            news.text, NoticeTone.ERROR if news.bad else NoticeTone.SUCCESS, action=news.action, do=news.do
        )

    def _show_interrupted(self, uri: str, journal: Journal) -> None:
        name = f"{Path(uri).name} ({journal.what})" if journal.what else Path(uri).name
        text = self.tr("An edit of {0} was interrupted: the file may be partly changed.").format(name)
        action = self.tr("Undo") if journal.kept else self.tr("Finish")
        put_back = partial(self.editor.put_back, uri, journal)
        self._notices.add_notice(text, NoticeTone.WARNING, action=action, do=put_back)

    # --- typed bytes ---

    @property
    def edits(self) -> ByteEdits | None:
        if self._sandbox.on:
            return self._sandbox
        return self.typed if self.typed.possible and self.editor.sheet is None else None

    def _update(self) -> None:
        state, edits = self._bytes.state, self.edits
        if self._window.isWindowModified() != self._session.documents.unsaved:
            self._window.setWindowModified(self._session.documents.unsaved)
            self._session.documents.changed.emit()
        state.set_edits(edits)
        self._numbers.set_editable(edits is not None)
        while edits is not None and self._refused:
            self._notices.clear(self._refused.pop())
        actions = self._bytes.actions_
        for action in (actions.paste, actions.fill, actions.replace):
            action.setEnabled(edits is not None)
            action.setToolTip(tip("" if edits is not None else self._why_not()))
        if self.editor.sheet is None:
            shown = proposed_bytes(self._sandbox.pending) if self._sandbox.on else self.typed.proposed
            if shown != state.proposed:
                state.set_proposed(shown)

    def _why_not(self) -> str:
        return self.tr("Read-only: choose Tools > Sandbox > Use sandbox, or Edit > Allow changes to this file")

    def _refuse(self, why: str) -> None:
        self._refused.add(why)
        self._session.say(why, failed=True)

    # --- numbers, paste, fill, replace ---

    def _put_number(self, kind: str, text: str) -> None:
        at = self._bytes.state.selection.span.start

        def make() -> tuple[list[tuple[int, bytes]], str]:
            return [(at, parse_number(f"{kind}:{text}").value)], self.tr("{0} typed at {1}").format(text, at)

        self._put(make)

    def _put(self, make: Callable[[], tuple[list[tuple[int, bytes]], str]]) -> None:
        edits = self.edits
        if edits is None or self._bytes.state.name:
            self._refuse(self._why_not())
            return
        size = self._bytes.state.layout.size
        try:
            pieces, what = make()
            if wrong := next(((start, data) for start, data in pieces if start + len(data) > size), None):
                raise UsageError(f"{plural(len(wrong[1]), 'byte')} do not fit: the file ends after {size - wrong[0]:,}")
        except ShardError as error:
            self._session.say(error_text(error), failed=True)
            return
        edits.put(pieces, what)

    def paste(self) -> None:
        """Overwrite bytes with the clipboard: text if the text column has the caret, else hex."""
        text = QGuiApplication.clipboard().text()
        is_text, at = self._bytes.state.part is HexPart.TEXT, self._bytes.state.selection.span.start

        def make() -> tuple[list[tuple[int, bytes]], str]:
            data = new_bytes(text, text=is_text)
            return [(at, data)], self.tr("{0} pasted at {1}").format(plural(len(data), "byte"), at)

        self._put(make)

    def ask_fill(self) -> QInputDialog:
        span = self._bytes.state.selection.span
        words = self.tr("Fill {0} from {1} with these bytes (hex), repeated:")
        text = words.format(plural(span.size, "byte"), offset_words(span.start))
        return self._ask("fillBytes", self.tr("Fill"), text, "00", self.fill)

    def fill(self, pattern: str) -> None:
        span = self._bytes.state.selection.span

        def make() -> tuple[list[tuple[int, bytes]], str]:
            if span.size > MOST_FILLED:
                raise UsageError(f"at most {MOST_FILLED:,} bytes can be filled at once")
            data = new_bytes(pattern, text=False)
            whole = (data * -(-span.size // len(data)))[: span.size]
            return [(span.start, whole)], self.tr("{0} filled at {1}").format(plural(span.size, "byte"), span.start)

        self._put(make)

    def ask_replace(self) -> QInputDialog | None:
        hits = self._bytes.search.hits
        if not len(hits) or hits.source:
            self._session.message.emit(self.tr("Search first (Ctrl+F), then replace all hits"))
            return None
        if hits.more or hits.count > len(hits):
            text = self.tr("{0} hits, but only {1} are listed and can be replaced: narrow the search")
            self._session.message.emit(text.format(hits.counted, f"{len(hits):,}"))
            return None
        words = self.tr('Replace {0} of {1} with the same number of bytes (hex, or "text"):')
        text = words.format(plural(len(hits), "hit"), hits.what)
        return self._ask("replaceHits", self.tr("Replace all hits"), text, "", self.replace)

    def replace(self, new: str) -> None:
        """Overwrite the listed hits by bytes (hex or `"text"`) of the same length; skip hits that overlap the last."""
        hits = self._bytes.search.hits
        spans = [span for number in range(len(hits)) if (span := hits.span(number)) is not None]

        def make() -> tuple[list[tuple[int, bytes]], str]:
            quoted = len(new) > 1 and new[0] == new[-1] == '"'
            data = new_bytes(new[1:-1] if quoted else new, text=quoted)
            if other := next((one for one in spans if one.size != len(data)), None):
                raise UsageError(f"{plural(len(data), 'byte')} cannot replace {other.size}: lengths must match")
            apart, end = [], 0
            for span in spans:
                if span.start >= end:
                    apart.append((span.start, data))
                    end = span.stop
            return apart, self.tr("{0} replaced").format(plural(len(apart), "hit"))

        self._put(make)

    def _ask(self, name: str, title: str, text: str, value: str, take: Callable[[str], None]) -> QInputDialog:
        dialog = made(QInputDialog(self._window), name, windowTitle=title)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setInputMode(QInputDialog.InputMode.TextInput)
        dialog.setLabelText(text)
        dialog.setTextValue(value)
        for field in dialog.findChildren(QLineEdit):
            field.setMaxLength(4 * MOST_TYPED)
        dialog.textValueSelected.connect(take)
        dialog.open()
        return dialog

    # --- objects ---

    def _delete(self) -> None:
        there = [action for action in self.actions.for_objects if action.isVisible()]
        if not there:
            self._session.say(self.tr("Objects of this format cannot be deleted in place"), failed=True)
        elif there[0].isEnabled():
            there[0].trigger()
        else:
            self._refuse(self.switch.why_not or self.tr("Select objects in the table first"))

    # --- leaving ---

    def _may_leave(self, request: OpenRequest | None, go: Callable[[], object]) -> bool:
        """Return True if no typed bytes are lost; else ask, and call `go` after *Discard*."""
        if not self.typed.changes:
            return self._leave(request, go)

        def dropped() -> None:
            self.typed.discard()
            go()

        def write() -> None:
            self.editor.ask_bytes(self.typed.changes)

        answers = [(self.tr("&Discard"), dropped), (self.tr("&Write…"), write)]
        title, text = self.tr("Discard typed bytes?"), self.tr("The typed bytes will be lost.")
        ask(self._window, "discardTyped", title, text, self.tr("The file has not been changed."), answers)
        return False
