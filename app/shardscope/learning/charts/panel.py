"""Panel of charts. Its content, which needs pyqtgraph, is imported and built when the panel is first painted."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QAccessible, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from shardscope.session.session import Session
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.layouts import lay, made


class Charts(QWidget):
    spoken_role = QAccessible.Role.Grouping

    filter_wanted = Signal(object)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "charts", accessibleName=self.tr("Charts"))
        self.session = session
        self._column = lay(QVBoxLayout(self))
        self.pages: QWidget | None = None
        self._soon = Debounce(self, self.fill)

    def sizeHint(self) -> QSize:
        return QSize(360, 420)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.pages is None:
            self._soon.start()

    def fill(self) -> None:
        if self.pages is not None:
            return
        from shardscope.learning.charts.chart_pages import ChartPages

        pages = ChartPages(self.session, self)
        pages.filter_wanted.connect(self.filter_wanted)
        self._column.addWidget(pages)
        self.setFocusProxy(pages)
        self.pages = pages
