"""What can still be taken out of damaged files, format by format, and what that costs when the damage is malice."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import lz4.frame
import pytest
import zstandard

import shardcore
from shardcore import BytesSource, Cancelled, UsageError
from shardcore.codecs.decompress import gzip_end, lz4_end, zstd_end
from shardcore.model.span import Span
from shardcore.operations.recover import REPORT, Salvage, Saved, SavedItems, salvage
from shardcore.shards.registry import all_formats
from shardcore.shards.salvage import Condition
from shardcore.sources.local import FileSource
from shardcore.sources.patched_source import Change, PatchedSource
from tests.hostile.neuroglancer import SHARDING

SAMPLES = Path(__file__).parents[3] / "resources" / "samples"


def saved(path: Path, *changes: Change, **more: object) -> Salvage:
    with FileSource(path) as file:
        return salvage(PatchedSource(file, changes), None, **more)  # type: ignore[arg-type]


def whole(done: Salvage) -> dict[str | None, str]:
    return {one.key: one.sha256 for one in done.items if one.condition is Condition.WHOLE}


def taken(done: Salvage) -> dict[str | None, str]:
    return {one.key: one.sha256 for one in done.items if one.sha256 and not one.raw}


def without(done: Salvage) -> list[str]:
    return [one.sha256 for one in done.items if one.key is None and one.sha256]


# --- swh ---


def test_swh_objects_are_found_without_header_and_index(tmp_path: Path) -> None:
    path = SAMPLES / "swh" / "small.shard"
    expected = whole(saved(path))
    assert len(expected) == 12
    assert all(key == digest for key, digest in expected.items())
    assert whole(saved(path, Change.overwrite(0, b"\xff" * 88))) == expected
    size = path.stat().st_size
    cut = saved(path, Change.cut(size // 2, size))
    assert set(without(cut)) <= set(expected)
    assert len(without(cut)) == 9


@pytest.mark.parametrize("changes", [[], [Change.cut(1300, 1303)], [Change.cut(2532, 5064)]])
def test_swh_objects_that_the_budget_excludes_are_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changes: list[Change]
) -> None:
    """They are not reported as damaged: their sha256 was not computed."""
    monkeypatch.setattr("shardcore.model.budget.Budget.left", property(lambda budget: 100 - budget.checked))
    with FileSource(SAMPLES / "swh" / "small.shard") as file:
        done = salvage(PatchedSource(file, changes), tmp_path / "out", format="swh")
    assert not any("sha256" in one.why for one in done.items)
    assert any("the search ended" in note for note in done.left_out)


def test_xorb_hashes_vouch_where_the_info_block_is_cut() -> None:
    path = SAMPLES / "xorb" / "chunks.xorb"
    size = path.stat().st_size
    good = set(whole(saved(path)).values())
    assert good
    for change in (Change.cut(size - 4, size), Change.cut(size - 60, size)):
        done = saved(path, change)
        assert {one.sha256 for one in done.items if one.condition is Condition.WHOLE} == good


# --- bloscpack ---


def test_bloscpack_chunks_are_found_by_their_checksums_without_a_header() -> None:
    path = SAMPLES / "bloscpack" / "array.blp"
    expected = sorted(whole(saved(path)).values())
    done = saved(path, Change.overwrite(0, b"\xff" * 32))
    assert done.format == "bloscpack"
    assert sorted(one.sha256 for one in done.items) == expected
    assert {one.condition for one in done.items} == {Condition.WHOLE}
    assert all("checksum" in one.checked_by and one.key is None for one in done.items)


# --- xorb ---


def test_xorb_chunks_are_walked_without_the_info_block() -> None:
    path = SAMPLES / "xorb" / "chunks.xorb"
    plain = saved(path)
    expected = set(whole(plain).values())
    size = path.stat().st_size
    damaged = saved(path, Change.cut(size - 330, size), Change.overwrite(0, b"\xff" * 8))
    assert {one.condition for one in damaged.items if one.sha256} == {Condition.UNCHECKED}
    assert {one.sha256 for one in damaged.items if one.sha256} <= expected
    assert len(damaged.items) == len(plain.items) - 1


# --- des ---


def test_des_index_is_found_again_without_its_footer(tmp_path: Path) -> None:
    path = tmp_path / "20260101_00_0000.des"
    with shardcore.create(path, format="des", codec="zstd") as writer:
        for number in range(5):
            writer.add(f"uid-{number}", f"content {number} ".encode() * 50)
    expected = taken(saved(path))
    assert len(expected) == 5
    assert whole(saved(path)) == {}  # a plain size vouches for no byte
    size = path.stat().st_size
    assert taken(saved(path, Change.cut(size - 12, size), Change.overwrite(0, b"\xff" * 8))) == expected
    with shardcore.open(path) as shard:
        start = next(section.start for section in shard.sections if section.name == "index")
    frames = saved(path, Change.cut(start, size))
    assert sorted(without(frames)) == sorted(expected.values())


def test_des_plain_payloads_without_an_index_are_raw_stretches(tmp_path: Path) -> None:
    """Their ends are unknown, so they are extracted on request only."""
    path = tmp_path / "20260101_00_0000.des"
    with shardcore.create(path, format="des") as writer:
        for number in range(3):
            writer.add(f"uid-{number}", f"plain {number} ".encode() * 5)
    with shardcore.open(path) as shard:
        start = next(section.start for section in shard.sections if section.name == "index")
    cut = Change.cut(start, path.stat().st_size)
    plain = saved(path, cut, format="des")
    assert not plain.items
    assert any("belong to no object" in note for note in plain.notes)
    (one,) = saved(path, cut, format="des", raw=True).items
    assert one.raw
    assert one.condition is Condition.UNCHECKED
    assert one.size == plain.unclaimed == start - 8


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_des_sidecars_vouch_for_contents(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "20260101_00_0000.des"
    contents = {f"uid-{number}": f"content {number} ".encode() * 9 for number in range(8)}
    with shardcore.create(path, format="des", codec=codec, sidecar=True) as writer:
        for uid, data in contents.items():
            writer.add(uid, data)
    expected = {uid: hashlib.sha256(data).hexdigest() for uid, data in contents.items()}
    with shardcore.open(path) as shard:
        start = next(section.start for section in shard.sections if section.name == "index")
        third = shard.find("uid-3").spans[0]
    assert whole(saved(path)) == expected
    assert whole(saved(path, Change.cut(start, path.stat().st_size), format="des")) == expected
    del expected["uid-3"]
    for change in (Change.cut(third.start + 1, third.start + 4), Change.overwrite(third.start + 9, b"\xff")):
        done = saved(path, change)
        assert whole(done) == expected
        assert [one.key for one in done.items if one.condition is Condition.DAMAGED] == ["uid-3"]


def test_many_items_take_little_memory_and_come_back() -> None:
    made = [
        Saved(f"k{n}", f"n{n}", list(Condition)[n % 4], size=n, spans=(Span("", n, n + 2), Span("x", 0, 1)), raw=n == 7)
        for n in range(5000)
    ]
    items = SavedItems(made)
    assert list(items) == made
    assert (items[-1], items[1030], items[1020:1040:7]) == (made[-1], made[1030], made[1020:1040:7])
    assert (len(items), items.count_of("whole"), items.count_of("raw")) == (5000, 1250, 1)
    with pytest.raises(IndexError):
        items[5000]


def test_des_what_was_deleted_is_no_frame(tmp_path: Path) -> None:
    """The sidecar holds the tombstone where the index is lost."""
    path = tmp_path / "20260101_00_0000.des"
    contents = {uid: f"content {uid} ".encode() * 9 for uid in ("one", "two", "three")}
    with shardcore.create(path, format="des", codec="zstd", sidecar=True) as writer:
        for uid, data in contents.items():
            writer.add(uid, data)
    sidecar = path.with_suffix(".meta")
    said = json.loads(sidecar.read_text())
    said["tombstones"] = {"two": {"uid": "two", "reason": "asked for"}}
    sidecar.write_text(json.dumps(said))
    with shardcore.open(path) as shard:
        start = next(section.start for section in shard.sections if section.name == "index")
    done = saved(path, Change.cut(start, path.stat().st_size), format="des")
    assert sorted(whole(done)) == ["one", "three"]
    assert hashlib.sha256(contents["two"]).hexdigest() not in {one.sha256 for one in done.items}


# --- neuroglancer ---


@pytest.mark.parametrize("encoding", ["raw", "gzip"])
def test_neuroglancer_minishard_indices_are_found_again(tmp_path: Path, encoding: str) -> None:
    spec = SHARDING | {"minishard_bits": 2, "minishard_index_encoding": encoding, "data_encoding": "gzip"}
    shard = tmp_path / "0.shard"
    with shardcore.create(shard, format="neuroglancer", spec=json.dumps(spec)) as writer:
        for key in range(20):
            writer.add(str(key), f"value {key} ".encode() * 9)
    expected = whole(saved(shard, spec=json.dumps(spec)))
    assert len(expected) == 20
    done = saved(shard, Change.overwrite(0, b"\xff" * 64), spec=json.dumps(spec))
    assert whole(done) == expected
    assert all(one.without_index for one in done.items if one.sha256)
    # Nothing is known of the shard: members are whole, and nobody knows their keys.
    size = shard.stat().st_size
    cut = saved(shard, Change.cut(size // 2, size), Change.overwrite(0, b"\xff" * 64), spec=json.dumps(spec))
    assert set(without(cut)) | set(whole(cut).values()) <= set(expected.values()) | set(without(cut))
    assert cut.without_key + len(whole(cut)) > 5


@pytest.mark.parametrize(("keys", "bits"), [(5000, 1), (1024, 8)])
def test_neuroglancer_plain_indices_are_found_however_long_and_many(tmp_path: Path, keys: int, bits: int) -> None:
    spec = SHARDING | {"minishard_bits": bits}
    shard = tmp_path / "0.shard"
    with shardcore.create(shard, format="neuroglancer", spec=json.dumps(spec)) as writer:
        for key in range(keys):
            writer.add(str(key), f"value {key}".encode())
    changes = [Change.overwrite(16 * number, bytes(16)) for number in range(1, 1 << bits, 2)]
    done = saved(shard, *changes, spec=json.dumps(spec))
    assert {one.key for one in done.items if one.sha256} == {str(key) for key in range(keys)}
    assert done.summary()["complete"] is True


# --- mdb ---


def test_mdb_recipes_need_neither_header_nor_footer() -> None:
    (path, *_) = sorted((SAMPLES / "mdb" / "cache").glob("*.mdb"))
    expected = {one.name: one.sha256 for one in saved(path).items}
    size = path.stat().st_size
    for change in (Change.cut(size - 200, size), Change.overwrite(0, b"\xff" * 32)):
        done = saved(path, change)
        assert {one.name: one.sha256 for one in done.items} == expected
        assert all(one.without_index for one in done.items)


# --- files, reports, bounds ---


def test_files_appear_with_a_report_and_nothing_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.des"
    with shardcore.create(path, format="des") as writer:
        writer.add("../../evil", b"hello")
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[: size - 3])
    out = tmp_path / "out"
    done = salvage(path, out)
    (one,) = done.items
    assert one.condition is Condition.UNCHECKED
    assert (out / one.path).read_bytes() == b"hello"
    assert one.path.startswith("unchecked/")
    assert ".." not in one.path.split("/")
    report = json.loads((out / REPORT).read_text())
    assert report["items"][0]["sha256"] == hashlib.sha256(b"hello").hexdigest()
    assert report["damage"]
    with pytest.raises(UsageError, match="exists already"):
        salvage(path, out)
    swh = salvage(SAMPLES / "swh" / "small.shard", tmp_path / "swh")
    for item in swh.items:
        assert hashlib.sha256((tmp_path / "swh" / item.path).read_bytes()).hexdigest() == item.sha256


def test_a_stranger_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give the format"):
        salvage(BytesSource(b"x" * 2000), None)
    pointer = tmp_path / "x.des"
    pointer.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 5\n" % (b"a" * 64))
    with pytest.raises(shardcore.NotAShard, match="Git LFS"):
        salvage(pointer, None)
    with pytest.raises(UsageError, match="folder"):
        salvage(SAMPLES / "neuroglancer" / "worked", None)


def test_salvage_can_be_stopped() -> None:
    def stop(done: int, total: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        salvage(SAMPLES / "swh" / "small.shard", None, progress=stop)


@pytest.mark.parametrize("name", [one.name for one in all_formats()])
def test_malice_costs_no_more_than_the_bytes_allow(name: str) -> None:
    bomb = gzip.compress(bytes(4 << 20), mtime=0)
    zbomb = zstandard.ZstdCompressor().compress(bytes(1 << 20))
    hostile = [
        *(bytes(30_000), b"\xff" * 30_000, b"\x1f\x8b\x08" * 5000, b"\x28\xb5\x2f\xfd" * 5000),
        *(b"\x04\x22\x4d\x18" * 5000, b"\x02\x01\x33\x08" * 5000),
        (b"\0" * 7 + b"\x01") * 4000,
        b"chd_ph\0\xff\xff\xff\xff" * 2000,
        b"\0\x08" + bytes(7) + b"\x05" + b"\0\x08\0\0\0\0\0\0\0" * 3000,
        (b"XBLBHSH\0" + b"\xff" * 24) * 1000,
        bomb * 3 + zbomb * 3,
    ]
    for data in hostile:
        try:
            done = salvage(BytesSource(data), None, format=name, limit=1 << 20)
        except shardcore.ShardError:
            continue
        assert all(one.size <= 1 << 20 for one in done.items)


def test_the_end_of_a_frame_is_found_without_decompressing_it() -> None:
    plain = bytes(range(256)) * 3000
    for data, end in (
        (zstandard.ZstdCompressor(write_checksum=True).compress(plain), zstd_end),
        (zstandard.ZstdCompressor().compress(b""), zstd_end),
        (zstandard.ZstdCompressor().compress(b"abc"), zstd_end),
        (lz4.frame.compress(plain, content_checksum=True, block_checksum=True), lz4_end),
        (lz4.frame.compress(b"", store_size=False), lz4_end),
    ):
        whole_ = b"before" + data + b"after"
        source = BytesSource(whole_)
        assert end(source.read, 6, len(whole_)) == 6 + len(data)
        assert end(source.read, 6, 6 + len(data) - 1) is None
        assert end(source.read, 0, len(whole_)) is None
    member = gzip.compress(plain)
    source = BytesSource(member + b"more")
    assert gzip_end(source.read, 0, source.size, 1 << 30) == (len(member), len(plain))
    assert gzip_end(source.read, 0, source.size, 1000) is None
    assert gzip_end(source.read, 0, len(member) - 1, 1 << 30) is None
