"""The legend: what colours, hatches and letters mean: of sections, and of fields that have a hue of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QBrush, QColor, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from shardcore import FieldRole, SectionRole
from shardscope.widgets import theme
from shardscope.widgets.tints import OWN_HUES

_NAMES = MappingProxyType({FieldRole.OFFSET: "pointer"})
_SWATCH = 15.0
_GAP = 5.0
_SPACE = 14.0
_MARGIN = 10.0


@dataclass(frozen=True)
class LegendEntry:
    """One line of the legend.

    Attributes:
        letter: The letter on the bytes or on the strip.
        name: In words.
        colour: The swatch.
        hatch: On the swatch.
        field: Whether it is a field role; else a section role.
    """

    letter: str
    name: str
    colour: QColor
    hatch: Qt.BrushStyle
    field: bool


class Legend(QWidget):
    """One line; the tool tip has what does not fit."""

    spoken_role = QAccessible.Role.Graphic

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("legend")
        self.setAccessibleName(self.tr("Legend"))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._sections: tuple[SectionRole, ...] = ()
        self._roles: tuple[tuple[SectionRole, FieldRole], ...] = ()

    def set_roles(self, sections: Sequence[SectionRole], on_screen: Sequence[tuple[SectionRole, FieldRole]]) -> None:
        """Show the roles of the sections of the file, and the field roles on the screen with their section."""
        self._sections, self._roles = tuple(dict.fromkeys(sections)), tuple(on_screen)
        self.setAccessibleName(self.tr("Legend: {0}").format(", ".join(f"{e.letter} {e.name}" for e in self.entries())))
        self.update()

    def entries(self) -> list[LegendEntry]:
        """Return the roles that are shown, in the tints of the bytes: sections, then keys, pointers and sizes."""
        colours = theme.of(self)
        shown = [
            LegendEntry(
                theme.SECTION_LETTERS[role],
                role.value,
                colours.field(role, FieldRole.GROUP, 1),
                theme.HATCHES[role],
                field=False,
            )
            for role in self._sections
        ]
        on_screen = {field for _, field in self._roles}
        return shown + [
            LegendEntry(
                theme.FIELD_LETTERS[field],
                _NAMES.get(field, field.name.lower()),
                colours.field(SectionRole.UNKNOWN, field, 1),
                Qt.BrushStyle.NoBrush,
                field=True,
            )
            for field in OWN_HUES
            if field in on_screen
        ]

    def sizeHint(self) -> QSize:
        return QSize(300, round(max(_SWATCH, QFontMetricsF(self.font()).height()) + 8))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.sizeHint().height())

    def event(self, event: QEvent) -> bool:
        """Return the tool tip tells everything."""
        if isinstance(event, QHelpEvent):
            lines = [f"{e.letter} · {e.name} ({'field' if e.field else 'section'})" for e in self.entries()]
            lines.append(self.tr("/// hatched: not loaded yet"))
            QToolTip.showText(event.globalPos(), "\n".join(lines), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = theme.of(self)
        painter.fillRect(self.rect(), colours.window)
        metrics = QFontMetricsF(self.font())
        x, middle = _MARGIN, self.height() / 2
        was_field = False
        for entry in self.entries():
            text = metrics.horizontalAdvance(entry.name)
            if entry.field and not was_field and x > _MARGIN:
                painter.fillRect(QRectF(x - _SPACE / 2, 6, 1, self.height() - 12), colours.border)
                x += _SPACE / 2
            was_field = entry.field
            if x + _SWATCH + _GAP + text > self.width() - _MARGIN:
                painter.setPen(colours.muted)
                painter.drawText(QRectF(x, 0, 30, self.height()), Qt.AlignmentFlag.AlignVCenter, "…")
                break
            self._paint_entry(painter, colours, entry, QRectF(x, middle - _SWATCH / 2, _SWATCH, _SWATCH))
            painter.setPen(colours.muted)
            painter.drawText(
                QRectF(x + _SWATCH + _GAP, 0, text + 2, self.height()), Qt.AlignmentFlag.AlignVCenter, entry.name
            )
            x += _SWATCH + _GAP + text + _SPACE
        painter.end()

    def _paint_entry(self, painter: QPainter, colours: theme.Palette, entry: LegendEntry, place: QRectF) -> None:
        painter.fillRect(place, entry.colour)
        over = QColor(colours.muted)
        over.setAlpha(60)
        painter.fillRect(place, QBrush(over, entry.hatch))
        painter.setPen(colours.border if entry.field else colours.muted)
        painter.drawRect(place)
        painter.setPen(colours.text)
        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, entry.letter)
