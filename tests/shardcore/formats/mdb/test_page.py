"""The page of the format."""

import re
from pathlib import Path
from typing import ClassVar

import shardcore
from shardcore.formats.mdb import layout
from shardcore.model.record import Record
from shardcore.testing import PageContract

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
