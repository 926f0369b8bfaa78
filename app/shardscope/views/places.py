"""Panel *Places*: shards of the data set or folder, recent files, samples, remote stores."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    QPoint,
    QRect,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QIcon, QKeyEvent, QPainter, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QCommandLinkButton,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from shardcore import Cancelled, DataSet, Folder, Member, RemoteOptions, Shard, SourceError, Span
from shardcore.dataclasses import dataclass
from shardcore.model.span import SourceName
from shardcore.model.text import plural, shell_line, shown, typed
from shardcore.shards.registry import all_formats
from shardcore.sources.base import Entry, on_failure
from shardcore.sources.location import folder_of
from shardcore.sources.remote.address import is_address, parse_address
from shardcore.teaching import resource_paths
from shardscope.session.connections import login_text
from shardscope.session.display_text import error_text
from shardscope.session.jobs import Job, JobPriority
from shardscope.session.open_request import file_of, listed_members, name_of
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.widgets import theme
from shardscope.widgets.clipboard import copy_text
from shardscope.widgets.deferred_signals import WhileVisible
from shardscope.widgets.elided_label import cut_text
from shardscope.widgets.layouts import grid_in, lay, made
from shardscope.widgets.plain_text import plain_label, tip
from shardscope.widgets.sample_names import sample_title
from shardscope.widgets.scroll_area import ScrollArea
from shardscope.widgets.table import LEFT, Index, context_menu

# --- the list ---


@dataclass(frozen=True, slots=True)
class PlaceEntry:
    """Entry of the list; `where` is the name of a shard or what to open, as path or URI. `size` is -1 if unknown."""

    where: str
    title: str
    detail: str = ""
    size: int = -1
    level: int = 0


class MemberPlaces(Sequence[PlaceEntry]):
    """Entries for the shards of a data set, sorted by name; created on access, one at a time."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members

    def __len__(self) -> int:
        return len(self._members)

    def __getitem__(self, number: Any) -> Any:
        member = self._members[number]
        return PlaceEntry(member.name, member.name, size=member.size)

    def number_of(self, where: str) -> int | None:
        number = bisect_left(self._members, where, key=attrgetter("name"))
        return number if number < len(self) and self._members[number].name == where else None


class PlaceModel(QAbstractListModel):
    """List of files, folders and addresses to open; `count_of` and `problem_of` must be fast: painting calls them."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.places: Sequence[PlaceEntry] = ()
        self.count_of: Callable[[str], int | None] = lambda _: None
        self.problem_of: Callable[[str], str] = lambda _: ""
        self._shown: Sequence[int] = ()
        self._text = ""
        self.here = ""

    def fill(self, places: Sequence[PlaceEntry], text: str = "") -> None:
        self.beginResetModel()
        self.places, self._text = places, text.casefold()
        self._shown = self._matching(range(len(places)))
        self.endResetModel()

    def added(self, count: int) -> None:
        """Show `count` entries that were appended to `places`."""
        new = self._matching(range(len(self.places) - count, len(self.places)))
        if new:
            before = len(self._shown)
            self.beginInsertRows(QModelIndex(), before, before + len(new) - 1)
            self._shown = range(len(self.places)) if not self._text else [*self._shown, *new]
            self.endInsertRows()

    def set_filter(self, text: str) -> None:
        if text.casefold() != self._text:
            self.fill(self.places, text)

    def _matching(self, numbers: range) -> Sequence[int]:
        if not self._text:
            return numbers
        return [n for n in numbers if self._text in self.places[n].title.casefold()]

    def set_here(self, where: str) -> None:
        if where != self.here:
            self.here = where
            self.refresh()

    def refresh(self) -> None:
        if self._shown:
            self.dataChanged.emit(self.index(0), self.index(len(self._shown) - 1))

    def place(self, index: Index) -> PlaceEntry:
        return self.places[self._shown[index.row()]]

    def row_of(self, where: str) -> int | None:
        if isinstance(self.places, MemberPlaces):
            number = self.places.number_of(where)
            row = bisect_left(self._shown, number) if number is not None else len(self._shown)
            return row if row < len(self._shown) and self._shown[row] == number else None
        return next((row for row, n in enumerate(self._shown) if self.places[n].where == where), None)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._shown)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        place = self.place(index)
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return shown(place.title)
            case Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleDescriptionRole:
                parts = [place.where, self.detail(place), self.problem_of(place.where)]
                return tip("\n".join(part for part in parts if part))
        return None

    def detail(self, place: PlaceEntry) -> str:
        count = self.count_of(place.where)
        parts = [place.detail]
        if place.size >= 0:
            parts.append(plural(place.size, "byte"))
        if count is not None:
            parts.append(plural(count, "object"))
        return "  ·  ".join(part for part in parts if part)


INDENT = 16


class PlaceDelegate(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, 2 * option.fontMetrics.height() + 12)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model: PlaceModel = index.model()  # type: ignore[assignment]
        place, problem = model.place(index), shown(model.problem_of(model.place(index).where))
        view, rect, metrics, colours = option.widget, option.rect, option.fontMetrics, theme.of(option.widget)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        strong = colours.base if selected and view.hasFocus() else None
        painter.save()
        if selected:
            painter.fillRect(rect, theme.selected(view)[0])
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, colours.hover)
        if place.where == model.here:
            painter.fillRect(rect.adjusted(0, 3, 3 - rect.width(), -3), strong or colours.accent)
        inside = rect.adjusted(12 + INDENT * place.level, 5, -10, -5)
        half = inside.height() // 2
        below = f"✖ {problem}" if problem else shown(model.detail(place))
        painter.setFont(option.font)
        for y, text, colour in (
            (inside.y(), shown(place.title), colours.text),
            (inside.y() + half, below, colours.error if problem else colours.muted),
        ):
            painter.setPen(strong or colour)
            line = QRect(inside.x(), y, inside.width(), half)
            painter.drawText(line, LEFT, cut_text(metrics, text, inside.width()))
        painter.restore()


class PlaceList(QListView):
    gone = Signal(QModelIndex)

    def __init__(self, model: PlaceModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "placeList", accessibleName=self.tr("Places"), frameShape=QFrame.Shape.NoFrame)
        made(self, uniformItemSizes=True, mouseTracking=True, editTriggers=QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setItemDelegate(PlaceDelegate(self))
        self.setModel(model)
        self.clicked.connect(self.gone)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.gone.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)


# --- folders of a store ---


UP = ".."

_Page = tuple[Folder, Iterator[list[Entry]], list[Entry] | None]
"""Folder, its remaining pages, and the entries of a page; None after the last page."""


class FolderBrowser(QObject):
    """Lists a folder of a remote store page by page, in jobs; `listed` carries the number of new entries."""

    moved = Signal()
    listed = Signal(int)

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._folder: Folder | None = None
        self._pages: Iterator[list[Entry]] | None = None
        self._way: RemoteOptions | None = None
        self.uri, self.problem = "", ""
        self.places: list[PlaceEntry] = []
        self.more = False

    def go(self, uri: str, way: RemoteOptions | None = None) -> Job:
        self._leave()
        self._way = way if way is not None else self._session.documents.reach(uri)
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
        if self._pages is not None and self.more and self._session.jobs.newest(("browse", self)) is None:
            self._ask()

    def _leave(self) -> None:
        self._session.jobs.cancel(("browse", self))
        folder, self._folder, self._pages = self._folder, None, None
        if folder is not None:
            jobs = self._session.jobs
            jobs.submit(lambda _: folder.close(), priority=JobPriority.PREFETCH, lasting=True, done=lambda *_: None)

    def _ask(self) -> Job:
        uri, folder, pages, way = self.uri, self._folder, self._pages, self._way

        def work(_: Job) -> _Page:
            if folder is not None and pages is not None:
                return folder, pages, next(pages, None)
            made = folder_of(uri, way)
            with on_failure(made.close):
                if not made.listable:
                    raise SourceError("web servers do not list files")
                begun = made.pages()
                return made, begun, next(begun, None)

        def done(found: _Page | None, error: BaseException | None) -> None:
            if found is None:
                if not isinstance(error, Cancelled) and uri == self.uri:
                    self.more, self.problem = False, error_text(error)
                    self.listed.emit(0)
                return
            self._folder, self._pages, entries = found
            self.more = entries is not None
            places = [_place(uri, entry) for entry in entries or ()]
            self.places.extend(places)
            self.listed.emit(len(places))

        return self._session.jobs.submit(
            work,
            key=("browse", self),
            priority=JobPriority.SELECTED,
            lasting=True,
            done=done,
            discard=lambda found: found[0].close() if found[0] is not folder else None,
        )


def _place(uri: str, entry: Entry) -> PlaceEntry:
    if entry.is_folder:
        detail = QCoreApplication.translate("FolderBrowser", "folder")
        return PlaceEntry(f"{uri}{entry.name}/", f"{entry.name}/", detail)
    return PlaceEntry(f"{uri}{entry.name}", entry.name, size=entry.size)


MOST_CARDS = 60
MOST_LISTED_FILES = 100_000

NEAR_THE_END = 100
"""Number of rows before the end of the list at which the next page is requested."""


class Group(Enum):
    NEAR = "Folder", "file", "No other shards in this folder."
    RECENT = "Recent", "recent file", "No recent files."
    SAMPLES = "Samples", "sample", "No samples."
    REMOTE = "Remote", "address", "Buckets and servers that you open (Ctrl+U) are listed here."

    def __init__(self, title: str, noun: str, nothing: str) -> None:
        self.title, self.noun, self.nothing = title, noun, nothing


class PlacesPanel(QWidget):
    chosen = Signal(object)

    def __init__(self, session: Session, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "places", accessibleName=self.tr("Places"))
        self._session = session
        self._settings = settings
        self._near: Sequence[PlaceEntry] = ()
        self._status = ""
        self.browsing = FolderBrowser(session, self)
        self.groups = made(QComboBox(self), "placeGroups", accessibleName=self.tr("Kinds of places"))
        self.groups.addItems([group.title for group in Group])
        about, hint = self.tr("Filter places"), self.tr("Filter by name")
        self.filter = made(QLineEdit(self), accessibleName=about, placeholderText=hint, clearButtonEnabled=True)
        self.model = PlaceModel(self)
        self.list = made(PlaceList(self.model, self), contextMenuPolicy=Qt.ContextMenuPolicy.CustomContextMenu)
        self.note = made(plain_label("", wrap=True, quiet=True), accessibleName=self.tr("Number of places"))
        self.note.setContentsMargins(10, 4, 10, 4)
        head = lay(QHBoxLayout(), self.groups, (self.filter, 1), margins=(8, 6, 8, 6), spacing=6)
        lay(QVBoxLayout(self), head, (self.list, 1), self.note)
        self.setFocusProxy(self.list)
        for signal, slot in (
            (self.groups.currentIndexChanged, lambda _: self._refill()),
            (self.filter.textChanged, self._filter_changed),
            (self.list.gone, self._go),
            (self.list.doubleClicked, self._open_alone),
            (self.list.verticalScrollBar().valueChanged, lambda _: self._want_more()),
            (self.list.customContextMenuRequested, self._open_menu),
            (self.browsing.moved, self._browse_moved),
            (self.browsing.listed, self._browse_listed),
            (session.opened, self._opened),
            (session.closed, self._closed),
            (session.index.changed, lambda _: self._learn()),
        ):
            signal.connect(slot)
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
        kind = "Key spaces" if spaces else "Shards" if isinstance(shard, DataSet) else Group.NEAR.title
        self.groups.setItemText(0, kind)
        if spaces and isinstance(shard, DataSet):
            self._near = [PlaceEntry(_inside(shard.folder, folder), folder, what) for folder, what in spaces.items()]
        elif isinstance(shard, DataSet):
            self._near = MemberPlaces(listed_members(shard))
        elif (source := shard.source) is not None and source.folder is not None:
            if not is_address(source.folder.uri):
                self._list_folder(source.folder, source.name)
            elif source.folder.listable:
                self.browsing.go(source.folder.uri, self._session.request.remote)
            else:
                self._status = self.tr("Web servers do not list files.")
        self.groups.setCurrentIndex(0)
        self.filter.clear()
        self._show_opened()

    def _closed(self) -> None:
        self._near, self._status = (), ""
        self.browsing.stop()
        self._show_opened()

    def _show_opened(self) -> None:
        self._learn()
        self.model.set_here(self._here())
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
        data_set = shard if isinstance(shard, DataSet) else None
        unreadable = data_set.unreadable if data_set is not None else {}
        self.model.count_of = data_set.objects_in if data_set is not None else lambda _: None
        self.model.problem_of = lambda name: str(unreadable.get(name, ""))
        self.model.refresh()

    # --- the list ---

    def _refill(self) -> None:
        match self.group:
            case Group.NEAR:
                places = self.browsing.places if self.browsing.uri else self._near
            case Group.RECENT:
                places = recent_places(self._settings)
            case Group.SAMPLES:
                main = resource_paths.Role.MAIN
                samples = resource_paths.samples()
                places = [
                    PlaceEntry(str(one.path), sample_title(one), one.about, level=one.role is not main)
                    for one in samples
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
        total, count = len(self.model.places), self.model.rowCount()
        if self.group is Group.NEAR and self._status:
            text = self._status
        elif self.group is Group.NEAR and self.browsing.uri:
            text = self._browsed(count)
        elif not total:
            text = self.group.nothing
        else:
            every = plural(total, self._noun)
            text = f"{count:,} of {every}" if count != total else every
        self.note.setText(shown(text))

    @property
    def _noun(self) -> str:
        shard = self._session.shard
        if self.group is Group.NEAR and isinstance(shard, DataSet):
            return "key space" if shard.key_spaces else "member"
        return self.group.noun

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

    def _browse_listed(self, count: int) -> None:
        if self.group is Group.NEAR and self.model.places is self.browsing.places:
            self.model.added(count)
            if self.list.verticalScrollBar().value() == 0 and not self.list.selectionModel().hasSelection():
                self._to_here()
        self._show_status()
        # A page may not fill the list, for example when it is filtered.
        QTimer.singleShot(0, self, self._want_more)

    def _want_more(self) -> None:
        if self.group is Group.NEAR and self.browsing.uri and self.isVisible():
            last = self.list.indexAt(QPoint(1, self.list.viewport().height() - 1)).row()
            if last < 0 or last + NEAR_THE_END >= self.model.rowCount():
                self.browsing.want_more()

    def _data_set_of(self, place: PlaceEntry) -> DataSet | None:
        """Return the open data set if the entry is one of its shards, else None."""
        shard = self._session.shard
        if self.group is Group.NEAR and isinstance(shard, DataSet) and place.title not in shard.key_spaces:
            return shard
        return None

    def _go(self, index: Index) -> None:
        place = self.model.place(index)
        if self.group is Group.REMOTE or (self.group is Group.NEAR and self.browsing.uri and place.where.endswith("/")):
            self.browsing.go(place.where)
        elif self._data_set_of(place) is None:
            if place.where != self._here():
                self.chosen.emit(place.where)
        elif problem := self.model.problem_of(place.where):
            self._session.say(self.tr("Cannot read {0}: {1}").format(place.title, problem), failed=True)
        else:
            self._session.select_span(Span(str(SourceName(place.where)), 0, min(place.size, 1)), self)
            self._follow(self._session.selection)

    def _open_alone(self, index: Index) -> None:
        place = self.model.place(index)
        if (data_set := self._data_set_of(place)) is not None:
            self.chosen.emit(_inside(data_set.folder, place.where))

    def _open_menu(self, place: QPoint) -> None:
        index = self.list.indexAt(place)
        if index.isValid():
            self.menu_of(index).popup(self.list.viewport().mapToGlobal(place))

    def menu_of(self, index: Index) -> QMenu:
        place = self.model.place(index)
        data_set = self._data_set_of(place)
        uri = place.where if data_set is None else _inside(data_set.folder, place.where)
        command = shell_line(["shardcore", "info", typed(uri)])
        entries = [
            (self.tr("&Go there"), lambda: self._go(index)),
            (self.tr("&Open alone"), lambda: self.chosen.emit(uri)),
            None,
            (self.tr("Copy &name"), lambda: copy_text(place.title)),
            (self.tr("Copy &address"), lambda: copy_text(uri)),
            (self.tr("Copy as &shardcore command"), lambda: copy_text(command)),
        ]
        menu = context_menu(self, entries)
        menu.actions()[1].setEnabled(uri != place.where)
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
        if (here := self._here()) != self.model.here:
            self.model.set_here(here)
            self._to_here()

    def _to_here(self) -> None:
        row = self.model.row_of(self.model.here) if self.model.here else None
        if row is not None:
            self.list.setCurrentIndex(self.model.index(row))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        QTimer.singleShot(0, self, self._want_more)


def shards_in(folder: Folder, name: str, job: Job) -> list[PlaceEntry]:
    """Return the files of a folder with the suffix of a known format or of the open file. Runs in a job."""
    endings = {suffix for one in all_formats() for suffix in one.suffixes} | {PurePosixPath(name).suffix}
    found = []
    for entry in folder.list():
        job.check()
        if not entry.is_folder and PurePosixPath(entry.name).suffix in endings:
            found.append(PlaceEntry(_inside(folder, entry.name), entry.name, size=entry.size))
            if len(found) == MOST_LISTED_FILES:
                break
    return found


class KeySpaceCards(ScrollArea):
    chosen = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        made(self, "keySpaces", accessibleName=self.tr("Key spaces"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)

    def fill(self, shard: DataSet) -> None:
        page, title = QWidget(), QLabel(self.tr("Choose a key space"))
        grid = grid_in(page, 10, 10, (16, 16, 16, 16))
        grid.addWidget(title, 0, 0)
        for number, node in enumerate(shard.tree.children[:MOST_CARDS]):
            # Break lines only between details.
            facts = shown(node.doc).replace(" ", "\u00a0").replace("·\u00a0", "· ")
            card = made(QCommandLinkButton(shown(node.name), facts), icon=QIcon())
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
    return [PlaceEntry(uri, name_of(uri), folder_text(uri)) for uri in settings.recent]


def folder_text(uri: str) -> str:
    if is_address(uri):
        return uri
    folder, home = str(Path(file_of(uri)).parent), str(Path.home())
    return f"~{folder[len(home) :]}" if folder.startswith(home) else folder
