"""The filter of the objects: keys, sizes, states, kinds and codecs in one line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore import Shard, UsageError
from shardscope.session.object_rows import View, rows_of

SAMPLES = Path(__file__).parents[3] / "resources" / "samples"


@pytest.fixture
def shard(data: Path) -> Iterator[Shard]:
    """13 slots, of which some were deleted."""
    with shardcore.open(data / "swh" / "deleted.shard") as opened:
        opened.load_index()
        yield opened


def sizes(shard: Shard, text: str) -> list[int]:
    """The sizes of the rows that a filter leaves."""
    rows = rows_of(shard, View(text))
    found: list[int] = shard.objects.columns(rows.astype("int64")).size.tolist()
    return sorted(found)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        (">40", 41, 10**9),
        (">=40", 40, 10**9),
        ("<40", 0, 39),
        ("<=1K", 0, 1024),
        ("=264", 264, 264),
        ("size:264", 264, 264),
        ("26..264", 26, 264),
        ("size:100..", 100, 10**9),
        ("..37", 0, 37),
        (">0.. key:", 0, 0),
    ],
)
def test_sizes(shard: Shard, text: str, low: int, high: int) -> None:
    if text.startswith(">0.."):
        with pytest.raises(UsageError, match="invalid size"):
            sizes(shard, text)
        return
    everything = shard.objects.known(0, len(shard.objects)).size.tolist()
    expected = sorted(size for size in everything if low <= size <= high and size >= 0)
    assert sizes(shard, text) == expected
    assert expected


def test_states_and_keys_together(shard: Shard) -> None:
    assert len(sizes(shard, "state:live")) == 10
    assert sizes(shard, "state:unused") == [-1] * 3
    assert sizes(shard, "-state:unused,deleted") == sizes(shard, "state:live")
    assert sizes(shard, "state:live state:unused") == []
    key = next(key for key in shard.objects.keys if key)
    assert len(sizes(shard, f"state:live {key[:6]}")) == 1
    assert sizes(shard, f"state:unused {key[:6]}") == []


@pytest.mark.parametrize("name", ["swh/deleted.shard", "des/paths.des"])
def test_any_part_of_a_key(data: Path, name: str) -> None:
    with shardcore.open(data / name) as opened:
        opened.load_index()
        keys = opened.objects.key_texts(np.arange(len(opened.objects)))
        some = [key for key in keys if key]
        parts = {key[at : at + size] for key in some for at in (0, 1, len(key) - 2) for size in (1, 2, 5)} | {"zz"}
        across = {one[-2:] + other[:2] for one, other in pairwise(some)}
        for part in filter(str.isalnum, (parts | across) - set(some)):
            for text in (part, part.upper(), f"*{part}*"):
                rows = rows_of(opened, View(f"key:{text}"))
                fits = {text.strip("*"), text.strip("*").lower()}
                assert rows.tolist() == [row for row, key in enumerate(keys) if key and any(one in key for one in fits)]
        first = rows_of(opened, View(f"{some[0][:1]}*"))
        assert first.tolist() == [row for row, key in enumerate(keys) if key and key.startswith(some[0][:1])]


@pytest.mark.parametrize(
    ("text", "word"),
    [(">4X", ">4X"), ("size:abc", "size:abc"), ("state:gone", "gone"), ("kind:chunk", "chunk"), ("codec:", "codec:")],
)
def test_a_wrong_filter_names_the_word(shard: Shard, text: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        rows_of(shard, View(text))
