"""What is packed: counted off the GUI thread, dropped, taken away; manifests are recognised."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import UsageError
from shardcore.operations.extraction import extract_objects
from shardcore.operations.pack import Packed, pack
from shardscope.session.session import Session
from shardscope.tasks.new_shard import request
from shardscope.tasks.new_shard.new_shards import NewShardDialog
from tests.app.tasks.new_shard.conftest import OpenSheet, wait_planned


def drop(sheet: NewShardDialog, *paths: Path) -> None:
    """Drops files on the sheet."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    copy, left, plain = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(80, 80), copy, mime, left, plain)
    QApplication.sendEvent(sheet, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(sheet, QDropEvent(QPointF(80, 80), copy, mime, left, plain))


def test_dropped_and_taken_away(qtbot: QtBot, open_sheet: OpenSheet, numbered: Path, tmp_path: Path) -> None:
    sheet = open_sheet(format="des")
    contents = sheet.form.contents
    assert sheet.form.problem.text == "Add files or folders to pack."
    assert not sheet.form.write.isEnabled()
    beside = tmp_path / "beside.txt"
    beside.write_bytes(b"beside")
    drop(sheet, numbered, beside, numbered)
    assert list(contents.paths) == [str(numbered), str(beside)]
    qtbot.waitUntil(lambda: contents.total.text().startswith("13 files · "))
    assert contents.model.index(0, 1).data() == "folder, 12 files"
    wait_planned(qtbot, sheet)
    assert sheet.form.plan.planned.objects == 13
    contents.list.selectAll()
    QTest.keyClick(contents.list, Qt.Key.Key_Delete)
    assert list(contents.paths) == []
    qtbot.waitUntil(lambda: not sheet.form.write.isEnabled())
    qtbot.waitUntil(lambda: sheet.form.plan.planned is None)
    sheet.reject()


def test_what_was_extracted_is_packed_again(qtbot: QtBot, open_sheet: OpenSheet, data: Path, tmp_path: Path) -> None:
    with shardcore.open(data / "des" / "meta.des") as shard:
        rows = [shard.objects.ref(row) for row in range(len(shard.objects))]
        list(extract_objects(shard, rows, tmp_path / "taken"))
    sheet = open_sheet(tmp_path / "taken", format="des")
    contents = sheet.form.contents
    qtbot.waitUntil(contents.use.isVisible)
    assert contents.model.index(0, 1).data() == f"folder, {len(rows) + 1} files with a manifest"
    QTest.keyClick(contents.use, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: contents.model.index(0, 1).data() == f"manifest, {len(rows)} objects")
    assert contents.use.isHidden()
    wait_planned(qtbot, sheet)
    assert sheet.form.plan.planned.objects == len(rows)
    sheet.reject()


def test_what_was_asked_before_is_not_told(
    qtbot: QtBot, open_sheet: OpenSheet, numbered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that fails after another format was chosen reports nothing."""
    begun, free = threading.Event(), threading.Event()

    def held(*given: Any, **named: Any) -> Packed:
        if given[0] == "des":
            begun.set()
            free.wait(60)
            raise UsageError("this was about des")
        return pack(*given, **named)

    monkeypatch.setattr(request, "pack", held)
    sheet = open_sheet(numbered, format="des")
    refused: list[Any] = []
    monkeypatch.setattr(sheet.form, "show_refused", lambda *given, **_: refused.append(given))
    qtbot.waitUntil(begun.is_set)
    sheet.form.formats.choose("swh")
    free.set()
    wait_planned(qtbot, sheet)
    qtbot.waitUntil(sheet.form.write.isEnabled)
    assert refused == []
    assert sheet.form.problem.text == ""
    sheet.reject()


def test_unreadable_inputs_are_skipped(
    qtbot: QtBot, session: Session, open_sheet: OpenSheet, numbered: Path, tmp_path: Path
) -> None:
    sheet = open_sheet(numbered, tmp_path / "gone.txt", format="swh")
    sheet.form.place.line.setText(str(tmp_path / "out.shard"))
    qtbot.waitUntil(lambda: "gone.txt" in sheet.form.problem.text)
    assert not sheet.form.write.isEnabled()
    contents = sheet.form.contents
    contents.skip.click()
    contents.report.click()
    wait_planned(qtbot, sheet)
    qtbot.waitUntil(sheet.form.write.isEnabled)
    with qtbot.waitSignal(session.succeeded) as told:
        sheet.form.write.click()
    assert "1 input skipped." in told.args[0]
    assert "▲ skipped: there is no file" in sheet.outcome.text.text
    report = json.loads((tmp_path / "out.shard.report.json").read_text())["objects"]
    assert [one["path"] for one in report if "error" in one] == [str(tmp_path / "gone.txt")]
    assert len(report) == 13
    sheet.accept()
