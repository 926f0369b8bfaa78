"""Structure of the repository: size of packages, imports between layers, wheel, pinned versions, workflows, files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import house

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def run(*command: str | Path, cwd: Path = ROOT, check: bool = True, **environment: str) -> str:
    """Run a program; return its output and errors. With `check`, an exit code other than 0 is a failure."""
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(command, check=False, cwd=cwd, env={**os.environ, **environment}, **output)
    assert done.returncode == 0 or not check, f"{command} answered {done.returncode}:\n{done.stdout}"
    return done.stdout


def repository_files() -> list[Path]:
    """Return all files of the repository, including new ones, that git does not ignore."""
    listing = run("git", "-c", f"safe.directory={ROOT}", "ls-files", "-coz", "--exclude-standard")
    files = [ROOT / name for name in listing.split("\0") if name]
    assert len(files) > 10
    return [path for path in files if path.is_file()]


def text_of(path: Path) -> str:
    """Return the text of a file; empty for a binary file."""
    data = path.read_bytes()
    try:
        return "" if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return ""


# --- size -------------------------------------------------------------------------------------------------

ROOMS = {
    # room: files, code lines, statements, lines of docstrings
    # fields and methods of dataclasses are made at their first use: commands and the window start faster
    "shardcore": (11, 1_889, 1_694, 262),
    # JSON rows are written from columns; `lesson list` counts pictures and clicks
    "shardcore/cli": (16, 3_030, 2_293, 290),
    # gzip and checksums by libdeflate; content-defined chunking in C where there is a compiler; xorbs in large pieces
    "shardcore/codecs": (16, 2_153, 1_761, 307),
    "shardcore/containers": (7, 1_444, 1_031, 72),
    "shardcore/formats": (1, 0, 0, 1),
    # NumPy arrays are written as they are; a file that ends in a chunk is damaged; .npy headers come back
    "shardcore/formats/bloscpack": (20, 4_564, 3_591, 478),
    # one entry is read without columns; lists take half the memory
    "shardcore/formats/des": (19, 4_163, 3_386, 403),
    # verify goes xorb by xorb: each chunk is read once
    "shardcore/formats/mdb": (16, 3_592, 2_722, 413),
    # contents are verified; key spaces of one file per object, declared once for reading and writing; `..` with consent
    "shardcore/formats/neuroglancer": (25, 6_305, 5_039, 643),
    # contents of many rows are read together; many objects are added in little memory; a loaded index finds at once
    "shardcore/formats/swh": (13, 2_994, 2_392, 338),
    # a cut xorb opens with the chunks before the cut
    "shardcore/formats/xorb": (9, 1_202, 905, 134),
    # arrays are indexed like those of NumPy; tables by Arrow's C stream; times as options
    "shardcore/model": (25, 3_396, 2_942, 844),
    # volumes are written in one line; conversions in batches; text in any case and regular expressions are found
    "shardcore/operations": (28, 6_406, 5_400, 1_217),
    # a shard is a mapping with views, an array; contents of many rows; what convert wrote opens with its manifest
    "shardcore/shards": (20, 3_857, 3_334, 1_051),
    # file objects are sources; one deadline for the head of an answer; whole files are fetched in few ranges
    "shardcore/sources": (20, 3_833, 3_410, 573),
    # any record, number and bits of a file are drawn; LZ4, bit shuffle and Morton cells: lessons stand on drawings
    "shardcore/teaching": (39, 7_699, 6_702, 431),
    # the contract that contents read together equal those read one by one
    "shardcore/testing": (8, 1_416, 1_305, 234),
    # arrays and batches are contents; manifests state how the result opens
    "shardcore/writing": (13, 2_918, 2_554, 620),
    # garbage is collected on the GUI thread; one thread for linear algebra, which nothing here uses
    "app/shardscope": (2, 259, 228, 12),
    # drawings keep what a question needs, and have the room of their controls
    "app/shardscope/learning": (26, 4_681, 4_239, 109),
    # keys of stores are kept for the session; jobs have rate, time left and a result; titles of files
    "app/shardscope/session": (18, 3_331, 2_918, 341),
    # lessons set rows and offsets; a lecture has labels of 24 pixels, and nothing in it moves
    "app/shardscope/shell": (19, 4_788, 4_108, 196),
    # an invalid settings file is set aside and reported
    "app/shardscope/startup": (4, 496, 470, 58),
    # tasks go on in the background; dialogs keep their size
    "app/shardscope/tasks": (20, 4_150, 3_659, 192),
    # the preview follows the selection; typing finds a key; widths of columns stay
    "app/shardscope/views": (54, 14_758, 13_228, 548),
    # widgets, actions, menus and strips are made in one call; forms keep the height of wrapped text
    "app/shardscope/widgets": (23, 1_859, 1_452, 184),
    # reference implementations answer the questions of lessons; dataclasses as those of the standard library
    "tests": (399, 48_000, 41_369, 2_736),
}
"""The most that each room may hold. `python -m tests.house --lower` writes what became smaller.

A number is raised by hand, with a comment beside it that says what users get for it.
"""


def test_no_room_grows() -> None:
    """No room exceeds its limits in the table, and no limit is far above the size of its room."""
    sizes = {room: tuple(counts[name] for name in house.COLUMNS) for room, counts in house.rooms(ROOT).items()}
    grown = {room: size for room, size in sizes.items() if any(map(int.__gt__, size, ROOMS.get(room, (0,) * 4)))}
    assert grown == {}, "smaller, or a reason beside the number"
    slack = {
        room: sizes.get(room, ())
        for room, most in ROOMS.items()
        if any(most_n - n > 25 for most_n, n in zip(most, sizes.get(room, (0,) * 4), strict=True))
    }
    assert slack == {}, "lower the table: python -m tests.house --lower"


# --- layers -----------------------------------------------------------------------------------------------


def lint_imports(tree: Path, *options: str, check: bool) -> str:
    """Return the output of import-linter for the packages below `tree`."""
    program = Path(sys.executable).parent / "lint-imports"
    paths = os.pathsep.join([str(tree), str(tree / "app")])
    return run(program, "--no-cache", *options, cwd=tree, check=check, PYTHONPATH=paths)


def test_imports_point_down() -> None:
    """No package imports a higher layer, and formats do not import each other; see the contracts in pyproject.toml."""
    assert "0 broken" in lint_imports(ROOT, check=True)


# --- the wheel --------------------------------------------------------------------------------------------


# All tests of the wheel run in one worker, so that it is built and installed only once.
of_the_wheel = pytest.mark.xdist_group("wheel")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheel built from the repository, without the network."""
    out = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-q", "--no-index"]
    run(*pip, "--no-deps", "--no-build-isolation", "-w", out, ROOT)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scripts folder of an environment in which the wheel is installed; dependencies are those of this Python.

    A path file adds this Python's site-packages *after* the new one. Path files in a folder added like that are
    ignored, so the editable install of the repository is not used.
    """
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False)
    scripts = home / ("Scripts" if sys.platform == "win32" else "bin")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", scripts / "python"]
    run(*pip, "install", "-q", "--no-index", "--no-deps", wheel)
    (site_packages,) = home.glob("lib/python*/site-packages")
    (site_packages / "borrowed.pth").write_text(str(Path(pytest.__file__).parent.parent) + "\n")
    return scripts


@pytest.mark.thorough
@of_the_wheel
@pytest.mark.parametrize("command", ["shardcore", "shardscope"])
def test_installed_commands_run(installed: Path, tmp_path: Path, command: str) -> None:
    """Both commands of the installed wheel print the version, outside the repository."""
    assert PROJECT["project"]["version"] in run(installed / command, "--version", cwd=tmp_path, PYTHONPATH="")


@pytest.mark.thorough
@of_the_wheel
@pytest.mark.parametrize("folder", ["resources", "docs"])
def test_installed_files_are_found(installed: Path, tmp_path: Path, folder: str) -> None:
    """The wheel contains the resources, the pages of formats and the glossary, and its modules find them."""
    names = [path.relative_to(ROOT / folder).as_posix() for path in repository_files() if ROOT / folder in path.parents]
    if folder == "docs":
        names = [name for name in names if name == "glossary.md" or name.startswith("formats/")]
    assert len(names) > 6
    code = f"from shardcore.teaching import resource_paths; print(resource_paths.{folder}())"
    found = Path(run(installed / "python", "-c", code, cwd=tmp_path, PYTHONPATH="").strip())
    assert found.is_relative_to(installed.parent), found
    for name in names:
        assert (found / name).read_bytes() == (ROOT / folder / name).read_bytes()


@of_the_wheel
def test_the_description_of_the_package_has_no_link_into_the_repository(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        (name,) = (name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        text = files.read(name).decode()
    assert "## Install" in text
    assert not re.search(r"\]\((?!https?:)|<picture", text)


@of_the_wheel
def test_installed_man_pages(installed: Path) -> None:
    """The wheel contains a man page for both programs, created from their help; groff reports no warnings."""
    pages = installed.parent / "share/man/man1"
    for name, words in (("shardcore", ["shardcore verify", "--conflict", "EXIT STATUS"]), ("shardscope", ["--theme"])):
        text = (pages / f"{name}.1").read_text(encoding="ascii")
        assert text.startswith(f".TH {name.upper()} 1")
        assert all(word in text.replace("\\-", "-") for word in words)
        if shutil.which("groff"):
            assert "warning" not in run("groff", "-man", "-Tutf8", "-ww", pages / f"{name}.1")


# --- dependencies -----------------------------------------------------------------------------------------


def pins() -> dict[str, str]:
    """Return the pinned version per name from packaging/constraints.txt; any other kind of line is an error."""
    found: dict[str, str] = {}
    for line in (ROOT / "packaging/constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            match = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.!+_-]+)", line)
            assert match, f"not a plain name==version: {line!r}"
            found[canonicalize_name(match[1])] = match[2]
    return found


def requirements() -> list[Requirement]:
    """Return the requirements in pyproject.toml, including extras, without those on the project itself."""
    project = PROJECT["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    found = [Requirement(line) for line in [*project["dependencies"], *extras]]
    return [one for one in found if one.name != project["name"]]


@pytest.mark.parametrize("requirement", requirements(), ids=lambda requirement: requirement.name)
def test_pins_satisfy_the_project(requirement: Requirement) -> None:
    """Each direct dependency is pinned to a version that the project allows."""
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_this_qt_is_an_allowed_one() -> None:
    """The installed PySide6 is in the allowed range, and two releases known to be broken are outside it."""
    (qt,) = [r for r in requirements() if r.name == "PySide6-Essentials"]
    assert qt.specifier.contains(metadata.version("PySide6-Essentials"))
    assert not qt.specifier.contains("6.9.1")
    assert not qt.specifier.contains("6.12.0")


# --- files ------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_no_machine_path_and_no_registry_in_any_file() -> None:
    """No file contains an absolute path of one machine, or the name of a package registry."""
    machine = r"(?<![\w.*-])/(?:work|tmp|root|home/\w+|Users/\w+)/\w"
    # One letter of each name is in brackets, so that this file does not match.
    hosts = r"(?i:py[p]i\b|pythonhoste[d]|conda-forg[e]|anaconda\.or[g]|npmj[s]|crates\.i[o])"
    pattern = re.compile(f"{machine}|{hosts}")
    hits = []
    for path in repository_files():
        for number, line in enumerate(text_of(path).splitlines(), 1):
            hits += [f"{path.relative_to(ROOT)}:{number}: {match[0]}" for match in pattern.finditer(line)]
    assert hits == []


def workflow(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text("utf-8"))
    return found


def test_the_matrix_has_each_supported_python() -> None:
    """The workflow tests three systems, and all Python versions that the package names, the lowest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [found[1] for one in project["classifiers"] if (found := re.search(r":: (3\.\d+)$", one))]
    matrix = workflow("check.yml")["jobs"]["check"]["strategy"]["matrix"]
    assert [one.partition("-")[0] for one in matrix["system"]] == ["ubuntu", "macos", "windows"]
    assert [one for one in matrix["python"] if one in named] == named
    assert f">={matrix['python'][0]}" == project["requires-python"]


def test_workflows_run_targets_of_the_makefile() -> None:
    """Each `make` in a workflow names existing targets."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        steps = [step for job in workflow(path.name)["jobs"].values() for step in job["steps"]]
        for line in "\n".join(step.get("run", "") for step in steps).splitlines():
            for command in re.findall(r"(?:^|&& |; )make ([^&;|]*)", line.strip()):
                words = [word for word in command.split() if "=" not in word and not word.startswith("-")]
                assert set(words) <= targets, (path.name, line)
