"""Strip of the sections of a planned file, as in the overview."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from shardcore import Section
from shardcore.model.text import plural, size_text, without_marks
from shardcore.writing.plan import PlannedFile
from shardscope.session.display_text import range_words, share_text
from shardscope.tasks.new_shard.plan_model import ABOUT
from shardscope.widgets import theme
from shardscope.widgets.strip_paint import LABEL_GAP, STRIP_HEIGHT, paint_strip
from shardscope.widgets.strip_scale import StripScale

_TOP = 3.0
_SIDE = 3.0


class PlanStrip(QWidget):
    spoken_role = QAccessible.Role.Graphic

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("planStrip")
        self.setAccessibleName(self.tr("The sections of the new file"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.current = -1
        self._exact = True
        self._size = 0
        self._sections: tuple[Section, ...] = ()
        self._scale = StripScale(0, (), 1)

    def show_file(self, file: PlannedFile | None, *, exact: bool = True) -> None:
        self._sections = tuple(one for one in file.sections if one.size) if file is not None else ()
        self._size = file.size if file is not None else 0
        self._exact, self.current = exact, -1
        self.setAccessibleDescription(", ".join(map(self.label, self._sections)))
        self._rescale()

    def mark(self, section: Section | None) -> None:
        self.current = self._sections.index(section) if section in self._sections else -1
        self.update()

    @property
    def sections(self) -> tuple[Section, ...]:
        return self._sections

    def label(self, section: Section) -> str:
        about = "" if self._exact else ABOUT
        return f"{section.name} · {about}{size_text(section.size)} · {share_text(section.size, self._size)}"

    def sizeHint(self) -> QSize:
        height = 2 * _TOP + QFontMetricsF(self.font()).height() + LABEL_GAP + STRIP_HEIGHT + 2
        return QSize(320, round(height))

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self.sizeHint().height())

    def _rescale(self) -> None:
        self._scale = StripScale(self._size, self._sections, self.width() - 2 * _SIDE)
        self.update()

    def _strip(self) -> QRectF:
        top = _TOP + QFontMetricsF(self.font()).height() + LABEL_GAP
        return QRectF(_SIDE, top, self._scale.width, STRIP_HEIGHT)

    def section_at(self, x: float) -> int:
        """Return the index of the section at a horizontal pixel position; -1 without sections."""
        if not self._sections:
            return -1
        return self._sections.index(self._scale.section_at(x - _SIDE))

    # --- events ---

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._rescale()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours, strip = theme.of(self), self._strip()
        if self._size:
            paint_strip(painter, colours, self._scale, strip, self.label)
        else:
            painter.setPen(QPen(colours.border, 1, Qt.PenStyle.DashLine))
            painter.drawRoundedRect(strip.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
        if 0 <= self.current < len(self._sections):
            left, right = (strip.left() + self._scale.edges[self.current + at] for at in (0, 1))
            painter.setPen(QPen(colours.text, 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(left + 1, strip.top() + 1, max(right - left - 3, 2), strip.height() - 2))
        if self.hasFocus():
            painter.setPen(QPen(colours.accent, 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        number = self.section_at(event.position().x())
        if event.button() == Qt.MouseButton.LeftButton and number >= 0:
            self.chosen.emit(number)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        last = len(self._sections) - 1
        targets = {
            Qt.Key.Key_Left: max(self.current - 1, 0),
            Qt.Key.Key_Right: min(self.current + 1, last),
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        key = Qt.Key(event.key())
        if self._sections and key in targets:
            self.chosen.emit(targets[key])
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            if (number := self.section_at(event.pos().x())) >= 0:
                QToolTip.showText(event.globalPos(), self.tip_of(number), self)
            return True
        return super().event(event)

    def tip_of(self, number: int) -> str:
        section = self._sections[number]
        about = "" if self._exact else ABOUT
        lines = (
            f"<b>{theme.SECTION_LETTERS[section.role]} · {escape(section.name)}</b>",
            escape(without_marks(section.doc)),
            f"{about}{range_words(section.start, section.stop)}",
            f"{about}{plural(section.size, 'byte')}, {share_text(section.size, self._size)} of the file",
        )
        return "<br>".join(line for line in lines if line)
