"""The trace panel: a lookup as a lesson."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from shardcore import Span, Step, Trace
from shardcore.teaching import resource_paths
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.views.trace.panel import TracePanel
from shardscope.views.trace.suggested_keys import sample_of
from tests.app.conftest import open_in, visible

KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
ABSENT = "0" * 64


@pytest.fixture
def panel(session: Session, qtbot: QtBot, data: Path) -> TracePanel:
    """A panel on the small sample."""
    made = visible(qtbot, TracePanel(session), 420, 760)
    open_in(session, qtbot, data / "swh/small.shard")
    return made


def trace(panel: TracePanel, qtbot: QtBot, key: str) -> Trace:
    """Types a key, presses Enter, and waits for the lookup."""
    panel.field.setText(key)
    qtbot.keyClick(panel.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.trace is not None and panel.trace.key == key)
    return panel.trace


def test_a_hidden_panel_keeps_the_key_that_is_looked_up(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    panel.hide()
    session.select_row(0)
    qtbot.waitUntil(lambda: session.selection.ref is not None)
    session.lookup.start(ABSENT)
    panel.show()
    qtbot.waitUntil(lambda: panel.trace is not None and panel.trace.key == ABSENT)
    assert panel.field.text() == ABSENT
    assert panel.band.outcome.text == "Not found"


def test_found_and_not_found(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    band = panel.band
    shown = trace(panel, qtbot, KEY)
    assert len(panel.cards) == len(shown.steps) > 5
    assert [card.title.text for card in panel.cards] == [step.title for step in shown.steps]
    assert (band.outcome.text, band.sign.mark) == ("Found", "tick")
    assert KEY in band.verdict.text
    assert band.show_object.isVisible()
    panel.area.setFocus()
    for key, current in ((Qt.Key.Key_Down, 1), (Qt.Key.Key_Up, 0)):
        qtbot.keyClick(panel.area, key)
        assert panel.current == current
    panel.field.setText(KEY[:-1])
    assert "previous key" in band.outcome.text
    assert not band.show_object.isEnabled()
    panel.field.setText(KEY)
    assert band.outcome.text == "Found"
    assert band.show_object.isEnabled()
    trace(panel, qtbot, ABSENT)
    assert (band.outcome.text, band.sign.mark) == ("Not found", "none")
    assert not band.show_object.isVisible()
    panel.field.setText("xyz")
    qtbot.keyClick(panel.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: band.outcome.text == "Lookup failed")
    assert panel.trace is None
    assert panel.cards == []
    session.close()
    assert not band.isVisible()


def test_damaged_and_tombstoned(panel: TracePanel, session: Session, qtbot: QtBot, data: Path, tmp_path: Path) -> None:
    content = bytearray((data / "swh/small.shard").read_bytes())
    content[4977:4985] = (2**40).to_bytes(8, "big")  # the offset of the object in slot 12
    (tmp_path / "damaged.shard").write_bytes(content)
    open_in(session, qtbot, tmp_path / "damaged.shard")
    assert trace(panel, qtbot, KEY).outcome == "damaged"
    assert (panel.band.outcome.text, panel.band.sign.mark) == ("Damaged", "alarm")
    assert panel.cards[-1].title.text == "Damaged"
    open_in(session, qtbot, next((data / "des" / "sidecar").glob("*.des")))
    trace(panel, qtbot, "gone")
    assert panel.band.outcome.text == "Found, tombstoned"
    assert panel.band.sign.mark != "tick"


def test_a_prefix_is_looked_up_as_the_one_key_it_stands_for(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    """Unless it could be a key itself: then its lookup is not replaced."""
    panel.field.setText(KEY[:4])
    qtbot.keyClick(panel.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.trace is not None and panel.trace.key == KEY)
    for key, enabled in ((KEY, True), (ABSENT, False)):
        panel.field.setText(key)
        assert panel.band.show_object.isEnabled() is enabled
    open_in(session, qtbot, resource_paths.resources() / "samples" / "des" / "archive")
    assert trace(panel, qtbot, "scan").outcome == "absent"
    assert "scan-0007.png" in panel.band.verdict.text


def test_newest_wins(panel: TracePanel, qtbot: QtBot) -> None:
    for key in (ABSENT, KEY):
        panel._session.lookup.start(key)
    qtbot.waitUntil(lambda: panel.trace is not None)
    assert panel.trace.key == KEY
    qtbot.waitUntil(lambda: not panel._session.jobs.open_jobs)
    assert panel.trace.key == KEY


def test_steps_light_their_bytes(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    session.select_span(Span("", 600, 601))
    shown = trace(panel, qtbot, KEY)
    for number, step in enumerate(shown.steps):
        panel._session.lookup.go_to_step(number)
        if any(span.size for span in step.spans):
            assert session.selection.span in step.spans
            assert session.selection.origin is session.lookup.walk
    session.selector.back()
    assert session.selection.span == Span("", 600, 601)
    assert not session.selector.can_go_back


def test_play(panel: TracePanel, qtbot: QtBot) -> None:
    trace(panel, qtbot, KEY)
    panel.timer.setInterval(1)
    panel.play.trigger()
    assert panel.play.text() == "Pause"
    assert panel.play.toolTip().startswith("Pause (")
    qtbot.waitUntil(lambda: not panel.timer.isActive())
    assert panel.current == len(panel.cards) - 1
    assert panel.play.text() == "Play"
    panel.timer.setInterval(60_000)
    panel.play.trigger()
    assert panel.current == 0
    panel.play.trigger()
    assert not panel.timer.isActive()


def test_field_follows_the_selected_object(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    # The window gives the field the keyboard when it becomes active; then nothing is filled in.
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    panel.field.clearFocus()
    session.select_row(0)
    key = session.shard.objects.keys[0]
    qtbot.waitUntil(lambda: panel.field.text() == key)
    panel.field.setFocus()
    qtbot.waitUntil(panel.field.hasFocus)
    panel.field.setText("typed")
    with qtbot.waitSignal(session.selection_changed, check_params_cb=lambda s: s.complete and s.row == 2):
        session.select_row(2)
    assert panel.field.text() == "typed"


def test_keys_of_any_form(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    """A key with line breaks is looked up unescaped."""
    seen: list[str] = []
    session.shard.trace = lambda key: seen.append(key) or Trace(key, "absent", (Step("one", "One."),))
    key = " a\nb\u2028\t"
    # The window gives it the keyboard when it becomes active; then nothing is filled in.
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    panel.field.clearFocus()
    panel._selected(Selection(ref=replace(session.shard.objects.ref(0), key=key), complete=True))
    assert panel.field.text() == " a\\nb\\u2028\\t"
    panel.look.click()
    qtbot.waitUntil(lambda: panel.trace is not None)
    assert seen[0] == key


def test_a_sample_offers_its_keys(
    panel: TracePanel, session: Session, qtbot: QtBot, tmp_path: Path, data: Path
) -> None:
    """A copy of it, too, and any other file its first one."""
    offers, sample = panel.offers, resource_paths.main_samples()[0]

    def found(start: Callable[[], object], outcome: str) -> None:
        start()
        qtbot.waitUntil(lambda: panel.trace is not None and panel.trace.outcome == outcome)

    open_in(session, qtbot, sample.path)
    qtbot.waitUntil(lambda: len(offers.links) == 3)
    assert [one.key for one in offers.offers] == [one.key for one in sample.keys]
    words = [one.word for one in offers.offers]
    found(lambda: qtbot.mouseClick(offers.links[2], Qt.MouseButton.LeftButton), "absent")
    assert panel.field.text() == sample.keys[2].key
    actions = panel.offers.menu.menu().actions()
    assert [action.text().partition(":")[0] for action in actions] == words
    found(actions[0].trigger, "found")
    copied = Path(shutil.copy(sample.path, tmp_path / "mine.shard"))
    open_in(session, qtbot, copied)
    qtbot.waitUntil(lambda: offers.sample == sample)
    open_in(session, qtbot, data / "swh" / "one.shard")
    qtbot.waitUntil(lambda: [one.word for one in offers.offers] == ["First"])
    found(lambda: qtbot.keyClick(offers.links[0], Qt.Key.Key_Return), "found")
    session.close()
    assert not offers.isVisible()


def test_a_sample_is_known_by_its_place_or_its_bytes(tmp_path: Path) -> None:
    for sample in resource_paths.samples():
        assert sample_of(str(sample.path)) == sample
    archive = next(one for one in resource_paths.samples() if one.path.name == "archive")
    copied, many = tmp_path / "my folder", tmp_path / "many"
    shutil.copytree(archive.path, copied)
    assert sample_of(str(copied)) == archive
    first = next(copied.glob("*.des"))
    data = bytearray(first.read_bytes())
    data[20] ^= 1
    first.write_bytes(data)
    many.mkdir()
    for number in range(60):
        (many / str(number)).touch()
    for other in (copied, first, many, tmp_path / "nowhere", "https://example.invalid/small.shard"):
        assert sample_of(str(other)) is None
