"""Chunks: schemes, byte groups, limits, boundaries, hashes."""

from __future__ import annotations

import hashlib
import random
import runpy
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from typing import Any

import lz4.frame
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import shardcore
from shardcore.codecs import extension
from shardcore.codecs.xet.chunker import GEAR, MAX_CHUNK, MIN_CHUNK, WINDOW, chunks, cut_ends
from shardcore.codecs.xet.hashes import as_rows, chunk_hash, from_text, to_text, to_texts, tree_root, truncated, words
from shardcore.codecs.xet.xorb_layout import (
    MAX_STORED,
    MAX_UNPACKED,
    Scheme,
    read_chunk,
    read_groups,
    write_chunk,
    write_groups,
)
from shardcore.errors import FormatError, Unsupported, UsageError


@given(st.binary(max_size=200))
@example(bytes(range(10)))
def test_groups_both_ways(data: bytes) -> None:
    assert read_groups(write_groups(data)) == data
    assert data != bytes(range(10)) or write_groups(data) == bytes.fromhex("00040801050902060307")


@given(st.sampled_from(Scheme), st.binary(max_size=50), st.integers(0, 2000))
def test_chunk_both_ways(scheme: Scheme, seed: bytes, count: int) -> None:
    data = (seed * count)[:MAX_UNPACKED]
    used, stored = write_chunk(scheme, data)
    assert used in (scheme, Scheme.NONE)
    assert len(stored) <= len(data)
    assert read_chunk(used, stored, len(data)) == data


def test_frame_as_the_reference_writes_it() -> None:
    """Independent blocks, no checksums, no content size: FLG 60, BD 40 or 50, an end mark."""
    for size, descriptor in ((65_536, 0x40), (65_537, 0x50)):
        used, stored = write_chunk(Scheme.LZ4, bytes(size))
        assert used is Scheme.LZ4
        assert stored[:6] == bytes.fromhex("04224d1860") + bytes([descriptor])
        assert stored[-4:] == bytes(4)


def test_a_bomb_is_not_expanded() -> None:
    bomb = lz4.frame.compress(bytes(60_000_000))
    assert len(bomb) <= MAX_STORED
    with pytest.raises(FormatError, match="more than the declared 1,000 bytes"):
        read_chunk(Scheme.LZ4, bomb, 1000)


@pytest.mark.parametrize("scheme", [Scheme.LZ4, Scheme.BG4_LZ4])
def test_damaged_frames(scheme: Scheme) -> None:
    data = b"abcd" * 500
    _, stored = write_chunk(scheme, data)
    for cut in range(len(stored)):
        with pytest.raises(FormatError):
            read_chunk(scheme, stored[:cut], len(data))
    with pytest.raises(FormatError, match="trailing bytes"):
        read_chunk(scheme, stored + b"\0", len(data))
    with pytest.raises(FormatError, match="2,000 bytes; 2,001 declared"):
        read_chunk(scheme, stored, len(data) + 1)


def test_unknown_schemes_and_limits() -> None:
    """Schemes beyond 2 are refused, 99 (automatic) among them."""
    for scheme in (3, 99, 255):
        for act in (lambda: read_chunk(scheme, b"abc", 3), lambda: write_chunk(scheme, b"abc")):  # noqa: B023
            with pytest.raises(Unsupported, match=str(scheme)):
                act()
    for act in (
        lambda: read_chunk(Scheme.NONE, b"", MAX_UNPACKED + 1),
        lambda: read_chunk(Scheme.LZ4, bytes(MAX_STORED + 1), 5),
        lambda: write_chunk(Scheme.LZ4, bytes(MAX_UNPACKED + 1)),
    ):
        with pytest.raises(FormatError, match="131,072"):
            act()


ROOT = Path(__file__).parents[4]
MDB_DATA = ROOT / "tests/data/mdb"

CUTS = {
    "alpha.bin": [12590, 96564, 147470, 200000],
    "beta.bin": [76564, 127470, 181080, 204000],
    "notes.txt": [9723, 90167, 179341],
    "weights.f32": [36888, 96000],
    "one.bin": [1],
    "empty.bin": [],
}


def test_table() -> None:
    digest = hashlib.sha256(GEAR.astype("<u8").tobytes()).hexdigest()
    assert digest == "e1d3936666d7ae7a977c958e9afcc75f90aaca758ce5fbe4ece61dffefe1912c"


def test_cuts_of_the_samples() -> None:
    files = runpy.run_path(str(MDB_DATA / "sources.py"))["build"]()
    assert {name: cut_ends(data) for name, data in files.items()} == CUTS


def test_cuts_by_numpy_and_by_the_extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both agree, on noise and where the sizes of chunks end; without a compiler NumPy is tested alone."""
    hook, ways = runpy.run_path(str(ROOT / "packaging/hook.py")), list[Any]([None])
    library = tmp_path / "native.abi3.so"
    if hook["compiled"](ROOT / hook["SOURCE"], library):
        ways.append(module_from_spec(spec_from_file_location("shardcore.codecs.native", library)))  # type: ignore[arg-type]
    noise = np.random.default_rng(1).bytes(3 << 19)
    limits = [limit + more for limit in (MIN_CHUNK, MAX_CHUNK) for more in (-1, 0, 1)]
    files = [bytes(size - WINDOW) + noise[164791 - WINDOW : 164791] + bytes(size) for size in limits]
    files += [noise, *(bytes(size) for size in (0, 1, *limits, 2 * MAX_CHUNK))]
    found = []
    for way in ways:
        monkeypatch.setattr(extension, "native", way)
        found.append(([*map(cut_ends, files)], [write_groups(noise[:size]) for size in range(9)]))
        assert [np.cumsum([*map(len, chunks([data]))]).tolist() for data in files] == found[-1][0]
    assert [ends[0] for ends in found[0][0][:6]] == [2 * MIN_CHUNK - 2, *limits[1:5], MAX_CHUNK]
    assert found[0][0][7:] == [[*range(MAX_CHUNK, len(data), MAX_CHUNK), len(data)][not data :] for data in files[7:]]
    assert found == found[:1] * len(ways)


@pytest.mark.parametrize("form", ["xorb", "mdb"])
def test_writing_without_the_extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setattr(extension, "native", None)
    content = np.arange(100_000, dtype="<f4").tobytes()
    with shardcore.create(tmp_path / f"x.{form}", format=form) as writer:
        writer.add(None, content)
    with shardcore.open(tmp_path / f"x.{form}") as shard:
        rows = np.arange(len(shard.objects) if form == "xorb" else 1)
        assert b"".join(shard.contents(rows)) == content


@given(st.integers(0, 1000), st.lists(st.integers(0, 100_000), max_size=8))
def test_pieces_do_not_matter(seed: int, cuts: list[int]) -> None:
    dice = random.Random(seed)
    sizes = (1, 60, 8191, 8192, 131_072, 200_000)
    data = b"".join(dice.choice((dice.randbytes, bytes))(dice.choice(sizes)) for _ in range(3))
    marks = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    found = list(chunks(data[i:j] for i, j in pairwise(marks)))
    assert b"".join(found) == data
    assert np.cumsum([len(chunk) for chunk in found]).tolist() == cut_ends(data)


ABC = "a8803506f7aff014f19aa9e9b79dc6455c49672570f96156071329698dd0284e"


def test_chunk_hash_vectors() -> None:
    raw = chunk_hash(b"abc")
    assert raw.hex() == "14f0aff7063580a845c69db7e9a99af15661f9702567495c4e28d08d69291307"
    assert to_text(raw) == ABC
    assert to_text(chunk_hash(b"defg")) == "cb0367032be0b25aa378acc51b375e568ff91f860bebb9b50731c3b2a92de1a5"


@given(st.lists(st.binary(min_size=32, max_size=32), max_size=20))
def test_many_texts_and_their_order(hashes: list[bytes]) -> None:
    rows = as_rows(hashes)
    texts = to_texts(rows)
    assert texts == [to_text(raw) for raw in hashes]
    assert [from_text(text) for text in texts] == [from_text(text.upper()) for text in texts] == hashes
    assert [int(text[:16], 16) for text in texts] == [truncated(raw) for raw in hashes]
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
