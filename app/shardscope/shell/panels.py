"""Table of the panels around the bytes; docks, default layout, menus and `--show` are derived from `PANELS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QWidget

from shardscope.learning.charts.panel import Charts
from shardscope.learning.drawings.drawing_request import LEAST_WIDTH
from shardscope.learning.help.format_page import FormatPage
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.learning.sandbox.panel import SandboxPanel
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.views.activity import Transfers
from shardscope.views.findings import FindingsTable
from shardscope.views.hits import HitsTable
from shardscope.views.inspector.panel import Inspector
from shardscope.views.notes import NotesPanel
from shardscope.views.objects.panel import ObjectPanel
from shardscope.views.places import PlacesPanel
from shardscope.views.preview.panel import PreviewPanel
from shardscope.views.structure.tree import StructureTree
from shardscope.views.trace.panel import TracePanel

Area = Qt.DockWidgetArea

_HIGH = 150
"""Height in pixels at 100 % below which a list or picture scrolls together with its tool bar."""

LAYOUT_VERSION = 11
"""Version of saved layouts; increment it when panels are added or removed. Other versions are ignored."""

_NORMAL = 1600
"""Window width in pixels up to which only the bytes get wider."""

_EDGES = 10
"""Width in pixels of the splitters between the sides and the bytes."""

_NARROW_LISTS = 340
"""Minimum width in pixels of the left side."""

_WIDTHS = MappingProxyType({Area.LeftDockWidgetArea: (420, 760, 0.36), Area.RightDockWidgetArea: (280, 480, 0.12)})


def default_widths(window: int) -> dict[Area, int]:
    """Return the default widths of the sides in pixels at 100 %; in a narrow window, the left side shrinks."""
    more = max(window - _NORMAL, 0)
    widths = {area: min(round(least + share * more), most) for area, (least, most, share) in _WIDTHS.items()}
    room = window - widths[Area.RightDockWidgetArea] - LEAST_WIDTH - _EDGES
    widths[Area.LeftDockWidgetArea] = min(widths[Area.LeftDockWidgetArea], max(room, _NARROW_LISTS))
    return widths


@dataclass(frozen=True, slots=True)
class Panel:
    """Panel in a dock.

    Attributes:
        name: Name for `--show`; the object name of the dock is `<name>Dock`.
        group: Panels of one group are tabs of one place, the first in front.
        make: Creates the content, whose focus proxy gets the keyboard.
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


_LEFT, _RIGHT, _BELOW = Area.LeftDockWidgetArea, Area.RightDockWidgetArea, Area.BottomDockWidgetArea

PANELS = (
    Panel("structure", "Structure", _LEFT, "file", "Alt+1", lambda session, _: StructureTree(session)),
    Panel("objects", "Objects", _LEFT, "lists", "Alt+2", ObjectPanel),
    Panel("inspector", "Inspector", _RIGHT, "byte", "Alt+3", lambda session, _: Inspector(session)),
    Panel("trace", "Lookup", _RIGHT, "byte", "Alt+4", lambda session, _: TracePanel(session)),
    Panel("preview", "Preview", _RIGHT, "byte", "Alt+P", lambda session, _: PreviewPanel(session), high=_HIGH),
    Panel("findings", "Findings", _BELOW, "results", "Alt+5", lambda session, _: FindingsTable(session), True, _HIGH),
    Panel("hits", "Hits", _BELOW, "results", "Alt+6", lambda session, _: HitsTable(session), True, _HIGH),
    Panel("notes", "Notes", _BELOW, "results", "Alt+N", lambda session, _: NotesPanel(session), True, _HIGH),
    Panel("transfers", "Activity", _BELOW, "results", "Alt+7", Transfers, True),
    Panel("lessons", "Lessons", _RIGHT, "byte", "Alt+L", LessonPanel, True),
    Panel("sandbox", "Sandbox", _RIGHT, "byte", "Alt+B", lambda session, _: SandboxPanel(session), True),
    Panel("charts", "Charts", _LEFT, "file", "Alt+8", lambda session, _: Charts(session), True),
    Panel("formatPage", "Format reference", _LEFT, "file", "Alt+9", lambda session, _: FormatPage(session), True),
    Panel("places", "Places", _LEFT, "file", "Alt+0", PlacesPanel, True),
)
