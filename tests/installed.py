"""Environments of processes that can import only what `pip install 'shardscope[EXTRA]' …` would install."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_COMMAND = re.compile(r"pip install '(?:shardscope|\.)(\[[\w,]+\])'((?: \w[\w\[\],-]*)*)")

# Runs the commands and Python code of a page in order; prints exit code and output of each, standard error last.
_EXAMPLES = """
import contextlib, io, json, os, runpy, shlex, shutil, sys
from pathlib import Path
from shardcore.cli.program import run

def printed(line, names):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    err = io.StringIO()
    code, target = 0, ""
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        if line.startswith("$ "):
            words = shlex.split(line[2:], comments=True)
            words, target = (words[:-2], words[-1]) if ">" in words else (words, "")
            code = run(words[1:]) if words[0] != "cp" else shutil.copy(*words[1:]) and 0
        else:
            Path("lines.py").write_text(line, encoding="utf-8")
            names |= runpy.run_path("lines.py", init_globals=names)
    text = out.buffer.getvalue().decode()
    if target:
        Path(target).write_text(text, encoding="utf-8")
    return code, ("" if target else text) + err.getvalue()

if __name__ == "__main__":
    names = {}
    json.dump([printed(line, names) for line in json.load(sys.stdin)], sys.stdout)
"""


def distributions(*requirements: str) -> set[str]:
    """Return the names of the distributions that some requirements need, directly or indirectly."""
    found: dict[str, set[str]] = {}
    left = [Requirement(one) for one in requirements]
    while left:
        one = left.pop()
        name = canonicalize_name(one.name)
        if name in found and one.extras <= found[name]:
            continue
        extras = found.setdefault(name, set())
        extras |= one.extras
        if name == PROJECT["name"]:
            optional = PROJECT["optional-dependencies"]
            left += map(
                Requirement, [*PROJECT["dependencies"], *(text for extra in extras for text in optional[extra])]
            )
            continue
        for more in map(Requirement, metadata.requires(name) or []):
            if more.marker is None or any(more.marker.evaluate({"extra": extra}) for extra in {"", *extras}):
                left.append(more)
    return set(found)


def named_on(text: str) -> list[str]:
    """Return the requirements in the `pip install` commands of a page, and the project itself."""
    found = [PROJECT["name"]]
    for extras, more in _COMMAND.findall(text):
        found += [f"{PROJECT['name']}{extras}", *more.split()]
    return found


def environment(folder: Path, *requirements: str) -> dict[str, str]:
    """Return the environment variables of a process in which only these requirements can be imported.

    A file `sitecustomize.py` in `folder` blocks all other packages.
    """
    there = distributions(*requirements)
    # Pygments imports all packages that are registered as its plugins.
    plugins = {entry.module.partition(".")[0] for entry in metadata.entry_points(group="pygments.lexers")}
    blocked = sorted(
        name
        for name, owners in metadata.packages_distributions().items()
        if there.isdisjoint(map(canonicalize_name, owners)) and name not in plugins
    )
    (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({blocked!r}))\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT), str(ROOT / "app")])}


def run_examples(variables: dict[str, str], codes: list[str], cwd: Path) -> list[tuple[int, str]]:
    """Run commands (`$ shardcore …`) and Python code in one process; return code and output of each."""
    (cwd / "run_examples.py").write_text(_EXAMPLES)
    command = [sys.executable, "run_examples.py"]
    done = subprocess.run(
        command, input=json.dumps(codes), capture_output=True, text=True, env=variables, cwd=cwd, check=False
    )
    assert done.returncode == 0, done.stderr
    return [(code, text) for code, text in json.loads(done.stdout)]
