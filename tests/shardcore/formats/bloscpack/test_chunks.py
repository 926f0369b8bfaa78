from __future__ import annotations

import struct

import numpy as np
import pytest

import shardcore
from shardcore.errors import FormatError, KeyAbsent, ShardError
from shardcore.formats.bloscpack.shard import BloscpackShard
from shardcore.model.objects import State
from shardcore.sources.base import Source
from shardcore.testing import CountingSource
from tests.shardcore.formats.bloscpack.chunks import memcpy
from tests.shardcore.formats.bloscpack.files import File

COUNT = 12
PIECES = [np.random.default_rng(n).bytes(8000) for n in range(COUNT)]
CHUNKS = [memcpy(piece) for piece in PIECES]
SIZES = [8000] * COUNT
STREAM = {"nchunks": -1, "chunk_size": -1, "last_chunk": -1}


def opened(data: bytes | Source) -> BloscpackShard:
    shard = shardcore.open(data)
    assert not shard.loaded
    return shard


def with_slots(slots: dict[int, int], **options: int) -> bytes:
    data = bytearray(File(CHUNKS, SIZES, **options).write())  # type: ignore[arg-type]
    for slot, value in slots.items():
        data[32 + 8 * slot : 40 + 8 * slot] = struct.pack("<q", value)
    return bytes(data)


@pytest.mark.parametrize(
    "slots",
    [
        dict.fromkeys(range(COUNT), -1),
        {3: -1},
        {3: -1, 4: -1, 5: -1},
        {0: -1},
        {COUNT - 1: -1},
        {4: 10**12},
        {4: 5},
        {4: 2**63 - 1},
        {4: -(2**63)},
        {4: -2},
        {2: 200, 3: 210},
        {0: 2**62, COUNT - 1: 2**62},
    ],
)
def test_wrong_offsets_do_not_lose_a_chunk(slots: dict[int, int]) -> None:
    for load in (False, True):
        with opened(with_slots(slots)) as shard:
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
    with opened(data) as shard:
        for number in range(COUNT):
            assert shard.read(shard.find(str(number))) == PIECES[number]
        wrong = {f.key for f in shard.verify().findings if f.code == "bloscpack.offset"}
        assert wrong == ({str(a), str(b)} if a != b else {str(a + 1)})


def test_an_offset_into_a_chunk_is_seen_by_the_header_there() -> None:
    places = File(CHUNKS, SIZES).places()
    with opened(with_slots({6: places[6] + 1234})) as shard:
        assert shard.read(shard.find("6")) == PIECES[6]


def test_counting_chunks_of_a_stream() -> None:
    with opened(File(CHUNKS, SIZES, offsets=False, header=STREAM).write()) as shard:
        assert shard.declared_objects is None
        assert shard.listing is None
        assert shard.read(shard.find("4")) == PIECES[4]
        with pytest.raises(KeyAbsent):
            shard.find(str(COUNT))
        assert len(shard.objects) == shard.declared_objects == COUNT
        assert [one.code for one in shard.verify().findings] == ["bloscpack.nchunks"]


@pytest.mark.parametrize("extra", [1, 15, 16, 17, 40])
def test_bytes_behind_a_stream_are_damage(extra: int) -> None:
    with opened(File(CHUNKS, SIZES, offsets=False, header=STREAM).write() + bytes(extra)) as shard:
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
    with opened(bytes(data)) as shard:
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
        with opened(file.write()) as shard:
            shard.load_index()
            assert COUNT < len(shard.objects) < 6100
            assert shard.read(shard.find("11")) == PIECES[11]
            assert not shard.verify().ok
            with pytest.raises(ShardError):
                shard.find(str(COUNT))


def test_columns_before_the_index_is_loaded() -> None:
    file = File(CHUNKS, [8000] * (COUNT - 1) + [7000])
    source = CountingSource(file.write())
    with opened(source) as shard:
        source.ranges.clear()
        columns = shard.objects.known(0, COUNT)
        assert source.ranges == []
        assert columns.start.tolist() == file.places()[:-1]
        assert columns.size.tolist() == [8000] * (COUNT - 1) + [7000]
        assert columns.stored_size.tolist() == [8016] * (COUNT - 1) + [-1]
        assert shard.objects.codecs[columns.codec[0]] == "unread"
        sized = shard.objects[:3]
        assert shard.objects.codecs[sized.codec[0]] == "none"


def test_every_offset_table_of_long_files_is_read_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardcore.formats.bloscpack.offsets.SLOTS_AT_OPEN", 4)
    file = File(CHUNKS, SIZES)
    with opened(file.write()) as shard:
        assert shard.objects[:].start.tolist() == file.places()[:-1]
        for number in range(COUNT):
            assert shard.read(shard.find(str(number))) == PIECES[number]
        assert shard.verify().findings == ()


def test_orders_need_the_index() -> None:
    sizes = [8000] * 9 + [30, 10, 20]
    with opened(File([memcpy(bytes(size)) for size in sizes], sizes).write()) as shard:
        with pytest.raises(shardcore.UsageError):
            shard.objects.order("size")
        shard.load_index()
        assert np.asarray(shard.objects.order("size")).tolist()[:3] == [10, 11, 9]
