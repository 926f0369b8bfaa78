"""A mission and a sandbox in the hands of a person, in a real X display."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shardcore.teaching import resource_paths
from shardcore.teaching.lessons.lesson import Answer, Lesson
from shardcore.teaching.lessons.lesson_list import missions
from shardcore.testing import rounds, sampled
from tests.app.display.person import Person, PersonFor

BYTE, BIT = 40, 3


@pytest.fixture(params=sampled(list(missions()), rounds(3, 1), full=False), ids=lambda one: one.format)
def mission(request: pytest.FixtureRequest) -> Lesson:
    return request.param


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.display("xdotool")
def test_a_person_finishes_a_mission_and_breaks_a_file(person_for: PersonFor, mission: Lesson, tmp_path: Path) -> None:
    copy = Path(shutil.copy(resource_paths.resources() / "samples" / mission.sample, tmp_path))
    person = person_for("mission", mission.format, copy)
    person.until(lambda state: copy.name in state["title"], "the file")
    finish(person, mission)
    break_it(person, tmp_path / "copy.bin")
    person.leave()


def finish(person: Person, mission: Lesson) -> None:
    number = [one.name for one in missions()].index(mission.name)
    person.take_focus()
    person.press("ctrl+alt+m")
    person.until(lambda state: not state["busy"], "the missions")
    person.look("missions")
    person.press(*["Tab"] * number, "space")
    person.until(lambda state: state["lesson"] == mission.name, "the mission")
    for step, told in enumerate(mission.steps):
        person.until(lambda state, step=step: state["lesson_step"] == step and state["staged"], f"step {step}")
        if told.question.hints:
            person.click("lessonHint")
        person.look(f"step-{step}")
        if told.question.kind is Answer.MENDED:  # has to be done; tests of the missions do it
            person.click("lessonLeave")
            break
        person.click("lessonShowMe")
        person.until(lambda state: bool(state["solved"]), f"the solution of step {step}")
        person.look(f"step-{step}-solved")
        person.click("lessonNext")
    person.until(lambda state: state["lesson"] == "", "the end of the mission")


def break_it(person: Person, copy: Path) -> None:
    person.take_focus()
    person.press("ctrl+alt+b")
    person.until(lambda state: state["sandbox"] and state["compared"], "the sandbox")
    person.look("sandbox")
    person.click("addressField")
    person.type(str(BYTE))
    person.press("Return")
    person.until(lambda state: state["span"] is not None and state["span"][0] == BYTE, "the byte")
    person.click(f"bit{BIT}")
    done(person, 1)
    person.look("flipped")
    for keys, count in (("ctrl+z", 0), ("ctrl+shift+z", 1)):
        person.press(keys)
        done(person, count)
    person.press("ctrl+alt+x")
    done(person, 2)
    person.look("cut")
    person.press("ctrl+alt+z")
    done(person, 0)
    person.press("ctrl+shift+z")
    state = done(person, 1)
    assert state["changes"] == [f"bit {BIT} of byte {BYTE:#x} flipped"]
    person.press("ctrl+alt+s")
    person.until(lambda state: state["sheet"] == "saveSandbox", "the dialog")
    person.take_focus()
    person.fill(str(copy))
    person.look("saving")
    person.press("Return")
    person.until(lambda state: copy.is_file() and not state["busy"], "the copy")
    person.look("saved")
    person.take_focus()
    person.press("ctrl+alt+b")
    person.until(lambda state: not state["sandbox"], "nothing asked: the copy has the changes")


def done(person: Person, count: int) -> dict[str, object]:
    return person.until(lambda state: len(state["changes"]) == count and state["compared"], f"{count} changes")
