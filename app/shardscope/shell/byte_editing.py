"""Typing, pasting, filling and replacing bytes: in a sandbox, or in a file with editing allowed."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QInputDialog, QLineEdit, QMainWindow, QMessageBox

from shardcore import ShardError, UsageError
from shardcore.model.text import plural, short
from shardscope.learning.sandbox.sandbox import Sandbox
from shardscope.session.display_text import offset_words
from shardscope.session.error_messages import error_text
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.shell.edit_shell import EditShell
from shardscope.tasks.edit.typed_bytes import TypedBytes, proposed_bytes
from shardscope.views.hex.layout import HexPart
from shardscope.views.hex.panel import HexPanel
from shardscope.views.hex.state import ByteEdits
from shardscope.views.objects.panel import ObjectPanel
from shardscope.widgets.plain_text import tip

MOST_TYPED = 1 << 20
"""Maximum number of bytes written at once."""


def new_bytes(typed: str, *, text: bool) -> bytes:
    """Parse typed bytes: hex (spaces, commas and 0x allowed), or text as UTF-8.

    Raises:
        UsageError: The text is empty, not hex, or longer than `MOST_TYPED` bytes.
    """
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
"""Maximum number of bytes filled at once."""


class ByteEditing(QObject):
    """Connects the bytes view to the target of edits: the sandbox if it is on, else the typed bytes of the file."""

    allowed = Signal(str)
    """Editing became possible; carries the text of an earlier refusal, so that its notice can be removed."""

    def __init__(
        self,
        session: Session,
        bytes_: HexPanel,
        objects: ObjectPanel,
        sandbox: Sandbox,
        changing: EditShell,
        window: QMainWindow,
    ) -> None:
        super().__init__(window)
        self._session, self._bytes, self._window = session, bytes_, window
        self._sandbox, self._changing = sandbox, changing
        self._refused: set[str] = set()
        self.typed: TypedBytes = changing.typed
        self._leave = session.may_leave
        session.may_leave = self._may_leave
        session.add_unsaved(lambda: bool(self.typed.changes))
        session.keep_view("permission", changing.switch)
        session.keep_view("typed", self.typed)
        actions = bytes_.actions_
        actions.paste.triggered.connect(lambda _: self.paste())
        actions.fill.triggered.connect(lambda _: self.ask_fill())
        actions.replace.triggered.connect(lambda _: self.ask_replace())
        bytes_.state.read_only.connect(self._show_read_only)
        delete = QShortcut(QKeySequence(Qt.Key.Key_Delete), objects.table)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)
        delete.activated.connect(self._delete)
        sandbox.changed.connect(self._update)
        self.typed.changed.connect(self._update)
        changing.editor.opened.connect(lambda _: self._update())
        changing.editor.proposed.connect(lambda _: self._update())
        changing.switch.changed.connect(self._update)
        session.opened.connect(lambda _: self._update())
        session.closed.connect(self._update)
        self._update()

    @property
    def edits(self) -> ByteEdits | None:
        """Target of edits; None if the file is read-only."""
        if self._sandbox.on:
            return self._sandbox
        return self.typed if self.typed.possible and self._changing.editor.sheet is None else None

    def _update(self) -> None:
        state, edits = self._bytes.state, self.edits
        if self._window.isWindowModified() != self._session.unsaved:
            self._window.setWindowModified(self._session.unsaved)
            self._session.documents_changed.emit()
        state.set_edits(edits)
        while edits is not None and self._refused:
            self.allowed.emit(self._refused.pop())
        actions = self._bytes.actions_
        for action in (actions.paste, actions.fill, actions.replace):
            action.setEnabled(edits is not None)
            action.setToolTip(tip("" if edits is not None else self._why_not()))
        if self._changing.editor.sheet is None:
            shown = proposed_bytes(self._sandbox.pending) if self._sandbox.on else self.typed.proposed
            if shown != state.proposed:
                state.set_proposed(shown)

    def _why_not(self) -> str:
        return self.tr("Read-only: choose Tools > Sandbox > Use sandbox, or Edit > Allow changes to this file")

    def _show_read_only(self) -> None:
        self._refuse(self._why_not())

    def _refuse(self, why: str) -> None:
        self._refused.add(why)
        self._session.say(why, failed=True)

    # --- paste, fill, replace ---

    def _put(self, make: Callable[[], tuple[list[tuple[int, bytes]], str]]) -> None:
        edits = self.edits
        if edits is None or self._bytes.state.name:
            self._show_read_only()
            return
        try:
            pieces, what = make()
            self._check_room(pieces)
        except ShardError as error:
            self._session.say(error_text(error), failed=True)
            return
        edits.put(pieces, what)

    def _check_room(self, pieces: list[tuple[int, bytes]]) -> None:
        size = self._bytes.state.layout.size
        for start, data in pieces:
            if start + len(data) > size:
                raise UsageError(f"{plural(len(data), 'byte')} do not fit: only {size - start:,} left")

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
        if hits.count > len(hits):
            text = self.tr("{0} hits, {1} listed: narrow the search")
            self._session.message.emit(text.format(f"{hits.count:,}", f"{len(hits):,}"))
            return None
        words = self.tr('Replace {0} of {1} with the same number of bytes (hex, or "text"):')
        text = words.format(plural(len(hits), "hit"), hits.what)
        return self._ask("replaceHits", self.tr("Replace all hits"), text, "", self.replace)

    def replace(self, new: str) -> None:
        """Overwrite the listed hits with bytes of the same length (hex or `"text"`); overlapping hits are left out."""
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
        dialog = QInputDialog(self._window)
        dialog.setObjectName(name)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(title)
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
        there = [action for action in self._changing.actions.for_objects if action.isVisible()]
        if not there:
            self._session.say(self.tr("Objects of this format cannot be deleted in place"), failed=True)
        elif there[0].isEnabled():
            there[0].trigger()
        else:
            self._refuse(self._changing.switch.why_not or self.tr("Select objects in the table first"))

    # --- leaving ---

    def _may_leave(self, request: OpenRequest | None, go: Callable[[], object]) -> bool:
        """Return True if no typed bytes are lost; else ask, and call `go` after *Discard*."""
        if not self.typed.changes:
            return self._leave(request, go)
        box = QMessageBox(self._window)
        box.setObjectName("discardTyped")
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle(self.tr("Discard typed bytes?"))
        box.setText(self.tr("The typed bytes will be lost."))
        box.setInformativeText(self.tr("The file has not been changed."))
        drop = box.addButton(self.tr("&Discard"), QMessageBox.ButtonRole.DestructiveRole)
        write = box.addButton(self.tr("&Write…"), QMessageBox.ButtonRole.ActionRole)
        cancel = box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(cancel)
        box.setEscapeButton(cancel)

        def dropped() -> None:
            self.typed.discard()
            go()

        drop.clicked.connect(lambda _=False: dropped())
        write.clicked.connect(lambda _=False: self._changing.editor.ask_bytes(self.typed.changes))
        box.open()
        return False
