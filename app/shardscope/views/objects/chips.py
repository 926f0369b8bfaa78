"""Counts of objects per kind and state, as buttons that filter."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QAccessible, QAction, QResizeEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget

from shardcore.model.number_words import plural
from shardscope.session.object_counts import Census
from shardscope.session.object_filter import wanted_names

GAP = 4


class Chips(QWidget):
    spoken_role = QAccessible.Role.Grouping

    chosen = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("objectChips")
        self.setAccessibleName(self.tr("Kinds and states"))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.buttons: dict[tuple[str, str], QToolButton] = {}
        self.more = QToolButton(self)
        self.more.setText("…")
        self.more.setToolTip(self.tr("More kinds and states"))
        self.more.setAccessibleName(self.tr("More kinds and states"))
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.more.setMenu(QMenu(self.more))
        self.more.hide()

    def show_census(self, census: Census | None) -> None:
        for button in self.buttons.values():
            button.deleteLater()
            button.hide()
        self.buttons = {}
        if census is not None and len(census.kinds) > 1:
            for kind, found in census.kinds:
                self._add("kind", kind, plural(found, kind))
        if census is not None and len(census.states) > 1:
            for state, found in census.states:
                self._add("state", state, f"{state} {found:,}")
        self.updateGeometry()
        self._place()

    def show_filter(self, text: str) -> None:
        for (name, value), button in self.buttons.items():
            button.setChecked(value in wanted_names(text, name))

    def _add(self, name: str, value: str, text: str) -> None:
        button = QToolButton(self)
        button.setText(text)
        button.setCheckable(True)
        button.setToolTip(self.tr("Only rows of this {0}, {0}:{1}; click again for all").format(name, value))
        button.setAccessibleName(self.tr("Only {0}").format(text))
        button.clicked.connect(lambda _=False: self.chosen.emit(name, value))
        self.buttons[name, value] = button

    # --- geometry ---

    def sizeHint(self) -> QSize:
        width = sum(button.sizeHint().width() + GAP for button in self.buttons.values())
        return QSize(width, self.more.sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return self.more.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        widths = [button.sizeHint().width() for button in self.buttons.values()]
        room = self.width() + GAP
        if sum(widths) + GAP * len(widths) > room:
            room -= self.more.sizeHint().width() + GAP
        at = 0
        left_out: list[QToolButton] = []
        for button, width in zip(self.buttons.values(), widths, strict=True):
            fits = not left_out and at + width + GAP <= room
            if fits:
                button.setGeometry(at, 0, width, self.height())
                at += width + GAP
            else:
                left_out.append(button)
            button.setVisible(fits)
        self.more.setVisible(bool(left_out))
        self.more.setGeometry(at, 0, self.more.sizeHint().width(), self.height())
        menu = self.more.menu()
        menu.clear()
        for button in left_out:
            action = QAction(button.text(), menu)
            action.triggered.connect(button.click)
            menu.addAction(action)
