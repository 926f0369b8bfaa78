"""Stored chunk bytes: schemes, byte groups, and limits on what is expanded."""

from __future__ import annotations

import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.codecs.xet.chunk import read_chunk, read_groups, write_chunk, write_groups
from shardcore.codecs.xet.xorb_layout import MAX_STORED, MAX_UNPACKED, Scheme
from shardcore.errors import FormatError, Unsupported


def test_group_vector() -> None:
    assert write_groups(bytes(range(10))) == bytes.fromhex("00040801050902060307")
    assert read_groups(bytes.fromhex("00040801050902060307")) == bytes(range(10))


@given(st.binary(max_size=200))
def test_groups_both_ways(data: bytes) -> None:
    assert read_groups(write_groups(data)) == data


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


@pytest.mark.parametrize("scheme", [3, 99, 255])
def test_unknown_scheme(scheme: int) -> None:
    """Schemes beyond 2 are refused, 99 (automatic) among them."""
    with pytest.raises(Unsupported, match=str(scheme)):
        read_chunk(scheme, b"abc", 3)
    with pytest.raises(Unsupported, match=str(scheme)):
        write_chunk(scheme, b"abc")


def test_limits() -> None:
    with pytest.raises(FormatError, match=r"limits? (is|are) 131,072"):
        read_chunk(Scheme.NONE, b"", MAX_UNPACKED + 1)
    with pytest.raises(FormatError, match=r"limits? (is|are) 131,072"):
        read_chunk(Scheme.LZ4, bytes(MAX_STORED + 1), 5)
    with pytest.raises(FormatError, match=r"limits? (is|are) 131,072"):
        write_chunk(Scheme.LZ4, bytes(MAX_UNPACKED + 1))
