"""Edits in place: shown first, undone from a journal that holds for every half-done state."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shardcore.errors import FormatError, SourceChanged, SourceError, UsageError
from shardcore.sources.local import FileSource
from shardcore.testing import kill_runs as killed
from shardcore.writing import undo as journals
from shardcore.writing.in_place import Edit, FileChange, Stream, Zeros, edit_of
from shardcore.writing.journal import BEGUN, earlier_journals, forget, journal_of, mark_journal

OLD = bytes(range(256)) * 64 + bytes(40_000) + b"tail" * 1000


def made(path: Path, *, grow: bool = False) -> Edit:
    """An edit of each kind of change: bytes, zeros, and a stream over the end or a cut."""
    changes = (FileChange(100, b"hello", "a word"), FileChange(5000, Zeros(9000)), FileChange(30_000, b"x" * 20_000))
    if grow:
        more = Stream(5000, lambda: iter([b"m" * 2000, b"n" * 3000]))
        changes = (*changes, FileChange(len(OLD) - 100, more))
        return edit_of(FileSource(path), "change and add", changes, len(OLD) + 4900)
    return edit_of(FileSource(path), "change and cut", changes, len(OLD) - 2000)


def new_bytes(*, grow: bool) -> bytes:
    data = bytearray(OLD)
    data[100:105], data[5000:14_000], data[30_000:50_000] = b"hello", bytes(9000), b"x" * 20_000
    if grow:
        return bytes(data[: len(OLD) - 100]) + b"m" * 2000 + b"n" * 3000
    return bytes(data[: len(OLD) - 2000])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(OLD)
    return tmp_path / "file"


def applied(path: Path, *, grow: bool = False) -> Path:
    """Make the edit of a file; return its journal."""
    edit = made(path, grow=grow)
    try:
        return journals.apply(edit)
    finally:
        edit.source.close()


class Killed:
    """The edit, killed at some moment: afterwards the journal puts back the old bytes."""

    grow = False

    def prepared(self, target: Path) -> None:
        target.write_bytes(OLD)
        forget(target)

    def run(self, target: Path) -> None:
        applied(target, grow=self.grow)

    def judged(self, target: Path) -> str:
        """What is there, and whether it can be undone: `untouched`, `undone`, or what is wrong."""
        data, there = target.read_bytes(), journal_of(target).exists()
        if not there:
            return "untouched" if data == OLD else "changed-without-journal"
        told = bool(journals.interrupted(target))
        journals.undo(target)
        if target.read_bytes() != OLD:
            return "not-put-back"
        if not told and data != new_bytes(grow=self.grow):
            return "half-done-and-not-told"
        return "undone"


class KilledGrowing(Killed):
    """The same with an edit that makes the file longer."""

    grow = True


class KilledUndoing(Killed):
    """Undoing, killed at some moment: undoing once more puts back the old bytes."""

    def prepared(self, target: Path) -> None:
        super().prepared(target)
        super().run(target)

    def run(self, target: Path) -> None:
        journals.undo(target)

    def judged(self, target: Path) -> str:
        return "undone" if super().judged(target) in ("untouched", "undone") else "wrong"


FIRST = b"first" + OLD[5:]


class KilledSecond:
    """The second edit of a file, killed at some moment: both edits can be undone, one after the other."""

    def prepared(self, target: Path) -> None:
        target.write_bytes(OLD)
        forget(target)
        with FileSource(target) as source:
            journals.apply(edit_of(source, "first", (FileChange(0, b"first"),)))

    def run(self, target: Path) -> None:
        with FileSource(target) as source:
            journals.apply(edit_of(source, "second", (FileChange(3, b"second"),)))

    def judged(self, target: Path) -> str:
        undone = 0
        while target.read_bytes() != OLD:
            journals.undo(target)
            undone += 1
            if target.read_bytes() not in (FIRST, OLD):
                return "not-put-back"
        # A second edit that had not begun has its journal at most, which says so.
        return "wrong" if earlier_journals(target) else "undone" + str(undone)


@pytest.mark.thorough
def test_killed_with_an_earlier_journal(tmp_path: Path) -> None:
    """The journal of the earlier edit stays valid."""
    outcomes = killed.at_moments(KilledSecond, "run", tmp_path / "file", 20)
    assert set(outcomes) <= {"undone1", "undone2"}
    assert "undone2" in outcomes


def test_edits_are_undone_one_after_the_other(path: Path, tmp_path: Path) -> None:
    states = []
    for number in range(3):
        states.append(path.read_bytes())
        assert journals.undoable_edits(path) == number
        with FileSource(path) as source:
            journals.apply(edit_of(source, f"edit {number}", (FileChange(10 * number, b"%d" % number * 15),)))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "file.undo", "file.undo.1", "file.undo.2"]
    for number in (2, 1, 0):
        assert journals.undo(path).what == f"edit {number}"
        assert path.read_bytes() == states[number]
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_journals_of_another_file_go(path: Path, tmp_path: Path) -> None:
    """Journals of a file that was replaced undo nothing."""
    for _ in range(2):
        with FileSource(path) as source:
            journals.apply(edit_of(source, "edit", (FileChange(0, b"x"),)))
    path.write_bytes(b"another file")
    assert journals.undoable_edits(path) is None
    with FileSource(path) as source:
        journals.apply(edit_of(source, "edit", (FileChange(0, b"x"),)))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "file.undo"]
    journals.undo(path)
    assert path.read_bytes() == b"another file"


@pytest.mark.thorough
@pytest.mark.parametrize("case", [Killed, KilledGrowing, KilledUndoing])
def test_killed_at_any_moment(tmp_path: Path, case: type[Killed]) -> None:
    outcomes = killed.at_moments(case, "run", tmp_path / "file", 20)
    assert set(outcomes) <= {"untouched", "undone"}
    assert "undone" in outcomes


@pytest.mark.parametrize("grow", [False, True])
def test_made_and_undone(path: Path, tmp_path: Path, grow: bool) -> None:
    edit = made(path, grow=grow)
    old, new = OLD[100:105].hex(), b"hello".hex()
    assert edit.to_json()["changes"][0] == {"what": "a word", "start": 100, "stop": 105, "old": old, "new": new}
    journal = journals.apply(edit)
    edit.source.close()
    assert path.read_bytes() == new_bytes(grow=grow)
    assert journal == tmp_path / "file.undo"
    assert not journals.interrupted(path)
    assert journals.undo(path).what == edit.what
    assert path.read_bytes() == OLD
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file"]


def test_zeros_are_kept_as_lengths(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100 + bytes(5_000_000) + b"y")
    with FileSource(path) as source:
        journal = journals.apply(edit_of(source, "cut", (), 100))
    assert journal.stat().st_size < 10_000
    journals.undo(path)
    assert path.read_bytes() == b"x" * 100 + bytes(5_000_000) + b"y"


def test_a_file_that_changed_is_refused(path: Path) -> None:
    edit = made(path)
    path.write_bytes(OLD + b"more")
    with pytest.raises(SourceChanged):
        journals.apply(edit)
    edit.source.close()
    path.write_bytes(OLD)
    applied(path)
    for other in (b"another file altogether", new_bytes(grow=False)[:-1] + b"!", b"hello" + new_bytes(grow=False)[5:]):
        path.write_bytes(other)
        with pytest.raises(UsageError, match="was changed after the edit"):
            journals.undo(path)
        assert path.read_bytes() == other


def test_an_interrupted_edit_is_told_and_not_edited_over(path: Path) -> None:
    mark_journal(applied(path), BEGUN)
    assert "was interrupted" in journals.interrupted(path)
    with pytest.raises(UsageError, match="interrupted"):
        applied(path)
    journals.undo(path)
    assert path.read_bytes() == OLD


def test_damaged_journals_change_nothing(path: Path) -> None:
    journal = applied(path)
    sound, now = journal.read_bytes(), path.read_bytes()
    for at in (0, 5, 10, 20, 300, len(sound) // 2, len(sound) - 1):
        for damaged in (sound[:at], sound[:at] + bytes([sound[at] ^ 0x41]) + sound[at + 1 :]):
            journal.write_bytes(damaged)
            with pytest.raises((FormatError, UsageError)):
                journals.undo(path)
            assert path.read_bytes() == now


@pytest.mark.parametrize("changes", [(FileChange(5, b"xx"), FileChange(6, b"y")), (FileChange(len(OLD), b"x"),)])
def test_changes_that_make_no_sense(path: Path, changes: tuple[FileChange, ...]) -> None:
    with FileSource(path) as source, pytest.raises(UsageError, match="overlap"):
        journals.apply(edit_of(source, "nonsense", changes))
    assert path.read_bytes() == OLD


def test_a_file_that_may_not_be_written(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit = made(path)
    opens = os.open

    def read_only(name: str | Path, flags: int, mode: int = 0o777, **named: int) -> int:
        if os.fspath(name) == str(path) and flags & (os.O_RDWR | os.O_WRONLY):
            raise PermissionError(13, "Permission denied")
        return opens(name, flags, mode, **named)

    monkeypatch.setattr(os, "open", read_only)
    for keep in (False, True):
        with pytest.raises(SourceError, match="denied"):
            journals.apply(edit, journal=keep)
    monkeypatch.undo()
    edit.source.close()
    assert path.read_bytes() == OLD
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_putting_back_is_shown_first(path: Path) -> None:
    applied(path)
    changed = path.read_bytes()
    with FileSource(path) as source:
        journal, back = journals.planned_undo(source)
        assert (journal.what, back.new_size) == ("change and cut", len(OLD))
        data = bytearray(changed + bytes(len(OLD) - len(changed)))
        for one in back.changes:
            data[one.start : one.stop] = b"".join(one.pieces())
        assert bytes(data) == OLD
        told = back.to_json()["changes"][0]
        assert (told["start"], told["new"][:10]) == (100, OLD[100:105].hex())
    assert path.read_bytes() == changed
    path.write_bytes(OLD)
    with FileSource(path) as source, pytest.raises(UsageError, match="changed after the edit"):
        journals.planned_undo(source)


def test_changes_beyond_the_old_end_are_told(tmp_path: Path) -> None:
    """They have no old bytes."""
    path = tmp_path / "file"
    path.write_bytes(b"short")
    edit = edit_of(FileSource(path), "grow", (FileChange(5, b"abc"), FileChange(8, b"defg")), 12)
    changes = edit.to_json()["changes"]
    assert [(one["old"], bytes.fromhex(one["new"])) for one in changes] == [("", b"abc"), ("", b"defg")]
    edit.source.close()
