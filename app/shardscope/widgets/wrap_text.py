"""Plain text that wraps between any two characters, so that long keys and hex fit into a narrow panel."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QEnterEvent,
    QFont,
    QFontMetrics,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from shardcore.model.text import shown_lines
from shardscope.widgets import theme
from shardscope.widgets.clipboard import copy_lines
from shardscope.widgets.plain_text import tip
from shardscope.widgets.table import context_menu

_NATURAL = 320
_LEAST = 48
_KEPT = 16
_GAP = 2


class WrapText(QWidget):
    """Wrapped plain text with *Copy* (menu or Ctrl+C); `tone` names a colour of `theme.Palette`."""

    clicked = Signal()

    def __init__(
        self,
        text: str = "",
        *,
        tone: str = "text",
        mono: bool = False,
        bold: bool = False,
        link: bool = False,
        lines: int = 0,
    ) -> None:
        super().__init__()
        self.link, self.text, self.copied = link, "", ""
        # Height in lines; a longer text is elided, and the tooltip shows all of it. 0: as high as the text.
        self._lines = lines
        self._tone, self._mono, self._bold = tone, mono, bold
        self._layouts: dict[tuple[int, str], tuple[QTextLayout, int]] = {}
        # Qt asks the policy; an override of `hasHeightForWidth` would run hundreds of times per layout.
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if link else Qt.FocusPolicy.ClickFocus)
        if link:
            self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.set_text(text)

    def set_text(self, text: str, *, copied: str = "") -> None:
        """Show a text; `copied` is the text to copy if the shown one is shortened."""
        self.copied = copied or text
        if text != self.text and (safe := shown_lines(text)) != self.text:
            self.text = safe
            self.setAccessibleName(safe)
            if self._lines:
                self.setToolTip(tip(safe))
            self._changed()

    def set_tone(self, tone: str, *, bold: bool | None = None) -> None:
        if tone != self._tone:
            self._tone = tone
            self.update()
        if bold is not None and bold != self._bold:
            self._bold = bold
            self._changed()

    def copy(self) -> None:
        copy_lines(self.copied)

    # --- geometry ---

    def heightForWidth(self, width: int) -> int:
        return self._laid_out(width)[1]

    def sizeHint(self) -> QSize:
        layout, height = self._laid_out(_NATURAL)
        longest = max([layout.lineAt(number).naturalTextWidth() for number in range(layout.lineCount())], default=0.0)
        return QSize(min(math.ceil(longest) + 1, _NATURAL), height)

    def minimumSizeHint(self) -> QSize:
        return QSize(_LEAST, self.heightForWidth(_LEAST) if self._lines else self.fontMetrics().height())

    def _changed(self) -> None:
        self._layouts.clear()
        self.updateGeometry()
        self.update()

    def _laid_out(self, width: int) -> tuple[QTextLayout, int]:
        """Return the layout at a width and its height in pixels; cached, since Qt requests few widths many times."""
        font = self.font()
        at = max(width, _LEAST), font.key()
        if at in self._layouts:
            return self._layouts[at]
        if len(self._layouts) >= _KEPT:
            self._layouts.clear()
        font = theme.fixed_font(font.pointSizeF()) if self._mono else font
        if self._bold:
            font.setWeight(QFont.Weight.DemiBold)
        text = self.text.replace("\n", "\u2028")
        layout, height = self._wrapped(text, font, at[0])
        if self._lines:
            if layout.lineCount() > self._lines:
                at_end = layout.lineAt(self._lines - 1).textStart()
                rest = text[at_end:].replace("\u2028", " ")
                rest = QFontMetrics(font).elidedText(rest, Qt.TextElideMode.ElideRight, at[0])
                layout, _ = self._wrapped(text[:at_end] + rest, font, at[0])
            height = self._lines * (layout.lineAt(0).height() + _GAP)
        self._layouts[at] = layout, math.ceil(height)
        return self._layouts[at]

    def _wrapped(self, text: str, font: QFont, width: int) -> tuple[QTextLayout, float]:
        layout = QTextLayout(text, font)
        option = QTextOption(Qt.AlignmentFlag.AlignLeft)
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout.setTextOption(option)
        layout.beginLayout()
        height, gap = 0.0, 0 if self._mono else _GAP
        while (line := layout.createLine()).isValid():
            line.setLineWidth(width)
            line.setPosition(QPointF(0, height))
            height += line.height() + gap
        layout.endLayout()
        return layout, height

    # --- events ---

    def enterEvent(self, event: QEnterEvent) -> None:
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        inside = self.rect().contains(event.position().toPoint())
        if self.link and event.button() == Qt.MouseButton.LeftButton and inside:
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
        entries = [self.link and (self.tr("&Go there"), self.clicked.emit), (self.tr("&Copy"), self.copy)]
        context_menu(self, entries).popup(event.globalPos())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = theme.of(self)
        layout, _ = self._laid_out(self.width())
        if self.hasFocus():
            painter.setPen(QPen(colours.accent if self.link else colours.border, 1))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
        painter.setPen(colours.accent if self.link else getattr(colours, self._tone))
        layout.draw(painter, QPointF(0, 0))
        if self.link and self.underMouse():
            for number in range(layout.lineCount()):
                line = layout.lineAt(number)
                y = line.y() + line.ascent() + 2
                painter.drawLine(QPointF(0, y), QPointF(line.naturalTextWidth(), y))
