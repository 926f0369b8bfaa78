"""Contracts of DES shards, their page and drawings; random shards of an independent writer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest

import shardcore
from shardcore.formats.des import layout
from shardcore.formats.des.sidecar import Sidecar
from shardcore.model.drawing import Drawing, Tone
from shardcore.model.finding import Severity
from shardcore.model.objects import State
from shardcore.model.record import Record
from shardcore.testing import DataSetContract, PageContract, ShardContract, check_columns, check_explained, check_tiling
from shardcore.testing.drawing_contract import DrawingContract
from tests.shardcore.formats.des.made import random_stored, write

DATA = Path(__file__).parents[3] / "data" / "des"

NAMES = ("none", "zstd", "lz4", "meta", "unicode", "paths", "empty", "v1", "tiny")
NAMES += ("v2_gaps_reordered", "big/20261103_0A_0000", "sidecar/20261103_51_0000")


class TestDesContract(ShardContract):
    samples: ClassVar = [DATA / f"{name}.des" for name in NAMES]
    absent: ClassVar = ["not here", "not\0here", "\u017c", "x" * 70000]
    open_ranges = 2
    find_ranges = 0


class TestDesDataSetContract(DataSetContract):
    samples: ClassVar = [DATA / "big", DATA / "sidecar", DATA]
    absent: ClassVar = TestDesContract.absent
    alone: ClassVar = ("Route",)


class TestDesPage(PageContract):
    page: ClassVar = Path(__file__).parents[4] / "docs" / "formats" / "des.md"
    layouts: ClassVar = {found.name: found for found in vars(layout).values() if isinstance(found, Record)}

    def test_the_worked_example_is_the_sample(self) -> None:
        sample = (Path(__file__).parents[3] / "data" / "des" / "tiny.des").read_bytes()
        lines = self.page.read_text(encoding="utf-8").split("## 7. Worked example")[1].splitlines()
        for line in lines:
            place, _, rest = line.partition(" ")
            if len(place) == 2 and place.isalnum():
                stated = rest.split("  ")[0]
                at = int(place, 16)
                for part in stated.replace("|", " ").split():
                    width = 8 if part.endswith("..") else len(part) // 2
                    assert sample[at : at + width] == bytes.fromhex(part.rstrip(".")).ljust(width, b"\0")
                    at += width


SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "des"
ARCHIVE = SAMPLES / "archive"


class TestDrawings(DrawingContract):
    samples: ClassVar = [ARCHIVE, SAMPLES / "odd" / "20251128_2A_0000.des", DATA / "sidecar", DATA / "big"]
    samples += [DATA / f"{name}.des" for name in ("tiny", "zstd", "paths", "v1", "unicode")]
    quick_samples: ClassVar[int] = 2
    names: ClassVar = ["address"]
    absent: ClassVar = ["no such uid"]
    most_keys: ClassVar[int] = 1


def address(where: Path, key: str) -> Drawing:
    with shardcore.open(where) as shard:
        return next(one for one in shard.sketches(shard.trace(key)) if one.name == "address").draw({})


@pytest.mark.parametrize(
    ("where", "key"), [(ARCHIVE, "letter-2026-anna"), (ARCHIVE / "20260105_88_0000.des", "letter-2026-anna")]
)
def test_a_tombstone_is_a_stamp_from_the_sidecar(where: Path, key: str) -> None:
    drawing = address(where, key)
    stamp = next(item for item in drawing.items if item.name == "stamp")
    assert stamp.tone is Tone.DEAD
    (span,) = stamp.spans
    assert span.source.endswith("20260105_88_0000.meta")
    text = (ARCHIVE / "20260105_88_0000.meta").read_bytes()[span.start : span.stop].decode()
    assert json.loads("{" + text + "}")[f"{key}:2026-01-05T08:30:00Z"]["reason"] == "asked for by Anna"
    assert next(item for item in drawing.items if item.name == "walk 0").tone is Tone.DEAD


def test_the_place_of_a_tombstone(tmp_path: Path) -> None:
    (tmp_path / "x.des").write_bytes((DATA / "tiny.des").read_bytes())
    tombs = {
        "ż:1": {"uid": "ż", "created_at": "2026-01-01T00:00:00Z", "reason": "€"},
        "ż:2": {"uid": "ż", "created_at": "2026-01-02T00:00:00Z", "reason": "}{"},
        "b": {"created_at": None, "reason": "b"},
    }
    data = json.dumps({"version": 1, "index": {}, "tombstones": tombs}, ensure_ascii=False, indent=1).encode()
    (tmp_path / "x.meta").write_bytes(data)
    with shardcore.open(tmp_path / "x.des") as shard:
        sidecar = Sidecar.parse(data, "x.meta")
        for listed in sidecar.tombstones.values():
            for tombstone in listed:
                span = sidecar.tombstone_span(shard.file.source.folder, tombstone)
                (found,) = json.loads("{" + data[span.start : span.stop].decode() + "}").values()
                assert found["reason"] == tombstone.facts["reason"]
        (tmp_path / "x.meta").write_bytes(data + b" ")
        assert sidecar.tombstone_span(shard.file.source.folder, sidecar.tombstones["b"][0]) == sidecar.span


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("version", "short", "name"), [(2, False, "2"), (1, False, "1"), (1, True, "1 (first layout)")]
)
def test_random_shards(tmp_path: Path, seed: int, version: int, short: bool, name: str) -> None:
    stored_objects = random_stored(seed, 40, version=version)
    for one in stored_objects if short else ():
        one.codec = "none"
    gap = b"gap" * (seed % 3)
    path = write(tmp_path, "x.des", stored_objects, version=version, short=short, gap=gap)
    with shardcore.open(path) as shard:
        assert shard.version == name
        check_tiling(shard)
        shard.load_index()
        check_explained(shard)
        check_columns(shard)
        assert shard.objects.keys[:] == [one.uid.decode() for one in stored_objects]
        for row, one in enumerate(stored_objects):
            ref = shard.find(one.uid.decode())
            assert (ref.row, ref.size, ref.extras["meta"], ref.error) == (row, len(one.content), one.meta, "")
            assert ref.state is (State.EXTERNAL if one.big else State.LIVE)
            assert (shard.read(ref), shard.read_range(ref, 3, 50)) == (one.content, one.content[3:50])
        rows = shard.find_many([one.uid.decode() for one in reversed(stored_objects)])
        assert rows.tolist() == list(range(len(stored_objects)))[::-1]
        codes = {f.code for f in shard.verify().findings if f.severity is Severity.ERROR}
        assert codes == ({"des.version-1-first"} if short else set())
