"""Files that broke off: what goes on is what this user wrote, whatever else lies in the folder."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shardcore.errors import RemoteError, SourceChanged, SourceError
from shardcore.writing import partial_file
from shardcore.writing.partial_file import write_resumable

SIZE = 3 << 20
CONTENT = bytes(range(256)) * (SIZE // 256)
PIECE = 1 << 18
MARK = hashlib.sha256(b"address, size and ETag").hexdigest()


class Server:
    """Gives pieces, and breaks off at an offset; notes where reading began."""

    def __init__(self, breaks: int = SIZE, error: Exception | None = None) -> None:
        self.breaks, self.error = breaks, error or RemoteError("no answer")
        self.began: list[int] = []

    def __call__(self, start: int) -> Iterator[bytes]:
        self.began.append(start)
        for at in range(start, SIZE, PIECE):
            if at >= self.breaks:
                raise self.error
            yield CONTENT[at : at + PIECE]


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in a folder of its own; records go to a home of their own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "object"


def broken(out: Path, mark: str = MARK) -> Path:
    with pytest.raises(RemoteError):
        write_resumable(out, mark, SIZE, Server(SIZE // 2))
    return parts(out)[-1]


def parts(out: Path) -> list[Path]:
    return sorted(out.parent.glob(".*.part"))


def records(out: Path) -> list[Path]:
    return sorted((out.parents[1] / "state").rglob("*.json"))


def goes_on(out: Path, mark: str = MARK) -> int:
    server = Server()
    assert write_resumable(out, mark, SIZE, server) == (out, SIZE, hashlib.sha256(CONTENT).hexdigest())
    assert out.read_bytes() == CONTENT
    assert not out.is_symlink()
    return server.began[0]


def test_it_goes_on(out: Path) -> None:
    broken(out)
    (record,) = records(out)
    assert record.stat().st_mode & 0o777 == 0o600
    assert record.parent.stat().st_mode & 0o777 == 0o700
    assert goes_on(out) == SIZE // 2
    assert not parts(out)
    assert not records(out)


def test_names_are_not_known_before(out: Path) -> None:
    """The name of a partial file cannot be computed from what is fetched."""
    first = broken(out)
    first.unlink()
    assert broken(out).name != first.name


def altered(left: Path) -> None:
    data = bytearray(left.read_bytes())
    data[1000] ^= 1
    left.write_bytes(bytes(data))


def linked(left: Path) -> None:
    left.rename(left.with_name("precious"))
    left.symlink_to(left.with_name("precious"))


PLANTS: dict[str, Callable[[Path], object]] = {
    "cut": lambda left: os.truncate(left, left.stat().st_size - 1),
    "altered": altered,
    "replaced": lambda left: (left.unlink(), left.write_bytes(b"planted" * 1000)),
    "linked": linked,
    "hard linked": lambda left: os.link(left, left.with_name("precious")),
    "fifo": lambda left: (left.unlink(), os.mkfifo(left)),
    "folder": lambda left: (left.unlink(), left.mkdir()),
    "gone": lambda left: left.unlink(),
    "device": lambda left: (left.unlink(), left.symlink_to("/dev/zero")),
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_what_was_changed_is_not_trusted(out: Path, plant: Callable[[Path], object]) -> None:
    """A file that is not what the last run left is fetched again."""
    left = broken(out)
    before = left.read_bytes()
    plant(left)
    assert goes_on(out) == 0
    precious = left.with_name("precious")
    assert not precious.exists() or precious.read_bytes() == before


def test_files_in_the_folder_say_nothing(out: Path) -> None:
    """Without a record of the user, no file in the folder is continued."""
    for name in (f".object.{MARK[:12]}.part", f".object.{MARK[:12]}-1.part", ".object.0123456789ab.part"):
        (out.parent / name).write_bytes(b"planted" * 100_000)
    (out.parent / ".object.json").write_text(json.dumps({"part": parts(out)[0].name, "size": 700_000}))
    planted = {path: path.read_bytes() for path in parts(out)}
    assert goes_on(out) == 0
    assert {path: path.read_bytes() for path in parts(out)} == planted


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "null", "[" * 100_000),
        '{"part": 1, "size": 2, "sha256": 3}',
        '{"part": "../../secret", "size": 5, "sha256": "' + "0" * 64 + '"}',
        '{"part": ".object.0123456789ab.part/../x", "size": 5, "sha256": "' + "0" * 64 + '"}',
        '{"part": ".object.0123456789ab.part", "size": -5, "sha256": "' + "0" * 64 + '"}',
        '{"part": ".object.0123456789ab.part", "size": true, "sha256": "' + "0" * 64 + '"}',
        '{"part": ".object.0123456789ab.part", "size": 1e99, "sha256": "' + "0" * 64 + '"}',
    ],
)
def test_a_record_that_is_none(out: Path, text: str) -> None:
    broken(out)
    (record,) = records(out)
    record.write_text(text)
    assert goes_on(out) == 0


def test_another_content_begins_again(out: Path) -> None:
    left = broken(out)
    assert goes_on(out, hashlib.sha256(b"another ETag").hexdigest()) == 0
    assert parts(out) == [left]
    assert goes_on(out.with_name("other")) == 0


def test_without_a_place_for_records_nothing_stays(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = out.parents[1] / "blocked"
    blocked.write_text("")
    monkeypatch.chdir(out.parent)
    for place in (str(blocked), "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", place)
        monkeypatch.setenv("HOME", str(blocked))
        with pytest.raises(RemoteError):
            write_resumable(out, MARK, SIZE, Server(SIZE // 2))
        assert not parts(out)
        assert sorted(path.name for path in out.parent.iterdir()) == []


@pytest.mark.parametrize("error", [SourceChanged("replaced"), SourceError("full"), KeyboardInterrupt()])
def test_other_failures_leave_nothing(out: Path, error: Exception) -> None:
    broken(out)
    server = Server(0, error)
    with pytest.raises(type(error)):
        write_resumable(out, MARK, SIZE, server)
    assert server.began == [SIZE // 2]
    assert not parts(out)
    assert not records(out)


def test_a_killed_run_goes_on_from_its_note(out: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from shardcore.writing import partial_file\n"
        "from tests.shardcore.writing.test_partial_file import *\n"
        "partial_file.NOTED_EVERY = 1 << 20\n"
        "def give(start):\n"
        "    for at in range(start, SIZE, PIECE):\n"
        "        if at >= 5 << 19:\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n"
        "        yield CONTENT[at : at + PIECE]\n"
        "write_resumable(Path(sys.argv[1]), MARK, SIZE, give)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(out)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert goes_on(out) == 2 << 20


def test_old_records_go(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_file, "MOST_RECORDS", 3)
    for number in range(6):
        broken(out.with_name(f"object{number}"))
    assert len(records(out)) == 3
