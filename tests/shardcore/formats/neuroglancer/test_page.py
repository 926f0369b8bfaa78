"""The page of the format."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import shardcore.formats.neuroglancer
from shardcore.formats.neuroglancer.layout import MANIFEST_HEAD, MINISHARD_INDEX, SHARD_INDEX_ENTRY
from shardcore.formats.neuroglancer.morton import encode
from shardcore.formats.neuroglancer.sharding import murmur_low64
from shardcore.testing import PageContract

PAGE = Path(__file__).parents[4] / "docs" / "formats" / "neuroglancer.md"


class TestNeuroglancerPage(PageContract):
    page: ClassVar = PAGE
    layouts: ClassVar = {
        "shard index entry": SHARD_INDEX_ENTRY,
        "minishard index": MINISHARD_INDEX,
        "manifest": MANIFEST_HEAD,
    }


def test_hashes_on_the_page_are_right() -> None:
    pairs = re.findall(r"^\| (\d+) \| `0x([0-9a-f]{16})` \|$", PAGE.read_text(), re.MULTILINE)
    assert len(pairs) >= 4
    for key, hashed in pairs:
        assert murmur_low64(int(key)) == int(hashed, 16)


def test_every_finding_is_in_the_table() -> None:
    sources = Path(shardcore.formats.neuroglancer.__file__).parent.glob("*.py")
    used = {code for path in sources for code in re.findall(r'"(neuroglancer\.[a-z-]+)"', path.read_text())}
    told = re.findall(r"^\|[^|]*\| `(neuroglancer\.[a-z-]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert sorted(told) == sorted(used | {"neuroglancer.unreadable"})


def test_codes_on_the_page_are_right() -> None:
    rows = re.findall(r"^\| (\d+), (\d+), (\d+) \| (\d+), (\d+), (\d+) \| (\d+) \|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) >= 3
    for row in rows:
        numbers = [int(number) for number in row]
        assert encode(numbers[3:6], numbers[:3]) == numbers[6]
