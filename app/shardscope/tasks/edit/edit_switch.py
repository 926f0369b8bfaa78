"""Switch that allows editing the open file (off after opening), and the edits that are possible for the file."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from shardcore import DataSet, Shard, ShardError
from shardcore.dataclasses import dataclass
from shardcore.model.options import Option, OptionPurpose
from shardcore.shards.registry import format_of
from shardcore.sources.local import FileSource, LocalFolder
from shardcore.sources.patched_source import PatchedSource
from shardcore.sources.remote.address import is_address
from shardcore.teaching import resource_paths
from shardcore.writing.declaration import REKEY, VERBS, Verb
from shardcore.writing.journal import Journal, all_journals, read_journal
from shardcore.writing.undo import interrupted_edit
from shardscope.session.jobs import JobPriority
from shardscope.session.session import OpenFailure, Session

LOOKING = "Checking whether the file can be changed …"


class EditSwitch(QObject):
    """Permission to change the open file. `interrupted(path, journal)` reports an edit that was not completed."""

    changed = Signal()
    interrupted = Signal(object, object)

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._stays = self._again = False
        self.allowed = False
        self.edit_permission = EditPermission()
        session.opened.connect(self._opened)
        session.closed.connect(lambda: self._set(EditPermission()))
        session.documents.failed.connect(self._failed)

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
        """Reason why the file cannot be changed now, with advice; empty if it can."""
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
        self._set(EditPermission(why_not=LOOKING))
        uri = self._session.uri

        def take(found: EditPermission) -> None:
            self._set(found, allowed=self._again)
            if found.interrupted:
                self.interrupted.emit(uri, found.interrupted)

        def failed(_: BaseException) -> None:
            self._set(EditPermission(why_not=self.tr("Cannot check whether the file can be changed")))

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

    def _set(self, found: EditPermission, *, allowed: bool = False) -> None:
        self.edit_permission, self.allowed = found, allowed and not found.why_not
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


@dataclass(frozen=True, slots=True)
class EditPermission:
    """Edits possible for a file. `why_not` is empty if it may be changed, `last_edit` if it has no undo file."""

    verbs: tuple[Verb, ...] = ()
    why_not: str = "Nothing is open"
    last_edit: str = ""
    interrupted: Journal | None = None
    rekey: tuple[Option, ...] = ()


def edit_permission(shard: Shard, uri: str, kept: Collection[Path] = ()) -> EditPermission:
    """Return the edits possible for a shard; call it in a job. Paths below `kept` (the samples) are never changed."""
    path = shard.source.path if isinstance(shard.source, FileSource) else None
    try:
        edits, options = format_of(shard.format).edits, format_of(shard.format).options_for(OptionPurpose.REKEY)
    except ShardError:
        # A damaged file without a known format.
        edits, options = {}, ()
    whole = isinstance(shard, DataSet)
    declared = [verb for verb in VERBS if verb.name in edits]
    verbs = tuple(verb for verb in declared if verb.beside or not whole)
    rekey = options if REKEY.name in edits and not whole and shard.damage is None else ()
    if declared:
        why_not = _why_not(shard, uri, verbs, kept)
    else:
        why_not = "Files of this format cannot be changed in place: write a new one instead"
    if path is None:
        return EditPermission(verbs, why_not, rekey=rekey)
    return EditPermission(verbs, why_not, _last_edit(path), interrupted_journal(path), rekey)


def _last_edit(path: Path) -> str:
    try:
        return read_journal(path).what if all_journals(path) else ""
    except ShardError:
        # The dialog shows why it cannot be undone.
        return "last edit"


def interrupted_journal(path: Path) -> Journal | None:
    try:
        return interrupted_edit(path)
    except ShardError:
        # Do not offer an invalid journal; an edit is then refused with the reason.
        return None


def _why_not(shard: Shard, uri: str, verbs: tuple[Verb, ...], kept: Collection[Path]) -> str:
    if not verbs:
        return "A whole data set cannot be changed in place: open one of its files"
    if shard.damage is not None:
        return "The file is damaged: only intact files can be changed"
    if isinstance(shard.source, PatchedSource):
        return "This is a sandbox: save a copy and open it"
    folder = shard.folder if isinstance(shard, DataSet) else None
    if is_address(uri) or not (folder is None or isinstance(folder, LocalFolder)):
        return "Remote files cannot be changed: download them first"
    if folder is not None:
        return _no_permission(None, folder.path)
    if not isinstance(shard.source, FileSource):
        return "This content is part of another file: save it as a file and open that"
    path = shard.source.path
    if any(path.absolute().is_relative_to(one) for one in kept):
        return "Samples cannot be changed: copy the file and open the copy"
    return _no_permission(path if any(not verb.beside for verb in verbs) else None, path.absolute().parent)


def _no_permission(path: Path | None, folder: Path) -> str:
    if path is not None and not os.access(path, os.W_OK):
        return f"No permission to write {path.name}: change the permissions, or copy the file"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"No permission to write into {folder}: the undo file cannot be kept there"
    return ""
