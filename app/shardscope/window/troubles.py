"""What went wrong with what is open, told in the bar over the bytes: not to be opened, damaged, or changed since."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject

from shardcore import CredentialsRefused, NoSuchObject, NotAShard, Remedy, RemoteError, ShardError
from shardcore.errors import LargeRead
from shardcore.sources.remote.address import is_address
from shardcore.sources.remote.tape import size_text
from shardscope.connections import Who, who_of
from shardscope.looks.remedies import ACTIONS, plain_words
from shardscope.looks.words import grouped
from shardscope.opening import OpenRequest
from shardscope.session import OpenFailure, Session
from shardscope.window.connecting.connecting import Connecting
from shardscope.window.error_bar import ErrorBar, Tone
from shardscope.window.open_with import OpenWays, no_fit


class Troubles(QObject):
    """Tells troubles, and what can be done about them.

    Args:
        session: What is open.
        bar: Where they are told.
        ways: Other ways to open it.
        connecting: Other ways to reach it.
        to_bytes: Gives the bytes the keyboard.
        pack: Asks how files and folders become a new shard.
        parent: The window.
    """

    def __init__(
        self,
        session: Session,
        bar: ErrorBar,
        ways: OpenWays,
        connecting: Connecting,
        to_bytes: Callable[[], object],
        pack: Callable[[tuple[str, ...]], object],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._bar = bar
        self._ways = ways
        self._connecting = connecting
        self._to_bytes = to_bytes
        self._pack = pack
        self._tells_source = False
        self._told_damage: ShardError | None = None
        session.failed.connect(self._failed)
        session.source_trouble.connect(self._source_trouble)

    def _failed(self, failure: OpenFailure) -> None:
        error = failure.error
        self._tells_source = False
        text = self.tr("{0} cannot be opened: {1}").format(failure.uri, plain_words(error))
        if isinstance(error, NotAShard) and error.candidates:
            text += " " + self.tr("It looks a little like {0}.").format("; ".join(error.candidates))
        if isinstance(error, ShardError) and error.remedy is Remedy.SPEC:
            self._bar.tell(text, Tone.ERROR, action=ACTIONS[Remedy.SPEC], do=partial(self._ways.ask, failure.request))
        elif isinstance(error, NotAShard) and not is_address(failure.uri):
            # Files are shown in any case: this is a folder that is no data set.
            self._bar.tell(text, Tone.ERROR, action=self.tr("Pack it…"), do=partial(self._pack, (failure.uri,)))
        else:
            action, do = self._way_out(failure.request, error, partial(self._session.open, failure.request))
            self._bar.tell(text, Tone.ERROR, action=action, do=do)

    def _way_out(
        self, request: OpenRequest, error: BaseException, again: Callable[[], object]
    ) -> tuple[str, Callable[[], object]]:
        """The one button of what could not be opened or read: its words, and what it does.

        Args:
            request: What, and how.
            error: Why.
            again: Opens it once more, where nothing else helps.
        """
        if isinstance(error, LargeRead):
            words = self.tr("Fetch {0}").format(size_text(error.size))
            return words, partial(self._session.open, request, agreed=True)
        remedy = error.remedy if isinstance(error, RemoteError) else None
        if request.is_remote and remedy is Remedy.RIGHTS and who_of(request.remote) is not Who.ANONYMOUS:
            return ACTIONS[Remedy.RIGHTS], partial(self._connecting.try_anonymous, request)
        if request.is_remote and remedy in (Remedy.PROFILE, Remedy.RIGHTS):
            return ACTIONS[Remedy.PROFILE], partial(self._connecting.ask, request, Who.PROFILE)
        if request.is_remote and remedy in (Remedy.RENEW, Remedy.REGION, Remedy.HOST):
            return ACTIONS[remedy], partial(self._connecting.ask, request)
        if isinstance(error, (CredentialsRefused, NoSuchObject)) and request.is_remote:
            return ACTIONS[Remedy.HOST if isinstance(error, NoSuchObject) else Remedy.RENEW], partial(
                self._connecting.ask, request
            )
        return ACTIONS[Remedy.REOPEN if remedy is Remedy.REOPEN else Remedy.AGAIN], again

    def tell_damage(self) -> None:
        """Tells of the damage of what is open, once; nothing when there is none."""
        shard = self._session.shard
        damage = shard.damage if shard is not None else None
        if shard is None or damage is None or damage is self._told_damage:
            return
        if self._session.request.changes:
            return  # the sandbox tells what its changes do
        self._tells_source, self._told_damage = False, damage
        if self._ways.fits_not(shard):
            self._bar.tell(
                f"{no_fit()}: {grouped(damage.placed)}.", Tone.WARNING, action=self.tr("Change…"), do=self._ways.change
            )
            return
        if isinstance(damage, NotAShard):
            text = self.tr("Not a shard: {0}. Its bytes can be looked at.").format(plain_words(damage))
        else:
            text = self.tr("Damaged: {0}. Everything else can still be looked at.").format(plain_words(damage))
        show = partial(self._show, damage) if damage.span is not None else None
        self._bar.tell(text, Tone.ERROR, action=self.tr("Show the place") if show else "", do=show)

    def _show(self, damage: ShardError) -> None:
        if damage.span is not None:
            self._session.select_span(damage.span)
            self._to_bytes()

    def _source_trouble(self, error: BaseException | None) -> None:
        if error is None:
            # Other messages stay: the file being fine again does not mend what is damaged in it.
            if self._tells_source:
                self._bar.clear()
            self._tells_source = False
            return
        self._tells_source = True
        action = ACTIONS[Remedy.REOPEN]
        do: Callable[[], object] = self._session.reload
        if isinstance(error, RemoteError):
            text = self.tr("{0}. What is here can still be looked at.").format(plain_words(error))
            action, do = self._way_out(self._session.request, error, self._session.reload)
        else:
            text = self.tr("{0}. What is shown may be old.").format(plain_words(error))
        self._bar.tell(text, Tone.WARNING, action=action, do=do)
