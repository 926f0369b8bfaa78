"""The install without extras: the library and the command with what they declare; the examples of every `--help`."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from shardcore import cli, create
from shardcore.cli.program import app, loaded

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "resources/samples"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
COMMANDS = list(typer.main.get_command(app).commands)  # type: ignore[attr-defined]

NAMES = {
    "small.shard": "swh/small.shard",
    "damaged.shard": "swh/damaged.shard",
    "archive": "des/archive",
    "contents.des": "des/contents.des",
    "array.blp": "bloscpack/array.blp",
    "segmentation": "neuroglancer/segmentation",
    "store.mdb": "mdb/cache/b31c58f4afe1d61b870f2aea365c952c79fd311d1fe55c9f3bbebf30df872205.mdb",
}
"""Names in the examples, and the samples that they mean."""

DECODED = "shardcore show segmentation/mesh 42 --png"
"""Beginning of the example that needs a decoder."""


def core_distributions() -> set[str]:
    """Distributions that `pip install .` installs: the plain dependencies, and theirs."""
    found, left = {PROJECT["name"]}, list(PROJECT["dependencies"])
    while left:
        one = Requirement(left.pop())
        name = canonicalize_name(one.name)
        if name not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
            found.add(name)
            left += metadata.requires(name) or []
    return found


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment variables of a process that has the core alone: imports of all else that is here fail."""
    there = core_distributions()
    # What names itself as a part of Pygments is imported by Pygments.
    plugins = {entry.module.partition(".")[0] for entry in metadata.entry_points(group="pygments.lexers")}
    blocked = sorted(
        name
        for name, owners in metadata.packages_distributions().items()
        if there.isdisjoint(map(canonicalize_name, owners)) and name not in plugins
    )
    assert {"PySide6", "pyqtgraph", "PIL", "DracoPy", "compressed_segmentation", "pytest"} <= set(blocked)
    folder = tmp_path_factory.mktemp("core")
    (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({blocked!r}))\n")
    paths = [str(folder), str(ROOT), str(ROOT / "app")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def python(environment: dict[str, str], *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Runs Python."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with everything that the examples name."""
    for name, sample in NAMES.items():
        copy = shutil.copytree if (SAMPLES / sample).is_dir() else shutil.copy
        copy(SAMPLES / sample, tmp_path / name)
    shutil.copytree(SAMPLES / "mdb/cache/xorbs", tmp_path / "xorbs")
    (tmp_path / "folder").mkdir()
    (tmp_path / "work").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "folder" / name).write_text(name * 100)
    (tmp_path / "more.txt").write_text("more")
    (tmp_path / "takedown.txt").write_text("ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\n")
    with create(tmp_path / "log.blp", format="bloscpack") as writer:
        writer.add(None, b"first line\n")
    return tmp_path


def examples() -> list[str]:
    """The examples of all commands, in the order of the commands."""
    return [line for name in COMMANDS for line in loaded(name).examples]


def test_every_command_has_examples() -> None:
    """One to three, each a call of the command itself, that fit a page and are parsed."""
    for name in COMMANDS:
        command = loaded(name)
        assert 1 <= len(command.examples) <= 3, name
        for line in command.examples:
            assert len(line) <= 100
            words = shlex.split(line)
            assert words[:2] == ["shardcore", name]
            command.make_context(name, words[2:])


RUN = """
import shlex, sys
from shardcore.cli.program import run
if __name__ == "__main__":
    for line in sys.argv[1:]:
        sys.stdout.flush()
        code = run(shlex.split(line)[1:])
        print(f"\\n== {code} {line}")
"""


def test_the_examples_run_on_what_the_core_installs(core: dict[str, str], folder: Path) -> None:
    """Without Qt and the extras, every example does its work on the samples; what decodes says what to install."""
    lines = [line for line in examples() if "s3://" not in line]
    (folder / "examples.py").write_text(RUN)
    done = python(core, "examples.py", *lines, cwd=folder)
    assert done.returncode == 0, done.stderr
    codes = [tuple(line[3:].split(" ", 1)) for line in done.stdout.splitlines() if line.startswith("== ")]
    expected = {line: 2 if line.startswith(DECODED) else 0 for line in lines}
    assert {line: int(code) for code, line in codes} == expected, done.stderr
    assert "shardcore: DracoPy is not installed: pip install 'shardscope[decoders]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_example_with_a_decoder_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra `decoders`, the picture of a mesh is written."""
    (line,) = (line for line in examples() if line.startswith(DECODED))
    monkeypatch.chdir(folder)
    assert cli.program.run(shlex.split(line)[1:]) == 0
    assert (folder / "mesh.png").read_bytes().startswith(b"\x89PNG")


CONTENTS = """
import sys, warnings
from shardcore import open
from shardcore.operations.content.recognise import content, content_of
if __name__ == "__main__":
    with open(sys.argv[1]) as mesh, open(sys.argv[2]) as labels:
        for one in (mesh, labels):
            one.isolate()
        found = [content(mesh, 42), content(labels, 0), content_of("grün\\n".encode("cp1252")), content_of(b"\\0")]
        print(*(one.note for one in found), sep="\\n")
"""


def test_a_missing_decoder_names_the_extra(core: dict[str, str], folder: Path) -> None:
    """The content is shown as far as it can be, with a note that says what to install; also from the other process."""
    (folder / "contents.py").write_text(CONTENTS)
    done = python(core, "contents.py", "segmentation/mesh", "segmentation/32_32_32", cwd=folder)
    assert done.returncode == 0, done.stderr
    extras = {"decoders": ("DracoPy", "compressed_segmentation"), "preview": ("charset_normalizer", "puremagic")}
    told = [(name, extra) for extra, names in extras.items() for name in names]
    notes = [f"{name} is not installed: pip install 'shardscope[{extra}]'" for name, extra in told]
    assert done.stdout.splitlines() == notes


def test_the_window_names_the_extra(core: dict[str, str]) -> None:
    """Without Qt, `shardscope` says in one line what to install, and answers 2; it still knows its version."""
    done = python(core, "-m", "shardscope", "some.shard#3")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "shardscope: the window is not installed: pip install 'shardscope[gui]'; `shardcore` works without it\n"
    )
    assert python(core, "-m", "shardscope", "--version").stdout == f"shardscope {PROJECT['version']}\n"
