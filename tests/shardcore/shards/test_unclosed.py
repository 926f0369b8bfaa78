"""Shards and writers that are collected without being closed: descriptors and temporary files go, with a warning."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

import shardcore
from shardcore.shards.registry import FORMATS

SAMPLES = Path(shardcore.__file__).parents[1] / "resources" / "samples"
ABANDONED = """
import sys, shardcore
writer = shardcore.create(sys.argv[1], format="swh")
writer.add(None, b"x" * 1_000_000)
"""


def descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def collect(opened: list[object]) -> None:
    opened.clear()
    gc.collect()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are not listed here")
@pytest.mark.parametrize("format", FORMATS)
def test_a_shard_that_is_not_closed(format: str) -> None:
    files = [path for path in sorted((SAMPLES / format).rglob("*")) if path.is_file() and "damaged" not in str(path)]
    path = next(path for path in files if shardcore.detect(path).format == format)
    before = descriptors()
    opened = [shardcore.open(path)]
    opened[0].verify()
    opened[0].load_index()
    key = opened[0].objects.keys[0]
    opened[0].trace(key)
    opened[0].read(opened[0].find(key))
    with pytest.warns(ResourceWarning, match="unclosed file"):
        collect(opened)  # type: ignore[arg-type]
    assert descriptors() == before


@pytest.mark.parametrize("target", ["a", "folder/a"])
def test_a_writer_that_is_not_finished(tmp_path: Path, target: str) -> None:
    (tmp_path / "folder").mkdir()
    opened: list[object] = [shardcore.create(tmp_path / target, format="swh")]
    opened[0].add(None, b"x" * 1_000_000)  # type: ignore[attr-defined]
    assert len(list(tmp_path.rglob("*.part"))) == 1
    with pytest.warns(ResourceWarning, match="was not finished"):
        collect(opened)
    command = [sys.executable, "-W", "always", "-c", ABANDONED, str(tmp_path / target)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "was not finished" in done.stderr
    assert "Exception ignored" not in done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]
