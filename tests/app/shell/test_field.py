"""The field of the bar: offsets, names and keys, completed while they are typed."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardcore.teaching import resource_paths
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from tests.app.shell.conftest import opened


def entry(window: MainWindow, text: str) -> list[str]:
    field = window.hex.address.field
    field.setFocus()
    field.clear()
    QTest.keyClicks(field, text)
    model = window.hex.address.completer.model()
    return [str(model.index(n, 0).data()) for n in range(model.rowCount())]


def test_the_field_completes_what_is_known(small: MainWindow) -> None:
    shard = small.session.shard
    key = shard.objects.keys[3]
    assert any(words.startswith("header.index_position") for words in entry(small, "index_po"))
    assert any(words.startswith(f"object {key[:6]}") for words in entry(small, key[:4]))
    entry(small, "index+40")
    QTest.keyClick(small.hex.address.field, Qt.Key.Key_Return)
    assert any(words.startswith("index+40") for words in entry(small, "ex+4"))
    settle(small, 40)


def test_a_name_goes_to_the_field_and_a_star_to_what_it_points_to(small: MainWindow) -> None:
    shard = small.session.shard
    value = shard.fields["header.index_position"]
    start = small.hex.naming.places().starts["header.index_position"]
    for text, offset in (("header.index_position", start), ("*header.index_position", value), ("header.version", 32)):
        entry(small, text)
        QTest.keyClick(small.hex.address.field, Qt.Key.Key_Return)
        settle(small, 40)
        assert small.hex.state.selection.span.start == offset, text


def test_the_field_shows_the_present_place_after_back(small: MainWindow) -> None:
    for text in ("header.version", "-1"):
        entry(small, text)
        QTest.keyClick(small.hex.address.field, Qt.Key.Key_Return)
        settle(small, 40)
    field, state = small.hex.address.field, small.hex.state
    last = state.selection.span.start
    small.session.selector.back()
    settle(small, 40)
    assert int(field.text(), 0) == state.selection.span.start != last
    small.session.selector.forward()
    settle(small, 40)
    assert int(field.text(), 0) == state.selection.span.start == last


def test_the_beginning_of_a_key_is_enough(small: MainWindow) -> None:
    shard = small.session.shard
    key = shard.objects.keys[3]
    entry(small, key[:7])
    QTest.keyClick(small.hex.address.field, Qt.Key.Key_Return)
    settle(small, 40)
    assert small.trace.trace.key == key
    assert small.trace.trace.outcome == "found"
    assert small.session.selection.row == 3
    assert small.objects.table.selected_ranges().rows().tolist() == [3]
    assert small.objects.actions_.extract.isEnabled()
    small.session.lookup.go_to_step(1)
    settle(small, 40)
    assert small.objects.actions_.extract.isEnabled(), "its steps keep it selected"
    small.session.lookup.start("0123456789")
    settle(small, 40)
    assert small.session.lookup.walk.error is not None


def test_a_number_may_be_a_byte_or_an_object(window: MainWindow, qtbot: QtBot) -> None:
    opened(window, qtbot, resource_paths.path("samples/bloscpack/array.blp"))
    offered = entry(window, "1")
    assert offered[0].startswith("byte 0x1 ")
    assert offered[0].endswith("Enter")
    assert offered[1] == "object 1"
    QTest.keyClick(window.hex.address.field, Qt.Key.Key_Return)
    assert window.hex.state.selection.span.start == 1
    entry(window, "1")
    popup = window.hex.address.list
    with qtbot.waitSignal(window.session.lookup.walk_changed):
        popup.setCurrentIndex(popup.model().index(1, 0))
        QTest.keyClick(window.hex.address.field, Qt.Key.Key_Return)
    settle(window, 40)
    assert window.session.lookup.walk.key == "1"
