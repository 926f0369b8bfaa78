from __future__ import annotations

import numpy as np
import pytest

from shardcore.errors import FormatError, LimitExceeded, ShardError, Truncated, Unsupported
from shardcore.formats.bloscpack.blosc1 import (
    ChunkHeader,
    _is_sound,
    check_chunk,
    check_chunk_header,
    map_chunk,
    read_chunk_header,
    write_chunk_header,
)
from shardcore.model.span import Span
from tests.shardcore.formats.bloscpack.chunks import BIT, BYTE, make_chunk, memcpy, sample

# "hell" of the worked example in the fact sheet, byte by byte.
HELL = bytes.fromhex(
    "02 01 33 01"  # version, versionlz, flags, typesize
    "04000000 04000000 14000000"  # nbytes, blocksize, ctbytes
    "68656c6c"  # the uncompressed bytes
)


def changed(chunk: bytes, **fields: int) -> bytes:
    """The chunk with some header fields replaced."""
    header = read_chunk_header(chunk)
    values = {name: getattr(header, name) for name in ChunkHeader.__dataclass_fields__} | fields
    return write_chunk_header(ChunkHeader(**values)) + chunk[16:]


def test_header_is_read_from_written_out_bytes() -> None:
    """Every field stands where the format says, and writing gives the same bytes."""
    header = read_chunk_header(HELL)
    assert header == ChunkHeader(2, 1, 0x33, 1, 4, 4, 20)
    assert write_chunk_header(header) == HELL[:16]


def test_flags_have_names() -> None:
    """The flag byte reads as words: the filter, the copy, the split, the codec."""
    header = read_chunk_header(HELL)
    assert header.flag_names() == ["byte shuffle", "memcpyed", "not split", "lz4"]
    assert (header.codec_name, header.memcpyed, header.filter_name) == ("lz4", True, "none")


@pytest.mark.parametrize(
    ("flags", "typesize", "codec", "filter_name"),
    [
        (0x10, 8, "blosclz", "none"),
        (0x11, 8, "blosclz", "shuffle"),
        (0x11, 1, "blosclz", "none"),
        (0x54, 8, "snappy", "bitshuffle"),
        (0xF0, 8, "codec 7", "none"),
    ],
)
def test_codec_and_filter_by_name(flags: int, typesize: int, codec: str, filter_name: str) -> None:
    """The names follow the bits; a byte shuffle of single bytes is none."""
    header = ChunkHeader(2, 1, flags, typesize, 10, 10, 30)
    assert (header.codec_name, header.filter_name) == (codec, filter_name)


@pytest.mark.parametrize(
    ("typesize", "blocksize", "flags", "streams"),
    [(4, 512, 0x20, 4), (4, 511, 0x20, 1), (16, 2048, 0x20, 16), (17, 17 * 200, 0x20, 1), (4, 512, 0x30, 1)],
)
def test_number_of_streams(typesize: int, blocksize: int, flags: int, streams: int) -> None:
    """A block is split only with flag 0x10 clear, elements of at most 16 bytes and 128 of them."""
    assert ChunkHeader(2, 1, flags, typesize, 10000, blocksize, 99).streams == streams


def test_map_of_split_blocks() -> None:
    """Each stream is found, also with the blocks in another order, and they cover the chunk to its end."""
    plain = sample(2048 + 300)
    chunk = make_chunk(plain, how=BYTE, typesize=4, blocksize=1024, split=True, order=lambda n: n[::-1])
    found = map_chunk(chunk)
    assert found.stream_at.shape == (3, 4)
    assert found.starts.tolist() == sorted(found.starts.tolist(), reverse=True)
    assert (found.stream_at[2, 1:] == -1).all()  # the short last block has one stream
    assert [found.block_plain(i) for i in range(3)] == [1024, 1024, 300]
    assert found.block_stop(0) == len(chunk)
    lengths = int(found.stream_size.sum()) + 4 * int((found.stream_at >= 0).sum())
    assert 16 + 4 * 3 + lengths == len(chunk)


def test_map_of_a_memcpy_has_no_blocks() -> None:
    """A memcpy and an empty chunk have nothing to follow."""
    assert len(map_chunk(HELL).starts) == 0
    assert len(map_chunk(memcpy(b"")).starts) == 0


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"version": 3}, Unsupported, "version 3"),
        ({"version": 5}, Unsupported, "version 5"),
        ({"version": 0}, Unsupported, "version 0"),
        ({"versionlz": 2}, FormatError, "versionlz is 2"),
        ({"flags": 0x75}, Unsupported, "Blosc-2"),
        ({"flags": 0x78}, FormatError, "0x08"),
        ({"flags": 0x50}, Unsupported, "snappy"),
        ({"flags": 0xB0}, Unsupported, "codec 5"),
        (
            {"flags": 0x72},
            FormatError,
            "a memcpy of 5,000 bytes has 5,016 with its header; ctbytes is 4,510",
        ),
        ({"typesize": 0}, FormatError, "typesize of the chunk is 0"),
        ({"ctbytes": 15}, FormatError, "ctbytes is 15 bytes"),
        ({"ctbytes": 2**31}, Truncated, "2,147,483,648 bytes"),
        ({"blocksize": 0}, FormatError, "blocksize is 0"),
        ({"blocksize": 5001}, FormatError, "blocksize is 5001"),
        ({"nbytes": 2**31 - 17, "blocksize": 2**31 - 17}, LimitExceeded, "limit"),
        ({"nbytes": 10**9}, FormatError, "the starts of 1,000,000 blocks do not fit"),
        ({"nbytes": 10**9, "blocksize": 10**9}, FormatError, "cannot hold"),
    ],
)
def test_impossible_header_is_refused(fields: dict[str, int], error: type[ShardError], words: str) -> None:
    """A header that no writer makes is refused with a reason, before anything is allocated for it."""
    chunk = changed(make_chunk(sample(5000)), **fields)
    place = Span("", 100, 100 + len(chunk))
    with pytest.raises(error, match=words) as caught:
        map_chunk(chunk, place=place)
    assert caught.value.span is not None
    assert caught.value.span.start >= 100


def test_a_cut_chunk_is_refused_at_every_length() -> None:
    """A chunk cut anywhere is truncated, whatever was lost."""
    chunk = make_chunk(sample(3000), how=BYTE, typesize=4, blocksize=600, split=True)
    for length in range(len(chunk)):
        with pytest.raises(Truncated):
            map_chunk(chunk[:length])
    with pytest.raises(FormatError, match="ends after"):
        map_chunk(chunk + b"x")


@pytest.mark.parametrize("start", [0, 15, 27, -1, 10**6, 2**31 - 1])
def test_a_block_start_outside_is_refused_at_its_slot(start: int) -> None:
    """A start before the end of the table or after the chunk is named, with the slot's place."""
    chunk = bytearray(make_chunk(sample(3000), blocksize=1000))
    chunk[20:24] = (start & 0xFFFFFFFF).to_bytes(4, "little")
    with pytest.raises(FormatError, match=r"block 1 begins at byte .* of the chunk, outside 0x1c to 0xa94") as caught:
        map_chunk(bytes(chunk), place=Span("", 1000, 1000 + len(chunk)))
    assert caught.value.span == Span("", 1020, 1024)


@pytest.mark.parametrize("length", [0, -1, 1001, 2**31 - 1, -(2**31)])
def test_a_stream_length_that_leads_outside_is_refused(length: int) -> None:
    """A stream is 1 byte to its plain length long, and inside the chunk."""
    chunk = bytearray(make_chunk(sample(3000), blocksize=1000))
    at = int(map_chunk(bytes(chunk)).stream_at[1, 0])
    chunk[at : at + 4] = (length & 0xFFFFFFFF).to_bytes(4, "little")
    with pytest.raises(FormatError, match="block 1, stream 0"):
        map_chunk(bytes(chunk))


def test_streams_that_run_past_the_end_are_refused() -> None:
    """The second stream of a block is followed only when its length field is inside."""
    plain = bytes(1024)
    chunk = make_chunk(plain, how=BYTE, typesize=2, blocksize=1024, split=True)
    found = map_chunk(chunk)
    last = int(found.stream_at[0, 1])
    cut = changed(chunk, ctbytes=last + 2)[: last + 2]
    with pytest.raises(FormatError, match=r"stream 1.*ends before the length of the stream does"):
        map_chunk(cut)


def test_splits_that_leave_bytes_over_are_refused() -> None:
    """Streams of a block that typesize does not divide would leave bytes that nobody wrote."""
    chunk = make_chunk(sample(3000), typesize=3, blocksize=600, split=True)
    with pytest.raises(FormatError, match="cannot be split"):
        map_chunk(changed(chunk, blocksize=601))


def test_many_small_blocks_are_mapped_without_a_loop_per_block() -> None:
    """A hundred thousand blocks cost array operations, not a hundred thousand steps of Python."""
    nblocks = 100_000
    table = np.full(nblocks, 16 + 4 * nblocks, "<i4").tobytes()
    head = ChunkHeader(2, 1, 0x30, 1, nblocks, 1, 16 + 4 * nblocks + 5)
    chunk = write_chunk_header(head) + table + b"\x01\0\0\0x"
    found = map_chunk(chunk)
    assert found.stream_size.sum() == nblocks


def test_the_limit_is_the_callers() -> None:
    """One byte more than the limit is refused; the limit itself is not."""
    header = read_chunk_header(make_chunk(sample(5000), how=BIT, typesize=4))
    check_chunk_header(header, limit=5000)
    with pytest.raises(LimitExceeded):
        check_chunk_header(header, limit=4999)


@pytest.mark.thorough
@pytest.mark.parametrize("codec", [1, 3])
def test_both_ways_to_follow_streams_agree(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams followed one by one and all at once let the same chunks pass, and refuse the same damage."""
    dice = np.random.default_rng(codec)
    chunk = make_chunk(sample(5000), codec=codec, how=BYTE, typesize=4, blocksize=700, split=True)

    def outcome(data: bytes, few: int) -> str:
        monkeypatch.setattr("shardcore.formats.bloscpack.blosc1.FEW_STREAMS", few)
        try:
            check_chunk(data)
        except ShardError as error:
            return str(error)
        return ""

    refused = 0
    for _ in range(1500):
        damaged = bytearray(chunk)
        for _ in range(int(dice.integers(0, 4))):
            at = int(dice.integers(16, len(chunk) if dice.random() < 0.5 else 60))
            damaged[at] = int(dice.choice([0, 1, 127, 128, 255, int(dice.integers(256))]))
        one, other = outcome(bytes(damaged), 1000), outcome(bytes(damaged), 0)
        assert one == other
        sound = _is_sound(bytes(damaged), read_chunk_header(bytes(damaged)))
        assert sound == (not one)
        refused += not sound
    assert 300 < refused < 1200
