"""A sample studied by the mouse, in a real X display: its lookup, a drawing, and the references to a byte."""

from __future__ import annotations

import pytest

from shardcore.teaching import resource_paths
from shardcore.teaching.resource_paths import Sample
from shardcore.testing import sampled
from tests.app.display.person import Person, PersonFor, State


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "sample", sampled(resource_paths.main_samples(), 1, full=False), ids=lambda sample: sample.format
)
@pytest.mark.display("xdotool")
def test_a_format_is_studied_by_the_mouse(person_for: PersonFor, sample: Sample) -> None:
    person = person_for("teaching", sample.format)
    person.click(f"button:Open {sample.title}")
    person.until(lambda state: state["title"].startswith(sample.path.name), "the sample")
    walk(person)
    person.click("tab:Drawing")
    person.until(lambda state: bool(state["items"]), "the drawing")
    light_both_ways(person)
    find_references(person)
    person.leave()


def walk(person: Person) -> None:
    person.click("tab:Lookup")
    person.click("traceOffer")
    state = person.until(lambda state: state["outcome"] and state["steps"] and state["step"] >= 0, "the lookup")
    for number in range(state["step"], state["steps"] - 1):
        person.click("button:Next step")
        highlighted(person, number + 1)
    person.look("last-step")
    person.click("button:Previous step")
    highlighted(person, state["steps"] - 2)


def highlighted(person: Person, step: int) -> State:
    def so(state: State) -> bool:
        here = state["numbers"] == state["in_bytes"] == state["in_strip"]
        return state["step"] == step and here and state["in_tree"] == state["numbers"]

    return person.until(so, f"the highlights of step {step}")


def light_both_ways(person: Person) -> None:
    state = person.ask("state")
    number = next(n for n, spans in enumerate(state["items"]) if spans and person.sees(f"item:{n}"))
    spans = state["items"][number]
    person.hover(f"item:{number}")
    person.until(lambda state: state["lights"] == spans, f"the highlight of {spans}")
    person.click(f"item:{number}")
    start = spans[0][1]
    person.until(lambda state: state["span"] and state["span"][0] == start, "the bytes of the item")
    person.look("item")
    if person.sees(f"byte:{start}"):
        person.hover(f"byte:{start}")
        person.until(lambda state: bool(state["framed"]), "the item of the byte")


def find_references(person: Person) -> None:
    first = person.ask("state")["first_byte"]
    person.click(f"byte:{first}")
    person.until(lambda state: state["span"] and state["span"][0] <= first, "the byte")
    person.mouse.do("click", "3")
    person.until(lambda state: state["popup"], "the menu")
    person.click("menu:Find references")
    state = person.until(lambda state: state["leads"] >= 0 and not state["busy"], "the answer")
    if state["leads"]:
        person.click("link:→")
        person.until(lambda now: now["span"] != state["span"], "the reference")
    person.click("inspectorLeadsClear")
    person.until(lambda state: state["leads"] < 0 and not state["arrows"], "no arrows")
