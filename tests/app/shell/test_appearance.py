"""Zoom and theme change how things look, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from pytestqt.qtbot import QtBot

from shardcore import Depth
from shardscope.session.open_request import OpenRequest
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.views.findings.findings import FindingsTable
from shardscope.views.hex.status import tip_text
from shardscope.views.inspector.panel import Inspector
from shardscope.widgets.node_model import COLUMNS


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

    before, parked = seen(), [document.views for document in window.session.documents[:2]]
    for change in (
        lambda: window.zoom(larger=True),
        lambda: window.set_theme("dark"),
        window.reset_zoom,
        lambda: window.set_theme("light"),
    ):
        change()
        settle(window, 60)
        assert seen() == before
    assert all(document.views is views for document, views in zip(window.session.documents, parked, strict=False))


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
