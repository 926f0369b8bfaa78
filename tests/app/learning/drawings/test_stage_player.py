"""Walks of drawings: stage by stage, in time or by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardcore.model.drawing import Cells, Drawing, Item, Link, Tone
from shardcore.teaching.drawing.picture import NO_ITEM
from shardscope.learning.drawings.stage_player import ARRIVE_MILLISECONDS, PAUSE_MILLISECONDS, PlaybackBar
from shardscope.learning.drawings.view import DrawingView
from shardscope.widgets import playback
from tests.app.conftest import visible

ITEMS = tuple(Item(str(at), at=at, tone=Tone.KEY, name=f"cell {at}", doc=f"Cell {at}.", stage=at) for at in range(3))
WALK = Drawing("", (Cells("", 3, ITEMS),), (Link("cell 0", "cell 1"), Link("cell 1", "cell 2", "on")))


@pytest.fixture
def view(qtbot: QtBot, qapp: QApplication) -> Iterator[DrawingView]:
    """A view with a walk of two stages."""
    made = visible(qtbot, DrawingView(), 400, 300)
    made.show_drawing(WALK)
    yield made
    playback.reduce(qapp, False)
    playback.set_speed(1)


def test_what_comes_later_is_not_there(view: DrawingView) -> None:
    """All is seen at first; before a stage its items are not painted and cannot be pointed at."""
    places = [view.place_of(at) for at in range(3)]
    assert [view.item_at(place) for place in places] == [0, 1, 2]
    whole = view.grab().toImage()
    view.walk.go(0)
    assert [view.item_at(place) for place in places] == [0, NO_ITEM, NO_ITEM]
    assert view.grab().toImage() != whole
    view.walk.go(2)
    assert view.walk.share == 1
    assert view.grab().toImage() == whole


def test_in_time(view: DrawingView, qapp: QApplication) -> None:
    """The next stage arrives little by little; *Play* goes on after a pause, and ends at the last one.

    A hidden drawing has no timer; with reduced motion *Play* goes one stage on, at once.
    """
    walk = view.walk
    walk.play()
    assert (walk.playing, walk.stage, walk.share) == (True, 1, 0)
    walk.advance(ARRIVE_MILLISECONDS / 2)
    assert walk.share == pytest.approx(0.5)
    assert not view.grab().isNull()
    playback.set_speed(2)
    walk.advance(ARRIVE_MILLISECONDS / 4)
    assert (walk.stage, walk.share) == (1, 1)
    walk.advance(PAUSE_MILLISECONDS / 2)
    assert walk.stage == 2
    walk.advance(ARRIVE_MILLISECONDS)
    assert (walk.playing, walk.ended, walk.timer.isActive()) == (False, True, False)
    assert walk.sentence == "Cell 2."
    walk.play()
    assert walk.timer.isActive()
    view.hide()
    assert (walk.timer.isActive(), walk.playing, walk.share) == (False, False, 1)
    view.show()
    walk.go(0)
    playback.reduce(qapp, True)
    walk.play()
    assert (walk.stage, walk.share, walk.timer.isActive()) == (1, 1, False)


def test_the_bar(view: DrawingView, qtbot: QtBot) -> None:
    """The bar asks what comes next, tells what happened, and begins again; without a walk it is not there."""
    bar = PlaybackBar(view.walk)
    qtbot.addWidget(bar)
    assert bar.sentence.text == "Cell 2."
    bar.following.click()
    assert bar.sentence.text == "What comes next?"
    bar.following.click()
    assert bar.sentence.text == "Cell 1. What comes next?"
    speeds = bar.speeds.actions()
    speeds[-1].trigger()
    bar.speeds.aboutToShow.emit()
    assert (playback.speed(), [one.isChecked() for one in speeds]) == (4, [False, False, False, True])
    bar.show()
    view.show_drawing(None)
    assert bar.isHidden()
