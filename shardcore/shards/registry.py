"""Registry of formats and containers: their names in detection order, and their declarations by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from shardcore.errors import UsageError
from shardcore.model.text import short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardcore.shards.format import Format
    from shardcore.writing.declaration import Writes

# One line per format: the name of its folder under `shardcore/formats`, in detection order. Detection stops at the
# first certain one; formats that read the end of a file or files beside it come last.
FORMATS = (
    "swh",
    "bloscpack",
    "des",
    "mdb",
    "xorb",
    "neuroglancer",
)

# Files that are not shards, but can be opened when they are an object of a shard. Detected after the formats.
CONTAINERS = (
    "npy",
    "safetensors",
    "zip",
    "gzip",
    "zstd",
)


def format_of(name: str) -> Format:
    if name in CONTAINERS:
        return next(one for one in all_containers() if one.name == name)
    if name not in FORMATS:
        raise UsageError(f"unknown format {short(name)} (supported: {', '.join(FORMATS)})")
    found: Format = import_module(f"shardcore.formats.{name}").FORMAT
    return found


def all_formats() -> tuple[Format, ...]:
    return tuple(each_format())


def each_format() -> Iterator[Format]:
    """Yield the formats in detection order; each is imported just before it is yielded."""
    return (format_of(name) for name in FORMATS)


def all_containers() -> tuple[Format, ...]:
    found: tuple[Format, ...] = import_module("shardcore.containers").CONTAINERS
    return found


def folder_marks() -> tuple[str, ...]:
    return tuple(found.folder_mark for found in each_format() if found.folder_mark)


def writes_of(found: Format) -> Writes:
    if found.writes is None:
        there = ", ".join(one.name for one in all_formats() if one.writes is not None)
        raise UsageError(f"{found.name} cannot be written (supported: {there})")
    return found.writes
