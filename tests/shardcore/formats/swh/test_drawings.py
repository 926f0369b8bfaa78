"""The drawings of a Read Shard: who parks where, and how a displacement is found among bits."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any, ClassVar

import pytest

import shardcore
from shardcore.errors import ShardError
from shardcore.formats.swh.shard import SwhShard
from shardcore.model.drawing import Cells, Drawing, Item, Ruler, Sketch, Table, Tone
from shardcore.shards.shard import Shard
from shardcore.testing.damage import mutations
from shardcore.testing.drawing_contract import DrawingContract
from shardcore.testing.sampling import rounds
from shardcore.testing.sources import CountingSource

DATA = Path(__file__).parents[3] / "data" / "swh"

TEN = [
    # object, g, f, h, d, slot: §9.2 of the format notes
    ("0", 1, 6, 6, 2, 7),
    ("1", 0, 6, 1, 4, 10),
    ("2", 1, 4, 6, 2, 5),
    ("3", 0, 3, 3, 4, 4),
    ("4", 1, 10, 9, 2, 6),
    ("5", 2, 10, 2, 42, 9),
    ("6", 2, 10, 1, 42, 0),
    ("7", 1, 2, 6, 2, 3),
    ("8", 0, 4, 1, 4, 8),
    ("9", 1, 2, 5, 2, 1),
]
TEN_SECTION = bytes.fromhex(
    "6368645f706800 0b000000 0c000000 6a656e6b696e7300 06000000 28000000 03000000 01000000 08000000 10000000"
    "03000000 04000000 46000000 01000000 02000000 5d000000 0b000000 03000000"
)


class TestDrawings(DrawingContract):
    samples: ClassVar = [DATA / f"{name}.shard" for name in ("small", "deleted", "medium", "one")]
    quick_samples: ClassVar[int] = 1
    names: ClassVar = ["parking", "displacement"]
    absent: ClassVar = ["ab" * 32]
    most_keys: ClassVar[int] = 1


def key_of(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


@pytest.fixture(scope="module")
def ten() -> bytes:
    objects = b"".join((1).to_bytes(8, "big") + text.encode() for text, *_ in TEN)
    slots = [bytes(32) + b"\xff" * 8] * 11
    for number, (text, *_, slot) in enumerate(TEN):
        slots[slot] = key_of(text) + (512 + 9 * number).to_bytes(8, "big")
    fields = (1, 10, 512, len(objects), 512 + len(objects), 440, 512 + len(objects) + 440)
    header = b"SWHShard".ljust(32, b"\0") + b"".join(field.to_bytes(8, "big") for field in fields)
    return header.ljust(512, b"\0") + objects + b"".join(slots) + TEN_SECTION


def sketches(shard: Shard, text: str) -> dict[str, Sketch]:
    return {sketch.name: sketch for sketch in shard.sketches(shard.trace(key_of(text).hex()))}


def figures(drawing: Drawing, kind: type[Any]) -> list[Any]:
    return [figure for figure in drawing.figures if isinstance(figure, kind)]


def slots_of(drawing: Drawing) -> Cells:
    slots: Cells = next(figure for figure in figures(drawing, Cells) if figure.ring)
    return slots


def texts(items: tuple[Item, ...]) -> list[str]:
    return [item.text for item in items]


@pytest.mark.parametrize(("text", "g", "f", "h", "d", "slot"), TEN)
def test_the_worked_example_parks(ten: bytes, text: str, g: int, f: int, h: int, d: int, slot: int) -> None:
    with shardcore.open(ten) as shard:
        parking = sketches(shard, text)["parking"]
        drawing = parking.draw({})
        mixed, keys = figures(drawing, Table)
        buckets = figures(drawing, Cells)[0]
        assert [re.findall(r"\d+", text) for text in texts(mixed.rows[0])[2:]] == [[str(g)], [str(f)], [str(h)]]
        assert [(item.at, item.text) for item in buckets.items if item.here] == [(g, f"d = {d}")]
        assert parking.controls[0].value == d
        p1, p0 = divmod(d, 11)
        assert (f + h * p0 + p1) % 11 == int(texts(keys.rows[0])[2]) == slot
        assert [item.at for item in slots_of(drawing).items if item.here] == [slot]
        assert not drawing.what_if


def test_the_slider_moves_all_keys_of_the_bucket_until_they_fit(ten: bytes) -> None:
    with shardcore.open(ten) as shard:
        parking = sketches(shard, "1")["parking"]
        for tried in range(5):
            drawing = parking.draw({"displacement": tried})
            keys = figures(drawing, Table)[1]
            assert len(keys.rows) == 3
            assert drawing.what_if == (tried != 4)
            assert all(row[3].text == "fits" for row in keys.rows) == (tried == 4)
            red = {int(row[2].text) for row in keys.rows if row[3].text != "fits"}
            assert {item.at for item in slots_of(drawing).items if item.tone is Tone.MISS} == red


def test_a_large_shard_draws_the_key_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shardcore.teaching.swh import scene as hashing

    monkeypatch.setattr(hashing, "HASHED_KEYS", 100)
    source = CountingSource((DATA / "medium.shard").read_bytes())
    with shardcore.open(source) as shard:
        assert isinstance(shard, SwhShard)
        key = shard.objects.keys[7]
        assert key is not None
        parking = shard.sketches(shard.trace(key))[0]
        source.ranges.clear()
        drawing = parking.draw({})
        assert len(figures(drawing, Table)[1].rows) == 1
        assert "The other keys of the bucket are drawn only for" in drawing.caption
        assert sum(stop - start for start, stop in source.ranges) <= 400
        (ring,) = figures(drawing, Ruler)
        assert (ring.start, ring.stop) == (0, 2027)
        assert drawing.more == 2027 - 9


def test_damaged_shards_are_drawn_or_told(ten: bytes) -> None:
    for data in mutations(ten, seed=15, count=rounds(200, 40)):
        try:
            shard = shardcore.open(data)
        except ShardError:
            continue
        with shard:
            for key in ("", key_of("5").hex(), "ab" * 32):
                for sketch in shard.sketches(shard.trace(key) if key else None):
                    try:
                        sketch.draw({})
                    except ShardError:
                        continue


def test_a_folder_draws_its_first_shard() -> None:
    with shardcore.open(DATA, format="swh") as shard:
        drawing = shard.sketches()[0].draw({})
        assert len({span.source for item in drawing.items for span in item.spans}) == 1
