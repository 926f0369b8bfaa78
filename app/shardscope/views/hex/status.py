"""Path above the bytes, status line, tooltip, and legend of the colours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape
from typing import NamedTuple

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QFocusEvent,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolTip, QWidget

from shardcore import FieldRole, Node, Section, SectionRole, Span
from shardcore.model.text import long_size, plural, shown, shown_lines, without_marks
from shardcore.operations.notes import Note
from shardscope.session.byte_marks import Mark, section_at, sections_in
from shardscope.session.display_text import (
    cut_end,
    cut_middle,
    grouped,
    headline,
    node_name,
    offset_words,
    range_words,
    span_words,
)
from shardscope.views.hex.state import HexState
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.note_flag import BOOKMARK, FLAG
from shardscope.widgets.plain_text import tip
from shardscope.widgets.strip_paint import paint_ground

# --- the path to the byte at the caret ---

_SEPARATOR = "<span style='color:{colour}'>&nbsp;›&nbsp;</span>"
_ARROW = " › "
_MOST_PARTS = 6
_LEFT = 12
"""Pixels left of the path; must match the style sheet."""


class Breadcrumb(QLabel):
    """Path to the caret as links. `chosen` carries the `Span` of a clicked part; the first part emits `file_chosen`.

    The label is one tab stop; Left, Right and Enter work inside it. Focus of links by Qt would trap Shift+Tab.
    """

    chosen = Signal(object)
    file_chosen = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "breadcrumb", textFormat=Qt.TextFormat.RichText, focusPolicy=Qt.FocusPolicy.TabFocus)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.LinksAccessibleByMouse)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._path: Sequence[Node] = ()
        self._names: list[str] = []
        self._cut: list[str] = []
        self._kept: list[int] = []
        self._at = -1
        self.plain = ""
        self.linkActivated.connect(self._follow)

    def set_path(self, file: str, path: Sequence[Node]) -> None:
        self._path = tuple(path)
        names = [shown(name) for name in (file or "no file", *(node_name(node) for node in path[1:]))]
        at = len(names) - 1 if self.hasFocus() else -1
        if (names, at) != (self._names, self._at):
            self._names = names
            self._cut = [_ARROW.join([cut_middle(part) for part in name.split(_ARROW)]) for name in names]
            self.plain = _ARROW.join([shown(file), *names[1:]])
            self.setToolTip(f"<span>{escape(self.plain)}</span>")
            self.setAccessibleName(self.plain)
            self._go_to(at)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._go_to(len(self._names) - 1)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._go_to(-1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        there = [number for number in self._kept if number >= 0]
        at = there.index(self._at) if self._at in there else len(there) - 1
        steps = {Qt.Key.Key_Left: at - 1, Qt.Key.Key_Right: at + 1, Qt.Key.Key_Home: 0, Qt.Key.Key_End: len(there) - 1}
        if key in steps and there:
            self._go_to(there[min(max(steps[key], 0), len(there) - 1)])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.linkActivated.emit(str(self._at))
        else:
            super().keyPressEvent(event)

    def _go_to(self, number: int) -> None:
        self._at = number
        self.setAccessibleDescription(self._names[number] if 0 <= number < len(self._names) else "")
        self._show()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._show()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def _show(self) -> None:
        colours, metrics = theme.of(self), QFontMetricsF(self.font())
        gap, count = metrics.horizontalAdvance(_ARROW), len(self._names)
        widths = [metrics.horizontalAdvance(name) + gap for name in self._cut]
        self._kept = [-1, count - 1] if count > 1 else list(range(count))
        for tail in range(min(count - 1, _MOST_PARTS - 1), 0, -1):
            head = min(count - tail, 2 if tail > 2 else 1)
            kept = [*range(head), *([] if head + tail == count else [-1]), *range(count - tail, count)]
            if sum([widths[n] if n >= 0 else 2 * gap for n in kept]) <= self.width() - _LEFT:
                self._kept = kept
                break
        links = []
        for number in self._kept:
            style = f"color:{(colours.text if number == count - 1 else colours.accent).name()}"
            if number == self._at:
                style = f"color:{colours.base.name()}; background-color:{colours.accent.name()}"
            link = f'<a href="{number}" style="{style}; text-decoration:none">{escape(self._cut[number])}</a>'
            links.append(link if number >= 0 else "…")
        self.setText(_SEPARATOR.format(colour=colours.muted.name()).join(links))

    def _follow(self, link: str) -> None:
        if link == "0":
            self.file_chosen.emit()
        elif link.isdigit() and int(link) < len(self._path):
            self.chosen.emit(self._path[int(link)].span)


# --- the selection, in the status line and in tooltips ---

_WIDTH = 340
_MOST_MARKS = 3
_LONGEST = 160

VALUE = 220
"""Width in pixels reserved for the value before other labels are shown; a longer value may be cut."""

MOST = 3
"""Maximum number of selected sections that are named; for more, their number is shown."""


def tip_text(
    offset: int,
    path: Sequence[Node],
    sections: Sequence[Section],
    marks: Sequence[Mark],
    notes: Sequence[Note] = (),
) -> str:
    lines = [f"<b>{escape(_path_text(path, offset, sections))}</b>"]
    section = section_at(sections, offset)
    if path:
        node = path[-1]
        if said := headline(node):
            lines.append(escape(cut_end(said, _LONGEST)))
        if node.doc:
            lines.append(f"<i>{escape(grouped(without_marks(node.doc)))}</i>")
        if node.error:
            lines.append(f"⚠ {escape(grouped(node.error))}")
        lines.append(escape(span_words(node.span)))
    elif section is not None:
        if section.doc:
            lines.append(f"<i>{escape(grouped(without_marks(section.doc)))}</i>")
        lines.append(escape(range_words(section.start, section.stop)))
    lines.append(f"byte {offset_words(offset)}")
    lines += [f"⚠ {escape(cut_end(grouped(mark.message), _LONGEST))}" for mark in marks[:_MOST_MARKS]]
    texts = [cut_end(shown_lines(note.text) or BOOKMARK, _LONGEST) for note in notes[:_MOST_MARKS]]
    lines += [f"{FLAG} {escape(text)}".replace("\n", "<br>") for text in texts]
    return f"<table width={_WIDTH}><tr><td>{'<br>'.join(lines)}</td></tr></table>"


def _path_text(path: Sequence[Node], offset: int, sections: Sequence[Section]) -> str:
    if len(path) > 1:
        return " › ".join([cut_middle(node.name) for node in path[1:]])
    section = section_at(sections, offset)
    if section is not None:
        return section.name
    return path[0].name if path else "bytes"


class HexStatus(QWidget):
    def __init__(self, state: HexState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.setObjectName("hexStatus")
        self.offset = self._label("statusOffset", self.tr("Offset of the selection"))
        self.length = self._label("statusLength", self.tr("Length of the selection"))
        self.value = self._label("statusValue", self.tr("Meaning of the selected bytes"), greedy=True)
        self.whole = self._label("statusSize", self.tr("Size of the source"))
        self._shown: tuple[Span, int, Sequence[Node], Sequence[Section]] | None = None
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        row = QHBoxLayout(self)
        lay(row, self.offset, self.length, (self.value, 1), self.whole, margins=(4, 0, 0, 0), spacing=18)

    def _label(self, name: str, meaning: str, *, greedy: bool = False) -> Elided:
        return made(Elided(greedy=greedy), name, accessibleDescription=meaning, toolTip=meaning)

    def refresh(self) -> None:
        state, last = self._state, self._shown
        span, size, path, sections = shown = state.selection.span, state.layout.size, state.path, state.sections
        if last is not None and last[:2] == shown[:2] and last[2] is path and last[3] is sections:
            return
        self._shown = shown
        names = [section.name for section in sections_in(sections, span.start, span.stop)] if size else []
        offset = self.tr("offset {0}").format(offset_words(span.start))
        self.offset.setText(offset if size else self.tr("no bytes"))
        self.length.setText(plural(span.size, "byte") if size else "")
        self.value.setToolTip(tip("\n".join(names)) if len(names) > 1 else self.value.accessibleDescription())
        self.value.set_text(_value(path, span, names) if size else "")
        if self.whole.text() != (whole := long_size(size)):
            self.whole.setText(whole)
        self._fit_parts()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_parts()

    def _fit_parts(self) -> None:
        row = self.layout()
        gap = row.spacing() if row is not None else 0
        value = min(self.fontMetrics().horizontalAdvance(self.value.text()), VALUE)
        labels = (self.offset, self.length, self.whole)
        offset, length, whole = [label.sizeHint().width() + gap for label in labels]
        self.length.setVisible(self.width() >= offset + value + length)
        self.whole.setVisible(self.width() >= offset + length + whole + value)

    def clear(self) -> None:
        self._shown = None
        for label in (self.offset, self.length, self.value, self.whole):
            label.clear()


def _value(path: Sequence[Node], span: Span, names: Sequence[str]) -> str:
    if len(names) > 1 and (len(path) < 2 or not path[-1].span.holds(span)):
        return ", ".join(names) if len(names) <= MOST else plural(len(names), "section")
    if len(path) > 1:
        said = headline(path[-1])
        return f"{path[-1].name}: {said}" if said else path[-1].name
    return names[0] if names else _path_text(path, span.start, ())


# --- the legend: tints and letters of sections; underlines of keys, pointers and sizes ---

_NAMES = {FieldRole.OFFSET: "pointer"}
_SWATCH = 15.0
_GAP = 5.0
_SPACE = 14.0
_MARGIN = 10.0
_MAX_LISTED = 4


class LegendEntry(NamedTuple):
    letter: str
    name: str
    role: SectionRole | FieldRole


class Legend(QWidget):
    spoken_role = QAccessible.Role.Graphic

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "legend", accessibleName=self.tr("Legend"))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.parts: Sequence[Section] = ()
        self._entries: list[LegendEntry] = []

    def set_roles(self, sections: Sequence[SectionRole], fields: Collection[FieldRole]) -> None:
        found = [LegendEntry(theme.SECTION_LETTERS[role], role.value, role) for role in dict.fromkeys(sections)]
        for field in theme.UNDERLINED:
            if field in fields:
                name = _NAMES.get(field, field.name.lower())
                found.append(LegendEntry(theme.FIELD_LETTERS[field], name, field))
        if found != self._entries:
            self._entries = found
            names = ", ".join([f"{entry.letter} {entry.name}" for entry in found])
            self.setAccessibleName(self.tr("Legend: {0}").format(names))
            self.update()

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
        for e in self._entries:
            lines.append(f"{e.letter} · {e.name} ({kinds[type(e.role)]})")
            docs = {part.name: grouped(without_marks(part.doc)) for part in self.parts if part.role is e.role}
            lines += [f"    {name}: {doc}" for name, doc in list(docs.items())[:_MAX_LISTED] if doc]
        return "\n".join([*lines, self.tr("/// hatched: not loaded yet")])

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = theme.of(self)
        painter.fillRect(self.rect(), colours.window)
        metrics, height = QFontMetricsF(self.font()), self.height()
        x, fields, middle = _MARGIN, False, Qt.AlignmentFlag.AlignVCenter
        for entry in self._entries:
            text = metrics.horizontalAdvance(entry.name)
            if isinstance(entry.role, FieldRole) and not fields and x > _MARGIN:
                painter.fillRect(QRectF(x - _SPACE / 2, 6, 1, height - 12), colours.border)
                x += _SPACE / 2
                fields = True
            if x + _SWATCH + _GAP + text > self.width() - _MARGIN:
                painter.setPen(colours.muted)
                painter.drawText(QRectF(x, 0, 30, height), middle, "…")
                break
            self._paint_swatch(painter, colours, entry, QRectF(x, (height - _SWATCH) / 2, _SWATCH, _SWATCH))
            painter.setPen(colours.muted)
            painter.drawText(QRectF(x + _SWATCH + _GAP, 0, text + 2, height), middle, entry.name)
            x += _SWATCH + _GAP + text + _SPACE

    def _paint_swatch(self, painter: QPainter, colours: theme.Palette, entry: LegendEntry, place: QRectF) -> None:
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
