"""Packages that only some functions need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shardcore.errors import PackageMissing, ShardError

PREVIEW = "preview"
"""Extra that installs the decoders of contents."""

_NAMES = {"PIL": "Pillow", "dask": "Dask", "distributed": "Dask"}


def not_installed(module: str, extra: str) -> str:
    """Return the message about a module of an extra whose package is not installed."""
    package = module.partition(".")[0]
    return f"{_NAMES.get(package, package)} is not installed: pip install 'shardscope[{extra}]'"


def optional(module: str, extra: str, error: type[ShardError] = PackageMissing) -> Any:
    """Return a module of a package that need not be installed.

    Args:
        module: Its name.
        extra: The extra of this package that installs it.
        error: Raised where the package is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise error(not_installed(module, extra)) from None
