"""Lecture: one thing at a time on a screen for a projector; and one zoom for the whole window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardcore.teaching.lessons.lesson_list import lessons
from shardscope.shell.lecture import LectureScreen
from shardscope.shell.main_window import MainWindow
from shardscope.shell.palette import command, commands
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.widgets import playback, theme

KEY = "a1d4f7a74d5e156d6a3be2432c2767fc6cdc91ab95b833e0f015cf38715b7cda"


@pytest.fixture
def shown(window: MainWindow, qtbot: QtBot, qapp: QApplication, data: Path) -> Iterator[MainWindow]:
    window.resize(1280, 720)
    with qtbot.waitSignal(window.session.opened):
        window.open(str(data / "swh" / "small.shard"))
    settle(window, 40)
    yield window
    theme.zoom(qapp, 1.0)
    playback.set_speed(1)


def begun(window: MainWindow) -> LectureScreen:
    screen = window.start_lecture(full=False)
    settle(window, 40)
    return screen


def press(screen: LectureScreen, window: MainWindow, *names: str) -> None:
    for name in names:
        window.lecturing.all[name].trigger()
        settle(window, 20)


@pytest.mark.thorough
def test_a_lookup(shown: MainWindow, qtbot: QtBot) -> None:
    """Keys go through sentences and stages of each step; leaving, everything is as it was before."""
    shown.session.lookup.start(KEY)
    settle(shown, 40)
    shown.session.lookup.go_to_step(7)
    settle(shown, 40)
    before = (shown.session.selection.span, shown.session.lookup.walk.step, bytes(shown.panels.state().data()))
    screen = begun(shown)
    assert (screen.at, screen.counter.text()) == (7, "8 of 11 · The slot · What comes next?")
    assert screen.drawing.walk.stage == 0
    assert not screen.bytes.isHidden()
    press(screen, shown, "next")
    assert screen.drawing.walk.stage == 1
    assert screen.sentence.text().startswith("The key begins at slot 12")
    press(screen, shown, "back", "back")
    assert screen.counter.text() == "7 of 11 · The displacement"
    assert screen.beat == len(screen.slide.beats) - 1
    press(screen, shown, "last")
    assert screen.at == 10
    press(screen, shown, "first")
    assert (screen.at, screen.beat) == (0, 0)
    assert all(part.isVisible() for part in (screen.sentence, screen.drawing, screen.bytes, screen.counter))
    with qtbot.waitSignal(screen.left):
        press(screen, shown, "leave")
    assert (shown.session.selection.span, shown.session.lookup.walk.step, bytes(shown.panels.state().data())) == before
    assert not any(action.isEnabled() for action in shown.lecturing.all.values())


@pytest.mark.thorough
def test_keys_and_clickers(shown: MainWindow, qtbot: QtBot) -> None:
    """Page Down, Space and Right go on, Page Up goes back, B blanks, Esc leaves; the list of shortcuts has them."""
    screen = begun(shown)
    with qtbot.waitActive(screen):
        screen.activateWindow()
    where = [(screen.at, screen.beat)]
    for key in (Qt.Key.Key_PageDown, Qt.Key.Key_Space, Qt.Key.Key_Right, Qt.Key.Key_PageUp):
        QTest.keyClick(screen, key)
        where.append((screen.at, screen.beat))
    assert where == [(0, 0), (1, 0), (2, 0), (3, 0), (2, 0)]
    QTest.keyClick(screen, Qt.Key.Key_B)
    assert screen.grab().toImage().pixelColor(40, 40) == Qt.GlobalColor.black
    QTest.keyClick(screen, Qt.Key.Key_PageDown)
    assert (screen.at, screen.grab().toImage().pixelColor(40, 40) != Qt.GlobalColor.black) == (2, True)
    listed = {one.text: one.keys for one in (command(*found) for found in commands(shown)) if one.where == "Lecture"}
    assert listed["Lecture: next"] == "Right, Space, PgDown"
    with qtbot.waitSignal(screen.left):
        QTest.keyClick(screen, Qt.Key.Key_Escape)


@pytest.mark.thorough
def test_a_lesson(shown: MainWindow, settings: Settings) -> None:
    """A question is shown without its answer, which the next key reveals; the progress does not say *shown*."""
    teaching = shown.teaching
    teaching.player.start(next(one for one in lessons() if one.name == "swh-2-find-a-key"), step=7)
    settle(shown, 60)
    screen = begun(shown)
    while not screen.slide.beats[screen.beat].asks:
        press(screen, shown, "next")
    assert screen.choices.text().startswith("a) ")
    press(screen, shown, "next")
    assert "b)" in screen.sentence.text()
    high = screen.sentence.height()
    press(screen, shown, "back")
    assert screen.sentence.height() == high, "nothing moves from sentence to sentence"
    press(screen, shown, "next")
    press(screen, shown, "next")
    assert (screen.at, teaching.player.number, teaching.player.verdict) == (8, 8, None)
    press(screen, shown, "leave")
    assert teaching.player.number == 8
    teaching.player.leave()
    settle(shown, 40)


@pytest.mark.thorough
def test_dark_and_played(shown: MainWindow, settings: Settings) -> None:
    """The screen alone is dark; *Play* goes on by itself, at the speed that was chosen; both are remembered."""
    screen = begun(shown)
    press(screen, shown, "dark")
    assert settings.lecture_dark
    assert theme.of(screen.drawing).name == "dark-room"
    assert theme.of(shown.hex).name != "dark-room"
    press(screen, shown, "speed", "play")
    assert screen.at == 1
    assert settings.play_speed == 2
    screen._tick()
    assert screen.at == 2
    press(screen, shown, "play")
    assert not screen.counter.text().endswith("×")
    press(screen, shown, "leave")


@pytest.mark.thorough
def test_the_drawings_of_the_file(shown: MainWindow, qtbot: QtBot) -> None:
    """The panel has the drawings of the file with their controls; the next slide brings its own drawing back."""
    screen = begun(shown)
    panel = screen.drawings
    assert panel.tabs.tabText(0) == screen.slide.title == "header"
    panel.choose("parking")
    qtbot.waitUntil(lambda: not screen.drawing.walk.led)
    assert panel.controls.isVisible()
    press(screen, shown, "next")
    assert (panel.name, panel.tabs.tabText(0), panel.controls.isVisible()) == ("slide", "padding", False)
    qtbot.mouseClick(screen.drawing.viewport(), Qt.MouseButton.LeftButton, pos=screen.drawing.place_of(0))
    item = panel.drawing.items[0]
    qtbot.waitUntil(lambda: screen.bytes.state.selection.span == item.spans[0])


@pytest.mark.thorough
def test_left_before_anything_is_shown(shown: MainWindow) -> None:
    """A screen that is gone takes no slides, and its panel follows no question."""
    screen = shown.start_lecture(full=False)
    screen.toggle_play()
    screen.close()
    settle(shown, 40)
    shown.session.lookup.open_question.ask(is_open=True)
    shown.session.lookup.open_question.ask(is_open=False)
    settle(shown, 20)
