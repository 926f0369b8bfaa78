"""The code on the pages about adding a format and a writer forms a working format, which passes the contract tests."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.shards import registry

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [DOCS / "adding-a-format.md", DOCS / "adding-a-writer.md"]
CODE = re.compile(r"```python\n# (?P<path>\S+)\n(?P<code>.*?)```", re.DOTALL)
CONTENTS = {b"first": b"one", b"empty": b"", b"last": b"three" * 40}


def tally_of(contents: dict[bytes, bytes]) -> bytes:
    """Return a file of the format on the page (`tally`), written with the layouts of the page."""
    layout = importlib.import_module("shardcore.formats.tally.layout")
    at = layout.HEADER.size + len(contents) * layout.ENTRY.size
    entries = b""
    for name, data in contents.items():
        entries += layout.ENTRY.pack(name=name, offset=at, size=len(data))
        at += len(data)
    return bytes(layout.HEADER.pack(count=len(contents)) + entries + b"".join(contents.values()))


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folder with the code of the pages under the paths that they name; the format is registered."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    pieces = {found["path"]: found["code"] for found in CODE.finditer(text)}
    assert len(pieces) == 8
    for name, code in pieces.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code, encoding="utf-8")
    formats = importlib.import_module("shardcore.formats")
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path / "shardcore" / "formats")])
    monkeypatch.setattr(registry, "FORMATS", ("tally", *registry.FORMATS))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("shardcore.formats.tally")]:
        del sys.modules[name]


def test_the_new_format_is_opened_like_any_other(house: Path) -> None:
    with shardcore.open(tally_of(CONTENTS)) as shard:
        assert (shard.format, shard.why) == ("tally", "magic TALY")
        assert {name: shard.read(shard.find(name.decode())) for name in CONTENTS} == CONTENTS
        assert [node.name for node in shard.explain(9)] == ["bytes", "entries", "[0]", "name"]
        assert shard.trace("nobody").outcome == "absent"


def test_the_new_format_is_written_like_any_other(house: Path, tmp_path: Path) -> None:
    """`pack` uses file names as keys, and refuses a name that is too long."""
    (tmp_path / "in").mkdir()
    for name, data in CONTENTS.items():
        (tmp_path / "in" / name.decode()).write_bytes(data)
    assert run(["pack", "tally", str(tmp_path / "out.tally"), str(tmp_path / "in")]) == 0
    with shardcore.open(tmp_path / "out.tally") as shard:
        assert {name: shard.read(shard.find(name.decode())) for name in CONTENTS} == CONTENTS
    (tmp_path / "in" / "too long a name").write_bytes(b"")
    assert run(["pack", "tally", str(tmp_path / "more.tally"), str(tmp_path / "in")]) == 2


def test_what_needs_no_line_of_the_new_format(house: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Charts, cold cost, references, recovery and the list of drawings work without code for the format."""
    (tmp_path / "in.tally").write_bytes(tally_of(CONTENTS))
    file = str(tmp_path / "in.tally")
    for command, told in (
        (["chart", file], "entries (index)"),
        (["chart", file, "sizes"], "3 objects"),
        (["trace", file, "last", "--cold"], "request"),
        (["explain", file, "9", "--leads"], "name"),
        (["recover", file, "--plan"], "intact"),
        (["draw", file], "record"),
    ):
        assert run(command) == 0, command
        printed = capsys.readouterr()
        assert told in printed.out + printed.err, command


@pytest.mark.thorough
def test_the_new_format_passes_the_contract(house: Path) -> None:
    """Run the tests on the pages unchanged, in processes in which the format is registered."""
    data = house / "tests/data/tally"
    data.mkdir(parents=True)
    for number, contents in enumerate((CONTENTS, {})):
        (data / f"{number}.tally").write_bytes(tally_of(contents))
    tests = house / "tests/shardcore/formats/tally"
    # The contract tests of writers start processes, in which the format must also be registered.
    site = house / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import shardcore.formats\n"
        "from shardcore.shards import registry\n"
        f"shardcore.formats.__path__.append({str(house / 'shardcore' / 'formats')!r})\n"
        "registry.FORMATS = ('tally', *registry.FORMATS)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(house), str(tests)]
    command += ["--import-mode=importlib"]
    paths = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=house, env=os.environ | {"PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ passed", done.stdout)
