"""Xet hashes: text form, chunk hash and tree root, against published vectors and a plain reading."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from shardcore.codecs.xet.hashes import (
    NODE_KEY,
    ZERO,
    as_rows,
    chunk_hash,
    from_text,
    to_text,
    to_texts,
    tree_root,
    tree_roots,
    truncated,
    words,
)
from shardcore.errors import UsageError

ABC = "a8803506f7aff014f19aa9e9b79dc6455c49672570f96156071329698dd0284e"


def plain_root(items: list[tuple[bytes, int]]) -> bytes:
    """The tree rule read word by word, one item at a time."""
    if not items:
        return ZERO
    while len(items) > 1:
        level: list[tuple[bytes, int]] = []
        at = 0
        while at < len(items):
            left = len(items) - at
            take = min(9, left)
            if left > 2:
                for offset in range(2, min(9, left)):
                    if struct.unpack("<4Q", items[at + offset][0])[3] % 4 == 0:
                        take = offset + 1
                        break
            group = items[at : at + take]
            text = "".join(f"{to_text(raw)} : {size}\n" for raw, size in group)
            level.append((blake3(text.encode(), key=NODE_KEY).digest(), sum(size for _, size in group)))
            at += take
        items = level
    return items[0][0]


def test_chunk_hash_vectors() -> None:
    """Chunk hashes equal the published vectors, as bytes and as text."""
    raw = chunk_hash(b"abc")
    assert raw.hex() == "14f0aff7063580a845c69db7e9a99af15661f9702567495c4e28d08d69291307"
    assert to_text(raw) == ABC
    assert to_text(chunk_hash(b"defg")) == "cb0367032be0b25aa378acc51b375e568ff91f860bebb9b50731c3b2a92de1a5"


@given(st.binary(min_size=32, max_size=32))
def test_text_form_both_ways(raw: bytes) -> None:
    """Reading the text form gives the bytes back, and its first 16 digits are the truncated hash."""
    text = to_text(raw)
    assert from_text(text) == raw
    assert from_text(text.upper()) == raw
    assert int(text[:16], 16) == truncated(raw)


@given(st.lists(st.binary(min_size=32, max_size=32), max_size=20))
def test_many_texts_and_their_order(hashes: list[bytes]) -> None:
    """Many hashes at once read as one by one, and their words sort as their texts do."""
    rows = as_rows(hashes)
    texts = to_texts(rows)
    assert texts == [to_text(raw) for raw in hashes]
    assert sorted(range(len(texts)), key=lambda i: tuple(words(rows)[i].tolist())) == sorted(
        range(len(texts)), key=lambda i: texts[i]
    )


def test_base64_form() -> None:
    """The rare base64url form of the raw bytes is understood, padded or not."""
    text = "FPCv9wY1gKhFxp236ama8VZh-XAlZ0lcTijQjWkpEwc"
    assert to_text(from_text(text)) == to_text(from_text(text + "=")) == ABC


@pytest.mark.parametrize("text", ["", "abc", ABC[:-1], ABC + "0", ABC[:-1] + "g", " " + ABC[1:], "-" * 42, "+1" * 32])
def test_what_is_not_a_hash(text: str) -> None:
    """Anything but 64 hexadecimal digits or base64url of 32 bytes is refused."""
    with pytest.raises(UsageError, match="not a hash"):
        from_text(text)


def test_root_of_two() -> None:
    """The xorb of `abc` and `defg` has the published hash."""
    rows = as_rows([chunk_hash(b"abc"), chunk_hash(b"defg")])
    root = tree_root(rows, np.array([3, 4], dtype=np.uint64))
    assert to_text(root) == "af43e72ea2c82ea243d57300833ee4472307f0d52d9ea55fc7b7f0eb4e06e855"


def test_root_of_twenty_four() -> None:
    """Three levels of groups (6,3,3,7,4,1 / 4,2 / 2) give the published root."""
    rows = as_rows([chunk_hash(bytes([value])) for value in range(24)])
    root = tree_root(rows, np.arange(1, 25, dtype=np.uint64))
    assert to_text(root) == "a9a164d74812a2bb3996cc2245062282757fb36b718418fd5024ccf17e0a66b4"


def test_root_of_none_and_one() -> None:
    """An empty list has the zero hash, a list of one is its own root."""
    none = np.empty((0, 32), dtype=np.uint8)
    assert tree_root(none, np.empty(0, dtype=np.uint64)) == ZERO
    assert tree_root(as_rows([chunk_hash(b"abc")]), np.array([3], dtype=np.uint64)) == chunk_hash(b"abc")


@given(
    st.integers(0, 2**32),
    st.lists(st.integers(0, 40), max_size=12),
    st.sampled_from([1, 10, 2**17, 2**40, 2**55]),
)
def test_many_roots_equal_plain_reading(seed: int, lengths: list[int], top: int) -> None:
    """Roots of many lists at once equal the rule applied word by word, for sizes of any number of digits."""
    source = random.Random(seed)
    items = [(source.randbytes(32), source.randrange(top)) for _ in range(sum(lengths))]
    bounds = np.cumsum([0, *lengths])
    roots = tree_roots(
        as_rows([raw for raw, _ in items]), np.array([size for _, size in items], dtype=np.uint64), bounds
    )
    expected = [plain_root(items[i:j]) for i, j in pairwise(bounds)]
    assert [row.tobytes() for row in roots] == expected


def test_long_list_equals_plain_reading() -> None:
    """A list that needs several blocks of text per level has the same root."""
    source = random.Random(7)
    items = [(source.randbytes(32), source.randrange(200_000)) for _ in range(30_000)]
    rows, sizes = as_rows([raw for raw, _ in items]), np.array([size for _, size in items], dtype=np.uint64)
    assert tree_root(rows, sizes) == plain_root(items)


def test_sizes_that_overflow() -> None:
    """Sizes whose sum 64 bits cannot hold are refused, not wrapped."""
    rows = as_rows([chunk_hash(b"abc")] * 2)
    with pytest.raises(UsageError, match="64 bits"):
        tree_root(rows, np.array([2**63, 2**63], dtype=np.uint64))


@pytest.mark.parametrize("name", ["mdb", "xorb"])
def test_importing_a_format_that_hashes_imports_no_heavy_library(name: str) -> None:
    """BLAKE3 and the decompressors are imported when something is hashed or unpacked, not to recognise a file."""
    program = (
        f"import sys, shardcore.formats.{name}.shard\n"
        "print([name for name in ('blake3', 'lz4', 'lz4.frame', 'zstandard', 'blosc2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
