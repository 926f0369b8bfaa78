"""Where icons, samples and pages lie: in the package in a wheel, at the top of a checkout."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

_PACKAGE = Path(__file__).parent


class AssetMissingError(Exception):
    """A resource is not there: the installation is incomplete."""


def resources() -> Path:
    """The folder of the resources.

    Raises:
        AssetMissingError: There is none.
    """
    return _folder("resources")


def docs() -> Path:
    """The folder of the pages: `formats/<name>.md` and `words.md`.

    Raises:
        AssetMissingError: There is none.
    """
    return _folder("docs")


def _folder(name: str) -> Path:
    for folder in (_PACKAGE / name, _PACKAGE.parent.parent / name):
        if folder.is_dir():
            return folder
    raise AssetMissingError(f"no {name} beside {_PACKAGE}")


def path(name: str) -> Path:
    """The file `name`, relative to the resources, with `/` between parts.

    Raises:
        AssetMissingError: There is no such file.
    """
    found = resources() / name
    if not found.is_file():
        raise AssetMissingError(f"no resource is called {name}")
    return found


@dataclass(frozen=True, slots=True)
class Sample:
    """A shard that comes with the program.

    Attributes:
        path: The file or folder.
        title: What people call its format.
        about: What is in it, a few words.
    """

    path: Path
    title: str
    about: str


def samples() -> list[Sample]:
    """The sample shards, in the order in which they are shown; those that are not there are left out.

    Raises:
        AssetMissingError: There is no list of them.
    """
    listed = json.loads(path("samples.json").read_text("utf-8"))
    folder = resources() / "samples"
    found = [Sample(folder / entry["path"], entry["title"], entry["about"]) for entry in listed]
    return [sample for sample in found if sample.path.exists()]
