"""Formats in the hands of a person, in a real X display, by the mouse."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

import shardcore
from shardcore import State
from shardcore.teaching import resources
from shardcore.testing import rounds, sampled
from tests.app.display.person import Person
from tests.app.display.program import Program, running

HERE = Path(__file__).parent
SHELF = (1480, 300, 320, 320)
MIDDLE = (1640, 460)
DATA = HERE.parents[1] / "data"
DARK = ("mdb", "bloscpack", "neuroglancer")
"""Formats that are tried in the dark theme; the others in the light one."""


@dataclass(frozen=True)
class Wanted:
    path: Path
    format: str
    row: int
    key: str
    content: bytes


def samples() -> list[Path]:
    return [sample.path for sample in resources.main_samples()]


def chosen(path: Path, folder: Path) -> Wanted:
    if path.suffix == ".mdb":
        path = Path(shutil.copy(path, folder))
        for xorb in (DATA / "mdb" / "cas" / "xorbs").iterdir():
            shutil.copy(xorb, folder)
    with shardcore.open(str(path)) as shard:
        for row in range(min(len(shard.objects), 4)):
            ref = shard.objects.ref(row)
            if ref.state in (State.LIVE, State.EXTERNAL) and ref.size != 0 and (content := shard.read(ref)):
                return Wanted(path, shard.format, row, ref.key, content)
    raise AssertionError(f"no object of {path} has content")


@pytest.fixture(params=sampled(samples(), rounds(4, 2), full=False), ids=lambda path: path.stem[:12])
def wanted(request: pytest.FixtureRequest, tmp_path: Path) -> Wanted:
    folder = tmp_path / "files"
    folder.mkdir()
    return chosen(request.param, folder)


@pytest.fixture(scope="module")
def shelf(x_display: dict[str, str]) -> Iterator[Program]:
    with running(HERE / "shelf.py", SHELF, x_display) as made:
        made.expect("ready")
        yield made


@pytest.fixture
def person(
    x_display: dict[str, str], wanted: Wanted, shelf: Program, tmp_path: Path, errors_of: Path
) -> Iterator[Person]:
    environment = {**x_display, "XDG_CONFIG_HOME": str(tmp_path / "config"), "TMPDIR": str(tmp_path)}
    pictures = Path(os.environ.get("SHARDSCOPE_PICTURES", tmp_path)) / wanted.format
    pictures.mkdir(parents=True, exist_ok=True)
    theme = "dark" if wanted.format in DARK else "light"
    with ExitStack() as stack:
        errors = stack.enter_context(errors_of.open("w"))
        program = stack.enter_context(running(HERE / "watched.py", ("--theme", theme), environment, errors))
        made = Person(program, shelf, environment, pictures, MIDDLE)
        made.until(lambda state: state["title"] == "Shardscope", "the window")
        yield made


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.display("xdotool")
def test_a_person_runs_through(person: Person, wanted: Wanted, tmp_path: Path, errors_of: Path) -> None:
    """Open by drop, click, search, look up, extract by drag and by dialog, find the object of a file."""
    by_mouse(person, wanted, tmp_path / "by mouse")
    person.take_focus()
    person.press("ctrl+q")
    assert person.program.process.wait(30) == 0
    assert errors_of.read_text() == ""


def by_mouse(person: Person, wanted: Wanted, folder: Path) -> None:
    title = f"{wanted.path.name} — Shardscope"
    assert person.ask("state")["dark"] is (wanted.format in DARK), "--theme"
    person.look("welcome")
    person.give(wanted.path, "OPEN")
    person.until(lambda state: state["title"] == title and state["rows"] > wanted.row, "the file")
    person.look("opened")

    byte = person.ask("state")["first_byte"] + 5
    person.click(f"byte:{byte}")
    person.until(lambda state: state["span"] and state["span"][0] <= byte < state["span"][1], "the byte")
    person.look("byte")
    person.click(f"row:{wanted.row}")
    person.until(lambda state: state["row"] == wanted.row, "the object")
    person.look("object")

    person.click("topFind")
    person.take_focus()
    person.until(lambda state: state["focus"] == "searchField", "the search")
    person.type("00")
    person.click("searchNext")
    person.until(lambda state: state["search"] != "", "a hit")
    person.look("search")

    person.click("addressField")
    person.type(wanted.key)
    person.click("topLookUp")
    person.until(lambda state: state["outcome"] == "found" and state["looked_up"] == wanted.key, "the lookup")
    person.look("lookup")

    dropped = person.fetch(f"row:{wanted.row}")
    assert [file["sha256"] for file in dropped["files"]] == [digest(wanted.content)]
    person.click(f"row:{wanted.row}")
    person.click("topExtract")
    person.until(lambda state: state["sheet"] == "extractSheet", "the sheet")
    person.take_focus()
    person.fill(str(folder))
    person.look("sheet")
    person.click("button:Extract")
    person.until(lambda state: told(folder, state["results"]), "the end of the extraction")
    assert only_file(folder).read_bytes() == wanted.content
    person.look("extracted")

    person.give(only_file(folder), "SEEK")
    person.until(lambda state: state["row"] is not None and "row" in state["status"], "the object of the file")
    person.look("sought")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def told(folder: Path, words: str) -> bool:
    return words.startswith("1 file written") and str(folder) in words.replace("&nbsp;", " ")


def only_file(folder: Path) -> Path:
    (found,) = (path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json")
    return found
