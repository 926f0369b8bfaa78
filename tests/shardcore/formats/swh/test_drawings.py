"""The drawings of a Read Shard: who parks where, and how a displacement is found among bits."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, ClassVar

import pytest

import shardcore
from shardcore.errors import ShardError, UsageError
from shardcore.formats.swh.layout import HASH_HEAD
from shardcore.formats.swh.shard import SwhShard
from shardcore.formats.swh.slot_placement_figures import path_of, stop_name
from shardcore.model.drawing import Bits, Cells, Drawing, Item, Ruler, Sketch, Table, Tone
from shardcore.model.span import Span
from shardcore.shards.shard import Shard
from shardcore.teaching.drawing.layout import placed
from shardcore.teaching.drawing.picture import Path as PathShape
from shardcore.teaching.drawing.picture import Text as TextShape
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
    """Every rectangle stands for bytes of the tree, or is computed; every control can be set."""

    samples: ClassVar = [DATA / f"{name}.shard" for name in ("small", "deleted", "medium", "one")]
    quick_samples: ClassVar[int] = 1
    names: ClassVar = ["parking", "displacement"]
    absent: ClassVar = ["ab" * 32]
    most_keys: ClassVar[int] = 1


def key_of(text: str) -> bytes:
    """The key of an object of one letter."""
    return hashlib.sha256(text.encode()).digest()


@pytest.fixture(scope="module")
def ten() -> bytes:
    """The worked example of ten objects, put together by hand."""
    objects = b"".join((1).to_bytes(8, "big") + text.encode() for text, *_ in TEN)
    slots = [bytes(32) + b"\xff" * 8] * 11
    for number, (text, *_, slot) in enumerate(TEN):
        slots[slot] = key_of(text) + (512 + 9 * number).to_bytes(8, "big")
    fields = (1, 10, 512, len(objects), 512 + len(objects), 440, 512 + len(objects) + 440)
    header = b"SWHShard".ljust(32, b"\0") + b"".join(field.to_bytes(8, "big") for field in fields)
    return header.ljust(512, b"\0") + objects + b"".join(slots) + TEN_SECTION


def sketches(shard: Shard, text: str) -> dict[str, Sketch]:
    """The sketches of the lookup of an object, by name."""
    return {sketch.name: sketch for sketch in shard.sketches(shard.trace(key_of(text).hex()))}


def figures(drawing: Drawing, kind: type[Any]) -> list[Any]:
    """The figures of a kind."""
    return [figure for figure in drawing.figures if isinstance(figure, kind)]


def slots_of(drawing: Drawing) -> Cells:
    """The slots of a drawing."""
    slots: Cells = next(figure for figure in figures(drawing, Cells) if figure.ring)
    return slots


def texts(items: tuple[Item, ...]) -> list[str]:
    """What stands in items."""
    return [item.text for item in items]


@pytest.mark.parametrize(("text", "g", "f", "h", "d", "slot"), TEN)
def test_the_worked_example_parks(ten: bytes, text: str, g: int, f: int, h: int, d: int, slot: int) -> None:
    """Bucket, first slot, step, displacement and slot of each of ten keys are those of the format notes."""
    with shardcore.open(ten) as shard:
        parking = sketches(shard, text)["parking"]
        drawing = parking.draw({})
        mixed, keys = figures(drawing, Table)
        buckets = figures(drawing, Cells)[0]
        assert texts(mixed.rows[0])[2:] == [f"bucket {g}", f"first slot {f}", f"step {h}"]
        assert [(item.at, item.text) for item in buckets.items if item.here] == [(g, f"d = {d}")]
        assert parking.controls[0].value == d
        p1, p0 = divmod(d, 11)
        key = key_of(text)
        assert texts(keys.rows[0]) == [f"{key.hex()[:4]}…", f"({f} + {h} · {p0} + {p1}) mod 11", str(slot), "fits"]
        assert [item.at for item in slots_of(drawing).items if item.here] == [slot]
        assert not drawing.what_if


def test_the_arrow_to_the_first_slot_comes_down_at_that_slot() -> None:
    """Below the title it goes to its slot first, and straight down then, across the arcs."""
    with shardcore.open(DATA / "small.shard") as shard:
        key = next(key for key in shard.objects.keys[:13] if key is not None and key.startswith("32ed"))
        drawing = shard.sketches(shard.trace(key))[0].draw({})
    picture = placed(drawing, 560)
    items = list(picture.items)
    slot = next(area.bounds for area in picture.areas if items[area.item].name == "slot 4")
    ways = [shape.moves for shape in picture.shapes if isinstance(shape, PathShape) and shape.arrow]
    routes = [moves for moves in ways if len(moves) > 5 and slot.x < moves[-1].to[0] < slot.right]
    straight = [moves[-1].to[1] - moves[-2].to[1] for moves in routes if abs(moves[-1].to[1] - slot.y) < 5]
    assert straight
    assert min(straight) > 60


def test_all_buckets_keep_their_displacements_while_the_mixing_is_unfolded() -> None:
    """The rounds come in addition: buckets and keys stay."""
    with shardcore.open(DATA / "small.shard") as shard:
        parking = shard.sketches()[0]
        plain, unfolded = parking.draw({}), parking.draw({"mixing": True})
    assert figures(unfolded, Cells)[0] == figures(plain, Cells)[0]
    assert figures(unfolded, Table)[-1] == figures(plain, Table)[-1]


def test_the_way_of_a_key_goes_around_the_ring(ten: bytes) -> None:
    """Object 5 begins at slot 10, jumps nine times by 2 around the ring, and goes three slots on."""
    with shardcore.open(ten) as shard:
        drawing = sketches(shard, "5")["parking"].draw({})
        # Nine jumps are more than are drawn one by one: the first three, then what is left, then p1.
        ways = [(link.start, link.stop, link.text) for link in drawing.links if link.start.startswith("slot")]
        assert ways == [
            ("slot 10", "slot 1", "+2 - 11"),
            ("slot 1", "slot 3", "+2"),
            ("slot 3", "slot 5", "+2"),
            ("slot 5", "slot 6", "… 6 more jumps"),
            ("slot 6", "slot 9", "+3 (p1)"),
        ]
        drawing = sketches(shard, "2")["parking"].draw({})
        ways = [(link.start, link.stop, link.text) for link in drawing.links if link.start.startswith("slot")]
        assert ways == [("slot 4", "slot 10", "+6"), ("slot 10", "slot 5", "+6 - 11")]


def test_a_place_after_many_jumps_is_not_counted_as_the_next() -> None:
    """Of 23 jumps three are drawn one by one; after the others the key is at (35 + 37 · 23) mod 41, its last jump."""
    path, whole = path_of(35, 37, 556, 41)
    assert not whole
    assert [slot for slot, _ in path] == [35, 31, 27, 23, 25, 38]
    names = [stop_name(number, text) for number, (_, text) in enumerate(path[:-1])]
    assert names == ["f", "1st", "2nd", "3rd", "last"]


def test_jumps_over_the_end_of_the_ring_are_seen() -> None:
    """Three jumps by 9 around 13 slots, each of them back by 4: what is added, and what is taken off, is written."""
    with shardcore.open(DATA / "small.shard") as shard:
        key = next(key for key in shard.objects.keys[:13] if key is not None and key.startswith("a1d4"))
        drawing = shard.sketches(shard.trace(key))[0].draw({})
        assert [link.text for link in drawing.links].count("+9 - 13") == 3
        words = [shape.text for shape in placed(drawing, 640).shapes if isinstance(shape, TextShape)]
        assert words.count("+9 - 13") >= 2


def test_the_slider_moves_all_keys_of_the_bucket_until_they_fit(ten: bytes) -> None:
    """Below the stored displacement some key falls on a slot that is taken, in red; at it, all fit."""
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
        # With d = 0 each stays where it begins: 1 at 6, where 4 lies; 3 at 3, where 7 lies; 8 at 4, which is theirs.
        told = figures(parking.draw({"displacement": 0}), Table)[1]
        assert [row[3].text for row in told.rows] == [
            f"slot taken by {key_of('4').hex()[:4]}…",
            f"slot taken by {key_of('7').hex()[:4]}…",
            "fits",
        ]


def test_an_absent_key_comes_to_a_slot_too(ten: bytes) -> None:
    """Only the comparison tells: the drawing says what the slot holds."""
    with shardcore.open(ten) as shard:
        trace = shard.trace("ab" * 32)
        drawing = shard.sketches(trace)[0].draw({})
        row = figures(drawing, Table)[1].rows[0]
        assert row[0].computed
        assert row[3].tone is Tone.MISS
        assert "Only the comparison" in drawing.caption
        compared = next(step.drawing for step in trace.steps if step.title == "Is it really this key?")
        assert compared is not None
        asked, found = figures(compared, Cells)
        assert [item.text for item in asked.items] == ["abababab"] * 8
        assert all(item.tone is Tone.MISS for item in found.items)


def test_from_bits_to_displacement(ten: bytes) -> None:
    """The bits of the worked example: one-bits 1, 2, 6; low bits 0, 1, 0; the store 1 | 1 | 11; 11 + 31 = 42."""
    with shardcore.open(ten) as shard:
        drawing = sketches(shard, "5")["displacement"].draw({})
        unary, low, store = figures(drawing, Bits)
        assert unary.value == 0x46
        assert {item.text: item.at for item in unary.items} == {"1": 2, "2": 6}
        assert (low.width, low.value) == (2, 0b01)
        assert store.value == 0x5D
        assert {item.text: (item.at, item.size) for item in store.items} == {
            "bucket 2": (3, 5),
            "0": (0, 2),
            "1": (2, 1),
        }
        ends, split = figures(drawing, Table)
        assert [texts(row)[-1] for row in ends.rows] == ["1 × 2 + 1 = 3", "4 × 2 + 0 = 8"]
        assert texts(split.rows[0]) == ["11 + 2^5 - 1 = 42", "42 mod 11 = 9", "42 // 11 = 3"]
        start = len(ten) - len(TEN_SECTION)
        store_at = start + HASH_HEAD.size + 12
        assert next(item.spans for item in store.items if item.here) == (Span("", store_at, store_at + 1),)


def test_a_large_shard_draws_the_key_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound only the key that is looked at moves, the drawing says so, and only its slots are read."""
    from shardcore.formats.swh import hash_data as hashing

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
        assert "The other keys of the bucket are not drawn" in drawing.caption
        assert sum(stop - start for start, stop in source.ranges) <= 400
        (ring,) = figures(drawing, Ruler)
        assert (ring.start, ring.stop) == (0, 2027)
        assert drawing.more == 2027 - 9


def test_without_a_lookup_the_first_object_is_drawn() -> None:
    """Of a single file and of a folder; the slider is there once the first drawing is."""
    for where in (DATA / "small.shard", DATA):
        with shardcore.open(where, format="swh") as shard:
            parking, displacement = shard.sketches()
            drawing = parking.draw({})
            assert figures(drawing, Table)[1].rows
            assert displacement.draw({}).figures
            assert [control.name for control in parking.controls] == ["displacement", "mixing"]
            sources = {span.source for item in drawing.items for span in item.spans}
            assert len(sources) == 1


def test_damaged_shards_are_drawn_or_told(ten: bytes) -> None:
    """Whatever a damaged shard says, a drawing is made, or an error of ours says why not."""
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


def test_values_that_cannot_be_name_the_range(ten: bytes) -> None:
    """A number outside the slider says which numbers are inside."""
    with shardcore.open(ten) as shard:
        parking = sketches(shard, "5")["parking"]
        with pytest.raises(UsageError, match="from 0 to 84"):
            parking.draw({"displacement": 85})


def test_lost_keys_are_not_drawn_as_if_they_were_found(ten: bytes) -> None:
    """Where a damaged displacement leads away from the keys, they are red; the slider finds the one that was meant."""
    data = bytearray(ten)
    # The store is 1 | 1 | 11: a bit of the last value turned over makes the displacement 43 out of 42.
    data[len(ten) - len(TEN_SECTION) + HASH_HEAD.size + 12] ^= 0x08
    with shardcore.open(bytes(data)) as shard:
        parking = sketches(shard, "5")["parking"]
        drawing = parking.draw({})
        assert "no lookup finds them" in drawing.caption
        assert all(row[3].text.startswith("lost: in slot") for row in figures(drawing, Table)[1].rows)
        assert "each key is in its slot" in parking.draw({"displacement": 42}).caption


def test_a_key_that_stands_twice_is_drawn_twice(ten: bytes) -> None:
    """A damaged index with the key of object 0 in the unused slot, too: both come to one slot, and that is red."""
    data = bytearray(ten)
    at = len(ten) - len(TEN_SECTION) - 440 + 40 * 2
    data[at : at + 40] = key_of("0") + (512).to_bytes(8, "big")
    with shardcore.open(bytes(data)) as shard:
        rows = figures(sketches(shard, "0")["parking"].draw({}), Table)[1].rows
        assert [row[0].here for row in rows].count(True) == 2
        assert {row[2].tone for row in rows[:2]} == {Tone.MISS}
