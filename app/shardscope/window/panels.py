"""The panels around the bytes: one line adds one.

A line says what stands in a dock, where, and how it is reached. The docks, their places at the first start, the menus
and what `--show` takes follow from this table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from shardscope.docks.findings import FindingsTable
from shardscope.docks.places import Places
from shardscope.docks.structure import StructureTree
from shardscope.docks.transfers import Transfers
from shardscope.inspector.panel import Inspector
from shardscope.objects.panel import ObjectPanel
from shardscope.session import Session
from shardscope.settings import Settings
from shardscope.trace.panel import TracePanel

Area = Qt.DockWidgetArea

SIZES = MappingProxyType({Area.LeftDockWidgetArea: 420, Area.RightDockWidgetArea: 340, Area.BottomDockWidgetArea: 280})
"""Widths of the sides and the height of the bottom at the first start."""

LAYOUT_VERSION = 2
"""Goes up when panels come or go: an older saved layout is not used then."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One dock.

    Attributes:
        name: What `--show` and the code call it; the dock's object name is `<name>Dock`.
        title: What stands on its tab and in the menus.
        area: Where it stands at the first start. Panels of one area share it, the first in front.
        shortcut: Goes there.
        make: Makes what stands in it. It takes the keyboard by its focus proxy.
    """

    name: str
    title: str
    area: Area
    shortcut: str
    make: Callable[[Session, Settings], QWidget]


PANELS = (
    Panel("structure", "Structure", Area.LeftDockWidgetArea, "Alt+1", lambda session, _: StructureTree(session)),
    Panel("inspector", "Inspector", Area.RightDockWidgetArea, "Alt+2", lambda session, _: Inspector(session)),
    Panel("trace", "Trace", Area.RightDockWidgetArea, "Alt+3", lambda session, _: TracePanel(session)),
    Panel("objects", "Objects", Area.BottomDockWidgetArea, "Alt+4", ObjectPanel),
    Panel("findings", "Findings", Area.BottomDockWidgetArea, "Alt+5", lambda session, _: FindingsTable(session)),
    Panel("transfers", "Transfers", Area.BottomDockWidgetArea, "Alt+6", lambda session, _: Transfers(session.jobs)),
    Panel("places", "Places", Area.LeftDockWidgetArea, "Alt+7", Places),
)
