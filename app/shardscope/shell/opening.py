"""Opening of files: dialogs, menu of recent files, notices about errors with their remedies; and quitting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from shardcore import (
    CredentialsRefused,
    DataSet,
    FormatError,
    NoSuchObject,
    NotAShard,
    Remedy,
    RemoteError,
    RemoteOptions,
    Shard,
    ShardError,
    Span,
)
from shardcore.errors import LargeRead, LayerUnchosen
from shardcore.model.text import shown, size_text
from shardcore.sources.remote.address import is_address
from shardcore.teaching import resource_paths
from shardcore.teaching.lessons.lesson_step import is_fresh
from shardscope.session.connections import LoginKind, as_anonymous, login_kind_of
from shardscope.session.display_text import ACTIONS, cut_middle, error_text, failure, grouped, sentence, short_name
from shardscope.session.jobs import Job, JobState
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import OpenFailure, Session
from shardscope.shell.notices import Button, Notices, NoticeTone, ask
from shardscope.shell.open_with import OpenAs, no_fit
from shardscope.startup.settings import Settings
from shardscope.tasks.connect import ConnectTask
from shardscope.tasks.new_shard.new_shards import NewShardDialog
from shardscope.widgets.file_dialogs import ask_files, ask_folder
from shardscope.widgets.plain_text import tip

if TYPE_CHECKING:
    from shardscope.startup.single_instance import Handover

LONGEST_ENTRY = 90
"""Maximum number of characters of a path in a menu; longer paths are shortened in the middle."""


class FileOpener(QObject):
    """Opens files chosen in menus and pages, dropped, or passed by the command line or a second program start."""

    opened = Signal(object)
    """A shard was opened; not emitted when an open document is shown again."""
    recent_changed = Signal()

    def __init__(self, session: Session, settings: Settings, connecting: ConnectTask, window: QWidget) -> None:
        super().__init__(window)
        self._session, self._settings, self._connecting, self._window = session, settings, connecting, window
        self._next: tuple[str, Callable[[Shard], object]] | None = None
        self.recent = QMenu(self.tr("Open &recent"), window)
        self._fill_recent()
        session.documents.may_show = self._may_show
        session.tab_wanted.connect(session.open_tab)

    def open(
        self, uri: str, format: str | None = None, remote: RemoteOptions | None = None, select: Span | None = None
    ) -> None:
        """Open a path or address; show the address dialog first if keys, store or layer must be chosen."""
        request = OpenRequest(uri, format, remote=remote)
        if remote is None and self._connecting.has_to_ask(uri):
            self._connecting.ask(request)
        else:
            self._session.open_tab(request, select)

    def open_files(
        self,
        files: Sequence[tuple[str, Span | None]],
        format: str | None = None,
        remote: RemoteOptions | None = None,
    ) -> None:
        if len(files) == 1:
            self.open(files[0][0], format, remote, files[0][1])
        else:
            self._session.documents.open_tabs(
                [(OpenRequest(uri, format, remote=remote), place) for uri, place in files]
            )

    def open_paths(self, paths: Sequence[str]) -> None:
        self.open_files([(path, None) for path in paths])

    def open_then(self, uri: str, then: Callable[[Shard], object]) -> None:
        self._next, before = (uri, then), self._session.document
        self.open(uri)
        if self._session.shard is not None and self._session.uri == uri and self._session.document is not before:
            # The file was open already, and its tab is shown now.
            self._go_on()

    def take_over(self, files: Sequence[Handover]) -> None:
        # While a dialog is open, its document stays shown; the files are opened in the background.
        front = self._session.documents.may_show()
        for one in files[: int(front)]:
            self.open(one.uri, one.format, None, one.select)
        self._session.documents.open_tabs(
            [(OpenRequest(one.uri, one.format), one.select) for one in files[int(front) :]], -1
        )
        states, window = Qt.WindowState, self._window
        window.setWindowState(window.windowState() & ~states.WindowMinimized | states.WindowActive)
        window.show()
        window.raise_()
        window.activateWindow()

    def _may_show(self) -> bool:
        """Return whether an opened document may be shown: not while a modal dialog is about the current one."""
        dialog = QApplication.activeModalWidget()
        return dialog is None or (isinstance(dialog, NewShardDialog) and dialog.outcome is not None)

    def announce(self, shard: Shard) -> None:
        """Emit `opened`; call it when all parts of the window show the shard."""
        if self._session.documents.switching:
            return
        if not is_fresh(self._session.uri):
            self._settings.add_recent(self._session.uri)
            self._fill_recent()
        self.opened.emit(shard)
        self._go_on()

    def _go_on(self) -> None:
        after, self._next = self._next, None
        shard = self._session.shard
        if after is not None and shard is not None and after[0] == self._session.uri:
            after[1](shard)

    # --- dialogs ---

    def ask_files(self) -> None:
        ask_files(self._window, self.tr("Open shards"), self.open_paths, start=self._start)

    def ask_folder(self) -> None:
        ask_folder(self._window, self.tr("Open a folder of shards"), self.open, start=self._start)

    def ask_xorbs(self, chosen: Callable[[str], object]) -> None:
        ask_folder(self._window, self.tr("Choose the folder that holds the xorbs"), chosen, start=self._start)

    @property
    def _start(self) -> str:
        paths = (Path(uri) for uri in self._settings.recent if not is_address(uri))
        own = resource_paths.resources()
        return next((str(path.parent) for path in paths if not path.is_relative_to(own)), "")

    # --- menus ---

    def clear_recent(self) -> None:
        self._settings.clear_recent()
        self._fill_recent()

    def _fill_recent(self) -> None:
        names = self._settings.recent
        self.recent.clear()
        for name in names:
            # The name is untrusted: it is shortened and escaped, and gets no mnemonic.
            action = self.recent.addAction(shown(cut_middle(name, LONGEST_ENTRY)).replace("&", "&&"))
            action.setToolTip(tip(name))
            action.setData(name)
            action.triggered.connect(lambda _, name=name: self.open(name))
        self.recent.setEnabled(bool(names))
        if names:
            self.recent.addSeparator()
            self.recent.addAction(self.tr("Clear")).triggered.connect(self.clear_recent)
        self.recent_changed.emit()


class ErrorNotices(QObject):
    def __init__(
        self,
        session: Session,
        notices: Notices,
        ways: OpenAs,
        connecting: ConnectTask,
        opening: FileOpener,
        to_bytes: Callable[[], object],
        pack: Callable[[tuple[str, ...]], object],
        salvage: QAction,
    ) -> None:
        super().__init__(opening)
        self._session = session
        self._notices = notices
        self._ways = ways
        self._connecting = connecting
        self._opening = opening
        self._to_bytes = to_bytes
        self._pack = pack
        self._salvage = salvage
        self._shown_damage: ShardError | None = None
        # If the user is asked, an error is only shown after a refusal.
        session.documents.failed.connect(lambda failed: None if failed.asks else self._failed(failed))
        session.documents.declined.connect(self._failed)
        session.watch.trouble_changed.connect(self._source_trouble)
        session.troubled.connect(self._troubled)
        session.member_damaged.connect(self._member_damaged)
        session.remedy_wanted.connect(self._mend)
        session.jobs.trouble.connect(lambda job: self._troubled(error_text(job.error), None))
        session.succeeded.connect(lambda text: notices.add_notice(text, NoticeTone.SUCCESS))
        opening.opened.connect(self._show_damage)
        # Loading the index may detect damage that opening did not.
        session.index.changed.connect(lambda _: None if session.documents.switching else self._show_damage())

    def _troubled(self, text: str, remedy: Remedy | None) -> None:
        helps = remedy if remedy in (Remedy.DELETED, Remedy.XORBS) else None
        tone = NoticeTone.WARNING if helps else NoticeTone.ERROR
        do = partial(self._mend, helps) if helps else None
        self._notices.add_notice(text, tone, action=ACTIONS[helps] if helps else "", do=do)

    def _member_damaged(self, name: str, error: FormatError) -> None:
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
            self._opening.ask_xorbs(lambda folder: self._again(request.with_xorbs(folder)))

    def _again(self, request: OpenRequest) -> None:
        if self._session.shard is not None and request.uri == self._session.request.uri:
            self._session.open(request, select=self._session.selection.span)

    def _failed(self, failed: OpenFailure) -> None:
        error = failed.error
        text = failure(self.tr("Cannot open {0}").format(short_name(failed.uri)), error, failed.uri)
        text += self._closest(error)
        action, do = self._way_out(failed.request, error, partial(self._session.open_tab, failed.request))
        # One notice per file that cannot be opened.
        self._notices.add_notice(text, action=action, do=do, about=f"open {failed.uri}")

    def _closest(self, error: BaseException) -> str:
        found = error.candidates if isinstance(error, NotAShard) else ()
        return self.tr(" Closest match: {0}.").format("; ".join(found)) if found else ""

    def _way_out(
        self, request: OpenRequest, error: BaseException, again: Callable[[], object]
    ) -> tuple[str, Callable[[], object]]:
        if isinstance(error, ShardError) and error.remedy is Remedy.SPEC:
            return ACTIONS[Remedy.SPEC], partial(self._ways.ask, request)
        if isinstance(error, LayerUnchosen):
            return self.tr("Choose a layer…"), partial(self._connecting.ask, request)
        if isinstance(error, NotAShard) and not is_address(request.uri):
            # Files are always shown, so this is a folder that is not a data set.
            return self.tr("Pack it…"), partial(self._pack, (request.uri,))
        if isinstance(error, LargeRead):
            words = self.tr("Fetch {0}").format(size_text(error.size))
            return words, partial(self._session.open_tab, request, agreed=True)
        remedy = error.remedy if isinstance(error, RemoteError) else None
        denied = (Remedy.RIGHTS, Remedy.PAYER)
        if request.is_remote and remedy in denied and login_kind_of(request.remote) is not LoginKind.ANONYMOUS:
            anonymous = request.with_remote(as_anonymous(request.remote))
            return ACTIONS[Remedy.RIGHTS], partial(self._session.open_tab, anonymous)
        if request.is_remote and remedy in (Remedy.PROFILE, *denied):
            return ACTIONS[Remedy.PROFILE], partial(self._connecting.ask, request, LoginKind.PROFILE)
        if request.is_remote and remedy in (Remedy.LOGIN, Remedy.OTHER_LOGIN, Remedy.RENEW, Remedy.REGION, Remedy.HOST):
            return ACTIONS[remedy], partial(self._connecting.ask, request)
        if isinstance(error, (CredentialsRefused, NoSuchObject)) and request.is_remote:
            remedy = Remedy.HOST if isinstance(error, NoSuchObject) else Remedy.RENEW
            return ACTIONS[remedy], partial(self._connecting.ask, request)
        return ACTIONS[Remedy.REOPEN if remedy is Remedy.REOPEN else Remedy.AGAIN], again

    def _show_damage(self, *_: object) -> None:
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
        buttons, name = [], short_name(self._session.request.shown)
        # If no format recognises even a part of the file, no objects can be recovered.
        in_part = not isinstance(damage, NotAShard) or shard.format != "unknown" or bool(damage.candidates)
        if isinstance(damage, NotAShard):
            text = self.tr("{0} is not in a known shard format.").format(name) + self._closest(damage)
            if damage.is_other:
                # It begins with the name of the file, which is not capitalised.
                text = f"{error_text(damage)}."
            elif shard.format != "unknown":
                text = sentence(error_text(damage))
            text = self.tr("{0} Showing raw bytes.").format(text)
        else:
            text = self.tr("{0} The rest is shown.").format(failure(self.tr("Damaged"), damage))
        if damage.span is not None:
            buttons.append(Button(self.tr("Show bytes"), partial(self._show, damage.span), closes=False))
        buttons.append(Button(self.tr("Open as…"), self._ways.change, closes=False))
        if in_part and self._salvage.isEnabled():
            buttons.append(Button(self._salvage.text().replace("&", ""), self._salvage.trigger, closes=False))
        if shard.source is not None and not shard.source.size:
            text, buttons = self.tr("The file is empty (0 bytes)."), []
        self._notices.add_notice(text, buttons=buttons, about="damage")

    def _show(self, span: Span) -> None:
        self._session.select_span(span)
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


class Quitting(QObject):
    def __init__(self, session: Session, window: QWidget) -> None:
        super().__init__(window)
        self._session, self._window = session, window
        self._ends = False

    def end(self) -> None:
        """Close the window without asking; jobs that write files are cancelled."""
        self._ends = True
        self._window.close()

    def may_close(self) -> bool:
        session = self._session
        if not self._ends and (unsaved := session.documents.unsaved_document) is not None:
            session.documents.show(unsaved)
        if not session.documents.may_leave(None, self._window.close):
            return False
        writing = [job for job in session.jobs.open_jobs if job.lasting and job.title and not job.state.ended]
        if self._ends or not writing or not self._window.isVisible():
            return True
        self._ask(writing)
        return False

    def _ask(self, writing: Sequence[Job]) -> None:
        """Ask whether to cancel jobs that write files; close the window if all of them finish meanwhile."""
        text = self.tr("Still running: {0}.").format(", ".join(shown(job.title) for job in writing[:3]))
        detail = self.tr("Quitting cancels them. Complete files are kept.")
        answers = [(self.tr("&Quit and cancel"), self.end)]
        stay = self.tr("&Keep running")
        box = ask(self._window, "quitWhileWriting", self.tr("Quit?"), text, detail, answers, stay=stay)

        def written(_: Job) -> None:
            if all(job.state.ended for job in writing):
                box.reject()
                if all(job.state is JobState.DONE for job in writing):
                    self._window.close()

        jobs = self._session.jobs
        jobs.changed.connect(written)
        box.finished.connect(lambda _: jobs.changed.disconnect(written))
