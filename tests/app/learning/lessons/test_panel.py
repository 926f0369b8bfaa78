"""A lesson is walked through in the window: asked, hinted, judged, remembered."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QRadioButton
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardcore.teaching.lessons.answers import number_of
from shardcore.teaching.lessons.lesson import parse
from shardcore.teaching.lessons.library import lessons, missions, sample_key
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from tests.app.conftest import open_in

LESSON = parse(
    """# Small
format: swh

## See

It has {value of header/objects_count} objects.

- show: header/magic

## Count

- ask: How many slots?
- answer number: {value of hash function/end/slots_count}
- hint: more than objects
- wrong 12: these are objects

## Click

- ask: Click the version.
- answer node: header/version

## Not in every file

- show: header/nothing

## Choose

- ask: Which?
- choice wrong: this | not this
- choice right: that

## Fresh

- fresh: 6
- lookup: {key}
- ask: Which slot?
- answer number: {slot in The slot}
- reveal drawing: parking
""",
    "small",
)


@pytest.fixture
def panel(session: Session, settings: Settings, qtbot: QtBot, data: Path) -> LessonPanel:
    """A panel beside a small shard."""
    made = LessonPanel(session, settings)
    qtbot.addWidget(made)
    made.resize(360, 620)
    made.show()
    open_in(session, qtbot, data / "swh/small.shard")
    return made


def step(panel: LessonPanel, qtbot: QtBot, number: int) -> None:
    """Waits until a step is there."""
    qtbot.waitUntil(lambda: panel.player.number == number and panel.player.stage is not None, timeout=10_000)


@pytest.mark.thorough
def test_a_lesson_is_walked_through(
    panel: LessonPanel, session: Session, settings: Settings, qtbot: QtBot, data: Path
) -> None:
    """Every kind of question, with wrong answers that explain, hints, *Show me*, and a fresh file at the end."""
    player = panel.player
    player.start(LESSON)
    step(panel, qtbot, 0)
    assert panel.text.text() == "It has 12 objects."
    assert session.selection.span == Span("", 0, 32)
    assert panel.next.isEnabled()
    qtbot.mouseClick(panel.next, Qt.MouseButton.LeftButton)
    step(panel, qtbot, 1)
    assert not panel.next.isEnabled()
    box = panel.question
    qtbot.keyClicks(box.field, "12")
    qtbot.keyClick(box.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "these are objects" in box.verdict.text())
    qtbot.mouseClick(panel.hint, Qt.MouseButton.LeftButton)
    assert box.hints.text() == "more than objects"
    assert not panel.hint.isEnabled()
    box.field.clear()
    qtbot.keyClicks(box.field, "13")
    qtbot.mouseClick(box.check, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(panel.next.isEnabled)
    panel.next.click()
    step(panel, qtbot, 2)
    session.select_span(Span("", 0, 1))
    qtbot.waitUntil(box.check.isEnabled)
    assert not box.verdict.text(), "selecting is no answer"
    box.check.click()
    qtbot.waitUntil(lambda: "other bytes" in box.verdict.text())
    session.select_span(Span("", 39, 40))
    qtbot.waitUntil(lambda: "at 0x27" in box.selected.text())
    box.check.click()
    qtbot.waitUntil(panel.next.isEnabled)
    panel.next.click()
    step(panel, qtbot, 3)
    assert "no header/nothing" in panel.trouble.text()
    panel.next.click()
    step(panel, qtbot, 4)
    assert not panel.hint.isVisible()
    panel.show_me.click()
    qtbot.waitUntil(panel.next.isEnabled)
    panel.next.click()
    step(panel, qtbot, 5)
    assert session.request.uri.endswith("fresh.shard")
    made = Path(session.request.uri)
    assert made.exists()
    panel.show_me.click()
    qtbot.waitUntil(panel.next.isEnabled)
    assert session.walk.key == player.stage.scene.key, "what is drawn is the lookup of the lesson"
    assert panel.next.text() == "Finish"
    key = player.stage.scene.key
    panel.another.click()
    qtbot.waitUntil(lambda: player.stage is not None and session.request.uri != str(made), timeout=10_000)
    step(panel, qtbot, 5)
    assert player.stage.scene.key != key
    assert not panel.another.isVisible(), "the question is open again"
    made = Path(session.request.uri)
    panel.show_me.click()
    qtbot.waitUntil(panel.next.isEnabled)
    panel.next.click()
    assert settings.is_lesson_done("small")
    assert settings.lesson_step("small") == 0
    assert panel.pages.currentWidget() is panel.list
    qtbot.waitUntil(lambda: not made.exists())
    assert session.request.uri == str(data / "swh/small.shard"), "what was open before the lesson"


def test_a_choice_is_judged_by_check_alone(panel: LessonPanel, qtbot: QtBot) -> None:
    """Arrow keys pass over wrong choices without a verdict; once solved, the keyboard is on *Next*."""
    panel.player.start(LESSON, step=4)
    step(panel, qtbot, 4)
    box = panel.question
    assert not box.check.isEnabled()
    assert box.selected.isHidden(), "*Check* is aligned with the choices"
    choices = {one.accessibleName(): one for one in box.findChildren(QRadioButton)}
    for name in ("this", "that", "this"):
        choices[name].click()
        qtbot.waitUntil(box.check.isEnabled)
        assert not box.verdict.text(), "selecting is no answer"
    qtbot.mouseClick(box.check, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "not this" in box.verdict.text())
    choices["that"].click()
    assert not box.verdict.text(), "the verdict was about the other choice"
    qtbot.mouseClick(box.check, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(panel.next.hasFocus)
    assert not choices["this"].isEnabled(), "a right answer stays"


def test_the_keyboard_stays_in_the_lesson(panel: LessonPanel, qtbot: QtBot) -> None:
    """Neither the last hint leads to *Show me*, nor the answer shown, nor *Leave*, to another part of the window."""
    panel.player.start(LESSON, step=1)
    step(panel, qtbot, 1)
    panel.hint.setFocus()
    qtbot.keyClick(panel.hint, Qt.Key.Key_Space)
    assert not panel.hint.isEnabled()
    assert panel.question.field.hasFocus()
    panel.show_me.setFocus()
    qtbot.keyClick(panel.show_me, Qt.Key.Key_Space)
    qtbot.waitUntil(panel.next.hasFocus)
    qtbot.keyClick(panel.next, Qt.Key.Key_Space)
    step(panel, qtbot, 2)
    assert panel.question.selected.text() == "No answer selected"
    panel.leave.setFocus()
    panel.leave.click()
    assert panel.isAncestorOf(QApplication.focusWidget())


def test_a_lesson_goes_on_where_it_was_left(panel: LessonPanel, settings: Settings, qtbot: QtBot) -> None:
    """The step is remembered; *Leave* returns to the list, which says how far one has come."""
    panel.player.start(LESSON)
    step(panel, qtbot, 0)
    panel.next.click()
    step(panel, qtbot, 1)
    panel.leave.click()
    assert settings.lesson_step("small") == 1
    assert panel.pages.currentWidget() is panel.list
    card = next(card for card in panel.list.cards if card.lesson.format == "swh")
    assert card.again.isHidden()
    settings.set_lesson_step(card.lesson.name, 3)
    card.tell()  # as when the panel is shown again: another window may have gone on
    assert card.state.text().startswith("at step 4 of")
    panel.teach()
    card = next(card for card in panel.list.cards if card.lesson.format == "swh")
    assert "at step 4" in card.state.text()
    card.again.click()
    assert card.again.isHidden()
    assert card.start.text() == "Start"
    assert settings.lesson_step(card.lesson.name) == -1
    assert settings.lesson_step("small") == 1


def test_a_lookup_is_there_again(panel: LessonPanel, session: Session, qtbot: QtBot) -> None:
    """Who goes on with a lesson finds the lookup that it was about; each mission that has one begins with it."""
    (lesson,) = (one for one in lessons() if one.name == "swh-2-find-a-key")
    panel.player.start(lesson, step=5)
    step(panel, qtbot, 5)
    assert session.walk.key == sample_key(lesson)
    assert session.walk.trace.steps[session.walk.step].title == "The displacement"
    for mission in missions():
        if mission.steps[0].lookup:
            panel.player.start(mission)
            step(panel, qtbot, 0)
            assert session.walk.step == 0, mission.name


def test_the_list_is_made_when_it_is_seen(session: Session, settings: Settings, qtbot: QtBot, data: Path) -> None:
    """A panel behind a tab makes no cards, whatever is opened; in front it has those of what is open first."""
    panel = LessonPanel(session, settings)
    qtbot.addWidget(panel)
    open_in(session, qtbot, data / "swh/small.shard")
    assert not panel.list.cards
    panel.show()
    assert panel.list.cards[0].lesson.format == "swh"
    cards = panel.list.cards
    panel.hide()
    panel.show()
    assert panel.list.cards is cards


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("40e9", 40_000_000_000),
        ("40 GB", 40_000_000_000),
        ("40 GiB", 40 << 30),
        ("1.5 KiB", 1536),
        ("10**9", 1_000_000_000),
        ("2^10", 1024),
        ("40 * 10**9", 40_000_000_000),
        ("0b110", 6),
        ("0x6", 6),
        ("0o17", 15),
        ("0x1B", 27),
        ("1,000", 1000),
        ("1 000", 1000),
        ("1_000", 1000),
        ("40,000 bytes", 40_000),
        ("1.5", None),
        ("1,5", None),
        ("12 34", None),
        ("6h", None),
        ("40 miles", None),
        ("0xg", None),
        ("9**99", None),
        ("", None),
    ],
)
def test_numbers_are_understood_as_they_are_written(text: str, number: int | None) -> None:
    """With powers, thousands apart, a unit, or another base; what is no whole number is none."""
    assert number_of(text) == number


def test_a_unit_belongs_to_a_size_and_a_word_to_its_question() -> None:
    """Bytes where bytes are asked; beside a number, words of the question do no harm, and others do."""
    assert number_of("40 GB", "How many bytes of index?") == 40_000_000_000
    assert number_of("40 GB", "In which slot is the key?") is None
    assert number_of("slot 4", "In which slot is the key?") == 4
    assert number_of("3 chunks", "Into how many chunks is it cut?") == 3
    assert number_of("3 keys", "Into how many chunks is it cut?") is None


def test_return_checks_and_goes_on(panel: LessonPanel, session: Session, qtbot: QtBot) -> None:
    """It judges what was typed, chosen or selected, and after the right answer it goes to the next step."""
    panel.player.start(LESSON, step=1)
    step(panel, qtbot, 1)
    box = panel.question
    box.field.setFocus()
    qtbot.keyClick(box.field, Qt.Key.Key_Return)
    assert not box.verdict.text(), "nothing was answered"
    qtbot.keyClicks(box.field, "12")
    qtbot.keyClick(box.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "these are objects" in box.verdict.text())
    assert box.field.selectedText() == "12", "the next answer takes its place"
    qtbot.keyClicks(box.field, "13 slots")
    qtbot.keyClick(box.field, Qt.Key.Key_Return)
    qtbot.waitUntil(panel.next.hasFocus)
    qtbot.keyClick(panel.next, Qt.Key.Key_Return)
    step(panel, qtbot, 2)
    session.select_span(Span("", 39, 40))
    qtbot.waitUntil(box.check.isEnabled)
    qtbot.keyClick(box.check, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.player.solved)
    panel.player.go(4)
    step(panel, qtbot, 4)
    choice = next(one for one in box.findChildren(QRadioButton) if one.accessibleName() == "that")
    choice.click()
    qtbot.keyClick(choice, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.player.solved)


def test_a_lesson_whose_file_is_not_opened_says_so(panel: LessonPanel, session: Session) -> None:
    """You were asked whether changes may be dropped, and cancelled: the lesson does not wait for its file."""
    allowed, session.may_leave = session.may_leave, lambda _, __: False
    panel.player.start(next(one for one in lessons() if one.sample))
    session.may_leave = allowed
    assert "is open now" in panel.trouble.text()
    assert panel.on.isVisibleTo(panel)
    assert "Looking" not in panel.text.text()


def test_a_sandbox_in_the_way_of_a_lesson_is_named(
    panel: LessonPanel, session: Session, qtbot: QtBot, data: Path
) -> None:
    """The message contains the file of the sandbox and what to press."""
    session.open(OpenRequest(str(data / "swh/small.shard"), sandbox=True))
    qtbot.waitUntil(lambda: session.request.sandbox and session.shard is not None)
    allowed, session.may_leave = session.may_leave, lambda _, __: False
    panel.player.start(next(one for one in lessons() if one.sample and one.format != "swh"))
    session.may_leave = allowed
    text = panel.trouble.text().replace("\\", "")
    assert "The sandbox of small.shard is open" in text
    assert "Back to the lesson's file" in text


def test_a_shown_answer_has_its_own_mark(panel: LessonPanel, qtbot: QtBot) -> None:
    """The tick stands for an answer that was given; a shown one is the selected answer."""
    lesson = parse(
        "# One\nformat: swh\n\n## Click\n\nText.\n\n- ask: Click the version.\n- answer node: header/version\n", "one"
    )
    panel.player.start(lesson)
    step(panel, qtbot, 0)
    panel.show_me.click()
    qtbot.waitUntil(panel.next.isEnabled)
    assert panel.question.verdict.text().startswith("→ ")
    assert panel.question.selected.text() == "8 bytes at 0x20"
    assert not panel.question.check.isEnabled()


@pytest.mark.parametrize("own", [True, False])
def test_leaving_a_lesson_selects_what_was_selected_before(
    panel: LessonPanel, session: Session, qtbot: QtBot, data: Path, own: bool
) -> None:
    """Neither the status line nor the path of the bytes stays on an object of the lesson."""
    before = Span("", 40, 48)
    session.select_span(before)
    panel.player.start(LESSON if own else lessons()[1])
    step(panel, qtbot, 0)
    if own:
        assert session.selection.span == Span("", 0, 32)
    panel.leave.click()
    qtbot.waitUntil(lambda: session.request.uri == str(data / "swh/small.shard") and session.selection.span == before)


def test_leaving_a_lesson_that_began_on_the_welcome_page_selects_nothing(
    panel: LessonPanel, session: Session, qtbot: QtBot
) -> None:
    """The sample stays open; the object of the last step is not selected any more."""
    session.close()
    panel.player.start(lessons()[0])
    step(panel, qtbot, 0)
    session.select_span(Span("", 64, 72))
    panel.leave.click()
    assert session.selection.span is None
