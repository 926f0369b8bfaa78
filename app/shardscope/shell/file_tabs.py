"""Tabs of the open files, and their restoration at the next start."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSize, Qt
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QMainWindow, QMenu, QSizePolicy, QTabBar, QToolBar, QToolButton, QWidget

from shardcore import Span
from shardcore.model.inside_path import inside_link
from shardcore.model.text import shown
from shardcore.shards.registry import CONTAINERS, FORMATS
from shardcore.sources.remote.address import is_address, shown_address
from shardcore.teaching.lessons.lesson_step import is_fresh
from shardscope.session.display_text import cut_middle
from shardscope.session.documents import MOST_OPEN, Document, titles
from shardscope.session.jobs import Job, JobPriority, JobState
from shardscope.session.open_request import OpenRequest, file_of
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.shell.bars import close_button, fix_bar
from shardscope.shell.notices import Notices, NoticeTone
from shardscope.startup.settings import Settings
from shardscope.widgets.clipboard import copy_text
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.file_dialogs import show_in_folder
from shardscope.widgets.layouts import made
from shardscope.widgets.plain_text import tip
from shardscope.widgets.table import context_menu

LONGEST_TITLE = 32
"""Maximum number of characters of a tab title; longer titles are shortened in the middle."""

_CLOSE = QSize(18, 18)

MANY = 8
"""Number of tabs from which a button is shown that lists all of them, since they do not fit."""

_LEAST = 100
"""Minimum width of the tab bar in pixels."""

_LEAST_TAB = 150
"""Minimum width of a tab in pixels."""


def window_title(session: Session) -> str:
    shard, request = session.shard, session.request
    if shard is None:
        return "Shardscope[*]"
    name = shard.source.name if shard.source is not None else Path(session.uri).name or session.uri
    # Qt replaces `[*]` with a star if there are unsaved changes; doubling it keeps `[*]` in a name.
    name = shown(request.title if request.inside else name).replace("[*]", "[*][*]")
    sandbox = QCoreApplication.translate("FileTabs", " (sandbox)") if request.sandbox else ""
    return f"{name}[*]{sandbox} — Shardscope"


class FileTabs(QTabBar):
    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._shown: list[Document] = []
        made(self, "fileTabs", accessibleName=self.tr("Open files"), focusPolicy=Qt.FocusPolicy.TabFocus)
        made(self, movable=True, expanding=False, documentMode=True, drawBase=False, usesScrollButtons=True)
        self.setElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSelectionBehaviorOnRemove(QTabBar.SelectionBehavior.SelectPreviousTab)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.currentChanged.connect(self._chosen)
        self.tabMoved.connect(self._moved)
        session.documents.changed.connect(self.refresh)
        session.watch.trouble_changed.connect(lambda _: self.refresh())
        session.index.changed.connect(lambda _: self.refresh())
        self._soon = Debounce(self, self.refresh)
        session.jobs.added.connect(self._job_changed)
        session.jobs.changed.connect(self._job_changed)

    def refresh(self) -> None:
        documents = self._session.documents.all
        blocked = self.blockSignals(True)
        for number in range(len(self._shown) - 1, -1, -1):
            if self._shown[number] not in documents:
                del self._shown[number]
                self.removeTab(number)
        for number, document in enumerate(documents):
            if number >= len(self._shown) or self._shown[number] is not document:
                if document in self._shown:
                    at = self._shown.index(document)
                    self._shown.insert(number, self._shown.pop(at))
                    self.moveTab(at, number)
                else:
                    self._shown.insert(number, document)
                    self.insertTab(number, "")
                    close = self._close_button(partial(self._session.documents.close_document, document))
                    self.setTabButton(number, QTabBar.ButtonPosition.RightSide, close)
        for number, (document, title) in enumerate(zip(documents, titles(documents), strict=True)):
            self._label(number, document, title)
        self._show_welcome(self._session.documents.welcome)
        if self._session.document in documents:
            self.setCurrentIndex(documents.index(self._session.document))
        self.blockSignals(blocked)

    def _show_welcome(self, shown: bool) -> None:
        if shown and self.count() == len(self._shown):
            self.addTab(self.tr("Welcome"))
            button = self._close_button(partial(self._session.documents.step, 1))
            button.setAccessibleName(self.tr("Close {0}").format(self.tr("Welcome")))
            self.setTabButton(len(self._shown), QTabBar.ButtonPosition.RightSide, button)
        elif not shown and self.count() > len(self._shown):
            self.removeTab(len(self._shown))
        self.setMovable(not shown)
        if shown:
            self.setCurrentIndex(len(self._shown))

    def _label(self, number: int, document: Document, title: str) -> None:
        notes, sign = [], ""
        if document.request.sandbox:
            # The file itself may be open in another tab.
            title += self.tr(" (sandbox)")
        running = [job.title for job in self._session.jobs.open_jobs if job.title and job.scope is document]
        if running:
            sign = "▶ "
            notes += [shown(text) for text in running]
        if document.troubled:
            sign = "▲ "
            notes.append(self.tr("Damaged or changed"))
        elif document.mail and not running:
            sign = "● "
            notes.append(self.tr("New results"))
        if document.unsaved or (document is self._session.document and self._session.documents.unsaved):
            sign += "* "
            notes.append(self.tr("Unsaved changes"))
        text = sign + cut_middle(shown(title), LONGEST_TITLE).replace("&", "&&")
        if text != self.tabText(number):
            self.setTabText(number, text)
        self.setTabToolTip(number, tip("\n".join([shown(document.request.shown), *notes])))
        # Screen readers get words instead of the signs.
        self.setAccessibleTabName(number, ", ".join([shown(title), *notes]))
        button = self.tabButton(number, QTabBar.ButtonPosition.RightSide)
        if button is not None:
            button.setAccessibleName(self.tr("Close {0}").format(shown(title)))

    def _job_changed(self, job: Job) -> None:
        if job.scope in self._shown and (job.state.ended or job.state is JobState.WAITING):
            self._soon.start()

    def _close_button(self, close: Callable[[], object]) -> QToolButton:
        button = close_button(self, "closeFile", _CLOSE)
        button.setToolTip(self.tr("Close (Ctrl+W)"))
        button.clicked.connect(lambda _: close())
        return button

    def _chosen(self, number: int) -> None:
        if 0 <= number < len(self._shown):
            self._session.documents.show(self._shown[number])

    def _moved(self, start: int, stop: int) -> None:
        # Qt moved the tab already, with its button.
        self._shown.insert(stop, self._shown.pop(start))
        self._session.documents.move(start, stop)

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.LayoutRequest:
            # After a zoom the buttons have another size: this lays out the tabs again.
            self.setElideMode(self.elideMode())
        return super().event(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if event.button() is Qt.MouseButton.MiddleButton:
            self._close(self.tabAt(event.position().toPoint()))

    def _close(self, number: int) -> None:
        if 0 <= number < len(self._shown):
            self._session.documents.close_document(self._shown[number])
        elif number >= 0:
            self._session.documents.step(1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        now = self.currentIndex()
        if event.key() == Qt.Key.Key_Delete:
            self._close(now)
        elif by and event.modifiers() & Qt.KeyboardModifier.ControlModifier and 0 <= now + by < len(self._shown):
            self.moveTab(now, now + by)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        number = self.tabAt(event.pos()) if event.reason() == QContextMenuEvent.Reason.Mouse else self.currentIndex()
        if 0 <= number < len(self._shown):
            self.menu_of(number).popup(event.globalPos())

    def menu_of(self, number: int) -> QMenu:
        document, request = self._shown[number], self._shown[number].request
        path = Path(request.uri).absolute()
        where = request.shown if request.is_remote else inside_link(str(path), request.inside)
        right = self._shown[number + 1 :]
        others = [one for one in self._shown if one is not document]
        rows = (
            (self.tr("&Close"), partial(self._session.documents.close_document, document), True),
            (self.tr("Close &others"), partial(self._close_all, others, document), bool(others)),
            (self.tr("Close to the &right"), partial(self._close_all, right, document), bool(right)),
            (self.tr("Copy &path"), partial(copy_text, where), True),
            (self.tr("Show in &folder"), partial(show_in_folder, path), not request.is_remote),
        )
        menu = context_menu(self, [row[:2] for row in rows])
        menu.setAccessibleName(self.tr("Tab"))
        menu.insertSeparator(menu.actions()[3])
        for action, (_, _, enabled) in zip((one for one in menu.actions() if one.text()), rows, strict=True):
            action.setEnabled(enabled)
        return menu

    def _close_all(self, documents: Sequence[Document], kept: Document) -> None:
        if self._session.document in documents:
            self._session.documents.show(kept)
        for document in documents:
            # A document with unsaved changes stays open: closing it alone asks the user.
            if not document.unsaved:
                self._session.documents.close_document(document)

    def minimumTabSizeHint(self, index: int) -> QSize:
        wanted = self.tabSizeHint(index)
        return QSize(min(wanted.width(), _LEAST_TAB), wanted.height())

    def sizeHint(self) -> QSize:
        # A tool bar moves wide widgets into a menu; stay narrow, so that arrows scroll the tabs instead.
        return QSize(_LEAST, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(_LEAST, super().minimumSizeHint().height())


class FileTabBar(QToolBar):
    """Tool bar with the tabs of the open files, shown if there are several. It also sets the window title."""

    def __init__(self, session: Session, list_all: Callable[[], object], window: QMainWindow) -> None:
        super().__init__("Tabs", window)
        self._session = session
        self._needed = False
        made(self, "fileTabBar", accessibleName=self.tr("Tabs"))
        fix_bar(self)
        self.tabs = FileTabs(session, self)
        self.addWidget(self.tabs)
        words, focus = self.tr("List all open files"), Qt.FocusPolicy.TabFocus
        button = made(QToolButton(self), "allTabs", text="▾", accessibleName=words, toolTip=words, focusPolicy=focus)
        button.clicked.connect(lambda _: list_all())
        self._all = self.addWidget(button)
        self._keep_low()
        window.addToolBarBreak()
        window.addToolBar(self)
        session.opened.connect(lambda _: self._set_title())
        session.closed.connect(lambda: None if session.documents.replacing else self._set_title())
        session.documents.changed.connect(self._refresh)
        self._set_title()
        self._refresh()

    def _set_title(self) -> None:
        self.window().setWindowTitle(window_title(self._session))

    def _refresh(self) -> None:
        count = len(self._session.documents.all) + self._session.documents.welcome
        several = count > 1
        self._all.setVisible(count >= MANY)
        if several is not self._needed or several is self.isHidden():
            self._needed = several
            self.setVisible(several)

    def setVisible(self, visible: bool) -> None:
        super().setVisible(self._needed)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.StyleChange:
            self._keep_low()

    def _keep_low(self) -> None:
        if (row := self.layout()) is not None:
            row.setContentsMargins(0, 0, 0, 0)


LONGEST_OPTIONS = 16 * 1024
"""Maximum number of characters of one file's saved options, as JSON."""

MOST_NAMED = 5


class TabMemory(QObject):
    def __init__(self, session: Session, settings: Settings, notices: Notices, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._settings = settings
        self._notices = notices

    def choose(self, chosen: bool) -> None:
        self._settings.restores_tabs = chosen
        if not chosen:
            self._settings.tabs = []

    def save(self) -> None:
        """Save the open files; addresses with login or signature are left out."""
        if not self._settings.restores_tabs:
            return
        found = [(one, _entry(one.request, self._place_in(one))) for one in self._session.documents.all]
        shown = self._session.document
        self._settings.tabs = [{**entry, "current": one is shown} for one, entry in found if entry is not None]

    def _place_in(self, document: Document) -> int:
        shown = document is self._session.document
        chosen = self._session.selection if shown else (None if document.fresh else document.selection)
        span = chosen.span if isinstance(chosen, Selection) else document.select
        return span.start if span is not None and not span.source else 0

    def restore(self, *, behind: bool = False) -> None:
        """Open the saved files in a job; missing files are reported. With `behind`, none of them is shown."""
        if not self._settings.restores_tabs:
            return
        entries = [entry for entry in self._settings.tabs[:MOST_OPEN] if _is_sound(entry)]
        if not entries:
            return

        there = lambda _: [_is_there(entry["uri"]) for entry in entries]  # noqa: E731

        def done(found: list[bool] | None, error: BaseException | None) -> None:
            if found is None:
                return
            gone = [entry["uri"] for entry, here in zip(entries, found, strict=True) if not here]
            kept = [entry for entry, here in zip(entries, found, strict=True) if here]
            current = next((n for n, entry in enumerate(kept) if entry.get("current")), 0)
            self._session.documents.open_tabs([_request(entry) for entry in kept], -1 if behind else current)
            if gone:
                more = self.tr(" and {0} more").format(len(gone) - MOST_NAMED) if len(gone) > MOST_NAMED else ""
                text = self.tr("Not found, so not restored: {0}{1}").format(", ".join(gone[:MOST_NAMED]), more)
                self._notices.add_notice(text, NoticeTone.WARNING, about="tabs", lasting=True)

        self._session.jobs.submit(there, priority=JobPriority.SCREEN, lasting=True, done=done)


def _is_there(uri: str) -> bool:
    # `os.path.exists` returns False for paths that are too long, where Path raises.
    return is_address(uri) or os.path.exists(uri) or os.path.exists(file_of(uri))  # noqa: PTH110


def _entry(request: OpenRequest, offset: int) -> dict[str, Any] | None:
    """Return a request as an entry of the settings; None for generated files, credentials and large options."""
    uri = request.uri if is_address(request.uri) else str(Path(request.uri).absolute())
    if is_fresh(uri) or (is_address(uri) and shown_address(uri) != uri):
        return None
    options = {name: value for name, value in request.options.items() if _is_plain(value)}
    if len(json.dumps(options)) > LONGEST_OPTIONS:
        return None
    uri = inside_link(uri, request.inside)
    return {"uri": uri, "format": request.format, "options": options, "offset": offset}


def _is_plain(value: object) -> bool:
    if isinstance(value, str):
        return shown_address(value) == value if is_address(value) else True
    return isinstance(value, (bool, int, float))


def _is_sound(entry: dict[str, Any]) -> bool:
    """Validate an entry: the settings file may have been edited."""
    uri, format, options, offset = (entry.get(name) for name in ("uri", "format", "options", "offset"))
    texts = isinstance(uri, str) and bool(uri) and (format is None or format in (*FORMATS, *CONTAINERS))
    plain = isinstance(options, dict) and all(_is_plain(value) for value in options.values())
    return texts and plain and type(offset) is int and offset >= 0


def _request(entry: dict[str, Any]) -> tuple[OpenRequest, Span | None]:
    offset = entry["offset"]
    select = Span("", offset, offset + 1) if offset else None
    return OpenRequest(entry["uri"], entry["format"], entry["options"]), select
