"""JSON as a tree: folded values, and the bytes of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, Qt
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardscope.session.session import Session
from shardscope.views.preview.json_view import GROUP, JsonView
from tests.app.views.preview.preview_rig import PreviewRig

DATA = json.dumps({"name": "a\tb", "shape": [1, 20, 300], "empty": {}, "deep": {"ok": True}}, indent=1).encode()
MANY = json.dumps([{"n": n} for n in range(2500)]).encode()


@pytest.fixture
def rig(session: Session, qtbot: QtBot, tmp_path: Path) -> PreviewRig:
    """JSON of a few values, and of many."""
    objects = {"few.json": DATA, "many.json": MANY}
    return PreviewRig(session, qtbot, tmp_path, objects)


def row(view: JsonView, *names: str) -> QModelIndex:
    """The index of a value by the names that lead to it."""
    found = QModelIndex()
    for name in names:
        rows = [view.tree.index(number, 0, found) for number in range(view.tree.rowCount(found))]
        found = next(index for index in rows if index.data() == name)
    return found


def test_values_are_folded(rig: PreviewRig) -> None:
    view = rig.view(JsonView)
    texts = [(row(view, name).data(), row(view, name).siblingAtColumn(1).data()) for name in ("name", "shape", "empty")]
    assert texts == [("name", "a\\tb"), ("shape", "[3 items]"), ("empty", "{}")]
    assert view.view.isExpanded(row(view, "deep"))
    assert not view.view.isExpanded(row(view, "shape"))
    assert view.tree.path_of(row(view, "shape", "1")) == "shape[1]"


def test_a_value_has_its_bytes(rig: PreviewRig) -> None:
    view = rig.view(JsonView)
    item = row(view, "shape", "1")
    view.view.entered.emit(item.siblingAtColumn(1))
    assert rig.highlighted() == b"20"
    view.view.clicked.emit(row(view, "name"))
    assert rig.selected() == b'"name": "a\\tb"'
    view.view.clicked.emit(row(view, "shape").siblingAtColumn(1))
    assert json.loads(rig.selected()) == [1, 20, 300]
    span = rig.session.selection.span
    at = span.start - DATA.index(b"[") + DATA.index(b"true") + 2
    rig.session.select_span(Span(span.source, at, at + 1))
    rig.qtbot.waitUntil(lambda: view.view.currentIndex() == row(view, "deep", "ok"))


def test_keys_walk_through_values(rig: PreviewRig) -> None:
    view = rig.view(JsonView)
    rig.panel.activateWindow()
    view.view.setFocus()
    rig.qtbot.waitUntil(view.view.hasFocus)
    view.view.setCurrentIndex(row(view, "name"))
    rig.qtbot.keyClick(view.view, Qt.Key.Key_Down)
    assert json.loads(b"{" + rig.selected() + b"}") == {"shape": [1, 20, 300]}


def test_many_items_are_grouped(rig: PreviewRig) -> None:
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
