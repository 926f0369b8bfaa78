"""Signals that panels follow while they are visible."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from shardscope.widgets.deferred_signals import WhileVisible
from tests.app.conftest import visible


class Sender(QObject):
    chosen = Signal(object)
    cleared = Signal()


@dataclass
class Choice:
    origin: object = None


def test_a_hidden_panel_gets_the_last_signal_when_it_is_shown(qtbot: QtBot) -> None:
    sender, widget, seen = Sender(), visible(qtbot, QWidget()), list[object]()
    WhileVisible(sender.chosen, widget, seen.append)
    WhileVisible(sender.cleared, widget, lambda: seen.append("cleared"))
    sender.chosen.emit(1)
    widget.hide()
    for number in (2, 3):
        sender.chosen.emit(number)
    sender.cleared.emit()
    assert seen == [1]
    widget.show()
    assert sorted(map(str, seen)) == ["1", "3", "cleared"]
    widget.hide()
    widget.show()
    assert len(seen) == 3


def test_a_panel_does_not_get_its_own_selection(qtbot: QtBot) -> None:
    sender, widget = Sender(), visible(qtbot, QWidget())
    others, all_ = list[object](), list[object]()
    WhileVisible(sender.chosen, widget, others.append)
    WhileVisible(sender.chosen, widget, all_.append, own=True)
    own, other = Choice(widget), Choice()
    sender.chosen.emit(own)
    sender.chosen.emit(other)
    assert (others, all_) == ([other], [own, other])
    widget.hide()
    sender.chosen.emit(other)
    sender.chosen.emit(own)
    widget.show()
    assert (others, all_) == ([other], [own, other, own])
