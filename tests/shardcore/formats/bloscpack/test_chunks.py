from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.errors import BadChecksum, FormatError, KeyAbsent, LimitExceeded, ShardError, UsageError
from shardcore.formats.bloscpack.shard import BloscpackShard
from shardcore.model.objects import ObjectRef, State
from shardcore.model.span import Span
from shardcore.testing import CountingSource
from tests.shardcore.formats.bloscpack.chunks import make_chunk, memcpy, sample
from tests.shardcore.formats.bloscpack.files import File

COUNT = 12
PIECES = [np.random.default_rng(n).bytes(8000) for n in range(COUNT)]
CHUNKS = [memcpy(piece) for piece in PIECES]
SIZES = [8000] * COUNT
STREAM = {"nchunks": -1, "chunk_size": -1, "last_chunk": -1}


def with_slots(slots: dict[int, int], **options: int) -> bytes:
    data = bytearray(File(CHUNKS, SIZES, **options).write())  # type: ignore[arg-type]
    for slot, value in slots.items():
        data[32 + 8 * slot : 40 + 8 * slot] = struct.pack("<q", value)
    return bytes(data)


@pytest.mark.parametrize(
    "slots",
    [
        *(dict.fromkeys(lost, -1) for lost in (range(COUNT), [3], [3, 4, 5], [0], [COUNT - 1])),
        *({4: wrong} for wrong in (10**12, 5, 2**63 - 1, -(2**63), -2)),
        *({2: 200, 3: 210}, {0: 2**62, COUNT - 1: 2**62}, {6: File(CHUNKS, SIZES).places()[6] + 1234}),
    ],
)
def test_wrong_offsets_do_not_lose_a_chunk(slots: dict[int, int]) -> None:
    for load in (False, True):
        with shardcore.open(with_slots(slots)) as shard:
            if load:
                shard.load_index()
            for number in range(COUNT):
                assert shard.read(shard.find(str(number))) == PIECES[number]
            assert not load or (shard.objects[:].state == State.LIVE).all()


@pytest.mark.parametrize("slots", [(2, 3), (0, 11), (5, 5)])
def test_swapped_and_repeated_offsets_are_not_believed(slots: tuple[int, int]) -> None:
    """Offsets that do not ascend would return the bytes of another chunk."""
    places = File(CHUNKS, SIZES).places()
    a, b = slots
    data = with_slots({a: places[b], b: places[a]} if a != b else {a + 1: places[a]})
    with shardcore.open(data) as shard:
        for number in range(COUNT):
            assert shard.read(shard.find(str(number))) == PIECES[number]
        wrong = {f.key for f in shard.verify().findings if f.code == "bloscpack.offset"}
        assert wrong == ({str(a), str(b)} if a != b else {str(a + 1)})


def test_counting_chunks_of_a_stream() -> None:
    with shardcore.open(File(CHUNKS, SIZES, offsets=False, header=STREAM).write()) as shard:
        assert shard.declared_objects is None
        assert shard.listing is None
        assert shard.read(shard.find("4")) == PIECES[4]
        with pytest.raises(KeyAbsent):
            shard.find(str(COUNT))
        assert len(shard.objects) == shard.declared_objects == COUNT
        assert [one.code for one in shard.verify().findings] == ["bloscpack.nchunks"]


@pytest.mark.parametrize("extra", [1, 15, 16, 17, 40])
def test_bytes_behind_a_stream_are_damage(extra: int) -> None:
    with shardcore.open(File(CHUNKS, SIZES, offsets=False, header=STREAM).write() + bytes(extra)) as shard:
        assert len(shard.objects) == COUNT + 1
        assert shard.objects[:].state.tolist() == [State.LIVE] * COUNT + [State.DAMAGED]
        assert not shard.verify().ok
        assert shard.read(shard.find(str(COUNT - 1))) == PIECES[-1]
        with pytest.raises(FormatError):
            shard.read(shard.find(str(COUNT)))


def test_damage_ends_the_walk_but_not_what_came_before() -> None:
    file = File(CHUNKS, SIZES, offsets=False)
    data = bytearray(file.write())
    data[file.places()[5] + 12 : file.places()[5] + 16] = (7).to_bytes(4, "little")
    with shardcore.open(bytes(data)) as shard:
        assert shard.read(shard.find("4")) == PIECES[4]
        with pytest.raises(FormatError, match="cannot be found"):
            shard.find("6")
        assert shard.trace("6").outcome == "damaged"
        shard.load_index()
        assert shard.objects[:].state.tolist() == [State.LIVE] * 5 + [State.DAMAGED] * 7
        assert "chunk 5" in shard.objects.ref(9).error
        assert shard.sections[-1].role.value == "unknown"


def test_more_chunks_promised_than_fit() -> None:
    for count in (COUNT + 1, 10**6, 2**62):
        file = File(CHUNKS, SIZES, offsets=False, header={"nchunks": count})
        with shardcore.open(file.write()) as shard:
            shard.load_index()
            assert COUNT < len(shard.objects) < 6100
            assert shard.read(shard.find("11")) == PIECES[11]
            assert not shard.verify().ok
            with pytest.raises(ShardError):
                shard.find(str(COUNT))


def test_columns_before_the_index_is_loaded() -> None:
    sizes = [8000] * (COUNT - 1) + [7000]
    file = File(CHUNKS, sizes)
    source = CountingSource(file.write())
    with shardcore.open(source) as shard:
        source.ranges.clear()
        columns = shard.objects.known(0, COUNT)
        assert (source.ranges, columns.start.tolist(), columns.size.tolist()) == ([], file.places()[:-1], sizes)
        assert columns.stored_size.tolist() == [8016] * (COUNT - 1) + [-1]
        codes = columns.codec[0], shard.objects[:3].codec[0]
        assert [shard.objects.codecs[code] for code in codes] == ["unread", "none"]


def test_every_offset_table_of_long_files_is_read_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardcore.formats.bloscpack.chunks.SLOTS_AT_OPEN", 4)
    file = File(CHUNKS, SIZES)
    with shardcore.open(file.write()) as shard:
        assert shard.objects[:].start.tolist() == file.places()[:-1]
        for number in range(COUNT):
            assert shard.read(shard.find(str(number))) == PIECES[number]
        assert shard.verify().findings == ()


def test_orders_need_the_index() -> None:
    sizes = [8000] * 9 + [30, 10, 20]
    with shardcore.open(File([memcpy(bytes(size)) for size in sizes], sizes).write()) as shard:
        with pytest.raises(shardcore.UsageError):
            shard.objects.order("size")
        shard.load_index()
        assert np.asarray(shard.objects.order("size")).tolist()[:3] == [10, 11, 9]


DATA = Path(__file__).parents[3] / "data" / "bloscpack"


def test_many_threads_walk_one_file() -> None:
    with shardcore.open(DATA / "made" / "large_stream.blp") as shard:
        wished = shard.objects[:].start.tolist()
    with shardcore.open(DATA / "made" / "large_stream.blp") as shard, ThreadPoolExecutor(8) as pool:
        refs = pool.map(shard.find, [str(chunk) for chunk in range(len(wished))] * 4)
        assert [ref.spans[0].start for ref in refs] == wished * 4


MADE = Path(__file__).parents[3] / "data" / "bloscpack" / "made"
LONG = [np.random.default_rng(n).bytes(30_000) for n in range(20)]
BIG = File([memcpy(piece) for piece in LONG], [30_000] * 20, checksum=2, spare=3)


def reads(shard: BloscpackShard, source: CountingSource, key: str, start: int, stop: int) -> tuple[bytes, int]:
    ref = shard.find(key)
    source.ranges.clear()
    return shard.read_range(ref, start, stop), len(source.ranges)


def test_a_range_reads_only_its_chunks() -> None:
    source, whole = CountingSource(BIG.write()), b"".join(LONG)
    with shardcore.open(source) as shard:
        assert reads(shard, source, "all", 70_000, 70_010) == (whole[70_000:70_010], 1)
        assert reads(shard, source, "all", 29_990, 60_001) == (whole[29_990:60_001], 1)
        assert reads(shard, source, "all", 599_990, 700_000) == (whole[599_990:], 1)
        assert reads(shard, source, "all", 600_000, 700_000) == (b"", 0)
        assert reads(shard, source, "all", 5, 5) == (b"", 0)
        assert reads(shard, source, "4", 10, 20) == (LONG[4][10:20], 1)


def test_long_offsets_take_one_more_range() -> None:
    chunks = [memcpy(b"%05d" % n) for n in range(9000)]
    source = CountingSource(File(chunks, [5] * 9000).write())
    with shardcore.open(source) as shard:
        assert (len(source.ranges), shard.read(shard.find("8888"))) == (2, b"08888")
        assert (len(source.ranges), len(shard.objects)) == (3, 9000)


@pytest.mark.parametrize("name", ["large", "large_walk", "large_stream"])
def test_the_whole_comes_alike_every_way(name: str) -> None:
    data = (MADE / f"{name}.blp").read_bytes()
    with shardcore.open(data) as shard:
        streamed = b"".join(shard.stream(shard.find("all")))
        assert (shard.loaded, len(streamed)) == (False, 19 * 4000 + 1234)
        shard.load_index()
        ref = shard.find("all")
        assert (ref.size, shard.read(ref)) == (len(streamed), streamed)


def test_a_damaged_chunk_stops_the_whole_after_those_before() -> None:
    data = bytearray(BIG.write())
    data[BIG.places()[5] + 100] ^= 1
    with shardcore.open(bytes(data)) as shard:
        got = []
        with pytest.raises(BadChecksum, match="chunk 5"):
            got.extend(shard.stream(shard.find("all")))
        assert b"".join(got) == b"".join(LONG[:5])
        with pytest.raises(BadChecksum, match="chunk 5"):
            shard.read(shard.find("all"))
        assert shard.read_range(shard.find("all"), 180_000, 200_000) == LONG[6][:20_000]


def test_limits() -> None:
    with shardcore.open(BIG.write()) as shard:
        whole = shard.find("all")
        for error, read in (
            (LimitExceeded, lambda: shard.read(whole, limit=599_999)),
            (LimitExceeded, lambda: shard.read(shard.find("3"), limit=29_999)),
            (LimitExceeded, lambda: shard.read_range(whole, 0, 1000, limit=999)),
            (UsageError, lambda: shard.read_range(whole, 5, 4)),
            (UsageError, lambda: shard.read(ObjectRef("x", -1, (Span("", 0, 1),)))),
        ):
            with pytest.raises(error):
                read()
        assert len(shard.read(whole, limit=600_000)) == 600_000
        stream = shard.stream(whole)
        next(iter(stream))
        stream.close()  # a thread that is left fails the test


def test_claims_are_not_allocated() -> None:
    claim = make_chunk(bytes(1000), codec=4)
    claim = claim[:4] + (2**30).to_bytes(4, "little") * 2 + claim[12:]
    file = File([claim] * 50, [2**30] * 50)
    with shardcore.open(file.write() + bytes(2**19)) as shard, pytest.raises(FormatError):
        shard.read(shard.find("all"), limit=2**40)


def test_sizes_come_from_the_blosc_headers() -> None:
    pieces = [sample(100, 1), sample(40, 2), sample(100, 3)]
    with shardcore.open(File([make_chunk(p) for p in pieces], [100, 40, 100]).write()) as shard:
        assert shard.read_range(shard.find("all"), 130, 150) == b"".join(pieces)[130:150]
        assert shard.find("@139").key == "1"
        assert [f.code for f in shard.verify().findings] == ["bloscpack.chunk-size"]
