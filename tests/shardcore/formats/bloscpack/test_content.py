from __future__ import annotations

import multiprocessing
import threading
from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.errors import BadChecksum, FormatError, LimitExceeded, UsageError
from shardcore.formats.bloscpack.shard import BloscpackShard
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.sources.memory import BytesSource
from shardcore.testing import CountingSource
from tests.shardcore.formats.bloscpack.chunks import BYTE, make_chunk, memcpy, sample
from tests.shardcore.formats.bloscpack.files import File

MADE = Path(__file__).parents[3] / "data" / "bloscpack" / "made"
PIECES = [np.random.default_rng(n).bytes(30_000) for n in range(20)]
BIG = File([memcpy(piece) for piece in PIECES], [30_000] * 20, checksum=2, spare=3)


def opened(data: bytes | BytesSource) -> BloscpackShard:
    shard = shardcore.open(data)
    return shard


def reads(shard: BloscpackShard, source: CountingSource, key: str, start: int, stop: int) -> tuple[bytes, int]:
    ref = shard.find(key)
    source.ranges.clear()
    return shard.read_range(ref, start, stop), len(source.ranges)


def test_a_range_reads_only_its_chunks() -> None:
    source, whole = CountingSource(BIG.write()), b"".join(PIECES)
    with opened(source) as shard:
        assert reads(shard, source, "all", 70_000, 70_010) == (whole[70_000:70_010], 1)
        assert reads(shard, source, "all", 29_990, 60_001) == (whole[29_990:60_001], 1)
        assert reads(shard, source, "all", 599_990, 700_000) == (whole[599_990:], 1)
        assert reads(shard, source, "all", 600_000, 700_000) == (b"", 0)
        assert reads(shard, source, "all", 5, 5) == (b"", 0)
        assert reads(shard, source, "4", 10, 20) == (PIECES[4][10:20], 1)


def test_long_offsets_take_one_more_range() -> None:
    chunks = [memcpy(b"%05d" % n) for n in range(9000)]
    source = CountingSource(File(chunks, [5] * 9000).write())
    with opened(source) as shard:
        assert len(source.ranges) == 2
        assert shard.read(shard.find("8888")) == b"08888"
        assert len(source.ranges) == 3
        assert len(shard.objects) == 9000


@pytest.mark.parametrize("name", ["large", "large_walk", "large_stream"])
def test_the_whole_comes_alike_every_way(name: str) -> None:
    data = (MADE / f"{name}.blp").read_bytes()
    with opened(data) as shard:
        streamed = b"".join(shard.stream(shard.find("all")))
        assert not shard.loaded
        assert shard.read(shard.find("all")) == streamed
        assert len(streamed) == 19 * 4000 + 1234
        shard.load_index()
        ref = shard.find("all")
        assert (ref.size, shard.read(ref)) == (len(streamed), streamed)
        assert shard.read_range(ref, 3999, 8001) == streamed[3999:8001]


def test_the_whole_is_decompressed_into_place() -> None:
    pieces = [sample(40_000, n) for n in range(30)]
    chunks = [make_chunk(piece, how=BYTE, typesize=4, blocksize=8192, split=True) for piece in pieces]
    with opened(File(chunks, [40_000] * 30).write()) as shard:
        assert shard.read(shard.find("all")) == b"".join(pieces)


def test_a_damaged_chunk_stops_the_whole_after_those_before() -> None:
    data = bytearray(BIG.write())
    data[BIG.places()[5] + 100] ^= 1
    with opened(bytes(data)) as shard:
        got = []
        with pytest.raises(BadChecksum, match="chunk 5"):
            got.extend(shard.stream(shard.find("all")))
        assert b"".join(got) == b"".join(PIECES[:5])
        with pytest.raises(BadChecksum, match="chunk 5"):
            shard.read(shard.find("all"))
        assert shard.read_range(shard.find("all"), 180_000, 200_000) == PIECES[6][:20_000]


def test_a_stream_given_up_leaves_no_thread() -> None:
    before = threading.active_count()
    with opened(BIG.write()) as shard:
        stream = shard.stream(shard.find("all"))
        next(iter(stream))
        stream.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_limits() -> None:
    with opened(BIG.write()) as shard:
        with pytest.raises(LimitExceeded):
            shard.read(shard.find("all"), limit=599_999)
        with pytest.raises(LimitExceeded):
            shard.read(shard.find("3"), limit=29_999)
        with pytest.raises(LimitExceeded):
            shard.read_range(shard.find("all"), 0, 1000, limit=999)
        assert len(shard.read(shard.find("all"), limit=600_000)) == 600_000


def test_claims_are_not_allocated() -> None:
    claim = make_chunk(bytes(1000), codec=4)
    claim = claim[:4] + (2**30).to_bytes(4, "little") * 2 + claim[12:]
    file = File([claim] * 50, [2**30] * 50)
    with opened(file.write() + bytes(2**19)) as shard, pytest.raises(FormatError):
        shard.read(shard.find("all"), limit=2**40)


def test_sizes_come_from_the_blosc_headers() -> None:
    pieces = [sample(100, 1), sample(40, 2), sample(100, 3)]
    with opened(File([make_chunk(p) for p in pieces], [100, 40, 100]).write()) as shard:
        assert shard.read_range(shard.find("all"), 130, 150) == b"".join(pieces)[130:150]
        assert shard.find("@139").key == "1"
        assert [f.code for f in shard.verify().findings] == ["bloscpack.chunk-size"]


def test_a_range_must_be_one() -> None:
    with opened(BIG.write()) as shard:
        with pytest.raises(UsageError):
            shard.read_range(shard.find("all"), 5, 4)
        with pytest.raises(UsageError):
            shard.read(ObjectRef("x", -1, (Span("", 0, 1),)))


def test_a_decoder_in_a_process_of_its_own() -> None:
    chunks = [make_chunk(sample(5000, n)) for n in range(4)]
    with shardcore.open(File(chunks, [5000] * 4).write(), isolated=True) as shard:
        assert shard.read(shard.find("all")) == b"".join(sample(5000, n) for n in range(4))
        assert shard.read(shard.find("2")) == sample(5000, 2)
        with pytest.raises(LimitExceeded):
            shard.read(shard.find("2"), limit=10)
        processes = multiprocessing.active_children()
        assert [process.name for process in processes] == ["decoder"]
    assert multiprocessing.active_children() == []
