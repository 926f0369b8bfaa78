"""Menu *Diff with*, and the windows that it opens."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from shardcore.model.text import shown
from shardscope.session.documents import titles
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.widgets.file_dialogs import ask_file, ask_folder
from shardscope.widgets.layouts import made, new_action
from shardscope.widgets.plain_text import tip

if TYPE_CHECKING:
    from shardscope.views.diff.window import DiffWindow


class CompareShards(QObject):
    address_wanted = Signal()
    """Requests the dialog for an address, which calls `compare`."""

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session, self._window = session, parent
        self.windows: list[DiffWindow] = []
        self.menu = made(QMenu(self.tr("&Diff with"), parent), "compareWith", toolTipsVisible=True)
        self._add(self.tr("&File…"), "Ctrl+Alt+D", lambda: self._ask(ask_file))
        self._add(self.tr("Fol&der…"), "", lambda: self._ask(ask_folder))
        self._add(self.tr("&Address…"), "", self.address_wanted.emit)
        self._tabs = self.menu.addSeparator()
        self._tab_actions: list[QAction] = []
        self.menu.aboutToShow.connect(self._fill_tabs)
        self._set_enabled(False)
        session.opened.connect(lambda _: self._set_enabled(True))
        session.closed.connect(lambda: self._set_enabled(False))

    def _add(self, text: str, keys: str, chosen: Callable[[], object]) -> QAction:
        about = self.tr("Compares the objects and bytes of two shards or data sets")
        return new_action(self.menu, text, chosen, keys, toolTip=about)

    def _ask(self, ask: Callable[..., QFileDialog]) -> None:
        ask(self._window, self.tr("Diff with"), self.compare_path, start=str(self._session.request.folder))

    def _fill_tabs(self) -> None:
        from shardscope.views.diff.window import titled

        for action in self._tab_actions:
            self.menu.removeAction(action)
            action.deleteLater()
        documents, self._tab_actions = self._session.documents.all, []
        for one, title in zip(documents, titles(documents), strict=True):
            if one is not self._session.document and one.shard is not None:
                action = self._add(shown(title).replace("&", "&&"), "", partial(self.compare, one.request))
                action.setToolTip(tip(titled(one.request)))
                self._tab_actions.append(action)
        self._tabs.setVisible(bool(self._tab_actions))

    def _set_enabled(self, enabled: bool) -> None:
        self.menu.setEnabled(enabled)
        for action in self.menu.actions():
            action.setEnabled(enabled)

    def compare_path(self, path: str) -> DiffWindow:
        return self.compare(OpenRequest(path))

    def compare(self, other: OpenRequest) -> DiffWindow:
        from shardscope.views.diff.window import DiffWindow

        window = DiffWindow(self._session.jobs, (self._session.request, other), self._window)
        window.tab_wanted.connect(self._session.tab_wanted)
        self._session.notation_changed.connect(window.state.changed)
        window.finished.connect(lambda _: self._closed(window))
        self.windows.append(window)
        window.show()
        window.begin()
        return window

    def close(self) -> None:
        for window in list(self.windows):
            window.reject()

    def _closed(self, window: DiffWindow) -> None:
        if window in self.windows:
            self.windows.remove(window)
