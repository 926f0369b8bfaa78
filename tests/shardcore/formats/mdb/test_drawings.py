"""The drawings of MDB shards: files over xorbs, cuts compared, the short entrance, the steps of a lookup."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import shardcore
from shardcore.codecs.xet.chunker import cut_ends, rolling
from shardcore.formats.mdb.cuts_sketch import Cut, Rule
from shardcore.model.drawing import Drawing, Tone
from shardcore.shards.shard import Shard
from shardcore.testing.drawing_contract import DrawingContract

DATA = Path(__file__).parents[3] / "data" / "mdb"
SAMPLES = Path(__file__).parents[4] / "resources" / "samples" / "mdb"
CACHE = SAMPLES / "cache"
ONE = CACHE / "b31c58f4afe1d61b870f2aea365c952c79fd311d1fe55c9f3bbebf30df872205.mdb"
KEYED = SAMPLES / "odd" / "5f6e6359053ee90b52f8c8f813023bd3b2120a55898d0e5a22efc5e555744f2e.mdb"
SHARED_CHUNK = "chunk:1fcdd4ffdceb7c20b3349d6f334ef52b5fc2ea99ea6d59f0ec2b92aa331377fe"


def drawn(shard: Shard, name: str, key: str = "", **values: Any) -> Drawing:
    sketch = next(one for one in shard.sketches(shard.trace(key) if key else None) if one.name == name)
    sketch.draw({})
    return sketch.draw(values)


class TestDrawings(DrawingContract):
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
        inside = isinstance(where, Path) and DATA in where.parents
        return shardcore.open(where, xorbs=DATA / "cas" / "xorbs" if inside else None, **options)

    def keys(self, shard: Shard) -> list[str]:
        last = shard.objects.ref(len(shard.objects) - 1).key
        return [*super().keys(shard), *([last] if last else [])]


def test_a_shared_chunk_lights_every_use() -> None:
    with shardcore.open(ONE) as shard:
        drawing = drawn(shard, "ribbons", SHARED_CHUNK)
        (figure,) = drawing.figures
        pieces = {item.text: item for item in figure.below.items}
        shared = pieces["0 ×2"]
        assert (shared.tone, shared.here) == (Tone.ONE, True)
        assert shared.spans[0] == shard.find(SHARED_CHUNK).spans[0]
        assert [shard.explain(span.start)[-2].name for span in shared.spans[1:]] == ["segment 0", "segment 0"]
        assert [item.text for item in figure.above.items if item.here] == ["5baa…"]
        files = [shard.objects.ref(row) for row in range(4)]
        assert [item.size for item in figure.above.items] == [file.size for file in files]
        assert drawing.more == 0


def test_cuts_are_those_of_the_chunker() -> None:
    """After an insertion the ends are those of the whole content, hashed again."""
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


def test_xorbs_of_other_shards_are_drawn_with_estimated_sizes() -> None:
    with shardcore.open(DATA / "cas" / "shard-cache", xorbs=DATA / "cas" / "xorbs") as shard:
        key = next(key for key in shard.objects.keys[:] if key and key.startswith("d2ce46f5bde5faf0"))
        (figure,) = drawn(shard, "ribbons", key).figures
        assert [band.item.size for band in figure.bands] == [76564, 50906, 76530]
        assert [item.size for item in figure.below.items if item.tone is Tone.FAINT] == [50906, 50906]


def test_without_xorbs_there_is_nothing_to_cut(tmp_path: Path) -> None:
    (tmp_path / ONE.name).write_bytes(ONE.read_bytes())
    with shardcore.open(tmp_path / ONE.name) as shard:
        drawing = drawn(shard, "cuts")
        assert (drawing.figures, bool(drawing.caption)) == ((), True)
