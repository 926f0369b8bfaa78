"""Plain text that wraps between any two characters, so that long keys and hex fit into a narrow panel."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
    QFont,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from shardcore.model.text import shown_lines
from shardscope.widgets import theme
from shardscope.widgets.clipboard import copy_lines

_NATURAL = 320
_LEAST = 48
_KEPT = 6


class WrapText(QWidget):
    """Wrapped plain text with *Copy* (menu or Ctrl+C); `tone` names a colour of `theme.Palette`."""

    clicked = Signal()

    def __init__(
        self, text: str = "", *, tone: str = "text", mono: bool = False, bold: bool = False, link: bool = False
    ) -> None:
        super().__init__()
        self.link = link
        self.copied = ""
        self._text = ""
        self._tone = tone
        self._mono = mono
        self._bold = bold
        self._hover = False
        self._layouts: dict[int, tuple[QTextLayout, float]] = {}
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if link else Qt.FocusPolicy.ClickFocus)
        if link:
            self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.set_text(text)

    @property
    def text(self) -> str:
        return self._text

    def set_text(self, text: str, *, copied: str = "") -> None:
        """Show a text; `copied` is the text to copy if the shown one is shortened."""
        self.copied = copied or text
        text = shown_lines(text)
        if text != self._text:
            self._text = text
            self.setAccessibleName(text)
            self._changed()

    def set_tone(self, tone: str, *, bold: bool | None = None) -> None:
        self._tone = tone
        if bold is not None and bold != self._bold:
            self._bold = bold
            self._changed()
        self.update()

    def set_mono(self, mono: bool) -> None:
        if mono != self._mono:
            self._mono = mono
            self._changed()

    def copy(self) -> None:
        copy_lines(self.copied)

    # --- geometry ---

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return math.ceil(self._laid_out(width)[1])

    def sizeHint(self) -> QSize:
        layout, _ = self._laid_out(1 << 20)
        longest = max((layout.lineAt(n).naturalTextWidth() for n in range(layout.lineCount())), default=0.0)
        width = min(math.ceil(longest) + 1, _NATURAL)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(_LEAST, self.fontMetrics().height())

    def _changed(self) -> None:
        self._layouts.clear()
        self.updateGeometry()
        self.update()

    def _font(self) -> QFont:
        font = theme.fixed_font(self.font().pointSizeF()) if self._mono else QFont(self.font())
        if self._bold:
            font.setWeight(QFont.Weight.DemiBold)
        return font

    def _laid_out(self, width: int) -> tuple[QTextLayout, float]:
        """Return the layout at a width and its height in pixels; cached, since Qt requests few widths many times."""
        if width not in self._layouts:
            if len(self._layouts) >= _KEPT:
                self._layouts.clear()
            self._layouts[width] = self._lay_out(width)
        return self._layouts[width]

    def _lay_out(self, width: int) -> tuple[QTextLayout, float]:
        layout = QTextLayout(self._text.replace("\n", "\u2028"), self._font())
        option = QTextOption(Qt.AlignmentFlag.AlignLeft)
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout.setTextOption(option)
        layout.beginLayout()
        height = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(max(width, 1))
            line.setPosition(QPointF(0, height))
            height += line.height() + (0 if self._mono else 2)
        layout.endLayout()
        return layout, height

    # --- events ---

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange, QEvent.Type.PaletteChange):
            self._changed()

    def enterEvent(self, event: QEvent) -> None:
        self._hover = True
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hover = False
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if (
            self.link
            and event.button() == Qt.MouseButton.LeftButton
            and self.rect().contains(event.position().toPoint())
        ):
            self.clicked.emit()
        else:
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif self.link and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.clicked.emit()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if self.link:
            go = QAction(self.tr("&Go there"), menu)
            go.triggered.connect(self.clicked)
            menu.addAction(go)
        copy = QAction(self.tr("&Copy"), menu)
        copy.triggered.connect(self.copy)
        menu.addAction(copy)
        menu.popup(event.globalPos())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = theme.of(self)
        layout, _ = self._laid_out(self.width())
        if self.hasFocus():
            painter.setPen(QPen(colours.accent if self.link else colours.border, 1))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
        painter.setPen(colours.accent if self.link else getattr(colours, self._tone))
        layout.draw(painter, QPointF(0, 0))
        if self.link and self._hover:
            for number in range(layout.lineCount()):
                line = layout.lineAt(number)
                y = line.y() + line.ascent() + 2
                painter.drawLine(QPointF(0, y), QPointF(line.naturalTextWidth(), y))
        painter.end()
