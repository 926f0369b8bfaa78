"""Banner of a sandbox: a line over the bytes, and a hatched frame around them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt
from PySide6.QtGui import QAccessible, QAction, QBrush, QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QWidget

from shardcore.model.text import plural
from shardscope.learning.sandbox.actions import SandboxActions
from shardscope.learning.sandbox.sandbox import Sandbox
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided

_STRIPE = 18
_FRAME = 5


class SandboxBanner(QWidget):
    spoken_role = QAccessible.Role.Grouping

    def __init__(self, sandbox: Sandbox, actions: SandboxActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sandboxBanner")
        self.setAccessibleName(self.tr("Sandbox"))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._sandbox = sandbox
        self.label = Elided(greedy=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(_STRIPE + 10, 1, 8, 1)
        row.setSpacing(4)
        row.addWidget(self.label, 1)
        self.buttons = [
            _button(action, text, name)
            for action, text, name in (
                (actions.undo, "↶", self.tr("Undo")),
                (actions.redo, "↷", self.tr("Redo")),
                (actions.save, self.tr("Save…"), self.tr("Save as a copy")),
                (actions.switch, self.tr("Leave"), self.tr("Leave the sandbox")),
            )
        ]
        for button in self.buttons:
            row.addWidget(button)
        sandbox.changed.connect(self._update)
        self.hide()

    def _update(self) -> None:
        sandbox = self._sandbox
        text = self.tr("Sandbox: the file on disk is not changed")
        if sandbox.changes:
            text += f" · {plural(sandbox.count, 'change')}"
            text += "" if sandbox.unsaved else self.tr(", saved as a copy")
        self.setAccessibleName(text)
        self.setVisible(sandbox.on)
        self._fit()

    def _fit(self) -> None:
        wide = self.fontMetrics().horizontalAdvance
        room = self.width() - _STRIPE - 30
        sentence = self.tr("Sandbox: the file on disk is not changed")
        undo, redo, save, leave = self.buttons
        for button in (leave, undo, save, redo):
            room -= button.sizeHint().width() + 4
            button.setVisible(room >= wide(sentence))
        shown = sum(button.sizeHint().width() + 4 for button in self.buttons if not button.isHidden())
        left = self.width() - _STRIPE - 30 - shown
        self.label.set_text(self.accessibleName() if wide(self.accessibleName()) <= left else sentence)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.accessibleName():
            self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = theme.of(self)
        ground = QColor(colours.warning)
        ground.setAlphaF(0.16)
        painter.fillRect(self.rect(), colours.window)
        painter.fillRect(self.rect(), ground)
        painter.fillRect(QRect(0, 0, _STRIPE, self.height()), QBrush(colours.warning, Qt.BrushStyle.BDiagPattern))
        painter.setPen(QPen(colours.warning, 1))
        painter.drawLine(0, self.height() - 1, self.width(), self.height() - 1)
        painter.end()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())


class SandboxFrame(QWidget):
    spoken_role = QAccessible.Role.Graphic

    def __init__(self, sandbox: Sandbox, around: QWidget) -> None:
        super().__init__(around)
        self.setObjectName("sandboxFrame")
        self.setAccessibleName(self.tr("Frame of the sandbox"))
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._sandbox = sandbox
        around.installEventFilter(self)
        sandbox.changed.connect(self._update)
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        around = self.parentWidget()
        if around is not None:
            self.setGeometry(around.rect())

    def _update(self) -> None:
        self._place()
        self.setVisible(self._sandbox.on)
        if self._sandbox.on:
            self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = theme.of(self)
        wide, tall = self.width(), self.height()
        brush = QBrush(colours.warning, Qt.BrushStyle.BDiagPattern)
        for bar in (
            QRect(0, 0, wide, _FRAME),
            QRect(0, tall - _FRAME, wide, _FRAME),
            QRect(0, _FRAME, _FRAME, tall - 2 * _FRAME),
            QRect(wide - _FRAME, _FRAME, _FRAME, tall - 2 * _FRAME),
        ):
            painter.fillRect(bar, colours.base)
            painter.fillRect(bar, brush)
        painter.end()


def _button(action: QAction, text: str, name: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setAccessibleName(name)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def follow() -> None:
        button.setEnabled(action.isEnabled())
        button.setToolTip(name)

    action.changed.connect(follow)
    button.clicked.connect(lambda _=False: action.trigger())
    follow()
    return button
