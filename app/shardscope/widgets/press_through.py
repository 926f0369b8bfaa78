"""A press beside an open list closes the list, and does what it would have done without it: one click is enough."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget


class PressThrough(QObject):
    """Watches a popup: Qt's completer closes its list at a press beside it, and forgets the press.

    Args:
        popup: The list. Whoever watches it already hears of such presses no more.
    """

    def __init__(self, popup: QWidget) -> None:
        super().__init__(popup)
        self._popup = popup
        popup.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Hands a click outside of the list to what lies there."""
        if not isinstance(event, QMouseEvent) or event.type() != QEvent.Type.MouseButtonPress:
            return False
        if watched is not self._popup or self._popup.rect().contains(event.position().toPoint()):
            return False
        self._popup.hide()
        place = event.globalPosition()
        under = QApplication.widgetAt(place.toPoint())
        if under is not None:
            # Qt brings the release to nobody when the press closed a popup: both are told at once.
            local = QPointF(under.mapFromGlobal(place))
            button, held, keys = event.button(), event.buttons(), event.modifiers()
            none = Qt.MouseButton.NoButton
            for kind, buttons in ((QEvent.Type.MouseButtonPress, held), (QEvent.Type.MouseButtonRelease, none)):
                QApplication.sendEvent(under, QMouseEvent(kind, local, place, button, buttons, keys))
        return True
