"""A volume as one picture: slices of chunks, hatched until they are there, and the bytes of each voxel."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

import shardcore
from shardcore.model.chunk_grid import Chunk, GridCell
from shardcore.shards.stored_grid import StoredGrid
from shardcore.teaching import resource_paths
from shardscope.session.session import Session
from shardscope.views.preview.panel import PreviewPanel
from shardscope.views.preview.volume_slice import MOST_EDGE, ChunkState
from shardscope.views.preview.volume_view import VolumeView
from tests.app.conftest import open_in, visible
from tests.app.views.preview.preview_rig import selected_bytes
from tests.data.bloscpack.make_bcolz import samples
from tests.remote.servers import RangeServer
from tests.shardcore.formats.bloscpack.bcolz_folders import COLUMN
from tests.volumes import OFFSET, sample_array, scale_of, write_files, write_info, write_volume


@pytest.fixture
def panel(qtbot: QtBot, session: Session) -> PreviewPanel:
    """The preview, visible, with nothing open."""
    return visible(qtbot, PreviewPanel(session), 460, 640)


def opened(panel: PreviewPanel, session: Session, qtbot: QtBot, path: Path) -> VolumeView:
    """Open an array and show its slice; waits until all that can be seen is there."""
    open_in(session, qtbot, path)
    qtbot.waitUntil(lambda: panel.volume.slice is not None)
    panel.volume_button.click()
    filled(panel.volume, qtbot)
    return panel.volume


def filled(view: VolumeView, qtbot: QtBot) -> None:
    """Wait until nothing that can be seen is pending."""
    there = lambda: view.slice is not None and not view.slice.pending(*view.plane.visible())  # noqa: E731
    qtbot.waitUntil(there)


def click(view: VolumeView, qtbot: QtBot, x: int, y: int) -> None:
    """Click a pixel, and wait for where it is stored."""
    before = view._place
    qtbot.mouseClick(view.plane, Qt.MouseButton.LeftButton, pos=view.plane.place_of(x, y))
    qtbot.waitUntil(lambda: view._place is not before)
    qtbot.waitUntil(lambda: view._session.selection.complete)


@pytest.mark.parametrize("form", ["raw", "gzip", "files", "files packed"])
def test_slices_of_the_array(form: str, panel: PreviewPanel, session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    array = sample_array()
    view = opened(panel, session, qtbot, write_volume(tmp_path / "v", form, array))
    for pair, axis in enumerate((2, 1, 0)):
        view.axes.setCurrentIndex(pair)
        slider = view._sliders[axis]
        for place in (slider.minimum(), slider.maximum()):
            slider.setValue(place)
            filled(view, qtbot)
            np.testing.assert_array_equal(view.slice.values, np.take(array, place - OFFSET[axis], axis).T)


@pytest.mark.parametrize("kind", ["bloscpack", "bcolz"])
def test_arrays_of_many_chunks(kind: str, panel: PreviewPanel, session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    array: NDArray[Any] = samples() if kind == "bcolz" else sample_array()
    path = COLUMN
    if kind == "bloscpack":
        path = tmp_path / "a.blp"
        with shardcore.create(path, format="bloscpack", chunk_size=13 * 9 * 2 * 3) as writer:
            writer.add(None, array.tobytes(), dtype="<u2", shape=list(array.shape), order="C")
    view = opened(panel, session, qtbot, path)
    shown = array if array.ndim == 2 else array[10]
    np.testing.assert_array_equal(view.slice.values, shown)
    view.plane.chosen.emit(2, 5)
    qtbot.waitUntil(lambda: view._place is not None)
    assert view._place.index == ((5, 2) if array.ndim == 2 else (10, 5, 2))
    assert view.facts["Key"].text() == view._place.cell.key
    qtbot.waitUntil(lambda: session.selection.span == view._place.span)


class HeldGrid:
    """Lets chunks of grids pass when its gate is open; stands for a slow store."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.read: list[GridCell] = []


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> HeldGrid:
    """The chunks that are read, with the gate closed."""
    made, real = HeldGrid(), StoredGrid.read_cells

    def read_cells(grid: StoredGrid, cells: Any) -> Iterator[tuple[GridCell, Chunk]]:
        wanted = list(cells)
        made.read += wanted
        assert made.gate.wait(60)
        yield from real(grid, wanted)

    monkeypatch.setattr(StoredGrid, "read_cells", read_cells)
    return made


def test_chunks_are_read_when_seen_and_hatched_until_they_are_there(
    panel: PreviewPanel, session: Session, qtbot: QtBot, tmp_path: Path, held: HeldGrid
) -> None:
    panel.hide()
    open_in(session, qtbot, write_volume(tmp_path / "v", "raw", sample_array()))
    qtbot.waitUntil(lambda: not session.jobs.open_jobs)
    assert panel.volume.found is None
    assert not held.read
    panel.show()
    view = panel.volume
    qtbot.waitUntil(lambda: bool(held.read))
    assert set(view.slice.states.values()) == {ChunkState.PENDING}
    held.gate.set()
    filled(view, qtbot)
    assert view.slice.states[1, 1, 1] is ChunkState.MISSING
    assert list(view.slice.states.values()).count(ChunkState.SHOWN) == 19
    qtbot.waitUntil(lambda: view.note.text() == "1 chunk not stored.")


@pytest.mark.parametrize("form", ["raw", "gzip", "files packed"])
def test_a_voxel_has_its_bytes(form: str, panel: PreviewPanel, session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    array = sample_array()
    view = opened(panel, session, qtbot, write_volume(tmp_path / "v", form, array))
    view._sliders[2].setValue(OFFSET[2] + 1)
    filled(view, qtbot)
    qtbot.mouseMove(view.plane, QPoint(1, 1))
    qtbot.mouseMove(view.plane, view.plane.place_of(3, 2))
    qtbot.waitUntil(lambda: bool(session.lookup.highlights))
    assert session.lookup.highlights[0].span == view.found.grid.locate(view.slice.index_of(3, 2)).span
    QApplication.sendEvent(view.plane, QEvent(QEvent.Type.Leave))
    qtbot.waitUntil(lambda: not session.lookup.highlights)
    click(view, qtbot, 13, 2)
    assert selected_bytes(session) == array[13, 2, 1].tobytes()
    told = {name: text.text() for name, text in view.facts.items()}
    expected = {
        "Voxel": "18, -1, 101",
        "Value": str(array[13, 2, 1]),
        "Chunk": "3, 0, 0",
        "Offset in chunk": hex(2 * (1 + 2 * 4 + 1 * 16)),
    }
    stored = {"Key": "9 = 0b1001", "Shard": "1.shard", "Minishard": "0"}
    expected |= {"Key": "17-21_-3-1_100-104"} if form == "files packed" else stored
    assert expected.items() <= told.items()
    with qtbot.waitSignal(view.look_up_requested) as wanted:
        view.look_up.click()
    session.lookup.start(wanted.args[0])
    qtbot.waitUntil(lambda: session.lookup.walk.trace is not None)
    assert (session.lookup.walk.trace.outcome, session.lookup.walk.trace.key) == (
        "found",
        told["Key"].partition(" ")[0],
    )


def test_selected_bytes_mark_their_voxel(panel: PreviewPanel, session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    view = opened(panel, session, qtbot, write_volume(tmp_path / "v", "raw", sample_array()))
    session.select_span(view.found.grid.locate((17, 2, 107)).span)
    qtbot.waitUntil(lambda: view.plane.mark == (12, 5))
    slider = view._sliders[2]
    assert slider.value() == 107
    session.select_row(session.shard.find("0").row)
    qtbot.waitUntil(lambda: view.plane.mark == (0, 0))
    assert view.plane._marked == (4, 4)
    click(view, qtbot, 3, 4)
    qtbot.waitUntil(lambda: view.facts["Voxel"].text() != "–")
    before = slider.value()
    for place, mark in ((before, (3, 4)), (before + 1, None), (before, (3, 4))):
        slider.setValue(place)
        assert view.plane.mark == mark
    view.axes.setCurrentIndex(1)
    view._sliders[1].setValue(view._sliders[1].maximum())
    assert view.plane.mark is None
    session.close()
    assert panel.volume.slice is None
    assert panel.pages.currentWidget() is panel.empty


def test_the_keyboard_reaches_everything(panel: PreviewPanel, session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    view = opened(panel, session, qtbot, write_volume(tmp_path / "v", "raw", sample_array()))
    slider = view._sliders[2]
    before = slider.value()
    qtbot.keyClick(slider, Qt.Key.Key_Right)
    assert slider.value() == before + 1
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Down):
        qtbot.keyClick(view.plane, key)
    assert view.plane.mark == (1, 1)
    qtbot.waitUntil(lambda: view._place is not None and view._place.index[:2] == (6, -2))
    qtbot.keyClick(view.edges, Qt.Key.Key_Space)
    assert view.plane.edges
    filled(view, qtbot)
    assert not view.grab().isNull()


def test_window_of_a_large_plane(
    panel: PreviewPanel, session: Session, qtbot: QtBot, tmp_path: Path, held: HeldGrid
) -> None:
    """Only the chunks in view are read; the window follows the drag."""
    held.gate.set()
    array = np.ones((4, 4, 4), "u1")
    scale = scale_of(array, (64, 64, 1), "big") | {"size": [20_000, 20_000, 1], "voxel_offset": [0, 0, 0]}
    write_info(tmp_path, "uint8", scale)
    (tmp_path / "big").mkdir()
    chunk = np.arange(64 * 64, dtype="u4").astype("u1").tobytes()
    for x in range(9_920, 10_176, 64):
        (tmp_path / "big" / f"{x}-{x + 64}_9984-10048_0-1").write_bytes(chunk)
    view = opened(panel, session, qtbot, tmp_path / "big")
    assert view.slice.size == (MOST_EDGE, MOST_EDGE)
    assert "1,024 × 1,024 of 20,000 × 20,000 pixels" in view.note.text()
    assert 0 < len(held.read) < len(view.slice.chunks) / 2 < 200
    assert ChunkState.SHOWN in view.slice.states.values()
    before = view.slice.index_of(0, 0)
    middle = view.plane.rect().center()
    for _ in range(3):
        qtbot.mousePress(view.plane, Qt.MouseButton.LeftButton, pos=middle)
        for place in (middle + QPoint(5, 5), middle + QPoint(200, 300)):
            qtbot.mouseMove(view.plane, place)
        qtbot.mouseRelease(view.plane, Qt.MouseButton.LeftButton, pos=place)
    after = view.slice.index_of(0, 0)
    assert after[0] < before[0] or after[1] < before[1]
    filled(view, qtbot)


def test_scales_are_chosen(panel: PreviewPanel, session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    fine, coarse = sample_array(), sample_array((10, 7, 5), seed=4)
    write_info(tmp_path, "uint16", scale_of(fine, (4, 4, 4), "a"), scale_of(coarse, (4, 4, 4), "b", None, 8))
    write_files(tmp_path / "a", fine, (4, 4, 4))
    write_files(tmp_path / "b", coarse, (4, 4, 4))
    view = opened(panel, session, qtbot, tmp_path / "a")
    view.scales.setCurrentIndex(1)
    view.scales.activated.emit(1)
    qtbot.waitUntil(lambda: view.found is not None and view.found.grid.name == "scale b")
    filled(view, qtbot)
    np.testing.assert_array_equal(view.slice.values, coarse[:, :, 2].T)
    view.plane.chosen.emit(1, 1)
    qtbot.waitUntil(lambda: view._place is not None)
    with qtbot.waitSignal(session.tab_wanted) as wanted:
        view.look_up.click()
    assert (wanted.args[0].uri, wanted.args[1]) == (str(tmp_path / "b"), view._place.span)


def test_a_remote_slice_keeps_the_budget(
    panel: PreviewPanel, session: Session, qtbot: QtBot, tmp_path: Path, server: RangeServer
) -> None:
    """One request per chunk at most, and none for another plane of the same chunks."""
    array = sample_array((64, 64, 32), "u1")
    write_volume(tmp_path / "v", "files", array, (32, 32, 16))
    for path in tmp_path.rglob("*"):
        if path.is_file():
            server.put(f"/{path.relative_to(tmp_path)}", path)
    with qtbot.waitSignal(session.opened):
        session.open(f"{server.url}/v/4_4_4/")
    server.log.clear()
    qtbot.waitUntil(lambda: panel.volume.slice is not None)
    panel.volume_button.click()
    filled(panel.volume, qtbot)
    np.testing.assert_array_equal(panel.volume.slice.values, array[:, :, 16].T)
    assert sum("_" in one.request.path.rpartition("/")[2] for one in server.log) == 4
    server.log.clear()
    panel.volume._sliders[2].setValue(OFFSET[2] + 20)
    filled(panel.volume, qtbot)
    np.testing.assert_array_equal(panel.volume.slice.values, array[:, :, 20].T)
    assert len(server.log) == 0


def test_an_unreadable_chunk_tells_why(panel: PreviewPanel, session: Session, qtbot: QtBot, tmp_path: Path) -> None:
    scale = write_volume(tmp_path / "v", "files gz", sample_array())
    damaged = scale / "5-9_-3-1_104-108.gz"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    view = opened(panel, session, qtbot, scale)
    assert view.slice.states[0, 0, 1] is ChunkState.UNREADABLE
    assert "1 chunk unreadable: 5-9_-3-1_104-108.gz" in view.note.text()
    assert list(view.slice.states.values()).count(ChunkState.SHOWN) == 18


def test_the_mesh_of_a_segment_is_opened(panel: PreviewPanel, session: Session, qtbot: QtBot) -> None:
    view = opened(
        panel, session, qtbot, resource_paths.path("samples/neuroglancer/segmentation/info").parent / "16_16_16"
    )
    assert view.look.currentText() == "Labels"
    y, x = (int(n) for n in np.argwhere(view.slice.values == view.slice.values.max())[0])
    click(view, qtbot, x, y)
    qtbot.waitUntil(view.mesh.isVisible)
    with qtbot.waitSignal(session.tab_wanted) as wanted:
        view.mesh.click()
    request, span = wanted.args
    assert request.uri.endswith("segmentation/mesh")
    with shardcore.open(request.uri) as meshes:
        assert meshes.find(str(view.slice.values.max())).spans[0] == span
