"""Zoom, theme, size and motion change how things look, and nothing else; pictures of the window."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardcore import Depth
from shardscope.session.open_request import OpenRequest
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import ScreenshotError, _save, settle
from shardscope.startup.settings import Settings
from shardscope.views.findings import FindingsTable
from shardscope.views.hex.status import tip_text
from shardscope.views.inspector.panel import Inspector
from shardscope.views.preview.text_view import TextLines
from shardscope.views.structure.node_model import COLUMNS
from shardscope.widgets import playback
from shardscope.widgets.fonts import mono
from tests.contact_sheet import SIZES, ZOOMS, pictures


def test_zoom_and_theme_keep_selection_and_order(window: MainWindow, data: Path) -> None:
    window.resize(1440, 900)
    for name in ("small", "deleted", "medium"):
        window.session.open_tab(OpenRequest(str(data / "swh" / f"{name}.shard")))
        settle(window, 60)
    table, tree = window.objects.table, window.tree
    window.objects._sort_by(next(n for n, column in enumerate(table.objects.columns) if column.order == "size"))
    settle(window, 60)
    table.setCurrentIndex(table.objects.index(3, 1))
    settle(window, 60)

    def seen() -> list[object]:
        selected = [index.row() for index in table.selectionModel().selectedRows()]
        nodes = [index.data() for index in tree.selectionModel().selectedRows()]
        return [window.session.selection, selected, nodes, table.objects.row_of(table.objects.index(0, 1))]

    text = TextLines(window)
    before, parked = seen(), [document.views for document in window.session.documents.all[:2]]
    for change in (
        lambda: window.zoom(larger=True),
        lambda: window.set_theme("dark"),
        window.reset_zoom,
        lambda: window.set_theme("light"),
    ):
        change()
        settle(window, 60)
        assert seen() == before
        assert round(text.font().pointSizeF() - mono().pointSizeF(), 3) == 0
    assert all(document.views is views for document, views in zip(window.session.documents.all, parked, strict=False))


def test_an_offset_is_the_same_text_everywhere(
    window: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path, in_hexadecimal: None
) -> None:
    path = tmp_path / "damaged.shard"
    content = bytearray((data / "swh" / "small.shard").read_bytes())
    content[580] ^= 1
    path.write_bytes(content)
    window.resize(1440, 840)
    window.session.open_tab(OpenRequest(str(path)))
    findings, inspector = window.panels.panel(FindingsTable), window.panels.panel(Inspector)
    qtbot.waitUntil(lambda: window.session.shard is not None and window.session.shard.loaded)
    findings.buttons[Depth.CONTENT].click()
    qtbot.waitUntil(lambda: findings.model.rowCount() == 1)
    findings.table.clicked.emit(findings.model.index(0, 0))
    qtbot.waitUntil(lambda: window.tree.currentIndex().data() == "content")
    tree, table, state = window.tree.currentIndex(), window.objects.table, window.hex.state
    column = next(number for number, one in enumerate(table.objects.columns) if one.name == "start")
    window.show_part("inspector")
    qtbot.waitUntil(table.selectionModel().hasSelection)
    qtbot.waitUntil(lambda: inspector.page.row("bytes") is not None)

    def texts() -> list[str]:
        return [
            str(tree.siblingAtColumn(COLUMNS.index("Offset")).data()),
            str(table.selectionModel().selectedRows(column)[0].data()),
            window.hex.status.offset.text(),
            state.layout.offset_text(571),
            inspector.page.row("bytes").text,
            str(findings.model.index(0, 2).data()),
            tip_text(571, window.session.selection.path, (), ()),
        ]

    assert [re.findall(r"\b(?:0x23b|571)\b", text)[0] for text in texts()] == ["0x23b"] * 7
    window.actions_["decimal_offsets"].setChecked(True)
    assert window.settings.decimal_offsets
    assert [re.findall(r"\b(?:0x23b|571)\b", text)[0] for text in texts()] == ["571"] * 7


KEY = "9d0c38e7aafe062c3a6dfc561e42771ec997d9359bb3d417ac4775a303292964"


@pytest.mark.thorough
def test_nothing_moves_by_itself(qapp: QApplication, qtbot: QtBot, settings: Settings, small: MainWindow) -> None:
    """No caret blinks, no menu fades, *Play* goes one step; and the choice holds at the next start."""
    trace, reduced = small.trace, small.actions_["reduced_motion"]
    small.session.lookup.start(KEY)
    qtbot.waitUntil(lambda: trace.trace is not None)
    settle(small, 40)
    blink = qapp.cursorFlashTime()
    assert blink > 0
    assert not reduced.isChecked()
    trace.play.trigger()
    assert trace.timer.isActive()
    reduced.trigger()
    assert playback.reduced()
    assert qapp.cursorFlashTime() == 0
    assert not qapp.isEffectEnabled(Qt.UIEffect.UI_General)
    trace.timer.setInterval(1)
    qtbot.waitUntil(lambda: not trace.timer.isActive())
    before = trace.current
    trace.play.trigger()
    assert not trace.timer.isActive()
    assert not trace.play.isChecked()
    assert trace.current == before + 1
    settle(small, 40)
    again = MainWindow(settings)
    qtbot.addWidget(again)
    assert again.actions_["reduced_motion"].isChecked()
    again.close()
    reduced.trigger()
    assert qapp.cursorFlashTime() == blink


ROOT = Path(__file__).parents[3]


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("zoom", ZOOMS)
def test_no_words_are_cut_at_any_zoom(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], zoom: float
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("XDG_DATA_HOME", "")
    made = pictures("light", size, zoom, ())
    assert [f"{name}: {why}" for name, _, found in made for why in found] == []


def test_a_png_holds_every_pixel(qtbot: QtBot, tmp_path: Path) -> None:
    width, height = 65, 7
    image = QImage(width, height, QImage.Format.Format_RGB32)
    for x in range(width):
        for y in range(height):
            image.setPixelColor(x, y, QColor((x * 37) % 256, (y * 91) % 256, (x * y) % 256))
    _save(image, tmp_path / "a.png")
    again = QImage(str(tmp_path / "a.png"))
    assert again.convertToFormat(QImage.Format.Format_RGB32) == image


def test_what_cannot_be_written_is_named(qtbot: QtBot, tmp_path: Path) -> None:
    image = QImage(2, 2, QImage.Format.Format_RGB32)
    image.fill(0)
    for name in ("a.png", "a.jpg"):
        with pytest.raises(ScreenshotError, match=name):
            _save(image, tmp_path / "missing" / name)


def test_the_keyboard_stays_where_it_is(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    window.resize(1440, 840)
    window.open(str(data / "swh" / "small.shard"))
    settle(window, 60)
    for part in (window.objects.table, window.objects.filter, window.tree, window.hex.view):
        part.setFocus()
        for size in ((900, 560), (1440, 840)):
            window.resize(*size)
            settle(window, 20)
            assert window.focusWidget() is part


@pytest.mark.thorough
def test_a_drawing_has_room(small: MainWindow) -> None:
    window = small
    window.show_part("trace", focus=True)
    window.resize(640, 420)
    settle(window, 20)
    window.session.lookup.start(KEY)
    window.hex.drawings.show()
    settle(window, 60)
    panel, giving, panels = window.hex.drawings.panel, window.giving_way, window.panels
    assert panel is not None
    assert panels.lowered
    assert window.focusWidget() in (giving.line.next, giving.toggle), "the keyboard of the panel stays with the step"
    window.session.lookup.go_to_step(3)
    assert giving.line.counter.text() == "4 of 11"
    giving.line.next.click()
    assert window.session.lookup.walk.step == 4
    window.show_part("trace")
    assert panels.lowered, "the line tells the step"
    giving.toggle.click()
    settle(window, 20)
    assert not panels.lowered
    assert panels.in_front("trace")
    window.hex.drawings.hide()
    settle(window, 20)
    assert not giving.line.isVisible()
    assert not giving.toggle.isVisible()
