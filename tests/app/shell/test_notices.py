"""One stack of notices: errors stay, successes go, the bytes make room, an extraction reports what became of it."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from shardcore.errors import ShardError
from shardcore.teaching import resource_paths
from shardcore.writing import temporary
from shardcore.writing.temporary import TemporaryFile
from shardscope.session.jobs import Job, JobState
from shardscope.shell import notices as module
from shardscope.shell.main_window import MainWindow
from shardscope.shell.notices import Notices, NoticeTone
from shardscope.shell.screenshot import settle
from tests.app.conftest import extract_to
from tests.app.shell.conftest import asked


@pytest.fixture
def shown(window: MainWindow, data: Path) -> MainWindow:
    window.resize(1200, 800)
    window.open(str(data / "swh" / "small.shard"))
    settle(window, 60)
    window.objects.table.selectAll()
    return window


def extract(window: MainWindow, folder: Path) -> None:
    assert extract_to(window.objects.actions_, folder) is not None
    settle(window, 60)


def tones(window: MainWindow) -> list[NoticeTone]:
    return [notice._tone for notice in window.notices.all]


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    files: set[object] = set()
    write, write_small = TemporaryFile.write, temporary._write_small

    def full(file: object) -> OSError | None:
        files.add(file)
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) if len(files) > 6 else None

    def limited(file: TemporaryFile, content: bytes) -> None:
        if (error := full(file)) is not None:
            with file._writing():
                raise error
        write(file, content)

    def limited_small(path: Path, *rest: Any) -> Path:
        if path.name != "settings.json" and (error := full(path)) is not None:
            raise error
        return write_small(path, *rest)

    monkeypatch.setattr(TemporaryFile, "write", limited)
    monkeypatch.setattr(temporary, "_write_small", limited_small)


@pytest.mark.thorough
def test_a_failed_extraction_replaces_the_earlier_notice(shown: MainWindow, tmp_path: Path) -> None:
    extract(shown, tmp_path / "out")
    assert tones(shown) == [NoticeTone.SUCCESS]
    assert shown.notices.text == "12 files written to out"
    (tmp_path / "taken").touch()
    extract(shown, tmp_path / "taken")
    assert tones(shown) == [NoticeTone.ERROR]
    assert shown.notices.text.startswith("0 of 12 files written to taken; stopped: cannot create the folder")
    assert shown.notices.text.endswith("a file of that name exists")
    jobs = shown.transfers.jobs.model
    assert jobs.things[0].state is JobState.FAILED
    assert jobs.index(0, 4).data() == shown.notices.text


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_reported_with_counts(shown: MainWindow, tmp_path: Path) -> None:
    extract(shown, tmp_path / "out")
    assert tones(shown) == [NoticeTone.ERROR]
    assert shown.notices.text.startswith("5 of 12 files written to out; ")
    assert "No space left on device" in shown.notices.text


@pytest.mark.thorough
def test_an_extraction_is_shown_at_once_and_can_be_cancelled(shown: MainWindow, tmp_path: Path) -> None:
    job = extract_to(shown.objects.actions_, tmp_path / "out")
    assert job is not None
    assert shown.notices.text.startswith("Extracting to ")
    shown.notices.all[0].set_text("")
    shown.session.jobs.changed.emit(job)
    assert shown.notices.text.startswith("Extracting to "), "its progress"
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
    shown.notices.add_notice("Something about this file")
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
    monkeypatch.setattr(module, "FADES_MILLISECONDS", 20)
    for tone in NoticeTone:
        window.notices.add_notice(f"This is {tone.name}", tone)
    qtbot.waitUntil(lambda: "SUCCESS" not in window.notices.text)
    assert len(window.notices.all) == len(NoticeTone) - 1
    window.session.say("A picture was saved")
    assert tones(window)[-1] is NoticeTone.SUCCESS
    window.session.say("A picture cannot be saved", failed=True)
    assert tones(window)[-1] is NoticeTone.ERROR


def test_a_subject_has_one_notice(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    stack = Notices(window)
    for text in ("first", "second"):
        stack.add_notice(text, about="the file")
    stack.add_notice("other")
    stack.add_notice("other")
    assert [notice.text for notice in stack.all] == ["second", "other"]
    stack.all[1].dismiss.click()
    done: list[str] = []
    stack.add_notice("The file changed.", NoticeTone.WARNING, action="Reload", do=lambda: done.append("reloaded"))
    stack.button.click()
    assert (done, stack.text) == (["reloaded"], "second")


@pytest.mark.thorough
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(
    "sample", ["swh/small.shard", "xorb/chunks.xorb", "bloscpack/array.blp", "des/contents.des", "mdb/cache/b31*.mdb"]
)
def test_a_cut_file_says_where_and_what_to_do(window: MainWindow, tmp_path: Path, sample: str, share: float) -> None:
    (whole,) = (resource_paths.resources() / "samples").glob(sample)
    content = whole.read_bytes()
    window.open(str(whole))
    settle(window, 60)
    window.show_part("objects")
    button = window.objects.salvage_button
    assert button.isHidden()
    # A record that is cut is only the first of a xorb if the name says so.
    for name in (f"cut{whole.suffix}", "cut")[: 1 if (whole.suffix, share) == (".xorb", 0.1) else 2]:
        path = tmp_path / name
        path.write_bytes(content[: round(len(content) * share)])
        window.open(str(path))
        settle(window, 60)
        assert "0x" in window.notices.text
        assert [one.text() for one in window.notices.buttons] == ["Show bytes", "Open as…", "Recover objects…"]
        window.notices.buttons[0].click()
        assert window.session.selection.span is not None
        assert button.isVisible() or whole.suffix != ".shard"
        window.notices.buttons[2].click()
        settle(window, 60)
        assert "damaged" in window.sandbox_shell.salvaging.sheet.title.text()
        window.sandbox_shell.salvaging.sheet.reject()


NAMED = {
    "Too large to drag: extract the objects instead": ["Extract…"],
    "It was closed. Reload it.": ["Reload"],
    "No specification. Choose File > Open as… and give the specification.": ["Open as…"],
    "Choose Use sandbox, or Edit > Allow changes to this file": [
        "Use sandbox",
        "Allow changes to this file",
    ],
    "DracoPy is not installed: pip install 'shardscope[decoders]'": ["Copy command"],
    "Cannot copy: out of memory": [],
}


def test_a_notice_has_the_buttons_of_the_actions_that_it_names(shown: MainWindow) -> None:
    for text, labels in NAMED.items():
        shown.notices.clear()
        shown.session.say(text, failed=True)
        assert [one.text() for one in shown.notices.buttons] == labels
        if labels == ["Copy command"]:
            shown.notices.button.click()
            assert QGuiApplication.clipboard().text() == "pip install 'shardscope[decoders]'"


@pytest.mark.thorough
def test_a_damaged_file_of_a_folder_is_opened_alone(window: MainWindow, tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    shutil.copytree(resource_paths.resources() / "samples/des/archive", folder)
    first = min(folder.glob("*.des"))
    first.write_bytes(first.read_bytes()[:300])
    window.open(str(folder))
    settle(window, 60)
    assert window.notices.text.startswith(f"{first.name} is damaged: ")
    assert not window.sandbox_shell.actions.salvage.isEnabled()
    window.notices.buttons[0].click()
    settle(window, 60)
    assert window.session.uri == str(first)
    assert window.sandbox_shell.actions.salvage.isEnabled()


@pytest.mark.parametrize("succeeds", [True, False])
def test_quitting_asks_while_files_are_written_and_follows_once_they_are(
    qtbot: QtBot, shown: MainWindow, succeeds: bool
) -> None:
    hold = threading.Event()

    def work(_: Job) -> None:
        hold.wait(60)
        if not succeeds:
            raise ShardError("the disk is full")

    shown.jobs.submit(work, title="Extract 12 objects", lasting=True)
    shown.close()
    box = asked(qtbot, shown, "quitWhileWriting")
    assert box.text() == "Still running: Extract 12 objects."
    box.reject()
    assert shown.isVisible()
    shown.close()
    asked(qtbot, shown, "quitWhileWriting")
    hold.set()
    settle(shown, 60)
    assert shown.findChild(QMessageBox, "quitWhileWriting") is None
    assert shown.isVisible() is not succeeds
