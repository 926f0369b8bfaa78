"""3D view of meshes, skeletons and annotations; fragments, vertices and rows are linked to their bytes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QGuiApplication,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from shardcore import ObjectRef, Shard, Span
from shardcore.model.text import number_text, plural
from shardcore.operations.content.arrays import label_colours
from shardcore.operations.content.geometry import (
    AnnotationsContent,
    GeometryContent,
    MeshContent,
    SkeletonContent,
    decode_level,
)
from shardcore.operations.content.renderer import Camera, Scene, Shaded, box_lines, coarse_scene, shade
from shardscope.session.display_text import error_text
from shardscope.session.jobs import Pool
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.views.preview import ContentView, Preview, choice, row, value_line
from shardscope.widgets import theme
from shardscope.widgets.deferred_signals import Debounce, WhileVisible
from shardscope.widgets.fonts import SMALL, sized
from shardscope.widgets.keyboard import ARROWS
from shardscope.widgets.layouts import lay, made

BUDGET = 0.016
"""Target time per frame in seconds while the scene turns."""

SETTLE_MILLISECONDS = 120
"""Milliseconds without movement after which the scene is drawn in full resolution."""

REACH = 12.0

DEGREES = 10.0
ZOOM = 1.25
_AXES = (("x", QColor("#d9534a")), ("y", QColor("#3f9b4f")), ("z", QColor("#3b7dd8")))

Drawn = Callable[[Shaded], None]
Painter = Callable[[Scene, Camera, int, int, float, Drawn], None]
"""Function that draws a scene in a job, from scene, camera, columns, rows and line width, and calls back."""


class SceneCanvas(QWidget):
    """3D scene with box, axes and scale; `pointed` and `chosen` carry the index of a triangle, vertex or row, or -1."""

    pointed = Signal(int)
    chosen = Signal(int)
    spoken_role = QAccessible.Role.Graphic
    # Class attributes, since the base class sends events while it is created.
    scene: Scene | None = None
    shaded: Shaded | None = None

    def __init__(self, draw: Painter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "previewScene", accessibleName=self.tr("3D view"), mouseTracking=True)
        self.setToolTip(self.tr("Drag or arrow keys: turn · wheel, + and −: zoom · 0: reset · page keys: next part"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.camera = Camera.first()
        self.colour = QColor(Qt.GlobalColor.gray)
        self.unit = ""
        self._draw = draw
        self._coarse: Scene | None = None
        self.full = False
        self._divisor = 2.0
        self.image = QImage()
        self._hover = self.mark = -1
        self._drag: QPointF | None = None
        self._moved = False
        self._settle = Debounce(self, self._draw_full, SETTLE_MILLISECONDS)

    def sizeHint(self) -> QSize:
        return QSize(320, 280)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, 40)

    # --- what is shown ---

    def show_scene(self, scene: Scene, coarse: Scene, colour: QColor, unit: str, *, keep: bool = False) -> None:
        self.scene, self._coarse, self.colour, self.unit = scene, coarse, colour, unit
        self._hover = self.mark = -1
        if not keep:
            self.camera = Camera.first()
        self.shaded, self.full = None, False
        self._quick()
        self._draw_full()

    def set_mark(self, thing: int) -> None:
        if thing != self.mark:
            self.mark = thing
            self._colour()

    def place_of(self, thing: int) -> QPointF | None:
        scene, shaded = self.scene, self.shaded
        if scene is None or shaded is None:
            return None
        factor = self.width() / shaded.light.shape[1]
        found = np.flatnonzero(scene.things == thing)
        if len(found):
            column, row = shaded.project(scene.anchors[found[:1]])[0, :2] * factor
            return QPointF(column, row)
        if not self.full or not len(scene.triangle_things):
            return None
        rows, columns = np.nonzero(shaded.things == thing)
        if not len(rows):
            return None
        middle = len(rows) // 2
        return QPointF((columns[middle] + 0.5) * factor, (rows[middle] + 0.5) * factor)

    def thing_at(self, place: QPointF) -> int:
        """Return the triangle at a point, or the nearest vertex within `REACH` pixels; -1 for none."""
        scene, shaded = self.scene, self.shaded
        if scene is None or shaded is None or not self.full:
            return -1
        rows, columns = shaded.light.shape
        factor = columns / max(self.width(), 1)
        if len(scene.triangles):
            column, row = int(place.x() * factor), int(place.y() * factor)
            return int(shaded.things[row, column]) if 0 <= row < rows and 0 <= column < columns else -1
        if not len(scene.anchors):
            return -1
        seen = shaded.project(scene.anchors)
        away = np.hypot(seen[:, 0] - place.x() * factor, seen[:, 1] - place.y() * factor)
        # Prefer the nearest to the viewer among equal distances.
        nearest = int(np.argmin(away - 1e-6 * seen[:, 2]))
        return int(scene.things[nearest]) if away[nearest] <= REACH * factor else -1

    # --- drawing ---

    def _pixels(self, divisor: float = 0.0) -> tuple[int, int, float]:
        screen = self.devicePixelRatioF()
        ratio = screen / divisor if divisor else 2 * screen if screen < 1.5 else screen
        return max(round(self.width() * ratio), 1), max(round(self.height() * ratio), 1), ratio

    def _quick(self) -> None:
        coarse = self._coarse
        if coarse is None or not self.isVisible():
            return
        columns, rows, wide = self._pixels(self._divisor)
        begun = time.perf_counter()
        shaded = shade(coarse, self.camera, columns, rows, wide=wide)
        taken = time.perf_counter() - begun
        # Choose the resolution of the next picture so that it fits the budget.
        self._divisor = min(max(self._divisor * math.sqrt(max(taken, 1e-4) / (0.8 * BUDGET)), 1.0), 6.0)
        self._take(shaded, full=False)
        self._settle.start()

    def _draw_full(self) -> None:
        scene, camera, size = self.scene, self.camera, self._pixels()
        if scene is None or not self.isVisible():
            return

        def take(shaded: Shaded) -> None:
            # Drop the picture if another one was started meanwhile.
            if scene is self.scene and camera is self.camera and size == self._pixels():
                self._take(shaded, full=True)

        self._draw(scene, camera, *size, take)

    def _take(self, shaded: Shaded, *, full: bool) -> None:
        self.shaded, self.full = shaded, full
        self._colour()

    def _colour(self) -> None:
        shaded, scene = self.shaded, self.scene
        if shaded is None or scene is None:
            return
        colours = theme.of(self)
        level = (shaded.light * 255).astype(np.uint8)
        pixels = shades(self.colour)[level]
        if self.full and len(scene.triangles):
            for thing, share in ((self._hover, 0.45), (self.mark, 0.75)):
                if thing >= 0:
                    owned = shaded.things == thing
                    pixels[owned] = shades(theme.mixed(self.colour, colours.accent, share))[level[owned]]
        pixels[shaded.hit < 0] = 0
        rows, columns = pixels.shape
        self.image = QImage(pixels.tobytes(), columns, rows, 4 * columns, QImage.Format.Format_ARGB32).copy()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = theme.of(self)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.shaded is not None and self.scene is not None and len(self.scene.points):
            behind, front = self._box()
            painter.setPen(QPen(colours.border, 1))
            painter.drawLines(behind)
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, True)
            painter.drawImage(QRectF(self.rect()), self.image)
            painter.setPen(QPen(theme.faint(colours.border, 0.7), 1))
            painter.drawLines(front)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            rings = ((self._hover, colours.text), (self.mark, colours.accent)) if not len(self.scene.triangles) else ()
            for thing, colour in rings:
                if thing >= 0 and (place := self.place_of(thing)) is not None:
                    painter.setPen(QPen(colour, 2))
                    painter.drawEllipse(place, 6, 6)
            self._paint_axes(painter, colours)
            self._paint_scale(painter, colours)
        if self.hasFocus():
            painter.setPen(QPen(colours.accent, 1))
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))

    def _box(self) -> tuple[list[QLineF], list[QLineF]]:
        assert self.scene is not None
        assert self.shaded is not None
        low, high = self.scene.bounds
        corners, lines = box_lines(low[None], high[None])
        seen = self.shaded.project(corners)
        factor = self.width() / self.shaded.light.shape[1]
        nearest = int(np.argmax(seen[:, 2]))
        found: tuple[list[QLineF], list[QLineF]] = [], []
        for one, two in lines.tolist():
            (x1, y1), (x2, y2) = seen[one, :2] * factor, seen[two, :2] * factor
            found[int(nearest in (one, two))].append(QLineF(x1, y1, x2, y2))
        return found

    def _paint_axes(self, painter: QPainter, colours: theme.Palette) -> None:
        painter.setFont(sized(painter.font(), SMALL))
        middle = QPointF(34, self.height() - 34)
        rotation = self.camera.rotation
        for axis in np.argsort(rotation[2]).tolist():
            name, colour = _AXES[axis]
            end = middle + QPointF(rotation[0, axis], -rotation[1, axis]) * 20
            painter.setPen(QPen(colour, 2))
            painter.drawLine(QLineF(middle, end))
            painter.setPen(colours.muted)
            letter = middle + QPointF(rotation[0, axis], -rotation[1, axis]) * 29
            painter.drawText(QRectF(letter.x() - 8, letter.y() - 8, 16, 16), Qt.AlignmentFlag.AlignCenter, name)

    def _paint_scale(self, painter: QPainter, colours: theme.Palette) -> None:
        assert self.shaded is not None
        per_unit = self.shaded.scale * self.width() / self.shaded.light.shape[1]
        if per_unit <= 0 or not math.isfinite(per_unit):
            return
        length = round_length(90 / per_unit)
        right, bottom = self.width() - 12.0, self.height() - 14.0
        left = right - length * per_unit
        painter.setPen(QPen(colours.muted, 2))
        painter.drawLine(QLineF(left, bottom, right, bottom))
        painter.setFont(sized(painter.font(), SMALL))
        box = QRectF(right - 160, bottom - 20, 160, 16)
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(box, side, length_text(length, self.unit))

    # --- moves ---

    def _turn(self, across: float, down: float) -> None:
        self._move(self.camera.turn(math.radians(across), math.radians(down)))

    def _move(self, camera: Camera) -> None:
        self.camera = camera
        self._quick()

    def _step(self, step: int) -> None:
        scene = self.scene
        things = () if scene is None else scene.triangle_things if len(scene.triangles) else scene.things
        if len(things):
            numbers = np.unique(things)
            at = int(np.searchsorted(numbers, self.mark)) if self.mark >= 0 else (-1 if step > 0 else 0)
            self._choose(int(numbers[(at + step) % len(numbers)]))

    def _choose(self, thing: int) -> None:
        self.set_mark(thing)
        self.chosen.emit(thing)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._drag, self._moved = event.position(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._drag is not None:
            moved = event.position() - self._drag
            if self._moved or moved.manhattanLength() > 3:
                self._moved, self._drag = True, event.position()
                self._turn(0.5 * moved.x(), 0.5 * moved.y())
            return
        self._point(self.thing_at(event.position()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._drag = self._drag is not None, None
        thing = self.thing_at(event.position())
        if pressed and not self._moved and thing >= 0:
            self._choose(thing)

    def leaveEvent(self, event: object) -> None:
        self._point(-1)

    def _point(self, thing: int) -> None:
        if thing != self._hover:
            self._hover = thing
            self._colour()
            self.pointed.emit(thing)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._move(self.camera.zoomed(ZOOM if event.angleDelta().y() > 0 else 1 / ZOOM))
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in ARROWS:
            across, down = ARROWS[Qt.Key(key)]
            self._turn(DEGREES * across, DEGREES * down)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self._move(self.camera.zoomed(ZOOM))
        elif key == Qt.Key.Key_Minus:
            self._move(self.camera.zoomed(1 / ZOOM))
        elif key == Qt.Key.Key_0:
            self._move(Camera.first())
        elif key in (Qt.Key.Key_PageDown, Qt.Key.Key_PageUp):
            self._step(1 if key == Qt.Key.Key_PageDown else -1)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._quick()

    def showEvent(self, event: Any) -> None:
        super().showEvent(event)
        self._quick()
        self._draw_full()

    def changeEvent(self, event: Any) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._colour()


def shades(colour: QColor) -> NDArray[np.uint32]:
    levels = np.arange(256, dtype=np.uint32)
    red, green, blue = (levels * part // 255 for part in (colour.red(), colour.green(), colour.blue()))
    return np.asarray(np.uint32(0xFF000000) | red << 16 | green << 8 | blue, np.uint32)


def round_length(length: float) -> float:
    power = 10.0 ** math.floor(math.log10(length))
    return next(step * power for step in (5, 2, 1) if step * power <= length * 1.000001)


def length_text(length: float, unit: str) -> str:
    if unit == "nm":
        for name, size in (("mm", 1e6), ("µm", 1e3)):
            if abs(length) >= size:
                return f"{length / size:,.4g} {name}"
    return f"{length:,.4g} {unit}".rstrip()


PreparedScene = tuple[GeometryContent, Scene, Scene]
"""Content, its scene, and a coarser scene that is drawn while the view turns."""


def prepared_scene(found: GeometryContent) -> PreparedScene:
    scene = found.scene()
    return found, scene, coarse_scene(scene)


class SceneView(ContentView):
    label = "3D"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.setObjectName("previewGeometry")
        self.canvas = made(SceneCanvas(self._draw), pointed=self._point, chosen=self._choose)
        self.setFocusProxy(self.canvas)
        self.levels = made(choice("previewLevel", self.tr("Level of detail")), activated=self.show_level)
        self.counts, self.value = value_line("previewCounts"), value_line("previewValue")
        self._preview: Preview | None = None
        self.content: GeometryContent | None = None
        bar = row(self.levels, self.counts, edges=(8, 4, 8, 4))
        lay(QVBoxLayout(self), bar, (self.canvas, 1), row(self.value, edges=(8, 2, 8, 4)))
        WhileVisible(session.selection_changed, self, self._follow)

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: GeometryContent) -> PreparedScene:
        return prepared_scene(content)

    # --- what is shown ---

    def show_preview(self, preview: Preview) -> None:
        self._preview = preview
        self.levels.clear()
        found = preview.content
        for number, level in enumerate(found.layout.levels if isinstance(found, MeshContent) else ()):
            self.levels.addItem(self.tr("Level {0}").format(number))
            tip = f"{plural(len(level), 'fragment')}, {plural(level.nbytes, 'byte')}"
            self.levels.setItemData(number, tip, Qt.ItemDataRole.ToolTipRole)
        self.levels.setVisible(bool(self.levels.count()))
        self._show(preview.prepared)

    def _show(self, prepared: PreparedScene, *, keep: bool = False) -> None:
        self.content, scene, coarse = prepared
        found = self.content
        if isinstance(found, MeshContent):
            self.levels.setCurrentIndex(shown_level(found))
        colour = segment_colour(self._preview.ref.key if self._preview is not None else None)
        self.canvas.show_scene(scene, coarse, colour, found.geometry().unit, keep=keep)
        self.counts.set_text(counts_text(found))
        self._show_thing(-1)

    def show_level(self, level: int) -> None:
        found = self.content
        if isinstance(found, MeshContent) and level != found.level:
            self.session.ask(
                lambda shard, _: prepared_scene(decode_level(shard, found, level)),
                lambda prepared: self._show(prepared, keep=True),
                failed=self._failed,
                key=("level", self),
            )

    def _failed(self, error: BaseException) -> None:
        if isinstance(self.content, MeshContent):
            self.levels.setCurrentIndex(self.content.level)
        self.value.set_text(error_text(error))

    def _draw(self, scene: Scene, camera: Camera, columns: int, rows: int, wide: float, take: Drawn) -> None:
        work = lambda _shard, job: shade(scene, camera, columns, rows, wide=wide, check=job.check)  # noqa: E731
        self.session.ask(work, take, key=("shade", self), pool=Pool.CPU)

    def copy(self) -> None:
        QGuiApplication.clipboard().setImage(self.canvas.image)

    def picture(self) -> QImage | None:
        return self.canvas.image if self.canvas.full else None

    # --- bytes ---

    def _span_of(self, thing: int) -> Span | None:
        found, preview = self.content, self._preview
        if preview is None or thing < 0:
            return None
        if isinstance(found, MeshContent):
            return found.layout.fragment_span(shown_level(found), thing)
        if isinstance(found, SkeletonContent):
            return preview.span_of(*found.vertex_bytes(thing))
        if isinstance(found, AnnotationsContent):
            return preview.span_of(*found.annotations.row_bytes(thing))
        return None

    def _point(self, thing: int) -> None:
        span = self._span_of(thing)
        self.session.lookup.point_at([span] if span is not None else [])
        self._show_thing(thing if thing >= 0 else self.canvas.mark)

    def _choose(self, thing: int) -> None:
        span = self._span_of(thing)
        self._show_thing(thing)
        if span is not None:
            self.session.select_span(span, self)

    def _show_thing(self, thing: int) -> None:
        if self.content is not None:
            self.value.set_text(thing_text(self.content, thing) if thing >= 0 else size_of_box(self.content))

    def _follow(self, selection: Selection) -> None:
        found, span = self.content, selection.span
        if not selection.complete or span is None or not isinstance(found, MeshContent):
            return
        if (place := found.layout.fragment_at(span)) is None:
            return
        if place[0] == found.level:
            self.canvas.set_mark(place[1])
            self._show_thing(place[1])
        else:
            self.value.set_text(self.tr("These bytes belong to level {0}.").format(place[0]))

    def mark(self, start: int, stop: int) -> None:
        found, thing = self.content, None
        if isinstance(found, SkeletonContent):
            thing = found.vertex_at(start)
        elif isinstance(found, AnnotationsContent):
            thing = found.annotations.row_at(start)
        self.canvas.set_mark(-1 if thing is None else thing)
        self._show_thing(self.canvas.mark)


def segment_colour(key: str | None) -> QColor:
    if key is None or not key.isdecimal() or not 0 < int(key) < 1 << 64:
        return QColor("#7fa3c7")
    colour = QColor.fromRgb(int(label_colours(np.array([int(key)], np.uint64))[0]))
    return QColor.fromHslF(max(colour.hslHueF(), 0.0), 0.5, 0.62)


def shown_level(mesh: MeshContent) -> int:
    """Return the decoded level; without triangles, the coarsest level, which is shown as boxes."""
    if mesh.level >= 0:
        return mesh.level
    return max((number for number, level in enumerate(mesh.layout.levels) if len(level)), default=0)


def counts_text(found: GeometryContent) -> str:
    if isinstance(found, MeshContent):
        if found.level >= 0 or not found.layout.levels:
            return found.counts if found.level >= 0 else ""
        return plural(len(found.layout.levels[shown_level(found)]), "box", "boxes")
    if isinstance(found, SkeletonContent):
        vertices = plural(len(found.skeleton.vertices), "vertex", "vertices")
        return f"{vertices}, {plural(len(found.skeleton.edges), 'edge')}"
    return found.title


def size_of_box(found: GeometryContent) -> str:
    bounds = found.bounds()
    if bounds is None:
        return ""
    unit = found.geometry().unit
    lengths = " × ".join(length_text(high - low, unit) for low, high in zip(*bounds, strict=True))
    return f"Box of {lengths}"


def thing_text(found: GeometryContent, thing: int) -> str:
    unit = f" {found.geometry().unit}".rstrip()
    if isinstance(found, MeshContent):
        level = shown_level(found)
        span = found.layout.fragment_span(level, thing)
        cell = ", ".join(map(str, found.layout.levels[level].positions[thing].tolist()))
        text = f"Fragment {thing} · cell {cell} · {plural(span.size, 'byte')}"
        if found.level >= 0:
            triangles = int(found.triangle_starts[thing + 1] - found.triangle_starts[thing])
            text += f" · {plural(triangles, 'triangle')}"
        return text
    if isinstance(found, SkeletonContent):
        place = ", ".join(map(number_text, found.skeleton.vertices[thing]))
        values = [
            f"{name} {', '.join(map(number_text, np.atleast_1d(column[thing])[:4]))}"
            for name, column in found.skeleton.attributes.items()
        ]
        return " · ".join([f"Vertex {thing} at {place}{unit}", *values[:4]])
    if isinstance(found, AnnotationsContent):
        pairs = zip(found.titles(), found.cells(thing), strict=True)
        return " · ".join(f"{title} {cell}" for title, cell in pairs)
    return ""
