"""Objects are dragged out of the window onto another program, in a real X display, by a mouse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.app.display.program import Mouse, Program, running

HERE = Path(__file__).parent
WINDOW = (0, 0, 1150, 900)
TARGET = (1200, 200, 320, 320)
MIDDLE = (1360, 360)
COPY = 1
TRIES = 3


@dataclass
class Stage:
    source: Program
    target: Program
    mouse: Mouse
    rows: dict[str, tuple[int, int]]

    def click(self, key: str) -> None:
        self.mouse.go(*self.rows[key])
        self.mouse.down()
        self.mouse.up()

    def drag(self, key: str) -> dict[str, Any]:
        for _ in range(TRIES):
            x, y = self.rows[key]
            self.mouse.go(x, y)
            self.mouse.down()
            for step in range(1, 30):
                self.mouse.go(x + 3 * step, y)
                if self.source.wait("begin", 0.1):
                    break
            self.mouse.go(*MIDDLE, steps=12)
            for nudge in range(20):
                if self.target.wait("enter", 0.2):
                    break
                self.mouse.go(MIDDLE[0] + nudge % 5, MIDDLE[1])
            self.mouse.up()
            dropped = self.target.wait("drop", 5)
            if dropped is not None:
                return dropped
        pytest.fail(f"nothing was dropped; source: {self.source.seen}; target: {self.target.seen}")


@pytest.fixture
def stage(x_display: dict[str, str], data: Path, tmp_path: Path) -> Iterator[Stage]:
    environment = {**x_display, "TMPDIR": str(tmp_path)}
    arguments = (data / "swh/small.shard", tmp_path / "settings.json", *WINDOW)
    with ExitStack() as stack:
        source = stack.enter_context(running(HERE / "drag_source.py", arguments, environment))
        target = stack.enter_context(running(HERE / "drop_target.py", TARGET, environment))
        rows = {row["key"]: (row["x"], row["y"]) for row in source.expect("ready", 30)["rows"]}
        target.expect("ready")
        yield Stage(source, target, Mouse(environment), rows)


@pytest.mark.thorough
@pytest.mark.display("xdotool")
def test_drag_onto_another_program(stage: Stage, data: Path, tmp_path: Path) -> None:
    """One row, then two: the other program gets files with safe names and exactly the bytes of the objects."""
    objects = json.loads((data / "swh/small.expected.json").read_text())["objects"]
    first, second, *_ = [key for key in stage.rows if objects[key]["size"] > 0]

    dropped = stage.drag(first)
    assert [file["sha256"] for file in dropped["files"]] == [objects[first]["sha256"]]
    assert [Path(file["path"]).name for file in dropped["files"]] == [first]
    assert dropped["text"] == dropped["files"][0]["path"]
    enter = next(line for line in stage.target.seen if line["event"] == "enter")
    assert enter["actions"] == COPY
    assert "text/uri-list" in enter["formats"]

    stage.click(second)
    stage.mouse.do("keydown", "ctrl")
    stage.click(first)
    stage.mouse.do("keyup", "ctrl")
    dropped = stage.drag(second)
    assert {file["sha256"] for file in dropped["files"]} == {objects[first]["sha256"], objects[second]["sha256"]}
    assert all(Path(file["path"]).is_relative_to(tmp_path) for file in dropped["files"])
