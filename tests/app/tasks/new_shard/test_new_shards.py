"""New shards from the sheet: what is packed, what it plans, and that it writes what the library writes."""

from __future__ import annotations

import json
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import UsageError
from shardcore.operations.extraction import extract_objects
from shardcore.operations.pack import Packed, pack
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.form import TextField
from shardscope.tasks.new_shard.new_shards import NewShardDialog, NewShards
from tests.app.conftest import open_in
from tests.app.tasks.new_shard.conftest import OpenSheet, sheet_of, tree_of, wait_gone, wait_planned

CASES = {
    "swh": ("new.shard", {"seed": "7"}),
    "des": ("new.des", {"codec": "zstd", "level": "5"}),
    "mdb": ("new.mdb", {"compression": "lz4"}),
    "xorb": ("new.xorb", {"compression": "none"}),
    "neuroglancer": ("new.shard", {"order": "indices-last"}),
    "bloscpack": ("new", {"level": "3", "checksum": "crc32"}),
}


def choose(sheet: NewShardDialog, options: dict[str, str]) -> None:
    """Fills in options."""
    for name, value in options.items():
        field = sheet.options.fields[name]
        if isinstance(field, TextField):
            field.line.setText(value)
        else:
            field.box.setCurrentText(value)


def says(label: QLabel, text: str) -> bool:
    """Whether a label begins with a text."""
    return label.text().startswith(text)


@pytest.mark.parametrize("format", CASES)
def test_written_as_the_library_writes(
    qtbot: QtBot,
    session: Session,
    settings: Settings,
    open_sheet: OpenSheet,
    numbered: Path,
    tmp_path: Path,
    format: str,
) -> None:
    name, options = CASES[format]
    for folder in ("out", "library"):
        (tmp_path / folder).mkdir()
    # Of every file it makes one: few are enough.
    inputs = [numbered / f"{n}.txt" for n in range(3)] if format == "bloscpack" else [numbered]
    sheet = open_sheet(*inputs, format=format)
    choose(sheet, options)
    sheet.place.line.setText(str(tmp_path / "out" / name))
    wait_planned(qtbot, sheet)
    planned, proposed = sheet.plan.planned, {"created", "date", "keep_date"}
    options = options | {name: value for name, value in sheet.work.target.options.items() if name in proposed}
    assert bool(proposed & set(options)) is (format in ("des", "mdb"))
    # An empty file has no chunk, and a xorb has nothing else.
    assert planned.objects == {"xorb": 11, "bloscpack": 3}.get(format, 12)
    assert sheet.place.folder is (format == "bloscpack")
    with qtbot.waitSignal(session.succeeded) as told:
        sheet.write.click()
    assert told.args[0].count("No errors found.") == 1
    target = tmp_path / "library" / name
    pack(format, f"{target}/" if format == "bloscpack" else target, inputs, options=options)
    written = tree_of(tmp_path / "out")
    assert written == tree_of(tmp_path / "library")
    above = f"{name}/" if format == "bloscpack" else ""
    assert {f"{above}{file.name}": file.size for file in planned.plan.files} == {
        path: len(data) for path, data in written.items() if not path.endswith("manifest.json")
    }
    assert session.request.uri == str(tmp_path / "out" / name)
    assert session.shard.damage is None
    assert settings.pack_format == format
    assert settings.pack_folder == str(tmp_path / "out")


def test_a_wrong_option_is_told_beside_it(qtbot: QtBot, open_sheet: OpenSheet, numbered: Path) -> None:
    sheet = open_sheet(numbered / "1.txt", format="bloscpack")
    wait_planned(qtbot, sheet)
    assert sheet.write.isEnabled()
    field = sheet.options.fields["level"]
    assert field.line.placeholderText() == "7"
    wrong = sheet.findChild(QLabel, "wrong_level")
    for text, told in (("much", "level must be a whole number, not 'much'"), ("12", "level must be 0 to 9, not 12")):
        field.line.setText(text)
        qtbot.waitUntil(partial(says, wrong, f"✖ {told}"))
        assert not sheet.write.isEnabled()
        assert field.accessibleDescription() == told
    field.line.setText("3")
    assert wrong.text() == ""
    wait_planned(qtbot, sheet)
    assert sheet.write.isEnabled()
    sheet.reject()


def test_what_is_there_already(qtbot: QtBot, session: Session, open_sheet: OpenSheet, numbered: Path) -> None:
    target = numbered / "taken.des"
    target.write_bytes(b"before")
    one = numbered / "1.txt"
    sheet = open_sheet(one, format="des")
    assert sheet.place.line.text() == str(numbered / "1.des")
    sheet.place.line.setText(str(target))
    qtbot.waitUntil(lambda: sheet.place.state.text() == "The file exists.")
    assert not sheet.write.isEnabled()
    wait_planned(qtbot, sheet)
    for name, told in ((str(one), "This is the input"), (f"{numbered}/no/x.des", "The folder does not exist")):
        sheet.place.line.setText(name)
        qtbot.waitUntil(partial(says, sheet.place.state, told))
        assert not sheet.write.isEnabled()
        assert sheet.place.replace.isHidden()
    sheet.place.line.setText(str(target))
    qtbot.waitUntil(sheet.place.replace.isVisible)
    assert not sheet.place.replace.isChecked()
    sheet.place.replace.click()
    wait_planned(qtbot, sheet)
    with qtbot.waitSignal(session.opened):
        sheet.write.click()
    assert target.stat().st_size > len(b"before")


def hold(monkeypatch: pytest.MonkeyPatch, begun: threading.Event, free: threading.Event) -> None:
    """Has writing wait at the fifth object, until it is freed or stopped."""

    def held(*given: Any, progress: Any, plan: bool, **named: Any) -> Packed:
        def tell(done: int, total: int) -> None:
            progress(done, total)
            while done == 5 and not plan and not free.is_set():
                begun.set()
                progress(done, total)
                free.wait(0.005)

        return pack(*given, progress=tell, plan=plan, **named)

    monkeypatch.setattr(shardcore, "pack", held)


def test_going_on_in_the_background(
    qtbot: QtBot,
    session: Session,
    shards: NewShards,
    open_sheet: OpenSheet,
    numbered: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Escape hides the dialog, not the job; it can be shown again; the result is reported and nothing is opened."""
    begun, free = threading.Event(), threading.Event()
    hold(monkeypatch, begun, free)
    sheet = open_sheet(numbered, format="des")
    sheet.place.line.setText(str(tmp_path / "new.des"))
    wait_planned(qtbot, sheet)
    sheet.write.click()
    qtbot.waitUntil(begun.is_set)
    (job,) = [one for one in session.jobs.open_jobs if one.title]
    QTest.keyClick(sheet, Qt.Key.Key_Escape)
    assert not sheet.isVisible()
    job.show()
    qtbot.waitUntil(lambda: sheet.isVisible() and sheet.writing.state.text().startswith("5 of 12 objects"))
    sheet.writing.hide_button.click()
    assert not sheet.isVisible()
    with qtbot.waitSignal(shards.written_unseen) as told:
        free.set()
    assert told.args == [job.note, job.open_result]
    assert job.show is None
    assert "new.des · " in job.details
    assert job.open_result is not None
    assert f"{(tmp_path / 'new.des').stat().st_size:,} bytes" in job.note
    assert session.shard is None


def test_stopping_leaves_nothing(
    qtbot: QtBot, open_sheet: OpenSheet, numbered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    begun = threading.Event()
    hold(monkeypatch, begun, threading.Event())
    sheet = open_sheet(numbered, format="des")
    sheet.place.line.setText(str(tmp_path / "out" / "new.des"))
    wait_planned(qtbot, sheet)
    sheet.write.click()
    qtbot.waitUntil(begun.is_set)
    assert list((tmp_path / "out").iterdir())
    assert sheet.pages.currentWidget() is sheet.writing
    qtbot.waitUntil(lambda: sheet.writing.state.text() == "5 of 12 objects")
    sheet.writing.stop.click()
    qtbot.waitUntil(lambda: sheet.pages.currentIndex() == 0)
    assert list((tmp_path / "out").iterdir()) == []
    assert "Nothing was written" in sheet.message.text
    assert sheet.write.isEnabled()
    sheet.reject()


def test_conversion_both_ways(qtbot: QtBot, session: Session, shards: NewShards, data: Path, tmp_path: Path) -> None:
    """Keys are kept from swh to des and computed from des to swh; what is lost is listed."""
    open_in(session, qtbot, data / "swh" / "small.shard")
    shards.convert.trigger()
    sheet = sheet_of(qtbot, shards)
    sheet.formats.choose("des")
    sheet.place.line.setText(str(tmp_path / "swh.des"))
    wait_planned(qtbot, sheet)
    with qtbot.waitSignal(session.opened):
        sheet.write.click()
    assert session.shard.format == "des"
    wait_gone(qtbot, shards)
    open_in(session, qtbot, data / "des" / "meta.des")
    before = [session.shard.read(ref) for ref in _refs(session)]
    shards.convert.trigger()
    sheet = sheet_of(qtbot, shards)
    sheet.formats.choose("swh")
    sheet.place.line.setText(str(tmp_path / "des.shard"))
    wait_planned(qtbot, sheet)
    assert "▲ swh cannot store meta" in sheet.plan.notes.text()
    with qtbot.waitSignal(session.opened):
        sheet.write.click()
    assert session.shard.format == "swh"
    assert "▲ swh cannot store meta" in sheet.outcome.text.text
    assert "Read back: " in sheet.outcome.verified.text
    assert {session.shard.read(ref) for ref in _refs(session)} == set(before)
    QTest.keyClick(sheet.outcome.button, Qt.Key.Key_Return)
    wait_gone(qtbot, shards)


def _refs(session: Session) -> list[Any]:
    shard = session.shard
    refs = [shard.objects.ref(row) for row in range(len(shard.objects))]
    return [ref for ref in refs if ref.key is not None]


def test_by_keyboard_alone(
    qtbot: QtBot, session: Session, open_sheet: OpenSheet, numbered: Path, tmp_path: Path
) -> None:
    sheet = open_sheet(numbered)
    sheet.formats.setFocus()
    names = sheet.formats.names
    QTest.keyClick(sheet.focusWidget(), Qt.Key.Key_Down)
    assert sheet.formats.format.name == names[1]
    sheet.formats.choose("des")
    wait_planned(qtbot, sheet)
    strip = sheet.plan.strip
    QTest.keyClick(strip, Qt.Key.Key_Right)
    QTest.keyClick(strip, Qt.Key.Key_Right)
    assert sheet.plan.tree.currentIndex().data() == strip.sections[1].name
    line = sheet.place.line
    line.setFocus()
    line.selectAll()
    QTest.keyClicks(line, str(tmp_path / "typed.des"))
    qtbot.waitUntil(sheet.write.isEnabled)
    with qtbot.waitSignal(session.opened):
        QTest.keyClick(line, Qt.Key.Key_Return)
    assert (tmp_path / "typed.des").is_file()


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
    contents = sheet.contents
    assert sheet.message.text == "Add files or folders to pack."
    assert not sheet.write.isEnabled()
    beside = tmp_path / "beside.txt"
    beside.write_bytes(b"beside")
    drop(sheet, numbered, beside, numbered)
    assert list(contents.paths) == [str(numbered), str(beside)]
    qtbot.waitUntil(lambda: contents.total.text().startswith("13 files · "))
    assert contents.model.index(0, 1).data() == "folder, 12 files"
    wait_planned(qtbot, sheet)
    assert sheet.plan.planned.objects == 13
    contents.list.selectAll()
    QTest.keyClick(contents.list, Qt.Key.Key_Delete)
    assert list(contents.paths) == []
    qtbot.waitUntil(lambda: not sheet.write.isEnabled())
    qtbot.waitUntil(lambda: sheet.plan.planned is None)
    sheet.reject()


def test_what_was_extracted_is_packed_again(qtbot: QtBot, open_sheet: OpenSheet, data: Path, tmp_path: Path) -> None:
    with shardcore.open(data / "des" / "meta.des") as shard:
        rows = [shard.objects.ref(row) for row in range(len(shard.objects))]
        list(extract_objects(shard, rows, tmp_path / "taken"))
    sheet = open_sheet(tmp_path / "taken", format="des")
    contents = sheet.contents
    qtbot.waitUntil(contents.use.isVisible)
    assert contents.model.index(0, 1).data() == f"folder, {len(rows) + 1} files with a manifest"
    QTest.keyClick(contents.use, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: contents.model.index(0, 1).data() == f"manifest, {len(rows)} objects")
    assert contents.use.isHidden()
    wait_planned(qtbot, sheet)
    assert sheet.plan.planned.objects == len(rows)
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

    monkeypatch.setattr(shardcore, "pack", held)
    sheet = open_sheet(numbered, format="des")
    refused: list[Any] = []
    monkeypatch.setattr(sheet, "show_refused", lambda *given, **_: refused.append(given))
    qtbot.waitUntil(begun.is_set)
    sheet.formats.choose("swh")
    free.set()
    wait_planned(qtbot, sheet)
    qtbot.waitUntil(sheet.write.isEnabled)
    assert refused == []
    assert sheet.message.text == ""
    sheet.reject()


def test_unreadable_inputs_are_skipped(
    qtbot: QtBot, session: Session, open_sheet: OpenSheet, numbered: Path, tmp_path: Path
) -> None:
    sheet = open_sheet(numbered, tmp_path / "gone.txt", format="swh")
    sheet.place.line.setText(str(tmp_path / "out.shard"))
    qtbot.waitUntil(lambda: "gone.txt" in sheet.message.text)
    assert not sheet.write.isEnabled()
    contents = sheet.contents
    contents.skip.click()
    contents.report.click()
    wait_planned(qtbot, sheet)
    qtbot.waitUntil(sheet.write.isEnabled)
    with qtbot.waitSignal(session.succeeded) as told:
        sheet.write.click()
    assert "1 input skipped." in told.args[0]
    assert "▲ skipped: file not found" in sheet.outcome.text.text
    report = json.loads((tmp_path / "out.shard.report.json").read_text())["objects"]
    assert [one["path"] for one in report if "error" in one] == [str(tmp_path / "gone.txt")]
    assert len(report) == 13
    sheet.accept()
