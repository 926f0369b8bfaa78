"""View of a drawing: zoom, mouse, keyboard and highlights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QPixmap,
    QPolygonF,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QGraphicsItem,
    QGraphicsScene,
    QGraphicsView,
    QStyleOptionGraphicsItem,
    QToolTip,
    QWidget,
)

from shardcore.dataclasses import dataclass
from shardcore.model.drawing import Cells, Drawing, Table
from shardcore.teaching.drawing.layout import LEAST_WIDTH, placed
from shardcore.teaching.drawing.picture import NO_ITEM, Grip, Ink, Picture, Rect, Text
from shardcore.teaching.drawing.svg import Colours, tip_of
from shardscope.learning.drawings.paint import Fonts, colours_of, paint_arriving, paint_grip, paint_picture, polygon_of
from shardscope.learning.drawings.stage_player import StagePlayback
from shardscope.session.display_text import grouped, span_words
from shardscope.widgets import fonts as type_
from shardscope.widgets import theme
from shardscope.widgets.deferred_signals import Debounce
from shardscope.widgets.fonts import ZOOMS
from shardscope.widgets.keyboard import ARROWS
from shardscope.widgets.layouts import made
from shardscope.widgets.plain_text import tip

_ASIDE = 3.0
"""Weight of the sideways distance when an arrow key searches for the next item."""


@dataclass(frozen=True, slots=True)
class Stop:
    item: int
    rect: Rect
    grip: Grip | None = None


def stops_of(picture: Picture) -> tuple[Stop, ...]:
    found: list[Stop] = []
    seen: set[int] = set()
    for area in picture.areas:
        if area.item in seen:
            continue
        seen.add(area.item)
        found.append(Stop(area.item, area.bounds))
        found += [Stop(area.item, grip.rect, grip) for grip in picture.grips if grip.item == area.item]
    return tuple(found)


def towards(stops: Sequence[Stop], current: int, across: int, down: int) -> int:
    here = stops[current].rect
    x, y = here.middle
    found: list[tuple[bool, bool, float, int]] = []
    for number, stop in enumerate(stops):
        along = (stop.rect.middle[0] - x) * across + (stop.rect.middle[1] - y) * down
        aside = abs((stop.rect.middle[0] - x) * down) + abs((stop.rect.middle[1] - y) * across)
        if stop.grip is None and along > 1:
            other_row = bool(across) and not (stop.rect.y < here.bottom and here.y < stop.rect.bottom)
            found.append((other_row, aside > along, along + _ASIDE * aside, number))
    return min(found)[3] if found else current


def spoken(picture: Picture, stop: Stop) -> str:
    item = picture.items[stop.item]
    if stop.grip is not None:
        return f"handle of {item.text or item.doc}, at {stop.grip.end:g}: the arrow keys move it"
    spans = ", ".join(map(span_words, item.spans)) or "computed (not stored)"
    return ", ".join(part.rstrip(".") for part in (item.text, item.doc, spans) if part)


_LIT = 0.20
_HOVER = 0.12
_MOST_PIXELS = 24_000_000
"""Maximum number of pixels of a cached picture; a larger one is painted each time."""


class Paper(QGraphicsItem):
    """Paints a drawing up to the current stage, highlighted items, and a frame around the item with the focus."""

    def __init__(self) -> None:
        super().__init__()
        self.lit: frozenset[int] = frozenset()
        self.hover = NO_ITEM
        self.stop: Stop | None = None
        self._picture: Picture | None = None
        self._colours, self._fonts = colours_of("light"), Fonts()
        self._kept: QPixmap | None = None
        self._stage: int | None = None
        self._share = 1.0

    def boundingRect(self) -> QRectF:
        return QRectF(0, 0, self._picture.width, self._picture.height) if self._picture is not None else QRectF()

    def show_picture(self, picture: Picture | None, colours: Colours, fonts: Fonts) -> None:
        self.prepareGeometryChange()
        self._picture, self._colours, self._fonts = picture, colours, fonts
        self._kept = None
        self.update()

    def reach(self, stage: int | None, share: float) -> None:
        """Show items up to a stage, of which `share` (0 to 1) has appeared already; None shows all stages."""
        before = self._arrived
        self._stage, self._share = stage, share
        if self._arrived != before:
            self._kept = None
        self.update()

    @property
    def _arrived(self) -> int | None:
        return self._stage if self._stage is None or self._share >= 1.0 else self._stage - 1

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        picture, colours, fonts = self._picture, self._colours, self._fonts
        if picture is None:
            return
        scale = painter.device().devicePixelRatioF() * painter.worldTransform().m11()
        size = QSize(ceil(picture.width * scale), ceil(picture.height * scale))
        if size.width() * size.height() > _MOST_PIXELS:
            paint_picture(painter, picture, colours, fonts, self._arrived)
        else:
            if self._kept is None or self._kept.size() != size:
                self._kept = QPixmap(size)
                self._kept.fill(QColor(colours.base))
                kept = QPainter(self._kept)
                kept.scale(scale, scale)
                paint_picture(kept, picture, colours, fonts, self._arrived)
                kept.end()
            place = QRectF(0, 0, size.width() / scale, size.height() / scale)
            painter.drawPixmap(place, self._kept, QRectF(self._kept.rect()))
            if self._stage is not None and self._share < 1.0:
                paint_arriving(painter, picture, colours, fonts, self._stage, self._share)
        self._paint_marks(painter, picture, colours)

    def _paint_marks(self, painter: QPainter, picture: Picture, colours: Colours) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        accent, stop = QColor(colours.inks[Ink.ACCENT]), self.stop
        for area in picture.areas:
            lit = area.item in self.lit
            here = self._stage is None or picture.items[area.item].stage <= self._stage
            if here and (lit or area.item == self.hover):
                inside = QColor(accent)
                inside.setAlphaF(_LIT if lit else _HOVER)
                painter.setBrush(inside)
                painter.setPen(QPen(accent, 1.5) if lit else Qt.PenStyle.NoPen)
                painter.drawPolygon(polygon_of(area.points))
        if stop is None:
            return
        if stop.grip is not None:
            paint_grip(painter, stop.grip, accent, wide=4.0)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        # A line in the page colour beside the frame makes it visible on any tint.
        for grown, colour, width in ((2.0, QColor(colours.base), 1.5), (3.5, accent, 2.0)):
            painter.setPen(QPen(colour, width))
            painter.drawRoundedRect(QRectF(*stop.rect.grown(grown)), 4, 4)


_PAGES = (
    *((width, 1) for width in (360, 440, 520, 620, 760, 900, 0, 1300)),
    *((width, 2) for width in (760, 900, 0, 1300)),
    *((width, 3) for width in (0, 1300)),
)
"""Layouts to try: width in pixels (0: the largest at which texts are readable), and number of columns."""
_REACH = 4.0


def _lost(picture: Picture) -> int:
    texts = [shape for shape in picture.shapes if isinstance(shape, Text) and not _KEY.fullmatch(shape.text)]
    written = {shape.item for shape in texts}
    items = [(figure, item) for figure in picture.drawing.figures for item in figure.items]
    empty = sum(isinstance(one, Table) and bool(item.text) and n not in written for n, (one, item) in enumerate(items))
    rings = {n for n, (figure, _) in enumerate(items) if isinstance(figure, Cells) and figure.ring}
    rows = {area.bounds.y for area in picture.areas if area.item in rings}
    return empty + sum("…" in shape.text for shape in texts) + _BROKEN * max(len(rows) - 1, 0)


_KEY = re.compile(r"[0-9a-f]{6,}…[0-9a-f]{3,}")
_BROKEN = 8  # a ring that is broken into two rows counts as this many shortened texts
MOST_PAGES = 200
"""Maximum number of cached layouts."""
_COST = 0.015
"""Penalty per shortened text in the score of a layout, which is 1 if all texts are readable and none is shortened."""


_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class DrawingView(QGraphicsView):
    pointed = Signal(int)
    """Carries the index of the item under the pointer or with the keyboard focus; `NO_ITEM` for none."""
    chosen = Signal(int)
    activated = Signal(int)
    dragged = Signal(str, int)
    """Carries the name of a control and the distance its handle was dragged, in units of the value of the control."""
    drag_began = Signal(str)
    menu_wanted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "drawingView", focusPolicy=Qt.FocusPolicy.StrongFocus, frameShape=QFrame.Shape.NoFrame)
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setMouseTracking(True)
        self.picture: Picture | None = None
        self.zoom = 1.0
        self.fits = False
        self.readable, self.most = 1.0, ZOOMS[-1]
        self._drawing: Drawing | None = None
        self.fonts = Fonts()
        self._paper = Paper()
        self._areas: list[tuple[QPolygonF, int]] = []
        self._stops: tuple[Stop, ...] = ()
        self._stop = -1
        self._drag: tuple[Grip, float] | None = None
        self._by_keyboard = self._narrowed = False
        self._placed_size = QSize()
        scene = QGraphicsScene(self)
        scene.addItem(self._paper)
        self.setScene(scene)
        self._again = Debounce(self, self._place)
        # Cached layouts by drawing (its id; the layout keeps it alive), width and number of columns.
        self._pages: tuple[Fonts, dict[tuple[int, int, int], tuple[Picture, int]]] = self.fonts, {}
        self.walk = made(StagePlayback(self), changed=self._reach)

    @property
    def _current(self) -> Stop | None:
        return self._stops[self._stop] if 0 <= self._stop < len(self._stops) else None

    # --- what is shown ---

    def show_drawing(self, drawing: Drawing | None) -> None:
        self._drawing = drawing
        self.walk.begin(drawing.stages if drawing is not None else ())
        self._place()
        self.setAccessibleName(self.tr("Drawing: {0}").format(drawing.title) if drawing is not None else "")

    @property
    def lit(self) -> frozenset[int]:
        return self._paper.lit

    def highlight(self, items: frozenset[int]) -> None:
        if items != self.lit:
            self._paper.lit = items
            self._paper.update()

    def show_items(self, items: frozenset[int]) -> None:
        areas = [area for area in self.picture.areas if area.item in items] if self.picture is not None else []
        for area in areas[::-1]:
            self.ensureVisible(polygon_of(area.points).boundingRect(), 0, 20)

    def _place(self) -> None:
        drawing = self._drawing
        if drawing is None:
            self.picture, self._areas, self._stops, self._stop = None, [], (), -1
            self._paper.show_picture(None, colours_of("light"), self.fonts)
            return
        if self.fits:
            picture, scale = self.fitting(drawing, self.viewport().size())
        else:
            scale = self.zoom * type_.zoom()
            width = max(self.viewport().width() / (min(self.zoom, 1.0) * type_.zoom()), LEAST_WIDTH)
            picture = placed(drawing, int(width), self.fonts.measure)
        self.picture = picture
        self.resetTransform()
        self.scale(scale, scale)
        self._find_areas()
        colours = colours_of(theme.of(self).name)
        self.setBackgroundBrush(QColor(colours.base))
        self._paper.show_picture(self.picture, colours, self.fonts)
        self.setSceneRect(QRectF(0, 0, self.picture.width, self.picture.height))
        if self._by_keyboard and self._stop < 0:
            self._go_to(0)
        self._mark_stop()
        if self._stop >= 0:
            self._say(self._stops[self._stop])

    def fitting(self, drawing: Drawing, room: QSize) -> tuple[Picture, float]:
        """Return layout and scale of a drawing in `room` with the best score: readable texts, few of them shortened."""
        found = list[tuple[float, float, Picture]]()
        for width, columns in _PAGES:
            width = width or max(int(room.width() / self.readable), LEAST_WIDTH)
            picture, lost = self._page(drawing, width, columns)
            scale = min(room.width() / width, room.height() / picture.height, self.most)
            found.append((min(scale / self.readable, 1.0) - _COST * lost, scale, picture))
        _, scale, picture = max(found, key=lambda one: one[:2])
        return picture, scale

    def _page(self, drawing: Drawing, width: int, columns: int) -> tuple[Picture, int]:
        # A lecture tries several heights for each slide.
        known, pages = self._pages
        if known is not self.fonts or len(pages) >= MOST_PAGES:
            self._pages = self.fonts, (pages := {})
        key = id(drawing), width, columns
        if key not in pages:
            picture = placed(drawing, width, self.fonts.measure, columns=columns, close=True)
            pages[key] = picture, _lost(picture)
        return pages[key]

    def _find_areas(self) -> None:
        picture, stage = self.picture, self.walk.stage
        if picture is None:
            return
        seen = [area for area in picture.areas if picture.items[area.item].stage <= stage]
        seen.sort(key=lambda area: area.bounds.w * area.bounds.h)
        self._areas = [(polygon_of(area.points), area.item) for area in seen]
        self._stops = tuple(stop for stop in stops_of(picture) if picture.items[stop.item].stage <= stage)
        self._stop = min(self._stop, len(self._stops) - 1)

    def _reach(self) -> None:
        walk = self.walk
        self._paper.reach(walk.stage if walk.stages else None, walk.share)
        if walk.share in (0.0, 1.0):
            self._find_areas()
            self._mark_stop()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        same, change = self.size() == self._placed_size, event.size().width() - event.oldSize().width()
        # A narrower drawing may be lower, so that its scroll bar would appear and disappear endlessly.
        if same and change > 0 and self._narrowed:
            return
        self._placed_size, self._narrowed = self.size(), same and change < 0
        if self.fits or change:
            self._again.start()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self.fonts = Fonts(self.fonts.least)
            self._again.start()

    def set_zoom(self, zoom: float) -> None:
        self.zoom = min(max(zoom, ZOOMS[0]), ZOOMS[-1])
        off, needed = Qt.ScrollBarPolicy.ScrollBarAlwaysOff, Qt.ScrollBarPolicy.ScrollBarAsNeeded
        self.setHorizontalScrollBarPolicy(needed if self.zoom > 1 else off)
        self._again.start()

    # --- where things are ---

    def item_at(self, place: QPoint) -> int:
        point, fill = self.mapToScene(place), Qt.FillRule.OddEvenFill
        return next((item for area, item in self._areas if area.containsPoint(point, fill)), NO_ITEM)

    def grip_at(self, place: QPoint) -> Grip | None:
        point = self.mapToScene(place)
        near = [
            (abs(grip.rect.middle[0] - point.x()), number, grip)
            for number, grip in enumerate(self.picture.grips if self.picture is not None else ())
            if grip.rect.grown(_REACH).holds((point.x(), point.y()))
        ]
        return min(near)[2] if near else None

    def place_of(self, item: int) -> QPoint:
        rect = self.picture.area_of(item) if self.picture is not None else None
        return self.mapFromScene(QPointF(*rect.middle)) if rect is not None else QPoint(-1, -1)

    def go_to_item(self, item: int) -> None:
        self.highlight(self.lit | {item})
        self._go_to(next((n for n, stop in enumerate(self._stops) if stop.item == item), -1))

    # --- mouse ---

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place = event.position().toPoint()
        if self._drag is not None:
            grip, begin = self._drag
            self.dragged.emit(grip.control, grip.moved(self.mapToScene(place).x() - begin))
            return
        on_grip = self.grip_at(place) is not None
        self.viewport().setCursor(Qt.CursorShape.SizeHorCursor if on_grip else Qt.CursorShape.ArrowCursor)
        self._point(self.item_at(place))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is not Qt.MouseButton.LeftButton:
            return
        place = event.position().toPoint()
        grip = self.grip_at(place)
        if grip is not None:
            self._drag = grip, self.mapToScene(place).x()
            self.drag_began.emit(grip.control)
            return
        item = self.item_at(place)
        self._go_to(next((n for n, stop in enumerate(self._stops) if stop.item == item), -1))
        if item != NO_ITEM:
            self.chosen.emit(item)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._drag = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if (item := self.item_at(event.position().toPoint())) != NO_ITEM:
            self.activated.emit(item)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.set_zoom(type_.zoomed(self.zoom, larger=event.angleDelta().y() > 0))
            event.accept()
        else:
            super().wheelEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_wanted.emit(event.globalPos())

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent) and self.picture is not None:
            text = tip_of(self.picture, self.item_at(event.pos()))
            QToolTip.showText(event.globalPos(), tip(grouped(text)), self.viewport())
            return True
        if event.type() == QEvent.Type.Leave:
            self._point(NO_ITEM)
        return super().viewportEvent(event)

    def _point(self, item: int) -> None:
        if item != self._paper.hover:
            self._paper.hover = item
            self._paper.update()
            self.pointed.emit(item)

    # --- keyboard ---

    def focusNextPrevChild(self, next: bool) -> bool:
        number = self._stop + (1 if next else -1)
        if self.hasFocus() and 0 <= number < len(self._stops):
            self._go_to(number)
            return True
        return super().focusNextPrevChild(next)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if event.reason() is Qt.FocusReason.BacktabFocusReason:
            self._go_to(len(self._stops) - 1)
        elif self._stop < 0 and event.reason() is not Qt.FocusReason.MouseFocusReason:
            # If the drawing is still being computed, `_place` moves the focus later.
            self._by_keyboard = True
            self._go_to(0)
        self._mark_stop()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._point(NO_ITEM)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._by_keyboard = False
        self._mark_stop()
        if event.reason() is not Qt.FocusReason.PopupFocusReason:
            self._point(NO_ITEM)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and _zoom_of(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, stop = Qt.Key(event.key()), self._current
        if zoom := _zoom_of(event):
            self.set_zoom(type_.zoomed(self.zoom, larger=zoom == "larger") if zoom != "reset" else 1.0)
        elif stop is not None and stop.grip is not None and key in ARROWS:
            across, down = ARROWS[key]
            towards_more = (across if stop.grip.step > 0 else -across) - down
            self.drag_began.emit(stop.grip.control)
            self.dragged.emit(stop.grip.control, towards_more)
        elif key in ARROWS and self._stops:
            self._go_to(towards(self._stops, self._stop, *ARROWS[key]) if self._stop >= 0 else 0)
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End) and self._stops:
            self._go_to(0 if key == Qt.Key.Key_Home else len(self._stops) - 1)
        elif key == Qt.Key.Key_Space and stop is not None:
            self.chosen.emit(stop.item)
        elif key in _ENTER and stop is not None:
            self.activated.emit(stop.item)
        else:
            super().keyPressEvent(event)

    def _go_to(self, number: int) -> None:
        self._stop = number if 0 <= number < len(self._stops) else -1
        self._mark_stop()
        if self._stop < 0:
            return
        stop = self._stops[self._stop]
        self.ensureVisible(QRectF(*stop.rect.grown(12)), 0, 0)
        self._point(stop.item)
        self._say(stop)

    def _say(self, stop: Stop) -> None:
        said = spoken(self.picture, stop) if self.picture is not None else ""
        if said == self.accessibleDescription():
            return
        self.setAccessibleDescription(said)
        if QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, said))

    def _mark_stop(self) -> None:
        self._paper.stop = self._current if self.hasFocus() else None
        self._paper.update()


def _zoom_of(event: QKeyEvent) -> str:
    if event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier):
        return ""
    key = Qt.Key
    ways = {key.Key_Plus: "larger", key.Key_Equal: "larger", key.Key_Minus: "smaller", key.Key_0: "reset"}
    return ways.get(key(event.key()), "")
