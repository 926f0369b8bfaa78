"""Chunk boundaries, against the samples made by hf-xet and a plain rolling hash."""

from __future__ import annotations

import hashlib
import random
import runpy
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.codecs.xet.chunker import GEAR, MAX_CHUNK, chunks, cut_ends

MDB_DATA = Path(__file__).parents[3] / "data" / "mdb"

CUTS = {
    "alpha.bin": [12590, 96564, 147470, 200000],
    "beta.bin": [76564, 127470, 181080, 204000],
    "notes.txt": [9723, 90167, 179341],
    "weights.f32": [36888, 96000],
    "one.bin": [1],
    "empty.bin": [],
}


def test_table() -> None:
    assert len(GEAR) == 256
    digest = hashlib.sha256(GEAR.astype("<u8").tobytes()).hexdigest()
    assert digest == "e1d3936666d7ae7a977c958e9afcc75f90aaca758ce5fbe4ece61dffefe1912c"


def test_cuts_of_the_samples() -> None:
    files = runpy.run_path(str(MDB_DATA / "sources.py"))["build"]()
    assert {name: cut_ends(data) for name, data in files.items()} == CUTS


def zeros_and_noise(seed: int) -> bytes:
    source = random.Random(seed)
    parts = [
        source.choice((source.randbytes, bytes))(source.choice((1, 60, 8191, 8192, 131_072, 200_000))) for _ in range(3)
    ]
    return b"".join(parts)


@pytest.mark.parametrize("size", [0, 1, MAX_CHUNK - 1, MAX_CHUNK, MAX_CHUNK + 1, 2 * MAX_CHUNK])
def test_forced_cuts(size: int) -> None:
    ends = cut_ends(bytes(size))
    assert list(ends) == ([*range(MAX_CHUNK, size, MAX_CHUNK), size] if size else [])
    assert [len(chunk) for chunk in chunks([bytes(size)])] == np.diff([0, *ends]).tolist()


@given(st.integers(0, 1000), st.lists(st.integers(0, 100_000), max_size=8))
def test_pieces_do_not_matter(seed: int, cuts: list[int]) -> None:
    data = zeros_and_noise(seed)
    marks = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    found = list(chunks(data[i:j] for i, j in pairwise(marks)))
    assert b"".join(found) == data
    assert np.cumsum([len(chunk) for chunk in found]).tolist() == cut_ends(data)
