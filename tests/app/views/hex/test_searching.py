"""Searching in the hex panel: from hit to hit, all of them, numbers in every width, what was searched before."""

from __future__ import annotations

import threading
from pathlib import Path

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from shardcore import BytesSource, Span
from shardcore.teaching import resources
from shardcore.testing import PatternSource
from shardscope.session.hit_list import HitList
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.views.hex.panel import HexPanel
from tests.app.hex_samples import SampleReader

SLOT = 40


def test_search_finds_wildcards(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    swh.actions_.find.trigger()
    assert swh.search.isVisible()
    swh.search.field.setText("53 57 ?? 5? 68")
    qtbot.keyClick(swh.search.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: session.selection.span == Span("", 0, 5))
    assert "at 0" in swh.search.status.text()
    qtbot.keyClick(swh.search.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "wrapped around" in swh.search.status.text())


def test_all_hits_are_listed_and_marked(qtbot: QtBot, swh: HexPanel, session: Session, data: Path) -> None:
    raw = (data / "swh" / "small.shard").read_bytes()
    wanted = [at for at in range(len(raw) - 3) if raw[at : at + 4] == bytes(4)]
    lists: list[HitList] = []
    swh.search.hits_changed.connect(lists.append)
    swh.search.start()
    swh.search.field.setText("00000000")
    with qtbot.waitSignal(swh.search.list_wanted):
        swh.search.list_all()
    assert lists[-1].offsets.tolist() == wanted
    assert swh.search.status.text() == f"{len(wanted):,} found"
    seen = swh.state.stretches
    assert len(seen) > 1, "rows of zeros are folded"
    shown = [(at, at + 4) for at in wanted if any(at + 4 > start and at < stop for start, stop in seen)]
    assert list(swh.state.scene(focused=True).hits) == shown
    qtbot.keyClick(swh.search.field, Qt.Key.Key_Escape)
    assert swh.state.scene(focused=True).hits == ()
    assert not swh.search.isVisible()


def test_a_number_search_says_which_hit(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    size = session.shard.fields["header.index_size"]
    swh.search.look_for("Number", str(size))
    qtbot.waitUntil(lambda: session.selection.span == Span("", 72, 80))
    qtbot.waitUntil(lambda: swh.search.status.text().startswith("1 of "))
    assert "at 0x48 · u64 big-endian" in swh.search.status.text()


def test_enter_goes_on_while_hits_are_found_and_listed(qtbot: QtBot, session: Session, panel: HexPanel) -> None:
    """Each press moves one hit further, also before the first hit is found."""
    data = b"..a..a..a..a" + bytes(5_000_000)
    reader, held = SampleReader(BytesSource(data)), threading.Event()
    panel.pages.use(reader)
    panel.view.state.set_source("", len(data))
    panel.search.found.connect(panel.state.select)
    reader.failure = lambda start, stop: None if stop - start < len(data) // 2 else bool(held.wait(60)) and None
    panel.search.look_for("Text", "a")
    qtbot.keyClick(panel.search.field, Qt.Key.Key_Return)
    held.set()
    qtbot.waitUntil(lambda: panel.state.selection.caret == 5)
    qtbot.waitUntil(lambda: panel.search.status.text().startswith("2 of 4"))
    panel.search.forget()
    held.clear()
    panel.state.move_caret(0)
    reader.failure = lambda start, stop: None if start < 4_000_000 else bool(held.wait(60)) and None
    panel.search.look_for("Text", "a")
    qtbot.waitUntil(lambda: "list" in panel.search._jobs)
    qtbot.keyClick(panel.search.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.state.selection.caret == 5)
    assert "list" in panel.search._jobs
    held.set()
    qtbot.waitUntil(lambda: panel.search.status.text().startswith("2 of 4"))


def test_searches_come_back(qtbot: QtBot, swh: HexPanel) -> None:
    swh.search.start()
    for kind, text in (("Hex", "53 57"), ("Text", "SWH")):
        swh.search.look_for(kind, text)
        qtbot.waitUntil(lambda: " of " in swh.search.status.text())
    swh.search.field.setText("typing")
    seen = []
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Down):
        qtbot.keyClick(swh.search.field, key)
        seen.append((swh.search.kind.currentText(), swh.search.field.text()))
    first, second, typed = ("Hex", "53 57"), ("Text", "SWH"), ("Text", "typing")
    assert seen == [second, first, first, second, typed, typed]
    menu = swh.search.earlier_menu()
    assert [action.text() for action in menu.actions()] == ["SWH\tText", "53 57\tHex"]
    menu.actions()[1].trigger()
    assert (swh.search.kind.currentText(), swh.search.field.text()) == first
    qtbot.waitUntil(lambda: " of " in swh.search.status.text())
    swh.search.field.setText("53 57")
    qtbot.keyClick(swh.search.field, Qt.Key.Key_Up)
    assert swh.search.field.text() == "SWH"
    swh.search.close_bar()


def test_search_mistakes_are_told(qtbot: QtBot, swh: HexPanel) -> None:
    swh.search.start()
    swh.search.field.setText("5")
    swh.search.look()
    assert "odd number" in swh.search.status.text()
    swh.search.kind.setCurrentText("Text")
    swh.search.field.setText("surely not in this file")
    swh.search.look()
    qtbot.waitUntil(lambda: swh.search.status.text() == "not found in the stored bytes")


def test_a_search_can_be_stopped(qtbot: QtBot, session: Session, panel: HexPanel) -> None:
    panel.pages.use(SampleReader(PatternSource(2**60)))
    panel.view.state.set_source("", 2**60)
    panel.search.start()
    panel.search.field.setText("00 01 02 03 04 05 06 07")
    panel.search.list_all()
    assert panel.search.stop.isVisible()
    qtbot.waitUntil(lambda: any(job.done_amount > 0 for job in session.jobs.open_jobs))
    qtbot.mouseClick(panel.search.stop, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: panel.search.status.text() == "stopped")
    assert not panel.search.stop.isVisible()
    assert not session.jobs.open_jobs


def test_contents_are_searched_on_request(qtbot: QtBot, panel: HexPanel, session: Session) -> None:
    with qtbot.waitSignal(session.opened):
        session.open(OpenRequest(str(resources.path("samples/xorb/chunks.xorb"))))
    bar = panel.search
    bar.look_for("Text", "abcdabcd")
    qtbot.waitUntil(lambda: bar.status.text() == "not found in the stored bytes")
    with qtbot.waitSignal(bar.list_wanted), qtbot.waitSignal(bar.hits_changed) as listed:
        qtbot.mouseClick(bar.contents, Qt.MouseButton.LeftButton)
    hits: HitList = listed.args[0]
    assert {hit.row for hit in hits.contents} == {3}
    assert "row 3" in bar.status.text()
    span = session.selection.span
    assert span.source.startswith("@")
    qtbot.waitUntil(lambda: panel.state.name == span.source)
    assert session.shard.bytes_of(span.source).read(span.start, span.stop) == b"abcdabcd"
    qtbot.mouseClick(bar.contents, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.selection.span != span)
    bar.field.setText("nowhere in here")
    qtbot.mouseClick(bar.contents, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bar.status.text() == "not found in the contents")
