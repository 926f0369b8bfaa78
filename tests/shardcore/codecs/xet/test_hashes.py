"""Xet hashes: text form, chunk hash and tree root, against published vectors and a plain reading."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.codecs.xet.hashes import as_rows, chunk_hash, from_text, to_text, to_texts, tree_root, truncated, words
from shardcore.errors import UsageError

ABC = "a8803506f7aff014f19aa9e9b79dc6455c49672570f96156071329698dd0284e"


def test_chunk_hash_vectors() -> None:
    raw = chunk_hash(b"abc")
    assert raw.hex() == "14f0aff7063580a845c69db7e9a99af15661f9702567495c4e28d08d69291307"
    assert to_text(raw) == ABC
    assert to_text(chunk_hash(b"defg")) == "cb0367032be0b25aa378acc51b375e568ff91f860bebb9b50731c3b2a92de1a5"


@given(st.binary(min_size=32, max_size=32))
def test_text_form_both_ways(raw: bytes) -> None:
    """The first 16 digits are the truncated hash."""
    text = to_text(raw)
    assert from_text(text) == raw
    assert from_text(text.upper()) == raw
    assert int(text[:16], 16) == truncated(raw)


@given(st.lists(st.binary(min_size=32, max_size=32), max_size=20))
def test_many_texts_and_their_order(hashes: list[bytes]) -> None:
    rows = as_rows(hashes)
    texts = to_texts(rows)
    assert texts == [to_text(raw) for raw in hashes]
    by_words = sorted(range(len(texts)), key=lambda i: tuple(words(rows)[i].tolist()))
    assert by_words == sorted(range(len(texts)), key=lambda i: texts[i])


def test_base64_form() -> None:
    text = "FPCv9wY1gKhFxp236ama8VZh-XAlZ0lcTijQjWkpEwc"
    assert to_text(from_text(text)) == to_text(from_text(text + "=")) == ABC


@pytest.mark.parametrize("text", ["", "abc", ABC[:-1], ABC + "0", ABC[:-1] + "g", " " + ABC[1:], "-" * 42, "+1" * 32])
def test_what_is_not_a_hash(text: str) -> None:
    with pytest.raises(UsageError, match="not a hash"):
        from_text(text)


def test_roots() -> None:
    """Of two chunks; and of 24 in three levels of groups: 6, 3, 3, 7, 4, 1; 4, 2; 2."""
    pair, sizes = as_rows([chunk_hash(b"abc"), chunk_hash(b"defg")]), np.array([3, 4], np.uint64)
    many = as_rows([chunk_hash(bytes([value])) for value in range(24)])
    assert to_text(tree_root(pair, sizes)) == "af43e72ea2c82ea243d57300833ee4472307f0d52d9ea55fc7b7f0eb4e06e855"
    root = tree_root(many, np.arange(1, 25, dtype=np.uint64))
    assert to_text(root) == "a9a164d74812a2bb3996cc2245062282757fb36b718418fd5024ccf17e0a66b4"
    with pytest.raises(UsageError, match="64 bits"):  # sizes that exceed 64 bits are not wrapped
        tree_root(pair, np.array([2**63, 2**63], dtype=np.uint64))
