"""Notices of errors in opening and reading, each with the button of its remedy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from shardcore import CredentialsRefused, DataSet, FormatError, NoSuchObject, NotAShard, Remedy, RemoteError, ShardError
from shardcore.errors import LargeRead, LayerUnchosen
from shardcore.model.text import size_text
from shardcore.sources.remote.address import is_address
from shardscope.session.connections import LoginKind, login_kind_of
from shardscope.session.display_text import grouped, sentence, short_name
from shardscope.session.error_messages import ACTIONS, error_text, failure
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import OpenFailure, Session
from shardscope.shell.file_dialogs import FileDialogs
from shardscope.shell.notices import Button, Notices, NoticeTone
from shardscope.shell.open_with import OpenAs, no_fit
from shardscope.tasks.connect import ConnectTask


class ErrorNotices(QObject):
    def __init__(
        self,
        session: Session,
        notices: Notices,
        ways: OpenAs,
        connecting: ConnectTask,
        dialogs: FileDialogs,
        to_bytes: Callable[[], object],
        pack: Callable[[tuple[str, ...]], object],
        salvage: QAction,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._notices = notices
        self._ways = ways
        self._connecting = connecting
        self._dialogs = dialogs
        self._to_bytes = to_bytes
        self._pack = pack
        self._salvage = salvage
        self._shown_damage: ShardError | None = None
        # If the user is asked, an error is only shown after a refusal.
        session.failed.connect(lambda failed: None if failed.asks else self._failed(failed))
        session.declined.connect(self._failed)
        session.source_trouble.connect(self._source_trouble)
        session.troubled.connect(self._troubled)
        session.member_damaged.connect(self._member_damaged)
        session.remedy_wanted.connect(self._mend)
        session.jobs.trouble.connect(lambda job: self._troubled(error_text(job.error), None))

    def _troubled(self, text: str, remedy: Remedy | None) -> None:
        helps = remedy if remedy in (Remedy.DELETED, Remedy.XORBS) else None
        tone = NoticeTone.WARNING if helps else NoticeTone.ERROR
        do = partial(self._mend, helps) if helps else None
        self._notices.add_notice(text, tone, action=ACTIONS[helps] if helps else "", do=do)

    def _member_damaged(self, name: str, error: FormatError) -> None:
        """Offer to open a damaged shard of a data set on its own, where its intact parts are shown."""
        shard = self._session.shard
        if not isinstance(shard, DataSet):
            return
        uri, remote = f"{shard.folder.uri.rstrip('/')}/{name}", self._session.request.remote
        request = OpenRequest(uri, format=shard.format, remote=remote)
        text = self.tr("{0} is damaged: {1}. Open the file to see the rest and to recover objects.")
        self._notices.add_notice(
            text.format(name, error_text(error)),
            NoticeTone.WARNING,
            action=self.tr("Open file"),
            do=partial(self._session.open_tab, request),
            about="damage",
        )

    def _mend(self, remedy: Remedy) -> None:
        request = self._session.request
        if remedy is Remedy.DELETED:
            self._again(request.with_deleted())
        elif remedy is Remedy.XORBS:
            self._dialogs.ask_xorbs(lambda folder: self._again(request.with_xorbs(folder)))

    def _again(self, request: OpenRequest) -> None:
        if self._session.shard is not None and request.uri == self._session.request.uri:
            self._session.open(request, select=self._session.selection.span)

    def _failed(self, failed: OpenFailure) -> None:
        error = failed.error
        text = failure(self.tr("Cannot open {0}").format(short_name(failed.uri)), error, failed.uri)
        text += self._closest(error)
        action: str
        do: Callable[[], object]
        if isinstance(error, ShardError) and error.remedy is Remedy.SPEC:
            action, do = ACTIONS[Remedy.SPEC], partial(self._ways.ask, failed.request)
        elif isinstance(error, LayerUnchosen):
            action, do = self.tr("Choose a layer…"), partial(self._connecting.ask, failed.request)
        elif isinstance(error, NotAShard) and not is_address(failed.uri):
            # Files are always shown, so this is a folder that is not a data set.
            action, do = self.tr("Pack it…"), partial(self._pack, (failed.uri,))
        else:
            action, do = self._way_out(failed.request, error, partial(self._session.open_tab, failed.request))
        # One notice per file that cannot be opened.
        self._notices.add_notice(text, action=action, do=do, about=f"open {failed.uri}")

    def _closest(self, error: BaseException) -> str:
        found = error.candidates if isinstance(error, NotAShard) else ()
        return self.tr(" Closest match: {0}.").format("; ".join(found)) if found else ""

    def _way_out(
        self, request: OpenRequest, error: BaseException, again: Callable[[], object]
    ) -> tuple[str, Callable[[], object]]:
        if isinstance(error, LargeRead):
            words = self.tr("Fetch {0}").format(size_text(error.size))
            return words, partial(self._session.open_tab, request, agreed=True)
        remedy = error.remedy if isinstance(error, RemoteError) else None
        denied = (Remedy.RIGHTS, Remedy.PAYER)
        if request.is_remote and remedy in denied and login_kind_of(request.remote) is not LoginKind.ANONYMOUS:
            return ACTIONS[Remedy.RIGHTS], partial(self._connecting.try_anonymous, request)
        if request.is_remote and remedy in (Remedy.PROFILE, *denied):
            return ACTIONS[Remedy.PROFILE], partial(self._connecting.ask, request, LoginKind.PROFILE)
        if request.is_remote and remedy in (Remedy.LOGIN, Remedy.OTHER_LOGIN, Remedy.RENEW, Remedy.REGION, Remedy.HOST):
            return ACTIONS[remedy], partial(self._connecting.ask, request)
        if isinstance(error, (CredentialsRefused, NoSuchObject)) and request.is_remote:
            return ACTIONS[Remedy.HOST if isinstance(error, NoSuchObject) else Remedy.RENEW], partial(
                self._connecting.ask, request
            )
        return ACTIONS[Remedy.REOPEN if remedy is Remedy.REOPEN else Remedy.AGAIN], again

    def show_damage(self) -> None:
        """Show the damage of the open shard, once per damage."""
        shard = self._session.shard
        damage = shard.damage if shard is not None else None
        if shard is None or damage is None or damage is self._shown_damage:
            return
        if self._session.request.sandbox:
            return  # the sandbox reports what its changes do
        self._shown_damage = damage
        if self._ways.fits_not(shard):
            text = f"{no_fit()}: {grouped(damage.placed)}."
            change = Button(self.tr("Change…"), self._ways.change)
            self._notices.add_notice(text, NoticeTone.WARNING, buttons=[change], about="damage")
            return
        buttons = []
        if shard.source is not None and not shard.source.size:
            text = self.tr("The file is empty (0 bytes).")
        elif isinstance(damage, NotAShard):
            other, name = damage.is_other or shard.format != "unknown", short_name(self._session.request.shown)
            known = self.tr("{0} is not in a known shard format.").format(name) + self._closest(damage)
            text = self.tr("{0} Showing raw bytes.").format(sentence(error_text(damage)) if other else known)
            buttons.append(Button(self.tr("Choose format…"), self._ways.change))
        else:
            text = self.tr("{0} The rest is shown.").format(failure(self.tr("Damaged"), damage))
        if damage.span is not None:
            buttons.append(Button(self.tr("Show bytes"), partial(self._show, damage), closes=False))
        if self._salvage.isEnabled() and not isinstance(damage, NotAShard):
            buttons.append(Button(self._salvage.text().replace("&", ""), self._salvage.trigger, closes=False))
        self._notices.add_notice(text, buttons=buttons, about="damage")

    def _show(self, damage: ShardError) -> None:
        if damage.span is not None:
            self._session.select_span(damage.span)
            self._to_bytes()

    def _source_trouble(self, error: BaseException | None) -> None:
        if error is None:
            self._notices.clear("source")
            return
        action = ACTIONS[Remedy.REOPEN]
        do: Callable[[], object] = self._session.reload
        if isinstance(error, RemoteError):
            text = self.tr("{0} What was loaded is still shown.").format(sentence(error_text(error)))
            action, do = self._way_out(self._session.request, error, self._session.reload)
        else:
            text = self.tr("{0} The view may be out of date.").format(sentence(error_text(error)))
        self._notices.add_notice(text, NoticeTone.WARNING, action=action, do=do, about="source")
