"""Every format studied by a person, in a real X display: three by the mouse, three by the keyboard alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shardcore.teaching import resources
from shardcore.teaching.resources import Sample
from shardcore.testing import sampled
from tests.app.display.person import Person
from tests.app.display.program import running
from tests.app.display.teaching_by_keys import by_keys
from tests.app.display.teaching_by_mouse import by_mouse

HERE = Path(__file__).parent
DARK = ("mdb", "bloscpack", "neuroglancer")
"""Formats that are tried in the dark theme; the others in the light one."""

BY_MOUSE, BY_KEYS = resources.main_samples()[::2], resources.main_samples()[1::2]
"""Mouse and keys share one window over one session: a format each is enough."""


@pytest.fixture
def person(x_display: dict[str, str], sample: Sample, tmp_path: Path, errors_of: Path) -> Iterator[Person]:
    """Somebody before the window of the command, nothing open."""
    environment = {**x_display, "XDG_CONFIG_HOME": str(tmp_path / "config"), "TMPDIR": str(tmp_path)}
    pictures = Path(os.environ.get("SHARDSCOPE_PICTURES", tmp_path)) / f"teaching-{sample.format}"
    pictures.mkdir(parents=True, exist_ok=True)
    theme = "dark" if sample.format in DARK else "light"
    with ExitStack() as stack:
        errors = stack.enter_context(errors_of.open("w"))
        program = stack.enter_context(running(HERE / "watched.py", ("--theme", theme), environment, errors))
        made = Person(program, program, environment, pictures, (0, 0))
        made.until(lambda state: state["title"] == "Shardscope", "the window")
        yield made


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("sample", sampled(BY_MOUSE, 1), ids=lambda sample: sample.format)
@pytest.mark.display("xdotool")
def test_a_format_is_studied_by_the_mouse(person: Person, sample: Sample, tmp_path: Path, errors_of: Path) -> None:
    """Lookup, drawings, leads, charts, card and its link, sandbox, salvage; then the window is closed."""
    by_mouse(person, sample, tmp_path / "saved")
    leave(person, errors_of)


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("sample", sampled(BY_KEYS, 1), ids=lambda sample: sample.format)
@pytest.mark.display("xdotool")
def test_a_format_is_studied_by_keys(person: Person, sample: Sample, tmp_path: Path, errors_of: Path) -> None:
    """The same, and the mouse is not touched; whatever has the keyboard on the way says what it is."""
    by_keys(person, sample, tmp_path / "saved")
    leave(person, errors_of)


def leave(person: Person, errors_of: Path) -> None:
    """Closes the window: it ends, and has said nothing aside."""
    person.take_keyboard()
    person.press("ctrl+q")
    assert person.program.process.wait(30) == 0
    assert errors_of.read_text() == ""
