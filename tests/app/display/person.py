"""Somebody at the screen: looks, points, drags and types; waits for what is to be seen, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.app.display.program import Mouse, Program

SECONDS = 60.0
TRIES = 4

BLINK = 0.02
"""Seconds from one look at the window to the next while something is waited for."""

State = dict[str, Any]


class Person:
    """Drives the program in the window, and the shelf beside it.

    Args:
        program: The command with its peephole.
        shelf: The window that gives and takes files.
        environment: The display.
        pictures: The folder for what was seen.
        middle: The middle of the shelf.
    """

    def __init__(
        self, program: Program, shelf: Program, environment: dict[str, str], pictures: Path, middle: tuple[int, int]
    ) -> None:
        self.program = program
        self.shelf = shelf
        self.mouse = Mouse(environment)
        self._pictures = pictures
        self._middle = middle
        self._count = 0
        self._moves = 0

    # --- looking ---

    def ask(self, question: str) -> State:
        """What the peephole answers."""
        self.program.tell(question)
        return self.program.expect(question.split(maxsplit=1)[0], SECONDS)

    def until(self, so: Callable[[State], bool], what: str) -> State:
        """Waits until the window is in some state."""
        deadline = time.monotonic() + SECONDS
        while not so(state := self.ask("state")):
            if time.monotonic() > deadline:
                self.look("stuck")
                pytest.fail(f"it did not come to that: {what}; {state}")
            time.sleep(BLINK)
        return state

    def soon(self, so: Callable[[State], bool], seconds: float = 3.0) -> bool:
        """Whether the window comes into some state within seconds."""
        deadline = time.monotonic() + seconds
        while not so(self.ask("state")):
            if time.monotonic() > deadline:
                return False
            time.sleep(BLINK)
        return True

    def until_written(self, path: Path) -> None:
        """Waits until a file is there and nothing is written any more."""
        self.until(lambda state: path.exists() and not state["busy"], f"{path.name} is written")

    def find(self, part: str) -> tuple[int, int]:
        """Where a part is on the screen, at rest; the wheel brings it there where it is scrolled away."""
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

    def sees(self, part: str) -> bool:
        """Whether a part is on the screen now."""
        return bool(self.ask(f"where {part}").get("x"))

    def look(self, name: str) -> None:
        """Keeps what is on the screen, once the window has come to rest."""
        if name != "stuck":
            self.until(lambda state: not state["busy"], "rest")
        self._count += 1
        assert self.ask(f"picture {self._pictures / f'{self._count:02}-{name}.png'}")["saved"]

    # --- doing ---

    def click(self, part: str) -> None:
        """Clicks a part."""
        self.mouse.click(*self.find(part))

    def hover(self, part: str) -> None:
        """Moves the pointer onto a part; X tells only of a pointer that moves."""
        x, y = self.find(part)
        self.mouse.go(x + 1, y)
        self.mouse.go(x, y)

    def drag(self, part: str, across: int) -> None:
        """Drags a part to the side."""
        x, y = self.find(part)
        self.mouse.go(x, y)
        self.mouse.down()
        self.mouse.go(x + across // 2, y)
        self.mouse.go(x + across, y)
        self.mouse.up()

    def take_keyboard(self, title: str = "Shardscope$") -> None:
        """Gives the keyboard to the window, or another one: there is no window manager that does."""
        for _ in range(TRIES):
            if self.ask("state")["active"]:
                return
            self.mouse.do("search", "--onlyvisible", "--name", title, "windowfocus")
        self.until(lambda state: bool(state["active"]), "the keyboard")

    def press(self, *keys: str) -> None:
        """Presses keys, one after the other."""
        self.mouse.do("key", *keys)

    def type(self, text: str) -> None:
        """Types a text over what is there."""
        self.mouse.do("key", "ctrl+a")
        self.mouse.do("type", "--delay", "1", text)

    def fill(self, text: str) -> None:
        """Types a text until the line with the keyboard has it: keys that come while windows change places get lost."""
        for _ in range(TRIES):
            self.type(text)
            if self.soon(lambda state: state["line"] == text):
                return
        self.until(lambda state: state["line"] == text, f"{text} in the line")

    def give(self, path: Path, place: str) -> None:
        """Drags a file from the shelf onto a place of the window."""
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
        """Moves over the window until the places are there, then onto one of them, as often as X needs it."""
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
        """Drags a part of the window onto the shelf; what arrived there."""
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
        """Another pixel each time: X tells only of a pointer that moves."""
        self._moves += 1
        return self._moves % 5
