"""Builds the bundle, both programs with everything that they need, Python included; and prints the size of its parts.

    python packaging/bundle.py [--one-file] [--dist FOLDER]

The folder `shardscope` holds the programs `shardscope` and `shardcore`. `--one-file` adds an archive of the folder, and
the same programs in a single file. packaging/bundle.spec is the recipe.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import struct
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from PyInstaller.archive.readers import CArchiveReader

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = ("gui", "preview", "decoders")
"""Extras that are in the bundle."""

ONE_FILE = "--one-file"
MOST_MEGABYTES = 220
SMALL_MEGABYTES = 1.0
"""Smaller libraries are one row of the table."""

MEGABYTE = 1_000_000


# --- content: the project's libraries, whatever else is installed where the bundle is built -------------------


def requirements() -> list[Requirement]:
    """Return what the project requires for the bundle on this system."""
    project = PROJECT["project"]
    lines = [line for name in EXTRAS for line in project["optional-dependencies"].get(name, ())]
    found = map(Requirement, [*project["dependencies"], *lines])
    return [one for one in found if one.name != "shardscope" and (one.marker is None or one.marker.evaluate())]


def distributions() -> set[str]:
    """Return the installed distributions that the requirements lead to."""
    found: set[tuple[str, str]] = set()
    waiting = requirements()
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        for extra in {"", *one.extras} - {extra for known, extra in found if known == name}:
            found.add((name, extra))
            theirs = map(Requirement, metadata.requires(name) or ())
            waiting += [other for other in theirs if other.marker is None or other.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def modules() -> tuple[list[str], list[str]]:
    """Return the modules of the project's own requirements, and those of installed libraries that it does not need."""
    direct, needed = {canonicalize_name(one.name) for one in requirements()}, distributions()
    wanted, others = [], []
    for module, owners in metadata.packages_distributions().items():
        names = {canonicalize_name(name) for name in owners}
        if names & direct and module.isidentifier() and find_spec(module) is not None:
            wanted.append(module)
        elif not names & needed and module not in ("shardcore", "shardscope"):
            others.append(module)
    return wanted, others


def assets() -> list[tuple[str, str]]:
    """Return what the wheel has beside modules: file or folder, and its folder in the bundle."""
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    found = [("shardcore/__init__.pyi", "shardcore")]
    for name in wheel["only-include"]:
        top, _, rest = name.partition("/")
        if top in ("docs", "resources"):
            target = Path(wheel["sources"][top]) / rest
            found.append((name, str(target if (ROOT / name).is_dir() else target.parent)))
    return [(str(ROOT / source), target) for source, target in found]


def licences() -> list[tuple[str, str]]:
    """Return the licence files of all distributions, and their folders in the bundle."""
    found = [(str(ROOT / "LICENSE"), "licences/shardscope")]
    for name in sorted(distributions()):
        for file in metadata.files(name) or ():
            if file.parts[0].endswith(".dist-info") and file.name.upper().startswith(("LICEN", "COPYING", "NOTICE")):
                found.append((str(file.locate()), f"licences/{name}"))
    return found


def stripped(entries: list[tuple[str, str, str]], folder: Path) -> list[tuple[str, str, str]]:
    """Return collected libraries without symbols for debuggers, where `strip` is and leaves them loadable."""
    if sys.platform != "linux" or shutil.which("strip") is None:
        return entries
    found = []
    for name, source, kind in entries:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        is_library = kind in ("BINARY", "EXTENSION")
        if is_library and not subprocess.run(["strip", "-S", "-o", target, source], check=False).returncode:
            found.append((name, str(target) if is_loadable(target.read_bytes()) else source, kind))
        else:
            found.append((name, source, kind))
    return found


def is_loadable(library: bytes) -> bool:
    """Return whether the segments of a library of 64 bits are aligned; those that wheels patch are not, once stripped.

    Args:
        library: An ELF file.
    """
    start, size, count = *struct.unpack_from("<Q", library, 32), *struct.unpack_from("<HH", library, 54)
    segments = [struct.unpack_from("<IIQQQQQQ", library, start + row * size) for row in range(count)]
    return all((segment[2] - segment[3]) % segment[7] == 0 for segment in segments if segment[0] == 1)


def release_name() -> str:
    """Return the name of what is published: with the version, the system and the processor."""
    system = {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)
    return f"shardscope-{PROJECT['project']['version']}-{system}-{platform.machine().lower()}"


# --- sizes ----------------------------------------------------------------------------------------------------


def library_of(name: str) -> str:
    """Return the library of a module or of a file, by the top of its name."""
    stem = name.partition(".")[0]
    if stem.startswith(("libpython", "python3", "base_library")) or stem in sys.stdlib_module_names:
        return "Python"
    return "libraries of the system" if name.startswith("lib") and ".so" in name else stem


def sizes(folder: Path) -> Counter[str]:
    """Return the bytes of each library: its files, and its modules, which are compressed in the program."""
    found: Counter[str] = Counter()
    for file in (one for one in folder.rglob("*") if one.is_file() and not one.is_symlink()):
        parts = file.relative_to(folder).parts
        if parts[0] == "_internal":
            found[library_of(parts[1])] += file.stat().st_size
            continue
        modules = CArchiveReader(str(file)).open_embedded_archive("PYZ.pyz").toc.items()
        for name, (_, _, size) in modules:
            found[library_of(name)] += size
        found["Python"] += file.stat().st_size - sum(size for _, (_, _, size) in modules)
    return found


def table(found: Counter[str]) -> str:
    """Return the sizes as a table in Markdown."""
    rows = [(name, size / MEGABYTE) for name, size in found.most_common() if size >= SMALL_MEGABYTES * MEGABYTE]
    small = len(found) - len(rows)
    rows.append((f"{small} more", found.total() / MEGABYTE - sum(size for _, size in rows)))
    rows.append(("**all**", found.total() / MEGABYTE))
    return "\n".join(["| library | MB |", "|---|--:|", *(f"| {name} | {size:.1f} |" for name, size in rows)])


def main() -> int:
    """Build, print the table, and return 1 when the folder is too large."""
    options = argparse.ArgumentParser(description="Build the bundle.")
    options.add_argument(ONE_FILE, action="store_true", help="add an archive of the folder, and a single file")
    options.add_argument("--dist", type=Path, default=ROOT / "dist", help="folder of the result (default: dist)")
    given = options.parse_args()
    folder = given.dist / "shardscope"
    build = ["--noconfirm", "--log-level=WARN", "--distpath", given.dist, "--workpath", given.dist / "work"]
    spec = [ROOT / "packaging/bundle.spec", "--", *([ONE_FILE] if given.one_file else [])]
    done = subprocess.run([sys.executable, "-m", "PyInstaller", *build, *spec], check=False)
    if done.returncode:
        return done.returncode
    if sys.platform != "win32":
        (folder / "shardcore").symlink_to("shardscope")
    if given.one_file:
        kind = "zip" if sys.platform == "win32" else "gztar"
        shutil.make_archive(str(given.dist / release_name()), kind, given.dist, folder.name)
    found = sizes(folder)
    print(table(found))
    if found.total() > MOST_MEGABYTES * MEGABYTE:
        print(f"the bundle is larger than {MOST_MEGABYTES} MB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
