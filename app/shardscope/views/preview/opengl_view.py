"""Scene of a content drawn by OpenGL, available where a context works: large meshes turn with all their details."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, QObject, QPointF, Qt, QThread
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QImage,
    QKeyEvent,
    QMatrix4x4,
    QMouseEvent,
    QOffscreenSurface,
    QOpenGLContext,
    QVector4D,
    QWheelEvent,
)
from PySide6.QtWidgets import QVBoxLayout, QWidget

from shardcore import Content, ObjectRef, Shard
from shardcore.operations.content.geometry import GeometryContent
from shardcore.operations.content.scene import Scene, box_lines
from shardcore.operations.content.shade import AMBIENT, FIT, LIGHT, Camera
from shardscope.session.session import Session
from shardscope.views.preview.content_view import ContentView, Preview
from shardscope.views.preview.geometry_canvas import DEGREES, ZOOM
from shardscope.views.preview.geometry_view import PreparedGeometry, counts_text, prepared_geometry, segment_colour
from shardscope.views.preview.plane import ARROWS
from shardscope.widgets import theme
from shardscope.widgets.elided import Elided

LEAST_VERSION = (2, 1)
"""Version of OpenGL that pyqtgraph needs."""

_WITHOUT = ("offscreen", "minimal", "vnc", "linuxfb")
"""Platforms on which no context is tried."""

_VERTEX = """
uniform mat4 u_mvp;
uniform mat3 u_normal;
attribute vec4 a_position;
attribute vec3 a_normal;
attribute vec4 a_color;
varying vec4 v_color;
varying vec3 v_normal;
void main() {
    v_normal = u_normal * a_normal;
    v_color = a_color;
    gl_Position = u_mvp * a_position;
}
"""
_FRAGMENT = """
#ifdef GL_ES
precision mediump float;
#endif
varying vec4 v_color;
varying vec3 v_normal;
void main() {{
    float lit = abs(dot(normalize(v_normal), normalize(vec3({0}, {1}, {2}))));
    gl_FragColor = vec4(v_color.rgb * ({3} + (1.0 - {3}) * lit), 1.0);
}}
"""

_proven: list[bool] = []


def opengl_works() -> bool:
    """Return whether a context of OpenGL was made; tried once, by the first call on the thread of the window."""
    application = QGuiApplication.instance()
    if not _proven and application is not None and QThread.currentThread() is application.thread():
        _proven.append(_proof())
    return bool(_proven) and _proven[0]


def _proof() -> bool:
    # pyqtgraph compiles its shaders once for all widgets: their contexts have to be shared.
    shared = QGuiApplication.testAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    if not shared or QGuiApplication.platformName() in _WITHOUT or find_spec("OpenGL") is None:
        return False
    context, surface = QOpenGLContext(), QOffscreenSurface()
    if not context.create():
        return False
    surface.setFormat(context.format())
    surface.create()
    works = surface.isValid() and context.makeCurrent(surface)
    if works:
        from OpenGL.platform import PLATFORM

        # PyOpenGL finds no context where Qt makes them in a way that it does not know: EGL instead of GLX.
        works = context.format().version() >= LEAST_VERSION and bool(PLATFORM.GetCurrentContext())
        context.doneCurrent()
    surface.destroy()
    return works


class OpenGLView(ContentView):
    """Scene of a content, turned and zoomed like `GeometryView`; bytes are pointed at there.

    Attributes:
        camera: Direction and zoom.
        surface: The widget of pyqtgraph; None until a content is shown.
    """

    label = "OpenGL"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.setObjectName("previewOpenGL")
        self.camera = Camera.first()
        self.surface: Any = None
        self._scene: Scene | None = None
        self._colour = QColor(Qt.GlobalColor.gray)
        self._drag: QPointF | None = None
        self.counts = Elided(greedy=True, parent=self)
        self.counts.setObjectName("previewOpenGLCounts")
        self.counts.setContentsMargins(8, 4, 8, 4)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self.counts)

    @classmethod
    def shows(cls, content: Content) -> bool:
        return isinstance(content, GeometryContent) and opengl_works()

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: Content) -> PreparedGeometry:
        # It takes seconds to import: not on the thread of the window.
        import pyqtgraph.opengl  # noqa: F401

        assert isinstance(content, GeometryContent)
        return prepared_geometry(content)

    def show_preview(self, preview: Preview) -> None:
        self._scene, self._colour = preview.prepared.scene, segment_colour(preview.ref.key)
        self.camera = Camera.first()
        self.counts.tell(counts_text(preview.prepared.content))
        self._fill()

    def picture(self) -> QImage | None:
        return None if self.surface is None else self.surface.grabFramebuffer()

    def copy(self) -> bool:
        picture = self.picture()
        if picture is not None:
            QGuiApplication.clipboard().setImage(picture)
        return picture is not None

    # --- drawing ---

    def _made(self) -> Any:
        """Return the widget of pyqtgraph, seen by the camera of this view."""
        if self.surface is None:
            import pyqtgraph.opengl as gl

            surface = self.surface = gl.GLViewWidget()
            surface.setObjectName("previewOpenGLScene")
            surface.setAccessibleName(self.tr("3D view by OpenGL"))
            surface.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            surface.viewMatrix = self._view_matrix
            surface.projectionMatrix = self._projection
            surface.installEventFilter(self)
            self._column.addWidget(surface, 1)
            self.setFocusProxy(surface)
        return self.surface

    def _fill(self) -> None:
        import pyqtgraph.opengl as gl
        from pyqtgraph.opengl import shaders

        surface, scene = self._made(), self._scene
        surface.clear()
        if scene is None:
            return
        surface.setBackgroundColor(theme.of(self).window)
        colour = self._colour.getRgbF()
        if len(scene.triangles):
            light = (*(f"{float(one):.4f}" for one in LIGHT), AMBIENT)
            shader = shaders.ShaderProgram(
                None, [shaders.VertexShader(_VERTEX), shaders.FragmentShader(_FRAGMENT.format(*light))]
            )
            data = gl.MeshData(vertexes=scene.points, faces=scene.triangles)
            surface.addItem(gl.GLMeshItem(meshdata=data, smooth=True, shader=shader, color=colour))
        if len(scene.lines):
            ends = scene.points[scene.lines].reshape(-1, 3)
            surface.addItem(gl.GLLinePlotItem(pos=ends, color=colour, width=2, mode="lines", glOptions="opaque"))
        if len(scene.dots):
            dots = scene.points[scene.dots]
            surface.addItem(gl.GLScatterPlotItem(pos=dots, color=colour, size=6, glOptions="opaque"))
        low, high = scene.bounds
        corners, lines = box_lines(low[None], high[None])
        edge = theme.of(self).border.getRgbF()
        box = corners[lines].reshape(-1, 3)
        surface.addItem(gl.GLLinePlotItem(pos=box, color=edge, width=1, mode="lines", glOptions="opaque"))

    def _view_matrix(self) -> QMatrix4x4:
        rotation, matrix = self.camera.rotation, QMatrix4x4()
        low, high = self._scene.bounds if self._scene is not None else (np.zeros(3), np.zeros(3))
        middle = rotation @ (low + high) / 2
        for row in range(3):
            numbers = (float(one) for one in (*rotation[row], -middle[row]))
            matrix.setRow(row, QVector4D(*numbers))
        return matrix

    def _projection(self, region: object, viewport: tuple[int, int, int, int]) -> QMatrix4x4:
        _, _, columns, rows = viewport
        low, high = self._scene.bounds if self._scene is not None else (np.zeros(3), np.zeros(3))
        reach = float(np.linalg.norm(high - low)) or 1.0
        scale = self.camera.zoom * FIT * min(columns, rows) / reach
        across, up, matrix = columns / 2 / scale, rows / 2 / scale, QMatrix4x4()
        matrix.ortho(-across, across, -up, up, -reach, reach)
        return matrix

    # --- moves ---

    def _look(self, camera: Camera) -> None:
        self.camera = camera
        self.surface.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._press(event.key())
        if kind == QEvent.Type.Wheel and isinstance(event, QWheelEvent):
            self._look(self.camera.zoomed(ZOOM if event.angleDelta().y() > 0 else 1 / ZOOM))
            return True
        if not isinstance(event, QMouseEvent):
            return False
        if kind == QEvent.Type.MouseButtonPress:
            self._drag = event.position()
            self.surface.setFocus(Qt.FocusReason.MouseFocusReason)
        elif kind == QEvent.Type.MouseMove and self._drag is not None:
            moved, self._drag = event.position() - self._drag, event.position()
            self._look(self.camera.turn(math.radians(0.5 * moved.x()), math.radians(0.5 * moved.y())))
        elif kind == QEvent.Type.MouseButtonRelease:
            self._drag = None
        return True

    def _press(self, key: int) -> bool:
        if key in ARROWS:
            across, down = ARROWS[Qt.Key(key)]
            self._look(self.camera.turn(math.radians(DEGREES * across), math.radians(DEGREES * down)))
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self._look(self.camera.zoomed(ZOOM))
        elif key == Qt.Key.Key_Minus:
            self._look(self.camera.zoomed(1 / ZOOM))
        elif key == Qt.Key.Key_0:
            self._look(Camera.first())
        else:
            return False
        return True
