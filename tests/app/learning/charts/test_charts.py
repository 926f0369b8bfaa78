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
from shardcore.model.usage import Load
from shardcore.progress import no_progress
from shardcore.teaching.charts import load_chart
from shardscope.learning.charts.chart_pages import ChartKind, ChartPages, count_load
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


def shown(charts: Charts, qtbot: QtBot) -> ChartPages:
    """The charts, when they are there."""
    charts.show()
    qtbot.waitUntil(lambda: charts.pages is not None)
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
    pages = shown(charts, qtbot)
    counted(pages, qtbot)
    filters: list[str] = []
    charts.filter_wanted.connect(filters.append)
    names = [share.name for share in pages.budget.shares.things]
    pages.budget.setCurrentIndex(pages.budget.model().index(names.index("hash function"), 0))
    QTest.keyClick(pages.budget, Qt.Key.Key_Return)
    lookup = next(section for section in session.shard.sections if section.name == "hash function")
    assert session.selection.span == Span("", lookup.start, lookup.stop)

    turn(pages, qtbot, ChartKind.SIZES)
    plot, key = pages.plot, Qt.Key
    assert plot.isVisible()
    plot.setFocus()
    QTest.keyClick(plot, key.Key_End)
    QTest.keyClick(plot, key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(plot, key.Key_Return)
    assert filters[-1].startswith("size:")
    assert "object" in pages.read_out.text()

    turn(pages, qtbot, ChartKind.LOAD)
    QTest.keyClick(plot, key.Key_Home)
    QTest.keyClick(plot, key.Key_Return)
    assert filters[-1].startswith("row:0")
    pages.choice.setCurrentIndex(1)
    pages._choose(1)
    counted(pages, qtbot)
    pages.turn.setChecked(True)
    assert pages.chart.name == "spread"


def test_the_shares_of_a_folder_are_those_of_its_files(
    charts: Charts, session: Session, qtbot: QtBot, data: Path
) -> None:
    """As on the command line: index and padding of the files are not payload."""
    pages = shown(charts, qtbot)
    qtbot.waitUntil(lambda: bool(pages.why.text))
    open_in(session, qtbot, data / "neuroglancer/tiny_worked_example")
    qtbot.waitUntil(lambda: pages.found is not None and bool(pages.found.shares))
    with shardcore.open(data / "neuroglancer/tiny_worked_example") as shard:
        assert pages.found.shares == shard.count_shares()
    assert {share.use.value for share in pages.found.shares} > {"data"}
    open_in(session, qtbot, data / "des/none.des")
    turn(pages, qtbot, ChartKind.LOAD)
    assert "readers walk its index" in pages.why.text


@pytest.mark.thorough
def test_far_files_are_not_fetched_for_charts(
    charts: Charts, session: Session, qtbot: QtBot, server: RangeServer, data: Path
) -> None:
    """Of a remote file nothing is fetched for a chart."""
    with qtbot.waitSignal(session.index.loaded):
        session.open(server.put("/medium.shard", data / "swh/medium.shard"))
    before = len(server.log)
    pages = shown(charts, qtbot)
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
    assert [text for _, text in ticks(-1, 20, 4, of_sizes=True)] == ["0", "1 KiB", "1 MiB"]
    assert [text for _, text in ticks(0, 10, 5)] == ["0", "2", "4", "6", "8", "10"]
    load = Load("t", "slot", "object", np.ones(3, np.int64), "Doc.")
    assert chart_ticks(load_chart(load), 5)[0] == (0.5, "0")
