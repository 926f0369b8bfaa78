"""Job that plans and writes a new shard with the library: target, settings, progress. No Qt here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import shardcore
from shardcore import Shard, ShardError, UsageError
from shardcore.dataclasses import dataclass, field
from shardcore.model.text import plural
from shardcore.progress import Progress
from shardcore.shards.opening import create
from shardcore.writing.plan import Plan, PlannedFile

MAX_FILES = 1_000
"""Maximum number of files whose objects are counted by kind."""

REPORT = ".report.json"

_WRITING = 800
_WHOLE = 1_000
"""Total progress of the job: the first `_WRITING` units are for writing, the others for verifying."""


@dataclass(frozen=True, slots=True)
class NewShardTarget:
    format: str
    path: Path
    folder: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    force: bool = False

    @property
    def out(self) -> str:
        """Target path for the library, which expects a separator at the end of a folder."""
        return f"{self.path}{os.sep}" if self.folder else str(self.path)

    def alike(self, other: NewShardTarget) -> bool:
        return (self.format, self.folder, self.options) == (other.format, other.folder, other.options)


@dataclass(frozen=True, slots=True)
class Planned:
    """Plan of a new shard with its notes.

    Attributes:
        objects: Number of objects, without parts of other objects.
        kinds: Text with the number of objects of each kind, by file index; only for files with several kinds.
        losses: Those of the `notes` that report lost information.
    """

    plan: Plan
    name: str
    objects: int
    kinds: Mapping[int, str]
    notes: tuple[str, ...]
    losses: tuple[str, ...] = ()


class Refused(Exception):
    """Raised if the shard cannot be planned; `option` names the option with an invalid value, or is empty."""

    def __init__(self, error: ShardError, option: str = "") -> None:
        super().__init__(error.message)
        self.error = error
        self.option = option


class JobStage:
    """Stage of a writing job: set by its thread, read by the GUI thread. `total` is 0 while unknown."""

    def __init__(self) -> None:
        self.verifying = False
        self.done = 0
        self.total = 0

    def reports_to(self, progress: Progress, *, verifying: bool = False) -> Progress:
        first, units = (_WRITING, _WHOLE - _WRITING) if verifying else (0, _WRITING)

        def report(done: int, total: int) -> None:
            self.verifying, self.done, self.total = verifying, done, total
            progress(first + units * min(done, total) // max(total, 1), _WHOLE)

        return report


@dataclass(frozen=True, slots=True, eq=False)
class NewShardJob:
    """Planning and writing of a new shard, from files or from an opened shard.

    Attributes:
        settings: Settings of `Pack` or `Convert` that differ from the default.
        shard: The shard to convert; None to pack.
        count: Number of objects; 0 if unknown.
    """

    target: NewShardTarget
    settings: Mapping[str, Any]
    shard: Shard | None = None
    count: int = 0
    inputs: tuple[str, ...] = ()
    manifest: str = ""
    report: bool = False
    deleted: bool = False

    def alike(self, other: NewShardJob) -> bool:
        """Return whether two jobs have the same plan; the name of the target may differ."""
        contents = [(one.inputs, one.manifest, one.settings) for one in (self, other)]
        return self.target.alike(other.target) and self.shard is other.shard and contents[0] == contents[1]

    def plan(self, *, unread: bool, progress: Progress) -> Planned:
        """Return the plan; with `unread`, estimate it from sizes. Raises `Refused` if the shard cannot be written."""
        added = 0

        def report(done: int, total: int) -> None:
            nonlocal added
            added = done + 1
            progress(done, total)

        try:
            found = self._run(plan=True, unread=unread, force=True, progress=report)
        except ShardError as error:
            raise Refused(error, self._wrong_option() if isinstance(error, UsageError) else "") from error
        plan = found.plan or Plan(())
        kinds = {number: text for number, file in enumerate(plan.files[:MAX_FILES]) if (text := _kinds_text(file))}
        # Files with inner objects may contain an object twice (index and copy), so count those that were added.
        parted = any(file.objects.inner_kinds for file in plan.files)
        objects = added if parted else sum(len(file.objects) for file in plan.files)
        losses = tuple(loss.text for loss in found.losses)
        return Planned(plan, self.target.path.name, objects, kinds, found.notes, losses)

    def write(self, progress: Progress, stage: JobStage) -> shardcore.Packed:
        verifying = stage.reports_to(progress, verifying=True)
        return self._run(plan=False, force=self.target.force, progress=stage.reports_to(progress), verifying=verifying)

    def _run(self, *, plan: bool, **how: Any) -> shardcore.Packed:
        format, out, how = self.target.format, self.target.out, {"plan": plan, "options": self.target.options, **how}
        if self.shard is not None:
            return shardcore.convert(self.shard, format, out, deleted=self.deleted, **self.settings, **how)
        report = f"{self.target.path}{REPORT}" if self.report and not plan else None
        how |= {"manifest": self.manifest or None, "report": report, "total": self.count}
        return shardcore.pack(format, out, self.inputs, **self.settings, **how)

    def _wrong_option(self) -> str:
        """Return the name of the option whose removal makes the others valid; empty if there is none."""
        options = self.target.options
        if not options or _can_begin(self.target, options):
            return ""
        for name in options:
            if _can_begin(self.target, {other: value for other, value in options.items() if other != name}):
                return name
        return ""


def note_lines(notes: Sequence[str], losses: Sequence[str]) -> list[str]:
    lost = set(losses)
    return [f"{'▲' if note in lost else '●'} {note}" for note in notes]


def _can_begin(target: NewShardTarget, options: Mapping[str, Any]) -> bool:
    try:
        create(None, format=target.format, folder=target.folder, plan=True, **options).abort()
    except UsageError:
        return False
    return True


def _kinds_text(file: PlannedFile) -> str:
    objects = file.objects
    if len(objects.kinds) <= 1 or not len(objects):
        return ""
    counts = np.bincount(objects[:].kind, minlength=len(objects.kinds)).tolist()
    parts = [plural(count, kind) for count, kind in zip(counts, objects.kinds, strict=False) if count]
    return ", ".join(parts) if len(parts) > 1 else ""
