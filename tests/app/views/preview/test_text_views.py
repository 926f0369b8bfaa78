"""Texts, tables, archives and JSON in the preview: found, ordered, folded, and with their bytes."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QModelIndex, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardscope.session.session import Session
from shardscope.views.preview import table_view
from shardscope.views.preview.table_view import TableView
from shardscope.views.preview.text_view import FIRST, MOST_LINE, TextView, shown_text, tokens_of
from shardscope.views.preview.tree_view import TreeView
from tests.app.views.preview.preview_rig import PreviewRig, npy

FEW = json.dumps({"name": "a\tb", "shape": [1, 20, 300], "empty": {}, "deep": {"ok": True}}, indent=1).encode()
MANY = json.dumps([{"n": n} for n in range(2500)]).encode()
LINES = "".join(f"line {number}\n" for number in range(40))
OBJECTS = {
    "a.py": b"import os\r\n\r\n\r\ndef main():\r\n    return OS.path\r\n",
    "long.txt": b"0123456789abcde\n" * 40_000,
    "line.txt": b"x" * 200_000 + b"\nlast \xe2\x80\xae line\n",
    "few.json": FEW,
    "many.json": MANY,
    "t.csv": b'name,count,note\nb,10,"x, ""y"""\nA,9,\nc,,z\nd,1000,last\n',
    "many.csv": b"a,b\n" + b"1,2\n" * 20_000,
}
CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def rig(session: Session, qtbot: QtBot, tmp_path: Path) -> PreviewRig:
    """A short text is shown; there are long ones, tables, JSON, and an archive with a packed and a stored member."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("packed.txt", LINES)
        archive.writestr("stored.txt", LINES, zipfile.ZIP_STORED)
        archive.writestr("a.npy", npy(np.arange(6)))
    made = PreviewRig(session, qtbot, tmp_path, OBJECTS | {"x.zip": stream.getvalue()})
    made.panel.activateWindow()
    return made


def focus(rig: PreviewRig, part: QWidget) -> None:
    part.setFocus()
    rig.qtbot.waitUntil(part.hasFocus)


# --- texts ---


def test_find(rig: PreviewRig) -> None:
    """Ctrl+F is claimed only where the view has a find line."""
    view, key = rig.view(TextView), rig.qtbot.keyClick
    focus(rig, view.lines)
    key(view.lines, Qt.Key.Key_F, CONTROL)
    field, count = view.find_bar.field, view.find_bar.count
    rig.qtbot.waitUntil(field.hasFocus)
    rig.qtbot.keyClicks(field, "os")
    assert count.text() == "1 of 2"
    plain = Qt.KeyboardModifier.NoModifier
    for modifier, text in ((plain, "2 of 2"), (plain, "1 of 2"), (Qt.KeyboardModifier.ShiftModifier, "2 of 2")):
        key(field, Qt.Key.Key_Return, modifier)
        assert count.text() == text
    assert view.lines.textCursor().selectedText() == "OS"
    rig.qtbot.keyClicks(field, "x")
    assert count.text() == "Not found"
    key(field, Qt.Key.Key_Escape)
    assert not view.find_bar.isVisible()
    assert view.lines.hasFocus()
    assert not view.lines.extraSelections()
    rig.panel._say("nothing")
    event = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_F, CONTROL)
    event.ignore()
    QApplication.sendEvent(rig.panel, event)
    assert not event.isAccepted()


def test_keys_choose_lines(rig: PreviewRig) -> None:
    for _ in range(3):
        rig.qtbot.keyClick(rig.view(TextView).lines, Qt.Key.Key_Down)
    assert rig.selected() == b"def main():\r\n"


def test_long_texts_begin_with_a_part_and_long_lines_are_cut(rig: PreviewRig) -> None:
    view = rig.view(TextView, "long.txt")
    assert FIRST - 16 <= len(view.lines.toPlainText()) <= FIRST
    assert view.all.isVisible()
    view.mark(16 * 39_999, 16 * 39_999 + 1)
    assert len(view.lines.toPlainText()) > FIRST
    assert not view.all.isVisible()
    first, last, _ = rig.view(TextView, "line.txt").lines.toPlainText().split("\n")
    assert first == "x" * MOST_LINE + " … (200,000 characters)"
    assert last == "last \\u202e line"
    assert shown_text("a\r\nb\rc") == "a\nb\\rc"


def test_places_are_right_after_characters_beyond_the_first_plane(rig: PreviewRig) -> None:
    """An emoji counts twice in Qt; matches and colours after it are not shifted."""
    lines, text = rig.view(TextView).lines, "# \U0001f600\U0001f600\nimport os\n"
    tokens = tokens_of(text, "Python")
    lines.show_text(text, tokens)
    assert lines.find_all("os") == 1
    assert lines.textCursor().selectedText() == "os"
    cursor = lines.textCursor()
    cursor.setPosition(tokens[-1][0])
    cursor.setPosition(tokens[-1][1], cursor.MoveMode.KeepAnchor)
    assert cursor.selectedText() == "import"
    assert [(one.start, one.length) for one in cursor.block().layout().formats()] == [(0, 6)]


# --- JSON ---


def row(view: TreeView, *names: str) -> QModelIndex:
    found = QModelIndex()
    for name in names:
        rows = [view.tree.index(number, 0, found) for number in range(view.tree.rowCount(found))]
        found = next(index for index in rows if index.data() == name)
    return found


def test_values_are_folded_and_have_their_bytes(rig: PreviewRig) -> None:
    view = rig.view(TreeView, "few.json")
    texts = [row(view, name).siblingAtColumn(1).data() for name in ("name", "shape", "empty")]
    assert texts == ["a\\tb", "[3 items]", "{}"]
    assert view.view.isExpanded(row(view, "deep"))
    assert not view.view.isExpanded(row(view, "shape"))
    item = row(view, "shape", "1")
    assert view.tree.path_of(item) == "shape[1]"
    view.view.entered.emit(item.siblingAtColumn(1))
    assert rig.highlighted() == b"20"
    view.view.clicked.emit(row(view, "name"))
    assert rig.selected() == b'"name": "a\\tb"'
    view.view.clicked.emit(row(view, "shape").siblingAtColumn(1))
    assert json.loads(rig.selected()) == [1, 20, 300]
    span = rig.session.selection.span
    at = span.start - FEW.index(b"[") + FEW.index(b"true") + 2
    rig.session.select_span(Span(span.source, at, at + 1))
    rig.qtbot.waitUntil(lambda: view.view.currentIndex() == row(view, "deep", "ok"))
    focus(rig, view.view)
    view.view.setCurrentIndex(row(view, "name"))
    rig.qtbot.keyClick(view.view, Qt.Key.Key_Down)
    assert json.loads(b"{" + rig.selected() + b"}") == {"shape": [1, 20, 300]}


def test_many_items_are_grouped(rig: PreviewRig) -> None:
    view = rig.view(TreeView, "many.json")
    groups = [view.tree.index(number, 0).data() for number in range(view.tree.rowCount())]
    assert groups == ["0 … 999", "1,000 … 1,999", "2,000 … 2,499"]
    last = row(view, "2,000 … 2,499", "2499", "n")
    assert last.siblingAtColumn(1).data() == "2499"
    view.mark(len(MANY) - 4, len(MANY) - 3)
    assert view.view.currentIndex() == last


# --- tables and archives ---


def column(view: TableView, number: int) -> list[str]:
    return [view.rows.index(row, number).data() for row in range(view.rows.rowCount())]


def test_numbers_are_ordered_as_numbers(rig: PreviewRig) -> None:
    view, order = rig.view(TableView, "t.csv"), Qt.SortOrder
    for number, direction, found in (
        (1, order.AscendingOrder, ["9", "10", "1000", ""]),
        (1, order.DescendingOrder, ["1000", "10", "9", ""]),
        (0, order.AscendingOrder, ["A", "b", "c", "d"]),
    ):
        view.rows.sort(number, direction)
        assert column(view, number) == found
    view.rows.sort(-1)
    assert column(view, 0) == ["b", "A", "c", "d"]


def test_a_cell_has_its_bytes(rig: PreviewRig) -> None:
    view = rig.view(TableView, "t.csv")
    assert column(view, 2)[0] == 'x, "y"'
    view.rows.sort(0, Qt.SortOrder.AscendingOrder)
    view.table.entered.emit(view.rows.index(1, 2))
    assert rig.highlighted() == b'"x, ""y"""'
    view.table.entered.emit(view.rows.index(0, 2))
    assert not rig.session.lookup.highlights
    view.table.clicked.emit(view.rows.index(3, 1))
    assert rig.selected() == b"1000"
    span = rig.session.selection.span
    rig.session.select_span(Span(span.source, span.stop + 2, span.stop + 3))
    rig.qtbot.waitUntil(lambda: view.table.currentIndex() == view.rows.index(3, 2))
    focus(rig, view.table)
    view.table.setCurrentIndex(view.rows.index(0, 0))
    for key, data in ((Qt.Key.Key_Right, b"9"), (Qt.Key.Key_Down, b"10")):
        rig.qtbot.keyClick(view.table, key)
        assert rig.selected() == data


def test_only_shown_cells_are_parsed(rig: PreviewRig, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    real = table_view.cell_spans

    def counted(data: bytes, start: int, stop: int, delimiter: str) -> list[tuple[int, int]]:
        parsed.append(start)
        return real(data, start, stop, delimiter)

    monkeypatch.setattr(table_view, "cell_spans", counted)
    assert rig.view(TableView, "many.csv").rows.rowCount() == 20_000
    assert len(parsed) < 1000


def test_members_are_shown_in_place_or_in_a_tab(rig: PreviewRig, tmp_path: Path) -> None:
    def activate(number: int) -> None:
        table = rig.view(TableView, "x.zip").table
        table.activated.emit(table.model().index(number, 0))

    for number in range(2):
        activate(number)
        rig.qtbot.waitUntil(lambda: isinstance(rig.panel.view, TextView))
        view = rig.view(TextView)
        assert view.lines.toPlainText() == LINES
        if number == 0:
            assert rig.panel._proposed() == "packed.txt"
            rig.panel.save_to(tmp_path / "out.txt")
            rig.qtbot.waitUntil(lambda: not rig.session.jobs.open_jobs)
            assert (tmp_path / "out.txt").read_text() == LINES
            rig.panel.back.click()
    view.lines.chosen.emit(3)
    assert rig.selected() == b"line 3\n"
    span = rig.session.selection.span
    rig.session.select_span(Span(span.source, span.start + 7, span.start + 8))
    marked = lambda: [view.lines.document().findBlock(at).blockNumber() for at in view.lines._marked]  # noqa: E731
    rig.qtbot.waitUntil(lambda: marked()[:1] == [4])
    rig.panel.back.click()
    with rig.qtbot.waitSignal(rig.session.tab_wanted) as wanted:
        activate(2)
    assert wanted.args[0].inside == ("x.zip", "a.npy")
