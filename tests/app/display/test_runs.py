"""Formats in the hands of a person, in a real X display, by the mouse."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

import shardcore
from shardcore import State
from shardcore.teaching import resource_paths
from shardcore.testing import rounds, sampled
from tests.app.display.person import Person, PersonFor

DATA = Path(__file__).parents[2] / "data"
COPY = 1


@dataclass(frozen=True)
class Wanted:
    path: Path
    format: str
    row: int
    key: str
    content: bytes


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


@pytest.fixture(
    params=sampled([one.path for one in resource_paths.main_samples()], rounds(4, 2), full=False),
    ids=lambda path: path.stem[:12],
)
def wanted(request: pytest.FixtureRequest, tmp_path: Path) -> Wanted:
    folder = tmp_path / "files"
    folder.mkdir()
    return chosen(request.param, folder)


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.display("xdotool")
def test_a_person_runs_through(person_for: PersonFor, wanted: Wanted, tmp_path: Path) -> None:
    """Open by drop, click, search, look up, extract by drag and by dialog, find the object of a file."""
    person = person_for("run", wanted.format)
    by_mouse(person, wanted, tmp_path / "by mouse")
    person.leave()


def by_mouse(person: Person, wanted: Wanted, folder: Path) -> None:
    title = f"{wanted.path.name} — Shardscope"
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
    person.type("00 00")
    person.click("searchNext")
    person.until(lambda state: state["search"] != "", "a hit")
    person.look("search")

    person.click("addressField")
    person.type(wanted.key)
    person.click("topLookUp")
    person.until(lambda state: state["outcome"] == "found" and state["looked_up"] == wanted.key, "the lookup")
    person.look("lookup")

    dropped = person.fetch(f"row:{wanted.row}")
    assert [file["sha256"] for file in dropped["files"]] == [hashlib.sha256(wanted.content).hexdigest()]
    enter = next(line for line in person.shelf.seen if line["event"] == "enter" and line["actions"] == COPY)
    assert "text/uri-list" in enter["formats"]
    person.click(f"row:{wanted.row}")
    person.click("topExtract")
    person.until(lambda state: state["sheet"] == "extractSheet", "the sheet")
    person.take_focus()
    person.fill(str(folder))
    person.look("sheet")
    person.click("button:Extract")
    person.until(lambda state: str(folder) in state["results"].replace("&nbsp;", " "), "the end of the extraction")
    assert only_file(folder).read_bytes() == wanted.content
    person.look("extracted")

    person.give(only_file(folder), "SEEK")
    person.until(lambda state: state["row"] is not None and "row" in state["status"], "the object of the file")
    person.look("sought")


def only_file(folder: Path) -> Path:
    (found,) = (path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json")
    return found
