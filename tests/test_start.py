"""What starting costs, counted in what is imported: the public names, and the first commands that people type."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = {"numpy", "rich", "pydantic", "boto3", "blosc", "blosc2", "zstandard", "lz4", "blake3", "mmh3", "PySide6"}


def imported(*arguments: str | Path, code: int = 0) -> set[str]:
    """The heavy libraries and the formats that `shardcore` with these arguments imports, in a process of its own."""
    script = (
        "import sys\n"
        "from shardcore.cli.program import run\n"
        f"assert run(sys.argv[1:]) == {code}\n"
        "sys.stderr.write(' '.join(sys.modules))\n"
    )
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    modules = set(done.stderr.split())
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


SAMPLES = ROOT / "resources/samples"


@pytest.mark.thorough
def test_folders_load_the_formats_that_their_names_speak_for() -> None:
    """Nobody else is asked about a folder with files of a known ending, and no codec is loaded to look at it."""
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
    """The window is imported without what speaks HTTP: files of this machine need none of it."""
    code = "import sys, shardscope.shell.main_window\n"
    code += "print([name for name in ('http.client', 'urllib3', 'botocore', 'ssl') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]"]
