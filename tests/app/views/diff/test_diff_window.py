"""*Diff with*: two shards side by side, walked through by their differences; by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import DiffKind, Span
from shardscope.session.jobs import Jobs
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.views.diff import diff_jobs
from shardscope.views.diff.menu import CompareShards
from shardscope.views.diff.window import KEY, DiffObjectModel, DiffWindow

SAMPLES = Path("resources/samples")

Compare = Callable[[Path, Path], DiffWindow]
Settle = Callable[[], None]


def written(path: Path, objects: dict[str, bytes]) -> Path:
    """A des shard with some objects."""
    with shardcore.create(path, format="des") as writer:
        for key, data in objects.items():
            writer.add(key, data)
    return path


OBJECTS = {f"k{n:02}": bytes([n]) * 100 for n in range(60)}


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """Objects of 100 bytes each."""
    return written(tmp_path / "a.des", OBJECTS)


@pytest.fixture
def second(tmp_path: Path) -> Path:
    """The same, of which one is gone, one changed in two places, one renamed, and one new."""
    objects = OBJECTS.copy()
    del objects["k10"]
    objects["k30"] = objects["k30"][:10] + b"!!" + objects["k30"][12:90] + b"?" + objects["k30"][91:]
    objects["other"] = objects.pop("k40")
    objects["new"] = b"n" * 50
    return written(tmp_path / "b.des", objects)


@pytest.fixture
def parent(qtbot: QtBot) -> QWidget:
    """A parent of windows."""
    made = QWidget()
    qtbot.addWidget(made)
    made.resize(1440, 900)
    return made


@pytest.fixture
def settle(qtbot: QtBot, jobs: Jobs) -> Callable[[], None]:
    """Waits for the jobs."""
    return lambda: qtbot.waitUntil(lambda: not jobs.open_jobs)


@pytest.fixture
def compare(parent: QWidget, jobs: Jobs, settle: Settle) -> Iterator[Compare]:
    """Opens a window and waits until all is compared; closed at the end."""
    windows = []

    def opened(one: Path, other: Path) -> DiffWindow:
        window = DiffWindow(jobs, (OpenRequest(str(one)), OpenRequest(str(other))), parent)
        windows.append(window)
        window.show()
        window.begin()
        settle()
        assert window.jobs.job is None
        return window

    yield opened
    for window in windows:
        if shiboken6.isValid(window):
            window.reject()
    settle()


def test_chips_count_and_filter(settle: Settle, compare: Compare, first: Path, second: Path) -> None:
    window = compare(first, second)
    shown = [chip.text().split()[-1] for chip in window.chips.values() if not chip.isHidden()]
    assert sorted(map(int, shown)) == [1, 1, 1, 1, 10, 47]
    assert window.objects.rowCount() == 51
    window.chips[DiffKind.MOVED].click()
    assert window.objects.rowCount() == 4
    window.chips[DiffKind.EQUAL].click()
    assert window.objects.rowCount() == 14
    window.objects.text(0, KEY)
    settle()
    keys = [window.objects.text(row, KEY) for row in range(4)]
    assert keys == ["k30", "k10", "new", "k40 → other"]


def test_what_was_opened_is_closed_when_it_cannot_be_compared(
    monkeypatch: pytest.MonkeyPatch, compare: Compare, first: Path, second: Path
) -> None:
    opened = list[Any]()

    def fail(*shards: object, **_: object) -> None:
        opened.extend(shards)
        raise shardcore.ShardError("no")

    monkeypatch.setattr(diff_jobs, "diff", fail)
    compare(first, second)
    assert [shard.closed for shard in opened] == [True, True]


def test_next_moves_both_sides(qtbot: QtBot, settle: Settle, compare: Compare, first: Path, second: Path) -> None:
    window = compare(first, second)
    with shardcore.open(first) as one, shardcore.open(second) as other:
        left, right = one.find("k30").spans[0].start, other.find("k30").spans[0].start
    assert left != right
    window.table.selectRow(0)
    settle()
    assert window.state.offsets_at(window.state.row) != (-1, -1)
    for shift, length in ((10, 2), (90, 1)):
        window.next.click()
        settle()
        assert window.state.run.first == (left + shift, left + shift + length)
        assert window.state.run.second == (right + shift, right + shift + length)
        assert window.state.row == window.state.run.cells[0] // 16
    window.previous.click()
    settle()
    assert window.state.run.first[0] == left + 10
    with qtbot.waitSignal(window.tab_wanted) as wanted:
        window.tabs[1].click()
    assert (wanted.args[0].uri, wanted.args[1]) == (str(second), Span("", right + 10, right + 12))


def test_a_moved_object_is_aligned(settle: Settle, compare: Compare, first: Path, second: Path) -> None:
    window = compare(first, second)
    with shardcore.open(first) as one, shardcore.open(second) as other:
        spans = [shard.find("k50").spans[0] for shard in (one, other)]
        row = one.find("k50").row
    number = int(np.flatnonzero(window.compared.found.first == row)[0])
    window.choose(number)
    settle()
    offsets = window.state.offsets_at(window.state.row)
    assert spans[0].start - offsets[0] == spans[1].start - offsets[1]
    assert 0 <= spans[0].start - offsets[0] < 32
    shown = window.state.shown
    at = window.state.row - shown.top
    assert not shown.differing[:, at : at + 3].any()


def test_a_run_by_keyboard(settle: Settle, compare: Compare, first: Path, second: Path) -> None:
    window = compare(first, second)
    window.table.setFocus()
    QTest.keyClick(window.table, Qt.Key.Key_Down)
    settle()
    before = window.state.row
    QTest.keyClick(window.table, Qt.Key.Key_F7)
    settle()
    after = window.state.row
    assert after >= before
    window.views[0].setFocus()
    QTest.keyClick(window.views[0], Qt.Key.Key_End)
    settle()
    assert window.state.row == window.state.bytes.rows - 1
    QTest.keyClick(window.views[1], Qt.Key.Key_F7, Qt.KeyboardModifier.ShiftModifier)
    settle()
    assert window.state.run.cells[1] <= window.state.bytes.rows * window.state.bytes.width
    QTest.keyClick(window.views[1], Qt.Key.Key_Home)
    assert window.state.row == 0
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert not window.isVisible()


def test_cancel_stops_comparing(jobs: Jobs, settle: Settle, parent: QWidget, first: Path, second: Path) -> None:
    window = DiffWindow(jobs, (OpenRequest(str(first)), OpenRequest(str(second))), parent)
    window.show()
    window.begin()
    assert not window.cancel.isHidden()
    window.cancel.click()
    settle()
    assert window.cancel.isHidden()
    assert window.compared is None
    window.reject()


def test_the_action_compares_what_is_open_also_while_other_tabs_are_shown(
    qtbot: QtBot, settle: Settle, session: Session, parent: QWidget, first: Path, second: Path
) -> None:
    comparing = CompareShards(session, parent)
    assert not comparing.menu.isEnabled()
    session.open(str(first))
    settle()
    assert comparing.menu.isEnabled()
    window = comparing.compare_path(str(second))
    session.open_tab(OpenRequest(str(second)))
    qtbot.waitUntil(lambda: len(session.documents.all) == 2 and session.shard is not None)
    comparing.menu.aboutToShow.emit()
    assert [one.text() for one in comparing.menu.actions()[4:]] == ["a.des"]
    session.documents.close_all()
    settle()
    assert window.compared is not None
    assert window.objects.rowCount() > 0
    assert not comparing.menu.isEnabled()
    comparing.close()
    assert comparing.windows == []
    settle()


def test_damage_and_missing_files_are_stated(compare: Compare, first: Path, tmp_path: Path) -> None:
    """A truncated file is not shown as one whose objects were removed."""
    cut = tmp_path / "cut.des"
    cut.write_bytes(first.read_bytes()[:-200])
    window = compare(first, cut)
    assert window.headline.text().startswith("Damaged, partly compared")
    window.table.selectRow(0)
    assert window.line.text().startswith("cut.des: ")
    window = compare(first, tmp_path / "none.des")
    assert "none.des" in window.line.text()
    assert window.compared is None


def test_bytes_outside_of_objects_count_in_the_headline(settle: Settle, compare: Compare) -> None:
    """Shards with equal objects and another hash function are not called equal."""
    for other, headline in (("damaged", "Objects equal, bytes differ"), ("small", "Objects equal ·")):
        window = compare(SAMPLES / "swh" / "small.shard", SAMPLES / "swh" / f"{other}.shard")
        settle()
        assert window.headline.text().startswith(headline)


def test_it_begins_at_the_first_difference(settle: Settle, compare: Compare, first: Path) -> None:
    """Scrolled to and selected; *Next* visits each of those counted once, also two in one row."""
    with shardcore.open(first) as shard:
        places = [shard.find(key).spans[0].start + at for key, at in (("k50", 1), ("k50", 8), ("k55", 3))]
    other = first.with_name("b.des")
    data = bytearray(first.read_bytes())
    for place in places:
        data[place] ^= 1
    other.write_bytes(data)
    window = compare(first, other)
    assert " · 3 differences · " in window.headline.text()
    assert window.state.scroller.top <= window.state.row < window.state.scroller.top + window.state.visible
    for place in places:
        assert window.state.run.first == (place, place + 1)
        window.next.click()
        settle()
    assert window.line.text() == "No more differences"
    window = compare(first, first)
    assert (window.state.run, window.line.text()) == (None, "No differences")


def test_a_million_objects_make_no_rows(compare: Compare, first: Path) -> None:
    window = compare(first, first)
    assert window.compared is not None
    model = DiffObjectModel(window)
    asked: list[int] = []
    model.wanted.connect(lambda page, numbers: asked.append(len(numbers)))
    model.show_compared(window.compared, np.zeros(1_000_000, np.int64))
    assert model.rowCount() == 1_000_000
    assert [model.text(row, KEY) for row in (999_999, 999_998)] == ["…", "…"]
    assert asked == [1_000_000 % 256]
