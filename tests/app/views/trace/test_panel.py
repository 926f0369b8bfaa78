"""The trace panel: a lookup as a lesson."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardcore import ObjectRef, Span, Step, Trace
from shardcore.testing import sampled
from shardscope.session.selection import Selection
from shardscope.session.session import Session
from shardscope.views.trace.costs import cost_text
from shardscope.views.trace.panel import TracePanel, verdict
from shardscope.views.trace.parts import Progress
from shardscope.views.trace.step_card import StepCard, value_text
from shardscope.widgets import theme
from shardscope.widgets.wrap_text import WrapText
from tests.app.conftest import open_in

KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
ABSENT = "0" * 64
TOMBSTONED = next((Path(__file__).parents[3] / "data" / "des" / "sidecar").glob("*.des"))


@pytest.fixture
def panel(session: Session, qtbot: QtBot, data: Path) -> TracePanel:
    """A panel on the small sample."""
    made = TracePanel(session)
    qtbot.addWidget(made)
    made.resize(420, 760)
    made.show()
    open_in(session, qtbot, data / "swh/small.shard")
    return made


def trace(panel: TracePanel, qtbot: QtBot, key: str) -> Trace:
    """Types a key, presses Enter, and waits for the lookup."""
    panel.field.setText(key)
    qtbot.keyClick(panel.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.trace is not None and panel.trace.key == key)
    assert panel.trace is not None
    return panel.trace


def test_teaches_when_empty(session: Session, qtbot: QtBot) -> None:
    """Without a shard it says to open one, and the field cannot be used."""
    panel = TracePanel(session)
    qtbot.addWidget(panel)
    assert "Open a shard" in panel.hint.text
    assert not panel.field.isEnabled()


def test_hint_for_a_key(panel: TracePanel) -> None:
    """With a shard and no lookup it says how to begin; there are no buttons to walk with."""
    assert "press Ctrl+T" in panel.hint.text
    assert panel.hint.isVisible()
    assert not panel.footer.isVisible()
    assert not panel.band.isVisible()


def test_found(panel: TracePanel, qtbot: QtBot) -> None:
    """A key that is there: the steps of the lookup, one card each, and the outcome as sign, word and sentence."""
    shown = trace(panel, qtbot, KEY)
    assert len(panel.cards) == len(shown.steps) > 5
    assert [card.title.text for card in panel.cards] == [step.title for step in shown.steps]
    assert (panel.band.outcome.text, panel.band.sign.mark) == ("Found", "tick")
    assert KEY in panel.band.verdict.text
    assert panel.band.show_object.isVisible()
    assert panel.current == 0


def test_absent(panel: TracePanel, qtbot: QtBot) -> None:
    """A key that is not there is a calm answer, with another sign, and no object to show."""
    trace(panel, qtbot, ABSENT)
    assert (panel.band.outcome.text, panel.band.sign.mark) == ("Not found", "none")
    assert not panel.band.show_object.isVisible()
    assert "it is another key, so this one is not in the shard" in panel.cards[-1].sentence.text


def test_damaged(session: Session, qtbot: QtBot, data: Path, tmp_path: Path) -> None:
    """Damage on the way ends the lesson at a step that names the place."""
    content = bytearray((data / "swh/small.shard").read_bytes())
    content[4977:4985] = (2**40).to_bytes(8, "big")  # the offset of the object in slot 12
    (tmp_path / "damaged.shard").write_bytes(content)
    panel = TracePanel(session)
    qtbot.addWidget(panel)
    panel.show()
    open_in(session, qtbot, tmp_path / "damaged.shard")
    assert trace(panel, qtbot, KEY).outcome == "damaged"
    assert (panel.band.outcome.text, panel.band.sign.mark) == ("Damaged", "alarm")
    assert panel.cards[-1].title.text == "Damaged"


def test_not_a_key(panel: TracePanel, qtbot: QtBot) -> None:
    """What is no key of the format is refused with the reason, and nothing of an older lookup stays."""
    trace(panel, qtbot, KEY)
    panel.field.setText("xyz")
    qtbot.keyClick(panel.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.band.outcome.text == "Lookup failed")
    assert panel.band.verdict.text.endswith("is 64 hex digits, not 'xyz'; type at least 4 characters.")
    assert panel.trace is None
    assert panel.cards == []


def test_values_have_commas_and_copies_have_none(qtbot: QtBot) -> None:
    """A number that a step produced is read with commas, and copied as it is; a key is read as it is typed."""
    values = {"position": 4625, "box": [1000, 20], "key": 72057594037927936, "magic": "4625", "there": True}
    card = StepCard(1, Step("The slot", "where it begins.", (), values))
    qtbot.addWidget(card)
    assert card.values is not None
    texts = {part.text: part.copied for part in card.values.findChildren(WrapText)}
    for seen, copied in (
        ("4,625", "4625"),
        ("1,000, 20", "1000, 20"),
        ("72057594037927936", "72057594037927936"),
        ("4625", "4625"),
        ("yes", "yes"),
    ):
        assert texts[seen] == copied


def test_pasted_with_blanks(panel: TracePanel, qtbot: QtBot) -> None:
    """A key that was pasted with blanks around it is found."""
    panel.field.setText(f"  {KEY} ")
    qtbot.keyClick(panel.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.trace is not None)
    assert panel.trace is not None
    assert panel.trace.outcome == "found"


def test_newest_wins(panel: TracePanel, qtbot: QtBot) -> None:
    """Of two lookups at once only the second is shown."""
    shown: list[str] = []
    panel._session.look_up(ABSENT)
    panel._session.look_up(KEY)
    qtbot.waitUntil(lambda: panel.trace is not None)
    shown.append(panel.trace.key if panel.trace is not None else "")
    qtbot.waitUntil(lambda: not panel._session.jobs.open_jobs)
    assert panel.trace is not None
    assert [*shown, panel.trace.key] == [KEY, KEY]


def test_steps_light_their_bytes(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    """Every step with bytes selects them; walking leaves no places in the history."""
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


def test_emphasis(panel: TracePanel, qtbot: QtBot) -> None:
    """The current step tells all, those behind keep their sentence, those ahead show their title only."""
    trace(panel, qtbot, KEY)
    panel.next_step.trigger()
    panel.next_step.trigger()
    assert panel.current == 2
    assert [card.progress for card in panel.cards[1:4]] == [Progress.BEHIND, Progress.CURRENT, Progress.AHEAD]
    behind, current, ahead = panel.cards[1:4]
    assert behind.sentence.isVisible()
    assert behind.values is not None
    assert not behind.values.isVisible()
    assert current.values is not None
    assert current.values.isVisible()
    assert current.cost.isVisible()
    assert not ahead.sentence.isVisible()
    assert panel.counter.text == f"3 of {len(panel.cards)}"


def test_ends_of_the_walk(panel: TracePanel, qtbot: QtBot) -> None:
    """There is no step before the first and none after the last."""
    trace(panel, qtbot, KEY)
    assert not panel.previous_step.isEnabled()
    panel._session.go_to_step(len(panel.cards) - 1)
    assert not panel.next_step.isEnabled()
    assert panel.previous_step.isEnabled()


def test_keys_walk(panel: TracePanel, qtbot: QtBot) -> None:
    """With the keyboard in the list, up and down walk; in the whole panel Ctrl+Up and Ctrl+Down do."""
    trace(panel, qtbot, KEY)
    panel.area.setFocus()
    qtbot.keyClick(panel.area, Qt.Key.Key_Down)
    assert panel.current == 1
    qtbot.keyClick(panel.area, Qt.Key.Key_Up)
    assert panel.current == 0
    assert panel.next_step.shortcut().toString() == "Ctrl+Down"


def test_play(panel: TracePanel, qtbot: QtBot) -> None:
    """Play walks to the last step and stops there; pressed again it begins anew, and pauses when pressed once more."""
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


def test_current_step_is_in_view(panel: TracePanel, qtbot: QtBot) -> None:
    """The whole card of the current step can be seen, at the end of the list, too."""
    trace(panel, qtbot, KEY)

    def inside(card: StepCard) -> bool:
        port = panel.area.viewport()
        top = card.mapTo(port, card.rect().topLeft()).y()
        whole = card.height() >= card.heightForWidth(card.width())
        return whole and top >= 0 and top + card.height() <= port.height()

    # The letters of the window, which a test before may have chosen, are larger than plain ones.
    panel.resize(420, 900)
    for number, card in enumerate(panel.cards):
        panel._session.go_to_step(number)
        qtbot.waitUntil(partial(inside, card))


def test_nothing_is_cut(panel: TracePanel, qtbot: QtBot) -> None:
    """In a narrow panel sentences and keys wrap: each text has the height that its width asks for."""
    panel.resize(300, 760)
    trace(panel, qtbot, KEY)
    panel._session.go_to_step(8)
    texts = [panel.cards[8].sentence, panel.cards[8].title, panel.band.verdict]
    qtbot.waitUntil(lambda: all(text.height() >= text.heightForWidth(text.width()) for text in texts))
    assert panel.area.widget().width() <= panel.area.viewport().width()


def test_a_long_name_leaves_its_value_room(qtbot: QtBot) -> None:
    """In a dock as wide as at first, values beside long names are not broken after a few letters."""
    values = {"minishard_index_encoding": "gzip", "hash": "murmurhash3_x86_128", "bits": 3}
    card = StepCard(1, Step("Specification", "what is read.", (), values))
    qtbot.addWidget(card)
    card.set_progress(Progress.CURRENT)
    card.resize(320, card.heightForWidth(320))
    card.show()
    assert card.values is not None
    texts = {part.text: part for part in card.values.findChildren(WrapText)}
    for value in ("gzip", "murmurhash3_x86_128", "3"):
        assert texts[value].width() >= 12 * texts[value].fontMetrics().horizontalAdvance("0"), value


def test_a_key_of_digits_has_no_commas() -> None:
    """The outcome names the key as it is typed and copied, and counts with commas."""
    key = "1964146105497592528"
    told = verdict(Trace(key, "absent", (), error="the index ends at 1234567"))
    assert told.startswith(f"{key} is not in this shard")
    assert "1,234,567" in verdict(Trace(key, "damaged", (), error="the index ends at 1234567"))


def test_a_low_panel_is_scrolled_and_not_squeezed(panel: TracePanel, qtbot: QtBot) -> None:
    """In a window of 640 × 420 the outcome stands among the steps: field, buttons and words keep their heights."""
    trace(panel, qtbot, KEY)
    panel.resize(640, 125)
    panel.show()
    qtbot.waitUntil(lambda: panel.area.isAncestorOf(panel.band))
    for part in (panel.field, panel.look, panel.footer):
        qtbot.waitUntil(lambda part=part: part.height() >= part.minimumSizeHint().height())  # type: ignore[misc]
    assert panel.area.viewport().height() >= 2 * panel.fontMetrics().height()
    assert panel.band.height() >= panel.band.minimumSizeHint().height()
    panel.resize(380, 600)
    qtbot.waitUntil(lambda: not panel.area.isAncestorOf(panel.band))


def test_field_follows_the_selected_object(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    """The key of the selected object is in the field, unless somebody is typing."""
    assert session.shard is not None
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


def test_show_object(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    """The button selects the object that was found."""
    trace(panel, qtbot, KEY)
    qtbot.mouseClick(panel.band.show_object, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.selection.complete and session.selection.row == 12)


def test_closing_clears(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    """Nothing of a closed shard stays."""
    trace(panel, qtbot, KEY)
    session.close()
    assert panel.cards == []
    assert not panel.band.isVisible()
    assert "Open a shard" in panel.hint.text


def test_keys_of_any_form(panel: TracePanel, session: Session, qtbot: QtBot) -> None:
    """A key with line breaks and blanks is looked up as it is, not as the field shows it."""
    seen: list[str] = []
    assert session.shard is not None
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
    assert session.shard is not None
    return replace(session.shard.objects.ref(0), key=key)


def test_words() -> None:
    """Costs and values read as sentences do."""
    assert cost_text(0, 0) == "cached, nothing read"
    assert cost_text(1, 1) == "read 1 range, 1 byte"
    assert cost_text(2, 3944) == "read 2 ranges, 3,944 bytes"
    assert [value_text(v) for v in (True, b"\x01\xff", 7)] == ["yes", "01ff", "7"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", sampled(theme.NAMES, 2, full=False))
def test_themes(name: str, panel: TracePanel, qtbot: QtBot) -> None:
    """All is painted in light and dark themes, and the current step stands out from the ground."""
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    before = application.styleSheet(), application.palette(), application.property("shardscopeTheme")
    try:
        theme.apply(application, name)
        trace(panel, qtbot, KEY)
        image = panel.cards[0].grab().toImage()
        colours = theme.palette(name)
        assert image.pixelColor(image.width() // 2, 4).name() == colours.raised.name()
    finally:
        application.setStyleSheet(before[0])
        application.setPalette(before[1])
        application.setProperty("shardscopeTheme", before[2])


def test_a_tombstoned_key_is_not_plainly_found(session: Session, qtbot: QtBot, data: Path) -> None:
    """An object that a sidecar says is deleted has a word, sign, tone and sentence of its own."""
    panel = TracePanel(session)
    qtbot.addWidget(panel)
    panel.show()
    open_in(session, qtbot, TOMBSTONED)
    trace(panel, qtbot, "gone")
    assert panel.band.outcome.text == "Found, tombstoned"
    assert panel.band.sign.mark != "tick"
    assert panel.band._tone == "warning"
    assert "is tombstoned" in panel.band.verdict.text


def test_the_outcome_belongs_to_the_key_in_the_field(panel: TracePanel, qtbot: QtBot) -> None:
    """While another key stands in the field the outcome is grey and says that it is not of that key."""
    trace(panel, qtbot, KEY)
    height = panel.band.height()
    panel.field.setText(KEY[:-1])
    assert "previous key" in panel.band.outcome.text
    assert not panel.band.show_object.isEnabled()
    assert panel.band.height() == height
    panel.field.setText(KEY)
    assert panel.band.outcome.text == "Found"
    assert panel.band.show_object.isEnabled()


def test_the_key_that_a_beginning_stands_for_is_the_one_looked_up(panel: TracePanel, qtbot: QtBot) -> None:
    """Once the field has the whole key, the outcome is still that of the key in it."""
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
    """Where any text is a key, its own lookup is shown, with a hint at the key that begins with it."""
    open_in(session, qtbot, Path(__file__).parents[4] / "resources" / "samples" / "des" / "archive")
    panel.field.setText("scan")
    qtbot.keyClick(panel.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.trace is not None and panel.trace.key == "scan")
    assert panel.trace is not None
    assert panel.trace.outcome == "absent"
    assert panel.band.verdict.text.endswith("One key starts with it: scan-0007.png.")
