"""A person before the program, in a real display."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.app.display.person import Person, PersonFor
from tests.app.display.program import running

HERE = Path(__file__).parent
SHELF, MIDDLE = (1480, 300, 320, 320), (1640, 460)
DARK = ("mdb", "bloscpack", "neuroglancer")
"""Formats that are tried in the dark theme; the others in the light one."""


@pytest.fixture
def person_for(x_display: dict[str, str], tmp_path: Path) -> Iterator[PersonFor]:
    """Starts the program for a format, with a file manager beside it; no errors are written until it ends."""
    environment = {**x_display, "XDG_CONFIG_HOME": str(tmp_path / "config"), "TMPDIR": str(tmp_path)}
    with ExitStack() as stack:

        def start(name: str, format: str, *arguments: object) -> Person:
            pictures = Path(os.environ.get("SHARDSCOPE_PICTURES", tmp_path)) / f"{name}-{format}"
            pictures.mkdir(parents=True, exist_ok=True)
            errors = stack.enter_context((tmp_path / "errors.txt").open("w"))
            theme = ("--theme", "dark" if format in DARK else "light", *arguments)
            shelf = stack.enter_context(running(HERE / "shelf.py", SHELF, environment))
            program = stack.enter_context(running(HERE / "watched.py", theme, environment, errors))
            shelf.expect("ready")
            made = Person(program, shelf, environment, pictures, MIDDLE)
            made.until(lambda state: state["title"].endswith("Shardscope"), "the window")
            assert made.ask("state")["dark"] is (format in DARK), "--theme"
            return made

        yield start
    assert (tmp_path / "errors.txt").read_text() == ""
