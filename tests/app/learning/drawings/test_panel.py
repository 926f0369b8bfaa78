"""Drawings beside the bytes: seen, played with, walked through by mouse and by keyboard, and lit both ways."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QFileDialog, QLineEdit, QSlider
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardcore.model.drawing import STEP, Drawing
from shardcore.teaching import resource_paths
from shardcore.teaching.drawing.layout import placed
from shardcore.teaching.drawing.picture import Picture
from shardscope.learning.drawings import view as view_module
from shardscope.learning.drawings.panel import DrawingPanel
from shardscope.learning.drawings.view import DrawingView
from shardscope.session.session import Session
from shardscope.views.hex.panel import HexPanel
from tests.app.conftest import open_in, visible
from tests.shardcore.teaching.drawing.gallery import tape

LEFT = Qt.MouseButton.LeftButton
HEAD, TAIL = 1, 2
"""The items of the made-up sketch: 0 is its bracket."""


def test_seen_when_wanted(qtbot: QtBot, session: Session, bytes_: HexPanel) -> None:
    """A tab leads there and nothing is made before; bytes stay in view under it; a file without drawings has no tab."""
    place = bytes_.drawings
    assert place.panel is None
    bytes_.tabs.setCurrentIndex(bytes_.tabs.count() - 1)
    panel = place.panel
    qtbot.waitUntil(lambda: panel.drawing is not None)
    assert panel.isVisible()
    assert bytes_.view.isVisible()
    bytes_.resize(700, 400)
    qtbot.waitUntil(lambda: not bytes_.view.isVisible())
    bytes_.tabs.setCurrentIndex(0)
    assert not panel.isVisible()
    assert bytes_.view.isVisible()
    place.show()
    session.close()
    qtbot.waitUntil(bytes_.view.isVisible)
    assert not bytes_.tabs._drawing
    assert not panel.isVisible()
    assert not bytes_.actions_.drawing.isEnabled()


def test_a_scroll_bar_does_not_come_and_go_for_ever(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drawing that is too high, and fits where it is narrower by the bar, as some are, is placed three times."""
    widths = list[int]()

    def low_where_narrow(drawing: Drawing, width: int, measure: Any) -> Picture:
        widths.append(width)
        return replace(placed(drawing, width, measure), height=500 if width == 400 else 300)

    monkeypatch.setattr(view_module, "placed", low_where_narrow)
    view = visible(qtbot, DrawingView(), 400, 400)
    view.show_drawing(tape())
    qtbot.waitUntil(lambda: min(widths) < 400 and not view.verticalScrollBar().isVisible())
    for _ in range(20):
        QApplication.processEvents()
    assert len(widths) <= 3


def test_both_ways(qtbot: QtBot, session: Session, bytes_: HexPanel, panel: DrawingPanel) -> None:
    """Pointing lights bytes, a click selects them, a double click goes to them; selected bytes frame their item."""
    view = panel.view
    qtbot.mouseMove(view.viewport(), view.place_of(HEAD))
    assert [light.span for light in session.lookup.highlights] == [Span("", 0, 8)]
    assert [light.span for light in bytes_.state.highlights] == [Span("", 0, 8)]
    assert set(view.lit) == {HEAD}
    with qtbot.waitSignal(panel.item_chosen) as chosen:
        qtbot.mouseClick(view.viewport(), LEFT, pos=view.place_of(TAIL))
    assert chosen.args[0].text == "tail"
    assert session.selection.span == Span("", 8, 16)
    assert bytes_.state.selection.span == Span("", 8, 16)
    assert set(view.lit) == {TAIL}
    session.select_span(Span("", 2, 4))
    assert set(view.lit) == {HEAD}
    bytes_.state.set_hover((8, 16))
    assert set(view.lit) == {TAIL}
    bytes_.state.set_hover(None)
    assert set(view.lit) == {HEAD}
    qtbot.mouseDClick(view.viewport(), LEFT, pos=view.place_of(TAIL))
    assert not panel.isVisible()
    assert session.selection.span == Span("", 8, 16)
    assert session.lookup.highlights == ()


def test_keyboard(qtbot: QtBot, session: Session, bytes_: HexPanel) -> None:
    """Tab and arrows go from item to item and tell it; arrows move a handle; Space chooses, Enter goes to the bytes."""
    bytes_.drawings.item_chosen.connect(lambda *names: told.append(names))
    told: list[tuple[str, str]] = []
    bytes_.actions_.drawing.trigger()
    panel = bytes_.drawings.panel
    view = panel.view
    qtbot.waitUntil(view.hasFocus)
    qtbot.waitUntil(lambda: view.accessibleDescription() == "n_bits, The low bits, computed (not stored)")
    qtbot.keyClick(view, Qt.Key.Key_Tab)
    assert view.accessibleDescription() == "handle of n_bits, at 8: the arrow keys move it"
    for key, value in ((Qt.Key.Key_Left, 9), (Qt.Key.Key_Up, 10), (Qt.Key.Key_Right, 9)):
        with qtbot.waitSignal(panel.drawn):
            qtbot.keyClick(view, key)
        assert panel.values == {"n_bits": value}
    assert view.accessibleDescription() == "handle of n_bits, at 9: the arrow keys move it"
    qtbot.keyClick(view, Qt.Key.Key_Tab)
    qtbot.keyClick(view, Qt.Key.Key_Right)
    qtbot.keyClick(view, Qt.Key.Key_Space)
    assert view.accessibleDescription() == "tail, 0x8–0xf · 8 bytes"
    assert told == [("played", "tail")]
    assert session.selection.span == Span("", 8, 16)
    qtbot.keyClick(view, Qt.Key.Key_Left)
    qtbot.keyClick(view, Qt.Key.Key_Plus)
    assert view.zoom > 1
    qtbot.keyClick(view, Qt.Key.Key_0)
    assert view.zoom == 1
    qtbot.keyClick(view, Qt.Key.Key_Return)
    assert session.selection.span == Span("", 0, 8)
    assert not panel.isVisible()


def test_handle_by_mouse(qtbot: QtBot, panel: DrawingPanel) -> None:
    """A handle is dragged in whole numbers, and not beyond what its control takes."""
    view = panel.view
    (grip,) = view.picture.grips
    begin = view.mapFromScene(*grip.rect.middle)
    qtbot.mousePress(view.viewport(), LEFT, pos=begin)
    for units, value in ((3, 11), (-2, 6), (40, 16)):
        with qtbot.waitSignal(panel.drawn):
            qtbot.mouseMove(view.viewport(), begin + QPoint(round(units * grip.step), 0))
        assert panel.values == {"n_bits": value}
        assert (panel.drawing.what_if, panel.drawing.items[0].size) == (True, value)
    qtbot.mouseRelease(view.viewport(), LEFT)
    qtbot.mouseMove(view.viewport(), begin)
    assert panel.values == {"n_bits": 16}


def test_controls(qtbot: QtBot, panel: DrawingPanel) -> None:
    """Every kind of control draws anew; a drawing that cannot be made says why, over the last one; Reset returns."""
    row = panel.controls
    assert not row.reset.isEnabled()
    slider, number = row.findChild(QSlider, "slider_n_bits"), row.findChild(QLineEdit, "number_n_bits")
    switch, choice = row.findChild(QCheckBox, "switch_shuffled"), row.findChild(QComboBox, "choice_order")
    text = row.findChild(QLineEdit, "text_uid")
    slider.setValue(4)
    assert number.text() == "4"
    number.clear()
    qtbot.keyClicks(number, "12")
    assert slider.value() == 12
    switch.click()
    with qtbot.waitSignal(panel.drawn):
        qtbot.keyClicks(text, "3")
    qtbot.waitUntil(lambda: panel.drawing is not None and panel.drawing.figures[0].title == "Key 123")
    assert panel.values == {"n_bits": 12, "shuffled": True, "uid": "123"}
    before = panel.drawing
    choice.setCurrentIndex(2)
    qtbot.waitUntil(panel.notice.isVisible)
    assert "the index ends too early" in panel.notice.text
    assert panel.drawing is before
    with qtbot.waitSignal(panel.drawn):
        row.reset.click()
    assert (panel.values, panel.notice.isVisible(), slider.value(), text.text()) == ({}, False, 8, "12")


def test_lookup_and_steps(qtbot: QtBot, session: Session, bytes_: HexPanel, panel: DrawingPanel) -> None:
    """A lookup adds its drawings, and the one of its current step; what was looked at last is remembered by format."""
    key = next(key for key in session.shard.objects.keys[:5] if key)
    with qtbot.waitSignal(bytes_.drawings.remembered_changed) as told:
        panel.choose("tape")
    assert told.args == [{"swh": "tape"}]
    session.lookup.start(key)
    qtbot.waitUntil(lambda: len(panel.sketches) >= 6)
    assert panel.name == "tape"
    assert [sketch.name for sketch in panel.sketches][:3] == ["played", "parking", "bits"]
    steps = session.lookup.walk.trace.steps
    drawn = next(n for n, step in enumerate(steps) if step.drawing is not None)
    session.lookup.go_to_step(drawn)
    panel.choose(STEP)
    assert panel.drawing == steps[drawn].drawing
    bytes_.drawings.show("played", {"n_bits": "3", "order": "size"}, "tail")
    assert panel.name == "played"
    qtbot.waitUntil(lambda: panel.view.accessibleDescription() == "tail, 0x8–0xf · 8 bytes")
    assert TAIL in panel.view.lit
    assert panel.values == {"n_bits": 3, "order": "size"}


@pytest.mark.thorough
def test_kept(qtbot: QtBot, session: Session, panel: DrawingPanel, tmp_path: Path) -> None:
    """A drawing is copied as SVG and as a picture, saved as SVG; where that cannot be, a sentence says so."""
    said: list[str] = []
    session.troubled.connect(lambda text, _: said.append(text))
    panel.copy.trigger()
    data = QGuiApplication.clipboard().mimeData()
    assert data.hasImage()
    assert bytes(data.data("image/svg+xml").data()).startswith(b"<svg ")
    for name in ("out.svg", "none/out.svg"):
        panel.save.trigger()
        dialog = panel.findChild(QFileDialog)
        dialog.fileSelected.emit(str(tmp_path / name))
        dialog.close()
        qtbot.waitUntil(lambda: panel.findChild(QFileDialog) is None)
    assert (tmp_path / "out.svg").read_text().startswith("<svg ")
    qtbot.waitUntil(lambda: len(said) == 1)
    assert "Cannot write" in said[0]


def test_the_drawing_follows_the_selected_object(qtbot: QtBot, session: Session, hexes: HexPanel) -> None:
    """Another chunk is selected: it is drawn. What is set by hand stays until another object is selected."""
    open_in(session, qtbot, resource_paths.path("samples/bloscpack/array.blp"))

    def drawn(title: str) -> None:
        qtbot.waitUntil(lambda: getattr(getattr(hexes.drawings.panel, "drawing", None), "title", "") == title)

    session.select_row(1)
    hexes.drawings.show()
    drawn("Location of chunk 1")
    session.select_row(2)
    drawn("Location of chunk 2")
    hexes.drawings.panel.set_value("chunk", 0)
    drawn("Location of chunk 0")
