"""The address of a uid, drawn: its bits, the board, the name, the walk over entries, the tombstone; worked by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest

import shardcore
from shardcore.errors import ShardError
from shardcore.formats.des.sidecar import Sidecar
from shardcore.formats.des.tombstone_span import tombstone_span
from shardcore.model.drawing import Drawing, Tone
from shardcore.shards.shard import Shard
from shardcore.testing.drawing_contract import DrawingContract

DATA = Path(__file__).parents[3] / "data" / "des"
SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "des"
ARCHIVE = SAMPLES / "archive"


class TestDrawings(DrawingContract):
    samples: ClassVar = [
        ARCHIVE,
        DATA / "tiny.des",
        SAMPLES / "odd" / "20251128_2A_0000.des",
        DATA / "sidecar",
        DATA / "big",
        DATA / "zstd.des",
        DATA / "paths.des",
        DATA / "v1.des",
        DATA / "unicode.des",
    ]
    quick_samples: ClassVar[int] = 2
    names: ClassVar = ["address"]
    absent: ClassVar = ["no such uid"]
    most_keys: ClassVar[int] = 1


def drawn(where: Path, key: str, **values: object) -> Drawing:
    with shardcore.open(where) as shard:
        return address(shard, key, **values)


def address(shard: Shard, key: str, **values: object) -> Drawing:
    sketch = next(one for one in shard.sketches(shard.trace(key)) if one.name == "address")
    return sketch.draw(values)


@pytest.mark.parametrize(
    ("where", "key"), [(ARCHIVE, "letter-2026-anna"), (ARCHIVE / "20260105_88_0000.des", "letter-2026-anna")]
)
def test_a_tombstone_is_a_stamp_from_the_sidecar(where: Path, key: str) -> None:
    drawing = drawn(where, key)
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
        file = shard.file  # type: ignore[attr-defined]
        sidecar = Sidecar.parse(data, "x.meta")
        for listed in sidecar.tombstones.values():
            for tombstone in listed:
                span = tombstone_span(file, sidecar, tombstone)
                (found,) = json.loads("{" + data[span.start : span.stop].decode() + "}").values()
                assert found["reason"] == tombstone.facts["reason"]
        (tmp_path / "x.meta").write_bytes(data + b" ")
        assert tombstone_span(file, sidecar, sidecar.tombstones["b"][0]) == sidecar.span


def test_damaged_files_are_drawn_or_refused() -> None:
    for path in sorted((DATA / "hostile").glob("*.des")):
        try:
            with shardcore.open(path, partial=True) as shard:
                for trace in (None, shard.trace("a")):
                    for sketch in shard.sketches(trace):
                        assert sketch.draw({}).title
        except ShardError:
            continue
