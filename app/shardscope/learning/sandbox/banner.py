"""Signs of a sandbox: a banner with buttons above the bytes view, and a hatched frame around the view."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt
from PySide6.QtGui import QAccessible, QAction, QBrush, QColor, QPainter, QPaintEvent, QPen, QRegion, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QSizePolicy, QToolButton, QWidget

from shardcore.model.text import plural
from shardscope.learning.sandbox.sandbox import Sandbox, SandboxActions
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.layouts import lay, made

_STRIPE = 18
_FRAME = 5


def press(button: QAbstractButton, action: QAction, text: str, tip: str = "") -> None:
    """Let a button trigger an action and be enabled with it. An empty `tip` is replaced by the action's tooltip."""

    def follow() -> None:
        button.setEnabled(action.isEnabled())
        button.setToolTip(tip or action.toolTip())

    button.setText(text)
    button.clicked.connect(lambda _=False: action.trigger())
    action.changed.connect(follow)
    follow()


class SandboxBanner(QWidget):
    spoken_role = QAccessible.Role.Grouping

    def __init__(self, sandbox: Sandbox, actions: SandboxActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "sandboxBanner", accessibleName=self.tr("Sandbox"))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._sandbox = sandbox
        self.label = Elided(greedy=True)
        self.buttons: list[QToolButton] = []
        for action, text, name in (
            (actions.undo, "↶", self.tr("Undo")),
            (actions.redo, "↷", self.tr("Redo")),
            (actions.save, self.tr("Save…"), self.tr("Save as a copy")),
            (actions.switch, self.tr("Leave"), self.tr("Leave the sandbox")),
        ):
            button = made(QToolButton(), accessibleName=name, focusPolicy=Qt.FocusPolicy.TabFocus)
            button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
            press(button, action, text, name)
            self.buttons.append(button)
        lay(QHBoxLayout(self), (self.label, 1), *self.buttons, margins=(_STRIPE + 10, 1, 8, 1), spacing=4)
        sandbox.changed.connect(self._update)
        self.hide()

    def _update(self) -> None:
        sandbox = self._sandbox
        self.setVisible(sandbox.on)
        if sandbox.on:
            text = self.tr("Sandbox: the file on disk is not changed")
            if sandbox.changes:
                text += f" · {plural(sandbox.count, 'change')}"
                text += "" if sandbox.unsaved else self.tr(", saved as a copy")
            self.setAccessibleName(text)
            self._fit()

    def _fit(self) -> None:
        wide = self.fontMetrics().horizontalAdvance
        room = self.width() - _STRIPE - 30
        sentence = self.tr("Sandbox: the file on disk is not changed")
        left = room
        undo, redo, save, leave = self.buttons
        for button in (leave, undo, save, redo):
            room -= button.sizeHint().width() + 4
            button.setVisible(room >= wide(sentence))
            left = room if room >= wide(sentence) else left
        self.label.set_text(self.accessibleName() if wide(self.accessibleName()) <= left else sentence)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, colours = QPainter(self), theme.of(self)
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
        made(self, "sandboxFrame", accessibleName=self.tr("Frame of the sandbox"))
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._sandbox, self._around = sandbox, around
        sandbox.changed.connect(self._update)
        self.hide()

    def _update(self) -> None:
        if self._sandbox.on is self.isHidden():
            self.setVisible(self._sandbox.on)
            # The filter gets all events of the bytes view: it is only installed while the frame is shown.
            if self._sandbox.on:
                self._around.installEventFilter(self)
            else:
                self._around.removeEventFilter(self)
        if self._sandbox.on:
            self.setGeometry(self._around.rect())
            self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.setGeometry(self._around.rect())
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, colours = QPainter(self), theme.of(self)
        inside = self.rect().adjusted(_FRAME, _FRAME, -_FRAME, -_FRAME)
        painter.setClipRegion(QRegion(self.rect()).subtracted(QRegion(inside)))
        painter.fillRect(self.rect(), colours.base)
        painter.fillRect(self.rect(), QBrush(colours.warning, Qt.BrushStyle.BDiagPattern))
        painter.end()
