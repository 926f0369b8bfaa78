"""`docs/adding-a-format.md` proves what it says: its code is a format that passes the contract."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import shardcore
from shardcore import registry

PAGE = Path(__file__).parents[1] / "docs" / "adding-a-format.md"
CODE = re.compile(r"```python\n# (?P<path>\S+)\n(?P<code>.*?)```", re.DOTALL)
CONTENTS = {b"first": b"one", b"empty": b"", b"last": b"three" * 40}


def tally_of(contents: dict[bytes, bytes]) -> bytes:
    """A tally, made by the layouts of the page."""
    layout = importlib.import_module("shardcore.formats.tally.layout")
    at = layout.HEADER.size + len(contents) * layout.ENTRY.size
    entries = b""
    for name, data in contents.items():
        entries += layout.ENTRY.pack(name=name, offset=at, size=len(data))
        at += len(data)
    return bytes(layout.HEADER.pack(count=len(contents)) + entries + b"".join(contents.values()))


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place in which every piece of code of the page lies where the page says; the format is listed."""
    pieces = {found["path"]: found["code"] for found in CODE.finditer(PAGE.read_text(encoding="utf-8"))}
    assert len(pieces) == 9
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
    """One line in the registry is enough: it is recognised, listed and read."""
    with shardcore.open(tally_of(CONTENTS)) as shard:
        assert (shard.format, shard.why) == ("tally", "magic TALY")
        assert {name: shard.read(shard.find(name.decode())) for name in CONTENTS} == CONTENTS
        assert [node.name for node in shard.explain(9)] == ["bytes", "entries", "[0]", "name"]
        assert shard.trace("nobody").outcome == "absent"


def test_the_new_format_passes_the_contract(house: Path) -> None:
    """The test of the page, run as it stands, in a process in which the format is listed."""
    data = house / "tests/data/tally"
    data.mkdir(parents=True)
    for number, contents in enumerate((CONTENTS, {})):
        (data / f"{number}.tally").write_bytes(tally_of(contents))
    test = house / "tests/shardcore/formats/tally/test_contract.py"
    (house / "conftest.py").write_text(
        "import shardcore.formats\n"
        "from shardcore import registry\n"
        f"shardcore.formats.__path__.append({str(house / 'shardcore' / 'formats')!r})\n"
        "registry.FORMATS = ('tally', *registry.FORMATS)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(house), str(test)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=house)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ passed", done.stdout)
