"""Contracts of MDB shards, their page and drawings."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import shardcore
from shardcore.codecs.xet.chunker import cut_ends, rolling
from shardcore.formats.mdb import layout
from shardcore.formats.mdb.layout import FILE_HEADER, FOOTER, NO_EXPIRY, file_steps, locate
from shardcore.model.drawing import Drawing, Tone
from shardcore.model.record import Record
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import Shard
from shardcore.sources.base import Folder, Source
from shardcore.sources.memory import BytesSource
from shardcore.teaching.mdb.chunk_map import Cut, Rule
from shardcore.testing import DataSetContract, PageContract, ShardContract
from shardcore.testing.drawing_contract import DrawingContract

DATA = Path(__file__).parents[3] / "data" / "mdb"


ABSENT = (
    "fcd71d42a6d00e3468c946b0ff353728c6173d944afbfae4877c606fd5b8c255",
    "xorb:fcd71d42a6d00e3468c946b0ff353728c6173d944afbfae4877c606fd5b8c255",
    "chunk:0970425b7defb12b691e8e3b705620733deaaddd33a760e17a4e9ba333445533",
)


class TestMdb(ShardContract):
    samples = (
        *sorted((DATA / "cas").glob("shard*/*.mdb")),
        *(DATA / "derived" / f"{name}.mdb" for name in ("keyed_reply", "upload_form")),
    )
    absent = ABSENT
    alone = ("Table key",)
    open_ranges = 2
    find_ranges = 2

    def opened(self, where: Path | Source, **options: Any) -> Shard:
        alone = isinstance(where, Source) and where.folder is None
        return shardcore.open(where, xorbs=None if alone else DATA / "cas" / "xorbs", **options)

    def damaged(self, data: bytes, sample: Path) -> Source:
        return BytesSource(data, sample.name)


class TestMdbDataSet(DataSetContract):
    samples = (DATA / "cas" / "shard-cache", DATA / "cas")
    absent = ABSENT
    alone = ("Search every shard", "Table key")

    def opened(self, where: Path | Folder, **options: Any) -> DataSet:
        return super().opened(where, xorbs=DATA / "cas" / "xorbs", **options)


PAGE = Path(__file__).parents[4] / "docs" / "formats" / "mdb.md"
SHARDS = Path(__file__).parents[3] / "data" / "mdb" / "cas" / "shard-cache"


class TestMdbPage(PageContract):
    page: ClassVar = PAGE
    layouts: ClassVar = {found.name: found for found in vars(layout).values() if isinstance(found, Record)}


def test_the_worked_example_is_that_of_the_file() -> None:
    text = PAGE.read_text().partition("## 9. Worked example")[2]
    (path,) = SHARDS.glob("4605e746*.mdb")
    data = path.read_bytes()
    rows = re.findall(r"^ *(\d+) ((?:(?:[0-9a-f]{2})+[ |]+)+)", text, re.MULTILINE)
    assert len(rows) >= 6
    for start, shown in rows:
        raw = bytes.fromhex(re.sub(r"[^0-9a-f]", "", shown))
        assert data[int(start) : int(start) + len(raw)] == raw, start
    with shardcore.open(path, xorbs=SHARDS.parent / "xorbs") as shard:
        (key,) = re.findall(r"Looking up the file ([0-9a-f]{64})", text)
        steps = shard.trace(key).steps
        assert f"0x{key[:16]} = {int(key[:16], 16)}" in text
        assert str(steps[0].values["key"]) in text
        assert [span.start for span in steps[1].spans] == [720]
        assert steps[2].spans[0].start == 48
        assert (steps[4].values["start"], steps[4].values["stop"]) == (135711, 186625)
        assert (steps[-1].title, steps[-1].values["size"]) == ("Decompress and check", 204000)


@pytest.mark.parametrize(
    ("created", "expiry", "flavour"), [(5, 9, "full"), (0, NO_EXPIRY, "session"), (0, 9, "session")]
)
def test_flavours_with_tables(created: int, expiry: int, flavour: str) -> None:
    fields = {"cas_info_offset": 48, "file_lookup_offset": 96, "file_lookup_num_entry": 1}
    fields |= dict.fromkeys(("xorb_lookup_offset", "chunk_lookup_offset", "footer_offset"), 108)
    data = FOOTER.read_one(FOOTER.pack(**fields, shard_creation_timestamp=created, shard_key_expiry=expiry))
    assert locate(308, {"footer_size": 200}, data).flavour == flavour


def test_steps_do_not_wrap() -> None:
    row = FILE_HEADER.read(FILE_HEADER.pack(num_entries=0xFFFFFFFF, file_flags=0xC0000000))
    assert file_steps(row).tolist() == [2 * 0xFFFFFFFF + 2]


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
