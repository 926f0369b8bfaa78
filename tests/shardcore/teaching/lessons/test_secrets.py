"""Answers of open questions are hidden in nodes, lookups and drawings; no title and no text of a lesson has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

from shardcore.model.drawing import Cells, Drawing, Item, Link, Tone
from shardcore.model.node import Node
from shardcore.model.record import FieldRole
from shardcore.model.span import Span
from shardcore.teaching.drawing.as_text import as_text
from shardcore.teaching.lessons.answers import number_of, solution
from shardcore.teaching.lessons.lesson import Answer, Lesson, Show
from shardcore.teaching.lessons.secrets import HIDDEN, LEAST_NUMBER, NOTHING, Aspect, Secrets, secrets_of
from shardcore.teaching.lessons.stage import LessonStage, drawn
from tests.shardcore.teaching.lessons.test_every_lesson import LESSONS, stages_of

MOST_NODES = 500


@dataclass(frozen=True)
class Asked:
    """A step that asks something.

    Attributes:
        where: The lesson and the line.
        stage: The step.
        secrets: What is hidden.
        answer: The answer as it is typed, or the number of the choice.
        told: Texts of the views that hold the answer though it is hidden.
    """

    where: str
    stage: LessonStage
    secrets: Secrets
    answer: str
    told: list[str]

    @staticmethod
    def of(lesson: Lesson, stage: LessonStage) -> Asked:
        """The step, as long as its file is open."""
        assert stage.question is not None
        secrets, answer = secrets_of(stage), solution(stage.question, stage.scene).text
        told = told_by_views(stage, secrets, pattern_of(stage, answer))
        return Asked(f"{lesson.name}, line {stage.step.line}", stage, secrets, answer, told)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> list[Asked]:
    """All steps of all lessons that ask something."""
    return [
        Asked.of(lesson, stage)
        for lesson in LESSONS
        for stage in stages_of(lesson, tmp_path_factory.mktemp(lesson.name))
        if stage.question is not None and stage.question.kind not in (Answer.MENDED, Answer.BYTES)
    ]


def pattern_of(stage: LessonStage, answer: str) -> re.Pattern[str] | None:
    """Pattern that no text may match: a large number, in any form; None where the answer is something else."""
    question = stage.question
    assert question is not None
    if question.kind is not Answer.NUMBER:
        return None
    number = number_of(answer)
    if number is None or number < LEAST_NUMBER:
        return None
    return re.compile(rf"(?<!\w)(?<!\d[.,])(?:{number}|{number:,}|0x0*{number:x})(?!\w)(?![.,]\d)")


def nodes(node: Node) -> Iterator[Node]:
    """A node and all below it."""
    yield node
    for child in node.children:
        yield from nodes(child)


def told_by_views(stage: LessonStage, secrets: Secrets, pattern: re.Pattern[str] | None) -> list[str]:
    """Texts of nodes, lookup and drawings that hold the answer though it is hidden."""
    scene = stage.scene
    if pattern is None:
        return []
    texts: list[str] = []
    for node in islice(nodes(scene.shard.tree), MOST_NODES):
        seen = secrets.node(node)
        texts += [seen.text, seen.doc, seen.sum, str(seen.value), secrets.text(f"{node.span.start:,}")]
    for number, step in enumerate(scene.trace.steps if scene.trace is not None else ()):
        texts += [secrets.lookup(one, number) for one in (step.text, *map(str, step.values.values()))]
    for sketch in scene.shard.sketches(scene.trace):
        texts.append(secrets.text("\n".join(as_text(secrets.drawing(sketch.draw({}), sketch.name)))))
    return [text for text in texts if pattern.search(text)]


@pytest.mark.thorough
def test_no_node_no_lookup_and_no_drawing_tells_the_answer(asked: list[Asked]) -> None:
    """Of a large number neither value, doc nor offset, no step and no drawing."""
    assert {one.where: one.told for one in asked if one.told} == {}
    assert sum(pattern_of(one.stage, one.answer) is not None for one in asked) > 25


def test_titles_and_texts_do_not_answer(asked: list[Asked]) -> None:
    """A title has no number that is the answer, nor a word of the right choice alone; a text no large one."""
    found = []
    for one in asked:
        where, stage, answer = one.where, one.stage, one.answer
        assert stage.question is not None
        text = f"{stage.text} {stage.question.prompt}".replace("\\", "")
        if (pattern := pattern_of(stage, answer)) is not None and pattern.search(text):
            found.append(f"{where}: the text has {answer}")
        if stage.question.kind in (Answer.NUMBER, Answer.TEXT) and answer in re.findall(r"\w+", stage.step.title):
            found.append(f"{where}: the title has {answer}")
        if stage.question.kind is Answer.CHOICE:
            right = words(stage.question.choices[int(answer)].text)
            wrong = (choice.text for choice in stage.question.choices if not choice.right)
            elsewhere = words(" ".join((stage.question.prompt, *wrong)))
            if alone := words(stage.step.title) & right - elsewhere:
                found.append(f"{where}: the title has {', '.join(sorted(alone))} of the right choice")
    assert found == []


def words(text: str) -> set[str]:
    """The words of a text that say something."""
    return {word.removesuffix("s") for word in re.findall(r"[a-z]{4,}", text.lower())} - {"byte"}


def test_the_last_steps_of_the_lookup_are_hidden(asked: list[Asked]) -> None:
    """Steps after the one that a question is about show nothing but their titles."""
    hidden = 0
    for one in asked:
        stage, secrets = one.stage, one.secrets
        if stage.scene.trace is None:
            continue
        assert secrets.last_step is not None, one.where
        for number in range(secrets.last_step + 1, len(stage.scene.trace.steps)):
            assert secrets.lookup(stage.scene.trace.steps[number].text, number) == HIDDEN
            hidden += 1
    assert hidden > 50


def field(name: str, start: int, value: int, role: FieldRole = FieldRole.NUMBER) -> Node:
    """A field of four bytes."""
    return Node(name, Span("", start, start + 4), value, f"{value:,}", role, f"It holds {value:,}.")


def test_a_large_number_is_hidden_everywhere_and_a_small_one_where_it_means_the_answer() -> None:
    """Sums, ranges and hexadecimal forms too; longer numbers with these digits stay, and the seven of others."""
    large = Secrets(numbers=frozenset({4465}))
    assert large.text("index at 4,465, 4465..4985, 0x1171 · 0x00001171") == "index at ?, ?..4985, ? · ?"
    assert large.text("14,465 · 4,465.5 · 44650 · x4465") == "14,465 · 4,465.5 · 44650 · x4465"
    assert large.node(field("offset", 0, 4465)).value is None
    small = Secrets(numbers=frozenset({7}), fields=frozenset({"count"}), within=Span("", 0, 8))
    assert small.node(field("count", 0, 7)).text == HIDDEN
    assert small.node(field("other", 4, 7)).text == "7"
    assert small.node(field("count", 8, 7)).text == "7"
    assert small.text("row 7 of 7 rows") == "row 7 of 7 rows"
    assert small.lookup("slot 7 of 13") == "slot ? of 13"
    counted = Secrets(numbers=frozenset({7}), aspects=frozenset({Aspect.COUNT}))
    assert counted.text("7 rows · 7 bytes · slot 7") == "? rows · 7 bytes · slot 7"
    assert counted.node(field("any", 0, 7, FieldRole.COUNT)).text == HIDDEN


def test_bytes_that_are_asked_for_have_no_name_and_no_highlight() -> None:
    """Nor have their neighbours, so that they are not the only ones without; what is around them keeps its name."""
    around = Node("header", Span("", 0, 8))
    secrets = Secrets(unnamed=(around.name, around.span), place=Span("", 4, 8))
    assert secrets.node(around).name == "header"
    assert [secrets.node(field(name, at, 1)).name for name, at in (("magic", 0), ("size", 4))] == [HIDDEN, HIDDEN]
    assert not secrets.lights(Span("", 4, 8))
    assert secrets.lights(Span("", 0, 4))
    assert secrets.lights(Span("", 0, 400))


def test_a_drawing_does_not_mark_the_answer() -> None:
    """The slot looks like the others, without its arrow; a single hidden text would be the answer, so all are."""
    slots = tuple(
        Item(f"k{n}", at=n, tone=Tone.HIT if n == 4 else Tone.FAINT, name=f"slot {n}", here=n == 4, doc=f"Slot {n}.")
        for n in range(6)
    )
    drawing = Drawing("Slots", (Cells("slots", 6, (*slots, Item("d", name="d"))),), (Link("d", "slot 4", "to slot 4"),))
    seen = Secrets(numbers=frozenset({4}), last_step=-1).drawing(drawing, "parking")
    assert {item.tone for item in seen.items[:6]} == {Tone.FAINT}
    assert not any(item.here for item in seen.items)
    assert [item.doc for item in seen.items[:6]] == [HIDDEN] * 6
    assert [item.text for item in seen.items[:6]] == [HIDDEN] * 6
    assert seen.links == ()
    assert NOTHING.drawing(drawing) is drawing


def test_answers_of_every_kind_are_hidden() -> None:
    """Numbers of every kind, texts, and the whole lookup."""
    secrets = Secrets(
        numbers=frozenset({7, 4465}),
        texts=frozenset({"ab12cd34"}),
        aspects=frozenset(Aspect),
        last_step=-1,
        decoded=True,
    )
    assert secrets.text("7 bytes, 7 rows, byte 4,465 of AB12CD34ef") == "? bytes, ? rows, byte ? of ?ef"
    assert secrets.lookup("Slot 3.", 0) == HIDDEN
    assert secrets.decoded
    assert not NOTHING


def test_the_answer_on_a_ruler_has_no_clipped_text(tmp_path: Path) -> None:
    """Without its highlight a record would have to hold its text, for which it is too narrow."""
    (lesson,) = (one for one in LESSONS if one.name == "mdb-2-find-a-key")
    stage = next(stage for stage in stages_of(lesson, tmp_path) if stage.step.title == "Compare")
    (target,) = (one for one in stage.shown if one.kind is Show.DRAWING)
    hidden = secrets_of(stage).drawing(drawn(target, stage.scene), target.name)
    (record,) = (item for item in hidden.items if item.name == "record")
    assert (record.text, record.here) == (HIDDEN, False)
