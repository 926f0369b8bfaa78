"""Finds files that come with the program (icons, samples, lessons, pages): in the installed package or a checkout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from shardcore.dataclasses import dataclass

_PACKAGE = Path(__file__).parent.parent


class AssetMissingError(Exception):
    """A resource is missing, because the installation is incomplete."""


def resources() -> Path:
    return _folder("resources")


def docs() -> Path:
    return _folder("docs")


def _folder(name: str) -> Path:
    for folder in (_PACKAGE / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise AssetMissingError(f"{name} not found: the installation in {_PACKAGE.parent} is incomplete")


def path(name: str) -> Path:
    found = resources() / name
    if not found.is_file():
        raise AssetMissingError(f"unknown resource {name}")
    return found


class Role(Enum):
    MAIN = "main"
    FEATURED = "featured"
    FURTHER = "further"
    DAMAGED = "damaged"
    ODD = "odd"


class KeyRole(Enum):
    TYPICAL = "typical"
    CROWDED = "crowded"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class SampleKey:
    role: KeyRole
    key: str
    about: str


@dataclass(frozen=True, slots=True)
class Sample:
    path: Path
    format: str = ""
    role: Role = Role.MAIN
    title: str = ""
    about: str = ""
    see: str = ""
    keys: tuple[SampleKey, ...] = ()


def samples() -> list[Sample]:
    folder = resources() / "samples"
    found = [_sample(folder, entry) for entry in json.loads(path("samples.json").read_text("utf-8"))]
    return [sample for sample in found if sample.path.exists()]


def main_samples() -> list[Sample]:
    return [sample for sample in samples() if sample.role is Role.MAIN]


def _sample(folder: Path, entry: Mapping[str, Any]) -> Sample:
    keys = tuple(SampleKey(KeyRole(one["role"]), one["key"], one["about"]) for one in entry["keys"])
    return Sample(**{**entry, "path": folder / entry["path"], "role": Role(entry["role"]), "keys": keys})
