"""The trace panel: a lookup as a lesson."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from shardcore import ObjectRef, Span, Step, Trace
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.views.trace.panel import TracePanel
from tests.app.conftest import open_in, visible

KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
ABSENT = "0" * 64
TOMBSTONED = next((Path(__file__).parents[3] / "data" / "des" / "sidecar").glob("*.des"))


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


def test_found(panel: TracePanel, qtbot: QtBot) -> None:
    shown = trace(panel, qtbot, KEY)
    assert len(panel.cards) == len(shown.steps) > 5
    assert [card.title.text for card in panel.cards] == [step.title for step in shown.steps]
    assert (panel.band.outcome.text, panel.band.sign.mark) == ("Found", "tick")
    assert KEY in panel.band.verdict.text
    assert panel.band.show_object.isVisible()
    assert panel.current == 0


def test_absent(panel: TracePanel, qtbot: QtBot) -> None:
    trace(panel, qtbot, ABSENT)
    assert (panel.band.outcome.text, panel.band.sign.mark) == ("Not found", "none")
    assert not panel.band.show_object.isVisible()


def test_damaged(session: Session, qtbot: QtBot, data: Path, tmp_path: Path) -> None:
    content = bytearray((data / "swh/small.shard").read_bytes())
    content[4977:4985] = (2**40).to_bytes(8, "big")  # the offset of the object in slot 12
    (tmp_path / "damaged.shard").write_bytes(content)
    panel = visible(qtbot, TracePanel(session))
    open_in(session, qtbot, tmp_path / "damaged.shard")
    assert trace(panel, qtbot, KEY).outcome == "damaged"
    assert (panel.band.outcome.text, panel.band.sign.mark) == ("Damaged", "alarm")
    assert panel.cards[-1].title.text == "Damaged"


def test_not_a_key(panel: TracePanel, qtbot: QtBot) -> None:
    trace(panel, qtbot, KEY)
    panel.field.setText("xyz")
    qtbot.keyClick(panel.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.band.outcome.text == "Not looked up")
    assert panel.trace is None
    assert panel.cards == []


def test_newest_wins(panel: TracePanel, qtbot: QtBot) -> None:
    shown: list[str] = []
    panel._session.look_up(ABSENT)
    panel._session.look_up(KEY)
    qtbot.waitUntil(lambda: panel.trace is not None)
    shown.append(panel.trace.key if panel.trace is not None else "")
    qtbot.waitUntil(lambda: not panel._session.jobs.open_jobs)
    assert [*shown, panel.trace.key] == [KEY, KEY]


def test_steps_light_their_bytes(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    session.select_span(Span("", 600, 601))
    shown = trace(panel, qtbot, KEY)
    for number, step in enumerate(shown.steps):
        panel._session.go_to_step(number)
        if any(span.size for span in step.spans):
            assert session.selection.span in step.spans
            assert session.selection.origin is session.walk
    session.back()
    assert session.selection.span == Span("", 600, 601)
    assert not session.can_go_back


def test_keys_walk(panel: TracePanel, qtbot: QtBot) -> None:
    trace(panel, qtbot, KEY)
    panel.area.setFocus()
    qtbot.keyClick(panel.area, Qt.Key.Key_Down)
    assert panel.current == 1
    qtbot.keyClick(panel.area, Qt.Key.Key_Up)
    assert panel.current == 0
    assert panel.next_step.shortcut().toString() == "Ctrl+Down"


def test_play(panel: TracePanel, qtbot: QtBot) -> None:
    trace(panel, qtbot, KEY)
    panel.timer.setInterval(1)
    panel.play.trigger()
    assert panel.play.text() == "Pause"
    qtbot.waitUntil(lambda: not panel.timer.isActive())
    assert panel.current == len(panel.cards) - 1
    assert panel.play.text() == "Play"
    panel.timer.setInterval(60_000)
    panel.play.trigger()
    assert panel.current == 0
    panel.play.trigger()
    assert not panel.timer.isActive()


def test_field_follows_the_selected_object(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    session.select_row(0)
    key = session.shard.objects.keys[0]
    qtbot.waitUntil(lambda: panel.field.text() == key)
    panel.activateWindow()
    panel.field.setFocus()
    qtbot.waitUntil(panel.field.hasFocus)
    panel.field.setText("typed")
    with qtbot.waitSignal(session.selection_changed, check_params_cb=lambda s: s.complete and s.row == 2):
        session.select_row(2)
    assert panel.field.text() == "typed"


def test_closing_clears(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    trace(panel, qtbot, KEY)
    session.close()
    assert panel.cards == []
    assert not panel.band.isVisible()


def test_keys_of_any_form(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    """A key with line breaks is looked up unescaped."""
    seen: list[str] = []
    session.shard.trace = lambda key: seen.append(key) or Trace(key, "absent", (Step("one", "One."),))
    key = " a\nb\u2028\t"
    # The window gives it the keyboard when it becomes active; then nothing is filled in.
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    panel.field.clearFocus()
    panel._selected(Selection(ref=_ref(session, key), complete=True))
    assert panel.field.text() == " a\\nb\\u2028\\t"
    panel.look.click()
    qtbot.waitUntil(lambda: panel.trace is not None)
    assert seen[0] == key


def _ref(session: Session, key: str) -> ObjectRef:
    return replace(session.shard.objects.ref(0), key=key)


def test_a_tombstoned_key_is_not_plainly_found(session: Session, qtbot: QtBot, data: Path) -> None:
    panel = visible(qtbot, TracePanel(session))
    open_in(session, qtbot, TOMBSTONED)
    trace(panel, qtbot, "gone")
    assert panel.band.outcome.text == "Found, tombstoned"
    assert panel.band.sign.mark != "tick"


def test_the_outcome_belongs_to_the_key_in_the_field(panel: TracePanel, qtbot: QtBot) -> None:
    trace(panel, qtbot, KEY)
    panel.field.setText(KEY[:-1])
    assert "previous key" in panel.band.outcome.text
    assert not panel.band.show_object.isEnabled()
    panel.field.setText(KEY)
    assert panel.band.outcome.text == "Found"
    assert panel.band.show_object.isEnabled()


def test_the_key_that_a_beginning_stands_for_is_the_one_looked_up(panel: TracePanel, qtbot: QtBot) -> None:
    panel.field.setText(KEY[:4])
    qtbot.keyClick(panel.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.trace is not None and panel.trace.key == KEY)
    panel.field.setText(KEY)
    assert panel.band.show_object.isEnabled()
    panel.field.setText(ABSENT)
    assert not panel.band.show_object.isEnabled()


def test_a_key_that_is_absent_is_not_the_one_that_begins_so(
    panel: TracePanel, session: Session, qtbot: QtBot, data: Path
) -> None:
    """The lookup of a prefix is not replaced by that of the one key with this prefix."""
    open_in(session, qtbot, Path(__file__).parents[4] / "resources" / "samples" / "des" / "archive")
    panel.field.setText("scan")
    qtbot.keyClick(panel.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.trace is not None and panel.trace.key == "scan")
    assert panel.trace.outcome == "absent"
    assert panel.band.verdict.text.endswith("One key starts with it: scan-0007.png.")
