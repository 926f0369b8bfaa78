"""Locations of icons, samples and pages: in the package of a wheel, at the top of a checkout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parent.parent


class AssetMissingError(Exception):
    """A resource is not there: the installation is incomplete."""


def resources() -> Path:
    """Return the folder of the resources.

    Raises:
        AssetMissingError: There is none.
    """
    return _folder("resources")


def docs() -> Path:
    """Return the folder of the pages: `formats/<name>.md` and `glossary.md`.

    Raises:
        AssetMissingError: There is none.
    """
    return _folder("docs")


def _folder(name: str) -> Path:
    for folder in (_PACKAGE / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise AssetMissingError(f"no {name} beside {_PACKAGE}")


def path(name: str) -> Path:
    """Return the file `name`, relative to the resources, with `/` between parts.

    Raises:
        AssetMissingError: There is no such file.
    """
    found = resources() / name
    if not found.is_file():
        raise AssetMissingError(f"no resource is called {name}")
    return found


class Role(Enum):
    """Purpose of a sample."""

    MAIN = "main"
    FEATURED = "featured"
    FURTHER = "further"
    DAMAGED = "damaged"
    ODD = "odd"


class KeyRole(Enum):
    """Outcome that the lookup of a key shows."""

    TYPICAL = "typical"
    CROWDED = "crowded"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class SampleKey:
    """A key to look up in a sample.

    Attributes:
        role: What it is an example of.
        key: In the text form of the format.
        about: What its lookup shows, one sentence.
    """

    role: KeyRole
    key: str
    about: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A shard that comes with the program.

    Attributes:
        path: The file or folder.
        format: The name of its format.
        role: What it is for; each format has one that is `MAIN`. One that is `FEATURED` is shown for its contents.
        title: What people call it: the main one by its format.
        about: What is in it, a few words.
        see: What to see in it, one sentence.
        keys: Keys to look up: a typical one, a crowded one, an absent one.
    """

    path: Path
    format: str = ""
    role: Role = Role.MAIN
    title: str = ""
    about: str = ""
    see: str = ""
    keys: tuple[SampleKey, ...] = ()


def samples() -> list[Sample]:
    """Return all sample shards, in the order in which they are shown; those that are not there are left out.

    Raises:
        AssetMissingError: There is no list of them.
    """
    folder = resources() / "samples"
    found = [_sample(folder, entry) for entry in json.loads(path("samples.json").read_text("utf-8"))]
    return [sample for sample in found if sample.path.exists()]


def main_samples() -> list[Sample]:
    """Return one sample of each format: the one to begin with.

    Raises:
        AssetMissingError: There is no list of them.
    """
    return [sample for sample in samples() if sample.role is Role.MAIN]


def _sample(folder: Path, entry: Mapping[str, Any]) -> Sample:
    return Sample(
        folder / entry["path"],
        entry["format"],
        Role(entry["role"]),
        entry["title"],
        entry["about"],
        entry["see"],
        tuple(SampleKey(KeyRole(one["role"]), one["key"], one["about"]) for one in entry["keys"]),
    )
