"""Installation without extras, the examples in `--help` of every command, and the modules imported at the start."""

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
"""Sample for each file name in the examples."""

DECODED = "shardcore show segmentation/mesh 42 --png"
"""Beginning of the only example that needs a decoder (extra `decoders`)."""


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment variables of a process in which only the dependencies without extras can be imported."""
    folder = tmp_path_factory.mktemp("core")
    variables = environment(folder, PROJECT["name"])
    assert {"PySide6", "pyqtgraph", "PIL", "DracoPy", "pytest"} <= set(
        re.findall(r"'(\w+)'", (folder / "sitecustomize.py").read_text())
    )
    return variables


def python(environment: dict[str, str], *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    options = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
    return subprocess.run([sys.executable, *arguments], check=False, env=environment, cwd=cwd, **options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder with all files that the examples name."""
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
    """Return the examples of all commands, in the order of the commands."""
    return [line for name in COMMANDS for line in loaded(name).examples]


def test_every_command_has_examples() -> None:
    """Each command has one to three examples of at most 100 characters, which call it with valid arguments."""
    for name in COMMANDS:
        command = loaded(name)
        assert 1 <= len(command.examples) <= 3, name
        for line in command.examples:
            assert len(line) <= 100
            words = shlex.split(line)
            assert words[:2] == ["shardcore", name]
            command.make_context(name, words[2:])


def test_the_examples_run_on_what_the_core_installs(core: dict[str, str], folder: Path) -> None:
    """Without extras, all examples work on the samples; the one that needs a decoder names the extra to install."""
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
    """Without a decoder, `verify` reports contents as not checked instead of damaged, and names the extra."""
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
    """A content that needs a missing package has a note that names the extra, also from the decoder process."""
    (folder / "contents.py").write_text(CONTENTS)
    done = python(core, "contents.py", "segmentation/mesh", cwd=folder)
    assert done.returncode == 0, done.stderr
    extras = {"decoders": ("DracoPy",), "preview": ("charset_normalizer", "puremagic")}
    told = [(name, extra) for extra, names in extras.items() for name in names]
    notes = [f"{name} is not installed: pip install 'shardscope[{extra}]'" for name, extra in told]
    assert done.stdout.splitlines() == notes


def test_the_window_names_the_extra(core: dict[str, str]) -> None:
    """Without Qt, `shardscope` prints one line that names the extra, with exit code 2; `--version` works."""
    done = python(core, "-m", "shardscope", "some.shard#3")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "shardscope: the window is not installed: pip install 'shardscope[gui]'; `shardcore` works without it\n"
    )
    assert python(core, "-m", "shardscope", "--version").stdout == f"shardscope {PROJECT['version']}\n"


HEAVY = {"numpy", "rich", "pydantic", "boto3", "blosc.blosc_extension", "zstandard", "lz4", "blake3", "mmh3", "PySide6"}


def imported(*arguments: str | Path, code: int = 0) -> set[str]:
    """Run `shardcore` in a new process; return the formats that it imports, and the libraries of `HEAVY`."""
    script = (
        "import sys\n"
        "from shardcore.cli.program import run\n"
        f"assert run(sys.argv[1:]) == {code}\n"
        "sys.stderr.write(' '.join(sys.modules))\n"
    )
    command = [sys.executable, "-c", script, *map(str, arguments)]
    modules = set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())
    # The package of a format only declares it; its modules read files.
    formats = {name.split(".")[2] for name in modules if name.startswith("shardcore.formats.") and name.count(".") > 2}
    return formats | (HEAVY & modules)


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("info", "--help"), ("ls", "-h"), ("pack", "-h")])
def test_telling_about_the_program_loads_next_to_nothing(arguments: tuple[str, ...]) -> None:
    """The version and the help import no format and no heavy library."""
    assert imported(*arguments) == set()


@pytest.mark.thorough
def test_looking_at_a_file_loads_the_formats_that_were_asked(data: Path) -> None:
    """A file is read without importing other formats and the libraries that only they need."""
    assert imported("info", data / "swh/small.shard") == {"swh", "numpy"}
    assert imported("explain", data / "swh/small.shard", "3") == {"swh", "numpy"}
    assert imported("get", data / "swh/small.shard", "00" * 32, code=1) == {"swh", "numpy"}
    # A folder with files of a known suffix is read without importing other formats and codecs.
    for name in ("des/archive", "mdb/cache", "neuroglancer/worked"):
        assert imported("info", SAMPLES / name) == {name.partition("/")[0], "numpy"}


def test_importing_the_library_is_free() -> None:
    """`import shardcore` imports none of its modules; the use of a name imports what it needs."""
    code = "import sys, shardcore; before = len([n for n in sys.modules if n.startswith('shardcore')])\n"
    code += "shardcore.Span; print(before, shardcore.Span.__module__, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "shardcore.model.span", "False"]


@pytest.mark.thorough
def test_a_window_is_seen_before_anything_is_fetched() -> None:
    """The main window is imported without HTTP libraries, and without modules of operations that start later."""
    late = ("http.client", "urllib3", "ssl", "multiprocessing", "markdown_it", "numpy.ma", "shardscope.tasks.find_key")
    late += ("shardcore.operations.convert", "shardcore.operations.edit", "shardcore.operations.pack", "difflib")
    code = f"import sys, shardscope.shell.main_window\nprint([name for name in {late} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]"]
