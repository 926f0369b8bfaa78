"""Walks through the folders of a store, a page at a time: a folder may have a million names."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, QObject, Signal

from shardcore import Cancelled, Folder, RemoteOptions, SourceError
from shardcore.sources.base import Entry
from shardcore.sources.location import folder_of
from shardcore.sources.remote.address import parse_address
from shardcore.sources.remote.source import RemoteFolder
from shardscope.session.error_words import plain_words
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.session import Session
from shardscope.widgets.place_model import PlaceEntry

UP = ".."


class FolderBrowser(QObject):
    moved = Signal()
    listed = Signal(object)
    told = Signal()

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._folder: Folder | None = None
        self._pages: Iterator[list[Entry]] | None = None
        self._way: RemoteOptions | None = None
        self.uri, self.problem = "", ""
        self.places: list[PlaceEntry] = []
        self.more = False

    @property
    def busy(self) -> bool:
        return self._session.jobs.newest(("browse", self)) is not None

    def go(self, uri: str, way: RemoteOptions | None = None) -> Job:
        self._leave()
        self._way = way if way is not None else self._session.reach(uri)
        address = parse_address(uri)
        self.uri, self.problem, self.more = address.shown, "", True
        above = address.parent
        self.places = [] if above is None else [PlaceEntry(above.shown, UP, self.tr("The folder above"))]
        self.moved.emit()
        return self._ask()

    def stop(self) -> None:
        self._leave()
        self.uri, self.places, self.more, self.problem = "", [], False, ""

    def want_more(self) -> None:
        if self._pages is not None and self.more and not self.busy:
            self._ask()

    def _leave(self) -> None:
        if (job := self._session.jobs.newest(("browse", self))) is not None:
            job.cancel()
        folder, self._folder, self._pages = self._folder, None, None
        if folder is not None:
            self._session.jobs.submit(
                lambda _: folder.close(), priority=JobPriority.PREFETCH, lasting=True, done=_ended
            )

    def _ask(self) -> Job:
        uri, folder, pages = self.uri, self._folder, self._pages
        way = self._way

        def work(_: Job) -> tuple[Folder, Iterator[list[Entry]], list[Entry] | None]:
            if folder is not None and pages is not None:
                return folder, pages, next(pages, None)
            made = _opened(uri, way)
            try:
                begun = made.pages()
                return made, begun, next(begun, None)
            except BaseException:
                made.close()
                raise

        def done(
            found: tuple[Folder, Iterator[list[Entry]], list[Entry] | None] | None, error: BaseException | None
        ) -> None:
            if found is None:
                if not isinstance(error, Cancelled) and uri == self.uri:
                    self.more, self.problem = False, plain_words(error)
                    self.told.emit()
                return
            self._folder, self._pages, entries = found
            self.more = entries is not None
            places = [_place(uri, entry) for entry in entries or ()]
            self.places.extend(places)
            self.listed.emit(places)
            self.told.emit()

        return self._session.jobs.submit(
            work,
            key=("browse", self),
            priority=JobPriority.SELECTED,
            lasting=True,
            done=done,
            discard=lambda found: found[0].close() if found[0] is not folder else None,
        )


def _opened(uri: str, way: RemoteOptions | None) -> RemoteFolder:
    folder = folder_of(uri, way)
    if not isinstance(folder, RemoteFolder) or not folder.listable:
        folder.close()
        raise SourceError("web servers cannot list what they have")
    return folder


def _ended(_: object, error: BaseException | None) -> None:
    """Nobody waits for a folder to close."""


def _place(uri: str, entry: Entry) -> PlaceEntry:
    if entry.is_folder:
        detail = QCoreApplication.translate("FolderBrowser", "folder")
        return PlaceEntry(f"{uri}{entry.name}/", f"{entry.name}/", detail)
    return PlaceEntry(f"{uri}{entry.name}", entry.name, size=entry.size)
