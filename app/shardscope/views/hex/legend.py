"""Legend of the bytes: tints and letters of sections; underlines of keys, pointers and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from shardcore import FieldRole, Section, SectionRole
from shardcore.model.text import without_marks
from shardscope.session.display_text import grouped
from shardscope.widgets import theme
from shardscope.widgets.plain_text import tip
from shardscope.widgets.section_tints import UNDERLINED
from shardscope.widgets.strip_paint import paint_ground

_NAMES = MappingProxyType({FieldRole.OFFSET: "pointer"})
_SWATCH = 15.0
_GAP = 5.0
_SPACE = 14.0
_MARGIN = 10.0
_MAX_LISTED = 4


@dataclass(frozen=True)
class LegendEntry:
    letter: str
    name: str
    role: SectionRole | FieldRole


class Legend(QWidget):
    spoken_role = QAccessible.Role.Graphic

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("legend")
        self.setAccessibleName(self.tr("Legend"))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.parts: Sequence[Section] = ()
        self._sections: tuple[SectionRole, ...] = ()
        self._roles: tuple[tuple[SectionRole, FieldRole], ...] = ()

    def set_roles(self, sections: Sequence[SectionRole], on_screen: Sequence[tuple[SectionRole, FieldRole]]) -> None:
        self._sections, self._roles = tuple(dict.fromkeys(sections)), tuple(on_screen)
        self.setAccessibleName(self.tr("Legend: {0}").format(", ".join(f"{e.letter} {e.name}" for e in self.entries())))
        self.update()

    def entries(self) -> list[LegendEntry]:
        on_screen = {field for _, field in self._roles}
        return [LegendEntry(theme.SECTION_LETTERS[role], role.value, role) for role in self._sections] + [
            LegendEntry(theme.FIELD_LETTERS[role], _NAMES.get(role, role.name.lower()), role)
            for role in UNDERLINED
            if role in on_screen
        ]

    def sizeHint(self) -> QSize:
        return QSize(300, round(max(_SWATCH, QFontMetricsF(self.font()).height()) + 8))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.sizeHint().height())

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), tip(self.tooltip), self)
            return True
        return super().event(event)

    @property
    def tooltip(self) -> str:
        kinds = {SectionRole: self.tr("section"), FieldRole: self.tr("field")}
        lines = []
        for e in self.entries():
            lines.append(f"{e.letter} · {e.name} ({kinds[type(e.role)]})")
            docs = {part.name: grouped(without_marks(part.doc)) for part in self.parts if part.role is e.role}
            lines += [f"    {name}: {doc}" for name, doc in list(docs.items())[:_MAX_LISTED] if doc]
        return "\n".join([*lines, self.tr("/// hatched: not loaded yet")])

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = theme.of(self)
        painter.fillRect(self.rect(), colours.window)
        metrics = QFontMetricsF(self.font())
        x, middle = _MARGIN, self.height() / 2
        fields = False
        for entry in self.entries():
            text = metrics.horizontalAdvance(entry.name)
            if isinstance(entry.role, FieldRole) and not fields and x > _MARGIN:
                painter.fillRect(QRectF(x - _SPACE / 2, 6, 1, self.height() - 12), colours.border)
                x += _SPACE / 2
                fields = True
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
        role = entry.role
        if isinstance(role, SectionRole):
            paint_ground(painter, colours, role, place)
            weak = place.adjusted(place.width() / 2, 1, -1, -1)
            for brush in colours.brushes(role, 0):
                painter.fillRect(weak, brush)
        else:
            painter.fillRect(place, colours.base)
            painter.setPen(colours.underline(role))
            painter.drawLine(place.bottomLeft(), place.bottomRight())
        painter.setPen(colours.text)
        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, entry.letter)
