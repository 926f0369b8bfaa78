"""New files for the last questions of a lesson, packed on demand with new objects."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from random import Random

from shardcore.errors import UsageError
from shardcore.model.options import OptionPurpose
from shardcore.model.safe_text import short
from shardcore.operations.pack import pack
from shardcore.shards.registry import format_of
from shardcore.teaching.lessons.lesson import Fresh

FRESH = "shardscope-lesson-"

_WORDS = (
    "shard",
    "index",
    "header",
    "footer",
    "offset",
    "bucket",
    "chunk",
    "digest",
    "slot",
    "segment",
    "range",
    "key",
)
_MOST_WORDS = 60
_NAMES = range(2_000, 60_000)
"""Names of objects: numbers that are easy to divide on paper, because they may be keys."""
_PIECE = 4096


def is_fresh(uri: str) -> bool:
    return any(part.startswith(FRESH) for part in Path(uri).parts)


def make_fresh(fresh: Fresh, format: str, folder: Path, random: Random) -> Path:
    """Pack a new file, or folder, and return its path; `folder` must be empty.

    Raises:
        UsageError: An option of the lesson names a file or folder.
    """
    found = format_of(fresh.format or format)
    declared = {option.name: option for option in found.options_for(OptionPurpose.WRITE)}
    for name, value in fresh.options:
        if name in declared and declared[name].opens(value):
            raise UsageError(f"{name}={short(value)}: lessons cannot use files or folders as options")
    inputs = folder / "objects"
    inputs.mkdir()
    if found.writes is not None and found.writes.single:
        numbers = [random.randrange(1000) for _ in range(fresh.objects * _PIECE // 8)]
        (inputs / "numbers").write_bytes(struct.pack(f"<{len(numbers)}q", *numbers))
    else:
        for number in random.sample(_NAMES, fresh.objects):
            # Begins with its number, because shards whose keys are hashes reject two objects with equal content.
            words = " ".join(random.choices(_WORDS, k=random.randrange(1, _MOST_WORDS)))
            (inputs / str(number)).write_text(f"{number} {words}")
    out = folder / ("fresh" if fresh.folder else f"fresh{next(iter(found.suffixes), '')}")
    pack(found.name, f"{out}/" if fresh.folder else out, sorted(inputs.iterdir()), options=dict(fresh.options))
    shutil.rmtree(inputs)
    return out
