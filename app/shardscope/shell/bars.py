"""Tool bar above the bytes, and the status line below: selection or message, running jobs, format."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QAction, QIcon, QImage, QKeySequence, QPixmap, QResizeEvent
from PySide6.QtWidgets import QMainWindow, QMenu, QStackedWidget, QStatusBar, QTabBar, QToolBar, QToolButton, QWidget

from shardcore import Depth
from shardcore.model.text import plural, shown
from shardcore.teaching import resource_paths
from shardscope.session.jobs import Jobs
from shardscope.session.session import Session
from shardscope.views.hex.panel import HexPanel
from shardscope.widgets import fonts, theme
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.layouts import drop_menu, made
from shardscope.widgets.plain_text import tip

_ICON = 16
"""Size of an icon in pixels at 100 %; not higher than text, so that the bar stays low."""

_CROSS = 12

WITH_WORDS = 940
"""Width of the tool bar, in pixels at 100 %, from which buttons have text beside their icons."""


def line_icon(name: str, colours: theme.Palette, ratio: float) -> QIcon:
    """Return a Lucide icon by file name, drawn in the colour of text and, for disabled buttons, of disabled text."""
    drawing = resource_paths.path(f"icons/lucide/{name}.svg").read_text(encoding="utf-8")
    icon = QIcon()
    for mode, ink in ((QIcon.Mode.Normal, colours.text), (QIcon.Mode.Disabled, colours.faint)):
        coloured = drawing.replace("currentColor", ink.name())
        # For the scale of this display, and of others to which the window may be moved.
        for size in {fonts.px(_ICON * scale) for scale in (1, 2, ratio)}:
            sized = coloured.replace('="24"', f'="{size}"')
            icon.addPixmap(QPixmap.fromImage(QImage.fromData(sized.encode())), mode)
    return icon


class TopBar(QToolBar):
    def __init__(
        self,
        actions: Mapping[str, QAction],
        bytes_: HexPanel,
        extract: QAction,
        look_up: Callable[[], object],
        window: QMainWindow,
    ) -> None:
        super().__init__("Bar", window)
        made(self, "topBar", accessibleName=self.tr("Bar"))
        fix_bar(self)
        self._icons: dict[QToolButton, str] = {}
        self._button("", "Back", "arrow-left", "Back", actions["back"])
        self._button("", "Forward", "arrow-right", "Forward", actions["forward"])
        self._button("Open", "Open", "folder-open", "Open files", actions["open"])
        self.addWidget(bytes_.address)
        self.find_button = self._button("Find", "Find", "search", "Search the bytes", bytes_.actions_.find)
        meaning = "Look up the key in the field, or the selected object, step by step"
        self._button("Look up", "LookUp", "key-round", meaning, actions["trace_key"], look_up)
        self._button("Extract", "Extract", "file-down", "Write the selected objects to files", extract)
        depths = [actions[f"verify {depth.value}"] for depth in Depth]
        verify = self._button("Verify", "Verify", "shield-check", "Check the file against its format")
        drop_menu(verify, QMenu(verify)).addActions(depths)
        verify.setEnabled(depths[0].isEnabled())
        depths[0].enabledChanged.connect(verify.setEnabled)
        window.addToolBar(self)
        self._apply_style()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        words = self.width() >= WITH_WORDS * fonts.zoom()
        style = Qt.ToolButtonStyle.ToolButtonTextBesideIcon if words else Qt.ToolButtonStyle.ToolButtonIconOnly
        for button in self._icons:
            button.setToolButtonStyle(style if button.text() else Qt.ToolButtonStyle.ToolButtonIconOnly)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.StyleChange:
            self._apply_style()

    def _apply_style(self) -> None:
        # Setting a style resets the margins.
        if (row := self.layout()) is not None:
            row.setContentsMargins(2, 2, 2, 2)
        self.setIconSize(QSize(_ICON, _ICON) * fonts.zoom())
        for button, icon in self._icons.items():
            button.setIcon(line_icon(icon, theme.of(self), self.devicePixelRatioF()))

    def _button(
        self,
        text: str,
        name: str,
        icon: str,
        meaning: str,
        action: QAction | None = None,
        act: Callable[[], object] | None = None,
    ) -> QToolButton:
        keys, focus = "", Qt.FocusPolicy.TabFocus
        button = made(QToolButton(self), f"top{name}", text=text, accessibleName=text or meaning, focusPolicy=focus)
        if action is not None:
            button.setEnabled(action.isEnabled())
            action.enabledChanged.connect(button.setEnabled)
            button.clicked.connect(lambda _: (act or action.trigger)())
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        button.setToolTip(f"{meaning} ({keys})" if keys else meaning)
        self._icons[button] = icon
        self.addWidget(button)
        return button


MESSAGE_MILLISECONDS = 12_000
"""Milliseconds for which the status line shows a message instead of the selection."""


def fix_bar(bar: QToolBar) -> None:
    made(bar, movable=False, floatable=False, contextMenuPolicy=Qt.ContextMenuPolicy.PreventContextMenu)
    bar.toggleViewAction().setEnabled(False)
    bar.toggleViewAction().setVisible(False)


def close_button(bar: QTabBar, name: str, size: QSize) -> QToolButton:
    """Return a button with a cross for a tab; its size is in pixels at 100 %."""
    cross, wide = QIcon(str(resource_paths.path("icons/close.svg"))), QSize(1, 1) * fonts.px(_CROSS)
    button = made(QToolButton(bar), name, icon=cross, iconSize=wide, autoRaise=True, focusPolicy=Qt.FocusPolicy.NoFocus)
    button.setFixedSize(fonts.px(size.width()), fonts.px(size.height()))
    return button


class StatusLine(QStatusBar):
    def __init__(self, session: Session, selection: QWidget, window: QMainWindow) -> None:
        super().__init__(window)
        made(self, "statusLine", accessibleName=self.tr("Status"), sizeGripEnabled=False)
        self.setContentsMargins(6, 0, 10, 0)
        self._session = session
        self.note = made(Elided(greedy=True), "statusMessage")
        self.busy = made(QToolButton(self), "busyJobs", toolTip=self.tr("Show Activity"))
        self.busy.setCursor(Qt.CursorShape.PointingHandCursor)
        self.busy.setFixedHeight(self.busy.fontMetrics().height() + 1)
        self.kind = made(Elided(parent=self), "formatLabel")
        self._pages = QStackedWidget(self)
        self._selection = selection
        self._pages.addWidget(selection)
        self._pages.addWidget(self.note)
        self._over = Debounce(self, lambda: self.say(""))
        self.addWidget(self._pages, 3)
        self.addPermanentWidget(self.busy)
        self.addPermanentWidget(self.kind)
        session.message.connect(self.say_for_a_while)
        session.documents.opening.connect(lambda uri: self.say(self._opening_text(uri)))
        session.documents.ended.connect(self._ended)
        session.opened.connect(lambda _: self._show_shard())
        session.closed.connect(lambda: None if session.documents.replacing else self._show_shard())

    def _opening_text(self, uri: str) -> str:
        return self.tr("Opening {0} …").format(uri)

    def _ended(self, uri: str) -> None:
        if self.note.text() == shown(self._opening_text(uri)):
            self.say("")

    def _show_shard(self) -> None:
        shard = self._session.shard
        self.say("")
        self.show_format(shard.title if shard is not None else "", shard.why if shard is not None else "")

    def show_format(self, name: str, why: str) -> None:
        self.kind.set_text(name)
        self.kind.setToolTip(self.tr("Detected by: {0}").format(tip(why)) if why else "")

    def add_sign(self, sign: QWidget) -> None:
        self.insertPermanentWidget(2, sign)  # between the jobs and the format
        sign.show()

    def say(self, text: str, milliseconds: int = 0) -> None:
        """Show a message, or the selection if `text` is empty. With 0 milliseconds, it stays until the next message."""
        self._over.stop()
        self.note.set_text(text)
        self._pages.setCurrentWidget(self.note if text else self._selection)
        if text and milliseconds:
            self._over.start(milliseconds)

    def say_for_a_while(self, text: object) -> None:
        self.say(str(text), MESSAGE_MILLISECONDS)

    def show_zoom(self) -> None:
        self.say_for_a_while(self.tr("Zoom {0} %").format(round(fonts.zoom() * 100)))

    def count_jobs(self, jobs: Jobs, running: Callable[[], int], stop: QAction) -> None:
        def count(_: object = None) -> None:
            number = running()
            self.busy.setText(f"▶ {plural(number, 'job')}" if number else "")
            self.busy.setVisible(number > 0)
            stop.setEnabled(number > 0)

        for changed in (jobs.added, jobs.changed):
            changed.connect(count)
        count()
