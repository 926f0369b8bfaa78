"""The dock of charts: counted in the background, chosen by mouse and keys, light until somebody looks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import Span
from shardcore.model.byte_shares import USE_OF_SECTION, Use
from shardcore.model.occupancy import Load
from shardcore.model.section import SECTION_LETTERS
from shardcore.progress import no_progress
from shardcore.teaching.charts.charts import AxisScale, load_chart
from shardscope.learning.charts.byte_shares_view import LETTERS, ROLES
from shardscope.learning.charts.count import ChartKind, count_load
from shardscope.learning.charts.pages import ChartPages
from shardscope.learning.charts.panel import Charts
from shardscope.learning.charts.plot import chart_ticks, ticks
from shardscope.session.session import Session
from tests.app.conftest import open_in
from tests.remote.servers import RangeServer


@pytest.fixture
def charts(session: Session, qtbot: QtBot) -> Iterator[Charts]:
    """The dock, not shown yet."""
    made = Charts(session)
    qtbot.addWidget(made)
    made.resize(340, 420)
    yield made
    session.close()


def looked_at(charts: Charts, qtbot: QtBot) -> ChartPages:
    """The charts, once somebody looks."""
    pages = shown(charts, qtbot)
    counted(pages, qtbot)
    return pages


def shown(charts: Charts, qtbot: QtBot) -> ChartPages:
    """The charts, when they are there."""
    charts.show()
    qtbot.waitUntil(lambda: charts.pages is not None)
    assert isinstance(charts.pages, ChartPages)
    return charts.pages


def counted(pages: ChartPages, qtbot: QtBot) -> None:
    """Waits until what is in front is counted."""
    qtbot.waitUntil(lambda: pages.found is not None and not pages._session.jobs.open_jobs)


def turn(pages: ChartPages, qtbot: QtBot, kind: ChartKind) -> None:
    """Brings a chart to the front."""
    pages.kinds.setCurrentIndex(tuple(ChartKind).index(kind))
    counted(pages, qtbot)


def test_a_walk_through_the_charts(charts: Charts, session: Session, qtbot: QtBot, data: Path) -> None:
    """A row of the budget selects bytes, a size filters, a slot shows its object; nothing is made unseen."""
    assert charts.pages is None
    open_in(session, qtbot, data / "swh/medium.shard")
    pages = looked_at(charts, qtbot)
    filters: list[str] = []
    charts.filter_wanted.connect(filters.append)
    names = [share.name for share in pages.budget.shares.things]
    assert "hash function" in names
    pages.budget.setCurrentIndex(pages.budget.model().index(names.index("hash function"), 0))
    QTest.keyClick(pages.budget, Qt.Key.Key_Return)
    shard = session.shard
    assert shard is not None
    lookup = next(section for section in shard.sections if section.name == "hash function")
    assert session.selection.span == Span("", lookup.start, lookup.stop)

    turn(pages, qtbot, ChartKind.SIZES)
    plot = pages.plot
    assert plot.isVisible()
    plot.setFocus()
    QTest.keyClick(plot, Qt.Key.Key_End)
    QTest.keyClick(plot, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(plot, Qt.Key.Key_Return)
    assert filters[-1].startswith("size:")
    assert "objects" in pages.read_out.text() or "object" in pages.read_out.text()

    turn(pages, qtbot, ChartKind.LOAD)
    QTest.keyClick(plot, Qt.Key.Key_Home)
    QTest.keyClick(plot, Qt.Key.Key_Return)
    assert filters[-1].startswith("row:0")
    pages.choice.setCurrentIndex(1)
    pages._choose(1)
    counted(pages, qtbot)
    pages.turn.setChecked(True)
    assert pages.chart is not None
    assert pages.chart.name == "spread"


def test_what_cannot_be_shown_is_told_in_a_sentence(charts: Charts, session: Session, qtbot: QtBot, data: Path) -> None:
    """Nothing open, a file without slots: each says so."""
    pages = shown(charts, qtbot)
    assert pages.why.text == "Open a shard to see what its bytes are for."
    open_in(session, qtbot, data / "des/none.des")
    turn(pages, qtbot, ChartKind.LOAD)
    assert "readers walk its index" in pages.why.text


def test_the_budget_of_a_folder_is_that_of_its_files(
    charts: Charts, session: Session, qtbot: QtBot, data: Path
) -> None:
    """As on the command line: index and padding of the files are not payload."""
    pages = shown(charts, qtbot)
    open_in(session, qtbot, data / "neuroglancer/tiny_worked_example")
    qtbot.waitUntil(lambda: pages.found is not None and bool(pages.found.shares))
    assert pages.found is not None
    with shardcore.open(data / "neuroglancer/tiny_worked_example") as shard:
        assert isinstance(shard, shardcore.DataSet)
        assert pages.found.shares == shard.count_shares()
    assert {share.use.value for share in pages.found.shares} > {"data"}


@pytest.mark.thorough
def test_far_files_are_not_fetched_for_charts(
    charts: Charts, session: Session, qtbot: QtBot, server: RangeServer, data: Path
) -> None:
    """Of a remote file nothing is fetched for a chart."""
    with qtbot.waitSignal(session.index_loaded):
        session.open(server.put("/medium.shard", data / "swh/medium.shard"))
    before = len(server.log)
    pages = looked_at(charts, qtbot)
    for kind in ChartKind:
        turn(pages, qtbot, kind)
    assert len(server.log) == before


def test_no_bytes_are_made_up_for_files_that_are_not_listed(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How much counting would read is stated once the files are known: at most their bytes."""
    with shardcore.open(data.parent.parent / "resources/samples/des/archive") as shard:
        known = count_load(shard, "", no_progress, remote=True, agreed=False)
        monkeypatch.setattr(shardcore.DataSet, "listed", False)
        unlisted = count_load(shard, "", no_progress, remote=True, agreed=False)
    assert (known.cost, unlisted.cost) == (2227, 0)
    assert "not listed yet" in unlisted.why


def test_axes_have_round_numbers_with_units() -> None:
    """Sizes are written by powers of 1,024, counts by 1, 2 and 5."""
    assert [text for _, text in ticks(AxisScale.SIZES, -1, 20, 4)] == ["0", "1 KiB", "1 MiB"]
    assert [text for _, text in ticks(AxisScale.LINEAR, 0, 10, 5)] == ["0", "2", "4", "6", "8", "10"]
    load = Load("t", "slot", "object", np.ones(3, np.int64), "Doc.")
    assert chart_ticks(load_chart(load).chart, 5)[0] == (0.5, "0")


def test_bars_look_as_their_sections_elsewhere() -> None:
    """A section has one letter and one colour in the bytes and in the chart."""
    for role, use in USE_OF_SECTION.items():
        assert ROLES[use] is role
        assert LETTERS[use] == ("X" if use is Use.DEAD else SECTION_LETTERS[role])
    assert len(set(LETTERS.values())) == len(LETTERS) == len(Use)
