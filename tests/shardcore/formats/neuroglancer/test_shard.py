"""How a shard finds its specification, what its bytes are, and how much is read for that."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from shardcore.errors import FormatError, LimitExceeded, NotAShard, SourceError, UsageError
from shardcore.formats.neuroglancer.shard import NeuroglancerShard
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, ShardingSpec
from shardcore.model.objects import State
from shardcore.sources.memory import BytesSource
from shardcore.testing import CountingSource, check_explained, check_tiling
from tests.shardcore.formats.neuroglancer.made import build, random_rows

DATA = Path(__file__).parents[3] / "data" / "neuroglancer"
SPEC = ShardingSpec(0, MURMUR, 4, 0, "gzip", "gzip")


def opened(path: Path, **options: Any) -> NeuroglancerShard:
    shard = shardcore.open(path, **options)
    assert isinstance(shard, NeuroglancerShard)
    return shard


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("skeletons_murmur_gzip/0.shard", "info in the same folder, skeletons"),
        ("mesh/1.shard", "info in the same folder, meshes"),
        ("volume/8_8_80/0.shard", "info in a parent folder, scale 8_8_80"),
        ("legacy_pair/1.data", "info in the same folder, skeletons"),
        ("bare_shard/0.shard", "inferred, 3 of 3 checks"),
    ],
)
def test_detection_says_why(path: str, why: str) -> None:
    assert shardcore.detect(DATA / path) == shardcore.Detection("neuroglancer", why)
    with opened(DATA / path) as shard:
        assert shard.why == why


@pytest.mark.parametrize("form", ["mapping", "text", "file", "info"])
def test_a_given_specification(tmp_path: Path, form: str) -> None:
    path = tmp_path / "renamed.bin"
    shutil.copy(DATA / "bare_shard" / "0.shard", path)
    spec: Any = SPEC.to_json()
    if form == "text":
        spec = json.dumps(spec)
    elif form == "file":
        (tmp_path / "spec.json").write_text(json.dumps(spec))
        spec = tmp_path / "spec.json"
    elif form == "info":
        spec = {"@type": "neuroglancer_skeletons", "sharding": spec}
    with opened(path, spec=spec) as shard:
        assert shard.spec == SPEC
        assert shard.origin.inference is None
        assert len(shard.objects) == 50


@pytest.mark.parametrize("spec", ["{", "{}", "[]", 7, {"hash": "identity"}, {"scales": []}, '{"@type": "x"}'])
def test_a_specification_that_is_none(spec: Any) -> None:
    with pytest.raises((UsageError, SourceError)):
        shardcore.open(DATA / "bare_shard" / "0.shard", spec=spec)


def test_a_given_info_of_several_key_spaces() -> None:
    info = (DATA / "volume" / "info").read_text()
    with opened(DATA / "volume" / "8_8_80" / "0.shard", spec=info) as shard:
        assert shard.origin.space.name == "scale 8_8_80"
    with pytest.raises(UsageError, match="choose one"):
        shardcore.open(DATA / "bare_shard" / "0.shard", spec=info)


def test_the_guess_names_evidence_and_what_is_open(tmp_path: Path) -> None:
    files = build(ShardingSpec(0, MURMUR, 0, 0), random_rows([5, 7, 9], random.Random(2)))
    (tmp_path / "0.shard").write_bytes(files["0.shard"])
    with opened(tmp_path / "0.shard") as shard:
        assert shard.fields["spec.evidence"]
        assert shard.fields["spec.open"]
        notes = {finding.code for finding in shard.verify().findings}
        assert notes == {"neuroglancer.inferred", "neuroglancer.open"}


def test_a_guess_that_does_not_fit_is_refused_unless_forced(tmp_path: Path) -> None:
    spec = ShardingSpec(0, MURMUR, 3, 0)
    rows = random_rows(random.Random(4).sample(range(10**9), 200), random.Random(4))
    data = bytearray(build(spec, rows)["0.shard"])
    data[:128] = data[16:128] + data[:16]  # every minishard gets the index of the next one
    (tmp_path / "0.shard").write_bytes(data)
    with pytest.raises(NotAShard) as caught:
        shardcore.open(tmp_path / "0.shard")
    assert any("no combination of hash" in line for line in caught.value.candidates)
    with opened(tmp_path / "0.shard", format="neuroglancer") as shard:
        assert len(shard.objects) == 200


def test_a_bare_mesh_shard_is_recognised(tmp_path: Path) -> None:
    shutil.copy(DATA / "mesh" / "0.shard", tmp_path / "0.shard")
    with opened(tmp_path / "0.shard") as shard, opened(DATA / "mesh" / "0.shard") as known:
        key = known.objects.keys[0]
        assert key is not None
        assert shard.find(key).parts == ("fragments",)
        assert shard.read_part(shard.find(key), "fragments") == known.read_part(known.find(key), "fragments")


@pytest.mark.parametrize(
    ("offset", "name", "text"),
    [(8, "end_offset", "0x37"), (33, "skeleton 1", "3 bytes"), (47, "[1]", "key 9"), (63, "[1]", "at 0x23")],
)
def test_bytes_of_the_worked_example(offset: int, name: str, text: str) -> None:
    with opened(DATA / "tiny_worked_example" / "0.shard") as shard:
        shard.load_index()
        leaf = shard.explain(offset)[-1]
        assert (leaf.name, leaf.text) == (name, text)


def test_compressed_indices_are_sources_of_their_own() -> None:
    with opened(DATA / "skeletons_murmur_gzip" / "0.shard") as shard:
        shard.load_index()
        nodes = [node for section in shard.tree.children[2:] for node in section.children]
        index = next(node for node in nodes if node.name.startswith("minishard index"))
        source = shard.bytes_of(index.decoded)
        assert source.size % 24 == 0
        assert [s.name for s in shard.sections_of(index.decoded)] == ["chunk_ids", "offsets", "sizes"]
        assert shard.explain(0, index.decoded)[-1].text.startswith("key ")
        check_explained(shard, index.decoded)
        value = next(node for node in nodes if node.name.startswith("skeleton"))
        key = value.name.removeprefix("skeleton ")
        data = shard.bytes_of(value.decoded)
        assert data.read(0, data.size) == shard.read(shard.find(key))
        with pytest.raises(UsageError):
            shard.bytes_of("@0-16")
        with pytest.raises(FormatError):
            shard.bytes_of(f"@{index.span.start + 1}-{index.span.stop}")


def test_unlisted_bytes_are_named(tmp_path: Path) -> None:
    data = build(ShardingSpec(0, IDENTITY, 1, 0), random_rows([1, 2, 3, 4], random.Random(3)))["0.shard"] + b"tail"
    (tmp_path / "0.shard").write_bytes(data)
    with opened(tmp_path / "0.shard") as shard:
        shard.load_index()
        assert shard.explain(len(data) - 1)[-1].name == "unlisted bytes"
        check_tiling(shard)
        check_explained(shard)
    with opened(DATA / "mesh" / "0.shard") as shard:
        shard.load_index()
        names = {shard.explain(offset)[2].name.split()[0] for offset in range(64, shard.source.size, 97)}
        assert names == {"fragments", "mesh", "minishard"}


def test_split_form_is_one_shard() -> None:
    """Either part opens both; offsets are those of the concatenation."""
    for name in ("0.index", "0.data"):
        with opened(DATA / "legacy_pair" / name) as shard:
            assert shard.file.split
            assert shard.source.size == 64 + 1021
            check_tiling(shard)
            shard.load_index()
            check_explained(shard)


@pytest.mark.parametrize("name", ["0.index", "1.data"])
def test_split_form_without_info(tmp_path: Path, name: str) -> None:
    for part in ("0.index", "0.data", "1.index", "1.data"):
        shutil.copy(DATA / "legacy_pair" / part, tmp_path / part)
    with opened(tmp_path / name) as shard, opened(DATA / "legacy_pair" / name) as known:
        assert shard.why == "inferred, 3 of 3 checks"
        assert shard.spec == known.spec
        assert list(shard.objects.keys) == list(known.objects.keys)


def test_split_form_without_its_other_part(tmp_path: Path) -> None:
    shutil.copy(DATA / "legacy_pair" / "info", tmp_path / "info")
    shutil.copy(DATA / "legacy_pair" / "0.index", tmp_path / "0.index")
    with pytest.raises(SourceError, match="missing"):
        shardcore.open(tmp_path / "0.index")
    (tmp_path / "0.index").write_bytes((DATA / "legacy_pair" / "0.index").read_bytes()[:32])
    shutil.copy(DATA / "legacy_pair" / "0.data", tmp_path / "0.data")
    with pytest.raises(FormatError):
        shardcore.open(tmp_path / "0.index")


def test_large_shard_indices_are_not_read_to_open(tmp_path: Path) -> None:
    spec = ShardingSpec(0, MURMUR, 18, 0)
    rows = random_rows(random.Random(6).sample(range(2**60), 20), random.Random(6))
    data = build(spec, rows)["0.shard"]
    source = CountingSource(data, "0.shard")
    with shardcore.open(source, spec=spec.to_json()) as shard:
        assert sum(stop - start for start, stop in source.ranges) <= 65536
        for key, value in rows[:5]:
            source.ranges.clear()
            assert shard.read(shard.find(str(key))) == value
            assert len(source.ranges) <= 3
        assert len(shard.objects) == 20
        shard.load_index()
        assert shard.explain(0)[-1].name == "start_offset"
        check_tiling(shard)


def test_listing_merges_neighbouring_indices() -> None:
    data = (DATA / "bare_shard" / "0.shard").read_bytes()
    source = CountingSource(data, "0.shard")
    with shardcore.open(source, spec=SPEC.to_json(), format="neuroglancer") as shard:
        source.ranges.clear()
        shard.load_index()
        assert len(source.ranges) == 1


def test_ranges_of_values() -> None:
    spec = ShardingSpec(0, IDENTITY, 0, 0)
    source = CountingSource(build(spec, [(7, bytes(range(256)) * 100)])["0.shard"], "0.shard")
    with shardcore.open(source, spec=spec.to_json()) as shard:
        ref = shard.find("7")
        source.ranges.clear()
        assert shard.read_range(ref, 256, 260) == bytes([0, 1, 2, 3])
        assert sum(stop - start for start, stop in source.ranges) == 4
        assert shard.read_range(ref, 25_598, 10**12) == bytes([254, 255])
        with pytest.raises(LimitExceeded):
            shard.read(ref, limit=100)
        with pytest.raises(LimitExceeded):
            shard.read_range(ref, 0, 200, limit=100)
        with pytest.raises(UsageError):
            shard.read_range(ref, 5, 4)
        with pytest.raises(UsageError):
            shard.read_part(ref, "fragments")


def test_damaged_values_do_not_disturb_others() -> None:
    spec = ShardingSpec(0, IDENTITY, 0, 0, "raw", "gzip")
    data = bytearray(build(spec, [(1, b"one" * 50), (2, b"two" * 50), (3, b"three")])["0.shard"])
    with shardcore.open(BytesSource(bytes(data)), spec=spec.to_json()) as shard:
        span = shard.find("2").spans[0]
    data[span.stop - 6] ^= 255  # in the checksum of the member
    with shardcore.open(BytesSource(bytes(data)), spec=spec.to_json()) as shard:
        assert isinstance(shard, NeuroglancerShard)
        with pytest.raises(FormatError):
            shard.read(shard.find("2"))
        assert shard.read(shard.find("1")) == b"one" * 50
        assert [finding.span for finding in shard.verify().findings] == [span]
        found = dict(shard.contents())
        assert isinstance(found[1], FormatError)
        assert found[1].span == span
        assert found[2] == b"three"


def test_orders() -> None:
    with opened(DATA / "identity_raw" / "0.shard") as shard:
        columns, ids = shard.objects[:], np.array([int(key or 0) for key in shard.objects.keys])
        by_offset, by_size, by_key = (np.asarray(shard.objects.order(name)) for name in ("offset", "size", "key"))
        assert (np.diff(columns.start[by_offset]) >= 0).all()
        assert (np.diff(columns.stored_size[by_size]) >= 0).all()
        assert (np.diff(ids[by_key]) > 0).all()
        with pytest.raises(UsageError):
            shard.objects.order("colour")


def test_thousands_of_minishards_sharing_one_index_are_bounded() -> None:
    """The first are listed, the others are damaged, and memory stays small."""
    base = 16 << 12
    index = struct.pack("<3000Q", *([1] * 1000), *([0] * 1000), *([0] * 1000))
    data = struct.pack("<2Q", 0, len(index)) * (1 << 12) + index
    spec = ShardingSpec(0, IDENTITY, 12, 0)
    with shardcore.open(BytesSource(data), spec=spec.to_json()) as shard:
        assert shard.index_bytes <= len(data)
        states = shard.objects[:].state
        assert (states == State.DAMAGED).sum() > 4000
        assert len(states) < 30_000
        assert base + len(index) == len(data)
        assert not shard.verify("structure").ok


def test_empty_values_under_gzip(tmp_path: Path) -> None:
    assert len(gzip.compress(b"", mtime=0)) == 20
    spec = ShardingSpec(0, IDENTITY, 0, 0, "raw", "gzip")
    with shardcore.open(BytesSource(build(spec, [(1, b""), (2, b"x")])["0.shard"]), spec=spec.to_json()) as shard:
        assert shard.read(shard.find("1")) == b""
        assert shard.objects.ref(0).size == 0
