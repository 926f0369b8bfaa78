"""Where the docks stood, and the window: kept from one file to the next, and from one start to the next."""

from __future__ import annotations

from PySide6.QtCore import QByteArray
from PySide6.QtWidgets import QWidget

from shardscope.shell.docks import PanelDocks
from shardscope.startup.settings import Settings


class LayoutMemory:
    """Keeps the places of the docks while the welcome page is shown, which has none.

    Args:
        window: Whose geometry is kept.
        panels: Its docks.
        settings: Where both are remembered.
    """

    def __init__(self, window: QWidget, panels: PanelDocks, settings: Settings) -> None:
        self._window = window
        self._panels = panels
        self._settings = settings
        # None: nobody moved a dock so far, and the docks are arranged when they are first shown.
        self._kept: QByteArray | None = None

    def restore(self) -> None:
        """Takes what the last window left."""
        geometry, state = self._settings.layout("geometry"), self._settings.layout("state")
        if geometry is not None:
            self._window.restoreGeometry(geometry)
        if state is not None and self._panels.restore(state):
            self._kept = state

    def keep(self) -> None:
        """The docks are about to be hidden, or the window closes: their places are kept."""
        self._kept = self._panels.state()

    def bring_back(self) -> None:
        """Shows the docks where they were, or as at the first start."""
        if self._kept is None or not self._panels.restore(self._kept):
            self._panels.arrange()

    def save(self) -> None:
        """Leaves everything to the next window."""
        self._settings.set_layout("geometry", self._window.saveGeometry())
        if self._kept is not None:
            self._settings.set_layout("state", self._kept)
        self._settings.sync()
