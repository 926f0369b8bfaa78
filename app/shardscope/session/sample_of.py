"""Which sample is open, if any: recognised by its place, or, of a copy, by its bytes. Reads files: for jobs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from shardcore.sources.remote.address import is_address
from shardscope.startup import assets
from shardscope.startup.assets import Sample

MOST_FILES = 50
"""A folder with more files is no copy of a sample: nobody looks into them."""


def sample_of(uri: str) -> Sample | None:
    """The sample that lies at a place, or of which a copy lies there; None for any other file or folder.

    Args:
        uri: What was opened; an address of something remote is no sample.
    """
    path = Path(uri)
    try:
        if is_address(uri) or not path.exists():
            return None
        here, found = path.resolve(), assets.samples()
        known = next((sample for sample in found if sample.path.resolve() == here), None)
        return known or _copied(path, found)
    except (OSError, ValueError):
        # What can be opened but not be read once more, or was changed meanwhile, is no copy.
        return None


def _copied(path: Path, found: Sequence[Sample]) -> Sample | None:
    size, whole = _size(path), path.is_dir()
    alike = [sample for sample in found if sample.path.is_dir() == whole and size == _size(sample.path)]
    if not alike:
        return None
    digest = _digest(path)
    return next((sample for sample in alike if _digest(sample.path) == digest), None)


def _files(path: Path) -> list[Path]:
    """The file, or the files below the folder, in an order of their own; none where there are too many."""
    if path.is_file():
        return [path]
    pending, found, seen = [path], [], 0
    while pending:
        # Of a folder of millions no more is listed than it takes to see that.
        entries = list(islice(pending.pop().iterdir(), MOST_FILES + 1))
        seen += len(entries)
        if seen > MOST_FILES:
            return []
        pending += [entry for entry in entries if entry.is_dir() and not entry.is_symlink()]
        found += [entry for entry in entries if entry.is_file()]
    return sorted(found)


def _size(path: Path) -> int:
    """Bytes of all files."""
    return sum(file.stat().st_size for file in _files(path))


def _digest(path: Path) -> str:
    """A digest of the names below a folder and of the bytes; of a file, whose name is free, of its bytes."""
    digest = hashlib.sha256()
    for file in _files(path):
        data = file.read_bytes()
        name = "" if file == path else file.relative_to(path).as_posix()
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()
