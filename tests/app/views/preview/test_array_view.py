"""Arrays: levels, colours, odd numbers, and types of all kinds."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from shardcore.operations.content.pictures import label_colours
from shardscope.session.session import Session
from shardscope.views.preview.array_view import LABELS, LOOKS, NUMBERS, VIRIDIS, ArrayView
from shardscope.views.preview.levels import NAN, Histogram, colour_table, level_colours, statistics_of
from tests.app.views.preview.preview_rig import PreviewRig

FLOATS = np.linspace(-1, 1, 200, dtype="<f4").reshape(10, 20)
FLOATS[0, 0] = np.nan
FLOATS[0, 1] = np.inf
KINDS: dict[str, NDArray[Any]] = {
    "bool": np.eye(6, dtype=bool),
    "complex": np.exp(1j * np.arange(12)).reshape(3, 4) * np.arange(12).reshape(3, 4),
    "record": np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "<i4"), ("b", "<f8")]),
    "text": np.array([["ab", "c"], ["d", "efg"]]),
    "half": np.ones((3, 3), "<f2"),
    "signed": np.array([[-(2**63), 2**63 - 1]], "<i8"),
    "wide": np.array([[0, 2**64 - 1]], ">u8"),
    "times": np.array([["2020-01-01", "2021-01-01"]], "<M8[D]"),
    "nothing": np.full((4, 4), np.nan),
    "scalar": np.array(7.5),
    "huge": np.array([[-1.7e308, 1.7e308], [0, 1]]),
    "line": np.arange(5, dtype="<i2"),
}
MORE: dict[str, NDArray[Any]] = {
    "stack": np.arange(2 * 3 * 40 * 50, dtype="<i4").reshape(2, 3, 40, 50),
    "twin": np.zeros((40, 50), "<i4"),
    "photos": np.arange(5 * 8 * 9 * 3, dtype="<i4").reshape(5, 8, 9, 3),
    "long": np.arange(4 * 3000, dtype="<i4").reshape(4, 3000),
}


def npy(array: NDArray[Any]) -> bytes:
    """The bytes of a .npy."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.fixture
def rig(session: Session, qtbot: QtBot, tmp_path: Path) -> PreviewRig:
    """An array of numbers, two of which are not finite, and one of each type."""
    objects = {"floats.npy": npy(FLOATS), **{f"{name}.npy": npy(array) for name, array in (KINDS | MORE).items()}}
    made = PreviewRig(session, qtbot, tmp_path, objects)
    made.panel.activateWindow()
    return made


def test_levels(rig: PreviewRig) -> None:
    """Levels begin at the extremes; Auto cuts the rarest values, typed ones count at once, All returns."""
    view = rig.view(ArrayView)
    bar = view.levels
    finite = FLOATS[np.isfinite(FLOATS)]
    assert bar.levels == (pytest.approx(finite.min()), 1.0)
    before = view.plane.image.pixel(4, 4)
    bar.auto.click()
    assert bar.levels == tuple(pytest.approx(value) for value in np.percentile(finite, (1, 99)))
    bar.low.setText("0.5")
    rig.qtbot.keyClick(bar.low, Qt.Key.Key_Return)
    assert bar.levels[0] == 0.5
    assert view.plane.image.pixel(4, 4) & 0xFFFFFF == 0
    bar.high.setText("0.1")
    rig.qtbot.keyClick(bar.high, Qt.Key.Key_Return)
    assert bar.levels[1] != 0.1
    bar.whole.click()
    assert view.plane.image.pixel(4, 4) == before


def test_levels_are_dragged_in_the_histogram(rig: PreviewRig) -> None:
    """A press in the histogram takes the nearer level along; the levels never cross."""
    view = rig.view(ArrayView)
    histogram = view.findChild(Histogram)
    assert histogram is not None
    wide = histogram.width()
    rig.qtbot.mouseClick(histogram, Qt.MouseButton.LeftButton, pos=QPoint(wide // 4, 5))
    low, high = view.levels.levels
    assert -0.7 < low < -0.3
    assert high == 1.0
    rig.qtbot.mousePress(histogram, Qt.MouseButton.LeftButton, pos=QPoint(wide - 8, 5))
    rig.qtbot.mouseMove(histogram, QPoint(2, 5))
    rig.qtbot.mouseRelease(histogram, Qt.MouseButton.LeftButton, pos=QPoint(2, 5))
    assert view.levels.levels[1] >= view.levels.levels[0] == low


def test_what_is_no_number_is_seen(rig: PreviewRig) -> None:
    """Elements that are no numbers have a colour of their own, and are counted."""
    view = rig.view(ArrayView)
    assert view.plane.image.pixel(0, 0) == NAN
    assert view.plane.image.pixel(1, 0) & 0xFFFFFF == 0xFFFFFF
    assert "2 not finite" in view.zoom_bar.text.text()


def test_colours(rig: PreviewRig) -> None:
    """Colour maps begin and end with their own colours; labels hide the levels, numbers the zoom."""
    view = rig.view(ArrayView)
    view.look.setCurrentIndex(VIRIDIS)
    assert view.plane.image.pixel(19, 9) == colour_table("viridis")[255]
    view.look.setCurrentIndex(LABELS)
    assert not view.levels.isVisible()
    assert not view.levels.auto.isVisible()
    view.look.setCurrentIndex(NUMBERS)
    assert not view.zoom_bar.fit.isVisible()
    view.table.setCurrentIndex(view.numbers.index(1, 2))
    rig.panel.copy_content()
    assert float(QGuiApplication.clipboard().text()) == pytest.approx(FLOATS[1, 2])


@pytest.mark.parametrize("name", KINDS)
def test_types(rig: PreviewRig, name: str) -> None:
    """Arrays of every type are shown in every look, and each element has a text and bytes."""
    rig.show(f"{name}.npy")
    view = rig.view(ArrayView)
    for look in range(len(LOOKS)):
        view.look.setCurrentIndex(look)
        view.grab()
    rows, columns = view.plane_shown().shape
    view._point(view.index_of(columns - 1, rows - 1))
    assert rig.highlighted() == KINDS[name].reshape(-1)[-1:].tobytes()
    view.table.clicked.emit(view.numbers.index(0, 0))
    assert rig.selected() == KINDS[name].reshape(-1)[:1].tobytes()


@pytest.mark.parametrize(("name", "shape"), [("stack", (40, 50)), ("photos", (8, 9)), ("floats", (10, 20))])
def test_the_picture_at_first(rig: PreviewRig, name: str, shape: tuple[int, int]) -> None:
    """Of many axes without names the last two are pictured at first; the channels of pictures are not among them."""
    rig.show(f"{name}.npy")
    assert rig.view(ArrayView).plane_shown().shape == shape


def test_a_long_array_is_numbers_at_first(rig: PreviewRig) -> None:
    """An array of a few long rows begins as numbers: its picture is a line."""
    rig.show("long.npy")
    assert rig.view(ArrayView).look.currentIndex() == NUMBERS


def test_records_are_read_whole(rig: PreviewRig) -> None:
    """The column of records is as wide as their text."""
    rig.show("record.npy")
    view = rig.view(ArrayView)
    assert view.table.columnWidth(0) >= view.table.sizeHintForColumn(0)


def test_levels_are_read_whole(rig: PreviewRig) -> None:
    """Small and negative levels fit into their fields, and a typed number has a point in every language."""
    bar = rig.view(ArrayView).levels
    bar.set_levels(-2.58438123e-05, 12345678)
    assert (bar.low.text(), bar.high.text()) == ("-2.5844e-05", "12345678")
    assert bar.low.fontMetrics().horizontalAdvance(bar.low.text()) < bar.low.width() - 8


def test_the_mark_is_that_of_the_element(rig: PreviewRig) -> None:
    """Neither another slice, nor other axes, nor another array of the same size have the mark of an element."""
    rig.show("stack.npy")
    view = rig.view(ArrayView)
    view.plane.chosen.emit(3, 4)
    view.plane.set_mark((3, 4))
    view._sliders[0].setValue(1 - view._sliders[0].value())
    assert view.plane.mark is None
    view.plane.set_mark((3, 4))
    view.axes.setCurrentIndex(0)
    assert view.plane.mark is None
    view.axes.setCurrentIndex(view.axes.count() - 1)
    view.plane.set_mark((3, 4))
    rig.show("twin.npy")
    assert rig.view(ArrayView).plane.mark is None


def test_statistics() -> None:
    """Bins count finite elements; few whole numbers have a bin each."""
    found = statistics_of(np.array([0, 1, 1, 3], "u1"))
    assert found.counts.tolist() == [1, 2, 0, 1]
    assert statistics_of(FLOATS).odd == 2
    assert statistics_of(FLOATS).counts.sum() == 198
    assert len(statistics_of(np.arange(10_000)).counts) <= 256
    many = statistics_of(np.arange(3 << 20, dtype="<i4"))
    assert (many.low, many.high) == (0, (3 << 20) - 1)


def test_pixels() -> None:
    """Levels map to the first and last colour; equal levels divide by nothing; equal labels have equal colours."""
    plane = np.array([[0, 128, 255]], "u1")
    assert level_colours(plane, 0, 255)[0].tolist() == [0xFF000000, 0xFF808080, 0xFFFFFFFF]
    assert level_colours(plane, 128, 128)[0].tolist() == [0xFF000000, 0xFFFFFFFF, 0xFFFFFFFF]
    labels = label_colours(np.array([[0, 7, 7, 8]], "<u8"))[0].tolist()
    assert labels[0] == 0xFF000000
    assert labels[1] == labels[2] != labels[3]


def test_keys_walk_through_pixels(rig: PreviewRig) -> None:
    """The arrow keys go from pixel to pixel, keys zoom, and the buttons follow."""
    view = rig.view(ArrayView)
    plane = view.plane
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Down):
        rig.qtbot.keyClick(plane, key)
    assert rig.selected() == FLOATS[1, 1].tobytes()
    assert view.zoom_bar.text.text().startswith("[1, 1] = ")
    rig.qtbot.keyClick(plane, Qt.Key.Key_1)
    assert view.zoom_bar.real.isChecked()
    assert view.zoom_bar.percent.text() == "100 %"
    rig.qtbot.keyClick(plane, Qt.Key.Key_Plus)
    assert view.zoom_bar.percent.text() == "125 %"
    view.zoom_bar.fit.click()
    assert plane.fits
