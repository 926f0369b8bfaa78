"""Searching in the hex panel: from hit to hit, all of them, numbers in every width, what was searched before."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from shardcore import BytesSource, Span
from shardcore.teaching import resource_paths
from shardcore.testing import PatternSource
from shardscope.session.byte_marks import HitList
from shardscope.session.session import Session
from shardscope.views.hex.panel import HexPanel
from tests.app.conftest import open_in
from tests.app.hex_samples import SampleReader


def test_all_hits_are_listed_and_marked(qtbot: QtBot, swh: HexPanel, session: Session, data: Path) -> None:
    raw = (data / "swh" / "small.shard").read_bytes()
    wanted = [at for at in range(len(raw) - 3) if raw[at : at + 4] == bytes(4)]
    swh.search.start()
    swh.search.kind.setCurrentText("Hex")
    swh.search.field.setText("00000000")
    with qtbot.waitSignal(swh.search.list_wanted), qtbot.waitSignal(swh.search.hits_changed) as listed:
        swh.search.list_all()
    assert listed.args[0].offsets.tolist() == wanted
    seen = swh.state.stretches
    assert len(seen) > 1, "rows of zeros are folded"
    shown = [(at, at + 4) for at in wanted if any(at + 4 > start and at < stop for start, stop in seen)]
    assert list(swh.state.scene(focused=True).hits) == shown
    qtbot.keyClick(swh.search.field, Qt.Key.Key_Escape)
    assert swh.state.scene(focused=True).hits == ()
    assert not swh.search.isVisible()


def test_a_search_says_which_hit_or_why_there_is_none(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    bar, status = swh.search, swh.search.status
    swh.actions_.find.trigger()
    assert bar.isVisible()
    qtbot.keyClicks(bar.field, "swh")
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: status.text() == "1 of 1, at 0x0")
    bar.match_case.click()
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "not found" in status.text())
    bar.field.clear()
    qtbot.keyClicks(bar.field, "53 57 ?? 5? 68")
    assert (bar.kind.currentText(), bar.match_case.isEnabled()) == ("Hex", False)
    qtbot.keyClicks(bar.field, "y")
    assert bar.kind.currentText() == "Text", "these are no bytes"
    qtbot.keyClick(bar.field, Qt.Key.Key_Backspace)
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: session.selection.span == Span("", 0, 5))
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "wrapped around" in status.text())
    bar.look_for("Number", str(session.shard.fields["header.index_size"]))
    qtbot.waitUntil(lambda: session.selection.span == Span("", 72, 80))
    qtbot.waitUntil(lambda: status.text().startswith("1 of "))
    assert "at 0x48 · u64 big-endian" in status.text()
    for kind, text, answer in (("Hex", "5", "odd number"), ("Text", "no such", "not found"), ("Regex", "(", "missing")):
        bar.kind.setCurrentText(kind)
        bar.field.setText(text)
        bar.look()
        qtbot.waitUntil(lambda answer=answer: answer in status.text())


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
    bar = swh.search

    def shown() -> tuple[str, str]:
        return bar.kind.currentText(), bar.field.text()

    bar.start()
    first, second, typed = ("Hex", "53 57"), ("Text", "SWH"), ("Text", "typing")
    for kind, text in (first, second):
        bar.look_for(kind, text)
        qtbot.waitUntil(lambda: " of " in bar.status.text())
    bar.field.setText("typing")
    up, down = Qt.Key.Key_Up, Qt.Key.Key_Down
    for key, expected in zip((up, up, up, down, down, down), (second, first, first, second, typed, typed), strict=True):
        qtbot.keyClick(bar.field, key)
        assert shown() == expected
    menu = bar.earlier_menu()
    assert [action.text() for action in menu.actions()] == ["SWH\tText", "53 57\tHex"]
    menu.actions()[1].trigger()
    assert shown() == first
    qtbot.waitUntil(lambda: " of " in bar.status.text())
    bar.field.setText("53 57")
    qtbot.keyClick(bar.field, up)
    assert bar.field.text() == "SWH"
    bar.close_bar()


def test_a_search_can_be_stopped(qtbot: QtBot, session: Session, panel: HexPanel) -> None:
    panel.pages.use(SampleReader(PatternSource(2**60)))
    panel.view.state.set_source("", 2**60)
    panel.search.start()
    panel.search.kind.setCurrentText("Hex")
    panel.search.field.setText("00 01 02 03 04 05 06 07")
    panel.search.list_all()
    assert panel.search.stop.isVisible()
    qtbot.waitUntil(lambda: any(job.done_amount > 0 for job in session.jobs.open_jobs))
    qtbot.mouseClick(panel.search.stop, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: panel.search.status.text() == "stopped")
    assert not panel.search.stop.isVisible()
    assert not session.jobs.open_jobs


def test_contents_are_searched_on_request(qtbot: QtBot, panel: HexPanel, session: Session) -> None:
    open_in(session, qtbot, resource_paths.path("samples/xorb/chunks.xorb"))
    bar = panel.search
    bar.look_for("Text", "abcdabcd")
    qtbot.waitUntil(lambda: "not found" in bar.status.text())
    with qtbot.waitSignal(bar.list_wanted), qtbot.waitSignal(bar.hits_changed) as listed:
        bar.contents.click()
    hits: HitList = listed.args[0]
    assert {hit.row for hit in hits.contents} == {3}
    assert "row 3" in bar.status.text()
    span = session.selection.span
    assert span.source.startswith("@")
    qtbot.waitUntil(lambda: panel.state.name == span.source)
    assert session.shard.bytes_of(span.source).read(span.start, span.stop) == b"abcdabcd"
    assert bar.contents.isChecked()
    bar.again(backward=False)
    qtbot.waitUntil(lambda: session.selection.span != span)
    bar.again(backward=True)
    qtbot.waitUntil(lambda: session.selection.span == span)
    bar.field.setText("nowhere in here")
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bar.status.text() == "not found in the contents")
    bar.contents.click()
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bar.status.text() == "not found in the stored bytes")


@pytest.mark.thorough
def test_expressions_are_found_counted_and_marked(qtbot: QtBot, session: Session, panel: HexPanel) -> None:
    data = b"ab12 ab3 AB456 " * 5_000
    panel.pages.use(SampleReader(BytesSource(data)))
    panel.state.set_source("", len(data))
    panel.search.found.connect(panel.state.select)
    panel.search.look_for("Regex", r"ab\d+")
    qtbot.waitUntil(lambda: panel.search.status.text() == "1 of 10,000+, at 0x0")
    panel.search.again(backward=True)
    qtbot.waitUntil(lambda: panel.state.selection.span == Span("", len(data) - 6, len(data) - 1))
    panel.state.scroll_to(0)
    assert panel.state.scene(focused=True).hits[:4] == ((0, 4), (5, 8), (9, 14), (15, 19))
    panel.search.list_all()
    qtbot.waitUntil(lambda: panel.search.status.text() == "15,000 found")
    panel.search.look_for("Regex", r"(?:[\w ]|.)+%")
    qtbot.waitUntil(lambda: "find" in panel.search._jobs)
    panel.search.cancel()
    qtbot.waitUntil(lambda: panel.search.status.text() == "stopped" and not session.jobs.open_jobs)
