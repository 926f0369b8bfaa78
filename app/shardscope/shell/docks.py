"""Docks of the panels, and the pages between them: default layout, layout of small windows, and saved layouts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QByteArray, QChildEvent, QCoreApplication, QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QEnterEvent, QFontMetrics, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialog,
    QDockWidget,
    QFrame,
    QGraphicsOpacityEffect,
    QLayout,
    QMainWindow,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QTabBar,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import DataSet, Shard
from shardcore.dataclasses import dataclass
from shardscope.learning.drawings.drawing_request import LEAST_WIDTH
from shardscope.session.session import Session
from shardscope.shell.bars import close_button
from shardscope.shell.keyboard import accepts_tab, press_focused
from shardscope.shell.notices import Notices
from shardscope.shell.welcome import Welcome
from shardscope.startup.settings import Settings
from shardscope.views.hex.panel import HexPanel
from shardscope.views.places import KeySpaceCards
from shardscope.widgets import fonts
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.layouts import lay, made

W = TypeVar("W", bound=QWidget)

NARROW = 1100
LOW = 560
"""Window width or height in pixels at 100 % below which all panels are tabs of one area below the bytes."""

FOLDED_SHARE = 0.36
"""Fraction of the window height for the panels of a small window (see `PanelDocks.folded`)."""

TAB_SPACE = 24
"""Padding of a tab in pixels; must agree with the style sheet."""

CLOSE = QSize(14, 18)
"""Size of the close button in pixels; small, so that four tabs fit into the width of a side panel."""

_EQUAL = 100

ANY_SIZE = (1 << 24) - 1

BELOW = 220
"""Minimum height in pixels of a panel below the bytes."""

LEAST = QSize(120, 48)

Area = Qt.DockWidgetArea
_LEFT, _RIGHT = Area.LeftDockWidgetArea, Area.RightDockWidgetArea

LAYOUT_VERSION = 11
"""Version of saved layouts; increment it when panels are added or removed. Other versions are ignored."""

_NORMAL = 1600
"""Window width in pixels from which the side panels get wider, too; up to it, only the bytes view does."""

_EDGES = 10
"""Sum of the widths, in pixels, of the splitters between the side panels and the bytes view."""

_NARROW_LISTS = 340
"""Minimum width in pixels of the left side panels in a narrow window."""

_WIDTHS = (420, 760, 0.36), (280, 480, 0.12)
"""Minimum and maximum width of the left and the right side, and their share of the window width above `_NORMAL`."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Panel in a dock.

    Attributes:
        group: Panels with the same `area` and `group` are tabs of one dock area, the first in front.
        on_demand: Whether it is closed at first and has a close button on its tab.
        high: Height in pixels at 100 % below which the content scrolls; 0 for never.
    """

    name: str
    title: str
    area: Area
    group: str
    shortcut: str
    make: Callable[[Session, Settings], QWidget]
    on_demand: bool = False
    high: int = 0

    @property
    def shown_title(self) -> str:
        return QCoreApplication.translate("Panels", self.title)


_WISH = QSize(320, 220)


class _Tall(QScrollArea):
    def __init__(self, part: QWidget, high: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._part, self._high = part, high
        made(self, frameShape=QFrame.Shape.NoFrame, focusPolicy=Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        part.resize(LEAST)  # else Qt computes its size hint
        self.setWidget(part)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._part.resize(self.viewport().width(), max(self.viewport().height(), fonts.px(self._high)))


class FixedSizeFrame(QWidget):
    """Frame around a widget, with a constant size hint. Below `high` pixels (at 100 %), the widget scrolls."""

    resized = Signal()
    hovered = Signal(bool)

    def __init__(self, part: QWidget, least: QSize, parent: QWidget | None = None, *, high: int = 0) -> None:
        super().__init__(parent)
        self.part = part
        self._least = least
        column = lay(QVBoxLayout(self), _Tall(part, high, self) if high else part, spacing=-1)
        column.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()

    def enterEvent(self, event: QEnterEvent) -> None:
        self.hovered.emit(True)

    def leaveEvent(self, event: QEvent) -> None:
        self.hovered.emit(False)

    def sizeHint(self) -> QSize:
        return _WISH

    def minimumSizeHint(self) -> QSize:
        return self._least


class _Dock(QDockWidget):
    """Dock that shows its title buttons only while the mouse is over it. The Return key presses the focused button."""

    closing = Signal()

    def __init__(self, panel: Panel, part: QWidget, window: QWidget) -> None:
        super().__init__(panel.shown_title, window)
        self.setObjectName(f"{panel.name}Dock")
        if not part.accessibleName():
            part.setAccessibleName(panel.shown_title)
        self.frame = FixedSizeFrame(part, LEAST, self, high=panel.high)
        self.frame.hovered.connect(lambda inside: self._show_buttons(not inside))
        self.setWidget(self.frame)
        self._shades = []
        for button in self.findChildren(QAbstractButton, options=Qt.FindChildOption.FindDirectChildrenOnly):
            # Transparent, not hidden: screen readers still find the buttons.
            self._shades.append(QGraphicsOpacityEffect(button))
            button.setGraphicsEffect(self._shades[-1])
        self._show_buttons(False)

    def _show_buttons(self, shown: bool) -> None:
        for shade in self._shades:
            shade.setOpacity(float(shown))

    def enterEvent(self, event: QEnterEvent) -> None:
        self._show_buttons(True)

    def leaveEvent(self, event: QEvent) -> None:
        self._show_buttons(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not press_focused(self, event):
            super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        self.closing.emit()
        super().closeEvent(event)

    def has_keyboard(self) -> bool:
        focused = QApplication.focusWidget()
        return focused is not None and self.isAncestorOf(focused)

    def take_keyboard(self) -> None:
        # The frame cannot be a focus proxy: `setFocusPolicy` on it would change the policy of the part.
        self.frame.part.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if not self.has_keyboard():
            # The usual focus widget is not visible now, such as a table without rows.
            first = next((part for part in self.widget().findChildren(QWidget) if accepts_tab(part)), self)
            first.setFocus(Qt.FocusReason.ShortcutFocusReason)


class PanelDocks(QObject):
    """Docks of a window, in the order of `PANELS`.

    Attributes:
        folded: Whether the window is so small that all docks are tabs of one area below the bytes.
        lowered: Whether only the tabs of that area are shown, but no panel.
    """

    asked_for = Signal(str, bool)
    """A panel was requested: its name, and whether it gets the keyboard."""
    places_changed = Signal()
    tab_pressed = Signal(bool)
    """A tab was pressed; carries whether it is the current one."""

    def __init__(self, window: QMainWindow, panels: Sequence[Panel], session: Session, settings: Settings) -> None:
        super().__init__(window)
        self._window = window
        self.panels = tuple(panels)
        self._titles_soon = Debounce(self, self._name)
        self._closable = {panel.shown_title: panel.name for panel in self.panels if panel.on_demand}
        self.by_name: dict[str, _Dock] = {}
        self.folded = self.lowered = self._arranged = False
        self._last = ""
        self._recent: list[_Dock] = []
        self._unfolded = QByteArray()
        self._closed_before: frozenset[str] = frozenset()
        self._calm = QByteArray()
        self._calm_soon = Debounce(self, self._remember)
        self._wanted: list[tuple[QDockWidget, QSize]] = []
        self._settle_soon = Debounce(self, self._settle)
        self._scale_soon = Debounce(self, self._scale_sides)
        # Sizes of the sides at 100 %: changed by the user and by moved docks, not by the zoom.
        self._plain: dict[Area | QDockWidget, float] = {}
        self._pressed_at: dict[Area | QDockWidget, int] = {}
        window.installEventFilter(self)
        made(window, animated=False, dockNestingEnabled=True)
        window.setDockOptions(window.dockOptions() | QMainWindow.DockOption.GroupedDragging)
        window.setTabPosition(Area.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        window.setCorner(Qt.Corner.BottomLeftCorner, Area.LeftDockWidgetArea)
        window.setCorner(Qt.Corner.BottomRightCorner, Area.RightDockWidgetArea)
        for panel in self.panels:
            dock = _Dock(panel, panel.make(session, settings), window)
            dock.frame.resized.connect(self._calm_soon.again)
            dock.hide()
            window.addDockWidget(panel.area, dock)
            self.by_name[panel.name] = dock
            for changed in (dock.dockLocationChanged, dock.topLevelChanged, dock.visibilityChanged):
                changed.connect(self._titles_soon.again)
            dock.dockLocationChanged.connect(self._moved)
            dock.topLevelChanged.connect(lambda _, dock=dock: _free(dock))
            # Qt keeps docks behind a tab visible, outside of the window: hide their content, so that it does no work.
            dock.visibilityChanged.connect(partial(self._visibility_changed, dock))
            dock.closing.connect(partial(self.uncover, dock))

    def panel(self, kind: type[W]) -> W:
        parts = (dock.frame.part for dock in self.by_name.values())
        return next(part for part in parts if isinstance(part, kind))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QChildEvent) and event.polished():
            self._titles_soon.start()
            _fit_dialog(event.child(), self._window.size())
        elif event.type() == QEvent.Type.MouseButtonPress:
            self._pressed_at = self._sizes()
        elif event.type() == QEvent.Type.MouseButtonRelease:
            for place, _ in self._sizes().items() - self._pressed_at.items():
                self._plain.pop(place, None)
        return False

    def _moved(self) -> None:
        # Folding also moves docks, but their widths are restored with the layout.
        if not self.folded:
            self._plain.clear()

    # --- places ---

    def arrange(self) -> None:
        self.lower(False)
        self.folded, self._arranged = False, True
        self._calm = QByteArray()
        for dock in self.by_name.values():
            # Dragged docks leave splits behind, which are only removed with the docks.
            dock.setFloating(False)
            self._window.removeDockWidget(dock)
        groups: dict[tuple[Area, str], QDockWidget] = {}
        columns: dict[Area, QDockWidget] = {}
        for panel in self.panels:
            dock = self.by_name[panel.name]
            first = groups.get((panel.area, panel.group))
            if first is not None:
                self._window.tabifyDockWidget(first, dock)
            else:
                self._window.addDockWidget(panel.area, dock)
                if panel.area in columns:
                    self._window.splitDockWidget(columns[panel.area], dock, Qt.Orientation.Vertical)
                groups[panel.area, panel.group] = columns[panel.area] = dock
            dock.setHidden(panel.on_demand)
        self._plain = self._default_widths
        widths = _scaled(self._plain)
        shown = [(dock, area) for (area, _), dock in groups.items() if not dock.isHidden()]
        self._bring([(dock, QSize(widths[area], _EQUAL)) for dock, area in shown])
        self.fit(self._window.size())

    def _bring(self, wanted: list[tuple[QDockWidget, QSize]]) -> None:
        """Raise docks and set their sizes: now, and again after Qt has laid out moved docks."""
        self._wanted = wanted
        self._settle()
        self._settle_soon.start()
        self._calm_soon.start()

    def _settle(self) -> None:
        for dock, _ in self._wanted:
            dock.raise_()
        columns = {self._window.dockWidgetArea(dock): (dock, size) for dock, size in reversed(self._wanted)}
        sides = list(columns.values())
        widths = [size.width() for _, size in sides]
        self._window.resizeDocks([dock for dock, _ in sides], widths, Qt.Orientation.Horizontal)
        for area in columns:
            column = [(dock, size) for dock, size in self._wanted if self._window.dockWidgetArea(dock) is area]
            heights = [size.height() for _, size in column]
            self._window.resizeDocks([dock for dock, _ in column], heights, Qt.Orientation.Vertical)

    def _remember(self) -> None:
        """Record the layout of a large window: if the window shrinks, Qt squeezes the docks before `fit` is called."""
        if not self.folded and not _is_small(self._window.size()):
            self._calm = self._window.saveState(LAYOUT_VERSION)

    def fit(self, size: QSize) -> None:
        small, keyboard = _is_small(size), focused_in(self._window)
        if small and not self.folded:
            self._closed_before = self.closed
            now = self._window.saveState(LAYOUT_VERSION)
            self._unfolded = now if self._calm.isEmpty() else self._calm
            self.folded = True
            self._fold(size, keyboard)
        elif not small and self.folded:
            self.lower(False)
            closed, opened = self.closed - self._closed_before, self._closed_before - self.closed
            front = self._front()
            self._settle_soon.stop()
            self._window.restoreState(self._unfolded, LAYOUT_VERSION)
            self.folded = False
            self._close(closed)
            for name in opened:
                self.by_name[name].show()
            if front is not None:
                front.raise_()
        if keyboard is not None and keyboard is not focused_in(self._window) and keyboard.isVisibleTo(self._window):
            # Removing and adding docks loses the focus: restore it.
            keyboard.setFocus(Qt.FocusReason.OtherFocusReason)
        self._fit_names()

    @property
    def sides(self) -> dict[Area | QDockWidget, QDockWidget]:
        return {area: dock for dock, area in self._beside.items()}

    @property
    def _beside(self) -> dict[QDockWidget, Area]:
        docks = [dock for dock in self.by_name.values() if not dock.isHidden() and not dock.isFloating()]
        places = {dock: self._window.dockWidgetArea(dock) for dock in docks if self._is_seen(dock)}
        return {dock: area for dock, area in places.items() if area in (_LEFT, _RIGHT)}

    def widen_bytes(self, missing: float) -> None:
        """Widen the bytes view by up to `missing` pixels; the side panels keep at least their default width."""
        least = _scaled(self._default_widths)
        spare = {dock: max(dock.width() - least[area], 0) for area, dock in self.sides.items()}
        share = min(missing / max(sum(spare.values()), 1), 1)
        widths = [dock.width() - round(more * share) for dock, more in spare.items()]
        self._window.resizeDocks(list(spare), widths, Qt.Orientation.Horizontal)

    def _sizes(self) -> dict[Area | QDockWidget, int]:
        heights: dict[Area | QDockWidget, int] = {dock: dock.height() for dock in self._beside}
        return heights | {area: dock.width() for area, dock in self.sides.items()}

    def keep_sizes(self) -> None:
        """Record the sizes of the side panels, converted to 100 %; call it before the zoom changes."""
        kept = self._plain if fonts.zoom() != 1 else {}
        self._plain = {place: size / fonts.zoom() for place, size in self._sizes().items()} | kept

    def zoom(self) -> None:
        self._scale_sides()
        self._scale_soon.start()
        self._titles_soon.start()

    def _scale_sides(self) -> None:
        sizes = _scaled(self._plain)
        levels: dict[Area | QDockWidget, QDockWidget] = {dock: dock for dock in self._beside}
        for docks, orientation in ((self.sides, Qt.Orientation.Horizontal), (levels, Qt.Orientation.Vertical)):
            known = [place for place in docks if place in sizes]
            self._window.resizeDocks([docks[place] for place in known], [sizes[place] for place in known], orientation)

    @property
    def _default_widths(self) -> dict[Area | QDockWidget, float]:
        """Default widths of the side panels in pixels at 100 %; in a narrow window, the left side is narrower."""
        window = self._window.width() / fonts.zoom()
        more = max(window - _NORMAL, 0)
        left, right = (min(least + share * more, most) for least, most, share in _WIDTHS)
        return {_LEFT: min(left, max(window - right - LEAST_WIDTH - _EDGES, _NARROW_LISTS)), _RIGHT: right}

    def lower(self, lowered: bool) -> None:
        if lowered is self.lowered or (lowered and not self.folded):
            return
        self.lowered = lowered
        for dock in self.by_name.values():
            if lowered and not dock.isFloating():
                dock.setFixedHeight(0)
            else:
                _free(dock)
        if not lowered and (front := self._front()) is not None:
            self._bring([(front, _folded(self._window.size()))])

    @property
    def _bars(self) -> list[QTabBar]:
        return self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)

    def _front(self) -> QDockWidget | None:
        title = next((bar.tabText(bar.currentIndex()) for bar in self._bars if bar.isVisible() and bar.count()), "")
        return next((dock for dock in self.by_name.values() if dock.windowTitle() == title), None)

    def _fold(self, size: QSize, keyboard: QWidget | None) -> None:
        shown = [dock for dock in self.by_name.values() if not dock.isHidden() and not dock.isFloating()]
        # The dock with the keyboard stays in front, else the one requested last.
        asked = self.by_name.get(self._last) if self._last and self.in_front(self._last) else None
        asked = next((dock for dock in shown if keyboard is not None and dock.isAncestorOf(keyboard)), asked)
        for dock in self.by_name.values():
            # Remove closed docks too: they would keep a part of the shared area.
            if not dock.isFloating():
                self._window.removeDockWidget(dock)
        for dock in shown:
            self._window.addDockWidget(Area.BottomDockWidgetArea, dock)
            if dock is not shown[0]:
                self._window.tabifyDockWidget(shown[0], dock)
            dock.show()
        if shown:
            self._bring([(asked if asked in shown else shown[0], _folded(size))])

    def state(self) -> QByteArray:
        """Return the layout for a large window: names of closed docks, a newline, and the state from Qt."""
        places = self._unfolded if self.folded else self._window.saveState(LAYOUT_VERSION)
        return QByteArray(",".join(sorted(self.closed)).encode() + b"\n" + places.data())

    def restore(self, state: QByteArray) -> bool:
        """Restore a layout returned by `state`; return False if it has another version."""
        names, _, places = bytes(state.data()).partition(b"\n")
        self.lower(False)
        self.folded = False
        self._calm, self._arranged = QByteArray(places), True
        restored = self._window.restoreState(places, LAYOUT_VERSION)
        if restored:
            self._close(set(names.decode(errors="replace").split(",")))
        self.fit(self._window.size())
        return restored

    @property
    def closed(self) -> frozenset[str]:
        return frozenset(name for name, dock in self.by_name.items() if dock.isHidden())

    def _close(self, names: Set[str]) -> None:
        for name in names & self.by_name.keys():
            self.by_name[name].hide()

    def _open(self, dock: QDockWidget) -> None:
        if not self._arranged:  # no file was opened yet
            self.arrange()
            self.hide()
        mate = next((other for other in self.by_name.values() if not other.isHidden() and not other.isFloating()), None)
        if self.folded and not dock.isFloating():
            self._window.removeDockWidget(dock)
            self._window.addDockWidget(Area.BottomDockWidgetArea, dock)
            if mate is not None:
                self._window.tabifyDockWidget(mate, dock)
        dock.show()
        mates = [other for other in self._window.tabifiedDockWidgets(dock) if not other.isHidden()]
        if not self.folded and not mates and self._window.dockWidgetArea(dock) is Area.BottomDockWidgetArea:
            self._bring([(dock, QSize(self._window.width(), max(dock.height(), fonts.px(BELOW))))])

    def show(self, name: str, *, focus: bool = False) -> None:
        dock, self._last = self.by_name[name], name
        if dock.isHidden():
            self._open(dock)
        self.raise_(name)
        self.asked_for.emit(name, focus)
        if focus:
            dock.take_keyboard()

    def raise_(self, name: str) -> None:
        """Raise a dock above other tabs of its area, and again after a pending layout; a closed dock stays closed."""
        dock = self.by_name[name]
        place = {dock, *self._window.tabifiedDockWidgets(dock)}
        covers = any(one.has_keyboard() for one in self.by_name.values() if one in place and one is not dock)
        dock.raise_()
        self._wanted = [(dock if other in place else other, size) for other, size in self._wanted]
        if covers and self._is_seen(dock):
            dock.take_keyboard()

    def _visibility_changed(self, dock: _Dock, seen: bool) -> None:
        if seen:
            self._recent = [*(one for one in self._recent if one is not dock), dock]
        # While the window is destroyed, only its C++ side exists, which `dock.parentWidget` returns.
        window = dock.parentWidget()
        if seen or window is None or not window.isMinimized():
            dock.frame.part.setVisible(seen)

    def uncover(self, dock: _Dock) -> None:
        """Show the tab that was in front before `dock`. If `dock` has the keyboard focus, the tab gets it."""
        mates = self._window.tabifiedDockWidgets(dock) if self._is_seen(dock) else []
        before = next((one for one in reversed(self._recent) if one in mates and not one.isHidden()), None)
        if before is not None:
            QTimer.singleShot(0, self, before.raise_)
            if dock.has_keyboard():
                QTimer.singleShot(0, self, before.take_keyboard)

    def in_front(self, name: str) -> bool:
        """Return whether a dock is visible and not behind another tab: Qt moves such docks out of the window."""
        dock = self.by_name[name]
        return dock.isVisible() and not dock.isFloating() and self._is_seen(dock)

    def _is_seen(self, dock: QDockWidget) -> bool:
        return self._window.rect().intersects(dock.geometry())

    def view_state(self) -> object:
        return tuple(name for name in self.by_name if self.in_front(name))

    def restore_view_state(self, state: object) -> None:
        for name in state if isinstance(state, tuple) else ():
            if not self.by_name[name].isHidden() and not self.in_front(name):
                self.raise_(name)

    def hide(self) -> None:
        for dock in self.by_name.values():
            dock.hide()

    def _name(self) -> None:
        for bar in self._bars:
            titles = ", ".join(bar.tabText(tab) for tab in range(bar.count()))
            bar.setAccessibleName(self.tr("Panels: {0}").format(titles))
            # Do not elide names; arrows scroll to tabs that do not fit.
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.setUsesScrollButtons(True)
            bar.tabBarClicked.connect(self._pressed, Qt.ConnectionType.UniqueConnection)
            self._add_close_buttons(bar)
        self._fit_names()
        self.places_changed.emit()
        for dock in self.by_name.values():
            tabbed = bool(self._window.tabifiedDockWidgets(dock)) and not dock.isFloating()
            title = dock.titleBarWidget()
            bare = title is not None
            if tabbed and not bare:
                dock.setTitleBarWidget(QWidget(dock))
            elif bare and not tabbed:
                dock.setTitleBarWidget(None)  # type: ignore[arg-type]
                # Otherwise the old title bar stays a child of the dock.
                title.deleteLater()

    def _add_close_buttons(self, bar: QTabBar) -> None:
        side = QTabBar.ButtonPosition.RightSide
        for tab in range(bar.count()):
            name = self._closable.get(bar.tabText(tab), "")
            button = bar.tabButton(tab, side)
            if (button.objectName() if isinstance(button, QToolButton) else "") == name:
                continue
            # Qt reuses tabs for other docks, but a button belongs to one panel.
            bar.setTabButton(tab, side, self._close_button(name, bar) if name else None)
            if isinstance(button, QToolButton):
                button.deleteLater()

    def _close_button(self, name: str, bar: QTabBar) -> QToolButton:
        button = close_button(bar, name, CLOSE)
        button.setToolTip(self.tr("Close"))
        button.setAccessibleName(self.tr("Close {0}").format(self.by_name[name].windowTitle()))
        button.clicked.connect(self.by_name[name].close)
        return button

    def _pressed(self, tab: int) -> None:
        bar = self.sender()
        if isinstance(bar, QTabBar) and tab >= 0 and self.folded:
            self.tab_pressed.emit(tab == bar.currentIndex())

    def _fit_names(self) -> None:
        metrics = QFontMetrics(self._window.font())
        for bar in self._bars:
            wide = sum(metrics.horizontalAdvance(bar.tabText(tab)) + fonts.px(TAB_SPACE) for tab in range(bar.count()))
            if self.folded:
                room = self._window.width()
            else:
                room = bar.width()
                buttons = [bar.tabButton(tab, QTabBar.ButtonPosition.RightSide) for tab in range(bar.count())]
                wide += fonts.px(CLOSE.width() + 8) * sum(button is not None for button in buttons)
            tight = wide > room
            if bool(bar.property("tight")) is not tight:
                bar.setProperty("tight", tight)
                bar.style().unpolish(bar)
                bar.style().polish(bar)


CENTRE = QSize(300, 120)
"""Minimum size of the bytes view in pixels."""


class Centre(FixedSizeFrame):
    """Pages between the docks: the welcome page, or the bytes or key spaces of the open file. Notices are below them.

    While the welcome page is shown, the docks are hidden; their layout is stored for the next file and the settings.
    """

    fitted = Signal()

    def __init__(
        self,
        session: Session,
        settings: Settings,
        pages: tuple[Welcome, HexPanel, KeySpaceCards],
        panels: PanelDocks,
        window: QMainWindow,
    ) -> None:
        stack = QStackedWidget()
        super().__init__(stack, CENTRE, window)
        self.pages = stack
        self._session, self._settings, self._panels, self._window = session, settings, panels, window
        self._welcome, self._hex, self._spaces = pages
        for page in pages:
            self.pages.addWidget(page)
        # Ignore the size hints of the pages, so that notices get the space they need.
        self.pages.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.notices = Notices(self)
        column = self.layout()
        assert column is not None
        column.addWidget(self.notices)
        self._hex.room = self.height
        # None if no dock was moved yet: the default layout is used when they are first shown.
        self._kept: QByteArray | None = None
        window.setCentralWidget(self)
        self.fit_soon = Debounce(self, self.fit)
        for changed in (self._hex.full_width_changed, self.pages.currentChanged, panels.places_changed):
            changed.connect(self._limit_width)
        session.opened.connect(self._opened)
        session.closed.connect(self._closed)

    @property
    def at_work(self) -> bool:
        return self.pages.currentWidget() is not self._welcome

    def _opened(self, shard: Shard) -> None:
        self.notices.clear()
        page: QWidget = self._hex
        before, at_work = self.pages.currentWidget(), self.at_work
        if isinstance(shard, DataSet) and shard.key_spaces:
            self._spaces.fill(shard)
            page = self._spaces
        self.pages.setCurrentWidget(page)
        if not at_work and (self._kept is None or not self._panels.restore(self._kept)):
            self._panels.arrange()
        if page is not before or page is self._spaces:
            page.setFocus(Qt.FocusReason.OtherFocusReason)

    def _closed(self) -> None:
        self.notices.clear()
        if not self._session.documents.replacing:
            self.show_welcome()

    def show_welcome(self) -> None:
        if self.at_work:
            self._kept = self._panels.state()
        self._welcome.refresh()
        self._panels.hide()
        self.pages.setCurrentWidget(self._welcome)

    # --- sizes ---

    def fit(self) -> None:
        if self.at_work:
            self._panels.fit(self._window.size())
            self.fitted.emit()

    def arrange(self) -> None:
        self._panels.arrange()
        self.fit()

    def zoomed(self) -> None:
        self.fit()
        self._limit_width()
        self._panels.zoom()

    def _limit_width(self) -> None:
        """Limit the bytes view to the width that its rows and fields need; the side panels get the remaining width."""
        most = self._hex.full_width if self.pages.currentWidget() is self._hex and self._panels.sides else math.inf
        limit = ANY_SIZE if math.isinf(most) else max(math.ceil(most), CENTRE.width())
        before = self.maximumWidth()
        if limit == before:
            return
        self.setMaximumWidth(limit)
        # Deferred: a request for a new layout is lost while docks are being hidden.
        QTimer.singleShot(0, self, self.updateGeometry)
        if before < limit and self._panels.sides and not self._hex.drawings.in_front:
            self._panels.widen_bytes(limit - self.width())

    # --- settings ---

    def restore(self) -> None:
        # The docks are arranged when the first file is opened.
        if (geometry := self._settings.layout("geometry")) is not None:
            self._window.restoreGeometry(geometry)
        self._kept = self._settings.layout("state")

    def save(self) -> None:
        if self.at_work:
            self._kept = self._panels.state()
        self._settings.set_layout("geometry", self._window.saveGeometry())
        if self._kept is not None:
            self._settings.set_layout("state", self._kept)


def _scaled(sizes: dict[Area | QDockWidget, float]) -> dict[Area | QDockWidget, int]:
    return {place: round(size * fonts.zoom()) for place, size in sizes.items()}


def _fit_dialog(dialog: QObject, room: QSize) -> None:
    """If the size of a dialog was set explicitly, scale it by the zoom, but not beyond the window."""
    if isinstance(dialog, QDialog) and dialog.testAttribute(Qt.WidgetAttribute.WA_Resized):
        size, hint = dialog.size(), dialog.sizeHint()
        wide = size.width() if size.width() == hint.width() else fonts.px(size.width())
        high = size.height() if size.height() == hint.height() else fonts.px(size.height())
        dialog.resize(QSize(wide, high).boundedTo(room - QSize(16, 16)))


def _free(dock: QDockWidget) -> None:
    dock.setMinimumHeight(0)
    dock.setMaximumHeight(ANY_SIZE)


def focused_in(window: QWidget) -> QWidget | None:
    """Return the focused widget of a window, or None, which the type annotations of PySide do not mention."""
    return window.focusWidget()


def _folded(size: QSize) -> QSize:
    return QSize(size.width(), round(size.height() * FOLDED_SHARE))


def _is_small(size: QSize) -> bool:
    return size.width() < fonts.px(NARROW) or size.height() < fonts.px(LOW)
