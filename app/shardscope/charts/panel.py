"""The dock of charts: light until it is first shown; what draws is loaded then."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from shardscope.session import Session


class Charts(QWidget):
    """Holds the charts once somebody looks.

    `filter_wanted(text)` carries a filter that shows the objects of what was chosen.
    """

    filter_wanted = Signal(object)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("charts")
        self.setAccessibleName(self.tr("Charts"))
        self.session = session
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self.pages: QWidget | None = None

    def sizeHint(self) -> QSize:
        """Room for a chart."""
        return QSize(360, 420)

    def showEvent(self, event: QShowEvent) -> None:
        """Somebody looks: pyqtgraph is loaded with what draws."""
        super().showEvent(event)
        if self.pages is None:
            from shardscope.charts.pages import ChartPages

            pages = ChartPages(self.session, self)
            pages.filter_wanted.connect(self.filter_wanted)
            self._column.addWidget(pages)
            self.setFocusProxy(pages)
            self.pages = pages
