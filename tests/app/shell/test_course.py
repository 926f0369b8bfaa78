"""Exercises, exams, hand-in and missions of one's own, in the window."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardcore.teaching.exercises.exercise import ExerciseName
from shardcore.teaching.exercises.sheet import opened_sheet
from shardcore.teaching.hand_in import read_hand_in
from shardcore.teaching.lessons.fresh import is_fresh
from shardcore.teaching.lessons.library import missions
from shardscope.learning.exercises.dialogs import ExerciseDialog, HandInDialog
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.learning.lessons.player import LessonPlayer
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.views.structure.tree import StructureTree


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window on its welcome page."""
    made = MainWindow(settings)
    qtbot.addWidget(made)
    made.resize(1280, 800)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.close()


def begin(window: MainWindow, qtbot: QtBot, *, exam: bool = False) -> LessonPlayer:
    """Chooses an exercise in the dialog, and waits for its first step."""
    window.course.exercises.trigger()
    (dialog,) = window.findChildren(ExerciseDialog)
    assert [field.accessibleName() for field in (dialog.format, dialog.seed, dialog.exam)] == [
        "Format",
        "Number",
        "Exam",
    ]
    dialog.format.setCurrentIndex(dialog.format.findData("xorb"))
    dialog.seed.setValue(3)
    dialog.exam.setChecked(exam)
    assert dialog.minutes.isEnabled() is exam
    dialog.start.click()
    player = window.panels.panel(LessonPanel).player
    to_step(player, qtbot, 0)
    return player


def to_step(player: LessonPlayer, qtbot: QtBot, number: int) -> None:
    """Waits for a step."""
    qtbot.waitUntil(lambda: player.number == number and player.stage is not None, timeout=10_000)


def hand_in(window: MainWindow, qtbot: QtBot, target: Path) -> None:
    """Gives a name in the dialog that is open, and a place."""
    (dialog,) = window.findChildren(HandInDialog)
    assert not dialog.save.isEnabled()
    dialog.name.setText("Ada")
    dialog.save.click()
    chosen(window, target)
    qtbot.waitUntil(lambda: target.exists() and "Handed in" in window.notices.text, timeout=10_000)


def chosen(window: MainWindow, target: Path) -> None:
    """Chooses a place in the file dialog."""
    (dialog,) = window.findChildren(QFileDialog)
    dialog.fileSelected.emit(str(target))
    dialog.close()
    dialog.deleteLater()
    settle(window, 20)


@pytest.mark.thorough
def test_an_exercise_is_played_and_handed_in(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    """It is the exercise of the command line; a mistake is named, hints and solutions count; the file stays open."""
    assert not window.course.hand_in.isEnabled()
    player, panel = begin(window, qtbot), window.panels.panel(LessonPanel)
    with opened_sheet(ExerciseName("xorb", 3)) as sheet:
        assert player.lesson == sheet.lesson
        first = sheet.questions[0]
        wrong, why = next((answer, text) for answer, text in first.question.wrong if answer)
        answers = wrong, first.solution
    panel.next.click()
    to_step(player, qtbot, 1)
    panel.hint.click()
    for answer in answers:
        panel.question.field.setText(answer)
        panel.question.check.click()
        qtbot.waitUntil(lambda: player.verdict is not None and player.verdict.right is (answer == answers[1]))  # noqa: B023
        if answer == wrong:
            assert player.verdict is not None
            assert player.verdict.text.replace("\\", "") == why.replace("\\", "")
    panel.next.click()
    to_step(player, qtbot, 2)
    panel.show_me.click()
    qtbot.waitUntil(lambda: player.solved)
    assert window.settings.lesson_step("exercise-xorb-3-5") <= 0, "exercises are not remembered"
    window.course.hand_in.trigger()
    hand_in(window, qtbot, tmp_path / "ada.json")
    handed = read_hand_in(tmp_path / "ada.json")
    assert (handed.name, handed.kind, handed.format, handed.seed, handed.keys) == ("Ada", "exercise", "xorb", 3, 5)
    assert [(each.attempts, each.hints, each.shown) for each in handed.answers] == [(2, 1, False), (0, 0, True)]
    player.leave()
    settle(window, 20)
    assert is_fresh(window.session.request.uri)
    assert Path(window.session.request.uri).exists()


@pytest.mark.thorough
def test_an_exam_tells_nothing(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    """No verdict, hint, solution, lookup, drawing or list before the end; then it is handed in, and they are back."""
    player, panel = begin(window, qtbot, exam=True), window.panels.panel(LessonPanel)
    window.show_part("objects")
    assert not window.objects.isVisibleTo(window)
    assert not window.panels.panel(StructureTree).isVisibleTo(window)
    assert panel.isVisibleTo(window)
    assert "45 min left" in panel.counter.text()
    panel.next.click()
    to_step(player, qtbot, 1)
    assert panel.hint.isHidden()
    assert panel.more.isHidden()
    assert panel.show_me.isHidden()
    panel.question.field.setText("77")
    panel.question.check.click()
    qtbot.waitUntil(lambda: panel.question.verdict.text().endswith("Noted."))
    panel.next.click()
    to_step(player, qtbot, 2)
    panel.question.field.setText("88")
    panel.question.field.setFocus()
    qtbot.keyClick(panel.question.field, Qt.Key.Key_Return)
    player.go(3)
    to_step(player, qtbot, 3)
    qtbot.waitUntil(lambda: player.done is not None and len(player.done.answers) == 2)
    window.session.look_up("1")
    settle(window, 30)
    assert not window.session.walk.key
    assert window.objects.actions_.extracting.ask(None) is None
    assert not window.hex.drawings.sketches
    assert player.done is not None
    player.done.started -= 3600
    player._tick()
    hand_in(window, qtbot, tmp_path / "exam.json")
    handed = read_hand_in(tmp_path / "exam.json")
    assert (handed.kind, [answer.right for answer in handed.answers]) == ("exam", [False, False])
    window.session.look_up("1")
    qtbot.waitUntil(lambda: window.session.walk.steps > 0)
    assert window.objects.isVisibleTo(window)


@pytest.mark.thorough
def test_a_mission_is_done_when_the_sandbox_is_mended(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    """*Check* judges the bytes of the sandbox, not what is typed; a sandbox makes a mission, too."""
    mission = next(one for one in missions() if one.format == "swh")
    panel = window.panels.panel(LessonPanel)
    player = panel.player
    player.start(mission, step=len(mission.steps) - 1)
    to_step(player, qtbot, len(mission.steps) - 1)
    assert panel.show_me.isHidden()
    check(player, panel, qtbot, right=False)
    sandbox = window.breaking.sandbox
    with qtbot.waitSignal(window.session.opened, timeout=10_000):
        sandbox.switch(True)
    settle(window, 40)
    window.session.select_span(Span("", 5052, 5053))
    sandbox.flip(0)
    qtbot.waitUntil(lambda: bool(sandbox.changes), timeout=10_000)
    settle(window, 40)
    to_step(player, qtbot, len(mission.steps) - 1)
    check(player, panel, qtbot, right=True)
    window.course.mission.trigger()
    chosen(window, tmp_path / "mine.zip")
    qtbot.waitUntil(lambda: "Mission written" in window.notices.text, timeout=10_000)
    with zipfile.ZipFile(tmp_path / "mine.zip") as archive:
        assert sorted(archive.namelist()) == ["damaged.shard", "mission-damaged.md"]
    sandbox.start_over()
    settle(window, 40)


def check(player: LessonPlayer, panel: LessonPanel, qtbot: QtBot, *, right: bool) -> None:
    """Presses *Check*, and waits for the verdict."""
    qtbot.waitUntil(panel.question.check.isEnabled)
    panel.question.check.click()
    qtbot.waitUntil(lambda: player.verdict is not None, timeout=10_000)
    assert player.verdict is not None
    assert player.verdict.right is right
