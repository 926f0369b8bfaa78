"""List of all panels, with title, side of the window, shortcut and constructor; and the connections between panels."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt

from shardcore import Shard
from shardscope.learning.charts.panel import Charts
from shardscope.learning.help.format_page import FormatPage
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.learning.sandbox.panel import SandboxPanel
from shardscope.session.session import Session
from shardscope.shell.docks import Area, Panel, PanelDocks
from shardscope.views.activity import Transfers
from shardscope.views.findings import FindingsTable
from shardscope.views.hex.panel import HexPanel
from shardscope.views.hits import HitsTable
from shardscope.views.inspector.panel import Inspector
from shardscope.views.notes import NotesPanel
from shardscope.views.objects.panel import ObjectPanel
from shardscope.views.places import PlacesPanel
from shardscope.views.preview.panel import PreviewPanel
from shardscope.views.structure.tree import StructureTree
from shardscope.views.trace.panel import TracePanel

_HIGH = 150
"""Height in pixels at 100 % below which a list or picture scrolls together with its tool bar."""

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


class PanelLinks(QObject):
    def __init__(self, session: Session, docks: PanelDocks, bytes_: HexPanel) -> None:
        super().__init__(docks)
        self._session, self._docks, self._bytes = session, docks, bytes_
        self._objects, self._trace = docks.panel(ObjectPanel), docks.panel(TracePanel)
        tree, hits, notes = docks.panel(StructureTree), docks.panel(HitsTable), docks.panel(NotesPanel)
        actions = bytes_.actions_
        for signal, slot in (
            (bytes_.look_up_wanted, self.look_up_key),
            (bytes_.extract_wanted, self._extract_row),
            (bytes_.search.hits_changed, hits.set_hits),
            (bytes_.search.list_wanted, partial(docks.show, "hits")),
            (bytes_.address.key_chosen, lambda _: docks.show("trace")),
            (self._objects.actions_.trace_requested, self.look_up_key),
            (self._objects.bytes_wanted, bytes_.drawings.to_bytes),
            (self._objects.preview_wanted, partial(docks.show, "preview")),
            (hits.table.doubleClicked, lambda _: bytes_.drawings.to_bytes()),
            (docks.panel(FindingsTable).table.doubleClicked, lambda _: bytes_.drawings.to_bytes()),
            (tree.look_up_requested, self.look_up_key),
            (tree.extract_requested, self._extract_row),
            (docks.panel(PreviewPanel).look_up_requested, self.look_up_key),
            (docks.panel(Charts).filter_wanted, self._filter_objects),
            (session.references.changed, lambda asked: docks.show("inspector") if asked is not None else None),
            (actions.note.triggered, lambda _: notes.ask()),
            (actions.next_note.triggered, lambda _: notes.go()),
            (actions.previous_note.triggered, lambda _: notes.go(backward=True)),
            (session.notes.changed, self._enable_notes),
            (session.opened, lambda _: self._enable_notes()),
            (session.closed, self._enable_notes),
        ):
            signal.connect(slot)
        bytes_.naming.keys = self._objects.model.loaded_keys
        self._enable_notes()

    def _enable_notes(self) -> None:
        notes, actions = self._session.notes, self._bytes.actions_
        actions.note.setEnabled(notes.can_change)
        for action in (actions.next_note, actions.previous_note):
            action.setEnabled(bool(notes.all))

    # --- lookup ---

    def look_up_key(self, key: str) -> None:
        self._docks.show("trace")
        self._session.lookup.start(key)

    def look_up(self) -> None:
        """Look up the key in the address field; else the selected object; else show the key field."""
        if key := self._bytes.address.key:
            self.look_up_key(key)
        elif self._objects.actions_.trace.isEnabled():
            self._objects.actions_.trace.trigger()
        else:
            self.to_trace()

    def to_trace(self) -> None:
        """Show *Lookup* and focus its key field; if the object table has the focus, look up the selected object."""
        if self._objects.table.hasFocus() and self._objects.actions_.trace.isEnabled():
            self._objects.actions_.trace.trigger()
            return
        self._docks.show("trace", focus=True)
        self._trace.start()

    # --- objects ---

    def to_filter(self) -> None:
        self._docks.show("objects")
        self._objects.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._objects.filter.selectAll()

    def _filter_objects(self, text: str) -> None:
        self._docks.show("objects")
        self._objects.show_only(text)

    def find_file(self, paths: tuple[str, ...]) -> None:
        self._docks.show("objects")
        self._objects.seek(Path(paths[0]))

    def show_row(self, row: int) -> None:
        self._docks.show("objects")
        self._session.select_row(row)

    def _extract_row(self, row: int) -> None:
        self.show_row(row)
        self._objects.table.follow(row)
        self._objects.actions_.extract.trigger()

    def preview_first(self, _: Shard) -> None:
        def first(shard: Shard, _: object) -> int | None:
            return next((one.row for one in shard.objects[:1]), None)

        self._docks.show("preview")
        self._session.ask(first, lambda row: self._session.select_row(row) if row is not None else None)

    def show_lists(self) -> None:
        """Bring *Objects* and *Structure* to the front of their tabs; in a small window, *Inspector* instead."""
        for name in ("objects", "structure", "inspector")[: 2 + self._docks.folded]:
            self._docks.raise_(name)
