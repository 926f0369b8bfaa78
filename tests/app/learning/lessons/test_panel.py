"""A lesson is walked through in the window: asked, hinted, judged, remembered."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QRadioButton
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardcore.teaching.lessons.answers import number_of
from shardcore.teaching.lessons.lesson import Lesson, parse
from shardcore.teaching.lessons.lesson_list import lessons, missions, sample_key
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from tests.app.conftest import open_in, visible

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
    made = visible(qtbot, LessonPanel(session, settings), 360, 620)
    open_in(session, qtbot, data / "swh/small.shard")
    return made


def step(panel: LessonPanel, qtbot: QtBot, number: int) -> None:
    """Waits until a step is there."""
    qtbot.waitUntil(lambda: panel.player.number == number and panel.player.stage is not None)


def start(panel: LessonPanel, qtbot: QtBot, lesson: Lesson, number: int = 0) -> None:
    """Starts a lesson at a step."""
    panel.player.start(lesson, step=number)
    step(panel, qtbot, number)


def test_a_shown_answer_is_selected(panel: LessonPanel, session: Session, qtbot: QtBot) -> None:
    for number in (2, 4):
        start(panel, qtbot, LESSON, number)
        panel.show_me.click()
        qtbot.waitUntil(panel.next.isEnabled)
    assert session.selection.span == Span("", 32, 40)
    right = [one.accessibleName() for one in panel.question.findChildren(QRadioButton) if one.isChecked()]
    assert right == ["that"]


def test_a_lesson_goes_on_where_it_was_left(panel: LessonPanel, settings: Settings, qtbot: QtBot) -> None:
    """The step is remembered; *Leave* returns to the list, which says how far one has come."""
    start(panel, qtbot, LESSON)
    panel.next.click()
    step(panel, qtbot, 1)
    panel.leave.setFocus()
    panel.leave.click()
    assert panel.isAncestorOf(QApplication.focusWidget())
    assert settings.lesson_step("small") == 1
    assert panel.pages.currentWidget() is panel.list
    card = next(card for card in panel.list.cards if card.lesson.format == "swh")
    assert card.again.isHidden()
    settings.set_lesson_step(card.lesson.name, 3)
    card.refresh()  # as when the panel is shown again: another window may have gone on
    assert card.state.text().startswith("at step 4 of")
    panel.teach()
    card = next(card for card in panel.list.cards if card.lesson.format == "swh")
    assert "at step 4" in card.state.text()
    card.again.click()
    assert card.again.isHidden()
    assert settings.lesson_step(card.lesson.name) == -1
    assert settings.lesson_step("small") == 1


def test_a_lookup_is_there_again(panel: LessonPanel, session: Session, qtbot: QtBot) -> None:
    """Who goes on with a lesson finds the lookup that it was about; each mission that has one begins with it."""
    (lesson,) = (one for one in lessons() if one.name == "swh-3-by-hand")
    start(panel, qtbot, lesson, 6)
    assert session.lookup.walk.key == sample_key(lesson)
    assert session.lookup.walk.trace.steps[session.lookup.walk.step].title == "Bucket, first slot, step"
    for mission in missions():
        if mission.steps[0].lookup:
            start(panel, qtbot, mission)
            assert session.lookup.walk.step == panel.player.stage.last_step, mission.name


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
    ("number", "texts"),
    [
        (40_000_000_000, ("40e9", "40 GB", "40 * 10**9")),
        (1000, ("1,000", "1 000", "1_000", "1000")),
        (40 << 30, ("40 GiB",)),
        (1536, ("1.5 KiB",)),
        (1024, ("2^10",)),
        (6, ("0b110", "0x6", "0o6")),
        (40_000, ("40,000 bytes",)),
        (None, ("1.5", "1,5", "12 34", "6h", "40 miles", "0xg", "9**99", "")),
    ],
)
def test_numbers_are_understood_as_they_are_written(number: int | None, texts: tuple[str, ...]) -> None:
    """With powers, thousands apart, a unit, or another base; what is no whole number is none."""
    assert [number_of(text) for text in texts] == [number] * len(texts)


@pytest.mark.parametrize(
    ("text", "question", "number"),
    [
        ("40 GB", "How many bytes of index?", 40_000_000_000),
        ("40 GB", "In which slot is the key?", None),
        ("slot 4", "In which slot is the key?", 4),
        ("3 chunks", "Into how many chunks is it cut?", 3),
        ("3 keys", "Into how many chunks is it cut?", None),
    ],
)
def test_a_unit_belongs_to_a_size_and_a_word_to_its_question(text: str, question: str, number: int | None) -> None:
    """Bytes where bytes are asked; beside a number, words of the question do no harm, and others do."""
    assert number_of(text, question) == number


@pytest.mark.thorough
def test_every_kind_of_step(panel: LessonPanel, session: Session, settings: Settings, qtbot: QtBot, data: Path) -> None:
    """Every kind of question, by keys and by mouse, with wrong answers, hints, *Show me*, and a fresh file at the end.

    Return checks what was typed, chosen or selected, and after the right answer it goes to the next step.
    """
    player, box, key = panel.player, panel.question, qtbot.keyClick

    def told(text: str) -> None:
        qtbot.waitUntil(lambda: text in box.verdict.text())

    def go_on(number: int) -> None:
        qtbot.waitUntil(panel.next.isEnabled)
        panel.next.click()
        step(panel, qtbot, number)

    start(panel, qtbot, LESSON)
    assert panel.text.text() == "It has 12 objects."
    assert session.selection.span == Span("", 0, 32)
    go_on(1)
    assert not panel.next.isEnabled()
    box.field.setFocus()
    key(box.field, Qt.Key.Key_Return)
    assert not box.verdict.text(), "nothing was answered"
    qtbot.keyClicks(box.field, "12")
    key(box.field, Qt.Key.Key_Return)
    told("these are objects")
    assert box.field.selectedText() == "12", "the next answer takes its place"
    panel.hint.setFocus()
    key(panel.hint, Qt.Key.Key_Space)
    assert box.hints.text() == "more than objects"
    assert not panel.hint.isEnabled()
    assert box.field.hasFocus(), "the keyboard stays in the lesson"
    box.field.clear()
    qtbot.keyClicks(box.field, "13 slots")
    key(box.field, Qt.Key.Key_Return)
    qtbot.waitUntil(panel.next.hasFocus)
    key(panel.next, Qt.Key.Key_Return)
    step(panel, qtbot, 2)
    session.select_span(Span("", 0, 1))
    qtbot.waitUntil(box.check.isEnabled)
    assert not box.verdict.text(), "selecting is no answer"
    box.check.click()
    told("different bytes")
    session.select_span(Span("", 39, 40))
    qtbot.waitUntil(lambda: "at 0x27" in box.selected.text())
    key(box.check, Qt.Key.Key_Return)
    go_on(3)
    assert "no header/nothing" in panel.trouble.text()
    go_on(4)
    assert not panel.hint.isVisible()
    choices = {one.accessibleName(): one for one in box.findChildren(QRadioButton)}
    for name in ("this", "that", "this"):
        choices[name].click()
        qtbot.waitUntil(box.check.isEnabled)
        assert not box.verdict.text(), "selecting is no answer"
    qtbot.mouseClick(box.check, Qt.MouseButton.LeftButton)
    told("not this")
    choices["that"].click()
    assert not box.verdict.text(), "the verdict was about the other choice"
    key(choices["that"], Qt.Key.Key_Return)
    qtbot.waitUntil(panel.next.hasFocus)
    assert not choices["this"].isEnabled(), "a right answer stays"
    go_on(5)
    made = Path(session.request.uri)
    assert made.name == "fresh.shard"
    assert made.exists()
    panel.show_me.click()
    told("→ ")
    assert not box.check.isEnabled()
    lookup = player.stage.scene.key
    assert session.lookup.walk.key == lookup, "what is drawn is the lookup of the lesson"
    panel.another.click()
    qtbot.waitUntil(lambda: player.stage is not None and session.request.uri != str(made))
    step(panel, qtbot, 5)
    assert player.stage.scene.key != lookup
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


def test_a_lesson_whose_file_is_not_opened(panel: LessonPanel, session: Session, qtbot: QtBot, data: Path) -> None:
    """You were asked whether changes may be dropped, and cancelled: the lesson does not wait for its file."""

    def refused(format: str) -> str:
        allowed, session.documents.may_leave = session.documents.may_leave, lambda _, __: False
        panel.player.start(next(one for one in lessons() if one.sample and one.format == format))
        session.documents.may_leave = allowed
        assert panel.on.isVisibleTo(panel)
        assert "Looking" not in panel.text.text()
        return panel.trouble.text().replace("\\", "")

    assert "is open," in refused("swh")
    session.open(OpenRequest(str(data / "swh/small.shard"), sandbox=True))
    qtbot.waitUntil(lambda: session.request.sandbox and session.shard is not None)
    assert "The sandbox of small.shard is open" in refused("des")


@pytest.mark.parametrize("own", [True, False])
def test_leaving_a_lesson_selects_what_was_selected_before(
    panel: LessonPanel, session: Session, qtbot: QtBot, data: Path, own: bool
) -> None:
    """Nothing stays on an object of the lesson, also where it began on the welcome page."""
    before = Span("", 40, 48)
    session.select_span(before)
    start(panel, qtbot, LESSON if own else lessons()[1])
    panel.leave.click()
    qtbot.waitUntil(lambda: session.request.uri == str(data / "swh/small.shard") and session.selection.span == before)
    session.close()
    start(panel, qtbot, lessons()[0])
    session.select_span(Span("", 64, 72))
    panel.leave.click()
    assert session.selection.span is None
