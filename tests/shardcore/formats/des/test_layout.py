"""Layouts: metadata, hashes, and where the index begins."""

from __future__ import annotations

import pytest

from shardcore.errors import FormatError, Truncated
from shardcore.formats.des.layout import index_start, is_hash, read_meta
from shardcore.model.span import Span


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"[]", "list"),
        (b"3", "number"),
        (b"null", "null"),
        (b"{", "not JSON"),
        (b"\xff", "UTF-8"),
        (b"[" * 99999, "deep"),
    ],
)
def test_metadata_that_is_none(data: bytes, why: str) -> None:
    with pytest.raises(FormatError, match=why):
        read_meta(data)


@pytest.mark.parametrize("size", [97, 2**64 - 1, 3, 0])
def test_an_index_that_does_not_fit_is_refused(size: int) -> None:
    with pytest.raises(Truncated) as caught:
        index_start(116, {"index_size": size})
    assert caught.value.span == Span("", 108, 116)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (b"0" * 64, True),
        (b"aF" * 32, True),
        (b"0" * 63, False),
        (b"0" * 65, False),
        (b"g" * 64, False),
        (b"../" + b"0" * 61, False),
        (b"0" * 63 + b"\n", False),
        ("\u0662".encode() * 32, False),
    ],
)
def test_hashes(text: bytes, right: bool) -> None:
    assert is_hash(text) is right
