"""Commands that go to a part of the window: filter, trace, dialog of extraction."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QMainWindow, QRadioButton, QWidget

from shardscope.session.session import Session
from shardscope.shell.docks import PanelDocks
from shardscope.views.hex.panel import HexPanel
from shardscope.views.objects.panel import ObjectPanel
from shardscope.views.trace.panel import TracePanel


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
        if not self.isVisible():
            # Qt asks while a window is hidden and deleted, too: its parts are no longer all there.
            return super().focusNextPrevChild(forward)
        # Not along `nextInFocusChain`: PySide makes each widget the owner of the next one, and deletes both together.
        before = self.focusWidget()
        parts = self.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
        parts.sort(key=lambda part: (part.x(), part.y()))
        order = [one for part in parts for one in self._reading_order(part, before)]
        at = order.index(before) if before in order else -1
        following = order[at + 1 :] + order[: max(at, 0)]
        if following:
            reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
            following[0 if forward else -1].setFocus(reason)
        return bool(following)

    def _reading_order(self, part: QWidget, before: QWidget | None) -> list[QWidget]:
        """Return the widgets of a panel that take Tab, line by line; a line is as high as its first widget.

        What is inside of a widget that takes Tab follows it: the buttons of a card come after the card.
        """
        stops = [one for one in part.findChildren(QWidget) if one is before or self._takes_tab(one)]
        outer = [one for one in stops if not any(other.isAncestorOf(one) for other in stops if other is not one)]
        place = {one: QRect(one.mapTo(self, QPoint()), one.size()) for one in outer}
        order = [part] if part is before or self._takes_tab(part) else []
        while rest := sorted(place, key=lambda one: place[one].top()):
            first = place[rest[0]]
            line = [one for one in rest if one is rest[0] or place[one].center().y() <= first.bottom()]
            for one in sorted(line, key=lambda one: place.pop(one).left()):
                order += self._reading_order(one, before)
        return order

    def _takes_tab(self, part: QWidget) -> bool:
        takes = part.focusPolicy() & Qt.FocusPolicy.TabFocus and part.focusProxy() is None
        if isinstance(part, QRadioButton) and not part.isChecked():
            # Of a group of radio buttons, Tab stops at the checked one.
            group = [one for one in self.findChildren(QRadioButton) if one.parentWidget() is part.parentWidget()]
            takes = takes and not any(one.isChecked() for one in group)
        return bool(takes) and part.isVisible() and part.isEnabled() and part.window() is self

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
