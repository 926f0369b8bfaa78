"""Editing of the open file: menu, status label, notices, and the bytes view."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QPoint, QSize
from PySide6.QtGui import QAction, QHelpEvent, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu

from shardcore import Span
from shardcore.writing.journal import Journal
from shardscope.session.byte_marks import Proposed
from shardscope.session.session import Session
from shardscope.shell.notices import Notices, NoticeTone
from shardscope.shell.status_line import StatusLine
from shardscope.tasks.edit.actions import EditActions, EditChip
from shardscope.tasks.edit.dialog import LEAST, EditDialog
from shardscope.tasks.edit.edit_switch import EditSwitch
from shardscope.tasks.edit.editor import Editor, EditOutcome
from shardscope.tasks.edit.rekey import RekeyTask
from shardscope.tasks.edit.typed_bytes import TypedBytes
from shardscope.views.hex.panel import HexPanel
from shardscope.views.objects.panel import ObjectPanel

GAP = 12
_TYPED = "typed bytes"
"""Subject of the notice about typed bytes that are not written yet."""


class EditShell(QObject):
    def __init__(
        self,
        session: Session,
        bytes_: HexPanel,
        objects: ObjectPanel,
        notices: Notices,
        line: StatusLine,
        window: QMainWindow,
    ) -> None:
        super().__init__(window)
        self._bytes = bytes_
        self._notices = notices
        self._window = window
        self._top = 0
        self._typed_shown = False
        self._from: tuple[str, int] | None = None
        self.switch = EditSwitch(session, self)
        self.editor = Editor(session, self.switch, objects.table.selected_ranges, window)
        self.typed = TypedBytes(session, self.switch, self)
        self.editor.reloading.connect(self.typed.discard)
        self.actions = EditActions(self.switch, self.editor, self.typed, window)
        self.typed.changed.connect(self._typed_changed)
        self.typed.place_wanted.connect(bytes_.state.move_caret)
        self.rekeying = RekeyTask(session, self.switch, window)
        self.rekeying.news.connect(self._show_news)
        self.actions.rekey.triggered.connect(lambda _: self.rekeying.ask())
        self.chip = EditChip(self.switch, self.actions, line)
        line.add_sign(self.chip)
        self.switch.changed.connect(lambda: self.chip.setVisible(session.shard is not None))
        self.chip.setVisible(False)
        self.switch.interrupted.connect(self._show_interrupted)
        self.editor.opened.connect(self._place)
        self.editor.proposed.connect(self._show)
        self.editor.place_wanted.connect(self._reveal)
        self.editor.reloading.connect(self._keep_place)
        self.editor.reloaded.connect(lambda: bytes_.state.scroll_to(self._top))
        self.editor.news.connect(self._show_news)
        table = objects.table
        table.selectionModel().selectionChanged.connect(lambda *_: self.actions.set_selected(table.selected_count()))
        session.closed.connect(lambda: self.actions.set_selected(0))
        line_before = QAction(table)
        line_before.setSeparator(True)
        table.insertActions(objects.hide_unused, [line_before, *self.actions.for_objects])
        self.switch.changed.connect(
            lambda: line_before.setVisible(any(one.isVisible() for one in self.actions.for_objects))
        )

    def fill(self, menu: QMenu) -> None:
        menu.setToolTipsVisible(True)
        menu.installEventFilter(self)
        menu.addSeparator()
        menu.addAction(self.actions.allow)
        menu.addActions(self.actions.all)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(watched, QMenu) and isinstance(event, QHelpEvent):
            return watched.actionAt(event.pos()) not in (self.actions.allow, *self.actions.all)
        return super().eventFilter(watched, event)

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
            keys = (self.actions.write.shortcut(), self.actions.undo_typed.shortcut())
            text = words.format(*(one.toString(QKeySequence.SequenceFormat.NativeText) for one in keys))
            self._notices.add_notice(
                text, NoticeTone.NOTE, action=self.tr("Write…"), do=self.actions.write.trigger, about=_TYPED
            )
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
