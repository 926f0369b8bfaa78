"""A sample is studied by the keyboard alone; every part that takes it on the way has a name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shardcore.teaching.resources import Sample
from tests.app.display.person import Person, State
from tests.app.display.teaching_by_mouse import BIT, lit, span_of

MOST_TABS = 140


def by_keys(person: Person, sample: Sample, folder: Path) -> None:
    """All that teaches, once more; files go to a folder."""
    folder.mkdir()
    person.take_keyboard()
    tab_until(person, lambda state: state["spoken"].startswith(f"Open the sample {sample.title}:"), "the sample")
    person.press("Return")
    person.until(lambda state: state["title"].startswith(sample.path.name) and not state["busy"], "the sample")
    walk(person)
    draw(person)
    ask_who_leads(person)
    chart(person)
    make_a_card(person)
    break_and_salvage(person, folder)


def tab_until(person: Person, so: Callable[[State], bool], what: str, key: str = "Tab") -> State:
    """Presses Tab until the keyboard is where it is wanted; whatever it comes by says what it is."""
    passed = []
    for _ in range(MOST_TABS):
        state = person.ask("state")
        if so(state):
            return state
        if state["part"]:
            assert state["spoken"], f"{state['part']} in {state['part_of']} has no name"
        passed.append(state["focus"] or state["spoken"][:40])
        person.press(key)
    person.look("stuck")
    pytest.fail(f"{key} does not lead to {what}: {passed}")


def tab_to(person: Person, name: str, key: str = "Tab") -> State:
    """The same, to a part by its name."""
    return tab_until(person, lambda state: state["focus"] == name, name, key)


# --- the lookup ---


def walk(person: Person) -> None:
    """To the keys that are offered; then the arrows walk, without a Tab between."""
    person.press("alt+4")
    tab_to(person, "traceOffer")
    person.press("Return")
    state = person.until(lambda state: state["outcome"] and state["steps"] and state["step"] >= 0, "the lookup")
    person.look("keys-lookup")
    state = person.until(lambda state: state["focus"] == "traceScroll", "the keyboard in the steps")
    for number in range(state["step"], state["steps"] - 1):
        person.press("Down")
        lit(person, number + 1)
    for number in range(state["steps"] - 1, 0, -1):
        person.press("Up")
        lit(person, number - 1)
    person.look("keys-step")
    tab_to(person, "traceWarm", "shift+Tab")
    person.press("Right", "space")
    person.until(lambda state: state["cost"].startswith("Opening:"), "what a first reader pays")
    person.press("Left", "space")
    person.until(lambda state: not state["cold"], "what was read here")


# --- drawings ---


def draw(person: Person) -> None:
    """Each drawing: the arrows go from item to item; every control, and every handle, is set and reset."""
    person.press("alt+d")
    state = person.until(lambda state: state["focus"] == "drawingView" and state["items"], "the drawing")
    reach_all(person, state)
    light_bytes(person)
    for name in state["sketches"]:
        turn_to(person, name)
        front = person.until(lambda state, name=name: state["drawing"] == name and state["items"], f"drawing {name}")
        for control in front["controls"]:
            work(person, control)
        for control in dict.fromkeys(front["grips"]):
            pull(person, control)
    person.look("keys-drawings")


def reach_all(person: Person, state: State) -> None:
    """Every item of a drawing is come by with Tab, and says what it is."""
    wanted = {tuple(map(tuple, spans)) for spans in state["items"] if spans}
    person.press("Home")
    seen, said = set(), set()
    for _ in range(2 * len(state["items"]) + 2):
        now = person.ask("state")
        if now["focus"] != "drawingView":
            break
        assert now["described"], "an item says nothing"
        seen.add(tuple(map(tuple, now["lights"])))
        said.add(now["described"])
        person.press("Tab")
    assert wanted <= seen, f"not reached: {wanted - seen}"
    tab_to(person, "drawingView", "shift+Tab")


def light_bytes(person: Person) -> None:
    """Space selects the bytes of an item, Return goes to them, and the caret on them frames the item."""
    person.press("Home")
    state = tab_until(person, lambda state: bool(state["pointed"]), "an item with bytes")
    start = state["pointed"][0][1]
    person.press("space")
    person.until(lambda state: state["span"] and state["span"][0] == start, "the bytes of the item")
    person.press("Return")
    person.until(lambda state: state["focus"] == "hexView", "the bytes")
    person.press("alt+d")
    person.until(lambda state: state["focus"] == "drawingView" and state["framed"], "the item of the bytes")


def turn_to(person: Person, name: str) -> None:
    """By the tabs of the drawings to one of them."""
    state = person.ask("state")
    if state["drawing"] == name:
        return
    to_the_first_item(person)
    tab_to(person, "drawingTabs", "shift+Tab")
    there, here = state["sketches"].index(name), state["sketches"].index(state["drawing"])
    person.press(*["Right" if there > here else "Left"] * abs(there - here))


def work(person: Person, control: dict[str, Any]) -> None:
    """Sets a control to another value, and has it reset."""
    name, kind = control["name"], control["kind"]
    before = person.ask("state")["values"].get(name, control["value"])
    to_the_first_item(person)
    widget = {"slider": "slider_", "switch": "switch_", "choice": "choice_", "text": "text_"}[kind] + name
    tab_to(person, widget, "shift+Tab")
    if kind == "slider":
        key = "Left" if before == control["high"] else "Right"
        person.press(key)
        if person.until(lambda state: not state["busy"], "the drawing")["values"].get(name) == control["value"]:
            person.press(key)  # Reset would have nothing to do
    elif kind == "switch":
        person.press("space")
    elif kind == "choice":
        person.press("Down")
        if not person.ask("state")["values"]:
            person.press("Up")
    else:
        person.type("2090")
    person.until(lambda state: state["values"].get(name, control["value"]) != before, f"another {name}")
    person.until(lambda state: not state["busy"], "the drawing for it")
    tab_to(person, "drawingReset")
    person.press("space")
    person.until(lambda state: not state["values"] and not state["busy"], "what the file says")


def to_the_first_item(person: Person) -> None:
    """From the controls above a drawing into it."""
    tab_to(person, "drawingView")
    person.press("Home")


def pull(person: Person, control: str) -> None:
    """Moves a handle of the drawing itself with the arrows."""
    to_the_first_item(person)
    for _ in range(MOST_TABS):
        state = person.ask("state")
        assert state["focus"] == "drawingView", f"no handle of {control}"
        if state["handle"] == control:
            break
        person.press("Tab")
    person.press("Right")
    person.until(lambda state: not state["busy"], "the drawing for it")
    if control not in person.ask("state")["values"]:
        person.press("Left")
    person.until(lambda state: control in state["values"], f"another {control} by its handle")
    person.look(f"keys-pulled-{control}")
    person.press("Home")
    tab_to(person, "drawingReset", "shift+Tab")
    person.press("space")
    person.until(lambda state: not state["values"] and not state["busy"], "what the file says")


# --- leads ---


def ask_who_leads(person: Person) -> None:
    """Asked of the byte with the caret; the answer is followed, and Escape clears the arrows."""
    person.press("alt+d")
    person.until(lambda state: state["focus"] == "hexView", "the bytes")
    person.press("ctrl+shift+w")
    state = person.until(lambda state: state["leads"] >= 0 and not state["busy"], "the answer")
    if state["leads"]:
        person.press("alt+3")
        tab_until(
            person,
            lambda state: "inspectorLeadsForm" in state["part_of"] and state["spoken"].startswith("→"),
            "the answer",
        )
        person.press("Return")
        person.until(lambda now: now["span"] != state["span"], "where it leads from")
        person.press("alt+d", "alt+d")
        person.until(lambda state: state["focus"] == "hexView", "the bytes")
    person.press("Escape")
    person.until(lambda state: state["leads"] < 0 and not state["arrows"], "no arrows")


# --- charts ---


def chart(person: Person) -> None:
    """Rows, bars and ranges by the arrows."""
    person.press("alt+8")
    state = person.until(lambda state: state["focus"] == "chartKind" and (state["shares"] or state["why"]), "charts")
    person.press("Home")
    state = person.until(lambda state: state["chart"] == "budget" and not state["busy"], "the budget")
    if state["shares"]:
        tab_to(person, "budgetView")
        person.press("Down", "Return")
    for kind in ("sizes", "load"):
        tab_to(person, "chartKind", "shift+Tab")
        person.press("Down")
        state = person.until(
            lambda state, kind=kind: state["chart"] == kind and (state["bins"] or state["why"]) and not state["busy"],
            f"the chart of {kind}",
        )
        if not state["bins"]:
            continue
        tab_to(person, "chartPlot")
        person.press("Home")
        state = person.until(lambda state: state["chosen_bins"] == [0, 1], "the first bin")
        assert state["described"], "a bin says nothing"
        if kind == "sizes":
            filter_by_range(person, state)
    person.look("keys-chart")


def filter_by_range(person: Person, state: State) -> None:
    """Shift and the arrows make a range; Return filters."""
    person.press(*["shift+Right"] * (state["bins"] - 1), "Return")
    person.until(lambda state: "size:" in state["filter"] or "stored:" in state["filter"], "the filter of the range")


def answer_file_dialog(person: Person, name: str, path: Path) -> None:
    """Types a path, and Return until the dialog goes: the first may only close the list of such names."""
    person.until(lambda state: state["front"] == name, "the dialog")
    person.take_keyboard()
    person.fill(str(path))
    person.press("Return")
    while not person.soon(lambda state: state["front"] != name):
        person.press("Return")


# --- cards ---


def make_a_card(person: Person) -> None:
    """The passport of the selected bytes; its link opens them again."""
    person.press("alt+3")
    tab_until(person, lambda state: state["spoken"] == "Copy or export details", "the details")
    person.press("space", "e")
    person.until(lambda state: state["front"] == "cardSheet", "the card")
    person.take_keyboard()
    person.press("alt+l")
    link = person.until(lambda state: state["clipboard"].startswith("shardscope "), "the link")["clipboard"]
    person.press("Escape")
    person.until(lambda state: state["front"] != "cardSheet", "the window")
    span = span_of(link)
    person.take_keyboard()
    person.press("ctrl+shift+o")
    person.until(lambda state: state["front"] == "openWith", "the dialog")
    person.take_keyboard()
    person.press("ctrl+a", "ctrl+v", "Return")
    person.until(lambda state: state["span"] == span and not state["busy"], f"the bytes of the link, {span}")


# --- the sandbox ---


def break_and_salvage(person: Person, folder: Path) -> None:
    """A bit is flipped and undone; a copy is saved, and what is whole is extracted."""
    person.take_keyboard()
    # From an object: the bytes in view may be of a file without records, such as `info`.
    person.press("alt+2", "Home")
    person.until(lambda state: state["row"] is not None and not state["busy"], "an object")
    person.press("ctrl+alt+b")
    person.until(lambda state: state["sandbox"] and state["compared"] and not state["busy"], "the sandbox")
    flip(person)
    person.look("keys-flipped")
    tab_until(person, lambda state: "sandboxReport" in state["part_of"], "what noticed it")
    person.press("Down", "Down")
    person.press("ctrl+z")
    person.until(lambda state: not state["changes"] and state["compared"], "as it was")
    flip(person)
    person.press("ctrl+alt+s")
    copy = folder / "broken.bin"
    answer_file_dialog(person, "saveSandbox", copy)
    person.until(lambda state: copy.is_file() and not state["busy"], "the copy")
    person.take_keyboard()
    salvage(person, folder / "whole")
    person.press("ctrl+alt+b")
    person.until(lambda state: not state["sandbox"], "the file itself")


def flip(person: Person) -> None:
    """Flips a bit of the byte with the caret, and waits for what notices it."""
    person.press("ctrl+alt+f")
    person.until(lambda state: state["focus"].startswith("bit"), "the bits")
    person.press(str(BIT))
    person.until(lambda state: len(state["changes"]) == 1 and state["compared"] and state["news"], "what noticed it")


def salvage(person: Person, folder: Path) -> None:
    """What is whole goes to a folder."""
    folder.mkdir()
    person.press("ctrl+alt+e")
    state = person.until(lambda state: state["salvage_rows"] and not state["busy"], "what is whole")
    person.until(lambda state: state["front"] == "salvageSheet", "the keyboard in the sheet")
    tab_to(person, "salvageRows")
    person.press("Down")
    if state["can_extract"]:
        person.press("alt+e")
        answer_file_dialog(person, "salvageFolder", folder)
        person.until(lambda state: "Written to" in state["salvage"], "what was written")
        assert any(folder.iterdir())
        person.take_keyboard("Recover objects$")
    person.look("keys-salvaged")
    person.press("Escape")
    person.until(lambda state: not state["salvage"], "the window")
    person.take_keyboard()
