"""Formats in the hands of a person, in a real X display: once by the mouse, once by the keyboard alone."""

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
    """A sample, and the object of it that is looked for."""

    path: Path
    format: str
    row: int
    key: str
    content: bytes


def samples() -> list[Path]:
    """The main sample of each format."""
    return [sample.path for sample in resources.main_samples()]


def chosen(path: Path, folder: Path) -> Wanted:
    """The first object with content among the rows that are seen at once; a Xet shard has its xorb beside it."""
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
    """One of the samples."""
    folder = tmp_path / "files"
    folder.mkdir()
    return chosen(request.param, folder)


@pytest.fixture(scope="module")
def shelf(x_display: dict[str, str]) -> Iterator[Program]:
    """A window of another program, beside ours."""
    with running(HERE / "shelf.py", SHELF, x_display) as made:
        made.expect("ready")
        yield made


@pytest.fixture
def person(
    x_display: dict[str, str], wanted: Wanted, shelf: Program, tmp_path: Path, errors_of: Path
) -> Iterator[Person]:
    """Somebody before the window of the command, nothing open, and the shelf."""
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
    """Open by drop, click, search, look up, extract by drag and by sheet, ask for a file; then all of it by keys."""
    by_mouse(person, wanted, tmp_path / "by mouse")
    by_keys(person, wanted, tmp_path / "by keys")
    assert person.program.process.wait(30) == 0
    assert errors_of.read_text() == ""


def by_mouse(person: Person, wanted: Wanted, folder: Path) -> None:
    """The keyboard serves only to type what is sought, and where to."""
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
    person.take_keyboard()
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
    person.take_keyboard()
    person.fill(str(folder))
    person.look("sheet")
    person.click("button:Extract")
    person.until(lambda state: told(folder, state["results"]), "the end of the extraction")
    assert only_file(folder).read_bytes() == wanted.content
    person.look("extracted")

    person.give(only_file(folder), "SEEK")
    person.until(lambda state: state["row"] is not None and "row" in state["status"], "the object of the file")
    person.look("sought")


def by_keys(person: Person, wanted: Wanted, folder: Path) -> None:
    """The same, and the mouse is not touched."""
    title = f"{wanted.path.name} — Shardscope"
    person.take_keyboard()
    person.press("ctrl+w")
    state = person.until(lambda state: state["title"] == "Shardscope", "nothing open")
    assert state["address"] == "", "a key of what is not open any more"
    person.press("ctrl+shift+o")
    state = person.until(lambda state: state["sheet"] == "openWith", "the question what to open")
    assert not state["icons"], "buttons of dialogs are words"
    person.take_keyboard()
    person.fill(str(wanted.path))
    person.look("open-with")
    person.press("Return")
    person.until(lambda state: state["title"] == title and state["rows"] > wanted.row, "the file")
    person.take_keyboard()

    person.press("alt+1")
    person.until(lambda state: state["focus"] == "structureTree", "the tree")
    person.press("Down", "Down")
    person.until(lambda state: state["span"] is not None, "a node")
    person.press("alt+2")
    person.until(lambda state: state["focus"] == "objectTable", "the objects")
    person.press("ctrl+Home", *["Down"] * wanted.row)
    person.until(lambda state: state["row"] == wanted.row, "the object")
    person.press("Return")
    person.until(lambda state: state["focus"] == "hexView", "its bytes")

    person.press("ctrl+f")
    person.until(lambda state: state["focus"] == "searchField", "the search")
    person.type("00")
    person.press("Return")
    person.until(lambda state: state["search"] != "", "a hit")
    person.press("Escape")
    person.until(lambda state: state["focus"] == "hexView", "the bytes")

    person.press("ctrl+t")
    person.until(lambda state: state["focus"] == "traceKey", "the field for a key")
    person.type(wanted.key)
    person.press("Return")
    person.until(lambda state: state["outcome"] == "found" and state["looked_up"] == wanted.key, "the lookup")
    person.look("keys-lookup")

    person.press("alt+2")
    person.until(lambda state: state["focus"] == "objectTable", "the objects")
    person.press("ctrl+Home", *["Down"] * wanted.row)
    person.until(lambda state: state["row"] == wanted.row, "the object again")
    person.press("ctrl+e")
    person.until(lambda state: state["sheet"] == "extractSheet", "the sheet")
    person.take_keyboard()
    person.fill(str(folder))
    person.press("Return")
    person.until(lambda state: told(folder, state["results"]), "the end of the extraction")
    assert only_file(folder).read_bytes() == wanted.content
    person.look("keys-extracted")
    person.take_keyboard()
    person.press("ctrl+q")


def digest(content: bytes) -> str:
    """The SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def told(folder: Path, words: str) -> bool:
    """Whether the window says that one file arrived in a folder."""
    return words.startswith("1 file written") and str(folder) in words.replace("&nbsp;", " ")


def only_file(folder: Path) -> Path:
    """The one file that was written, besides the manifest."""
    (found,) = (path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json")
    return found
