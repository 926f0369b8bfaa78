"""Tabs above the bytes: stored bytes, decoded bytes, and the drawing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QTabBar, QToolButton, QWidget

from shardcore import Section, Span
from shardcore.model.span import SourceName
from shardcore.model.text import ends_text, shown
from shardscope.session.display_text import cut_middle, numbers
from shardscope.widgets.fonts import px
from shardscope.widgets.plain_text import tip

MOST = 8
"""Maximum number of decoded sources; the oldest is closed."""


@dataclass
class OpenSource:
    name: str
    size: int
    sections: tuple[Section, ...]
    top: int = 0
    span: Span | None = None


class SourceTabs(QTabBar):
    chosen = Signal(object)
    drawing_chosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sourceTabs")
        self.setAccessibleName(self.tr("Sources of bytes"))
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setUsesScrollButtons(True)
        self.setElideMode(Qt.TextElideMode.ElideNone)
        self.hide()
        self.sources: list[OpenSource] = []
        self.drawing_in_front = False
        self._drawing = False
        self.currentChanged.connect(self._changed)

    def known(self, name: str) -> OpenSource | None:
        return next((source for source in self.sources if source.name == name), None)

    def _name(self, number: int) -> None:
        name = self.sources[number].name
        title, decoded = shown(tab_title(name)), stored_span(name)
        # An ampersand before a letter would become a shortcut.
        self.setTabText(number, cut_middle(title).replace("&", "&&"))
        if decoded is not None:
            title = self.tr("Decoded content of {0}").format(decoded)
        self.setTabToolTip(number, tip(title))

    def show_source(self, source: OpenSource) -> None:
        """Show a source in a tab. A stored source replaces the previous stored source in its tab."""
        open_one = self.known(source.name)
        if open_one is not None:
            self._set_current(self.sources.index(open_one))
            return
        decoded = stored_span(source.name)
        blocked = self.blockSignals(True)
        if decoded is None and self.sources and stored_span(self.sources[0].name) is None:
            self.sources[0] = source
            number = 0
        else:
            if len(self.sources) > MOST:
                self._remove(1)
            number = len(self.sources) if decoded is not None else 0
            self.sources.insert(number, source)
            self.insertTab(number, "")
        self._name(number)
        if decoded is not None:
            self.setTabButton(number, QTabBar.ButtonPosition.RightSide, self._close_button(source.name))
        self.blockSignals(blocked)
        self._set_current(number)
        # Shown for one source, too, so that the height stays the same.
        self.show()

    def set_drawing(self, there: bool) -> None:
        if there == self._drawing:
            return
        blocked = self.blockSignals(True)
        self._drawing = there
        if there:
            number = self.addTab(self.tr("Drawing"))
            self.setTabToolTip(number, self.tr("Drawing of the file or of a lookup (Alt+D)"))
        else:
            self.drawing_in_front = False
            self.removeTab(len(self.sources))
        self.blockSignals(blocked)

    def bring_drawing(self, in_front: bool, name: str = "") -> None:
        self.drawing_in_front = in_front and self._drawing
        open_one = self.known(name)
        blocked = self.blockSignals(True)
        if self.drawing_in_front:
            self.setCurrentIndex(len(self.sources))
        elif open_one is not None:
            self.setCurrentIndex(self.sources.index(open_one))
        self.blockSignals(blocked)

    def close_source(self, name: str, checked: bool = False) -> None:
        source = self.known(name)
        if source is not None and stored_span(name) is not None:
            blocked = self.blockSignals(True)
            self._remove(self.sources.index(source))
            self.blockSignals(blocked)
            self._changed(self.currentIndex())

    def _close_button(self, name: str) -> QToolButton:
        button = QToolButton(self)
        button.setText("✕")
        button.setAutoRaise(True)
        button.setFixedSize(px(20), px(20))
        button.setToolTip(self.tr("Close"))
        button.setAccessibleName(self.tr("Close this tab"))
        button.clicked.connect(partial(self.close_source, name))
        return button

    def clear(self) -> None:
        self.set_drawing(False)
        blocked = self.blockSignals(True)
        while self.sources:
            self._remove(0)
        self.blockSignals(blocked)

    def _remove(self, number: int) -> None:
        del self.sources[number]
        self.removeTab(number)
        self.setVisible(bool(self.sources))

    def _set_current(self, number: int) -> None:
        if self.drawing_in_front:
            return
        blocked = self.blockSignals(True)
        self.setCurrentIndex(number)
        self.blockSignals(blocked)

    def _changed(self, number: int) -> None:
        self.drawing_in_front = self._drawing and number == len(self.sources)
        if self.drawing_in_front:
            self.drawing_chosen.emit()
        elif 0 <= number < len(self.sources):
            self.chosen.emit(self.sources[number].name)


def stored_span(name: str) -> Span | None:
    """Return the stored bytes from which a source is decoded; None for a stored source."""
    parsed = SourceName.parse(name)
    if parsed.stretch is None or parsed.stretch[0] > parsed.stretch[1]:
        return None
    return Span(str(parsed.outer), *parsed.stretch)


def tab_title(name: str) -> str:
    stored = stored_span(name)
    if stored is not None:
        ends = numbers(ends_text(stored.start, stored.stop))
        return QCoreApplication.translate("SourceTabs", "Decoded {0}").format(ends)
    return QCoreApplication.translate("SourceTabs", "Bytes")
