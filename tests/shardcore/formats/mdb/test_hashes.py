"""Hashes that only shards use, against the published vectors."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from shardcore.codecs.xet.hashes import ZERO, as_rows, chunk_hash, to_text, to_texts
from shardcore.errors import UsageError
from shardcore.formats.mdb.hashes import (
    file_hash,
    file_hashes,
    protect,
    protect_many,
    range_hash,
    range_hashes,
    sha256_digest,
    sha256_field,
    shard_name,
)

DATA = Path(__file__).parents[3] / "data" / "mdb"
PAIR = as_rows([chunk_hash(b"abc"), chunk_hash(b"defg")])
PAIR_SIZES = np.array([3, 4], dtype=np.uint64)
KEY = bytes(range(1, 33))


def test_file_hash_vectors() -> None:
    pair = "eb435d06c8c6c5c88d87a96baf3a343dff1822bddd77f035dbe23295141e25d8"
    single = "55b9df318a7c45f470d57b04d8ca79a15b0637ffe94b25041a58d00c3528afff"
    assert to_text(file_hash(PAIR, PAIR_SIZES)) == pair
    assert to_text(file_hash(PAIR[:1], PAIR_SIZES[:1])) == single
    many = as_rows([chunk_hash(bytes([value])) for value in range(24)])
    text = "8b98e096769bf17a325ac69698d07cb7099685c1c7bc75e61df62d005191de8f"
    assert to_text(file_hash(many, np.arange(1, 25, dtype=np.uint64))) == text
    none = PAIR[:0]  # there is no last step over a root that does not exist
    assert file_hash(none, PAIR_SIZES[:0]) == ZERO
    rows, sizes = np.concatenate([PAIR, PAIR[:1]]), np.array([3, 4, 3], dtype=np.uint64)
    texts = to_texts(file_hashes(rows, sizes, np.array([0, 0, 2, 2, 3, 3])))
    assert texts == ["0" * 64, pair, "0" * 64, single, "0" * 64]
    empty = file_hashes(none, PAIR_SIZES[:0], np.array([0])), range_hashes(none, np.array([0])), protect_many(KEY, none)
    assert list(map(len, empty)) == [0, 0, 0]


def test_range_hash_vectors() -> None:
    both = "a9b08e00248d3a780e7549361f1be6049c0fe4ec856eb1b30b01a53a03ea2f4d"
    one = "d7586bf505d8886dacb19b302c04c9be061198b1ee2de942618a7f8b30e1b74b"
    assert [to_text(range_hash(PAIR[:count])) for count in (2, 1)] == [both, one]
    assert to_texts(range_hashes(np.concatenate([PAIR, PAIR[:1]]), np.array([0, 2, 3]))) == [both, one]


def test_hmac_vector() -> None:
    text = "04fb1e2ded9f0265d73fe6e663f4235ce662265af5f5f52bba527fac763834b0"
    assert to_text(protect(KEY, chunk_hash(b"abc"))) == text
    assert to_texts(protect_many(KEY, PAIR))[0] == text
    assert protect(ZERO, chunk_hash(b"abc")) == chunk_hash(b"abc")
    assert (protect_many(ZERO, PAIR) == PAIR).all()


def test_sha256_field_vector() -> None:
    digest = hashlib.sha256(b"abc").hexdigest()
    field = sha256_field(digest)
    assert field.hex() == "eacf018fbf1678ba2322ae5dde4041419c7a1796a36103b0ad1500f261ff10b4"
    assert sha256_digest(field) == digest
    with pytest.raises(UsageError):
        sha256_field(digest[:-2])


def test_shard_name_of_real_shards() -> None:
    paths = sorted((DATA / "cas").glob("shard*/*.mdb"))
    assert len(paths) == 4
    for path in paths:
        data = path.read_bytes()
        assert shard_name([data]) == shard_name([data[:100], data[100:]]) == path.name
