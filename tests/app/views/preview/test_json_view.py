"""JSON as a tree: folded values, and the bytes of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardscope.session.session import Session
from shardscope.views.preview.json_view import GROUP, JsonView
from shardscope.views.preview.text_view import TextView
from tests.app.views.preview.preview_rig import PreviewRig

DATA = json.dumps({"name": "a\tb", "shape": [1, 20, 300], "empty": {}, "deep": {"ok": True}}, indent=1).encode()
MANY = json.dumps([{"n": n} for n in range(2500)]).encode()


@pytest.fixture
def rig(session: Session, qtbot: QtBot, tmp_path: Path) -> PreviewRig:
    """JSON of a few values, and of many."""
    objects = {"few.json": DATA, "many.json": MANY, "number.json": b"[7]", "wide.json": '{"ä": "ö"}'.encode("utf-16")}
    return PreviewRig(session, qtbot, tmp_path, objects)


def row(view: JsonView, *names: str) -> QModelIndex:
    """The index of a value by the names that lead to it."""
    found = QModelIndex()
    for name in names:
        rows = [view.tree.index(number, 0, found) for number in range(view.tree.rowCount(found))]
        found = next(index for index in rows if index.data() == name)
    return found


def test_values_are_folded(rig: PreviewRig) -> None:
    """Names and values are rows; containers report how much they hold, and small ones are open."""
    view = rig.view(JsonView)
    texts = [(row(view, name).data(), row(view, name).siblingAtColumn(1).data()) for name in ("name", "shape", "empty")]
    assert texts == [("name", "a\\tb"), ("shape", "[3 items]"), ("empty", "{}")]
    assert view.view.isExpanded(row(view, "deep"))
    assert not view.view.isExpanded(row(view, "shape"))
    assert view.tree.path_of(row(view, "shape", "1")) == "shape[1]"


def test_a_value_has_its_bytes(rig: PreviewRig) -> None:
    """Pointing at a value highlights its bytes, a click selects them, and selecting bytes marks the value."""
    view = rig.view(JsonView)
    item = row(view, "shape", "1")
    view.view.entered.emit(item.siblingAtColumn(1))
    assert rig.highlighted() == b"20"
    view.view.clicked.emit(row(view, "name"))
    assert rig.selected() == b'"name": "a\\tb"'
    view.view.clicked.emit(row(view, "shape").siblingAtColumn(1))
    assert json.loads(rig.selected()) == [1, 20, 300]
    span = rig.session.selection.span
    assert span is not None
    at = span.start - DATA.index(b"[") + DATA.index(b"true") + 2
    rig.session.select_span(Span(span.source, at, at + 1))
    rig.qtbot.waitUntil(lambda: view.view.currentIndex() == row(view, "deep", "ok"))


def test_keys_walk_through_values(rig: PreviewRig) -> None:
    """The arrow keys choose one value after the other."""
    view = rig.view(JsonView)
    rig.panel.activateWindow()
    view.view.setFocus()
    rig.qtbot.waitUntil(view.view.hasFocus)
    view.view.setCurrentIndex(row(view, "name"))
    rig.qtbot.keyClick(view.view, Qt.Key.Key_Down)
    assert json.loads(b"{" + rig.selected() + b"}") == {"shape": [1, 20, 300]}


def test_many_items_are_grouped(rig: PreviewRig) -> None:
    """More items than fit a level are in groups, computed when one is opened."""
    rig.show("many.json")
    view = rig.view(JsonView)
    assert [view.tree.index(number, 0).data() for number in range(view.tree.rowCount())] == [
        "0 … 999",
        "1,000 … 1,999",
        "2,000 … 2,499",
    ]
    last = row(view, "2,000 … 2,499", "2499", "n")
    assert last.siblingAtColumn(1).data() == "2499"
    view.mark(len(MANY) - 4, len(MANY) - 3)
    assert view.view.currentIndex() == last
    assert GROUP == 1000


def test_the_text_is_one_click_away(rig: PreviewRig) -> None:
    """The switch shows the text; the next JSON is shown so, too."""
    text = rig.show_as("Text", TextView)
    assert text.lines.toPlainText().encode() == DATA
    rig.show("number.json")
    assert isinstance(rig.panel.view, TextView)
    rig.show_as("Tree", JsonView)


def test_wide_characters_have_no_bytes(rig: PreviewRig) -> None:
    """JSON in UTF-16 is a tree as well; its values select nothing."""
    rig.show("wide.json")
    view = rig.view(JsonView)
    assert row(view, "ä").siblingAtColumn(1).data() == "ö"
    view.view.entered.emit(row(view, "ä"))
    assert not rig.session.lights


def test_copies(rig: PreviewRig) -> None:
    """A value is copied as text, a container as it is written."""
    view = rig.view(JsonView)
    view.view.setCurrentIndex(row(view, "shape", "2"))
    rig.panel.copy_content()
    assert QGuiApplication.clipboard().text() == "300"
    view.view.setCurrentIndex(row(view, "deep"))
    rig.panel.copy_content()
    assert json.loads(QGuiApplication.clipboard().text()) == {"ok": True}
