"""Widths: numbers are never cut, and the bytes have no more room than they can fill."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QHeaderView, QTableView, QTreeView
from pytestqt.qtbot import QtBot

from shardcore import Depth
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.views.hex.row_width import RowMode, RowWidth
from shardscope.widgets.column_widths import Room, share_room
from shardscope.widgets.elided import Elided

NUMBER = re.compile(r"[\d,.]*\d( (B|[KMGTP]iB|bytes?|bits?|s|%))?|\d[\d,]*\.\.\d[\d,]*")
SAMPLES = Path(__file__).parents[3] / "resources" / "samples"
SIZES = ((640, 420), (1000, 640), (1440, 900), (2560, 1440))


def _cells(view: QTableView | QTreeView) -> Iterator[QModelIndex]:
    """The cells on the screen."""
    header = view.header() if isinstance(view, QTreeView) else view.horizontalHeader()
    assert isinstance(header, QHeaderView)
    index = view.indexAt(view.viewport().rect().topLeft())
    while index.isValid() and view.visualRect(index).top() < view.viewport().height():
        yield from (index.siblingAtColumn(n) for n in range(header.count()) if not header.isSectionHidden(n))
        below = view.indexBelow(index) if isinstance(view, QTreeView) else index.siblingAtRow(index.row() + 1)
        index = below


def _cut(view: QTableView | QTreeView) -> Iterator[str]:
    """Numbers that do not fit their cells."""
    for index in _cells(view):
        text = str(index.data() or "")
        if NUMBER.fullmatch(text):
            rect = view.visualRect(index)
            if view.fontMetrics().horizontalAdvance(text) > rect.width():
                yield f"{view.objectName()} {index.column()}: {text} in {rect.width()}"


def _check(window: MainWindow, size: tuple[int, int]) -> list[str]:
    """Everything cut on any panel of the window."""
    found = []
    for name in window.panels.by_name:
        if name == "places":
            continue
        window.show_part(name)
        settle(window, 30)
        views = [*window.findChildren(QTableView), *window.findChildren(QTreeView)]
        for view in views:
            if view.isVisible() and view.viewport().width() > 0:
                found += [f"{size} {text}" for text in _cut(view)]
                header = view.header() if isinstance(view, QTreeView) else view.horizontalHeader()
                if header.length() > view.viewport().width() and not view.horizontalScrollBar().isVisible():
                    found.append(f"{size} {view.objectName()} has columns out of reach")
        for label in window.findChildren(Elided):
            if label.isVisible():
                seen = label.seen.removesuffix("…")
                assert label.text().startswith(seen)
                if re.search(r"\d$", seen) and re.match(r"[,.]?\d", label.text()[len(seen) :]):
                    found.append(f"{size} {label.seen}")
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("sample", "sizes"),
    [
        ("swh/damaged.shard", SIZES[::2]),
        ("des/archive", SIZES[1::2]),
        ("des/damaged/20260105_2A_0000.des", SIZES[::2]),
        ("neuroglancer/volume", SIZES[1::2]),
        ("bloscpack/array.blp", SIZES[::2]),
        ("mdb/cache", SIZES[:2]),
    ],
    ids=str,
)
def test_numbers_are_never_cut(
    qtbot: QtBot, settings: Settings, sample: str, sizes: tuple[tuple[int, int], ...]
) -> None:
    """In all tables, trees and lines of the window each number is whole, at any width."""
    window = MainWindow(settings)
    qtbot.addWidget(window)
    window.show()
    window.open(str(SAMPLES / sample))
    settle(window, 60)
    window.session.verify(Depth.INDEX)
    settle(window, 60)
    cut = []
    for size in sizes:
        window.resize(*size)
        settle(window, 60)
        cut += _check(window, size)
    assert cut == []
    window.close()


def test_long_numbers_get_their_room(qtbot: QtBot, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes of nine digits are whole in the narrowest dock: the table scrolls."""
    window = MainWindow(settings)
    qtbot.addWidget(window)
    window.resize(1440, 900)
    window.show()
    window.open(str(SAMPLES / "swh/small.shard"))
    settle(window, 60)
    table = window.objects.table
    names = [column.name for column in table.objects.columns]
    real = table.objects.row_texts
    long = {"row": "12,345,678", "key": "k" * 64, "size": "100,663,296,512", "start": "1,100,663,296,512"}
    monkeypatch.setattr(
        table.objects,
        "row_texts",
        lambda place: (
            [long.get(name, text) for name, text in zip(names, real(place)[0], strict=True)],
            real(place)[1],
        ),
    )
    table.objects.modelReset.emit()
    table.verticalScrollBar().valueChanged.emit(0)
    for width in (340, 420, 700):
        window.resizeDocks([window.panels.by_name["objects"]], [width], Qt.Orientation.Horizontal)
        settle(window, 30)
        for name in ("row", "size", "start"):
            number = names.index(name)
            assert table.columnWidth(number) > table.fontMetrics().horizontalAdvance(long[name])
    window.close()


def test_the_fields_have_room(qtbot: QtBot, settings: Settings, data: Path) -> None:
    """At 1440 pixels, with lists of 420 and an inspector of 280, rows of 16 bytes have their fields beside them."""
    window = MainWindow(settings)
    qtbot.addWidget(window)
    window.resize(1440, 900)
    window.show()
    window.open(str(data / "swh" / "small.shard"))
    settle(window, 60)
    docks = [window.panels.by_name[name] for name in ("structure", "inspector")]
    window.resizeDocks(docks, [420, 280], Qt.Orientation.Horizontal)
    settle(window, 30)
    view = window.hex.view
    assert view.state.layout.width == 16
    line = view.column.line(view.state.grid, 2)
    assert [place.field.name for place in line.places] == ["version", "objects_count"]
    assert "…" not in "".join(piece.text.text() for piece in line.pieces)
    window.close()


@pytest.mark.thorough
def test_panels_share_what_the_bytes_cannot_fill(qtbot: QtBot, settings: Settings, data: Path) -> None:
    """The bytes end at the width of their fields; rows by the record get the room back."""
    window = MainWindow(settings)
    qtbot.addWidget(window)
    window.resize(2560, 1440)
    window.show()
    window.open(str(data / "swh" / "small.shard"))
    settle(window, 60)
    view, tree, inspector = window.hex.view, window.tree, window.panels.by_name["inspector"]
    assert view.width() <= view.full_width + 1
    assert tree.width() + inspector.width() > 2560 - view.full_width - 20
    before = tree.width(), inspector.width()
    window.hex.drawings.show()
    settle(window, 30)
    assert (tree.width(), inspector.width()) == before, "the panels are stable while drawings come and go"
    window.hex.drawings.hide()
    window.hex.view.state.move_caret(4500)
    settle(window, 30)
    window.hex.rows.choose(RowWidth(RowMode.RECORD))
    settle(window, 30)
    assert tree.width() + inspector.width() < sum(before)
    window.hex.rows.choose(RowWidth(RowMode.AUTO))
    settle(window, 30)
    assert view.width() <= view.full_width + 1
    for dock in window.panels.by_name.values():
        dock.hide()
    settle(window, 30)
    assert view.width() > 2500, "without panels the bytes have the window"
    window.close()


def test_columns_share_the_room() -> None:
    """What is left goes to texts that are cut, then to the stretched one; in a small room none goes below its least."""
    columns = [Room(50, 50), Room(500, 100), Room(80, 80)]
    assert share_room(columns, 1, 1000) == [50, 870, 80]
    assert share_room(columns, 1, 400) == [50, 270, 80]
    assert share_room(columns, 1, 150) == [50, 100, 80]
