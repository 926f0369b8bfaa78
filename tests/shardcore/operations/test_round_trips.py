"""Every sample that a reference wrote: extracted, packed by the manifest of that, and the same again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.cli.program import run
from shardcore.model.objects import State
from shardcore.testing import rounds, sampled

DATA = Path(__file__).parents[2] / "data"
XORBS = DATA / "mdb" / "cas" / "xorbs"

FOLDERS = (
    *("des/big", "des/sidecar", "mdb/cas/shard-cache", "bloscpack/files"),
    *("neuroglancer/volume/4_4_40", "neuroglancer/volume/8_8_80"),
)
"""Data sets of several files."""

HEAVY = ("swh/medium.shard",)
"""Samples with so many objects that quick runs leave them out."""

KEPT = ("swh/deleted.shard", "des/zstd.des", "xorb/lz4.xorb", "bloscpack/array.blp", "neuroglancer/mesh")
"""Samples that run in any case, besides the folders."""


def samples() -> Iterator[str]:
    for pattern in ("swh/*.shard", "des/*.des", "bloscpack/*.blp", "xorb/*.xorb", "mdb/cas/xorbs/*"):
        yield from (path.relative_to(DATA).as_posix() for path in sorted(DATA.glob(pattern)) if path.is_file())
    for pattern in ("mdb/cas/shard-cache/*.mdb", "mdb/cas/shards/*.mdb", "mdb/derived/*.mdb"):
        yield from (path.relative_to(DATA).as_posix() for path in sorted(DATA.glob(pattern)))
    infos = sorted((DATA / "neuroglancer").glob("*/info"))
    # One file per object: a shard is packed from the folder of them, with other keys or an info of its own.
    other = ("volume", "unsharded", "cell_files", "mesh_files")
    yield from (path.parent.relative_to(DATA).as_posix() for path in infos if path.parent.name not in other)
    yield "neuroglancer/bare_shard/0.shard"
    yield from FOLDERS


def told(uri: Path, **options: Any) -> dict[str, tuple[str, ...]]:
    """The digest of content and fragments, and the facts, of what `extract` takes, by key."""
    found: dict[str, tuple[str, ...]] = {}
    with shardcore.open(uri, **options) as shard:
        shard.load_index()
        for key in shard.views[:1] or [key for key in shard.objects.keys[:] if key is not None]:
            ref = shard.find(key)
            if ref.state is State.TOMBSTONED or (shard.format == "mdb" and ref.kind != "file"):
                continue
            contents = [shard.read(ref), *(shard.read_part(ref, part) for part in ref.parts if part == "fragments")]
            facts = json.dumps(dict(shard.facts(ref)), sort_keys=True)
            found[key] = (*(hashlib.sha256(data).hexdigest() for data in contents), facts)
    return found


NAMES = [name for name in samples() if name not in HEAVY]


@pytest.mark.parametrize("name", [*sampled(NAMES, 6, keep=(*FOLDERS, *KEPT)), *HEAVY[: rounds(1, 0)]])
def test_extracted_and_packed_it_is_the_same(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = DATA / name
    options = {"xorbs": str(XORBS)} if name.startswith("mdb/") and "/xorbs/" not in name else {}
    with shardcore.open(sample, **options) as shard:
        format_name = shard.format
    before = told(sample, **options)
    more = ["--xorbs", str(XORBS)] if options else []
    assert run(["extract", str(sample), str(tmp_path / "x"), *more]) == 0
    out = f"{tmp_path / 'out'}/" if name in FOLDERS or format_name == "neuroglancer" else str(tmp_path / "out")
    given: list[str] = []
    if name in ("des/big", "des/sidecar"):
        given = ["-O", "date=2024-01-01"]
    assert run(["pack", format_name, out, "--manifest", str(tmp_path / "x" / "manifest.json"), *given]) == 0
    capsys.readouterr()
    again = {}
    if format_name == "neuroglancer" and not (tmp_path / "out" / "info").exists():
        # Nothing says what the keys are, so no info is written; the manifest has the specification.
        again = {"spec": json.dumps(json.loads((tmp_path / "x" / "manifest.json").read_text())["spec"])}
    assert told(tmp_path / "out", **again) == before
