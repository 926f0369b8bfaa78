"""Somebody at the screen: looks, points, drags and types; waits for what is to be seen, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.app.display.program import Mouse, Program

SECONDS = 60.0
TRIES = 4

BLINK = 0.02
"""Seconds from one look at the window to the next while something is waited for."""

State = dict[str, Any]


class Person:
    def __init__(
        self, program: Program, shelf: Program, environment: dict[str, str], pictures: Path, middle: tuple[int, int]
    ) -> None:
        self.program, self.shelf, self.mouse = program, shelf, Mouse(environment)
        self._pictures, self._middle = pictures, middle
        self._count = self._moves = 0

    # --- looking ---

    def ask(self, question: str) -> State:
        self.program.tell(question)
        return self.program.expect(question.split(maxsplit=1)[0], SECONDS)

    def soon(self, so: Callable[[State], bool], seconds: float = 3.0) -> State | None:
        deadline = time.monotonic() + seconds
        while not so(state := self.ask("state")):
            if time.monotonic() > deadline:
                return None
            time.sleep(BLINK)
        return state

    def until(self, so: Callable[[State], bool], what: str) -> State:
        state = self.soon(so, SECONDS)
        if state is None:
            self.look("stuck")
            pytest.fail(f"it did not come to that: {what}; {self.ask('state')}")
        return state

    def find(self, part: str) -> tuple[int, int]:
        deadline = time.monotonic() + SECONDS
        before: State = {}
        while not (place := self.ask(f"where {part}")).get("x") or place != before:
            before = place
            if time.monotonic() > deadline:
                self.look("stuck")
                pytest.fail(f"{part} cannot be seen; {self.ask('state')}")
            if "wheel" in place:
                x, y, turn = place["wheel"]
                self.mouse.go(x, y)
                self.mouse.do("click", turn)
            time.sleep(BLINK)
        return place["x"], place["y"]

    def look(self, name: str) -> None:
        if name != "stuck":
            self.until(lambda state: not state["busy"], "rest")
        self._count += 1
        assert self.ask(f"picture {self._pictures / f'{self._count:02}-{name}.png'}")["saved"]

    # --- doing ---

    def click(self, part: str) -> None:
        self.mouse.click(*self.find(part))

    def take_focus(self, title: str = "Shardscope$") -> None:
        for _ in range(TRIES):
            if self.ask("state")["active"]:
                return
            self.mouse.do("search", "--onlyvisible", "--name", title, "windowfocus")
        self.until(lambda state: bool(state["active"]), "the keyboard")

    def press(self, *keys: str) -> None:
        self.mouse.do("key", *keys)

    def leave(self) -> None:
        self.take_focus()
        self.press("ctrl+q")
        assert self.program.process.wait(30) == 0

    def type(self, text: str) -> None:
        self.mouse.do("key", "ctrl+a")
        self.mouse.do("type", "--delay", "1", text)

    def fill(self, text: str) -> None:
        for _ in range(TRIES):
            self.type(text)
            if self.soon(lambda state: state["line"] == text):
                return
        self.until(lambda state: state["line"] == text, f"{text} in the line")

    def give(self, path: Path, place: str) -> None:
        self.shelf.tell(str(path))
        self.shelf.expect("offered")
        for _ in range(TRIES):
            self._pick_up(self._middle, self.shelf)
            self._bring_over(place)
            self.mouse.up()
            if self.shelf.expect("end")["action"]:
                return
        pytest.fail(f"{place} does not take a file; {self.ask('state')}")

    def _bring_over(self, place: str) -> None:
        self.mouse.go(700, 500, steps=6)
        deadline = time.monotonic() + SECONDS
        while not (found := self.ask(f"where drop:{place}")).get("x"):
            if time.monotonic() > deadline:
                self.mouse.up()
                self.look("stuck")
                pytest.fail("the window shows no places for a file")
            self.mouse.go(700 + self._wobble(), 500)
        for _ in range(4):
            self.mouse.go(found["x"] + self._wobble(), found["y"], steps=3)
            self.ask("state")

    def fetch(self, part: str) -> State:
        for _ in range(TRIES):
            start = self.find(part)
            self._pick_up(start, None)
            self.mouse.go(*self._middle, steps=8)
            for _ in range(20):
                if self.shelf.wait("enter", 0.2):
                    break
                self.mouse.go(self._middle[0] + self._wobble(), self._middle[1])
            self.mouse.up()
            dropped = self.shelf.wait("drop", 5)
            if dropped is not None:
                return dropped
        pytest.fail(f"nothing arrived: {self.shelf.seen}; {self.ask('state')}")

    def _pick_up(self, start: tuple[int, int], teller: Program | None) -> None:
        x, y = start
        self.mouse.go(x, y)
        self.mouse.down()
        for step in range(1, 16):
            self.mouse.go(x + 3 * step, y)
            if teller is not None and teller.wait("begin", 0.1):
                return

    def _wobble(self) -> int:
        self._moves += 1
        return self._moves % 5


class PersonFor(Protocol):
    def __call__(self, name: str, format: str, *arguments: object) -> Person: ...
