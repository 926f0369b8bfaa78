"""Overview strip of the source: sections, visible range, loaded bytes, findings, notes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QAction,
    QActionGroup,
    QBrush,
    QContextMenuEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QRegion,
)
from PySide6.QtWidgets import QMenu, QToolTip, QWidget

from shardcore import Section, Severity, Span
from shardcore.model.span import union
from shardcore.model.text import shown, size_text, without_marks
from shardscope.session.byte_marks import notes_in, sections_in
from shardscope.session.byte_pages import PAGE
from shardscope.session.display_text import cut_end, grouped, offset_words, range_words, share_text
from shardscope.session.selection import Arrow, Highlight, arrows_in, highlights_in
from shardscope.views.hex.state import HexState
from shardscope.widgets import theme
from shardscope.widgets.badges import badge_font, badge_size, paint_badge
from shardscope.widgets.clipboard import copy_text
from shardscope.widgets.layouts import made
from shardscope.widgets.note_flag import BOOKMARK, FLAG, paint_flag
from shardscope.widgets.save_picture import add_picture
from shardscope.widgets.strip_paint import LABEL_GAP, SectionStrip, StripScale, paint_labels, paint_strip
from shardscope.widgets.table import context_menu

_MARGIN = 10.0
_LEAST = 3.0
"""Minimum width of a highlight in pixels."""
_HEAD = 4.0

_LINE = 4.0
_LEAST_VIEW = 4.0
_CORNER = 4.0
"""Height in pixels of the corners of the frame around the visible range; its sides are open for letters."""
_PARTLY = 0.4
"""Opacity of a pixel of which only some bytes are loaded."""
_MOST_MARKS = 5000
_LONGEST_NOTE = 160
_SHORT = 14
"""Maximum number of characters of a section name while arrows are shown above the strip."""
_RANK = {Severity.NOTE: 0, Severity.WARNING: 1, Severity.ERROR: 2}


class Overview(SectionStrip):
    natural, beside, above, below = 400, _MARGIN, 5.0, LABEL_GAP + _LINE + 5.0
    spoken_role = QAccessible.Role.Slider

    jumped = Signal(object)
    section_chosen = Signal(object)
    """Carries the `Span` of the section to select."""
    scale_changed = Signal(bool)
    reported = Signal(object, bool)
    """Carries a message for the status line, and whether it is an error."""

    def __init__(self, state: HexState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "overview", accessibleName=self.tr("Overview of the file"), mouseTracking=True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.schematic = False
        self._state = state
        self._placed: tuple[object, ...] = ()
        self._fetched: tuple[tuple[int, int], ...] | None = None
        self._hits: Sequence[int] = ()
        self._hit_xs: frozenset[int] = frozenset()
        self._mark_xs: dict[int, Severity] = {}
        self._note_xs: frozenset[int] = frozenset()
        state.layout_changed.connect(self._looks_changed)
        state.looks_changed.connect(self._looks_changed)
        state.view_changed.connect(self.update)
        state.caret_changed.connect(self._caret_changed)
        state.pages.changed.connect(self._page_changed)

    @property
    def _size(self) -> int:
        return self._state.layout.size

    @property
    def highlights(self) -> tuple[Highlight, ...]:
        return self._state.highlights

    @property
    def _changed(self) -> Sequence[tuple[int, int]]:
        return () if self._state.sandboxed is None else self._state.sandboxed.ranges

    def _looks_changed(self) -> None:
        state = self._state
        placed = state.name, state.layout.size, state.sections, state.marks, state.notes
        if placed != self._placed:
            if placed[:2] != self._placed[:2]:
                self._hits = ()
            self._placed = placed
            self._rescale()
            self.setAccessibleDescription(", ".join(self.label(section) for section in self._scale.sections))
        self.update()

    def _caret_changed(self) -> None:
        self.update()
        if self.hasFocus() and QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, self.spoken_value))

    @property
    def spoken_value(self) -> str:
        start, size = self._state.selection.span.start, self._size
        names = (section.name for section in sections_in(self._state.sections, start, start + 1))
        return ", ".join((f"{offset_words(start)} of {offset_words(size)}", *names)) if size else ""

    def set_fetched(self, fetched: tuple[tuple[int, int], ...] | None) -> None:
        """Set the ranges that a remote source has cached; None hides the line of loaded bytes."""
        if fetched != self._fetched:
            self._fetched = fetched
            self.update()

    def set_hits(self, offsets: Sequence[int]) -> None:
        if len(offsets) or len(self._hits):
            self._hits = offsets
            self._place_marks()

    def label(self, section: Section) -> str:
        return f"{section.name} · {size_text(section.size)} · {share_text(section.size, self._size)}"

    # --- geometry ---

    def x_of(self, offset: int) -> float:
        return _MARGIN + self._scale.x_of(offset)

    def offset_at(self, x: float) -> int:
        return self._scale.offset_at(x - _MARGIN)

    def _rescale(self) -> None:
        width = self.width() - 2 * _MARGIN
        self._scale = StripScale(self._size, self._state.sections, width, schematic=self.schematic)
        self._place_marks()

    def set_schematic(self, schematic: bool) -> None:
        if schematic != self.schematic:
            self.schematic = schematic
            self._rescale()
            self.scale_changed.emit(schematic)

    def _place_marks(self) -> None:
        worst: dict[int, Severity] = {}
        for mark in self._state.marks.all[:_MOST_MARKS]:
            for x in {round(self.x_of(mark.start)), round(self.x_of(mark.stop))}:
                if x not in worst or _RANK[mark.severity] > _RANK[worst[x]]:
                    worst[x] = mark.severity
        self._mark_xs = worst
        self._hit_xs = frozenset(round(self.x_of(offset)) for offset in self._hits)
        self._note_xs = frozenset(round(self.x_of(note.span.start)) for note in self._state.notes[:_MOST_MARKS])
        self.update()

    def _page_changed(self, name: str, number: int) -> None:
        if name == self._state.name:
            self.update()

    # --- painting ---

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colours = theme.of(self)
        painter.fillRect(self.rect(), colours.window)
        if self._size:
            name, strip = self._state.name, self._strip()
            arrows = arrows_in(self._state.arrows, name)
            paint_strip(painter, colours, self._scale, strip, self.label if not arrows else None)
            self._paint_loaded(painter, colours, strip)
            self._paint_marks(painter, colours, strip)
            self._paint_view(painter, colours, strip)
            for x in self._note_xs:
                paint_flag(painter, QRectF(x, strip.bottom() - 11, 7, 11), colours.text, colours.base)
            if highlights := highlights_in(self.highlights, name):
                self._paint_highlights(painter, colours, strip, highlights)
            if arrows:
                self._paint_arrows(painter, colours, strip, arrows)
                # Short names on a filled background, above the arcs.
                short = [cut_end(section.name, _SHORT) for section in self._scale.sections]
                paint_labels(painter, colours, self._scale, strip, short, grounded=True)
            if not name:
                self._paint_changed(painter, colours, strip)
        if self.hasFocus():
            painter.setPen(QPen(colours.accent, 1, Qt.PenStyle.DotLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(1, 1, -2, -2))

    def _paint_loaded(self, painter: QPainter, colours: theme.Palette, strip: QRectF) -> None:
        if self._fetched is None:
            return
        top, done = round(strip.bottom() + LABEL_GAP), 0
        painter.fillRect(QRectF(strip.left(), top, strip.width(), _LINE), colours.border)
        partly = theme.faint(colours.ok, _PARTLY)
        for start, stop in self.loaded():
            left, right = self.x_of(start), self.x_of(stop)
            first, last = max(math.floor(left), done), math.ceil(right)
            painter.fillRect(QRectF(first, top, max(last - first, 0), _LINE), partly)
            painter.fillRect(
                QRectF(math.ceil(left), top, max(math.floor(right) - math.ceil(left), 0), _LINE), colours.ok
            )
            done = last

    def loaded(self) -> list[tuple[int, int]]:
        """Return the half-open ranges of complete pages in memory or in the cache of the source."""
        whole = (
            (-(-start // PAGE) * PAGE, stop if stop == self._size else stop // PAGE * PAGE)
            for start, stop in self._fetched or ()
        )
        return union((*self._state.pages.loaded(self._state.name), *whole))

    def _paint_marks(self, painter: QPainter, colours: theme.Palette, strip: QRectF) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        for x in self._hit_xs:
            painter.fillRect(QRectF(x - 0.5, strip.top(), 1.5, strip.height() * 0.45), colours.text)
        for x, severity in self._mark_xs.items():
            painter.setBrush(getattr(colours, severity.value))
            tip = QPointF(x, strip.top() + 5)
            painter.drawPolygon([tip, QPointF(x - 4, strip.top() - 3), QPointF(x + 4, strip.top() - 3)])

    def _paint_view(self, painter: QPainter, colours: theme.Palette, strip: QRectF) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        span = self._state.selection.span
        if self._state.selected and span.size:
            left, right = self.x_of(span.start), self.x_of(span.stop)
            bar = QRectF(left, strip.bottom() - 3, max(right - left, 2.0), 5)
            painter.fillRect(bar.adjusted(-1, -1, 1, 1), colours.base)
            painter.fillRect(bar, colours.accent)
        start, stop = self._state.visible_bytes
        if stop > start:
            left, right = self.x_of(start), self.x_of(stop)
            if right - left < _LEAST_VIEW:
                left = min(max((left + right - _LEAST_VIEW) / 2, strip.left()), strip.right() - _LEAST_VIEW)
                right = left + _LEAST_VIEW
            frame = QRectF(left, strip.top() - 2, right - left, strip.height() + 4)
            painter.save()
            # Leave the sides open at letters.
            letters = strip.adjusted(-_MARGIN, _CORNER, _MARGIN, -_CORNER).toRect()
            painter.setClipRegion(QRegion(self.rect()) - QRegion(letters))
            for colour, width in ((colours.base, 3), (colours.text, 1.5)):
                painter.setPen(QPen(colour, width))
                painter.drawRoundedRect(frame, 2, 2)
            painter.restore()

    def _paint_highlights(
        self, painter: QPainter, colours: theme.Palette, strip: QRectF, highlights: Sequence[Highlight]
    ) -> None:
        painter.save()
        painter.setFont(badge_font(painter.font()))
        fill = theme.faint(colours.accent, 0.45)
        in_order = sorted(highlights, key=lambda highlight: (highlight.span.start, highlight.number))
        ends = [(self.x_of(highlight.span.start), self.x_of(highlight.span.stop)) for highlight in in_order]
        for highlight, (left, right) in zip(in_order, ends, strict=True):
            bar = QRectF(left, strip.top(), max(right - left, _LEAST), strip.height())
            if highlight.hollow:
                painter.setPen(QPen(colours.accent, 1.2, Qt.PenStyle.DashLine))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(bar.adjusted(0.5, 0.5, -0.5, -0.5))
            else:
                painter.fillRect(bar, fill)
        sizes = [badge_size(highlight.number, painter.font()) for highlight in in_order]
        widths, middles = [size.width() for size in sizes], [(left + right) / 2 for left, right in ends]
        for highlight, x, size in zip(
            in_order, side_by_side(middles, widths, strip.left(), strip.right()), sizes, strict=True
        ):
            place = QPointF(x, strip.center().y() - size.height() / 2)
            paint_badge(painter, colours, place, highlight.number, hollow=highlight.hollow)
        painter.restore()

    def _paint_arrows(self, painter: QPainter, colours: theme.Palette, strip: QRectF, arrows: Sequence[Arrow]) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        top = strip.top() + 1
        for arrow in arrows:
            one, other = self.x_of(arrow.start.start), self.x_of(arrow.stop.start)
            high = min(max(abs(one - other) * 0.5, 8.0), strip.top() - 2)
            path = QPainterPath(QPointF(one, top))
            path.cubicTo(QPointF(one, top - high * 1.3), QPointF(other, top - high * 1.3), QPointF(other, top - _HEAD))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            for width, colour in ((3.5, colours.window), (1.5, colours.accent)):
                painter.setPen(QPen(colour, width))
                painter.drawPath(path)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colours.accent)
            painter.drawPolygon([QPointF(other, top), QPointF(other - _HEAD, top - 6), QPointF(other + _HEAD, top - 6)])
        painter.restore()

    def _paint_changed(self, painter: QPainter, colours: theme.Palette, strip: QRectF) -> None:
        last = -math.inf
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for start, stop in self._changed:
            left, right = self.x_of(start), self.x_of(stop)
            band = QRectF(left, strip.bottom() - 6, max(right - left, 1.0), 6)
            painter.fillRect(band, QBrush(colours.warning, Qt.BrushStyle.DiagCrossPattern))
            if left - last < 3:
                continue
            last, foot = left, strip.bottom() + 1
            painter.setPen(QPen(colours.base, 1))
            painter.setBrush(colours.warning)
            painter.drawPolygon(
                [QPointF(left - 5, foot), QPointF(left, foot - 5), QPointF(left + 5, foot), QPointF(left, foot + 5)]
            )
        painter.restore()

    # --- events ---

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and self._size:
            QToolTip.showText(event.globalPos(), self.tip_at(event.pos().x()), self)
            return True
        return super().event(event)

    def tip_at(self, x: float) -> str:
        offset = self.offset_at(x)
        section = self._scale.section_at(x - _MARGIN)
        lines = [
            f"<b>{theme.SECTION_LETTERS[section.role]} · {escape(section.name)}</b>",
            escape(grouped(without_marks(section.doc))),
            range_words(section.start, section.stop),
            f"{size_text(section.size)}, {share_text(section.size, self._size)} of the file",
            f"here: byte {offset_words(offset)}",
        ]
        if any(a <= self.offset_at(x + 4) and self.offset_at(x - 4) <= b for a, b in self._changed):
            lines.append(self.tr("◆ changed in the sandbox"))
        near = self._state.marks.inside(self.offset_at(x - 4), self.offset_at(x + 4) + 1, 3)
        lines += [f"⚠ {escape(grouped(mark.message))}" for mark in reversed(near)]
        noted = notes_in(self._state.notes, self.offset_at(x - 4), self.offset_at(x + 4) + 1)[:3]
        lines += [f"{FLAG} {escape(cut_end(shown(note.text) or BOOKMARK, _LONGEST_NOTE))}" for note in noted]
        return "<br>".join(line for line in lines if line)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self._size:
            self.menu_at(event.pos().x()).popup(event.globalPos())

    def menu_at(self, x: float) -> QMenu:
        section, offset = self._scale.section_at(x - _MARGIN), self.offset_at(x)
        span = Span(self._state.name, section.start, section.stop)
        entries = [
            (self.tr("&Go here"), lambda: self.jumped.emit(offset)),
            (self.tr("&Select section"), lambda: self.section_chosen.emit(span)),
            None,
            (self.tr("Copy &name"), lambda: copy_text(section.name)),
            (self.tr("Copy &range"), lambda: copy_text(f"{section.start}..{section.stop}")),
            (self.tr("Copy &offset"), lambda: copy_text(f"{offset:#x}")),
            None,
        ]
        menu = context_menu(self, entries)
        choice = QActionGroup(menu)
        for text, schematic in (("&True scale", False), ("Sche&matic", True)):
            action = QAction(text, choice, checkable=True, checked=self.schematic is schematic)
            action.triggered.connect(lambda _=False, chosen=schematic: self.set_schematic(chosen))
            menu.addAction(action)
        menu.addSeparator()
        add_picture(menu, self, "overview", self.reported.emit)
        return menu

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._size:
            self.jumped.emit(self.offset_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton and self._size:
            self.jumped.emit(self.offset_at(event.position().x()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        starts = [section.start for section in self._scale.sections]
        here = self._state.visible_bytes[0]
        targets = {
            Qt.Key.Key_Left: max((start for start in starts if start < here), default=starts[0]),
            Qt.Key.Key_Right: min((start for start in starts if start > here), default=starts[-1]),
            Qt.Key.Key_Home: starts[0],
            Qt.Key.Key_End: starts[-1],
        }
        key = Qt.Key(event.key())
        if self._size and key in targets:
            self.jumped.emit(targets[key])
        else:
            super().keyPressEvent(event)


def side_by_side(middles: Sequence[float], widths: Sequence[float], left: float, right: float) -> list[float]:
    """Return the left edges of badges centred on `middles`, moved apart so that none overlap if there is room."""
    found: list[float] = []
    free = left
    for middle, width in zip(middles, widths, strict=True):
        found.append(max(middle - width / 2, free))
        free = found[-1] + width + 1
    limit = right
    for number in range(len(found) - 1, -1, -1):
        found[number] = max(min(found[number], limit - widths[number]), left)
        limit = found[number] - 1
    return found
