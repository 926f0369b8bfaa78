"""Import of optional packages, with an error that contains the command to install them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shardcore.errors import PackageMissing

_NAMES = {"PIL": "Pillow", "dask": "Dask", "distributed": "Dask"}
_EXTRAS = {
    "PIL": "decoders", "DracoPy": "decoders", "charset_normalizer": "preview", "puremagic": "preview",
    "dask": "cluster", "distributed": "cluster", "pandas": "pandas", "pyarrow": "arrow",
}  # fmt: skip
"""Extra of the package `shardscope` that installs each module."""


def not_installed(module: str) -> str:
    package = module.partition(".")[0]
    name, extra = _NAMES.get(package, package), _EXTRAS.get(package)
    command = f"'shardscope[{extra}]'" if extra else package
    return f"{name} is not installed: pip install {command}"


def optional(module: str) -> Any:
    """Import a module of an optional package; raise `PackageMissing` if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        raise PackageMissing(not_installed(module)) from None
