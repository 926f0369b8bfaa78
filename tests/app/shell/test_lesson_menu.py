"""Lessons in the window: drawings come and go with the steps, what was open comes back, own texts are tried."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from shardcore.teaching.lessons.answers import Given
from shardcore.teaching.lessons.lesson_step import FRESH
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.shell.main_window import MainWindow

TEXT = """# Mine
format: swh
sample: beside.shard

## Drawn

- lookup: {key}
- show drawing: parking displacement=0
- ask: Click the first slot.
- answer item: slot {f in Bucket, first slot, step} of parking
- wrong h of parking: that is the step
- wrong: another one
- reveal drawing: displacement

## Of the sample

- show: header/version

## Without

- show: header/magic

## New

- fresh: 4
- show: header
"""


@pytest.fixture
def own(tmp_path: Path, data: Path) -> Path:
    shutil.copy(data / "swh/small.shard", tmp_path / "beside.shard")
    text = tmp_path / "mine.md"
    text.write_text(TEXT)
    return text


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.thorough
def test_what_a_lesson_does_to_the_window(
    qtbot: QtBot, window: MainWindow, own: Path, data: Path, scratch: Path
) -> None:
    mine = str(data / "swh/deleted.shard")
    window.open(mine)
    qtbot.waitUntil(lambda: window.session.uri == mine)
    panel, drawings = window.panels.panel(LessonPanel), window.hex.drawings
    player, teaching = panel.player, window.teaching

    own.with_name("bad.md").write_text("# Bad\n\n## Step\n\n- ask: what?\n- answer colour: red\n")
    teaching.try_lesson(own.with_name("bad.md"), own=False)
    qtbot.waitUntil(lambda: "bad.md" in window.notices.text and "line 6" in window.notices.text)

    teaching.try_lesson(own, own=False)
    qtbot.waitUntil(lambda: player.stage is not None and drawings.in_front)
    assert window.session.uri == str(own.with_name("beside.shard"))
    qtbot.waitUntil(lambda: drawings.panel is not None and drawings.panel.values == {"displacement": 0})
    drawings.item_chosen.emit("parking", "h")
    assert not panel.question.verdict.text(), "looking around in a drawing is no answer"
    panel.question.check.click()
    qtbot.waitUntil(lambda: "that is the step" in panel.question.verdict.text())
    drawings.item_chosen.emit("parking", "")
    panel.question.check.click()
    qtbot.waitUntil(lambda: "another one" in panel.question.verdict.text())
    panel.show_me.click()
    qtbot.waitUntil(lambda: drawings.panel is not None and drawings.panel.name == "displacement")
    panel.next.click()
    qtbot.waitUntil(lambda: player.number == 1 and player.stage is not None and not drawings.in_front)

    # The text is watched: a mistake is told with its line, the mended text goes on at the same step.
    own.write_text(TEXT.replace("- show: header/version", "- shew: header/version\n\nNew words."))
    qtbot.waitUntil(lambda: "line 17" in window.notices.text)
    assert player.stage is not None, "what was read before is still there"
    own.write_text(TEXT.replace("- show: header/version", "New words.\n\n- show: header/nothing"))
    qtbot.waitUntil(lambda: panel.trouble.text().startswith("Line 19"))
    assert player.number == 1
    own.write_text(TEXT.replace("- show: header/version", "New words."))
    panel.reload.click()
    qtbot.waitUntil(lambda: panel.text.text() == "New words.")
    assert not window.notices.text

    other = str(data / "xorb/bare_chunks.xorb")
    window.open(other)
    qtbot.waitUntil(lambda: player.astray == "bare_chunks.xorb")
    assert panel.on.isVisible()
    assert not panel.next.isEnabled()
    assert "leave the lesson" in panel.trouble.text()
    panel.on.click()
    qtbot.waitUntil(lambda: not player.astray and player.stage is not None)
    assert not panel.on.isVisible()

    player.go(3)
    qtbot.waitUntil(lambda: player.number == 3 and player.stage is not None)
    assert [path.name.startswith(FRESH) for path in scratch.iterdir()] == [True]
    assert not [uri for uri in window.settings.recent if FRESH in uri]
    qtbot.mouseClick(panel.leave, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.session.uri == mine)
    qtbot.waitUntil(lambda: not list(scratch.iterdir()))
    assert not drawings.in_front

    teaching.try_lesson(own, own=True)
    qtbot.waitUntil(lambda: player.stage is not None)
    player.go(1)
    qtbot.waitUntil(lambda: player.number == 1 and player.stage is not None)
    assert window.session.uri == mine, "it is played on the file that is open"
    assert panel.next.isEnabled()
    player.answer(Given("1"))

    player.go(3)
    qtbot.waitUntil(lambda: bool(player.stage) and bool(list(scratch.iterdir())))
    window.close()
    assert not list(scratch.iterdir())


def test_a_lesson_on_an_open_file_is_in_front(qtbot: QtBot, window: MainWindow, own: Path, data: Path) -> None:
    with qtbot.waitSignal(window.session.opened):
        window.open(str(data / "swh/small.shard"))
    assert not window.panels.in_front("lessons")
    window.teaching.try_lesson(own, own=True)
    qtbot.waitUntil(lambda: window.panels.in_front("lessons"))
    assert window.panels.panel(LessonPanel).player.trying


@pytest.mark.thorough
def test_a_lesson_that_was_closed_stays_closed(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    window.teaching.learn("swh")
    panel = window.panels.panel(LessonPanel)
    qtbot.waitUntil(lambda: panel.player.stage is not None and window.panels.in_front("lessons"))
    dock = window.panels.by_name["lessons"]
    dock.close()
    window.open(str(data / "swh/deleted.shard"))
    qtbot.waitUntil(lambda: window.session.uri.endswith("deleted.shard"))
    assert dock.isHidden()
    window.actions_["lessons"].trigger()
    qtbot.waitUntil(lambda: not dock.isHidden())
    window.open(str(data / "swh/small.shard"))
    qtbot.waitUntil(lambda: window.session.uri.endswith("small.shard"))
    assert not dock.isHidden()
