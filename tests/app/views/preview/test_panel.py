"""The preview: what an object is, and the bytes of what is pointed at, in both directions."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import Span
from shardcore.teaching import resources
from shardscope.session.session import Session
from shardscope.views.preview.array_view import GREY, LABELS, NUMBERS, ArrayView
from shardscope.views.preview.content_view import ContentView
from shardscope.views.preview.panel import REMOTE, PreviewPanel
from shardscope.views.preview.rows_view import RowsView
from shardscope.views.preview.text_view import TextView
from tests.app.conftest import open_in

V = TypeVar("V", bound=ContentView)

SCRIPT = b"import os\n\n\ndef main():\n    return 1\n"


def npy(array: np.ndarray) -> bytes:  # type: ignore[type-arg]
    """The bytes of a .npy."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def tensors() -> bytes:
    """A safetensors file with two tensors."""
    header = {
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "b": {"dtype": "I16", "shape": [2, 2], "data_offsets": [8, 16]},
    }
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(range(16))


OBJECTS = {
    "main.py": SCRIPT,
    "cube.npy": npy(np.arange(60, dtype="<u2").reshape(3, 4, 5)),
    "model.safetensors": tensors(),
    "table.csv": b"x,y\n1,2\n3,4\n",
    "empty": b"",
    "noise": bytes(range(256)) * 4,
}


@pytest.fixture(params=["none", "zstd"])
def panel(request: pytest.FixtureRequest, qtbot: QtBot, session: Session, tmp_path: Path) -> PreviewPanel:
    """The preview beside a shard with an object of each kind, stored as they are and compressed."""
    path = tmp_path / "x.des"
    with shardcore.create(path, format="des", codec=request.param, skip="") as writer:
        for name, data in OBJECTS.items():
            writer.add(name, data)
    made = PreviewPanel(session)
    qtbot.addWidget(made)
    made.resize(420, 360)
    made.show()
    open_in(session, qtbot, path)
    return made


def show(panel: PreviewPanel, session: Session, qtbot: QtBot, key: str) -> bytes:
    """Show an object; returns its bytes."""
    assert session.shard is not None
    ref = session.shard.find(key)
    session.select_row(ref.row)
    qtbot.waitUntil(lambda: panel.shown is not None and panel.shown.ref.key == key)
    return session.shard.read(ref)


def view(panel: PreviewPanel, kind: type[V]) -> V:
    """The view that shows the object, which has to be of a kind."""
    assert isinstance(panel.view, kind)
    return panel.view


def selected_bytes(session: Session) -> bytes:
    """The bytes that are selected."""
    span = session.selection.span
    assert session.shard is not None
    assert span is not None
    return session.shard.bytes_of(span.source).read(span.start, span.stop)


def test_a_line_has_its_bytes(panel: PreviewPanel, session: Session, qtbot: QtBot) -> None:
    """Pointing at a line highlights its bytes, a click selects them, and selecting bytes marks the line."""
    show(panel, session, qtbot, "main.py")
    text = view(panel, TextView)
    assert panel.title.text().startswith("main.py · Python · 37 B")
    assert text.lines.toPlainText().encode() == SCRIPT
    text.lines.pointed.emit(3)
    (light,) = session.lights
    assert light.span.stop - light.span.start == len(b"def main():\n")
    text.lines.pointed.emit(-1)
    assert not session.lights
    text.lines.chosen.emit(3)
    qtbot.waitUntil(lambda: session.selection.complete)
    assert selected_bytes(session) == b"def main():\n"
    span = session.selection.span
    assert span is not None
    session.select_span(Span(span.source, span.start - 5, span.start - 4))
    qtbot.waitUntil(lambda: bool(text.lines.extraSelections()))
    assert panel.shown is not None
    assert panel.shown.ref.key == "main.py"


def test_the_preview_is_that_of_the_selection(panel: PreviewPanel, session: Session, qtbot: QtBot) -> None:
    """It names its object, stays during the lookup of that, and empties where no object is selected."""
    for key in ("main.py", "empty"):
        show(panel, session, qtbot, key)
        assert panel.title.text().startswith(f"{key} · ")
        session.look_up(key)
        qtbot.waitUntil(lambda key=key: session.walk.key == key and session.walk.step == 0)
        qtbot.waitUntil(lambda: session.selection.complete)
        assert panel.shown is not None, "a step of its lookup"
        session.select_span(Span("", 0, 1))
        qtbot.waitUntil(lambda: panel.shown is None)
        assert panel.title.text() == ""
    show(panel, session, qtbot, "main.py")
    session.select_row(panel.shown.ref.row + 1 if panel.shown is not None else 0)
    session.select_nothing()
    assert panel.shown is None
    qtbot.waitUntil(lambda: not session.jobs.open_jobs)
    assert panel.shown is None, "what was being read is not shown"


def test_an_element_has_its_bytes(panel: PreviewPanel, session: Session, qtbot: QtBot) -> None:
    """A click on a pixel selects the bytes of that element; selecting them marks the pixel and shows its slice."""
    show(panel, session, qtbot, "cube.npy")
    array = view(panel, ArrayView)
    assert array.look.currentIndex() == GREY
    array.axes.setCurrentIndex(0)
    assert array.plane_shown().shape == (3, 4)
    slider = array._sliders[2]
    slider.setValue(3)
    qtbot.waitUntil(lambda: array.plane.pixel_at(array.plane.rect().center().toPointF()) is not None)
    place = array.plane.place_of(1, 2)
    qtbot.mouseMove(array.plane, QPoint(1, 1))
    qtbot.mouseMove(array.plane, place)
    qtbot.waitUntil(lambda: bool(session.lights))
    assert array.zoom_bar.text.text() == "[2, 1, 3] = 48"
    qtbot.mouseClick(array.plane, Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: session.selection.complete)
    assert selected_bytes(session) == struct.pack("<H", 48)
    span = session.selection.span
    assert span is not None
    session.select_span(Span(span.source, span.start + 2, span.start + 3))
    qtbot.waitUntil(lambda: slider.value() == 4)
    assert array.plane.mark == (1, 2)


def test_numbers_and_labels(panel: PreviewPanel, session: Session, qtbot: QtBot) -> None:
    """An array is shown as grey levels, as labels of a colour each, or as numbers."""
    show(panel, session, qtbot, "cube.npy")
    array = view(panel, ArrayView)
    array.look.setCurrentIndex(NUMBERS)
    assert array.numbers.index(1, 2).data() == str(array.plane_shown()[1, 2])
    array.look.setCurrentIndex(LABELS)
    image = array.plane.image
    assert len({image.pixel(x, y) for x in range(image.width()) for y in range(image.height())}) == 20
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Right):
        qtbot.keyClick(array.plane, key)
    assert array.plane.mark == (1, 1)


def test_a_row_has_its_bytes(panel: PreviewPanel, session: Session, qtbot: QtBot) -> None:
    """Tensors and rows of tables are listed; choosing one selects its bytes."""
    for key, row, cell, data in (("model.safetensors", 1, "b", bytes(range(8, 16))), ("table.csv", 1, "3", b"3")):
        show(panel, session, qtbot, key)
        rows = view(panel, RowsView)
        assert rows.rows.index(row, 0).data() == cell
        rows.table.clicked.emit(rows.rows.index(row, 0))
        qtbot.waitUntil(lambda: session.selection.complete)
        assert selected_bytes(session) == data


def test_bytes_without_a_kind(panel: PreviewPanel, session: Session, qtbot: QtBot) -> None:
    """Unknown bytes show the strings in them; an empty object says so."""
    show(panel, session, qtbot, "noise")
    rows = view(panel, RowsView)
    assert rows.rows.rowCount() > 0
    show(panel, session, qtbot, "empty")
    assert panel.hint.text() == "Empty"


def test_nothing_is_read_while_hidden(panel: PreviewPanel, session: Session, qtbot: QtBot) -> None:
    """A hidden preview reads nothing; shown again, it shows what is selected then."""
    panel.hide()
    assert session.shard is not None
    session.select_row(session.shard.find("main.py").row)
    qtbot.waitUntil(lambda: session.selection.complete)
    qtbot.wait(50)
    assert panel.shown is None
    panel.show()
    qtbot.waitUntil(lambda: panel.shown is not None)


def test_a_damaged_object_tells_why(qtbot: QtBot, session: Session) -> None:
    """Where an object cannot be read, the reason is shown."""
    panel = PreviewPanel(session)
    qtbot.addWidget(panel)
    panel.show()
    open_in(session, qtbot, resources.path("samples/swh/small.shard"))
    assert session.shard is not None
    rows = [ref.row for ref in session.shard.objects if ref.size < 0 or ref.key is None]
    session.select_row(rows[0])
    qtbot.waitUntil(lambda: session.selection.complete)
    qtbot.waitUntil(lambda: bool(panel.hint.text()))
    assert panel.shown is None


def test_closing_clears(panel: PreviewPanel, session: Session, qtbot: QtBot) -> None:
    """Nothing of a closed file is shown."""
    show(panel, session, qtbot, "main.py")
    session.close()
    assert panel.shown is None
    assert panel.pages.currentWidget() is panel.empty
    assert REMOTE < 1 << 20
