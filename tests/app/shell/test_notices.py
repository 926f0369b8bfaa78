"""One stack of notices: errors stay, successes go, the bytes make room, an extraction reports what became of it."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from shardcore.errors import ShardError
from shardcore.teaching import resources
from shardcore.writing import temporary
from shardcore.writing.temporary import TemporaryFile
from shardscope.session.jobs import Job, JobState
from shardscope.shell import notices as module
from shardscope.shell.main_window import MainWindow
from shardscope.shell.notices import Button, Notices, NoticeTone
from shardscope.shell.screenshot import settle
from tests.app.conftest import extract_to


@pytest.fixture
def shown(window: MainWindow, data: Path) -> MainWindow:
    """A window with twelve objects, all of them selected."""
    window.resize(1200, 800)
    window.open(str(data / "swh" / "small.shard"))
    settle(window, 60)
    window.objects.table.selectAll()
    return window


def extract(window: MainWindow, folder: Path) -> None:
    """Extracts what is selected, to the end."""
    assert extract_to(window.objects.actions_, folder) is not None
    settle(window, 60)


def tones(window: MainWindow) -> list[NoticeTone]:
    """The severities of the notices."""
    return [notice._tone for notice in window.notices.all]


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full after five files and the beginning of the manifest."""
    files: set[object] = set()
    write, write_small = TemporaryFile.write, temporary._write_small

    def full(file: object) -> OSError | None:
        files.add(file)
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) if len(files) > 6 else None

    def limited(file: TemporaryFile, content: bytes) -> None:
        if (error := full(file)) is not None:
            raise file._failed(error)
        write(file, content)

    def limited_small(path: Path, *rest: Any) -> Path:
        if path.name != "settings.json" and (error := full(path)) is not None:
            raise error
        return write_small(path, *rest)

    monkeypatch.setattr(TemporaryFile, "write", limited)
    monkeypatch.setattr(temporary, "_write_small", limited_small)


@pytest.mark.thorough
def test_a_failed_extraction_replaces_the_earlier_notice(shown: MainWindow, tmp_path: Path) -> None:
    """A file where the folder should be: a red notice with counts and reason; the green one is gone."""
    extract(shown, tmp_path / "out")
    assert tones(shown) == [NoticeTone.SUCCESS]
    assert shown.notices.text == "12 files written to out"
    (tmp_path / "taken").touch()
    extract(shown, tmp_path / "taken")
    assert tones(shown) == [NoticeTone.ERROR]
    assert shown.notices.text.startswith("0 of 12 files written to taken; stopped: cannot create the folder")
    assert shown.notices.text.endswith("it is a file")
    jobs = shown.transfers.jobs.model
    assert jobs.job(jobs.index(0, 0)).state is JobState.FAILED
    assert jobs.index(0, 4).data() == shown.notices.text


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_reported_with_counts(shown: MainWindow, tmp_path: Path) -> None:
    """With the manifest on: how many of how many files, and why not more."""
    extract(shown, tmp_path / "out")
    assert tones(shown) == [NoticeTone.ERROR]
    assert shown.notices.text.startswith("5 of 12 files written to out; ")
    assert "No space left on device" in shown.notices.text
    jobs = shown.transfers.jobs.model
    assert "No space left on device" in jobs.index(0, 4).data()


@pytest.mark.thorough
def test_an_extraction_is_shown_at_once_and_can_be_cancelled(shown: MainWindow, tmp_path: Path) -> None:
    """The notice with Cancel is there before a file is; afterwards it reports that it was cancelled."""
    job = extract_to(shown.objects.actions_, tmp_path / "out")
    assert job is not None
    assert shown.notices.text.startswith("Extracting to ")
    assert [button.text() for button in shown.notices.buttons] == ["Cancel"]
    shown.notices.button.click()
    settle(shown, 60)
    assert shown.notices.text.startswith("Cancelled: ")
    assert "files written to out" in shown.notices.text
    assert tones(shown) == [NoticeTone.WARNING]
    again = shown.notices.buttons[-1]
    assert again.text() in ("Resume", "Retry")
    again.click()
    settle(shown, 60)
    assert tones(shown)[0] in (NoticeTone.SUCCESS, NoticeTone.NOTE)
    assert len([path for path in (tmp_path / "out").iterdir() if not path.name.startswith("manifest")]) == 12


@pytest.mark.thorough
def test_the_progress_of_an_extraction_outlives_its_file(shown: MainWindow, tmp_path: Path) -> None:
    """It goes on when another file is opened, and so does its notice; other notices go with their file."""
    shown.notices.tell("Something about this file")
    job = extract_to(shown.objects.actions_, tmp_path / "out")
    shown.session.close()
    assert "Something" not in shown.notices.text
    if job is not None and not job.state.ended:
        assert shown.notices.text.startswith("Extracting to ")
    settle(shown, 60)
    assert shown.notices.text == "12 files written to out"


def test_a_success_goes_by_itself_and_an_error_stays(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went well needs no click; what went wrong is dismissed by a click only."""
    assert module.FADES_MILLISECONDS == 6_000
    monkeypatch.setattr(module, "FADES_MILLISECONDS", 20)
    for tone in NoticeTone:
        window.notices.tell(f"This is {tone.name}", tone)
    qtbot.waitUntil(lambda: "SUCCESS" not in window.notices.text)
    qtbot.wait(60)
    assert len(window.notices.all) == len(NoticeTone) - 1
    window.session.say("A picture was saved")
    assert tones(window)[-1] is NoticeTone.SUCCESS
    window.session.say("A picture cannot be saved", failed=True)
    assert tones(window)[-1] is NoticeTone.ERROR


@pytest.mark.thorough
def test_notices_cover_nothing(shown: MainWindow, qtbot: QtBot) -> None:
    """Rows and legend are above the notices, also at the end of the file, where the last row stays visible."""
    state = shown.hex.state
    state.scroll_to(state.layout.size - 1)
    settle(shown, 20)
    assert state.visible_bytes[1] >= state.layout.size
    for number in range(8):
        shown.notices.tell(f"Trouble {number} with these bytes. " * (number + 1), action="Help", do=lambda: None)
        qtbot.wait(10)
        top = shown.notices.mapTo(shown, QPoint(0, 0)).y()
        for part in (shown.hex.view, shown.hex.legend):
            assert part.isVisible()
            assert part.mapTo(shown, QPoint(0, part.height())).y() <= top
        assert state.visible_bytes[1] >= state.layout.size
    assert shown.notices.height() <= shown.notices.parentWidget().height() // 2 + 8
    assert not shown.notices.all[-1].isHidden()
    assert shown.notices.all[0].isHidden()
    while shown.notices.all:
        shown.notices.all[-1].dismiss.click()
    assert shown.notices.isHidden()


def test_a_long_text_is_seen_whole(window: MainWindow, qtbot: QtBot) -> None:
    """The height follows the lines, for the first notice and for a later one."""
    for number in range(2):
        window.notices.tell(f"{number}: /a/folder/of/a/name " * 9, action="Do something", do=lambda: None)
        qtbot.wait(20)
    for notice in window.notices.all:
        label = notice.label
        assert label.height() >= label.heightForWidth(label.width())


@pytest.mark.parametrize("size", [(1440, 900), (1000, 640), (640, 420), (300, 1200)])
def test_a_notice_is_readable_at_any_width(qtbot: QtBot, size: tuple[int, int]) -> None:
    """No line of its text, and none of its buttons, is cut; a word may be as long as a digest."""
    window = QWidget()
    qtbot.addWidget(window)
    stack = Notices(window)
    window.resize(size[0], size[1] // 2)
    window.show()
    names = ("Try again", "Choose a profile…", "Change the address…")
    text = f"The server does not know {'0123456789abcdef' * 4}: another address may."
    notice = stack.tell(text, buttons=[Button(name, lambda: None) for name in names])
    layout = notice.layout()
    assert layout is not None
    stack.resize(window.width(), stack.height())
    qtbot.waitUntil(lambda: notice.width() == window.width() - 8)
    layout.activate()
    assert notice.label.text == text
    assert notice.label.width() >= 180
    assert notice.label.height() >= notice.label.heightForWidth(notice.label.width())
    for button in notice.buttons:
        assert button.width() >= button.sizeHint().width()
        assert notice.rect().contains(button.geometry())


def test_a_subject_has_one_notice(qtbot: QtBot) -> None:
    """A later notice on the same subject replaces the earlier one; others stay, the latest last."""
    window = QWidget()
    qtbot.addWidget(window)
    stack = Notices(window)
    for text in ("first", "second"):
        stack.tell(text, about="the file")
    stack.tell("other")
    stack.tell("other")
    assert [notice.text for notice in stack.all] == ["second", "other"]


@pytest.mark.thorough
def test_recovering_is_offered_where_it_is_needed(window: MainWindow, data: Path, tmp_path: Path) -> None:
    """A damaged file: in its notice and in the empty list of objects; not for a sound one."""
    window.open(str(data / "swh" / "small.shard"))
    settle(window, 60)
    button = window.objects.salvage_button
    assert button is not None
    assert button.isHidden()
    path = tmp_path / "cut.shard"
    content = (data / "swh" / "small.shard").read_bytes()
    path.write_bytes(content[: len(content) // 2])
    window.open(str(path))
    settle(window, 60)
    window.show_part("objects")
    assert window.notices.text.startswith("Damaged: ")
    assert button.isVisible()
    assert button.text() in [one.text() for one in window.notices.buttons]
    button.click()
    settle(window, 60)
    assert window.breaking.salvaging.sheet is not None
    window.breaking.salvaging.sheet.reject()
    window.notices.buttons[-1].click()
    assert window.breaking.salvaging.sheet is not None
    window.breaking.salvaging.sheet.reject()
    settle(window, 60)


@pytest.mark.thorough
def test_a_damaged_file_of_a_folder_is_opened_alone(window: MainWindow, tmp_path: Path) -> None:
    """Its bytes are not shown in the folder; one button opens the file, which can be recovered."""
    folder = tmp_path / "archive"
    shutil.copytree(resources.resources() / "samples/des/archive", folder)
    first = min(folder.glob("*.des"))
    first.write_bytes(first.read_bytes()[:300])
    window.open(str(folder))
    settle(window, 60)
    assert window.notices.text.startswith(f"{first.name} is damaged: ")
    assert not window.breaking.actions.salvage.isEnabled()
    window.notices.buttons[0].click()
    settle(window, 60)
    assert window.session.uri == str(first)
    assert window.breaking.actions.salvage.isEnabled()


def test_quitting_while_files_are_written_asks(shown: MainWindow, tmp_path: Path) -> None:
    """*Keep running* keeps window and extraction; the question is not asked once nothing is written any more."""
    hold, entered = threading.Event(), threading.Event()

    def work(_: Job) -> None:
        entered.set()
        hold.wait(20)

    shown.jobs.submit(work, title="Extract 12 objects", lasting=True)
    assert entered.wait(10)
    shown.close()
    box = shown.findChild(QMessageBox, "quitWhileWriting")
    assert isinstance(box, QMessageBox)
    assert box.text() == "Still running: Extract 12 objects."
    box.reject()
    assert shown.isVisible()
    hold.set()
    settle(shown, 60)
    shown.close()
    assert not shown.isVisible()


@pytest.mark.parametrize("succeeds", [True, False])
def test_the_window_quits_once_the_files_are_written(shown: MainWindow, succeeds: bool) -> None:
    """The question goes with the job it asks about; an error keeps the window, which says it."""
    hold = threading.Event()

    def work(_: Job) -> None:
        hold.wait(20)
        if not succeeds:
            raise ShardError("the disk is full")

    shown.jobs.submit(work, title="Extract 12 objects", lasting=True)
    shown.close()
    box = shown.findChild(QMessageBox, "quitWhileWriting")
    assert isinstance(box, QMessageBox)
    hold.set()
    settle(shown, 60)
    assert shown.findChild(QMessageBox, "quitWhileWriting") is None
    assert shown.isVisible() is not succeeds
