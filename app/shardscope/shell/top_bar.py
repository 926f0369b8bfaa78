"""Tool bar: back, forward, open, address field, and the most frequent actions."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QAction, QIcon, QImage, QKeySequence, QPixmap, QResizeEvent
from PySide6.QtWidgets import QMainWindow, QMenu, QToolBar, QToolButton

from shardcore.teaching import resource_paths
from shardscope.shell.actions import WindowActions
from shardscope.views.hex.panel import HexPanel
from shardscope.widgets import fonts, theme

_ICON = 16
"""Size of an icon in pixels at 100 %; not higher than text, so that the bar stays low."""

_SIZES = (16, 20, 24, 28, 32, 40, 48, 64)
"""Sizes in pixels at which icons are rendered, for the zoom steps and common display scales."""

WITH_WORDS = 940
"""Width in pixels at 100 % from which buttons have text beside their icons."""


def line_icon(name: str, colours: theme.Palette) -> QIcon:
    """Render a Lucide icon, given by file name, in text colour and in the colour of disabled text."""
    drawing = resource_paths.path(f"icons/lucide/{name}.svg").read_text(encoding="utf-8")
    icon = QIcon()
    for mode, ink in ((QIcon.Mode.Normal, colours.text), (QIcon.Mode.Disabled, colours.faint)):
        coloured = drawing.replace("currentColor", ink.name())
        for size in _SIZES:
            sized = coloured.replace('="24"', f'="{size}"')
            icon.addPixmap(QPixmap.fromImage(QImage.fromData(sized.encode())), mode)
    return icon


class TopBar(QToolBar):
    def __init__(
        self,
        actions: WindowActions,
        bytes_: HexPanel,
        extract: QAction,
        look_up: Callable[[], None],
        window: QMainWindow,
    ) -> None:
        super().__init__("Bar", window)
        self.setObjectName("topBar")
        self.setAccessibleName(self.tr("Bar"))
        self.setMovable(False)
        self.setFloatable(False)
        self.toggleViewAction().setEnabled(False)
        self.toggleViewAction().setVisible(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self._icons: dict[QToolButton, str] = {}
        self._button("", "Back", "arrow-left", "Back", actions.back)
        self._button("", "Forward", "arrow-right", "Forward", actions.forward)
        self.open_button = self._button("Open", "Open", "folder-open", "Open files", actions.open)
        self.addWidget(bytes_.address)
        self.find_button = self._button("Find", "Find", "search", "Search the bytes", bytes_.actions_.find)
        words = "Look up the key in the field, or the selected object, step by step"
        self.look_up_button = self._button("Look up", "LookUp", "key-round", words, actions.trace_key, look_up)
        words = "Write the selected objects to files"
        self.extract_button = self._button("Extract", "Extract", "file-down", words, extract)
        self.verify_button = self._button("Verify", "Verify", "shield-check", "Check the file against its format")
        menu = QMenu(self.verify_button)
        menu.addActions(list(actions.verify.values()))
        self.verify_button.setMenu(menu)
        self.verify_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
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
            button.setIcon(line_icon(icon, theme.of(self)))

    def _button(
        self,
        text: str,
        name: str,
        icon: str,
        meaning: str,
        action: QAction | None = None,
        act: Callable[[], None] | None = None,
    ) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName(f"top{name}")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        keys = ""
        if action is not None:
            button.setEnabled(action.isEnabled())
            action.enabledChanged.connect(button.setEnabled)
            button.clicked.connect(lambda _: (act or action.trigger)())
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        button.setText(text)
        button.setToolTip(f"{meaning} ({keys})" if keys else meaning)
        button.setAccessibleName(text or meaning)
        self._icons[button] = icon
        self.addWidget(button)
        return button
