"""Meshes, skeletons and annotations in the preview: turned by keys and mouse, and with the bytes of their parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardcore.operations.content.geometry import MeshContent
from shardscope.session.session import Session
from shardscope.views.preview.panel import PreviewPanel
from shardscope.views.preview.scene_view import SceneView
from tests.app.conftest import open_in, visible
from tests.app.views.preview.preview_rig import selected_bytes
from tests.samples.__main__ import RESOURCES
from tests.shardcore.operations.test_geometry_content import annotations

ROOT = RESOURCES / "samples" / "neuroglancer" / "segmentation"

Show = Callable[[Path, str], SceneView]


@pytest.fixture
def show(qtbot: QtBot, session: Session) -> Show:
    """Opens a shard, shows an object in the preview, and waits for the picture with all details."""
    panel = visible(qtbot, PreviewPanel(session), 420, 440)

    def opened(path: Path, key: str) -> SceneView:
        open_in(session, qtbot, path)
        session.select_row(session.shard.find(key).row)
        qtbot.waitUntil(lambda: panel.shown is not None and panel.shown.ref.key == key)
        view = panel.view
        assert isinstance(view, SceneView)
        settled(view, qtbot)
        return view

    return opened


def settled(view: SceneView, qtbot: QtBot) -> QImage:
    """Waits for the picture with all details; returns it."""
    qtbot.waitUntil(lambda: view.canvas.full)
    return view.canvas.image


def test_the_mouse_turns_and_the_wheel_zooms(show: Show, qtbot: QtBot) -> None:
    view = show(ROOT / "mesh" / "0.shard", "42")
    canvas, rotation = view.canvas, view.canvas.camera.rotation
    middle = canvas.rect().center()
    qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, pos=middle)
    qtbot.mouseMove(canvas, middle + QPoint(40, 10))
    qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=middle + QPoint(40, 10))
    assert (canvas.camera.rotation != rotation).any()
    assert canvas.mark == -1
    for turn, larger in ((120, True), (-120, False)):
        before = canvas.camera.zoom
        place, none, plain = QPointF(middle), Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
        scroll, phase = QPoint(0, turn), Qt.ScrollPhase.NoScrollPhase
        event = QWheelEvent(place, canvas.mapToGlobal(place), QPoint(), scroll, none, plain, phase, False)
        QApplication.sendEvent(canvas, event)
        assert (canvas.camera.zoom > before) is larger
    settled(view, qtbot)


def test_a_level_is_chosen(show: Show, qtbot: QtBot) -> None:
    view = show(ROOT / "mesh" / "0.shard", "1001")
    assert view.levels.currentIndex() == 1
    qtbot.keyClick(view.canvas, Qt.Key.Key_Left)
    before, rotation = settled(view, qtbot), view.canvas.camera.rotation
    view.levels.setCurrentIndex(0)
    view.levels.activated.emit(0)
    qtbot.waitUntil(lambda: isinstance(view.content, MeshContent) and view.content.level == 0)
    assert settled(view, qtbot) != before
    assert (view.canvas.camera.rotation == rotation).all()


@pytest.mark.parametrize("path", [ROOT / "mesh" / "0.shard", ROOT / "mesh"], ids=["shard", "data set"])
def test_a_fragment_has_its_bytes(show: Show, session: Session, qtbot: QtBot, path: Path) -> None:
    view = show(path, "42")
    view.show_level(0)
    qtbot.waitUntil(lambda: isinstance(view.content, MeshContent) and view.content.level == 0)
    settled(view, qtbot)
    found = view.content
    assert view.canvas.thing_at(view.canvas.place_of(3)) == 3
    place = view.canvas.place_of(3).toPoint()
    qtbot.mouseMove(view.canvas, QPoint(1, 1))
    qtbot.mouseMove(view.canvas, place)
    qtbot.waitUntil(lambda: bool(session.lookup.highlights))
    span = found.fragment_span(view.canvas.thing_at(QPointF(place)))
    assert session.lookup.highlights[0].span == span
    assert view.value.text().startswith("Fragment 3 · cell ")
    qtbot.mouseClick(view.canvas, Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: session.selection.complete)
    assert selected_bytes(session).startswith(b"DRACO")
    other = found.fragment_span(5)
    session.select_span(Span(other.source, other.start + 2, other.start + 3))
    qtbot.waitUntil(lambda: view.canvas.mark == 5)
    coarse = found.layout.fragment_span(1, 0)
    session.select_span(Span(coarse.source, coarse.start, coarse.start + 1))
    qtbot.waitUntil(lambda: "level 1" in view.value.text())


def test_a_vertex_has_its_bytes(show: Show, session: Session, qtbot: QtBot) -> None:
    view = show(ROOT / "skeletons" / "0.shard", "1001")
    found = view.content
    place = view.canvas.place_of(20).toPoint()
    qtbot.mouseClick(view.canvas, Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: session.selection.complete)
    assert selected_bytes(session) == found.data[slice(*found.vertex_bytes(view.canvas.mark))]
    assert view.value.text().startswith(f"Vertex {view.canvas.mark} at ")
    assert "radius" in view.value.text()
    before = view.canvas.mark
    qtbot.keyClick(view.canvas, Qt.Key.Key_PageDown)
    assert view.canvas.mark == before + 1
    qtbot.waitUntil(lambda: session.selection.complete)
    assert selected_bytes(session) == found.data[slice(*found.vertex_bytes(before + 1))]
    session.select_span(Span("", 640 + 8 + 12 * 3, 640 + 8 + 12 * 3 + 1))
    qtbot.waitUntil(lambda: view.canvas.mark == 3)


def test_an_annotation_has_its_row(show: Show, session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    annotations(tmp_path, "LINE")
    view = show(tmp_path / "pre" / "0.shard", "3")
    found = view.content
    place = view.canvas.place_of(4).toPoint()
    qtbot.mouseClick(view.canvas, Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: session.selection.complete)
    row = view.canvas.mark
    assert selected_bytes(session) == found.data[slice(*found.annotations.row_bytes(row))]
    assert f"id {row}" in view.value.text()
    assert ("axon" if row % 2 == 0 else "dendrite") in view.value.text()
