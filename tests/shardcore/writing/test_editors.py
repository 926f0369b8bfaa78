"""Eight editors of the same files at once: every edit that succeeded is in the file, and each can be undone.

They edit for some seconds, with `SHARDSCOPE_FULL=1` for more.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.model.objects import State
from shardcore.operations.pack import pack
from shardcore.testing.sampling import FULL
from shardcore.writing.undo import undo
from shardcore.writing.undo_chain import all_journals

EDITORS = 8
SECONDS, OBJECTS = (10.0, 1500) if FULL else (4.0, 1000)
BASE = b"base" * 1000
WHEN = ("--date", "2026-03-05T09:30:00Z")


def token(editor: int, number: int) -> bytes:
    """What one append adds: of the same length each time, and found again."""
    return f"<{editor}-{number:06}>".encode() * 7


def content(number: int) -> bytes:
    """The object of a number."""
    return f"object {number:06} ".encode() * 20


def key_of(number: int) -> str:
    """Its key in a Read Shard."""
    return hashlib.sha256(content(number)).hexdigest()


def make_files(folder: Path) -> None:
    """Writes a file of each format that can be edited."""
    inputs = folder / "inputs"
    inputs.mkdir()
    for number in range(OBJECTS):
        (inputs / f"o{number:06}").write_bytes(content(number))
    (folder / "base").write_bytes(BASE)
    pack("swh", folder / "x.shard", [inputs])
    pack("bloscpack", folder / "x.blp", [folder / "base"], options={"chunk_size": 4096})
    (folder / "day").mkdir()
    pack("des", folder / "day" / "2026-03-05_01_0000.des", [inputs])
    for name in ("x.shard", "x.blp"):
        shutil.copy(folder / name, folder / f"before.{name}")


def edit(folder: Path, editor: int, seconds: float) -> None:
    """Edits all files in turn, until the time is over; prints what became of each edit."""
    until = time.monotonic() + seconds
    chosen = random.Random(editor)
    number = 0
    more = folder / f"more-{editor}"
    while time.monotonic() < until:
        mine = number * EDITORS + editor
        more.write_bytes(token(editor, number))
        day = folder / "day"
        commands = {
            "append": ["append", str(folder / "x.blp"), str(more)],
            "delete": ["delete", str(folder / "x.shard"), key_of(mine)],
            "tombstone": ["tombstone", str(chosen.choice([day, day / "2026-03-05_01_0000.des"])), f"o{mine:06}", *WHEN],
        }
        for name in chosen.sample(sorted(commands), 3):
            if name != "append" and mine >= OBJECTS:
                continue
            said = io.StringIO()
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
                code = run([*commands[name], "--yes"])
            print(json.dumps([name, number, mine, code, said.getvalue().strip()]), flush=True)  # noqa: T201
        number += 1


def outcomes(folder: Path, seconds: float) -> tuple[dict[str, set[tuple[int, int, int]]], Counter[str]]:
    """Runs the editors; what succeeded, and how often each sentence was said."""
    code = "import sys; from pathlib import Path; from tests.shardcore.writing.test_editors import edit; "
    code += "edit(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))"
    root = Path(__file__).parents[3]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(folder), str(editor), str(seconds)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=root,
        )
        for editor in range(EDITORS)
    ]
    made: dict[str, set[tuple[int, int, int]]] = {"append": set(), "delete": set(), "tombstone": set()}
    said: Counter[str] = Counter()
    for editor, process in enumerate(processes):
        out, wrong = process.communicate()
        assert process.returncode == 0, wrong
        for line in out.splitlines():
            name, number, mine, code_, text = json.loads(line)
            if code_ == 0:
                made[name].add((editor, number, mine))
            else:
                said[text] += 1
    return made, said


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_every_edit_that_succeeded_is_in_the_file(tmp_path: Path) -> None:
    """Appended bytes, deletions and tombstones of all editors are there, each once; undoing gives back each state."""
    make_files(tmp_path)
    made, said = outcomes(tmp_path, SECONDS)
    assert all("is being edited by another process" in text for text in said), said.most_common(3)
    assert all(made.values())
    print({name: len(one) for name, one in made.items()}, said.total(), "refused")  # noqa: T201
    _check_appended(tmp_path / "x.blp", (tmp_path / "before.x.blp").read_bytes(), made["append"])
    _check_deleted(tmp_path / "x.shard", (tmp_path / "before.x.shard").read_bytes(), {one[2] for one in made["delete"]})
    sidecar = json.loads((tmp_path / "day" / "2026-03-05_01_0000.meta").read_text())
    noted = {int(stone["uid"][1:]) for stone in sidecar["tombstones"].values()}
    assert noted == {one[2] for one in made["tombstone"]}
    there = {one.name for one in tmp_path.iterdir()} | {one.name for one in (tmp_path / "day").iterdir()}
    assert not [name for name in there if name.endswith((".part", ".undo"))]


def whole(path: Path) -> bytes:
    """The content of a Bloscpack file."""
    with shardcore.open(path) as shard:
        return b"".join(shard.read(shard.objects.ref(row)) for row in range(len(shard.objects)))


def _check_appended(path: Path, before: bytes, made: set[tuple[int, int, int]]) -> None:
    size = len(token(0, 0))
    data = whole(path)
    found = [data[at : at + size] for at in range(len(BASE), len(data), size)]
    assert data.startswith(BASE)
    assert sorted(found) == sorted(token(editor, number) for editor, number, _ in made)
    assert len(all_journals(path)) == len(found)
    while found:
        undo(path)
        found.pop()
        if len(found) % 7 == 0:
            assert whole(path) == BASE + b"".join(found)
    assert path.read_bytes() == before


def _check_deleted(path: Path, before: bytes, made: set[int]) -> None:
    gone = len(made)
    with shardcore.open(path) as shard:
        absent = shard.find_many([key_of(number) for number in range(OBJECTS)]) < 0
        assert {number for number in range(OBJECTS) if absent[number]} == made
        assert shard.verify("content").ok
    assert len(all_journals(path)) == gone
    while gone:
        undo(path)
        gone -= 1
        if gone % 7 == 0:
            with shardcore.open(path) as shard:
                assert int((shard.objects[:].state == State.LIVE).sum()) == OBJECTS - gone
    assert path.read_bytes() == before
