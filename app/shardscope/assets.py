"""Where icons and samples lie: beside the package in a wheel, at the top of a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


class AssetMissingError(Exception):
    """A resource is not there: the installation is incomplete."""


def resources() -> Path:
    """The folder of the resources.

    Raises:
        AssetMissingError: There is none.
    """
    for folder in (_PACKAGE / "resources", _PACKAGE.parent.parent / "resources"):
        if folder.is_dir():
            return folder
    raise AssetMissingError(f"no resources beside {_PACKAGE}")


def path(name: str) -> Path:
    """The file `name`, relative to the resources, with `/` between parts.

    Raises:
        AssetMissingError: There is no such file.
    """
    found = resources() / name
    if not found.is_file():
        raise AssetMissingError(f"no resource is called {name}")
    return found


def samples() -> list[Path]:
    """The sample shards, sorted by name."""
    folder = resources() / "samples"
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith(".")) if folder.is_dir() else []
