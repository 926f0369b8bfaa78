"""Edits of the open file: off until somebody allows them, shown first, made as the command line makes them, undone."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QAbstractButton

import shardcore
from shardcore.cli.program import run
from shardcore.formats.swh.writer import delete
from shardcore.sources.local import FileSource
from shardcore.testing import sampled
from shardcore.writing import in_place
from shardcore.writing.in_place import FileChange, edit_of
from shardcore.writing.journal import BEGUN, MAGIC, journal_of, write_journal
from shardcore.writing.undo import apply as make
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.tasks.edit.editor import EditDialog

Flags = QItemSelectionModel.SelectionFlag
KEY = "9d0c38e7aafe062c3a6dfc561e42771ec997d9359bb3d417ac4775a303292964"
TRAILING = bytes(100) + b"junk" * 30


@dataclass(frozen=True)
class Case:
    """An edit of a file of a format.

    Attributes:
        verb: What is done.
        name: The sample.
        rows: What is selected.
        more: Bytes that follow the sample.
    """

    verb: str
    name: str
    rows: tuple[int, ...] = ()
    more: bytes = b""

    def copied(self, where: Path) -> Path:
        """The file, and what it is given, in a folder of its own."""
        where.mkdir()
        path = where / Path(self.name).name
        path.write_bytes((Path(__file__).parents[3] / "data" / self.name).read_bytes() + self.more)
        (where / "more").write_bytes(b"more of it " * 200)
        return path


SWH = Case("delete", "swh/small.shard", (0, 2, 3))
CASES = (
    SWH,
    Case("truncate", "swh/small.shard", more=TRAILING),
    Case("append", "bloscpack/append_exact.blp"),
)


def show(window: MainWindow, path: Path, *, allow: bool = True, rows: tuple[int, ...] = ()) -> None:
    """Opens a file, lets it be changed, and selects objects."""
    window.open(str(path))
    settle(window, 40)
    if allow:
        window.changing.actions.allow.trigger()
    for row in rows:
        index = window.objects.model.index(row, 0)
        window.objects.table.selectionModel().select(index, Flags.Select | Flags.Rows)


def sheet_of(window: MainWindow, verb: str, *, back: bool = False, path: Path | None = None) -> EditDialog:
    """The sheet of a verb, once it shows what would change."""
    action = window.changing.actions.verbs[verb, back]
    assert action.isEnabled() or QSignalSpy(action.enabledChanged).wait(20_000), action.toolTip()
    action.trigger()
    sheet = window.changing.editor.sheet
    if path is not None:
        sheet.take_files([str(path)])
        sheet._soon.timeout.emit()
    settle(window, 40)
    return sheet


def deleting(window: MainWindow, folder: Path) -> tuple[Path, EditDialog]:
    """A shard, and the sheet that would delete some of its objects."""
    path = SWH.copied(folder / "a")
    show(window, path, rows=SWH.rows)
    return path, sheet_of(window, "delete")


def keys_of(window: MainWindow, rows: tuple[int, ...]) -> list[str]:
    """The keys of some rows."""
    shard = window.session.shard
    return [key for key in shard.objects.key_texts(np.array(rows, np.int64)) if key is not None]


def press(window: MainWindow, what: QAbstractButton | QAction) -> None:
    """Presses a button, or chooses an action, and waits for what comes of it."""
    what.trigger() if isinstance(what, QAction) else what.click()
    settle(window, 40)


def apply(window: MainWindow, sheet: EditDialog) -> None:
    """Presses the button that makes the edit."""
    if not sheet.apply.isEnabled():
        settle(window)  # what was typed last is computed a moment later
    assert sheet.apply.isEnabled()
    press(window, sheet.apply)


def row_text(window: MainWindow, start: int, count: int) -> bytes:
    """The bytes that the hex view shows there."""
    state = window.hex.state
    cells = state.cells_of(state.layout.row_of(start), 1 + count // state.layout.width + 1)
    at = start - cells.first
    return bytes(cells.data.ravel()[at : at + count])


@pytest.mark.thorough
def test_a_file_is_read_only_until_somebody_says_otherwise(window: MainWindow, tmp_path: Path) -> None:
    path = SWH.copied(tmp_path / "a")
    actions, chip = window.changing.actions, window.changing.chip
    assert not actions.allow.isEnabled()
    assert not chip.isVisible()
    show(window, path, allow=False, rows=(0,))
    assert chip.isVisible()
    delete = actions.verbs["delete", False]
    assert not delete.isEnabled()
    QTest.keyClick(chip, Qt.Key.Key_Space)
    assert actions.allow.isChecked()
    assert delete.isEnabled()
    assert delete in window.objects.table.actions()
    window.session.reload()
    settle(window, 40)
    assert not delete.isEnabled()
    assert journal_of(path).exists() is False
    window.open(str(Path(__file__).parents[4] / "resources" / "samples" / "swh" / "small.shard"))
    settle(window, 40)
    assert not actions.allow.isEnabled()


@pytest.mark.thorough
@pytest.mark.parametrize("case", sampled(CASES, 1), ids=lambda case: case.verb)
def test_an_edit_is_what_the_command_line_makes(
    case: Case, window: MainWindow, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The dialog lists what `--dry-run` reports, the file equals that of the command, and undo restores it."""
    path, other = case.copied(tmp_path / "a"), case.copied(tmp_path / "b")
    before = path.read_bytes()
    show(window, path, rows=case.rows)
    appended = [path.parent / "more"] if case.verb == "append" else []
    given = [*keys_of(window, case.rows), *map(str, appended)]
    assert run([case.verb, str(other), *given, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    sheet = sheet_of(window, case.verb, path=next(iter(appended), None))
    listed = [
        {"what": r.what, "start": r.start, "stop": r.stop, "old": r.old.hex(), "new": r.new.hex()}
        for r in sheet.model.things
        if r.new_size
    ]
    assert listed == told["changes"]
    cut = [row for row in sheet.model.things if not row.new_size]
    assert [(row.start, row.stop) for row in cut] == ([(told["new_size"], told["size"])] if cut else [])
    assert f"{path.name}.undo" in sheet.kept.text()
    assert path.read_bytes() == before
    apply(window, sheet)
    assert run([case.verb, str(other), *given, "--yes"]) == 0
    assert path.read_bytes() == other.read_bytes() != before
    window.session.watch.check()
    settle(window, 40)
    assert window.session.document.trouble is None
    assert window.changing.switch.allowed
    assert "was changed" in window.notices.text
    assert window.notices.button.text() == "Undo"
    undo, redo = window.changing.undoing.undo, window.changing.undoing.redo
    assert undo.text().startswith(f"&Undo: {case.verb.replace('truncate', 'cut off')}")
    for action, after in ((undo, before), (redo, other.read_bytes()), (undo, before)):
        press(window, action)
        assert window.changing.editor.sheet is None
        assert path.read_bytes() == after
    assert not journal_of(path).exists()
    assert not undo.isEnabled()


@pytest.mark.parametrize("reopened", [False, True])
def test_an_edit_is_undone_after_a_question_if_the_file_is_not_as_the_window_left_it(
    reopened: bool, window: MainWindow, tmp_path: Path
) -> None:
    path, sheet = deleting(window, tmp_path)
    before = path.read_bytes()
    apply(window, sheet)
    if reopened:
        window.session.close()
        window.changing.editor._histories.clear()
        show(window, path)
        assert window.changing.undoing.undo.text() == "&Undo: delete 3 objects…"
    else:
        os.utime(path, (1, 1))
    press(window, window.changing.undoing.undo)
    back = window.changing.editor.sheet
    assert not back.takedown.isVisible()
    assert path.read_bytes() != before
    apply(window, back)
    assert path.read_bytes() == before
    assert not window.changing.undoing.undo.isEnabled()


def test_old_and_new_are_seen_in_the_bytes(window: MainWindow, tmp_path: Path) -> None:
    path = SWH.copied(tmp_path / "a")
    data = path.read_bytes()
    show(window, path, rows=SWH.rows)
    selected = window.session.selection.span
    sheet = sheet_of(window, "delete")
    state, row = window.hex.state, sheet.model.things[-1]
    for _ in sheet.model.things[1:]:
        QTest.keyClick(sheet.table, Qt.Key.Key_Down)
    settle(window, 40)
    assert state.visible_bytes[0] <= row.start < state.visible_bytes[1]
    assert row_text(window, row.start, 40) == bytes(32) + b"\xff" * 8
    assert state.proposed.current == row.start
    assert "new bytes, not written yet" in window.hex.view.accessibility.description
    assert window.session.selection.span == selected
    sheet.old.click()
    assert row_text(window, row.start, 40) == data[row.start : row.stop]
    QTest.keyClick(sheet, Qt.Key.Key_Escape)
    assert state.proposed is None
    assert window.changing.editor.sheet is None
    assert path.read_bytes() == data


@pytest.mark.thorough
def test_a_takedown_keeps_nothing(window: MainWindow, tmp_path: Path) -> None:
    """No undo file is written, and no undo is offered."""
    path, sheet = deleting(window, tmp_path)
    sheet.takedown.click()
    apply(window, sheet)
    assert not journal_of(path).exists()
    assert window.notices.buttons == []
    assert "was changed" in window.notices.text
    assert not window.changing.undoing.undo.isEnabled()


def test_a_file_that_changed_meanwhile_is_left_alone(window: MainWindow, tmp_path: Path) -> None:
    path, sheet = deleting(window, tmp_path)
    path.write_bytes(path.read_bytes() + b"more")
    apply(window, sheet)
    assert path.read_bytes().endswith(b"more")
    assert not journal_of(path).exists()
    assert "changed by another program" in window.notices.text
    assert window.session.document.trouble is not None


def interrupted(path: Path, *, magic: bool) -> bytes:
    """Edits a file and leaves it as a crash would, its magic overwritten or an object deleted; the old bytes."""
    before = path.read_bytes()
    if magic:
        with FileSource(path) as source:
            make(edit_of(source, "delete 1 object", (FileChange(0, bytes(8)),)))
    else:
        assert run(["delete", str(path), KEY, "--yes"]) == 0
    with journal_of(path).open("r+b") as file:
        file.seek(len(MAGIC))
        file.write(BEGUN)
    return before


@pytest.mark.parametrize("magic", [False, True])
def test_an_interrupted_edit_is_told_and_put_back(magic: bool, window: MainWindow, tmp_path: Path) -> None:
    path = SWH.copied(tmp_path / "a")
    before = interrupted(path, magic=magic)
    show(window, path, rows=() if magic else (2,))
    assert "An edit of small.shard (delete 1 object) was interrupted" in window.notices.text
    delete = window.changing.actions.verbs["delete", False]
    assert not delete.isEnabled()
    assert "undo it first" in delete.toolTip() or magic
    assert window.changing.undoing.undo.isEnabled()
    assert window.notices.button.text() == "Undo"
    press(window, window.notices.button)
    assert path.read_bytes() == before


@pytest.mark.parametrize("known", [True, False])
def test_tombstones_are_noted_and_lifted(
    window: MainWindow, tmp_path: Path, capsys: pytest.CaptureFixture[str], known: bool
) -> None:
    """The sidecar equals that of the command, and the shard is unchanged."""
    data = Path(__file__).parents[3] / "data" / "des" / "sidecar"
    (path,) = Path(shutil.copytree(data, tmp_path / "a")).glob("*.des")
    (other,) = Path(shutil.copytree(data, tmp_path / "b")).glob("*.des")
    shard, meta = path.read_bytes(), path.with_suffix(".meta")
    was, before = meta.read_bytes() if known else None, json.loads(meta.read_text()) if known else {"tombstones": {}}
    if not known:
        meta.unlink()
        other.with_suffix(".meta").unlink()
    show(window, path, rows=(0,))
    window.changing.editor.now = lambda: "2026-11-22T10:00:00Z"
    sheet = sheet_of(window, "tombstone")
    for name, text in (("reason", "asked for"), ("by", "alice"), ("ticket", "T-1")):
        sheet.fields[name].line.setText(text)
    sheet._soon.timeout.emit()
    settle(window, 40)
    assert not known or any(b'"keep:2026-11-03T08:00:00Z"' in row.new for row in sheet.model.things)
    assert not sheet.takedown.isVisible()
    assert window.hex.state.name == (meta.name if known else "")
    apply(window, sheet)
    assert window.hex.state.name == ""
    options = ["--reason", "asked for", "--by", "alice", "--ticket", "T-1"]
    assert run(["tombstone", str(other), "keep", *options, "--yes"]) == 0
    theirs = re.sub(r'("(?:deleted_at|last_updated)": )"2026[^"]*"', r"\1", other.with_suffix(".meta").read_text())
    ours = re.sub(r'("(?:deleted_at|last_updated)": )"2026[^"]*"', r"\1", meta.read_text())
    assert ours == theirs
    assert path.read_bytes() == shard
    assert window.notices.button.text() == "Undo"
    made = meta.read_bytes()
    press(window, window.notices.button)
    assert (meta.read_bytes() if meta.exists() else None) == was
    assert window.changing.undoing.redo.text().startswith("&Redo: add 1 tombstone: 'keep")
    press(window, window.changing.undoing.redo)
    assert meta.read_bytes() == made
    meta.write_bytes(made + b" ")
    press(window, window.changing.undoing.undo)
    lift = window.changing.editor.sheet
    assert not lift.fields
    apply(window, lift)
    assert json.loads(meta.read_text())["tombstones"] == before["tombstones"]


def test_a_shard_is_written_anew_under_a_key(window: MainWindow, tmp_path: Path) -> None:
    """The file equals that of `rekey`; an existing file is not replaced."""
    data = Path(__file__).parents[3] / "data" / "mdb" / "cas" / "shards"
    path = Path(shutil.copy(next(data.glob("*.mdb")), tmp_path))
    key = "0" * 63 + "7"
    assert run(["rekey", str(path), str(tmp_path / "theirs.mdb"), "-O", f"key={key}"]) == 0
    show(window, path, allow=False)
    rekey = window.changing.actions.rekey
    assert rekey.isVisible()
    assert not window.changing.actions.allow.isEnabled()
    rekey.trigger()
    sheet = window.changing.rekeying.sheet
    assert not sheet.write.isEnabled()
    sheet.fields["key"].line.setText(key)  # type: ignore[attr-defined]
    sheet.target.setText(str(tmp_path / "theirs.mdb"))
    press(window, sheet.write)
    assert "exists" in sheet.message.text
    sheet.target.setText(str(tmp_path / "ours.mdb"))
    press(window, sheet.write)
    assert (tmp_path / "ours.mdb").read_bytes() == (tmp_path / "theirs.mdb").read_bytes()
    assert window.notices.button.text() == "Open it"
    press(window, window.notices.button)
    assert window.session.uri == str(tmp_path / "ours.mdb")


def test_a_takedown_that_was_interrupted_is_finished(window: MainWindow, tmp_path: Path) -> None:
    path = SWH.copied(tmp_path / "a")
    with shardcore.open(path) as shard:
        ref = shard.find(KEY)
        content = shard.read(ref)
        edit = delete(shard, [KEY])
        write_journal(edit, journal_of(path), stale=False, keep=False)
    show(window, path)
    assert "An edit of small.shard (delete 1 object) was interrupted" in window.notices.text
    assert window.notices.button.text() == "Finish"
    assert not window.changing.undoing.undo.isEnabled()
    press(window, window.notices.button)
    assert content not in path.read_bytes()
    assert not journal_of(path).exists()
    with shardcore.open(path) as shard:
        assert shard.trace(KEY).outcome == "absent"


@pytest.mark.parametrize("what", ["fifo", "copy"])
def test_a_journal_that_does_not_check_is_not_recommended(what: str, window: MainWindow, tmp_path: Path) -> None:
    """A FIFO in place of the undo file does not block the window; the undo file of another file is not used."""
    path = SWH.copied(tmp_path / "a")
    if what == "fifo":
        os.mkfifo(journal_of(path))
    else:
        interrupted(path, magic=False)
        copy = tmp_path / "copy"
        shutil.copy(path, copy)
        copy.replace(path)
    show(window, path, rows=SWH.rows)
    assert "interrupted" not in window.notices.text
    before = path.read_bytes()
    sheet = sheet_of(window, "delete")
    if sheet.apply.isEnabled():
        apply(window, sheet)
        assert "Cannot change small.shard: " in window.notices.text
    else:
        assert journal_of(path).name in sheet.message.text
        sheet.reject()
    settle(window, 40)
    assert path.read_bytes() == before
    assert os.path.lexists(journal_of(path))


def test_a_file_that_another_process_edits_is_refused(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_place, "lock_file", lambda descriptor: False)
    monkeypatch.setattr(in_place, "WAIT", 0)
    path, sheet = deleting(window, tmp_path)
    assert "is being edited by another process" in sheet.message.text
    assert not sheet.apply.isEnabled()
    sheet.reject()
    monkeypatch.undo()
    os.link(path, tmp_path / "other")
    window.session.close()
    settle(window, 20)
    show(window, path, rows=SWH.rows)
    sheet = sheet_of(window, "delete")
    assert "has 2 names (hard links)" in sheet.message.text
    sheet.reject()


def test_an_append_that_rewrites_is_shown_and_made(window: MainWindow, tmp_path: Path) -> None:
    path = CASES[2].copied(tmp_path / "a")
    (path.parent / "more").write_bytes(b"many chunks of it, " * 2000)
    show(window, path)
    sheet = sheet_of(window, "append", path=path.parent / "more")
    assert "by rewriting all chunks" in sheet.total.text()
    assert sheet.apply.isEnabled()
    beyond = [row for row in sheet.model.things if row.start >= path.stat().st_size]
    assert beyond
    assert all(not row.old for row in beyond)
    apply(window, sheet)
    assert "was changed" in window.notices.text
