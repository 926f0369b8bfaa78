"""The one bar of the window: back, forward, the field for places and keys, and what people do most."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMainWindow, QMenu, QToolBar, QToolButton

from shardscope.views.hex.address_bar import AddressBar

_ARROW = 16
"""Pixels of an arrow: no higher than the letters, so that the bar takes no room from the bytes."""


class TopBar(QToolBar):
    """Always there, so that nothing below it moves when a file opens.

    Args:
        back: To what was selected before.
        forward: And back again.
        address: The field.
        find: Opens the search.
        look_up: Looks up the key in the field, or requests one.
        extract: Writes the selected objects to files.
        verify: The depths of a verification.
        window: The window.
    """

    def __init__(
        self,
        back: QAction,
        forward: QAction,
        address: AddressBar,
        find: QAction,
        look_up: Callable[[], None],
        extract: QAction,
        verify: Sequence[QAction],
        window: QMainWindow,
    ) -> None:
        super().__init__("Bar", window)
        self.setObjectName("topBar")
        self.setAccessibleName(self.tr("Bar"))
        self.setMovable(False)
        self.setFloatable(False)
        self.setIconSize(QSize(_ARROW, _ARROW))
        self.toggleViewAction().setEnabled(False)
        self.toggleViewAction().setVisible(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self._keep_low()
        self._arrow(back, Qt.ArrowType.LeftArrow, "Back")
        self._arrow(forward, Qt.ArrowType.RightArrow, "Forward")
        self.addWidget(address)
        self.find_button = self._button("Find", "topFind", "Search the bytes", find)
        self.look_up_button = self._button("Look up", "topLookUp", "Look up the key in the field, step by step")
        self.look_up_button.clicked.connect(lambda _: look_up())
        self.extract_button = self._button("Extract", "topExtract", "Write the selected objects to files", extract)
        self.verify_button = self._button("Verify", "topVerify", "Check the file against its format")
        menu = QMenu(self.verify_button)
        menu.addActions(list(verify))
        self.verify_button.setMenu(menu)
        self.verify_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        window.addToolBar(self)

    def set_open(self, is_open: bool) -> None:
        """Enable what needs a shard with keys."""
        self.look_up_button.setEnabled(is_open)
        self.verify_button.setEnabled(is_open)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.StyleChange:
            self._keep_low()

    def _keep_low(self) -> None:
        # Qt takes the margins of the style with every style that is set.
        if (row := self.layout()) is not None:
            row.setContentsMargins(2, 2, 2, 2)

    def _arrow(self, action: QAction, arrow: Qt.ArrowType, name: str) -> None:
        button = self._button("", f"top{name}", name, action)
        button.setArrowType(arrow)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)

    def _button(self, text: str, name: str, meaning: str, action: QAction | None = None) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName(name)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if action is not None:
            button.setEnabled(action.isEnabled())
            action.enabledChanged.connect(button.setEnabled)
            button.clicked.connect(lambda _: action.trigger())
        keys = action.shortcut().toString() if action is not None else ""
        button.setText(text)
        button.setToolTip(f"{meaning} ({keys})" if keys else meaning)
        button.setAccessibleName(text or meaning)
        self.addWidget(button)
        return button
