"""PanelDocks for the panels of the table: made, arranged as at the first start, brought to the front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabWidget, QWidget

from shardscope.session import Session
from shardscope.settings import Settings
from shardscope.window.panels import SIZES, Area, Panel

W = TypeVar("W", bound=QWidget)


class PanelDocks(QObject):
    """The docks of a window.

    Attributes:
        by_name: The docks, in the order of the table.
    """

    def __init__(self, window: QMainWindow, panels: Sequence[Panel], session: Session, settings: Settings) -> None:
        super().__init__(window)
        self._window = window
        self._panels = tuple(panels)
        self._titles_soon = QTimer(self)
        self._titles_soon.setSingleShot(True)
        self._titles_soon.setInterval(0)
        self._titles_soon.timeout.connect(self._name)
        self.by_name: dict[str, QDockWidget] = {}
        window.setDockNestingEnabled(True)
        window.setDockOptions(window.dockOptions() | QMainWindow.DockOption.GroupedDragging)
        window.setTabPosition(Area.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        window.setCorner(Qt.Corner.BottomLeftCorner, Area.LeftDockWidgetArea)
        window.setCorner(Qt.Corner.BottomRightCorner, Area.RightDockWidgetArea)
        for panel in self._panels:
            dock = QDockWidget(panel.title, window)
            dock.setObjectName(f"{panel.name}Dock")
            dock.setWidget(panel.make(session, settings))
            window.addDockWidget(panel.area, dock)
            self.by_name[panel.name] = dock
            dock.dockLocationChanged.connect(self._titles_soon.start)
            dock.topLevelChanged.connect(self._titles_soon.start)
            dock.visibilityChanged.connect(self._titles_soon.start)

    def panel(self, kind: type[W]) -> W:
        """The panel of a class.

        Raises:
            LookupError: The table has none.
        """
        for dock in self.by_name.values():
            widget = dock.widget()
            if isinstance(widget, kind):
                return widget
        raise LookupError(kind.__name__)

    def arrange(self) -> None:
        """Puts all docks where they stand at the first start."""
        first: dict[Area, QDockWidget] = {}
        last: dict[Area, QDockWidget] = {}
        for panel in self._panels:
            dock = self.by_name[panel.name]
            self._window.addDockWidget(panel.area, dock)
            dock.setFloating(False)
            dock.show()
            if panel.area in last:
                self._window.tabifyDockWidget(last[panel.area], dock)
            first.setdefault(panel.area, dock)
            last[panel.area] = dock
        for dock in first.values():
            dock.raise_()
        sides = [area for area in first if area is not Area.BottomDockWidgetArea]
        self._window.resizeDocks([first[a] for a in sides], [SIZES[a] for a in sides], Qt.Orientation.Horizontal)
        if (bottom := first.get(Area.BottomDockWidgetArea)) is not None:
            self._window.resizeDocks([bottom], [SIZES[Area.BottomDockWidgetArea]], Qt.Orientation.Vertical)

    def show(self, name: str, *, focus: bool = False) -> None:
        """Brings a dock to the front.

        Args:
            name: One of `by_name`.
            focus: Whether its panel takes the keyboard.
        """
        dock = self.by_name[name]
        dock.show()
        dock.raise_()
        if focus:
            dock.widget().setFocus(Qt.FocusReason.ShortcutFocusReason)

    def hide(self) -> None:
        """Hides all."""
        for dock in self.by_name.values():
            dock.hide()

    def _name(self) -> None:
        """A dock that shares its place has its name on a tab; it needs no title as well."""
        for dock in self.by_name.values():
            tabbed = bool(self._window.tabifiedDockWidgets(dock)) and not dock.isFloating()
            bare = dock.titleBarWidget() is not None
            if tabbed and not bare:
                dock.setTitleBarWidget(QWidget(dock))
            elif bare and not tabbed:
                dock.setTitleBarWidget(None)  # type: ignore[arg-type]
