"""Zoom and theme change how things look, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHeaderView, QWidget
from pytestqt.qtbot import QtBot

from shardcore import Depth
from shardscope.session.open_request import OpenRequest
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.views.findings.findings import FindingsTable
from shardscope.views.hex.status import tip_text
from shardscope.views.inspector.panel import Inspector
from shardscope.widgets import fonts
from shardscope.widgets.node_model import COLUMNS


def drag(header: QHeaderView, section: int, by: int) -> None:
    """Make a column wider with the mouse."""
    window = header.window().windowHandle()
    edge = header.sectionViewportPosition(section) + header.sectionSize(section) - 1
    start = header.viewport().mapTo(header.window(), QPoint(edge, header.height() // 2))
    QTest.mousePress(window, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, start)
    for step in (by // 2, by):
        QTest.mouseMove(window, start + QPoint(step, 0))
    QTest.mouseRelease(window, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, start + QPoint(by, 0))


class Polished(QObject):
    """Counts how often a widget is told of another style."""

    count = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Count."""
        self.count += event.type() == QEvent.Type.StyleChange
        return False


def test_zoom_and_theme_keep_what_is_selected_and_how_wide_columns_are(
    window: MainWindow, qtbot: QtBot, data: Path
) -> None:
    """Selection, order and widths stay; the other tabs are left alone until they are shown."""
    window.resize(1440, 900)
    for name in ("small", "deleted", "medium"):
        window.session.open_tab(OpenRequest(str(data / "swh" / f"{name}.shard")))
        settle(window, 60)
    table, tree = window.objects.table, window.tree
    window.objects._sort_by(next(n for n, column in enumerate(table.objects.columns) if column.order == "size"))
    settle(window, 60)
    table.setCurrentIndex(table.objects.index(3, 1))
    settle(window, 60)
    drag(tree.header(), 0, 60)
    drag(table.horizontalHeader(), 1, 40)
    settle(window, 60)
    assert tree._by_hand
    assert table._by_hand

    def seen() -> list[object]:
        selected = [index.row() for index in table.selectionModel().selectedRows()]
        nodes = [index.data() for index in tree.selectionModel().selectedRows()]
        widths = tree.columnWidth(0), table.columnWidth(1)
        return [window.session.selection, selected, nodes, widths, table.objects.row_of(table.objects.index(0, 1))]

    before, parked = seen(), [document.views for document in window.session.documents[:2]]
    polished = Polished()
    table.installEventFilter(polished)
    for change in (
        lambda: window.zoom(larger=True),
        lambda: window.set_theme("dark"),
        window.reset_zoom,
        lambda: window.set_theme("light"),
    ):
        polished.count = 0
        change()
        settle(window, 60)
        assert seen() == before
        assert polished.count <= 2
    assert all(document.views is views for document, views in zip(window.session.documents, parked, strict=False))
    window.session.show(window.session.documents[0])
    settle(window, 60)
    assert tree.columnWidth(0) == before[3][0]  # type: ignore[index]


@pytest.mark.parametrize("by", [0, 60])
def test_widths_come_back_after_any_zooming(window: MainWindow, qtbot: QtBot, data: Path, by: int) -> None:
    """At 100 % sides and columns are as wide as before, as they were or as they were dragged at another zoom."""
    # High enough that no scroll bar comes or goes.
    window.resize(1440, 1200)
    window.session.open_tab(OpenRequest(str(data / "swh" / "small.shard")))
    settle(window, 60)
    window.default_layout()
    settle(window, 60)
    table, tree = window.objects.table, window.tree

    def seen() -> list[object]:
        columns = [view.columnWidth(n) for view in (table, tree) for n in range(4)]
        sides = {area: dock.size() for area, dock in window.panels.sides.items()}
        parts = [one for one in window.findChildren(QWidget) if not one.objectName().startswith("qt_")]
        limits = sorted((one.minimumSize().toTuple(), one.maximumSize().toTuple()) for one in parts)
        return [sides, columns, window.session.selection, limits]

    def zoom(*steps: bool) -> None:
        for larger in steps:
            window.zoom(larger=larger)
            settle(window, 30)

    if by:
        zoom(False)
        dock = window.panels.by_name["structure"]
        wide = dock.width()
        edge = dock.mapTo(window, QPoint(dock.width() + 1, dock.height() // 2))
        handle = window.windowHandle()
        QTest.mousePress(handle, Qt.MouseButton.LeftButton, pos=edge)
        QTest.mouseMove(handle, edge + QPoint(by, 0))
        settle(window, 30)
        QTest.mouseRelease(handle, Qt.MouseButton.LeftButton, pos=edge + QPoint(by, 0))
        settle(window, 30)
        assert dock.width() == wide + by
        window.reset_zoom()
        settle(window, 60)
        assert dock.width() == round((wide + by) / fonts.ZOOMS[fonts.ZOOMS.index(1.0) - 1])
    before = seen()
    for steps in ((True,) * 3, (False,) * 2):
        zoom(*steps)
        assert seen()[:2] != before[:2]
        assert window.panels.folded is (fonts.zoom() == 1.5), "1440 pixels are 960 at 100 %"
        window.reset_zoom()
        settle(window, 60)
        assert seen() == before


def test_an_offset_is_the_same_text_everywhere(
    window: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path, in_hexadecimal: None
) -> None:
    """Tree, objects, inspector, bytes, tip, status line and findings write it alike, hexadecimal or decimal."""
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
    qtbot.waitUntil(lambda: inspector.node_form.value("bytes") is not None)

    def texts() -> list[str]:
        return [
            str(tree.siblingAtColumn(COLUMNS.index("Offset")).data()),
            str(table.selectionModel().selectedRows(column)[0].data()),
            window.hex.status.offset.text(),
            state.layout.offset_text(571),
            inspector.node_form.value("bytes").text,
            str(findings.model.index(0, 2).data()),
            tip_text(571, window.session.selection.path, (), ()),
        ]

    assert [re.findall(r"\b(?:0x23b|571)\b", text)[0] for text in texts()] == ["0x23b"] * 7
    window.actions_.decimal_offsets.setChecked(True)
    assert window.settings.decimal_offsets
    assert [re.findall(r"\b(?:0x23b|571)\b", text)[0] for text in texts()] == ["571"] * 7
