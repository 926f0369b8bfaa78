"""Main window: creates the panels and tasks, connects their signals, builds the menus, and applies the settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, QSize, Signal
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QIcon,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget

from shardcore import Depth
from shardcore.teaching import resource_paths
from shardscope.learning.sandbox.panel import SandboxPanel
from shardscope.session.display_text import set_decimal
from shardscope.session.jobs import Jobs
from shardscope.session.session import Session
from shardscope.shell.actions import (
    CAN_GO_BACK,
    CAN_GO_FORWARD,
    FILE_OPEN,
    INDEX_MISSING,
    LINE,
    SEVERAL_TABS,
    TAB_CLOSED,
    LectureActions,
    Menu,
    MenuEntry,
    Row,
    WindowActions,
    part_mnemonics,
)
from shardscope.shell.bars import StatusLine, TopBar
from shardscope.shell.compact_layout import CompactLayout
from shardscope.shell.docks import Centre, PanelDocks
from shardscope.shell.drop_targets import DropTarget, DropTargets
from shardscope.shell.editing import EditShell, SandboxShell
from shardscope.shell.file_tabs import FileTabBar, TabMemory
from shardscope.shell.keyboard import Keyboard, toggle_full_screen
from shardscope.shell.notices import ExtractionNotices, NoticeTone
from shardscope.shell.open_with import OpenAs
from shardscope.shell.opening import ErrorNotices, FileOpener, Quitting
from shardscope.shell.palette import COMMAND_SIGN, CommandPalette, Scope
from shardscope.shell.panels import PANELS, PanelLinks
from shardscope.shell.teaching import Teaching, about_box
from shardscope.shell.welcome import Welcome
from shardscope.startup.settings import THEMES, Settings
from shardscope.tasks.connect import ConnectTask
from shardscope.tasks.new_shard.new_shards import NewShards
from shardscope.views.activity import Transfers
from shardscope.views.diff.menu import CompareShards
from shardscope.views.hex.panel import HexPanel
from shardscope.views.inspector.panel import Inspector
from shardscope.views.objects.drag_out import DragOut
from shardscope.views.objects.panel import ObjectPanel
from shardscope.views.objects.temporary_files import MOST_FILES, DraggedNode
from shardscope.views.places import KeySpaceCards, PlacesPanel
from shardscope.views.preview.panel import PreviewPanel
from shardscope.views.structure.tree import StructureTree
from shardscope.views.trace.panel import TracePanel
from shardscope.widgets import fonts, playback, theme
from shardscope.widgets.accessible_roles import install_roles
from shardscope.widgets.save_picture import ask_picture

if TYPE_CHECKING:
    from shardscope.learning.comparison import CompareFormats
    from shardscope.shell.lecture import LectureScreen
    from shardscope.tasks.find_key import FindKeyTask

Key = QKeySequence.StandardKey

LEAST = QSize(640, 420)
"""Minimum window size in pixels, limited to the screen."""

FRAME = QSize(16, 48)
"""Assumed size of the window frame in pixels; the actual size is known only after the window is shown."""

SMALL_NODE = 1_000_000
"""Maximum size in bytes of a node that is written to a file on mouse press, before a drag starts."""


class Appearance(QObject):
    """Applies and changes settings such as theme and zoom. Create it before any widget: widgets copy the font."""

    theme_changed = Signal(str)
    zoom_changing = Signal()
    zoom_changed = Signal()
    notation_changed = Signal()

    def __init__(self, settings: Settings, parent: QObject) -> None:
        super().__init__(parent)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        self._settings, self._application = settings, application
        fonts.set_zoom(1.0)
        playback.set_speed(settings.play_speed)
        playback.reduce(application, settings.reduced_motion)
        set_decimal(settings.decimal_offsets)
        self._apply_theme()
        application.styleHints().colorSchemeChanged.connect(self._apply_theme)

    def set_theme(self, name: str) -> None:
        self._settings.theme = name
        self._apply_theme()
        self.theme_changed.emit(name)

    def _apply_theme(self) -> None:
        chosen = self._settings.theme
        theme.apply(self._application, theme.system_name(self._application) if chosen == "system" else chosen)

    def zoom(self, *, larger: bool) -> None:
        self.set_zoom(fonts.zoomed(fonts.zoom(), larger=larger))

    def set_zoom(self, factor: float) -> None:
        self.zoom_changing.emit()
        self.apply_zoom(factor)
        self.zoom_changed.emit()

    def apply_zoom(self, factor: float) -> None:
        theme.zoom(self._application, factor)
        self._settings.zoom = fonts.zoom()

    def set_reduced_motion(self, reduced: bool) -> None:
        self._settings.reduced_motion = reduced
        playback.reduce(self._application, reduced)

    def set_decimal_offsets(self, decimal: bool) -> None:
        self._settings.decimal_offsets = decimal
        set_decimal(decimal)
        self.notation_changed.emit()

    def remember_bytes(self, bytes_: HexPanel) -> None:
        settings = self._settings
        bytes_.state.set_zoom(settings.bytes_zoom)
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

    def save(self, bytes_: HexPanel) -> None:
        self._settings.play_speed, self._settings.bytes_zoom = playback.speed(), bytes_.state.zoom


class MainWindow(QMainWindow):
    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.jobs = Jobs(self)
        self.session = Session(self.jobs, self)
        install_roles()
        # Before any widget: widgets copy the font of the application when they are created.
        self.appearance = Appearance(settings, self)
        self.setObjectName("mainWindow")
        self.setWindowIcon(QIcon(str(resource_paths.path("icons/shardscope.svg"))))
        self.setAcceptDrops(True)
        screen = self.screen().availableGeometry().size() - FRAME
        self.setMinimumSize(LEAST.boundedTo(screen))
        self._make_panels()
        self._make_tasks()
        self._make_actions()
        self._connect()
        part_mnemonics(self.menuBar())
        self.resize(QSize(1440, 900).boundedTo(screen))
        self.centre.restore()
        self.centre.show_welcome()
        # Last, since everything was created at 100 %.
        self.appearance.apply_zoom(settings.zoom)

    # --- parts, each after those that it needs ---

    def _make_panels(self) -> None:
        session, settings = self.session, self.settings
        self.welcome = Welcome(settings, self.jobs, self)
        self.hex = HexPanel(session, self)
        self.spaces = KeySpaceCards(self)
        self.panels = PanelDocks(self, PANELS, session, settings)
        self.objects = self.panels.panel(ObjectPanel)
        self.tree = self.panels.panel(StructureTree)
        self.trace = self.panels.panel(TracePanel)
        self.transfers = self.panels.panel(Transfers)
        self.places = self.panels.panel(PlacesPanel)
        table, tree = self.objects.table, self.tree
        self.drag_out = DragOut(session, table, lambda: table.selected_ranges().head(MOST_FILES + 1).rows().tolist())
        dragged = lambda: DraggedNode.of(tree.nodes.node(tree.currentIndex()))  # noqa: E731
        self.drag_nodes = DragOut(session, tree, dragged, small=SMALL_NODE)
        self.centre = Centre(session, settings, (self.welcome, self.hex, self.spaces), self.panels, self)
        self.notices = self.centre.notices
        self.links = PanelLinks(session, self.panels, self.hex)
        self.appearance.remember_bytes(self.hex)
        self.line = StatusLine(session, self.hex.status, self)
        self.setStatusBar(self.line)

    def _make_tasks(self) -> None:
        session, settings, notices = self.session, self.settings, self.notices
        self.connecting = ConnectTask(session, settings, self)
        self.opening = FileOpener(session, settings, self.connecting, self)
        self.ways, self.diffing = OpenAs(session, notices, self), CompareShards(session, self)
        self.new_shards = NewShards(session, settings, self)
        self.extraction_notices = ExtractionNotices(self.objects.actions_.extracting, session, notices, self)
        sandbox = self.panels.panel(SandboxPanel)
        self.sandbox_shell = SandboxShell(session, sandbox, self.hex, notices, self.panels, self)
        # In the order in which they are restored; editing adds its own.
        for name, view in (
            ("bytes", self.hex),
            ("drawings", self.hex.drawings),
            ("objects", self.objects),
            ("structure", self.tree),
            ("notices", self.notices),
            ("panels", self.panels),
        ):
            session.documents.keep_view(name, view)
        self.giving_way = CompactLayout(session, self.panels, self.hex, self)
        numbers = self.panels.panel(Inspector).numbers
        self.changing = EditShell(
            session, self.hex, self.objects, numbers, self.sandbox_shell, notices, self.line, self
        )
        self.teaching = Teaching(session, self.panels, self.hex, notices, settings, self.compare_formats, self)
        pack, salvage = self.new_shards.ask_new, self.sandbox_shell.actions.salvage
        self.troubles = ErrorNotices(
            session, notices, self.ways, self.connecting, self.opening, self.hex.view.setFocus, pack, salvage
        )
        self.tab_memory = TabMemory(session, settings, notices, self)
        self.quitting = Quitting(session, self)
        self.drop_places = DropTargets(
            self,
            lambda: session.shard is not None,
            {
                DropTarget.OPEN: self.opening.open_paths,
                DropTarget.SEEK: self.links.find_file,
                DropTarget.PACK: self.new_shards.ask_new,
            },
        )

    @cached_property
    def comparing(self) -> CompareFormats:
        from shardscope.learning.comparison import CompareFormats

        return CompareFormats(self.jobs, self)

    @cached_property
    def finding(self) -> FindKeyTask:
        from shardscope.tasks.find_key import FindKeyTask

        return FindKeyTask(self.session, self.settings, self)

    def _make_actions(self) -> None:
        self.actions_ = WindowActions(self.session, self)
        self.lecturing = LectureActions(self)
        opening = self.opening
        self.palette_ = CommandPalette(self.session, self.hex.address, opening.recent, self.links.show_row, self)
        bar = self.menuBar()
        bar.setAccessibleName(self.tr("Menu"))
        self.actions_.fill(bar, (make(self) for make in MENUS))
        self.top = TopBar(self.actions_.named, self.hex, self.objects.actions_.extract, self.links.look_up, self)
        self.file_tabs = FileTabBar(self.session, partial(self.palette_.open, scope=Scope.TABS), self)
        self.keyboard = Keyboard(self.session, self)
        # What tests, screenshots and the command line call.
        self.open, self.open_files, self.open_paths = opening.open, opening.open_files, opening.open_paths
        self.take_over, self.end = opening.take_over, self.quitting.end
        self.show_part, self.set_theme = self.panels.show, self.appearance.set_theme
        self.zoom, self.reset_zoom = self.appearance.zoom, partial(self.appearance.set_zoom, 1.0)

    # --- connections ---

    def _connect(self) -> None:
        session, actions, welcome, opening = self.session, self.actions_, self.welcome, self.opening
        for signal, slot in (
            (opening.opened, lambda _: self._enable(True)),
            (opening.opened, lambda _: self._opened()),
            (opening.opened, self.ways.show_guess),
            (opening.opened, self.ways.check_given),
            (session.opened, opening.announce),
            (session.closed, lambda: None if session.documents.replacing else self._enable(False)),
            (opening.recent_changed, welcome.refresh),
            (opening.recent_changed, self.places.refresh_recent),
            (welcome.chosen, opening.open),
            (welcome.created, self._connect_welcome),
            (welcome.menu.preview_requested, lambda uri: opening.open_then(uri, self.links.preview_first)),
            (self.places.chosen, opening.open),
            (self.line.busy.clicked, lambda _: self.panels.show("transfers", focus=True)),
            (self.new_shards.written_unseen, self._show_written),
            (self.spaces.chosen, opening.open),
            (self.diffing.address_wanted, lambda: self.connecting.ask(chosen=self.diffing.compare)),
            (self.objects.actions_.copy_files.triggered, lambda _: self.drag_out.copy_files()),
            (self.sandbox_shell.actions.missions.triggered, lambda _: self.teaching.show_missions()),
            (self.centre.fitted, self.giving_way.fit),
            (self.appearance.theme_changed, lambda name: actions[f"theme {name}"].setChecked(True)),
            (self.appearance.zoom_changing, self.panels.keep_sizes),
            (self.appearance.zoom_changed, self.centre.zoomed),
            (self.appearance.zoom_changed, self.line.show_zoom),
            (self.appearance.notation_changed, session.notation_changed),
        ):
            signal.connect(slot)
        self._enable(False)
        self.settings.report_to(lambda text: self.notices.add_notice(text, NoticeTone.WARNING, lasting=True))
        self.line.count_jobs(self.jobs, lambda: self.transfers.model.running, actions["stop"])
        sandbox = self.sandbox_shell.actions
        self.notices.named = (
            (r"(?i)extract (it|them|the objects) instead", self.objects.actions_.extract),
            (r"save a copy", sandbox.save),
            (r"Recover objects", sandbox.salvage),
            (r"Open as…", actions["open_with"]),
            (r"Reload it|Open it again", actions["reload"]),
            (r"(?i)load the index", actions["load_index"]),
            (r"Use sandbox", sandbox.switch),
            (r"Allow changes to this file", self.changing.actions.allow),
        )
        self.objects.offer_salvage(sandbox.salvage)
        self.panels.panel(Inspector).file.offer(
            (self.tr("Verify"), actions[f"verify {Depth.CONTENT.value}"]),
            (self.tr("Extract all"), self.objects.actions_.extract_all),
            (self.tr("Learn"), actions["lessons"]),
        )

    def _connect_welcome(self) -> None:
        page, actions = self.welcome, self.actions_
        for button, act in (
            (page.open_button, actions["open"].trigger),
            (page.folder_button, actions["open_folder"].trigger),
            (page.address_button, actions["open_address"].trigger),
            (page.new_button, self.new_shards.new.trigger),
            (page.compare_button, self.compare_formats),
        ):
            button.clicked.connect(lambda _, act=act: act())
        page.samples.learn_requested.connect(lambda uri: self.opening.open_then(uri, self.teaching.learn_opened))

    def _show_written(self, text: str, opens: Callable[[], object]) -> None:
        self.notices.add_notice(text, NoticeTone.SUCCESS, action=self.tr("Open"), do=opens, lasting=True)

    def _enable(self, is_open: bool) -> None:
        self.hex.actions_.set_open(is_open)
        self.hex.address.setEnabled(is_open)

    def _opened(self) -> None:
        stays = self.sandbox_shell.stays
        if not stays:
            self.links.show_lists()
        self.teaching.opened(front=not stays)

    # --- events ---

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self.keyboard.press(event):
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forward: bool) -> bool:
        # Qt also calls this for a window that is being deleted, whose children are partly gone.
        return self.keyboard.move_focus(forward=forward) if self.isVisible() else super().focusNextPrevChild(forward)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.centre.fit_soon.start()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self.drop_places.dragEnterEvent(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.drop_places.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self.drop_places.drop(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.quitting.may_close():
            event.ignore()
            return
        self.centre.save()
        self.tab_memory.save()
        self.appearance.save(self.hex)
        self.hide()  # else the docks are laid out again, and the welcome page is created
        self.diffing.close()
        self.session.documents.close_all()
        self.jobs.shutdown()
        for drag in (self.drag_out, self.drag_nodes, self.panels.panel(PreviewPanel).drag):
            drag.close()
        super().closeEvent(event)

    def compare_formats(self) -> QWidget:
        return self.comparing.show()

    def stop_jobs(self) -> None:
        self.jobs.cancel_where(lambda job: bool(job.title))

    def start_lecture(self, *, full: bool = True) -> LectureScreen:
        zooms = [self.actions_[name] for name in ("zoom_in", "zoom_out", "zoom_100")]
        return self.teaching.start_lecture(self.lecturing, zooms, full=full)


# --- menus: a new action is a row ---


def _file_menu(w: MainWindow) -> Menu:
    session, opening, objects = w.session, w.opening, w.objects.actions_
    return Menu(
        "&File",
        [
            MenuEntry("open", "&Open…", opening.ask_files, Key.Open),
            MenuEntry("open_folder", "Open &folder…", opening.ask_folder, "Ctrl+Shift+D"),
            MenuEntry("open_address", "Open a&ddress…", w.connecting.ask, "Ctrl+U"),
            MenuEntry("forget_keys", "Forget access &keys", w.connecting.forget_keys, tip="Keys typed since the start"),
            MenuEntry("open_with", "Open &as…", w.ways.ask, "Ctrl+Shift+O"),
            [opening.recent, w.welcome.menu],
            LINE,
            [w.new_shards.new, w.new_shards.convert, w.diffing.menu],
            LINE,
            [objects.extract, objects.extract_all],
            LINE,
            MenuEntry("change", "Reopen with o&ptions…", w.ways.change, enabled=FILE_OPEN),
            MenuEntry("reload", "&Reload", session.reload, Key.Refresh, FILE_OPEN),
            MenuEntry("close", "&Close", session.close, ("Ctrl+W", "Ctrl+F4"), FILE_OPEN),
            MenuEntry("reopen", "Reopen c&losed tab", session.documents.reopen, "Ctrl+Shift+T", TAB_CLOSED),
            MenuEntry(
                "restore_tabs",
                "Restore &tabs at start",
                w.tab_memory.choose,
                tip="The next start opens the files that are open when the window is closed",
                checked=w.settings.restores_tabs,
            ),
            MenuEntry("quit", "&Quit", w.close, Key.Quit),
        ],
    )


def _edit_menu(w: MainWindow) -> Menu:
    bytes_, objects, changes = w.hex.actions_, w.objects.actions_, w.changing.actions
    return Menu(
        "&Edit",
        [
            [w.changing.undoing.undo, w.changing.undoing.redo],
            LINE,
            [bytes_.copy, Menu("Copy &as", bytes_.copies), bytes_.copy_offset],
            [objects.copy_keys, objects.copy_rows, objects.copy_json, objects.copy_files],
            [bytes_.save, bytes_.paste, bytes_.fill, bytes_.replace],
            LINE,
            [bytes_.select_field, bytes_.select_record, bytes_.select_section, bytes_.note],
            LINE,
            [bytes_.find, bytes_.find_these, bytes_.find_next, bytes_.find_previous],
            LINE,
            [changes.allow, *changes.all],
        ],
    )


def _view_menu(w: MainWindow) -> Menu:
    bytes_, looks, settings = w.hex.actions_, w.appearance, w.settings
    themes = [
        MenuEntry(f"theme {name}", text, partial(looks.set_theme, name), checked=settings.theme == name, group="theme")
        for name, text in THEMES.items()
    ]
    return Menu(
        "&View",
        [
            [bytes_.drawing, bytes_.copy_drawing, bytes_.save_drawing],
            LINE,
            [bytes_.decoded, bytes_.letters, bytes_.fields, bytes_.fold, bytes_.larger, bytes_.smaller],
            MenuEntry(
                "decimal_offsets",
                "Offsets in decima&l",
                looks.set_decimal_offsets,
                tip="Otherwise offsets are hexadecimal",
                checked=settings.decimal_offsets,
            ),
            LINE,
            Menu("&Theme", themes),
            MenuEntry(
                "reduced_motion",
                "Reduced &motion",
                looks.set_reduced_motion,
                tip="Nothing blinks, fades or plays automatically",
                checked=settings.reduced_motion,
            ),
            Menu("&Panels", w.actions_.panel_rows(w.panels)),
            MenuEntry("default_layout", "&Default layout", w.centre.arrange, enabled=FILE_OPEN),
            LINE,
            MenuEntry("lecture", "L&ecture", w.start_lecture, "F11", FILE_OPEN),
            MenuEntry("full_screen", "F&ull screen", partial(toggle_full_screen, w), "Shift+F11"),
            MenuEntry("zoom_in", "&Zoom in", partial(looks.zoom, larger=True), ("Ctrl++", "Ctrl+=")),
            MenuEntry("zoom_out", "Zoom &out", partial(looks.zoom, larger=False), "Ctrl+-"),
            MenuEntry("zoom_100", "&100 %", partial(looks.set_zoom, 1.0), "Ctrl+0"),
            MenuEntry("picture", "Save picture of the &window…", partial(ask_picture, w, "shardscope", w.session.say)),
        ],
    )


def _go_menu(w: MainWindow) -> Menu:
    session, bytes_ = w.session, w.hex.actions_
    return Menu(
        "&Go",
        [
            [bytes_.goto, bytes_.follow, bytes_.references, bytes_.inside],
            MenuEntry("back", "&Back", session.selector.back, "Alt+Left", CAN_GO_BACK),
            MenuEntry("forward", "&Forward", session.selector.forward, "Alt+Right", CAN_GO_FORWARD),
            [bytes_.previous_note, bytes_.next_note],
            LINE,
            MenuEntry("next_tab", "Ne&xt tab", partial(session.documents.step, 1), "Ctrl+Tab", SEVERAL_TABS),
            MenuEntry(
                "previous_tab", "&Previous tab", partial(session.documents.step, -1), "Ctrl+Shift+Tab", SEVERAL_TABS
            ),
            LINE,
            MenuEntry("filter", "F&ilter objects", w.links.to_filter, "Ctrl+L", FILE_OPEN),
            MenuEntry("trace_key", "&Look up key…", w.links.to_trace, "Ctrl+T", FILE_OPEN),
            LINE,
            MenuEntry("go_to", "Go to an&ything…", w.palette_.open, "Ctrl+P"),
            MenuEntry("commands", "&Command palette…", partial(w.palette_.open, COMMAND_SIGN), "Ctrl+Shift+P"),
        ],
    )


def _tools_menu(w: MainWindow) -> Menu:
    session, objects, sandbox = w.session, w.objects.actions_, w.sandbox_shell.actions
    flips: list[Row] = [sandbox.switch, sandbox.to_bits, Menu("Flip &one bit", sandbox.bits[::-1])]
    cuts = [sandbox.cut, sandbox.cut_rest]
    return Menu(
        "&Tools",
        [
            *(_verify(w, depth, f"Ctrl+{number}") for number, depth in enumerate(Depth, 1)),
            objects.check,
            LINE,
            objects.trace,
            MenuEntry("find_key", "Find &key in folder…", lambda *_: w.finding.ask(), "Ctrl+Shift+K"),
            MenuEntry("load_index", "Load &index", session.index.want, enabled=INDEX_MISSING),
            MenuEntry("stop", "&Stop all jobs", w.stop_jobs, "Ctrl+."),
            LINE,
            Menu("Sand&box", [flips, cuts, LINE, sandbox.start_over, LINE, sandbox.save]),
            sandbox.salvage,
        ],
    )


def _verify(w: MainWindow, depth: Depth, keys: str) -> MenuEntry:
    def run() -> None:
        w.panels.show("findings")
        w.session.verification.start(depth)

    text = QCoreApplication.translate("WindowActions", "Verify &{0}").format(depth.value)
    return MenuEntry(f"verify {depth.value}", text, run, keys, FILE_OPEN)


def _learn_menu(w: MainWindow) -> Menu:
    return Menu("Lea&rn", [MenuEntry("lessons", "&Lessons", w.teaching.show), w.sandbox_shell.actions.missions])


def _help_menu(w: MainWindow) -> Menu:
    rows: list[Row] = [
        MenuEntry("help", "&Help on this panel", w.teaching.show_help, "F1"),
        MenuEntry("shortcuts", "&Keyboard shortcuts", partial(w.palette_.open, scope=Scope.SHORTCUTS), "Ctrl+F1"),
        LINE,
        MenuEntry("format_page", "&Format reference", w.teaching.show_page, "Alt+F1"),
        MenuEntry("glossary", "&Glossary", w.teaching.show_glossary),
        LINE,
        MenuEntry("welcome", "&Welcome page", w.session.documents.show_none, enabled=FILE_OPEN),
        MenuEntry("about", "&About Shardscope", lambda: about_box(w, w.actions_["format_page"]).open()),
    ]
    return Menu("&Help", rows)


MENUS = (_file_menu, _edit_menu, _view_menu, _go_menu, _tools_menu, _learn_menu, _help_menu)
