"""The drawings of MDB shards: files over xorbs, cuts compared, the short entrance, the steps of a lookup."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import shardcore
from shardcore.codecs.xet.chunker import cut_ends, rolling
from shardcore.errors import UsageError
from shardcore.formats.mdb.cuts_sketch import Cut, Rule
from shardcore.model.drawing import Drawing, Ribbon, Ruler, Table, Tone
from shardcore.shards.shard import Shard
from shardcore.testing.drawing_checks import check_drawing
from shardcore.testing.drawing_contract import DrawingContract

DATA = Path(__file__).parents[3] / "data" / "mdb"
SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "mdb"
CACHE = SAMPLES / "cache"
ONE = CACHE / "b31c58f4afe1d61b870f2aea365c952c79fd311d1fe55c9f3bbebf30df872205.mdb"
KEYED = SAMPLES / "odd" / "5f6e6359053ee90b52f8c8f813023bd3b2120a55898d0e5a22efc5e555744f2e.mdb"
BETA = "d2ce46f5bde5faf0"
CROWDED = "baf4e99684284b80e20ea161a518a872eba14281d9c0fe6a74aaf3feba7b4099"
SHARED_CHUNK = "chunk:1fcdd4ffdceb7c20b3349d6f334ef52b5fc2ea99ea6d59f0ec2b92aa331377fe"
ABSENT = "ecb07fd3fe5a24213f712989f6b9b236d4838d32a6698748c87097c1d06feac3"


def drawn(shard: Shard, name: str, key: str = "", **values: Any) -> Drawing:
    """A drawing of a shard, or of a lookup in it."""
    sketch = next(one for one in shard.sketches(shard.trace(key) if key else None) if one.name == name)
    sketch.draw({})
    return sketch.draw(values)


class TestDrawings(DrawingContract):
    """Every rectangle stands for bytes of the tree, or is computed; every control can be set."""

    samples: ClassVar = [
        ONE,
        CACHE,
        KEYED,
        *sorted(path for name in ("no-footer", "damaged") for path in (SAMPLES / name).glob("*.mdb")),
        *sorted((DATA / "cas").glob("shard*/*.mdb")),
        *sorted((DATA / "derived").glob("*.mdb")),
    ]
    quick_samples: ClassVar[int] = 1
    names: ClassVar = ["ribbons", "cuts", "entrance"]
    absent: ClassVar = ["chunk:0970425b7defb12b691e8e3b705620733deaaddd33a760e17a4e9ba333445533"]
    most_keys: ClassVar[int] = 1

    def opened(self, where: Any, **options: Any) -> Shard:
        """Opens a sample with its xorbs."""
        inside = isinstance(where, Path) and DATA in where.parents
        return shardcore.open(where, xorbs=DATA / "cas" / "xorbs" if inside else None, **options)

    def keys(self, shard: Shard) -> list[str]:
        """A file and a chunk, and what is not there."""
        last = shard.objects.ref(len(shard.objects) - 1).key
        return [*super().keys(shard), *([last] if last else [])]


def test_a_shared_chunk_lights_every_use() -> None:
    """A chunk of two files stands for its record and the segments of both; the caption has both sums of the shard."""
    with shardcore.open(ONE) as shard:
        drawing = drawn(shard, "ribbons", SHARED_CHUNK)
        (figure,) = drawing.figures
        assert isinstance(figure, Ribbon)
        pieces = {item.text: item for item in figure.below.items}
        shared = pieces["0 ×2"]
        assert (shared.tone, shared.here) == (Tone.ONE, True)
        assert shared.spans[0] == shard.find(SHARED_CHUNK).spans[0]
        assert [shard.explain(span.start)[-2].name for span in shared.spans[1:]] == ["segment 0", "segment 0"]
        assert [item.text for item in figure.above.items if item.here] == ["5baa…"]
        files = [shard.objects.ref(row) for row in range(4)]
        assert [item.size for item in figure.above.items] == [file.size for file in files]
        assert f"use {sum(file.size for file in files):,} bytes" in drawing.caption
        assert "which store 62,718:" in drawing.caption
        assert drawing.more == 0


def test_xorbs_of_other_shards_are_drawn_with_what_is_known() -> None:
    """The second segment of beta.bin is chunk 5 of a xorb that the shard does not list: 50,906 bytes, drawn faintly."""
    with shardcore.open(DATA / "cas" / "shard-cache", xorbs=DATA / "cas" / "xorbs") as shard:
        keys = (shard.objects.ref(row).key or "" for row in range(len(shard.objects)))
        key = next(key for key in keys if key.startswith(BETA))
        (figure,) = drawn(shard, "ribbons", key).figures
        assert isinstance(figure, Ribbon)
        assert [band.item.size for band in figure.bands] == [76564, 50906, 76530]
        faint = [(item.text, item.size) for item in figure.below.items if item.tone is Tone.FAINT]
        assert faint == [("xorb 6d9a… 5", 50906), ("5", 50906)]
        assert [(item.at, item.size) for item in figure.below.items[:1]] == [(0, 153094)]


def test_another_file_is_drawn() -> None:
    """The slider goes over the files in the order of their records; beyond the last there is none."""
    with shardcore.open(ONE) as shard:
        (figure,) = drawn(shard, "ribbons", file=3).figures
        assert isinstance(figure, Ribbon)
        assert [item.here for item in figure.above.items] == [False, False, False, True]
        with pytest.raises(UsageError, match="0 to 3"):
            drawn(shard, "ribbons", file=4)


def test_of_many_files_those_that_share_chunks_come_first(make_shard: Callable[..., bytes]) -> None:
    """Of 2,000 files the one asked for and some that share chunks with it are drawn; the others are counted."""
    with shardcore.open(make_shard(3, 2000, 10, 400)) as shard:
        key = str(shard.objects.ref(700).key)
        drawing = drawn(shard, "ribbons", key)
        (figure,) = drawing.figures
        assert isinstance(figure, Ribbon)
        names = [item.doc.split()[1].rstrip(":") for item in figure.above.items]
        (here,) = (name for name, item in zip(names, figure.above.items, strict=True) if item.here)
        assert here == key
        wanted = shard.find(key).extras["segments"]
        for name in names:
            shared = [
                True
                for one in wanted
                for other in shard.find(name).extras["segments"]
                if one["xorb"] == other["xorb"] and one["start"] < other["end"] and other["start"] < one["end"]
            ]
            assert shared
        assert len(names) == 5
        assert drawing.more == 2000 - len(names) + 3 * (2000 - len(names))
        check_drawing(shard, drawing)


def test_cuts_are_those_of_the_chunker() -> None:
    """At the real limits the ends are the chunker's; after an insertion, those of the whole content hashed anew."""
    dice = random.Random(5)
    for data in (dice.randbytes(300_000), bytes(200_000), dice.randbytes(40), b""):
        hashes = rolling(np.frombuffer(data, np.uint8))
        assert Rule().ends(Rule().candidates(hashes).tolist(), len(data)) == cut_ends(data)
        cut = Cut(data, 6)
        for place in (0, len(data) // 3, len(data)):
            after, ends = cut.with_inserted(place, b"0123456789")
            whole = cut.rule.candidates(rolling(np.frombuffer(after, np.uint8)))
            assert after == data[:place] + b"0123456789" + data[place:]
            assert ends == cut.rule.ends(whole.tolist(), len(after))


def test_ten_bytes_move_fixed_cuts_and_no_others() -> None:
    """Of pieces of 8,192 bytes all from the place on are new; by content one is: what is new has a hatch."""
    with shardcore.open(CACHE) as shard:
        drawing = drawn(shard, "cuts", CROWDED)
        size = shard.find(CROWDED).size
        before, fixed, content, after = drawing.figures
        for figure in drawing.figures:
            assert isinstance(figure, Ruler)
        assert [item.tone for item in before.items[:-1]] == [Tone.DATA] * 5
        assert [item.tone for item in fixed.items[:-1]] == [Tone.DATA, *[Tone.MISS] * 4]
        assert sum(item.size for item in content.items) == size
        new = [item.size for item in after.items if item.tone is Tone.MISS]
        assert new == [9032]
        assert "4 of 5 pieces are new, 29,392 bytes to store" in drawing.caption
        assert "1 of 8 pieces is new, 9,032 bytes" in drawing.caption
        assert "8 times smaller than in Xet" in drawing.caption
        assert drawing.what_if


def test_without_xorbs_there_is_nothing_to_cut(tmp_path: Path) -> None:
    """A sentence says what is missing, and what to do."""
    (tmp_path / ONE.name).write_bytes(ONE.read_bytes())
    with shardcore.open(tmp_path / ONE.name) as shard:
        drawing = drawn(shard, "cuts")
        assert drawing.figures == ()
        assert "cannot be read" in drawing.caption
        assert "Choose the folder of the xorbs" in drawing.caption
    with shardcore.open(KEYED) as shard:
        assert "187 bytes are too few" in drawn(shard, "cuts").caption


def test_the_short_entrance_leads_to_the_record() -> None:
    """Key, row and record are joined by arrows, and all four words of the hash agree; an absent key has no record."""
    with shardcore.open(CACHE) as shard:
        drawing = drawn(shard, "entrance", CROWDED)
        key, rows, section, whole = drawing.figures
        assert [link.stop for link in drawing.links] == ["row", "record", "stored"]
        assert key.items[0].text == CROWDED[:16]
        assert isinstance(rows, Table)
        assert [row[1].text for row in rows.rows if row[0].here] == [CROWDED[:16]]
        assert isinstance(section, Ruler)
        assert isinstance(whole, Table)
        assert "".join(row[2].text for row in whole.rows) == CROWDED
        assert {row[2].tone for row in whole.rows} == {Tone.HIT}
        absent = drawn(shard, "entrance", ABSENT)
        assert len(absent.figures) == 2
        assert "not in this shard" in absent.caption


def test_each_step_has_a_drawing() -> None:
    """A table entry is drawn field by field, and two hashes are compared in the digits of their text form."""
    with shardcore.open(CACHE) as shard:
        steps = {step.title: step.drawing for step in shard.trace(CROWDED).steps}
        search, compare = steps["Search the file lookup table"], steps["Compare the whole hash"]
        assert search is not None
        assert compare is not None
        fields = search.figures[1]
        assert [item.text for item in fields.items[2::3]] == [str(int(CROWDED[:16], 16)), "8"]
        assert "".join(item.text for item in compare.figures[1].items) == CROWDED
        assert {item.tone for item in compare.figures[1].items} == {Tone.HIT}
