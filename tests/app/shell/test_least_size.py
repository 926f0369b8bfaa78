"""What is said in the smallest window, and in a large one: nothing that counts is cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle

KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


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
    window.session.look_up(KEY)
    window.hex.drawings.show()
    settle(window, 60)
    panel, giving, panels = window.hex.drawings.panel, window.giving_way, window.panels
    assert panel is not None
    assert panels.lowered
    assert window.focusWidget() in (giving.line.next, giving.toggle), "the keyboard of the panel stays with the step"
    window.session.go_to_step(3)
    assert giving.line.counter.text() == "4 of 11"
    giving.line.next.click()
    assert window.session.walk.step == 4
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
