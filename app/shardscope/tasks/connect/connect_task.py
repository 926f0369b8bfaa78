"""Opening of remote addresses with saved connection options, and retries with other options."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from shardcore import RemoteOptions, Shard, UsageError
from shardcore.shards.viewer_link import layers_of
from shardcore.sources.remote.address import is_viewer_link
from shardscope.session.connections import Connections, LoginKind, as_anonymous
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.confirm_fetch import FetchQuestion
from shardscope.tasks.connect.dialog import AddressDialog


class ConnectTask(QObject):
    """Shows the address dialog; saves connection options of opened addresses, without credentials."""

    def __init__(self, session: Session, settings: Settings, window: QWidget) -> None:
        super().__init__(window)
        self._session = session
        self._settings = settings
        self._window = window
        self.agreeing = FetchQuestion(session, settings, window)
        self.connections = Connections(settings.connections)
        session.reach = self.connections.connection_for
        session.opened.connect(self._opened)

    def ask(
        self,
        request: OpenRequest | None = None,
        who: LoginKind | None = None,
        *,
        chosen: Callable[[OpenRequest], object] | None = None,
    ) -> AddressDialog:
        sheet = AddressDialog(request or OpenRequest(""), self.connections, self._session.jobs, self._window)
        if who is not None:
            sheet.who.choose(who)
        sheet.chosen.connect(chosen or self._session.open_tab)
        sheet.open()
        return sheet

    def try_anonymous(self, request: OpenRequest) -> None:
        self._session.open_tab(request.with_remote(as_anonymous(request.remote)))

    def has_to_ask(self, uri: str) -> bool:
        """Return whether the dialog is needed: keys are missing, or store or layer must be chosen."""
        if is_viewer_link(uri):
            with suppress(UsageError):
                return len(layers_of(uri)) > 1
        return self.connections.needs_keys(uri) or self.connections.is_ambiguous(uri)

    def _opened(self, shard: Shard) -> None:
        request = self._session.request
        way: RemoteOptions | None = request.remote
        if request.is_remote and (way is not None or self.connections.is_ambiguous(request.uri)):
            self.connections.remember(request.uri, way or RemoteOptions())
            self._settings.connections = self.connections.kept
