"""The main window: docks around the bytes, menus, notices, opening and closing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QIcon,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QMainWindow,
    QMessageBox,
    QRadioButton,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)

from shardcore import DataSet, Depth, RemoteOptions, Shard, Span
from shardcore.model.text import shown
from shardcore.teaching import resource_paths
from shardcore.teaching.lessons.lesson_step import is_fresh
from shardscope.learning.charts.panel import Charts
from shardscope.learning.comparison.window import CompareFormats
from shardscope.learning.sandbox.panel import SandboxPanel
from shardscope.session.display_text import set_decimal
from shardscope.session.highlights import ReferenceQuery
from shardscope.session.jobs import Job, Jobs, JobState
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import IndexState, Session
from shardscope.shell.actions import WindowActions, part_mnemonics
from shardscope.shell.byte_editing import ByteEditing
from shardscope.shell.compact_layout import CompactLayout
from shardscope.shell.docks import ANY_SIZE, PanelDocks
from shardscope.shell.drop_targets import DropTarget, DropTargets
from shardscope.shell.edit_shell import EditShell
from shardscope.shell.error_notices import ErrorNotices
from shardscope.shell.extraction_notices import ExtractionNotices
from shardscope.shell.file_dialogs import FileDialogs
from shardscope.shell.file_tabs import FileTabBar, TabMemory
from shardscope.shell.fixed_size_frame import FixedSizeFrame
from shardscope.shell.help_menu import HelpMenu, about_box
from shardscope.shell.lecture import LectureScreen
from shardscope.shell.lesson_menu import Teaching
from shardscope.shell.notices import Notices, NoticeTone
from shardscope.shell.open_with import OpenAs
from shardscope.shell.panels import PANELS
from shardscope.shell.sandbox_shell import SandboxShell
from shardscope.shell.status_line import StatusLine
from shardscope.shell.top_bar import TopBar
from shardscope.shell.welcome import Welcome
from shardscope.startup.settings import Settings
from shardscope.tasks.connect.connect_task import ConnectTask
from shardscope.tasks.find_key.dialog import FindKeyTask
from shardscope.tasks.new_shard.new_shards import NewShardDialog, NewShards
from shardscope.views.activity import Transfers
from shardscope.views.diff.window import CompareShards
from shardscope.views.hex.actions import HexActions
from shardscope.views.hex.panel import HexPanel
from shardscope.views.hits import HitsTable
from shardscope.views.inspector.panel import Inspector
from shardscope.views.notes import NotesPanel
from shardscope.views.objects.drag_out import DragOut
from shardscope.views.objects.panel import ObjectPanel
from shardscope.views.objects.temporary_files import MOST_FILES, DraggedNode
from shardscope.views.places import KeySpaceCards, PlacesPanel
from shardscope.views.preview.panel import PreviewPanel
from shardscope.views.structure.tree import StructureTree
from shardscope.views.trace.panel import TracePanel
from shardscope.widgets import fonts, playback, theme
from shardscope.widgets.accessible_roles import install_roles
from shardscope.widgets.keyboard import press_focused
from shardscope.widgets.save_picture import ask_picture


class NotesShell(QObject):
    def __init__(
        self, session: Session, panel: NotesPanel, actions: HexActions, settings: Settings, window: QMainWindow
    ) -> None:
        super().__init__(window)
        self._session = session
        self._actions = actions
        actions.note.triggered.connect(lambda _: panel.ask())
        actions.next_note.triggered.connect(lambda _: panel.go())
        actions.previous_note.triggered.connect(lambda _: panel.go(backward=True))
        self.finding = FindKeyTask(session, settings, window)
        self.find_key = QAction(self.tr("Find &key in folder…"), window)
        self.find_key.setShortcut(QKeySequence("Ctrl+Shift+K"))
        self.find_key.triggered.connect(lambda _: self.finding.ask())
        for changed in (session.notes.changed, session.opened, session.closed):
            changed.connect(partial(self._enable))
        self._enable()

    def _enable(self, *_: object) -> None:
        notes = self._session.notes
        self._actions.note.setEnabled(notes.can_change)
        for action in (self._actions.next_note, self._actions.previous_note):
            action.setEnabled(bool(notes.all))


if TYPE_CHECKING:
    from shardscope.startup.single_instance import Handover


_EDITING = (
    QKeySequence.StandardKey.Copy,
    QKeySequence.StandardKey.Cut,
    QKeySequence.StandardKey.Paste,
    QKeySequence.StandardKey.Undo,
    QKeySequence.StandardKey.Redo,
    QKeySequence.StandardKey.SelectAll,
)
_COMMAND = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


class MenuKeys(QObject):
    """Gives shortcuts of the window precedence over text fields (Ctrl+D and Ctrl+E on X11), except editing keys."""

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        for line in window.findChildren(QLineEdit):
            line.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._is_ours(event):
            event.ignore()
            return True
        return super().eventFilter(watched, event)

    def _is_ours(self, event: QKeyEvent) -> bool:
        if not event.modifiers() & _COMMAND or any(event.matches(key) for key in _EDITING):
            return False
        keys = QKeySequence(event.keyCombination())
        return any(
            keys in action.shortcuts() and action.shortcutContext() is Qt.ShortcutContext.WindowShortcut
            for action in self._window.findChildren(QAction)
        )


class LayoutMemory:
    """Saves the layout of the docks, which are hidden while the welcome page is shown."""

    def __init__(self, window: QWidget, panels: PanelDocks, settings: Settings) -> None:
        self._window = window
        self._panels = panels
        self._settings = settings
        # None if no dock was moved yet: the default layout is used when they are first shown.
        self._kept: QByteArray | None = None

    def restore(self) -> None:
        geometry, state = self._settings.layout("geometry"), self._settings.layout("state")
        if geometry is not None:
            self._window.restoreGeometry(geometry)
        if state is not None and self._panels.restore(state):
            self._kept = state

    def keep(self) -> None:
        self._kept = self._panels.state()

    def bring_back(self) -> None:
        if self._kept is None or not self._panels.restore(self._kept):
            self._panels.arrange()

    def save(self) -> None:
        self._settings.set_layout("geometry", self._window.saveGeometry())
        if self._kept is not None:
            self._settings.set_layout("state", self._kept)


def connect_bytes(bytes_: HexPanel, hits: HitsTable, window: MainWindow, settings: Settings) -> None:
    bytes_.state.set_zoom(settings.bytes_zoom)
    bytes_.look_up_wanted.connect(window.trace_key)
    bytes_.extract_wanted.connect(window.extract_row)
    bytes_.search.hits_changed.connect(hits.set_hits)
    bytes_.search.list_wanted.connect(lambda: window.show_part("hits"))
    bytes_.overview.set_schematic(settings.schematic)
    bytes_.search.history.entries = settings.searches
    bytes_.drawings.remembered = settings.sketches
    bytes_.actions_.fields.setChecked(settings.fields_shown)
    bytes_.actions_.fold.setChecked(settings.rows_folded)
    for changed, name in (
        (bytes_.overview.scale_changed, "schematic"),
        (bytes_.search.history.changed, "searches"),
        (bytes_.drawings.remembered_changed, "sketches"),
        (bytes_.actions_.fields.toggled, "fields_shown"),
        (bytes_.actions_.fold.toggled, "rows_folded"),
    ):
        changed.connect(partial(setattr, settings, name))


class Appearance(QObject):
    """Applies theme, zoom and motion of the settings; create it before the first widget, which copies the font."""

    def __init__(self, settings: Settings, parent: QObject) -> None:
        super().__init__(parent)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        self._settings, self._application = settings, application
        fonts.set_zoom(1.0)
        playback.set_speed(settings.play_speed)
        set_decimal(settings.decimal_offsets)
        QApplication.styleHints().colorSchemeChanged.connect(self._system_changed)

    def set_theme(self, name: str) -> None:
        self._settings.theme = name
        self.set_window_theme()

    def set_window_theme(self) -> None:
        chosen = self._settings.theme
        theme.apply(self._application, theme.system_name(self._application) if chosen == "system" else chosen)

    def set_zoom(self, factor: float) -> None:
        theme.zoom(self._application, factor)
        self._settings.zoom = fonts.zoom()

    def set_reduced_motion(self, reduced: bool) -> None:
        self._settings.reduced_motion = reduced
        playback.reduce(self._application, reduced)

    def _system_changed(self) -> None:
        if self._settings.theme == "system":
            self.set_window_theme()


LEAST = QSize(640, 420)
"""Minimum window size in pixels, limited to the screen."""

FRAME = QSize(16, 48)
"""Assumed size of the window frame in pixels; the actual size is known only after the window is shown."""

CENTRE = QSize(300, 120)
"""Minimum size of the bytes view in pixels."""
SMALL_NODE = 1_000_000
"""Maximum size in bytes of a node that is written to a file on mouse press, before a drag starts."""


class MainWindow(QMainWindow):
    _ends = False

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.jobs = Jobs(self)
        self.session = Session(self.jobs, self)
        install_roles()
        # Before any widget: widgets copy the font of the application when they are created.
        self.appearance = Appearance(settings, self)
        self.appearance.set_window_theme()
        self._to_learn = self._to_preview = ""
        self.setObjectName("mainWindow")
        self.setWindowIcon(QIcon(str(resource_paths.path("icons/shardscope.svg"))))
        self.setAcceptDrops(True)
        self.setMinimumSize(LEAST.boundedTo(self._room))
        self.welcome = Welcome(settings, self.jobs, self)
        self.hex = HexPanel(self.session, self)
        self.panels = PanelDocks(self, PANELS, self.session, settings)
        self.objects = self.panels.panel(ObjectPanel)
        self.trace = self.panels.panel(TracePanel)
        self.transfers = self.panels.panel(Transfers)
        self.places = self.panels.panel(PlacesPanel)
        table = self.objects.table
        self.drag_out = DragOut(
            self.session, table, lambda: table.selected_ranges().head(MOST_FILES + 1).rows().tolist()
        )
        self.tree = self.panels.panel(StructureTree)
        self.drag_nodes = DragOut(
            self.session,
            self.tree,
            lambda: DraggedNode.of(self.tree.nodes.node(self.tree.currentIndex())),
            small=SMALL_NODE,
        )
        self._make_centre()
        self.line = StatusLine(self.hex.status, self)
        self.setStatusBar(self.line)
        self.extraction_notices = ExtractionNotices(self.objects.actions_.extracting, self.session, self.notices, self)
        self.drop_places = DropTargets(self, lambda: self.session.shard is not None, self._dropped)
        self.ways, self.diffing = OpenAs(self.session, self.notices, self), CompareShards(self.session, self)
        self.connecting = ConnectTask(self.session, settings, self)
        self.new_shards, self.comparing = NewShards(self.session, settings, self), CompareFormats(self.jobs, self)
        to_bytes, salvage = self.hex.view.setFocus, self.sandbox_shell.actions.salvage
        self.dialogs = FileDialogs(settings, self.open_paths, self)
        self.troubles = ErrorNotices(
            self.session,
            self.notices,
            self.ways,
            self.connecting,
            self.dialogs,
            to_bytes,
            self.new_shards.ask_new,
            salvage,
            self,
        )
        self.hex.naming.keys = self.objects.model.loaded_keys
        connect_bytes(self.hex, self.panels.panel(HitsTable), self, settings)
        self.changing = EditShell(self.session, self.hex, self.objects, self.notices, self.line, self)
        self.actions_ = WindowActions(self, self, self.session)
        self.actions_.build(
            self.panels,
            PANELS,
            self.hex.actions_,
            self.objects.actions_,
            self.new_shards,
            self.changing,
            self.diffing,
            self.sandbox_shell,
            self.noting.find_key,
        )
        self.actions_.fill_samples([(one.title, str(one.path)) for one in resource_paths.main_samples()])
        self.top = TopBar(self.actions_, self.hex, self.objects.actions_.extract, self.look_up, self)
        self.line.count_jobs(self.jobs, lambda: self.transfers.model.running, self.actions_.stop)
        self.help = HelpMenu(self, self.panels, self.actions_.about, self._make_learning())
        self.menu_keys = MenuKeys(self)
        self._connect()
        part_mnemonics(self.menuBar())
        self.resize(QSize(1440, 900).boundedTo(self._room))
        self.panels.arrange()
        self._layout = LayoutMemory(self, self.panels, settings)
        self._layout.restore()
        self._enable(is_open=False)
        self._show_welcome()
        self.actions_.themes[settings.theme].setChecked(True)
        self.actions_.reduced_motion.setChecked(settings.reduced_motion)
        self.set_reduced_motion(settings.reduced_motion)

    @property
    def _room(self) -> QSize:
        return self.screen().availableGeometry().size() - FRAME

    # --- making ---

    def _make_centre(self) -> None:
        notes = self.panels.panel(NotesPanel)
        self.noting = NotesShell(self.session, notes, self.hex.actions_, self.settings, self)
        self.pages = QStackedWidget(self)
        self.spaces = KeySpaceCards(self)
        for page in (self.welcome, self.hex, self.spaces):
            self.pages.addWidget(page)
        centre = self._centre = FixedSizeFrame(self.pages, CENTRE, self)
        # Ignore the size hints of the pages, so that notices get the room they need.
        self.pages.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.notices = Notices(centre)
        column = centre.layout()
        assert column is not None
        column.addWidget(self.notices)
        self.hex.room = centre.height
        self.setCentralWidget(centre)
        to_panel = partial(self.show_part, "sandbox")
        self.sandbox_shell = SandboxShell(
            self.session, self.panels.panel(SandboxPanel), self.hex, self.notices, to_panel, self
        )

    def _make_learning(self) -> Teaching:
        teaching = Teaching(self.session, self.panels, self.hex.drawings, self)
        teaching.fill(self.actions_.learn, self.sandbox_shell.actions.missions)
        teaching.comparison_wanted.connect(self.comparing.show)
        return teaching

    def _make_tabs(self) -> None:
        self.file_tabs = FileTabBar(self.session, self)
        self.tab_memory = TabMemory(self.session, self.settings, self.notices, self)
        self.actions_.add_tabs(self.file_tabs, self.tab_memory.chosen)
        self.session.may_show = self._may_show
        for name, view in (
            ("bytes", self.hex),
            ("drawings", self.hex.drawings),
            ("objects", self.objects),
            ("structure", self.tree),
            ("notices", self.notices),
            ("panels", self.panels),
        ):
            self.session.keep_view(name, view)

    def _limit_centre(self) -> None:
        """Limit the bytes view to the width that rows and fields need; the side panels get the rest."""
        most = self.hex.full_width if self.pages.currentWidget() is self.hex and self.panels.sides else math.inf
        limit = ANY_SIZE if math.isinf(most) else max(math.ceil(most), CENTRE.width())
        before = self._centre.maximumWidth()
        if limit == before:
            return
        self._centre.setMaximumWidth(limit)
        # Deferred: a request for a new layout is lost while docks are being hidden.
        QTimer.singleShot(0, self._centre, self._centre.updateGeometry)
        if before < limit and self.panels.sides and not self.hex.drawings.in_front:
            self.panels.widen_bytes(limit - self._centre.width())

    def _connect(self) -> None:
        session = self.session
        self._make_tabs()
        self.hex.full_width_changed.connect(self._limit_centre)
        self.pages.currentChanged.connect(self._limit_centre)
        self.panels.places_changed.connect(self._limit_centre)
        sandbox = self.sandbox_shell.sandbox
        self.byte_editing = ByteEditing(session, self.hex, self.objects, sandbox, self.changing, self)
        self.byte_editing.allowed.connect(self.notices.clear)
        session.opening.connect(self._opening)
        session.opened.connect(self._opened)
        session.closed.connect(self._closed)
        session.ended.connect(self._ended)
        session.index_changed.connect(self._index_changed)
        session.history_changed.connect(self._history_changed)
        session.question_changed.connect(self._question_changed)
        session.message.connect(lambda text: self.line.say_for_a_while(str(text)))
        session.succeeded.connect(lambda text: self.notices.add_notice(text, NoticeTone.SUCCESS))
        self.settings.report_to(lambda text: self.notices.add_notice(text, NoticeTone.WARNING, lasting=True))
        self.help.teaching.refused.connect(self._lesson_refused)
        self.objects.actions_.trace_requested.connect(self.trace_key)
        self.hex.address.key_chosen.connect(lambda _: self.show_part("trace"))
        self.panels.panel(Charts).filter_wanted.connect(self.filter_objects)
        tree = self.panels.panel(StructureTree)
        tree.look_up_requested.connect(self.trace_key)
        self.panels.panel(PreviewPanel).volume.look_up_requested.connect(self.trace_key)
        tree.extract_requested.connect(self.extract_row)
        self.objects.bytes_wanted.connect(self.hex.drawings.to_bytes)
        self.objects.actions_.copy_files.triggered.connect(lambda _: self.drag_out.copy_files())
        self.welcome.open_requested.connect(self.ask_file)
        self.welcome.folder_requested.connect(self.ask_folder)
        self.welcome.address_requested.connect(self.open_address)
        self.welcome.new_requested.connect(self.new_shards.ask_new)
        self.welcome.compare_requested.connect(self.comparing.show)
        self.diffing.address_wanted.connect(lambda: self.connecting.ask(chosen=self.diffing.compare))
        self.welcome.chosen.connect(self.open)
        self.welcome.preview_requested.connect(self.preview)
        self.welcome.learn_requested.connect(self.learn)
        self.places.chosen.connect(self.open)
        self.spaces.chosen.connect(self.open)
        self.panels.panel(Inspector).file.offer(
            (self.tr("Verify"), self.actions_.verify[Depth.CONTENT]),
            (self.tr("Extract all"), self.objects.actions_.extract_all),
            (self.tr("Learn"), self.help.teaching.all),
        )
        self.sandbox_shell.connect_chip(self.changing.chip)
        self.objects.offer_salvage(self.sandbox_shell.actions.salvage)
        self.giving_way = CompactLayout(session, self.panels, self.hex, self)
        session.tab_wanted.connect(self.open_tab)
        self.actions_.decimal_offsets.setChecked(self.settings.decimal_offsets)
        self._history_changed()
        # Last, since everything was created at 100 %.
        self.appearance.set_zoom(self.settings.zoom)

    # --- opening ---

    def open(
        self, uri: str, format: str | None = None, remote: RemoteOptions | None = None, select: Span | None = None
    ) -> None:
        """Open a path or address; show the address dialog first if keys, store or layer must be chosen."""
        request = OpenRequest(uri, format, remote=remote)
        if remote is None and self.connecting.has_to_ask(uri):
            self.connecting.ask(request)
        else:
            self.session.open_tab(request, select)

    def _may_show(self) -> bool:
        """Return whether an opened document may be shown: not while a modal dialog is about the current one."""
        dialog = QApplication.activeModalWidget()
        return dialog is None or (isinstance(dialog, NewShardDialog) and dialog.is_written)

    def open_tab(self, request: OpenRequest, select: Span | None = None) -> None:
        self.session.open_tab(request, select)

    def open_files(
        self,
        files: Sequence[tuple[str, Span | None]],
        format: str | None = None,
        remote: RemoteOptions | None = None,
    ) -> None:
        if len(files) == 1:
            self.open(files[0][0], format, remote, files[0][1])
        else:
            self.session.open_tabs([(OpenRequest(uri, format, remote=remote), place) for uri, place in files])

    def open_paths(self, paths: Sequence[str]) -> None:
        self.open_files([(path, None) for path in paths])

    def take_over(self, files: Sequence[Handover]) -> None:
        """Open the files of a second start of the program, and raise the window."""
        # While a dialog is open, its document stays shown; the files are opened in the background.
        front = self.session.may_show()
        for one in files[: int(front)]:
            self.open(one.uri, one.format, None, one.select)
        self.session.open_tabs([(OpenRequest(one.uri, one.format), one.select) for one in files[int(front) :]], -1)
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized | Qt.WindowState.WindowActive)
        self.show()
        self.raise_()
        self.activateWindow()

    def open_address(self) -> None:
        self.connecting.ask()

    def learn(self, uri: str) -> None:
        self._to_learn = uri
        before = self.session.document
        self.open(uri)
        shard = self.session.shard
        if shard is not None and self.session.uri == uri and self.session.document is not before:
            # It was open already, and is only shown.
            self._to_learn = ""
            self._learn(shard)
            self.help.teaching.opened()

    def preview(self, uri: str) -> None:
        self._to_preview = uri
        before = self.session.document
        self.open(uri)
        if self.session.shard is not None and self.session.uri == uri and self.session.document is not before:
            # It was open already, and is only shown.
            self._to_preview = ""
            self._preview_first()

    def _preview_first(self) -> None:
        self.show_part("preview")
        take = lambda row: self.session.select_row(row) if row is not None else None  # noqa: E731
        self.session.ask(lambda shard, _: next((one.row for one in shard.objects[:1]), None), take)

    def ask_file(self) -> None:
        self.dialogs.ask_files()

    def ask_folder(self) -> None:
        self.dialogs.ask_folder()

    def clear_recent(self) -> None:
        self.settings.clear_recent()
        self._refresh_recent()

    def _refresh_recent(self) -> None:
        self.actions_.fill_recent(self.settings.recent)
        self.welcome.refresh()
        self.places.refresh_recent()

    def _opening_words(self, uri: str) -> str:
        return self.tr("Opening {0} …").format(uri)

    def _opening(self, uri: str) -> None:
        self.line.say(self._opening_words(uri))

    def _opened(self, shard: Shard) -> None:
        self.line.say("")
        self.notices.clear()
        self._name()
        self._show_work(shard)
        if self.session.switching:
            return
        if not is_fresh(self.session.uri):
            self.settings.add_recent(self.session.uri)
        self._refresh_recent()
        self._enable(is_open=True)
        self._bring_lists()
        self.troubles.show_damage()
        if self.session.uri == self._to_learn:
            self._learn(shard)
        self._to_learn = ""
        if self.session.uri == self._to_preview:
            self._preview_first()
        self._to_preview = ""
        self.help.teaching.opened(front=not self.sandbox_shell.stays)
        self.ways.show_guess(shard)
        self.ways.check_given(shard)

    def _name(self) -> None:
        shard = self.session.shard
        if shard is None:
            return
        name = shard.source.name if shard.source is not None else Path(self.session.uri).name or self.session.uri
        name = self.session.request.title if self.session.request.inside else name
        sandbox = self.tr(" (sandbox)") if self.session.request.sandbox else ""
        # Qt replaces `[*]` with a star if there are unsaved changes; doubling it keeps `[*]` in a name.
        name = shown(name).replace("[*]", "[*][*]")
        self.setWindowTitle(f"{name}[*]{sandbox} — Shardscope")
        self.line.show_format(shard.title, shard.why)

    def _bring_lists(self) -> None:
        if not self.sandbox_shell.stays:
            # Other panels may be in front, after docks were moved or in a small window.
            self.panels.raise_("objects")
            for name in ("structure", "inspector")[: 1 + self.panels.folded]:
                self.panels.raise_(name)

    def _learn(self, shard: Shard) -> None:
        if not self.help.teaching.learn(shard.format):
            self.show_part("formatPage")

    def _lesson_refused(self, text: str) -> None:
        if text:
            self.notices.add_notice(text, about="lesson")
        else:
            self.notices.clear("lesson")

    def _closed(self) -> None:
        self.notices.clear()
        if not self.session.replacing:
            self.line.say("")
            self._enable(is_open=False)
            self._show_welcome()

    def _ended(self, uri: str) -> None:
        if self.line.note.text() == shown(self._opening_words(uri)):
            self.line.say("")

    # --- trouble ---

    def _index_changed(self, state: IndexState) -> None:
        self.actions_.load_index.setEnabled(state in (IndexState.NONE, IndexState.FAILED))
        # Loading the index may detect damage that opening did not.
        if not self.session.switching:
            self.troubles.show_damage()

    def _enable(self, *, is_open: bool) -> None:
        self.actions_.set_open(is_open)
        self.hex.actions_.set_open(is_open)
        self.hex.address.setEnabled(is_open)
        self.top.verify_button.setEnabled(is_open)

    def open_with(self) -> None:
        self.ways.ask()

    def change(self) -> None:
        self.ways.change()

    def stop_jobs(self) -> None:
        for job in self.jobs.open_jobs:
            if job.title:
                job.cancel()

    def _history_changed(self) -> None:
        self.actions_.back.setEnabled(self.session.can_go_back)
        self.actions_.forward.setEnabled(self.session.can_go_forward)

    # --- parts ---

    def _question_changed(self, question: ReferenceQuery | None) -> None:
        if question is not None:
            self.show_part("inspector")

    def _show_welcome(self) -> None:
        if self._at_work:
            self._layout.keep()
        self.setWindowTitle("Shardscope[*]")
        self.line.show_format("", "")
        self._refresh_recent()
        self.panels.hide()
        self.pages.setCurrentWidget(self.welcome)

    @property
    def _at_work(self) -> bool:
        return self.pages.currentWidget() is not self.welcome

    def _show_work(self, shard: Shard) -> None:
        page: QWidget = self.hex
        before, at_work = self.pages.currentWidget(), self._at_work
        if isinstance(shard, DataSet) and shard.key_spaces:
            self.spaces.fill(shard)
            page = self.spaces
        self.pages.setCurrentWidget(page)
        if not at_work:
            self._layout.bring_back()
        if page is not before or page is self.spaces:
            page.setFocus(Qt.FocusReason.OtherFocusReason)

    # --- looks ---

    def set_theme(self, name: str) -> None:
        self.actions_.themes[name].setChecked(True)
        self.appearance.set_theme(name)

    def set_reduced_motion(self, reduced: bool) -> None:
        self.appearance.set_reduced_motion(reduced)

    def set_decimal_offsets(self, decimal: bool) -> None:
        self.settings.decimal_offsets = decimal
        set_decimal(decimal)
        self.session.notation_changed.emit()

    def zoom(self, *, larger: bool) -> None:
        self._set_zoom(fonts.zoomed(fonts.zoom(), larger=larger))

    def reset_zoom(self) -> None:
        self._set_zoom(1.0)

    def _set_zoom(self, factor: float) -> None:
        self.panels.keep_sizes()
        self.appearance.set_zoom(factor)
        self._fit()
        self._limit_centre()
        self.panels.zoom()
        self.line.say_for_a_while(self.tr("Zoom {0} %").format(round(fonts.zoom() * 100)))

    def start_lecture(self, *, full: bool = True) -> LectureScreen:
        player, actions = self.help.teaching.player, self.actions_.lecturing
        screen = LectureScreen(self.session, self.hex.pages, self.settings, player, actions, self)
        screen.addActions(self.actions_.zooms)
        screen.resize(self.size())
        screen.begin(full=full)
        return screen

    def toggle_full_screen(self) -> None:
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if press_focused(self, event):
            return
        if event.key() == Qt.Key.Key_Escape and self.session.question is not None:
            self.session.clear_question()
        elif event.key() == Qt.Key.Key_Escape and self.isFullScreen():
            self.toggle_full_screen()
        elif event.key() == Qt.Key.Key_Escape:
            self.session.select_nothing()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        QTimer.singleShot(0, self, self._fit)

    def _fit(self) -> None:
        if self._at_work:
            self.panels.fit(self.size())
            self.giving_way.fit()

    def save_picture(self) -> None:
        ask_picture(self, "shardscope", self.session.say)

    def default_layout(self) -> None:
        self.panels.arrange()
        self._fit()

    def about(self) -> None:
        about_box(self, self.help.page).open()

    # --- the beginning and the end ---

    def end(self) -> None:
        """Close the window without asking; jobs that write files are cancelled."""
        self._ends = True
        self.close()

    def _ask_to_end(self, writing: Sequence[Job]) -> None:
        """Ask whether to cancel jobs that write files; close the window if all of them finish meanwhile."""
        box = QMessageBox(self)
        box.setObjectName("quitWhileWriting")
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle(self.tr("Quit?"))
        box.setText(self.tr("Still running: {0}.").format(", ".join(shown(job.title) for job in writing[:3])))
        box.setInformativeText(self.tr("Quitting cancels them. Complete files are kept."))
        leave = box.addButton(self.tr("&Quit and cancel"), QMessageBox.ButtonRole.DestructiveRole)
        stay = box.addButton(self.tr("&Keep running"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(stay)
        box.setEscapeButton(stay)
        leave.clicked.connect(lambda _=False: self.end())

        def written(_: Job) -> None:
            if all(job.state.ended for job in writing):
                box.reject()
                if all(job.state is JobState.DONE for job in writing):
                    self.close()

        self.jobs.changed.connect(written)
        box.finished.connect(lambda _: self.jobs.changed.disconnect(written))
        box.open()

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self._ends and (unsaved := self.session.unsaved_document) is not None:
            self.session.show(unsaved)
        if self.sandbox_shell.holds(self.close):
            event.ignore()
            return
        writing = [job for job in self.jobs.open_jobs if job.lasting and job.title and not job.state.ended]
        if writing and not self._ends and self.isVisible():
            self._ask_to_end(writing)
            event.ignore()
            return
        if self._at_work:
            self._layout.keep()
        self.tab_memory.save()
        self.settings.play_speed, self.settings.bytes_zoom = playback.speed(), self.hex.state.zoom
        self._layout.save()
        self.diffing.close()
        self.session.close_all()
        self.jobs.shutdown()
        self.drag_out.close()
        self.drag_nodes.close()
        self.panels.panel(PreviewPanel).drag.close()
        super().closeEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self.drop_places.dragEnterEvent(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.drop_places.end()

    def dropEvent(self, event: QDropEvent) -> None:
        self.drop_places.drop(event)

    def _dropped(self, place: DropTarget, paths: tuple[str, ...]) -> None:
        if place is DropTarget.PACK:
            self.new_shards.ask_new(paths)
        elif place is DropTarget.OPEN:
            self.open_paths(paths)
        else:
            self.show_part("objects")
            self.objects.seek(Path(paths[0]))

    # --- parts of the window ---

    def show_part(self, name: str, *, focus: bool = False) -> None:
        self.panels.show(name, focus=focus)

    def focusNextPrevChild(self, forward: bool) -> bool:
        if not self.isVisible():
            # Qt also calls this for a window that is being deleted, whose children are partly gone.
            return super().focusNextPrevChild(forward)
        # Do not use `nextInFocusChain`: PySide makes each widget the owner of the next one and deletes both.
        before = self.focusWidget()
        parts = self.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
        parts.sort(key=lambda part: (part.x(), part.y()))
        order = [one for part in parts for one in self._reading_order(part, before)]
        at = order.index(before) if before in order else -1
        following = order[at + 1 :] + order[: max(at, 0)]
        if following:
            reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
            following[0 if forward else -1].setFocus(reason)
        return bool(following)

    def _reading_order(self, part: QWidget, before: QWidget | None) -> list[QWidget]:
        """Return the widgets of a part that accept Tab, line by line; nested ones follow their container."""
        stops = [one for one in part.findChildren(QWidget) if one is before or self._takes_tab(one)]
        outer = [one for one in stops if not any(other.isAncestorOf(one) for other in stops if other is not one)]
        place = {one: QRect(one.mapTo(self, QPoint()), one.size()) for one in outer}
        order = [part] if part is before or self._takes_tab(part) else []
        while rest := sorted(place, key=lambda one: place[one].top()):
            first = place[rest[0]]
            line = [one for one in rest if one is rest[0] or place[one].center().y() <= first.bottom()]
            for one in sorted(line, key=lambda one: place.pop(one).left()):
                order += self._reading_order(one, before)
        return order

    def _takes_tab(self, part: QWidget) -> bool:
        takes = part.focusPolicy() & Qt.FocusPolicy.TabFocus and part.focusProxy() is None
        if isinstance(part, QRadioButton) and not part.isChecked():
            # In a group of radio buttons, Tab stops only at the checked one.
            group = [one for one in self.findChildren(QRadioButton) if one.parentWidget() is part.parentWidget()]
            takes = takes and not any(one.isChecked() for one in group)
        return bool(takes) and part.isVisible() and part.isEnabled() and part.window() is self

    def to_filter(self) -> None:
        self.show_part("objects")
        self.objects.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.objects.filter.selectAll()

    def filter_objects(self, text: str) -> None:
        self.show_part("objects")
        self.objects.show_only(text)

    def to_trace(self) -> None:
        if self.objects.table.hasFocus() and self.objects.actions_.trace.isEnabled():
            self.objects.actions_.trace.trigger()
            return
        self.show_part("trace", focus=True)
        self.trace.start()

    def look_up(self) -> None:
        """Look up the key in the address field; else the selected object; else show the key field."""
        if key := self.hex.address.key:
            self.trace_key(key)
        elif self.objects.actions_.trace.isEnabled():
            self.objects.actions_.trace.trigger()
        else:
            self.to_trace()

    def trace_key(self, key: str) -> None:
        self.show_part("trace")
        self.session.look_up(key)

    def extract_row(self, row: int) -> None:
        self.show_part("objects")
        self.session.select_row(row)
        self.objects.table.follow(row)
        self.objects.actions_.extract.trigger()
