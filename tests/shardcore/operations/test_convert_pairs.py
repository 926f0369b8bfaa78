"""Converting: from every format into every other, and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.model.objects import State
from shardcore.operations.convert import convert
from shardcore.operations.pack import pack
from shardcore.shards.registry import FORMATS
from shardcore.shards.shard import Shard
from shardcore.writing.manifest import RESULT

FOLDERS = ("neuroglancer", "bloscpack")
"""Formats of which several objects make a folder."""
OPTIONS = {"neuroglancer": {"kind": "skeleton"}}


def place(folder: Path, name: str, format: str) -> str:
    return f"{folder / name}/" if format in FOLDERS else str(folder / f"{name}.{format}")


DATA = Path(__file__).parents[2] / "data"
RICH = ("mesh", "skeletons", "bcolz column", "bcolz table", *FORMATS)


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Shards of every format with all that it can store about objects, and about all of them together."""
    made = tmp_path_factory.mktemp("rich")
    with shardcore.create(made / "x.des", format="des", sidecar=True) as writer:
        writer.add("a/b", b"first" * 100, meta={"created_at": "2026-03-05T09:30:00+00:00", "n": [1]}, codec="zstd")
        writer.add("\n:", b"second", codec="lz4")
        writer.add("c", b"second", meta={"x": None})
    np.save(made / "steps.npy", np.arange(60, dtype=">i2").reshape(3, 4, 5))
    np.save(made / "turned.npy", np.asfortranarray(np.eye(7)))
    (made / "text").write_bytes(b"text" * 50)
    inputs = [made / name for name in ("steps.npy", "turned.npy", "text")]
    pack("bloscpack", f"{made / 'arrays'}/", inputs, options={"checksum": "sha512", "metadata": {"by": "me"}})
    for format in ("swh", "mdb", "xorb"):
        pack(format, made / f"x.{format}", inputs)
    neuroglancer = DATA / "neuroglancer"
    return {
        "mesh": neuroglancer / "mesh",
        "skeletons": neuroglancer / "skeletons_murmur_gzip",
        "neuroglancer": neuroglancer / "volume" / "8_8_80",
        "bcolz column": DATA / "bloscpack/bcolz/samples",
        "bcolz table": DATA / "bloscpack/bcolz/prices",
        "bloscpack": made / "arrays",
        **{format: made / f"x.{format}" for format in ("des", "swh", "mdb", "xorb")},
    }


def reopened(path: Path, **options: Any) -> Shard:
    xorbs = path.parent / "xorbs"
    return shardcore.open(path, **(options | ({"xorbs": xorbs} if xorbs.is_dir() else {})))


def everything(path: Path) -> tuple[str, dict[str | None, Any], Mapping[str, Any]]:
    with reopened(path) as shard:
        refs = [shard.find(view) for view in shard.views]
        refs = refs or [shard.objects.ref(row) for row in range(len(shard.objects))]
        outer = [ref for ref in refs if ref.state is State.LIVE and ref.kind in ("file", refs[0].kind)]
        found = {}
        for ref in outer:
            parts = {part: shard.read_part(ref, part) for part in shard.file_names(ref) if part}
            # NumPy writes one type in several ways.
            facts = shard.facts(ref) | ({"order": "C"} if "dtype" in ref.extras else {})
            facts |= {"dtype": np.dtype(facts["dtype"].strip("'")).str} if "dtype" in facts else {}
            found[ref.key] = (shard.read(ref), parts, facts)
        return shard.format, found, {name: value for name, value in shard.settings.items() if name != "bcolz"}


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", RICH)
def test_every_format_comes_back(tmp_path: Path, rich: dict[str, Path], source: str, target: str) -> None:
    """Keys, parts, facts and settings return with the result manifest."""
    format, objects, settings = everything(rich[source])
    between = Path(place(tmp_path, "between", target))
    with reopened(rich[source]) as shard:
        done = convert(shard, target, place(tmp_path, "between", target))
        assert done.report.ok
        assert {loss.text for loss in done.losses} <= set(done.notes)
    manifest: Path | None = between / "manifest.json" if between.is_dir() else between.with_name(between.name + RESULT)
    if manifest is None or not manifest.exists():
        manifest = None
        assert not done.losses
    folder = len(objects) > 1 or format == "neuroglancer"
    out = place(tmp_path, "back", format) if folder else str(tmp_path / f"back.{format}")
    spec = done.opening.get("spec")
    with reopened(between, **({"spec": spec} if spec else {})) as shard:
        again = convert(shard, format, out, manifest=manifest)
    assert again.report.ok
    back = Path(out)
    if format == "neuroglancer" and settings["spec"].get("scales"):
        back = back / settings["spec"]["scales"][0]["key"]
    _, found, kept = everything(back)
    if format == "bloscpack" and not folder:
        found = dict(zip(objects, found.values(), strict=True))
    assert found == objects
    settings = {name: value for name, value in settings.items() if name != "key_spaces"}
    assert {name: value for name, value in kept.items() if name in settings} == settings
