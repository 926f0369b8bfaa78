"""Zoom and theme change how things look, and nothing else."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHeaderView
from pytestqt.qtbot import QtBot

from shardscope.session.open_request import OpenRequest
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle


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
