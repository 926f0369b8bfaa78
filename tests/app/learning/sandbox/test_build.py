"""Files built by hand in the window: the lessons, an empty file of one's own, and a copy of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

import shardcore
from shardcore.teaching.lessons.lesson import built_before, bytes_at
from shardcore.teaching.lessons.library import lessons
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.learning.sandbox.panel import SandboxPanel
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings


@pytest.fixture(scope="module")
def window(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainWindow]:
    """A window for all of these tests."""
    made = MainWindow(Settings(tmp_path_factory.mktemp("settings") / "settings.json"))
    made.resize(1300, 800)
    made.show()
    yield made
    made.breaking.sandbox.drop()
    made.close()


def until(there: Callable[[], bool]) -> None:
    """Waits until something is so."""
    end = time.monotonic() + 40
    while not there():
        assert time.monotonic() < end
        QTest.qWait(2)


def typed(panel: SandboxPanel, text: str) -> None:
    """Types bytes into the field of the sandbox, and appends them."""
    before = panel.sandbox.changes
    panel.field.setText(text)
    panel.append.click()
    until(lambda: panel.sandbox.changes != before)


@pytest.mark.thorough
def test_a_lesson_is_built_by_typing_its_bytes(window: MainWindow, tmp_path: Path) -> None:
    """Each step is right as soon as its bytes are there, wrong bytes are not, *Show me* writes them; a copy is kept."""
    lesson = next(lesson for lesson in lessons() if lesson.name == "bloscpack-4-build-one")
    lesson_panel, panel = window.panels.panel(LessonPanel), window.panels.panel(SandboxPanel)
    player = lesson_panel.player
    lesson_panel.begin(lesson)
    until(lambda: player.stage is not None and panel.sandbox.on and panel.sandbox.missing is not None)
    assert panel.append.isVisibleTo(panel)
    assert panel.news.text.startswith("The header needs 32 bytes: byte 0, magic")
    typed(panel, "62 6c 70 6c 03")
    until(lambda: player.stage is not None and panel.news.text.startswith("Byte 0, magic"))
    panel.actions_.undo.trigger()
    until(lambda: not window.session.request.changes and player.stage is not None)
    lesson_panel.question.field.setText("62 6c 70 6c 03")
    lesson_panel.question.check.click()
    until(lambda: player.verdict is not None)
    assert player.verdict is not None
    assert not player.verdict.right
    assert "Byte 3 is `6c`" in player.verdict.text
    panel.actions_.undo.trigger()  # and at once, before the file is open without them:
    lesson_panel.question.field.setText("62 6c 70 6b")
    lesson_panel.question.check.click()
    until(lambda: [one.data for one in window.session.request.changes] == [b"blpk"] and player.stage is not None)
    until(lambda: panel.sandbox.source is not None and panel.sandbox.source.size == 4)
    panel.actions_.undo.trigger()
    until(lambda: not window.session.request.changes and player.stage is not None)
    for number in range(len(lesson.steps) - 1):
        until(lambda number=number: player.number == number and player.stage is not None)
        question = lesson.steps[number].question
        assert question is not None
        if number == 2:
            player.show_answer()
        else:
            built = bytes_at(question.answer)
            assert built is not None
            lesson_panel.question.field.setText(built[1].hex(" "))
            lesson_panel.question.check.click()
        until(lambda: player.solved)
        assert player.verdict is not None
        assert player.verdict.shown is (number == 2)
        player.go(number + 1)
    until(lambda: panel.sandbox.missing is None and "accepts" in panel.news.text)
    copy = tmp_path / "copy.blp"
    panel.sandbox.save(copy, agreed=False, failed=lambda error: pytest.fail(str(error)))
    until(lambda: not panel.sandbox.unsaved)
    assert copy.read_bytes() == b"".join(data for _, data in built_before(lesson, len(lesson.steps)))
    player.leave()
    until(lambda: not window.session.request.sandbox)
    window.session.close_all()
    settle(window, 20)


def test_a_lesson_goes_on_with_what_was_built(window: MainWindow) -> None:
    """Whoever begins in the middle finds the bytes of the steps before in the sandbox."""
    lesson = next(lesson for lesson in lessons() if lesson.name == "neuroglancer-4-build-one")
    lesson_panel, panel = window.panels.panel(LessonPanel), window.panels.panel(SandboxPanel)
    lesson_panel.player.start(lesson, step=5)
    until(lambda: lesson_panel.player.stage is not None and panel.sandbox.missing is not None)
    assert panel.sandbox.source is not None
    assert panel.sandbox.source.size == 59
    assert "minishard index 0 needs 48 bytes: byte 0x3b, offsets" in panel.news.text
    panel.sandbox.drop()
    lesson_panel.player.leave()
    window.session.close_all()
    settle(window, 20)


@pytest.mark.thorough
def test_an_empty_file_of_each_format_is_built(window: MainWindow, tmp_path: Path) -> None:
    """*New empty file in the sandbox…* asks for the format; pasted bytes grow it, too; nothing is on disk."""
    panel = window.panels.panel(SandboxPanel)
    dialog = window.breaking.ask_new()
    assert "Bloscpack" in dialog.comboBoxItems()
    dialog.reject()
    for format in ("bloscpack", "swh", "neuroglancer"):
        window.breaking.open_new(format)
        until(lambda: panel.sandbox.on and panel.sandbox.grows and window.session.request.format == format)  # noqa: B023 - at once
        until(lambda: panel.sandbox.missing is not None)
        QApplication.clipboard().setText("41 42 43 44")
        window.byte_editing.paste()
        until(lambda: panel.sandbox.source is not None and panel.sandbox.source.size == 4)
        assert Path(window.session.request.uri).read_bytes() == b""
        panel.sandbox.drop()
        window.session.close_all()
        settle(window, 20)
    with pytest.raises(shardcore.ShardError):
        shardcore.open(b"ABCD", format="bloscpack")
