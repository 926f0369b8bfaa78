"""*Diff with*: two shards side by side, walked through by their differences; by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import shiboken6
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import DiffKind, Span
from shardscope.session.jobs import Jobs
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.views.diff.tables import DiffColumn, DiffObjectModel
from shardscope.views.diff.window import CompareShards, DiffWindow

SAMPLES = Path("resources/samples")

Compare = Callable[[Path, Path], DiffWindow]


def written(path: Path, objects: dict[str, bytes]) -> Path:
    """A des shard with some objects."""
    with shardcore.create(path, format="des") as writer:
        for key, data in objects.items():
            writer.add(key, data)
    return path


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """Objects of 100 bytes each."""
    return written(tmp_path / "a.des", {f"k{n:02}": bytes([n]) * 100 for n in range(60)})


@pytest.fixture
def second(tmp_path: Path) -> Path:
    """The same, of which one is gone, one changed in two places, one renamed, and one new."""
    objects = {f"k{n:02}": bytes([n]) * 100 for n in range(60)}
    del objects["k10"]
    objects["k30"] = objects["k30"][:10] + b"!!" + objects["k30"][12:90] + b"?" + objects["k30"][91:]
    objects["other"] = objects.pop("k40")
    objects["new"] = b"n" * 50
    return written(tmp_path / "b.des", objects)


@pytest.fixture
def compare(qtbot: QtBot, jobs: Jobs) -> Iterator[Compare]:
    """Opens a window and waits until all is compared; closed at the end."""
    parent, windows = QWidget(), []
    qtbot.addWidget(parent)
    parent.resize(1440, 900)

    def opened(one: Path, other: Path) -> DiffWindow:
        window = DiffWindow(jobs, (OpenRequest(str(one)), OpenRequest(str(other))), parent)
        windows.append(window)
        window.show()
        window.begin()
        qtbot.waitUntil(lambda: window.jobs.job is None and not jobs.open_jobs, timeout=20_000)
        return window

    yield opened
    for window in windows:
        if shiboken6.isValid(window):
            window.reject()
    qtbot.waitUntil(lambda: not jobs.open_jobs)


def settle(qtbot: QtBot, jobs: Jobs) -> None:
    """Wait for the jobs."""
    qtbot.waitUntil(lambda: not jobs.open_jobs, timeout=20_000)


def test_chips_count_and_filter(qtbot: QtBot, jobs: Jobs, compare: Compare, first: Path, second: Path) -> None:
    """Each kind that occurs has a chip with its number, and shows or hides these objects; equal ones are hidden."""
    window = compare(first, second)
    shown = {kind: chip.text() for kind, chip in window.chips.items() if not chip.isHidden()}
    assert shown == {
        DiffKind.EQUAL: "= Equal 10",
        DiffKind.MOVED: "↕ Moved 47",
        DiffKind.CHANGED: "≠ Changed 1",
        DiffKind.ADDED: "+ Added 1",
        DiffKind.REMOVED: "− Removed 1",
        DiffKind.RENAMED: "→ Renamed 1",
    }
    assert window.objects.rowCount() == 51
    window.chips[DiffKind.MOVED].click()
    assert window.objects.rowCount() == 4
    window.chips[DiffKind.EQUAL].click()
    assert window.objects.rowCount() == 14
    window.objects.text(0, DiffColumn.KEY)
    settle(qtbot, jobs)
    keys = [window.objects.text(row, DiffColumn.KEY) for row in range(4)]
    assert keys == ["k30", "k10", "new", "k40 → other"]


def test_next_difference_moves_both_sides(
    qtbot: QtBot, jobs: Jobs, compare: Compare, first: Path, second: Path
) -> None:
    """From a chosen object on, each step shows the next difference on both sides, although it is stored elsewhere."""
    window = compare(first, second)
    with shardcore.open(first) as one, shardcore.open(second) as other:
        left, right = one.find("k30").spans[0].start, other.find("k30").spans[0].start
    assert left != right
    window.table.selectRow(0)
    settle(qtbot, jobs)
    assert window.state.offsets_at(window.state.row) != (-1, -1)
    for shift, length in ((10, 2), (90, 1)):
        window.next.click()
        settle(qtbot, jobs)
        assert window.state.run is not None
        assert window.state.run.first == (left + shift, left + shift + length)
        assert window.state.run.second == (right + shift, right + shift + length)
        assert window.state.row == window.state.run.row
    assert "1 byte" in window.line.text()
    window.previous.click()
    settle(qtbot, jobs)
    assert window.state.run.first[0] == left + 10


def test_a_moved_object_is_aligned(qtbot: QtBot, jobs: Jobs, compare: Compare, first: Path, second: Path) -> None:
    """Choosing an object that moved shows it in one row on both sides, without a difference."""
    window = compare(first, second)
    assert window.compared is not None
    with shardcore.open(first) as one, shardcore.open(second) as other:
        spans = [shard.find("k50").spans[0] for shard in (one, other)]
        row = one.find("k50").row
    number = int(np.flatnonzero(window.compared.found.first == row)[0])
    window.choose(number)
    settle(qtbot, jobs)
    offsets = window.state.offsets_at(window.state.row)
    assert spans[0].start - offsets[0] == spans[1].start - offsets[1]
    assert 0 <= spans[0].start - offsets[0] < 32
    shown = window.state.shown
    assert shown is not None
    at = window.state.row - shown.top
    assert not shown.differing[:, at : at + 3].any()


def test_strips_mark_where_the_sides_differ(compare: Compare, first: Path, second: Path) -> None:
    """Both overviews have ticks; those of equal files have none."""
    window = compare(first, second)
    assert all(strip.ticks() for strip in window.strips)
    window = compare(first, first)
    assert not any(strip.ticks() for strip in window.strips)
    assert window.headline.text().startswith("Objects equal")


def test_a_click_on_a_strip_goes_there(qtbot: QtBot, jobs: Jobs, compare: Compare, first: Path, second: Path) -> None:
    """A click in the middle of a strip shows the bytes there, on both sides."""
    window = compare(first, second)
    strip = window.strips[0]
    QTest.mouseClick(strip, Qt.MouseButton.LeftButton, pos=QPoint(strip.width() // 2, strip.height() - 15))
    settle(qtbot, jobs)
    offset = window.state.offsets_at(window.state.row)[0]
    assert abs(offset - first.stat().st_size // 2) < 400


def test_a_run_by_keyboard(qtbot: QtBot, jobs: Jobs, compare: Compare, first: Path, second: Path) -> None:
    """Objects are chosen, differences are walked through and rows are scrolled without a mouse."""
    window = compare(first, second)
    window.table.setFocus()
    QTest.keyClick(window.table, Qt.Key.Key_Down)
    settle(qtbot, jobs)
    before = window.state.row
    QTest.keyClick(window.table, Qt.Key.Key_F7)
    settle(qtbot, jobs)
    assert window.state.run is not None
    after = window.state.row
    assert after >= before
    window.views[0].setFocus()
    QTest.keyClick(window.views[0], Qt.Key.Key_End)
    settle(qtbot, jobs)
    assert window.state.bytes is not None
    assert window.state.row == window.state.bytes.rows - 1
    QTest.keyClick(window.views[1], Qt.Key.Key_F7, Qt.KeyboardModifier.ShiftModifier)
    settle(qtbot, jobs)
    assert window.state.run is not None
    assert window.state.run.row < window.state.bytes.rows - 1
    QTest.keyClick(window.views[1], Qt.Key.Key_Home)
    assert window.state.row == 0
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert not window.isVisible()


def test_columns_sort(qtbot: QtBot, jobs: Jobs, compare: Compare, first: Path, second: Path) -> None:
    """A click on a title sorts by that column, another one the other way: offsets, and keys, which are read for it."""
    window = compare(first, second)
    header = window.table.horizontalHeader()
    for column in (DiffColumn.SECOND_OFFSET, DiffColumn.KEY):
        header.setSortIndicator(column, Qt.SortOrder.DescendingOrder)
        header.sectionClicked.emit(column)
        settle(qtbot, jobs)
        window.objects.text(0, DiffColumn.KEY)
        settle(qtbot, jobs)
        texts = [window.objects.text(row, column) for row in range(window.objects.rowCount())]
        values = [int(text, 16) if text != "–" else -1 for text in texts] if column != 1 else texts
        assert values == sorted(values, reverse=True)
        assert len(set(texts)) > 10


def test_cancel_stops_comparing(qtbot: QtBot, jobs: Jobs, first: Path, second: Path) -> None:
    """*Cancel* ends the comparison, and the window says so; nothing stays open."""
    parent = QWidget()
    qtbot.addWidget(parent)
    window = DiffWindow(jobs, (OpenRequest(str(first)), OpenRequest(str(second))), parent)
    window.show()
    window.begin()
    assert not window.cancel.isHidden()
    window.cancel.click()
    qtbot.waitUntil(lambda: not jobs.open_jobs)
    assert window.line.text() == "Cancelled"
    assert window.cancel.isHidden()
    assert window.compared is None
    window.reject()


def test_comparing_goes_on_while_other_tabs_are_shown(
    qtbot: QtBot, jobs: Jobs, session: Session, first: Path, second: Path
) -> None:
    """The window stays open beside the tabs: switching between them, or closing them, cancels nothing in it."""
    parent = QWidget()
    qtbot.addWidget(parent)
    comparing = CompareShards(session, parent)
    session.open(str(first))
    settle(qtbot, jobs)
    window = comparing.compare_path(str(second))
    session.open_tab(OpenRequest(str(second)))
    qtbot.waitUntil(lambda: len(session.documents) == 2)
    session.close_all()
    settle(qtbot, jobs)
    assert window.compared is not None
    assert window.objects.rowCount() > 0
    comparing.close()
    settle(qtbot, jobs)


def test_what_cannot_be_opened_is_stated(compare: Compare, first: Path, tmp_path: Path) -> None:
    """A second file that is missing gives the reason in the window."""
    window = compare(first, tmp_path / "none.des")
    assert "none.des" in window.line.text()
    assert window.compared is None


def test_without_a_comparison_no_button_steps(compare: Compare, first: Path, tmp_path: Path) -> None:
    """Where one of the two does not open, the headline states it, and there is no next difference."""
    window = compare(first, tmp_path / "gone.des")
    assert window.headline.text() == "Not compared"
    assert not window.next.isEnabled()
    assert not window.previous.isEnabled()


def test_damage_is_stated(compare: Compare, first: Path, tmp_path: Path) -> None:
    """A truncated file is not passed off as one whose objects were removed."""
    cut = tmp_path / "cut.des"
    cut.write_bytes(first.read_bytes()[:-200])
    window = compare(first, cut)
    assert window.headline.text().startswith("Damaged, partly compared")
    assert window.line.text().startswith("cut.des: ")
    window.table.selectRow(0)
    assert window.line.text().startswith("cut.des: ")


def test_bytes_outside_of_objects_count_in_the_headline(qtbot: QtBot, jobs: Jobs, compare: Compare) -> None:
    """Shards with equal objects and a damaged hash function are not called equal."""
    window = compare(SAMPLES / "swh" / "small.shard", SAMPLES / "swh" / "damaged.shard")
    settle(qtbot, jobs)
    assert window.headline.text().startswith("Objects equal, bytes differ")
    window = compare(SAMPLES / "swh" / "small.shard", SAMPLES / "swh" / "small.shard")
    settle(qtbot, jobs)
    assert window.headline.text().startswith("Objects equal ·")


def test_data_sets_show_their_shards(qtbot: QtBot, jobs: Jobs, compare: Compare) -> None:
    """Of data sets there is a list of shards, and an object shows the bytes of its shard."""
    window = compare(SAMPLES / "neuroglancer/volume", SAMPLES / "neuroglancer/damaged")
    assert window.facts.isTabVisible(1)
    assert window.members.rowCount() >= 2
    assert window.state.sides is not None
    names = [columns.members for columns in window.compared.columns] if window.compared else []
    assert window.state.sides.names[0] in names[0]
    window.table.selectRow(0)
    settle(qtbot, jobs)
    assert window.titles[0].text().endswith(".shard")


def test_formats_are_compared_by_content(compare: Compare) -> None:
    """Shards of two formats have the fields of both, and the bytes of each beside the other."""
    window = compare(SAMPLES / "swh/small.shard", SAMPLES / "xorb/chunks.xorb")
    assert window.fields.text(0, 1) == "format"
    assert window.state.bytes is not None
    assert window.state.bytes.rows


def test_open_in_tab_asks_for_the_selected_bytes(
    qtbot: QtBot, jobs: Jobs, compare: Compare, first: Path, second: Path
) -> None:
    """*Open in tab* carries what is compared, and the bytes of the difference on that side."""
    window = compare(first, second)
    window.table.selectRow(0)
    settle(qtbot, jobs)
    window.next.click()
    settle(qtbot, jobs)
    assert window.state.run is not None
    start, stop = window.state.run.second
    with qtbot.waitSignal(window.tab_wanted) as wanted:
        window.tabs[1].click()
    request, span = wanted.args
    assert request.uri == str(second)
    assert span == Span("", start, stop)


def test_the_action_compares_what_is_open(qtbot: QtBot, jobs: Jobs, session: Session, first: Path) -> None:
    """*Diff with* is there while something is open, and its window closes with the main window."""
    parent = QWidget()
    qtbot.addWidget(parent)
    comparing = CompareShards(session, parent)
    assert not comparing.menu.isEnabled()
    session.open(str(first))
    settle(qtbot, jobs)
    assert comparing.menu.isEnabled()
    window = comparing.compare_path(str(first))
    settle(qtbot, jobs)
    assert window.compared is not None
    comparing.close()
    assert comparing.windows == []
    session.close()
    assert not comparing.menu.isEnabled()


def test_another_tab_is_compared(qtbot: QtBot, jobs: Jobs, session: Session, first: Path, second: Path) -> None:
    """The menu has the other tabs, opened as they are there, and not the one that is shown."""
    parent = QWidget()
    qtbot.addWidget(parent)
    comparing = CompareShards(session, parent)
    session.open(str(first))
    settle(qtbot, jobs)
    comparing.menu.aboutToShow.emit()
    before = [action.text() for action in comparing.menu.actions()]
    session.open_tab(OpenRequest(str(second)))
    settle(qtbot, jobs)
    comparing.menu.aboutToShow.emit()
    assert [action.text() for action in comparing.menu.actions()] == [*before, first.name]
    comparing.menu.actions()[-1].trigger()
    settle(qtbot, jobs)
    (window,) = comparing.windows
    assert [request.uri for request in window.jobs.requests] == [str(second), str(first)]
    assert window.compared is not None
    comparing.close()
    session.close_all()
    settle(qtbot, jobs)


def test_a_million_objects_make_no_rows(qtbot: QtBot, jobs: Jobs, compare: Compare, first: Path) -> None:
    """The model asks for the keys of the rows that are painted, a page at a time, whatever the number of objects."""
    window = compare(first, first)
    assert window.compared is not None
    model = DiffObjectModel(window)
    asked: list[int] = []
    model.wanted.connect(lambda page, numbers: asked.append(len(numbers)))
    model.show_compared(window.compared, np.zeros(1_000_000, np.int64))
    assert model.rowCount() == 1_000_000
    assert model.text(999_999, DiffColumn.KEY) == "…"
    assert model.text(999_998, DiffColumn.KEY) == "…"
    assert asked == [1_000_000 % 256]


def test_a_comparison_goes_on_while_other_tabs_are_shown(
    qtbot: QtBot, session: Session, first: Path, second: Path
) -> None:
    """Its jobs belong to no tab: showing or closing one cancels nothing, and closing the window does."""
    for path in (first, second):
        with qtbot.waitSignal(session.opened):
            session.open_tab(OpenRequest(str(path)))
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.resize(1440, 900)
    window = DiffWindow(session.jobs, (OpenRequest(str(first)), OpenRequest(str(second))), parent)
    window.show()
    window.begin()
    session.step(1)
    session.close()
    qtbot.waitUntil(lambda: window.compared is not None, timeout=20_000)
    session.step(1)
    window.begin()
    session.close()
    window.reject()
    qtbot.waitUntil(lambda: not session.jobs.open_jobs)
