"""Converting: from every format into every other."""

from __future__ import annotations

from pathlib import Path

import pytest

import shardcore
from shardcore.converting import convert
from shardcore.objects import State
from shardcore.packing import pack
from shardcore.registry import FORMATS

COMMON = {"1": b"alpha" * 400, "2": b"beta" * 900, "3": b"gamma" * 50}
FOLDERS = ("neuroglancer", "bloscpack")
"""Formats of which several objects make a folder."""
OPTIONS = {"neuroglancer": {"kind": "skeleton"}}


def place(folder: Path, name: str, format: str) -> str:
    """Where a shard of a format goes."""
    return f"{folder / name}/" if format in FOLDERS else str(folder / f"{name}.{format}")


def contents(path: str) -> list[bytes]:
    """The contents of all objects that are not parts of others; the whole content where there is one."""
    with shardcore.open(path.rstrip("/"), xorbs=Path(path).parent / "xorbs") as shard:
        if shard.views:
            return [shard.read(shard.find(view)) for view in shard.views]
        refs = [shard.objects.ref(row) for row in range(len(shard.objects))]
        outer = [ref for ref in refs if ref.state is not State.UNUSED and ref.kind in ("file", refs[0].kind)]
        return [shard.read(ref) for ref in outer]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same contents, packed in every format."""
    made = tmp_path_factory.mktemp("pairs")
    for key, data in COMMON.items():
        (made / key).write_bytes(data)
    for format in FORMATS:
        inputs = [made / key for key in COMMON]
        pack(format, place(made, f"from-{format}", format), inputs, options=OPTIONS.get(format, {}))
    return made


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", FORMATS)
def test_every_format_becomes_every_other(folder: Path, source: str, target: str) -> None:
    """Each content is there afterwards, whole, and nothing else is; a xorb holds all of them as one content."""
    out = place(folder, f"{source}-to-{target}", target)
    there = place(folder, f"from-{source}", source)
    with shardcore.open(there.rstrip("/"), xorbs=folder / "xorbs") as shard:
        done = convert(shard, target, out, options=OPTIONS.get(target, {}))
    assert done.report is not None
    assert done.report.ok
    found, wanted = contents(out), contents(there)
    if target == "xorb":
        (joined,) = found
        assert len(joined) == sum(map(len, COMMON.values()))
        assert all(data in joined for data in COMMON.values())
    else:
        assert sorted(found) == sorted(wanted)
        assert sum(map(len, found)) == sum(map(len, COMMON.values()))
