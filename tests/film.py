"""`python -m tests.film OUT.webp`: the moving picture of the README, filmed in a real X display with a real pointer."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image, ImageDraw, ImageGrab

from tests.app.display.person import Person
from tests.app.display.program import ROOT, Mouse, running
from tests.conftest import x_server

SCREEN = (1440, 760)
WINDOW = (1190, 760)
SHELF = (1210, 250, 210, 210)
MIDDLE = (1315, 355)
LEARN = "learn-swh"
"""A link of the card that is clicked beside it."""
ROW = 4
STEPS = 8
BEHIND = (225, 228, 234)
"""The colour of the desktop, which an X server of its own leaves black."""
STEP_MILLISECONDS = 40
POINTER = ((0, 0), (0, 19), (5, 15), (8, 22), (11, 21), (8, 14), (14, 14))


class Film(Mouse):
    """A mouse whose way is filmed; X does not draw the pointer into a grab."""

    def __init__(self, environment: dict[str, str]) -> None:
        super().__init__(environment)
        self.display = environment["DISPLAY"]
        self.frames: list[tuple[Image.Image, int]] = []

    def go(self, x: int, y: int, steps: int = 1) -> None:
        """Move there as a hand does, with a frame per step."""
        for step in range(1, (count := max(steps, 10)) + 1):
            from_x, from_y = self.place
            left = count - step + 1
            super().go(from_x + (x - from_x) // left, from_y + (y - from_y) // left)
            self.shoot(STEP_MILLISECONDS)

    def shoot(self, milliseconds: int) -> None:
        """Add what is on the screen to the film."""
        frame = ImageGrab.grab(bbox=(0, 0, *SCREEN), xdisplay=self.display)
        for corner in ((WINDOW[0], 0), (SCREEN[0] - 1, SCREEN[1] - 1)):
            ImageDraw.floodfill(frame, corner, BEHIND)
        x, y = self.place
        pointer = [(x + dx, y + dy) for dx, dy in POINTER]
        ImageDraw.Draw(frame).polygon(pointer, fill="black", outline="white")
        if self.frames and self.frames[-1][0].tobytes() == frame.tobytes():
            frame, before = self.frames.pop()
            milliseconds += before
        self.frames.append((frame, milliseconds))

    def save(self, target: Path) -> None:
        """Write the film as an animated WebP."""
        frames, times = zip(*self.frames, strict=True)
        rest = {"append_images": frames[1:], "duration": list(times), "loop": 0}
        frames[0].save(target, save_all=True, lossless=True, method=4, **rest)


@contextmanager
def person(folder: Path) -> Iterator[Person]:
    """Somebody before the program, with the folder of another program beside it."""
    with ExitStack() as stack:
        environment = stack.enter_context(x_server(*SCREEN))
        environment |= {"XDG_CONFIG_HOME": str(folder / "config"), "TMPDIR": str(folder)}
        display = ROOT / "tests/app/display"
        shelf = stack.enter_context(running(display / "shelf.py", SHELF, environment))
        program = stack.enter_context(running(display / "watched.py", ("--theme", "light"), environment))
        made = Person(program, shelf, environment, folder, MIDDLE)
        made.until(lambda state: state["title"] == "Shardscope", "the window")
        made.mouse.do("search", "--onlyvisible", "--name", "Shardscope$", "windowsize", *WINDOW)
        made.mouse.go(*MIDDLE)
        made.mouse = Film(environment)
        made.mouse.place = MIDDLE
        yield made


def play(person: Person) -> None:
    """Open, click, look up, drag out."""
    film = person.mouse
    x, y = person.find(LEARN)
    person.until(lambda state: not state["busy"], "the cards")
    film.frames.clear()
    film.shoot(1500)
    film.click(x - 200, y)
    person.until(lambda state: state["rows"] > 0 and not state["busy"], "the file")
    film.shoot(2500)
    person.click("byte:64")
    person.until(lambda state: bool(state["span"]) and not state["busy"], "the byte")
    film.shoot(2500)
    person.click(f"row:{ROW}")
    person.until(lambda state: state["row"] == ROW and not state["busy"], "the object")
    film.shoot(1500)
    person.click("button:Look up")
    person.until(lambda state: bool(state["outcome"]) and not state["busy"], "the lookup")
    for _ in range(STEPS):
        film.shoot(1100)
        person.click("button:Next ▶")
        person.until(lambda state: not state["busy"], "the step")
    film.shoot(2000)
    person.fetch(f"row:{ROW}")
    film.go(MIDDLE[0], MIDDLE[1] + 160)
    film.shoot(3000)


def main(target: str) -> int:
    """Film it."""
    with TemporaryDirectory(prefix="shardscope-") as name:
        folder = Path(name)
        with person(folder) as made:
            play(made)
            made.mouse.save(Path(target))
    return 0


if __name__ == "__main__":
    os.environ.pop("QT_QPA_PLATFORM", None)
    raise SystemExit(main(*sys.argv[1:]))
