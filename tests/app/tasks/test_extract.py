"""The sheet for extracting, by keyboard; what comes afterwards."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardcore.operations.extraction import Conflict
from shardscope.session.extraction import ExtractionRequest
from shardscope.session.object_rows import RowRanges
from shardscope.session.session import Session
from shardscope.shell.notices import ExtractionNotices, Notices, NoticeTone
from shardscope.startup.settings import Settings
from shardscope.tasks.extract import ASK, ExtractDialog
from shardscope.views.activity import JobDialog
from shardscope.views.objects.panel import ObjectPanel
from tests.app.conftest import open_in, visible


@pytest.fixture
def panel(qtbot: QtBot, session: Session, settings: Settings, data: Path) -> ObjectPanel:
    """The panel on 12 objects and an unused slot."""
    made = visible(qtbot, ObjectPanel(session, settings), 900, 500)
    open_in(session, qtbot, data / "swh" / "small.shard")
    qtbot.waitUntil(lambda: made.model.rowCount() == 13)
    return made


def sheet_of(qtbot: QtBot, panel: ObjectPanel) -> ExtractDialog:
    """The sheet that is open, once it knows how much there is."""
    qtbot.waitUntil(lambda: panel.findChild(ExtractDialog) is not None)
    sheet = panel.findChild(ExtractDialog)
    qtbot.waitUntil(lambda: "object" in sheet.total.text())
    return sheet


def type_folder(sheet: ExtractDialog, folder: Path) -> None:
    """Replaces the folder, which is selected when the sheet opens, by typing."""
    line = sheet.where.lineEdit()
    assert line.hasSelectedText()
    QTest.keyClicks(line, str(folder))


def written(folder: Path) -> set[str]:
    """The files of a folder, without manifests."""
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    return {name for name in names if not name.startswith("manifest")}


def test_all_are_extracted_by_keyboard(qtbot: QtBot, panel: ObjectPanel, settings: Settings, tmp_path: Path) -> None:
    panel.table.selectionModel().clear()
    assert not panel.actions_.extract.isEnabled()
    panel.actions_.extract_all.trigger()
    sheet = sheet_of(qtbot, panel)
    assert sheet.total.text().startswith("12 objects, ")
    type_folder(sheet, tmp_path / "out")
    guess = sheet.form.fields["guess_extension"].box
    guess.setFocus()
    QTest.keyClick(guess, Qt.Key.Key_Space)
    with qtbot.waitSignal(panel.actions_.extracting.finished):
        QTest.keyClick(sheet.focusWidget(), Qt.Key.Key_Return)
    assert len(written(tmp_path / "out")) == 12
    assert settings.folders == [str(tmp_path / "out")]
    kept = {"folders": "yes", "conflict": "ask", "guess_extension": "yes", "skip_unused": "yes", "manifest": "yes"}
    assert settings.extraction == kept
    panel.table.selectAll()
    panel.actions_.extract.trigger()
    sheet_of(qtbot, panel)
    panel._session.close()
    qtbot.waitUntil(lambda: panel.findChild(ExtractDialog) is None)


@pytest.mark.parametrize(("answer", "names"), [(Conflict.SKIP, 12), (Conflict.RENAME, 24), (Conflict.REPLACE, 12)])
def test_a_second_run_asks(qtbot: QtBot, panel: ObjectPanel, tmp_path: Path, answer: Conflict, names: int) -> None:
    """Existing files are counted before anything is written, and one answer holds for all of them."""
    out = tmp_path / "out"
    extracting = panel.actions_.extracting
    for run in range(2):
        extracting.ask(None)
        sheet = sheet_of(qtbot, panel)
        if not run:
            type_folder(sheet, out)
        assert sheet.conflict.currentData() == ASK
        with qtbot.waitSignal(extracting.finished) as told:
            sheet.extract.click()
            if run:
                qtbot.waitUntil(lambda: sheet.pages.currentIndex() == 1)  # noqa: B023
                assert sheet.answers[Conflict.SKIP].isDefault()
                QTest.keyClick(sheet.answers[answer], Qt.Key.Key_Space)
        qtbot.waitUntil(lambda: panel.findChild(ExtractDialog) is None)
    assert told.args[0].found.manifest == out / "manifest-2.json"
    assert len(written(out)) == names


def test_back_and_escape(qtbot: QtBot, panel: ObjectPanel, tmp_path: Path) -> None:
    out = tmp_path / "out"
    rows = RowRanges.all_of(2)
    extracting = panel.actions_.extracting
    shard = panel._session.shard
    with qtbot.waitSignal(extracting.finished):
        extracting.start(ExtractionRequest(shard, panel._session.request, rows, out))
    before = written(out)
    extracting.ask(rows)
    sheet = sheet_of(qtbot, panel)
    type_folder(sheet, out)
    sheet.extract.click()
    qtbot.waitUntil(lambda: sheet.pages.currentIndex() == 1)
    sheet.back.click()
    assert sheet.pages.currentIndex() == 0
    assert sheet.extract.isEnabled()
    QTest.keyClick(sheet, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: panel.findChild(ExtractDialog) is None)
    assert written(out) == before


def test_deleted_objects_are_a_choice(
    qtbot: QtBot, session: Session, settings: Settings, data: Path, tmp_path: Path
) -> None:
    shutil.copytree(data / "des" / "sidecar", tmp_path / "shard")
    panel = ObjectPanel(session, settings)
    qtbot.addWidget(panel)
    open_in(session, qtbot, tmp_path / "shard" / "20261103_51_0000.des")
    for number, names in enumerate(({"keep", "nometa", "gone"}, {"keep", "nometa"})):
        panel.actions_.extracting.ask(None)
        sheet = sheet_of(qtbot, panel)
        assert not sheet.deleted.isHidden()
        assert "1 tombstoned object" in sheet.warning.text()
        assert not sheet.deleted.isChecked()
        assert sheet.total.text().startswith("2 objects")
        if not number:
            sheet.deleted.setChecked(True)
            qtbot.waitUntil(lambda: sheet.total.text().startswith("3 objects"))  # noqa: B023
        sheet.where.setEditText(str(tmp_path / f"out{number}"))
        with qtbot.waitSignal(panel.actions_.extracting.finished):
            sheet.extract.click()
        assert written(tmp_path / f"out{number}") == names
        qtbot.waitUntil(lambda: panel.findChild(ExtractDialog) is None)


def test_the_result_says_what_failed(qtbot: QtBot, panel: ObjectPanel, tmp_path: Path) -> None:
    out = tmp_path / "out"
    bar = Notices(panel)
    notices = ExtractionNotices(panel.actions_.extracting, panel._session, bar, panel)
    opened: list[QUrl] = []
    notices.open_url = lambda url: bool(opened.append(url))
    shard = panel._session.shard
    out.mkdir()
    blocked = out / str(shard.objects.key_texts(RowRanges.all_of(3).rows())[2])
    blocked.mkdir()
    with qtbot.waitSignal(panel.actions_.extracting.finished):
        panel.actions_.extracting.start(ExtractionRequest(shard, panel._session.request, RowRanges.all_of(13), out))
    assert "1 failed" in bar.text
    assert bar.all[0].sign.text() == NoticeTone.ERROR.value
    open_folder, failures, retry = bar.buttons
    open_folder.click()
    assert [url.toLocalFile() for url in opened] == [str(out)]
    failures.click()
    box = panel.findChild(JobDialog)
    (line,) = box.outcome.text.text.splitlines()[1:]
    assert line.startswith(f"{blocked.name}: ")
    box.close()
    blocked.rmdir()
    with qtbot.waitSignal(panel.actions_.extracting.finished):
        retry.click()
    assert len(json.loads((out / "manifest-2.json").read_text())["objects"]) == 1
    assert len(written(out)) == 12
