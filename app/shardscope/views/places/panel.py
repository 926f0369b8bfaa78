"""Panel *Places*: shards of the data set or folder, recent files, samples, remote stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path, PurePosixPath

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QIcon, QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QCommandLinkButton,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from shardcore import Cancelled, DataSet, Folder, RemoteOptions, Shard, SourceError, Span
from shardcore.model.span import SourceName
from shardcore.model.text import plural, shell_line, typed
from shardcore.model.text import shown as shown_text
from shardcore.shards.registry import all_formats
from shardcore.sources.base import Entry
from shardcore.sources.location import folder_of
from shardcore.sources.remote.address import is_address, parse_address
from shardcore.teaching import resource_paths
from shardscope.session.connections import login_text
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.open_request import file_of, listed_members, name_of
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.views.places.place_list import PlaceList
from shardscope.widgets import theme
from shardscope.widgets.clipboard import copy_text
from shardscope.widgets.deferred_signals import WhileVisible
from shardscope.widgets.location_model import MemberPlaces, PlaceEntry, PlaceModel
from shardscope.widgets.sample_names import sample_title

UP = ".."


class FolderBrowser(QObject):
    """Lists a folder of a remote store page by page, in jobs; `listed(places)` follows each page."""

    moved = Signal()
    listed = Signal(object)
    status_changed = Signal()

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
        self.places = [] if above is None else [PlaceEntry(above.shown, UP, self.tr("Parent folder"))]
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
                    self.more, self.problem = False, error_text(error)
                    self.status_changed.emit()
                return
            self._folder, self._pages, entries = found
            self.more = entries is not None
            places = [_place(uri, entry) for entry in entries or ()]
            self.places.extend(places)
            self.listed.emit(places)
            self.status_changed.emit()

        return self._session.jobs.submit(
            work,
            key=("browse", self),
            priority=JobPriority.SELECTED,
            lasting=True,
            done=done,
            discard=lambda found: found[0].close() if found[0] is not folder else None,
        )


def _opened(uri: str, way: RemoteOptions | None) -> Folder:
    folder = folder_of(uri, way)
    if not folder.listable:
        folder.close()
        raise SourceError("web servers do not list files")
    return folder


def _ended(_: object, error: BaseException | None) -> None:
    """Ignore the result of closing a folder."""


def _place(uri: str, entry: Entry) -> PlaceEntry:
    if entry.is_folder:
        detail = QCoreApplication.translate("FolderBrowser", "folder")
        return PlaceEntry(f"{uri}{entry.name}/", f"{entry.name}/", detail)
    return PlaceEntry(f"{uri}{entry.name}", entry.name, size=entry.size)


MOST_CARDS = 60

MOST_FILES = 100_000
"""Maximum number of files listed."""

NEAR_THE_END = 100
"""Number of rows before the end of the list at which the next page is requested."""

Index = QModelIndex | QPersistentModelIndex


class Group(Enum):
    NEAR = "Folder"
    RECENT = "Recent"
    SAMPLES = "Samples"
    REMOTE = "Remote"


class PlacesPanel(QWidget):
    chosen = Signal(object)

    def __init__(self, session: Session, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("places")
        self.setAccessibleName(self.tr("Places"))
        self._session = session
        self._settings = settings
        self._near: Sequence[PlaceEntry] = ()
        self._status = ""
        self.browsing = FolderBrowser(session, self)
        self.groups = QComboBox(self)
        self.groups.setObjectName("placeGroups")
        self.groups.setAccessibleName(self.tr("Kinds of places"))
        self.groups.addItems([group.value for group in Group])
        self.filter = QLineEdit(self)
        self.filter.setPlaceholderText(self.tr("Filter by name"))
        self.filter.setAccessibleName(self.tr("Filter places"))
        self.filter.setClearButtonEnabled(True)
        self.model = PlaceModel(self)
        self.list = PlaceList(self.model, self)
        self.note = QLabel(self)
        self.note.setContentsMargins(10, 4, 10, 4)
        self.note.setWordWrap(True)
        # File names and errors are not markup.
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.note.setAccessibleName(self.tr("Number of places"))
        head = QHBoxLayout()
        head.setContentsMargins(8, 6, 8, 6)
        head.setSpacing(6)
        head.addWidget(self.groups)
        head.addWidget(self.filter, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.list, 1)
        column.addWidget(self.note)
        self.setFocusProxy(self.list)
        self.groups.currentIndexChanged.connect(lambda _: self._refill())
        self.filter.textChanged.connect(self._filter_changed)
        self.list.gone.connect(self._go)
        self.list.verticalScrollBar().valueChanged.connect(lambda _: self._want_more())
        self.browsing.moved.connect(self._browse_moved)
        self.browsing.listed.connect(self._browse_listed)
        self.browsing.status_changed.connect(self._browse_status_changed)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._open_menu)
        session.opened.connect(self._opened)
        session.closed.connect(self._closed)
        session.index_changed.connect(lambda _: self._learn())
        WhileVisible(session.selection_changed, self, self._follow)
        self._refill()

    @property
    def group(self) -> Group:
        return list(Group)[self.groups.currentIndex()]

    def refresh_recent(self) -> None:
        if self.group is Group.RECENT:
            self._refill()

    # --- what is open ---

    def _opened(self, shard: Shard) -> None:
        self._near, self._status = (), ""
        self.browsing.stop()
        spaces = shard.key_spaces if isinstance(shard, DataSet) else {}
        kind = "Key spaces" if spaces else "Shards" if isinstance(shard, DataSet) else Group.NEAR.value
        self.groups.setItemText(0, kind)
        if spaces and isinstance(shard, DataSet):
            self._near = [PlaceEntry(_inside(shard.folder, folder), folder, what) for folder, what in spaces.items()]
        elif isinstance(shard, DataSet):
            self._near = MemberPlaces(listed_members(shard))
        elif shard.source is not None and shard.source.folder is not None and is_address(shard.source.folder.uri):
            if shard.source.folder.listable:
                self.browsing.go(shard.source.folder.uri, self._session.request.remote)
            else:
                self._status = self.tr("Web servers do not list files.")
        elif shard.source is not None and shard.source.folder is not None:
            self._list_folder(shard.source.folder, shard.source.name)
        self.groups.setCurrentIndex(0)
        self.filter.clear()
        self._learn()
        self.model.set_here(self._here())
        self._refill()

    def _closed(self) -> None:
        self._near, self._status = (), ""
        self.browsing.stop()
        self._learn()
        self.model.set_here("")
        self._refill()

    def _list_folder(self, folder: Folder, name: str) -> None:
        self._status = "Listing …"

        def take(found: Sequence[PlaceEntry]) -> None:
            self._near, self._status = found, ""
            self._refill()

        def failed(error: BaseException) -> None:
            self._status = f"Cannot list the folder: {error_text(error)}"
            self._refill()

        self._session.ask(
            lambda _, job: shards_in(folder, name, job),
            take,
            failed=failed,
            key=("folder", self),
            priority=JobPriority.PREFETCH,
        )

    def _learn(self) -> None:
        shard = self._session.shard
        if isinstance(shard, DataSet):
            unreadable = shard.unreadable
            self.model.count_of = shard.objects_in
            self.model.problem_of = lambda name: str(unreadable[name]) if name in unreadable else ""
        else:
            self.model.count_of = lambda _: None
            self.model.problem_of = lambda _: ""
        self.model.refresh()

    # --- the list ---

    def _refill(self) -> None:
        match self.group:
            case Group.NEAR:
                places = self.browsing.places if self.browsing.uri else self._near
            case Group.RECENT:
                places = recent_places(self._settings)
            case Group.SAMPLES:
                places = [
                    PlaceEntry(
                        str(one.path), sample_title(one), one.about, level=one.role is not resource_paths.Role.MAIN
                    )
                    for one in resource_paths.samples()
                ]
            case Group.REMOTE:
                places = [PlaceEntry(one, one, login_text(way)) for one, way in self._settings.connections.items()]
        self.model.fill(places, self.filter.text().strip())
        self._to_here()
        self._show_status()

    def _filter_changed(self, text: str) -> None:
        self.model.set_filter(text.strip())
        self._show_status()

    def _show_status(self) -> None:
        total, shown = len(self.model.places), self.model.rowCount()
        if self.group is Group.NEAR and self._status:
            text = self._status
        elif self.group is Group.NEAR and self.browsing.uri:
            text = self._browsed(shown)
        elif not total:
            text = {
                Group.NEAR: "No other shards in this folder.",
                Group.RECENT: "No recent files.",
                Group.SAMPLES: "No samples.",
                Group.REMOTE: "Buckets and servers that you open (Ctrl+U) are listed here.",
            }[self.group]
        else:
            text = f"{shown:,} of {plural(total, self._noun)}" if shown != total else plural(total, self._noun)
        self.note.setText(shown_text(text))

    @property
    def _noun(self) -> str:
        shard = self._session.shard
        if self.group is not Group.NEAR:
            return {Group.RECENT: "recent file", Group.SAMPLES: "sample", Group.REMOTE: "address"}[self.group]
        if isinstance(shard, DataSet):
            return "key space" if shard.key_spaces else "member"
        return "file"

    # --- folders of a store ---

    def _browsed(self, count: int) -> str:
        browsing = self.browsing
        if browsing.problem:
            return f"{browsing.uri}: {browsing.problem}"
        words = plural(max(count - any(one.title == UP for one in browsing.places[:1]), 0), "name")
        return f"{browsing.uri}: {words}{' so far; more when you scroll' if browsing.more else ''}"

    def _browse_moved(self) -> None:
        self.groups.setCurrentIndex(0)
        self.filter.clear()
        self._status = ""
        self._refill()

    def _browse_listed(self, places: Sequence[PlaceEntry]) -> None:
        if self.group is Group.NEAR and self.model.places is self.browsing.places:
            self.model.added(len(places))
            self._to_here_once()
        self._browse_status_changed()

    def _browse_status_changed(self) -> None:
        self._show_status()
        # A page may not fill the list, for example when it is filtered.
        QTimer.singleShot(0, self, self._want_more)

    def _want_more(self) -> None:
        if self.group is Group.NEAR and self.browsing.uri and self.isVisible():
            last = self.list.indexAt(QPoint(1, self.list.viewport().height() - 1)).row()
            if last < 0 or last + NEAR_THE_END >= self.model.rowCount():
                self.browsing.want_more()

    def _to_here_once(self) -> None:
        if self.list.verticalScrollBar().value() == 0 and not self.list.selectionModel().hasSelection():
            self._to_here()

    def _go(self, index: Index) -> None:
        place = self.model.place(index)
        if self.group is Group.REMOTE or (self.group is Group.NEAR and self.browsing.uri and place.where.endswith("/")):
            self.browsing.go(place.where)
            return
        shard = self._session.shard
        if self.group is not Group.NEAR or not isinstance(shard, DataSet) or place.title in shard.key_spaces:
            if place.where != self._here():
                self.chosen.emit(place.where)
            return
        problem = self.model.problem_of(place.where)
        if problem:
            self._session.say(self.tr("Cannot read {0}: {1}").format(place.title, problem), failed=True)
            return
        self._session.select_span(Span(str(SourceName(place.where)), 0, min(place.size, 1)), self)

    def _open_menu(self, place: QPoint) -> None:
        index = self.list.indexAt(place)
        if index.isValid():
            self.menu_of(index).popup(self.list.viewport().mapToGlobal(place))

    def menu_of(self, index: Index) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        place = self.model.place(index)
        shard = self._session.shard
        uri = place.where
        if self.group is Group.NEAR and isinstance(shard, DataSet) and place.title not in shard.key_spaces:
            uri = _inside(shard.folder, place.where)
        menu.addAction(self.tr("&Go there"), lambda: self._go(index))
        menu.addAction(self.tr("&Open alone"), lambda: self.chosen.emit(uri)).setEnabled(uri != place.where)
        menu.addSeparator()
        menu.addAction(self.tr("Copy &name"), lambda: copy_text(place.title))
        menu.addAction(self.tr("Copy &address"), lambda: copy_text(uri))
        menu.addAction(
            self.tr("Copy as &shardcore command"), lambda: copy_text(shell_line(["shardcore", "info", typed(uri)]))
        )
        return menu

    def _here(self) -> str:
        shard = self._session.shard
        if isinstance(shard, DataSet):
            span = self._session.selection.span
            return SourceName.parse(span.source).path if span is not None else ""
        source = shard.source if shard is not None else None
        if source is None:
            return ""
        return _inside(source.folder, source.name) if source.folder is not None else source.uri

    def _follow(self, selection: Selection) -> None:
        here = self._here()
        if here == self.model.here:
            return
        self.model.set_here(here)
        self._to_here()

    def _to_here(self) -> None:
        row = self.model.row_of(self.model.here) if self.model.here else None
        if row is not None:
            self.list.setCurrentIndex(self.model.index(row))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        QTimer.singleShot(0, self, self._want_more)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "note"):
            sheet = f"color: {theme.of(self).muted.name()};"
            if sheet != self.note.styleSheet():
                self.note.setStyleSheet(sheet)


def shards_in(folder: Folder, name: str, job: Job) -> list[PlaceEntry]:
    """Return the files of a folder with the suffix of a known format or of the open file. Runs in a job."""
    endings = {suffix for one in all_formats() for suffix in one.suffixes} | {PurePosixPath(name).suffix}
    found = []
    for entry in folder.list():
        job.check()
        if not entry.is_folder and PurePosixPath(entry.name).suffix in endings:
            found.append(PlaceEntry(_inside(folder, entry.name), entry.name, size=entry.size))
            if len(found) == MOST_FILES:
                break
    return found


class KeySpaceCards(QScrollArea):
    chosen = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("keySpaces")
        self.setAccessibleName(self.tr("Key spaces"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)

    def fill(self, shard: DataSet) -> None:
        page, title = QWidget(), QLabel(self.tr("Choose a key space"))
        grid = QGridLayout(page)
        grid.setContentsMargins(16, 16, 16, 16)
        grid.setSpacing(10)
        grid.addWidget(title, 0, 0)
        for number, node in enumerate(shard.tree.children[:MOST_CARDS]):
            # Break lines only between details.
            facts = shown_text(node.doc).replace(" ", "\u00a0").replace("·\u00a0", "· ")
            card = QCommandLinkButton(shown_text(node.name), facts)
            card.setIcon(QIcon())
            card.setCursor(Qt.CursorShape.PointingHandCursor)
            where = _inside(shard.folder, node.name)
            card.clicked.connect(lambda _=False, where=where: self.chosen.emit(where))
            grid.addWidget(card, 1 + number // 2, number % 2)
            if not number:
                self.setFocusProxy(card)
        grid.setRowStretch(grid.rowCount(), 1)
        self.setWidget(page)


def _inside(folder: Folder, name: str) -> str:
    return f"{folder.uri.rstrip('/')}/{name}"


def recent_places(settings: Settings) -> list[PlaceEntry]:
    return [PlaceEntry(uri, name_of(uri), _folder_of(uri)) for uri in settings.recent]


def _folder_of(uri: str) -> str:
    if is_address(uri):
        return uri
    folder, home = str(Path(file_of(uri)).parent), str(Path.home())
    return f"~{folder[len(home) :]}" if folder.startswith(home) else folder
