"""What goes to a part of the window and does something there: the filter, the trace, the sheet of extraction."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMainWindow, QWidget

from shardscope.hex.panel import HexPanel
from shardscope.objects.panel import ObjectPanel
from shardscope.session import Session
from shardscope.trace.panel import TracePanel
from shardscope.window.panel_docks import PanelDocks


class PartCommands(QMainWindow):
    """The window, as far as its parts are gone to.

    Attributes:
        session: What is open and selected.
        panels: The docks.
        hex: The bytes.
        objects: The objects.
        trace: The lookup.
    """

    session: Session
    panels: PanelDocks
    hex: HexPanel
    objects: ObjectPanel
    trace: TracePanel

    def show_part(self, name: str, *, focus: bool = False) -> None:
        """Brings a dock to the front.

        Args:
            name: One of the table of panels.
            focus: Whether it takes the keyboard.
        """
        self.panels.show(name, focus=focus)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab passes a panel whose focus proxy is hidden: Qt stops there."""
        if not self.isVisible():
            # Qt asks while a window is hidden and deleted, too: its parts are no longer all there.
            return super().focusNextPrevChild(forward)
        start: QWidget | None = self.focusWidget()
        start = self if start is None else start
        step = QWidget.nextInFocusChain if forward else QWidget.previousInFocusChain
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        at = step(start)
        while at is not None and at is not start:
            takes = at.focusPolicy() & Qt.FocusPolicy.TabFocus and at.focusProxy() is None
            if takes and at.isVisible() and at.isEnabled() and at.window() is self:
                at.setFocus(reason)
                return True
            at = step(at)
        return False

    def to_filter(self) -> None:
        """Puts the caret into the filter of the objects."""
        self.show_part("objects")
        self.objects.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.objects.filter.selectAll()

    def filter_objects(self, text: str) -> None:
        """Shows the objects of a filter that a chart chose."""
        self.show_part("objects")
        self.objects.show_only(text)

    def to_trace(self) -> None:
        """Puts the caret into the key of the trace."""
        self.show_part("trace", focus=True)
        self.trace.start()

    def look_up(self) -> None:
        """Looks up the key in the field of the bar; without one, asks for it."""
        if key := self.hex.address.key:
            self.trace_key(key)
        else:
            self.to_trace()

    def trace_key(self, key: str) -> None:
        """Traces a key."""
        self.show_part("trace")
        self.session.look_up(key)

    def extract_row(self, row: int) -> None:
        """Extracts one object: asks where to."""
        self.show_part("objects")
        self.session.select_row(row)
        self.objects.table.follow(row)
        self.objects.actions_.extract.trigger()
