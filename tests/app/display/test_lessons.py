"""A lesson in the hands of a person, in a real X display: once by the mouse, once by the keyboard alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardcore.teaching.lessons.lesson import Lesson
from shardcore.teaching.lessons.lesson_list import lessons
from shardcore.testing import rounds, sampled
from tests.app.display.person import Person, PersonFor, State

LESSONS = [lesson for lesson in lessons() if lesson.name.endswith("-2-find-a-key")]


@pytest.fixture(params=sampled(LESSONS, rounds(3, 1), full=False), ids=lambda lesson: lesson.format)
def lesson(request: pytest.FixtureRequest) -> Lesson:
    return request.param


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.display("xdotool")
def test_a_lesson_is_walked_through(person_for: PersonFor, lesson: Lesson, tmp_path: Path) -> None:
    person = person_for("lesson", lesson.format)
    person.look("welcome")
    person.click(f"learn-{lesson.format}")
    at(person, 0)
    person.look("learn")
    # The card begins the first lesson on the format; the second one is begun from the list.
    person.click("lessonLeave")
    person.until(lambda state: state["lesson"] == "", "the list")
    person.look("list")
    person.mouse.go(*person.find("lessonList"))
    for _ in range(80):
        if person.ask(f"where start-{lesson.name}").get("x"):
            break
        person.mouse.do("click", "5")
    person.click(f"start-{lesson.name}")
    for number in range(len(lesson.steps)):
        by_mouse(person, lesson, number)
    person.until(lambda state: state["lesson"] == "", "the end")
    person.look("finished")

    person.take_focus()
    person.press("alt+l")
    person.until(lambda state: state["focus"] == "lessonList", "the list")
    tab_to(person, f"start-{lesson.name}")
    person.press("space")
    started = person.until(lambda state: state["lesson"] == lesson.name and state["staged"], "the lesson")
    for number in range(started["lesson_step"], len(lesson.steps)):
        by_keys(person, lesson, number)
    person.until(lambda state: state["lesson"] == "", "the end")
    person.leave()
    assert not list(tmp_path.glob("shardscope-lesson-*"))


def tab_to(person: Person, name: str) -> None:
    for _ in range(80):
        if person.ask("state")["focus"] == name:
            return
        person.press("Tab")
    pytest.fail(f"Tab does not lead to {name}")


def at(person: Person, number: int) -> State:
    return person.until(lambda state: state["lesson_step"] == number and state["staged"], f"step {number}")


def by_mouse(person: Person, lesson: Lesson, number: int) -> None:
    state = at(person, number)
    person.look(f"step-{number}")
    if state["asks"]:
        wrong, right = state["choices"]
        if wrong >= 0:
            person.click(f"choice:{wrong}")
            person.click("lessonCheck")
            person.until(lambda state: state["verdict"].startswith("✗"), "a word to the wrong answer")
            person.click(f"choice:{right}")
            person.click("lessonCheck")
        else:
            person.click("lessonShowMe")
        mark = "✓" if wrong >= 0 else "→"
        person.until(lambda state: state["verdict"].startswith(mark), "a word to the right answer")
        person.look(f"answered-{number}")
    person.click("lessonNext")


def by_keys(person: Person, lesson: Lesson, number: int) -> None:
    state = at(person, number)
    if state["asks"] and state["typed"]:
        person.until(lambda state: state["focus"] == "lessonAnswer", "the field")
        person.type("7654321")
        person.press("Return")
        person.until(lambda state: state["verdict"].startswith("✗"), "a word to the wrong answer")
        person.type(state["typed"])
        person.press("Return")
        person.until(lambda state: state["verdict"].startswith("✓"), "a word to the right answer")
    elif state["asks"]:
        person.press("alt+l")
        tab_to(person, "lessonShowMe")
        person.press("space")
        person.until(lambda state: state["verdict"].startswith("→"), "the answer")
    person.press("alt+l", "ctrl+Page_Down")
