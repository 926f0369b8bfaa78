"""3D view of meshes, skeletons and annotations; fragments, vertices and rows are linked to their bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from shardcore import Content, ObjectRef, Shard, Span
from shardcore.model.text import number_text, plural
from shardcore.operations.content.arrays import label_colours
from shardcore.operations.content.geometry import (
    AnnotationsContent,
    GeometryContent,
    MeshContent,
    SkeletonContent,
    decode_level,
)
from shardcore.operations.content.renderer import Camera, Scene, coarse_scene, scene_of, shade
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import Pool
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.views.preview.content_view import ContentView, Preview
from shardscope.views.preview.geometry_canvas import GeometryCanvas, length_text
from shardscope.widgets.deferred_signals import WhileVisible
from shardscope.widgets.elided_label import Elided


@dataclass(frozen=True, slots=True, eq=False)
class PreparedGeometry:
    content: GeometryContent
    scene: Scene
    coarse: Scene


def prepared_geometry(found: GeometryContent) -> PreparedGeometry:
    scene = scene_of(found)
    return PreparedGeometry(found, scene, coarse_scene(scene))


class GeometryView(ContentView):
    label = "3D"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.setObjectName("previewGeometry")
        self.canvas = GeometryCanvas(self._draw)
        self.levels = QComboBox()
        self.levels.setObjectName("previewLevel")
        self.levels.setAccessibleName(self.tr("Level of detail"))
        self.counts = Elided(greedy=True, parent=self)
        self.counts.setObjectName("previewCounts")
        self.value = Elided(greedy=True, parent=self)
        self.value.setObjectName("previewValue")
        self._preview: Preview | None = None
        self._found: GeometryContent | None = None
        self._build()
        self.levels.activated.connect(self.show_level)
        self.canvas.pointed.connect(self._point)
        self.canvas.chosen.connect(self._choose)
        WhileVisible(session.selection_changed, self, self._follow)

    def _build(self) -> None:
        self.setFocusProxy(self.canvas)
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 4, 8, 4)
        bar.addWidget(self.levels)
        bar.addSpacing(4)
        bar.addWidget(self.counts, 1)
        below = QHBoxLayout()
        below.setContentsMargins(8, 2, 8, 4)
        below.addWidget(self.value, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addWidget(self.canvas, 1)
        column.addLayout(below)

    @property
    def content(self) -> GeometryContent | None:
        return self._found

    @classmethod
    def shows(cls, content: Content) -> bool:
        return isinstance(content, GeometryContent)

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: Content) -> PreparedGeometry:
        assert isinstance(content, GeometryContent)
        return prepared_geometry(content)

    # --- what is shown ---

    def show_preview(self, preview: Preview) -> None:
        self._preview = preview
        self._fill_levels(preview.prepared.content)
        self._show(preview.prepared, keep=False)

    def _fill_levels(self, found: GeometryContent) -> None:
        self.levels.clear()
        levels = found.layout.levels if isinstance(found, MeshContent) else ()
        for number, level in enumerate(levels):
            self.levels.addItem(self.tr("Level {0}").format(number))
            tip = f"{plural(len(level), 'fragment')}, {plural(level.nbytes, 'byte')}"
            self.levels.setItemData(number, tip, Qt.ItemDataRole.ToolTipRole)
        self.levels.setVisible(bool(levels))

    def _show(self, prepared: PreparedGeometry, *, keep: bool) -> None:
        self._found = prepared.content
        if isinstance(prepared.content, MeshContent):
            level = prepared.content.level
            # Without triangles, the coarsest level is shown as boxes.
            self.levels.setCurrentIndex(level if level >= 0 else coarsest(prepared.content))
        unit = prepared.content.geometry().unit
        colour = segment_colour(self._preview.ref.key if self._preview is not None else None)
        self.canvas.show_scene(prepared.scene, prepared.coarse, colour, unit, keep=keep)
        self.counts.set_text(counts_text(prepared.content))
        self._show_thing(-1)

    def show_level(self, level: int) -> None:
        found = self._found
        if isinstance(found, MeshContent) and level != found.level:
            work = lambda shard, _job: prepared_geometry(decode_level(shard, found, level))  # noqa: E731
            self.session.ask(work, self._take_level, failed=self._failed, key=("level", self))

    def _take_level(self, prepared: PreparedGeometry) -> None:
        self._show(prepared, keep=True)

    def _failed(self, error: BaseException) -> None:
        if isinstance(self._found, MeshContent):
            self.levels.setCurrentIndex(self._found.level)
        self.value.set_text(error_text(error))

    def _draw(self, scene: Scene, camera: Camera, columns: int, rows: int, wide: float, take: object) -> None:
        work = lambda _shard, job: shade(scene, camera, columns, rows, wide=wide, check=job.check)  # noqa: E731
        self.session.ask(work, take, key=("shade", self), pool=Pool.CPU)  # type: ignore[arg-type]

    def copy(self) -> bool:
        QGuiApplication.clipboard().setImage(self.canvas.image)
        return True

    def picture(self) -> QImage | None:
        return self.canvas.image if self.canvas.full else None

    # --- bytes ---

    def _span_of(self, thing: int) -> Span | None:
        found, preview = self._found, self._preview
        if preview is None or thing < 0:
            return None
        if isinstance(found, MeshContent):
            level = found.level if found.level >= 0 else coarsest(found)
            return found.layout.fragment_span(level, thing)
        if isinstance(found, SkeletonContent):
            return preview.span_of(*found.vertex_bytes(thing))
        if isinstance(found, AnnotationsContent):
            return preview.span_of(*found.annotations.row_bytes(thing))
        return None

    def _point(self, thing: int) -> None:
        span = self._span_of(thing)
        self.session.point_at([span] if span is not None else [])
        self._show_thing(thing if thing >= 0 else self.canvas.mark)

    def _choose(self, thing: int) -> None:
        span = self._span_of(thing)
        self._show_thing(thing)
        if span is not None:
            self.session.select_span(span, self)

    def _show_thing(self, thing: int) -> None:
        if self._found is not None:
            self.value.set_text(thing_text(self._found, thing) if thing >= 0 else size_of_box(self._found))

    def _follow(self, selection: Selection) -> None:
        found, span = self._found, selection.span
        if not selection.complete or selection.origin is self or span is None or not isinstance(found, MeshContent):
            return
        place = found.layout.fragment_at(span)
        if place is None:
            return
        if place[0] == found.level:
            self.canvas.set_mark(place[1])
            self._show_thing(place[1])
        else:
            self.value.set_text(self.tr("These bytes belong to level {0}.").format(place[0]))

    def mark(self, start: int, stop: int) -> None:
        found = self._found
        thing: int | None = None
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


def coarsest(found: MeshContent) -> int:
    return max((number for number, level in enumerate(found.layout.levels) if len(level)), default=0)


def counts_text(found: GeometryContent) -> str:
    if isinstance(found, MeshContent):
        if found.level < 0:
            return plural(len(found.layout.levels[coarsest(found)]), "box", "boxes") if found.layout.levels else ""
        return f"{plural(len(found.triangles), 'triangle')}, {plural(len(found.vertices), 'vertex', 'vertices')}"
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
        level = found.level if found.level >= 0 else coarsest(found)
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
