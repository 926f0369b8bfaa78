"""A sample is studied by the mouse; the keyboard only types names of files and texts."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from shardcore.teaching.resources import Sample
from tests.app.display.person import BLINK, Person, State

BIT = 3
"""The bit of a byte that is flipped."""


def by_mouse(person: Person, sample: Sample, folder: Path) -> None:
    """All that teaches, once; files go to a folder."""
    folder.mkdir()
    person.click(f"button:Open {sample.title}")
    person.until(lambda state: state["title"].startswith(sample.path.name), "the sample")
    walk(person)
    draw(person)
    ask_who_leads(person)
    chart(person)
    make_a_card(person)
    break_and_salvage(person, folder)


# --- the lookup ---


def walk(person: Person) -> None:
    """A key that is offered, step by step to its end and back; then what a first reader pays."""
    person.click("tab:Lookup")
    person.click("traceOffer")
    person.until(lambda state: state["outcome"] and state["steps"] and state["step"] >= 0, "the lookup")
    last = person.ask("state")["steps"] - 1
    for number in range(person.ask("state")["step"], last):
        person.click("button:Next ▶")
        lit(person, number + 1)
    person.look("last-step")
    for number in range(last, 0, -1):
        person.click("button:◀ Back")
        lit(person, number - 1)
    person.look("first-step")
    person.click("traceCold")
    person.until(lambda state: state["cost"].startswith("Opening:"), "what a first reader pays")
    person.look("first-reader")
    person.click("traceWarm")
    person.until(lambda state: not state["cold"], "what was read here")


def lit(person: Person, step: int) -> State:
    """Waits until all bytes of a step are lit, with their numbers, in bytes, overview and tree."""

    def so(state: State) -> bool:
        here = state["numbers"] == state["in_bytes"] == state["in_strip"]
        return state["step"] == step and here and state["in_tree"] == state["numbers"]

    return person.until(so, f"the light of step {step}")


# --- drawings ---


def draw(person: Person) -> None:
    """Each drawing: an item and its bytes light each other; every control is set, and reset."""
    person.click("tab:Drawing")
    state = person.until(lambda state: bool(state["items"]), "the drawing")
    person.look("drawing")
    light_both_ways(person)
    for number, name in enumerate(state["sketches"]):
        if len(state["sketches"]) > 1:
            person.click(f"tab:{state['titles'][number]}")
        front = person.until(lambda state, name=name: state["drawing"] == name and state["items"], f"drawing {name}")
        for control in front["controls"]:
            work(person, control)
            person.look(f"{name}-{control['name']}")
            person.click("drawingReset")
            person.until(lambda state: not state["values"] and not state["busy"], "what the file says")
        for place, control in enumerate(front["grips"]):
            pull(person, place, control)


def light_both_ways(person: Person) -> None:
    """The pointer on an item lights its bytes; a click selects them; the pointer on the byte frames the item."""
    state = person.ask("state")
    number = next(n for n, spans in enumerate(state["items"]) if spans and person.sees(f"item:{n}"))
    person.hover(f"item:{number}")
    spans = state["items"][number]
    person.until(lambda state: state["lights"] == spans, f"the light of {spans}")
    person.click(f"item:{number}")
    start = spans[0][1]
    person.until(lambda state: state["span"] and state["span"][0] == start, "the bytes of the item")
    person.look("item")
    if person.sees(f"byte:{start}"):
        person.hover(f"byte:{start}")
        person.until(lambda state: number in state["framed"] or bool(state["framed"]), "the item of the byte")


def work(person: Person, control: dict[str, Any]) -> None:
    """Sets a control to another value."""
    name = control["name"]
    if control["kind"] == "slider":
        there = control["value"] - control["low"] < (control["high"] - control["low"]) / 2
        person.drag(f"handle:slider_{name}", 40 if there else -40)
    elif control["kind"] == "switch":
        person.click(f"box:switch_{name}")
    elif control["kind"] == "choice":
        person.click(f"choice_{name}")
        person.until(lambda _: person.sees("entry:0") or person.sees("entry:1"), "the list")
        person.click("entry:1")
        if not differs(person, name, control["value"]):
            person.click(f"choice_{name}")
            person.click("entry:0")
    else:
        person.click(f"text_{name}")
        person.take_keyboard()
        person.type("2090")
    person.until(lambda state: state["values"].get(name, control["value"]) != control["value"], f"another {name}")
    person.until(lambda state: not state["busy"], "the drawing for it")
    assert person.ask("state")["notice"] == ""


def differs(person: Person, name: str, value: object) -> bool:
    """Whether a control has another value than the file says."""
    return bool(person.ask("state")["values"].get(name, value) != value)


def pull(person: Person, place: int, control: str) -> None:
    """Drags a handle of the drawing itself, whichever way it can go."""
    for across in (-60, 60):
        person.drag(f"grip:{place}", across)
        time.sleep(BLINK)
        person.until(lambda state: not state["busy"], "the drawing for it")
        if control in person.ask("state")["values"]:
            break
    person.until(lambda state: control in state["values"], f"another {control} by its handle")
    person.look(f"pulled-{place}-{control}")
    person.click("drawingReset")
    person.until(lambda state: not state["values"] and not state["busy"], "what the file says")


# --- leads ---


def ask_who_leads(person: Person) -> None:
    """Asked of a byte by its menu; an answer is followed, and cleared."""
    first = person.ask("state")["first_byte"]
    person.click(f"byte:{first}")
    person.until(lambda state: state["span"] and state["span"][0] <= first, "the byte")
    person.mouse.do("click", "3")
    person.until(lambda state: state["popup"], "the menu")
    person.click("menu:Find references")
    state = person.until(lambda state: state["leads"] >= 0 and not state["busy"], "the answer")
    person.look("leads")
    if state["leads"]:
        person.click("link:→")
        person.until(lambda now: now["span"] != state["span"], "where it leads from")
    person.click("inspectorLeadsClear")
    person.until(lambda state: state["leads"] < 0 and not state["arrows"], "no arrows")


# --- charts ---


def chart(person: Person) -> None:
    """The budget by its rows, sizes by a range that filters."""
    person.press("alt+8")
    state = person.until(lambda state: state["chart"] == "budget" and (state["shares"] or state["why"]), "the budget")
    if state["shares"]:
        person.click("share:0")
    for kind in ("sizes", "load"):
        person.click("chartKind")
        person.press("Down", "Return")
        state = person.until(
            lambda state, kind=kind: state["chart"] == kind and (state["bins"] or state["why"]) and not state["busy"],
            f"the chart of {kind}",
        )
        person.look(f"chart-{kind}")
        if state["bins"] and state["why"] == "":
            person.click(f"bin:{state['full'][0]}")
            person.until(lambda state: state["chosen_bins"][0] >= 0, "the bin")
        if kind == "sizes":
            filter_by_range(person, state)


def filter_by_range(person: Person, state: State) -> None:
    """Drags over the bars: the objects are those of these sizes."""
    first, last = person.find(f"bin:{state['full'][0]}"), person.find(f"bin:{state['bins'] - 1}")
    person.mouse.go(*first)
    person.mouse.down()
    person.mouse.go(*last, steps=3)
    person.mouse.up()
    person.until(lambda state: "size:" in state["filter"] or "stored:" in state["filter"], "the filter of the range")
    person.look("chart-range")


def press(person: Person, button: str, dialog: str) -> None:
    """Clicks a button of a dialog for files; the first click may only close the list of names that go on like this."""
    while person.ask("state")["front"] == dialog:
        if person.sees(f"button:{button}"):
            person.click(f"button:{button}")
        person.ask("state")


def save_as(person: Person, path: Path) -> None:
    """Types a name into the dialog for files, and presses its button."""
    person.until(lambda state: state["front"] == "QFileDialog", "the dialog")
    person.take_keyboard()
    person.fill(str(path))
    press(person, "Save", "QFileDialog")
    person.until_written(path)


# --- cards ---


def make_a_card(person: Person) -> None:
    """The passport of the selected bytes; its link opens them again."""
    person.click("tab:Inspector")
    person.click("inspectorMore")
    person.click("menu:Export details…")
    person.until(lambda state: state["front"] == "cardSheet", "the card")
    person.look("card")
    person.click("button:Copy link")
    link = person.until(lambda state: "#" in state["clipboard"], "the link")["clipboard"]
    assert link.startswith("shardscope "), link
    person.click("button:Close")
    open_link(person, span_of(link))


def span_of(link: str) -> list[int]:
    """Return the bytes that a link leads to: the field of the passport."""
    found = re.search(r"(\d+)-(\d+)'?$", link)
    assert found is not None, link
    return [int(end) for end in found.groups()]


def open_link(person: Person, span: list[int]) -> None:
    """Opens what the clipboard has, by the menu."""
    person.click("byte:" + str(person.ask("state")["first_byte"] + 20))
    person.click("menu:File")
    person.click("menu:Open as…")
    person.until(lambda state: state["front"] == "openWith", "the dialog")
    person.take_keyboard()
    person.press("ctrl+a", "ctrl+v")
    person.click("button:Open")
    person.until(lambda state: state["span"] == span and not state["busy"], f"the bytes of the link, {span}")


# --- the sandbox ---


def break_and_salvage(person: Person, folder: Path) -> None:
    """A bit is flipped and undone; a copy is saved, and what is whole is extracted."""
    person.click("row:0")
    person.until(lambda state: state["row"] is not None and not state["busy"], "an object")
    person.press("alt+b")
    person.click("breakSafely")
    person.until(lambda state: state["sandbox"] and state["compared"] and not state["busy"], "the sandbox")
    first = person.ask("state")["first_byte"]
    person.click(f"byte:{first + 2}")
    flip(person)
    person.look("flipped")
    person.click("button:↶")
    person.until(lambda state: not state["changes"] and state["compared"], "as it was")
    flip(person)
    person.click("button:Save…")
    copy = folder / "broken.bin"
    save_as_copy(person, copy)
    person.click("menu:Tools")
    person.click("menu:Recover objects…")
    person.until(lambda state: state["salvage_rows"] and not state["busy"], "what is whole")
    person.look("salvage")
    if person.ask("state")["can_extract"]:
        whole = folder / "whole"
        whole.mkdir()
        person.click("button:Extract to a folder…")
        person.until(lambda state: state["front"] == "salvageFolder", "the dialog")
        person.take_keyboard()
        person.fill(str(whole))
        press(person, "Choose", "salvageFolder")
        person.until(lambda state: "Written to" in state["salvage"], "what was written")
        assert any(whole.iterdir())
        person.look("salvaged")
    person.click("button:Close")
    person.click("button:Leave")
    person.until(lambda state: not state["sandbox"], "the file itself")


def flip(person: Person) -> None:
    """Flips a bit, and waits for what notices it."""
    person.click(f"bit{BIT}")
    person.until(lambda state: len(state["changes"]) == 1 and state["compared"] and state["news"], "what noticed it")


def save_as_copy(person: Person, path: Path) -> None:
    """The dialog for a copy of the sandbox."""
    person.until(lambda state: state["front"] == "saveSandbox", "the dialog")
    person.take_keyboard()
    person.fill(str(path))
    press(person, "Save", "saveSandbox")
    person.until(lambda state: path.is_file() and not state["busy"], "the copy")
