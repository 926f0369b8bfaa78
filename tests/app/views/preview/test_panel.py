"""The preview: what an object is, and the bytes of what is pointed at, in both directions."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import Span
from shardcore.operations.content import KINDS
from shardscope.session.session import Session
from shardscope.views.preview import view_class
from shardscope.views.preview.array_view import ArrayView
from shardscope.views.preview.panel import PreviewPanel
from shardscope.views.preview.table_view import TableView
from shardscope.views.preview.text_view import TextView
from tests.app.conftest import open_in
from tests.app.views.preview.preview_rig import PreviewRig, npy, tensors

SCRIPT = b"import os\n\n\ndef main():\n    return 1\n"


OBJECTS = {
    "main.py": SCRIPT,
    "cube.npy": npy(np.arange(60, dtype="<u2").reshape(3, 4, 5)),
    "model.safetensors": tensors(),
    "table.csv": b"x,y\n1,2\n3,4\n",
    "empty": b"",
}


@pytest.fixture(params=["none", "zstd"])
def rig(request: pytest.FixtureRequest, qtbot: QtBot, session: Session, tmp_path: Path) -> PreviewRig:
    """Objects of each kind, stored uncompressed and compressed."""
    return PreviewRig(session, qtbot, tmp_path, OBJECTS, request.param)


def test_a_line_has_its_bytes(rig: PreviewRig, session: Session, qtbot: QtBot) -> None:
    """Clicking a line selects its bytes; selecting bytes marks their line."""
    text = rig.view(TextView)
    assert rig.panel.title.text().startswith("main.py · Python · 37 B")
    assert text.lines.toPlainText().encode() == SCRIPT
    text.lines.pointed.emit(3)
    assert rig.highlighted() == b"def main():\n"
    text.lines.pointed.emit(-1)
    assert not session.lookup.highlights
    text.lines.chosen.emit(3)
    assert rig.selected() == b"def main():\n"
    span = session.selection.span
    session.select_span(Span(span.source, span.start - 5, span.start - 4))
    qtbot.waitUntil(lambda: bool(text.lines.extraSelections()))
    assert rig.panel.shown.ref.key == "main.py"


def test_the_preview_is_that_of_the_selection(rig: PreviewRig, session: Session, qtbot: QtBot) -> None:
    for key in ("main.py", "empty"):
        rig.show(key)
        assert rig.panel.title.text().startswith(f"{key} · ")
        session.lookup.start(key)
        qtbot.waitUntil(lambda key=key: session.lookup.walk.key == key and session.lookup.walk.step == 0)
        qtbot.waitUntil(lambda: session.selection.complete)
        assert rig.panel.shown is not None, "a step of its lookup"
        session.select_span(Span("", 0, 1))
        qtbot.waitUntil(lambda: rig.panel.shown is None)
        assert rig.panel.title.text() == ""
    rig.show("main.py")
    session.select_row(rig.panel.shown.ref.row + 1)
    session.select_nothing()
    assert rig.panel.shown is None
    qtbot.waitUntil(lambda: not session.jobs.open_jobs)
    assert rig.panel.shown is None, "what was being read is not shown"


def test_an_element_has_its_bytes(rig: PreviewRig, session: Session, qtbot: QtBot) -> None:
    """Clicking a pixel selects its bytes; selecting bytes marks their pixel and shows its slice."""
    array = rig.view(ArrayView, "cube.npy")
    array.axes.setCurrentIndex(0)
    assert array.plane_shown().shape == (3, 4)
    slider = array._sliders[2]
    slider.setValue(3)
    qtbot.waitUntil(lambda: array.plane.pixel_at(array.plane.rect().center().toPointF()) is not None)
    place = array.plane.place_of(1, 2)
    qtbot.mouseMove(array.plane, QPoint(1, 1))
    qtbot.mouseMove(array.plane, place)
    qtbot.waitUntil(lambda: bool(session.lookup.highlights))
    assert array.zoom_bar.text.text() == "[2, 1, 3] = 48"
    qtbot.mouseClick(array.plane, Qt.MouseButton.LeftButton, pos=place)
    assert rig.selected() == struct.pack("<H", 48)
    span = session.selection.span
    session.select_span(Span(span.source, span.start + 2, span.start + 3))
    qtbot.waitUntil(lambda: slider.value() == 4)
    assert array.plane.mark == (1, 2)


def test_a_row_has_its_bytes(rig: PreviewRig, session: Session, qtbot: QtBot) -> None:
    for key, row, cell, data in (("model.safetensors", 1, "b", bytes(range(8, 16))), ("table.csv", 1, "3", b"3")):
        rows = rig.view(TableView, key)
        assert rows.rows.index(row, 0).data() == cell
        rows.table.clicked.emit(rows.rows.index(row, 0))
        assert rig.selected() == data


def test_nothing_is_read_while_hidden(rig: PreviewRig, session: Session, qtbot: QtBot) -> None:
    rig.panel.hide()
    session.select_row(session.shard.find("cube.npy").row)
    qtbot.waitUntil(lambda: session.selection.complete and not session.jobs.open_jobs)
    assert rig.panel.shown is None or rig.panel.shown.ref.key == "main.py"
    rig.panel.show()
    qtbot.waitUntil(lambda: rig.panel.shown is not None and rig.panel.shown.ref.key == "cube.npy")
    session.close()
    assert rig.panel.shown is None
    assert rig.panel.pages.currentWidget() is rig.panel.empty


def test_nothing_is_built_before_it_is_visible(session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "x.des"
    with shardcore.create(path, format="des") as writer:
        writer.add("main.py", SCRIPT)
    panel = PreviewPanel(session)
    qtbot.addWidget(panel)
    open_in(session, qtbot, path)
    session.select_row(0)
    qtbot.waitUntil(lambda: session.selection.complete)
    assert panel.findChildren(QWidget) == [panel.handle]
    panel.show()
    qtbot.waitUntil(lambda: panel.shown is not None)
    assert isinstance(panel.view, TextView)


def test_every_kind_has_its_views() -> None:
    geometry = shardcore.MeshContent, shardcore.SkeletonContent, shardcore.AnnotationsContent
    text = shardcore.JsonContent, shardcore.TableContent, shardcore.BytesContent
    names = {name for kind in (*KINDS, *geometry, *text) for name in kind.views}
    assert {view_class(name).label for name in names} == {"Array", "Picture", "3D", "Tree", "Table", "Text"}
