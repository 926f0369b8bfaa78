"""Arrays: levels, colours, odd numbers, and types of all kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from shardscope.session.session import Session
from shardscope.views.preview.array_view import LOOKS, ArrayView
from tests.app.views.preview.preview_rig import PreviewRig, npy

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
}


@pytest.fixture
def rig(session: Session, qtbot: QtBot, tmp_path: Path) -> PreviewRig:
    """An array of numbers, two of which are not finite, and one of each type."""
    objects = {"floats.npy": npy(FLOATS), **{f"{name}.npy": npy(array) for name, array in (KINDS | MORE).items()}}
    made = PreviewRig(session, qtbot, tmp_path, objects)
    made.panel.activateWindow()
    return made


def test_levels_and_keys(rig: PreviewRig) -> None:
    view = rig.view(ArrayView)
    bar, finite = view.levels, FLOATS[np.isfinite(FLOATS)]
    assert bar.levels == (pytest.approx(finite.min()), 1.0)
    before = view.plane.image.pixel(4, 4)
    bar.auto.click()
    assert bar.levels == tuple(pytest.approx(value) for value in np.percentile(finite, (1, 99)))
    for field, text in ((bar.low, "0.5"), (bar.high, "0.1")):
        field.setText(text)
        rig.qtbot.keyClick(field, Qt.Key.Key_Return)
    assert bar.levels[0] == 0.5
    assert bar.levels[1] > 0.5, "the high level is not below the low one"
    assert view.plane.image.pixel(4, 4) & 0xFFFFFF == 0
    bar.whole.click()
    assert view.plane.image.pixel(4, 4) == before
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Down):
        rig.qtbot.keyClick(view.plane, key)
    assert rig.selected() == FLOATS[1, 1].tobytes()
    assert view.zoom_bar.text.text().startswith("[1, 1] = ")
    for key, percent in ((Qt.Key.Key_1, "100 %"), (Qt.Key.Key_Plus, "125 %")):
        rig.qtbot.keyClick(view.plane, key)
        assert view.zoom_bar.percent.text() == percent
    rig.qtbot.keyClick(view.plane, Qt.Key.Key_0)
    assert view.plane.fits


@pytest.mark.parametrize("name", KINDS)
def test_types(rig: PreviewRig, name: str) -> None:
    view = rig.view(ArrayView, f"{name}.npy")
    for look in range(len(LOOKS)):
        view.look.setCurrentIndex(look)
        view.grab()
    rows, columns = view.plane_shown().shape
    view._point(view.index_of(columns - 1, rows - 1))
    assert rig.highlighted() == KINDS[name].reshape(-1)[-1:].tobytes()
    view.table.clicked.emit(view.numbers.index(0, 0))
    assert rig.selected() == KINDS[name].reshape(-1)[:1].tobytes()


def test_the_mark_is_that_of_the_element(rig: PreviewRig) -> None:
    view = rig.view(ArrayView, "stack.npy")
    view.plane.chosen.emit(3, 4)
    view.plane.set_mark((3, 4))
    view._sliders[0].setValue(1 - view._sliders[0].value())
    assert view.plane.mark is None
    view.plane.set_mark((3, 4))
    view.axes.setCurrentIndex(0)
    assert view.plane.mark is None
    view.axes.setCurrentIndex(view.axes.count() - 1)
    view.plane.set_mark((3, 4))
    assert rig.view(ArrayView, "twin.npy").plane.mark is None
