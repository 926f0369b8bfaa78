"""Damaged Read Shards, and shards with millions of slots."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import shardcore
from shardcore.cli.object_rows import shown_rows, unreadable_states
from shardcore.errors import BadMagic, FormatError, ShardError, Truncated, Unsupported
from shardcore.formats.swh import verify
from shardcore.formats.swh.layout import HASH_HEAD, HEADER, SLOT
from shardcore.model.objects import State
from shardcore.shards.shard import Shard
from shardcore.sources.local import LocalFolder
from shardcore.sources.memory import BytesSource
from shardcore.testing import CountingFolder
from shardcore.testing.sources import CountingSource
from tests.bench.sparse_swh import make_sparse

DATA = Path(__file__).parents[3] / "data" / "swh"
SMALL = (DATA / "small.shard").read_bytes()
HEAD = HEADER.read_one(SMALL)
HASH = HEAD["hash_position"]

Patch = Callable[[bytearray], None]


def at_offset(at: int, raw: bytes) -> Patch:
    return lambda data: data.__setitem__(slice(at, at + len(raw)), raw)


def header(name: str, value: int) -> Patch:
    return at_offset(HEADER.offsets[name], value.to_bytes(HEADER.sizes[name], "big"))


def hash_field(name: str, value: int | bytes) -> Patch:
    raw = value if isinstance(value, bytes) else value.to_bytes(HASH_HEAD.sizes[name], "little")
    return at_offset(HASH + HASH_HEAD.offsets[name], raw)


def damaged(*patches: Patch) -> bytes:
    data = bytearray(SMALL)
    for patch in patches:
        patch(data)
    return bytes(data)


def big_endian(data: bytearray) -> None:
    for field in HASH_HEAD.fields:
        if field.raw_size is None:
            at = HASH + HASH_HEAD.offsets[field.name]
            data[at : at + 4] = data[at : at + 4][::-1]


REFUSED: dict[str, tuple[list[Patch], type[ShardError]]] = {
    "version": ([header("version", 2)], Unsupported),
    "objects inside the header": ([header("objects_position", 80)], FormatError),
    "index before the objects end": ([header("index_position", HEAD["index_position"] - 1)], FormatError),
    "sums that wrap 64 bits": ([header("objects_size", 2**64 - 512), header("index_position", 0)], FormatError),
    "index not a multiple of 40": (
        [header("index_size", HEAD["index_size"] - 1), header("hash_position", HASH - 1)], FormatError,
    ),
    "no slots": ([header("index_size", 0), header("hash_position", HEAD["index_position"])], FormatError),
    "hash function past the end": (
        [header("index_size", 2**30 * 40), header("hash_position", HEAD["index_position"] + 2**30 * 40)],
        Truncated,
    ),
    "more objects than slots": ([header("objects_count", 14)], FormatError),
    "algorithm": ([hash_field("algorithm", b"bdz_ph\0")], BadMagic),
    "table size": ([hash_field("table_size", 11)], FormatError),
    "hash state length": ([hash_field("hash_state_length", 2**32 - 1)], FormatError),
    "key hash": ([hash_field("hash_name", b"jenkinsX")], BadMagic),
    "big-endian maker": ([big_endian], Unsupported),
    "no buckets": ([hash_field("displacements_count", 0)], FormatError),
    "too many buckets": (
        [hash_field("displacements_count", 2**32 - 1), hash_field("select_count", 2**32 - 1)],
        FormatError,
    ),
    "low bits": ([hash_field("low_bits_width", 32)], FormatError),
    "store bits": ([hash_field("store_bits", 2**32 - 1)], FormatError),
    "select count": ([hash_field("select_count", 5)], FormatError),
    "select length": ([hash_field("select_length", 2**31)], FormatError),
    "sequence length": ([hash_field("sequence_length", 2**31)], FormatError),
    "last count of slots": ([lambda d: d.__setitem__(slice(len(d) - 8, len(d) - 4), b"\1\0\0\0")], FormatError),
    "cut hash function": ([lambda d: d.__delitem__(slice(len(d) - 1, len(d)))], Truncated),
    "cut header": ([lambda d: d.__delitem__(slice(60, len(d)))], Truncated),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_headers_are_refused_with_a_place(case: str) -> None:
    patches, error = REFUSED[case]
    data = damaged(*patches)
    with pytest.raises(error) as caught:
        shardcore.open(data)
    assert caught.value.span is not None
    if case == "cut header":
        return
    with shardcore.open(data, partial=True) as shard:
        assert isinstance(shard.damage, FormatError)
        assert shard.fields["header.objects_count"] == HEADER.read_one(data)["objects_count"]
        assert shard.sections[-1].stop == len(data)
        if len(shard.objects):
            rows = np.flatnonzero(shard.objects[:].state == State.LIVE)
            assert len(rows) == 12
            assert shard.read(shard.objects.ref(int(rows[0]))) is not None
            assert not shard.verify("content").ok


def slot_patch(slot: int, raw: bytes | int) -> Patch:
    at = HEAD["index_position"] + SLOT.size * slot
    return at_offset(at, raw) if isinstance(raw, bytes) else at_offset(at + 32, raw.to_bytes(8, "big"))


FOUND: dict[str, tuple[list[Patch], str, str]] = {
    "slot points into the header": ([slot_patch(1, 8)], "index", "swh.slot-offset"),
    "slot points past the objects": ([slot_patch(1, HEAD["index_position"] - 7)], "index", "swh.slot-offset"),
    "slot points beyond the file": ([slot_patch(1, 2**63)], "index", "swh.slot-offset"),
    "wrong key in a slot": ([slot_patch(1, b"k" * 32)], "index", "swh.slot-mismatch"),
    "wrong seed": ([hash_field("seed", 8)], "index", "swh.hash-misfit"),
    "more live slots than objects": ([header("objects_count", 11)], "index", "swh.objects-count"),
    "the same key twice": ([slot_patch(2, SMALL[HEAD["index_position"] + 40 :][:32])], "index", "swh.duplicate-key"),
    "a one-bit too many": ([at_offset(HASH + HASH_HEAD.size, b"\xff")], "index", "swh.hash-function"),
    "wrong select directory": ([at_offset(HASH + HASH_HEAD.size + 4, b"\7")], "index", "swh.select-directory"),
    "length past the objects": ([at_offset(512, (2**63).to_bytes(8, "big"))], "content", "swh.object-length"),
    "length into the next object": ([at_offset(512, (9).to_bytes(8, "big"))], "content", "swh.overlap"),
    "a hole between objects": ([at_offset(520, (0).to_bytes(8, "big"))], "content", "swh.gap"),
    "changed content": ([at_offset(700, b"\xff")], "content", "swh.content-hash"),
}


@pytest.mark.parametrize("case", FOUND)
def test_damage_behind_a_sound_header_is_found(case: str) -> None:
    patches, depth, code = FOUND[case]
    with shardcore.open(damaged(*patches), partial=True) as shard:
        report = shard.verify(depth)
        assert not report.ok
        finding = next(f for f in report.findings if f.code == code)
        assert finding.span is not None
        readable = 0
        for row in np.flatnonzero(shard.objects[:].state == State.LIVE).tolist():
            with suppress(FormatError):
                shard.read(shard.objects.ref(row))
                readable += 1
        assert readable >= 10


def test_an_object_whose_slot_is_damaged_is_not_deleted() -> None:
    with shardcore.open(SMALL) as whole:
        key = str(whole.objects.ref(1).key)
    with shardcore.open(damaged(slot_patch(1, 8))) as shard:
        assert [f.code for f in shard.verify("content").findings] == ["swh.slot-offset"]
        shard.load_index()
        objects = next(node for node in shard.tree.children if node.name == "objects")
        assert objects.text == "11 objects, 1 stretch without a slot"
        assert [node.name for node in objects.children if len(node.name) < 64] == ["no slot"]
        for look in (lambda: shard.find(key), lambda: shard.find_many([key])):
            with pytest.raises(FormatError, match="slot 1 points to byte 0x8, outside the objects"):
                look()


def test_slots_without_an_object_have_no_key() -> None:
    with shardcore.open(SMALL) as shard:
        rows = np.arange(len(shard.objects))
        lengths = shard.objects.key_bytes(rows).lengths
        assert [text is None for text in shard.objects.key_texts(rows)] == (lengths == 0).tolist()
        assert set(lengths.tolist()) == {0, 32}


def test_over_allocated_files_are_fine() -> None:
    with shardcore.open(SMALL + b"left over from something else" * 10) as shard:
        assert shard.sections[-1].name == "trailing"
        report = shard.verify("content")
        assert report.ok
        assert [f.code for f in report.findings] == ["swh.trailing"]


def test_the_zero_key_of_an_old_file_is_absent() -> None:
    """Unused slots of the older writer have offset 0: the reference takes the magic for an object there."""
    with shardcore.open(DATA / "legacy.shard") as shard:
        assert shard.trace("00" * 32).outcome == "absent"
        shard.load_index()
        assert State.DAMAGED not in shard.objects[:].state


@pytest.mark.parametrize(
    ("size", "parts"),
    [(100, 2), (700, 3), (HEAD["index_position"], 3), (HEAD["index_position"] + 41, 4), (HASH + 20, 5)],
)
def test_what_was_cut_keeps_the_places_of_its_parts(size: int, parts: int) -> None:
    names = ["header", "padding", "objects", "index", "hash function"][:parts]
    with shardcore.open(SMALL[:size], partial=True) as shard:
        assert isinstance(shard.damage, Truncated)
        assert (shard.declared_objects, shard.version, len(shard.objects) > 1) == (12, "1", False)
        assert [section.name for section in shard.sections] == names
        assert [node.name for node in shard.tree.children] == [*names, "damage"]
        assert (shard.sections[-1].stop, shard.explain(size - 1)[-1].name) == (size, names[-1])


@pytest.mark.parametrize(("size", "names"), [(32, ["magic"]), (40, ["magic", "version"]), (87, [*HEADER.offsets][:-1])])
def test_a_file_cut_in_the_header_shows_what_is_left_of_it(size: int, names: list[str]) -> None:
    with shardcore.open(SMALL[:size], partial=True) as shard:
        assert isinstance(shard.damage, Truncated)
        assert shard.format == "swh"
        assert shard.version == ("1" if size >= 40 else "")
        assert list(shard.fields) == [f"header.{name}" for name in names]
        header = shard.tree.children[0]
        assert (header.name, header.span.stop) == ("header", size)
        assert [node.name for node in header.children] == names
        assert shard.explain(31)[-1].name == "magic"


@pytest.mark.parametrize("ask", [lambda shard: shard.load_index(), lambda shard: shard.verify()])
def test_too_many_slots_for_the_memory(
    ask: Callable[[shardcore.Shard], object], monkeypatch: pytest.MonkeyPatch
) -> None:

    def refuse(*_: object, **__: object) -> None:
        raise MemoryError

    with shardcore.open(SMALL) as shard:
        monkeypatch.setattr("shardcore.formats.swh.file.load_order", refuse)
        monkeypatch.setattr("shardcore.formats.swh.verify._live_slots", refuse)
        with pytest.raises(ShardError, match="not enough memory for 13 slots"):
            ask(shard)


def test_objects_that_all_claim_the_rest_are_not_all_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardcore.formats.swh.verify.CONTENT_WINDOW", 4096)
    with shardcore.create(tmp_path / "out", format="swh") as writer:
        for number in range(200):
            writer.add(None, bytes(1000) + number.to_bytes(2, "big"))
    data = bytearray((tmp_path / "out").read_bytes())
    end = HEADER.read_one(bytes(data))["index_position"]
    for start in range(512, end, 1010):
        data[start : start + 8] = (end - start - 8).to_bytes(8, "big")
    source = CountingSource(bytes(data))
    with shardcore.open(source) as shard:
        report = shard.verify("content")
    assert sum(finding.code == "swh.overlap" for finding in report.findings) == 199
    assert sum(stop - start for start, stop in source.ranges) < 5 * len(data)


SAMPLE = Path(__file__).parents[3] / "data" / "swh" / "small.shard"
SLOTS = 1_000_003


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sparse")
    make_sparse(folder / "sparse.shard", slots=SLOTS, declared=990_000, data_bytes=2_000_000_000)
    return folder


def listed(shard: Shard, skip: int, limit: int) -> list[str | None]:
    pages = shown_rows(shard, None, skip, limit, unreadable_states(False), keys=True)
    return [key for _, keys in pages for key in keys]


def test_groups_of_slots_are_placed_without_reading_them(sparse: Path) -> None:
    folder = CountingFolder(LocalFolder(sparse))
    with shardcore.open(folder.open("sparse.shard")) as shard:
        index = next(node for node in shard.tree.children if node.name == "index")
        folder.ranges.clear()
        groups = list(index.children)
        assert (folder.ranges, groups[0].span.start) == ([], index.span.start)
        assert groups[-1].span.stop == index.span.stop
        assert [one.span.start for one in groups[1:]] == [one.span.stop for one in groups[:-1]]
        assert (groups[3].children[0].span.start, len(folder.ranges)) == (groups[3].span.start, 1)


def test_objects_that_are_skipped_are_counted_by_their_slots(sparse: Path) -> None:
    folder = CountingFolder(LocalFolder(sparse))
    with shardcore.open(folder.open("sparse.shard")) as shard:
        everything = listed(shard, 0, 1000)
        folder.ranges.clear()
        assert listed(shard, len(everything) - 3, 3) == everything[-3:]
        index = shard.file.layout.index_start
        assert sum(start < index for _, start, _ in folder.ranges) <= 3
        assert not shard.loaded


def test_windows_do_not_change_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(SAMPLE.read_bytes())
    with shardcore.open(SAMPLE) as shard:
        refs = [ref for ref in shard.objects if ref.size > 0][:3]
    for ref in refs:
        data[ref.spans[0].start] ^= 1
    reports = []
    for window in (1 << 22, 64, 9):
        monkeypatch.setattr(verify, "CONTENT_WINDOW", window)
        with shardcore.open(BytesSource(bytes(data))) as shard:
            reports.append(shard.verify("content"))
    assert {one.key for one in reports[0].findings if one.code == "swh.content-hash"} == {ref.key for ref in refs}
    assert reports[1] == reports[0] == reports[2]
