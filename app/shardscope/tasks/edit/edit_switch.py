"""Switch that permits editing the open file; every opening turns it off."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from shardcore import Shard
from shardcore.sources.remote.address import is_address
from shardcore.teaching import resource_paths
from shardcore.writing.journal import Journal
from shardscope.session.jobs import JobPriority
from shardscope.session.session import OpenFailure, Session
from shardscope.tasks.edit.edit_permission import EditPermission, edit_permission, interrupted_journal

LOOKING = "Checking whether the file can be changed …"


class EditSwitch(QObject):
    """Permission to change the open file; a job fills `edit_permission` with the possible edits.

    `interrupted(path, journal)` reports an interrupted edit of a file that was opened or could not be opened.
    """

    changed = Signal()
    interrupted = Signal(object, object)

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._stays = self._again = False
        self.allowed = False
        self.edit_permission = EditPermission()
        session.opened.connect(self._opened)
        session.closed.connect(self._closed)
        session.failed.connect(self._failed)

    def allow(self, allowed: bool) -> None:
        allowed = allowed and not self.edit_permission.why_not
        if allowed != self.allowed:
            self.allowed = allowed
            self.changed.emit()

    def stay(self) -> None:
        """Keep the permission during the next opening; call it before the reload after an edit."""
        self._stays = self.allowed

    @property
    def why_not(self) -> str:
        """Reason why nothing can be changed now, with advice; empty if it can."""
        if self.edit_permission.why_not:
            return self.edit_permission.why_not
        if not self.allowed:
            return self.tr("Read-only: choose Edit > Allow changes to this file first")
        if self.edit_permission.interrupted:
            if not self.edit_permission.interrupted.kept:
                return self.tr("An edit of this file was interrupted: finish it first")
            return self.tr("An edit of this file was interrupted: undo it first")
        return ""

    def _opened(self, _: Shard) -> None:
        self._again, self._stays = self._stays, False
        self.allowed, self.edit_permission = False, EditPermission(why_not=LOOKING)
        self.changed.emit()
        uri = self._session.uri

        def take(found: EditPermission) -> None:
            self.edit_permission, self.allowed = found, self._again and not found.why_not
            self.changed.emit()
            if found.interrupted:
                self.interrupted.emit(uri, found.interrupted)

        def failed(_: BaseException) -> None:
            self.edit_permission = EditPermission(why_not=self.tr("Cannot check whether the file can be changed"))
            self.changed.emit()

        kept = [one.path.absolute() for one in resource_paths.samples()]
        self._session.ask(
            lambda shard, _: edit_permission(shard, uri, kept),
            take,
            failed=failed,
            key=("standing", self),
            priority=JobPriority.SCREEN,
        )

    def view_state(self) -> object:
        return self.allowed

    def restore_view_state(self, state: object) -> None:
        self._again = state is True

    def _closed(self) -> None:
        self.allowed, self.edit_permission = False, EditPermission()
        self.changed.emit()

    def _failed(self, failure: OpenFailure) -> None:
        """Withdraw the permission, and look for an interrupted edit that may be why the file cannot be opened."""
        self._stays = False
        uri = failure.request.uri

        def done(found: Journal | None, _: BaseException | None) -> None:
            if found is not None:
                self.interrupted.emit(uri, found)

        if not is_address(uri):
            self._session.jobs.submit(lambda _: interrupted_journal(Path(uri)), key=("standing", self), done=done)
