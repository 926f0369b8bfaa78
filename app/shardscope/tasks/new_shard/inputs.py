"""Input of a new shard: files, folders and a manifest, counted. No Qt here."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from shardcore import ShardError
from shardcore.model.text import plural
from shardcore.progress import Progress
from shardcore.writing.inputs import input_files
from shardcore.writing.manifest import ManifestReader

MANIFEST_ENDING = ".jsonl"
MANIFEST_NAME = "manifest.json"

REPORT_EVERY = 256
"""Number of manifest lines between two progress reports."""


class InputKind(Enum):
    FILE = "file"
    FOLDER = "folder"
    MANIFEST = "manifest"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Input:
    """One input; `count` is its files, or the objects of a manifest, and `size` their bytes."""

    path: str
    kind: InputKind
    count: int = 0
    size: int = 0
    problem: str = ""
    manifest: str = ""

    @property
    def text(self) -> str:
        if self.problem:
            return self.problem
        match self.kind:
            case InputKind.FOLDER:
                more = " with a manifest" if self.manifest else ""
                return f"folder, {plural(self.count, 'file')}{more}"
            case InputKind.MANIFEST:
                return f"manifest, {plural(self.count, 'object')}"
            case _:
                return "file"


@dataclass(frozen=True, slots=True)
class InputCount:
    inputs: tuple[Input, ...] = ()

    @property
    def count(self) -> int:
        return sum(one.count for one in self.inputs)

    @property
    def size(self) -> int:
        return sum(one.size for one in self.inputs)

    @property
    def manifests(self) -> tuple[str, ...]:
        """Inputs that are manifests; more than one is an error."""
        return tuple(one.path for one in self.inputs if one.kind is InputKind.MANIFEST)

    @property
    def plain(self) -> tuple[str, ...]:
        return tuple(one.path for one in self.inputs if one.kind is not InputKind.MANIFEST)

    def problem(self, *, skip: bool = False) -> str:
        """Return why the inputs cannot be packed, or empty; with `skip`, unreadable inputs do not count."""
        wrong = next((one for one in self.inputs if one.problem), None)
        if wrong is not None and not skip:
            return f"{wrong.path}: {wrong.problem}"
        if len(self.manifests) > 1:
            return f"only one manifest is possible: remove {Path(self.manifests[1]).name}"
        return ""

    @property
    def several(self) -> bool:
        return self.count > 1


def count(paths: Iterable[str], progress: Progress) -> InputCount:
    """Count the inputs; reads file sizes and manifests, so call it in a job."""
    found: list[Input] = []
    for path in paths:
        found.append(_looked_at(path, sum(one.count for one in found), progress))
    return InputCount(tuple(found))


def _looked_at(path: str, before: int, progress: Progress) -> Input:
    kind = InputKind.FOLDER if os.path.isdir(path) else InputKind.FILE  # noqa: PTH112 - Path.is_dir raises
    if kind is InputKind.FILE and not os.path.exists(path):  # noqa: PTH110
        return Input(path, InputKind.MISSING, problem="not found")
    if kind is InputKind.FILE and _may_be_manifest(path) and (manifest := _manifest(path, before, progress)):
        return manifest
    files = size = 0
    try:
        for file, _ in input_files([path]):
            progress(before + files, 0)
            size += file.stat().st_size
            files += 1
    except (ShardError, OSError) as error:
        return Input(path, kind, files, size, str(error))
    inside = str(Path(path) / MANIFEST_NAME) if kind is InputKind.FOLDER else ""
    return Input(path, kind, files, size, manifest=inside if inside and _is_manifest(inside) else "")


def _may_be_manifest(path: str) -> bool:
    name = Path(path).name.lower()
    return name.endswith(MANIFEST_ENDING) or name == MANIFEST_NAME


def _is_manifest(path: str) -> bool:
    try:
        manifest = ManifestReader(path, (), "")
    except ShardError:
        return False
    try:
        return manifest.is_one
    finally:
        manifest.close()


def _manifest(path: str, before: int, progress: Progress) -> Input | None:
    """Return a file as a manifest; None if it does not begin like one."""
    objects = size = 0
    try:
        manifest = ManifestReader(path, (), "")
    except ShardError:
        return None
    try:
        if not manifest.is_one:
            return None
        for file in manifest.paths():
            if objects % REPORT_EVERY == 0:
                progress(before + objects, 0)
            objects += 1
            try:
                size += os.stat(file).st_size  # noqa: PTH116
            except (OSError, ValueError):
                missing = Path(file).name
                return Input(path, InputKind.MANIFEST, objects, size, f"{missing} not found")
    except ShardError as error:
        return Input(path, InputKind.MANIFEST, objects, size, error.message)
    finally:
        manifest.close()
    return Input(path, InputKind.MANIFEST, objects, size)
