"""The install without extras, the examples of every `--help`, and what is imported at the start."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from shardcore import cli, create
from shardcore.cli.program import app, loaded
from tests.installed import PROJECT, ROOT, environment, run_examples

SAMPLES = ROOT / "resources/samples"
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


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment variables of a process that has the core alone: imports of all else that is here fail."""
    folder = tmp_path_factory.mktemp("core")
    variables = environment(folder, PROJECT["name"])
    assert {"PySide6", "pyqtgraph", "PIL", "DracoPy", "pytest"} <= set(
        re.findall(r"'(\w+)'", (folder / "sitecustomize.py").read_text())
    )
    return variables


def python(environment: dict[str, str], *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Runs Python."""
    options = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
    return subprocess.run([sys.executable, *arguments], check=False, env=environment, cwd=cwd, **options)


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


def test_the_examples_run_on_what_the_core_installs(core: dict[str, str], folder: Path) -> None:
    """Without Qt and the extras, every example does its work on the samples; what decodes says what to install."""
    lines = [line for line in examples() if "s3://" not in line]
    done = dict(zip(lines, run_examples(core, [f"$ {line}" for line in lines], folder), strict=True))
    expected = {line: 2 if line.startswith(DECODED) else 0 for line in lines}
    assert {line: code for line, (code, _) in done.items()} == expected, done
    (shown,) = (text for line, (_, text) in done.items() if line.startswith(DECODED))
    assert shown.startswith("shardcore: DracoPy is not installed: pip install 'shardscope[decoders]'")


EACH = (
    *("swh/small.shard", "des/contents.des", "des/archive", "xorb/chunks.xorb", "bloscpack/array.blp", "mdb/cache"),
    *(f"neuroglancer/{name}" for name in ("volume", "segmentation/16_16_16", "segmentation/skeletons", "mesh")),
)


@pytest.mark.thorough
def test_the_core_reads_all_formats(core: dict[str, str], tmp_path: Path) -> None:
    """What cannot be decoded is neither damaged nor checked: a note names the extra."""
    words = ("info", "ls", "verify", "extract")
    lines = [f"$ shardcore {word} {SAMPLES / one} {one}" for one in EACH for word in words]
    shown = run_examples(core, [line if " extract " in line else line.rsplit(" ", 1)[0] for line in lines], tmp_path)
    for line, (_, text) in zip(lines, shown, strict=True):
        assert "shardcore: " not in (text or "shardcore: "), line
        assert ("No errors found" in text) is (" verify " in line)
        unchecked = "not checked: DracoPy is not installed: pip install 'shardscope[decoders]'"
        assert (unchecked in text) is (" verify " in line and line.endswith("/mesh")), line
    for one in EACH:
        assert (tmp_path / one / "manifest.json").exists()
    assert python(core, "-m", "shardcore", "--version").stdout == f"shardcore {PROJECT['version']}\n"


def test_the_example_with_a_decoder_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra `decoders`, the picture of a mesh is written."""
    (line,) = (line for line in examples() if line.startswith(DECODED))
    monkeypatch.chdir(folder)
    assert cli.program.run(shlex.split(line)[1:]) == 0
    assert (folder / "mesh.png").read_bytes().startswith(b"\x89PNG")


CONTENTS = """
import sys, warnings
from shardcore import open
from shardcore.operations.content import content, content_of
if __name__ == "__main__":
    with open(sys.argv[1]) as mesh:
        mesh.isolate()
        found = [content(mesh, 42), content_of("grün\\n".encode("cp1252")), content_of(b"\\0")]
        print(*(one.note for one in found), sep="\\n")
"""


def test_a_missing_decoder_names_the_extra(core: dict[str, str], folder: Path) -> None:
    """The content is shown as far as it can be, with a note that says what to install; also from the other process."""
    (folder / "contents.py").write_text(CONTENTS)
    done = python(core, "contents.py", "segmentation/mesh", cwd=folder)
    assert done.returncode == 0, done.stderr
    extras = {"decoders": ("DracoPy",), "preview": ("charset_normalizer", "puremagic")}
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


HEAVY = {"numpy", "rich", "pydantic", "boto3", "blosc.blosc_extension", "zstandard", "lz4", "blake3", "mmh3", "PySide6"}


def imported(*arguments: str | Path, code: int = 0) -> set[str]:
    """The heavy libraries and the formats that `shardcore` with these arguments imports, in a process of its own."""
    script = (
        "import sys\n"
        "from shardcore.cli.program import run\n"
        f"assert run(sys.argv[1:]) == {code}\n"
        "sys.stderr.write(' '.join(sys.modules))\n"
    )
    command = [sys.executable, "-c", script, *map(str, arguments)]
    modules = set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())
    # A format's package declares it; what does the work is below.
    formats = {name.split(".")[2] for name in modules if name.startswith("shardcore.formats.") and name.count(".") > 2}
    return formats | (HEAVY & modules)


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("info", "--help"), ("ls", "-h"), ("pack", "-h")])
def test_telling_about_the_program_loads_next_to_nothing(arguments: tuple[str, ...]) -> None:
    """The version and the help need neither NumPy nor rich, and no format."""
    assert imported(*arguments) == set()


@pytest.mark.thorough
def test_looking_at_a_file_loads_the_formats_that_were_asked(data: Path) -> None:
    """The first format recognises its own file: the others, and what only they need, are not loaded."""
    assert imported("info", data / "swh/small.shard") == {"swh", "numpy"}
    assert imported("explain", data / "swh/small.shard", "3") == {"swh", "numpy"}
    assert imported("get", data / "swh/small.shard", "00" * 32, code=1) == {"swh", "numpy"}
    # Nobody else is asked about a folder with files of a known ending, and no codec is loaded to look at it.
    for name in ("des/archive", "mdb/cache", "neuroglancer/worked"):
        assert imported("info", SAMPLES / name) == {name.partition("/")[0], "numpy"}


def test_importing_the_library_is_free() -> None:
    """`import shardcore` loads none of its modules; a name loads what it needs."""
    code = "import sys, shardcore; before = len([n for n in sys.modules if n.startswith('shardcore')])\n"
    code += "shardcore.Span; print(before, shardcore.Span.__module__, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "shardcore.model.span", "False"]


@pytest.mark.thorough
def test_a_window_is_seen_before_anything_is_fetched() -> None:
    """The window is imported without HTTP, which local files do not need, and without what the first screen hides."""
    late = ("http.client", "urllib3", "ssl", "multiprocessing", "markdown_it", "numpy.ma", "shardscope.tasks.find_key")
    late += ("shardcore.operations.convert", "shardcore.operations.edit", "shardcore.operations.pack", "difflib")
    code = f"import sys, shardscope.shell.main_window\nprint([name for name in {late} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]"]
