"""The session: opening, the selection both ways, history, verification, and files that change."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardcore import Depth, SourceChanged, SourceError, Span
from shardcore.sources.local import FileSource
from shardcore.sources.memory import BytesSource
from shardscope.session.jobs import Jobs
from shardscope.session.selection import Selection
from shardscope.session.session import IndexState, Session
from shardscope.session.source_watch import SourceWatch
from tests.app.conftest import open_in


@pytest.fixture
def small(data: Path) -> Path:
    """A shard of 12 objects in 13 slots."""
    return data / "swh" / "small.shard"


@pytest.fixture
def opened(session: Session, qtbot: QtBot, small: Path) -> Session:
    """The small shard, with its index."""
    open_in(session, qtbot, small)
    return session


def chosen(session: Session, qtbot: QtBot) -> None:
    """Waits until the selection is complete."""
    qtbot.waitUntil(lambda: session.selection.complete)


def test_what_cannot_be_opened_leaves_what_is_open(opened: Session, qtbot: QtBot, tmp_path: Path) -> None:
    before = opened.shard
    with qtbot.waitSignal(opened.documents.failed) as caught:
        opened.open(str(tmp_path / "nothing.shard"))
    failure = caught.args[0]
    assert isinstance(failure.error, SourceError)
    assert opened.shard is before


def test_the_latest_opening_wins(session: Session, qtbot: QtBot, small: Path) -> None:
    seen: list[str] = []
    session.opened.connect(lambda shard: seen.append(shard.source.name))
    session.open(str(small.with_name("one.shard")))
    session.open(str(small))
    qtbot.waitUntil(lambda: session.index.state is IndexState.LOADED)
    assert seen == ["small.shard"]


@pytest.mark.parametrize("row", range(13))
def test_object_to_bytes_and_back(opened: Session, qtbot: QtBot, row: int) -> None:
    opened.select_row(row)
    chosen(opened, qtbot)
    found = opened.selection
    if found.span is None or not found.span.size:
        return
    assert found.span == (found.ref.spans[0] if found.ref.spans else found.ref.record)
    assert found.path[-1].span.covers(found.span.start)
    opened.select_span(found.span)
    chosen(opened, qtbot)
    assert opened.selection.row == row


def test_a_node_keeps_its_path(opened: Session, qtbot: QtBot) -> None:
    tree = opened.shard.tree
    path = (tree, tree.children[0], tree.children[0].children[2])
    opened.select_node(path, "tree")
    assert opened.selection.span == Span("", 40, 48)
    chosen(opened, qtbot)
    assert [node.name for node in opened.selection.path] == ["small.shard", "header", "objects_count"]


def test_back_and_forward(opened: Session, qtbot: QtBot) -> None:
    """Nearby offsets are one step of the history."""
    for start in (0, 5, 3000, 5000):
        opened.select_span(Span("", start, start + 1))
    opened.selector.back()
    assert opened.selection.span == Span("", 3000, 3001)
    opened.selector.back()
    assert opened.selection.span == Span("", 5, 6)
    assert not opened.selector.can_go_back
    opened.selector.forward()
    assert opened.selection.span == Span("", 3000, 3001)
    opened.select_span(Span("", 40, 41))
    assert not opened.selector.can_go_forward


def test_the_history_is_announced_when_it_changes(opened: Session, qtbot: QtBot) -> None:
    seen: list[bool] = []
    opened.selector.history_changed.connect(lambda: seen.append(opened.selector.can_go_back))
    for start in (0, 3000, 5000):
        opened.select_span(Span("", start, start + 1))
    assert seen == [True]
    opened.selector.back()
    opened.selector.back()
    assert seen == [True, True, False]


def test_a_selection_is_announced_once(opened: Session, qtbot: QtBot) -> None:
    """When it is resolved; of several in a row, only the last one."""
    qtbot.waitUntil(lambda: not opened.jobs.open_jobs)
    seen: list[Selection] = []
    opened.selection_changed.connect(seen.append)
    for start in (40, 700):
        opened.select_span(Span("", start, start + 1))
        assert opened.selection.span == Span("", start, start + 1)
    opened.select_row(3)
    assert seen == []
    qtbot.waitUntil(lambda: not opened.jobs.open_jobs)
    assert [(one.complete, one.row) for one in seen] == [(True, 3)]
    assert seen == [opened.selection]


def test_a_selection_that_takes_long_is_announced_before(opened: Session, qtbot: QtBot) -> None:
    seen: list[Selection] = []
    gate, path = threading.Event(), opened.shard.whole_path
    opened.shard.whole_path = lambda *given: gate.wait(60) and path(*given)
    opened.selection_changed.connect(seen.append)
    opened.select_span(Span("", 700, 701), "view")
    qtbot.waitUntil(lambda: bool(seen))
    assert seen == [Selection(Span("", 700, 701))]
    gate.set()
    qtbot.waitUntil(lambda: len(seen) == 2)
    assert seen[1].complete
    assert seen[1].origin == "view"


def test_verification_reports(opened: Session, qtbot: QtBot) -> None:
    jobs: list[object] = []
    opened.verification.running_changed.connect(jobs.append)
    with qtbot.waitSignal(opened.verification.changed):
        opened.verification.start(Depth.CONTENT)
    assert opened.verification.report.ok
    assert opened.verification.report.objects == 12
    assert jobs[0] is not None
    assert jobs[-1] is None


def test_a_file_that_is_replaced_is_noticed(session: Session, qtbot: QtBot, small: Path, tmp_path: Path) -> None:
    path = tmp_path / "changing.shard"
    shutil.copy(small, path)
    open_in(session, qtbot, path)
    session.select_span(Span("", 40, 48))
    chosen(session, qtbot)
    path.write_bytes(small.with_name("medium.shard").read_bytes())
    with qtbot.waitSignal(session.watch.trouble_changed) as caught:
        session.watch.check()
    assert isinstance(caught.args[0], SourceChanged)
    with qtbot.waitSignal(session.opened):
        session.reload()
    assert session.document.trouble is None
    assert session.selection.span == Span("", 40, 48)


def test_a_file_that_vanishes_is_noticed(session: Session, qtbot: QtBot, small: Path, tmp_path: Path) -> None:
    path = tmp_path / "vanishing.shard"
    shutil.copy(small, path)
    open_in(session, qtbot, path)
    path.unlink()
    with qtbot.waitSignal(session.watch.trouble_changed) as caught:
        session.watch.check()
    assert "deleted" in str(caught.args[0])
    session.select_span(Span("", 700, 701))
    chosen(session, qtbot)
    assert session.selection.path[-1].name == "content"


def test_closing_closes_the_file_when_nobody_reads(opened: Session, jobs: Jobs, qtbot: QtBot) -> None:
    source = opened.shard.source
    opened.select_span(Span("", 700, 701))
    opened.close()
    assert opened.shard is None
    assert opened.selection.span is None

    def closed() -> bool:
        try:
            source.read(0, 1)
        except SourceError:
            return True
        return False

    qtbot.waitUntil(closed)
    assert jobs.open_jobs == ()


def test_back_after_a_lookup_leads_to_where_one_was(opened: Session, qtbot: QtBot) -> None:
    """The steps of a lookup are not in the history."""
    for start in (32, 4465):
        opened.select_span(Span("", start, start + 8))
        chosen(opened, qtbot)
    opened.lookup.start("ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb")
    qtbot.waitUntil(lambda: opened.lookup.walk.step == 0)
    opened.lookup.go_to_step(8)
    opened.selector.back()
    assert opened.selection.span == Span("", 4465, 4473)
    opened.selector.back()
    assert opened.selection.span == Span("", 32, 40)
    opened.selector.forward()
    assert opened.selection.span == Span("", 4465, 4473)


@pytest.fixture
def watch(qapp: QApplication) -> Iterator[SourceWatch]:
    """A watch on nothing."""
    parent = QObject()
    made = SourceWatch(parent)
    yield made
    made.stop()


def test_a_change_is_told_by_the_system(watch: SourceWatch, qtbot: QtBot, tmp_path: Path) -> None:
    path, other = tmp_path / "one", tmp_path / "two"
    path.write_bytes(b"before")
    with FileSource(path) as source:
        watch.start(source)
        with qtbot.waitSignal(watch.due):
            path.write_bytes(b"after")
        other.write_bytes(b"another")
        with qtbot.waitSignal(watch.due):
            other.replace(path)
        with qtbot.waitSignal(watch.due):
            path.write_bytes(b"once more")
    watch.start(BytesSource(b"memory"))
    assert not watch.ticks


def test_nothing_ticks_while_nobody_looks(watch: SourceWatch, qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    """Remote files are polled while the window is active only."""
    path = tmp_path / "one"
    path.write_bytes(b"bytes")
    with FileSource(path) as source:
        watch.start(source)
        with qtbot.waitSignal(watch.due):
            qapp.applicationStateChanged.emit(Qt.ApplicationState.ApplicationActive)
        assert watch.ticks
        qapp.applicationStateChanged.emit(Qt.ApplicationState.ApplicationInactive)
        assert not watch.ticks
        watch.stop()
        qapp.applicationStateChanged.emit(Qt.ApplicationState.ApplicationActive)
        assert not watch.ticks
