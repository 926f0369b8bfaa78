"""Links into files on the command line: each command that reads takes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shardcore
from shardcore.cli.program import run

CONTAINERS = Path(__file__).parents[2] / "data" / "containers"


@pytest.fixture
def link(tmp_path: Path) -> str:
    path = tmp_path / "archive.des"
    with shardcore.create(path, format="des", codec="zstd") as writer:
        writer.add("20/90", (CONTAINERS / "members.zip").read_bytes())
        writer.add("text", b"nothing that opens")
    return f"{path}#/20%2F90/model.safetensors"


def test_commands_take_links(link: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    def out(*words: str) -> str:
        assert run(list(words)) == 0, words
        return capfdbinary.readouterr().out.decode()

    assert [line.split()[-1] for line in out("ls", link).splitlines()] == ["weight", "bias"]
    assert out("info", link).startswith(f"{link}: safetensors")
    assert json.loads(out("info", link, "--json"))["uri"] == link
    assert "weight" in out("tree", link)
    assert "header_size" in out("explain", link, "0")
    assert "found" in out("trace", link, "bias")
    assert "No errors" in out("verify", link)
    assert out("show", link, "bias", "--json")
    outer = link.rpartition("/")[0]
    assert run(["get", outer, "folder/text.txt"]) == 0
    assert capfdbinary.readouterr().out == b"a line of text that repeats\n" * 40


def test_extracting_what_is_inside(link: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", link.rpartition("/")[0], str(tmp_path / "out")]) == 0
    names = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert {"model.safetensors", "naïve.npy"} <= names
    assert sum(name.startswith("folder_text") for name in names) == 1
    capsys.readouterr()


def test_mistakes_have_their_exit_codes(link: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = link.partition("#")[0]
    for wrong, code in ((f"{file}#/none", 1), (f"{file}#/text", 3), (f"{file}#/%ff", 2), (f"{file}x#/text", 4)):
        assert run(["ls", wrong]) == code, wrong
        told = capsys.readouterr().err
        assert told.count("\n") == 1, told
